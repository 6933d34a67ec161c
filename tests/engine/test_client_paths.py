# SPDX-License-Identifier: GPL-2.0-only
"""The client's side of path management: its endpoints, its addresses, and dead first paths.

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
from mptcplab.metrics import records
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


def test_the_same_events_send_the_same_bytes(run_here: RunHere) -> None:
    flags: dict[str, Any] = {
        "endpoints": "fullmesh",
        "event": ("1s:b:renumber", "2s:a:remove,lasts=1s", "4s:b:lose,lasts=1s"),
        "duration": "6s",
        "pcap": True,
    }
    first, second = (run_here(**flags).outcome.directory for _ in range(2))
    names = sorted(each.name for each in first.iterdir() if each.suffix in (".samples", ".pcapng"))
    assert len(names) == 7
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
