# SPDX-License-Identifier: GPL-2.0-only
"""Which runs of an experiment are made, and what is kept; without a kernel."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mptcplab.cli import cli
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab import kernel
from mptcplab.lab.kernel import Parts
from mptcplab.papers import catalogue, reproduce, results, samples
from mptcplab.papers.catalogue import DRAWS, PUBLISHED, QUICK, TODAY
from mptcplab.papers.stale import Now
from mptcplab.runs import experiment, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.tasks import Task
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from tests.unit.advised import GUEST, KERNEL, FakeKernel, Given, pretend
from tests.unit.test_papers import FIGURE, load
from tests.unit.test_results import reproduced


def by_queue(scenario: Scenario) -> Given:
    """Every run has the goodput of its queue, in Mbit/s for packets."""
    return Given(scenario.paths[0].up.queue_packets or 0, 0, 0)


def failing(fails: Callable[[Scenario], bool]) -> FakeKernel:
    """A kernel on which some runs fail."""
    return FakeKernel(lambda scenario: None if fails(scenario) else by_queue(scenario))


def run(published: catalogue.Published, out: Path, **options: Any) -> reproduce.Reproduced:
    part = QUICK if options.pop("quick", False) else PUBLISHED
    wanted = {"parts": [part], "repeat": None} | options
    return reproduce.run(published, KERNEL, GUEST, Runner(out), **wanted)


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    """What the kernel is made from, which is not in the cache."""
    found = Parts("b1", {"sched/minrtt.c": "m1", "sched/blest.c": "l1", "sched/ecf.c": "e1"})
    monkeypatch.setattr(kernel, "parts", lambda _build: found)
    return found


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    found = FakeKernel(by_queue)
    pretend(found, monkeypatch)
    return found


def test_what_is_there_is_not_run_again(fake: FakeKernel, tmp_path: Path) -> None:
    published = load(tmp_path, FIGURE)
    quick = run(published, tmp_path / "out", quick=True)
    assert len(fake.ran) == 12
    # all runs: 24, of which the quick ones are some
    every = run(published, tmp_path / "out")
    assert len(fake.ran) == 24
    assert len(every.results.rows) == 24
    assert len(quick.results.rows) == 12
    run(published, tmp_path / "out")
    assert len(fake.ran) == 24


def test_more_seeds_run_only_what_is_new(fake: FakeKernel, tmp_path: Path) -> None:
    published = load(tmp_path, FIGURE)
    run(published, tmp_path / "out", quick=True)
    found = run(published, tmp_path / "out", quick=True, repeat=5)
    assert len(fake.ran) == 20
    assert found.own.provenance.repeat == 5
    assert reproduce.read(published, tmp_path / "out", quick=True).own.provenance.repeat == 5


@pytest.mark.parametrize(("fewer", "left"), [({"repeat": 2}, 16), ({"leave_out": ["blest"]}, 12)])
def test_fewer_runs_lose_no_stored_ones(tmp_path: Path, fewer: dict[str, Any], left: int) -> None:
    published, out = load(tmp_path, FIGURE), tmp_path / "out"
    before = run(published, out)
    assert run(published, out, **fewer).own.directories == before.own.directories
    # a run that is gone is no result
    shutil.rmtree(before.own.directories[-1])
    rows = run(published, out, **fewer).results.rows
    assert sum(not row.is_left_out for row in rows) == left
    # nor are the runs of another setting
    run(published, out)
    other = load(tmp_path, FIGURE.replace("10mbit", "11mbit"))
    rows = run(other, out, **fewer).results.rows
    assert sum(not row.is_left_out for row in rows) == left


def test_what_the_out_of_tree_kernel_lacks_is_left_out_with_the_reason(
    fake: FakeKernel, tmp_path: Path
) -> None:
    text = FIGURE.replace('["minrtt", "blest"]', '["musher", "minrtt", "blest"]')
    published, out = load(tmp_path, text), tmp_path / "out"
    there = replace(KERNEL, variant=kernel.OUT_OF_TREE, name="v0.95")

    def run_there(*leave_out: str) -> reproduce.Reproduced:
        wanted: dict[str, Any] = {"parts": [PUBLISHED], "repeat": None, "leave_out": leave_out}
        return reproduce.run(published, there, GUEST, Runner(out), **wanted)

    found = run_there("blest")
    assert {scenario.scheduler.name for scenario in fake.ran} == {"minrtt"}
    assert {row.point["scheduler"]: row.lacks for row in found.results.rows} == {
        "musher": "the kernel has no scheduler musher",
        "minrtt": "the kernel does not tell it, or the run has none",
        "blest": "blest was left out",
    }
    assert found.results.axes["scheduler"] == ["musher", "minrtt", "blest"]
    assert len(found.results.rows) == 3 * len(fake.ran)
    assert found.own.provenance.command.endswith("--kernel v0.95 --leave-out blest")
    assert "left out: 12 runs, since blest was left out" in results.text(found)
    # it is run later, and nothing else is run again
    before = len(fake.ran)
    run_there()
    assert {scenario.scheduler.name for scenario in fake.ran[before:]} == {"blest"}


def test_an_unknown_scheduler_cannot_be_left_out() -> None:
    words = ["papers", "run", "yang2014", "--leave-out", "minrt"]
    result = CliRunner().invoke(cli, words)
    assert isinstance(result.exception, InputError)
    assert 'minrt: no such scheduler; did you mean "minrtt"?' in str(result.exception)


def test_a_baseline_is_run_once_for_all_schedulers(fake: FakeKernel, tmp_path: Path) -> None:
    text = FIGURE.replace("repeat = 3", "repeat = 3\nbaselines = true", 1).replace(
        'value = "goodput_bps / 1e6"', 'value = "goodput_bps / alone.first.goodput_bps"'
    )
    text = text.replace("rtt = [10, 20]", "rtt = [20]")
    found = run(load(tmp_path, text), tmp_path / "out", quick=True)
    # with each of 3 seeds a run of each scheduler, and plain TCP over each of the two paths
    assert [scenario.transport for scenario in fake.ran].count("tcp") == 6
    assert len(fake.ran) == 12
    assert [row.figures["goodput"] for row in found.results.rows] == [1] * 6


def test_the_figures_are_those_of_the_runs(tmp_path: Path) -> None:
    found = run(load(tmp_path, FIGURE), tmp_path / "out")
    assert {row.figures["goodput"] for row in found.results.where(queue=20)} == {20}
    # the goodputs of both schedulers are the same, and no seed changes anything
    (judged,) = found.judged
    # nothing is random here, and one run says it all
    assert (judged.verdict, judged.p_holds) == ("contradicted", 0)


def test_a_failed_run_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(failing(lambda scenario: scenario.seed == 2), monkeypatch)
    published = load(tmp_path, FIGURE)
    with pytest.raises(MptcplabError, match="8 of 24 runs failed, the first with minrtt, seed 2"):
        run(published, tmp_path / "out")
    assert not (tmp_path / "out" / f"{published.name}.json").exists()
    # and only those are run again
    mended = FakeKernel(by_queue)
    pretend(mended, monkeypatch)
    run(published, tmp_path / "out")
    assert {scenario.seed for scenario in mended.ran} == {2}
    assert len(mended.ran) == 8


def test_an_experiment_that_changed_is_not_shown(tmp_path: Path) -> None:
    run(load(tmp_path, FIGURE), tmp_path / "out")
    # what a claim says may change: it is judged anew
    again = load(tmp_path, FIGURE.replace("more > ", "more >= "))
    found = reproduce.read(again, tmp_path / "out", quick=False)
    assert [judged.p_holds for judged in found.judged] == [1]
    for old, new in (("10mbit", "11mbit"), ("[20, 40]", "[20, 41, 40]")):
        changed = load(tmp_path, FIGURE.replace(old, new))
        with pytest.raises(MptcplabError, match="has changed since; to run it again: mptcplab"):
            reproduce.read(changed, tmp_path / "out", quick=False)


def test_what_was_not_run_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(MptcplabError, match="papers run paper2020/fig1 --quick"):
        reproduce.read(load(tmp_path, FIGURE), tmp_path / "out", quick=True)


VARIED = (
    FIGURE.replace('scheduler = "{scheduler}"', 'scheduler = "{scheduler}"\nvary = "2%"')
    .replace(
        "[[claim]]",
        """
