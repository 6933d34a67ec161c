# SPDX-License-Identifier: GPL-2.0-only
"""The client's side of path management: its endpoints, its addresses, dead first paths, and what
routers do to its packets: middleboxes that know nothing of MPTCP, and NAT.

Each is tested with the lab kernel and with a kernel whose net/mptcp is unmodified.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mptcplab.errors import RunError
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records, run_files
from tests.vocabulary import Run, RunProgram, output, scenario_of, without_patches

PATHS = ("a:20mbit,10ms", "b:10mbit,30ms")
# Of a frame of 1514 bytes, 1424 are data (docs/scenario.md, IPv6).
A_BPS, B_BPS = (1424 / 1514 * rate_bps for rate_bps in (20e6, 10e6))
# What is on its way when b is lost: 50 packets of queue and delay line (one bandwidth-delay
# product), which leave within 50 x 1514 x 8 / 10^7 = 61 ms and 30 ms of delay.
ON_ITS_WAY_S = 0.1

RunHere = Callable[..., Run]


@pytest.fixture(params=["lab", "unmodified"])
def run_here(
    request: pytest.FixtureRequest, lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> RunHere:
    """A run of PATHS, with the lab kernel or with an unmodified net/mptcp."""
    kernel = lab_kernel if request.param == "lab" else without_patches(lab_kernel)
    count = 0

    def run(*paths: str, **flags: Any) -> Run:
        nonlocal count
        count += 1
        directory = tmp_path / f"run{count}"
        directory.mkdir()
        return Run.made(scenario_of(*(paths or PATHS), **flags), Rig(kernel, lab_guest), directory)

    return run


def addresses(run: Run, path: str) -> list[str]:
    """The addresses and ports of the client's subflows on a path, in the order of time."""
    found = dict.fromkeys(
        (tuple(int(byte) for byte in sample["local_addr"]), int(sample["local_port"]))
        for sample in run.sender(path)
        if sample["local_port"]  # the first subflow stays, closed
    )
    return [f"{'.'.join(map(str, address))}:{port}" for address, port in found]


def received_bytes(run: Run, path: str, until_s: float) -> int:
    """What the server received over all subflows of a path until some time after the start."""
    mine = run.server.subflow
    number = [each.name for each in run.scenario.paths].index(path)
    mine = mine[records.path_indices(mine) == number]
    mine = mine[mine["time_ns"] <= run.start_ns + int(until_s * 1e9)]
    of_port = [mine[mine["remote_port"] == port] for port in np.unique(mine["remote_port"])]
    return sum(int(each["received_bytes"].max()) for each in of_port)


def rate_bps(run: Run, path: str, since_s: float, until_s: float) -> float:
    arrived = received_bytes(run, path, until_s) - received_bytes(run, path, since_s)
    return 8 * arrived / (until_s - since_s)


@pytest.mark.parametrize("endpoints", ["subflow", "fullmesh"])
def test_an_address_that_goes_and_comes_back(run_here: RunHere, endpoints: str) -> None:
    event = "2s:b:lose,lasts=3s"
    run = run_here(endpoints=endpoints, event=(event,), duration="10s", warmup="0s")
    assert received_bytes(run, "b", 5.0) == received_bytes(run, "b", 2 + ON_ITS_WAY_S) > 0
    # alone, the other path is full
    assert rate_bps(run, "a", 3, 5) == pytest.approx(A_BPS, rel=0.01)
    # the new subflow joins in two round trips and is out of slow start some round trips later
    assert rate_bps(run, "b", 7, 10) == pytest.approx(B_BPS, rel=0.02)
    found = addresses(run, "b")
    assert {each.partition(":")[0] for each in found} == {"10.0.2.1"}
    assert len(found) == {"subflow": 2, "fullmesh": 4}[endpoints]


