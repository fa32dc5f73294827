"""Curves of the papers: `python -m algorithms.experiments riverswim|bandit|offline|selfplay`.

riverswim and bandit (SDP-PE journal paper, section VI):

constants   which numbers stand for the theory's constants, and that they are tuned
curves      one learner, one eps, all runs -> cumulative regret; a pure function of its settings
store       finished curves on disk, keyed by their settings, so that a stopped run goes on
figures     pictures and tables of what is in the store

offline     figure 1 of the offline paper;  selfplay  regret of DP-Nash-VI;  more_figures  their files
page        the tables of docs/figures.md from what these have written, docs/images/figures
intervals   the convention of all tables and pictures
consistency what post-processing of counts brings to DP-APVI, a table: `python -m algorithms.experiments consistency`
"""
