# SPDX-License-Identifier: GPL-2.0-only
"""Reports of kernels with several CPUs: which there are, and whose they are. Nothing is booted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from checks.kernel_reports import Frame, parse
from checks.smp import __main__ as command
from checks.smp import runs, smp_kernel, smp_machine
from checks.smp.blame import Found, Place, Whose, judge
from checks.smp.runs import Machine, Result, SmpJob
from checks.smp.smp_kernel import SmpKernel, touched_lines
from mptcplab.lab import kernel, stock_machine
from mptcplab.lab.guest import Guest

RULE = "=" * 66


def said(*lines: tuple[str, str]) -> str:
    """A console: who says which line."""
    return "".join(f"[    1.{n:06}][ {who:>5}] {text}\r\n" for n, (who, text) in enumerate(lines))


def console(lines: Iterable[str]) -> str:
    """One where a single task says everything."""
    return said(*(("T61", line) for line in lines))


RACE = (
    RULE,
    "BUG: KCSAN: data-race in mps_snapshot / tcp_ack",
    "",
    "write to 0xffff888004b3a6e8 of 4 bytes by interrupt on cpu 1:",
    " tcp_ack+0x3f2/0x2b40",
    " tcp_rcv_established+0x5b1/0xd60",
    "",
    "read to 0xffff888004b3a6e8 of 4 bytes by task 61 on cpu 2:",
    " mps_snapshot+0x1c4/0x460",
    " mps_refresh+0x2e0/0x7d0",
    "",
    "value changed: 0x00000003 -> 0x00000002",
    "",
    "Reported by Kernel Sanitizers on:",
    "CPU: 2 UID: 0 PID: 61 Comm: connections Not tainted 6.12.117 #1",
    RULE,
)
KASAN = (
    RULE,
    "BUG: KASAN: slab-use-after-free in enqueue_hrtimer+0x5c/0x1e0",
    "Read of size 8 at addr ffff888005f21218 by task connections/63",
    "",
    "CPU: 0 UID: 0 PID: 63 Comm: connections Not tainted 6.12.117 #1",
    "Call Trace:",
    " <TASK>",
    " dump_stack_lvl+0x55/0x70",
    " ? __pfx_mps_wake+0x10/0x10",
    " enqueue_hrtimer+0x5c/0x1e0",
    " mps_wake_at+0x31/0x60",
    " </TASK>",
    "",
    "Allocated by task 63:",
    " kasan_save_stack+0x24/0x50",
    RULE,
)
LOCKS = (
    "WARNING: possible circular locking dependency detected",
    "6.12.117 #1 Not tainted",
    "------------------------------------------------------",
    "connections/61 is trying to acquire lock:",
    "ffff888004 (slock-AF_INET){+.-.}-{2:2}, at: mptcp_close+0x10/0x80",
    "stack backtrace:",
    "Call Trace:",
    " lock_acquire+0xc2/0x2c0",
    " mptcp_close+0x10/0x80",
)


def test_a_race_has_the_stacks_of_its_two_accesses() -> None:
    (race,) = parse(console(RACE))
    assert race.is_race
    assert race.title == "BUG: KCSAN: data-race in mps_snapshot / tcp_ack"
    assert race.stacks == (
        (Frame("tcp_ack", 0x3F2, 0x2B40), Frame("tcp_rcv_established", 0x5B1, 0xD60)),
        (Frame("mps_snapshot", 0x1C4, 0x460), Frame("mps_refresh", 0x2E0, 0x7D0)),
    )


def test_reports_of_several_cpus_are_told_apart() -> None:
    # each a line in turn
    lines = []
    for number in range(max(len(RACE), len(KASAN))):
        lines += [("T61", line) for line in RACE[number : number + 1]]
        lines += [("C0", line) for line in KASAN[number : number + 1]]
    race, other = parse(said(*lines))
    assert len(race.stacks) == 2
    assert not other.is_race
    assert [frame.function for frame in other.stacks[0][:3]] == [
        *("dump_stack_lvl", "enqueue_hrtimer", "mps_wake_at")
    ]


@pytest.mark.parametrize("text", [RACE, KASAN, LOCKS])
def test_one_report_after_the_other(text: tuple[str, ...]) -> None:
    both = parse(console((*text, "", *text)))
    assert [each.title for each in both] == [both[0].title] * 2


def test_what_a_kernel_says_otherwise_is_no_report() -> None:
    lines = ("Linux version 6.12.117", "mptcplab: connecting", "rcu: Hierarchical RCU", RULE)
    assert parse(console(lines)) == []
    assert parse("SeaBIOS\nBooting from ROM..\n") == []


# whose it is


def places(**given: tuple[str, int]) -> dict[Frame, tuple[Place, ...]]:
    """The places of all frames above: in TCP, but for those given."""
    found: dict[Frame, tuple[Place, ...]] = {}
    for text in (RACE, KASAN, LOCKS):
        for report in parse(console(text)):
            for stack in report.stacks:
                for frame in stack:
                    where = given.get(frame.function, ("net/ipv4/tcp_input.c", 1))
                    found[frame] = (Place(frame.function, *where),)
    return found


OURS = ("net/mptcp/lab/view.c", 200)


@pytest.mark.parametrize(
    ("text", "ours", "whose"),
    [
        (RACE, {"mps_snapshot": OURS}, Whose.OURS),
        (RACE, {"tcp_ack": OURS}, Whose.OURS),
        # what was called for us
        (RACE, {"mps_refresh": OURS}, Whose.BELOW),
        (RACE, {"tcp_rcv_established": OURS}, Whose.BELOW),
        (RACE, {}, Whose.OTHER),
        # a line that is ours by a patch, and the next one, which is not
        (RACE, {"tcp_ack": ("net/mptcp/options.c", 7)}, Whose.OURS),
        (RACE, {"tcp_ack": ("net/mptcp/options.c", 8)}, Whose.OTHER),
        # elsewhere, the innermost place is where the kernel notices
        (KASAN, {"mps_wake_at": OURS}, Whose.OURS),
        (KASAN, {}, Whose.OTHER),
        (LOCKS, {"mptcp_close": OURS}, Whose.OURS),
    ],
)
def test_a_report_is_ours_by_the_places_of_its_accesses(
    text: tuple[str, ...], ours: dict[str, tuple[str, int]], whose: Whose
) -> None:
    (report,) = parse(console(text))
    blamed = judge(report, places(**ours), {"net/mptcp/options.c": [7]})
    assert blamed.whose == whose
    if text is RACE:
        assert blamed.about == "mps_snapshot / tcp_ack"


def test_a_function_that_was_put_into_another_counts() -> None:
    (report,) = parse(console(RACE))
    lines = places()
    (top,) = (frame for frame in lines if frame.function == "tcp_ack")
    lines[top] = (Place("mptcp_mps", "net/mptcp/lab/framework.h", 3), *lines[top])
    assert judge(report, lines, {}).whose == Whose.OURS


def test_the_lines_that_patches_touch(tmp_path: Path) -> None:
    for directory, text in (("originals", "a\nb\nc\n"), ("src", "a\nnew\nb\nC\nlast\n")):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "one.c").write_text(text)
    (tmp_path / "src" / "two.c").write_text("x\ny\n")
    (tmp_path / "patched.json").write_text(json.dumps({"one.c": True, "two.c": False}))
    assert touched_lines(tmp_path) == {"one.c": [2, 4, 5], "two.c": [1, 2]}


# runs


@pytest.fixture(name="machine")
def _machine(tmp_path: Path) -> Machine:
    built = SmpKernel(
        "0" * 12, "kcsan", "framework", False, tmp_path / "bzImage", tmp_path / "vmlinux"
    )
    for name in ("bzImage", "vmlinux", "init", "connections"):
        (tmp_path / name).write_bytes(name.encode())
    return Machine(
        built, Guest("1" * 12, tmp_path / "init"), Guest("2" * 12, tmp_path / "connections")
    )


def test_the_plan_spreads_packets_and_connections_over_all_cpus() -> None:
    text = runs.plan_of(runs.case_of("minrtt", 3))
    added = [line for line in text.splitlines() if line.startswith("ip netns add ")]
    spread = [line for line in text.splitlines() if "net.core.rps_default_mask=f" in line]
    assert len(added) == len(spread) > 2
    assert text.index(spread[-1]) < text.index("ip link add")
    assert f"-- {runs.PROGRAM} client server {smp_machine.CPUS}\n" in text
    assert " drop " not in text  # what only a kernel of the lab can do


def test_a_run_is_made_once(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boots = []

    def boot(_kernel: object, _own: object, directory: Path, *_: object, **__: object) -> object:
        boots.append(directory)
        (directory / "console.txt").write_text(console(RACE))
        return {"guest.json": b'{"status":"failed","reason":"no"}'}

    monkeypatch.setattr(smp_machine, "run", boot)
    monkeypatch.setattr(runs, "blame_of", lambda *_: [])
    first = runs.make(SmpJob(machine, "minrtt", 3), tmp_path / "out")
    assert (first.failed, first.kernel) == ("no", "kcsan")
    assert runs.make(SmpJob(machine, "minrtt", 3), tmp_path / "out") == first
    assert len(boots) == 1
    runs.make(SmpJob(machine, "minrtt", 4), tmp_path / "out")
    assert len(boots) == 2


def result(kernel: str, *reports: tuple[str, Whose]) -> Result:
    found = [Found(about, whose, 1, [], "") for about, whose in reports]
    return Result(kernel, "default", 1, connections=2, verified_bytes=10**6, reports=found)


def test_the_table_has_what_the_unpatched_kernel_did_not_report() -> None:
    results = [
        result("kcsan", ("a / b", Whose.OURS), ("c / d", Whose.BELOW), ("e / f", Whose.OTHER)),
        result("kcsan unpatched", ("c / d", Whose.OTHER)),
    ]
    table = command.markdown(results).splitlines()
    assert table[2] == "| kcsan | 1 | 2 | 1.0 | 0 | 1 | 1 | 1 | 1 |"
    assert table[3] == "| kcsan unpatched | 1 | 2 | 1.0 | 0 | 0 | 0 | 1 | 0 |"
    assert table[-3:] == [
        "| a / b | 1 | 0 | 0 | 0 |",
        "| c / d | 0 | 1 | 0 | 1 |",
        "| e / f | 0 | 0 | 1 | 0 |",
    ]


def test_each_cpu_has_a_connection_that_is_always_busy() -> None:
    wanted = runs.case_of("minrtt", 3)
    busy = [each for each in wanted.connections if each.client.bytes == each.server.bytes > 10**7]
    assert busy == list(wanted.connections[: smp_machine.CPUS])
    assert {each.path for each in busy} == set(range(1, len(wanted.flags.path or ()) + 1))
    assert wanted.input().count("connection ") == len(wanted.connections)


def test_programs_of_an_initramfs_can_be_executed() -> None:
    image = stock_machine.initramfs(b"one", {"lab/plan.txt": b"plan"}, {"connections": b"two"})
    modes = {
        image[at + 110 : image.index(b"\0", at + 110)].decode(): image[at + 14 : at + 22]
        for at in range(0, len(image), 4)
        if image[at : at + 6] == b"070701"
    }
    assert int(modes["connections"], 16) == 0o100555
    assert int(modes["lab/plan.txt"], 16) == 0o100444


def test_the_planted_race_applies_to_our_files() -> None:
    own = kernel.own_files()
    planted = smp_kernel._with_race(own)
    changed = {name for name in own if own[name] != planted[name]}
    assert changed == {"view.c"}
    assert b"mps_snapshots++" in planted["view.c"]
