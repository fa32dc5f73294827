"""Opaque arrays do what NumPy's arrays do, numbers, memory and all: random programs on both."""

from typing import Any

import numpy as np
import pytest

from dpverify.base.seeding import Stage, stream
from dpverify.tape.opaque import made, materialised, Opaque
from dpverify.tape.randomness import Arena

OPS: dict[str, Any] = {
    "add plain": lambda x, r: x + r.normal(size=x.shape),
    "plain minus": lambda x, r: 3.0 - x,
    "times": lambda x, r: x * r.normal(size=x.shape[-1:]) if x.ndim else x * 2.0,
    "over": lambda x, r: x / 4.0,
    "negative": lambda x, r: -x,
    "times zero": lambda x, r: x * 0.0,
    "add itself": lambda x, r: x + x,
    "double": lambda x, r: x * x,
    "sum last": lambda x, r: x.sum(axis=-1) if x.ndim > 1 else x,
    "sum all": lambda x, r: x + np.sum(x),
    "mean": lambda x, r: x - x.mean(axis=0, keepdims=True),
    "cumsum": lambda x, r: np.cumsum(x, axis=-1),
    "sort": lambda x, r: np.sort(x, axis=-1),
    "exp": lambda x, r: np.tanh(x),
    "reshape": lambda x, r: x.reshape(-1) if x.ndim > 1 else x.reshape(1, -1),
    "transpose": lambda x, r: x.T,
    "stack": lambda x, r: np.stack([x, x + 1.0])[r.integers(2)],
    "concatenate": lambda x, r: np.concatenate([x, x])[: len(x)],
    "where": lambda x, r: np.where(r.random(x.shape) < 0.5, x, 7.0),
    "fancy": lambda x, r: x[r.integers(0, len(x), len(x))],
    "mask": lambda x, r: x[r.random(len(x)) < 2.0],
    "flip": lambda x, r: np.flip(x, axis=0),
    "clip": lambda x, r: np.clip(x, -1.0, 1.0),
    "compare": lambda x, r: x + (x > 0.3),
    "matmul": lambda x, r: x @ np.eye(x.shape[-1]),
    "copy": lambda x, r: x.copy(),
    "broadcast": lambda x, r: np.broadcast_to(x, (2, *x.shape))[1] + 0.0,
    "iterate": lambda x, r: np.array([float(np.sum(row)) for row in x]).reshape(-1),
    "round": lambda x, r: np.round(x, 1),
    "astype": lambda x, r: x.astype(np.int64),
    "out": lambda x, r: np.add(x, 1.0, out=np.empty(x.shape)),
    "maximum": lambda x, r: np.maximum(x, 0.0),
    "scalar": lambda x, r: x + x[(0,) * x.ndim],
    "take": lambda x, r: np.take(x, [0], axis=0) + 1.0,
}


