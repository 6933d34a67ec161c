# SPDX-License-Identifier: GPL-2.0-only
"""Does the lab's kernel compute as Debian's? Every line of TCP and MPTCP, preprocessed with both.

`python -m checks.same_arithmetic` has gcc preprocess the network code that a segment passes
through, once with the configuration and the headers of Debian's package, once with the lab's. It
shows every line that expands differently, unless same_arithmetic.toml lists the difference. It also
compiles kernel/mptcp/constants.c with Debian's headers: the checks of this file must hold there.
All of this for each flavour, amd64 and cloud; see docs/flavours.md.

Both sides have Debian's sources and its headers in include/; the headers of the architecture and of
the configuration are their own. The comparison does not see what our patches change: read them.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from checks import debian_headers
from checks.command_line import parser_of
from checks.debian_headers import DebianHeaders
from checks.expansion import (
    Difference,
    Judge,
    Keeper,
    Known,
    Place,
    Rule,
    differing,
    expansions,
    read_known,
    without,
)
from mptcplab import resources
from mptcplab.errors import MptcplabError, status_of
from mptcplab.lab import choices, kernel
from mptcplab.lab.kernel_make import Make

#: The list of known differences.
KNOWN = Path(__file__).with_name("same_arithmetic.toml")
CONSTANTS = resources.KERNEL / "mptcp" / "constants.c"

# Where headers are looked for, in the order of the kernel's Makefile: in Debian's common headers
# (common), those of its flavour (own), the lab's source and its objects.
_DEBIAN_INCLUDES = (
    ("common", "arch/x86/include"),
    ("own", "arch/x86/include/generated"),
    ("common", "include"),
    ("own", "include"),
    ("common", "arch/x86/include/uapi"),
    ("own", "arch/x86/include/generated/uapi"),
    ("common", "include/uapi"),
    ("own", "include/generated/uapi"),
)
_LAB_INCLUDES = (
    ("source", "arch/um/include"),
    ("objects", "arch/um/include/generated"),
    ("common", "include"),
    ("objects", "include"),
    ("source", "arch/um/include/uapi"),
    ("objects", "arch/um/include/generated/uapi"),
    ("common", "include/uapi"),
    ("objects", "include/generated/uapi"),
    ("source", "arch/x86/um"),
    ("source", "arch/x86/include"),
    ("source", "arch/x86/include/uapi"),
    ("objects", "arch/x86/include/generated"),
    ("objects", "arch/x86/include/generated/uapi"),
    ("source", "arch/um/include/shared"),
    ("source", "arch/x86/um/shared"),
    ("source", "arch/um/include/shared/skas"),
)
_FORCED = ("compiler-version.h", "kconfig.h", "compiler_types.h")
# The kernel's flags that its headers depend on.
_FLAGS = (
    *("-nostdinc", "-D__KERNEL__", "-std=gnu11", "-m64", "-O2", "-w", "-fshort-wchar"),
    *("-funsigned-char", "-fno-common", "-fno-PIE", "-fno-strict-aliasing", "-mcmodel=kernel"),
    *("-mno-sse", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *('-DKBUILD_MODFILE="x"', '-DKBUILD_BASENAME="x"', '-DKBUILD_MODNAME="x"'),
    "-D__KBUILD_MODNAME=kmod_x",
)
_AUTOCONF = Path("include/generated/autoconf.h")
_AUTO_CONF = Path("include/config/auto.conf")
_CONSTANT_HEADERS = ("linux/netdevice.h", "linux/skbuff.h", "net/sock.h", "net/tcp.h")


@dataclass(frozen=True)
class Side:
    """One way to preprocess: where its headers are, and its flags.

    `roots` has the directories by the words of the includes; `first` is searched before them.
    """

    includes: tuple[tuple[str, str], ...]
    roots: Mapping[str, Path]
    flags: tuple[str, ...]
    first: Path | None = None

    def command(self, *arguments: str) -> list[str]:
        """gcc, for a file that includes headers of the kernel."""
        directories = [self.roots[root] / below for root, below in self.includes]
        if self.first is not None:
            directories.insert(0, self.first)
        forced = [self.roots["common"] / "include/linux" / name for name in _FORCED]
        return [
            *("gcc", *_FLAGS, *self.flags),
            *(f"-I{each}" for each in directories),
            *(word for each in forced for word in ("-include", str(each))),
            *arguments,
        ]

    def renamed(self, keeper: Keeper, work: Path) -> Side:
        """The same headers, with the kept names renamed; copies in a directory."""
        for root, below in self.includes:
            if not any(
                below != other and below.startswith(f"{other}/")
                for its_root, other in self.includes
                if its_root == root
            ):
                _rename_all(self.roots[root] / below, work / root / below, keeper)
        roots = {root: work / root for root in self.roots}
        return Side(self.includes, roots, self.flags, self.first)


@dataclass
class Findings:
    """The result for a flavour: unknown differences, and constants that differ."""

    unknown: list[Difference] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    lines: int = 0
    used: set[Rule] = field(default_factory=set)

    @property
    def is_same(self) -> bool:
        return not (self.unknown or self.constants or self.refused)


# --- one flavour


def compare(
    flavour: str,
    headers: DebianHeaders,
    objects: Make,
    known: Known,
    *,
    leave_out: Sequence[str] = (),
) -> Findings:
    """Compares a flavour of Debian's kernels with the lab's kernel that has its arithmetic.

    `leave_out` are options of the configuration to leave out of the lab's kernel, to see what they
    do. Raises MptcplabError for a source that cannot be preprocessed.
    """
    found = Findings()
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        work = Path(name)
        own = headers.flavours[flavour]
        altered = work / "altered" / _AUTOCONF
        altered.parent.mkdir(parents=True)
        altered.write_text(without((objects.obj / _AUTOCONF).read_text(), leave_out))
        debian = Side(
            _DEBIAN_INCLUDES,
            {"common": headers.common, "own": own},
            # what gcc's -mfentry stands for
            ("-DCC_USING_FENTRY",),
        )
        lab = Side(
            _LAB_INCLUDES,
            {"common": headers.common, "source": objects.source, "objects": objects.obj},
            ("-D__arch_um__",),
            work / "altered/include",
        )
        found.refused = list(_refused_checks(debian, work))
        equal = _equal_constants(known, debian, lab, work, found)
        keeper = Keeper(known, equal)
        _rename_all(headers.source, work / "sources", keeper)
        made = [
            _expansions_of_all(side.renamed(keeper, work / word), work, known)
            for word, side in (("debian", debian), ("lab", lab))
        ]
        configurations = [(each / _AUTO_CONF).read_text() for each in (own, objects.obj)]
    found.lines = len(made[0].keys() | made[1].keys())
    judge = Judge(known, _texts(made, headers), differing(*configurations) | {*leave_out})
    found.unknown = list(judge.unknown(*made))
    found.used = judge.used
    return found


def _refused_checks(debian: Side, work: Path) -> Iterator[str]:
    """The checks of constants.c that fail with Debian's headers."""
    done = _gcc(debian.command("-c", "-o", str(work / "constants.o"), str(CONSTANTS)))
    for line in done.stderr.splitlines():
        if "error:" in line:
            yield line
    if done.returncode != 0 and "error:" not in done.stderr:
        yield f"{CONSTANTS}: gcc ended with status {done.returncode}"


