# SPDX-License-Identifier: GPL-2.0-only
"""Which runs a leaderboard is made of, and how it is shown; without a kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab import marked
from mptcplab.advice import goals
from mptcplab.cli import cli
from mptcplab.cli.actions import leaderboard as actions
from mptcplab.cli.commands import leaderboard as command
from mptcplab.errors import InputError, MptcplabError
from mptcplab.leaderboard import outputs, play, sets, standings
from mptcplab.leaderboard.play import Asked
from mptcplab.leaderboard.standings import Board
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import RunFigures
from mptcplab.runs import experiment, store, sweep
from mptcplab.runs.entries import run_entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.runs.sweep import Plan, SweepOutcome
from mptcplab.scenario import scheduler
from mptcplab.scenario.model import Scenario
from tests.unit.advised import GUEST, KERNEL
from tests.unit.test_standings import beside
from tests.vocabulary import shown

TEMPLATE = Path(__file__).parents[2] / "kernel" / "template" / "mine.c"

BUILDS = {"kernel": "k1", "guest": "g1"}
#: How much better than others a run is; None: it fails.
Speed = Callable[[Scenario], float | None]


def figures(speed: float) -> RunFigures:
    """All that any workload is judged by: goodput is proportional, times are inversely."""
    return RunFigures(
        goodput_bps=speed * 1e6,
        in_time=min(speed / 100, 1),
        stall_s=0.0,
        startup_s=10 / speed,
        page_load_s=10 / speed,
        delay_ms_p99=10 / speed,
        completion_ms_p95=10 / speed,
        completion_ms_p99=10 / speed,
    )


def make(planned: Plan, out: Store, speed: Speed) -> None:
    """Store all runs of a plan."""
    for key, run in planned.runs.items():
        fast = speed(run.scenario)
        if fast is None:
            failed = run_entry(run.scenario, reason="no power\nat all")
            about = {"entry": failed.result(), "scenario": run.scenario, "build": {}}
            out.keep_failed(key, about)
            continue
        measured = RunMetrics(metrics=figures(fast), paths=())
        entry = run_entry(run.scenario, measured, directory=store.place(key))
        with out.new_run(key) as directory:
            store.write_json(directory / store.RESULT, entry.result())


def by_name(scenario: Scenario) -> float | None:
    """Plain TCP has 30, `mine` is best but fails in a scenario, others are as fast as their name
    is long.
    """
    if scenario.transport == "tcp":
        return 30.0 + len(scenario.paths[0].name)
    if scenario.scheduler.name == "mine":
        return None if scenario.seed == 3 else 60.0
    return 4.0 * len(scenario.scheduler.name)


def ranked(out: Path, what: Asked, speed: Speed = by_name) -> tuple[Plan, Board]:
    planned, runs = play.plan(what, KERNEL, GUEST), Store(out)
    make(planned, runs, speed)
    return planned, board_of(what, planned, runs)


def board_of(what: Asked, planned: Plan, runs: Store) -> Board:
    board = standings.board(play.played(what, planned, runs), what.catalogue)
    assert board
    return board


def mine(directory: Path) -> str:
    (directory / "mine.c").write_text(TEMPLATE.read_text())
    return str(directory / "mine.c")


def test_the_catalogue_and_ones_own_run_the_same_scenarios(tmp_path: Path) -> None:
    what = play.asked("training", 12, ["ecf", mine(tmp_path), "minrtt:rp=off"])
    names = [each.label for each in what.request.schedulers]
    assert names == [*scheduler.known(), "mine", "minrtt:rp=off"]
    assert what.asked == ["ecf", "mine", "minrtt:rp=off"]
    assert what.catalogue == list(scheduler.known())
    assert what.spec("mine") == str(tmp_path / "mine.c")
    assert what.spec("minrtt:rp=off") == "minrtt:rp=off"
    planned = play.plan(what, KERNEL, GUEST)
    bulk = [each.request.base for each in what.drawn if each.workload == sets.BULK]
    at_once = [each for each in bulk if each.workload.start == "at-once"]
    assert 0 < len(at_once) < len(bulk)
    alone = sum(len(each.paths) for each in at_once)
    assert planned.counts == {"points": 12, "runs": 12 * len(names), "baselines": alone}
    assert len(planned.runs) == 12 * len(names) + alone
    tcp = [run.scenario for run in planned.runs.values() if run.scenario.transport == "tcp"]
    assert {each.seed for each in tcp} == {each.seed for each in at_once}
    # each run can be made: its own scheduler has a file
    assert all("mine" in run.request.sources for run in planned.runs.values())
    # some alone
    what = play.asked("judged", 1, [mine(tmp_path), "ecf"], only=True)
    assert [each.label for each in what.request.schedulers] == ["default", "mine", "ecf"]
    assert what.catalogue == ["default", "ecf"]
    everything = play.asked("judged", 1, ["all", "minrtt:rp=off"], only=True)
    assert len(everything.request.schedulers) == len(scheduler.known()) + 1
    wrong = {"minrt": 'did you mean "minrtt"', "./no.c": "no.c", "minrtt:rp=on": "named twice"}
    for spec, message in wrong.items():
        with pytest.raises(InputError, match=message) as said:
            play.asked("judged", 1, [spec])
        assert said.value.problems[0].where == "--scheduler"


def test_every_workload_is_judged_by_its_figure() -> None:
    for kind in ("bulk", "cbr", "requests", "transfers", "web", "video", "frames"):
        figure = goals.figure_of(kind)
        high, low = (play.merit(figure, figure.of(figures(speed))) or 0.0 for speed in (40, 20))
        assert high == pytest.approx(2 * low) != 0, kind
    assert play.merit(goals.figure_of("web"), None) is None
    frames = goals.figure_of("frames")
    assert play.merit(frames, frames.of(figures(40))) == pytest.approx(0.4)
    # frames of which none is in time, and a video that never makes anybody wait
    assert play.merit(frames, 0.0) == 0
    assert play.merit(goals.figure_of("video"), 0.0)


def test_chance_is_of_further_seeds_of_the_first_named(tmp_path: Path) -> None:
    what = play.asked("training", 6, ["ecf", "minrtt"], only=True, chance=2)
    assert what.repeated == "ecf"
    assert play.asked("training", 1, [], chance=2).repeated == "default"
    plain = play.plan(replace(what, chance=0), KERNEL, GUEST)
    planned = play.plan(what, KERNEL, GUEST)
    # what is stored without is used, and comes first
    assert plain.runs.keys() <= planned.runs.keys()
    assert planned.counts == {**plain.counts, "runs": 6 * 3 + 6 * 2}
    new = [run.scenario for key, run in planned.runs.items() if key not in plain.runs]
    assert {each.scheduler.label for each in new} == {"ecf"}
    assert {each.seed for each in new} == {
        number + further for number in range(1, 7) for further in (20_000, 40_000)
    }

    def speed(scenario: Scenario) -> float | None:
        if scenario.scheduler.name != "ecf":
            return 80.0
        return {0: 40.0, 1: 50.0, 2: None}[scenario.seed // 20_000]

    runs = Store(tmp_path / "out")
    make(planned, runs, speed)
    found = play.played(what, planned, runs)
    assert [list(each.figures) for each in found] == [["default", "ecf", "minrtt"]] * 6
    assert [list(each.further) for each in found] == [["ecf"]] * 6
    for each in found:
        own, (lucky, failed) = each.merits["ecf"], each.further["ecf"]
        assert own
        assert lucky == pytest.approx(own + 0.1 if each.is_absolute else own * 1.25)
        assert failed is None
    # further runs change nobody's place
    board = board_of(what, planned, runs)
    assert board.standings == board_of(replace(what, chance=0), plain, runs).standings
    assert [each.name for each in board.limits] == ["any of the catalogue", "ecf, one of 3 runs"]
    assert len(play.failures(planned, runs)) == 6
    outputs.write(board, what, {}, {}, tmp_path)
    document = json.loads((tmp_path / outputs.DOCUMENT).read_text())
    assert [each["name"] for each in document["limits"]] == [each.name for each in board.limits]
    assert document["limits"][1]["goodput"][0]["value"] == pytest.approx((0.8 + 1 + 0) / 3)
    text = outputs.markdown(board, what, "x", "x.svg", BUILDS)
    (row,) = (line for line in text.splitlines() if line.startswith("| ecf, one of 3 runs | "))
    assert row.startswith("| ecf, one of 3 runs | 60 ")


def test_default_of_other_kernels_is_compared_with_the_first_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernels = {name: replace(KERNEL, id=name) for name in ("plain", "mine")}
    what = replace(play.asked("training", 6, ["ecf"], only=True, chance=1), kernels=kernels)
    assert what.pairs == [
        (each, "default (plain)") for each in ("default", "ecf", "default (mine)")
    ]
    planned, runs = play.plan(what, KERNEL, GUEST), Store(tmp_path / "out")
    assert planned.counts["runs"] == 6 * (2 + 2 + 1)
    # a run is made with its own kernel; `mine` fails in a scenario
    speeds = {KERNEL.id: 80.0, "plain": 40.0, "mine": 60.0}
    for key, run in planned.runs.items():
        failing = run.kernel.id == "mine" and run.scenario.seed == 3
        speed = None if failing else speeds[run.kernel.id]
        make(replace(planned, runs={key: run}), runs, {run.scenario: speed}.get)
    board = standings.board(play.played(what, planned, runs), what.catalogue, what.pairs)
    assert board
    ahead = {each.first: (each.higher, each.lower, each.same) for each in board.pairs}
    assert ahead == {"default": (6, 0, 0), "ecf": (6, 0, 0), "default (mine)": (5, 1, 0)}
    assert board.standing("default (mine)").failed == 1
    (line,) = (each for each in outputs.pairs(board) if each.startswith("default (mine)"))
    own, base = (board.standing(f"default ({each})").score.value for each in ("mine", "plain"))
    assert f"the one of default (plain): {100 * (own - base):.1f} (" in line
    assert line.endswith("better in 5 scenarios, worse in 1, same in 0")
    # the same from the command
    monkeypatch.setattr(
        experiment, "kernels", lambda request: [kernels[name] for name in request.kernels]
    )
    few = ("--set", "training", "--count", "2", "--only", "--kernel", "plain,mine")
    assert call(tmp_path / "out", lambda _: 1.0, monkeypatch, *few) == 0
    assert "default (mine), score minus the one of default (plain): 0 (0..0)" in (
        capsys.readouterr().out
    )


def test_what_is_in_the_store_is_ranked_and_shown_with_what_failed(tmp_path: Path) -> None:
    what = play.asked("training", 12, [mine(tmp_path)])
    planned, board = ranked(tmp_path / "out", what)
    first, *others = board.standings
    # the longest names: opportunistic and proportional have 13 and 12 letters, 52 and 48 Mbit/s
    assert (first.name, first.place) == ("opportunistic", 1)
    assert (others[0].name, others[0].place) == ("proportional", 2)
    assert first.score.value == 1
    own = board.standing("mine")
    # 11 of 12 scenarios as the best
    assert own.score.value == pytest.approx(11 / 12)
    assert (own.failed, own.place) == (1, 3)
    assert own.delay
    assert beside(own.default)[2] == 0
    # TCP has 31, since a path's name has a letter; default has 28
    assert beside(first.tcp)[1:3] == pytest.approx((0, 52 / 31))
    assert beside(board.standing("default").tcp)[2] == pytest.approx(28 / 31)
    (failure,) = play.failures(planned, Store(tmp_path / "out")).values()
    assert failure == "scenario 3, mine: no power"
    text = shown(outputs.table(board), width=100)
    assert max(map(len, text.splitlines())) <= 100
    lines = text.splitlines()
    names = [name for name in scheduler.known() if any(f"  {name} " in line for line in lines)]
    assert names == list(scheduler.known())
    assert "1 failed" in text
    (row,) = (line for line in lines if " mine " in line)
    assert row.split()[:3] == ["3", "mine", "91.7"]
    said = outputs.text_of(board, what, "mine", tmp_path / "out")
    assert said.startswith(f"mine is 3 of {len(scheduler.known()) + 1} (")
    assert "  3: 0.0 % of " in said
    both = f"-s {tmp_path / 'mine.c'},"
    (command,) = (line for line in said.splitlines() if "mptcplab compare" in line)
    assert both in command
    place = Path(command.split()[2])
    assert (place.parent / store.RESULT).is_file()
    said = " ".join(outputs.text_of(board, what, "opportunistic", tmp_path).split())
    assert said.endswith("It loses nowhere.")


def test_the_page_has_the_table_between_its_marks_alone(tmp_path: Path) -> None:
    what = play.asked("judged", 8, [])
    _, board = ranked(tmp_path / "out", what)
    file = tmp_path / "page.md"
    file.write_text(
        f"before\n<!-- begin: {outputs.MARK} -->\n<!-- end: {outputs.MARK} -->\nafter\n"
    )
    text = outputs.markdown(board, what, "make leaderboard", "images/leaderboard.svg", BUILDS)
    marked.replace(file, {outputs.MARK: text})
    written = file.read_text()
    assert written.startswith("before\n")
    assert written.endswith("-->\nafter\n")
    assert "the first 8 of the 600 scenarios of the set `judged`" in written
    assert "kernel `k1`, guest `g1`." in written
    for name in scheduler.known():
        # its place, its losses, and its neighbour, or two
        assert 3 <= written.count(f"| `{name}` ") <= 4
    widths = [line.count("|") for line in written.splitlines() if line.startswith("|")]
    # with head and rule: two tables of all schedulers, one of pairs, and one of two limits
    number = len(scheduler.known())
    assert [widths.count(n) for n in (12, 6, 9)] == [2 * (number + 2), number - 1 + 2, 4]
    assert "| any of the catalogue | 100 (100..100) | 100 (100..100) | 1.00 (" in written
    assert "| any but redundant | " in written


def test_the_document_and_the_chart(tmp_path: Path) -> None:
    what = play.asked("training", 4, [])
    _, board = ranked(tmp_path / "out", what)
    outputs.write(board, what, {"kernel": "k1"}, {"key": "no power"}, tmp_path)
    document = json.loads((tmp_path / outputs.DOCUMENT).read_text())
    assert [each["name"] for each in document["standings"]][:2] == ["opportunistic", "proportional"]
    assert document["failures"] == {"key": "no power"}
    assert document["scenarios"] == len(document["played"]) == 4
    pictures = [tmp_path / f"{outputs.PICTURE}.{form}" for form in ("png", "svg")]
    outputs.write_chart(board, what, pictures)
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    first = pictures[1].read_bytes()
    outputs.write_chart(board, what, pictures)
    assert pictures[1].read_bytes() == first
    # a single scenario has no intervals, and is shown
    what = replace(play.asked("training", 1, []), asked=["ecf"])
    _, board = ranked(tmp_path / "out", what)
    assert "1 scenarios" not in shown(outputs.table(board), width=100)
    outputs.write_chart(board, what, [tmp_path / "one.png"])
    assert outputs.markdown(board, what, "make leaderboard", "x.svg", BUILDS)


def call(
    out: Path,
    speed: Speed,
    monkeypatch: pytest.MonkeyPatch,
    *arguments: str,
    killed: Mapping[str, str] | None = None,
) -> int:
    """The command, whose runs are made by `speed`; its exit status."""

    def run(planned: Plan, runner: Runner, *_: object) -> SweepOutcome:
        runs = Store(runner.out)
        make(planned, runs, speed)
        reasons = play.failures(planned, runs)
        total = len(planned.runs)
        return SweepOutcome(total, 0, total, reasons, 0, 1.0, killed or {})

    monkeypatch.setattr(sweep, "run", run)
    monkeypatch.setattr(experiment, "built", lambda: (KERNEL, GUEST))
    try:
        cli.main(["leaderboard", *arguments, "--out", str(out)], standalone_mode=False)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_failed_runs_are_counted_with_their_reasons_and_the_status_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ("--set", "training", "--count", "4", "--only", "-s", mine(tmp_path))
    assert call(tmp_path / "out", by_name, monkeypatch, *few) == 1
    shown = capsys.readouterr()
    # the best is `default` here, since it alone is of the catalogue
    assert "mine is 2 of 2 (" in shown.out
    assert "failed:   1 runs, which --retry-failed makes again\n" in shown.out
    assert "failed:   scenario 3, mine: no power\n" in shown.out
    assert "to run:   " in shown.err

    def all_fail(_scenario: Scenario) -> None:
        return None

    with pytest.raises(MptcplabError, match=r"every run failed(.|\n)*no power"):
        call(tmp_path / "dead", all_fail, monkeypatch, *few)
    # killed runs are no result
    killed = {"key": "out of memory"}
    with pytest.raises(MptcplabError, match="killed:  1: out of memory"):
        call(tmp_path / "killed", lambda _: 1.0, monkeypatch, *few, killed=killed)
    assert not (tmp_path / "killed" / outputs.DOCUMENT).exists()


def test_the_page_is_written_with_a_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "docs" / "page.md"
    file.parent.mkdir()
    file.write_text(f"<!-- begin: {outputs.MARK} -->\n<!-- end: {outputs.MARK} -->\n")
    # a tenth of the scenarios of a page take a tenth of the time
    for module in (command, actions):
        monkeypatch.setattr(module, "QUARTER", 15)
    own = ("--docs", str(file), "--count", "15", "--chance", "1", "-s", "ecf")
    assert call(tmp_path / "out", lambda run: 1.0 + run.seed % 7, monkeypatch, *own) == 0
    assert (file.parent / "images" / "leaderboard.svg").is_file()
    text = file.read_text()
    assert "(images/leaderboard.svg)" in text
    assert (
        'make leaderboard LEADERBOARD_ARGS="--chance 1 --scheduler ecf"`: the first 15 of the 600'
        in text
    )
    text = (TEMPLATE.parents[2] / "docs" / "leaderboard.md").read_text()
    assert text.count(f"<!-- begin: {outputs.MARK} -->\n") == 1
    assert text.count(f"<!-- end: {outputs.MARK} -->\n") == 1
