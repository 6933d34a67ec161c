# SPDX-License-Identifier: GPL-2.0-only
"""A scheduler that keeps data from leaving, in many ways: none stops a connection, nor the kernel.

It is schedulers/obstinate.c, whose parameter says which way.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine
from mptcplab.lab.choices import Limits
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import overruled
from tests.vocabulary import RunScenario

SOURCE = Path(__file__).parent / "schedulers" / "obstinate.c"
PATHS = ("a:20mbit,10ms", "b:10mbit,25ms")
OUTAGE = ("1s:a:down", "2500ms:a:up")
#: The timer of the connection is 200 ms, or TCP's timeout of path a, 200 ms + 20 ms of SRTT + 4 ms
#: of rounding. It may expire twice before path a is known to be away; then what is sent on path b
#: waits for a third one at most, and takes a round trip of 50 ms, and is seen 10 ms later.
LONGEST_GAP_S = 3 * 0.224 + 0.050 + 0.010

#: Before, where new data is sent all the same, path b has to get rid of what is in flight there: a
#: round trip's worth, and a queue of 100 packets.
DRAIN_S = 0.050 + 100 * 1514 * 8 / 10e6


def ways() -> list[str]:
    (text,) = re.findall(r"enum way {(.*?)};", SOURCE.read_text(), re.DOTALL)
    return re.findall(r"^\t([A-Z_]+)", text, re.MULTILINE)


WAITS = ways()[: ways().index("CUT")]
HANGS = ("HANG", "HANG_ON_ACK")
FORCED = "next_segment() let nothing leave with nothing in flight"
#: What is said of some ways, beside that of those that wait.
SAID = {
    "mps_wake_at() or mps_halve_cwnd() had it asked again 1024 times": (
        *("WAKE_SOON", "WAKE_PAST", "CUT_AND_WAIT", "CUT"),
    ),
    # the last two, since a packet of a byte takes a KB of memory
    "next_segment() picked what makes no sense": (
        *("DISTRUST_IN_TURN", "NONSENSE", "DROP", "SAME_AGAIN", "BYTES_IN_TURN", "ONE_BYTE"),
    ),
    FORCED: (*WAITS, "LAST"),
    "get_subflow() named no usable path": ("NOWHERE", "UNUSABLE", "SPLIT"),
}


def obstinate(way: str) -> str:
    return f"{SOURCE}:way={ways().index(way)}"


@pytest.mark.parametrize("way", [way for way in ways() if way not in HANGS])
def test_no_way_keeps_data_from_leaving(run_scenario: RunScenario, way: str) -> None:
    # 2 KB a second, a byte at a time: what is written before the end has to leave, too. While it
    # does, nobody allocates who may wait, and KASAN keeps all that is freed.
    small = {"send_buffer": "64KiB"} if way == "ONE_BYTE" else {}
    run = run_scenario(*PATHS, scheduler=obstinate(way), event=OUTAGE, duration="4s", **small)
    metrics = run.figures.metrics
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    # a byte a packet: 10 packets an RTT carry less than a segment in any time
    gap_s = LONGEST_GAP_S + (DRAIN_S if way in ("NOWHERE", "UNUSABLE") else 0)
    assert way == "ONE_BYTE" or (metrics.longest_gap_s or 0) <= gap_s
    said = overruled.lines("obstinate", [metrics])
    if way in WAITS:
        # 4 s of waits of 200 ms and round trips; from the outage on, a wait is as long as the gap
        assert 4 / LONGEST_GAP_S <= (metrics.forced_picks or 0) <= 4 / 0.2
    expected = [text for text, those in SAID.items() if way in those]
    assert all(any(text in line for line in said) for text in expected)
    assert bool(said) == bool(expected)


def test_packets_of_a_byte_leave_memory_to_others(
    run_scenario: RunScenario, monkeypatch: pytest.MonkeyPatch, lab_kernel: KernelBuild
) -> None:
    """A KB of memory for each: 16 send buffers of 4 MB and more would be all of it."""
    if lab_kernel.variant == "debug":
        pytest.skip("KASAN needs more than a guest has here")
    monkeypatch.setattr(engine, "MEMORY_MIB", 96)
    run = run_scenario(
        *PATHS,
        scheduler=obstinate("ONE_BYTE"),
        event=OUTAGE,
        duration="4s",
        limits=Limits(wall_s=60),
    )
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]


@pytest.mark.parametrize("way", WAITS)
def test_nor_the_first_byte_on_the_only_path(run_scenario: RunScenario, way: str) -> None:
    """The peer has nothing to announce there: MPTCP is not confirmed before data arrives."""
    run = run_scenario(PATHS[0], scheduler=obstinate(way), duration="2s", limits=Limits(wall_s=60))
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    assert 2 / LONGEST_GAP_S <= (run.figures.metrics.forced_picks or 0) <= 2 / 0.2


def test_what_is_small_leaves_whole_in_parts(run_scenario: RunScenario) -> None:
    """Each request is the last that is written, and its response waits for the last byte of it.

    20 bytes, of each end, in packets of a byte: two windows of 10 or more, so two round trips of
    20 ms, with a delayed ACK of 40 ms in between, and 1 ms for what 60 packets take on the way.
    """
    run = run_scenario(
        PATHS[0],
        scheduler=obstinate("ONE_BYTE"),
        workload="requests:request=20B,response=20B,interval=500ms,random=false,no_delay=false",
        duration="4s",
        limits=Limits(wall_s=60),
    )
    metrics = run.figures.metrics
    assert metrics.completed == 7
    assert (metrics.completion_ms_max or 0) <= 2 * (2 * 20 + 40) + 1


@pytest.mark.parametrize(
    ("way", "hook"), [("HANG", "next_segment"), ("HANG_ON_ACK", "on_ack")], ids=HANGS
)
def test_a_hook_that_does_not_return_is_named(
    run_scenario: RunScenario, way: str, hook: str
) -> None:
    with pytest.raises(RunError) as caught:
        run_scenario(*PATHS, scheduler=obstinate(way), duration="2s", limits=Limits(wall_s=5))
    said = f"in the backtrace: obstinate_hang, called by obstinate_{hook} [obstinate]"
    assert said in caught.value.reason


def test_a_run_that_takes_too_long_says_what_its_scheduler_did(run_scenario: RunScenario) -> None:
    # 1 GB in segments of 1424 bytes, 200 ms each: 39 hours
    with pytest.raises(RunError) as caught:
        run_scenario(*PATHS, scheduler=obstinate("SLEEP"), size="1GB", limits=Limits(wall_s=5))
    assert re.search(
        rf"limit of 5 s; obstinate: {re.escape(FORCED)} \d+ times: a segment was sent for it\.",
        caught.value.reason,
    )
