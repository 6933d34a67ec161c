# SPDX-License-Identifier: GPL-2.0-only
"""A scheduler that calls each function of mpsched.h in each of its hooks, made from the header.

Each call is made with all that a scheduler may have: every subflow that it ever saw, also those
that are gone, segments that it has just got, times that are past, and numbers at both ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = Path(__file__).parents[1] / "kernel" / "mptcp" / "mpsched.h"
NAME = "everycall"

#: Of a module's own registration, which may sleep.
NOT_IN_HOOKS = {"mps_register", "mps_unregister"}
#: Those that take NULL for a segment, as the header says.
NO_SEGMENT = {"mps_lowest_rtt", "mps_new_or_repeat"}
NO_SUBFLOW = {"mps_all_on", "mps_event"}

#: By the type of a parameter: values, as C expressions; those with loops are below.
VALUES = {
    "bool": ("true", "false"),
    "u32": ("0", "1", "~0U"),
    "u64": ("0", "~0ULL", "S64_MAX", "now + NSEC_PER_MSEC", "1"),
    "unsigned int": ("0",),
    "enum mps_rp": (
        *("MPS_RP_OFF", "MPS_RP_REPEAT", "MPS_RP_HALVE", "MPS_RP_HALVE_ONE", "MPS_RP_LIMIT"),
    ),
    "enum mps_kind": ("MPS_NEW", "MPS_REINJECTION", "MPS_DUPLICATE", "MPS_DROP"),
    "struct mps_conn *": ("conn",),
    "struct mps_pick *": ("&pick",),
    "struct mps_subflow *": ("kept[{}]",),
    "struct mps_segment *": ("segs[{}]",),
    "struct mps_unit *": ("unit",),
}
#: What goes through an array: how long it is.
ARRAYS = {"struct mps_subflow *": "subflows", "struct mps_segment *": "ARRAY_SIZE(segs)"}

#: The hooks: their parameters, what they return, and whether they run so often that each time one
#: function is called, in turn, instead of all.
HOOKS = {
    "next_segment": ("struct mps_pick *pick", "bool", True),
    "get_subflow": ("const struct mps_segment *seg", "struct mps_subflow *", False),
    "init": ("", "void", False),
    "release": ("", "void", False),
    "init_subflow": ("struct mps_subflow *subflow", "void", False),
    "release_subflow": ("struct mps_subflow *subflow", "void", False),
    "on_ack": ("struct mps_subflow *subflow, u64 acked_bytes", "void", True),
    "on_loss": ("struct mps_subflow *subflow", "void", False),
    "on_rto": ("struct mps_subflow *subflow", "void", False),
    "on_subflow_state": ("struct mps_subflow *subflow", "void", False),
    "on_sent": ("const struct mps_pick *pick, u32 bytes", "void", True),
}

_PROTOTYPE = re.compile(r"^\w[\w *]*?\b(\w+)\(([^()]*)\)\s*[;{]", re.MULTILINE)


@dataclass(frozen=True)
class Function:
    name: str
    parameters: tuple[str, ...]  # their types, without const


def functions() -> list[Function]:
    """Those of the header, with prototypes or inline, that hooks may call."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for name, parameters in _PROTOTYPE.findall(text):
        if name in NOT_IN_HOOKS:
            continue
        types = [re.sub(r"\bconst ", "", each).strip() for each in parameters.split(",")]
        types = [re.sub(r"\s*\w+$", "", each) for each in types if each != "void"]
        found.append(Function(name, tuple(each.replace("\n", " ") for each in types)))
    return found


def calls(function: Function) -> Iterator[str]:
    """Statements that call it with each value of each parameter, the others being the first."""
    most = max((len(VALUES[each]) for each in function.parameters), default=1)
    for turn in range(most):
        arguments, loops, conditions = [], [], []
        for number, each in enumerate(function.parameters):
            values = VALUES[each]
            value = values[min(turn, len(values) - 1)]
            if each in ARRAYS:
                index = f"i{number}"
                value = value.format(index)
                loops.append(f"for (u32 {index} = 0; {index} < {ARRAYS[each]}; {index}++)")
            if each == "struct mps_unit *":
                conditions.append("unit")
            if each == "struct mps_segment *" and function.name not in NO_SEGMENT:
                conditions.append(value)
            arguments.append(value)
        given = " ".join(loops) + (f" if ({' && '.join(conditions)})" if conditions else "")
        yield f"\t\t{given} (void){function.name}({', '.join(arguments)});".replace("\t\t ", "\t\t")
    if function.name in NO_SUBFLOW:
        arguments = ["NULL" if each in ARRAYS else VALUES[each][0] for each in function.parameters]
        yield f"\t\t(void){function.name}({', '.join(arguments)});"


