# SPDX-License-Identifier: GPL-2.0-only
"""Programs that do not use TCP, or use it in a tunnel; and all addresses reach each other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.errors import InputError, RunError
from mptcplab.lab.engine import RunOutcome
from mptcplab.metrics.definitions import LinkFigures
from mptcplab.plan import plan
from mptcplab.runs import single
from mptcplab.scenario.workload import Program
from tests import pcapng
from tests.vocabulary import PROGRAM_PATHS, RunProgram, output, scenario_of, shell

TUNNEL = f"{sys.executable} {Path(__file__).parents[2] / 'examples' / 'tunnel.py'}"
TCP = 6
#: Answers each packet with its own content.
ECHO = """
import socket
server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
server.bind(("::", 4433))
while True:
    server.sendto(*server.recvfrom(2000))
"""
ASK = """
import socket
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(1)
client.sendto(b"hello", ("server", 4433))
print(client.recvfrom(99)[0].decode())
"""
#: Listens on one port at once, and on another after 5 s.
LATE = """
import socket, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("", 4000))
time.sleep(5)
other = socket.create_server(("", 5000))
time.sleep(600)
"""
#: Sends 1000 packets of 1400 bytes, one each ms, from an address to another.
SEND = """
import socket, sys, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.bind((sys.argv[1], 0))
for _ in range(1000):
    client.sendto(bytes(1400), (sys.argv[2], 9))
    time.sleep(1e-3)
"""
#: The same, each of which has its number.
NUMBERED = SEND.replace("bytes(1400)", "_.to_bytes(4, 'big') + bytes(1396)").replace(
    "socket.AF_INET,", "socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET,"
)
#: 50 times 20 packets of 1000 bytes, each time in one call, as programs of QUIC do.
TRAINS = """
import socket, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.setsockopt(socket.SOL_UDP, 103, 1000)  # UDP_SEGMENT
for _ in range(50):
    client.sendto(bytes(20 * 1000), ("10.1.1.1", 9))
    time.sleep(0.02)
