# SPDX-License-Identifier: GPL-2.0-only
"""The report as a page: one HTML file with all that it needs, which loads nothing from anywhere.

Plotly draws the charts; its JavaScript is in the file once, compressed, and comes when all else is
shown. The series of a run are compressed as well, and unpacked when a person opens it. What is from
a scenario or from a file is escaped, and the page runs no script but its own (a Content Security
Policy with the hashes of these).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from operator import itemgetter
from typing import Any

import numpy as np

from mptcplab.lab.engine import CLIENT_DECISIONS, SERVER_DECISIONS
from mptcplab.metrics import records
from mptcplab.metrics.inference import Difference, Summary, differences, summary
from mptcplab.metrics.records import DECISIONS
from mptcplab.metrics.series import Floats, Panel, RunSeries, Series
from mptcplab.metrics.views import shown_metrics
from mptcplab.report import charts, paper_figures
from mptcplab.report.charts import METRICS, Bars, Chart, Heat, Line, Lines, Shares, has_series
from mptcplab.report.palette import PATH_COLOURS, Style
from mptcplab.report.tables import how
from mptcplab.runs import store
from mptcplab.runs.collection import Collection, Found, Group
from mptcplab.runs.entries import by_seed, compared, ended_well
from mptcplab.spec import units
from mptcplab.spec.limits import NO_RATE_BPS
from mptcplab.spec.scenario import Direction, Scenario

_DIGITS = 4  # of a value in the page: more cannot be seen, and take space
_SERIES_DIGITS = 3
_FIRST_CHARTS = 4  # of a scenario; the others are one click away
_PREVIEWS = 4  # charts that are there as pictures before the library is
_OPEN_GROUPS = 3
_MOST_DECISIONS = 1000
_MANY_SCHEDULERS = 8
_MARKERS_OF_A_LINE = 8
_PANEL_PX, _ROW_PX = 175, 26
_DASHES = {
    "solid": "───", "dash": "─ ─", "dot": "····", "dashdot": "─ · ─", "longdash": "── ──",
}  # fmt: skip
_HEAT = "Cividis"  # the same to people with any colour vision
_PERCENT = 95

_Json = dict[str, Any]
# Of a part of a run: the head, what a value is divided by, and the value of its entry.
_Column = tuple[str, float, Callable[[Mapping[str, Any]], float | None]]


def render(
    collection: Collection,
    looks: Mapping[str, Style],
    overview: Sequence[Sequence[Chart]],
    of_groups: Sequence[Sequence[Chart]],
) -> str:
    """The whole page: `looks` are the styles of all schedulers, `of_groups` the groups' charts.

    The same runs give the same page. Raises MptcplabError when records cannot be read.
    """
    from plotly.offline import get_plotlyjs

    made = _Page(looks)
    body = [made.header(collection), made.filter_bar()]
    if overview:
        body.append(made.overview(overview))
    for number, (group, drawn) in enumerate(zip(collection.groups, of_groups, strict=True)):
        body.append(made.group(group, drawn, number, opened=number < _OPEN_GROUPS))
    plotly, script = get_plotlyjs(), _file("page.js")
    # of what a script made of the page's own content, nothing of a network
    policy = (
        f"default-src 'none'; script-src 'sha256-{_sha256(script)}' blob:; connect-src data:; "
        "style-src 'unsafe-inline'; img-src data: blob:"
    )
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en" data-theme="light">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_title(collection)}</title>",
            f"<style>{_file('page.css')}</style>",
            f"<script>{script}</script>\n</head>\n<body>",
            *body,
            *made.attachments,
            "<!-- plotly.js, Copyright Plotly, Inc., MIT license; compressed -->",
            _attachment("plotly", _packed(plotly)),
            "</body>\n</html>\n",
        ]
    )


class _Page:
    """Makes the parts of a page, and collects what their charts and runs are drawn from."""

    def __init__(self, looks: Mapping[str, Style]) -> None:
        self.looks = looks
        self.attachments: list[str] = []
        self._plots: list[_Json] = []
        self._previews = 0

    def header(self, collection: Collection) -> str:
        groups = collection.groups
        runs = sum(len(group.runs) for group in groups)
        failed = sum(len(group.runs) - len(ended_well(group.entries())) for group in groups)
        counts = [
            _count(runs, "run"),
            _count(len(self.looks), "scheduler"),
            _count(len(groups), "scenario"),
        ]
        if failed:
            counts.append(f"{failed} failed")
        return (
            f"<header><h1>{_title(collection)}</h1><p>{', '.join(counts)}. Bars, lines and cells "
            f"are medians over the seeds, whiskers their {_PERCENT} % bootstrap "
            "confidence intervals, dots the seeds. Point at anything for its value.</p>"
            f"{''.join(f'<p>{each}</p>' for each in _left_out(collection))}</header>"
        )

    def filter_bar(self) -> str:
        boxes = "".join(
            f'<label><input type="checkbox" checked value="{_escape(name)}"> {self.name(name)}'
            "</label>"
            for name in self.looks
        )
        return (
            f'<nav class="bar" aria-label="Schedulers">{boxes}<span class="control">'
            '<button id="all">all</button> <button id="none">none</button> '
            '<button id="theme">light / dark</button></span></nav>'
        )

    def name(self, scheduler: str) -> str:
        """A scheduler with its marker."""
        look = self.looks[scheduler]
        style = f'class="marker" aria-hidden="true" style="color:{look.colour}"'
        marker = f"<span {style}>{look.marker.text}</span>"
        return f"{marker} {_escape(scheduler)}"

    def charts(self, charts: Iterable[Chart]) -> str:
        return f'<div class="charts">{"".join(map(self.chart, charts))}</div>'

    def chart(self, chart: Chart) -> str:
        """The frame of a chart; what is drawn in it goes with those of its section."""
        self._plots.append(_plot(chart, self.looks))
        own = f' data-scheduler="{_escape(chart.scheduler)}"' if isinstance(chart, Heat) else ""
        picture = ""
        if self._previews < _PREVIEWS:
            self._previews += 1
            drawn = base64.b64encode(paper_figures.preview(chart, self.looks)).decode()
            picture = f'<img alt="{_escape(chart.title)}" src="data:image/svg+xml;base64,{drawn}">'
        return (
            f"<figure{own}><figcaption><span>{_escape(chart.title)}</span><p>{_escape(chart.note)}"
            f'</p></figcaption><div class="plot" data-chart="{len(self._plots) - 1}">{picture}'
            "</div></figure>"
        )

    def attach(self, identity: str, content: Any) -> str:
        """Put something into the page, compressed; gives its `identity`."""
        self.attachments.append(_attachment(identity, _packed(_compact(content))))
        return identity

    def attach_charts(self, identity: str) -> str:
        """Put what the charts since the last time are drawn from into the page."""
        plots, self._plots = self._plots, []
        return self.attach(identity, plots)

    def overview(self, charts: Sequence[Sequence[Chart]]) -> str:
        """What is above the scenarios: the charts over all of them, figure by figure."""
        # of figures with a chart or two some at once, of heat maps those of one figure
        few = max(1, _FIRST_CHARTS // max(map(len, charts)))
        first = self.charts(chart for own in charts[:few] for chart in own)
        rest = charts[few:]
        if few > 1:
            count = sum(map(len, rest))
            flat = self.charts(chart for own in rest for chart in own)
            more = _part(_count(count, "more chart"), flat) if rest else ""
        else:
            more = "".join(_part(_figure_name(own), self.charts(own)) for own in rest)
        identity = self.attach_charts("charts-all")
        return f'<section data-charts="{identity}"><h2>All scenarios</h2>{first}{more}</section>'

    def group(self, group: Group, charts: Sequence[Chart], number: int, *, opened: bool) -> str:
        """A scenario: its table, charts, differences, runs, and what it is."""
        first, more = charts[:_FIRST_CHARTS], charts[_FIRST_CHARTS:]
        parts = [self.summary_table(group), *self.connection_tables(group), self.charts(first)]
        if more:
            parts.append(_part(_count(len(more), "more chart"), self.charts(more)))
        parts += [
            self.difference_tables(group),
            _part(f"Runs ({len(group.runs)})", self.run_table(group, number)),
            _part("Scenario, builds, and how to repeat it", self.scenario(group, number)),
        ]
        identity = self.attach_charts(f"charts-{number}")
        is_open = " open" if opened else ""
        return (
            f'<details class="group" data-charts="{identity}"{is_open}>'
            f"<summary><h2>{_escape(group.name)}</h2></summary>{''.join(parts)}</details>"
        )

    def summary_table(self, group: Group) -> str:
        """A row for each scheduler, and for plain TCP over each path."""
        metrics = _shown(group)
        heads = "".join(f"<th>{_head(name)}</th>" for name in metrics)
        rows = []
        for scheduler, runs in compared(group.entries()).items():
            good = ended_well(runs)
            cells = "".join(_summary_cell(good, name) for name in metrics)
            seeds = f"{len(good)} of {len(runs)}" if len(good) < len(runs) else str(len(good))
            rows.append(
                f'<tr data-scheduler="{_escape(scheduler)}"><td>{self.name(scheduler)}</td>'
                f"<td>{seeds}</td>{cells}</tr>"
            )
        for path in dict.fromkeys(run.entry["path"] for run in group.baselines):
            entries = [run.entry for run in group.baselines if run.entry["path"] == path]
            good = ended_well(entries)
            cells = "".join(_summary_cell(good, name) for name in metrics)
            rows.append(
                f"<tr><td>plain TCP over {_escape(path)} alone</td><td>{len(good)}</td>{cells}</tr>"
            )
        return (
            '<h3>Summary</h3><div class="scroll" tabindex="0"><table class="summary"><thead><tr>'
            f"<th>Scheduler</th><th>Seeds</th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
            f'<p class="faint">Medians, and below them {_PERCENT} % confidence intervals; point at '
            "one for quartiles and range.</p>"
        )

    def connection_tables(self, group: Group) -> Iterator[str]:
        """What each of several connections had, and what became of the links that they share."""
        yield from self._parts_table(
            group,
            "connections",
            ("Connection", "How"),
            lambda one: (one["name"], how(one)),
            _OF_CONNECTIONS,
        )
        yield from self._parts_table(
            group, "links", ("Link",), lambda one: (f"{one['name']} {one['direction']}",), _OF_LINKS
        )

    def _parts_table(
        self,
        group: Group,
        parts: str,
        what: Sequence[str],
        texts: Callable[[Mapping[str, Any]], Sequence[str]],
        columns: Sequence[_Column],
    ) -> Iterator[str]:
        """A table of the `parts` of runs, if they have any: a row for each with each scheduler."""
        rows = []
        for scheduler, runs in compared(group.entries()).items():
            good = ended_well(runs)
            for index, first in enumerate(good[0].get(parts, ()) if good else ()):
                mine = [run[parts][index] for run in good]
                names = "".join(f'<td class="text">{_escape(text)}</td>' for text in texts(first))
                cells = "".join(
                    _cell([None if (v := value(one)) is None else v / scale for one in mine])
                    for _, scale, value in columns
                )
                rows.append(
                    f'<tr data-scheduler="{_escape(scheduler)}"><td>{self.name(scheduler)}</td>'
                    f"{names}{cells}</tr>"
                )
        if rows:
            heads = ("Scheduler", *what, *(head for head, *_ in columns))
            yield _table(parts.capitalize(), heads, rows, texts=1 + len(what))

    def difference_tables(self, group: Group) -> str:
        """How schedulers differ on the same seeds: of the first figure all pairs, else from one."""
        rows = []
        for number, metric in enumerate(_shown(group)):
            values = by_seed(group.entries(), metric)
            pairs = differences(values)
            reference = next(iter(values), "")
            for (first, second), each in pairs.items():
                if number == 0 or first == reference:
                    rows.append(self.difference_row(metric, first, second, each))
        if not rows:
            return ""
        heads = (
            "<th>Figure</th><th class=text>of</th><th class=text>less that of</th>"
            f"<th>Median difference</th><th>{_PERCENT} % interval</th><th>Effect size</th>"
            "<th>p</th><th>p, adjusted</th><th>Pairs</th>"
        )
        note = (
            "Differences of runs with the same seed. Effect size: the matched-pairs rank-biserial "
            "correlation, 1 if it is more with every seed, -1 if it is less with every one. p: "
            "Wilcoxon's signed-rank test, adjusted for all pairs of a figure (Benjamini and "
            "Hochberg). With fewer than 6 seeds p cannot be below 0.05, whatever the difference."
        )
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return _part(
            "Differences on the same seeds",
            f'<p class="faint">{note}</p><div class="scroll list" tabindex="0">{table}</div>',
        )

    def difference_row(self, metric: str, first: str, second: str, each: Difference) -> str:
        unit, scale = charts.shown(METRICS[metric])
        interval = "-"
        if each.low is not None and each.high is not None:
            interval = f"{each.low / scale:+.4g} .. {each.high / scale:+.4g}"
        head = f"{_escape(charts.title(METRICS[metric]))}{f', {unit}' if unit else ''}"
        numbers = [_or_dash(value, ".2g") for value in (each.p, each.p_adjusted)]
        cells = [
            f"{each.median / scale:+.4g}", interval, _or_dash(each.effect, "+.2f"),
            *numbers, str(each.pairs),
        ]  # fmt: skip
        names = "".join(
            f'<td class="text">{self.name(scheduler)}</td>' for scheduler in (second, first)
        )
        return (
            f'<tr data-scheduler="{_escape(second)}"><td>{head}</td>{names}'
            f"{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        )

    def run_table(self, group: Group, number: int) -> str:
        """A row for each run, which can be opened if its files are there."""
        metrics = _shown(group)
        heads = "".join(f"<th>{_head(name)}</th>" for name in metrics)
        rows = []
        for index, run in enumerate((*group.runs, *group.baselines)):
            entry = run.entry
            if run.is_baseline and group.baselines:
                what, scheduler = f"plain TCP over {_escape(entry['path'])}", ""
            else:
                what = self.name(entry["scheduler"])
                scheduler = f' data-scheduler="{_escape(entry["scheduler"])}"'
            cells = "".join(f"<td>{_of_run(entry, name)}</td>" for name in metrics)
            if entry["status"] != "ok":
                reason = _escape(str(entry.get("reason")))
                cells = f'<td class="text" colspan="{len(metrics)}">failed: {reason}</td>'
            button, place = "", ""
            if has_series(run):
                identity = self.attach(f"run-{number}-{index}", _run_data(run))
                label = f"open {entry['scheduler'] or what}, seed {entry['seed']}, over time"
                button = (
                    f'<button data-run="{identity}" aria-expanded="false" '
                    f'aria-label="{_escape(label)}" disabled>open</button>'
                )
            if run.directory is not None:
                place = f"runs/{run.directory.resolve().name}"
            state = "" if entry["status"] == "ok" else ' class="failed"'
            rows.append(
                f"<tr{scheduler}{state}><td>{what}</td><td>{entry['seed']}</td>{cells}"
                f'<td>{button}</td><td class="text faint place">{_escape(place)}</td></tr>'
            )
        return (
            '<div class="scroll" tabindex="0"><table class="runs"><thead><tr>'
            f'<th>Scheduler</th><th>Seed</th>{heads}<th></th><th class="place"></th></tr>'
            f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
        )

    def scenario(self, group: Group, number: int) -> str:
        """What was run, with what, and the command that runs it again."""
        scenario = group.scenario
        text = json.dumps(scenario.model_dump(mode="json"), indent=1)
        identity = f"scenario-{number}"
        self.attachments.append(_attachment(identity, _packed(text)))
        builds = sorted({tuple(sorted(run.builds.items())) for run in group.runs})
        told = "".join(
            f"<p>Builds: {_escape(', '.join(f'{name} {value}' for name, value in each))}</p>"
            for each in builds
            if each
        )
        if () in builds:
            told += "<p>Of some runs it was not kept which builds they are of.</p>"
        again = ""
        commands = repeat_commands(group)
        if commands:
            again = (
                "<p>To repeat it, save the scenario, and:</p>"
                f"<pre>{_escape(chr(10).join(commands))}</pre>"
                f'<p><button data-save="{identity}">save scenario.json</button></p>'
            )
        return (
            f"{_path_table(scenario)}<p>{_escape(_workload_text(scenario))}</p>{told}{again}"
            f'<details class="raw"><summary>The resolved scenario</summary><pre>{_escape(text)}'
            "</pre></details>"
        )


def repeat_commands(group: Group) -> list[str]:
    """What runs the group again, given its scenario as scenario.json; one for each row of seeds.

    Nothing for programs, whose files and environment are those of a machine.
    """
    if group.scenario.workload.kind == "program":
        return []
    rows: dict[tuple[int, int], list[str]] = {}
    for scheduler, runs in compared(group.entries()).items():
        seeds = sorted({int(run["seed"]) for run in runs})
        begin = 0
        for end in range(1, len(seeds) + 1):
            if end == len(seeds) or seeds[end] != seeds[end - 1] + 1:
                rows.setdefault((seeds[begin], end - begin), []).append(scheduler)
                begin = end
    own = {
        run.scenario.scheduler.label: run.scenario.scheduler.name
        for run in group.runs
        if run.scenario.scheduler.digest is not None
    }
    commands = []
    for (seed, count), schedulers in rows.items():
        specs = [
            label.replace(own[label], f"./{own[label]}.c", 1) if label in own else label
            for label in schedulers
        ]
        chosen = "" if group.scenario.transport == "tcp" else f" --scheduler {','.join(specs)}"
        commands.append(f"mptcplab compare scenario.json{chosen} --seed {seed} --repeat {count}")
    return commands


# Text


def _escape(text: str) -> str:
    return html.escape(text, quote=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _title(collection: Collection) -> str:
    experiments = {run.point.get("experiment") for g in collection.groups for run in g.runs}
    if len(experiments) == 1 and (name := experiments.pop()):
        return _escape(str(name))
    kinds = dict.fromkeys(group.scenario.workload.kind for group in collection.groups)
    return f"Multipath TCP schedulers: {', '.join(kinds)}"


def _left_out(collection: Collection) -> Iterator[str]:
    """What a person would miss, and how to have it."""
    runs = [run for group in collection.groups for run in group.runs]
    closed = sum(not run.is_opened for run in runs)
    if closed:
        yield (
            f"What happened over time is here of {len(runs) - closed} of {len(runs)} runs, those "
            f"with the lowest seeds. <code>mptcplab report --series {len(runs)}</code> has all; "
            "<code>mptcplab show RUN</code> draws any other."
        )


def _figure_name(charts: Sequence[Chart]) -> str:
    """What the charts of a figure have in common in their titles."""
    return charts[0].title.split(",")[0]


def _part(head: str, content: str) -> str:
    return f'<details class="part"><summary>{_escape(head)}</summary>{content}</details>'


def _head(metric: str) -> str:
    unit, _ = charts.shown(METRICS[metric])
    name = _escape(charts.title(METRICS[metric]))
    return f'<span title="{_escape(METRICS[metric].meaning)}">{name}</span>' + (
        f"<br><small>{unit}</small>" if unit else ""
    )


def _shown(group: Group) -> list[str]:
    """The figures of a group's tables: those of its workload that a run has."""
    entries = [run.entry for run in (*group.runs, *group.baselines)]
    fairness = ["fairness"] if group.scenario.connections else []
    return [
        name
        for name in (*shown_metrics(group.scenario.workload.kind), *fairness)
        if any(entry["metrics"].get(name) is not None for entry in entries)
    ]


