"""`dpverify exact`: the exact eps of a release with finitely many outcomes, on each pair."""

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.base.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, RunError, UsageError
from dpverify.faces.options import DEFAULT_SEED, HELP


def exact(
    subject: Annotated[
        str, typer.Argument(metavar="MODULE:OBJECT", help="An object with release(data, *, rng, size), or its class.")
    ],
    pairs: Annotated[str, typer.Option(metavar="MODULE:NAME", help="Neighbouring pairs.", show_default=False)],
    claim: Annotated[str | None, typer.Option(metavar="CLAIM", help="pure:EPS or approx:EPS,DELTA.")] = None,
    delta: Annotated[float, typer.Option(metavar="D", help="The delta at which eps is wanted, without a claim.")] = 0.0,
    paths: Annotated[int, typer.Option(metavar="N", help="Most paths on each dataset.")] = 2**21,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For each dataset.")] = 60.0,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the results as JSON.")] = None,
) -> None:
    """Run the code over all values of its random draws, and give its exact eps on each pair.

    Exit code: 0 exact on every pair and no claim contradicted, 1 an exact eps is above the claim, 2 usage, 3 not exact
    on a pair, or too little mass enumerated to decide a claim.
    """
    from dpverify.claims.claim import ApproxDP, PureDP
    from dpverify.claims.neighbours import Relation
    from dpverify.claims.parse import parse_claim
    from dpverify.faces import loading
    from dpverify.tape.exact import exact as enumerated
    from dpverify.verdicts.pairs import as_pairs

    stated = None if claim is None else parse_claim(claim, relation=Relation.REPLACE_ONE)
    if stated is not None and not isinstance(stated, PureDP | ApproxDP):
        raise UsageError(f"--claim {claim}: an exact law is compared with pure:EPS or approx:EPS,DELTA")
    if stated is not None and delta:
        raise UsageError("--delta is that of --claim; give one of them")
    at = delta if stated is None else stated.delta
    target = loading.load_subject(subject)
    found = [
        enumerated(target, pair=pair.checked(Relation.REPLACE_ONE), delta=at, paths=paths, seed=seed, timeout=timeout)
        for pair in as_pairs(loading.load(pairs))
    ]
    codes = [_show(number, each, None if stated is None else stated.eps) for number, each in enumerate(found, 1)]
    if json is not None:
        try:
            Path(json).write_text(json_module.dumps({"exact": [each.to_dict() for each in found]}, indent=1))
        except OSError as error:
            raise RunError(f"{json}: could not be written ({error.strerror})") from error
    worst = EXIT_UNEXPECTED if EXIT_UNEXPECTED in codes else EXIT_FAILED if EXIT_FAILED in codes else EXIT_OK
    raise typer.Exit(worst)


def _show(number: int, found: Any, claimed: float | None) -> int:
    """A line on what was found, one on the event, one on the claim; the exit code of this pair."""
    from dpverify.base.text import clean

    print(f"pair {number}: {clean(found.name)}")
    if found.status != "EXACT":
        print(clean(f"{found.status.replace('_', ' ')}: {found.reason}"))
        return EXIT_FAILED
    print(f"EXACT: eps in [{found.eps_lower:.12g}, {found.eps_upper:.12g}] at delta {found.delta:g}, on this pair")
    print(f"  {found.paths} paths, {found.outcomes} outcomes, mass left out {found.lost_mass:.3g}")
    if found.event is not None:
        text = f"{found.event.outcome} has probability {found.event.first:.6g} against {found.event.second:.6g}"
        print(clean(f"  largest ratio: {text}"))
    print(f"  {found.fit.releases} ordinary releases on each dataset fit the law (p = {found.fit.p_value:.2g})")
    if claimed is None:
        return EXIT_OK
    if found.eps_lower > claimed * (1 + 1e-9):
        print(f"CONTRADICTED: claimed {claimed:g}")
        return EXIT_UNEXPECTED
    if found.eps_upper <= claimed * (1 + 1e-9):
        print(f"the claim of {claimed:g} holds on this pair")
        return EXIT_OK
    print(f"UNDECIDED: claimed {claimed:g}")
    return EXIT_FAILED
