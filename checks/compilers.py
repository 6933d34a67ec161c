# SPDX-License-Identifier: GPL-2.0-only
"""Do the kernel and the guest depend on the C compiler? `make compilers`

The check builds the kernel, KUnit with our tests and the programs of the guest with each compiler
of this machine. Each looks for warnings in our files, gcc with -fanalyzer; so does sparse if it is
installed. Runs and the calls of `make fuzz` must be the same as with gcc. compilers.toml lists the
false alarms, with the reason.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from checks import fuzz
from checks.command_line import parser_of, say
from checks.many import Builds
from mptcplab import resources
from mptcplab.errors import status_of
from mptcplab.lab import doctor, guest, kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_make import CLANG, GCC, Make
from mptcplab.lab.kernel_tree import OWN_DIRECTORY

#: Looked for, besides the one that the lab uses.
NAMES = (*(f"gcc-{version}" for version in range(12, 17)), CLANG, "clang-19")
EXPLAINED = Path(__file__).with_suffix(".toml")
DEFAULT_OUT = Path("compilers-out")
#: The calls at random that the programs of all compilers make.
CALLS = fuzz.FuzzCase(seed=1, calls=5000)
# The guest's own directory, and those of further programs that run inside.
_PROGRAMS = (".", "selftests", "torture", "fuzz")
# What kbuild gives sparse (CHECKFLAGS in the Makefile and in that of x86).
_SPARSE = (
    *("sparse", "-D__linux__", "-Dlinux", "-D__STDC__", "-Dunix", "-D__unix__"),
    *("-Wbitwise", "-Wno-return-void", "-Wno-unknown-attribute", "-m64", "-D__x86_64__"),
)
_WARNING = re.compile(r"(?P<file>[^\s:]+):\d+(:\d+)?: (warning|error): (?P<text>.*)")


@dataclass(frozen=True, order=True)
class Finding:
    """What a compiler or an analyzer says of a file, whose path is below kernel/mptcp or guest.

    It may be a header's, of the kernel or of the C library: then the path is as the tool has it.
    """

    tool: str
    file: str
    text: str


@dataclass(frozen=True)
class Built:
    """What a compiler has made, and what it says of our files."""

    kernel: KernelBuild
    guest: Guest
    calls: Guest
    findings: tuple[Finding, ...]


def installed() -> list[str]:
    """The names of the compilers that are there: gcc, and those that are not the same program."""
    found: dict[str, str] = {}
    for name in (GCC, *NAMES):
        # a program says its own name first, by which it was called
        if version := kernel.compiler_version(name):
            found.setdefault(version.removeprefix(f"{name} "), name)
    return list(found.values())


def build(compiler: str) -> Built:
    """Builds all with a compiler. Raises MptcplabError if it refuses something."""
    made = kernel.build(compiler=compiler, remember=False)
    kernel.kunit_modules(made)
    sources = [resources.GUEST / name for name in _PROGRAMS]
    program, *_, calls = [guest.build(source, compiler=compiler) for source in sources]
    with kernel.objects(compiler) as objects:
        looked = list(_of_kernel(objects, compiler))
    return Built(made, program, calls, tuple(sorted({*looked, *_of_guest(compiler)})))


def _of_kernel(objects: Make, compiler: str) -> Iterator[Finding]:
    """What is found in our files of the kernel, with the flags of each from make's .cmd files."""
    commands = []
    for note in sorted((objects.obj / OWN_DIRECTORY).rglob(".*.o.cmd")):
        line = note.read_text().partition("\n")[0].partition(" := ")[2].partition(" ; ")[0]
        words = [word for word in shlex.split(line) if not word.startswith("-Wp,-MMD")]
        if "-c" not in words:
            continue  # a link
        at = words.index("-o")
        words[at + 1] = os.devnull
        commands.append([words[0], *_analyzer(compiler), *words[1:]])
        if compiler == GCC and doctor.find_tool("sparse"):
            rest = [word for word in (*words[1:at], *words[at + 2 :]) if word != "-c"]
            commands.append([*_SPARSE, *rest])
    yield from _looked(commands, objects.obj, f"{OWN_DIRECTORY}/")