def _summary_cell(entries: Sequence[Mapping[str, Any]], metric: str) -> str:
    _, scale = charts.shown(METRICS[metric])
    values = (entry["metrics"].get(metric) for entry in entries)
    return _cell([None if value is None else value / scale for value in values])


def _cell(values: Sequence[float | None]) -> str:
    """A median, its interval below it, and more when pointed at."""
    over = summary(values)
    if over is None:
        return "<td>-</td>"
    interval = ""
    if over.low is not None and over.high is not None:
        interval = f"<small>{over.low:.4g} .. {over.high:.4g}</small>"
    return f'<td title="{_spread(over)}">{over.median:.4g}{interval}</td>'


_OF_CONNECTIONS: Sequence[_Column] = (
    ("Goodput<br><small>Mbit/s</small>", 1e6, lambda one: one["goodput_bps"]),
    (
        "Goodput in the common time<br><small>Mbit/s</small>",
        1e6,
        lambda one: one["common_goodput_bps"],
    ),
    ("Share in the common time<br><small>%</small>", 0.01, lambda one: one["share"]),
    ("Taken over after<br><small>s</small>", 1, lambda one: one["takeover_s"]),
    ("Retransmitted packets", 1, lambda one: one["metrics"]["retransmitted_packets"]),
)
_OF_LINKS: Sequence[_Column] = (
    ("Carried<br><small>Mbit/s</small>", 1e6, itemgetter("carried_bps")),
    ("Utilisation<br><small>%</small>", 0.01, itemgetter("utilisation")),
    ("Queueing delay, mean<br><small>ms</small>", 1.0, itemgetter("queue_delay_ms_mean")),
    ("Dropped by the queue<br><small>packets</small>", 1.0, itemgetter("queue_dropped_packets")),
)