def _equal_constants(
    known: Known, debian: Side, lab: Side, work: Path, found: Findings
) -> list[str]:
    """The constants of the list that have the same value; the others go into `found`."""
    names = [name for rule in known.of("constant") for name in rule.names]
    here, there = (_values(side, names, work) for side in (lab, debian))
    for name in names:
        if here[name] != there[name]:
            found.constants.append(f"{name}: Debian has {there[name]}, the lab {here[name]}")
    return [name for name in names if here[name] == there[name]]


def _values(side: Side, names: Sequence[str], work: Path) -> dict[str, int]:
    """The values of constants, as the compiler computes them."""
    source = work / "constants.c"
    text = [f"#include <{each}>" for each in _CONSTANT_HEADERS]
    # as the kernel's asm-offsets.c does: the computed values are in the assembly
    text.append("void values(void);\nvoid values(void)\n{")
    text += [f'asm volatile("value {each} %c0" : : "i" ({each}));' for each in names]
    source.write_text("\n".join([*text, "}", ""]))
    done = _gcc(side.command("-S", "-o", "-", str(source)))
    if done.returncode != 0:
        raise MptcplabError(f"the constants cannot be compiled: {_first_error(done)}")
    found = re.findall(r"^\s*value (\w+) (-?\d+)$", done.stdout, re.MULTILINE)
    return {name: int(value) for name, value in found}


