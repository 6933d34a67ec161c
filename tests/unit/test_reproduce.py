# SPDX-License-Identifier: GPL-2.0-only
"""Which runs of an experiment are made, and what is kept; without a kernel."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mptcplab.cli import cli
from mptcplab.errors import MptcplabError
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.papers import catalogue, reproduce
from mptcplab.papers.claims import Column
from mptcplab.runs import experiment, store
from mptcplab.runs.entries import run_entry
from mptcplab.runs.store import Store
from mptcplab.spec.scenario import Scenario
from tests.unit.stored import with_figures
from tests.unit.test_papers import FIGURE, load
from tests.unit.test_results import reproduced

KERNEL = KernelBuild("k1", "lab", Path("linux"), Path("config"))
GUEST = Guest("g1", Path("guest"))
#: Told of the scenarios that are run; True for those that fail.
Fails = Callable[[Scenario], bool]


@contextlib.contextmanager
def quiet(_total: int) -> Iterator[tuple[experiment.Progress, experiment.Ended]]:
    yield lambda _share: None, lambda _count, _scenario, _entry: None


class FakeKernel:
    """Takes the place of experiment.run_all: every run has the goodput of its queue."""

    def __init__(self, fails: Fails = lambda _scenario: False) -> None:
        self.ran: list[Scenario] = []
        self.fails = fails

    def __call__(
        self,
        scenarios: Sequence[Scenario],
        kernel: KernelBuild,
        guest: Guest,
        out: Store,
        *,
        ended: experiment.Ended,
        **_options: Any,
    ) -> None:
        for count, scenario in enumerate(scenarios, 1):
            self.ran.append(scenario)
            entry = run_entry(
                scenario,
                status="failed" if self.fails(scenario) else "ok",
                reason="no power",
                virtual_s=20.0,
                wall_s=1.0,
                run_metrics=None,
                directory=None,
            )
            queue = scenario.paths[0].up.queue_packets or 0
            entry = with_figures(entry, goodput_bps=1e6 * queue)
            if entry.status == "ok":
                with out.new_run(store.run_key(scenario, kernel, guest)) as directory:
                    store.write_json(directory / store.RESULT, entry)
            ended(count, scenario, entry)


def run(published: catalogue.Published, out: Path, **options: Any) -> reproduce.Reproduced:
    wanted = {"quick": False, "repeat": None, "jobs": 1} | options
    return reproduce.run(
        published, KERNEL, GUEST, out, show=quiet, cancel=threading.Event(), **wanted
    )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    found = FakeKernel()
    monkeypatch.setattr(experiment, "run_all", found)
    return found


def test_what_is_there_is_not_run_again(fake: FakeKernel, tmp_path: Path) -> None:
    published = load(tmp_path, FIGURE)
    quick = run(published, tmp_path / "out", quick=True)
    assert len(fake.ran) == 4
    # all runs: 24, of which the quick ones are some
    every = run(published, tmp_path / "out")
    assert len(fake.ran) == 24
    assert len(every.results.rows) == 24
    assert len(quick.results.rows) == 4
    run(published, tmp_path / "out")
    assert len(fake.ran) == 24


def test_more_seeds_run_only_what_is_new(fake: FakeKernel, tmp_path: Path) -> None:
    published = load(tmp_path, FIGURE)
    run(published, tmp_path / "out", quick=True)
    found = run(published, tmp_path / "out", quick=True, repeat=2)
    assert len(fake.ran) == 8
    assert found.repeat == 2
    assert reproduce.read(published, tmp_path / "out", quick=True).repeat == 2


def test_a_baseline_is_run_once_for_all_schedulers(fake: FakeKernel, tmp_path: Path) -> None:
    text = FIGURE.replace("repeat = 3", "repeat = 3\nbaselines = true", 1).replace(
        'value = "goodput_bps / 1e6"', 'value = "goodput_bps / alone.first.goodput_bps"'
    )
    text = text.replace("rtt = [10, 20]", "rtt = [20]")
    found = run(load(tmp_path, text), tmp_path / "out", quick=True)
    # a run of each scheduler, and plain TCP over each of the two paths
    assert [scenario.transport for scenario in fake.ran].count("tcp") == 2
    assert len(fake.ran) == 4
    assert found.results.values(Column("goodput")) == [1, 1]


def test_the_figures_are_those_of_the_runs(fake: FakeKernel, tmp_path: Path) -> None:
    assert not fake.ran
    found = run(load(tmp_path, FIGURE), tmp_path / "out")
    assert {row.figures["goodput"] for row in found.results.where(queue=20)} == {20}
    assert [str(judged.verdict) for judged in found.judged] == ["does not hold"]
    assert found.build == {"kernel": "k1", "guest": "g1", "mptcplab": "0.1.0"}


def test_a_run_that_fails_is_told_and_nothing_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(scenario: Scenario) -> bool:
        return scenario.seed == 2

    broken = FakeKernel(fails)
    monkeypatch.setattr(experiment, "run_all", broken)
    published = load(tmp_path, FIGURE)
    with pytest.raises(MptcplabError, match="8 of 24 runs failed, the first with minrtt, seed 2"):
        run(published, tmp_path / "out")
    assert not reproduce.has(published, tmp_path / "out", quick=False)
    # and only those are run again
    mended = FakeKernel()
    monkeypatch.setattr(experiment, "run_all", mended)
    run(published, tmp_path / "out")
    assert {scenario.seed for scenario in mended.ran} == {2}
    assert len(mended.ran) == 8


def test_an_experiment_that_changed_is_not_shown(fake: FakeKernel, tmp_path: Path) -> None:
    run(load(tmp_path, FIGURE), tmp_path / "out")
    assert fake.ran
    # what a claim says may change: it is judged anew
    again = load(tmp_path, FIGURE.replace("more > ", "more >= "))
    found = reproduce.read(again, tmp_path / "out", quick=False)
    assert [str(judged.verdict) for judged in found.judged] == ["holds"]
    for old, new in (("10mbit", "11mbit"), ("[20, 40]", "[20, 41, 40]")):
        changed = load(tmp_path, FIGURE.replace(old, new))
        with pytest.raises(MptcplabError, match="has changed since; to run it again: mptcplab"):
            reproduce.read(changed, tmp_path / "out", quick=False)


def test_what_was_not_run_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(MptcplabError, match="papers run paper2020/fig1 --quick"):
        reproduce.read(load(tmp_path, FIGURE), tmp_path / "out", quick=True)


def test_a_figure_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def run_one(published: catalogue.Published, *_builds: object, **_options: object) -> Any:
        if published.name == "yang2014/fig3":
            raise MptcplabError("no power")
        done.append(published.name)
        return reproduced()

    monkeypatch.setattr(experiment, "built", lambda **_cluster: (KERNEL, GUEST))
    monkeypatch.setattr(reproduce, "run", run_one)
    result = CliRunner().invoke(cli, ["papers", "run", "yang2014", "--quick"])
    assert result.exit_code == 1
    assert done == ["yang2014/table1"]
    assert "yang2014/fig3: no power" in result.output
    assert "DOES NOT HOLD (2 of 2 seeds): More is more." in result.output


def test_the_list_tells_the_number_of_runs() -> None:
    result = CliRunner().invoke(cli, ["papers", "list"])
    assert result.exit_code == 0
    (line,) = [each for each in result.output.splitlines() if each.startswith("yang2014/table1")]
    # 5 schedulers, 9 buffers, 2 congestion controls, 3 seeds; quick 3 schedulers, 5 buffers, 1
    # congestion control, 2 seeds
    assert line.endswith("270 runs, quick 30")