def _table(title: str, heads: Iterable[str], rows: Iterable[str], *, texts: int) -> str:
    """A table; its first columns are texts."""
    told = "".join(
        f"<th{' class=text' if n < texts else ''}>{head}</th>" for n, head in enumerate(heads)
    )
    return (
        f'<h3>{title}</h3><div class="scroll" tabindex="0" role="region" aria-label="{title}">'
        f"<table><thead><tr>{told}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _spread(over: Summary) -> str:
    return (
        f"quartiles {over.lower_quartile:.4g} and {over.upper_quartile:.4g}, "
        f"range {over.lowest:.4g} to {over.highest:.4g}, {_count(over.n, 'seed')}"
    )


def _of_run(entry: Mapping[str, Any], metric: str) -> str:
    _, scale = charts.shown(METRICS[metric])
    value = entry["metrics"].get(metric)
    return "-" if value is None else f"{value / scale:.4g}"


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _path_table(scenario: Scenario) -> str:
    rows = []
    for path in (*scenario.paths, *scenario.links):
        for way, link in (("up", path.up), ("down", path.down)):
            cells = "".join(f"<td>{_escape(text)}</td>" for text in _link_texts(link))
            rows.append(f"<tr><td>{_escape(path.name)}, {way}</td>{cells}</tr>")
    heads = "<th>Path</th><th>Rate</th><th>Delay</th><th>Jitter</th><th>Loss</th><th>Queue</th>"
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _link_texts(link: Direction) -> list[str]:
    queue = (
        f"{link.queue_packets} packets"
        if link.queue_packets is not None
        else units.SIZE.format(link.queue_bytes or 0)
    )
    played = " at first, then a trace" if link.steps else ""
    return [
        "of its links"
        if link.rate_bps == NO_RATE_BPS
        else units.format_rate(link.rate_bps) + played,
        units.format_time(link.delay_ns),
        units.format_time(link.jitter_ns),
        units.format_fraction(link.loss),
        f"{queue}, {link.queue_discipline}",
    ]


def _workload_text(scenario: Scenario) -> str:
    load = scenario.workload
    much = (
        units.format_time(load.duration_ns)
        if load.duration_ns is not None
        else units.SIZE.format(load.size_bytes)
        if load.size_bytes is not None
        else ""
    )
    what = f"{load.kind} {load.direction} {much}".strip()
    events = f"; {_count(len(scenario.events), 'event')}" if scenario.events else ""
    return f"Workload: {what}, congestion control {scenario.cc}{events}"


# Charts, in the words of Plotly


def _plot(chart: Chart, looks: Mapping[str, Style]) -> _Json:
    if isinstance(chart, Bars):
        return _bars(chart, looks)
    if isinstance(chart, Lines):
        return _lines(chart, looks)
    if isinstance(chart, Shares):
        return _shares(chart)
    return _heat(chart)


def _layout(x: str, y: str, **more: Any) -> _Json:
    return {
        "xaxis": {"title": {"text": _text(x)}, "automargin": True},
        "yaxis": {"title": {"text": _text(y)}, "automargin": True},
        "margin": {"l": 50, "r": 10, "t": 10, "b": 40},
        "showlegend": False,
        **more,
    }


def _text(text: str) -> str:
    """Text for Plotly, which takes some tags for what they are in HTML."""
    return html.escape(text, quote=False)


def _bars(chart: Bars, looks: Mapping[str, Style]) -> _Json:
    traces: list[_Json] = []
    clustered = any(bar.category != bar.scheduler for bar in chart.bars)
    for scheduler in dict.fromkeys(bar.scheduler for bar in chart.bars):
        bars = [bar for bar in chart.bars if bar.scheduler == scheduler]
        look, meta = looks[scheduler], {"scheduler": scheduler}
        ends = [
            (b.summary.low, b.summary.high) if b.summary.low is not None else (None, None)
            for b in bars
        ]
        traces.append(
            {
                "type": "bar",
                "name": _text(scheduler),
                "meta": meta,
                "x": [_text(bar.category) for bar in bars],
                "y": [_round(bar.summary.median) for bar in bars],
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [
                        None if high is None else _round(high - bar.summary.median)
                        for (_, high), bar in zip(ends, bars, strict=True)
                    ],
                    "arrayminus": [
                        None if low is None else _round(bar.summary.median - low)
                        for (low, _), bar in zip(ends, bars, strict=True)
                    ],
                    "thickness": 1.4,
                },
                "marker": {
                    "color": look.colour,
                    "pattern": {"shape": look.dash.pattern, "solidity": 0.35},
                },
                "offsetgroup": scheduler if clustered else "",
                "hovertext": [_hover(bar.scheduler, bar.summary, chart.unit) for bar in bars],
                "hoverinfo": "text",
            }
        )
        if not clustered and len(bars[0].values) > 1:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": _text(scheduler),
                    "meta": {**meta, "ink": True},
                    "x": [_text(scheduler)] * len(bars[0].values),
                    "y": [_round(value) for value in bars[0].values],
                    "marker": {"symbol": look.marker.plotly, "size": 5, "opacity": 0.55},
                    "hovertemplate": f"%{{y}} {chart.unit}<extra></extra>",
                }
            )
    layout = _layout("", chart.unit or chart.title, barmode="group")
    layout["xaxis"]["dtick"] = 1  # a name below each, also where it must be tilted for it
    return {"traces": traces, "layout": layout}


