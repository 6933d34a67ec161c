# SPDX-License-Identifier: GPL-2.0-only
"""How long from the start two kernels count the same: before chaos sets in, without statistics.

The same state is looked for at the same time, and, in a close-up of the lab's run, a little before
and after each step, since CPU time delays packets: docs/fidelity.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from checks.stock.settings import STEP_NS
from mptcplab.metrics import recorded, records, run_files
from mptcplab.metrics.records import Records
from mptcplab.runs import documents
from mptcplab.scenario.model import Scenario

#: How long everything should be equal at first.
WANTED_S = 0.5
#: How much earlier or later the same state may be.
TOLERANCE_NS = 2_000_000

#: What TCP counts at one step: for the connection, and for each path by its name.
State = Mapping[str, tuple[int, ...]]
#: The same, at several times around a step: a line for each.
States = Mapping[str, npt.NDArray[np.int64]]

_OF_CONNECTION = {"send buffer": "sndbuf"}
_OF_PATH = {
    "bytes sent": "sent_bytes",
    "cwnd": "cwnd",
    "ssthresh": "ssthresh",
    "retransmissions": "retransmitted_packets",
}


@dataclass(frozen=True)
class Sender:
    """The records of the end that sends; T0 is `start_ns`."""

    start_ns: int
    connection: Records
    subflow: Records

    def around_steps(self) -> Sender:
        """Those of the records within TOLERANCE_NS of a step."""

        def near(found: Records) -> Records:
            late_ns = self._after_start_ns(found) % STEP_NS
            inside = (late_ns <= TOLERANCE_NS) | (late_ns >= STEP_NS - TOLERANCE_NS)
            return records.select(found, inside)

        return Sender(self.start_ns, near(self.connection), near(self.subflow))

    def states(self, step: int, first_path: int, within_ns: int = 0) -> States:
        """All of each group that was recorded so near to a step, in the order of time."""

        def near(found: Records) -> Records:
            off_ns = np.abs(self._after_start_ns(found) - step * STEP_NS)
            return records.select(found, off_ns <= within_ns)

        connection, subflow = near(self.connection), near(self.subflow)
        paths = records.path_indices(subflow, first_path)
        found = {"connection": _counts(connection, _OF_CONNECTION)} if len(connection) else {}
        return found | {
            f"path {path + 1}": _counts(records.select(subflow, paths == path), _OF_PATH)
            for path in np.unique(paths)
        }

    def steps(self, first_path: int) -> Iterator[State]:
        """The state at each step, from the first after T0 on, as far as there are samples."""
        step = 1
        while states := self.states(step, first_path):
            yield {group: tuple(counts[0].tolist()) for group, counts in states.items()}
            step += 1

    def _after_start_ns(self, found: Records) -> npt.NDArray[np.int64]:
        after_ns: npt.NDArray[np.int64] = found["time_ns"].astype(np.int64) - self.start_ns
        return after_ns


def _counts(found: Records, fields: Mapping[str, str]) -> npt.NDArray[np.int64]:
    return np.stack([found[field].astype(np.int64) for field in fields.values()], axis=1)


def read(scenario: Scenario, directory: Path) -> Sender:
    """The records of the sender of a run. Raises MptcplabError if they cannot be read."""
    side = "server" if recorded.measured_direction(scenario) == "down" else "client"
    samples = run_files.read_samples(scenario, directory)[side]
    start_ns = documents.read(directory / run_files.GUEST_OUTCOME, documents.GUEST).start_ns
    return Sender(start_ns, samples.connection, samples.subflow)


@dataclass(frozen=True)
class Equal:
    """Two runs count the same for `seconds`, or for the `whole` time; else `first` differs."""

    seconds: float
    whole: bool
    first: str

    @property
    def holds(self) -> bool:
        return self.whole or self.seconds >= WANTED_S


def equal(stock: Sequence[State], lab: Sequence[States]) -> Equal:
    """For how long the states of one side are among those of the other, step by step.

    Between two states that follow each other there may have been those between them.
    """
    for number, (theirs, ours) in enumerate(zip(stock, lab, strict=False)):
        if wrong := _first_wrong(theirs, ours):
            return Equal(number * STEP_NS / 1e9, whole=False, first=wrong)
    return Equal(min(len(stock), len(lab)) * STEP_NS / 1e9, whole=True, first="")


def best(found: Sequence[Equal]) -> Equal:
    """The longest: what one of several runs of the lab may do, the lab can do."""
    return max(found, key=lambda each: (each.whole, each.seconds))


def _first_wrong(theirs: State, ours: States) -> str:
    """The difference in words, theirs / ours; "" if there is none."""
    if missing := sorted({*theirs} ^ {*ours}):
        where = "the package" if missing[0] in theirs else "the lab"
        return f"{missing[0]}: only in {where}"
    for group, counts in theirs.items():
        there = np.array(counts)
        # of a single one, itself
        several = max(len(ours[group]) - 1, 1)
        before, after = ours[group][:several], ours[group][-several:]
        low, high = np.minimum(before, after), np.maximum(before, after)
        inside = (low <= there) & (there <= high)
        if inside.all(axis=1).any():
            continue
        # of the nearest moment, what does not fit
        nearest = int(inside.sum(axis=1).argmax())
        column = int(np.flatnonzero(~inside[nearest])[0])
        name = [*(_OF_CONNECTION if group == "connection" else _OF_PATH)][column]
        where = "" if group == "connection" else f" of {group}"
        return f"{name}{where}: {counts[column]} / {low[nearest, column]}"
    return ""