def test_without_an_endpoint_nobody_notices_the_address(run_here: RunHere) -> None:
    """The path manager does not watch addresses: the subflow stays, and TCP's timer tries again.

    The address is gone from 2 to 3 s. TCP's timeout is at most 0.4 s at 2 s (docs of test_events)
    and doubles: at 2.4, 3.2 s at the latest, b is in use again, with the same subflow.
    """
    run = run_here(event=("2s:b:lose,lasts=1s",), duration="8s", warmup="0s")
    assert received_bytes(run, "b", 3.0) == received_bytes(run, "b", 2 + ON_ITS_WAY_S) > 0
    assert len(addresses(run, "b")) == 1
    # an endpoint that follows the address is back with a new subflow instead
    managed = run_here(
        event=("2s:b:lose,lasts=1s",), endpoints="subflow", duration="8s", warmup="0s"
    )
    assert len(addresses(managed, "b")) == 2


def test_another_address(run_here: RunHere) -> None:
    run = run_here(
        endpoints="subflow",
        event=("2s:b:renumber", "5s:b:renumber,lasts=2s"),
        duration="10s",
        warmup="0s",
    )
    # after `lasts`, the address of before
    found = [each.partition(":")[0] for each in addresses(run, "b")]
    assert found == ["10.0.2.1", "10.0.2.2", "10.0.2.3", "10.0.2.2"]
    for since in (3, 8):
        assert rate_bps(run, "b", since + 0.5, since + 1.5) == pytest.approx(B_BPS, rel=0.02)


@pytest.mark.parametrize("path", ["a", "b"])
def test_an_endpoint_that_is_removed_and_added(run_here: RunHere, path: str) -> None:
    """On the first path, too, whose subflow has the id 0 until its endpoint is added again."""
    run = run_here(
        endpoints="subflow", event=(f"2s:{path}:remove,lasts=3s",), duration="12s", warmup="0s"
    )
    # a subflow that closes first sends what its socket has: 1 MB at most, 0.8 s on the slower path
    assert received_bytes(run, path, 5.0) == received_bytes(run, path, 2.9) > 0
    assert len(addresses(run, path)) == 2
    assert rate_bps(run, path, 8, 12) == pytest.approx({"a": A_BPS, "b": B_BPS}[path], rel=0.05)


def test_a_path_that_is_dead_before_the_first_connection(run_here: RunHere) -> None:
    """The second path: its SYN at 0 s is lost; repeated every second at first, it joins at 3 s."""
    run = run_here(
        event=("before:b:down,lasts=2500ms",), workload="bulk:start=at-once,duration=8s,warmup=0s"
    )
    assert received_bytes(run, "b", 2.5) == 0
    assert rate_bps(run, "b", 5, 8) == pytest.approx(B_BPS, rel=0.02)


def test_a_dead_first_path_lets_no_connection_open(run_here: RunHere) -> None:
    with pytest.raises(RunError, match="path a: Connection timed out"):
        run_here(event=("before:a:down",), workload="bulk:start=at-once,duration=2s")


@pytest.mark.parametrize(
    ("timeout", "with_mptcp"),
    [("3600s", [False] * 3), ("6s", [False, False, True]), ("0s", [True] * 3)],
)
def test_a_blackhole_turns_mptcp_off_for_a_while(
    run_here: RunHere, timeout: str, with_mptcp: list[bool]
) -> None:
    """SYNs leave at 0 s and then every second, or up to 40 ms later (tcp_syn_linear_timeouts is 4):
    three with MPTCP, and that at 3 s without (mptcp_active_detect_blackhole()). The path is back at
    2.5 s, so Linux takes it for a blackhole of MPTCP, for the given time from 3 s on.

    Transfers are due every 4 s. Alone on the first path, 2 MB take 2 x 8 / 18.8 = 0.85 s: time for
    a subflow on the second path, if the connection has MPTCP.
    """
    run = run_here(
        event=("before:a:down,lasts=2500ms",),
        blackhole_timeout=timeout,
        workload="transfers:size=2MB,count=4,interval=4s,fresh=true",
    )
    arrived = [received_bytes(run, "b", until) for until in (0, 4, 8, 12, 16)]
    assert [after > before for before, after in pairwise(arrived)] == [False, *with_mptcp]


