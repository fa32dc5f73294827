"""`dpverify certify` after its options are parsed: the certificate is made in a watched child."""

from dataclasses import dataclass
from typing import Any

from dpverify.auditing.certificate import Certificate
from dpverify.cli import console, isolated_command
from dpverify.execution.isolated import Limits
from dpverify.report import certificate_page, files
from dpverify.report.files import Outputs


@dataclass(frozen=True, kw_only=True)
class CertifyRequest:
    """What `dpverify certify` was asked for; `arguments` are those of `made`."""

    arguments: dict[str, Any]
    limits: Limits
    outputs: Outputs
    quiet: bool = False


def run_certify(request: CertifyRequest) -> int:
    """Runs it and returns the exit code."""
    files.check_writable(request.outputs)
    files.drop(request.outputs)  # there is no certificate of a run that failed
    certificate = Certificate.from_dict(
        isolated_command.answer(
            "dpverify.cli.certify_run:certified_in_child", request.arguments, request.limits, missing="certificate"
        )
    )
    isolated_command.write_file(request.outputs.json, certificate_page.render_json(certificate))
    isolated_command.write_file(request.outputs.html, certificate_page.render(certificate))
    if not (request.quiet and certificate.certified):
        console.show_certificate(certificate)
    return certificate.exit_code


def certified_in_child(
    *, spec: str, claim: str, relation: str, view: str, pairs: str | None, call: str = "auto",
    arg: list[str] | None = None, python: str = "", **settings: Any,
) -> dict[str, Any]:  # fmt: skip
    """The certificate as plain values; runs in the child."""
    from dpverify.auditing.certificate import certify
    from dpverify.claims.neighbours import Relation, View
    from dpverify.claims.parsing import parse_claim
    from dpverify.cli import loading

    neighbours = Relation.REPLACE_ONE if relation == "replace" else Relation.ADD_OR_REMOVE_ONE
    stated = parse_claim(claim, relation=neighbours, view=View(view))
    subject = _subject(spec, call, arg or [], python)
    own = None if pairs is None else loading.load_object(pairs)
    return certify(subject, claim=stated, pairs=own, name=spec.rpartition(":")[2], **settings).to_dict()


def _subject(spec: str, call: str, arg: list[str], python: str) -> Any:
    """A subject, or a library's function or class as one (`wild.local`), here or in an interpreter of its own."""
    from dpverify.cli import loading
    from dpverify.wild.requests import arguments

    given = arguments(arg)
    if python:
        from dpverify.wild.interpreter import Elsewhere

        return Elsewhere(python, spec, call=call, arguments=given)
    from dpverify.wild.local import is_shaped, shaped

    found = loading.load_object(spec)
    if call != "auto" or given or is_shaped(found):
        return shaped(found, call=call, arguments=given, name=spec.rpartition(":")[2])
    return loading.subject_of(found, spec)
