# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: which runs they stand for, what is made of them and what is not made again.

Runs are made by a fake that takes the place of the workers: it leaves what a run leaves.
"""

from __future__ import annotations

import errno
import io
import itertools
import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mptcplab.errors import InputError, MptcplabError, RunCancelledError
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.report import charts, paper_figures, tables
from mptcplab.runs import index, single, store, sweep
from mptcplab.runs.collection import collect
from mptcplab.runs.entries import run_entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.runs.sweep import How, Plan
from mptcplab.runs.tasks import Done, Task, failed, given_up, perform
from mptcplab.runs.workers import Perform, Workers
from mptcplab.scenario import scheduler
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from tests.unit.stored import with_figures

KERNEL = KernelBuild("k1", "lab", Path("/linux"), Path("/config"))
GUEST = Guest("g1", Path("/guest"))
ROOT = Path(__file__).parents[2]
EXAMPLES = [*ROOT.glob("examples/sweeps/*.toml"), *ROOT.glob("docs/site/charts/*.toml")]
FILE = """
repeat = 2
[scenario]
scheduler = ["default", "minrtt"]
workload.duration = "5s"
[[scenario.path]]
name = "wifi"
rate = "{rate}mbit"
delay = "5ms"
[[scenario.path]]
name = "lte"
rate = "10mbit"
delay = "20ms"
[grid]
rate = [5, 10, 20]
"""


def given(tmp_path: Path, text: str = FILE) -> sweep.Given:
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    return sweep.load(file)


def planned(found: sweep.Given) -> Plan:
    return sweep.plan(found, scheduler.known(), GUEST, lambda _name: KERNEL)


def plan(tmp_path: Path, text: str = FILE) -> Plan:
    return planned(given(tmp_path, text))


Fails = Callable[[Scenario], str]


class Fake(Workers):
    """Leaves what runs leave, one after the other; counts them."""

    def __init__(
        self,
        fails: Fails = lambda _scenario: "",
        stop_after: int | None = None,
        kills: Fails = lambda _scenario: "",
    ) -> None:
        self.virtual_s = {}
        self.made: list[Task] = []
        self.fails = fails
        self.kills = kills
        self.stop_after = stop_after
        self.cancel = threading.Event()

    def submit(self, fn: Perform, task: Task) -> Future[Done]:
        assert fn is perform
        self.made.append(task)
        future: Future[Done] = Future()
        future.set_result(self._done(task))
        if len(self.made) == self.stop_after:
            self.cancel.set()
        return future

    def shutdown(self, *, cancel: bool = False) -> None:
        pass

    def _done(self, task: Task) -> Done:
        if reason := self.fails(task.scenario):
            return failed(task, reason)
        if reason := self.kills(task.scenario):
            return given_up(task, reason, 2)
        entry = run_entry(task.scenario, directory=store.place(task.key))
        entry = with_figures(entry, goodput_bps=1e6 * task.scenario.seed)
        cost = {"wall_s": 2.0, "user_s": 1.0, "system_s": 0.5, "start_s": 0.1, "memory_bytes": 1}
        assert task.out is not None
        with Store(task.out).new_run(task.key) as directory:
            store.write_json(directory / store.RESULT, entry)
            store.write_json(directory / store.SCENARIO, task.scenario.model_dump(mode="json"))
            store.write_json(directory / store.COST, cost)
            store.write_json(
                directory / store.BUILD, single.builds(task.rig.kernel, task.rig.guest)
            )
        return Done(task.key, entry)


def run(
    plan: Plan, out: Path, fake: Fake, *, keep_records: bool = False, **how: Any
) -> sweep.SweepOutcome:
    runner = Runner(out, workers=fake, keep_records=keep_records, cancel=fake.cancel)
    return sweep.run(plan, runner, How(**how))


def test_a_sweep_is_all_points_with_all_schedulers_and_the_same_seeds(tmp_path: Path) -> None:
    whole = plan(tmp_path)
    runs = [each.scenario for each in whole.runs.values()]
    found = [(r.paths[0].up.rate_bps // 10**6, r.scheduler.name, r.seed) for r in runs]
    names = ("default", "minrtt")
    assert found == list(itertools.product((5, 10, 20), names, (1, 2)))
    assert whole.counts == {"points": 3, "runs": 12, "baselines": 0}


def test_baselines_are_made_once_for_all_schedulers(tmp_path: Path) -> None:
    whole = plan(tmp_path, FILE.replace("repeat = 2", "repeat = 2\nbaselines = true"))
    # lte alone is the same at all points: 2 seeds; wifi alone at 3 points
    assert whole.counts == {"points": 3, "runs": 12, "baselines": 8}
    assert all(len(point["alone"]) == 2 for point in whole.points)


def test_a_large_sweep_is_ten_lines(tmp_path: Path) -> None:
    """100 points, 14 schedulers, 5 seeds."""
    names = sorted(scheduler.known())[:14]
    text = f"""repeat = 5
