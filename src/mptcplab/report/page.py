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
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from operator import itemgetter
from typing import Any

from mptcplab.metrics.inference import Difference, differences, summary
from mptcplab.metrics.views import shown_metrics
from mptcplab.report import charts, paper_figures
from mptcplab.report.charts import METRICS, Chart, Heat, has_series
from mptcplab.report.palette import Style
from mptcplab.report.plotly_charts import PERCENT, Json, counted, plot, spread
from mptcplab.report.plotly_run import run_data
from mptcplab.report.tables import how
from mptcplab.runs.collection import Collection, Group
from mptcplab.runs.entries import by_seed, compared, ended_well
from mptcplab.spec import units
from mptcplab.spec.limits import NO_RATE_BPS
from mptcplab.spec.scenario import Direction, Scenario

_FIRST_CHARTS = 4  # of a scenario; the others are one click away
_PREVIEWS = 4  # charts that are there as pictures before the library is
_OPEN_GROUPS = 3

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
        self._plots: list[Json] = []
        self._previews = 0

    def header(self, collection: Collection) -> str:
        groups = collection.groups
        runs = sum(len(group.runs) for group in groups)
        failed = sum(len(group.runs) - len(ended_well(group.entries())) for group in groups)
        counts = [
            counted(runs, "run"),
            counted(len(self.looks), "scheduler"),
            counted(len(groups), "scenario"),
        ]
        if failed:
            counts.append(f"{failed} failed")
        return (
            f"<header><h1>{_title(collection)}</h1><p>{', '.join(counts)}. Bars, lines and cells "
            f"are medians over the seeds, whiskers their {PERCENT} % bootstrap "
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
        self._plots.append(plot(chart, self.looks))
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
            more = _part(counted(count, "more chart"), flat) if rest else ""
        else:
            more = "".join(_part(_figure_name(own), self.charts(own)) for own in rest)
        identity = self.attach_charts("charts-all")
        return f'<section data-charts="{identity}"><h2>All scenarios</h2>{first}{more}</section>'

    def group(self, group: Group, charts: Sequence[Chart], number: int, *, opened: bool) -> str:
        """A scenario: its table, charts, differences, runs, and what it is."""
        first, more = charts[:_FIRST_CHARTS], charts[_FIRST_CHARTS:]
        parts = [self.summary_table(group), *self.connection_tables(group), self.charts(first)]
        if more:
            parts.append(_part(counted(len(more), "more chart"), self.charts(more)))
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
            f'<p class="faint">Medians, and below them {PERCENT} % confidence intervals; point at '
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
            f"<th>Median difference</th><th>{PERCENT} % interval</th><th>Effect size</th>"
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
                identity = self.attach(f"run-{number}-{index}", run_data(run))
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
    return f'<td title="{spread(over)}">{over.median:.4g}{interval}</td>'


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
    events = f"; {counted(len(scenario.events), 'event')}" if scenario.events else ""
    return f"Workload: {what}, congestion control {scenario.cc}{events}"


# Data


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
