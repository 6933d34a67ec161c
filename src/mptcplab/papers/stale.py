# SPDX-License-Identifier: GPL-2.0-only
"""Which published data was made with another kernel, scheduler or guest than those of now.

equal.json lists what was shown to make no difference: that two kernels, two versions of a file, or
two guests send the same packets at the same times (`make same-packets`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.errors import MachineError, MptcplabError
from mptcplab.lab import guest, kernel
from mptcplab.lab.kernel import Parts
from mptcplab.papers.reproduce import Provenance

EQUAL = "equal.json"
_KERNEL, _GUEST = "kernel", "guest"


@dataclass(frozen=True)
class Equal:
    """Ids of `what`, "kernel", "guest" or a file such as "sched/minrtt.c", that do the same.

    `shown_by` is the command that showed it, and what it said.
    """

    what: str
    ids: Sequence[str]
    shown_by: str


@dataclass(frozen=True)
class Now:
    """What runs would be made of now: the parts of the kernel, the id of the guest."""

    kernel: Parts
    guest: str
    equal: Sequence[Equal] = ()

    def changed(self, made: Provenance) -> list[str]:
        """What is not as it was, and was not shown to do the same, each with its two ids."""
        found = []
        for what in made.changed(self.kernel, self.guest):
            before, after = _ids(what, made, self)
            if not any(what == each.what and {before, after} <= {*each.ids} for each in self.equal):
                found.append(f"{what} ({_short(before)}, now {_short(after)})")
        return found


def now(data: Path) -> Now | None:
    """Of the kernel and the guest that are built, with the `equal.json` of a directory of data.

    None if the kernel is not built, or the guest cannot be. Raises MptcplabError if the file is
    damaged.
    """
    known = equal(data / EQUAL)
    build = kernel.current()
    if build is None:
        return None
    try:
        return Now(kernel.parts(build), guest.build().id, known)
    except MachineError:  # no compiler
        return None


def equal(file: Path) -> list[Equal]:
    """What equal.json lists; nothing if there is none."""
    if not file.exists():
        return []
    try:
        return [Equal(**each) for each in json.loads(file.read_text(encoding="utf-8"))]
    except (OSError, TypeError, ValueError) as error:
        raise MptcplabError(f"{file}: not a list of what is equal: {error}") from None


def _ids(what: str, made: Provenance, current: Now) -> tuple[str, str]:
    if what == _KERNEL:
        return made.base, current.kernel.base
    if what == _GUEST:
        return made.guest, current.guest
    return made.files.get(what, ""), current.kernel.files.get(what, "")


def _short(identity: Any) -> str:
    return str(identity)[:12] or "none"
