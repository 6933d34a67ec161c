# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the current kernel that hold with the out-of-tree MPTCP, too, where somebody has built
it: programs of the host, IPv6, exact losses, NAT and middleboxes.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mptcplab.capture import dissect
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from tests import vocabulary
from tests.engine.test_client_paths import (
    A_BPS,
    B_BPS,
    ON_ITS_WAY_S,
    PATHS,
    RunHere,
    rate_bps,
    received_bytes,
    test_a_first_path_without_options_leaves_plain_tcp,
    test_a_nat_that_forgets,
    test_a_path_that_is_dead_before_the_first_connection,
    test_a_program_behind_a_nat,
    test_a_router_that_reboots,
    test_joins_without_their_options,
    test_packets_with_options_that_are_lost,
)
from tests.engine.test_exec import (
    FETCH,
    SIZE_BYTES,
    nginx,
    seconds,
    served,
    test_a_program_that_never_ends_is_ended_in_virtual_time,
    test_a_program_that_spins_is_named,
    test_a_program_that_the_kernel_cannot_run,
    test_a_program_that_waits_for_the_time_of_a_tick_comes_to_an_end,
    test_a_program_that_writes_without_end_is_stopped,
    test_a_server_that_becomes_a_daemon_is_waited_for_and_ended,
    test_a_server_that_does_not_listen,
    test_iperf3_gets_more_than_the_faster_path_has,
    test_nothing_that_is_written_reaches_the_host,
    test_output_and_status_are_the_programs,
    test_programs_find_a_host_each_and_the_host_s_files,
    test_the_same_programs_give_the_same_records,
    test_vector_registers_survive_all_that_stops_a_process,
    test_words_arrive_as_they_are,
)
from tests.engine.test_exec_udp import (
    test_a_server_is_waited_for_on_the_port_that_is_named,
    test_a_server_of_udp_counts_as_started,
    test_a_tunnel_of_a_program_carries_tcp,
    test_flows_have_figures_by_the_captures_of_both_ends,
    test_packets_that_are_sent_in_one_call_are_lost_one_by_one,
)
from tests.engine.test_ipv6 import (
    BOTH,
    SIX,
    A,
    B,
    test_a_link_is_shared_by_both_versions,
    test_goodput_differs_by_the_longer_header,
    test_packets_are_lost_by_their_number,
)
from tests.engine.test_links import (
    test_acks_are_lost_by_their_number,
    test_exactly_those_packets_are_lost_that_are_named,
)
from tests.engine.test_out_of_tree import v095
from tests.vocabulary import PROGRAM_PATHS, RunProgram, RunScenario, output, shell

__all__ = [
    "served",
    "test_a_first_path_without_options_leaves_plain_tcp",
    "test_a_link_is_shared_by_both_versions",
    "test_a_nat_that_forgets",
    "test_a_path_that_is_dead_before_the_first_connection",
    "test_a_program_behind_a_nat",
    "test_a_program_that_never_ends_is_ended_in_virtual_time",
    "test_a_program_that_spins_is_named",
    "test_a_program_that_the_kernel_cannot_run",
    "test_a_program_that_waits_for_the_time_of_a_tick_comes_to_an_end",
    "test_a_program_that_writes_without_end_is_stopped",
    "test_a_router_that_reboots",
    "test_a_server_is_waited_for_on_the_port_that_is_named",
    "test_a_server_of_udp_counts_as_started",
    "test_a_server_that_becomes_a_daemon_is_waited_for_and_ended",
    "test_a_server_that_does_not_listen",
    "test_a_tunnel_of_a_program_carries_tcp",
    "test_acks_are_lost_by_their_number",
    "test_exactly_those_packets_are_lost_that_are_named",
    "test_flows_have_figures_by_the_captures_of_both_ends",
    "test_goodput_differs_by_the_longer_header",
    "test_iperf3_gets_more_than_the_faster_path_has",
    "test_joins_without_their_options",
    "test_nothing_that_is_written_reaches_the_host",
    "test_output_and_status_are_the_programs",
    "test_packets_are_lost_by_their_number",
    "test_packets_that_are_sent_in_one_call_are_lost_one_by_one",
    "test_packets_with_options_that_are_lost",
    "test_programs_find_a_host_each_and_the_host_s_files",
    "test_the_same_programs_give_the_same_records",
    "test_vector_registers_survive_all_that_stops_a_process",
    "test_words_arrive_as_they_are",
    "v095",
]


@pytest.fixture
def lab_kernel(v095: KernelBuild) -> KernelBuild:
    return v095


@pytest.fixture
def run_program(run_program: RunProgram) -> RunProgram:
    return with_minrtt(run_program)


@pytest.fixture
def run_scenario(run_scenario: RunScenario) -> RunScenario:
    return with_minrtt(run_scenario)


@pytest.fixture
def run_here(run_scenario: RunScenario) -> RunHere:
    return lambda *paths, **flags: run_scenario(*(paths or PATHS), **flags)


def with_minrtt(run: Callable[..., Any]) -> Callable[..., Any]:
    """With a scheduler that this kernel has."""

    @functools.wraps(run)
    def runs(*words: Any, **flags: Any) -> Any:
        if flags.get("transport") != "tcp":
            flags.setdefault("scheduler", "minrtt")
        return run(*words, **flags)

    return runs


