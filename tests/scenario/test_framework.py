# SPDX-License-Identifier: GPL-2.0-only
"""What the framework does with schedulers that do the strangest things."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine
from mptcplab.lab.engine import Rig
from mptcplab.metrics import records, run_files
from mptcplab.plan import plan
from tests.vocabulary import RunScenario, scenario_of

STRANGE = Path(__file__).parent / "schedulers"
TWINS = ("a:20mbit,10ms", "b:20mbit,10ms")


def strange(name: str) -> str:
    return str(STRANGE / f"{name}.c")


@pytest.mark.parametrize("loss", ["0%", "1%"])
@pytest.mark.parametrize("event", [(), ("2s:b:down", "4s:b:up"), ("2s:b:close",)])
def test_segments_in_any_order_arrive_whole(
    run_scenario: RunScenario, loss: str, event: tuple[str, ...]
) -> None:
    # Sent from the end of the window backwards, what arrives has to wait for the very first: the
    # out-of-order queue holds the better part of the send buffer, 200 KB of data at most.
    paths = [f"{path},loss={loss}" for path in TWINS]
    run = run_scenario(
        *paths, scheduler=strange("backwards"), duration="6s", send_buffer="256KiB", event=event
    )
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    assert run.server.connection["ofo_bytes"].max() > 64 * 1024
    assert run.figures.metrics.refused_picks == 0


@pytest.mark.parametrize("event", [(), ("2s:b:close",)])
def test_picks_that_make_no_sense_are_refused_and_counted(
    run_scenario: RunScenario, event: tuple[str, ...]
) -> None:
    # Each refusal is followed by what minrtt without rp would do; of eight picks, one may be a copy
    # that makes sense.
    # So long that the slow start, in which a copy costs more than its place, is a small part.
    run = run_scenario(*TWINS, scheduler=strange("nonsense"), duration="15s", event=event)
    minrtt = run_scenario(*TWINS, scheduler="minrtt:rp=off", duration="15s", event=event)
    assert run.goodput_bps >= 0.97 * 7 / 8 * minrtt.goodput_bps
    segments = run.outcome.guest["bytes_written"] // 1424
    assert run.figures.metrics.refused_picks >= segments


@pytest.mark.parametrize("name", ["new_bytes", "rest_bytes", "reinjection_bytes"])
def test_a_limit_that_is_none_changes_nothing(run_scenario: RunScenario, name: str) -> None:
    # path a is away while data is on it, so that some is reinjected; and segments are sent in parts
    paths, scheduler = ("a:20mbit,10ms", "b:10mbit,25ms"), strange("limited")
    if name == "rest_bytes":
        scheduler += ":new_bytes=500"
    flags = {"duration": "2s", "event": ("500ms:a:down", "1s:a:up"), "pcap": True}
    free, limited = (
        run_scenario(*paths, scheduler=each, **flags)
        for each in (scheduler, f"{scheduler}:{name}=4294967295")
    )
    assert limited.client.subflow["reinjections"].max() > 0
    for path in "ab":
        assert limited.capture(path).headers == free.capture(path).headers


def test_reinjections_in_parts_arrive_whole(run_scenario: RunScenario) -> None:
    # A segment of 1424 bytes takes three parts, and the path that has them back is there again only
    # after all has arrived: 100 KB, 40 ms at 20 Mbit/s, of which the last second of TCP's window is
    # on path a when it goes. In thirds, these packets take three times as long on path b, and no
    # timeout of it, 200 ms and more, is waited for.
    run = run_scenario(
        *("a:20mbit,10ms", "b:10mbit,25ms"),
        scheduler=strange("limited") + ":reinjection_bytes=500",
        size="200KB",
        event=("40ms:a:down", "60s:a:up"),
    )
    assert run.outcome.guest["bytes_received"] == 200_000
    assert run.client.subflow["reinjections"].max() > 0
    assert run.outcome.guest["complete_ns"] - run.start_ns < 2e9


def test_a_scheduler_that_only_waits_does_not_stop_the_connection(
    run_scenario: RunScenario,
) -> None:
    # One segment whenever the retransmission timer fires, after 200 ms or more: 20 KB in 3 s
    run = run_scenario(*TWINS, scheduler=strange("sleepy"), size="20KB")
    assert run.outcome.guest["bytes_received"] == 20_000
    # the greeting, and 20,000 bytes in segments of 1424
    assert 14 <= run.metric("forced_picks") <= 16


def test_a_scheduler_is_asked_at_the_time_it_asks_for(run_scenario: RunScenario) -> None:
    # One segment of 1424 bytes every 10 ms, although ACKs and writes come at other times.
    run = run_scenario(*TWINS, scheduler=strange("clockwork"), duration="5s", send_buffer="64KiB")
    assert run.goodput_bps == pytest.approx(1424 * 8 / 0.010, rel=0.01)


def plan_with(options: str) -> str:
    """The plan of a run of the default scheduler, with more options for the source."""
    scenario = scenario_of(*TWINS, duration="2s")
    return re.sub(r"(traffic client .*)", rf"\1 {options}", plan.render(scenario))


def test_a_socket_option_chooses_the_scheduler_of_one_connection(rig: Rig, tmp_path: Path) -> None:
    # The source reads it back, and finds that it cannot be changed after connecting.
    text = plan_with("--socket-scheduler first")
    engine.run(scenario_of(*TWINS, duration="2s"), text, rig, tmp_path)
    subflow = records.read_samples(tmp_path / run_files.CLIENT_SAMPLES).subflow
    first, second = (subflow[subflow["n"] == n] for n in (0, 1))
    assert first["new_segments"][-1] > 0
    assert second["sent_bytes"][-1] == second["sent_bytes"][0]


def test_a_scheduler_that_is_not_there_cannot_be_chosen(rig: Rig, tmp_path: Path) -> None:
    text = plan_with("--socket-scheduler nobody")
    with pytest.raises(RunError, match="scheduler nobody: No such file or directory"):
        engine.run(scenario_of(*TWINS, duration="2s"), text, rig, tmp_path)


def test_crumbs_out_of_order_take_no_more_memory_than_a_buffer_has(
    run_scenario: RunScenario, series: str
) -> None:
    # For half a second, all that arrives waits for a segment on the slow path, a byte in each
    # packet: up to the window of 31 KB, each in 500 bytes of kernel memory or more, but for those
    # that the kernel puts together. The limit of 6.12 is four times the buffer. 7.3 takes a packet
    # as long as the buffer is not exceeded, and each takes less than a page of memory.
    # The send buffer is small: all of it has to leave after the end, a byte at a time. 4 MB take
    # 130 s, in which KASAN keeps what is freed (see test_obstinate).
    buffer = 64 * 1024
    run = run_scenario(
        *("a:100mbit,5ms,queue=20000", "b:10mbit,500ms"),
        scheduler=strange("crumbs"),
        duration="4s",
        receive_buffer="64KiB",
        send_buffer="64KiB",
    )
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    used = run.server.connection["rcvbuf_used"].max()
    least, most = (3 * buffer, 4 * buffer) if series == "6.12" else (buffer, buffer + 4096)
    assert least < used <= most
