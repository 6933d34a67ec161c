# SPDX-License-Identifier: GPL-2.0-only
"""A person's own scheduler: it may do what no scheduler of the lab does, and a fault is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine, kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, RunOutcome
from mptcplab.plan import plan
from tests.vocabulary import scenario_of

MODULE = """\
// SPDX-License-Identifier: GPL-2.0-only
#include "mpsched.h"

{functions}
static struct mps_ops ops = {{
	.next_segment = {hook},
	.name = "{name}",
	.owner = THIS_MODULE,
}};
mps_scheduler(ops);

MODULE_LICENSE("GPL");
"""

FAULTY = """\
static bool faulty_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{{
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *subflow;

	{body}
	mps_for_each_subflow(conn, subflow)
		if (seg && mps_available(subflow))
			return mps_pick_new(pick, conn, subflow, seg);
	return false;
}}
"""

#: A message of 1000 bytes goes in halves, the second when the first has been acknowledged; what is
#: to be sent again is left to the retransmission timer.
HALVES = """\
static bool halves_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *subflow;

	if (!seg || (mps_len(seg) == 1000 && conn->nxt_seq > mps_seq(conn, seg)))
		return false;
	mps_for_each_subflow(conn, subflow) {
		if (!mps_available(subflow))
			continue;
		mps_pick_new(pick, conn, subflow, seg);
		pick->limit_bytes = 500;
		return true;
	}
	return false;
}
"""


def faulty(body: str = "", hook: str = "faulty_next_segment") -> str:
    """A scheduler for two subflows, whose next_segment() begins with some lines."""
    return MODULE.format(name="faulty", functions=FAULTY.format(body=body), hook=hook)


PATHS = ("a:10mbit,10ms", "b:10mbit,10ms")
#: Run a scheduler: its name, its text, the scenario but for the scheduler, further commands.
RunOwn = Callable[..., RunOutcome]
#: Run a scheduler whose next_segment() begins with some lines.
RunFaulty = Callable[..., RunOutcome]


@pytest.fixture
def run_own(rig: Rig, tmp_path: Path) -> RunOwn:
    def run(
        name: str, text: str, *paths: str, commands: Iterable[str] = (), **flags: Any
    ) -> RunOutcome:
        file, directory = tmp_path / f"{name}.c", tmp_path / "run"
        file.write_text(text)
        directory.mkdir()
        modules = {name: kernel.module(rig.kernel, file, quiet=True).path}
        own = replace(rig, modules=modules, limits=Limits(wall_s=120.0, stall_cpu_s=1.0))
        scenario = scenario_of(*paths, scheduler=str(file), **flags)
        return engine.run(scenario, plan.render(scenario, commands=commands), own, directory)

    return run


@pytest.fixture
def run_faulty(run_own: RunOwn) -> RunFaulty:
    def run(body: str = "", hook: str = "faulty_next_segment") -> RunOutcome:
        return run_own("faulty", faulty(body, hook), *PATHS, duration="1s")

    return run


def failure(run: Callable[[], RunOutcome]) -> RunError:
    with pytest.raises(RunError) as failed:
        run()
    return failed.value


def test_a_scheduler_without_a_fault_runs(run_faulty: RunFaulty) -> None:
    outcome = run_faulty()
    assert outcome.guest["bytes_received"] > 0
    # what was put there for the run is gone again
    assert not (outcome.directory / "faulty.ko").exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "WRITE_ONCE(*(int *)16, 1);",
            r"the guest's kernel crashed \(oops\): .* in faulty_next_segment \[faulty\]",
        ),
        (
            "memset((void *)16, 0, conn->unsent_bytes);",
            r"the guest's kernel crashed \(oops\): .* in \w*memset\w*"
            r" \(in the backtrace: faulty_next_segment \[faulty\]\)",
        ),
        (
            'WARN(1, "so it does\\n");',
            # later than 6.12 with what ran where, too
            r"the guest's kernel warned: .* faulty_next_segment.* \[faulty\](, CPU#0: init/\d+)?",
        ),
        (
            "BUG();",
            r"the guest's kernel reported BUG: failure at faulty\.c:9/faulty_next_segment\(\)!",
        ),
        (
            "for (;;)\n\t\tbarrier();",
            r"its virtual time stood still at 1\.\d+ s while it kept a CPU busy"
            r" in faulty_next_segment \[faulty\]",
        ),
        (
            "for (;;)\n\t\tcpu_relax();",
            r"its virtual time stood still at 1\.\d+ s while it kept a CPU busy in .*"
            r"faulty_next_segment \[faulty\]\)?",
        ),
        (
            "while (!mps_seq(conn, seg) || mps_seq(conn, seg))\n\t\tbarrier();",
            r"its virtual time stood still at 1\.\d+ s while it kept a CPU busy"
            r" in (mps_seq \(in the backtrace: )?faulty_next_segment \[faulty\]\)?",
        ),
    ],
    ids=[
        *("a crash", "a crash in what it calls", "a warning", "a bug"),
        *("a loop", "a loop that moves the time", "a loop that calls"),
    ],
)
def test_a_fault_ends_the_run_with_its_name_and_the_way_there(
    run_faulty: RunFaulty, body: str, reason: str
) -> None:
    error = failure(lambda: run_faulty(body))
    assert re.fullmatch(reason, error.reason)
    # decoded, down to the system call or the packet that it was asked for
    assert re.search(r"Call Trace:\n( \[<.*\n)* \[<.*(mptcp_\w+|mps_\w+)\+", error.console_tail)


def test_a_scheduler_that_is_refused_is_reported_with_the_reason(run_faulty: RunFaulty) -> None:
    error = failure(lambda: run_faulty("(void)faulty_next_segment;", hook="NULL"))
    assert re.fullmatch(r"plan line \d+: insmod faulty\.ko: Invalid argument.*", error.reason)


def test_a_retransmission_sends_nothing_for_the_first_time(run_own: RunOwn) -> None:
    # With checksums, upstream's repeats a whole fragment, also what of it was never sent. Half a
    # message is lost on a path that goes down, and what the framework had left to send of it went
    # with the retransmission on the other, behind its back.
    outcome = run_own(
        "halves",
        MODULE.format(name="halves", functions=HALVES, hook="halves_next_segment"),
        "a:10mbit,10ms",
        "b:10mbit,20ms",
        commands=[
            f"ip netns exec {host} sysctl -qw net.mptcp.checksum_enabled=1"
            for host in ("client", "server")
        ],
        workload="cbr:size=1000B,rate=80kbit",
        event=("1s:a:down",),
        duration="4s",
    )
    # a message in each tenth of a second
    assert outcome.guest["bytes_received"] == 40 * 1000
