# SPDX-License-Identifier: GPL-2.0-only
"""Programs of the host in a run: found before it starts, their output shown during it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from mptcplab import units
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import run_directory
from mptcplab.metrics import run_files
from mptcplab.mistakes import is_utf8
from mptcplab.plan import testbed
from mptcplab.scenario.limits import NO_RATE_BPS
from mptcplab.scenario.model import Scenario, Shape

#: Virtual time after which a program that has not ended is ended.
DEFAULT_TIME_LIMIT_NS = 600 * 10**9
_MAX_TIME_LIMIT_NS = 86400 * 10**9

# Programs do not see the host's content of these.
_OWN_DIRECTORIES = ("/dev", "/proc", "/run", "/sys")
_ROOTS_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
_SERVER_MARK = b"server: "
# Bytes shown at once, also of a longer line.
_PIECE_BYTES = 1 << 20


class CommandError(MptcplabError):
    """A command that cannot be run, with the exit status that a shell gives it."""

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(f"{message}")
        self.exit_status = exit_status


def find(words: Sequence[str]) -> tuple[str, ...]:
    """A command whose first word is the program's file, found as a shell would find it.

    Raises CommandError: 127 if there is no such program, 126 if it cannot be executed; InputError
    if a word is not UTF-8.
    """
    for word in words:
        _require_text(word)
    name = words[0]
    # an ordinary user's PATH lacks the directory of Debian's nginx; in a run, everybody is root
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_ROOTS_PATH}")
    if found is None:
        if "/" in name and Path(name).exists():
            raise CommandError(f"{name} exists, but cannot be executed", 126)
        where = "there is no such file" if "/" in name else f"not in PATH, nor in {_ROOTS_PATH}"
        raise CommandError(f"{name}: {where}", 127)
    path = str(Path(found).absolute())
    if _is_own(path):
        raise CommandError(f"{path}: programs cannot see the host's files there", 127)
    return (path, *words[1:])


def split(command: str, flag: str) -> tuple[str, ...]:
    """The words of a command that is given as one string, found as above; "" is no command."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        message = f"{error}; accepted is a command as in a shell"
        raise InputError([Problem(flag, "", command, message.lower())]) from None
    return find(words) if words else ()


def directory() -> str:
    """The directory in which programs start: this process's own. Raises InputError."""
    here = os.getcwd()
    _require_text(here)
    if _is_own(here):
        message = f"programs have a {Path(here).parts[1]} of their own; call it from elsewhere"
        raise InputError([Problem("the working directory", "", here, message)])
    return here


def listen(text: str, server: str) -> str:
    """The value of --listen, given --server; "" is any port. Raises InputError."""
    if text and not server:
        message = "nothing listens without --server"
        raise InputError([Problem("--listen", "", text, message)])
    protocol, _, port = text.partition(":")
    if text and not (
        protocol in ("tcp", "udp") and re.fullmatch("[1-9][0-9]{0,4}", port) and int(port) < 1 << 16
    ):
        message = "tcp:PORT or udp:PORT is expected, e.g. udp:4433"
        raise InputError([Problem("--listen", "", text, message)])
    return text


def time_limit_ns(text: str | None) -> int:
    """The value of --time-limit, in ns. Raises InputError."""
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
    """Shows the output of a run's programs: the client's on the same stream.

    The server's goes to `errors` in whole lines, each with a prefix. If output fails, for example
    because nobody reads it, `broken` is the reason, and `on_broken` is called.
    """

    def __init__(self, output: BinaryIO, errors: BinaryIO) -> None:
        self._shown = {
            run_files.CLIENT_OUTPUT: (output, b""),
            run_files.CLIENT_ERRORS: (errors, b""),
            run_files.SERVER_OUTPUT: (errors, _SERVER_MARK),
            run_files.SERVER_ERRORS: (errors, _SERVER_MARK),
        }
        self._at = dict.fromkeys(self._shown, 0)
        self.broken: OSError | None = None
        self.on_broken: Callable[[], None] = lambda: None

    def look(self, directory: Path) -> None:
        """Show new output."""
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
                        # an incomplete line waits for its end
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


def greeting(scenario: Scenario, *, out_of_tree: bool = False) -> str:
    """The introduction of a shell: hosts, devices, paths and commands.

    With the `out_of_tree` MPTCP, `ss` and `ip` know none.
    """
    numbers = range(1, len(scenario.paths) + 1)
    shared = [link.name for link in scenario.links]
    ends = [
        (end, [end.ip(version) for version in path.versions])
        for i, path in enumerate(scenario.paths, 1)
        for end in testbed.ends(i, [shared.index(name) + 1 for name in path.links])
    ]
    hosts = {
        name: [f"{end.device} {' '.join(own)}" for end, own in ends if end.namespace == name]
        for name in (testbed.CLIENT, testbed.SERVER, *map(testbed.router, numbers))
    }
    lines = ["Hosts, with their devices:"]
    for name, devices in hosts.items():
        lines.append(f"  {name:<8} {', '.join(devices)}")
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
    if scenario.transport == "mptcp":
        label = scenario.scheduler.label
        lines.append(f"Every TCP socket is an MPTCP socket, with the scheduler {label}.")
    mptcp = "ss -M; nstat; ip mptcp endpoint"
    if out_of_tree:
        mptcp = "ss -t; cat /proc/net/mptcp_net/mptcp; cat /proc/net/mptcp_net/snmp"
    lines += [
        "You are root on the client; server COMMAND or router1 COMMAND runs one there.",
        "Files are the host's; what is written is thrown away. exit leaves.",
        f"To try: {mptcp}; ping -c 3 server; tcpdump -i c1 -c 3;",
        "  router1 tc -s qdisc",
    ]
    return "\n".join(lines)


def _link(link: Shape) -> str:
    loss = f", loss {units.format_fraction(link.loss)}" if link.loss else ""
    if link.rate_bps == NO_RATE_BPS:
        # its links have the rate and the queue
        return f"{units.format_time(link.delay_ns)}{loss}"
    return (
        f"{units.format_rate(link.rate_bps)}, {units.format_time(link.delay_ns)}, "
        f"queue {link.queue_packets}{loss}"
    )


def _is_own(path: str) -> bool:
    return any(path == own or path.startswith(f"{own}/") for own in _OWN_DIRECTORIES)


def _require_text(word: str) -> None:
    if not is_utf8(word):
        message = "not UTF-8 text, which a command and its directory must be"
        raise InputError([Problem("the command line", "", ascii(word), message)])