def _expansions_of_all(side: Side, work: Path, known: Known) -> dict[Place, str]:
    """The expansion of all sources, and of each header in the first source that includes it."""
    made: dict[Place, str] = {}
    seen: set[str] = set()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        outputs = pool.map(lambda name: _preprocessed(side, work / "sources" / name), known.sources)
        for source, output in zip(known.sources, outputs, strict=True):
            names = _Names(side, work / "sources", known, seen)
            made |= expansions(output, names)
            seen |= {name for name in names.values() if name is not None and name != source}
    return made


def _preprocessed(side: Side, source: Path) -> str:
    done = _gcc(side.command("-E", str(source)))
    if done.returncode != 0:
        raise MptcplabError(f"{source.name} cannot be preprocessed: {_first_error(done)}")
    return done.stdout


class _Names(dict[str, str | None]):
    """The names of files from the root of the source; None for those that are not compared."""

    def __init__(self, side: Side, sources: Path, known: Known, seen: set[str]) -> None:
        self._roots = (f"{sources}/", f"{side.roots['common']}/")
        self._known, self._seen = known, frozenset(seen)

    def __missing__(self, file: str) -> str | None:
        name = next(
            (file.removeprefix(root) for root in self._roots if file.startswith(root)), None
        )
        if name in self._seen or (name is not None and not self._known.is_compared(name)):
            name = None
        self[file] = name
        return name


def _texts(made: Iterable[Mapping[Place, str]], headers: DebianHeaders) -> dict[str, str]:
    """The texts of all files with a line that was compared."""
    names = {name for each in made for name, _ in each}
    return {
        name: (
            (headers.common if name.startswith("include/") else headers.source) / name
        ).read_text(errors="replace")
        for name in names
    }


def _rename_all(source: Path, target: Path, keeper: Keeper) -> None:
    for place, _, names in os.walk(source):
        for name in names:
            if name.endswith((".c", ".h")):
                file = Path(place) / name
                made = target / file.relative_to(source)
                made.parent.mkdir(parents=True, exist_ok=True)
                made.write_text(keeper.rename(file.read_text(errors="replace")))


def _gcc(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")


def _first_error(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.splitlines()
    return next((line for line in lines if "error:" in line), f"status {done.returncode}")


# --- all flavours, and the report


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if every difference is known; else 1."""
    parser = parser_of("same_arithmetic", __doc__)
    flavours = list(choices.FLAVOURS)
    packages = "a directory with Debian's packages of headers (default: apt-get downloads them)"
    without = "leave this option out of the lab's kernel, to see what it changes"
    parser.add_argument(
        "--flavour", action="append", choices=flavours, help="only this; repeat it for more"
    )
    parser.add_argument("--packages", type=Path, help=packages)
    parser.add_argument(
        *("--without",), metavar="CONFIG_OPTION", action="append", default=[], help=without
    )
    options = parser.parse_args(arguments)
    wanted = options.flavour or flavours
    return status_of(lambda: _compare_and_show(wanted, options.packages, options.without))


def _compare_and_show(
    flavours: Sequence[str], packages: Path | None, leave_out: Sequence[str]
) -> int:
    known = read_known(KNOWN.read_text(), KNOWN.name)
    for flavour in flavours:
        kernel.require(choices.FLAVOURS[flavour])
    headers = debian_headers.obtain(packages)
    used: set[Rule] = set()
    same = True
    for flavour in flavours:
        with kernel.objects(choices.FLAVOURS[flavour]) as objects:
            found = compare(flavour, headers, objects, known, leave_out=leave_out)
        for line in (*found.refused, *found.constants, *map(str, found.unknown)):
            print(line)
        print(
            f"{flavour}: Debian's {headers.version} and the lab's kernel"
            f" {choices.FLAVOURS[flavour]}: {len(known.sources)} sources, {found.lines} lines,"
            f" {len(found.unknown)} differ and are not in {KNOWN.name}",
            flush=True,
        )
        same = same and found.is_same
        used |= found.used
    if set(flavours) == set(choices.FLAVOURS) and not leave_out:
        for rule in known.needless(used):
            print(f"{KNOWN.name}: no difference needs {rule} any more: remove it")
            same = False
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
