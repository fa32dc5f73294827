"""Which subjects have a known law, and what it is; for the others the reason.

The pair is that of the subject, or a worse one where that is easy to write down. The account is about all pairs of
neighbours, so the exact eps of *some* pair that comes within 1 % of it shows that the account is tight.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from algorithms.beyond.gaussian_counts import GaussianMessages
from algorithms.beyond.lean_transcripts import LeanView
from algorithms.core.counting import Plugged
from algorithms.core.transcripts import Actions, RunTranscript
from algorithms.offline.apvi import DPAPVI
from algorithms.offline.learners import PolicyView
from algorithms.offline.vapvi_transcripts import StatisticsView
from algorithms.sdp_pe.batches import ShuffledBatches
from audits.planted.online import UnfedRewards
from benchmarks.tightness import linear, selections, shuffles
from benchmarks.tightness.laws import GaussianShift, Impossible, laplace, Law, listed
from benchmarks.tightness.pairs import pairs_of
from benchmarks.tightness.silent import ratio_at_the_truth
from dpverify import Pair, Relation, Subject
from dpverify.base.seeding import Stage, stream
from mechanisms.counters import BinaryCounter, BufferedCounter, HonakerCounter, SingleNoiseCounter, ToeplitzCounter
from mechanisms.datasets.pairs import absence, constant, worst_replacement
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.consistent import FlowProcessed, Processed
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.offline_linear import OfflineLinear
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace
from mechanisms.privatizers.shuffle import Shuffle
from mechanisms.releases.discrete_gaussian import DiscreteGaussian
from mechanisms.releases.discrete_laplace import DiscreteLaplace
from mechanisms.releases.exponential import Exponential
from mechanisms.releases.fake_data import FakeData
from mechanisms.releases.gaussian import Gaussian
from mechanisms.releases.laplace import Laplace
from mechanisms.releases.local_hashing import LocalHashing
from mechanisms.releases.noisy_max import NoisyMax
from mechanisms.releases.randomised_response import RandomisedResponse
from mechanisms.releases.rappor import Rappor
from mechanisms.releases.sparse_vector import SparseVector
from mechanisms.releases.subset_selection import SubsetSelection
from mechanisms.releases.unary_encoding import UnaryEncoding
from mechanisms.shuffling.bits import ShuffledSum
from mechanisms.shuffling.integers import ShuffledIntegers
from mechanisms.toolbox import noise_laws as noises

REPLACE = Relation.REPLACE_ONE
NO_LEDGER = "no ledger"
PLANTED = "planted: the ledger is that of the mechanism it pretends to be"
FUNCTION = "a function of noisy counts: its own law is not listed, the account is that of the counts"
ENUMERATED = "a local protocol: its law is enumerated and compared with its ledger in its own tests"
PROTOCOLS = (UnaryEncoding, SubsetSelection, LocalHashing, Rappor, FakeData)


def why_not(subject: Subject) -> str:
    """Why no law is known; empty where one is."""
    target = subject.target
    if subject.ledger is None and getattr(target, "ledger", None) is None:
        return NO_LEDGER
    if subject.planted and any(type(each).__module__.startswith("audits.planted") for each in _with_inner(target)):
        return PLANTED
    if isinstance(target, PROTOCOLS):
        return ENUMERATED
    return FUNCTION if isinstance(target, Processed | FlowProcessed | PolicyView | Actions) else ""


def laws_of(subject: Subject, relation: Relation | None = None) -> list[Law]:
    """One law for each pair that is tried, under the claim's relation unless another is given; the worst is exact.

    For subjects without a reason `why_not`. Empty where the other relation has no known law.
    """
    target, relation = subject.target, relation or subject.claim.relation
    match target:
        case OfflineLinear():
            return linear.worst_laws(target, relation)
        case StatisticsView():
            return linear.worst_laws(target.statistics, relation)
        case LeanView():
            return [linear.worst_law_of_lean(target.learner, relation)]
        case RunTranscript(privatizer=Plugged(privatizer=Local() as local)):
            # the claim is about one message and any two trajectories; in a run the players' coins fix the first action
            message, one = replace(local, users=1), constant(local.layout, 1)
            return [_additive(message, worst_replacement(one, 0) if relation is REPLACE else absence(one, 0))]
    special = _other_laws(subject)
    if special is not None:
        return special if relation is subject.claim.relation else []
    return [_additive(target, pair) for pair in pairs_of(subject, relation)]


def _other_laws(subject: Subject) -> list[Law] | None:
    """What is no additive symmetric noise, under the claim's relation."""
    target = subject.target
    match target:
        case RandomisedResponse():
            return [selections.response_law(target)]
        case Exponential():
            return [selections.exponential_law(target)]
        case NoisyMax():
            return [selections.noisy_max_law(target)]
        case SparseVector():
            return [selections.sparse_vector_law(target)]
        case ShuffledSum():
            return [shuffles.sums(target.noise, target.users, 1, 0)]
        case ShuffledIntegers():
            return [shuffles.integers(target.noise)]
        case Shuffle():
            return [shuffles.batch(target, pair) for pair in pairs_of(subject, subject.claim.relation)]
        case RunTranscript(privatizer=ShuffledBatches()):
            return shuffles.run(target)
        case NoPrivacy() | SingleNoiseCounter() | RunTranscript(privatizer=UnfedRewards()):
            return [_share_of_certainty(subject)]
    return None


