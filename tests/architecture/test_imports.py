"""The one-way arrows, read from the source: between the four folders, between the wings, to the generator."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("dpverify", "mechanisms", "algorithms", "audits")  # each may import only itself and what is left of it
WINGS = (
    "errors",
    "base",
    "claims",
    "ledger",
    "accounting",
    "promises",
    "execution",
    "trials",
    "tape",
    "evidence",
    "auditing",
    "wild",
    "proof",
    "suite",
    "adapters",
    "check",
    "report",
    "cli",
    "pytest_plugin",
)
ROLES = ({"toolbox", "datasets"}, {"releases", "counters", "shuffling"}, {"privatizers"})  # of mechanisms, upwards
# the doors of the house: they open on every wing; groups of changes are accounted
FREE = {"dpverify/__init__.py", "dpverify/__main__.py", "dpverify/ledger/__init__.py"}
CIRCLES = [  # modules that import one another: one of them for types only, or from within a function
    # NumPy asks the opaque array, which asks the arithmetic; a draw without size is a number of Python
    {"dpverify.tape.arithmetic", "dpverify.tape.opaque"},
]
GENERATORS = {
    "dpverify/base/seeding.py",
    "dpverify/wild/worker/calling.py",  # runs beside other libraries
    "dpverify/proof/rehearsal.py",  # hands a seed to generators that a program makes
    "dpverify/proof/noise.py",  # makes none: it tells constructors from other functions of a program
}


def sources(root: Path) -> list[Path]:
    return [file for folder in FOLDERS for file in sorted((root / folder).rglob("*.py"))]


def imports(tree: ast.AST, package: list[str]) -> Iterator[str]:
    """Dotted names of everything imported anywhere in a module of `package`, function bodies included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func) == "import_module":
            yield from (each.value for each in node.args if isinstance(each, ast.Constant))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def circles(root: Path) -> list[set[str]]:
    """Sets of modules that import one another, directly or through others."""
    known = {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file for file in sources(root)
    }
    reached: dict[str, set[str]] = {}
    for name, file in known.items():
        named = imports(ast.parse(file.read_text()), list(file.relative_to(root).parts[:-1]))
        found = (each if each in known else each.rpartition(".")[0] for each in named)
        reached[name] = {each for each in found if each in known and each != name}
    growing = True
    while growing:  # until what is reached through others is reached
        grown = {name: below.union(*(reached[each] for each in below)) for name, below in reached.items()}
        growing, reached = grown != reached, grown
    rings = [frozenset(each for each in below if name in reached[each]) for name, below in reached.items()]
    return [set(ring) for ring in sorted(set(rings) - {frozenset()}, key=sorted)]


def wrong_arrows(root: Path) -> list[str]:
    """Every import that points the wrong way, as `file imports name`."""
    found = []
    for file in sources(root):
        place = file.relative_to(root)
        for name in imports(ast.parse(file.read_text()), list(place.parts[:-1])):
            there = name.split(".")
            if there[0] not in FOLDERS:
                continue
            outward = FOLDERS.index(there[0]) > FOLDERS.index(place.parts[0])
            if outward or _against_the_wings(place, there) or _against_the_roles(place, there):
                found.append(f"{place} imports {name}")
    return found


def _against_the_wings(place: Path, there: list[str]) -> bool:
    if place.parts[0] != "dpverify" or str(place) in FREE or len(there) < 2 or there[1] not in WINGS:
        return False
    return WINGS.index(there[1]) > WINGS.index(place.parts[1].removesuffix(".py"))


def _against_the_roles(place: Path, there: list[str]) -> bool:
    """A role may import its own floor and what lies below."""
    if place.parts[0] != "mechanisms" or there[0] != "mechanisms" or len(place.parts) < 3 or len(there) < 2:
        return False
    floor = {role: number for number, roles in enumerate(ROLES) for role in roles}
    return floor.get(there[1], 0) > floor.get(place.parts[1], len(ROLES))


def generator_calls(root: Path) -> list[str]:
    """Every mention of default_rng outside of base/seeding.py."""
    found = []
    for file in sources(root):
        place = str(file.relative_to(root))
        for node in ast.walk(ast.parse(file.read_text())):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            imported = isinstance(node, ast.ImportFrom) and any(alias.name == "default_rng" for alias in node.names)
            if place not in GENERATORS and (name == "default_rng" or imported):
                found.append(f"{place}:{getattr(node, 'lineno', 0)}")
    return found


def test_there_is_something_to_read() -> None:
    assert len(sources(ROOT)) >= 40
    assert {file.relative_to(ROOT).parts[0] for file in sources(ROOT)} == set(FOLDERS)


