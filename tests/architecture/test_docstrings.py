"""Docstrings of public names are in numpydoc form and tell the truth about signatures, errors and examples."""

import ast
import builtins
import doctest
import inspect
import io
import textwrap
from operator import attrgetter

import griffe
import pytest

import dpverify
import dpverify.accounting.accountant
import dpverify.accounting.adaptive
import dpverify.accounting.bounded_range
import dpverify.accounting.composition
import dpverify.accounting.discrete_losses
import dpverify.accounting.dominating_pairs
import dpverify.accounting.groups
import dpverify.accounting.loss_laws
import dpverify.accounting.losses_of_ledger
import dpverify.accounting.noise_losses
import dpverify.accounting.parameters
import dpverify.accounting.sampled_losses
import dpverify.accounting.selection
import dpverify.accounting.trapezoid
import dpverify.adapters
import dpverify.ledger
import dpverify.promises
from dpverify import errors
from dpverify.base import require

# The list only grows: a name comes in once its docstring passes, and no name goes unless it leaves dpverify.
DOCUMENTED = (
    "ApproxDP",
    "AuditRecord",
    "Certificate",
    "Claim",
    "Exact",
    "GaussianDP",
    "Outcomes",
    "Pair",
    "Proof",
    "PureDP",
    "Records",
    "RenyiDP",
    "Subject",
    "Trace",
    "TradeOff",
    "TrainingCheck",
    "ZCDP",
    "account",
    "accounting.accountant.Account",
    "accounting.accountant.account_of",
    "accounting.accountant.as_ledger",
    "accounting.accountant.delta_upper",
    "accounting.accountant.eps_upper",
    "accounting.accountant.factor_upper",
    "accounting.accountant.meets",
    "accounting.accountant.meets_renyi",
    "accounting.accountant.meets_tradeoff",
    "accounting.accountant.mu_upper",
    "accounting.accountant.number_upper_of",
    "accounting.accountant.pure_eps",
    "accounting.accountant.renyi_upper",
    "accounting.accountant.rho_upper",
    "accounting.accountant.tradeoff_factor",
    "accounting.adaptive.RunLoss",
    "accounting.adaptive.chosen_as_runs",
    "accounting.bounded_range.BoundedRangeLoss",
    "accounting.bounded_range.most_steps",
    "accounting.bounded_range.worst_case",
    "accounting.composition.Composition",
    "accounting.composition.composed",
    "accounting.discrete_losses.AtomicLoss",
    "accounting.discrete_losses.DirectedLoss",
    "accounting.discrete_losses.KaryLoss",
    "accounting.discrete_losses.LawsLoss",
    "accounting.discrete_losses.Order",
    "accounting.discrete_losses.ResponseLoss",
    "accounting.discrete_losses.both_ways",
    "accounting.discrete_losses.mu_of",
    "accounting.discrete_losses.response",
    "accounting.discrete_losses.response_mu",
    "accounting.dominating_pairs.PairLoss",
    "accounting.dominating_pairs.ShuffledLoss",
    "accounting.groups.group_of",
    "accounting.groups.odometer_eps",
    "accounting.groups.private_selection",
    "accounting.loss_laws.Cells",
    "accounting.loss_laws.ConvertedLoss",
    "accounting.loss_laws.GridLaw",
    "accounting.loss_laws.GridProfile",
    "accounting.loss_laws.Loss",
    "accounting.loss_laws.of_atoms",
    "accounting.loss_laws.of_cells",
    "accounting.loss_laws.of_profile",
    "accounting.loss_laws.renyi_of",
    "accounting.loss_laws.renyi_of_symmetric",
    "accounting.loss_laws.worst_of",
    "accounting.losses_of_ledger.alternatives",
    "accounting.losses_of_ledger.event_losses",
    "accounting.noise_losses.BinomialLoss",
    "accounting.noise_losses.ConcentratedLoss",
    "accounting.noise_losses.DiscreteGaussianLoss",
    "accounting.noise_losses.DiscreteLaplaceLoss",
    "accounting.noise_losses.GaussianLoss",
    "accounting.noise_losses.LaplaceLoss",
    "accounting.noise_losses.RevealedLoss",
    "accounting.noise_losses.normal_cells",
    "accounting.parameters.mu_of_loss",
    "accounting.parameters.mu_square_of",
    "accounting.parameters.renyi_of_loss",
    "accounting.parameters.rho_of",
    "accounting.sampled_losses.SampledLoss",
    "accounting.sampled_losses.inner_law",
    "accounting.sampled_losses.inner_profile",
    "accounting.sampled_losses.inner_window",
    "accounting.selection.SelectedLoss",
    "accounting.selection.divergence",
    "accounting.selection.divergences",
    "accounting.trapezoid.LatticeLosses",
    "accounting.trapezoid.TrapezoidSum",
    "adapters.diffprivlib.Mechanism",
    "adapters.diffprivlib.mechanisms",
    "adapters.dp_accounting.ledger_of",
    "adapters.functions.Unseeded",
    "adapters.functions.needed",
    "adapters.opendp.Batched",
    "adapters.opendp.OneByOne",
    "adapters.opendp.claim_of",
    "audit",
    "certify",
    "check_training",
    "copied",
    "exact",
    "failure",
    "ledger.AboveThreshold",
    "ledger.BinomialNoise",
    "ledger.BoundedRange",
    "ledger.DiscreteGaussianNoise",
    "ledger.DiscreteLaplaceNoise",
    "ledger.Disjoint",
    "ledger.DominatingPair",
    "ledger.Event",
    "ledger.Exposed",
    "ledger.Filtered",
    "ledger.FiniteLaws",
    "ledger.FixedSizeSampled",
    "ledger.GaussianNoise",
    "ledger.KaryResponse",
    "ledger.LaplaceLaw",
    "ledger.LaplaceNoise",
    "ledger.Ledger",
    "ledger.MatrixGaussian",
    "ledger.Mixture",
    "ledger.Normal",
    "ledger.OneOf",
    "ledger.PiecewiseConstant",
    "ledger.PoissonSampled",
    "ledger.PureStep",
    "ledger.Selected",
    "ledger.Sensitivity",
    "ledger.Shift",
    "ledger.Shuffled",
    "ledger.Truncated",
    "ledger.composed",
    "ledger.dp_sgd",
    "ledger.gaussian",
    "ledger.group_of",
    "ledger.laplace",
    "ledger.odometer_eps",
    "ledger.private_selection",
    "loop_trials",
    "one_run",
    "planted",
    "promises.Outcomes",
    "promises.Promise",
    "promises.PromiseCheck",
    "promises.all_of",
    "promises.check_promise",
    "promises.detectable_rate",
    "promises.rate_bounds",
    "prove",
    "trace",
)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring(name):
    assert find_faults(attrgetter(name)(dpverify)) == []


