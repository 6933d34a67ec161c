# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own make: its arguments, its progress, its end, and its errors."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mptcplab.errors import MptcplabError
from mptcplab.files import new_directory
from mptcplab.lab.kernel_tree import (
    ORIGINALS,
    OWN_DIRECTORY,
    Locks,
    SourceError,
    digests,
    ending_with_us,
    now_ns,
    synchronise,
)
from mptcplab.units import counted

if TYPE_CHECKING:
    from rich.progress import Progress

#: The compiler that kernels are built with, unless another one is named.
GCC = "gcc"
CLANG = "clang"
# Compilers spend their time on headers: collecting garbage less often saves 15 % of it.
KCFLAGS = "--param ggc-min-expand=1000 --param ggc-min-heapsize=1000000"
# The same sources yield the same image, whoever builds it and when.
MAKE_ENVIRONMENT = {
    "ARCH": "um",
    "KBUILD_BUILD_HOST": "mptcplab",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "mptcplab",
    "KBUILD_BUILD_VERSION": "1",
    "KCFLAGS": KCFLAGS,
    "LC_ALL": "C",
    "LOCALVERSION": "",
}

# Makes the kernel's Makefiles use precompiled headers, in `directory`: these must come first, and
# the command line may define no name in them (see names.h).
PRECOMPILED = (
    "NOSTDINC_FLAGS=-nostdinc -include {directory}/headers.h -include {directory}/names.h",
    "basename_flags=-DLAB_BASENAME=$(call name-fix,$(basetarget))",
    "modfile_flags=-DLAB_MODFILE=$(call stringify,$(modfile))",
    "modname_flags=-DLAB_MODNAME=$(call name-fix,$(modname))"
    " -DLAB_KMODNAME=kmod_$(call name-fix-token,$(modname))",
    # These declare names that headers which they do not include declare differently: a function
    # `swap`, all system calls, and, with IPv6, a variable `rcv_saddr`.
    "CFLAGS_sort.o=-DLAB_WITHOUT_HEADERS",
    "CFLAGS_sys_call_table_64.o=-DLAB_WITHOUT_HEADERS",
    "CFLAGS_ping.o=-DLAB_WITHOUT_HEADERS",
)
# The headers are compiled twice, with the flags of most kernel objects and of modules, each known
# from any object of its kind. The compiler takes the one that fits.
_PLAIN_OBJECTS = {"kernel": "init/init_task.o", "module": "lib/kunit/assert.o"}
#: Beside the objects: the times of the files that they were made of (kernel_tree.keep_times).
TIMES = "times.json"
# The header with the configuration, and an option in it or elsewhere, which may be a module's.
_OPTIONS = "generated/autoconf.h"
_OPTION = re.compile(rb"\bCONFIG_\w+?(?=(?:_MODULE)?\b)")

# Objects of a full build, for the progress bar of the first; later builds know the number. They are
# 500 to 830, by variant and series.
_OBJECTS_GUESS = 750
# Without a bar, a line for each so many objects if the number of all is unknown.
_OBJECTS_SHOWN = 100
_LOG_LINES_SHOWN = 12
# make's own lines, such as `  CC      net/mptcp/protocol.o`.
_OF_MAKE = re.compile(r"\s+[A-Z][A-Z0-9_]+(?: \[M\])?\s+\S|make(?:\[\d+\])?: |\s*\Z")
# How a message of the compiler begins, and the lines before it that say how it got there.
_MESSAGE = re.compile(r"\S+:\d+(?::\d+)?: (?:fatal )?(?:error|warning): ")
_ERROR = re.compile(r"(?:\S+: |.* )?(?:fatal )?error: ")
_LEADING_THERE = re.compile(r"In file included from |\s+from \S+:\d+|\S+: (?:In \w+|At top level)")
# In make's output if the machine is to blame, not the source.
_LACKED = re.compile(
    ".*(No space left on device|Cannot allocate memory|virtual memory exhausted"
    "|Killed signal terminated program|Resource temporarily unavailable).*"
)
_TICK_S = 0.1
# Runs make, and removes the marker when make has ended on its own or by SIGTERM: make then leaves
# no half-written file. This script outlives a killed process of ours.
_GUARD = """\
marker=$1
shift
trap 'kill -TERM "$make"' TERM
"$@" &
make=$!
wait "$make"
status=$?
# wait ends at a signal, too
while kill -0 "$make" 2>/dev/null; do
    wait "$make"
    status=$?
done
if [ "$status" -le 128 ] || [ "$status" -eq 143 ]; then
    rm -f "$marker"
fi
exit "$status"
"""