"""
PROGRAM = Program(client=("any",), directory="/", time_limit_ns=None)


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def links_of(run: RunOutcome, *paths: str) -> dict[str, LinkFigures]:
    """The figures of each direction of each path, of whatever programs."""
    found = single.link_figures(scenario_of(*paths, program=PROGRAM), run)
    return {f"{link.name} {link.direction}": link for link in found}


def carried_bps(link: LinkFigures) -> float:
    assert link.carried_bps is not None
    return float(link.carried_bps)


def test_a_server_of_udp_counts_as_started(run_program: RunProgram) -> None:
    run = run_program(python(ASK), python(ECHO))
    assert output(run) == "hello\n"
    # it is there at once, and the client starts up to a second after the next whole one
    assert run.guest["start_ns"] < 3e9


def test_a_server_is_waited_for_on_the_port_that_is_named(run_program: RunProgram) -> None:
    early = run_program(["true"], python(LATE))
    named = run_program(["true"], python(LATE), listen="tcp:5000")
    assert early.guest["start_ns"] < 3e9
    assert 5e9 < named.guest["start_ns"] < 8e9
    with pytest.raises(RunError, match="did not listen on udp:5000 in 60 s of simulated time"):
        run_program(["true"], python(LATE), listen="udp:5000")


def test_each_address_of_the_client_reaches_each_of_the_server(run_program: RunProgram) -> None:
    # by the path of the client's address: 20 ms of round trip by the first, 60 by the second
    ping = "ping -c 1 -I 10.0.{i}.1 10.1.{j}.1 | grep -o 'time=[0-9]*'"
    script = "; ".join(ping.format(i=i, j=j) for i in (1, 2) for j in (1, 2))
    run = run_program(shell(script))
    assert output(run).split() == ["time=20", "time=20", "time=60", "time=60"]


def test_so_they_do_over_ipv6_and_shared_links(run_program: RunProgram) -> None:
    ping = "ping -c 1 -I fd00::a00:{i}01 fd00::a01:{j}01 | grep -o 'time=[0-9]*'"
    script = "; ".join(ping.format(i=i, j=j) for i in (1, 2) for j in (1, 2))
    paths = ("a:9mbit,10ms,ip=6", "b:link=k/l,delay=40ms,ip=both", "c:link=l,delay=7ms")
    links = ("l:9mbit,1ms", "k:9mbit,2ms")
    run = run_program(shell(script), paths=paths, link=links)
    # both ways of a path, and of the links behind it
    assert output(run).split() == ["time=20", "time=20", "time=86", "time=86"]


def test_links_have_figures_without_a_connection(run_program: RunProgram) -> None:
    run = run_program(python(SEND, "10.0.2.1", "10.1.1.1"))
    links = links_of(run, *PROGRAM_PATHS)
    # 1000 packets of 1400 bytes and 42 of headers, of which those of the last 30 ms, one each ms,
    # are still on their way at the end
    length_s = (run.guest["complete_ns"] - run.guest["start_ns"]) / 1e9
    packet_bps = 1442 * 8 / length_s
    assert (1000 - 31) * packet_bps < carried_bps(links["lte up"]) < 1000 * packet_bps
    assert links["lte up"].utilisation == pytest.approx(carried_bps(links["lte up"]) / 20e6)
    assert links["lte up"].queue_dropped_packets == links["lte up"].lost_packets == 0
    # what is answered where nobody listens: at most 590 bytes of ICMP for each packet
    assert carried_bps(links["lte down"]) < 590 * 8 * 1000
    assert carried_bps(links["wifi up"]) == carried_bps(links["wifi down"]) == 0


def test_packets_that_are_sent_in_one_call_are_lost_one_by_one(run_program: RunProgram) -> None:
    paths = ("a:50mbit,10ms,loss=10%", "b:50mbit,10ms")
    lost = links_of(run_program(python(TRAINS), paths=paths), *paths)["a up"].lost_packets
    # of 1000, 100 with a standard deviation of (1000 * 0.1 * 0.9)^0.5 = 9.5; as many as 50 in all
    # if each call counted as a packet
    assert lost is not None
    assert 70 <= lost <= 130


def test_a_tunnel_of_a_program_carries_tcp(run_program: RunProgram) -> None:
    path = "lte:20mbit,30ms"
    run = run_program(
        shell(f"{TUNNEL} 10.9.0.1/24 7000 server & sleep 1; exec iperf3 -c 10.9.0.2 -t 3"),
        shell(f"iperf3 -s & exec {TUNNEL} 10.9.0.2/24 7000"),
        paths=(path,),
        transport="tcp",
        listen="udp:7000",
        pcap=True,
    )
    assert "receiver" in output(run)
    # 3 of the 4 s; until the window fills the path, some round trips of 60 ms pass
    assert 0.5 * 20e6 < carried_bps(links_of(run, path)["lte up"]) < 20e6
    # all of it is in packets of UDP; what passes the tunnel's own device is not captured
    for file, device in ((plan.router_capture("lte"), "rc1"), (plan.CLIENT_CAPTURE, "c1")):
        capture = pcapng.read(run.directory / file)
        assert "tun0" not in capture
        assert TCP not in {frame[23] for frame in capture[device].headers}


@pytest.mark.parametrize("ip", ["4", "6"])
def test_flows_have_figures_by_the_captures_of_both_ends(run_program: RunProgram, ip: str) -> None:
    paths = ("wifi:50mbit,10ms", f"lte:20mbit,30ms,ip={ip}")
    ends = {"4": ("10.0.2.1", "10.1.2.1"), "6": ("fd00::a00:201", "fd00::a01:201")}[ip]
    event = ("200ms:lte:down,lasts=100ms",)
    flags = {"paths": paths, "event": event, "pcap": True}
    run = run_program(python(NUMBERED, *ends), **flags)
    scenario = scenario_of(*paths, event=event, pcap=True, program=PROGRAM)
    (up,) = single.udp_figures(scenario, run)
    assert (up.path, up.direction, up.packets, up.payload_bytes) == ("lte", "up", 1000, 1_400_000)
    # 30 ms, and what 14 + 20 or 40 + 8 + 1400 bytes take at 20 Mbit/s
    wire_bytes = 1400 + 8 + 14 + {"4": 20, "6": 40}[ip]
    assert up.delay_ms_min == pytest.approx(30 + 8 * wire_bytes / 20e3, abs=1e-3)
    assert up.delay_ms_max == up.delay_ms_median == up.delay_ms_p95 == up.delay_ms_min
    # one each ms, and reading the clock takes less than a thousandth of that
    assert up.lost_packets == links_of(run, *paths)["lte up"].lost_packets
    assert up.lost_packets == pytest.approx(100, abs=1)
    assert (up.arrived_packets or 0) + (up.lost_packets or 0) == 1000
    assert (up.pending_packets, up.alike_packets, up.reordered_packets, up.share) == (0, 0, 0, 1)
    # from the first to the last that arrives: 999 ms
    assert up.payload_bps == pytest.approx(1400 * 8 * 900 / 0.999, rel=0.003)


def test_captures_that_a_program_has_destroyed_have_no_figures(run_program: RunProgram) -> None:
    run = run_program(python(NUMBERED, "10.0.1.1", "10.1.1.1"), pcap=True)
    scenario = scenario_of(*PROGRAM_PATHS, pcap=True, program=PROGRAM)
    assert len(single.udp_figures(scenario, run)) == 1
    (run.directory / plan.CLIENT_CAPTURE).write_bytes(b"no capture")
    with pytest.raises(InputError, match="not a capture"):
        single.udp_figures(scenario, run)
