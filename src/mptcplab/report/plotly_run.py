# SPDX-License-Identifier: GPL-2.0-only
"""A run over time in the words of Plotly: panels below each other, and decisions as a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from mptcplab.metrics import records
from mptcplab.metrics.records import DECISIONS
from mptcplab.metrics.run_files import CLIENT_DECISIONS, SERVER_DECISIONS
from mptcplab.metrics.series import Floats, Panel, RunSeries, Series
from mptcplab.report.palette import PATH_COLOURS
from mptcplab.report.plotly_charts import Json, numbers, rounded, text
from mptcplab.runs import store
from mptcplab.runs.collection import Found
from mptcplab.scenario.model import Scenario

_SERIES_DIGITS = 3
_MOST_DECISIONS = 1000
_PANEL_PX, _ROW_PX = 175, 26
_DASHES = {
    "solid": "───", "dash": "─ ─", "dot": "····", "dashdot": "─ · ─", "longdash": "── ──",
}  # fmt: skip


def run_data(run: Found) -> Json:
    assert run.directory is not None, "it has series"
    over_time = store.read_series(run.directory)
    stored = store.read_run(run.directory) if store.has_records(run.directory) else None
    decided = [] if stored is None else stored.decisions(over_time)
    # an axis of rows needs one: where nothing was counted there is nothing to see
    panels = [
        panel
        for panel in (*over_time.panels, *decided)
        if any(panel.kind == "lines" or series.values.any() for series in panel.series)
    ]
    data: Json = {"figure": _run_figure(run.scenario, over_time, panels)}
    for name in (CLIENT_DECISIONS, SERVER_DECISIONS):
        if stored is not None and (run.directory / name).exists():
            begin_ns = int(stored.client.connection["time_ns"][0])
            samples = stored.client if name == CLIENT_DECISIONS else stored.server
            paths = _paths_of_subflows(stored.scenario, samples)
            decisions = records.read_decisions(run.directory / name)
            if len(decisions):
                data["decisions"] = _decision_table(decisions, paths, begin_ns, name)
    return data


def _paths_of_subflows(scenario: Scenario, samples: records.Samples) -> dict[tuple[int, int], str]:
    """The name of each path, by the numbers of connection and subflow, from 1."""
    indices = records.path_indices(samples.subflow)
    connections, numbers = samples.subflow["connection"], samples.subflow["n"]
    keys = zip(
        connections.tolist(), (numbers.astype(int) + 1).tolist(), indices.tolist(), strict=True
    )
    return {(c, n): scenario.paths[i].name for c, n, i in set(keys) if i >= 0}


def _decision_table(
    decisions: records.Records, paths: Mapping[tuple[int, int], str], begin_ns: int, name: str
) -> Json:
    shown = decisions[:_MOST_DECISIONS]
    fields = ("time_ns", "connection", "kind", "subflow", "seq", "length", "unsent_bytes",
              "in_flight", "cwnd")  # fmt: skip
    rows = []
    for time_ns, connection, kind, subflow, *rest in zip(
        *(shown[field].tolist() for field in fields), strict=True
    ):
        at_ms = round((time_ns - begin_ns) / 1e6, 3)
        rows.append([at_ms, DECISIONS[kind], paths.get((connection, subflow)), *rest])
    note = f"Decisions of the scheduler: all {len(decisions)}."
    if len(decisions) > len(shown):
        note = (
            f"Decisions of the scheduler: the first {len(shown)} of {len(decisions)}; "
            f"{name} in the directory of the run has all."
        )
    columns = (
        "ms",
        "decision",
        "path",
        "sequence",
        "length",
        "unsent bytes",
        "in flight",
        "window",
    )
    return {"note": note, "columns": columns, "rows": rows}


def _run_figure(scenario: Scenario, run: RunSeries, panels: Sequence[Panel]) -> Json:
    """Panels below each other over the same time, which are zoomed together."""
    colours = {
        path.name: PATH_COLOURS[n % len(PATH_COLOURS)] for n, path in enumerate(scenario.paths)
    }
    # a link is grey, like everything that belongs to no path
    colours |= {each.name: colours[each.paths[0]] for each in scenario.connections}
    edges_s = run.edges_ns / 1e9
    middle_s = numbers(((edges_s[:-1] + edges_s[1:]) / 2).tolist())
    heights = [
        _ROW_PX * len(panel.series) + 2 * _ROW_PX if panel.kind == "counts" else _PANEL_PX
        for panel in panels
    ]
    total = sum(heights)
    layout: Json = {
        "height": total + 80,
        "margin": {"l": 70, "r": 10, "t": 40, "b": 40},
        "legend": {"orientation": "h", "y": 1 + 8 / total, "yanchor": "bottom", "x": 0},
        "hovermode": "x",
        "annotations": [],
        "xaxis": {
            "title": {"text": "Time since the start of the workload (s)"},
            "anchor": f"y{len(panels)}" if len(panels) > 1 else "y",
            "range": [0, rounded(float(edges_s[-1]))],
        },
    }
    traces: list[Json] = []
    named: set[str | None] = set()
    top = 1.0
    for number, (panel, height) in enumerate(zip(panels, heights, strict=True), 1):
        axis = "y" if number == 1 else f"y{number}"
        bottom = top - height / total
        title = f"{panel.title}, {panel.side}" if panel.side else panel.title
        layout[f"yaxis{'' if number == 1 else number}"] = {
            "title": {"text": panel.unit if panel.kind == "lines" else ""},
            "domain": [max(bottom, 0), top - 26 / total],
            **({"rangemode": "tozero"} if panel.kind == "lines" else {"type": "category"}),
        }
        whats = list(dict.fromkeys(series.what for series in panel.series))
        layout["annotations"].append(
            {
                "text": f"<b>{text(title)}</b>{_dashes_in_words(whats)}",
                "showarrow": False,
                "xref": "paper",
                "x": 0,
                "yref": "paper",
                "y": top - 24 / total,
                "yanchor": "bottom",
            }
        )
        for series in panel.series:
            look: Json = {"yaxis": axis, "legendgroup": series.path or "connection"}
            if series.path is None:
                look["meta"] = {"ink": True}
            colour = colours.get(series.path or "", "#888888")
            dash = list(_DASHES)[whats.index(series.what) % len(_DASHES)]
            name = " ".join(filter(None, (series.path or "connection", series.what)))
            own = _series_traces(series, panel, middle_s, colour, dash, text(name))
            # one line of each path is in the legend, and hides or shows all of them
            legend = series.path not in named
            named.add(series.path)
            for index, trace in enumerate(own):
                is_line = index == len(own) - 1
                traces.append({**look, **trace, "showlegend": legend and is_line})
            if legend:
                traces[-1]["name"] = text(series.path or "connection")
        top = bottom
    return {"traces": traces, "layout": layout}


def _dashes_in_words(whats: Sequence[str]) -> str:
    """Which dash stands for what, where a panel shows several figures of a path."""
    if len(whats) < 2:
        return ""
    dashes = zip(whats, itertools.cycle(_DASHES.values()), strict=False)
    return ": " + ", ".join(f"{text(what)} {dash}" for what, dash in dashes)


def _series_traces(
    series: Series, panel: Panel, x: list[float | None], colour: str, dash: str, name: str
) -> list[Json]:
    if panel.kind == "counts":
        counted = np.flatnonzero(series.values > 0)
        marker = {"symbol": "line-ns-open", "size": 12, "color": colour}
        return [
            {
                "type": "scatter", "mode": "markers", "name": name, "marker": marker,
                "x": [x[index] for index in counted],
                "y": [text(series.path or series.what)] * len(counted),
                "text": [f"{value:.4g} {series.metric}" for value in series.values[counted]],
            }
        ]  # fmt: skip
    shared: Json = {"type": "scatter", "mode": "lines", "x": x}
    made = []
    if series.low is not None and series.high is not None and np.any(series.low < series.high):
        area = {**shared, "hoverinfo": "skip", "line": {"width": 0, "color": colour}}
        made = [
            {**area, "y": _series_numbers(series.low / panel.scale)},
            {
                **area,
                "y": _series_numbers(series.high / panel.scale),
                "fill": "tonexty",
                "fillcolor": colour + "26",
            },
        ]
    line = {"color": colour, "width": 1.3, "dash": dash}
    values = _series_numbers(series.values / panel.scale)
    return [*made, {**shared, "name": name, "y": values, "line": line}]


def _series_numbers(values: Floats) -> list[float | None]:
    return [
        None if value != value else float(f"{value:.{_SERIES_DIGITS}g}")
        for value in values.tolist()
    ]
