"""`dpverify.certify` and `dpverify.Certificate`: those of `auditing`, with the page that only a face can draw."""

from dataclasses import dataclass, fields
from functools import wraps
from html import escape
from typing import Any

from dpverify.auditing import certificate


@dataclass(frozen=True, kw_only=True)
class Certificate(certificate.Certificate):
    """A certificate that draws itself."""

    def to_html(self) -> str:
        """The certificate as one self-contained page."""
        from dpverify.report import html_page  # on demand: templates and plots load slowly

        return html_page.render_certificate(self)

    def _repr_html_(self) -> str:
        """For notebooks: what `dpverify certify` shows on one screen."""
        from dpverify.report import screen

        return "<pre>" + escape("\n".join(screen.certified(self))) + "</pre>"


@wraps(certificate.certify)
def certify(*args: Any, **settings: Any) -> Certificate:
    """That of `auditing.certificate`, with its signature and its words."""
    found = certificate.certify(*args, **settings)
    return Certificate(**{each.name: getattr(found, each.name) for each in fields(found)})
