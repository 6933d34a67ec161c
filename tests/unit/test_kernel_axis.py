# SPDX-License-Identifier: GPL-2.0-only
"""Kernels as an axis of runs, and what results say of it. No kernel is built."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.cli import load
from mptcplab.cli.actions import papers
from mptcplab.errors import InputError
from mptcplab.lab import kernel
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.report import tables
from mptcplab.runs import collection, entries, expectations, experiment, index, store, sweep
from mptcplab.runs.entries import Entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.runs.sweep import How
from mptcplab.scenario import resolve, scheduler
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import Request
from tests.unit import stored
from tests.unit.stored import with_figures
from tests.unit.synthetic import FAST, SLOW
from tests.unit.test_sweep import FILE, Fake
from tests.vocabulary import shown

OLD = KernelBuild("k1", "lab", Path("/linux"), Path("/config"), "6.12")
NEW = replace(OLD, id="k2", name="7.3")
PLAIN = replace(OLD, id="k3", variant="engine", name="plain")
CURRENT = replace(OLD, id="k0", name="")
KERNELS = {build.name: build for build in (CURRENT, OLD, NEW, PLAIN)}
GUEST = Guest("g1", Path("/guest"))
PATHS = ("wifi:50mbit,5ms", "lte:20mbit,20ms")
#: The rows of a comparison: two schedulers with two kernels.
EACH_WITH_EACH = [(name, kernel) for kernel in ("6.12", "7.3") for name in ("default", "minrtt")]


def request(**flags: Any) -> Request:
    return resolve.from_flags(Flags(**{"path": PATHS, **flags}))


# --- asking for kernels


def test_kernels_are_asked_for_in_flags_and_files(tmp_path: Path) -> None:
    assert request().kernels == ()
    assert request(kernel="6.12, mine").kernels == ("6.12", "mine")
    file = tmp_path / "a.toml"
    file.write_text('kernel = "7.3"\n[[path]]\nname = "a"\nrate = "1mbit"\ndelay = "1ms"\n')
    assert resolve.load_file(file).kernels == ("7.3",)
    assert resolve.load_file(file, Flags(kernel="6.12")).kernels == ("6.12",)
    # which does not make it another scenario
    assert request(kernel="6.12").base == request().base
    # a stored scenario is run with another kernel
    file = tmp_path / "scenario.json"
    store.write_json(file, request().base)
    assert resolve.load_file(file, Flags(kernel="7.3")).kernels == ("7.3",)
    # a single run has a single kernel
    with pytest.raises(InputError, match="2 kernels, where one is expected"):
        resolve.load_file(file, Flags(kernel="6.12,7.3"), single=True)
    with pytest.raises(InputError, match="2 kernels, where one is expected"):
        resolve.from_flags(Flags(path=PATHS, kernel="6.12,7.3"), single=True)


@pytest.mark.parametrize(
    ("kernel", "message"), [("a,a", "named twice"), ("a,", "a name, or a list"), ("", "a name")]
)
def test_wrong_names_are_refused_in_runs_and_papers(kernel: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        request(kernel=kernel)
    with pytest.raises(InputError, match=message):
        papers._builds(kernel, None)


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        ({}, ""),
        ({"path": PATHS[:1], "transport": "tcp"}, ""),
        ({"scheduler": "default,minrtt"}, "minrtt"),
        ({"scheduler": "ecf"}, "ecf"),
        # a parameter of ours
        ({"scheduler": "default:recovery=on"}, "default:recovery=on"),
        (
            {
                "path": (*PATHS, "dsl:20mbit,20ms"),
                "connection": ("a:paths=wifi/lte,scheduler=minrtt", "b:paths=dsl"),
            },
            "minrtt",
        ),
    ],
)
def test_upstream_has_default_and_plain_tcp(flags: dict[str, Any], refused: str) -> None:
    wanted = request(**flags)
    experiment.require_able(wanted, NEW)
    if not refused:
        experiment.require_able(wanted, PLAIN)
        return
    with pytest.raises(InputError, match=f"{refused}: plain is built without our schedulers"):
        experiment.require_able(wanted, PLAIN)


@pytest.mark.parametrize(
    ("scheduler", "refused"),
    [
        ("default,minrtt,weighted:cost2=1,blest", ""),
        ("minrtt,redundant", "redundant: plain is built .* it needs: it sends duplicates"),
        ("minrtt:recovery=on", "minrtt:recovery=on: plain is built .*: recovery changes TCP"),
        ("minrtt:grain_bytes=1400", ""),
    ],
)
def test_an_adapter_carries_schedulers_that_need_no_patches(
    tmp_path: Path, scheduler: str, refused: str
) -> None:
    config = tmp_path / "config"
    config.write_text("CONFIG_MPTCP=y\nCONFIG_MPTCP_LAB_ADAPTER=y\n")
    plain = replace(PLAIN, config=config)
    wanted = request(scheduler=scheduler)
    if refused:
        with pytest.raises(InputError, match=refused):
            experiment.require_able(wanted, plain)
    else:
        experiment.require_able(wanted, plain)
    # what advice for it tries: default, and what could be asked for above
    possible = experiment.schedulers_of(plain)
    assert possible[0] == "default"
    assert {"minrtt", "weighted", "blest"} < {*possible} < {*kernel.schedulers()} - {"redundant"}
    assert experiment.schedulers_of(PLAIN) == ("default",)
    assert experiment.schedulers_of(KERNELS["6.12"]) == kernel.schedulers()


def test_the_framework_has_no_grain() -> None:
    wanted = request(scheduler="blest,minrtt:grain_bytes=1400")
    match = "minrtt:grain_bytes=1400: grain_bytes is for .*; in 7.3, a choice is for one segment"
    with pytest.raises(InputError, match=match):
        experiment.require_able(wanted, NEW)


def test_each_refused_scheduler_exists_and_has_a_reason() -> None:
    refused = kernel.refused_by_adapter()
    assert refused.keys() < set(kernel.schedulers())
    assert all(refused.values())


# --- comparisons


def runs() -> tuple[list[Entry], list[Entry]]:
    """Two schedulers with two kernels: the newer one twice as fast, also alone."""
    wanted = request(scheduler="default,minrtt")
    made = [
        _entry(item, build, goodput_bps)
        for build, goodput_bps in ((OLD, 30e6), (NEW, 60e6))
        for item in wanted.runs()
    ]
    alone = [
        _entry(wanted.base.single_path(path), build, goodput_bps)
        for build, goodput_bps in ((OLD, 20e6), (NEW, 40e6))
        for path in ("wifi", "lte")
    ]
    return made, alone


def _entry(item: Any, build: KernelBuild, goodput_bps: float) -> Entry:
    entry = entries.run_entry(item).model_copy(update={"kernel": build.name})
    return with_figures(entry, goodput_bps=goodput_bps)


def test_rows_say_of_which_kernel_they_are_if_there_are_several() -> None:
    made, alone = runs()
    assert list(entries.compared(made)) == [", ".join(both) for both in EACH_WITH_EACH]
    assert list(entries.compared(made[:2])) == ["default", "minrtt"]
    # a benefit is over plain TCP of the same kernel: with 20 Mbit/s over each path, 30 are half of
    # what is to be gained; 60 of 40 as well
    found = entries.with_benefits(made, alone, request().base)
    assert [each.metrics.aggregation_benefit for each in found] == [0.5] * 4
    # the name of a kernel is no part of the result of a run
    assert "kernel" not in made[0].result()
    assert made[0].model_dump(mode="json")["kernel"] == "6.12"
    assert "kernel" not in made[0].model_copy(update={"kernel": None}).model_dump(mode="json")


def table(document: entries.Document) -> str:
    return shown(tables.comparison_table(document), width=100)


def test_the_table_names_the_kernels() -> None:
    made, alone = runs()
    build = {"kernel": "k1, k2", "kernel_name": "6.12, 7.3"}
    text = table(entries.document(made, alone, build, request().base))
    assert "minrtt, 7.3" in text
    assert "Kernels: 6.12, 7.3 (k1, k2)." in text
    # a single one only below it
    build = {"kernel": "k2", "kernel_name": "7.3"}
    text = table(entries.document(made[2:], [], build, request().base))
    assert "Kernel: 7.3 (k2)." in text
    assert "minrtt, 7.3" not in text


def test_expectations_name_the_row_of_a_kernel() -> None:
    made, alone = runs()
    text = 'row["minrtt, 7.3"].goodput == 2 * row["minrtt, 6.12"].goodput'
    wanted = request(scheduler="default,minrtt")
    read = expectations.read([text], wanted.runs(), wanted.baselines(), ["6.12", "7.3"])
    (found,) = expectations.judge(read, made, alone)
    assert found.held
    # without several kernels, no row has the name of one
    with pytest.raises(InputError):
        expectations.read([text], wanted.runs(), wanted.baselines(), ["7.3"])


def test_all_runs_are_made_with_each_kernel(tmp_path: Path) -> None:
    wanted = replace(request(scheduler="default,minrtt"), repeat=1)
    rigs = [Rig(each, GUEST) for each in (OLD, NEW)]
    made = experiment.compare(wanted, rigs, Runner(tmp_path, workers=Fake()))
    assert [(each.label, each.kernel) for each in made.runs] == EACH_WITH_EACH
    alone = itertools.product(("6.12", "7.3"), ("wifi", "lte"))
    assert [(each.kernel, each.path) for each in made.baselines] == [*alone]
    assert (made.build["kernel"], made.build["kernel_name"]) == ("k1, k2", "6.12, 7.3")
    assert len(Store(tmp_path).keys()) == 8


# --- sweeps


def swept(tmp_path: Path, text: str, *kernels: str) -> sweep.Plan:
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    given = sweep.load(file, kernels=kernels)
    return sweep.plan(given, scheduler.known(), GUEST, KERNELS.__getitem__)


def test_a_sweep_has_all_points_with_each_kernel(tmp_path: Path) -> None:
    usual = swept(tmp_path, FILE)
    both = swept(tmp_path, FILE, "6.12", "7.3")
    assert len(both.runs) == 2 * len(usual.runs)
    names = {both.runs[point["key"]].kernel.name for point in both.points}
    assert names == {"6.12", "7.3"}
    for point in both.points:
        assert point["kernel_name"] == both.runs[point["key"]].kernel.name
    assert all("kernel_name" not in point for point in usual.points)
    # which a kernel must be able to have
    with pytest.raises(InputError, match="plain is built without our schedulers"):
        swept(tmp_path, FILE, "6.12", "plain")


@pytest.mark.parametrize("names", ["", "6.12,,7.3"])
def test_an_empty_name_is_a_mistake_in_a_sweep_too(tmp_path: Path, names: str) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(FILE)
    with pytest.raises(InputError, match="kernel is a name, or a list of names"):
        load("sweep").main([str(file), "--dry-run", "--kernel", names], standalone_mode=False)


def test_the_kernel_can_be_an_axis_of_a_sweep(tmp_path: Path) -> None:
    planned = swept(tmp_path, FILE + 'kernel = ["6.12", "7.3"]\n')
    assert planned.runs.keys() == swept(tmp_path, FILE, "6.12", "7.3").runs.keys()
    assert "kernel" not in planned.points[0]
    with pytest.raises(InputError, match=r"already has an axis for the kernel"):
        swept(tmp_path, FILE + 'kernel = ["6.12"]\n', "7.3")


def test_the_summary_of_a_sweep_tells_kernels_apart(tmp_path: Path) -> None:
    planned = swept(tmp_path, FILE, "6.12", "7.3")
    sweep.run(planned, Runner(tmp_path / "out", workers=Fake(), keep_records=False), How())
    made = index.read(tmp_path / "out")
    rows = tables.sweep_rows(collection.collect([tmp_path / "out"]))
    names = dict.fromkeys(row["scheduler"] for row in rows)
    assert [*names] == [f"{each} ({of})" for each, of in EACH_WITH_EACH]
    assert set(made["kernel_name"]) == {"6.12", "7.3"}


# --- reports


def test_a_report_labels_runs_with_their_kernels(tmp_path: Path) -> None:
    for name, kernel_id in (("", "k0"), ("7.3", "k2")):
        for item in (stored.scenario(), stored.scenario().single_path("fast")):
            entry = stored.keep(tmp_path, item, *([FAST, SLOW][: len(item.paths)]))
            build = {**stored.BUILD, "kernel": kernel_id}
            about = {**build, **({"kernel_name": name} if name else {})}
            store.write_json(tmp_path / str(entry.directory) / store.BUILD, about)
    (group,) = collection.collect([tmp_path]).groups
    label = group.runs[0].entry.label.partition(" ")[0]
    assert {run.entry.label for run in group.runs} == {f"{label} (k0)", f"{label} (7.3)"}
    assert {run.entry.path for run in group.baselines} == {"fast (k0)", "fast (7.3)"}
