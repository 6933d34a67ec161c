# SPDX-License-Identifier: GPL-2.0-only
"""What is compared of each setting, from the runs of both sides that are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mptcplab.runs import store
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store
from mptcplab.spec.scenario import Scenario
from mptcplab.tools.stock import compare
from mptcplab.tools.stock.compare import Compared, Equal, Step
from mptcplab.tools.stock.package import StockKernel
from mptcplab.tools.stock.settings import Setting
from mptcplab.uml.guest import Guest
from mptcplab.uml.kernel import KernelBuild


@dataclass(frozen=True)
class Row:
    """A setting on both sides; `share` is missing with one path.

    `early` is, of each run on the distribution's kernel, for how long one of the lab's is equal.
    """

    setting: Setting
    value: Compared
    share: Compared | None
    retransmitted: Compared
    early: Sequence[Equal]

    @property
    def figures(self) -> list[tuple[str, Compared]]:
        value = "time" if self.setting.is_transfer else "goodput"
        share = [("share", self.share)] if self.share else []
        return [(value, self.value), *share, ("retransmitted", self.retransmitted)]

    @property
    def best(self) -> Equal:
        return max(self.early, key=lambda each: (each.whole, each.seconds))

    @property
    def holds(self) -> bool:
        return self.best.holds and all(figure.holds for _, figure in self.figures)

    @property
    def differs(self) -> bool:
        return not self.best.holds or any(figure.differs for _, figure in self.figures)


@dataclass(frozen=True)
class Table:
    """All settings of one flavour, and the kernel of the lab that it is compared with."""

    kernel: StockKernel
    lab: KernelBuild
    rows: Sequence[Row]


def table(
    settings: Sequence[Setting],
    stock: StockKernel,
    lab: KernelBuild,
    guest: Guest,
    out: Store,
    seeds: int,
    lab_seeds: int,
) -> Table:
    """A row for each setting of which there are runs of both sides, with up to so many seeds.

    Raises MptcplabError if the files of a run cannot be read.
    """
    rows = []
    for setting in settings:
        theirs = _stored(setting.with_seeds(seeds), stock.build, guest, out)
        ours = _stored(setting.with_seeds(lab_seeds), lab, guest, out)
        if theirs and ours:
            rows.append(_row(setting, theirs, ours, out))
    return Table(stock, lab, rows)


def _stored(
    scenarios: Sequence[Scenario], built: KernelBuild, guest: Guest, out: Store
) -> dict[str, Entry]:
    """The entries of those runs that are there, by their keys."""
    keys = [store.run_key(scenario, built, guest) for scenario in scenarios]
    return {key: entry for key in keys if (entry := out.result(key)) is not None}


def _row(
    setting: Setting, theirs: Mapping[str, Entry], ours: Mapping[str, Entry], out: Store
) -> Row:
    stock = [compare.figures(entry) for entry in theirs.values()]
    lab = [compare.figures(entry) for entry in ours.values()]
    shares = [[each.share for each in side if each.share is not None] for side in (stock, lab)]

    def steps(keys: Mapping[str, Entry]) -> list[list[Step]]:
        return [compare.steps(setting.scenario, out.directory(key)) for key in keys]

    lab_steps = steps(ours)
    return Row(
        setting=setting,
        value=compare.compared([each.value for each in stock], [each.value for each in lab]),
        share=compare.compared(*shares, share=True) if all(shares) else None,
        retransmitted=compare.compared(
            [each.retransmitted for each in stock], [each.retransmitted for each in lab]
        ),
        early=[compare.longest_equal(each, lab_steps) for each in steps(theirs)],
    )