def _hover(scheduler: str, over: Summary, unit: str) -> str:
    interval = ""
    if over.low is not None and over.high is not None:
        interval = f"<br>{_PERCENT} % interval {over.low:.4g} to {over.high:.4g}"
    return f"<b>{_text(scheduler)}</b><br>median {over.median:.4g} {unit}{interval}<br>" + _spread(
        over
    )


def _lines(chart: Lines, looks: Mapping[str, Style]) -> _Json:
    traces: list[_Json] = []
    for line in chart.lines:
        look, meta = looks[line.scheduler], {"scheduler": line.scheduler}
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": _text(line.scheduler),
                "meta": meta,
                "x": _numbers(line.x),
                "y": _numbers(line.y),
                **_whiskers(line, look.colour),
                "line": {
                    "color": look.colour,
                    "dash": look.dash.plotly,
                    "width": 1.8,
                    "shape": "hv" if chart.steps else "linear",
                },
                # of long lines so few that they can be told apart; 0 is all
                "marker": {
                    "symbol": look.marker.plotly,
                    "size": 8,
                    "maxdisplayed": 0 if chart.markers else _MARKERS_OF_A_LINE,
                },
            }
        )
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    shown = len({line.scheduler for line in chart.lines}) <= _MANY_SCHEDULERS
    layout = _layout(chart.x_label, chart.y_label, showlegend=shown, legend=legend)
    layout["yaxis"]["rangemode"] = "tozero"
    return {"traces": traces, "layout": layout | {"hovermode": "closest"}}


