"""Pictures (PNG, SVG), tables (CSV, JSON) and notes of the offline and self-play experiments."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from algorithms.experiments import selfplay
from algorithms.experiments.compare_families import game_references
from algorithms.experiments.figures import _save as save
from algorithms.experiments.figures import DIGITS, draw_band, legend_beside, meaning, WIDE
from algorithms.experiments.intervals import half_widths
from algorithms.experiments.offline import GapCurve
from algorithms.experiments.selfplay import RegretCurve
from algorithms.experiments.store import write_numbers

OFFLINE_NOTES = """\
Figure 1 of "Offline RL with differential privacy" (Qiao, Wang), redrawn.

y axis: v* - v^pi, exact. Data are not split. Noise as printed (c = 1/sqrt 2), fresh in every step. Lines are
means over runs, bands their 95 % intervals. Penalty constants are tuned, by hand unless numbers.json has a
"search" with points; D = 0. Dotted: what needs no data; a learner above uniform actions has learnt nothing.

variant "printed"   features as printed. Their squared length is up to 7, so these runs spend up to 23 rho.
variant "scaled"    features divided by sqrt 7. These runs spend at most 0.91 rho (un-split, c = 1/sqrt 2).

lean                of no paper, at the same rho; on scaled features, which its claim needs.

What to see: DP-VAPVI falls towards VAPVI as K and as rho grow (figure-1-long-*: K up to 10^6).
What is not seen: in the paper's own range, K <= 1000, DP-VAPVI is far from VAPVI here. The paper's figure shows it
close, and mostly better than PEVI; its constants and code are not printed. Here DP-VAPVI beats PEVI only where
PEVI's penalty is the theory's multiple of VAPVI's ("same C") and keeps it from learning; PEVI tuned by itself does as
well as VAPVI.
"""

SELFPLAY_NOTES = """\
DP-Nash-VI on a random zero-sum game, S = 4, A = B = 2, H = 4.

Regret: sum over episodes of the exact Nash gap V^{+,nu} - V^{mu,+} at the start, best responses in the true game.
Privatizers: Central and Local with corrected noise; every private curve spends its eps under replace-one.
C1, C2 and the factor on E are tuned, see numbers.json: no theorem covers these curves. With the theory's constants
all bounds stay at their caps at this K and no learner learns.
Bands are 95 % intervals of the mean of the runs. In the pictures of the gap of an episode the dotted lines are what
needs no data: uniform actions, and the equilibrium for the known rewards where all transitions are taken for uniform.
In those of regret they are shapes of the lower bounds (Theorems 5.3 and 5.6), worst case over games and without their
constants; one common factor puts the non-private shape at Nash-VI's final regret. They show growth, not a bound for
this game.
"""


def write_offline(folder: Path, near: Sequence[GapCurve], far: Sequence[GapCurve], about: dict[str, Any]) -> list[Path]:
    """figure-1a, figure-1b and figure-1-long of each variant, and the numbers behind them."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    points, own = about["search"]["points"], about["search"].get("seed")
    title = f"penalties: {points} points for each, seed {own}" if points else "constants by hand"
    drawn = f"{title}; {meaning(about['runs'])}"
    for variant in dict.fromkeys(curve.variant for curve in near):
        mine = [curve for curve in near if curve.variant == variant]
        middle = {None, 1.0, 25.0}
        some = [curve for curve in mine if curve.rho in middle]
        private = [curve for curve in mine if not curve.learner.startswith("PEVI")]
        long = [curve for curve in far if curve.variant == variant]
        for name, chosen in (("1a", some), ("1b", private), ("1-long", long)):
            written += save(
                folder / f"figure-{name}-{variant}",
                lambda axes, c=chosen, n=name: _gaps(axes, c, drawn, long=n == "1-long"),
                width=WIDE,
            )
    rows = [
        (name, curve.variant, curve.learner, curve.rho, users, float(values.mean()), float(half_widths(values)))
        for name, curves in (("paper", near), ("long", far))
        for curve in curves
        for users, values in zip(curve.users, curve.gaps.T, strict=True)
    ]
    head = ("grid", "variant", "learner", "rho", "users", "gap_mean", "gap_half_width")
    content = {
        **about,
        "constants": {"tuned": True, **about["constants"]},
        "curves": [
            {
                "grid": name,
                "variant": c.variant,
                "learner": c.learner,
                "rho": c.rho,
                "users": c.users[-1],
                "gap": c.gaps[:, -1].round(DIGITS).tolist(),
            }
            for name, curves in (("paper", near), ("long", far))
            for c in curves
        ],
    }
    return written + _numbers(folder, head, rows, content, f"{title}\n\n{OFFLINE_NOTES}")


