# SPDX-License-Identifier: GPL-2.0-only
"""What is run for each goal, and what it is judged by."""

from __future__ import annotations

from typing import Any

import pytest

from mptcplab.advice.goals import Goal, capacity_bps, goals
from mptcplab.metrics.definitions import RunFigures
from mptcplab.plan import timeline
from mptcplab.scenario import workload
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.workload import Bulk, Cbr

WIFI, LTE = "wifi:50mbit,10ms", "lte:20mbit,40ms"
SECOND = 10**9


def base(*paths: str, **flags: Any) -> Scenario:
    return from_flags(Flags(path=paths or (WIFI, LTE), **flags)).base


def goal(name: str, of: Scenario) -> Goal:
    return next(each for each in goals(of) if each.name == name)


def test_throughput_is_bulk_data_whatever_the_application_does() -> None:
    of = base(workload="requests", duration="8s", warmup="1s")
    load = goal("throughput", of).load
    assert load == Bulk(direction="down", duration_ns=8 * SECOND, warmup_ns=SECOND, start="at-once")


def test_latency_is_that_of_the_application() -> None:
    of = base(workload="web")
    assert goal("latency", of).load == of.workload
    assert goal("latency", of).figure.metrics == ("page_load_s",)
    # it has no duration, so that the others take the usual one
    assert goal("throughput", of).load.duration_ns == workload.DEFAULT_DURATION_NS


def test_without_an_application_it_is_a_stream_of_half_of_the_slowest_path() -> None:
    slow = "lte:20mbit,40ms,up.rate=2mbit"
    up, down = (goal("latency", base(WIFI, slow, direction=way)).load for way in ("up", "down"))
    assert isinstance(up, Cbr)
    assert isinstance(down, Cbr)
    assert up.rate_bps == 1_000_000
    # 60 blocks a second
    assert (down.rate_bps, down.block_bytes, down.direction) == (10_000_000, 20_833, "down")


@pytest.mark.parametrize(
    ("rate", "duration"), [("16kbit", "20s"), ("10gbit", "20s"), ("10gbit", "400s")]
)
def test_a_stream_has_blocks_often_enough_and_not_too_many(rate: str, duration: str) -> None:
    of = base(f"a:{rate},10ms", f"b:{rate},10ms", direction="both", duration=duration)
    load = goal("latency", of).load
    count = len(workload.messages(load, 1)) / 2
    assert load.duration_ns
    assert 10 * load.duration_ns / SECOND <= count <= workload.MAX_MESSAGES / 2


def test_resilience_has_each_path_in_trouble_once() -> None:
    of = base(duration="20s", warmup="0s")
    resilience = goal("resilience", of)
    runs = resilience.scenarios(of)
    assert [{event.path for event in run.events} for run in runs] == [{"wifi"}, {"lte"}]
    # lost from 4 s to 7 s, a tenth of the rate from 12 s to 15 s
    rates = timeline.rates(runs[0])["wifi"]
    assert rates == [
        (0, 50_000_000),
        (4 * SECOND, 0),
        (7 * SECOND, 50_000_000),
        (12 * SECOND, 5_000_000),
        (15 * SECOND, 50_000_000),
    ]
    assert timeline.rates(runs[0])["lte"] == [(0, 20_000_000)]


def test_troubles_come_after_the_warm_up_and_what_was_asked_for_stays() -> None:
    of = base(duration="20s", warmup="10s", event=("1s:lte:down,lasts=1s",))
    for run in goal("resilience", of).scenarios(of):
        assert run.events[0] == of.events[0]
        assert all(10 * SECOND <= event.at_ns < 20 * SECOND for event in run.events[1:])


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        *((each, each) for each in ("cbr", "frames")),
        # what ends when it has arrived is judged for resilience by a stream
        *(
            (each, "cbr")
            for each in ("bulk", "transfers", "requests:think=10ms", "web", "video", "tunnel")
        ),
    ],
)
def test_each_workload_has_a_stream_for_resilience_and_figures(workload: str, kind: str) -> None:
    of = base(workload=workload)
    assert goal("resilience", of).load.kind == kind
    for each in goals(of):
        assert set(each.figure.metrics) <= set(RunFigures.model_fields)


def test_a_path_that_does_not_last_is_not_in_trouble_besides() -> None:
    three = (WIFI, LTE, "dsl:10mbit,10ms")
    of = base(*three, event=("5s:lte:close",))
    assert goal("resilience", of).troubled == ("wifi", "dsl")
    alone = base(event=("5s:lte:close",))
    assert [each.name for each in goals(alone)] == ["throughput", "latency"]


def test_the_worst_of_the_paths_counts() -> None:
    of = base()
    resilience = goal("resilience", of)
    runs = resilience.scenarios(of)
    assert resilience.of(runs, [RunFigures(delay_ms_max=3), RunFigures(delay_ms_max=7)]) == 7
    assert resilience.of(runs, [RunFigures(delay_ms_max=3), RunFigures()]) is None
    frames = goal("resilience", base(workload="frames"))
    assert frames.of(runs, [RunFigures(in_time=0.5), RunFigures(in_time=0.75)]) == 50


@pytest.mark.parametrize(
    ("direction", "lte", "figures", "percent"),
    [
        # 63 of 50 + 20 Mbit/s
        ("up", LTE, RunFigures(goodput_bps=63e6), 90),
        # 65 of 60 up and 70 down
        (
            *("both", "lte:20mbit,40ms,up.rate=10mbit"),
            *(RunFigures(goodput_bps=25e6, goodput_down_bps=40e6), 50),
        ),
    ],
)
def test_throughput_is_a_part_of_what_the_paths_carry(
    direction: str, lte: str, figures: RunFigures, percent: float
) -> None:
    of = base(WIFI, lte, direction=direction)
    throughput = goal("throughput", of)
    (run,) = throughput.scenarios(of)
    assert throughput.of([run], [figures]) == pytest.approx(percent)


def test_an_outage_is_not_part_of_what_the_paths_carry() -> None:
    of = base(duration="10s", warmup="0s", event=("0s:lte:down,lasts=5s",))
    # 50 Mbit/s, and 20 for half of the time
    assert capacity_bps(of, "up") == pytest.approx(60e6)
    # a link that paths share counts once: a and b have 10 together, b no more than 4 of them, and c
    # its own 20
    of = base("a:link=x,delay=5ms", "b:4mbit,5ms,link=x", "c:20mbit,5ms", link=("x:10mbit,10ms",))
    assert capacity_bps(of, "up") == pytest.approx(30e6)


def test_what_is_sent_besides_is_a_part_of_what_arrived() -> None:
    of = base(duration="20s")
    latency = goal("latency", of)
    (run,) = latency.scenarios(of)
    # 10 Mbit/s for 20 s are 25 MB
    sent = RunFigures(wasted_bytes=5_000_000, goodput_bps=10e6)
    assert latency.extra(run, sent) == pytest.approx(20)
    assert latency.extra(run, RunFigures(wasted_bytes=5_000_000)) is None
