"""What watched children need, loaded once before they are forked; ours and our dependencies', never a user's.

Imports nothing: the command line starts the fork server with these names before it loads anything itself. Our files say
`import scipy` and then `scipy.stats`, which loads it when it is first asked for: here, before many children are forked.
"""

LISTED = ("dpverify.verdicts.listing",)  # enough to read audit files
PRELOAD = (
    "dpverify.verdicts.tasks", "dpverify.verdicts.certificate",
    "scipy.stats", "scipy.signal", "scipy.optimize", "sklearn.ensemble", "dp_accounting.pld.pld_pmf",
)  # fmt: skip
CERTIFIED = ("dpverify.verdicts.certificate",)  # one subject: what learns scores is loaded once it is needed