def _whiskers(line: Line, colour: str) -> _Json:
    if not any(value is not None for value in line.high):
        return {}
    ends = {"array": (line.high, 1), "arrayminus": (line.low, -1)}
    lengths = {
        name: [
            None if end is None or y is None else _round(sign * (end - y))
            for end, y in zip(values, line.y, strict=True)
        ]
        for name, (values, sign) in ends.items()
    }
    look = {"type": "data", "symmetric": False, "color": colour, "thickness": 1.2}
    return {"error_y": {**look, **lengths}}


def _shares(chart: Shares) -> _Json:
    traces = [
        {
            "type": "bar",
            "name": _text(path),
            "meta": {"schedulers": list(shares)},
            "x": [_text(name) for name in shares],
            "y": [_round(value) for value in shares.values()],
            "marker": {"color": PATH_COLOURS[index % len(PATH_COLOURS)]},
            "hovertemplate": f"%{{x}}<br>{_plain(path)} %{{y}} %<extra></extra>",
        }
        for index, (path, shares) in enumerate(chart.paths.items())
    ]
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"}
    layout = _layout("", "%", barmode="stack", showlegend=True, legend=legend)
    layout["xaxis"]["dtick"] = 1
    return {"traces": traces, "layout": layout}


def _plain(text: str) -> str:
    """Text within a template of Plotly, in which %{...} stands for a value."""
    return _text(text).replace("%{", "% {")


