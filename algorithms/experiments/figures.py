"""Pictures (PNG and SVG) and tables (CSV and JSON) of finished curves."""

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from algorithms.experiments.compare import Comparison
from algorithms.experiments.constants import AS_CHOSEN, BY_HAND, DELTA, TOLERANCE
from algorithms.experiments.curves import Curve, CurveSettings
from algorithms.experiments.intervals import CONFIDENCE, half_widths
from algorithms.experiments.store import write_numbers as write_file

matplotlib.use("Agg")

COLOURS = {
    "UCBVI": "C0",
    "UCBVI-JDP": "C1",
    "UCBVI-JDP-gaussian": "C5",
    "UCBVI-JDP-gaussian-known-bonus": "C9",
    "UCBVI-LDP": "C3",
    "UCBVI-LDP-gaussian": "C6",
    "PE": "C2",
    "SDP-PE": "C4",
    "batched-optimism": "C7",
    "shuffled-optimism": "C8",
}
WIDE = 8.6  # with the legend beside the curves
DIGITS, DPI = 5, 110
Curves = dict[CurveSettings, Curve]


def write_all(
    folder: Path, curves: Curves, search: dict[str, Any] | None = None, command: str | None = None
) -> list[Path]:
    """Every figure that the curves allow, and the numbers behind all of them."""
    written = [*write_numbers(folder, curves, search, command)]
    environment = next(iter(curves)).environment
    budgets = sorted({each.eps for each in curves if each.eps is not None})
    names = {"riverswim": "figure-6", "bandit": "figure-7"}
    prefix = names[environment]
    for eps in budgets:
        chosen = {s: c for s, c in curves.items() if s.eps in (None, eps)}
        written += _save(
            folder / f"{prefix}-regret-eps{eps:g}", lambda axes, c=chosen, e=eps: _over_time(axes, c, e), width=WIDE
        )
    if environment == "riverswim":
        written += _save(folder / "figure-6a-final-regret", lambda axes: _over_eps(axes, curves), width=WIDE)
        at = 1.0 if 1.0 in budgets else (budgets[-1] if budgets else None)
        chosen = {s: c for s, c in curves.items() if s.eps in (None, at)}
        written += _save(folder / "figure-8-switches", lambda axes: _over_switches(axes, chosen, at), width=WIDE)
    return written


def write_numbers(
    folder: Path, curves: Curves, search: dict[str, Any] | None = None, command: str | None = None
) -> list[Path]:
    """`summary.csv`, `curves.csv` and `numbers.json` with command, settings, privacy, constants and their search."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [_summary(settings, curve) for settings, curve in curves.items()]
    summary, points, everything = (folder / name for name in ("summary.csv", "curves.csv", "numbers.json"))
    with summary.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with points.open("w", newline="") as file:
        plain = csv.writer(file)
        plain.writerow(["environment", "learner", "eps", "episode", "regret_mean", "regret_half_width"])
        for settings, curve in curves.items():
            bands = curve.episodes, curve.regret.mean(axis=0), half_widths(curve.regret)
            for episode, mean, half in zip(*bands, strict=True):
                plain.writerow(
                    [settings.environment, settings.learner, settings.eps, int(episode), float(mean), float(half)]
                )
    content = {
        "command": command,
        "constants": {"tuned": True, "tolerance": TOLERANCE, "delta": DELTA},
        "search": search or (AS_CHOSEN if rows[0]["environment"] == "riverswim" else BY_HAND),
        "curves": [
            {
                **{key: value for key, value in asdict(s).items() if key not in ("chosen", "eps", "delta")},
                "eps": s.eps,
                "privacy": s.privacy,
                "constants": asdict(s.constants),
                "final_regret": c.regret[:, -1].round(DIGITS).tolist(),
                "deployments": c.deployments.tolist(),
            }
            for s, c in curves.items()
        ],
    }
    write_file(everything, content)
    return [summary, points, everything]


def _summary(settings: CurveSettings, curve: Curve) -> dict[str, Any]:
    final = curve.regret[:, -1]
    return {
        "environment": settings.environment,
        "learner": settings.learner,
        "eps": "" if settings.eps is None else settings.eps,
        "delta": "" if settings.privacy is None else settings.privacy["delta"],
        "runs": settings.runs,
        "episodes": settings.episodes,
        "seed": settings.seed,
        "final_regret_mean": float(final.mean()),
        "final_regret_half_width": float(half_widths(final)) if len(final) > 1 else "",
        "deployments_mean": float(curve.deployments.mean()),
        "switches_mean": float(curve.switches.mean()),
    }


def write_comparison(folder: Path, found: Comparison) -> list[Path]:
    """Regret over users and at the end over eps (PNG, SVG), and the rows of the table (CSV); bands are intervals."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = folder / "comparison.csv"
    with numbers.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(found.rows[0]))
        writer.writeheader()
        writer.writerows(found.rows)
    return [
        *_save(folder / "comparison", lambda panels: _curves_of(found, panels), len(found.eps)),
        *_save(folder / "comparison-final", lambda axes: _final_of(found, axes)),
        numbers,
    ]


def _names_and_colours(found: Comparison) -> list[tuple[str, str]]:
    names = dict.fromkeys(each.agent for each in found.lines)
    return [(name, f"C{number % 10}") for number, name in enumerate(names)]


