"""Proofs from the code: an unmodified function runs on symbols that stand for all datasets of a schema.

    from dpverify.proof import prove

    prove(dp_mean, data="vector: real 0..100, rows 5..50", relation="replace", claim="pure:1").holds

`rows` and `terms` say what values are, `run` what one run keeps, `rewriting` and `programs` how a program is run.
Rules: `arithmetic`, `structure`, `functions` and `frames` of operations, `noise` and `laws` of draws, `thresholds` and
`contests` of comparisons, `relative` of released bounds. `moves` says what events cost; `finite` and `plain` enumerate
laws where the datasets are finitely many; `attaining` names the pair that a bound is attained at.
"""

from dpverify.proof.ending import Ending
from dpverify.proof.proving import Proof, prove, Step

__all__ = ["Ending", "Proof", "Step", "prove"]
