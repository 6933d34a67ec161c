# SPDX-License-Identifier: GPL-2.0-only
"""The document of a comparison of two kernels, OUT/kernel-compare.json."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mptcplab.metrics.schema import Real, Stored

DOCUMENT = "kernel-compare.json"

#: The verdict on a scenario. "random": it differs, but decides by random numbers, which depend on
#: the build of the kernel. "skipped": a kernel lacks one of its schedulers or congestion controls.
Verdict = Literal["same", "differs", "random", "failed", "skipped"]


class Side(Stored):
    """One of the kernels, with the user's name for it, and the ids of its builds."""

    name: str
    kernel: str
    variant: str
    guest: str

    def __str__(self) -> str:
        return self.name if self.name == self.kernel else f"{self.name} ({self.kernel})"


class PacketDifference(Stored):
    """The first packet that differs at a place: a direction of a subflow, where a capture has it.

    `number` counts the packets of the place from 1, and `time_s`, after the start of the workload,
    is when the earlier of the two was sent. `a` and `b` are their kinds, None for a missing one;
    `fields` have both values of each differing field.
    """

    capture: str
    path: str
    direction: Literal["up", "down"]
    number: int
    time_s: float
    a: str | None
    b: str | None
    fields: dict[str, tuple[str, str]]


class RecordDifference(Stored):
    """The first differing record of a file. Without times, or with another number of records, the
    file differs as a whole.
    """

    file: str
    kind: str = ""
    time_s: float | None = None
    fields: dict[str, tuple[str, str]] = Field(default={})


class FigureDifference(Stored):
    """A differing figure, None where a run has none; docs/metrics.md.

    The name of a path, connection or link comes first: `paths.wifi.share`. `change` is
    (b - a) / |a|, None if that is not a number.
    """

    figure: str
    unit: str
    a: Real
    b: Real
    change: float | None

    @property
    def size(self) -> float:
        """The difference as a part of the larger of both, from 0 to 1."""
        if self.a is None or self.b is None:
            return 1.0
        return abs(self.b - self.a) / max(abs(self.a), abs(self.b))


class Compared(Stored):
    """A scenario, and the verdict on it. `reason` says why it was skipped, or failed.

    `runs` are the directories of both runs, relative to the document. `packets` begin with the
    earliest; `figures` are in the order of docs/metrics.md.
    """

    scenario: str
    workload: str
    verdict: Verdict
    reason: str | None = None
    runs: tuple[str, ...] = ()
    packets: tuple[PacketDifference, ...] = ()
    records: tuple[RecordDifference, ...] = ()
    figures: tuple[FigureDifference, ...] = ()


class Comparison(Stored):
    """Two kernels, compared on some scenarios; `but` are fields of packets that were left out."""

    a: Side
    b: Side
    but: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    scenarios: tuple[Compared, ...]

    def having(self, *verdicts: Verdict) -> list[Compared]:
        """The scenarios with one of these verdicts."""
        return [each for each in self.scenarios if each.verdict in verdicts]
