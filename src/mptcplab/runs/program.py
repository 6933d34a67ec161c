# SPDX-License-Identifier: GPL-2.0-only
"""Programs of the host in a run: found before it starts, their output shown while it goes on."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import engine, run_directory
from mptcplab.spec import testbed, units
from mptcplab.spec.limits import NO_RATE_BPS
from mptcplab.spec.mistakes import is_utf8
from mptcplab.spec.scenario import Direction, Scenario

#: Virtual time after which a program that has not ended is ended.
DEFAULT_TIME_LIMIT_NS = 600 * 10**9
_MAX_TIME_LIMIT_NS = 86400 * 10**9

# What programs find there is not the host's.
_OWN_DIRECTORIES = ("/dev", "/proc", "/run", "/sys")
_ROOTS_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
_SERVER_MARK = b"server: "
# What is shown at once, also of a line that is longer.
_PIECE_BYTES = 1 << 20


class CommandError(MptcplabError):
    """A command that cannot be run, with the exit status that a shell has for it."""

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(f"{message}")
        self.exit_status = exit_status


def find(words: Sequence[str]) -> tuple[str, ...]:
    """A command whose first word is the program's file, found as a shell would find it.

    Raises CommandError: 127 if there is no such program, 126 if it cannot be executed; InputError
    if a word is no text.
    """
    for word in words:
        _require_text(word)
    name = words[0]
    # an ordinary user's PATH lacks the directory where Debian keeps nginx; inside all are root
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_ROOTS_PATH}")
    if found is None:
        if "/" in name and Path(name).exists():
            raise CommandError(f"{name} is there, but is no program that can be executed", 126)
        where = "there is no such file" if "/" in name else f"not in PATH, nor in {_ROOTS_PATH}"
        raise CommandError(f"{name}: {where}", 127)
    path = str(Path(found).absolute())
    if _is_own(path):
        raise CommandError(f"{path}: programs do not see what of the host is in there", 127)
    return (path, *words[1:])


def split(command: str, flag: str) -> tuple[str, ...]:
    """The words of a command that is given as one text, found as above; "" is no command."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        message = f"{error}; a command as for a shell is expected"
        raise InputError([Problem(flag, "", command, message.lower())]) from None
    return find(words) if words else ()


def directory() -> str:
    """The directory that programs start in: this process's own. Raises InputError."""
    here = os.getcwd()
    _require_text(here)
    if _is_own(here):
        message = f"programs have a {Path(here).parts[1]} of their own; call it from elsewhere"
        raise InputError([Problem("the working directory", "", here, message)])
    return here


def time_limit_ns(text: str | None) -> int:
    """What --time-limit says, in ns. Raises InputError."""
    if text is None:
        return DEFAULT_TIME_LIMIT_NS
    accepted = "a time of 1ms to 86400s is expected, e.g. 600s"
    try:
        ns = units.parse_time(text)
    except ValueError as error:
        raise InputError([Problem("--time-limit", "", text, f"{error}; {accepted}")]) from None
    if not 10**6 <= ns <= _MAX_TIME_LIMIT_NS:
        raise InputError([Problem("--time-limit", "", text, accepted)])
    return ns


class Outputs:
    """Shows what the programs of a run write: the client's where a program writes it.

    Of the server's, whole lines go to `errors`, each with a mark before it. When it cannot be
    shown any more, as when nobody reads it, `broken` is why, and `on_broken` is called.
    """

    def __init__(self, output: BinaryIO, errors: BinaryIO) -> None:
        self._shown = {
            engine.CLIENT_OUTPUT: (output, b""),
            engine.CLIENT_ERRORS: (errors, b""),
            engine.SERVER_OUTPUT: (errors, _SERVER_MARK),
            engine.SERVER_ERRORS: (errors, _SERVER_MARK),
        }
        self._at = dict.fromkeys(self._shown, 0)
        self.broken: OSError | None = None
        self.on_broken: Callable[[], None] = lambda: None

    def look(self, directory: Path) -> None:
        """Show what has come since."""
        for name, (stream, mark) in self._shown.items():
            file = run_directory.open_plain(directory, name)
            if file is None:
                continue
            with file:
                there = os.fstat(file.fileno()).st_size
                while self._at[name] < there and not self.broken:
                    file.seek(self._at[name])
                    text = file.read(_PIECE_BYTES)
                    if mark and (len(text) < _PIECE_BYTES or b"\n" in text):
                        # the rest of a line waits until it is whole
                        text = text[: text.rfind(b"\n") + 1]
                    if not text:
                        break
                    self._at[name] += len(text)
                    self._show(text, stream, mark)

    def _show(self, text: bytes, stream: BinaryIO, mark: bytes) -> None:
        lines = text.splitlines(keepends=True) if mark else [text]
        try:
            stream.write(b"".join(mark + line for line in lines))
            stream.flush()
        except OSError as error:
            self.broken = error
            self.on_broken()


def greeting(scenario: Scenario) -> str:
    """What is there, for whoever types in a shell inside."""
    numbers = range(1, len(scenario.paths) + 1)
    shared = [link.name for link in scenario.links]
    ends = [
        end
        for i, path in enumerate(scenario.paths, 1)
        for end in testbed.ends(i, [shared.index(name) + 1 for name in path.links])
    ]
    hosts = {
        name: [end for end in ends if end.namespace == name]
        for name in (testbed.CLIENT, testbed.SERVER, *map(testbed.router, numbers))
    }
    lines = ["Hosts, with their devices:"]
    for name, devices in hosts.items():
        listed = ", ".join(f"{end.device} {end.address}" for end in devices)
        lines.append(f"  {name:<8} {listed}")
    lines.append("Paths, as their routers shape them:")
    for i, path in zip(numbers, scenario.paths, strict=True):
        lines.append(
            f"  {path.name}: to the server {_link(path.up)} (rs{i}), "
            f"to the client {_link(path.down)} (rc{i})"
        )
    lines += [
        f"Link {link.name}: to the server {_link(link.up)} (near{m}, n{m}), "
        f"to the client {_link(link.down)} (far{m}, f{m})"
        for m, link in enumerate(scenario.links, 1)
    ]
    lines += [
        *_transport(scenario),
        "You are root on the client; server COMMAND or router1 COMMAND runs one there.",
        "Files are the host's; what is written is thrown away. exit leaves.",
        "To try: ss -M; nstat; ip mptcp endpoint; ping -c 3 server; tcpdump -i c1 -c 3;",
        "  router1 tc -s qdisc",
    ]
    return "\n".join(lines)


def _link(link: Direction) -> str:
    loss = f", loss {units.format_fraction(link.loss)}" if link.loss else ""
    if link.rate_bps == NO_RATE_BPS:
        # the rate and the queue are those of its links
        return f"{units.format_time(link.delay_ns)}{loss}"
    return (
        f"{units.format_rate(link.rate_bps)}, {units.format_time(link.delay_ns)}, "
        f"queue {link.queue_packets}{loss}"
    )


def _transport(scenario: Scenario) -> Iterator[str]:
    if scenario.transport == "mptcp":
        yield f"Every TCP socket is one of MPTCP, with the scheduler {scenario.scheduler.label}."


def _is_own(path: str) -> bool:
    return any(path == own or path.startswith(f"{own}/") for own in _OWN_DIRECTORIES)


def _require_text(word: str) -> None:
    if not is_utf8(word):
        message = "not UTF-8 text, which a command and its directory must be"
        raise InputError([Problem("the command line", "", ascii(word), message)])
