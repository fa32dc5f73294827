"""What watched children need, loaded once before they are forked; ours and our dependencies', never a user's.

Imports nothing: the command line starts the fork server with these names before it loads anything itself.
"""

LISTED = ("dpverify.verdicts.listing",)  # enough to read audit files
PRELOAD = ("dpverify.verdicts.tasks", "dpverify.verdicts.certificate", "sklearn.ensemble", "dp_accounting.pld.pld_pmf")
CERTIFIED = ("dpverify.verdicts.certificate",)  # one subject: what learns scores is loaded once it is needed
