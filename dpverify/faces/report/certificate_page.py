"""A certificate as JSON, and as one self-contained HTML page."""

from markupsafe import Markup

from dpverify.base.text import cleaned
from dpverify.faces.report import coverage, intervals
from dpverify.faces.report.as_html import promised, template, view
from dpverify.faces.report.as_json import strict
from dpverify.verdicts.certificate import Certificate


def render(certificate: Certificate) -> str:
    """The page."""
    certificate = cleaned(certificate)
    command = certificate.command or "(made by dpverify.certify in Python)"
    plain = certificate.to_dict()
    return (
        template("certificate.html").render(
            c=certificate,
            views=[view(f"s{index + 1}", record, command) for index, record in enumerate(certificate.records)],
            promises=promised(certificate.promises),
            coverage_ticks=coverage.scale(),
            not_proved=certificate.not_proved,
            interval=Markup(intervals.bar(certificate.strongest)),
            ticks=intervals.scale(),
            about=plain["statement"],
            digest=plain["digest"],
        )
        + "\n"
    )


def render_json(certificate: Certificate) -> str:
    """The certificate as strict JSON; infinity is 1e999."""
    return strict(cleaned(certificate).to_dict())
