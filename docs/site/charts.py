# SPDX-License-Identifier: GPL-2.0-only
"""The same five charts for each scheduler's page of the site: `python -m docs.site.charts DIR`.

The sweeps of charts/ make the runs, or find them in DIR; the comment at the top of each is the
caption of its chart. Beside the scheduler, a chart has `default` and plain TCP over the better path
in grey. DIR/NAME.md is the section of the page.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import mptcplab as lab
from mptcplab.report import charts, draw, paper_figures
from mptcplab.report.charts import Line, Lines, OverTime
from mptcplab.report.palette import COLOURS, DASHES, MARKERS, Style
from mptcplab.report.paper_figures import GREY, INK
from mptcplab.runs import store
from mptcplab.runs.collection import Collection, collect
from mptcplab.scenario.scheduler import DEFAULT

SWEEPS = Path(__file__).parent / "charts"
TCP = "TCP, one path"
#: The figure of each sweep, and which value of plain TCP's paths is the better; None: over time.
FIGURES = {
    "delay": ("goodput", max),
    "rate": ("goodput", max),
    "buffer": ("goodput", max),
    "load": ("completion_ms_p99", min),
    "handover": None,
}
_SIZE = 4.4, 2.7  # inches: two charts beside each other
_BINS = 5  # of a run over time, drawn as one: 0.5 s

_SECTION = """\
## In five charts

`make scheduler-charts` makes these for each scheduler: `{name}` in colour; in grey `default`, and
plain TCP over the better path. They show medians of three seeds with their 95 % intervals; the last
one shows a single run.

````{{container}} charts
{figures}````

"""
_FIGURE = """\
```{{figure}} /{file}
:alt: {name}: {caption}

{caption}
```
"""


def main(out: Path) -> None:
    """Make the runs, unless they are stored, then the pictures and the sections."""
    drawn = {sweep: _chart(sweep, out / "runs" / sweep) for sweep in FIGURES}
    for name in lab.schedulers()["name"]:
        figures = ""
        for sweep, chart in drawn.items():
            file = out / f"{name}-{sweep}.svg"
            store.write(file, _picture(name, _of(name, chart)))
            figures += _FIGURE.format(file=file, name=name, caption=_caption(sweep))
        section = _SECTION.format(name=name, figures=figures)
        (out / f"{name}.md").write_text(section, encoding="utf-8")


def _caption(sweep: str) -> str:
    text = (SWEEPS / f"{sweep}.toml").read_text(encoding="utf-8")
    return " ".join(re.findall("^# (.*)", text, re.MULTILINE))


def _chart(sweep: str, out: Path) -> Lines:
    """A chart with the lines of all schedulers, and of plain TCP."""
    print(f"charts:  runs in {out}", flush=True)
    if not lab.run_sweep(SWEEPS / f"{sweep}.toml", out=out).outcome.is_complete:
        sys.exit(f"charts: runs are missing; see mptcplab sweep {SWEEPS / sweep}.toml --out {out}")
    collection = collect([out / store.SWEEP])
    if (figure := FIGURES[sweep]) is None:
        return _over_time(collection)
    metric, better = figure
    (chart,) = charts.of_metric(collection, metric)
    assert isinstance(chart, Lines)
    alone = [line for line in chart.lines if line.path is not None]
    values = zip(*(line.y for line in alone), strict=True)
    best = tuple(better(filter(None, each)) for each in values)
    return replace(chart, title="", lines=(*chart.lines, Line(TCP, alone[0].x, best)))


def _over_time(collection: Collection) -> Lines:
    (group,) = collection.groups
    # the first path has no handover
    alone = replace(group, runs=group.baselines[:1])
    lines = [
        _averaged(chart, TCP if of is alone else chart.scheduler)
        for of in (group, alone)
        for chart in charts.of_group(of, is_only=False)
        if isinstance(chart, OverTime)
    ]
    axis = "Time since the start of the workload (s)"
    return Lines("", axis, "Goodput (Mbit/s)", "", tuple(lines))


def _averaged(chart: OverTime, name: str) -> Line:
    """The goodput of all paths, the mean of some bins each."""
    (whole,) = [line for line in chart.lines if line.number is None and not line.is_limit]
    count = len(whole.x) // _BINS * _BINS
    x, y = (np.reshape(each[:count], (-1, _BINS)).mean(axis=1) for each in (whole.x, whole.y))
    return Line(name, tuple(x.tolist()), tuple(y.tolist()))


def _of(name: str, chart: Lines) -> Lines:
    """The lines of one scheduler's page: its own is above the others."""
    found = {line.scheduler: line for line in chart.lines}
    return replace(chart, lines=tuple(found[each] for each in {TCP: 0, DEFAULT: 0, name: 0}))


def _picture(name: str, chart: Lines) -> bytes:
    """An SVG without a background, which the page has, light or dark."""
    looks = {
        TCP: Style(GREY, MARKERS[2], DASHES[2]),
        DEFAULT: Style(GREY, MARKERS[1], DASHES[0]),
        name: Style(COLOURS[1], MARKERS[0], DASHES[0]),
    }
    with draw.drawing() as settings:
        settings.update(dict.fromkeys(INK, GREY))
        figure = paper_figures.figure(chart, looks)
        figure.set_size_inches(*_SIZE)
        for line in figure.axes[0].get_ygridlines():
            line.set(color=GREY, alpha=0.3)
        return draw.drawn(figure, "svg", transparent=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
