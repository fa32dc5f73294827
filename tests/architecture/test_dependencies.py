"""What is declared is imported, and what is imported is declared: run-time dependencies against the code itself."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
ELSEWHERE = ROOT / "audits/field/calls"  # calls of libraries in environments of their own, which the rows name
SHIPPED = ("dpverify", "mechanisms", "algorithms", "audits")
BROUGHT = {"markupsafe": "jinja2", "distributed": "dask", "pandas": "statsmodels"}  # by a dependency of ours
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def normal(name):
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", name).group()).lower()


def imported(folders=SHIPPED, apart=(ELSEWHERE,)):
    """Top-level names of all imports, those inside functions included, but of files and folders that are `apart`."""
    found = set()
    files = (file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    for file in (file for file in files if not {file, *file.parents} & {*apart}):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
    return found


def unused(declared, modules):
    """Declared distributions of which no module is imported."""
    owners = packages_distributions()
    used = {normal(owner) for module in modules for owner in owners.get(module, [module])}
    return sorted({normal(each) for each in declared} - used)


def test_every_declared_dependency_is_imported():
    assert unused(PROJECT["dependencies"], imported()) == []


def test_a_dependency_that_nothing_imports_is_seen():
    assert unused([*PROJECT["dependencies"], "hypothesis>=6"], imported()) == ["hypothesis"]


def test_every_import_is_declared():
    """Optional ones by an extra; what another dependency brings along stands in BROUGHT."""
    extras = [each for group in PROJECT.get("optional-dependencies", {}).values() for each in group]
    declared = {normal(re.sub(r"\[.*?\]", "", each)) for each in [*PROJECT["dependencies"], *extras]}
    owners = packages_distributions()
    own = {*SHIPPED, *sys.stdlib_module_names}
    for module in imported() - own:
        names = {normal(owner) for owner in owners.get(module, [module])}
        assert names & declared or BROUGHT.get(module) in declared, f"{module} is imported and not declared"


def missing_in_first_command(readme):
    """What audits, mechanisms and algorithms import, and the first command of the README does not install.

    Figures and agents of Gymnasium are commands of their own.
    """
    command = next(line for line in readme.splitlines() if line.startswith("$ python -m pip install"))
    named = re.search(r"pip install '?\.(?:\[([\w,-]+)\])?", command)
    groups = [group for group in (named[1] or "").split(",") if group]
    installed = [
        *PROJECT["dependencies"],
        *(each for group in groups for each in PROJECT["optional-dependencies"][group]),
    ]
    declared, owners = {normal(each) for each in installed}, packages_distributions()
    apart = (ELSEWHERE, ROOT / "algorithms/experiments", ROOT / "algorithms/gym_users.py")
    modules = imported(("audits", "mechanisms", "algorithms"), apart) - {*SHIPPED, *sys.stdlib_module_names, *BROUGHT}
    return sorted(each for each in modules if not {normal(owner) for owner in owners.get(each, [each])} & declared)


def test_the_first_command_of_the_readme_installs_what_the_audits_import():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert missing_in_first_command(readme) == []
    assert "cvxpy" in missing_in_first_command(readme.replace("'.[papers]'", "."))