def _of_guest(compiler: str) -> Iterator[Finding]:
    files = [file for name in _PROGRAMS for file in sorted((resources.GUEST / name).glob("*.c"))]
    flags = [*guest.FLAGS, *guest.INCLUDES, *_analyzer(compiler), "-Wno-error"]
    commands = [[compiler, *flags, "-c", "-o", os.devnull, str(file)] for file in files]
    yield from _looked(commands, resources.GUEST, f"{resources.GUEST}/")


def _analyzer(compiler: str) -> tuple[str, ...]:
    return () if compiler.startswith(CLANG) else ("-fanalyzer",)


def _looked(commands: Sequence[list[str]], directory: Path, below: str) -> Iterator[Finding]:
    def look(command: list[str]) -> tuple[str, str]:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        return command[0], done.stderr

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for tool, said in pool.map(look, commands):
            for found in map(_WARNING.match, said.splitlines()):
                if found:
                    file = found["file"].rpartition(below)[2]
                    yield Finding(tool, file, found["text"])


def unexplained(findings: Sequence[Finding]) -> list[Finding]:
    """Those that compilers.toml does not excuse, by file and a part of the text."""
    with EXPLAINED.open("rb") as file:
        known = tomllib.load(file)["explained"]
    return [
        found
        for found in findings
        if not any(
            f"/{found.file}".endswith(f"/{each['file']}") and each["text"] in found.text
            for each in known
        )
    ]


def _same(ours: Built, theirs: Built, only: str, out: Path) -> bool:
    """Whether the runs of both are the same; shows where they are not."""
    sides = [f"{each.kernel.id}+{each.guest.id}" for each in (ours, theirs)]
    chosen = ["--only", only] if only else []
    words = ["-m", "mptcplab", "kernel", "compare", *sides, "--out", str(out), *chosen]
    return subprocess.run([sys.executable, *words], check=False).returncode == 0


def same_calls(ours: Builds, theirs: Builds) -> bool:
    """Whether calls at random have the same results with both."""
    results = []
    for builds in (ours, theirs):
        with tempfile.TemporaryDirectory() as directory:
            results.append(fuzz.perform(CALLS, builds, Path(directory)))
        print(*results[-1].failures, sep="\n", end="")
    return not results[0].failures and results[0] == results[1]


def _check(compilers: Sequence[str], only: str, out: Path) -> int:
    built: dict[str, Built] = {}
    wrong = False
    for compiler in compilers:
        say(f"compilers: {compiler}")
        built[compiler] = build(compiler)
        for found in unexplained(built[compiler].findings):
            wrong = True
            print(f"{found.tool}: {found.file}: {found.text}")
    ours = built[GCC]
    for compiler, theirs in built.items():
        sides = [Builds(ours.kernel, ours.guest, each.calls) for each in (ours, theirs)]
        differs = []
        if theirs is not ours:
            differs += [] if same_calls(*sides) else ["calls"]
            differs += [] if _same(ours, theirs, only, out) else ["packets"]
        wrong = wrong or bool(differs)
        made = f"kernel {theirs.kernel.id}, guest {theirs.guest.id}"
        count = len(unexplained(theirs.findings))
        end = f"other {' and '.join(differs)} than with gcc" if differs else "all the same"
        print(f"{compiler}: {made}: {count} findings in our files, {end}")
    return 1 if wrong else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if nothing is found, and all runs are the same."""
    parser = parser_of("compilers", __doc__)
    parser.add_argument(
        "--compiler", default="", help="only these besides gcc, separated by commas"
    )
    parser.add_argument("--only", default="", help="run the scenarios whose names contain this")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where the runs are kept")
    options = parser.parse_args(arguments)
    names = [GCC, *options.compiler.split(",")] if options.compiler else installed()
    missing = [name for name in names if doctor.find_tool(name) is None]
    if missing:
        parser.error(f"--compiler {','.join(missing)}: not installed")
    return status_of(lambda: _check(names, options.only, options.out))


if __name__ == "__main__":
    raise SystemExit(main())