scenario.scheduler = {names!r}
scenario.path = [
  {{ name = "a", rate = "{{rate1}}mbit", delay = "{{delay1}}ms" }},
  {{ name = "b", rate = "{{rate2}}mbit", delay = "{{delay2}}ms" }}]
design.points = 100
design.ranges.rate1 = {{ low = 1, high = 100, scale = "log" }}
design.ranges.rate2 = {{ low = 1, high = 100, scale = "log" }}
design.ranges.delay1 = {{ low = 1, high = 100 }}
design.ranges.delay2 = {{ low = 1, high = 100 }}"""
    assert len(text.splitlines()) == 10
    assert plan(tmp_path, text).counts["runs"] == 100 * 14 * 5


@pytest.mark.parametrize("file", sorted(EXAMPLES), ids=lambda file: file.stem)
def test_every_example_loads(file: Path) -> None:
    # each value of each axis, if not each combination
    found = sweep.load(
        file,
        "scheduler == 'default' or cc == 'lia' and away == 1" if file.stem == "recovery" else None,
    )
    assert planned(found).counts["runs"] > 1


def test_what_is_stored_is_not_made_again(tmp_path: Path) -> None:
    first, again = Fake(), Fake()
    outcome = run(plan(tmp_path), tmp_path / "out", first)
    assert (outcome.total, outcome.stored, outcome.made, outcome.reasons) == (12, 0, 12, {})
    # the longest first
    rates = [task.scenario.paths[0].up.rate_bps for task in first.made]
    assert rates == sorted(rates, reverse=True)
    outcome = run(plan(tmp_path), tmp_path / "out", again)
    assert (outcome.stored, outcome.made) == (12, 0)
    assert again.made == []
    # a larger grid only what is new
    larger = Fake()
    run(plan(tmp_path, FILE.replace("[5, 10, 20]", "[5, 10, 20, 40]")), tmp_path / "out", larger)
    assert {task.scenario.paths[0].up.rate_bps for task in larger.made} == {40_000_000}
    # unless everything is asked for
    run(plan(tmp_path), tmp_path / "out", again, again=True)
    assert len(again.made) == 12


def test_a_sweep_that_is_interrupted_goes_on(tmp_path: Path) -> None:
    stopped, rest, whole = Fake(stop_after=5), Fake(), Fake()
    with pytest.raises(RunCancelledError):
        run(plan(tmp_path), tmp_path / "out", stopped)
    kept = Store(tmp_path / "out").keys()
    assert 1 <= len(kept) <= 5
    run(plan(tmp_path), tmp_path / "out", rest)
    assert len(rest.made) == 12 - len(kept)
    run(plan(tmp_path), tmp_path / "whole", whole)
    assert index.read(tmp_path / "out").equals(index.read(tmp_path / "whole"))


def test_runs_that_fail_are_kept_with_their_reason(tmp_path: Path) -> None:
    def second(scenario: Scenario) -> str:
        return "no power\n  | more" if scenario.seed == 2 else ""

    outcome = run(plan(tmp_path), tmp_path / "out", Fake(second))
    assert set(outcome.reasons.values()) == {"no power\n  | more"}
    assert len(outcome.reasons) == 6
    assert "failed:  6: no power\n" in sweep.closing(outcome, tmp_path / "out")
    table = index.read(tmp_path / "out")
    assert sorted(table["status"]) == ["failed"] * 6 + ["ok"] * 6
    # they are left alone
    fake = Fake()
    outcome = run(plan(tmp_path), tmp_path / "out", fake)
    assert (fake.made, outcome.stored, outcome.failed_before) == ([], 6, 6)
    assert not outcome.is_complete
    assert "--retry-failed" in sweep.closing(outcome, tmp_path / "out")
    # until that is asked for
    outcome = run(plan(tmp_path), tmp_path / "out", fake, retry_failed=True)
    assert (outcome.made, outcome.reasons, outcome.is_complete) == (6, {}, True)
    assert Store(tmp_path / "out").failed() == []
    assert index.read(tmp_path / "out")["status"].to_list() == ["ok"] * 12


def test_runs_that_others_kill_are_tried_again_by_the_next_call(tmp_path: Path) -> None:
    def second(scenario: Scenario) -> str:
        reason = "its process was killed by SIGKILL, 2 times; the machine may be out of memory"
        return reason if scenario.seed == 2 else ""

    outcome = run(plan(tmp_path), tmp_path / "out", Fake(kills=second))
    assert (outcome.made, outcome.reasons, len(outcome.killed)) == (6, {}, 6)
    assert not outcome.is_complete
    closing = sweep.closing(outcome, tmp_path / "out")
    assert "killed:  6: its process was killed by SIGKILL, 2 times; the machine may be" in closing
    assert "no result; the same command tries again" in closing
    # they are no results
    assert Store(tmp_path / "out").failed() == []
    assert index.read(tmp_path / "out")["status"].to_list() == ["ok"] * 6
    expected = sweep.dry_run(plan(tmp_path), Runner(tmp_path / "out", keep_records=False), How())
    assert (expected.to_run, expected.failed) == (6, 0)
    outcome = run(plan(tmp_path), tmp_path / "out", Fake())
    assert (outcome.stored, outcome.made, outcome.is_complete) == (6, 6, True)


def test_what_was_made_after_it_was_killed_is_reported(tmp_path: Path) -> None:
    class Again(Fake):
        def _done(self, task: Task) -> Done:
            return replace(super()._done(task), killed=1)

    outcome = run(plan(tmp_path), tmp_path / "out", Again())
    assert (outcome.made_again, outcome.killed, outcome.is_complete) == (12, {}, True)
    assert "killed:  12 times; those runs were made" in sweep.closing(outcome, tmp_path / "out")


def test_a_run_that_is_not_whole_is_made_again(tmp_path: Path) -> None:
    """As a power failure leaves it."""
    run(plan(tmp_path), tmp_path / "out", Fake())
    key, other = Store(tmp_path / "out").keys()[:2]
    (tmp_path / "out" / "runs" / key / store.RESULT).write_bytes(b"")
    # also if the table has it from before: it is made anew of what is there
    (tmp_path / "out" / index.TABLE).unlink()
    fake = Fake()
    outcome = run(plan(tmp_path), tmp_path / "out", fake)
    assert [task.key for task in fake.made] == [key]
    assert outcome.is_complete
    assert other in index.read(tmp_path / "out")["key"]


def test_failing_fast_stops_at_the_first_one(tmp_path: Path) -> None:
    fake = Fake(lambda scenario: "no power" if scenario.scheduler.name == "minrtt" else "")
    with pytest.raises(MptcplabError, match=r"a run failed \([0-9a-f]{16}: minrtt, seed .\): no"):
        run(plan(tmp_path), tmp_path / "out", fake, fail_fast=True)
    assert len(fake.made) < 12
    assert len(Store(tmp_path / "out").failed()) == 1


def test_a_full_disk_stops_a_sweep_and_is_no_failure_of_runs(tmp_path: Path) -> None:
    fake = Fake(lambda scenario: "[Errno 28] No space left on device" if scenario.seed == 2 else "")
    with pytest.raises(
        MptcplabError, match=r"no space left on the disk of .*the same command resumes"
    ):
        run(plan(tmp_path), tmp_path / "out", fake)
    assert Store(tmp_path / "out").failed() == []
    outcome = run(plan(tmp_path), tmp_path / "out", Fake())
    assert (outcome.made > 0, outcome.reasons) == (True, {})


@pytest.mark.parametrize("full", [index.TABLE, index.POINTS])
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_is_full_for_a_table_is_reported_in_the_same_way(
    full: str, reason: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Path.write_bytes

    def write(file: Path, content: bytes) -> int:
        if file.name == full:
            raise OSError(reason, os.strerror(reason))
        return written(file, content)

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_bytes", write)
        with pytest.raises(
            MptcplabError, match=r"no space left on the disk of .*the same command resumes"
        ):
            run(plan(tmp_path), tmp_path / "out", Fake())
    made = 0 if full == index.POINTS else 12
    assert len(Store(tmp_path / "out").keys()) == made
    outcome = run(plan(tmp_path), tmp_path / "out", Fake())
    assert (outcome.stored, outcome.made) == (made, 12 - made)


def test_records_that_are_wanted_are_made_where_only_series_are(tmp_path: Path) -> None:
    run(plan(tmp_path), tmp_path / "out", Fake())
    fake = Fake()
    run(plan(tmp_path), tmp_path / "out", fake, keep_records=True)
    assert len(fake.made) == 12
    assert all(task.keep_records for task in fake.made)


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    expected = sweep.dry_run(plan(tmp_path), Runner(out, 2, keep_records=False), How())
    assert (expected.runs, expected.stored, expected.to_run) == (12, 0, 12)
    assert "guessed from rates and durations" in expected.text()
    assert not out.exists()
    run(plan(tmp_path, FILE.replace("[5, 10, 20]", "[10]")), out, Fake())
    expected = sweep.dry_run(plan(tmp_path), Runner(out, 2, keep_records=False), How())
    assert (expected.stored, expected.to_run, expected.known_from) == (4, 8, 4)
    # each took 2 s: at 5 and at 20 Mbit/s a little less and a little more, two at a time
    assert expected.expected_s == pytest.approx(8, rel=0.25)
    assert "as 4 stored ones of it took" in expected.text()


def test_the_table_has_what_was_varied(tmp_path: Path) -> None:
    text = FILE.replace("[grid]", '[grid]\n"path.lte.delay" = ["10ms", "30ms"]')
    run(plan(tmp_path, text), tmp_path / "out", Fake())
    table = index.read(tmp_path / "out")
    assert set(table.select("rate", "path.lte.delay", "lte.delay_ns").rows()) == {
        (rate, f"{delay}ms", delay * 10**6) for rate in (5, 10, 20) for delay in (10, 30)
    }


def test_a_sweep_shows_each_of_its_points(tmp_path: Path) -> None:
    labels = 'baselines = true\naxis.rate = "rate of wifi, Mbit/s"\n'
    planned_ = plan(tmp_path, labels + FILE)
    outcome = run(planned_, tmp_path / "out", Fake(lambda item: "no" * (item.seed == 2)))
    found = collect([tmp_path / "out"])
    rows = tables.sweep_rows(found)
    assert [(row["point"], row["scheduler"], row["seeds"], row["failed"]) for row in rows] == [
        ({"rate": rate}, name, 1, 1)
        for rate in (5, 10, 20)
        for name in ("default", "minrtt", "TCP over wifi", "TCP over lte")
    ]
    # of the run with seed 1
    assert {(row["figure"], row["median"]) for row in rows} == {("goodput_bps", 1e6)}
    shown = io.StringIO()
    Console(file=shown, width=80).print(tables.sweep_table(found))
    lines = shown.getvalue().splitlines()
    assert lines[1].split()[:4] == ["rate", "of", "wifi", "(Mbit/s)"]
    assert [line.split()[0] for line in lines if "default" in line] == ["5", "10", "20"]
    assert max(map(len, lines)) <= 80
    # the suggested query has the points, too
    closing = sweep.closing(outcome, tmp_path / "out", planned_.axes(), "goodput_bps")
    (sql,) = re.findall(r"'(SELECT .*)'", closing)
    answer = index.query(tmp_path / "out", sql)
    assert answer.columns == ("rate", "scheduler", "median(goodput_bps)")
    assert [row[:2] for row in answer.rows] == [
        (rate, name) for rate in (5, 10, 20) for name in ("default", "minrtt")
    ]


def test_a_sweep_of_many_points_is_shown_over_all(tmp_path: Path) -> None:
    run(plan(tmp_path, FILE.replace("[5, 10, 20]", str([*range(2, 54)]))), tmp_path / "out", Fake())
    shown = io.StringIO()
    Console(file=shown, width=80).print(tables.sweep_table(collect([tmp_path / "out"])))
    lines = shown.getvalue().splitlines()
    # half of the runs have seed 1, half have seed 2
    assert [line.split()[:2] for line in lines[3:5]] == [["default", "1.500"], ["minrtt", "1.500"]]
    assert "all runs of 52 points" in shown.getvalue()


@pytest.mark.parametrize(("seeds", "spread"), [(4, "their range"), (5, "its 95 % interval")])
def test_few_seeds_have_a_range(tmp_path: Path, seeds: int, spread: str) -> None:
    run(plan(tmp_path, FILE.replace("repeat = 2", f"repeat = {seeds}")), tmp_path / "out", Fake())
    shown = io.StringIO()
    Console(file=shown, width=80).print(tables.sweep_table(collect([tmp_path / "out"])))
    assert shown.getvalue().endswith(f"Median over the seeds, and {spread}.\n")


def test_a_sweep_is_drawn(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(plan(tmp_path, FILE), out, Fake())
    written = paper_figures.write_main(collect([out]), out)
    assert written == [out / "goodput.png", out / "goodput.svg"]
    texts = re.findall(r">([^<>]+)</text>", (out / "goodput.svg").read_text())
    assert {"default", "minrtt", "Goodput (Mbit/s)", "Rate"} <= {*texts}
    # small multiples of a second axis
    two = FILE.replace("[grid]", '[grid]\n"path.lte.delay" = ["10ms", "30ms"]')
    run(plan(tmp_path, two), out, Fake())
    paper_figures.write_main(collect([out]), out)
    texts = re.findall(r">([^<>]+)</text>", (out / "goodput.svg").read_text())
    assert {"Delay of lte 10 ms", "Delay of lte 30 ms"} <= {*texts}
    # of many values of both, heat maps
    values = str([f"{delay}ms" for delay in (10, 20, 30, 40, 50)])
    run(plan(tmp_path, FILE.replace("[grid]", f'[grid]\n"path.lte.delay" = {values}')
        .replace("[5, 10, 20]", "[5, 10, 20, 40, 80]")), out, Fake())  # fmt: skip
    charts_ = charts.of_metric(collect([out]))
    assert [type(each) for each in charts_] == [charts.Heat] * 2
    assert len(paper_figures.write_main(collect([out]), out)) == 2


def axes(*texts: str, file: Path | None = None, **flags: Any) -> sweep.Given:
    paths: Sequence[str] = () if file else ("wifi:50mbit,10ms", "lte:20mbit,40ms")
    return sweep.from_flags(file, Flags(path=paths, **flags), texts, baselines=False)


def test_flags_make_the_same_sweep_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(
        '[[path]]\nname = "wifi"\nrate = "50mbit"\ndelay = "10ms"\n'
        '[[path]]\nname = "lte"\nrate = "20mbit"\ndelay = "40ms"\n'
    )
    text = (
        'scenario = "two.toml"\n[grid]\n"path.lte.delay" = ["10ms", "20ms"]\ncc = ["reno", "lia"]\n'
    )
    swept = ("path.lte.delay=10ms,20ms", "cc=reno,lia")
    ways = given(tmp_path, text), axes(*swept), axes(*swept, file=tmp_path / "two.toml")
    found = [planned(each).runs.keys() for each in ways]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 4
    # the suggested query pools neither
    assert [planned(each).axes() for each in ways] == [["path.lte.delay", "cc"]] * 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate = [5, 10, 20]", "rates = [5]", 'unknown name rate; did you mean "rates"'),
        ("[grid]", "[grid]\nunused = [1, 2]", r"unused.*changes nothing: \{unused\} is nowhere"),
        ("[grid]", "[grid]\ngoodput_bps = [1]", "has a column of this name; choose another"),
        ("[grid]", 'where = "rate > 50"\n[grid]', r"path\[2\].where = .*: unknown key"),
        ("[5, 10, 20]", '["fast"]', r'rate = "fast".*\n  path\[1\].rate = "fastmbit"'),
        ("repeat = 2", "repeat = 0", "repeat = 0"),
        ("repeat = 2", "repeats = 2", 'unknown key; did you mean "repeat"'),
        ("repeat = 2", "scenario = 'two.toml'\n", "not valid TOML"),
        ("repeat = 2", '"[None]" = 1', r"\[None\] = 1: unknown key; accepted here: axis, grid"),
        ("repeat = 2", "repeat = " + "9" * 5000, "a number with thousands of digits"),
        ("{rate}mbit", "{rate'}mbit", "path.1..rate = .*: not a text with .formulas.: "),
        ("[[sc", "[[scenario.path]]\nif = 1\n[[sc", "if = 1: a formula, as text, is expected"),
        ("[grid]", "[grid]\na = {start=1,stop=60000,step=1}\nb = [[]]", r"grid.b.1. = \[\]: "),
        ("[5, 10, 20]", "{start=1,stop=60000,step=1}\ncc = " + str(["reno"] * 20), "1200000 setti"),
        ("repeat = 2", f"where = '{5000 * '-'}1'", "where = .*: too many nested parts"),
        ("repeat = 2", "where = 'rate > 50'", "where = .*: leaves no point"),
        ("rate = [5", "rate = [7, 7.0, 5", r"grid\.rate = 7: named twice"),
        ("[grid]", '[grid]\n"path.dsl.delay" = ["1ms"]', "the scenario has no path.dsl"),
        ("[grid]", '[grid]\nscheduler = ["mintt"]', '"mintt".*minrtt'),
        ("[grid]", '[grid]\n"lte.delay" = ["1ms"]', 'did you mean "path.lte.delay"'),
    ],
)
def test_mistakes_are_reported_with_their_place(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"(?s)sweep.toml.*{message}"):
        plan(tmp_path, FILE.replace(old, new, 1))


def test_a_part_of_a_sweep_has_the_points_where_both_conditions_hold(tmp_path: Path) -> None:
    whole = plan(tmp_path, f'where = "rate != 20"{FILE}')
    file = tmp_path / "sweep.toml"
    part = planned(sweep.load(file, "rate > 5 or rate == 20"))
    assert {point["rate"] for point in part.points} == {10}
    assert part.runs.keys() < whole.runs.keys()
    with pytest.raises(InputError, match=r"(?s)--only.*not a formula"):
        sweep.load(file, "rate = 5")


def test_a_value_stands_once_on_an_axis() -> None:
    for axis, value in (("kernel=6.12,7.3,6.12", "6.12"), ("path.lte.delay=1ms,1ms", "1ms")):
        key = axis.partition("=")[0]
        with pytest.raises(InputError, match=rf'grid\.{key} = "{value}": named twice'):
            axes(axis)


def test_mistakes_in_flags_are_reported() -> None:
    with pytest.raises(InputError, match=r"(?s)--sweep.*path.lte.delay=1ms\.\.2.*same unit"):
        axes("path.lte.delay=1ms..2:3")
    with pytest.raises(InputError, match="given twice"):
        axes("cc=reno", "cc=lia")
    with pytest.raises(InputError, match=r"the scenario has no path.dsl; known: wifi, lte"):
        planned(axes("path.dsl.delay=1ms"))