def write_selfplay(folder: Path, curves: Sequence[RegretCurve], about: dict[str, Any]) -> list[Path]:
    """Regret and mean gap over time, and the numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    game = selfplay.game_of(about["seed"])
    free = game_references(game, about["episodes"])
    plain = next(curve for curve in curves if curve.eps is None)
    factor = float(plain.regret[:, -1].mean() / selfplay.lower_bound(game, plain.episodes[-1]))
    written = []
    for name in dict.fromkeys(curve.learner for curve in curves if curve.eps is not None):
        mine = [curve for curve in curves if curve.eps is None or curve.learner == name]
        label = "jdp" if "JDP" in name else "ldp"
        written += save(folder / f"regret-{label}", lambda axes, c=mine: _regret(axes, c, game, factor), width=WIDE)
        written += save(folder / f"gap-{label}", lambda axes, c=mine: _recent(axes, c, free), width=WIDE)
    rows = [
        (curve.learner, curve.eps, int(episode), float(values.mean()), float(half_widths(values)))
        for curve in curves
        for episode, values in zip(curve.episodes, curve.regret.T, strict=True)
    ]
    content = {
        **about,
        "constants": {"tuned": True, **vars(selfplay.CONSTANTS), "lower_bound_factor": factor},
        "without_data": free,
        "curves": [
            {
                "learner": c.learner,
                "eps": c.eps,
                "final_regret": c.regret[:, -1].round(DIGITS).tolist(),
                "output_gap": c.output_gap.round(DIGITS).tolist(),
            }
            for c in curves
        ],
    }
    head = ("learner", "eps", "episode", "regret_mean", "regret_half_width")
    return written + _numbers(folder, head, rows, content, SELFPLAY_NOTES)


def _numbers(folder: Path, head: Sequence[str], rows: Sequence[Any], content: Any, notes: str) -> list[Path]:
    table, everything, text = (folder / name for name in ("curves.csv", "numbers.json", "notes.txt"))
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)
    write_numbers(everything, content)
    text.write_text(notes)
    return [table, everything, text]


def _gaps(axes: Axes, curves: Sequence[GapCurve], title: str, *, long: bool = False) -> None:
    """A colour for each rho, and one for each learner without; `lean` is dashed."""
    rhos = sorted({each.rho for each in curves if each.rho is not None})
    plain = [each.label for each in curves if each.rho is None]
    for number, curve in enumerate(curves):
        if curve.label.startswith("no data"):
            axes.plot(curve.users, curve.gaps[0], ":", color=f"{0.2 * (len(curves) - number)}", label=curve.label)
        else:
            colour = rhos.index(curve.rho) if curve.rho is not None else len(rhos) + plain.index(curve.label)
            style = "--" if curve.learner == "lean" else "-"
            draw_band(axes, curve.users, curve.gaps, curve.label, f"C{colour}", style=style)
    axes.set(xlabel="number of episodes K", ylabel="v* - v^pi", xscale="log" if long else "linear", title=title)
    legend_beside(axes)


def _regret(axes: Axes, curves: Sequence[RegretCurve], game: Any, factor: float) -> None:
    for number, curve in enumerate(curves):
        draw_band(axes, curve.episodes, curve.regret, curve.label, f"C{number}")
        shape = selfplay.lower_bound(game, curve.episodes, eps=curve.eps, local="LDP" in curve.learner)
        axes.plot(curve.episodes, factor * shape, color=f"C{number}", linestyle=":")
    axes.set(
        xlabel="episode",
        ylabel="cumulated Nash gap",
        title=f"{meaning(len(curves[0].regret))}; dotted: lower-bound shapes, scaled",
    )
    legend_beside(axes)


def _recent(axes: Axes, curves: Sequence[RegretCurve], without_data: Mapping[str, float]) -> None:
    for number, curve in enumerate(curves):
        steps = np.diff(curve.episodes)
        recent = np.diff(curve.regret, axis=1) / steps
        draw_band(axes, curve.episodes[1:], recent, curve.label, f"C{number}")
    for (name, value), grey in zip(without_data.items(), ("0.2", "0.5"), strict=True):
        axes.axhline(value, linestyle=":", color=grey, label=f"no data: {name}".replace(", ", ",\n"))
    title = meaning(len(curves[0].regret))
    axes.set(xlabel="episode", ylabel="Nash gap of an episode", yscale="log", title=title)
    legend_beside(axes)