def test_every_wing_is_in_the_list() -> None:
    folders = {folder.name for folder in (ROOT / "dpverify").iterdir() if (folder / "__init__.py").exists()}
    files = {file.stem for file in (ROOT / "dpverify").glob("[!_]*.py")}
    assert folders | files == set(WINGS)


def test_imports_point_one_way() -> None:
    assert wrong_arrows(ROOT) == []


def test_no_circles_but_those_that_say_why() -> None:
    assert circles(ROOT) == CIRCLES


def test_only_seeding_makes_generators() -> None:
    assert generator_calls(ROOT) == []


def _plant(root: Path, place: str, source: str) -> None:
    for folder in FOLDERS:
        (root / folder).mkdir(exist_ok=True)
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(source)


def test_planted_arrow_between_folders_is_caught(tmp_path: Path) -> None:
    _plant(tmp_path, "mechanisms/bad.py", "def f():\n    from audits.planted import laplace\n")
    assert wrong_arrows(tmp_path) == ["mechanisms/bad.py imports audits.planted.laplace"]


def test_every_role_is_in_the_list() -> None:
    found = {folder.name for folder in (ROOT / "mechanisms").iterdir() if (folder / "__init__.py").exists()}
    assert found == set().union(*ROLES)


def test_planted_arrow_between_roles_is_caught(tmp_path: Path) -> None:
    _plant(tmp_path, "mechanisms/counters/bad.py", "from mechanisms.privatizers.central import Central\n")
    assert wrong_arrows(tmp_path) == ["mechanisms/counters/bad.py imports mechanisms.privatizers.central.Central"]


def test_planted_arrow_between_wings_is_caught(tmp_path: Path) -> None:
    _plant(tmp_path, "dpverify/claims/bad.py", "from ..evidence import tally\nfrom dpverify.base import require\n")
    assert wrong_arrows(tmp_path) == ["dpverify/claims/bad.py imports dpverify.evidence.tally"]


def test_planted_generators_are_caught(tmp_path: Path) -> None:
    _plant(tmp_path, "algorithms/bad.py", "import numpy as np\nrng = np.random.default_rng(0)\n")
    _plant(tmp_path, "mechanisms/bad.py", "from numpy.random import default_rng\n")
    assert generator_calls(tmp_path) == ["mechanisms/bad.py:1", "algorithms/bad.py:2"]


def test_planted_arrow_by_name_is_caught(tmp_path: Path) -> None:
    _plant(tmp_path, "dpverify/suite/bad.py", "import importlib\nimportlib.import_module('dpverify.cli.main')\n")
    assert wrong_arrows(tmp_path) == ["dpverify/suite/bad.py imports dpverify.cli.main"]


def test_planted_circle_is_caught(tmp_path: Path) -> None:
    for here, there in (("a", "b"), ("b", "c"), ("c", "a")):
        _plant(tmp_path, f"dpverify/claims/{here}.py", f"def f():\n    from dpverify.claims.{there} import g\n")
    assert circles(tmp_path) == [{"dpverify.claims.a", "dpverify.claims.b", "dpverify.claims.c"}]


PATHS = (  # what outside code imports: none may move
    "dpverify.errors",
    "dpverify.claims",
    "dpverify.ledger",
    "dpverify.adapters",
    "dpverify.promises",
    "dpverify.ledger.events",
    "dpverify.evidence.tally",
    "dpverify.evidence.bounds",
    "dpverify.adapters.diffprivlib",
    "dpverify.adapters.dp_accounting",
    "dpverify.adapters.opendp",
    "dpverify.cli.main",
    "dpverify.pytest_plugin",
)
NAMES = {
    "dpverify.claims": "PureDP ApproxDP ZCDP GaussianDP RenyiDP TradeOff Pair Records Relation Unit View parse_claim",
    "dpverify.ledger": "LaplaceNoise DominatingPair PoissonSampled FixedSizeSampled BoundedRange AboveThreshold "
    "Shuffled MatrixGaussian Filtered Selected group_of private_selection Disjoint Ledger Sensitivity "
    "Shift dp_sgd laplace gaussian composed",
    "dpverify.evidence.tally": "Tally",
    "dpverify.evidence.bounds": "CurveTest",
    "dpverify.promises": "Promise check_promise",
    "dpverify.cli.main": "main",
    "dpverify.wild": "try_out replay Elsewhere encode",
    "algorithms.study": "Study",
    "algorithms.instances": "black_box full_size figure_regret",
    "algorithms.gym_users": "GymUsers",
    "mechanisms.flow": "FlowConsistent",
}


def test_paths_that_outside_code_imports_stay() -> None:
    for path in PATHS:
        assert import_module(path).__doc__, path
    for path, names in NAMES.items():
        for name in names.split():
            assert hasattr(import_module(path), name), f"{path}.{name}"
