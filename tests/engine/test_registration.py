# SPDX-License-Identifier: GPL-2.0-only
"""A scheduler that the kernel does not register: which field is wrong, and where it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.errors import RunError
from mptcplab.lab import engine, kernel
from mptcplab.lab.engine import Rig
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
PARAMETER, TABLE, LAST = 14, 21, 23
GOOD = '{ .name = "two", .max = 9, .def = 5, .unit = "", .meaning = "" },'
NAMES = "accepted are 1 to 15 letters, digits and _"

#: The last field, after those that it replaces: the line, and the message.
FIELDS = {
    ".next_segment = NULL": (18, ".next_segment is NULL; it is required"),
    ".name = {}": (19, f".name; {NAMES}"),
    ".name = { 'i', ' ', 'x' }": (19, f".name; {NAMES}"),
    ".owner = NULL": (20, ".owner is NULL; it must be THIS_MODULE, wrong"),
    # a function of the kernel's code does not make it another owner
    ".owner = NULL, .next_segment = mps_reinject": (
        20,
        ".owner is NULL; it must be THIS_MODULE, wrong",
    ),
    ".conn_size = 1UL << 40": (
        LAST,
        ".conn_size is 1099511627776 bytes; accepted is at most 65536",
    ),
    ".subflow_size = 65537": (LAST, ".subflow_size is 65537 bytes; accepted is at most 65536"),
    ".num_params = 40": (22, ".num_params is 40; accepted is at most 32"),
    ".params = NULL": (22, ".num_params is 2, and .params is NULL"),
    ".num_params = 0": (22, ".num_params is 0, and .params is not NULL"),
}
#: A part of the second parameter, its replacement, the line, and the message.
PARAMETERS = (
    ('"two"', "NULL", TABLE, ": .name is NULL"),
    (
        *('"two"', '"a/b"', PARAMETER),
        ': .name is "a/b"; accepted are letters, digits and _, at most 255',
    ),
    ('"two"', '"one"', PARAMETER, ' "one": params[0] has the same .name'),
    ('.unit = ""', ".unit = NULL", PARAMETER, ' "two": .unit is NULL'),
    ('.meaning = ""', ".meaning = NULL", PARAMETER, ' "two": .meaning is NULL'),
    (".max", ".min = 10, .max", PARAMETER, ' "two": .min is 10, more than .max, 9'),
    (".def = 5", ".def = 10", PARAMETER, ' "two": .def is 10; accepted is 0 to 9'),
)
WRONG = [
    *((GOOD, field, line, why) for field, (line, why) in FIELDS.items()),
    *((GOOD.replace(a, b), "", line, f"params[1]{why}") for a, b, line, why in PARAMETERS),
]


def run(rig: Rig, folder: Path, text: str) -> str:
    """Why the run fails of a scheduler; "" if it does not."""
    file, directory = folder / "wrong.c", folder / "run"
    file.write_text(text)
    directory.mkdir()
    module = kernel.module(rig.kernel, file, quiet=True)
    # as the plan of a run, which would not be made for what is wrong in the file's text
    scenario = scenario_of("a:10mbit,10ms", duration="100ms")
    text = plan.render(scenario).replace("# client, server", "insmod wrong.ko\n# client, server", 1)
    try:
        engine.run(scenario, text, replace(rig, modules={"wrong": module.path}), directory)
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


def test_a_good_one_is_registered(rig: Rig, tmp_path: Path) -> None:
    assert not run(rig, tmp_path, source(GOOD, ""))


@pytest.mark.parametrize(("second", "field", "line", "why"), WRONG, ids=[w[3] for w in WRONG])
def test_what_is_wrong_is_reported_with_its_place(
    rig: Rig, tmp_path: Path, second: str, field: str, line: int, why: str
) -> None:
    reason = run(rig, tmp_path, source(second, field))
    refused = "insmod wrong.ko: Invalid argument: "
    assert reason.partition(refused)[2] == f"wrong.c line {line}: {why}"