def _curves_of(found: Comparison, panels: Any) -> None:
    """Over users, a panel an eps; references are dashed."""
    for axes, eps in zip(np.ravel(panels), found.eps, strict=True):
        for name, colour in _names_and_colours(found):
            line = found.at(name, eps)
            mean, half_width = np.array(line.mean), np.array(line.half_widths)
            axes.plot(line.users, mean, "-" if line.privacy else "--", label=name, color=colour)
            axes.fill_between(line.users, mean - half_width, mean + half_width, color=colour, alpha=0.2, linewidth=0)
        axes.set(xlabel=found.axis, title=f"eps = {eps:g}")
    first = np.ravel(panels)[0]
    first.legend(title=_meaning_of_bands(found), fontsize=7, title_fontsize=7)
    first.set_ylabel(f"{found.environment}: {found.measure}")
    spent = next(each.privacy for each in found.lines if each.privacy)
    privacy = f"{spent['notion']}, {spent['view']} view" + (f", delta = {spent['delta']:g}" if spent["delta"] else "")
    first.figure.suptitle(f"{privacy}; {found.measure} relative to {found.relative_to}", fontsize=9, wrap=True)


def _final_of(found: Comparison, axes: Axes) -> None:
    """At the end, over eps; a reference is a dashed line."""
    for name, colour in _names_and_colours(found):
        lines = [found.at(name, eps) for eps in found.eps]
        mean, half_width = (np.array([getattr(each, what) for each in lines]) for what in ("regret", "half_width"))
        if lines[0].privacy:
            axes.errorbar(found.eps, mean, half_width, color=colour, marker="o", capsize=3, label=name)
        else:
            axes.axhline(mean[0], color=colour, linestyle="--", label=name)
            axes.axhspan(mean[0] - half_width[0], mean[0] + half_width[0], color=colour, alpha=0.15, linewidth=0)
    axes.set(xlabel="eps", xscale="log", ylabel=f"{found.environment}: {found.measure}, {found.users} users")
    axes.legend(title=_meaning_of_bands(found), fontsize=7, title_fontsize=7)


def _meaning_of_bands(found: Comparison) -> str:
    return f"mean of {found.runs} seeds, {CONFIDENCE:.0%} intervals\ndashed: references, other privacy"


def _save(stem: Path, paint: Any, panels: int = 1, *, width: float = 5.2) -> list[Path]:
    figure = Figure(figsize=(width * panels, 3.8), layout="constrained")
    paint(figure.subplots(1, panels, sharey=True))
    paths = [stem.with_name(stem.name + ending) for ending in (".png", ".svg")]
    figure.savefig(paths[0], dpi=DPI)
    figure.savefig(paths[1], metadata={"Date": None})
    return paths


def _over_time(axes: Axes, curves: Curves, eps: float) -> None:
    for settings, curve in curves.items():
        style = "--" if settings.eps is None else "-"
        draw_band(axes, curve.episodes, curve.regret, settings.learner, COLOURS[settings.learner], style=style)
    runs = max(each.runs for each in curves)
    axes.set(xlabel="episode", ylabel="cumulative regret", title=f"eps = {eps:g}; {meaning(runs)}")
    legend_beside(axes, title="dashed: no privacy")


def _over_eps(axes: Axes, curves: Curves) -> None:
    for learner, colour in COLOURS.items():
        mine = sorted((s.eps or 0.0, s) for s in curves if s.learner == learner)
        if not mine:
            continue
        final = np.array([curves[s].regret[:, -1] for _, s in mine])
        if mine[0][1].eps is None:
            axes.axhline(float(final.mean()), color=colour, linestyle="--", label=learner)
        else:
            budgets = [eps for eps, _ in mine]
            axes.errorbar(
                budgets, final.mean(axis=1), half_widths(final.T), color=colour, marker="o", capsize=3, label=learner
            )
    axes.set(xlabel="eps", ylabel="final cumulative regret", xscale="log")
    axes.set_title(meaning(max(each.runs for each in curves)))
    legend_beside(axes, title="dashed: no privacy")


def _over_switches(axes: Axes, curves: Curves, eps: float | None) -> None:
    for settings, curve in curves.items():
        axes.errorbar(
            float(curve.deployments.mean()),
            float(curve.regret[:, -1].mean()),
            float(half_widths(curve.regret[:, -1])),
            color=COLOURS[settings.learner],
            marker="o",
            capsize=3,
            label=settings.learner,
        )
    title = meaning(max(each.runs for each in curves))
    title = title if eps is None else f"eps = {eps:g}; {title}"
    axes.set(xlabel="policies deployed", ylabel="final cumulative regret", xscale="log", title=title)
    legend_beside(axes)


def draw_band(axes: Axes, x: Any, values: Any, label: str, colour: str, *, style: str = "-") -> None:
    """The mean of the runs (runs, len(x)) and its interval."""
    mean, half = values.mean(axis=0), half_widths(values)
    axes.plot(x, mean, style, label=label, color=colour)
    axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)


def meaning(runs: int) -> str:
    """Of lines and bands, for a title."""
    return f"mean of {runs} runs, {CONFIDENCE:.0%} intervals"


def legend_beside(axes: Axes, **options: Any) -> None:
    """To the right of the axes, so that it hides no line."""
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5), **options)