def find_faults(documented):
    """Everything that is wrong with the docstring of a function or class, in words."""
    text = inspect.getdoc(documented) or ""
    sections = read_sections(text)
    faults = [] if is_sentence(text.partition("\n")[0]) else ["the first line is no sentence"]
    faults += find_parameter_faults(documented, sections.get("parameters", []))
    if inspect.isfunction(documented):
        returned = sections.get("returns", [])
        if not returned or not all(each.annotation for each in returned):
            faults.append("Returns is missing, or has no type")
    named = {str(each.annotation) for each in sections.get("raises", [])}
    faults += [f"Raises does not name {name}" for name in sorted(find_raised(documented) - named)]
    faults += [f"Raises names {name}, which is no error" for name in sorted(named) if not is_error(name)]
    if ">>>" in text:
        faults += run_examples(documented, text) if "examples" in sections else ["there is no heading Examples"]
    return faults


def read_sections(text):
    """The items of each numpydoc section, by the name of the section."""
    return {each.kind.value: each.value for each in griffe.Docstring(text).parse("numpy", warnings=False)}


def is_sentence(line):
    return line[:1].isupper() and line.endswith(".") and len(line.split()) >= 3


def find_parameter_faults(documented, items):
    expected = [
        {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "") + each.name
        for each in inspect.signature(documented).parameters.values()
    ]
    described = [each.name for each in items]
    faults = [f"Parameters does not describe {name}" for name in expected if name not in described]
    faults += [f"Parameters describes {name}, which is none" for name in described if name not in expected]
    return faults + [f"Parameters gives {each.name} no type" for each in items if not each.annotation]