def source() -> str:
    """The scheduler, in C. Its parameter `hook` says which hook makes the calls."""
    every = functions()
    cases = "\n".join(
        f"\tcase {number}:\n" + "\n".join(calls(function)) + "\n\t\tbreak;"
        for number, function in enumerate(every)
    )
    hooks = "\n".join(_hook(number, name) for number, name in enumerate(HOOKS))
    table = "\n".join(
        f"\t.{name} = everycall_{name}{'d' if name == 'release' else ''}," for name in HOOKS
    )
    return _TEMPLATE.format(
        count=len(every), hooks_count=len(HOOKS), cases=cases, hooks=hooks, table=table
    )


def _hook(number: int, name: str) -> str:
    parameters, returns, often = HOOKS[name]
    given = f"struct mps_conn *conn{', ' + parameters if parameters else ''}"
    lines = [f"static {returns} everycall_{name}({given})".replace("* every", "*every"), "{"]
    if name == "init_subflow":
        lines.append("\tkeep(conn, subflow);")
    lines.append(f"\tcall(conn, {number}, {str(often).lower()});")
    if name == "next_segment":
        lines.append("\treturn mps_reinject(conn, pick) || pick_new(conn, pick);")
    elif name == "get_subflow":
        lines.append("\treturn mps_lowest_rtt(conn, seg);")
    return "\n".join([*lines, "}", ""])


_TEMPLATE = """\
// SPDX-License-Identifier: GPL-2.0-only
#include "mpsched.h"

#define KEPT 16

struct state {{
	struct mps_subflow *kept[KEPT];
	u32 count;
}};

static const struct mps_param params[] = {{
	MPS_UINT("hook", 0, 100, 0, "", "which hook makes the calls"),
}};

static bool done[{hooks_count}][{count}];
static u32 turns[{hooks_count}];

static void keep(struct mps_conn *conn, struct mps_subflow *subflow)
{{
	struct state *state = mps_conn_priv(conn);

	state->kept[state->count++ % KEPT] = subflow;
}}

static noinline void call_one(struct mps_conn *conn, u32 function)
{{
	struct state *state = mps_conn_priv(conn);
	struct mps_segment *segs[] = {{
		mps_head(conn), mps_reinjection(conn), mps_oldest_unacked(conn),
		mps_latest_sent(conn), NULL,
	}};
	struct mps_subflow **kept = state->kept;
	u32 subflows = min(state->count, KEPT);
	struct mps_unit *unit = mps_first_unit(conn);
	u64 now = mps_clock_ns();
	struct mps_pick pick = {{}};

	switch (function) {{
{cases}
	}}
}}

static void call(struct mps_conn *conn, u32 hook, bool in_turn)
{{
	struct state *state = mps_conn_priv(conn);
	u32 i, first = 0, last = {count} - 1;

	if (mps_param(conn, 0) != hook)
		return;
	if (in_turn)
		first = last = turns[hook]++ % {count};
	for (i = first; i <= last; i++) {{
		call_one(conn, i);
		done[hook][i] = true;
	}}
	/* or nothing would be sent any more */
	for (i = 0; i < min(state->count, KEPT); i++) {{
		mps_set_limit(state->kept[i], ~0U);
		mps_distrust(state->kept[i], false);
	}}
}}

static bool pick_new(struct mps_conn *conn, struct mps_pick *pick)
{{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow = head ? mps_lowest_rtt(conn, NULL) : NULL;

	return subflow && mps_pick_new(pick, conn, subflow, head);
}}

{hooks}
static void everycall_tell(u32 hook)
{{
	u32 i, count = 0;

	for (i = 0; i < {count}; i++)
		count += done[hook][i];
	pr_warn("everycall: hook %u called %u of {count} functions\\n", hook, count);
}}

static void everycall_released(struct mps_conn *conn)
{{
	everycall_release(conn);
	everycall_tell(mps_param(conn, 0));
}}

static struct mps_ops everycall = {{
{table}
	.takes_units	= true,
	.name		= "everycall",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct state),
	.params		= params,
	.num_params	= ARRAY_SIZE(params),
}};

mps_scheduler(everycall);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for tests: calls every function in a hook");
"""
