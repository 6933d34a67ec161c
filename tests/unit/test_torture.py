# SPDX-License-Identifier: GPL-2.0-only
"""What cases of trouble are drawn, and how what their connections have seen is judged."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from checks import torture, troubles
from checks.torture import Verdict, Wanted, command, judge, table
from checks.troubles import TROUBLES, Connection, End, TortureCase, case
from mptcplab import resources
from mptcplab.lab import kernel
from mptcplab.scenario import congestion

SEEDS = range(1, 80)


@cache
def drawn(seed: int, without: str | None = None) -> TortureCase:
    return case(seed, "minrtt", "cubic", without=[without] if without else [])


def test_a_seed_is_one_case() -> None:
    for seed in (1, 2, 3):
        again = case(seed, "minrtt", "cubic")
        assert again == drawn(seed)
        assert again.plan("/program") == drawn(seed).plan("/program")
    assert len({drawn(seed).input() for seed in SEEDS}) == len(SEEDS)
    # the troubles do not hang on scheduler and congestion control
    for seed in SEEDS[:20]:
        one, other = drawn(seed), case(seed, "daps", "olia")
        assert (one.events, one.connections) == (other.events, other.connections)
        assert one.flags.path == other.flags.path
    # each pair comes once in a round
    schedulers, ccs = kernel.schedulers(), congestion.names()
    wanted = Wanted(range(len(schedulers) * len(ccs)), schedulers, ccs)
    assert len({wanted.pair(seed) for seed in wanted.seeds}) == len(schedulers) * len(ccs)
    # ends take no longer than the bound allows
    for seed in SEEDS:
        one = drawn(seed)
        # 12 connections, 2 directions: what BOUND_US is derived from
        assert sum(c.client.bytes + c.server.bytes for c in one.connections) <= 24 * 200_000
        for connection in one.connections:
            for end in (connection.client, connection.server):
                assert end.send_buffer == end.receive_buffer == 0 or end.bytes <= 20_000
        # 8 s of troubles or 20 s more, and three times 10 s of slow ends
        assert one.calm_us <= (8 + 22 + 3 * 10 + 5) * 10**6


def test_every_trouble_comes_and_none_in_every_case() -> None:
    cases = [drawn(seed) for seed in SEEDS]
    for name, (chance, _) in TROUBLES.items():
        count = sum(name in one.troubles for one in cases)
        # binomial: within five standard deviations
        spread = 5 * (len(cases) * chance * (1 - chance)) ** 0.5
        assert abs(count - len(cases) * chance) < spread, name


@pytest.mark.parametrize("name", TROUBLES)
def test_one_that_is_left_out_changes_nothing_of_the_others(name: str) -> None:
    found = [seed for seed in SEEDS if name in drawn(seed).troubles][:3]
    assert found
    if name in ("endpoints", "client endpoints"):
        # these take one of eight paths
        found = [seed for seed in found if "eight paths" not in drawn(seed).troubles]
    for seed in found:
        whole, less = drawn(seed), drawn(seed, name)
        assert less.troubles == tuple(other for other in whole.troubles if other != name)
        assert [c.path for c in less.connections] == [c.path for c in whole.connections] or (
            name == "eight paths"
        )
        if name not in ("eight paths", "outage"):
            # these decide how many paths there are, and how long all lasts
            assert [c.at_us for c in less.connections] == [c.at_us for c in whole.connections]


def test_single_connections_are_those_of_the_whole() -> None:
    whole = next(one for one in map(drawn, SEEDS) if len(one.connections) > 3)
    part = case(whole.seed, "minrtt", "cubic", only=[3, 1])
    assert part.connections == (whole.connections[0], whole.connections[2])
    assert part.events == whole.events


def test_the_command_repeats_the_case() -> None:
    wanted = Wanted(range(31, 41), kernel.schedulers(), congestion.names(), ("losses",), (2,))
    for one in wanted.cases():
        scheduler = one.scheduler.split(":")[0]
        again = Wanted(range(one.seed, one.seed + 1), (scheduler,), (one.cc,), ("losses",), (2,))
        assert list(again.cases()) == [one]
    assert command(one, wanted, "debug") == (
        f"make torture SEED=40 RUNS=1 VARIANT=debug SCHEDULER={scheduler} CC={one.cc}"
        """ TORTURE_ARGS="--without 'losses' --connection 2\""""
    )


# --- what is judged

PLAN = End(bytes=100)


def end(**changed: Any) -> dict[str, Any]:
    """One that has written 100 bytes, read 100, and closed."""
    whole: dict[str, Any] = {
        "there": 1,
        "connected": 1,
        "wrote": 100,
        "read": 100,
        "wrong_at": -1,
        "read_end": 1,
    }
    whole |= {"did": "shutdown", "closed": 1, "error": "", "error_of": "", "moved_us": 10}
    return whole | {"fell_back": 0} | changed


def open_end(*states: int, queued: int = 0, **changed: Any) -> dict[str, Any]:
    """One that still waits for the end of the other, with subflows in these states of TCP."""
    state = {"queued": queued, "tcp": [{"state": state} for state in states]}
    return end(closed=0, read=50, read_end=0, state=state, **changed)


