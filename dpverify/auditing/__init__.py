"""One claim, all the evidence: from a target to a record with its verdict. Read `pipeline` first."""
