"""One release of one query: claim, ledger, draw, exact log ratio."""
