# SPDX-License-Identifier: GPL-2.0-only
"""Runs with coupled congestion control: alone it is Reno, together the subflows grow as one.

`lia` and the others are what the papers measured; `ours` has all that is ours beside it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from mptcplab.metrics import records
from mptcplab.plan import plan
from tests import pcapng
from tests.vocabulary import Run, RunProgram, RunScenario, ours, output, shell

#: Those that are Reno where there is nothing to couple.
RENO_ALONE = ["lia", "olia", "balia"]
COUPLED = [*RENO_ALONE, "wvegas"]
BOTH_FORMS = [*COUPLED, *map(ours, COUPLED)]

ALONE: dict[str, dict[str, Any]] = {
    "plain TCP": {"path": ("a:20mbit,20ms,queue=30,loss=0.1%",), "transport": "tcp"},
    "one subflow": {"path": ("a:20mbit,20ms,queue=30,loss=0.1%",)},
    "a path that goes and comes back": {
        "path": ("a:20mbit,20ms,queue=30",),
        "event": ("3s:a:down", "5s:a:up"),
    },
    "the other subflow is not used": {
        "path": ("a:20mbit,20ms,queue=30,loss=0.1%", "b:20mbit,10ms"),
        "scheduler": "first",
    },
}


def packets(run: Run) -> list[tuple[bytes, bytes, list[bytes]]]:
    """Everything that was captured: when, whereto, and what."""
    return [
        (capture.time_ns.tobytes(), capture.outbound.tobytes(), capture.headers)
        for file in plan.capture_files(run.scenario)
        for capture in pcapng.read(run.outcome.directory / file).values()
    ]


@pytest.mark.parametrize(
    ("cc", "where"),
    [
        *((ours(cc), where) for cc in RENO_ALONE for where in ALONE),
        *((cc, "plain TCP") for cc in RENO_ALONE),
    ],
)
def test_alone_it_is_reno_to_the_packet(run_scenario: RunScenario, cc: str, where: str) -> None:
    flags = dict(ALONE[where])
    paths = flags.pop("path")
    ours, reno = (
        run_scenario(*paths, cc=each, duration="8s", pcap=True, **flags) for each in (cc, "reno")
    )
    # some windows were cut, so that there is something to compare
    assert reno.figures.metrics.retransmitted_packets
    assert packets(ours) == packets(reno)


def growth(run: Run, path: int) -> float:
    """Segments by which the window grows in a round trip, over the longest time without a loss."""
    subflow = run.client.subflow
    mine = subflow[records.path_indices(subflow) == path]
    mine = mine[(mine["time_ns"] > run.start_ns + 5e9) & (mine["cwnd"] > 0)]
    cwnd = mine["cwnd"].astype(float)
    cuts = np.flatnonzero(np.diff(cwnd) < 0)
    begins, ends = np.r_[0, cuts + 1], np.r_[cuts, len(cwnd) - 1]
    # what comes right after a cut is still the repair
    begins += 20
    longest = int(np.argmax(ends - begins))
    begin, end = begins[longest], ends[longest]
    assert end - begin >= 200, "two seconds of congestion avoidance"
    rounds = float(np.sum(10e-3 / (mine["srtt_us"][begin:end] * 1e-6)))
    return float(cwnd[end] - cwnd[begin]) / rounds


@pytest.mark.parametrize("cc", RENO_ALONE)
def test_two_subflows_grow_as_one(run_scenario: RunScenario, cc: str) -> None:
    # In a round trip each of two that are alike grows by 1/4 segment, where Reno grows by 1. OLIA
    # gives one up to 1/2 more, and takes that from the other: the sum remains.
    paths = ("a:20mbit,25ms,queue=200", "b:20mbit,25ms,queue=200")
    reno = run_scenario(*paths, cc="reno", duration="40s")
    exact = run_scenario(*paths, cc=ours(cc), duration="40s")
    measured = run_scenario(*paths, cc=cc, duration="40s")
    assert 1.9 <= growth(reno, 0) + growth(reno, 1) <= 2.1
    assert 0.45 <= growth(exact, 0) + growth(exact, 1) <= 0.55
    # As measured it counts acknowledgments, of two segments each, so that at most half of that is
    # left. Windows are of 100 to 280 segments, and what an acknowledgment adds, 1 / 4w, is rounded
    # down to 1 / 4096 and, by OLIA, to 1 / 1024: there 256 / w are 2, 1 or, from 257 on, 0.
    assert 0 <= growth(measured, 0) + growth(measured, 1) <= 0.27
    if cc != "olia":
        assert growth(measured, 0) + growth(measured, 1) >= 0.17


@pytest.mark.parametrize("cc", RENO_ALONE)
def test_one_subflow_as_measured_grows_half_as_fast_as_reno(
    run_scenario: RunScenario, cc: str
) -> None:
    # By one when a window of acknowledgments was counted, and each acknowledges two segments. OLIA
    # adds 1024 / w of 1024, rounded down: for the 100 to 150 segments of this window 9 / 10.2 to
    # 6 / 6.8 at least.
    paths = ("a:20mbit,25ms,queue=60",)
    reno, measured = (run_scenario(*paths, cc=each, duration="40s") for each in ("reno", cc))
    assert growth(reno, 0) == pytest.approx(1, abs=0.05)
    assert 0.5 * 0.85 <= growth(measured, 0) <= 0.5 * 1.05


def test_an_unused_backup_takes_part_as_measured_only(run_scenario: RunScenario) -> None:
    # Its window of ten segments lowers what LIA adds on the other path.
    paths = ("a:20mbit,25ms,queue=60", "b:20mbit,25ms")
    measured, used_only = (
        run_scenario(*paths, cc=cc, duration="40s", scheduler="first")
        for cc in ("lia", "lia:used_only=on")
    )
    assert growth(measured, 0) < growth(used_only, 0) - 0.03


@pytest.mark.parametrize("cc", [*map(ours, COUPLED)])
def test_clean_paths_are_filled_as_with_reno(run_scenario: RunScenario, cc: str) -> None:
    paths = ("a:20mbit,10ms", "b:20mbit,10ms")
    coupled, reno = (
        run_scenario(*paths, cc=each, duration="30s", warmup="5s") for each in (cc, "reno")
    )
    assert coupled.goodput_bps >= 0.95 * reno.goodput_bps


PATHS = ("a:20mbit,10ms", "b:10mbit,25ms")
TROUBLES: dict[str, dict[str, Any]] = {
    "loss": {"path": ("a:20mbit,10ms,loss=1%", "b:10mbit,25ms,loss=1%")},
    "second path down for 3 s": {"event": ("2s:b:down", "5s:b:up")},
    "both paths down": {"event": ("2s:a:down", "3s:b:down", "5s:a:up", "6s:b:up")},
    "second path closed": {"event": ("2s:b:close",)},
    "first path closed": {"event": ("2s:a:close",)},
    "data both ways": {"direction": "both"},
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("cc", BOTH_FORMS)
def test_every_byte_arrives(run_scenario: RunScenario, cc: str, trouble: str) -> None:
    flags = dict(TROUBLES[trouble])
    paths = flags.pop("path", PATHS)
    run = run_scenario(*paths, cc=cc, duration="10s", **flags)
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    # Reno at 1 % has a window of sqrt(3/2 / 0.01) = 12 segments: 12 x 1448 x 8 / 20 ms = 7 Mbit/s
    # on the first path alone; without loss, one path has 5 s of the 10 for itself.
    assert run.goodput_bps >= 2e6


@pytest.mark.parametrize("cc", COUPLED)
def test_many_connections_come_and_go(run_scenario: RunScenario, cc: str) -> None:
    run = run_scenario(
        *PATHS, cc=cc, workload="transfers:size=60KB,count=40,interval=100ms,fresh=true"
    )
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]


MIXED = """\
ip route change default via 10.0.1.254 dev c1 table 1 congctl lock {first}
ip route change 10.1.1.0/24 via 10.0.1.254 dev c1 congctl lock {first}
ip route change default via 10.0.2.254 dev c2 table 2 congctl lock {second}
ip route change 10.1.2.0/24 via 10.0.2.254 dev c2 congctl lock {second}
iperf3 -c server -t 6 & sleep 3; ss -tinHO state established dst 10.1.1.1 or dst 10.1.2.1; wait
"""


@pytest.mark.parametrize(
    ("first", "second"), [("lia", "olia"), ("balia", "wvegas"), ("olia", "cubic")]
)
def test_each_subflow_may_have_its_own(run_program: RunProgram, first: str, second: str) -> None:
    run = run_program(
        shell(MIXED.format(first=first, second=second)),
        ["iperf3", "-s"],
        paths=("a:20mbit,10ms", "b:20mbit,25ms"),
        cc="reno",
    )
    assert run.guest["client_status"] == 0
    # iperf3 has two connections, each with a subflow to both addresses
    used = re.findall(r"10\.1\.([12])\.1:5201 +(\w+) ", output(run))
    assert sorted(used) == [("1", first)] * 2 + [("2", second)] * 2


CHANGING = """\
import itertools, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.connect(("server", 5000))
block = bytes(range(256)) * 256
names = itertools.cycle(["lia", "olia", "cubic", "balia", "wvegas", "reno"])
for _ in range(300):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, next(names).encode())
    s.sendall(block)
s.shutdown(socket.SHUT_WR)
print(s.recv(100).decode())
"""
SINK = """\
import socket
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listener.bind(("", 5000))
listener.listen()
s, _ = listener.accept()
block, count, rest = bytes(range(256)), 0, b""
while data := s.recv(1 << 20):
    rest += data
    whole = len(rest) // 256
    assert rest[: whole * 256] == block * whole
    count, rest = count + whole * 256, rest[whole * 256 :]
s.sendall(str(count + len(rest)).encode())
s.close()
"""


def test_it_can_be_changed_while_data_is_sent(run_program: RunProgram) -> None:
    run = run_program(
        ["python3", "-c", CHANGING],
        ["python3", "-c", SINK],
        paths=("a:20mbit,10ms,loss=0.5%", "b:20mbit,25ms"),
        cc="lia",
        event=("2s:b:close",),
    )
    assert output(run) == f"{300 * 256 * 256}\n"
