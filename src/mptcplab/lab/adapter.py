# SPDX-License-Identifier: GPL-2.0-only
"""What schedulers lose on a kernel without our patches for MPTCP, where the adapter carries them.

The losses follow from the C of a scheduler: it loses a function if its file, or one of its parts,
names it. kernel/mptcp/adapter/missing.c says how the adapter answers instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from pathlib import Path

from mptcplab import resources
from mptcplab.lab import kernel

#: A function that such a kernel lacks: the name that users read, and what names it in C, also a
#: helper that uses it.
LOSSES: Mapping[str, str] = {
    "retransmission on other subflows": "mps_pick_duplicate|mps_opportunistic|mps_new_or_repeat",
    "penalisation": r"mps_rp|mps_penalise|mps_halve_cwnd",
    "sending out of order": "mps_next_unsent|mps_nth_unsent",
    "parts of segments": "limit_bytes",
    "distrust of late subflows": "mps_distrust",
    "linear timeouts": "mps_set_linear_timeouts",
    "recovery": "recovers",
    "one-way delays": "owd_us|commd_us|mps_delays_comparable",
    "ages of packets in flight": "oldest_sent_ns",
    "questions of blocked writers": "writer_waits|sndbuf_full",
    "units": "mps_first_unit|takes_units",
}
#: What such a kernel lacks and may be the whole rule of a scheduler, as adapter/refused says it.
RULES: Mapping[str, str] = {
    "it sends duplicates": "mps_pick_duplicate|MPS_DUPLICATE",
    "it sends out of order": "mps_next_unsent|mps_nth_unsent",
    "it uses units": "mps_first_unit|takes_units",
}
_FOLDER = resources.KERNEL / "mptcp"
_PART = re.compile(r'^#include "parts/(\w+\.h)"', re.MULTILINE)


def lost(scheduler: str, file: Path | None = None) -> tuple[str, ...]:
    """The names of LOSSES that a scheduler has on such a kernel, in their order.

    It is one of the lab, or is in `file`. All lose their own reinjections, too: there, the kernel
    sends lost data again.
    """
    text = _code(file or resources.SCHEDULERS / f"{scheduler}.c")
    return tuple(name for name, found in LOSSES.items() if re.search(rf"\b(?:{found})\b", text))


def carried() -> tuple[str, ...]:
    """The schedulers that such a kernel can have, beside `default`."""
    refused = kernel.refused_by_adapter()
    return tuple(name for name in kernel.schedulers() if name not in (*refused, "default"))


def rules_lost(file: Path) -> dict[str, str]:
    """Those of RULES that the user's scheduler in `file` may have, each with its name in C."""
    text = _code(file)
    found = {rule: re.search(rf"\b(?:{names})\b", text) for rule, names in RULES.items()}
    return {rule: name[0] for rule, name in found.items() if name}


def described(scheduler: str, file: Path | None = None) -> str:
    """The name that says what is left: "minrtt, without A and B"; as for `lost`."""
    *some, last = ("", *lost(scheduler, file))
    listed = " and ".join(filter(None, [", ".join(filter(None, some)), last]))
    return f"{scheduler}, without {listed}" if listed else scheduler


def sentence(scheduler: str) -> str:
    """What its page in docs/schedulers/ says of such a kernel, as Markdown."""
    kernels = "On a [kernel without our patches](../kernels.md#schedulers-without-the-patches)"
    if reason := kernel.refused_by_adapter().get(scheduler):
        return f"{kernels}, the lab refuses it: {reason}."
    _, _, losses = described(scheduler).partition(", without ")
    return f"{kernels}, it loses {losses or 'no function'}."


def table() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the rows of the table scheduler x function, for docs/kernels.md."""
    losses = {each: lost(each) for each in carried()}
    names = [name for name in LOSSES if any(name in own for own in losses.values())]
    rows = [
        (f"`{each}`", *("lost" if name in own else "" for name in names))
        for each, own in losses.items()
    ]
    return ("scheduler", *names), rows


def _code(file: Path) -> str:
    """The C of a scheduler's file, and of its parts, without comments."""
    parts = {path: path.read_text() for path in sorted((_FOLDER / "parts").iterdir())}
    text, before = file.read_text(errors="replace"), ""
    while text != before:
        before = text
        headers = set(_PART.findall(text))
        for path in [each for each, part in parts.items() if _belongs(each.name, part, headers)]:
            text += parts.pop(path)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def _belongs(name: str, text: str, headers: Set[str]) -> bool:
    return name in headers or (name.endswith(".c") and bool(headers & set(_PART.findall(text))))