def _with_inner(target: Any) -> list[Any]:
    inner = [getattr(target, name, None) for name in ("source", "privatizer")]
    return [target, *inner, *(getattr(each, "privatizer", None) for each in inner)]


def _additive(target: Any, pair: Pair) -> Law:
    """Independent symmetric noise on coordinates that all move by 1, or Gaussian noise on any."""
    kind, scale = _noise(target)
    if kind == "none":
        return Impossible(1.0)
    ratio = ratio_at_the_truth(target, pair, _quiet(target))
    if kind == "gaussian":
        return GaussianShift(2 * ratio)
    squared = kind == "discrete gaussian"
    size = int(np.max(np.abs(np.subtract(*pair)))) if isinstance(target, DiscreteGaussian | DiscreteLaplace) else 1
    count = round(ratio * 2 * scale**2 / size**2) if squared else round(ratio * scale / size)
    if not math.isclose(count * (size**2 / (2 * scale**2) if squared else size / scale), ratio, rel_tol=1e-9):
        raise ValueError(f"{type(target).__name__}: a log ratio of {ratio} is not that of {count} moves by {size}")
    if kind == "laplace":
        return laplace(size / scale, count)
    k = np.arange(-math.ceil(45 * scale), math.ceil(45 * scale) + size + 1)
    p, q = (np.exp(-((x / scale) ** 2) / 2 if squared else -np.abs(x) / scale) for x in (k, k - size))
    return listed((p / math.fsum(p), q / math.fsum(q), count))


def _noise(target: Any) -> tuple[str, float]:
    """Kind and scale (sigma) of the noise on every coordinate."""
    match target:
        case RunTranscript(privatizer=Plugged()):
            return _noise(target.privatizer.privatizer)
        case RunTranscript():
            source = target.privatizer
            if isinstance(source, GaussianMessages):
                return "gaussian", source.sigma
            return _noise(source.counter) if hasattr(source, "counter") else ("laplace", source.scale)
        case DPAPVI():
            return _noise(target.privatizer)
        case BinaryCounter() | HonakerCounter() | BufferedCounter() | ToeplitzCounter():
            return _counter_noise(target.noise)
        case Laplace():
            return "laplace", target.scale
        case DiscreteLaplace():
            return "discrete laplace", target.scale
        case DiscreteGaussian():
            return "discrete gaussian", target.sigma
        case Local() | Central() | OfflineTabularLaplace():
            return ("discrete laplace" if target.discrete else "laplace"), target.scale
        case OfflineTabularGaussian():
            return ("discrete gaussian" if target.discrete else "gaussian"), target.sigma
        case Gaussian():
            return "gaussian", 1.0
    raise TypeError(f"no law is known of {type(target).__name__}")


def _counter_noise(noise: Any) -> tuple[str, float]:
    match noise:
        case noises.LaplaceNoiseLaw():
            return "laplace", noise.scale
        case noises.DiscreteLaplaceNoiseLaw():
            return "discrete laplace", noise.scale
        case noises.GaussianNoiseLaw():
            return "gaussian", noise.sigma
        case noises.DiscreteGaussianNoiseLaw():
            return "discrete gaussian", noise.sigma
    return "none", 0.0


def _quiet(target: Any) -> Any:
    """What releases the exact answers: exact samplers of integer noise need real coins."""
    match target:
        case BinaryCounter() | HonakerCounter():
            return replace(target, noise=noises.NoNoise())
        case Local() | Central() | OfflineTabularLaplace() | OfflineTabularGaussian():
            return replace(target, discrete=False)
        case DiscreteLaplace() | DiscreteGaussian():
            return _Exact()
    return target


class _Exact:
    """Releases the data."""

    def release(self, data: Any, *, rng: Any, size: int) -> Any:
        return np.asarray(data)[None].repeat(size, axis=0)


def _share_of_certainty(subject: Subject) -> Law:
    """Outputs that are impossible under the other dataset, by trials: 200 of 200 or fewer."""
    pair = subject.pairs[0]
    if isinstance(subject.target, SingleNoiseCounter):  # the last item, which two outputs surround or end with
        other = pair.first.values.copy()
        other[-1] = 1 - other[-1]
        pair = Pair(pair.first, replace(pair.first, values=other))
    outputs = subject.target.release(pair.first, rng=stream(0, Stage.EXPERIMENT), size=200)
    return Impossible(float(np.mean(subject.target.log_ratio(outputs, pair) == math.inf)))
