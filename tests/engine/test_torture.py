# SPDX-License-Identifier: GPL-2.0-only
"""Connections with troubles, on the real kernel: nothing is lost, wrong or stuck.

These are the first seeds of `make torture`, which goes on with more.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks import torture, troubles
from checks.many import Builds
from checks.torture import Wanted
from checks.troubles import Connection, End, TortureCase, case
from mptcplab import resources
from mptcplab.lab import guest as guest_module
from mptcplab.lab import kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.scenario import congestion


@pytest.fixture
def builds(lab_kernel: KernelBuild, lab_guest: Guest) -> Builds:
    return Builds(lab_kernel, lab_guest, guest_module.build(resources.GUEST / "torture"))


def calm(*connections: Connection) -> TortureCase:
    """No trouble but what the connections do themselves."""
    whole = case(1, "default", "cubic", without=list(troubles.TROUBLES))
    return replace(whole, connections=connections)


def test_what_the_ends_do_is_seen_by_the_others(builds: Builds, tmp_path: Path) -> None:
    """Of four connections the one that is aborted says so, and all others end with every byte."""
    plain = End(bytes=60_000)
    found = torture.perform(
        calm(
            Connection(0, 1, plain, plain),
            Connection(1000, 1, End(bytes=0), End(bytes=200_000, act=troubles.CLOSE)),
            Connection(
                2000,
                1,
                End(bytes=20_000, write_chunk=100, send_buffer=2048),
                End(bytes=1, read_chunk=100, read_gap=1000, receive_buffer=2048),
            ),
            Connection(
                3000, 1, End(bytes=10**9), End(bytes=0, act=troubles.ABORT_AT, act_at=1_000_000)
            ),
        ),
        builds,
        tmp_path,
    )
    assert found.failures == []
    assert (found.connections, found.aborted, found.cut_off) == (4, 1, 0)
    assert found.verified_bytes >= 2 * 60_000 + 200_000 + 20_001


def test_a_connection_that_does_not_go_on_is_a_stall(builds: Builds, tmp_path: Path) -> None:
    """Its path carries nothing from 100 ms after its begin on, and nothing makes up for that.

    It begins after 2 s: in the first milliseconds devices may not send yet, a SYN is lost, and the
    next one leaves after a second. 7.3 has carried out the plan so early, 6.12 has not.
    """
    begin_us, cut_ns = 2_000_000, 2_100_000_000
    made = calm(Connection(begin_us, 1, End(bytes=10_000_000), End(bytes=0)))
    cut = [
        (
            cut_ns,
            f"tc -n router1 qdisc change dev {device} root netem limit 100 rate 8bit loss 100%",
        )
        for device in ("rs1", "rc1")
    ]
    found = torture.perform(replace(made, events=tuple(cut)), builds, tmp_path)
    (stall,) = found.stalls
    assert "client open, wrote " in stall
    assert "server open, wrote 0 of 0" in stall


@pytest.mark.parametrize("scheduler", kernel.schedulers())
def test_nothing_is_lost_wrong_or_stuck(
    builds: Builds, tmp_path: Path, request: pytest.FixtureRequest, scheduler: str
) -> None:
    """Six seeds of each scheduler, of which each has a CC of its own; in the debug kernel one."""
    schedulers = kernel.schedulers()
    count = 1 if request.config.getoption("--kernel-variant") == "debug" else 6
    wanted = Wanted(range(1, count * len(schedulers) + 1), schedulers, congestion.names())
    failures = []
    for seed in wanted.seeds:
        name, cc = wanted.pair(seed)
        if name == scheduler:
            one = case(seed, name, cc)
            directory = tmp_path / str(seed)
            directory.mkdir()
            found = torture.perform(one, builds, directory)
            failures += [torture.command(one, wanted, builds.kernel.variant)] * bool(found.failures)
            failures += found.failures
    assert not failures


#: When a receive buffer becomes small, in ms after the connection, and to how many bytes (of 1, the
#: kernel makes 2304); with checksums or without. At 20 ms the window of the handshake is used.
SHRINKS = [
    (after_ms, size, checksums)
    for after_ms in (20, 100, 200)
    for size in (1, 4096)
    for checksums in (True, False)
]


@pytest.mark.parametrize("scheduler", kernel.schedulers())
def test_a_receive_buffer_that_becomes_small_stops_nothing(
    builds: Builds, tmp_path: Path, scheduler: str
) -> None:
    """In both directions, while more is in flight than it has room for.

    With checksums that may be a part of a mapping, which nobody can read until all is there; and
    windows that shrink below what was sent let both ends drop each other's packets.
    """
    whole = case(1, scheduler, "cubic", without=list(troubles.TROUBLES))
    paths = replace(whole.flags, path=("a:20mbit,10ms", "b:10mbit,25ms,loss=0.5%"))
    switch = [
        f"ip netns exec {host} sysctl -qw net.mptcp.checksum_enabled=1"
        for host in ("client", "server")
    ]
    failures = {}
    wanted = SHRINKS if scheduler == "default" else SHRINKS[::5]
    for after_ms, size, checksums in wanted:
        begin_us = 2_000_000
        end = End(bytes=300_000, shrink=size, shrink_at=begin_us + 1000 * after_ms)
        made = replace(
            whole,
            flags=paths,
            commands=tuple(switch) if checksums else (),
            connections=(Connection(begin_us, 1, end, end),),
        )
        directory = tmp_path / f"{after_ms}-{size}-{checksums}"
        directory.mkdir()
        found = torture.perform(made, builds, directory)
        if found.failures or found.verified_bytes != 2 * end.bytes:
            failures[after_ms, size, checksums] = found.failures
    assert not failures


#: Seeds beyond those above that once failed, and what of; also in `default` where it is upstream's.
FOUND = {
    "late data fills the buffer": (76, "musher", "balia"),
    "a window shrinks after the handshake": (710, "default", "reno"),
    "an ACK without DATA_ACK after a timeout": (418, "qaware", "cubic"),
    "the same, of another path and scheduler": (607, "roundrobin", "vegas"),
    "a loss without SACK": (693, "sttf", "cubic"),
    "an endpoint deleted before a fallback is known": (1486, "minrtt", "wvegas"),
    "a lost reset before MPTCP is confirmed": (3174, "default", "bbr"),
}


@pytest.mark.parametrize("found", FOUND)
def test_what_once_failed_does_not_come_back(builds: Builds, tmp_path: Path, found: str) -> None:
    seed, scheduler, cc = FOUND[found]
    later = ("shrinking buffers", "low water")  # the seeds are from before there were these
    one = case(seed, scheduler, cc, without=later)
    assert torture.perform(one, builds, tmp_path).failures == []
