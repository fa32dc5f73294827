"""Single releases and privatizers: each with its formula, claim, ledger, release and exact log ratio."""
