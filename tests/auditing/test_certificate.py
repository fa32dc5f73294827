"""Certificates fail closed: certified needs a proof, no refutation, no broken promise."""

import json
import math
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dpverify import Certificate, certify, Pair, PureDP, Records, Relation
from dpverify.auditing.statuses import Verdict
from dpverify.cli import main
from dpverify.errors import NeighbourError, ParameterError, TargetError, UsageError
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity, Shift
from dpverify.promises import Outcomes, Promise

TRIALS = 20_000  # white-box: eps = 2 against 1 is refuted with all but certainty, power ~ 1


@dataclass(frozen=True)
class Histogram:
    """Laplace histogram of four cells; `told` is the scale that its ledger states."""

    scale: float = 2.0
    told: float = 2.0
    slack: float = 1.0

    @property
    def ledger(self):
        moves = Sensitivity(replace=Shift(1, 2), add_remove=1)
        return Ledger(LaplaceNoise(what="cells", scale=self.told, sensitivity=moves))

    @property
    def pairs(self):
        return [Pair(Records([0, 1]), Records([3, 1]), name="moved")]

    def exact(self, data):
        return np.bincount(data.rows, minlength=4)

    def release(self, data, *, rng, size):
        return self.exact(data) + rng.laplace(scale=self.scale, size=(size, 4))

    def log_ratio(self, outputs, pair):
        first, second = (np.abs(outputs - self.exact(data)) for data in pair)
        return (second - first).sum(axis=1) / self.scale

    def noise_bound(self, beta):
        return self.slack * self.scale * math.log(4 / beta)


def _certify(subject, claim=None, **options):
    return certify(subject, **{"claim": claim or PureDP(1.0), "trials": TRIALS, "seed": 11, **options})


def test_right_privatizer_is_certified():
    certificate = _certify(Histogram())
    assert certificate.certified
    assert certificate.verdict is Verdict.NOT_REFUTED
    assert (certificate.status, certificate.exit_code) == ("CERTIFIED", 0)
    assert certificate.records[0].score == "likelihood"
    assert certificate.records[0].pair_verified
    assert [check.verdict for check in certificate.promises] != ["BROKEN"]
    assert certificate.records[0].significance == 0.01 / 2  # one pair, one promise


@pytest.mark.parametrize(
    ("subject", "objection", "code", "word"),
    [
        (Histogram(scale=1.0, told=1.0), "the code refutes the claim", 1, "REFUTED"),
        (Histogram(scale=1.0), "the code contradicts the ledger", 1, "REFUTED"),  # says 2.0
        (Histogram(slack=0.5), "promise broken", 1, "OPEN"),  # the true failure rate is about 0.15
        (Histogram(told=1.0), "the ledger does not prove the claim", 3, "OPEN"),
    ],
)
def test_everything_wrong_is_an_objection(subject, objection, code, word):
    certificate = _certify(subject)
    assert not certificate.certified
    assert any(objection in each for each in certificate.objections)
    assert certificate.exit_code == code
    assert certificate.status == word
    forgiven = certificate.exit_code_allowing(open_claims=True)
    assert forgiven == (0 if (word, code) == ("OPEN", 3) else code)  # what is false is never forgiven


def test_without_a_ledger_nothing_is_certified():
    def noisy(data, *, rng, size):
        return data + rng.laplace(size=size)

    certificate = _certify(noisy, trials=4_000, pairs=[(0.0, 1.0), (100.0, 101.0)])
    assert certificate.verdict is Verdict.NOT_REFUTED
    assert certificate.objections == ("no account: nothing proves the claim from above",)
    assert (certificate.status, certificate.exit_code) == ("OPEN", 3)
    assert certificate.exit_code_allowing(open_claims=True) == 0
    assert len(certificate.records) == 2


def test_own_promises_and_invariants_are_checked():
    class Promising(Histogram):
        def promises(self, data, *, beta):
            def draw(*, rng, size):
                return Outcomes(np.zeros(size), invariants={"never twice": rng.random(size) < 0.99})

            return [Promise(name="own", draw=draw, bound=1.0, failure_probability=beta, trials=2_000)]

    certificate = _certify(Promising(), tape=False)
    assert certificate.objections == ("promise broken: own",)
    assert certificate.promises[0].violations["never twice"] > 0


def test_a_promise_that_cannot_be_broken_by_the_trials_is_no_evidence():
    class Mute(Histogram):
        def promises(self, data, *, beta):
            def draw(*, rng, size):
                return Outcomes(np.zeros(size))

            return [Promise(name="own", draw=draw, bound=1.0, failure_probability=0.3, trials=1)]

    silent = _certify(Mute(), tape=False)
    assert (silent.status, silent.exit_code_allowing(open_claims=True)) == ("INCONCLUSIVE", 3)


@pytest.fixture(scope="module")
def small():
    return _certify(Histogram(), trials=3_000)


def test_dict_and_page_say_everything_and_plain_values_are_the_certificate(small):
    certificate = small
    plain = json.loads(json.dumps(certificate.to_dict()))
    assert Certificate.from_dict(plain) == certificate
    assert plain["schema"] == "dpverify/certificate/2"
    assert plain["eps_upper"] == 1.0
    assert plain["not_proved"]
    page = certificate.to_html()
    assert all(each in page for each in plain["not_proved"])
    assert "https://" not in page
    assert page.count('class="plot"') == 3
    assert page == certificate.to_html()


