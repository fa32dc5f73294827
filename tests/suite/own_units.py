"""Whether everything that is drawn and written of refuted claims lies above what is claimed, in the claim's own unit.

`problems(result)` reads the rendered faces and not the records. For the results of a whole suite:

    python tests/suite/own_units.py results.json
"""

import re
import sys
from html import unescape
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from dpverify.auditing.record import AuditRecord
from dpverify.report import html_page, json_file, junit, markdown, plots, words
from dpverify.report.overview import Overview
from dpverify.suite.result import SuiteResult

TAGS = re.compile(r"<[^>]*>")


def refuted(result: SuiteResult) -> list[AuditRecord]:
    """Records that their own bound refutes; a procedure over the suite (Holm, e-BH) needs none, and says so."""
    return [record for record in result.records if record.verdict == "REFUTED" and not record.refuted_by]


def problems(result: SuiteResult) -> list[str]:
    """One line for each number on the wrong side of its claim, or that is missing where it must stand."""
    found = []
    pieces = dict(zip(_order(result), html_page.unpack_details(html_page.render(result)), strict=True))
    rows = _rows_of_html(html_page.render(result)) | _rows_of_bugs(pieces)
    told = {case.get("name"): case for case in ElementTree.fromstring(junit.render(result).encode()).iter("testcase")}
    marked = [line.split(" | ") for line in markdown.render(result).splitlines() if line.startswith("| REFUTED ")]
    assert len(marked) >= sum(not record.planted for record in refuted(result))
    for cells in marked:
        if not float(cells[3]) > _number(cells[2]) and not result_by_family(result):
            found.append(f"{cells[1]}: Markdown says {cells[3]} where {cells[2]} is claimed")
    for record in refuted(result):
        claimed, lower = rows[record.subject]
        if not lower > claimed:
            found.append(f"{record.subject}: the table says {lower} where {claimed} is claimed")
        found += [f"{record.subject}: {each}" for each in (*_bar(record), *_plots(record))]
        symbol, text = words.SYMBOLS[record.notion], "".join(told[record.subject].itertext())
        said = {
            sign: [float(each) for each in re.findall(rf"{symbol} {sign} ([-0-9.e+]+|inf)", text)]
            for sign in (">=", "=")
        }
        if record.claimed not in said["="] or not max(said[">="], default=-1.0) > record.claimed:
            found.append(f"{record.subject}: JUnit says {said}")
        if record.notion not in words.ABOUT_EPS and re.search(r"claimed [^<]*eps", pieces[record.subject]):
            found.append(f"{record.subject}: a claimed eps stands beside {words.unit(record)}")
    return found


def result_by_family(result: SuiteResult) -> bool:
    """Whether some verdicts are those of a procedure over the suite."""
    return any(record.refuted_by for record in result.records)


def _bar(record: AuditRecord) -> list[str]:
    """The dot, or the arrow at the end of the scale, must not lie left of the claim, and must be of its colour."""
    bar = plots.interval_bar(record)
    (claim,) = map(float, re.findall(r'class="claim" x1="([\d.]+)%"', bar))
    dots = [float(at) for at in re.findall(r'<circle class="bad" cx="([\d.]+)%"', bar)]
    dots += [float(at) for at in re.findall(r'<svg x="([\d.]+)%"[^>]*><path class="bad" d="M0 -5L8 ', bar)]
    return [] if len(dots) == 1 and dots[0] >= claim else [f"the bar has {dots}, the claim {claim}"]


def _plots(record: AuditRecord) -> list[str]:
    """The certificate's dot in the plots: above the claim's level, and in the region that the claim forbids."""
    found = []
    if not record.refuted_by_trials:
        return []  # the code refutes it: plots are of the trials
    for figure in plots.figures(record):
        dots = re.findall(r'class="d event"[^>]*d="M([\d.]+) ([\d.]+)h0"', figure.svg)
        line = [
            tuple(map(float, at.split(","))) for at in re.search(r'l claim" points="([^"]*)"', figure.svg)[1].split()
        ]
        if figure.title == "Convergence" and not float(dots[0][1]) <= line[0][1]:
            found.append(f"Convergence: the certificate is at {dots[0]}, the claim at {line[0]}")
        if figure.title == "Trade-off" and not record.sequential:
            (x, y), (limit,) = map(float, dots[0]), [_height(line, float(dots[0][0]))]
            if y < limit - 0.3:  # down is more: the false negative rate must be smaller than allowed
                found.append(f"Trade-off: the event is at {x, y}, the claim allows {limit}")
        if figure.title.startswith("Second view") and dots:
            found.append("the view of eps holds a certificate")
    return found


def _height(line: list[tuple[float, float]], x: float) -> float:
    """The line at x, between its points."""
    for (a, low), (b, high) in pairwise(line):
        if a <= x <= b:
            return low if a == b else low + (high - low) * (x - a) / (b - a)
    return line[-1][1]


def _order(result: SuiteResult) -> list[str]:
    return [one.name for entry in Overview.of(result).entries for one in (entry, *entry.bugs)]


def _rows_of_html(page: str) -> dict[str, tuple[float, float]]:
    """(claimed, certified) of every claim in the page's table."""
    found = {}
    for row in re.findall(r'<tr id="[^"]*" data-s=.*?</tr>', page, re.DOTALL):
        name = unescape(re.search(r"<a [^>]*>(.*?)</a>", row)[1])
        cells = dict(re.findall(r'data-n="([^"]*)">(.*?)</td>', row, re.DOTALL))
        if "claimed" in cells and cells["certified ≥"] != "-":
            found[name] = _number(cells["claimed"]), float(cells["certified ≥"])
    return found


def _rows_of_bugs(pieces: dict[str, str]) -> dict[str, tuple[float, float]]:
    found = {}
    for piece in pieces.values():
        for row in re.findall(r'<tr id="[^"]*" data-i=.*?</tr>', piece, re.DOTALL):
            cells = [unescape(TAGS.sub("", cell)) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)]
            if cells[2]:
                found[cells[1]] = _number(cells[2]), float(cells[3])
    return found


def _number(cell: str) -> float:
    """`rho 0.5`: the number of a claim."""
    return float(cell.rpartition(" ")[2])


if __name__ == "__main__":
    suite = json_file.load_results(Path(sys.argv[1]))
    wrong = problems(suite)
    kinds = sorted({(record.notion) for record in refuted(suite)})
    print(f"{len(refuted(suite))} refuted records ({', '.join(kinds)}), {len(wrong)} problems")
    sys.exit("\n".join(wrong))
