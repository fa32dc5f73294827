"""The mechanisms of CheckDP (CCS 2020), ShadowDP (PLDI 2019) and StatDP (CCS 2018): what dpverify says of them.

    python -m benchmarks.checkdp [NAME ...]       # a markdown table; exit code 1 where a verdict is false

The programs of `benchmarks/published/` are ours, written from the algorithms; no code of the three tools is copied.
Queries are column sums of rows in 0..1 (one replaced row moves each of them by at most 1, as ALL_DIFFER of the papers)
or counts per day (one added row moves one of them by 1, as ONE_DIFFER). A claim that `prove` does not prove is tried by
`dpverify certify` with its default settings and `--seed 1`, in a process of its own.
"""

import importlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpverify.proof import Proof, prove

PROGRAMS = Path(__file__).parent / "published"
FIVE, TEN = "array: real 0..1 x 5, rows 1..20", "array: real 0..1 x 10, rows 1..20"
DAYS = "vector: integer 0..4, rows 1..20"
SOURCES = (
    "CheckDP: examples/ and scripts/benchmark.py of github.com/cmla-psu/checkdp at 6375d1f say which programs it is "
    "tried on and what it is to find; the abstract of arXiv:2008.07485 says that proofs and counterexamples took less "
    "than 70 seconds, without false ones",
    "ShadowDP: examples/original/ and README.md of github.com/cmla-psu/shadowdp at 4c61db8; the abstract of "
    "arXiv:1903.12254 says that each took at most 3 seconds",
    "StatDP: statdp/algorithms.py and examples/benchmark.py of github.com/cmla-psu/statdp at d1f1e8f; the abstract of "
    "arXiv:1805.10277 says that incorrect ones are rejected within a few seconds",
)


@dataclass(frozen=True)
class Mechanism:
    """A program with its claim, what is true of it and the programs of the three tools that it is a version of."""

    name: str
    file: str
    right: bool
    truth: str
    data: str
    relation: str
    claim: str = "pure:1"
    checkdp: str = ""
    shadowdp: str = ""
    statdp: str = ""

    @property
    def function(self) -> Any:
        """The program."""
        return getattr(importlib.import_module(f"benchmarks.published.{self.file}"), self.name)

    @property
    def published(self) -> str:
        """What the tools are said to find; seconds per program were not read, only bounds for all."""
        found = []
        if self.checkdp:
            found.append(f"CheckDP {self.checkdp}: {'verified' if self.right else 'counterexample'}, < 70 s")
        if self.shadowdp:
            found.append(f"ShadowDP {self.shadowdp}: verified, <= 3 s")
        if self.statdp:
            said = "not read" if self.right else "counterexample, a few seconds"
            found.append(f"StatDP {self.statdp}: {said}")
        return "; ".join(found)


def _vectors(name: str, right: bool, data: str, truth: str, relation: str = "replace", **tools: str) -> Mechanism:
    return Mechanism(name, "sparse_vectors", right, truth, data, relation, **tools)


def _maxima(name: str, right: bool, truth: str, **tools: str) -> Mechanism:
    return Mechanism(name, "sums_and_maxima", right, truth, FIVE, "replace", **tools)


def _counts(name: str, right: bool, truth: str, claim: str = "pure:1", **tools: str) -> Mechanism:
    return Mechanism(name, "sums_and_maxima", right, truth, DAYS, "add-remove", claim, **tools)


