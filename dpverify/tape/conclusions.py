"""What runs show, without another one: whether a claim falls, what is hopeless, how outputs agree."""

import math
from collections.abc import Sequence

from scipy import special

from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.tape import witness
from dpverify.tape.forced import Forced
from dpverify.tape.transcript import Reason
from dpverify.tape.witness import Witness

SURE = 1e-9  # error of a refutation that rests on a frequency (F4 against a claim with delta)


def refuted(
    claim: Claim | None,
    found: Witness | None,
    where: witness.Places | None,
    runs: tuple[list[Forced], list[Forced]],
) -> Reason | None:
    """Why the claim is false, or None."""
    if found is None or claim is None or where is None:
        return None
    shown = f"a transcript of the code has log ratio {found.log_ratio:g} ({found.kind}); what is released shows it"
    if isinstance(claim, PureDP) or (isinstance(claim, ApproxDP) and claim.delta == 0):
        return Reason("WITNESS", "", f"{shown}; claimed {claim.eps:g}") if found.log_ratio > claim.eps else None
    if not math.isinf(found.log_ratio):
        return None
    if isinstance(claim, ZCDP | GaussianDP):
        return Reason("WITNESS", "", f"{shown}; the claim allows no infinite loss")
    if isinstance(claim, ApproxDP):
        for order in runs:
            hits = sum(witness.proves(run, where) for run in order)
            lower = float(special.betaincinv(hits, len(order) - hits + 1, SURE / 2)) if hits else 0.0
            if lower > claim.delta:
                text = f"{shown}; that happens with probability {lower:.3g} at least, claimed delta {claim.delta:g}"
                return Reason("WITNESS", "", text)
    return None


def against(runs: Sequence[Sequence[Forced]]) -> list[Reason]:
    """What calls of libraries do against their own declarations."""
    return [reason for order in runs for run in order if run.trusted for reason in run.findings]


def strange(pilots: Sequence[Sequence[Forced]]) -> Reason | None:
    """Why a pilot is not to be trusted. Pilots are the first runs of all: state that only a first run leaves shows here
    and nowhere else. Their losses and outputs never count, which is what the choice of a rule needs.
    """
    return next((run.bad for order in pilots for run in order if run.bad is not None and not run.trusted), None)


def beyond(runs: Sequence[Sequence[Forced]]) -> bool:
    """Whether the outputs of all runs differ, and what is released cannot show the transcript: it has whole values."""
    return all(
        run.bad is not None
        and run.bad.code == "UNPROTECTED"
        and any(entry.kind == "atom" for entry in run.first.transcript.entries)
        for order in runs
        for run in order
    )


def bounds(runs: Sequence[Forced]) -> list[str]:
    """What opaque calls cost that no event of the ledger says."""
    texts = (moved.loss.text for run in runs for moved in run.moved if moved.loss is not None and moved.loss.text)
    return list(dict.fromkeys(texts))[:5]


def hopeless(runs: tuple[list[Forced], list[Forced]]) -> bool:
    """Nothing can be concluded any more: a run is not to be trusted, or diverged."""
    return any(run.bad is not None and (not run.trusted or run.second.bad is not None) for each in runs for run in each)


def agreement(runs: Sequence[Forced]) -> str:
    """How outputs agree: in all bits; in all bits on a dyadic tape; or only but for the last digits."""
    if any(run.bad is not None and run.bad.code == "ROUNDING" for run in runs):
        return "reals"
    return "dyadic" if any(run.dyadic for run in runs) else "bits"


def reasons(found: Sequence[Reason]) -> tuple[Reason, ...]:
    """Five of them, one for each code and place."""
    return tuple({(each.code, each.site): each for each in found}.values())[:5]
