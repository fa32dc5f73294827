"""Single releases and privatizers, a folder for each role; what claims privacy has a row in `audits/papers.py`.

toolbox, datasets < releases, counters, shuffling < privatizers
"""
