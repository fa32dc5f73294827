"""`dpverify.certify` and `dpverify.Certificate`: those of `auditing`, with the page that only a face can draw."""

from dataclasses import dataclass, fields
from functools import wraps
from html import escape
from typing import Any

from dpverify.auditing import certificate


@dataclass(frozen=True, kw_only=True)
class Certificate(certificate.Certificate):
    """A Certificate holds all evidence about one subject, and draws itself.

    `certify` makes it. With probability >= 1 - `significance` no statement of the trials is wrong.
    `verdict` is about the privacy claim alone and has the values of an audit; `certified` needs everything, and
    `objections` say what is missing.

    Parameters
    ----------
    subject : str
        Name of what was certified.
    claim : str
        The claim in short form, such as "pure:1".
    records : tuple of AuditRecord
        One for each pair of neighbouring datasets.
    promises : tuple of PromiseCheck
        Checks of promises about utility.
    significance : float
        Of the whole certificate, in (0, 1). Pairs and promises share it equally.
    seed : int
        Equal seeds give equal certificates, but for the wall time.
    notes : tuple of str
        What a reader has to know beside the records.
    environment : dict of str to str
        Versions of Python and of packages, and the machine.
    command : str
        The command line; empty if it was made by a function call.
    accept : Accept
        The least evidence that makes the exit code 0.
    statements : int
        Pairs and promises among which the significance was shared, also those not made in the end.
    identity : dict of str to str, bool or None
        Which code this was, see `execution.sources`.

    Notes
    -----
    Each of n statements (a lower bound of a pair, a verdict on a promise) is wrong with probability at most
    `significance`/n, so any of them is with at most `significance` (Boole's inequality), however they depend on each
    other.

    Examples
    --------
    >>> from dpverify import certify, PureDP
    >>> from dpverify.ledger import laplace
    >>> class Count:
    ...     ledger = laplace(scale=2.0, sensitivity=1.0)
    ...     def release(self, data, *, rng, size):
    ...         return sum(data) + rng.laplace(scale=2.0, size=size)
    >>> found = certify(Count(), claim=PureDP(0.4), pairs=([0, 1], [1, 1]), trials=2_000, seed=1)
    >>> found.accounted, found.certified  # this is 0.5-DP and no less
    (False, False)
    """

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
