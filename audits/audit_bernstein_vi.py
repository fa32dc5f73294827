"""Our optimistic learner with its central and local sources, rewards privatised too: true, with planted twins.

Joint view of whole runs, white box: the released counts. For the local source they determine every message,
and one user's message is eps-LDP, so the transcript may show no more than eps either. The same with Gaussian noise at
(eps, delta) (`algorithms.beyond.gaussian_counts`). The claims are no paper's.
"""

from dataclasses import replace

from algorithms.bernstein_vi.learner import BernsteinVI, central, local
from algorithms.beyond.black_box_instances import black_box
from algorithms.beyond.gaussian_counts import GaussianMessages, GaussianTrees
from algorithms.core.counting import LocalCounts, TreeCounts
from algorithms.core.online import Planned
from algorithms.core.transcripts import replaced, RunTranscript
from algorithms.core.users import Tree
from audits.papers import RELEASE
from audits.planted.online import BareRewards, SharedMessages
from dpverify import planted, PureDP, Subject, Unit, View
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.toolbox.noise_laws import LaplaceNoiseLaw

EPS, DELTA = 2.5, 1e-3
EPISODES = 4
TRIALS = 50_000

layout = CountLayout(H=1, S=2, A=2, rewards=True)
users = [Tree.steady((0, 0), (1.0,), 2)] * EPISODES
other = Tree.steady((1, 1), (1.0,), 2)
first_user = (replaced(users, 0, other, "first user replaced"),)
second_user = (replaced(users, 1, other, "second user replaced"),)

jdp = central(layout, EPISODES, EPS)
ldp = local(layout, EPISODES, EPS)
half_tree = TreeCounts(
    layout, replace(jdp.counter, noise=LaplaceNoiseLaw(3 * jdp.counter.nodes_per_item / EPS)), jdp.error
)


normal_trees = GaussianTrees.central(layout, EPISODES, EPS, DELTA)
normal_messages = GaussianMessages.local(layout, EPISODES, EPS, DELTA)


def run(source: TreeCounts | LocalCounts | GaussianMessages | SharedMessages | BareRewards) -> RunTranscript:
    learner = BernsteinVI(layout=layout, episodes=EPISODES, error=source.error)
    return RunTranscript(agent=Planned(learner=learner, layout=layout), privatizer=source)


joint = Subject(
    name="central",
    target=run(jdp),
    claim=PureDP(EPS, unit=Unit.TRAJECTORY, view=View.JOINT, source="billboard lemma"),
    pairs=first_user,
    trials=TRIALS,
    accounted=True,
    paper=RELEASE,
    statement="eps-JDP with binary counters on visits, transitions and rewards",
)
each = replace(
    joint,
    name="local",
    target=run(ldp),
    claim=PureDP(EPS, unit=Unit.TRAJECTORY, view=View.LOCAL),
    pairs=second_user,
    statement="eps-LDP with Lap(6H/eps) on every indicator and reward",
)
normal_joint = replace(
    joint,
    name="central-gaussian",
    target=run(normal_trees),
    claim=normal_trees.claim,
    trials=20_000,
    paper=RELEASE,
    statement="(eps, delta)-JDP with Gaussian noise on every node: the whole run is one Gaussian mechanism",
)
normal_each = replace(
    each,
    name="local-gaussian",
    target=run(normal_messages),
    claim=normal_messages.claim,
    trials=20_000,
    paper=RELEASE,
    statement="(eps, delta)-LDP with Gaussian noise on every indicator and reward",
)

seen = black_box("bernstein-vi")  # where actions tell: on users who are all alike they say nothing of anybody
actions = replace(
    joint,
    name="central-actions",
    target=seen.target,
    pairs=(seen.pair,),
    statement="eps-JDP in the black-box view: actions of all other users and the final policy",
)

subjects = [
    joint,
    replace(joint, name="central-second-user", pairs=second_user),
    actions,
    planted(actions, "exact-counts", black_box("bernstein-vi", noise=0.0).target, trials=2_000),
    planted(actions, "noise-8", black_box("bernstein-vi", noise=1 / 8).target),
    each,
    planted(joint, "sensitivity-h", run(half_tree), accounted=False),  # true: 2 eps
    planted(joint, "bare-rewards", run(BareRewards(jdp)), trials=2_000, pairs=second_user),
    planted(each, "sensitivity-h", run(replace(ldp, scale=3 / EPS)), accounted=False),  # true: 2 eps
    planted(each, "noise-shared-by-users", run(SharedMessages(layout, ldp.scale, ldp.error)), trials=2_000),
    normal_joint,
    planted(normal_joint, "half-noise", run(normal_trees.with_noise(0.5)), accounted=False),  # true: above 2 eps
    normal_each,
    planted(normal_each, "half-noise", run(normal_messages.with_noise(0.5)), accounted=False),
]
