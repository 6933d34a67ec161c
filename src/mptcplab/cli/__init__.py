# SPDX-License-Identifier: GPL-2.0-only
"""The command line: reads options, calls the layers below, and shows the results."""

from __future__ import annotations

import atexit
import codecs
import gc
import importlib
import io
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

import click

from mptcplab import __version__
from mptcplab.errors import MptcplabError, status_of

#: Where each command is, as MODULE:NAME, and its summary in the help.
COMMANDS = {
    "advise": (
        "advise:advise_command",
        "Say which scheduler and congestion control suit your paths.",
    ),
    "analyze": (
        "analyze:analyze_command",
        "Compute figures from captures alone, in pcapng or pcap files.",
    ),
    "bench": (
        "bench:bench_command",
        "Measure how fast runs are here, and how well paths are filled.",
    ),
    "bisect": (
        "bisect:bisect_command",
        "Find the commit of Linux that changed what a scenario gives.",
    ),
    "cc": (
        "schedulers:cc_group",
        "Congestion controls: the kernel's own, and coupled ones.",
    ),
    "cluster": (
        "machine:cluster_group",
        "Clusters that run scenarios: make the key that protects one.",
    ),
    "compare": (
        "runs:compare",
        "Compare schedulers, congestion controls or kernels.",
    ),
    "completion": (
        "shells:completion_command",
        "Print the script with which a shell completes commands.",
    ),
    "doctor": (
        "machine:doctor_command",
        "Say what this machine lacks, and the command that fixes it.",
    ),
    "exec": (
        "programs:exec_command",
        "Run a program of this machine on the client, over MPTCP.",
    ),
    "explain": (
        "stored:explain_command",
        "Say why runs did not reach the sum of their paths.",
    ),
    "kernel": (
        "machine:kernel_group",
        "The lab kernel: Linux, built as an ordinary program.",
    ),
    "leaderboard": (
        "leaderboard:leaderboard_command",
        "Rank all schedulers, and yours, on scenarios of all kinds.",
    ),
    "papers": (
        "papers:papers_group",
        "Published experiments: run them again, see which claims hold.",
    ),
    "report": (
        "stored:report_command",
        "Make one page about runs, with tables and interactive charts.",
    ),
    "results": (
        "results:results_group",
        "All runs of an output directory as one table.",
    ),
    "run": (
        "runs:run",
        "Run one scenario, from a FILE or from flags.",
    ),
    "scenario": ("scenarios:scenario_group", "Scenario files."),
    "scheduler": (
        "schedulers:scheduler_group",
        "Packet schedulers: those of the lab, and your own.",
    ),
    "selftests": (
        "selftests:selftests_command",
        "Run the kernel's own MPTCP tests, which have to pass.",
    ),
    "shell": (
        "programs:shell_command",
        "Open a shell on the client, where ss, tc and tcpdump work.",
    ),
    "show": (
        "stored:show",
        "Draw a run over time: goodput, RTTs, windows, queues, buffers.",
    ),
    "sweep": (
        "sweeps:sweep_command",
        "Run a scenario with many combinations of values from FILE.",
    ),
}


class _Lazy(click.Group):
    """Imports a command when it is called, so that none waits for the imports of others.

    Lists of commands show a placeholder with its name and summary.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and load(str(listed.name)), rest


def load(name: str) -> click.Command:
    """The command that has this name in COMMANDS."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command: click.Command = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    return command


@click.group(
    cls=_Lazy,
    commands={name: click.Command(name, help=summary) for name, (_, summary) in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: mptcplab doctor, then mptcplab compare --help",
)
@click.version_option(__version__, prog_name="mptcplab")
def cli() -> None:
    """Compare Multipath TCP packet schedulers: the real Linux kernel, in virtual time."""


def main() -> NoReturn:
    """The program: shows errors as messages, without a traceback."""
    # most objects are of imported modules, and stay: not to search them for garbage all the time,
    # and twice at the end, saves a seventh of the CPU time of `show`
    gc.set_threshold(100_000)
    atexit.register(gc.disable)
    # numpy's library would start a thread for each CPU, for matrices larger than there are here
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    codecs.register_error(_AS_IT_IS, _as_it_is)
    sys.stdout = _stream(sys.stdout, "standard output")
    sys.stderr = _stream(sys.stderr, "standard error")
    status = status_of(_called)
    # flush here: Python would report an error of its own flush with a traceback
    left = status_of(lambda: _status_of_output(sys.stdout.flush))
    try:
        sys.stderr.flush()
    except OSError:
        sys.stderr = _nothing()
    sys.exit(status or left)


_AS_IT_IS = "mptcplab"
#: The environment variable in which a shell says what it wants to complete.
COMPLETE = "_MPTCPLAB_COMPLETE"


def _as_it_is(error: UnicodeError) -> tuple[str | bytes, int]:
    """Writes file names as their bytes, and characters the terminal lacks as escapes."""
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    form = "surrogateescape" if "\udc80" <= character <= "\udcff" else "backslashreplace"
    return character.encode("ascii", form), error.start + 1


class _Named(io.FileIO):
    """A file descriptor whose errors carry its name, as those of files do."""

    def __init__(self, number: int, called: str) -> None:
        super().__init__(number, "w", closefd=False)
        self._called = called

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._called) from None


def _stream(stream: TextIO | None, called: str) -> TextIO:
    if stream is None:  # it is closed
        return _nothing()
    raw = io.BufferedWriter(_Named(stream.fileno(), called))
    by_line = stream is sys.stderr or stream.isatty()
    return io.TextIOWrapper(raw, stream.encoding, _AS_IT_IS, line_buffering=by_line)


def _nothing() -> TextIO:
    return open(os.devnull, "w")


def _called() -> int:
    try:
        if COMPLETE in os.environ:
            from mptcplab.cli import shells

            shells.register()
        return _status_of_output(lambda: cli.main(standalone_mode=False, complete_var=COMPLETE))
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as end:
        return int(end.code or 0)


def _status_of_output(do: Callable[[], object]) -> int:
    """0 if the action and its output succeed. Raises MptcplabError for system errors."""
    try:
        do()
    except OSError as error:
        # unwritten output would fail again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # the reader of standard output is gone, as after `head`
            sys.stderr = _nothing()
            return 1
        place = f"{error.filename}: " if error.filename else ""
        raise MptcplabError(f"{place}{error.strerror or error}") from error
    return 0