def in_place(x: Any, r: np.random.Generator) -> None:
    """A change through a view, of one of several kinds."""
    if x.dtype != np.float64 or not x.ndim:
        return
    match r.integers(6):
        case 0:
            x[: len(x) // 2 + 1] += r.normal(size=x.shape)[: len(x) // 2 + 1]
        case 1:
            view = x.reshape(-1)
            view *= 1.5
        case 2:
            x[...] = x[::-1] + 1.0
        case 3:
            x.T[0] = r.normal()
        case 4:
            x -= 0.25
        case 5:
            np.asarray(x)[0] = 2.0


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_give_the_same_numbers(seed: int) -> None:
    """12 steps from 34 operations and 6 changes in place; old arrays are looked at again, for shared memory."""
    z = stream(seed, Stage.TAPE, 1).normal(size=(3, 4))

    def run(x: Any) -> list[Any]:
        r = stream(seed, Stage.TAPE, 2)
        names, seen = list(OPS), [x]
        for _ in range(12):
            if r.random() < 0.3:
                in_place(x, r)
            x = OPS[names[r.integers(len(names))]](x, r)
            if not np.ndim(x):
                break
            seen.append(x)
        return [np.array(materialised(each)) for each in reversed(seen)]

    arena = Arena()
    with np.errstate(all="ignore"):
        wanted = run(z.copy())
        found = run(made(arena, arena.draw("normal", z)))
    for each, want in zip(found, wanted, strict=True):
        assert each.dtype == want.dtype
        np.testing.assert_allclose(each, want, rtol=1e-9, atol=1e-12)


def opaque(values: Any, family: str = "normal") -> tuple[Arena, Any]:
    arena = Arena()
    return arena, made(arena, arena.draw(family, np.asarray(values, dtype=float)))


def test_sums_and_products_stay_opaque_and_keep_one_value() -> None:
    arena, noise = opaque([1.5, -2.0])
    released = 3.0 * noise + np.array([10.0, 20.0])
    assert isinstance(released, Opaque)
    assert arena.transcript.entries == []
    assert np.asarray(released).tolist() == [14.5, 14.0]
    (entry,) = arena.transcript.entries
    assert (entry.kind, entry.forced.tolist(), entry.coef.tolist()) == ("value", [14.5, 14.0], [3.0, 3.0])
    np.asarray(released), np.asarray(noise)
    assert len(arena.transcript.entries) == 1, "a second use is computed, never drawn again"


def test_a_forced_run_gets_the_value_and_not_the_noise() -> None:
    arena, noise = opaque([1.5])
    np.asarray(noise * 2.0 + 10.0)
    other = Arena(arena.transcript)
    again = made(other, other.draw("normal", np.array([99.0])))
    assert np.asarray(again * 2.0 + 11.0).tolist() == [13.0]
    assert np.asarray(again).tolist() == [1.0], "the noise is (13 - 11)/2 now"


def test_bare_noise_is_a_public_coin() -> None:
    arena, noise = opaque([1.5])
    np.asarray(noise)
    other = Arena(arena.transcript)
    again = made(other, other.draw("normal", np.array([99.0])))
    assert np.asarray(again).tolist() == [1.5]


def test_comparisons_of_uniforms_are_decisions_with_their_chances() -> None:
    arena, coin = opaque([0.3, 0.8], "uniform")
    assert (coin < 0.5).tolist() == [True, False]
    assert (0.9 > coin).tolist() == [True, True]
    first, second = arena.transcript.entries
    np.testing.assert_allclose(np.exp(first.log_mass), [0.5, 0.5])
    np.testing.assert_allclose(np.exp(second.log_mass), [1.0, 0.8])
    assert np.searchsorted([0.1, 0.25, 0.35], coin).tolist() == [2, 3]
    np.asarray(coin)
    assert arena.transcript.entries[-1].kind == "position"


@pytest.mark.parametrize(
    "act",
    [
        lambda u: u < 0.6,
        lambda u: u <= 0.6,
        lambda u: 0.6 < u,
        lambda u: 0.6 >= u,
        lambda u: -u > -0.6,
        lambda u: 1 - u >= 0.4,
        lambda u: np.array([0.6, 0.6]) > u,
        lambda u: 2 * u + 1 < 2.2,
    ],
)
def test_every_way_to_compare(act: Any) -> None:
    values = np.array([0.2, 0.9])
    arena, coin = opaque(values, "uniform")
    assert np.array_equal(act(coin), act(values))
    assert [entry.kind for entry in arena.transcript.entries] == ["decision"]
    np.testing.assert_allclose(
        np.exp(arena.transcript.entries[0].log_mass), np.where(act(values) == act(np.array([0.2, 0.2])), 0.6, 0.4)
    )


def test_views_share_numbers_and_copies_do_not() -> None:
    _, noise = opaque(np.arange(6.0).reshape(2, 3))
    view, copied = noise[1], noise[1].copy()
    numbers = np.asarray(view)
    numbers[0] = 50.0
    assert np.asarray(noise)[1].tolist() == [50.0, 4.0, 5.0]
    assert np.asarray(copied).tolist() == [3.0, 4.0, 5.0]
