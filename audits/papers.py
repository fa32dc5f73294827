"""Paper -> statement -> code -> audit: what a reader of a paper looks for, and where it is judged.

Read from `published/papers.toml`, the one table of papers and rows that this module, the scorecard (by the names that
subjects carry) and the atlas share. A row says in which paper, at which place, what is claimed (`statement`), which
code makes the claim (`file:symbol`), which audit judges it, as printed and as corrected, and which entries of the atlas
speak of it. "single release" stands for textbook mechanisms. Tests check that every file and symbol exists, that every
audit and every module with a claim stands in a row, and that what subjects and promises name as their paper is judged
where the table says.
"""

from audits.atlas.entry import Row
from audits.atlas.reading import PUBLISHED, read_papers

__all__ = ["GARBLED", "NASH_VI", "OFFLINE", "PUCB", "RELEASE", "ROWS", "SDP_PE", "SDP_PE_JOURNAL", "Row"]

_PAPERS, ROWS = read_papers(PUBLISHED)

PUCB = _PAPERS["pucb"].name
NASH_VI = _PAPERS["nash_vi"].name
OFFLINE = _PAPERS["offline"].name
SDP_PE = _PAPERS["sdp_pe"].name
SDP_PE_JOURNAL = _PAPERS["sdp_pe_journal"].name
RELEASE = "single release"  # of no paper of the proving ground: its module names the source

GARBLED = "; garbled in the text that was read: this is a reading of ours, and says nothing about the paper"
