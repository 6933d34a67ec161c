# SPDX-License-Identifier: GPL-2.0-only
"""Runs are found where a person says, and grouped by what they have in common."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError, MptcplabError
from mptcplab.report.html_page import repeat_commands
from mptcplab.runs import entries, store
from mptcplab.runs.collection import Axis, collect, run_directories
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags, load_file
from tests.unit import stored
from tests.unit.synthetic import FAST, SLOW


def comparison(out: Path) -> Path:
    """Two schedulers with two seeds, and plain TCP over each path; gives the document."""
    base = stored.scenario()
    runs = [
        stored.keep(out, stored.scenario(scheduler=name, seed=seed), FAST, SLOW)
        for name in ("default", "blest")
        for seed in (1, 2)
    ]
    baselines = [
        stored.keep(out, base.with_(seed=seed).single_path(name), flow)
        for seed in (1, 2)
        for name, flow in (("fast", FAST), ("slow", replace(SLOW, path=1)))
    ]
    made = entries.document(runs, baselines, stored.BUILD, base)
    store.write_json(out / store.DOCUMENT, made)
    return out / store.DOCUMENT


def change(document: Path, by: Callable[[Any], None]) -> None:
    """Change the content of a document."""
    content = json.loads(document.read_text())
    by(content)
    document.write_text(json.dumps(content))


def test_a_comparison_is_the_same_by_its_directory_and_by_its_document(tmp_path: Path) -> None:
    document = comparison(tmp_path)
    [group] = collect([tmp_path]).groups
    assert collect([document]).groups == (group,)
    assert [(run.entry.scheduler, run.entry.seed) for run in group.runs] == [
        *(("default", 1), ("default", 2), ("blest", 1), ("blest", 2))
    ]
    assert [run.entry.path for run in group.baselines] == ["fast", "fast", "slow", "slow"]
    assert group.name == "fast 40mbit, 10ms; slow 10mbit, 10ms"
    assert {run.builds["kernel"] for run in group.runs} == {"6.12-a"}
    # a run that is named twice is there once
    places = [tmp_path, document, *sorted((tmp_path / "runs").iterdir())]
    [group] = collect(places).groups
    assert (len(group.runs), len(group.baselines)) == (4, 4)
    # a document without the files of its runs will do
    [group] = collect([document.rename(tmp_path / "runs" / "moved.json")]).groups
    assert len(group.runs) == 4
    assert {run.directory for run in group.runs} == {None}


def test_runs_by_their_directories_have_the_benefit_over_their_baselines(tmp_path: Path) -> None:
    comparison(tmp_path)
    (tmp_path / store.DOCUMENT).unlink()
    [by_out] = collect([tmp_path]).groups
    [group] = collect(sorted((tmp_path / "runs").iterdir())).groups
    assert group == by_out
    assert len(group.baselines) == 4
    # both paths are used in full
    assert [run.entry.metrics.aggregation_benefit for run in group.runs] == [1.0] * 4


def test_a_place_that_is_given_twice_is_there_once(tmp_path: Path) -> None:
    document = comparison(tmp_path / "out")
    for place in (tmp_path / "out", document):
        again = place.parent / "." / ".." / place.parent.name / place.name
        assert collect([place, again]) == collect([place])


def test_the_same_scenario_in_two_outputs_has_labels_with_their_names(tmp_path: Path) -> None:
    for name in ("a/x", "b/x"):
        comparison(tmp_path / name)
    found = collect([tmp_path / "a/x", tmp_path / "b/x" / store.DOCUMENT])
    assert found.outputs == ("a/x", "b/x")
    assert found.schedulers() == [*("default (a/x)", "blest (a/x)", "default (b/x)", "blest (b/x)")]
    [group] = found.groups
    assert len(group.runs) == len(group.baselines) == 8
    assert {run.entry.path for run in group.baselines} == {
        *("fast (a/x)", "slow (a/x)", "fast (b/x)", "slow (b/x)")
    }
    # of the baselines of the same output
    assert {run.entry.metrics.aggregation_benefit for run in group.runs} == {1.0}
    # runs that are named themselves are put together
    runs = [run for name in ("a/x", "b/x") for run in (tmp_path / name / "runs").iterdir()]
    assert sorted(collect(runs).schedulers()) == ["blest", "default"]


def test_different_scenarios_of_outputs_have_their_names(tmp_path: Path) -> None:
    for rate in (10, 20):
        of = stored.scenario((rate * 10**6, 10**7))
        stored.keep(tmp_path / f"at-{rate}", of, FAST, SLOW)
    found = collect([tmp_path / "at-20", tmp_path / "at-10"])
    assert [group.name for group in found.groups] == [
        *("at-10: fast rate 10 Mbit/s", "at-20: fast rate 20 Mbit/s")
    ]
    assert found.schedulers() == ["default"]


def test_a_sweep_keeps_the_order_asked_for(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for rate in (20, 10, 40):
        for name in ("minrtt", "default"):
            of = stored.scenario((rate * 10**6, 10**7), scheduler=name)
            kept = stored.keep(tmp_path, of, FAST, SLOW)
            rows.append({"point": {"rate": rate}, "directory": kept.directory, "alone": {}})
    # of plain TCP over a path that is the same at each point there is one run
    alone = stored.keep(tmp_path, of.single_path("slow"), replace(SLOW, path=1)).directory
    rows = [row | {"alone": {"slow": alone}} for row in rows]
    file = swept(tmp_path, rows)
    for place in (tmp_path, file):
        found = collect([place])
        assert [group.values for group in found.groups] == [(20,), (10,), (40,)]
        assert [len(group.baselines) for group in found.groups] == [1, 1, 1]
        assert found.schedulers() == ["minrtt", "default"]
    # a part of it, in another order
    swept(tmp_path, rows[3::-1])
    found = collect([tmp_path])
    assert [group.values for group in found.groups] == [(10,), (20,)]
    assert found.schedulers() == ["default", "minrtt"]


def swept(out: Path, rows: list[dict[str, Any]], **axis: str) -> Path:
    """The document of a sweep; gives its file."""
    store.write_json(out / store.SWEEP, {"axis": axis, "runs": rows})
    return out / store.SWEEP


def test_an_output_has_the_runs_of_its_latest_comparison_or_sweep(tmp_path: Path) -> None:
    compared = comparison(tmp_path)
    kept = stored.keep(tmp_path, stored.scenario(scheduler="minrtt"), FAST, SLOW)
    file = swept(tmp_path, [{"point": {}, "directory": kept.directory, "alone": {}}])
    for newest, other, schedulers in (
        (file, compared, ["minrtt"]),
        (compared, file, ["default", "blest"]),
    ):
        os.utime(other, (1, 1))
        os.utime(newest, (2, 2))
        assert collect([tmp_path]).schedulers() == schedulers


def test_runs_of_a_sweep_that_failed_are_there_and_others_come_later(tmp_path: Path) -> None:
    of = stored.scenario()
    stored.fail(tmp_path, "gone", of)
    kept = stored.keep(tmp_path, of.with_(seed=2), FAST, SLOW)
    places = ("runs/gone", kept.directory, "runs/later")
    swept(tmp_path, [{"point": {"rate": 1}, "directory": each, "alone": {}} for each in places])
    [group] = collect([tmp_path]).groups
    assert [run.entry.reason for run in group.runs] == ["no power", None]


@pytest.mark.parametrize(
    ("key", "values", "labels", "axis", "numbers"),
    [
        (
            *("path.lte.delay", ["5ms", "12.5ms", "0"], {}),
            *(Axis("Delay of lte", "ms", key="path.lte.delay"), [5, 12.5, 0]),
        ),
        (
            *("path.lte.up.rate", ["500kbit", "2mbit"], {}),
            *(Axis("Rate of lte up", "Mbit/s", key="path.lte.up.rate"), [0.5, 2]),
        ),
        (
            *("path.*.queue", ["50", "100"], {}),
            *(Axis("Queue of all paths", "packets", key="path.*.queue"), [50, 100]),
        ),
        (
            "rate",
            [2, 5],
            {"rate": "rate of lte, Mbit/s"},
            Axis("rate of lte", "Mbit/s", key="rate"),
            [2, 5],
        ),
        (
            "workload.size",
            ["64KiB", "1MiB"],
            {},
            Axis("Workload size", "KiB", key="workload.size"),
            [64, 1024],
        ),
        (
            "path.lte.loss",
            ["0.1%", "1%"],
            {},
            Axis("Loss of lte", "%", key="path.lte.loss"),
            [0.1, 1],
        ),
        ("case", ["day", "night"], {}, Axis("Case", "", False, "case"), None),
    ],
)
def test_an_axis_of_a_sweep_has_a_title_and_a_unit(
    tmp_path: Path,
    key: str,
    values: list[Any],
    labels: dict[str, str],
    axis: Axis,
    numbers: list[float] | None,
) -> None:
    rows = []
    for seed, value in enumerate(values, 1):
        kept = stored.keep(tmp_path, stored.scenario(seed=seed), FAST, SLOW)
        rows.append({"point": {key: value}, "directory": kept.directory, "alone": {}})
    swept(tmp_path, rows, **labels)
    found = collect([tmp_path])
    assert found.axes == (axis,)
    assert [group.values[0] for group in found.groups] == (numbers or values)


def test_runs_around_the_given_paths_are_samples_of_one_scenario(tmp_path: Path) -> None:
    paths = ("fast:40mbit,10ms", "slow:10mbit,10ms")
    request = from_flags(Flags(path=paths, vary=("3%",), repeat="3", scheduler="default,blest"))
    short = stored.scenario().workload
    base = request.base.model_copy(update={"workload": short})
    request = replace(request, base=base)
    runs = [stored.keep(tmp_path, each, FAST, SLOW) for each in request.runs()]
    alone = [
        stored.keep(tmp_path, each, FAST if each.paths[0].name == "fast" else replace(SLOW, path=1))
        for each in request.baselines()
    ]
    by_keys = collect([tmp_path])
    store.write_json(tmp_path / store.DOCUMENT, entries.document(runs, alone, stored.BUILD, base))
    by_document = collect([tmp_path])
    moved = (tmp_path / store.DOCUMENT).rename(tmp_path / "runs" / "moved.json")
    for found in (by_keys, by_document, collect([moved])):
        [group] = found.groups
        assert (len(group.runs), len(group.baselines)) == (6, 6)
        assert group.name == "fast 40mbit, 10ms; slow 10mbit, 10ms"
        assert group.scenario.vary == base.vary
        goodput = entries.seed_statistics(group.entries(), ["goodput_bps"])["goodput_bps"]
        assert {over.n for over in goodput.schedulers.values() if over} == {3}


def rated(*mbit: int) -> Scenario:
    return stored.scenario([rate * 1_000_000 for rate in mbit])


@pytest.mark.parametrize(
    ("scenarios", "axes", "groups"),
    [
        # both directions have the rate; it is one number
        (
            [rated(rate, 10) for rate in (40, 10, 20)],
            [Axis("fast rate", "Mbit/s")],
            {f"fast rate {rate} Mbit/s": (rate,) for rate in (10, 20, 40)},
        ),
        (
            [rated(*both) for both in itertools.product((10, 20), (5, 6))],
            [Axis("fast rate", "Mbit/s"), Axis("slow rate", "Mbit/s")],
            {
                f"fast rate {one} Mbit/s, slow rate {other} Mbit/s": (one, other)
                for one, other in itertools.product((10, 20), (5, 6))
            },
        ),
        (
            [stored.scenario().model_copy(update={"cc": cc}) for cc in ("cubic", "reno")],
            [Axis("cc", "", is_number=False)],
            {"cc cubic": ("cubic",), "cc reno": ("reno",)},
        ),
    ],
    ids=["a number", "a grid", "names"],
)
def test_what_differs_between_scenarios_is_an_axis(
    tmp_path: Path, scenarios: list[Scenario], axes: list[Axis], groups: dict[str, tuple[Any, ...]]
) -> None:
    for each in scenarios:
        stored.keep(tmp_path, each, FAST, SLOW)
    found = collect([tmp_path])
    assert found.axes == tuple(axes)
    assert {group.name: group.values for group in found.groups} == groups
    assert [group.values for group in found.groups] == [*groups.values()]


def test_the_command_that_repeats_a_group_gives_the_same_runs(tmp_path: Path) -> None:
    for scheduler, seeds in (("default", (3, 4)), ("blest", (3, 4, 9))):
        for seed in seeds:
            of = stored.scenario(scheduler=scheduler, seed=seed)
            stored.keep(tmp_path, of, FAST, SLOW)
    [group] = collect([tmp_path]).groups
    assert repeat_commands(group) == [
        "mptcplab compare scenario.json --scheduler default,blest --seed 3 --repeat 2",
        "mptcplab compare scenario.json --scheduler blest --seed 9 --repeat 1",
    ]
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(group.scenario.model_dump(mode="json")))
    assert load_file(file).base == group.scenario


def test_a_run_stands_for_itself_and_several_for_those_that_ended_well(tmp_path: Path) -> None:
    document = comparison(tmp_path)
    content = json.loads(document.read_text())
    assert content["runs"][1]["status"] == "ok"
    content["runs"][1] |= {"status": "failed", "reason": "no power"}
    document.write_text(json.dumps(content))
    directories = {
        kind: [tmp_path / run["directory"] for run in content[kind]]
        for kind in ("runs", "baselines")
    }
    del directories["runs"][1]
    assert run_directories([tmp_path]) == run_directories([document]) == directories["runs"]
    alone = directories["baselines"][:1]
    assert run_directories([tmp_path, *alone, tmp_path]) == directories["runs"] + alone
    content["baselines"], content["runs"] = [], content["runs"][1:2]
    document.write_text(json.dumps(content))
    with pytest.raises(MptcplabError, match=r": no successful run there"):
        run_directories([tmp_path])


def test_where_there_is_no_run_it_is_reported(tmp_path: Path) -> None:
    document = comparison(tmp_path / "out")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InputError, match=r"in .*nothing\n  no runs there; accepted is"):
        collect([tmp_path / "out", tmp_path / "nothing"])
    change(document, lambda content: content.update(runs=[], baselines=[]))
    with pytest.raises(InputError, match=r"in .*out\n  it has no runs"):
        collect([tmp_path / "out"])
    for find in (collect, run_directories):
        with pytest.raises(InputError, match="no runs there; accepted is the directory of a run"):
            find([tmp_path / "nothing"])
        with pytest.raises(InputError, match="there is no such file or directory"):
            find([tmp_path / "x"])


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    document = comparison(tmp_path)
    change(document, lambda content: content["runs"][1].pop("metrics"))
    with pytest.raises(MptcplabError, match=r"comparison\.json: .*: runs\.1\.metrics: Field"):
        collect([document])
    document.write_text("{")
    with pytest.raises(MptcplabError, match=r"comparison\.json: not JSON"):
        collect([document])
    run = next((tmp_path / "runs").iterdir())
    (run / store.RESULT).unlink()
    with pytest.raises(MptcplabError, match=r"result\.json: cannot be read: No such file"):
        collect([run])
    change(run / store.SCENARIO, lambda content: content.update(seed="x"))
    with pytest.raises(MptcplabError, match=r"scenario\.json: not the scenario of a run: seed: "):
        collect([run])


def published(out: Path) -> Path:
    """The document of an experiment: two schedulers, two queues and two rates.

    The queue is in its points only: that of no path differs.
    """
    runs = []
    for queue in (300, 1000):
        for rate in (20, 40):
            base = stored.scenario((rate * 10**6, 10**7))
            alone = stored.keep(out, base.single_path("fast"), FAST)
            for name in ("default", "blest"):
                of = stored.scenario((rate * 10**6, 10**7), scheduler=name)
                kept = stored.keep(out, of, FAST, SLOW)
                runs.append(
                    {
                        "point": {"scheduler": name, "queue": queue, "rate": rate},
                        "seed": 1,
                        "directory": kept.directory,
                        "alone": {"fast": alone.directory},
                    }
                )
    document = {"experiment": "paper/figure", "axis": {"queue": "queue, packets"}, "runs": runs}
    (out / "paper").mkdir()
    store.write_json(out / "paper" / "figure.json", document)
    return out / "paper" / "figure.json"


def test_a_published_experiment_says_itself_what_its_grid_is(tmp_path: Path) -> None:
    document = published(tmp_path)
    found = collect([document])
    assert found.axes == (Axis("queue", "packets", key="queue"), Axis("Rate", "", key="rate"))
    assert [group.values for group in found.groups] == [
        (queue, rate) for queue in (300, 1000) for rate in (20, 40)
    ]
    assert found.groups[0].name == "queue 300 packets, Rate 20"
    for group in found.groups:
        assert [run.entry.scheduler for run in group.runs] == ["default", "blest"]
        assert [run.entry.path for run in group.baselines] == ["fast"]
    change(document, lambda content: content["runs"][2].pop("point"))
    with pytest.raises(MptcplabError, match=r"figure.json: .* runs.2.point: Field required"):
        collect([document])
