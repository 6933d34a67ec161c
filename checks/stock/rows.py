# SPDX-License-Identifier: GPL-2.0-only
"""The comparison of each setting, from the stored runs of both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.stock import compare, early, runs
from checks.stock.compare import Compared
from checks.stock.early import TOLERANCE_NS, Equal, Sender
from checks.stock.runs import Bench, Job, Seeds
from checks.stock.settings import (
    CLOSE_UP_NS,
    CPU_TIMES_NS,
    INSTRUCTION_NS,
    SLOWER_NS,
    STEP_NS,
    StockSetting,
)
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs.entries import Entry


@dataclass(frozen=True)
class Row:
    """A setting on both sides; `share` is missing with one path.

    `early` says, for each run on the distribution's kernel, how long one of the lab's is equal at
    the same times, and `close` how long one is equal except for CPU time: within TOLERANCE_NS, and
    with one of CPU_TIMES_NS. `itself` says, for each run on the slower CPU, how long one on the
    other CPU is equal at the same times.
    """

    setting: StockSetting
    value: Compared
    share: Compared | None
    retransmitted: Compared
    early: Sequence[Equal]
    close: Sequence[Equal]
    itself: Sequence[Equal]

    @property
    def figures(self) -> list[tuple[str, Compared]]:
        value = "time" if self.setting.is_transfer else "goodput"
        share = [("share", self.share)] if self.share else []
        return [(value, self.value), *share, ("retransmitted", self.retransmitted)]

    @property
    def begins_equal(self) -> bool:
        """Whether all counts are equal for as long as wanted, if only in one pair of runs."""
        return early.best(self.close).holds

    @property
    def begins_as_itself(self) -> bool:
        """Whether they are, or are for as long as those of the same kernel on another CPU."""
        if self.begins_equal or not self.itself:
            return self.begins_equal
        return early.best(self.early).seconds >= early.best(self.itself).seconds

    @property
    def holds(self) -> bool:
        """Whether all figures are within their bounds."""
        return all(figure.holds for _, figure in self.figures)

    @property
    def is_of_cpu_time(self) -> bool:
        """Whether CPU time explains every figure that is told apart."""
        apart = any(figure.is_told_apart for _, figure in self.figures)
        return apart and not self.differs and not self.is_of_start

    @property
    def is_of_start(self) -> bool:
        """Whether a later start of the data explains what is told apart, if only in one figure."""
        return not self.differs and any(
            figure.is_told_apart and figure.is_of_start for _, figure in self.figures
        )

    @property
    def differs(self) -> bool:
        """Whether a figure is beyond its bound, and not by chance, CPU time or a later start."""
        return any(figure.differs for _, figure in self.figures)


@dataclass(frozen=True)
class Table:
    """All settings of one flavour, and the kernel of the lab that it is compared with."""

    kernel: KernelBuild
    lab: KernelBuild
    rows: Sequence[Row]


def table(
    settings: Sequence[StockSetting],
    stock: KernelBuild,
    lab: KernelBuild,
    bench: Bench,
    seeds: Seeds,
) -> Table:
    """A row for each setting of which there are runs of both sides, with up to so many seeds.

    Raises MptcplabError if the files of a run cannot be read.
    """
    rows, out = [], bench.out
    for setting in settings:
        counts = {INSTRUCTION_NS: seeds.stock, SLOWER_NS: seeds.slower}
        theirs, slower = (
            {
                job.key: entry
                for each in setting.with_seeds(count)
                for job in [Job.of(setting, each, stock, bench.guest, instruction_ns)]
                if (entry := job.entry(out)) is not None
            }
            for instruction_ns, count in counts.items()
        )
        ours = [runs.lab_entry(each, lab, bench) for each in setting.with_seeds(seeds.lab)]
        wanted = runs.late(setting, seeds, stock, lab, bench)
        late = [runs.late_entry(*each, lab, bench) for each in wanted.items()]
        close = {
            cpu_time_ns: runs.close_ups(setting.close_ups(seeds.lab, cpu_time_ns), lab, bench)
            for cpu_time_ns in CPU_TIMES_NS
        }
        entries: Sequence[Iterable[Entry | None]] = (theirs.values(), ours, slower.values(), late)
        sides = [[each for each in side if each is not None] for side in entries]
        if all(sides[:2]) and all(close.values()):
            directories = ([out.directory(key) for key in keys] for keys in (theirs, slower))
            rows.append(_row(setting, sides, close, *directories))
    return Table(stock, lab, rows)


def _row(
    setting: StockSetting,
    entries: Sequence[Iterable[Entry]],
    close: Mapping[int, Sequence[Sender]],
    stored: Sequence[Path],
    on_slower: Sequence[Path],
) -> Row:
    """`entries` are those of the package, of the lab, on the slower CPU, and with data as late."""
    sides = [[compare.figures(entry) for entry in side] for side in entries]
    shares = [[each.share for each in side if each.share is not None] for side in sides]
    own = [early.read(setting.scenario, directory) for directory in stored]
    return Row(
        setting=setting,
        value=compare.compared(*([each.value for each in side] for side in sides)),
        share=compare.compared(*shares, share=True) if all(shares[:2]) else None,
        retransmitted=compare.compared(*([each.retransmitted for each in side] for side in sides)),
        early=_equal(setting, stored, close[0], 0),
        close=_equal(setting, stored, [*itertools.chain(*close.values())], TOLERANCE_NS),
        itself=_equal(setting, on_slower, own, 0),
    )


def _equal(
    setting: StockSetting, stock: Sequence[Path], close: Sequence[Sender], within_ns: int
) -> list[Equal]:
    """How long each run on the distribution's kernel is equal to one of the lab's."""
    first = setting.scenario.first_path
    # a step without any sample is after the end
    lab = [
        [*itertools.takewhile(bool, (each.states(step, first, within_ns) for step in _STEPS))]
        for each in close
    ]
    found = []
    for directory in stock:
        steps = [
            *itertools.islice(early.read(setting.scenario, directory).steps(first), len(_STEPS))
        ]
        found.append(early.best([early.equal(steps, each) for each in lab]))
    return found


_STEPS = range(1, CLOSE_UP_NS // STEP_NS + 1)
