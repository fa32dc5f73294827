"""What a certificate does not prove, in sentences: by what was looked at, and what that leaves open."""

from collections.abc import Sequence

from dpverify.verdicts.taped import CONFORMS, CONTRADICTED, EXACT, Taped

CODE_IN_USE = "that the audited code is the code in use, with a cryptographic source of randomness"
WORST = "that the audited pairs are the worst ones, and that no event rarer than the trials can show leaks"
CHANNELS = "that nothing leaks through timing, memory or exceptions elsewhere"
BITS = "that the low bits of floating-point noise hide what the ideal noise hides: laws are taken as ideal reals"
LEDGER = "that the ledger lists everything that is released; the audits can only contradict it"


def not_proved(tapes: Sequence[Taped | None], *, pairs: int) -> tuple[str, ...]:
    """One sentence for each kind of gap; the second is about the code and what was traced of it."""
    return CODE_IN_USE, _code([tape for tape in tapes if tape is not None], pairs), WORST, CHANNELS, BITS


def _code(tapes: list[Taped], pairs: int) -> str:
    if len(tapes) < pairs or not tapes:
        return f"{LEDGER} (the code was not traced)"
    lost = next((tape for tape in tapes if not tape.traced), None)
    if lost is not None:
        why = lost.reasons[0] if lost.reasons else "no reason is known"
        return f"{LEDGER}; the code could not be traced: {why}"
    if any(tape.status == CONTRADICTED for tape in tapes):
        return "anything from above: the code contradicts the claim or the ledger"
    masses = [tape.delta_k for tape in tapes if tape.delta_k is not None]
    seen = "1 pair" if pairs == 1 else f"{pairs} pairs"
    beyond = f" rarer than {max(masses):.2g} (at {tapes[0].confidence:.0%} on each of {seen})" if masses else ""
    if all(tape.status == EXACT for tape in tapes):
        return "anything about pairs that were not enumerated"
    if all(tape.status == CONFORMS for tape in tapes):
        return f"that the code adds the noise of its ledger on pairs that were not traced, or in transcripts{beyond}"
    if any(tape.ledger for tape in tapes):
        return f"that what no draw of the code shows is as its ledger says, and what it does in transcripts{beyond}"
    return f"that the noise which the code adds is the same on pairs that were not traced, or in transcripts{beyond}"
