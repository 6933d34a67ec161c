# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab explain does about the reasons that it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mptcplab import resources
from mptcplab.cli.actions import common
from mptcplab.metrics.views import MBIT
from mptcplab.report.explain import Explanation
from mptcplab.report.remedies import Remedy, remedies
from mptcplab.report.tables import number
from mptcplab.runs import experiment, store
from mptcplab.runs.entries import Entry
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags

#: The entries of a run and of its changes, in the order of these; None: not tried.
Tried = Sequence[Entry] | None


def wanted(directory: Path, found: Explanation) -> list[Remedy]:
    """The changes that may help the run in a directory."""
    return remedies(found, store.read_scenario(directory))


def tried(directory: Path, changes: Sequence[Remedy], options: Mapping[str, Any]) -> list[Entry]:
    """The entries of the run in a directory, and of each change of it, with the current kernel.

    Raises InputError for a run that its scenario alone cannot repeat, such as one of a program.
    """
    request = resolve.load_file(directory / store.SCENARIO, Flags(), single=True)
    (scenario,) = request.runs()
    scenarios = [scenario, *(each.applied(scenario) for each in changes)]
    (rig,) = experiment.rigs(request, common.limits(options))
    with common.running(options, show=common.progress) as runner:
        tasks = [runner.task(each, rig) for each in scenarios]
        return list(replace(runner, kept=runner.stored(tasks)).perform(tasks))


def lines(
    directory: Path, found: Explanation, changes: Sequence[Remedy], of: Tried
) -> Iterator[str]:
    """A line for each change: its figure beside the present one, or the command that tries it."""
    if not changes:
        return
    yield f"What may help; mptcplab explain {directory} --try tries it:" if of is None else "Tried:"
    for at, each in enumerate(changes, 1):
        page = resources.page(each.page, "explains it")
        text = each.option
        if of is not None:
            text += f": {_figure(of[at], found)} instead of {_figure(of[0], found)}"
        yield f"  {text}; {page}" if page else f"  {text}."


def as_json(found: Explanation, changes: Sequence[Remedy], of: Tried) -> list[dict[str, Any]]:
    """The same for a document: `before` and `after` are in the metric's unit."""
    listed = []
    for at, each in enumerate(changes, 1):
        entry = asdict(each)
        if of is not None:
            metric = _metric(found)
            entry |= {"metric": metric, "before": of[0].metrics[metric]}
            entry["after"] = of[at].metrics[metric]
        listed.append(entry)
    return listed


def _metric(found: Explanation) -> str:
    """The figure that is explained."""
    return "goodput_down_bps" if found.direction == "down" else "goodput_bps"


def _figure(entry: Entry, found: Explanation) -> str:
    if entry.status != "ok":
        return f"failed ({str(entry.reason).splitlines()[0]})"
    return f"{number(entry.metrics[_metric(found)], MBIT, 2)} Mbit/s"
