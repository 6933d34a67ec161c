# SPDX-License-Identifier: GPL-2.0-only
"""When data is sent: as soon as the first subflow is there, as programs do, or when all are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.vocabulary import Run, RunScenario

PATHS = ("a:20mbit,10ms", "b:10mbit,50ms")
MS = 1_000_000
#: From when a connection is there until data is sent: the probes are started, see guest/report.h;
#: and the reads of the clock in between.
AT_ONCE_NS = 5_000
CLOCK_NS = 2_000


def first_data_ns(run: Run, path: str) -> int:
    """When the first packet with data came by at the router of a path, after T0."""
    capture = run.capture(path)
    return int(capture.time_ns[capture.payload > 0][0]) - run.start_ns


def test_data_leaves_when_the_first_subflow_is_there(run_scenario: RunScenario) -> None:
    run = run_scenario(*PATHS, start="at-once", duration="2s", pcap=True)
    # of the packets that come by at the router, the first is the SYN
    syn_ns = int(run.capture("a").time_ns[0]) - run.start_ns
    # SYN and SYN/ACK have 74 and 86 bytes at most with MPTCP's options: 35 us at 20 Mbit/s
    assert -20 * MS - AT_ONCE_NS - 75_000 <= syn_ns <= -20 * MS
    assert 0 <= first_data_ns(run, "a") <= CLOCK_NS
    # The second path's address comes with the first ACK of data, a round trip after T0, and a
    # handshake of two and a half later data: 20 + 100 + 50 ms are not over when it is acknowledged.
    assert first_data_ns(run, "b") >= 20 * MS + 100 * MS
    assert run.figures.paths[1].absent == 0  # after the warm-up it is there


def test_a_transfer_may_be_over_before_the_second_subflow_is_there(
    run_scenario: RunScenario,
) -> None:
    # The second SYN leaves after a round trip of the first subflow, 20 ms, and is answered
    # 80 ms later. The transfer ends after 10, 20, 40 segments, after 70 ms; when the last sample is
    # taken, after 100 ms, that subflow is closed.
    run = run_scenario(
        "a:50mbit,10ms", "b:20mbit,40ms", start="at-once", size="100kB", sample_interval="100ms"
    )
    assert run.outcome.guest["bytes_received"] == 100_000
    assert [path["share"] for path in run.figures.paths] == [1, 0]


def test_both_ends_have_their_samples_from_the_start_on(run_scenario: RunScenario) -> None:
    run = run_scenario(*PATHS, start="at-once", duration="1s")
    times = run.client.connection["time_ns"] - run.start_ns
    assert times[0] == 0
    assert set(np.diff(times)) == {10 * MS}


@pytest.mark.parametrize("transport", ["mptcp", "tcp"])
def test_a_download_begins_when_the_server_has_been_asked(
    run_scenario: RunScenario, transport: str
) -> None:
    paths = PATHS if transport == "mptcp" else PATHS[:1]
    run = run_scenario(
        *paths, start="at-once", duration="1s", direction="down", transport=transport
    )
    (message,) = run.messages()
    assert message["due_ns"] == run.start_ns
    # half a round trip, and on the wire at 20 Mbit/s the end of the handshake, of 94 bytes at
    # most, and the greeting of 8, in a packet with 90 to 98 of headers
    asked_ns = int(message["begin_ns"]) - run.start_ns
    assert 10 * MS <= asked_ns <= 10 * MS + (94 + 106) * 8 * 1000 // 20 + CLOCK_NS


def test_what_upstream_does_when_a_slow_path_joins_under_load(
    run_scenario: RunScenario, series: str
) -> None:
    """The slow subflow joins, takes up the window, and holds back the fast one for 20 s.

    An unmodified 6.12 has 16.4 and 17.9 Mbit/s with two of three seeds, and 98 with all subflows
    there before: less than a half, and more than nine tenths of the fast path's 100 x 1424 / 1514.
    In 7.3 it holds it back for some seconds, after which the window opens: 47 to 92 Mbit/s with
    four seeds, and 97 without a seed's delay, more than a half.
    """
    paths = ("a:100mbit,10ms", "b:10mbit,100ms")
    goodput = {
        start: run_scenario(*paths, start=start).goodput_bps for start in ("at-once", "established")
    }
    if series == "6.12":
        assert goodput["at-once"] < 47e6
    else:
        assert goodput["at-once"] > 47e6
    assert goodput["established"] > 0.9 * 100e6 * 1424 / 1514


def test_connections_begin_together(run_scenario: RunScenario) -> None:
    """Also so many that the kernel sets their devices up in turns, a hundred in a second."""
    paths = ("a:100mbit,10ms",)
    connection = ("x:paths=a,count=70,transport=tcp",)
    run = run_scenario(*paths, connection=connection, start="at-once", size="1KB")
    found = run.messages()
    # SYN and SYN/ACK take 20 ms and 12 us; each of the 70 is opened, and then written to, a few us
    # after the last one. A lost SYN would be sent again after 1 s.
    assert (found["begin_ns"] - run.start_ns).max() < 2 * MS


def test_a_server_that_is_not_reached_is_reported(run_scenario: RunScenario) -> None:
    with pytest.raises(Exception, match=r"path a: Connection timed out"):
        run_scenario("a:10mbit,10ms,loss=99.9999999%", start="at-once", duration="1s")


def test_a_path_without_a_subflow_is_left_out_as_in_the_world(run_scenario: RunScenario) -> None:
    run = run_scenario(
        "a:10mbit,10ms", "b:10mbit,10ms,loss=99.9999999%", start="at-once", duration="2s"
    )
    assert run.figures.paths[1].share == 0
    assert run.goodput_bps > 0.95 * 10e6 * 1424 / 1514
