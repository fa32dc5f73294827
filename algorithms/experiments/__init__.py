"""Learning curves of the SDP-PE journal paper (section VI): `python -m algorithms.experiments riverswim|bandit`.

constants   which numbers stand for the theory's constants, and that they are tuned
curves      one learner, one eps, all runs -> cumulative regret; a pure function of its settings
store       finished curves on disk, keyed by their settings, so that a stopped run goes on
figures     pictures and tables of what is in the store
"""
