"""`dpverify certify` on modules of a user: true claims of the new kinds are proved, twins of half the noise are not."""

import sys
import textwrap

import pytest

from dpverify.cli import main

MODULE = '''
import numpy as np

from dpverify import Pair, Relation
from dpverify.ledger.compound_events import DominatingPair, PoissonSampled
from dpverify.ledger.laws import LaplaceLaw, Truncated
from dpverify.ledger.events import GaussianNoise, Ledger, Sensitivity

NOISE = {noise}
RATE, STEPS = 0.05, 40
ONE = Sensitivity(add_remove=1, replace=1)


class Trained:
    """Clipped sums of Poisson samples with Gaussian noise, step by step; data: records in [0, 1]."""

    name = "trained"
    pairs = (Pair((), (1.0,), relation=Relation.ADD_OR_REMOVE_ONE),)
    ledger = Ledger(PoissonSampled(rate=RATE, inside=Ledger(GaussianNoise(sigma=NOISE, sensitivity=ONE)))) * STEPS

    def release(self, data, *, rng, size):
        sums = rng.normal(scale=NOISE, size=(size, STEPS))
        for record in data:
            sums += record * (rng.random((size, STEPS)) < RATE)
        return sums

    def log_ratio(self, outputs, pair):
        mixed = np.log1p(RATE * np.expm1((2 * outputs - 1) / (2 * NOISE**2))).sum(axis=1)
        return mixed * (1 if len(pair.first) else -1)


class Summed:
    """One number with Gaussian noise."""

    name = "summed"
    pairs = (Pair(0.0, 1.0),)
    ledger = Ledger(GaussianNoise(sigma=NOISE, sensitivity=ONE))

    def release(self, data, *, rng, size):
        return data + rng.normal(scale=NOISE, size=size)

    def log_ratio(self, outputs, pair):
        first, second = ((outputs - each) ** 2 for each in pair)
        return (second - first) / (2 * NOISE**2)


class Bounded:
    """One number with Laplace noise that is drawn again outside of 15."""

    name = "bounded"
    pairs = (Pair(0.0, 1.0),)
    _laws = [Truncated(LaplaceLaw(at, NOISE), at - 15.0, at + 15.0) for at in (0.0, 1.0)]
    ledger = Ledger(DominatingPair(p=_laws[0], q=_laws[1], relation=Relation.REPLACE_ONE))

    def release(self, data, *, rng, size):
        return data + self._laws[0].sample(rng=rng, size=size)

    def log_ratio(self, outputs, pair):
        inside = [np.abs(outputs - each) <= 15.0 for each in pair]
        plain = (np.abs(outputs - pair.second) - np.abs(outputs - pair.first)) / NOISE
        return np.where(inside[0] & inside[1], plain, np.where(inside[0], np.inf, -np.inf))
'''

# vertices of the tangents of the curve of 1-GDP at slopes e^2, e, 1, 1/e, e^-2, moved down in the third digit
CURVE = "type_I,type_II\n0,0.979\n0.0226,0.811\n0.148,0.468\n0.468,0.148\n0.811,0.0226\n0.979,0\n"

CLAIMS = {  # subject, claim, further options; the truth is within 2 % of each number
    "dp-sgd": ("Trained", "approx:1.41,1e-3", ("--relation", "add-remove")),
    "rdp": ("Summed", "rdp:1.5,0.75;2,1;8,4;32,16", ()),
    "trade-off": ("Summed", "tradeoff:curve.csv", ()),
    "truncated-laplace": ("Bounded", "approx:1,1e-6", ()),
}


def _certify(tmp_path, monkeypatch, capsys, name, noise):
    subject, claim, options = CLAIMS[name]
    module = f"user_{name.replace('-', '_')}_{str(noise).replace('.', '_')}"
    (tmp_path / f"{module}.py").write_text(textwrap.dedent(MODULE).replace("{noise}", repr(noise)))
    (tmp_path / "curve.csv").write_text(CURVE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    arguments = ["certify", f"{module}:{subject}", "--claim", claim, *options, "--trials", "8000", "--seed", "4"]
    arguments += ["--accept", "ledger"]
    code = main.run([*arguments, "--json", "c.json", "--html", "c.html"])
    out, err = capsys.readouterr()
    sys.modules.pop(module, None)
    return code, out + err, (tmp_path / "c.json").read_text(), (tmp_path / "c.html").read_text()


@pytest.mark.parametrize("name", CLAIMS)
def test_true_claims_are_proved_and_those_of_half_the_noise_are_not(name, tmp_path, monkeypatch, capsys):
    """A true claim is refuted with probability at most 1 %; the seeds are fixed."""
    code, shown, json, html = _certify(tmp_path, monkeypatch, capsys, name, 1.0)
    assert code == 0, shown
    assert '"accounted": true' in json
    assert any(f'"status": "{word}"' in json for word in ("CERTIFIED", "ACCOUNTED"))
    assert shown.startswith(("CERTIFIED", "ACCOUNTED"))
    assert "<html" in html
    code, shown, json, _ = _certify(tmp_path, monkeypatch, capsys, name, 0.5)
    assert code in (1, 3), shown
    assert '"accounted": false' in json
    assert '"certified": false' in json
    assert not any(f'"status": "{word}"' in json for word in ("CERTIFIED", "ACCOUNTED"))
    if name in ("rdp", "trade-off", "truncated-laplace"):  # told by the trials as well
        assert '"verdict": "REFUTED"' in json
