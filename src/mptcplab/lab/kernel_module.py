# SPDX-License-Identifier: GPL-2.0-only
"""The user's own scheduler: how its file, which `scenario.scheduler` has read, becomes a module."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mptcplab.files import new_file
from mptcplab.lab.kernel_make import Make, MakeFailedError
from mptcplab.lab.kernel_tree import OWN_DIRECTORY, SourceError

# The entry of a scheduler into the kernel: mps_scheduler() in mpsched.h uses it.
_REGISTRATION = "mps_register"

# The kernel's warnings print __FILE__, here without the path. Without -fno-optimize-sibling-calls a
# backtrace would lack a hook that ends with a call.
_MAKEFILE = """\
obj-m := {name}.o
ccflags-y := -I$(srctree)/{own} -include $(src)/intree.h -fmacro-prefix-map=$(src)/=
ccflags-y += -fno-optimize-sibling-calls
"""
# Otherwise the kernel would report in each run that an out-of-tree module taints it.
_INTREE = """\
#include <linux/module.h>
MODULE_INFO(intree, "Y");
"""
_LINES_SHOWN = 40

# A module that the guest could not load: the message of mps_refuse() of kernel/mptcp/params.h. It
# may refuse the name itself: empty, or with spaces.
_REFUSED = re.compile(r"(?<=: )mptcp: (.*?): ((?:\.|params\[|no memory ).*)")
_OPS = re.compile(r"\bstruct\s+mps_ops\s+\w+\s*=")


@dataclass(frozen=True)
class Scheduler:
    """The source of a scheduler: its name, its file as the user wrote it, and its text."""

    name: str
    file: Path
    text: bytes


def compile(make: Make, scheduler: Scheduler, target: Path, notes: Mapping[str, str]) -> list[str]:
    """Makes the module `target`, whole or not at all; returns the compiler's warnings.

    `notes` are texts to put beside it, by name.
    Raises MptcplabError with the compiler's output, or if the module registers no scheduler.
    """
    directory = prepare(make, scheduler)
    places = {f"{make.source}/{OWN_DIRECTORY}/": "kernel/mptcp/", f"{make.source}/": ""}
    try:
        log = make.module(directory)
    except MakeFailedError as failure:
        lines = said(failure.log, directory, scheduler, places)
        raise failed(scheduler, "does not compile", lines) from None
    put(directory / f"{scheduler.name}.ko", scheduler, target, notes)
    return said(log, directory, scheduler, places)


def prepare(make: Make, scheduler: Scheduler) -> Path:
    """A directory with what make needs to compile a scheduler."""
    directory = make.directory / "module"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    write(directory, scheduler)
    (directory / "Makefile").write_text(_MAKEFILE.format(name=scheduler.name, own=OWN_DIRECTORY))
    return directory


def write(directory: Path, scheduler: Scheduler) -> None:
    """Put the files that are compiled into a directory."""
    (directory / f"{scheduler.name}.c").write_bytes(scheduler.text)
    (directory / "intree.h").write_text(_INTREE)


def put(module: Path, scheduler: Scheduler, target: Path, notes: Mapping[str, str]) -> None:
    """Puts a finished module to its place, after everything beside it.

    Raises MptcplabError if it registers no scheduler.
    """
    if _REGISTRATION not in undefined(module):
        needed = "a scheduler ends with mps_scheduler(OPS);"
        raise failed(scheduler, "registers no scheduler", [needed])
    target.parent.mkdir(parents=True, exist_ok=True)
    for name, text in notes.items():
        target.with_name(name).write_text(text)
    # `with_place` reads it if the kernel refuses the module
    with new_file(target.with_suffix(".c")) as part:
        part.write_bytes(scheduler.text)
    with new_file(target) as part:
        shutil.copyfile(module, part)


def with_place(reason: str, module: Path) -> str:
    """Why a run failed, with file and line if the kernel refused a scheduler.

    A module that came from elsewhere has no source beside it.
    """
    refused = _REFUSED.search(reason)
    if not refused:
        return reason
    place = f"{module.stem}.c"
    with suppress(OSError):
        text = module.with_suffix(".c").read_text(errors="replace")
        place += f" line {text.count(chr(10), 0, _place_of(refused[2], text)) + 1}"
    return f"{reason[: refused.start()]}{place}: {refused[2]}"


def _place_of(why: str, text: str) -> int:
    """The place of the refused part in the source: a parameter by its name, a field, or all."""
    if parameter := re.match(r'params\[\d+\](?: |: \.name is )("[^"]*")', why):
        # the last one, since of two with one name the second is refused
        names = [*re.finditer(rf"(?:\bMPS_\w+\(|\.name\s*=)\s*{re.escape(parameter[1])}", text)]
        return names[-1].end() if names else max(text.rfind(parameter[1]), 0)
    ops = _OPS.search(text)
    found = re.search(r"\.\w+", why)
    field = ".params" if why.startswith("params[") or not found else found[0]
    start = ops.start() if ops else 0
    assigned = re.compile(rf"{re.escape(field)}\s*=").search(text, start)
    return assigned.start() if assigned else start


def failed(scheduler: Scheduler, what: str, lines: Sequence[str]) -> SourceError:
    """The error of a wrong scheduler, with the lines that explain it."""
    return SourceError("\n  ".join([f"{scheduler.file} {what}", *lines]))


def said(log: str, directory: Path, scheduler: Scheduler, places: Mapping[str, str]) -> list[str]:
    """The output of compiler and linker for a module, with paths as the user knows them.

    `places` maps other paths to their replacements, in this order.
    """
    text = log.replace(f"{directory}/{scheduler.name}.c", str(scheduler.file))
    for path, known in ((f"{directory}/", ""), *places.items()):
        text = text.replace(path, known)
    lines = text.splitlines()
    # make's own lines.
    lines = [line for line in lines if not re.match(r"make|  [A-Z]+ ", line)]
    more = len(lines) - _LINES_SHOWN
    return [*lines[:_LINES_SHOWN], f"... and {more} more lines"] if more > 0 else lines


def undefined(module: Path) -> list[str]:
    """The symbols of other objects that an object uses."""
    command = ["nm", "--undefined-only", "--format=just-symbols", str(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()
