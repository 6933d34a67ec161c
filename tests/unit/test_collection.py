# SPDX-License-Identifier: GPL-2.0-only
"""Runs are found where a person says, and grouped by what they have in common."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError, MptcplabError
from mptcplab.report.html_page import repeat_commands
from mptcplab.runs import entries, index, store
from mptcplab.runs.collection import Axis, collect, run_directories
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import load_file
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
    points: list[dict[str, Any]] = []
    for rate in (20, 10, 40):
        for name in ("minrtt", "default"):
            of = stored.scenario((rate * 10**6, 10**7), scheduler=name)
            directory = tmp_path / str(stored.keep(tmp_path, of, FAST, SLOW).directory)
            # keys are in no order
            key = {20: "5", 10: "9", 40: "1"}[rate] + name[::-1]
            directory.rename(directory.with_name(key))
            points.append({"key": key, "alone": [], "rate": rate})
    index.keep_points(tmp_path, points)
    found = collect([tmp_path])
    assert [group.values for group in found.groups] == [(20,), (10,), (40,)]
    assert found.schedulers() == ["minrtt", "default"]
    # of a sweep that is larger, in another order, the last one counts
    index.keep_points(tmp_path, points[::-1])
    found = collect([tmp_path])
    assert [group.values for group in found.groups] == [(40,), (10,), (20,)]
    assert found.schedulers() == ["default", "minrtt"]


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
    assert found.axes == (Axis("queue", "packets"), Axis("rate", ""))
    assert [group.values for group in found.groups] == [
        (queue, rate) for queue in (300, 1000) for rate in (20, 40)
    ]
    assert found.groups[0].name == "queue 300 packets, rate 20"
    for group in found.groups:
        assert [run.entry.scheduler for run in group.runs] == ["default", "blest"]
        assert [run.entry.path for run in group.baselines] == ["fast"]
    change(document, lambda content: content["runs"][2].pop("point"))
    with pytest.raises(MptcplabError, match=r"figure.json: .* runs.2.point: Field required"):
        collect([document])
