# SPDX-License-Identifier: GPL-2.0-only
"""The goodput of the paths over time: the data of a chart over time, NAME-series.csv.

Of each scheduler, in each panel of the chart, it is the run with the first seed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mptcplab.errors import MptcplabError
from mptcplab.metrics.series import RunSeries, run_series
from mptcplab.papers.catalogue import Published
from mptcplab.papers.reproduce import Ran
from mptcplab.runs import store
from mptcplab.traces.link_trace import SINR
from mptcplab.units import NS_PER_S

GOODPUT, CAPACITY = "goodput", "capacity"

_MEAN_OF_BINS = 3  # of a run's series, which are made for pictures as wide as a page
_DIGITS = 4
_MBIT = 1e6
# By the metric of a series: its name here, and what it is divided by.
_KINDS = {"goodput_bps": (GOODPUT, _MBIT), "link_bps": (CAPACITY, _MBIT), SINR: (SINR, 1.0)}
_HEAD = ("series", "panel", "run", "path", "what", "time_s", "value")


@dataclass(frozen=True)
class Track:
    """Something of a path over time: goodput or capacity in Mbit/s, or SINR in dB.

    `run` is the key of the run in the store; `series` and `panel` are its place in the chart.
    """

    series: str
    panel: str
    run: str
    path: str
    what: str
    times_s: tuple[float, ...]
    values: tuple[float, ...]


def tracks(published: Published, ran: Ran) -> list[Track]:
    """From the records of the runs. Raises MptcplabError if these cannot be read."""
    chart = published.experiment.chart
    seen = set()
    made: list[Track] = []
    for row, directory in zip(ran.results.rows, ran.directories, strict=True):
        place = str(row.point[chart.series]), str(row.point.get(chart.panels, ""))
        here = all(row.point[name] == value for name, value in chart.at.items())
        if here and place not in seen:
            seen.add(place)
            run = store.read_run(directory)
            drawn = run_series(run.scenario, run.client, run.server, run.traces)
            made += _of_run(drawn, *place, directory.name)
    return made


def csv_text(of: Iterable[Track]) -> str:
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(_HEAD)
    for each in of:
        place = (each.series, each.panel, each.run, each.path, each.what)
        for time, value in zip(each.times_s, each.values, strict=True):
            writer.writerow((*place, f"{time:g}", f"{value:g}"))
    return content.getvalue()


def parsed(text: str, where: str) -> list[Track]:
    """What `csv_text` wrote. Raises MptcplabError, naming `where`, for anything else."""
    points: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    try:
        for line in csv.DictReader(io.StringIO(text)):
            place = tuple(line[name] for name in _HEAD[:5])
            points.setdefault(place, []).append((float(line["time_s"]), float(line["value"])))
    except (KeyError, TypeError, ValueError) as error:
        raise MptcplabError(f"{where}: not the series of runs: {error!r}") from None
    found = []
    for (series, panel, run, path, what), of in points.items():
        times, values = zip(*of, strict=True)
        found.append(Track(series, panel, run, path, what, times, values))
    return found


def _of_run(drawn: RunSeries, series: str, panel: str, run: str) -> Iterable[Track]:
    for each in (each for panel_ in drawn.panels for each in panel_.series):
        if each.metric in _KINDS and each.path is not None:
            what, scale = _KINDS[each.metric]
            count = len(each.values) // _MEAN_OF_BINS * _MEAN_OF_BINS
            values = each.values[:count].reshape(-1, _MEAN_OF_BINS).mean(axis=1) / scale
            edges = drawn.edges_ns[: count + 1 : _MEAN_OF_BINS] / NS_PER_S
            middles = (edges[:-1] + edges[1:]) / 2
            yield Track(series, panel, run, each.path, what, _short(middles), _short(values))


def _short(values: Any) -> tuple[float, ...]:
    """With a few digits, those that the file has."""
    return tuple(float(f"{value:.{_DIGITS}g}") for value in np.asarray(values).tolist())
