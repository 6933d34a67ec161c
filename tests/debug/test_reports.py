# SPDX-License-Identifier: GPL-2.0-only
"""The debug kernel finds in a scheduler what the lab kernel lets pass, and the run fails of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine, kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.plan import plan
from tests.vocabulary import scenario_of

SCHEDULER = """\
// SPDX-License-Identifier: GPL-2.0-only
#include <linux/slab.h>
#include "mpsched.h"

static DEFINE_SPINLOCK(one);
static DEFINE_SPINLOCK(other);

static noinline int faulty_read(volatile u8 *bytes, int index)
{{
	return bytes[index];
}}

static bool faulty_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{{
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *subflow;
	u8 local[8] = {{}};

	{body}
	mps_for_each_subflow(conn, subflow)
		if (seg && mps_available(subflow) && !faulty_read(local, 0))
			return mps_pick_new(pick, conn, subflow, seg);
	return false;
}}

static struct mps_ops ops = {{
	.next_segment = faulty_next_segment,
	.name = "faulty",
	.owner = THIS_MODULE,
}};
mps_scheduler(ops);

MODULE_LICENSE("GPL");
"""

FAULTS = {
    "nothing": ("", ""),
    "memory that was freed": (
        "u8 *p = kmalloc(64, GFP_ATOMIC); kfree(p); (void)faulty_read(p, 8);",
        "KASAN: slab-use-after-free in faulty_read",
    ),
    "behind the end of memory": (
        "u8 *p = kmalloc(64, GFP_ATOMIC); (void)faulty_read(p, 64); kfree(p);",
        "KASAN: slab-out-of-bounds in faulty_read",
    ),
    "behind the end of an array": (
        "(void)faulty_read(local, 8);",
        "KASAN: stack-out-of-bounds in faulty_read",
    ),
    "a shift too far": (
        "(void)faulty_read(local, 1 << (conn->segment_bytes + 40) & 7);",
        "UBSAN: shift-out-of-bounds in ",
    ),
    "sleep where it must not": (
        "local_bh_disable(); might_sleep(); local_bh_enable();",
        "BUG: sleeping function called from invalid context",
    ),
    "locks in two orders": (
        "spin_lock_bh(&one); spin_lock(&other); spin_unlock(&other); spin_unlock_bh(&one);"
        "spin_lock_bh(&other); spin_lock(&one); spin_unlock(&one); spin_unlock_bh(&other);",
        "possible circular locking dependency detected",
    ),
    "a lock that an interrupt takes, too": (
        "spin_lock(&one); spin_unlock(&one);",
        "inconsistent lock state",
    ),
}


@pytest.mark.parametrize(("body", "report"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_scheduler_is_reported(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path, body: str, report: str
) -> None:
    file, directory = tmp_path / "faulty.c", tmp_path / "run"
    file.write_text(SCHEDULER.format(body=body))
    directory.mkdir()
    module = kernel.module(lab_kernel, file, quiet=True)
    scenario = scenario_of("a:10mbit,10ms", "b:10mbit,10ms", duration="1s", scheduler=str(file))
    reason = ""
    try:
        engine.run(
            scenario,
            plan.render(scenario),
            lab_kernel,
            lab_guest,
            directory,
            modules={"faulty": module.path},
        )
    except RunError as error:
        reason = error.reason
    assert report in reason
    assert bool(report) == bool(reason)