def verdict(
    client: dict[str, Any], server: dict[str, Any], troubles: tuple[str, ...] = ()
) -> Verdict:
    one = replace(drawn(1), troubles=troubles, connections=(Connection(0, 1, PLAN, PLAN),))
    return judge(one, [{"connection": 1, "client": client, "server": server}])


def test_all_that_arrived_is_well() -> None:
    found = verdict(end(), end())
    assert (found.connections, found.aborted, found.verified_bytes) == (1, 0, 200)
    assert found.failures == []
    # a clean end with bytes missing is a loss
    found = verdict(end(), end(read=90))
    assert found.losses == ["connection 1 up: a clean end after 90 of 100 bytes (shutdown)"]
    found = verdict(end(read=0), end(fell_back=1))
    assert found.losses == [
        "connection 1 down: a clean end after 0 of 100 bytes (shutdown, fallback)"
    ]
    # an error at the writer alone does not excuse a loss
    found = verdict(end(error="ECONNRESET", error_of="read"), end(read=90))
    assert "its writer failed: ECONNRESET" in found.losses[0]
    assert "(abort)" in verdict(end(did="abort"), end(read=90)).losses[0]
    # who hears of an error has lost nothing silently
    found = verdict(end(did="abort"), end(read=90, read_end=0, error="ECONNRESET"))
    assert (found.failures, found.aborted) == ([], 1)
    found = verdict(end(did="abort"), end(read=90, read_end=1, error="EPIPE"))
    assert (found.failures, found.aborted) == ([], 1)
    # wrong bytes and too many are reported
    assert "the byte at 7 is wrong" in verdict(end(), end(wrong_at=7)).losses[0]
    assert "101 bytes were read" in verdict(end(), end(read=101)).losses[0]


def test_an_end_that_still_waits_has_stalled() -> None:
    assert len(verdict(end(), open_end(1)).stalls) == 1
    assert len(verdict(open_end(1, 7), open_end(1)).stalls) == 1
    assert "server not there" in verdict(end(), {**end(), "there": 0, "read_end": 0}).stalls[0]
    # not when its last subflow was taken away
    found = verdict(end(), open_end(7, 8), ("endpoints",))
    assert (found.stalls, found.cut_off) == ([], 1)
    # without such a trouble, or with a subflow, it is one
    assert verdict(end(), open_end(7, 8), ("losses",)).stalls
    assert verdict(end(), open_end(7, 1, queued=5), ("endpoints",)).stalls
    # nor when it only listens and the reset was lost
    for gone, why in ((end(did="abort"), ()), (end(), ("kills",)), (open_end(7), ("kills",))):
        found = verdict(gone, open_end(1), why)
        assert (found.stalls, found.cut_off) == ([], 1)
        assert verdict(gone, open_end(1, queued=5), why).stalls
    found = verdict(end(), open_end(1), ("handshake",))
    assert (found.stalls, found.cut_off) == ([], 1)
    assert verdict(open_end(1), open_end(1), ("handshake",)).stalls
    # a graceful end is repeated until it has arrived
    assert verdict(end(), open_end(1)).stalls
    assert verdict(open_end(1), open_end(1), ("kills",)).stalls
    # a client that gave up need not have come to the server
    lost = verdict(end(), end(there=0, connected=0, wrote=0, read=0, read_end=0, closed=0))
    assert "server not there" in lost.stalls[0]
    missing = end(there=0, connected=0, wrote=0, read=0, read_end=0, closed=0, did="")
    for gave_up in ({"did": "abort"}, {"error": "ETIMEDOUT"}, {"did": "close", "connected": 0}):
        client = end(wrote=0, read=0, read_end=0, **gave_up)
        assert verdict(client, missing).failures == []
    assert verdict(end(read=0, read_end=0), missing, ("kills",)).stalls == []


def test_the_table_has_the_sums() -> None:
    totals = {
        "a": Verdict(connections=3, aborted=1, verified_bytes=1_500_000, losses=["x"]),
        "b": Verdict(connections=2, cut_off=1, stalls=["y", "z"], reports=["r"]),
    }
    cells = [list(column.cells) for column in table(totals).columns]
    assert cells[:9] == [
        ["a", "b", "all"],
        ["1", "1", "2"],
        ["3", "2", "5"],
        ["1", "0", "1"],
        ["0", "1", "1"],
        ["1.5", "0.0", "1.5"],
        ["0", "2", "2"],
        ["1", "0", "1"],
        ["0", "1", "1"],
    ]


def test_bad_flags_fail(capsys: pytest.CaptureFixture[str]) -> None:
    for flags, said in (
        (["--scheduler", "minrt"], "--scheduler minrt: not known; accepted is default, "),
        (["--cc", "tahoe"], "--cc tahoe: not known; accepted is "),
        (["--runs", "0"], "0: a whole number from 1 to 1000000000 is expected"),
        (["--seed", "-1"], "expected"),
        (["--without", "rain"], "rain"),
    ):
        with pytest.raises(SystemExit) as ended:
            torture.main(flags)
        assert ended.value.code == 2
        assert said in capsys.readouterr().err


def test_numbers_of_acts_are_those_of_the_program() -> None:
    text = (resources.GUEST / "torture" / "connections.c").read_text()
    found = re.search(r"enum act \{(.*?)ACTS", text, re.DOTALL)
    assert found
    names = re.findall(r"ACT_(\w+),", found[1])
    assert [getattr(troubles, name) for name in names] == list(range(5))