def configure(
    make: Make, fragments: Mapping[str, bytes], headers: Mapping[str, bytes], other: object
) -> None:
    """Makes `.config` from `fragments`, checks that they took effect, and compiles `headers`.

    The last fragment with an option takes precedence. Nothing is done if the fragments, and
    everything else that determines the configuration (`other`), are unchanged. Raises MptcplabError
    if an option took no effect.
    """
    merged, result = make.obj / "merged.config", make.obj / ".config"
    config = b"\n".join(fragments.values())
    stamp = json.dumps([digests({"config": config, **headers}), other], indent=1)
    note = make.obj / "configured"
    if not (result.exists() and note.exists() and note.read_text() == stamp):
        make.obj.mkdir(parents=True, exist_ok=True)
        note.unlink(missing_ok=True)
        merged.write_bytes(config)
        make.run("allnoconfig", f"KCONFIG_ALLCONFIG={merged}")
    lost = options_without_effect(config.decode(), result.read_text())
    if lost:
        names = " and ".join(f"kernel/{name}" for name in fragments)
        text = f"{counted(len(lost), 'option')} of {names} took no effect: this kernel does not"
        text += " know them, or they depend on others"
        raise SourceError("\n  ".join([text, *lost]))
    if not note.exists():
        if headers:
            _precompile(make, headers)
        else:
            make.precompiled_note.write_text("")
        note.write_text(stamp)


def _precompile(make: Make, headers: Mapping[str, bytes]) -> None:
    """Compiles the headers that most files include, which halves the time of a build.

    Their directory is named after their content, and the name is in the command of each object:
    make rebuilds objects if, and only if, the content changes. Of the configuration, only options
    that these headers mention count, since make knows the options of the objects themselves.
    """
    make.precompiled_note.unlink(missing_ok=True)
    make.run("prepare", *_PLAIN_OBJECTS.values())
    commands = {kind: _plain_command(make.obj, name) for kind, name in _PLAIN_OBJECTS.items()}
    scratch = make.obj / "precompiled.part"
    shutil.rmtree(scratch, ignore_errors=True)
    synchronise(scratch, headers)
    digest = hashlib.sha256((scratch / "names.h").read_bytes())
    for gcc in commands.values():
        digest.update(shlex.join(gcc).encode())
        words = _gcc(make, [*gcc, "-M", str(scratch / "headers.h")]).replace("\\\n", " ").split()
        options, mentioned = list[bytes](), set[bytes]()
        for name in words[1:]:
            text = (make.obj / name).read_bytes()
            if name.endswith(_OPTIONS):
                options = text.splitlines()
                continue
            digest.update(text)
            mentioned.update(_OPTION.findall(text))
        digest.update(b"\n".join(each for each in options if mentioned & {*_OPTION.findall(each)}))
    directory = make.obj / f"precompiled-{digest.hexdigest()[:12]}"
    if not directory.exists():
        for old in make.obj.glob("precompiled-*"):
            shutil.rmtree(old)
        scratch.rename(directory)
    shutil.rmtree(scratch, ignore_errors=True)
    header = str(directory / "headers.h")
    (directory / "headers.h.gch").mkdir(exist_ok=True)
    compilers = [
        [*gcc, "-x", "c-header", header, "-o", f"{header}.gch/{kind}"]
        for kind, gcc in commands.items()
    ]
    with ThreadPoolExecutor() as pool:  # make is idle meanwhile
        list(pool.map(lambda command: _gcc(make, command), compilers))
    # A compiler that cannot load its own precompiled headers would read all of their text for each
    # object, which takes longer than without.
    usable = all(_loads_precompiled(make, gcc, header) for gcc in commands.values())
    make.precompiled_note.write_text(directory.name if usable else "")


def _loads_precompiled(make: Make, gcc: Sequence[str], header: str) -> bool:
    command = [*gcc, "-H", "-include", header, "-x", "c", "/dev/null", "-c", "-o", "/dev/null"]
    done = subprocess.run(command, cwd=make.obj, capture_output=True, text=True, check=False)
    # -H marks the precompiled header that was loaded with "!".
    return done.returncode == 0 and f"! {header}.gch" in done.stderr


def _plain_command(obj: Path, name: str) -> list[str]:
    """The compiler and its flags for objects like this one, from make's .cmd file."""
    note = obj / name
    command = (note.parent / f".{note.name}.cmd").read_text().partition("\n")[0]
    words = iter(shlex.split(command.partition(" := ")[2])[:-1])  # the last is the file
    kept = []
    for word in words:
        if word in ("-include", "-o"):
            next(words)
        elif word != "-c" and not re.match(r"-Wp,-MMD|-D(__)?KBUILD_", word):
            kept.append(word)
    return kept


