# SPDX-License-Identifier: GPL-2.0-only
"""Paths over IPv6 on the real kernel: what they carry, and that nothing else is on them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mptcplab.capture import dissect
from mptcplab.plan import plan
from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario

A, B = "a:50mbit,10ms", "b:50mbit,10ms"
SIX, BOTH = ",ip=6", ",ip=both"


def addresses(run: Run, path: str) -> set[str]:
    """The addresses of the TCP packets that came through the router of a path."""
    packets = dissect.read([run.outcome.directory / plan.router_capture(path)])
    assert packets.others == 0, "packets of something else"
    return {end.address for track in packets.tracks for end in (track.a, track.b)}


@pytest.mark.parametrize(
    ("paths", "versions"),
    [
        pytest.param((A + SIX, B + SIX), "66", id="IPv6"),
        pytest.param((A, B + SIX), "46", id="joined over IPv6"),
        pytest.param((A + SIX, B), "64", id="joined over IPv4"),
        pytest.param((A + BOTH, B + BOTH), "66", id="both"),
    ],
)
def test_each_path_is_filled_over_its_version(
    run_scenario: RunScenario, paths: Sequence[str], versions: str
) -> None:
    # As test_default_fills_two_equal_paths, but of the 1514 bytes of a frame 1404 are data where
    # the header of IP has 40 bytes instead of 20. What waited out of order when measuring began
    # may be delivered after it: 0.2 % are 0.02 s of 9.5 s.
    run = run_scenario(*paths, duration="10s", scheduler="minrtt", pcap=True)
    ideal = ideal_goodput_bps(run.scenario)
    assert 0.97 * ideal <= run.goodput_bps <= 1.002 * ideal
    for number, (path, version) in enumerate(zip("ab", versions, strict=True), 1):
        four = {f"10.0.{number}.1", f"10.1.{number}.1"}
        six = {f"fd00::a00:{number}01", f"fd00::a01:{number}01"}
        assert addresses(run, path) == (four if version == "4" else six)


def test_goodput_differs_by_the_longer_header(run_scenario: RunScenario) -> None:
    # One path that is always full: frames have the same size, and the data of each 20 bytes less,
    # 1428 instead of 1448 bytes without MPTCP's mapping. Cubic, whose windows are in packets,
    # fills the link in the same way; 0.2 % is a round trip of 10 s.
    four, six = (
        run_scenario(f"a:50mbit,10ms,ip={ip}", transport="tcp", duration="10s").goodput_bps
        for ip in "46"
    )
    assert six / four == pytest.approx(1428 / 1448, rel=0.002)


@pytest.mark.parametrize("ip", ["6", "both"])
def test_events_happen_to_paths_over_ipv6(run_scenario: RunScenario, ip: str) -> None:
    # Both paths are away for a time, one after the other, and come back. The second is closed and
    # opened again, too; data goes on over the other one.
    run = run_scenario(
        f"{A},ip={ip}",
        f"{B},ip={ip}",
        event=("1s:a:unplug,lasts=1s", "4s:b:close,lasts=1s", "7s:b:backup,lasts=1s"),
        scheduler="minrtt",
        duration="10s",
    )

    def arrived(path: str, begin_s: float, end_s: float) -> int:
        return run.received_bytes(path, end_s) - run.received_bytes(path, begin_s)

    # A full path carries 50 Mbit/s x 1404 / 1514 = 5.8 MB/s; a queue takes 20 ms to empty. Of the
    # two seconds after its return a path is used for one at least. What comes back after a close
    # is another subflow, which counts from 0.
    for path, other, begin_s in (("a", "b", 1), ("b", "a", 4)):
        assert arrived(path, begin_s + 0.1, begin_s + 0.9) == 0
        assert arrived(other, begin_s + 0.1, begin_s + 0.9) > 0.8 * 0.9 * 5.8e6
    assert arrived("a", 2, 4) > 5.8e6
    assert run.received_bytes("b", 7) > 5.8e6
    assert arrived("b", 7.1, 7.9) == 0


def test_a_link_is_shared_by_both_versions(run_scenario: RunScenario) -> None:
    # Cross traffic of 1514 bytes a frame over IPv6, beside a connection whose other path is of IPv4
    run = run_scenario(
        "a:50mbit,10ms,link=l,ip=6,up.cross=10mbit",
        "b:50mbit,10ms,link=l",
        link=("l:30mbit,5ms",),
        scheduler="minrtt",
        duration="5s",
        pcap=True,
    )
    # 20 of 30 Mbit/s are left, of which at most 1424 of 1514 bytes are data
    assert 0.85 * 20e6 * 1404 / 1514 < run.goodput_bps < 20e6 * 1424 / 1514
    file = run.outcome.directory / plan.router_capture("a")
    packets = dissect.read([file])
    # Cross traffic passes both devices of the router: 10 Mbit/s until all has arrived. 2 % are
    # 0.1 s, more than the 15 ms of one way and a queue of a round trip of 30 ms, in which the last
    # is under way, and a few packets of IPv6 itself.
    lasts_s = (run.outcome.guest["complete_ns"] - run.start_ns) / 1e9
    assert lasts_s >= 5
    assert packets.others == pytest.approx(2 * 10e6 * lasts_s / 8 / 1514, rel=0.02)


def test_packets_are_lost_by_their_number(run_scenario: RunScenario) -> None:
    # 100 KB are some 70 packets, on a link whose queue holds them all
    paths = [f"a:50mbit,10ms,queue=1000,up.drop=5+17,ip={ip}" for ip in "46"]
    four, six = (
        run_scenario(path, transport="tcp", size="100KB").figures.metrics.retransmitted_packets
        for path in paths
    )
    assert four == six == 2