MECHANISMS = (
    _maxima(
        "noisy_max",
        True,
        "the winner stays the winner where its noise of scale 2 rises by 2: eps 1",
        checkdp="noisymax",
        shadowdp="noisymax",
    ),
    _maxima("noisy_max_from_below", True, "the same, with a largest value that starts at -inf: eps 1"),
    _maxima("noisy_max_v1a", True, "the same with argmax: eps 1", statdp="noisy_max_v1a"),
    _maxima(
        "noisy_max_v2a", True, "the winner's exponential noise of scale 2 rises by 2: eps 1", statdp="noisy_max_v2a"
    ),
    _maxima(
        "bad_noisy_max",
        False,
        "one row of zeros becomes ones: P(largest <= 0) is 2^-5 and 2^-5 e^-2.5: eps 2.5",
        checkdp="badnoisymax",
    ),
    _maxima("noisy_max_v1b", False, "as bad_noisy_max: eps 2.5", statdp="noisy_max_v1b"),
    _maxima(
        "noisy_max_v2b",
        False,
        "one row of zeros becomes ones: values below 1 become impossible: eps inf",
        statdp="noisy_max_v2b",
    ),
    _vectors(
        "sparse_vector_one",
        True,
        TEN,
        "the bar rises by 1 of scale 2, the noise of the one above by 2 of scale 4: eps 1",
        shadowdp="sparsevector",
    ),
    _vectors(
        "sparse_vector",
        True,
        TEN,
        "1/2 for the bar, twice 2/8 for the two above: eps 1",
        checkdp="sparsevector",
        shadowdp="sparsevectorN",
    ),
    _vectors("sparse_vector_below", True, TEN, "computed from the answers of sparse_vector_one: eps 1", statdp="SVT"),
    _vectors(
        "sparse_vector_monotone",
        True,
        TEN,
        "all queries rise or all fall: 1/2 for the bar, twice 1/4 for the two above: eps 1",
        "add-remove",
        checkdp="svt_increasing, svt_decreasing",
    ),
    _vectors(
        "numeric_sparse_vector_one",
        True,
        TEN,
        "1/3 for the bar, 2/6 for the one above, 1/3 for its value: eps 1",
        shadowdp="numsparsevector",
    ),
    _vectors(
        "numeric_sparse_vector",
        True,
        TEN,
        "1/3 for the bar, twice 2/12 and twice 1/6 for the two above and their values: eps 1",
        checkdp="numsparsevector",
        shadowdp="numsparsevectorN",
    ),
    _vectors(
        "gap_sparse_vector",
        True,
        TEN,
        "the bar rises by 1 of scale 2, the noise of the one above by at most 2 of scale 4, the gap stays: eps 1",
        checkdp="gapsparsevector",
        shadowdp="gapsparsevector",
    ),
    _vectors(
        "adaptive_sparse_vector",
        True,
        TEN,
        "1/2 for the bar, 2/16 for a far one, 2/8 for a near one, and it stops before they exceed 1/2: eps 1",
        checkdp="adaptivesparsevector",
    ),
    _vectors(
        "bad_sparse_vector_1",
        False,
        FIVE,
        "(1,0,0,0,0) becomes (0,1,0,0,0): the answer above, below, ... becomes impossible: eps inf",
        checkdp="badsparsevector1",
    ),
    _vectors(
        "bad_sparse_vector_2",
        False,
        FIVE,
        "one row (1,1,0,0,0) becomes (0,0,1,1,1): P(below, below, above, above, above) 0.0055 and 0.0365: eps >= 1.9",
        checkdp="badsparsevector2",
    ),
    _vectors(
        "bad_sparse_vector_3",
        False,
        FIVE,
        "one row (1,1,1,0,0) becomes (0,0,0,1,1): P(below, below, below, above, above) 0.0019 and 0.0262: eps >= 2.6",
        checkdp="badsparsevector3",
    ),
    _vectors(
        "isvt1", False, FIVE, "(1,1,0,0,0) becomes (0,0,1,1,1): distance 0 becomes impossible: eps inf", statdp="iSVT1"
    ),
    _vectors(
        "isvt2",
        False,
        FIVE,
        "one row (1,1,0,0,0) becomes (0,0,1,1,1): P(distance 5) 0.0055 and 0.0365: eps >= 1.9",
        statdp="iSVT2",
    ),
    _vectors(
        "isvt3",
        False,
        FIVE,
        "one row (1,1,0,0,0) becomes (0,0,1,1,1): P(distance 5) 0.0046 and 0.0412: eps >= 2.18",
        statdp="iSVT3",
    ),
    _vectors(
        "isvt4",
        False,
        FIVE,
        "one row (1,1,1,1,0) becomes (0,0,0,0,1): P(four below, then a value <= 1) 0.00045 and 0.0033: eps >= 1.97",
        statdp="iSVT4",
    ),
    _vectors(
        "bad_gap_sparse_vector",
        False,
        TEN,
        "one row of ones becomes zeros: P(nine below, then a value <= 0) 3.7e-7 and 4.5e-6: eps >= 2.5",
        checkdp="badgapsparsevector",
    ),
    _vectors(
        "bad_adaptive_sparse_vector",
        False,
        TEN,
        "one row of ones becomes zeros: P(nine below, then a far value <= 20) 3.4e-5 and 1.07e-4: eps >= 1.13",
        checkdp="badadaptivesparsevector",
    ),
    _counts("partial_sum", True, "the total moves by 1 of scale 1: eps 1", checkdp="partialsum", shadowdp="partialsum"),
    _counts("bad_partial_sum", False, "the total moves by 1 of scale 1/2: eps 2", checkdp="badpartialsum"),
    _counts("prefix_sum", True, "one of five noisy counts moves by 1 of scale 1: eps 1", shadowdp="prefixsum"),
    _counts(
        "smart_sum",
        True,
        "a noisy count and the noisy sum of its block move by 1 of scale 1: eps 2",
        "pure:2",
        checkdp="smartsum",
        shadowdp="smartsum",
    ),
    _counts("prefix_sum_of_noisy", True, "the same, each count made noisy before it is added: eps 1"),
    _counts("smart_sum_of_noisy", True, "the same, each number made noisy before it is added: eps 2", "pure:2"),
    _counts(
        "bad_smart_sum", False, "the sum of a block is released as it is: eps inf", "pure:2", checkdp="badsmartsum"
    ),
    _counts("histogram", True, "one count moves by 1 of scale 2: eps 1/2", "pure:0.5", statdp="histogram"),
    _counts("histogram_eps", False, "one count moves by 1 of scale 1/2: eps 2", "pure:0.5", statdp="histogram_eps"),
)


