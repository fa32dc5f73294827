"""Random programs over the rules of a proof, each as source text, with what is true of them.

The grammar contains each rule and its negation: signs, factors of a lattice, broadcasting, a draw used twice, axes,
keywords, data in scales, seeds, bare values on one side of a branch. Half of the programs are meant to be right; what
is true of any of them is found by `truth_by_force`, which does not know what was meant.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from proof.truth_by_force import Program, Space, Truth, truth

HEADER = "import random\n\nimport numpy as np\nfrom scipy import stats\n\n"

VECTORS = (
    Space("vector", "integer 0..1", (0, 1), (1, 4), True),
    Space("vector", "integer 0..2", (0, 1, 2), (2, 3), True),
    Space("vector", "integer 0..3", (0, 1, 2, 3), (1, 3), True),
    Space("vector", "integer -1..2", (-1, 0, 1, 2), (1, 2), True),
    Space("vector", "integer -2..1", (-2, -1, 0, 1), (1, 2), True),
    Space("vector", "integer 0..2", (0, 1, 2), (3, 3), True),
    Space("vector", "integer 0..1", (0, 1), (0, 2), True),
    Space("vector", "real 0..1", (0.0, 0.5, 1.0), (1, 3), False),
    Space("vector", "real -1..2", (-1.0, 0.0, 0.7, 2.0), (1, 2), False),
    Space("vector", "real 0..3", (0.0, 1.5, 3.0), (2, 3), False),
    Space("vector", "real 1..3", (1.0, 2.0, 3.0), (3, 4), False),
)
ARRAYS = (
    Space("array", "integer 0..1 x 2", ((0, 0), (0, 1), (1, 0), (1, 1)), (1, 3), True),
    Space("array", "real -1..1 x 2", ((-1.0, -1.0), (1.0, 1.0), (0.0, 0.0), (1.0, -1.0)), (2, 3), False),
    Space("array", "real 0..2 x 2", ((0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)), (2, 2), False),
)
LISTS = (
    Space("list", "integer 0..2", (0, 1, 2), (1, 3), True),
    Space("list", "integer -1..1", (-1, 0, 1), (2, 3), True),
    Space("list", "real 0..2", (0.0, 0.5, 2.0), (2, 3), False),
)


@dataclass(frozen=True)
class Noise:
    """Text of noise, and of what stands for it where the truth is found."""

    text: str
    plain: str


class Grammar:
    """Draws programs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.wrong = False  # whether this program may break a rule
        self.symmetric = False  # whether its noise is alike in both directions

    def one(self, *texts: str) -> str:
        return self.random.choice(texts)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def slip(self, share: float = 0.3) -> bool:
        """A rule is broken here."""
        return self.wrong and self.chance(share)

    # ------------------------------------------------------------------------------------------------------------------
    # Rows.

    def threshold(self) -> str:
        low, high = self.low, self.high
        steps = [low + (high - low) * share for share in (0, 0.25, 0.5, 0.75, 1)]
        return repr(self.random.choice([each for each in steps] + [int(each) for each in steps]))

    def mask(self, v: str) -> str:
        t, u = self.threshold(), self.threshold()
        return self.one(
            f"({v} > {t})",
            f"({v} >= {t})",
            f"({v} <= {t})",
            f"({v} < {t})",
            f"({v} == {t})",
            f"({v} != {t})",
            f"(({v} > {t}) & ({v} <= {u}))",
            f"(({v} <= {t}) | ({v} >= {u}))",
            f"(~({v} > {t}))",
            f"(2 * {v} > {t})",
            f"({v} + 1 >= {t})",
            f"(({v} > {t}) + ({v} > {u}))",
            f"np.logical_and({v} >= {t}, {v} >= {u})",
        )

    def row(self, v: str, depth: int = 2) -> str:
        if depth == 0:
            return v
        e = self.row(v, depth - 1)
        t, c = self.threshold(), self.one("2", "3", "0.5", "-1", "-2")
        return self.one(
            v,
            v,
            f"np.clip({e}, {self.one('0', '-1', t)}, {self.one('1', '2')})",
            f"np.clip({e}, a_min={self.one('None', '0')}, a_max=1)",
            f"{e}.clip(0, 1)" if e.isidentifier() else f"np.minimum({e}, 1)",
            f"np.abs({e})",
            f"abs({e})",
            f"({e}) * {c}",
            f"({e}) + {self.one('1', '2', '-1')}",
            f"(-({e}))",
            f"({e}) ** 2",
            f"({e}) * {self.mask(v)}",
            f"{self.mask(v)} * 1",
            f"{self.mask(v)} * 1.0 - {self.mask(v)} * 1",
            f"{self.mask(v)} + {self.mask(v)}",
            f"np.where({self.mask(v)}, {e}, {self.one('0', '1', v)})",
            f"np.minimum({e}, {t})",
            f"np.maximum({e}, {t})",
            f"np.floor({e})",
            f"np.round({e})",
            f"np.sign({e})",
            f"({e}).astype(int)" if v == "x" else f"np.floor({e})",
            f"({e}).astype(float)" if v == "x" else f"np.ceil({e})",
            f"({e}) * {v}",
            f"({e}) % 2",
            f"({e}) // 2",
            f"np.exp({v})",
            f"np.sqrt(np.abs({e}))",
            f"1 / (np.abs({e}) + 1)",
            *(
                (f"1 / ({e})", f"np.log({e})", f"np.sqrt({e})", f"({e}).astype(np.int8) * np.int8(100)")
                if self.slip()
                else ()
            ),
        )

    # ------------------------------------------------------------------------------------------------------------------
    # Aggregates: text and number of coordinates (0: a number).

    def number(self) -> str:
        """A number of the whole dataset."""
        if self.space.container == "list":
            return self.number_of_a_list()
        v = "x" if self.space.container == "vector" else self.one("X[:, 0]", "X[:, 1]", "(X[:, 0] + X[:, 1])")
        e, m = self.row(v), self.mask(v)
        good = [
            f"({e}).sum()",
            f"({e}).sum()",
            f"np.sum({e})",
            f"({e}).sum() / 4",
            f"3 * ({e}).sum() - 1",
            f"{m}.sum()",
            f"{m}.sum()",
            f"np.count_nonzero({m})",
            f"({e})[{m}].sum()",
            f"({e}).sum(where={m})",
            f"np.sum({m} * 1)",
            f"({e}).mean()",
            f"np.mean({e})",
            f"({e}).sum() / len({self.x})",
            f"{m}.mean()",
            f"(({e}).sum() + {m}.sum())",
            f"abs(({e}).sum())",
            f"np.clip(({e}).sum(), 0, 2)",
            f"max(({e}).sum(), 1)",
            f"np.floor(({e}).sum())",
            f"round(float(({e}).sum()))" if self.chance(0.3) else f"np.round(({e}).sum())",
            f"np.clip(({e}).max(), 0, 2)",
            f"({e}).max()",
            f"({e}).min()",
            f"np.median({e})",
            f"({e}).var()",
            f"np.std({e})",
            f"len({self.x})",
            f"{self.x}.shape[0] * 2",
        ]
        bad = [
            f"({e})[{m}].mean()",
            f"({e}).sum() / {m}.sum()",
            f"({e}).mean(where={m})",
            f"({e}).var(ddof=1)",
            f"({e}).sum() * {m}.sum()",
            f"({e})[0]",
            f"({e})[-1]",
            f"({e})[:2].sum()",
            f"({e})[::2].sum()",
            f"np.abs(np.diff({e})).sum()",
            f"(({e}) - ({e}).mean()).max()",
            f"({e}).sum(dtype=np.int8)",
            f"np.sort({e})[0]",
            f"(({e}) * np.arange(len({self.x}))).sum()",
            f"({e}).prod()",
            f"np.ones(len({self.x})).sum()",
            f"(1 if ({e}).sum() > 1 else 0)",
            f"len(np.unique({e}))",
        ]
        return self.random.choice(bad if self.slip(0.4) else good)

    def number_of_a_list(self) -> str:
        t, c = self.threshold(), self.one("1", "2", "0.5")
        m = self.one(f"v > {t}", f"v <= {t}", f"v == {t}", f"v >= {t} and v > 0", f"not v > {t}", f"0 < v <= {t}")
        e = self.one(
            "v",
            f"min(v, {c})",
            f"min(max(v, 0), {c})",
            "abs(v)",
            "v ** 2",
            f"(v if {m} else 0)",
            "v * 2",
            "-v",
            "v / 2",
        )
        good = [
            f"sum({e} for v in x)",
            f"sum([{e} for v in x])",
            f"sum({e} for v in x if {m})",
            f"sum(1 for v in x if {m})",
            f"len([v for v in x if {m}])",
            f"sum({m} for v in x)",
            f"sum({e} for v in x) / len(x)",
            f"max({e} for v in x)",
            f"max(sum({e} for v in x), 1)",
            f"sum(sorted({e} for v in x))",
            "len(x)",
        ]
        bad = [
            f"sum({e} for v in x if {m}) / len([v for v in x if {m}])",
            "sum(i * v for i, v in enumerate(x))",
            "sum(abs(a - b) for a in x for b in x)",
            "sum(v for v in x[1:])",
            "x[0]",
            "len(set(x))",
            f"int(any({m} for v in x)) * 2",
            f"x.count({t})",
            f"sum(v for v in x) * len([v for v in x if {m}])",
        ]
        return self.random.choice(bad if self.slip(0.4) else good)

    def vector(self) -> tuple[str, int]:
        """An array of numbers of the whole dataset, and how many they are meant to be."""
        if self.space.container == "list":
            ts = [self.threshold() for _ in range(3)]
            return self.random.choice(
                [
                    ("np.array([sum(1 for v in x if v == k) for k in (0, 1, 2)])", 3),
                    (f"np.array([sum(v > t for v in x) for t in ({', '.join(ts)})])", 3),
                    (f"np.array([{self.number()}, {self.number()}])", 2),
                ]
            )
        if self.space.container == "array":
            good = [
                ("X.sum(axis=0)", 2),
                ("np.sum(X, axis=0)", 2),
                ("X.mean(axis=0)", 2),
                ("X.sum(axis=-2)", 2),
                ("(np.abs(X) > 0).sum(axis=0)", 2),
                ("np.clip(X, 0, 1).sum(axis=0)", 2),
                ("(X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))).sum(axis=0)", 2),
                ("(X / np.maximum(1, np.linalg.norm(X, ord=1, axis=1, keepdims=True))).sum(axis=0)", 2),
                (f"np.array([{self.number()}, {self.number()}])", 2),
                ("np.array([[1.0, 2.0], [1.0, -1.0], [0.0, 1.0]]) @ X.sum(axis=0)", 3),
                ("np.abs(X).max(axis=0)", 2),
                ("X.T @ X[:, 0]", 2),
            ]
            bad = [
                ("X.sum(axis=1)", 2),
                ("(X / np.maximum(1, np.linalg.norm(X, axis=0))).sum(axis=0)", 2),
                ("(X / np.linalg.norm(X, axis=1, keepdims=True)).sum(axis=0)", 2),
                ("(X / np.maximum(1, np.linalg.norm(X[:, :1], axis=1, keepdims=True))).sum(axis=0)", 2),
                ("(X / max(1, np.linalg.norm(X))).sum(axis=0)", 2),
                ("np.cumsum(X, axis=0)[-1]", 2),
                ("X[0]", 2),
                ("X[X[:, 0] > 0].mean(axis=0)", 2),
            ]
            return self.random.choice(bad if self.slip(0.4) else good)
        k, shift = int(self.high - self.low) + 1, int(-self.low)
        label = ("x" if shift == 0 else f"(x + {shift})") if self.whole else "np.floor(x).astype(int) + " + str(shift)
        h = f"np.bincount({label}, minlength={k})"
        edges = [self.low, (self.low + self.high) / 2, self.high]
        steps = f"({self.threshold()}, {self.threshold()})"
        good = [
            (h, k),
            (h, k),
            (f"np.cumsum({h})", k),
            (f"np.histogram(x, bins={edges!r})[0]", 2),
            (f"np.histogram(x, bins=2, range=({self.low}, {self.high}))[0]", 2),
            (f"np.array([{self.number()}, {self.number()}])", 2),
            (f"np.array([({self.row('x', 1)}).sum(), {self.mask('x')}.sum()])", 2),
            (f"np.array([(x > t).sum() for t in {steps}])", 2),
            (f"np.array([(x == t).sum() for t in {steps}])", 2),
            (f"2 * {h}", k),
            (f"{h}[1:]", k - 1),
            (f"np.sort({h})", k),
            (f"np.minimum({h}, 2)", k),
            (f"np.array([[1.0, 1.0], [1.0, -1.0]]) @ {h}[:2]", 2),
            (f"{h} / len(x)", k),
        ]
        bad = [
            (f"np.bincount({label}, minlength={max(1, k - 1)})", k),
            (f"np.bincount({label})", k),
            ("np.histogram(x, bins=2)[0]", 2),
            (f"np.histogram(x, bins={edges!r}, weights=x)[0]", 2),
            (f"np.histogram(x, bins={edges!r}, density=True)[0]", 2),
            (f"{h} / {h}.max()", k),
            ("np.unique(x, return_counts=True)[1]", k),
            (f"np.argsort({h})", k),
            (f"{h} * {self.number()}", k),
            ("np.cumsum(x)", 2),
            (f"{self.row('x', 1)}", 2),
        ]
        return self.random.choice(bad if self.slip(0.4) else good)

    # ------------------------------------------------------------------------------------------------------------------
    # Noise.

    def noise(self, size: int, whole: bool = False) -> Noise:
        """For an aggregate of so many coordinates."""
        shape = self._shape(size)
        b = self._scale(size)
        source = self.source
        law = self.random.choices(
            ("laplace", "normal", "geometric", "exponential", "other"),
            (8, 1.5, 3 if whole or self.slip() else 0, 1, 3 if self.slip() else 0),
        )[0]
        sized = f", size={shape}" if shape else ""
        if law == "laplace":
            text = self.one(
                f"{source}.laplace(scale={b}{sized})",
                f"{source}.laplace(0, {b}{sized})",
                f"{source}.laplace(loc=1.0, scale={b}{sized})",
                *((f"{source}.laplace({b}{sized})",) if self.slip() else ()),
                *((f"stats.laplace.rvs(scale={b}{sized})",) if self.chance(0.3) else ()),
                *((f"stats.laplace.rvs({b}{sized})",) if self.slip(0.2) else ()),
            )
        elif law == "normal":
            text = self.one(
                f"{source}.normal(scale={b}{sized})",
                f"{source}.normal(0, {b}{sized})",
                *((f"random.gauss(0, {b})",) if not shape and size == 0 else ()),
                *((f"{source}.normal({b}{sized})",) if self.slip() else ()),
            )
        elif law == "geometric":
            p, q = self.one("0.5", "0.75"), self.one("0.5", "0.25")
            q = p if self.symmetric else q
            text = f"({source}.geometric({p}{sized}) - {source}.geometric({self.one(p, p, q)}{sized}))"
            if self.slip(0.3):
                text = self.one(
                    f"{source}.geometric({p}{sized})",
                    f"({source}.geometric({p}{sized}) + {source}.geometric({p}{sized}))",
                )
        elif law == "exponential":
            text = f"({source}.exponential({b}{sized}) - {source}.exponential({b}{sized}))"
            if size == 0 and not shape and self.chance(0.3):
                text = "(random.expovariate(0.5) - random.expovariate(0.5))"
        else:
            return self._other_noise(b, sized)
        factor = self.random.choices(("", "-1 * ", "2 * ", "3 * ", "0.5 * ", "-", "0 * "), (8, 1, 1, 0.5, 0.5, 1, 0.3))[
            0
        ]
        text = f"{factor}{text}"
        return Noise(text, text)

    def _other_noise(self, b: str, sized: str) -> Noise:
        source = self.source
        laplace = f"{source}.laplace(scale={b}{sized})"
        pairs = [
            (each, each)
            for each in (
                f"{source}.exponential({b}{sized})",
                f"{source}.gumbel(scale={b}{sized})",
                f"{source}.uniform(-5, 5{sized})",
                f"-{source}.exponential({b}{sized})",
            )
        ]
        pairs += [
            (f"abs({laplace})", f"{source}.bounded({b}{sized})"),
            (f"{laplace} ** 2", f"{source}.bounded({b}{sized})"),
            (f"np.clip({laplace}, -3, 3)", f"{source}.bounded({b}{sized})"),
            (f"np.round({laplace})", f"{source}.rounded({b}{sized})"),
        ]
        return Noise(*self.random.choice(pairs))

    def _shape(self, size: int) -> str:
        if size == 0:
            return self.random.choice(("3", "(2, 2)", "2")) if self.slip(0.2) else self.one("", "", "", "None") and ""
        if self.slip(0.3):
            return self.random.choice(("", "1", f"(2, {size})", f"({size}, 1)", f"{size + 1}"))
        return self.random.choice((str(size), str(size), f"({size},)"))

    def _scale(self, size: int) -> str:
        if self.slip(0.2):
            return self.random.choice((f"1.0 / len({self.x})", f"len({self.x})", "0.0", f"abs({self.number()}) + 0.5"))
        if self.chance(0.08):
            return f"2.0 / len({self.x})"
        if size > 1 and self.chance(0.25):
            return f"np.array({[self.random.choice((0.25, 1.0, 2.0, 4.0)) for _ in range(size)]})"
        return self.one("0.5", "1.0", "2.0", "3.0", "4.0", "10 / 3")

    # ------------------------------------------------------------------------------------------------------------------
    # Programs.

    def program(self) -> Program:
        """One program; its truth may be that it says nothing."""
        self.wrong, self.symmetric = self.chance(0.5), False
        self.space = self.random.choices(self.random.choice((VECTORS, VECTORS, VECTORS, ARRAYS, LISTS)))[0]
        numbers = [each for row in self.space.values for each in (row if isinstance(row, tuple) else (row,))]
        self.low, self.high = min(numbers), max(numbers)
        self.whole = "integer" in self.space.column
        self.x = "X" if self.space.container == "array" else "x"
        prelude, parameters, before = self._source()
        kind = self.random.choices(
            (self._released, self._reused, self._branched, self._chosen, self._largest, self._looped),
            (10, 3 if self.wrong else 0.5, 1.5, 1, 2, 1),
        )[0]
        full, variants, rule = kind()
        head = f"{before}def release({self.x}{parameters}):\n"

        def text(lines: list[str]) -> str:
            return head + "".join(f"    {line}\n" for line in [*prelude, *lines])

        relation = self.one("replace", "replace", "add-remove")
        if self.space.rows[0] == self.space.rows[1] and not self.wrong:
            relation = "replace"
        return Program(self.space, relation, HEADER + "\n" + text(full), tuple(text(each) for each in variants), rule)

    def _source(self) -> tuple[list[str], str, str]:
        self.source = "rng"
        style = self.random.choices(
            ("local", "given", "module", "legacy", "seeded"), (6, 2, 1, 2, 1 if self.slip() else 0)
        )[0]
        if style == "given":
            return ["rng = np.random.default_rng() if rng is None else rng"], ", rng=None", ""
        if style == "module":
            return [], "", f"rng = np.random.default_rng({'4' if self.slip(0.2) else ''})\n\n\n"
        if style == "legacy":
            self.source = "np.random"
            return [], "", ""
        return [f"rng = np.random.default_rng({'0' if style == 'seeded' else ''})"], "", ""

    def _aggregate(self) -> tuple[str, int, bool]:
        """Text, coordinates, and whether it may be meant to be a whole number."""
        if self.chance(0.6):
            text = self.number()
            return text, 0, any(each in text for each in ("count_nonzero", "len(", "sum(1", "floor"))
        text, size = self.vector()
        return text, size, "bincount" in text or "histogram" in text

    def _noisy(self) -> tuple[str, str]:
        """An aggregate with noise: as it is, and for the truth."""
        aggregate, size, whole = self._aggregate()
        if whole and self.chance(0.2):
            c = self.one("2", "3", "4")
            d = self.one(c, c, "2") if self.wrong else c
            p = self.one("0.5", "0.75")
            sized = f", size={size}" if size else ""
            law = f"({self.source}.geometric({p}{sized}) - {self.source}.geometric({p}{sized}))"
            text = f"{c} * {aggregate} + {d} * {law}"
            return text, text
        noise = self.noise(size, whole)
        order = self.random.choice(
            ("{a} + {z}", "{a} + {z}", "{z} + {a}", "{a} - {z}", "2 * ({a} + {z})", "({a} + {z}) / 2")
        )
        return order.format(a=aggregate, z=noise.text), order.format(a=aggregate, z=noise.plain)

    def _result(self, names: list[str]) -> tuple[str, str]:
        """What is returned: as it is, and the released values that it is made of."""
        listed = ", ".join(names)
        plain = f"return {names[0]}" if len(names) == 1 else f"return {listed}"
        if self.slip(0.15):
            bare = self.number()
            return f"return {listed}, {bare}", f"return {listed}, {bare}"
        if self.slip(0.15):
            return f"return {listed}, len({self.x})", f"return {listed}, len({self.x})"
        if self.chance(0.2):
            y = names[-1]
            more = self.one(
                f"np.maximum({y}, 0)", f"2 * {y} + 1", f"np.round({y}, 2)", f"np.sum({y})", f"np.exp(-abs({y}))"
            )
            return f"return {listed}, {more}", plain
        if self.chance(0.3):
            full = "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"
            return f"return {full}", f"return {full}"
        if self.chance(0.2):
            return f"return [{listed}]", f"return [{listed}]"
        return plain, plain

    def _released(self) -> tuple[list[str], list[list[str]], str]:
        count = self.random.choices((1, 2, 3), (6, 3, 1))[0]
        full, plain, names = [], [], []
        for at in range(count):
            text, true = self._noisy()
            names.append(f"y{at}")
            full.append(f"y{at} = {text}")
            plain.append(f"y{at} = {true}")
        end, true_end = self._result(names)
        return [*full, end], [[*plain, true_end]], ""

    def _reused(self) -> tuple[list[str], list[list[str]], str]:
        a, size, _ = self._aggregate()
        b = self.number()
        z = self.noise(size).plain
        lines = [f"a = {a}", f"b = {b}", f"z = {z}"]
        if size:
            ends = [
                "return a + z, b + z[0]",
                "return a + z, z[-1]",
                "return a + z, a + z[::-1]",
                "return a + np.repeat(z[0], len(z))",
                "return a + z[0]",
                "return (a + z)[0], b + z[-1]",
                "return (a + z).sum()",
                "return a + z, (a + z).sum()",
                "return (a + z)[0]",
                "return a[:, None] + z",
                "return a + np.cumsum(z)",
                "return a.sum() + z.sum()",
                "h = a.astype(float)\n    g = h\n    h += z\n    return g",
                "h = a.astype(float)\n    g = h.copy()\n    h += z\n    return h, g",
                "return np.array([a, a]) + z",
            ]
        else:
            ends = [
                "return a + z, b + z",
                "y = a + z\n    return y - z",
                "y = a + z\n    return y, z",
                "y = a + z\n    return y, b - z",
                "y = a + z\n    return y + b + z",
                "y = a + z\n    return y, 2 * y - z",
                f"y = a + z\n    z = {z}\n    return y, b + z",
                "y = a + z\n    return y, y + 1",
                "return [a + z for _ in range(3)]",
                "return np.array([a, b]) + z",
                "return a + z + z",
                "return a + 2 * z - z",
                "return a + z - z",
            ]
        lines.append(self.random.choice(ends))
        return lines, [lines], ""

    def _branched(self) -> tuple[list[str], list[list[str]], str]:
        first, true_first = f"y = {self.number()} + {self.source}.laplace(scale=2.0)", ""
        true_first = first
        cut = self.one("0", "1", "100", "-100")
        sides = []
        self.symmetric = True  # the tails of y and of the second release are on one side of the branch
        for _ in range(2):
            text, true = self._noisy()
            if self.slip(0.3):
                text = true = self.number()
            elif self.chance(0.3):
                text = true = "0.0"
            sides.append((f"return y, {text}", f"return y, {true}"))
        style = self.one("if", "if", "expression")
        if style == "if":
            full = [first, f"if y > {cut}:", f"    {sides[0][0]}", sides[1][0]]
        else:
            one, other = (each[0].removeprefix("return y, ") for each in sides)
            full = [first, f"return y, (({one}) if y > {cut} else ({other}))"]
        return full, [[true_first, each[1]] for each in sides], ""

    def _chosen(self) -> tuple[list[str], list[list[str]], str]:
        text, size = next(each for each in iter(self.vector, None) if each[1] > 1)
        factor = self.one("0.5", "1.0", "0.25", "-0.5")
        lines = [f"s = {factor} * ({text})", "w = np.exp(s)", "p = w / w.sum()"]
        more = self.one(", size=3", ", 2", ", size=(2, 2)") if self.chance(0.3) else ""
        if self.slip(0.3):
            lines[1:] = self.random.choice(
                [
                    ["p = s / s.sum()"],
                    ["w = np.exp(s)", "p = np.round(w / w.sum(), 1)"],
                    ["w = np.exp(s - s.max())", "p = (w - w.min()) / (w - w.min()).sum()"],
                    ["w = np.abs(s) + 1", "p = w / w.sum()"],
                    ["w = np.exp(s * 3)", "p = w / w.sum()"],
                ]
            )
        elif self.chance(0.3):
            lines[1] = "w = np.exp(s - s.max())"
        source = "rng" if self.source == "rng" else "np.random"
        lines.append(
            f"return {source}.choice({size}, p=p{more})"
            if not more.startswith(", 2")
            else (f"return {source}.choice({size}, 2, p=p)")
        )
        return lines, [lines], ""

    def _largest(self) -> tuple[list[str], list[list[str]], str]:
        text, size = next(each for each in iter(self.vector, None) if each[1] > 1)
        law = self.one("laplace", "laplace", "gumbel", "gumbel", "exponential", "normal")
        b = self._scale(size) if law != "exponential" else self.one("1.0", "2.0")
        shape, axis = str(size), ""
        if self.slip(0.2):
            shape = ""
        elif self.chance(0.1):
            shape, axis = f"(2, {size})", self.one(", axis=1", ", axis=-1")
        sized = f", size={shape}" if shape else ""
        scale = b if law == "exponential" else f"scale={b}"
        z = f"{self.source}.{law}({scale}{sized})"
        rule, sign = self.one("argmax", "argmin"), self.one("+", "-")
        if not self.wrong and law in ("gumbel", "exponential"):
            sign = "+" if rule == "argmax" else "-"
        q = self.one(f"{text} {sign} {z}", f"{text} {sign} {z}", f"-(-({text}) {'-' if sign == '+' else '+'} {z})")
        method = (
            f"return ({q}).{rule}({axis.removeprefix(', ')})" if self.chance(0.3) else f"return np.{rule}({q}{axis})"
        )
        return [method], [[f"return {q}"]], rule

    def _looped(self) -> tuple[list[str], list[list[str]], str]:
        """Statements in place of one expression."""
        v = self.one("x", "list(x)") if self.space.container == "vector" else "x"
        rows = v if self.space.container != "array" else "X[:, 0]"
        c, t = self.one("1", "2"), self.threshold()
        body = self.random.choice(
            [
                ["total += v"],
                [f"total += min(v, {c})"],
                [f"total += max(min(v, {c}), 0)"],
                [f"if v > {t}:", "    total += 1"],
                [f"total += v if v > {t} else 0"],
            ]
        )
        if self.slip(0.5):
            body = self.random.choice(
                [
                    [f"if v > {t}:", "    break", "total += 1"],
                    ["if v >= total:", "    total += v"],
                    ["total = max(total, 2 * v)"],
                    ["total = v"],
                    ["total = 2 * total + v"],
                ]
            )
        text = self.noise(0)
        lines = ["total = 0", f"for v in {rows}:", *(f"    {line}" for line in body)]
        return [*lines, f"return total + {text.text}"], [[*lines, f"return total + {text.plain}"]], ""


def programs(seed: int, count: int) -> Iterator[tuple[Program, Truth]]:
    """So many programs of which the truth is known."""
    grammar = Grammar(seed)
    while count:
        program = grammar.program()
        known = truth(program)
        if known is not None and known.eps > 0:
            count -= 1
            yield program, known
