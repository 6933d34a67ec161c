# SPDX-License-Identifier: GPL-2.0-only
"""Changes that may help a run, by the reasons that `explain` finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mptcplab import units
from mptcplab.report.explain import Explanation, Reason
from mptcplab.scenario import congestion
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.scheduler import Choice

#: A reason counts from this fraction of what the paths can carry on, and so many changes are named.
_MUCH, _MOST = 0.05, 2
_LARGE = "16MiB"
_LARGE_BYTES = units.parse_size(_LARGE)


@dataclass(frozen=True)
class Remedy:
    """A change of a run: a flag (cc, scheduler, send_buffer or receive_buffer) with its value, the
    kind of the reason that it is for, and a page of docs/.
    """

    flag: str
    value: str
    reason: str
    page: str

    @property
    def option(self) -> str:
        return f"--{self.flag.replace('_', '-')} {self.value}"

    def applied(self, scenario: Scenario) -> Scenario:
        """The same run with this change."""
        match self.flag:
            case "cc":
                return scenario.with_(cc=self.value)
            case "scheduler":
                return scenario.with_(scheduler=Choice(name=self.value))
            case buffer:
                size = None if self.value == "auto" else units.parse_size(self.value)
                return scenario.model_copy(update={f"{buffer}_bytes": size})


def remedies(found: Explanation, scenario: Scenario) -> list[Remedy]:
    """The changes for the largest reasons of a run with one connection, at most two."""
    if found.connection is not None:
        return []
    wanted: dict[tuple[str, str], Remedy] = {}
    for reason in found.reasons:
        if reason.bps >= _MUCH * found.capacity_bps:
            for each in _of(reason, scenario):
                wanted.setdefault((each.flag, each.value), each)
    return list(wanted.values())[:_MOST]


def _of(reason: Reason, scenario: Scenario) -> Iterator[Remedy]:
    kind = reason.kind
    if kind in ("losses", "growth") and congestion.name_of(scenario.cc) != "bbr":
        # it does not take a loss for a full queue
        yield Remedy("cc", "bbr", kind, "congestion/README.md")
    if kind == "paced" and congestion.name_of(scenario.cc) != congestion.DEFAULT:
        yield Remedy("cc", congestion.DEFAULT, kind, "congestion/README.md")
    if kind in ("event", "timeout"):
        # it looks for a path that is back, and does not wait for one that is lost
        yield from _scheduler("earliest", reason, scenario, "recovery.md")
    if kind in ("scheduler", "duplicates"):
        yield from _scheduler("minrtt", reason, scenario)
    if kind in ("window", "send_buffer"):
        if reason.behind is not None:
            # it waits for the fast path instead
            yield from _scheduler("ecf", reason, scenario, "slow-path.md")
        if kind == "send_buffer" and scenario.send_buffer_bytes is not None:
            yield Remedy("send_buffer", "auto", kind, "scenario.md")
        elif (scenario.receive_buffer_bytes or 0) < _LARGE_BYTES:
            yield Remedy("receive_buffer", _LARGE, kind, "slow-path.md")


def _scheduler(
    name: str, reason: Reason, scenario: Scenario, page: str | None = None
) -> Iterator[Remedy]:
    if scenario.transport == "mptcp" and name != scenario.scheduler.name:
        yield Remedy("scheduler", name, reason.kind, page or f"schedulers/{name}.md")