def _gcc(make: Make, command: Sequence[str]) -> str:
    done = subprocess.run(
        ending_with_us(command),
        cwd=make.obj,
        capture_output=True,
        text=True,
        check=False,
        pass_fds=make.locks,
    )
    if done.returncode != 0:
        make.log.write_text(done.stderr)
        raise MakeFailedError(done.stderr, make)
    return done.stdout


def options_without_effect(fragment: str, config: str) -> list[str]:
    """One line for each option of `fragment` that has another value in `config`."""
    wanted, found = _options(fragment), _options(config)
    return [
        f"{name}={value}: the kernel has {found.get(name, 'n')}"
        for name, value in wanted.items()
        if found.get(name, "n") != value
    ]


def _options(config: str) -> dict[str, str]:
    pattern = r"^(?:(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set)$"
    return {
        name or unset: value.strip() or "n"
        for name, value, unset in re.findall(pattern, config, re.MULTILINE)
    }


def arguments_of(compiler: str) -> list[str]:
    """make's arguments for a compiler."""
    if compiler == GCC:
        return []
    # clang refuses KCFLAGS, which are for gcc alone
    return [f"CC={compiler}", *(["KCFLAGS="] if compiler.startswith(CLANG) else [])]


class Make:
    """make with an object directory: its output goes to build.log, its end is always awaited.

    `directory` is for one configuration of the sources in `source`, which were copied from `origin`
    if that is a directory of the user's; `brought` are files of the user's by their names there.
    `arguments` come with every call, in place of the environment's. `directory` contains a marker
    file while make works. When make is ended, even after the death of this process, it deletes the
    file that it was making, and the marker goes, too. A marker that is left over means that make
    itself was killed: a half-written object could look finished, and all are rebuilt.
    """

    def __init__(
        self,
        source: Path,
        directory: Path,
        locks: Locks,
        arguments: Sequence[str] = (),
        origin: Path | None = None,
        brought: Mapping[str, Path] | None = None,
    ) -> None:
        self.source = source
        self.places = Places(source, origin, brought)
        self.directory = directory
        self.obj = directory / "obj"
        self.log = directory / "build.log"
        self.times = directory / TIMES
        self.precompiled_note = self.obj / "precompiled"
        self._marker = directory / "building"
        self._objects_note = directory / "objects"
        self.locks = locks
        self._arguments = arguments

    def was_killed(self) -> bool:
        return self._marker.exists()

    def is_from_the_future(self) -> bool:
        """Whether the clock was set back since objects were made: make takes such objects for newer
        than files that change now, and would not rebuild them.
        """
        if not self.obj.exists():
            return False
        now = now_ns(self.directory)
        return any(
            os.lstat(os.path.join(place, name)).st_mtime_ns > now
            for place, _, names in os.walk(self.obj)
            for name in names
        )

    def discard_objects(self) -> None:
        shutil.rmtree(self.obj, ignore_errors=True)
        self._marker.unlink(missing_ok=True)

    def seed(self, other: Path) -> None:
        """Begins with the objects in the directory of another variant: make compiles the rest."""
        self.directory.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(other / TIMES, self.times)
        with new_directory(self.obj) as part:
            shutil.copytree(other / self.obj.name, part, symlinks=True, dirs_exist_ok=True)

    def compile(self, progress: BuildProgress) -> None:
        """Makes the kernel image `linux`, and the files that modules need."""
        self.image(progress, "linux", "modules_prepare", *self._precompiled())
        # the symbols for modules: with modules of the kernel's own, make would write it, and 4.19
        # has written it
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(self.obj / "vmlinux.symvers", self.obj / "Module.symvers")

    def image(self, progress: BuildProgress, *targets: str) -> None:
        """Makes `targets`, of which one is an image of the kernel.

        Messages of the compiler are printed as they come; of a first build, errors alone.
        """
        first = not self._objects_note.exists()
        total = _OBJECTS_GUESS if first else int(self._objects_note.read_text())
        if not (is_whole := not (self.obj / "vmlinux").exists()):
            total = 0  # a few files changed; only make knows how many
        done, lines, said = 0, list[str](), False

        def watch(line: str) -> None:
            nonlocal done, lines, said
            if not _OF_MAKE.match(line):
                lines.append(line)
                return
            for each in messages(lines):
                if any(map(_ERROR.match, each)) or not (is_whole or is_of_precompiled(each)):
                    said |= progress.say(self.places.shown(each))
            lines = []
            if re.match(r"\s+(CC|AS|HOSTCC)\s", line):
                done += 1
                progress.advance(done, total)
            elif re.match(r"\s+LD\s+vmlinux$", line):
                progress.step("link")

        try:
            self.run(*targets, watch=watch)
        except MakeFailedError as error:
            if said:
                raise MakeFailedError(error.log, self, said=True) from None
            raise
        if total and done > total // 2:
            self._objects_note.write_text(str(done))

    def modules(self) -> list[Path]:
        self.run("modules", *self._precompiled())
        names = (self.obj / "modules.order").read_text().split()
        return [(self.obj / name).with_suffix(".ko") for name in names]

    def module(self, directory: Path) -> str:
        """Makes the module that the Makefile in `directory` describes; returns make's output.

        Nothing is written to the objects of the kernel.
        """
        precompiled = self._precompiled(self.obj)
        self.run("modules", f"M={directory}", *precompiled, marker=directory / "building")
        return self.log.read_text(errors="replace")

    def _precompiled(self, place: Path = Path()) -> list[str]:
        """Seen from the objects' directory, as other variants see theirs: seed() copies objects."""
        if not (name := self.precompiled_note.read_text()):
            return []
        return [word.format(directory=place / name) for word in PRECOMPILED]

    def run(
        self,
        *arguments: str,
        watch: Callable[[str], None] | None = None,
        marker: Path | None = None,
    ) -> None:
        """Runs make; `watch` gets each line. Raises MptcplabError with make's first error."""
        marker = marker or self._marker
        jobs = len(os.sched_getaffinity(0))
        make = ["make", f"--directory={self.source}", f"O={self.obj}", f"--jobs={jobs}"]
        # If this process is killed, the kernel ends make, and make its children.
        command = ending_with_us(["sh", "-c", _GUARD, "sh", str(marker), *make], "TERM")
        environment = {
            name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ
        }
        self.directory.mkdir(parents=True, exist_ok=True)
        marker.touch()
        with (
            self.log.open("wb") as log,
            subprocess.Popen(
                [*command, *self._arguments, *arguments],
                env=environment | MAKE_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                # Not a pipe: it would end with this process, and end make before it had cleaned up.
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C reaches only this process, which then ends make in an orderly way.
                start_new_session=True,
                # A process that outlives this one still holds the locks: nobody else builds there.
                pass_fds=self.locks,
            ) as running,
        ):
            try:
                for line in _lines_until_end(running, self.log):
                    if watch:
                        watch(line)
            except BaseException:
                _terminate(running)
                raise
        if running.returncode != 0:
            output = self.log.read_text(errors="replace")
            if lacked := _LACKED.search(output):
                raise MptcplabError(f"the kernel build failed: {lacked[0]}\n  log: {self.log}")
            raise MakeFailedError(output, self)


