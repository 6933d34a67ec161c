# SPDX-License-Identifier: GPL-2.0-only
"""The runs of the comparison, on both sides: those that are not stored are made, then all are read.

A run on a distribution kernel is stored as one of the lab is, under a hash of the scenario, the
kernel package and the guest program; its records lack only what a socket does not reveal.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from checks import many
from checks.command_line import say
from checks.stock import early
from checks.stock.early import Sender
from checks.stock.settings import CPU_TIMES_NS, INSTRUCTION_NS, SLOWER_NS, StockSetting
from mptcplab import files
from mptcplab.errors import MptcplabError
from mptcplab.lab import engine, stock_machine
from mptcplab.lab.engine import Rig, Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records, run_files
from mptcplab.plan import plan
from mptcplab.runs import documents, single, store, tasks
from mptcplab.runs.entries import Entry, run_entry
from mptcplab.runs.runner import Runner, calling
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Done, Task
from mptcplab.scenario.model import Scenario

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    """What all runs are made with, where they are stored, and how many are made at a time."""

    guest: Guest
    out: Store
    at_a_time: int = 1


@dataclass(frozen=True)
class Seeds:
    """How many runs there are at most of a setting: two on a distribution's kernel, and the lab's.

    `slower` is for those on the slower CPU.
    """

    stock: int
    slower: int
    lab: int


@dataclass(frozen=True)
class Job:
    """A run to be made on a distribution kernel; `key` is its name in the store."""

    key: str
    setting: StockSetting
    scenario: Scenario
    kernel: KernelBuild

    @property
    def is_slower(self) -> bool:
        """Whether it is made on the slower CPU."""
        stock = self.kernel.stock
        return stock is not None and stock.instruction_ns != INSTRUCTION_NS

    @classmethod
    def of(
        cls,
        setting: StockSetting,
        scenario: Scenario,
        kernel: KernelBuild,
        guest: Guest,
        instruction_ns: int = INSTRUCTION_NS,
    ) -> Job:
        key = store.run_key(scenario, kernel, guest)
        if instruction_ns != INSTRUCTION_NS and kernel.stock:
            slower = f"{key}, {instruction_ns} ns for an instruction"
            key = hashlib.sha256(slower.encode()).hexdigest()[: len(key)]
            stock = replace(kernel.stock, instruction_ns=instruction_ns)
            kernel = replace(kernel, stock=stock)
        return cls(key, setting, scenario, kernel)

    def entry(self, out: Store) -> Entry | None:
        """Its stored entry; None if there is none that was made with the current plan."""
        return _entry(out, self.key, stock_machine.plan_text(self.scenario, self.kernel))


def lab_entry(scenario: Scenario, lab: KernelBuild, bench: Bench) -> Entry | None:
    """The same for a run in the lab."""
    return _entry(bench.out, store.run_key(scenario, lab, bench.guest), plan.render(scenario))


def _entry(out: Store, key: str, text: str) -> Entry | None:
    entry = out.result(key)
    if entry is None or (out.directory(key) / run_files.PLAN).read_text() != text:
        return None
    return entry


def jobs(
    settings: Sequence[StockSetting], kernels: Sequence[KernelBuild], guest: Guest, seeds: Seeds
) -> list[Job]:
    """All runs on distribution kernels: seed by seed, so that each setting soon has some."""
    counts = {INSTRUCTION_NS: seeds.stock, SLOWER_NS: seeds.slower}
    return [
        Job.of(setting, setting.with_seeds(count)[number], kernel, guest, instruction_ns)
        for number in range(max(counts.values()))
        for instruction_ns, count in counts.items()
        if number < count
        for setting in settings
        for kernel in kernels
    ]


def missing(wanted: Sequence[Job], out: Store) -> list[Job]:
    """Those that are not stored, or were made with another plan."""
    return [job for job in wanted if job.entry(out) is None]


def make(wanted: Sequence[Job], bench: Bench) -> Iterator[tuple[Job, Entry]]:
    """Make runs on distribution kernels, and yield each that has ended, with its entry.

    One that fails does not end the others. When it is interrupted or left early, the current ones
    are ended, and nothing of them is left.
    """
    out = bench.out

    def perform(job: Job, watch: Watch) -> Done:
        task = Task(job.key, job.scenario, Rig(job.kernel, bench.guest), out.out)
        return tasks.perform(task, watch)

    with closing(many.each(wanted, perform, bench.at_a_time)) as under_way:
        for job, done in under_way:
            if done.entry.status == "ok":
                out.forget_failed(job.key)
            else:
                reason = str(done.entry.reason)
                out.keep_failed(job.key, {"reason": reason, "setting": job.setting.name})
            yield job, done.entry


def make_in_lab(scenarios: Sequence[Scenario], lab: KernelBuild, bench: Bench) -> None:
    """Make the runs in the lab that are not stored. Raises RunError for one that fails."""
    todo = [each for each in scenarios if lab_entry(each, lab, bench) is None]

    def ended(number: int, _scenario: Scenario, _entry: Entry) -> None:
        if number % 20 == 0 or number == len(todo):
            say(f"{number}/{len(todo)} in the lab")

    runner = Runner(bench.out.out, bench.at_a_time, show=calling(ended=ended))
    for entry in runner.run(todo, Rig(lab, bench.guest)):
        if entry.status != "ok":
            raise MptcplabError(f"a run in the lab failed: {entry.reason}")


# --- with data as late as on a distribution kernel


def data_ns(directory: Path) -> int | None:
    """How long after the start of a run the first byte was read; None if none was."""
    reported = documents.read(directory / run_files.GUEST_OUTCOME, documents.GUEST)
    first_ns = records.read_messages(directory / run_files.MESSAGES)["first_ns"][:1]
    return int(first_ns[0]) - reported.start_ns if first_ns.any() else None


def late(
    setting: StockSetting, seeds: Seeds, stock: KernelBuild, lab: KernelBuild, bench: Bench
) -> dict[Scenario, int]:
    """How much later data is to be due in the lab, in ns, with each seed of `setting` there.

    In turn as much as it came later in one of the runs on the distribution's kernel, compared to
    the lab's with the same seed, where a path is as long. Empty if there is no run of both with one
    seed.
    """
    found = []
    for scenario in setting.with_seeds(seeds.stock):
        job = Job.of(setting, scenario, stock, bench.guest)
        if job.entry(bench.out) is None or lab_entry(scenario, lab, bench) is None:
            continue
        keys = (job.key, store.run_key(scenario, lab, bench.guest))
        there_ns, here_ns = (data_ns(bench.out.directory(key)) for key in keys)
        if there_ns is not None and here_ns is not None:
            found.append(max(there_ns - here_ns, 0))
    if not found:
        return {}
    return dict(zip(setting.with_seeds(seeds.lab), itertools.cycle(found), strict=False))


def late_plan(scenario: Scenario, further_ns: int) -> str:
    """The plan with the first data later by `further_ns`: the connection exists before."""
    text, count = re.subn(
        r"(?m)^(message 1 .* at )0ns$", rf"\g<1>{further_ns}ns", plan.render(scenario)
    )
    assert count == 1, "one message, sent at once"
    return text


def late_entry(scenario: Scenario, further_ns: int, lab: KernelBuild, bench: Bench) -> Entry | None:
    """The stored entry of such a run in the lab."""
    text = late_plan(scenario, further_ns)
    return _entry(bench.out, _late_key(scenario, further_ns, lab, bench.guest), text)


def make_late(scenarios: Mapping[Scenario, int], lab: KernelBuild, bench: Bench) -> None:
    """Make those that are not stored, each with its delay. Raises RunError for one that fails."""
    rig = Rig(lab, bench.guest)

    def one(todo: tuple[Scenario, int], watch: Watch) -> None:
        scenario, further_ns = todo
        key = _late_key(scenario, further_ns, lab, bench.guest)
        with bench.out.new_run(key) as directory, single.own_cpu() as cpu:
            text = late_plan(scenario, further_ns)
            outcome = engine.run(scenario, text, rig, directory, cpu=cpu, watch=watch)
            store.write_json(directory / store.SCENARIO, scenario)
            store.write_json(directory / store.BUILD, single.builds(lab, bench.guest))
            entry = run_entry(
                scenario,
                single.figures(scenario, outcome),
                virtual_s=outcome.virtual_s,
                directory=store.place(key),
            )
            store.write_json(directory / store.RESULT, entry.result())

    todo = [each for each in scenarios.items() if late_entry(*each, lab, bench) is None]
    _all_of(todo, one, bench.at_a_time)


def _all_of(todo: Sequence[T], one: Callable[[T, Watch], None], at_a_time: int) -> None:
    with closing(many.each(todo, one, at_a_time)) as under_way:
        for _ in under_way:
            pass


def _late_key(scenario: Scenario, further_ns: int, built: KernelBuild, guest: Guest) -> str:
    key = store.run_key(scenario, built, guest)
    late = f"{key}, data {further_ns} ns later"
    return hashlib.sha256(late.encode()).hexdigest()[: len(key)]


def close_ups(scenarios: Sequence[Scenario], lab: KernelBuild, bench: Bench) -> list[Sender]:
    """The records near the steps of the close-ups in the lab that are kept."""
    found = []
    for scenario in scenarios:
        file = _close_up_file(scenario, lab, bench)
        if file.exists():
            with np.load(file) as kept:
                found.append(Sender(int(kept["start_ns"]), kept["connection"], kept["subflow"]))
    return found


def make_close_ups(
    settings: Sequence[StockSetting], seeds: int, lab: KernelBuild, bench: Bench
) -> None:
    """Make those close-ups that are not kept. Raises RunError for one that fails."""

    def one(todo: tuple[Path, Scenario], watch: Watch) -> None:
        file, scenario = todo
        with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
            single.run(scenario, Rig(lab, bench.guest), Path(name), watch=watch)
            # all of it is 50 MB
            sender = early.read(scenario, Path(name)).around_steps()
        content = io.BytesIO()
        np.savez_compressed(content, **vars(sender))
        files.write(file, content.getvalue())

    store.make_directory(bench.out.out / _CLOSE_UPS)
    wanted = {
        _close_up_file(scenario, lab, bench): scenario
        for setting in settings
        for cpu_time_ns in CPU_TIMES_NS
        for scenario in setting.close_ups(seeds, cpu_time_ns)
    }
    _all_of([each for each in wanted.items() if not each[0].exists()], one, bench.at_a_time)


_CLOSE_UPS = "close-ups"


def _close_up_file(scenario: Scenario, lab: KernelBuild, bench: Bench) -> Path:
    key = store.run_key(scenario, lab, bench.guest)
    digest = hashlib.sha256(plan.render(scenario).encode()).hexdigest()[:8]
    return bench.out.out / _CLOSE_UPS / f"{key}-{digest}.npz"
