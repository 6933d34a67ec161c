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
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from mptcplab import __version__
from mptcplab.errors import MptcplabError, status_of

_COMMANDS = Path(__file__).with_name("commands")


class _Lazy(click.Group):
    """Imports a command when it is called, so that none waits for the imports of others.

    Lists of commands show a placeholder with its name and summary.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and load(str(listed.name)), rest


def _listed() -> dict[str, click.Command]:
    """The commands by name, each with the first line of its file's docstring."""
    found = {}
    for file in sorted(_COMMANDS.glob("[!_]*.py")):
        _, _, text = file.read_text("utf-8").partition('"""')
        found[file.stem] = click.Command(file.stem, help=text.split("\n", 1)[0].rstrip('"'))
    return found


def load(name: str) -> click.Command:
    """The command of this name."""
    command: click.Command = importlib.import_module(f"{__name__}.commands.{name}").command
    return command


@click.group(
    cls=_Lazy,
    commands=_listed(),
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
#: The environment variable in which a shell asks for suggestions.
COMPLETE = "_MPTCPLAB_COMPLETE"


def _as_it_is(error: UnicodeError) -> tuple[str | bytes, int]:
    """Writes file names as their bytes, and characters the terminal lacks as escapes."""
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    form = "surrogateescape" if "\udc80" <= character <= "\udcff" else "backslashreplace"
    return character.encode("ascii", form), error.start + 1


class _Named(io.FileIO):
    """A file descriptor whose errors carry its name, as errors of files do."""

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