class MakeFailedError(SourceError):
    """make failed; `log` is its whole output. The message has the first error, unless `said`."""

    def __init__(self, log: str, make: Make, *, said: bool = False) -> None:
        self.log = log
        lines = [] if said else first_error(log, make.places)
        super().__init__("\n  ".join(["the kernel build failed", *lines, f"log: {make.log}"]))


class Places:
    """Turns places in a tree of the cache into those that a user knows."""

    def __init__(
        self,
        source: Path,
        origin: Path | None = None,
        brought: Mapping[str, Path] | None = None,
    ) -> None:
        self._source = source
        self._brought = brought or {}
        self._place = re.compile(rf"{re.escape(str(source))}/([^\s:]+)(?::(\d+))?")
        self._begin = f"{origin}/" if origin else ""
        self._numbers: dict[str, Mapping[int, int]] = {}

    def shown(self, lines: Sequence[str]) -> list[str]:
        """Lines of a compiler, with the user's files and the numbers that lines have there.

        A line that one of our patches has added keeps its place in the cache.
        """
        file, found = "", []
        for line in lines:
            if places := self._place.findall(line):
                file = places[-1][0]
            if beside := re.match(r"(\s*)(\d+)( \|.*)", line):
                number = self._number(file, int(beside[2])) or beside[2]
                width = len(beside[1]) + len(beside[2])
                found.append(f"{number:>{width}}{beside[3]}")
            else:
                found.append(self._place.sub(self._replaced, line))
        return found

    def _replaced(self, place: re.Match[str]) -> str:
        name, number = place[1], place[2]
        if name.startswith(f"{OWN_DIRECTORY}/"):
            return "kernel/mptcp" + place[0].removeprefix(f"{self._source}/{OWN_DIRECTORY}")
        if name in self._brought:
            return place[0].replace(f"{self._source}/{name}", str(self._brought[name]))
        if number is None:
            return self._begin + name
        known = self._number(name, int(number))
        return f"{self._begin}{name}:{known}" if known else place[0]

    def _number(self, name: str, number: int) -> int | None:
        """The number that a line has before our patches, None if it is theirs."""
        original = self._source.parent / ORIGINALS / name
        if not original.is_file():
            return number
        if name not in self._numbers:
            patched, its_own = (
                path.read_text(errors="replace").splitlines()
                for path in (self._source / name, original)
            )
            matcher = difflib.SequenceMatcher(None, patched, its_own, autojunk=False)
            self._numbers[name] = {
                now + offset + 1: before + offset + 1
                for now, before, size in matcher.get_matching_blocks()
                for offset in range(size)
            }
        return self._numbers[name].get(number)