def test_pairs_are_checked_against_the_relation():
    far = Pair(Records([0, 1]), Records([3, 2]))
    with pytest.raises(NeighbourError, match="2 replaced"):
        _certify(Histogram(), pairs=far)
    with pytest.raises(NeighbourError):
        _certify(Histogram(), PureDP(1.0, relation=Relation.ADD_OR_REMOVE_ONE))


def test_bad_requests_are_refused():
    with pytest.raises(ParameterError, match="claim"):
        certify(Histogram(), claim="pure:1.0")
    with pytest.raises(UsageError, match="no neighbouring pairs"):
        _certify(lambda data, *, rng, size: data.rows)
    with pytest.raises(ParameterError, match="target"):
        _certify(object())
    with pytest.raises(TargetError):
        _certify(lambda data, *, rng, size: np.zeros(size + 1), pairs=(0, 1))


MODULE = """
    from dpverify import Pair
    import numpy as np

    class Coin:
        flip = 0.3

        def __init__(self, must=None):
            pass

        def release(self, data, *, rng, size):
            return (rng.random(size) < self.flip) != data

        def with_noise(self, factor):
            less = type(self)()
            less.flip = self.flip * factor
            return less

    class Liar(Coin):
        flip = 0.01

    class Picky(Coin):
        def __init__(self, must):
            pass

    def function(data, *, rng, size):
        return data + rng.laplace(size=size)

    bits = [Pair(0, 1, name="bit")]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "coins_for_certify", raising=False)
    Path("coins_for_certify.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    return "coins_for_certify"


def _cli(capsys, *arguments):
    code = main.run(["certify", *arguments, "--trials", "4000"])
    return code, *capsys.readouterr()


def test_command_line_writes_the_certificate(module, capsys):
    options = ["--claim", "pure:1.0", "--pairs", f"{module}:bits", "--json", "c.json", "--html", "c.html"]
    code, out, err = _cli(capsys, f"{module}:Coin", *options)
    assert (code, err) == (3, "")
    assert out.startswith("OPEN        Coin is neither proved nor refuted to be pure:1 (replace-one)")
    assert "ledger  none declared" in out
    plain = json.loads(Path("c.json").read_text(encoding="utf-8"))
    assert (plain["verdict"], plain["status"]) == ("NOT_REFUTED", "OPEN")
    assert plain["command"] in out
    assert _cli(capsys, f"{module}:Coin", *options, "--allow-open")[0] == 0
    assert plain["records"][0]["ladder"] == []
    assert Path("c.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    code, out, _ = _cli(capsys, f"{module}.py:Liar", *options)
    assert code == 1
    assert out.startswith("REFUTED ")


def test_the_command_of_a_certificate_repeats_it(module, capsys):
    import shlex

    _cli(capsys, f"{module}:Coin", "--claim", "pure:1", "--pairs", f"{module}:bits", "--json", "a.json", "--ladder")
    first = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert [each["runs"] for each in first["records"][0]["ladder"]] == [8, 8]
    assert main.run([*shlex.split(first["command"])[1:], "--json", "b.json"]) == 3
    second = json.loads(Path("b.json").read_text(encoding="utf-8"))
    for each in (first, second):
        del each["records"][0]["seconds"]
    assert first == second


@pytest.mark.parametrize(
    ("subject", "claim", "said"),
    [
        ("MOD:Cion", "pure:1", "did you mean 'Coin'?"),
        ("MOD:Picky", "pure:1", "cannot be made without arguments"),
        ("MOD", "pure:1", "must look like MODULE:OBJECT"),
        ("no_such:Coin", "pure:1", "no_such: cannot be loaded (ModuleNotFoundError"),
        ("nowhere.py:Coin", "pure:1", "nowhere.py: cannot be loaded (FileNotFoundError"),
        ("MOD:Coin", "pure", "must look like pure:EPS"),
        ("MOD:Coin", "puer:1", "must be one of pure:EPS | approx:EPS,DELTA"),
        ("MOD:Coin", "pure:nan", "eps = nan: must be"),
        ("MOD:bits", "pure:1", "on which datasets"),
    ],
)
def test_usage_errors_are_one_line(module, capsys, subject, claim, said):
    code, out, err = _cli(capsys, subject.replace("MOD", module), "--claim", claim)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("os._exit(0)", "ended with exit code 0 and gave no answer"),
        ("os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        ("time.sleep(1000)", "no answer within 5 seconds"),
    ],
)
def test_a_subject_that_ends_the_process_has_no_certificate(tmp_path, monkeypatch, capsys, does, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    text = "import os, time\nfrom dpverify import Pair\npairs = [Pair(0, 1)]\n"
    (tmp_path / "mod.py").write_text(f"{text}def f(data, *, rng, size):\n    {does}\n")
    (tmp_path / "old.json").write_text("a certificate of an earlier run")
    limit = ["--timeout", "5"] if "sleep" in does else []
    arguments = ["certify", "mod.py:f", "--claim", "pure:1", "--json", "old.json", "--pairs", "mod.py:pairs", *limit]
    assert main.run(arguments) == 3
    out, err = capsys.readouterr()
    assert out == "FAILED      f was not judged: pure:1\n"
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "old.json").exists()