@pytest.mark.parametrize("key", [SIX, BOTH])
def test_paths_are_filled_over_ipv6(run_scenario: RunScenario, key: str) -> None:
    """With addresses of both versions, a path has subflows of both."""
    run = run_scenario(f"{A}{key}", f"{B}{key}", duration="10s", pcap=True)
    # of 1514 bytes, 1408 are data; over IPv4 1428
    least, most = (100e6 * payload / 1514 for payload in (1408, 1428))
    assert 0.97 * least < run.goodput_bps < (1.002 * least if key == SIX else most)
    for number, path in enumerate("ab", 1):
        four = {f"10.0.{number}.1", f"10.1.{number}.1"}
        six = {f"fd00::a00:{number}01", f"fd00::a01:{number}01"}
        # beside SYNs between paths, which routers reject
        tracks = dissect.read([run.outcome.directory / plan.router_capture(path)]).tracks
        found = {end.address for track in tracks for end in (track.a, track.b)}
        assert found >= (six if key == SIX else four | six)
        assert (key == BOTH) == any("." in address for address in found)


@pytest.mark.parametrize("path", ["a", "b"])
@pytest.mark.parametrize("event", ["backup", "close", "remove"])
def test_an_endpoint_changes_half_a_second_later(run_here: RunHere, event: str, path: str) -> None:
    """The path manager collects changes for as long. Then it acts at once."""
    mesh = {"endpoints": "fullmesh"} if event == "remove" else {}
    run = run_here(event=(f"2s:{path}:{event},lasts=3s",), duration="9s", warmup="0s", **mesh)
    assert received_bytes(run, path, 2) < received_bytes(run, path, 2.5)
    assert received_bytes(run, path, 5.5) == received_bytes(run, path, 2.5 + ON_ITS_WAY_S)
    rates = {"a": A_BPS, "b": B_BPS}
    other = "b" if path == "a" else "a"
    assert rate_bps(run, other, 3, 5) == pytest.approx(rates[other], rel=0.03)
    # there again, and out of slow start
    assert rate_bps(run, path, 7, 9) == pytest.approx(rates[path], rel=0.05)


@pytest.mark.parametrize("scheduler", ["minrtt", "blest", "ecf", "redundant"])
def test_a_backup_is_used_while_nothing_else_is(run_here: RunHere, scheduler: str) -> None:
    event = ("before:b:backup", "2s:a:down,lasts=2s")
    run = run_here(event=event, scheduler=scheduler, duration="8s", warmup="0s")
    assert received_bytes(run, "b", 2) == 0
    assert rate_bps(run, "b", 3, 4) == pytest.approx(B_BPS, rel=0.15)
    # TCP tries the path again within a second or two of its return
    assert rate_bps(run, "b", 7, 8) == 0
    assert rate_bps(run, "a", 7, 8) == pytest.approx(A_BPS, rel=0.05)


def test_curl_fetches_from_nginx_over_both_paths(run_program: RunProgram, served: Path) -> None:
    """The records end with the last sample before the connection, which is gone at once."""
    run = run_program(shell(FETCH), nginx(served))
    assert output(run) == hashlib.sha256(served.read_bytes()).hexdigest() + "  -\n"
    # two paths of 50 and 20 Mbit/s, with 1428 of 1514 bytes of data, fill in some round trips
    least_s = 8 * SIZE_BYTES / 70e6 / (1428 / 1514)
    assert least_s < seconds(run) < 1.2 * least_s
    arrived = sum(vocabulary.received_bytes(run, run_files.CLIENT_SAMPLES))
    assert SIZE_BYTES - 70e6 / 8 * 0.01 < arrived <= SIZE_BYTES


def test_plain_tcp_is_left_plain(run_program: RunProgram, served: Path) -> None:
    script = f"{FETCH}; wc -l < /proc/net/mptcp_net/mptcp; nstat -az TcpActiveOpens | tail -1"
    run = run_program(shell(script), nginx(served), paths=PROGRAM_PATHS[:1], transport="tcp")
    digest, _, opened = output(run).splitlines()
    assert digest == hashlib.sha256(served.read_bytes()).hexdigest() + "  -"
    assert opened.split()[:2] == ["TcpActiveOpens", "1"]


def test_tools_that_look_at_the_network_work(run_program: RunProgram, served: Path) -> None:
    script = """
    tcpdump -i c1 -c 3 -w packets tcp 2>/dev/null & tcpdump=$!
    sleep 0.1; curl -sS -o got http://server:8080/file & sleep 1
    echo "tcpdump $(wait $tcpdump; tcpdump -r packets 2>/dev/null | wc -l)"
    echo "connections $(tail -n +2 /proc/net/mptcp_net/mptcp | wc -l)"
    echo "subflows $(ss -Htn state established | wc -l)"
    grep MPCapableSYNTX /proc/net/mptcp_net/snmp
    router2 tc -s qdisc show dev rc2 | grep -c 'netem.*rate 20Mbit'
    ping -c 2 server | grep -c time=
    wait %2; cmp got file && echo got
    """
    run = run_program(["bash"], nginx(served), script=script)
    assert [" ".join(line.split()) for line in output(run).splitlines()] == [
        *("tcpdump 3", "connections 1", "subflows 2", "MPCapableSYNTX 1", "1", "2", "got")
    ]