def messages(lines: Sequence[str]) -> list[list[str]]:
    """The lines of a compiler, message by message: an error or a warning, with all about it."""
    found: list[list[str]] = []
    leading: list[str] = []
    for line in lines:
        leading.append(line)
        if _LEADING_THERE.match(line):
            continue
        if _MESSAGE.match(line) or not found:
            found.append([])
        found[-1] += leading
        leading = []
    return found


def is_of_precompiled(message: Sequence[str]) -> bool:
    """Whether a message is about a macro of precompiled headers that a file defines, as it may."""
    text = "\n".join(message)
    return '" redefined' in text and "/precompiled-" in text


def _lines_until_end(process: subprocess.Popen[bytes], log: Path) -> Iterator[str]:
    """The lines that a process writes to a file, soon after it writes them."""
    with log.open(errors="replace") as file:
        begun, ended = "", False
        while not ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_TICK_S)
                ended = True
            *lines, begun = (begun + file.read()).split("\n")
            yield from lines


def _terminate(make: subprocess.Popen[bytes]) -> None:
    """Ends make and all that it has started: what compiles may end a little later than make."""
    for number, patience_s in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(make.pid, number)
            make.wait(patience_s)
            for _ in range(round(2 / _TICK_S)):
                os.killpg(make.pid, 0)  # raises when the group has ended
                time.sleep(_TICK_S)


def first_error(log: str, places: Places) -> list[str]:
    """The lines of make's output with the first error, with places as the user knows them.

    The first error of the compiler comes with the lines that show its place; without one, the
    linker's or make's.
    """
    lines = log.splitlines()
    patterns = (
        r"\S+:\d+:(\d+:)? (fatal )?error: ",
        r"\S+:\d+: syntax error|^(gcc|cc1): .*error: ",
        r".*undefined reference to|.*multiple definition of|\S*ld: ",
        r"make.*: \*\*\* ",
    )
    for pattern in patterns:
        for number, line in enumerate(lines):
            if re.match(pattern, line):
                end = number + 1
                while end < len(lines) and lines[end].startswith(" ") and "|" in lines[end]:
                    end += 1
                start = number - 1 if number and ": In function " in lines[number - 1] else number
                return places.shown(lines[start : min(end, start + _LOG_LINES_SHOWN)])
    return places.shown(lines[-3:])


class BuildProgress(AbstractContextManager["BuildProgress"]):
    """The progress of a build on standard error: a bar on a terminal, else a line per step."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Progress | None = None
        self._part = 0
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("kernel: {task.description}"),
                BarColumn(),
                TextColumn("{task.fields[detail]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task("", total=None, detail="")
        return self

    def __exit__(self, *_error: object) -> None:
        if self._bar:
            self._bar.stop()

    def step(self, name: str, detail: str = "") -> None:
        self._part = 0
        if self._bar:
            self._bar.update(self._task, description=name, detail=detail, total=None, completed=0)
        elif not self._quiet:
            print(f"kernel: {name}" + (f": {detail}" if detail else ""), file=sys.stderr)

    def say(self, lines: Sequence[str]) -> bool:
        """Print lines that stay; returns whether it does."""
        if not self._quiet:
            for line in lines:
                print(line, file=sys.stderr)
        return not self._quiet

    def advance(self, done: int, total: int) -> None:
        """`done` objects of about `total`, 0 if unknown: also when there are more than expected."""
        if done > total:
            total = 0
        detail = f"{done} of about {total} files" if total else f"{done} files"
        part = done * 10 // total if total else done // _OBJECTS_SHOWN
        if self._bar:
            self._bar.update(self._task, detail=detail, total=total or None, completed=done)
        elif not self._quiet and part > self._part:
            print(f"kernel: compile: {detail}", file=sys.stderr)
        self._part = part
