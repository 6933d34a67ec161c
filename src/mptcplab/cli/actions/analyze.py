# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab analyze does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from mptcplab.capture import analyze, dissect
from mptcplab.errors import InputError, Problem
from mptcplab.report import capture_report
from mptcplab.runs.store import RESULT


def analyze_files(files: Sequence[Path], out: Path | None, *, as_json: bool) -> None:
    """Compute the figures of some captures, and show them or write them.

    A directory stands for its captures. Raises InputError for captures of several runs.
    """
    # a file counts once, also if its directory is given as well
    found = {each.resolve(): each for file in files for each in _captures(file)}
    _require_one_run([*found])
    files = [*found.values()]
    with reading(files) as progress:
        analysis = analyze.analyse(files, progress)
    written = capture_report.write(analysis, out) if out else []
    if as_json:
        click.echo(json.dumps(capture_report.document(analysis), indent=1))
        return
    Console().print(capture_report.tables(analysis))
    for file in written:
        click.echo(f"written: {file}")


def _captures(file: Path) -> list[Path]:
    """The captures in a directory; any other file is one. Raises InputError if it has none."""
    if not file.is_dir():
        return [file]
    found = sorted(each for each in file.iterdir() if each.suffix in (".pcapng", ".pcap"))
    if not found:
        reason = "it has no capture, *.pcapng or *.pcap; run and exec keep captures with --pcap"
        raise InputError([Problem(str(file), "", "", reason)])
    return found


def _require_one_run(files: Sequence[Path]) -> None:
    """Raises InputError for captures of several runs: their times are the same, and so may be their
    addresses and ports, but they are not of the same packets.
    """
    runs = dict.fromkeys(file.parent for file in files if (file.parent / RESULT).exists())
    if len(runs) > 1:
        first, *others = runs
        reason = f"a different run from {first}; analyse each run on its own"
        raise InputError([Problem(str(other), "", "", reason) for other in others])


@contextmanager
def reading(files: Sequence[Path]) -> Iterator[dissect.Progress]:
    """A bar on a terminal: how much of the files has been read."""
    console = Console(stderr=True)
    total = sum(file.stat().st_size for file in files if file.is_file())
    columns = (TextColumn("reading"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda done: bar.update(task, completed=done)