def test_joins_without_their_options(run_here: RunHere) -> None:
    """The server answers the join like a connection of plain TCP, and the client resets it."""
    run = run_here(PATHS[0], f"{PATHS[1]},middlebox=strip", duration="4s", start="at-once")
    assert received_bytes(run, "b", 4) == 0
    assert rate_bps(run, "a", 2, 4) == pytest.approx(A_BPS, rel=0.01)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_first_path_without_options_leaves_plain_tcp(run_here: RunHere, direction: str) -> None:
    """Without the 24 bytes of a DSS and padding, 1448 of 1514 bytes are data."""
    first = f"{PATHS[0]},{direction}.middlebox=strip"
    run = run_here(first, PATHS[1], duration="4s", start="at-once")
    assert received_bytes(run, "b", 4) == 0
    assert rate_bps(run, "a", 2, 4) == pytest.approx(20e6 * 1448 / 1514, rel=0.01)


def test_options_that_vanish_later_end_one_subflow_alone(run_here: RunHere) -> None:
    """The receiver cannot place the data, and resets the subflow (RFC 8684, section 3.7). All data
    arrives over the other path: 15 MB take 15 x 8 / 18.8 = 6.4 s there, less what b had carried.
    """
    run = run_here(event=("2s:b:change,middlebox=strip",), workload="bulk:size=15MB")
    assert received_bytes(run, "b", 10) == received_bytes(run, "b", 2.5) > 0
    assert 4 < run.metric("completion_s") < 6.4


def test_packets_with_options_that_are_lost(run_here: RunHere) -> None:
    """The path works for everything else, and for MPTCP when the middlebox is gone."""
    event = "2s:b:change,middlebox=drop,lasts=2s"
    run = run_here(event=(event,), duration="10s", warmup="0s")
    assert received_bytes(run, "b", 4) == received_bytes(run, "b", 2 + ON_ITS_WAY_S) > 0
    assert rate_bps(run, "b", 8, 10) == pytest.approx(B_BPS, rel=0.02)


@pytest.mark.parametrize("timeout", ["3600s", "0s"])
def test_a_middlebox_that_drops_mptcp_is_a_blackhole(run_here: RunHere, timeout: str) -> None:
    """The fourth SYN, at 3.0 to 3.1 s, has no options of MPTCP. Then 100 KB take three round trips
    of slow start and 42 ms, with a handshake 0.12 s. Later connections know of the blackhole.
    """
    run = run_here(
        f"{PATHS[0]},middlebox=drop",
        PATHS[1],
        blackhole_timeout=timeout,
        workload="transfers:size=100KB,count=3,interval=5s,fresh=true",
    )
    messages = run.messages()
    took_s = (messages["complete_ns"] - messages["due_ns"]) / 1e9
    slow = [3.0 < each < 3.3 for each in took_s]
    assert slow == [True, *[timeout == "0s"] * 2]
    assert all(each < 0.2 for each, is_slow in zip(took_s, slow, strict=True) if not is_slow)


def resets(run: Run, path: str) -> list[float]:
    """When resets from the server passed the router of a path, in s after the start."""
    capture = run.capture(path)
    return [
        (int(time_ns) - run.start_ns) / 1e9
        for time_ns, header in zip(capture.time_ns, capture.headers, strict=True)
        if header[26:28] == bytes([10, 1]) and header[47] & 4
    ]


def test_a_nat_that_forgets(run_here: RunHere) -> None:
    """The client's next packet gets another port, and the server knows no such connection: its RST
    is back a round trip later, 60 ms and up to 61 ms in the queue.
    """
    second = f"{PATHS[1]},nat_timeout=300s"
    run = run_here(PATHS[0], second, event=("2s:b:rebind",), duration="6s", warmup="0s", pcap=True)
    assert received_bytes(run, "b", 6) == received_bytes(run, "b", 2 + ON_ITS_WAY_S) > 0
    assert 2.06 < resets(run, "b")[0] < 2.13
    assert rate_bps(run, "a", 4, 6) == pytest.approx(A_BPS, rel=0.01)
    seen = {tuple(address) for address in run.server.subflow["remote_addr"]}
    assert seen == {(10, 0, 1, 1), (10, 0, 2, 100)}