def _heat(chart: Heat) -> _Json:
    trace = {
        "type": "heatmap",
        "meta": {"scheduler": chart.scheduler},
        "x": [f"{value:g}" for value in chart.x],
        "y": [f"{value:g}" for value in chart.y],
        "z": [_numbers(row) for row in chart.z],
        "zmin": _round(chart.low),
        "zmax": _round(chart.high),
        "colorscale": _HEAT,
        "colorbar": {"title": {"text": chart.unit}, "thickness": 12},
        "texttemplate": "%{z:.3g}",
        "hovertemplate": f"%{{x}}, %{{y}}: %{{z}} {chart.unit}<extra></extra>",
        "xgap": 1,
        "ygap": 1,
    }
    layout = _layout(chart.x_label, chart.y_label)
    for axis in ("xaxis", "yaxis"):
        layout[axis]["type"] = "category"
    return {"traces": [trace], "layout": layout}


# A run over time


def _run_data(run: Found) -> _Json:
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
    data: _Json = {"figure": _run_figure(run.scenario, over_time, panels)}
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
    """By the number of the connection and that of the subflow, from 1, the name of the path."""
    indices = records.path_indices(samples.subflow)
    connections, numbers = samples.subflow["connection"], samples.subflow["n"]
    keys = zip(
        connections.tolist(), (numbers.astype(int) + 1).tolist(), indices.tolist(), strict=True
    )
    return {(c, n): scenario.paths[i].name for c, n, i in set(keys) if i >= 0}


