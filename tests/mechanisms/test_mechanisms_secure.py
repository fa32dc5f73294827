"""The cryptographic source: the right cipher, no seed, a clear line when it is missing."""

import sys

import numpy as np
import pytest
import randomgen

from dpverify.errors import UsageError
from dpverify.ledger.events import Sensitivity
from mechanisms.releases.discrete_laplace import DiscreteLaplace
from mechanisms.toolbox.secure import publish, secure_generator, SeededReleaseWarning


def test_missing_package_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "randomgen", None)
    with pytest.raises(UsageError, match=r"pip install 'dpverify\[secure\]'$"):
        secure_generator()


def test_the_cipher_is_chacha20() -> None:
    """First block under the zero key and nonce (draft-strombergson-chacha-test-vectors-01, TC1)."""
    words = randomgen.ChaCha(key=0, counter=0, rounds=20).random_raw(4).astype("<u8")
    assert words.tobytes().hex() == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"


def test_two_generators_differ_and_drive_a_mechanism() -> None:
    mechanism = DiscreteLaplace.for_claim(1.0, sensitivity=Sensitivity(replace=1))
    first, second = (mechanism.release(0, rng=secure_generator(), size=2000) for _ in range(2))
    assert not np.array_equal(first, second)  # equal with probability below 2^-2000
    assert np.abs(first).mean() == pytest.approx(0.85, abs=0.2)  # E|Z| = 0.8509, 8 standard deviations


def test_the_cipher_runs_twenty_rounds_from_the_operating_systems_key(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("mechanisms.toolbox.secure.secrets.randbits", lambda bits: asked.append(bits) or 7)
    here = secure_generator().bit_generator
    assert asked == [256]
    assert np.array_equal(here.random_raw(8), randomgen.ChaCha(key=7, rounds=20).random_raw(8))


def test_real_data_are_published_with_secrets_and_a_warning_where_they_are_not() -> None:
    mechanism = DiscreteLaplace.for_claim(1.0, sensitivity=Sensitivity(replace=1))
    fresh = [publish(mechanism, 5) for _ in range(200)]  # warnings are errors in tests: this one is quiet
    assert np.ndim(fresh[0]) == 0
    assert np.mean(fresh) == pytest.approx(5, abs=1)  # standard error 0.1
    assert publish(mechanism, 5, rng=secure_generator()) is not None
    known = randomgen.ChaCha(key=7, rounds=20)  # the right cipher under a key that is known
    for bits in (np.random.PCG64(0), np.random.PCG64(), np.random.Philox(1), known):
        with pytest.warns(SeededReleaseWarning, match=type(bits).__name__):
            publish(mechanism, 5, rng=np.random.Generator(bits))