@pytest.mark.parametrize("timeout_s", [3, 5])
def test_an_idle_mapping_is_forgotten(run_here: RunHere, timeout_s: int) -> None:
    """Blocks of 8 KB every 4 s, which `default` sends over the path with the shorter queue, a. A
    mapping without packets for 3 s is gone: a RST, and the blocks arrive over b.
    """
    run = run_here(
        f"{PATHS[0]},nat_timeout={timeout_s}s",
        PATHS[1],
        event=("before:b:backup",),
        workload="cbr:size=8KB,interval=4s,duration=16s,warmup=0s",
    )
    arrived = {path: received_bytes(run, path, 16) // 8000 for path in "ab"}
    assert arrived == ({"a": 1, "b": 3} if timeout_s == 3 else {"a": 4, "b": 0})


def test_a_router_that_reboots(run_here: RunHere) -> None:
    """Down from 2 to 3 s like any path, and then without its mappings."""
    second, down = f"{PATHS[1]},nat_timeout=300s", {"duration": "8s", "warmup": "0s"}
    run = run_here(PATHS[0], second, event=("2s:b:reboot,lasts=1s",), pcap=True, **down)
    assert received_bytes(run, "b", 8) == received_bytes(run, "b", 2 + ON_ITS_WAY_S) > 0
    # TCP's timer doubles from at most 0.4 s: it expires once within a second of the return
    assert 3.06 < resets(run, "b")[0] < 4.1
    without = run_here(event=("2s:b:reboot,lasts=1s",), **down)
    # full again, and before CUBIC's next loss, at 7.6 s with Linux 7.3: the receiver waits for it
    assert rate_bps(without, "b", 5, 7) == pytest.approx(B_BPS, rel=0.02)


def test_a_program_behind_a_nat(run_program: RunProgram) -> None:
    outcome = run_program(
        ["iperf3", "-c", "server", "-t", "1"],
        ["iperf3", "-s"],
        paths=("a:20mbit,10ms,nat_timeout=300s",),
    )
    assert "Accepted connection from 10.0.1.100, port" in output(outcome, run_files.SERVER_OUTPUT)


def test_the_same_events_send_the_same_bytes(run_here: RunHere) -> None:
    flags: dict[str, Any] = {
        "endpoints": "fullmesh",
        "event": (
            *("1s:b:renumber", "2s:a:remove,lasts=1s", "4s:b:lose,lasts=1s"),
            *("3s:c:rebind", "4s:c:change,up.middlebox=strip"),
        ),
        "duration": "6s",
        "pcap": True,
    }
    paths = (*PATHS, "c:10mbit,20ms,nat_timeout=60s")
    first, second = (run_here(*paths, **flags).outcome.directory for _ in range(2))
    names = sorted(each.name for each in first.iterdir() if each.suffix in (".samples", ".pcapng"))
    assert len(names) == 8
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_a_program_sees_the_endpoints_and_addresses(run_program: RunProgram) -> None:
    script = """
        for time in 1 2 2; do
            sleep $time
            ip mptcp endpoint show
            ip -4 -o addr show dev c2
        done
    """
    outcome = run_program(
        ["sh", "-c", script],
        endpoints="fullmesh",
        event=("2s:lte:renumber", "4s:wifi:remove"),
    )
    shown = re.findall(r"10\.0\.\d\.\d+(?: id \d.*\S)?", output(outcome))
    wifi = "10.0.1.1 id 1 subflow fullmesh dev c1"
    assert shown == [
        *(wifi, "10.0.2.1 id 2 subflow fullmesh dev c2", "10.0.2.1"),
        *(wifi, "10.0.2.2 id 2 subflow fullmesh dev c2", "10.0.2.2"),
        *("10.0.2.2 id 2 subflow fullmesh dev c2", "10.0.2.2"),
    ]
