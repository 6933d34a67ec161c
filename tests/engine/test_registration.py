# SPDX-License-Identifier: GPL-2.0-only
"""A scheduler that the kernel does not register: which field is wrong, and where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine, kernel
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.plan import plan
from tests.vocabulary import scenario_of

SCHEDULER = """\
// SPDX-License-Identifier: GPL-2.0-only
#include "mpsched.h"

static bool wrong_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *subflow = mps_lowest_rtt(conn, NULL);

	return seg && subflow && mps_pick_new(pick, conn, subflow, seg);
}

static const struct mps_param table[] = {
	{ .name = "one", .max = 9, .def = 5, .unit = "", .meaning = "" },
	PARAMETER
};

static struct mps_ops ops = {
	.next_segment = wrong_next_segment,
	.name = "wrong",
	.owner = THIS_MODULE,
	.params = table,
	.num_params = ARRAY_SIZE(table),
	FIELD
};
mps_scheduler(ops);

/* The names "one", "two" and "a/b" stand here, too, where nothing is wrong. */
MODULE_LICENSE("GPL");
"""
PARAMETER, OPS, LAST = 14, 17, 23
GOOD = '{ .name = "two", .max = 9, .def = 5, .unit = "", .meaning = "" },'


def parameter(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


#: The second parameter, the last field (after those that it replaces), the line, and what is said.
WRONG = {
    "no next_segment": (GOOD, ".next_segment = NULL", 18, ".next_segment is NULL; it is required"),
    "an empty name": (
        GOOD,
        ".name = {}",
        19,
        ".name; accepted are 1 to 15 letters, digits and _",
    ),
    "a name of two words": (
        GOOD,
        ".name = { 'i', ' ', 'x' }",
        19,
        ".name; accepted are 1 to 15 letters, digits and _",
    ),
    "another owner": (
        GOOD,
        ".owner = NULL",
        20,
        ".owner is NULL; it must be THIS_MODULE, wrong",
    ),
    "another owner, of the kernel's code": (
        GOOD,
        ".next_segment = mps_reinject, .owner = NULL",
        20,
        ".owner is NULL; it must be THIS_MODULE, wrong",
    ),
    "a large connection": (
        GOOD,
        ".conn_size = 1UL << 40",
        LAST,
        ".conn_size is 1099511627776 bytes; accepted is at most 65536",
    ),
    "a large subflow": (
        GOOD,
        ".subflow_size = 65537",
        LAST,
        ".subflow_size is 65537 bytes; accepted is at most 65536",
    ),
    "40 parameters": (GOOD, ".num_params = 40", 22, ".num_params is 40; accepted is at most 32"),
    "no table": (GOOD, ".params = NULL", 22, ".num_params is 2, and .params is NULL"),
    "no number": (GOOD, ".num_params = 0", 22, ".num_params is 0, and .params is not NULL"),
    "no name": (parameter('"two"', "NULL"), "", 21, "params[1]: .name is NULL"),
    "a directory": (
        parameter('"two"', '"a/b"'),
        "",
        PARAMETER,
        'params[1]: .name is "a/b"; accepted are letters, digits and _, at most 255',
    ),
    "twice": (
        parameter('"two"', '"one"'),
        "",
        PARAMETER,
        'params[1] "one": params[0] has the same .name',
    ),
    "no unit": (
        parameter('.unit = ""', ".unit = NULL"),
        "",
        PARAMETER,
        'params[1] "two": .unit is NULL',
    ),
    "no meaning": (
        parameter('.meaning = ""', ".meaning = NULL"),
        "",
        PARAMETER,
        'params[1] "two": .meaning is NULL',
    ),
    "no value": (
        parameter(".max", ".min = 10, .max"),
        "",
        PARAMETER,
        'params[1] "two": .min is 10, more than .max, 9',
    ),
    "a default outside": (
        parameter(".def = 5", ".def = 10"),
        "",
        PARAMETER,
        'params[1] "two": .def is 10; accepted is 0 to 9',
    ),
}


def run(build: KernelBuild, guest: Guest, folder: Path, text: str) -> str:
    """Why the run fails of a scheduler; "" if it does not."""
    file, directory = folder / "wrong.c", folder / "run"
    file.write_text(text)
    directory.mkdir()
    module = kernel.module(build, file, quiet=True)
    # as the plan of a run, which would not be made for what is wrong in the file's text
    scenario = scenario_of("a:10mbit,10ms", duration="100ms")
    text = plan.render(scenario).replace("# client, server", "insmod wrong.ko\n# client, server", 1)
    try:
        engine.run(scenario, text, Rig(build, guest, modules={"wrong": module.path}), directory)
    except RunError as error:
        return error.reason
    return ""


def source(second: str, field: str) -> str:
    """The scheduler with another second parameter, and fields that replace those of before."""
    text = SCHEDULER.replace("PARAMETER", second)
    name = field.split(" =")[0]
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if field and line.startswith(f"\t{name} ="):
            lines[number] = f"\t{field},"
            field = ""
    return "\n".join(lines).replace("\tFIELD", f"\t{field}" if field else "") + "\n"


def test_a_good_one_is_registered(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    assert not run(lab_kernel, lab_guest, tmp_path, source(GOOD, ""))


@pytest.mark.parametrize(("second", "field", "line", "why"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_place(
    lab_kernel: KernelBuild,
    lab_guest: Guest,
    tmp_path: Path,
    second: str,
    field: str,
    line: int,
    why: str,
) -> None:
    reason = run(lab_kernel, lab_guest, tmp_path, source(second, field))
    refused = "insmod wrong.ko: Invalid argument: "
    assert reason.partition(refused)[2] == f"wrong.c line {line}: {why}"
