# SPDX-License-Identifier: GPL-2.0-only
"""Paths that go down, come back, and close while the traffic runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.plan import plan
from tests import pcapng
from tests.vocabulary import RunScenario, scenario_of

PATHS = ("a:20mbit,10ms", "b:10mbit,30ms")
SCENARIO = scenario_of(*PATHS, duration="2s")


def run_with(lines: str, rig: Rig, directory: Path, *, before: str = "") -> engine.RunOutcome:
    """Run SCENARIO with more lines at the end of its plan, and others before its traffic."""
    text = plan.render(SCENARIO).replace("# traffic", f"{before}# traffic") + lines
    return engine.run(SCENARIO, text, replace(rig, limits=Limits(wall_s=60.0)), directory)


def test_nothing_gets_through_while_a_path_is_down(run_scenario: RunScenario) -> None:
    # What was on its way at 3 s still arrives: 58 packets of queue (its default here) leave a link
    # of 10 Mbit/s within 58 x 1514 x 8 / 10^7 = 70 ms, and take 30 ms more.
    run = run_scenario(*PATHS, event=("3s:b:down", "6s:b:up"), duration="15s", warmup="0s")
    assert run.received_bytes("b", 2.9) > run.received_bytes("b", 2.0) > 0
    assert run.received_bytes("b", 6.0) == run.received_bytes("b", 3.1)
    # The path is tried again when its retransmission timer expires, which doubles each time: from
    # 0.4 s at most (60 ms of delay, 70 ms of queue, 200 ms) at 3.5, 4.3, 5.9 and 9.1 s.
    assert run.received_bytes("b", 15.0) > run.received_bytes("b", 9.5)
    # every byte is verified by the sink, and the other path does not stand still
    assert run.received_bytes("a", 6.0) > run.received_bytes("a", 5.0)


@pytest.mark.parametrize("scheduler", ["minrtt", "default"])
@pytest.mark.parametrize("path", ["a", "b"])
def test_a_backup_carries_nothing_while_the_other_path_is_there(
    run_scenario: RunScenario, path: str, scheduler: str
) -> None:
    run = run_scenario(
        *PATHS,
        scheduler=scheduler,
        event=(f"2s:{path}:backup,lasts=3s",),
        duration="8s",
        warmup="0s",
    )
    # what was queued when the client was told, in the socket (1 MB at most, 0.8 s on the slower
    # path) and at the router, still arrives
    assert run.received_bytes(path, 2.0) > run.received_bytes(path, 1.0) > 0
    assert run.received_bytes(path, 5.0) == run.received_bytes(path, 3.2)
    assert run.received_bytes(path, 8.0) > run.received_bytes(path, 5.5)
    other = "ab".replace(path, "")
    assert run.received_bytes(other, 5.0) > run.received_bytes(other, 3.2)


def test_an_event_happens_at_its_time(rig: Rig, tmp_path: Path) -> None:
    """A new endpoint of the client joins at once: its SYN leaves when the event happens."""
    outcome = run_with(
        "at 1s ip -n client mptcp limits set subflow 4 add_addr_accepted 4\n"
        "at 1s ip -n client mptcp endpoint add 10.0.2.1 dev c2 subflow\n",
        rig,
        tmp_path,
        before="ip netns exec router2 capture b.pcapng\n",
    )
    capture = pcapng.read(tmp_path / "b.pcapng")["rc2"]
    due = outcome.guest["start_ns"] + 10**9
    # to 10.1.1.1, which is not on this path, and with the SYN flag
    joins = [
        int(time_ns) - due
        for time_ns, header in zip(capture.time_ns, capture.headers, strict=True)
        if header[30:34] == bytes([10, 1, 1, 1]) and header[47] & 2
    ]
    # a process that reads the clock moves it by 256 ns; two commands read it a few times
    assert 0 <= joins[0] < 20 * 256


def test_events_after_the_end_of_the_traffic_do_not_happen(rig: Rig, tmp_path: Path) -> None:
    lines = "at 100s tc -n router1 qdisc change dev nosuch root netem limit 9 loss 1%\n"
    run_with(lines, rig, tmp_path)


@pytest.mark.parametrize("good", [0, 3])
def test_an_event_that_fails_ends_the_run_with_its_line(
    rig: Rig, tmp_path: Path, good: int
) -> None:
    before = "at 1s tc -n router1 qdisc change dev rs1 root netem limit 9 loss 1%\n" * good
    before += "at 1s tc -n router2 qdisc change dev rs2 root netem limit 9 loss 1%\n"
    number = plan.render(SCENARIO).count("\n") + before.count("\n") + 2
    wrong = "at 2s tc -n router1 qdisc change dev nosuch root netem limit 9 loss 1%\n"
    with pytest.raises(RunError) as failed:
        run_with(f"# events\n{before}{wrong}", rig, tmp_path)
    reason = f"{wrong.removeprefix('at 2s ').strip()}: there is no device nosuch"
    assert failed.value.reason == f"plan line {number}: {reason}"


ONLY = "only ip, tc, sysctl, nft and conntrack run at a time"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("at noon ip netns\n", "at noon: a time such as 3s or 1500ms is expected"),
        ("at 1s\n", "after the traffic, at TIME COMMAND is expected"),
        ("sync\n", "after the traffic, at TIME COMMAND is expected"),
        ("at 1s rm -r /\n", f"rm -r /: {ONLY}"),
        ("at 1s insmod x.ko\n", f"insmod x.ko: {ONLY}"),
    ],
)
def test_an_event_that_cannot_be_read_ends_the_run_with_its_line(
    rig: Rig, tmp_path: Path, lines: str, reason: str
) -> None:
    number = plan.render(SCENARIO).count("\n") + 1
    with pytest.raises(RunError) as failed:
        run_with(lines, rig, tmp_path)
    assert failed.value.reason == f"plan line {number}: {reason}"


def test_events_out_of_order_end_the_run_with_the_line(rig: Rig, tmp_path: Path) -> None:
    lines = "at 2s ip -n client link set c1 up\nat 1999ms ip -n client link set c1 up\n"
    with pytest.raises(RunError, match="at 1999ms is earlier than the line before"):
        run_with(lines, rig, tmp_path)


def test_a_parameter_changes_while_a_connection_lives(run_scenario: RunScenario) -> None:
    # 5 Mbit/s fit into either path; its place in the order decides
    run = run_scenario(
        *("a:20mbit,10ms", "b:20mbit,10ms"),
        scheduler="overflow:place2=1",
        workload="cbr:size=10KB,rate=5mbit",
        duration="4s",
        event=("2s:parameter=overflow.place1:2",),
    )
    # a message each 16 ms; the windows have grown by 0.5 s, and again by 2.5 s
    for since_s, until_s, used, idle in ((0.5, 2.0, "a", "b"), (2.5, 4.0, "b", "a")):
        assert run.rate_bps(idle, since_s, until_s) == 0
        assert run.rate_bps(used, since_s, until_s) == pytest.approx(5e6, rel=0.02)
