# SPDX-License-Identifier: GPL-2.0-only
"""Documents and tables of synthetic runs; the figures are those of test_metrics.py."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.metrics.compute import run_metrics
from mptcplab.metrics.definitions import PathFigures, RunFigures
from mptcplab.report import catalogue_tables, tables
from mptcplab.runs import entries
from mptcplab.runs.entries import Document, Entry
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.scheduler import Choice, Parameter, Setting
from tests.unit import synthetic
from tests.unit.stored import with_figures
from tests.unit.synthetic import FAST, SLOW, Flow
from tests.vocabulary import shown

BUILD = {"kernel": "6.12", "guest": "1", "mptcplab": "0"}


def ok(scenario: Scenario, *flows: Flow, out_dir: Path | None = None, **options: Any) -> Entry:
    """The entry of a run that ended well; its records are written under `out_dir`, if given."""
    client, server = synthetic.run(*flows, **options)
    directory = f"runs/{scenario.scheduler.label}-{scenario.seed}"
    if out_dir:
        (out_dir / directory).mkdir(parents=True)
        synthetic.write(client, out_dir / directory / "client.samples")
        synthetic.write(server, out_dir / directory / "server.samples")
    measured = run_metrics(scenario, client, server, synthetic.guest())
    return entries.run_entry(scenario, measured, virtual_s=10.0, wall_s=0.5, directory=directory)


def failed(scenario: Scenario, reason: str) -> Entry:
    return entries.run_entry(scenario, reason=reason, wall_s=0.5)


def alone(scenario: Scenario, name: str, bytes_per_ms: int) -> Entry:
    return ok(scenario.single_path(name), Flow(bytes_per_ms))


def mptcp(bytes_per_ms: Sequence[int] = (4000,), **fields: Any) -> list[Entry]:
    """Runs with successive seeds; the fast path carries so many bytes per ms, the slow one 1000."""
    return [
        ok(synthetic.scenario(seed=seed, **fields), replace(FAST, bytes_per_ms=rate), SLOW)
        for seed, rate in enumerate(bytes_per_ms, start=1)
    ]


def document(runs: Sequence[Entry], baselines: Sequence[Entry] = ()) -> Document:
    made = entries.document(runs, baselines, BUILD, synthetic.scenario())
    stored = json.dumps(made.model_dump(mode="json"), allow_nan=False)
    return Document.model_validate_json(stored)


def table(made: Document, width: int = 80) -> str:
    return shown(tables.comparison_table(made), width)


# The document


def test_an_entry_identifies_its_run_and_has_its_status() -> None:
    [entry] = mptcp(scheduler="roundrobin")
    assert list(entry.model_dump()) == [
        "scheduler", "cc", "seed", "status", "virtual_s", "wall_s", "data_packets", "metrics",
        "paths", "directory",
    ]  # fmt: skip
    assert (entry.scheduler, entry.seed, entry.status) == ("roundrobin", 1, "ok")
    assert entry.cc == "cubic"
    assert entry.data_packets == entry.metrics.data_packets == 50_000
    assert entry.directory == "runs/roundrobin-1"


def test_a_failed_run_has_the_same_keys_and_no_figures() -> None:
    [good], bad = mptcp(), failed(synthetic.scenario(), "kernel panic")
    assert bad.status == "failed"
    assert bad.model_dump().keys() - good.model_dump().keys() == {"reason"}
    assert bad.reason == "kernel panic"
    assert bad.metrics == RunFigures()
    assert bad.paths == (PathFigures(name="fast"), PathFigures(name="slow"))


def test_the_document_keeps_the_resolved_scenario_and_the_build() -> None:
    made = document(mptcp())
    assert made.scenario == synthetic.scenario()
    assert made.build == BUILD


def test_aggregation_benefit_is_filled_in_from_the_baselines_of_the_same_seed() -> None:
    one, two = synthetic.scenario(seed=1), synthetic.scenario(seed=2)
    baselines = [
        *(alone(one, "fast", 4000), alone(one, "slow", 1000)),
        *(alone(two, "fast", 4000), alone(two, "slow", 2000)),
    ]
    made = document(mptcp([4000, 4000]), baselines)
    # (5000 - 4000) / 1000, and with seed 2 / 2000
    assert [run.metrics.aggregation_benefit for run in made.runs] == [1.0, 0.5]


def test_aggregation_benefit_is_by_baselines_of_the_same_congestion_control() -> None:
    cubic = synthetic.scenario()
    lia = cubic.with_(cc="lia")
    baselines = [
        *(alone(cubic, "fast", 4000), alone(cubic, "slow", 1000)),
        *(alone(lia, "fast", 4000), alone(lia, "slow", 2000)),
    ]
    runs = [ok(each, replace(FAST, bytes_per_ms=4000), SLOW) for each in (cubic, lia)]
    made = document(runs, baselines)
    assert [run.metrics.aggregation_benefit for run in made.runs] == [1.0, 0.5]
    text = table(made)
    assert "default, cubic" in text
    assert "default, lia" in text
    assert "fast, cubic" in text
    assert "slow, lia" in text


def test_the_table_lists_schedulers_without_an_effect_of_the_seed() -> None:
    # 40 Mbit/s in all are 5000 bytes per ms: a thousandth is 5 of them
    still, moved = mptcp([4000, 4002, 4004], scheduler="ecf"), mptcp([4000, 4010, 4020])
    text = table(document([*still, *moved]))
    assert "Seeds changed nothing (less than 0.1 %), Mbit/s: ecf. " in text
    assert "--vary 2%" in text
    assert "Seeds changed nothing" not in table(document(moved))
    assert "Seeds changed nothing" not in table(document(mptcp()))


def test_a_range_without_width_is_not_shown() -> None:
    assert ".." in table(document(mptcp([4000, 4010])))
    assert ".." not in table(document(mptcp([4000, 4000])))


def test_aggregation_benefit_is_null_without_a_baseline_of_each_path() -> None:
    scenario = synthetic.scenario()
    fast, slow = alone(scenario, "fast", 4000), alone(scenario, "slow", 1000)
    of_another_seed = alone(synthetic.scenario(seed=2), "slow", 1000)
    broken = failed(scenario.single_path("slow"), "kernel panic")
    for baselines in ([], [fast], [slow], [fast, of_another_seed], [fast, broken]):
        [run] = document(mptcp(), baselines).runs
        assert run.metrics.aggregation_benefit is None


def test_the_document_does_not_change_the_entries_it_is_made_from() -> None:
    scenario = synthetic.scenario()
    runs, baselines = mptcp(), [alone(scenario, "fast", 4000), alone(scenario, "slow", 1000)]
    before = copy.deepcopy((runs, baselines))
    document(runs, baselines)
    assert (runs, baselines) == before


def test_figures_have_schedulers_with_the_best_first() -> None:
    # 16, 40 and 28 Mbit/s: the fast path's, and 8 of the slow one
    runs = [
        *mptcp([1000]),
        *mptcp([4000], scheduler="lte"),
        *mptcp([3000, 2000], scheduler="ecf"),
        failed(synthetic.scenario(scheduler="broken"), "WARN"),
    ]
    goodput, *others = tables.best_first(document(runs))
    assert goodput.head.split() == ["Goodput", "Mbit/s"]
    assert goodput.values == {"lte": [40.0], "ecf": [32.0, 24.0], "default": [16.0]}
    assert list(goodput.values) == ["lte", "ecf", "default"]
    # nobody has an aggregation benefit: there is no plain TCP to compare with
    assert [" ".join(figure.head.split()) for figure in others] == [
        "Out of order mean KiB",
        "Out of order p99 KiB",
        "Retrans- mitted packets",
    ]


def test_of_times_to_wait_the_least_is_best_and_none_is_last() -> None:
    runs = [*mptcp(), *mptcp(scheduler="lte"), *mptcp(scheduler="ecf")]
    delayed = [
        with_figures(run, delay_ms_mean=delay_ms)
        for run, delay_ms in zip(runs, (None, 30.0, 20.0), strict=True)
    ]
    first, *_ = tables.best_first(entries.document(delayed, [], BUILD, scenario_of("cbr")))
    assert list(first.values) == ["ecf", "lte", "default"]
    assert first.values["default"] == []


# The table


def test_the_table_has_median_and_range_over_seeds() -> None:
    # 4000, 3000, 2000 and each time 1000 bytes per ms: 40, 32 and 24 Mbit/s
    text = table(document(mptcp([4000, 3000, 2000])))
    assert "32.00" in text
    assert "24.00..40.00" in text
    assert "Median of 3 seeds" in text
    # shares of the fast path: 4/5, 3/4, 2/3
    assert "75.0 fast" in text
    assert "25.0 slow" in text


def test_a_path_is_on_one_line_with_its_share_beside_ranges() -> None:
    # a range of the benefit, too, which makes the table as wide as the terminal
    runs = [
        with_figures(
            run,
            ofo_bytes_mean=51_000 + 96_000 * seed,
            ofo_bytes_p99=506_000 + 88_000 * seed,
            retransmitted_packets=57 + 110 * seed,
        )
        for seed, run in enumerate(mptcp([4000, 3000], scheduler="roundrobin"))
    ]
    scenario = synthetic.scenario()
    baselines = [alone(each, "fast", 4000) for each in (scenario, scenario.with_(seed=2))]
    baselines += [alone(each, "slow", 1000) for each in (scenario, scenario.with_(seed=2))]
    lines = table(document(runs, baselines)).splitlines()
    # shares of the fast path: 4/5 and 3/4
    assert any("77.5 fast" in line for line in lines)
    assert any("22.5 slow" in line for line in lines)


def test_the_table_of_one_seed_has_no_ranges() -> None:
    text = table(document(mptcp()))
    assert ".." not in text
    assert "One run each, seed 1." in text


@pytest.mark.parametrize(
    ("width", "shown", "hidden"), [(80, "p99 KiB", "Retransmitted"), (40, "Goodput", "benefit")]
)
def test_what_has_no_room_is_named_and_all_else_is_whole(
    width: int, shown: str, hidden: str
) -> None:
    runs = [
        with_figures(
            run,
            ofo_bytes_mean=51e5 + seed * 1e6,
            ofo_bytes_p99=5 * 10**9 + seed * 10**8,
            aggregation_benefit=-0.25,
        )
        for scheduler in ("proportional", "weighted:share1=10:share2=90")
        for seed, run in enumerate(mptcp([4000, 3000], scheduler=scheduler))
    ]
    made = document(runs).model_copy(update={"runs": tuple(runs)})
    head, _, rest = table(made, width).partition("Median of 2 seeds")
    figures, _, left_out = head.partition("No room for: ")
    assert max(map(len, (head + rest).splitlines())) <= width
    assert shown in figures
    assert hidden not in figures
    assert hidden in left_out
    for whole in ("proportional ", "weighted:share1=10:\n", "share2=90 "):
        assert any(line.startswith(whole.strip()) for line in figures.splitlines())


def test_of_data_both_ways_each_direction_is_shown() -> None:
    scenario = synthetic.scenario()
    both = scenario.workload.model_copy(update={"direction": "both"})
    scenario = scenario.model_copy(update={"workload": both})
    run = with_figures(ok(scenario, FAST, SLOW), goodput_down_bps=12.34e6)
    fast, slow = run.paths
    fast = fast.model_copy(update={"goodput_down_bps": 9e6, "share_down": 0.729})
    slow = slow.model_copy(update={"goodput_down_bps": 3.34e6, "share_down": 0.271})
    run = run.model_copy(update={"paths": (fast, slow)})
    text = table(entries.document([run], [], BUILD, scenario))
    for found in ("12.34", "80.0 72.9 fast", "20.0 27.1 slow", "up to the server"):
        assert found in text
    assert [word for word in text.splitlines()[1].split() if word in ("up", "down")] == [
        "up",
        "down",
    ]


def test_the_table_names_the_arithmetic_of_unusual_kernels() -> None:
    made = document(mptcp())
    assert "Kernel" not in table(made)
    like = {"kernel_like": "amd64"}
    assert "Kernel" not in table(made.model_copy(update={"build": made.build | like}))
    other = made.model_copy(update={"build": made.build | {"kernel_like": "cloud"}})
    assert "Kernel: computes as cloud kernels, not as amd64 ones (--kernel-like)." in table(other)


def test_the_table_has_a_row_per_scheduler_in_their_order() -> None:
    text = table(document(mptcp(scheduler="roundrobin") + mptcp(scheduler="default")))
    assert text.index("roundrobin") < text.index("default")


def test_a_scheduler_with_other_parameters_is_another_row() -> None:
    rp = Setting(name="rp", kind="bool", value=0, default=1)
    off = Choice(name="minrtt", settings=(rp,))
    on = Choice(name="minrtt", settings=(rp.model_copy(update={"value": 1}),))
    runs = [ok(synthetic.scenario().with_(scheduler=each), FAST, SLOW) for each in (on, off)]
    lines = table(document(runs)).splitlines()
    rows = [line.split()[0] for line in lines if line.startswith("minrtt")]
    assert rows == ["minrtt", "minrtt:rp=off"]


def test_parameters_are_shown_with_all_that_is_known_of_them() -> None:
    parameters = [
        Parameter("rp", "bool", 0, 1, 1, "", "does [this]"),
        Parameter("num", "uint", 1, 255, 2, "segments", "in a row"),
    ]
    lines = shown(catalogue_tables.parameter_table(parameters)).splitlines()
    assert lines[2].split() == ["rp", "off,", "on", "on", "does", "[this]"]
    assert lines[3].split() == ["num", "1..255", "2", "segments", "in", "a", "row"]


def test_the_table_shows_queue_and_retransmissions_in_their_units() -> None:
    run = ok(
        synthetic.scenario(), replace(FAST, retransmitted_packets=1234), SLOW, ofo_bytes=150 * 1024
    )
    lines = table(document([run])).splitlines()
    row = next(line for line in lines if line.startswith("default"))
    assert row.split() == ["default", "40.00", "80.0", "fast", "150", "150", "1234"]


def test_baselines_stand_below_the_table() -> None:
    scenario = synthetic.scenario()
    baselines = [alone(scenario, "fast", 4000), alone(scenario, "slow", 1000)]
    text = table(document(mptcp(), baselines))
    below = text[text.index("Plain TCP over one path alone") :]
    assert "fast 32.00" in below
    assert "slow 8.000" in below


def test_failed_runs_are_counted_with_their_reason_and_in_no_figure() -> None:
    good = mptcp([4000, 3000, 2000])
    bad = [failed(synthetic.scenario(seed=seed), "kernel panic") for seed in (4, 5)]
    text = table(document(good + bad))
    assert "3 of 5 ok" in text
    assert "Failed: scheduler default, 2 of 5 runs (seed 4, 5): kernel panic" in text
    assert "24.00..40.00" in text


def test_a_scheduler_that_never_ended_well_has_a_row_of_dashes() -> None:
    text = table(document([*mptcp(), failed(synthetic.scenario(scheduler="broken"), "WARN")]))
    row = next(line for line in text.splitlines() if line.startswith("broken"))
    assert row.split() == ["broken", *"-----"]
    assert "0 of 1 ok" in text


def test_a_failed_baseline_has_a_note() -> None:
    scenario = synthetic.scenario()
    text = table(document(mptcp(), [failed(scenario.single_path("slow"), "WARN")]))
    assert "Failed: plain TCP, path slow, 1 of 1 runs (seed 1): WARN" in text


def test_a_reason_with_brackets_is_no_markup() -> None:
    text = table(document([failed(synthetic.scenario(), "[bold]oops[/nothing]")]))
    assert "[bold]oops[/nothing]" in text


@pytest.mark.parametrize("paths", [2, 8])
def test_the_table_is_ascii_and_fits_80_columns(paths: int) -> None:
    names = [f"path-with-a-long-name-{i}" if paths > 2 else f"path{i}" for i in range(paths)]
    scenario = synthetic.scenario([990_000_000] * paths, names=names)
    flows = [Flow(100_000, path=i + 1, retransmitted_packets=10_000) for i in range(paths)]
    runs = [
        ok(scenario.with_(seed=seed), *flows, ofo_bytes=5_000_000 + seed * 1024 * 1024)
        for seed in (1, 2)
    ]
    text = table(entries.document(runs, [], BUILD, scenario), width=80)
    text.encode("ascii")
    figures = text[: text.index("Median")]
    assert max(len(line) for line in figures.splitlines()) <= 80
    # 5 to 7 MiB, none of its digits lost at the edge of a column
    assert "5907..6931" in figures


# Other workloads than bulk

WORKLOADS = {
    "transfers": ("completion_ms_median", "Transfer", "45.30"),
    "cbr": ("delay_ms_mean", "Delay", "45.30"),
    "requests": ("completion_ms_median", "Response", "45.30"),
    "web": ("page_load_s", "Page", "45.30"),
    "video": ("startup_s", "Start-", "45.3"),
    "frames": ("in_time", "in time", "4530"),
}


def scenario_of(kind: str) -> Scenario:
    load = from_flags(Flags(path=["a:1mbit,1ms"], workload=kind)).base.workload
    return synthetic.scenario(workload=load)


def of_kind(kind: str, **figures: float) -> Document:
    """Of three seeds, with a half of these figures, with them, and with twice as much."""
    scenario = scenario_of(kind)
    runs = []
    for seed, factor in ((1, 0.5), (2, 1), (3, 2)):
        run = failed(scenario.with_(seed=seed), "").model_copy(update={"status": "ok"})
        own = {name: factor * value for name, value in figures.items()}
        metrics = run.metrics.model_copy(update=own)
        runs.append(run.model_copy(update={"metrics": metrics}))
    return entries.document(runs, [], BUILD, scenario)


def test_the_table_has_no_column_of_a_benefit_that_was_not_measured() -> None:
    runs = mptcp([4000, 2000])
    assert "benefit" not in table(document(runs))
    measured = [with_figures(run, aggregation_benefit=0.5) for run in runs]
    text = table(document(runs).model_copy(update={"runs": tuple(measured)}))
    assert "benefit" in text
    assert "Aggregation benefit: 1 = all paths used in full" in text


@pytest.mark.parametrize("kind", WORKLOADS)
def test_the_table_shows_what_the_workload_is_about(kind: str) -> None:
    metric, head, median = WORKLOADS[kind]
    made = of_kind(kind, **{metric: 45.3})
    text = table(made)
    text.encode("ascii")
    assert max(len(line) for line in text.splitlines()) <= 80
    assert head in text
    assert median in text
    assert "Aggregation benefit" not in text
    assert "mptcplab results schema defines every figure." in " ".join(text.split())
    # a wheel has no pages
    assert "docs/" not in text
    assert tables.headline(kind, made.runs[1]).startswith(f"{float(median):.2f} ")


@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_column_is_a_metric_and_fits_with_the_widest_numbers(kind: str) -> None:
    made = of_kind(kind, **dict.fromkeys(RunFigures.model_fields, 12345.678))
    text = table(made)
    assert max(len(line) for line in text[: text.index("Median of")].splitlines()) <= 80
    assert "6173..24691" in text


def test_a_baseline_is_compared_in_what_the_workload_is_about() -> None:
    made = of_kind("transfers", completion_ms_median=20.0)
    baseline = made.runs[0].model_copy(update={"path": "slow", "transport": "tcp"})
    text = table(made.model_copy(update={"baselines": (baseline,)}))
    assert "Plain TCP over one path alone, median ms:" in text
    assert "slow 10.00" in text


def test_the_benefit_of_aggregation_is_that_of_bulk_data() -> None:
    base = scenario_of("web")
    runs = mptcp()
    baselines = [alone(synthetic.scenario(), name, 1000) for name in ("fast", "slow")]
    bulk = entries.document(runs, baselines, BUILD, synthetic.scenario())
    assert bulk.runs[0].metrics.aggregation_benefit
    made = entries.document(runs, baselines, BUILD, base)
    assert made.runs[0].metrics.aggregation_benefit is None


# Over several seeds


def test_the_document_says_what_the_seeds_say_together() -> None:
    # goodput of 8 x (fast + 1000) bit/ms
    made = document([*mptcp([4000, 3000, 2000]), *mptcp([4500, 3600, 2000], scheduler="blest")])
    goodput = made.statistics["goodput_bps"]
    default = goodput.schedulers["default"]
    assert default is not None
    assert (default.n, default.median) == (3, 32e6)
    assert (default.lowest, default.highest) == (24e6, 40e6)
    assert default.lowest <= (default.low or 0) <= (default.high or 0) <= default.highest
    [difference] = goodput.differences
    assert (difference["of"], difference["from"], difference["pairs"]) == ("blest", "default", 3)
    # 500, 600 and 0 bytes per ms more
    assert difference["median"] == 4e6
    assert difference["effect"] == 1


def test_the_statistics_leave_out_runs_that_failed_and_figures_that_are_missing() -> None:
    made = document([*mptcp([4000]), failed(synthetic.scenario(seed=2), "kernel panic")])
    default = made.statistics["goodput_bps"].schedulers["default"]
    assert default is not None
    assert default.n == 1
    assert made.statistics["goodput_bps"].differences == ()
    assert "aggregation_benefit" not in made.statistics
    of_none = document([failed(synthetic.scenario(), "kernel panic")])
    assert of_none.statistics == {}


def test_the_table_has_differences_from_the_first_on_the_same_seeds() -> None:
    text = table(
        document([*mptcp([4000, 3000, 2000]), *mptcp([4500, 3600, 2000], scheduler="blest")])
    )
    assert "Difference from default with the same seed, Mbit/s" in text
    # of the two differences that are not 0 both are above it: p = 2 / 2^2; 4 of 32 are 12.5 %
    assert "blest +4.0 (+12 %), +0.0..+4.8, p 0.5" in text
    assert "Difference from" not in table(document([*mptcp([4]), *mptcp([5], scheduler="blest")]))


def test_no_test_is_made_where_seeds_change_nothing() -> None:
    still = [*mptcp([4000, 4001]), *mptcp([3000, 3001], scheduler="blest")]
    # 8 of 40 Mbit/s
    assert "\n  blest -8.00 (-20 %); seeds change nothing: no test\n" in table(document(still))
    near = [*mptcp([4000, 3000]), *mptcp([4004, 3003], scheduler="blest")]
    assert "\n  blest: the same, within 0.1 %\n" in table(document(near))


def test_a_median_of_differences_that_contradicts_the_medians_is_explained() -> None:
    # medians of 24 and 23.2 Mbit/s, differences of -0.8, +8 and +0.8
    text = table(document([*mptcp([2000, 900, 3000]), *mptcp([1900, 1900, 3100], scheduler="ecf")]))
    assert "\n  ecf +0.8 (+3.3 %), -0.8..+8.0, p" in text
    assert "\n    the medians above differ by -0.8: they are of different seeds\n" in text


def test_schedulers_that_sent_the_same_are_named() -> None:
    made = [
        *mptcp([4000, 3000]),
        *mptcp([4000, 3000], scheduler="ecf"),
        *mptcp([4, 5], scheduler="a"),
    ]
    assert "Sent the same: default, ecf.\n" in table(document(made))
    assert "leaves them no choice" not in table(document(made))
    full = [
        each.model_copy(
            update={
                "paths": tuple(p.model_copy(update={"limited_by_cwnd": 1.0}) for p in each.paths)
            }
        )
        for each in made
    ]
    assert "leaves them no choice" in table(document(full))
    assert "Sent the same" not in table(document([*mptcp([40]), *mptcp([50], scheduler="ecf")]))