def _decision_table(
    decisions: records.Records,
    paths: Mapping[tuple[int, int], str],
    begin_ns: int,
    name: str,
) -> _Json:
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
            f"Decisions of the scheduler: the first {len(shown)} of {len(decisions)}, which "
            f"{name} in the directory of the run has."
        )
    columns = [
        "ms",
        "decision",
        "path",
        "sequence",
        "length",
        "unsent bytes",
        "in flight",
        "window",
    ]
    return {"note": note, "columns": columns, "rows": rows}


def _run_figure(scenario: Scenario, run: RunSeries, panels: Sequence[Panel]) -> _Json:
    """Panels below each other over the same time, which are zoomed together."""
    colours = {
        path.name: PATH_COLOURS[n % len(PATH_COLOURS)] for n, path in enumerate(scenario.paths)
    }
    # a link is grey, as what is of no path
    colours |= {each.name: colours[each.paths[0]] for each in scenario.connections}
    edges_s = run.edges_ns / 1e9
    middle_s = _numbers(((edges_s[:-1] + edges_s[1:]) / 2).tolist())
    heights = [
        _ROW_PX * len(panel.series) + 2 * _ROW_PX if panel.kind == "counts" else _PANEL_PX
        for panel in panels
    ]
    total = sum(heights)
    layout: _Json = {
        "height": total + 80,
        "margin": {"l": 70, "r": 10, "t": 40, "b": 40},
        "legend": {"orientation": "h", "y": 1 + 8 / total, "yanchor": "bottom", "x": 0},
        "hovermode": "x",
        "annotations": [],
        "xaxis": {
            "title": {"text": "Time since the start of the workload (s)"},
            "anchor": f"y{len(panels)}" if len(panels) > 1 else "y",
            "range": [0, _round(float(edges_s[-1]))],
        },
    }
    traces: list[_Json] = []
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
                "text": f"<b>{_text(title)}</b>{_dashes_told(whats)}",
                "showarrow": False,
                "xref": "paper",
                "x": 0,
                "yref": "paper",
                "y": top - 24 / total,
                "yanchor": "bottom",
            }
        )
        for series in panel.series:
            look: _Json = {"yaxis": axis, "legendgroup": series.path or "connection"}
            if series.path is None:
                look["meta"] = {"ink": True}
            colour = colours.get(series.path or "", "#888888")
            dash = list(_DASHES)[whats.index(series.what) % len(_DASHES)]
            name = " ".join(filter(None, (series.path or "connection", series.what)))
            own = _series_traces(series, panel, middle_s, colour, dash, _text(name))
            # one line of each path is in the legend, which hides all of them
            legend = series.path not in named
            named.add(series.path)
            for index, trace in enumerate(own):
                is_line = index == len(own) - 1
                traces.append({**look, **trace, "showlegend": legend and is_line})
            if legend:
                traces[-1]["name"] = _text(series.path or "connection")
        top = bottom
    return {"traces": traces, "layout": layout}


