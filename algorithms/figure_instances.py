"""The learners of the RiverSwim figure, each at the constants that the figure draws it with.

shuffled-optimism, sdp-pe                  (eps, delta)-SDP
ucbvi-jdp-gaussian, ucbvi-ldp-gaussian     (eps, delta)-JDP, (eps, delta)-LDP
ucbvi-jdp, ucbvi-ldp                       eps-JDP, eps-LDP: delta is 0
"""

from algorithms.experiments.constants import APPROX, PURE
from algorithms.experiments.curves import CurveSettings, draw_curve
from dpverify.base import require
from dpverify.errors import ParameterError

_LEARNERS = {each.lower(): each for each in (*APPROX, *PURE)}
FIGURE_NAMES = tuple(_LEARNERS)


def figure_regret(name: str, *, eps: float, delta: float, runs: int, seed: int, episodes: int = 20_000) -> list[float]:
    """Final regret of each of `runs` runs on RiverSwim. ParameterError for a wrong name or delta."""
    if name not in _LEARNERS:
        raise ParameterError("name", name, ", ".join(FIGURE_NAMES))
    require.positive(eps=eps)
    require.integer(at_least=1, runs=runs, episodes=episodes)
    require.integer(at_least=0, seed=seed)
    learner = _LEARNERS[name]
    if learner in PURE:
        if delta != 0:
            raise ParameterError("delta", delta, f"0: {name} is at pure eps")
        settings = CurveSettings("riverswim", learner, eps, runs, episodes, seed)
    else:
        require.open_unit(delta=delta)
        settings = CurveSettings("riverswim", learner, eps, runs, episodes, seed, delta=delta)
    return [float(each) for each in draw_curve(settings).regret[:, -1]]
