# SPDX-License-Identifier: GPL-2.0-only
"""Published data that was made with another kernel, scheduler or guest than the current ones.

equal.json lists what was shown to make no difference: that two kernels, two versions of a file, or
two guests send the same packets at the same times (`make same-packets`, which adds to it).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mptcplab import files
from mptcplab.errors import MachineError
from mptcplab.lab import guest, kernel, kernel_names
from mptcplab.lab.kernel import Parts
from mptcplab.papers.reproduce import Provenance
from mptcplab.runs import documents

EQUAL = "equal.json"


@dataclass(frozen=True)
class Equal:
    """Ids of `what`, "kernel", "guest" or a file such as "sched/minrtt.c", that do the same.

    `shown_by` is the command that showed it, and what it said.
    """

    what: str
    ids: Sequence[str]
    shown_by: str


_LIST = documents.Kind("a list of what is equal", list[Equal])


@dataclass(frozen=True)
class Now:
    """The builds of runs made now: the parts of the kernel, the id of the guest."""

    kernel: Parts
    guest: str
    equal: Sequence[Equal] = ()

    def changed(self, made: Provenance) -> list[str]:
        """What is not as it was, and was not shown to do the same, each with its two ids."""
        found, ids = [], self.ids()
        for what, before in made.ids().items():
            after = ids.get(what, "")
            equal = (each.ids for each in self.equal if each.what == what)
            if before != after and not any({before, after} <= {*each} for each in equal):
                found.append(f"{what} ({before[:12] or 'none'}, now {after[:12] or 'none'})")
        return found

    def ids(self) -> dict[str, str]:
        """As those of a provenance."""
        return {"kernel": self.kernel.base, "guest": self.guest, **self.kernel.files}


def now(data: Path, names: Iterable[str]) -> dict[str, Now]:
    """Of the guest and the kernels of some names, "" for the lab's, with the `equal.json` of a
    directory of data.

    Kernels that are not built are left out, and all if the guest cannot be built. Raises
    MptcplabError if the file, or that of the kernels' names, is damaged.
    """
    known, named = equal(data / EQUAL), kernel_names.known()
    current = {name: named[name].current() for name in names if name in named}
    current[""] = kernel.current()
    try:
        return {
            name: Now(kernel.parts(build), guest.build().id, known)
            for name, build in current.items()
            if build
        }
    except MachineError:  # no compiler
        return {}


def equal(file: Path) -> list[Equal]:
    """The entries of equal.json, if it exists."""
    return documents.read(file, _LIST) if file.exists() else []


def add(file: Path, one: Now, other: Now, shown_by: str) -> list[Equal]:
    """Adds to an equal.json that two builds do the same, and returns what was added.

    Each then stands for the other. Raises MptcplabError if the file is
    damaged, or cannot be written.
    """
    known = equal(file)
    ours, theirs = one.ids(), other.ids()
    new = [
        Equal(what, [ours[what], theirs[what]], shown_by)
        for what in ours
        if what in theirs and ours[what] != theirs[what]
    ]
    for each in new:
        joined = [old for old in known if old.what == each.what and {*old.ids} & {*each.ids}]
        known = [old for old in known if old not in joined]
        ids = dict.fromkeys(i for of in (*joined, each) for i in of.ids)
        by = dict.fromkeys(of.shown_by for of in (*joined, each))
        known.append(Equal(each.what, [*ids], "; ".join(by)))
    files.write(file, (json.dumps([asdict(each) for each in known], indent=1) + "\n").encode())
    return new
