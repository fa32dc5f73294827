"""Who takes part in which batch of SDP-PE.

Stage b has L_b = 2^b; each stage uses `shares` L_b users, 3 in the journal version (L_b crude, 2 L_b fine) and
2 in the conference version. The printed rule for the last stage, (K - 3 sum_{i<=b} L_i)/3, subtracts the
stage itself and is negative; meant is

    L_b = floor((K - shares sum_{i<b} L_i)/shares)   as soon as   shares sum_{i<=b} 2^i >= K.

The fewer than `shares` users left over play the best remaining policy and are not counted by anybody.
The crude exploration's L_b users are spread over its H layers as evenly as whole numbers allow: the printed
L_b/H is no whole number and below 1 at first. A batch may be empty.
"""

from dataclasses import dataclass

from dpverify.base import require


@dataclass(frozen=True)
class StagePlan:
    """Users [first, first + sum(layers) + sum(fine)) of one stage: sizes of its batches, in order of time."""

    number: int
    length: int
    first: int
    layers: tuple[int, ...]
    fine: tuple[int, ...]

    @property
    def end(self) -> int:
        """First user after the stage."""
        return self.first + sum(self.layers) + sum(self.fine)


def stages(episodes: int, horizon: int, *, shares: int = 3) -> list[StagePlan]:
    """All stages; they use episodes - (episodes mod-like rest below `shares`) users in total.

    `fine` holds the users of pi_ref and of pi_0 (journal, 3 shares), or of the one mixture (conference, 2).
    """
    require.integer(at_least=1, episodes=episodes, horizon=horizon)
    require.integer(at_least=2, shares=shares)
    found: list[StagePlan] = []
    used = 0
    while episodes - used >= shares:
        number = len(found) + 1
        left = (episodes - used) // shares
        last = used + shares * 2**number >= episodes
        length = left if last else 2**number
        layers = tuple((h + 1) * length // horizon - h * length // horizon for h in range(horizon))
        found.append(StagePlan(number, length, used, layers, (length,) * (shares - 1)))
        used = found[-1].end
    return found