@dataclass(frozen=True)
class Said:
    """What dpverify says of a mechanism: the verdict, its number or reason, and the seconds that it took."""

    mechanism: Mechanism
    verdict: str
    detail: str
    seconds: float

    @property
    def false(self) -> bool:
        """A wrong claim that is proved, or a right one that is refuted."""
        return self.verdict == ("REFUTED" if self.mechanism.right else "PROVED")


def proof_of(mechanism: Mechanism) -> Proof:
    """The claim tried by the prover, in process."""
    return prove(mechanism.function, data=mechanism.data, relation=mechanism.relation, claim=mechanism.claim)


def certificate_of(mechanism: Mechanism) -> dict[str, Any]:
    """The record of `dpverify certify` with its default settings and the seed 1."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [sys.executable, "-m", "dpverify", "certify", f"{PROGRAMS / mechanism.file}.py:{mechanism.name}"]
        command += ["--claim", mechanism.claim, "--data", mechanism.data, "--relation", mechanism.relation]
        command += ["--seed", "1", "--json", str(record)]
        done = subprocess.run(command, cwd=PROGRAMS.parents[1], capture_output=True, text=True, check=False)
        if not record.exists():
            raise RuntimeError(done.stdout + done.stderr)
        return dict(json.loads(record.read_text()))


def what_stands_in_the_way(proof: Proof) -> str:
    """The line that ends the proof, or the number that is proved instead of the claim."""
    if proof.ended is not None:
        return str(proof.ended)
    return f"only eps {proof.eps:g} is proved; first charge: {proof.steps[0]}"


def ask(mechanism: Mechanism) -> Said:
    """The verdict on one mechanism: the proof where there is one, else the certificate."""
    start = time.perf_counter()
    proof = proof_of(mechanism)
    if proof.holds:
        return Said(mechanism, "PROVED", f"eps {proof.eps:g}", time.perf_counter() - start)
    start = time.perf_counter()
    record = certificate_of(mechanism)
    seconds = time.perf_counter() - start
    if record["verdict"] == "REFUTED":
        return Said(mechanism, "REFUTED", how_refuted(record), seconds)
    verdict = {"NOT_REFUTED": "OPEN"}.get(record["verdict"], record["verdict"])
    return Said(mechanism, verdict, what_stands_in_the_way(proof), seconds)


def how_refuted(record: dict[str, Any]) -> str:
    """The bound that the trials give, and whether the code refutes."""
    found = [f"eps >= {each['eps_lower']:.3g}" for each in record["matrix"] if each["refuted"]]
    found += ["by the code" for each in record["code"].values() if each["refutes"]]
    return ", ".join(found)


def totals(asked: list[Said]) -> str:
    """How many right ones are proved and wrong ones refuted; other ways to write a mechanism are counted apart."""
    right = [each for each in asked if each.mechanism.right and each.mechanism.published]
    other = [each for each in asked if each.mechanism.right and not each.mechanism.published]
    wrong = [each for each in asked if not each.mechanism.right]
    return (
        f"right: {sum(each.verdict == 'PROVED' for each in right)} of {len(right)} proved, written in other ways "
        f"{sum(each.verdict == 'PROVED' for each in other)} of {len(other)}, "
        f"{sum(each.false for each in right + other)} refuted; wrong: "
        f"{sum(each.verdict == 'REFUTED' for each in wrong)} of {len(wrong)} refuted, "
        f"{sum(each.false for each in wrong)} proved"
    )


def main(names: list[str]) -> int:
    """Prints the table; 1 where a verdict is false."""
    asked = []
    print("| mechanism | truth | dpverify | seconds | published |\n|---|---|---|---:|---|")
    for mechanism in MECHANISMS:
        if names and mechanism.name not in names:
            continue
        said = ask(mechanism)
        asked.append(said)
        truth = f"{'right' if mechanism.right else 'wrong'} ({mechanism.claim}): {mechanism.truth}"
        said_of_it = f"{said.verdict} {said.detail}".replace("|", "\\|")
        row = (
            f"`{mechanism.name}`",
            truth,
            said_of_it,
            f"{said.seconds:.2f}",
            mechanism.published or "another way to write it",
        )
        print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{totals(asked)}\n")
    print("\n".join(SOURCES))
    return int(any(each.false for each in asked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