[[assumed]]
name = "wait"
value = 1
because = "the paper gives none"
range = [2]
source = "a common one"
[[variant]]
name = "today"
says = "today's"
scenario.cc = "reno"
[[claim]]
""",
    )
    .replace('queue = "{queue}"', 'queue = "{queue * wait}"')
)


def test_variants_are_run_with_the_published_setting(fake: FakeKernel, tmp_path: Path) -> None:
    published = load(tmp_path, VARIED)
    parts = [PUBLISHED, TODAY, "wait=2"]
    # 24 runs, and twice 4 settings with 3 seeds
    found = run(published, tmp_path / "out", parts=parts)
    assert len(fake.ran) == 24 + 12 + 12
    assert list(found.ran) == parts
    assert found.part == PUBLISHED
    assert found.missing == [DRAWS]
    documents = {file.name for file in (tmp_path / "out" / "paper2020").iterdir()}
    assert documents == {"fig1.json", "fig1-today.json", "fig1-wait=2.json"}
    # queues of 20 and 40 packets, the quick part has 40
    assert {row.figures["goodput"] for row in found.ran["wait=2"].results.rows} > {80.0}
    (judged,) = found.judged
    assert judged.by_variant.keys() == {QUICK, TODAY, "wait=2"}
    assert [each.claim for each in found.judged_today] == [judged.claim]
    # the same again needs no run
    run(published, tmp_path / "out", parts=parts)
    assert len(fake.ran) == 24 + 12 + 12


def test_a_variant_alone_is_judged_by_itself(fake: FakeKernel, tmp_path: Path) -> None:
    found = run(load(tmp_path, VARIED), tmp_path / "out", parts=[TODAY])
    assert len(fake.ran) == 12
    assert (found.part, found.runs, list(found.ran)) == (TODAY, TODAY, [TODAY])
    assert found.missing == [PUBLISHED, "wait=2", DRAWS]


def test_a_quick_part_that_is_no_part_of_all_runs_is_run_too(
    fake: FakeKernel, tmp_path: Path
) -> None:
    text = VARIED.replace("[quick]", "[quick]\nsays = 's'\nscenario.workload.duration = '9s'")
    published = load(tmp_path, text)
    out = tmp_path / "out"
    run(published, out, parts=[TODAY])
    assert reproduce.read(published, out, quick=False).missing == [
        PUBLISHED,
        QUICK,
        "wait=2",
        DRAWS,
    ]
    run(published, out, parts=[PUBLISHED, QUICK, TODAY, "wait=2"])
    assert len(fake.ran) == 24 + 12 + 12 + 12


class Backwards(FakeKernel):
    """Ends the runs in the other order, as some of many processes may."""

    def perform(self, runner: Runner, tasks: Sequence[Task]) -> Iterator[Entry]:
        yield from reversed([*super().perform(runner, tasks[::-1])])


def test_draws_go_on_until_no_claim_needs_more_and_resume(
    fake: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = VARIED.replace("range = [2]", "range = [9]")
    published = load(tmp_path, text)
    said: list[str] = []

    # blest has more than minrtt with a long wait alone
    def gives(scenario: Scenario) -> Given:
        return Given(200, 0, 0) if scenario.scheduler.name == "minrtt" else by_queue(scenario)

    once = FakeKernel(gives)
    pretend(once, monkeypatch)
    first = run(published, tmp_path / "once", parts=[PUBLISHED, DRAWS], say=said.append)
    # 2 schedulers, 1 queue, 2 delays
    assert len(once.ran) == 24 + 60 * 4
    assert said == [f"{n} of 60 draws: {n < 60:d} of 1 claim need more" for n in catalogue.LOOKS]
    seeds = {scenario.seed: scenario.paths[0].up.queue_packets for scenario in once.ran[24:]}
    assert list(seeds) == list(range(1, 61))
    assert {round((queue or 0) / 40) for queue in seeds.values()} == {*range(1, 10)}
    # in two goes, and with runs that end in another order
    pretend(Backwards(gives), monkeypatch)
    out = tmp_path / "twice"
    found = run(published, out, parts=[DRAWS], repeat=7)
    assert len(found.results.rows) == 7 * 4
    resumed = Backwards(gives)
    pretend(resumed, monkeypatch)
    again = run(published, out, parts=[PUBLISHED, DRAWS])
    assert len(resumed.ran) == 24 + 53 * 4
    assert again.judged == first.judged
    assert again.ran[DRAWS].results.rows == first.ran[DRAWS].results.rows
    depends = again.judged[0].draws["holds"].depends
    assert depends is not None
    # with a wait of 5 both have 200, within what seeds vary
    assert {depends.low, depends.high} & {4, 5, 6}
    assert again.ran[DRAWS].provenance.command == (
        "mptcplab papers run paper2020/fig1 --variant draws"
    )
    assert not fake.ran
    # there are no more, and fewer change nothing
    for repeat in (61, 7):
        found = run(published, out, parts=[DRAWS], repeat=repeat, say=said.append)
        assert said[-1] == said[3]
        assert found.ran[DRAWS].results.rows == first.ran[DRAWS].results.rows
    # what a range is belongs to the draws
    other = load(tmp_path, text.replace("range = [9]", "range = [8]"))
    assert reproduce.read(other, out, quick=False).missing == [TODAY, "wait=8", DRAWS]


def test_draws_beside_a_variant_alone_judge_the_claims(tmp_path: Path) -> None:
    published, out = load(tmp_path, VARIED.replace("range = [2]", "range = [9]")), tmp_path / "out"
    said: list[str] = []
    run(published, out, parts=[TODAY])
    found = run(published, out, parts=[DRAWS], repeat=1, say=said.append)
    assert said == ["1 of 60 draws: 1 of 1 claim need more"]
    assert found.part == DRAWS


def test_what_it_was_made_with_is_kept(parts: Parts, tmp_path: Path) -> None:
    found = run(load(tmp_path, VARIED), tmp_path / "out", parts=[PUBLISHED, TODAY], repeat=2)
    made = found.ran[TODAY].provenance
    assert (made.kernel, made.base, made.guest, made.version) == ("k1", "b1", "g1", "0.1.0")
    assert made.files == {"sched/blest.c": "l1", "sched/minrtt.c": "m1"}
    assert made.command == "mptcplab papers run paper2020/fig1 --variant today --repeat 2"
    assert made.cpu_s is None
    assert (
        found.ran[PUBLISHED].provenance.command == "mptcplab papers run paper2020/fig1 --repeat 2"
    )
    assert Now(parts, "g1").changed(made) == []
    # another scheduler does not matter
    other = Parts("b1", {**parts.files, "sched/ecf.c": "e2"})
    assert Now(other, "g1").changed(made) == []
    other = Parts("b2", {**parts.files, "sched/blest.c": "l2"})
    changed = Now(other, "g2").changed(made)
    assert [each.split()[0] for each in changed] == ["kernel", "sched/blest.c", "guest"]


def test_congestion_controls_and_all_schedulers_of_connections_are_files_of_a_run() -> None:
    scenario = from_flags(
        Flags(path=("a:1mbit,1ms", "b:1mbit,1ms"), duration="1s", scheduler="ecf", cc="lia")
    ).base
    assert list(reproduce._files(scenario)) == ["sched/ecf.c", "cc/lia.c"]


def test_a_part_that_changed_is_not_judged(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(load(tmp_path, VARIED), out, parts=[PUBLISHED, TODAY, "wait=2"])
    changed = load(tmp_path, VARIED.replace('"reno"', '"bbr"'))
    found = reproduce.read(changed, out, quick=False)
    assert list(found.ran) == [PUBLISHED, "wait=2"]
    assert list(found.outdated) == [TODAY]
    assert found.missing == [TODAY, DRAWS]
    assert found.judged_today == ()
    assert TODAY not in found.judged[0].by_variant


def test_rows_that_are_not_from_runs_are_judged_alike(tmp_path: Path) -> None:
    published = load(tmp_path, VARIED)
    found = run(published, tmp_path / "out", parts=[PUBLISHED, TODAY])
    stored = {
        part: reproduce.Ran(samples.results(published.experiment, of.results.rows), of.provenance)
        for part, of in found.ran.items()
    }
    again = reproduce.assembled(published, stored)
    assert again.judged == found.judged
    assert again.judged_today == found.judged_today
    assert again.own.directories == ()
    with pytest.raises(MptcplabError, match="paper2020/fig1: has not been run"):
        reproduce.assembled(published, {})


def test_the_cost_of_a_part_is_the_sum_of_its_runs(tmp_path: Path) -> None:
    published, out = load(tmp_path, VARIED), tmp_path / "out"
    for directory in run(published, out, quick=True).own.directories:
        store.write_json(directory / store.COST, {"user_s": 1.5, "system_s": 0.5})
    found = reproduce.read(published, out, quick=True)
    assert found.ran[QUICK].provenance.cpu_s == 12 * 2


def test_other_parts_survive_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(failing(lambda scenario: scenario.cc == "reno"), monkeypatch)
    published = load(tmp_path, VARIED)
    parts = [PUBLISHED, TODAY, "wait=2"]
    with pytest.raises(MptcplabError, match="12 of 48 runs failed"):
        run(published, tmp_path / "out", parts=parts)
    found = reproduce.read(published, tmp_path / "out", quick=False)
    assert list(found.ran) == [PUBLISHED, "wait=2"]


def test_whatever_was_run_is_shown(tmp_path: Path) -> None:
    published, out = load(tmp_path, VARIED.replace("range = [2]", "range = [9]")), tmp_path / "out"
    with pytest.raises(MptcplabError, match=r"fig1\.json: does not exist"):
        reproduce.read(published, out, quick=False)
    for part in (TODAY, DRAWS, QUICK, PUBLISHED):
        run(published, out, parts=[part], repeat=1)
        assert reproduce.read(published, out, quick=False).part == part
    assert reproduce.read(published, out, quick=True).part == QUICK
    # of draws alone it says that they are old
    run(published, tmp_path / "draws", parts=[DRAWS], repeat=1)
    other = load(tmp_path, VARIED.replace("range = [2]", "range = [8]"))
    with pytest.raises(MptcplabError, match=r"fig1-draws\.json: .*--variant draws"):
        reproduce.read(other, tmp_path / "draws", quick=False)


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
    assert "INCONCLUSIVE" in result.output


def test_a_missing_figure_hides_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def read(published: catalogue.Published, *_out: object, **_options: object) -> Any:
        if published.name == "yang2014/fig3":
            raise MptcplabError("does not exist")
        return reproduced()

    monkeypatch.setattr(reproduce, "read", read)
    result = CliRunner().invoke(cli, ["papers", "show", "yang2014", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "yang2014/fig3: does not exist" in result.output
    assert "More is more." in result.output


def test_the_list_tells_the_number_of_runs() -> None:
    result = CliRunner().invoke(cli, ["papers", "list"])
    assert result.exit_code == 0
    (line,) = [each for each in result.output.splitlines() if each.startswith("yang2014/table1")]
    # 3 schedulers, 9 buffers, 10 seeds; quick 2 schedulers, 5 buffers; of the variants one has a
    # scheduler more; 60 draws of 10
    assert line.endswith("270 runs, quick 100, 13 variants 1850")


def test_an_unknown_variant_is_reported_with_the_known_ones() -> None:
    result = CliRunner().invoke(cli, ["papers", "run", "yang2014", "--variant", "tody"])
    assert result.exit_code == 1
    assert isinstance(result.exception, InputError)
    (problem,) = result.exception.problems
    assert (problem.where, problem.value) == ("--variant", "tody")
    assert "no such variant" in problem.message
    result = CliRunner().invoke(cli, ["papers", "run", "yang2014", "--variant", "a", "--quick"])
    assert result.exit_code == 2
    assert "without --quick" in result.output