def _dashes_told(whats: Sequence[str]) -> str:
    """Which line is what, where a panel shows several things of a path."""
    if len(whats) < 2:
        return ""
    told = zip(whats, itertools.cycle(_DASHES.values()), strict=False)
    return ": " + ", ".join(f"{_text(what)} {dash}" for what, dash in told)


def _series_traces(
    series: Series, panel: Panel, x: list[float | None], colour: str, dash: str, name: str
) -> list[_Json]:
    if panel.kind == "counts":
        counted = np.flatnonzero(series.values > 0)
        marker = {"symbol": "line-ns-open", "size": 12, "color": colour}
        return [
            {
                "type": "scatter", "mode": "markers", "name": name, "marker": marker,
                "x": [x[index] for index in counted],
                "y": [_text(series.path or series.what)] * len(counted),
                "text": [f"{value:.4g} {series.metric}" for value in series.values[counted]],
            }
        ]  # fmt: skip
    shared: _Json = {"type": "scatter", "mode": "lines", "x": x}
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


# Data


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _numbers(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None or math.isnan(value) else _round(value) for value in values]


def _series_numbers(values: Floats) -> list[float | None]:
    return [
        None if value != value else float(f"{value:.{_SERIES_DIGITS}g}")
        for value in values.tolist()
    ]


def _compact(content: Any) -> str:
    """JSON without spaces, and without a zero after the point of a whole number."""
    return json.dumps(_whole(content), separators=(",", ":"), allow_nan=False)


def _whole(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _whole(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_whole(value) for value in content]
    if isinstance(content, float) and content.is_integer() and abs(content) < 2**53:
        return int(content)
    return content


def _packed(text: str) -> str:
    """Text for the page to unpack: gzip, which browsers read, without a date."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _attachment(identity: str, packed: str) -> str:
    return f'<script type="text/plain" id="{identity}">{packed}</script>'


def _file(name: str) -> str:
    return resources.files("mptcplab.report").joinpath("web", name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
