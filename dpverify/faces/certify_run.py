"""`dpverify certify` after its options are parsed: the certificate is made in a watched child."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpverify.base.errors import RunError, UsageError
from dpverify.faces import console
from dpverify.faces.options import Outputs
from dpverify.faces.report import certificate_page, files
from dpverify.runs.interruption import Halt, heeded
from dpverify.runs.supervisor import Supervisor
from dpverify.runs.task import Ended, Limits, Outcome, Task
from dpverify.verdicts.certificate import Certificate
from dpverify.verdicts.preload import CERTIFIED


@dataclass(frozen=True, kw_only=True)
class Request:
    """What `dpverify certify` was asked for; `arguments` are those of `made`."""

    arguments: dict[str, Any]
    limits: Limits
    outputs: Outputs
    quiet: bool = False


def run(request: Request) -> int:
    """Runs it and returns the exit code."""
    files.check(request.outputs)
    files.drop(request.outputs)  # there is no certificate of a run that failed
    halt, supervisor = Halt(), Supervisor(0, CERTIFIED)
    with heeded(halt) as heard:
        task = Task("dpverify.faces.certify_run:made", request.arguments)
        try:
            outcome = supervisor.run(task, request.limits, halt)
        finally:
            halt.close()
        if heard.number:
            print(f"dpverify: interrupted by {heard.name}; no certificate", file=sys.stderr)
            return heard.exit_code
    certificate = Certificate.from_dict(_value(outcome))
    for path, render in (
        (request.outputs.json, certificate_page.render_json),
        (request.outputs.html, certificate_page.render),
    ):
        if path is not None:
            try:
                files.replace(Path(path), render(certificate))
            except OSError as error:
                raise RunError(f"{path}: could not be written ({error.strerror})") from error
    if not (request.quiet and certificate.certified):
        console.show_certificate(certificate)
    return certificate.exit_code


def _value(outcome: Outcome) -> dict[str, Any]:
    """The answer; UsageError or RunError, in one line, where there is none."""
    if isinstance(outcome, Ended):
        file, line = outcome.place
        where = f" ({file}:{line})" if file else ""
        raise RunError(f"{outcome.text}{where}; no certificate")
    error = outcome.error
    if error is None:
        value: dict[str, Any] = outcome.value
        return value
    if error["expected"]:
        raise (UsageError if error["usage"] else RunError)(error["text"])
    where = f" ({Path(error['file']).name}:{error['line']})" if error["file"] else ""
    raise RunError(f"{error['type']}: {error['text']}{where}; no certificate")


def made(*, spec: str, claim: str, relation: str, view: str, pairs: str | None, **settings: Any) -> dict[str, Any]:
    """The certificate as plain values; runs in the child."""
    from dpverify.claims.neighbours import Relation, View
    from dpverify.claims.parse import parse_claim
    from dpverify.faces import loading
    from dpverify.verdicts.certificate import certify

    neighbours = Relation.REPLACE_ONE if relation == "replace" else Relation.ADD_OR_REMOVE_ONE
    stated = parse_claim(claim, relation=neighbours, view=View(view))
    subject = loading.load_subject(spec)
    own = None if pairs is None else loading.load(pairs)
    return certify(subject, claim=stated, pairs=own, name=spec.rpartition(":")[2], **settings).to_dict()
