# SPDX-License-Identifier: GPL-2.0-only
"""The report as a page: one self-contained HTML file, which loads nothing.

Plotly draws the charts; its JavaScript is in the file once, compressed, and is unpacked when all
else is shown. The series of a run are compressed as well, and unpacked when the run is opened. Text
from a scenario or a file is escaped by the template, `web/page.html.j2`, and the page runs no
script but its own (a Content Security Policy with the hashes of these).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined

from mptcplab import units
from mptcplab.metrics.run_files import LINKS_SAMPLES
from mptcplab.report import html_tables, palette, paper_figures
from mptcplab.report.charts import Chart, Heat, OverTime, first_runs, has_series
from mptcplab.report.explain import Explanation, explain
from mptcplab.report.palette import Style
from mptcplab.report.plotly_charts import PERCENT, Json, plot
from mptcplab.report.plotly_run import run_data
from mptcplab.runs.collection import Collection, Found, Group
from mptcplab.runs.entries import compared, ended_well
from mptcplab.scenario import uncertainty
from mptcplab.scenario.model import Scenario
from mptcplab.units import counted

_FIRST_CHARTS = 4  # charts of a scenario; the others are one click away
_PREVIEWS = 4  # charts that are pictures until the library is loaded
_OPEN_GROUPS = 3


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

    made, script = _Page(looks), _file("page.js")
    above = made.overview(overview) if overview else None
    groups = [
        made.group(group, drawn, number)
        for number, (group, drawn) in enumerate(zip(collection.groups, of_groups, strict=True))
    ]
    runs = [run for group in collection.groups for run in group.runs]
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_file("page.html.j2")).render(
        # from what a script made of the page's own content, nothing from a network
        policy=f"default-src 'none'; script-src 'sha256-{_sha256(script)}' blob:; "
        "connect-src data:; style-src 'unsafe-inline'; img-src data: blob:",
        style=_file("page.css"),
        script=script,
        title=_title(collection),
        counts=_counts(collection, looks),
        opened=sum(run.is_opened for run in runs),
        runs=len(runs),
        percent=PERCENT,
        counted=counted,
        looks=looks,
        overview=above,
        groups=groups,
        attachments=made.attachments,
        plotly=_packed(get_plotlyjs()),
    )


class _Page:
    """Makes the parts of a page, and collects what their charts and runs are drawn from."""

    def __init__(self, looks: Mapping[str, Style]) -> None:
        self.looks = looks
        self.attachments: dict[str, str] = {}
        self._plots: list[Json] = []
        self._previews = 0

    def overview(self, charts: Sequence[Sequence[Chart]]) -> Json:
        """The part above the scenarios: charts over all of them, figure by figure."""
        # several figures with a chart or two, but the heat maps of a single figure
        few = max(1, _FIRST_CHARTS // max(map(len, charts)))
        first = self._frames([chart for own in charts[:few] for chart in own])
        rest = charts[few:]
        if few > 1:
            flat = [chart for own in rest for chart in own]
            heads = {counted(len(flat), "more chart"): flat} if flat else {}
        else:
            # what the titles of the charts of a figure have in common
            heads = {own[0].title.split(",")[0]: list(own) for own in rest}
        more = [{"head": head, "frames": self._frames(own)} for head, own in heads.items()]
        return {"first": first, "more": more, "charts": self._attach_charts("charts-all")}

    def group(self, group: Group, charts: Sequence[Chart], number: int) -> Json:
        """A scenario: its table, charts, differences, runs, and what it is."""

        def attached(index: int, run: Found) -> str:
            if not has_series(run):
                return ""
            return self._attach(f"run-{number}-{index}", _compact(run_data(run)))

        over_time = [chart for chart in charts if isinstance(chart, OverTime)]
        rest = [chart for chart in charts if not isinstance(chart, OverTime)]
        scenario = json.dumps(group.scenario.model_dump(mode="json"), indent=1)
        builds = sorted({tuple(sorted(run.builds.items())) for run in group.runs})
        return {
            "name": group.name,
            "opened": number < _OPEN_GROUPS,
            "summary": html_tables.summary_table(group),
            "parts": html_tables.part_tables(group),
            "first": self._frames(rest[:_FIRST_CHARTS]),
            "over_time": self._frames(over_time),
            "over_time_opened": len(over_time) <= _FIRST_CHARTS,
            "more": self._frames(rest[_FIRST_CHARTS:]),
            "explained": [
                (run.entry.label, *each) for run in first_runs(group) for each in _explained(run)
            ],
            "differences": html_tables.difference_table(group),
            "count": len(group.runs),
            "runs": html_tables.run_table(group, attached),
            "paths": html_tables.path_table(group.scenario),
            "workload": _workload_text(group.scenario),
            "builds": [", ".join(f"{n} {value}" for n, value in each) for each in builds if each],
            "lacks_builds": () in builds,
            "commands": repeat_commands(group),
            "scenario": scenario,
            "saved": self._attach(f"scenario-{number}", scenario),
            "charts": self._attach_charts(f"charts-{number}"),
        }

    def _frames(self, charts: Sequence[Chart]) -> list[Json]:
        return [self._frame(chart) for chart in charts]

    def _frame(self, chart: Chart) -> Json:
        """The frame of a chart; its data goes with the data of its section."""
        self._plots.append(plot(chart, self.looks))
        picture = ""
        if self._previews < _PREVIEWS:
            self._previews += 1
            picture = base64.b64encode(paper_figures.preview(chart, self.looks)).decode()
        return {
            "title": chart.title,
            "note": chart.note,
            "number": len(self._plots) - 1,
            "scheduler": chart.scheduler if isinstance(chart, Heat | OverTime) else "",
            "picture": picture,
        }

    def _attach(self, identity: str, content: str) -> str:
        """Put a text into the page, compressed, for a script; gives its `identity`."""
        self.attachments[identity] = _packed(content)
        return identity

    def _attach_charts(self, identity: str) -> str:
        """Put the data of the charts since the last call into the page."""
        plots, self._plots = self._plots, []
        return self._attach(identity, _compact(plots))


def _explained(run: Found) -> list[tuple[str, Explanation]]:
    """Why a run was not faster, for each of its connections and directions, with a title; nothing
    without its records.
    """
    if run.directory is None or not (run.directory / LINKS_SAMPLES).exists():
        return []
    found = [each for each in explain(run.directory) if each.capacity_bps]
    title = f"{run.entry.label}, seed {run.entry.seed}"
    return [(f"{title}{each.part}", each) for each in found]


def repeat_commands(group: Group) -> list[str]:
    """The commands that run the group again, given its scenario as scenario.json; one for each
    sequence of seeds. None for programs, whose files and environment belong to a machine.
    """
    if group.scenario.workload.kind == "program":
        return []
    # by themselves, whichever output they are of
    labels = {run.entry.label: run.scenario.scheduler.label for run in group.runs}
    found: dict[str, set[int]] = {}
    for label, runs in compared(group.entries()).items():
        found.setdefault(labels.get(label, label), set()).update(run.seed for run in runs)
    rows: dict[tuple[int, int], list[str]] = {}
    for scheduler, numbers in found.items():
        seeds = sorted(numbers)
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


def _counts(collection: Collection, looks: Mapping[str, Style]) -> list[str]:
    groups, outputs = collection.groups, [name for name in collection.outputs if name]
    failed = sum(len(group.runs) - len(ended_well(group.entries())) for group in groups)
    return [
        counted(collection.count(), "run"),
        counted(len({palette.apart(label, collection.outputs)[0] for label in looks}), "scheduler"),
        counted(len(groups), "scenario"),
        *([f"{failed} failed"] if failed else []),
        *([f"of the outputs {' and '.join(outputs)}"] if len(outputs) > 1 else []),
    ]


def _title(collection: Collection) -> str:
    experiments = {run.experiment for g in collection.groups for run in g.runs}
    if len(experiments) == 1 and (name := experiments.pop()):
        return str(name)
    kinds = dict.fromkeys(group.scenario.workload.kind for group in collection.groups)
    return f"Multipath TCP schedulers: {', '.join(kinds)}"


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
    drawn = f"; values of paths {uncertainty.text(scenario.vary)}" if scenario.vary else ""
    return f"Workload: {what}, congestion control {scenario.cc}{events}{drawn}"


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


def _file(name: str) -> str:
    return resources.files("mptcplab.report").joinpath("web", name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