def find_raised(documented):
    """Names of the errors of usage that the code raises itself: by `raise`, or by a check of `require`."""
    found = set()
    for part in own_code(documented):
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(part)))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                kind = getattr(errors, node.exc.func.id, None)
                found |= {node.exc.func.id} if kind is not None and issubclass(kind, errors.UsageError) else set()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if isinstance(node.func.value, ast.Name) and node.func.value.id == "require":
                    assert hasattr(require, node.func.attr)
                    found.add("ParameterError")
    return found


def own_code(documented):
    """The function without its wrappers, or what the class itself does where an object is made."""
    if inspect.isclass(documented):
        own = vars(documented)
        made = [own[name] for name in ("__init__", "__post_init__") if name in own]
        return [each for each in made if not each.__code__.co_filename.startswith("<")]  # not those of dataclasses
    return [inspect.unwrap(documented)]


def is_error(name):
    kind = getattr(errors, name, None) or getattr(builtins, name, None)
    return inspect.isclass(kind) and issubclass(kind, Exception)


def run_examples(documented, text):
    """Run the examples of a docstring with nothing but the name itself: what else they need they import."""
    told = io.StringIO()
    example = doctest.DocTestParser().get_doctest(text, {documented.__name__: documented}, "Examples", None, 0)
    failed = doctest.DocTestRunner(verbose=False).run(example, out=told.write).failed
    return [f"an example fails: {told.getvalue()}"] if failed else []


# ----------------------------------------------------------------------------------------------------------------------
# Planted: one right docstring, and what must be caught.


def halved(value, *, times=1):
    """Divide a number by two.

    Parameters
    ----------
    value : float
        The number.
    times : int
        How often.

    Returns
    -------
    float
        The quotient.

    Raises
    ------
    ParameterError
        For a number of times that is negative.

    Examples
    --------
    >>> halved(3.0)
    1.5
    """
    require.integer(at_least=0, times=times)
    return value / 2**times


PLANTED = {
    "a parameter is not described": ("    times : int\n        How often.\n", "", "does not describe times"),
    "a parameter has no type": ("times : int\n", "times\n", "gives times no type"),
    "a parameter was renamed": ("    times : int\n", "    often : int\n", "describes often, which is none"),
    "the first line is no sentence": ("Divide a number by two.", "value/2", "first line is no sentence"),
    "the first line goes on": ("two.\n", "two\n    or four.\n", "first line is no sentence"),
    "nothing is returned": ("Returns\n    -------\n    float\n", "Notes\n    -----\n", "Returns is missing"),
    "an error is not named": ("    ParameterError\n", "    TypeError\n", "does not name ParameterError"),
    "an error does not exist": ("    ParameterError\n", "    RangeError\n", "RangeError, which is no error"),
    "an example is wrong": ("    1.5\n", "    2.5\n", "an example fails"),
    "an example has no heading": ("Examples\n    --------\n", "Also:\n\n", "no heading Examples"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_planted_fault_is_caught(what, monkeypatch):
    assert find_faults(halved) == []
    right, wrong, fault = PLANTED[what]
    assert halved.__doc__.count(right) == 1
    monkeypatch.setattr(halved, "__doc__", halved.__doc__.replace(right, wrong))
    assert any(fault in each for each in find_faults(halved)), find_faults(halved)


def test_the_list_is_sorted_and_has_no_name_twice():
    assert list(DOCUMENTED) == sorted(set(DOCUMENTED))


def test_a_class_is_asked_for_what_its_own_checks_raise():
    assert find_raised(dpverify.Subject) == {"ParameterError"}
    assert find_raised(dpverify.ledger.Ledger) == set()  # its constructor hands its events on
    assert find_raised(dpverify.copied) == set()
