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


def analyze_files(files: Sequence[Path], out: Path | None, *, as_json: bool) -> None:
    """Compute the figures of some captures, and show them or write them.

    A directory stands for the captures in it.
    """
    files = [each for file in files for each in _captures(file)]
    with _reading(files) as progress:
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
        reason = "no capture in it, as *.pcapng or *.pcap; run and exec keep some with --pcap"
        raise InputError([Problem(str(file), "", "", reason)])
    return found


@contextmanager
def _reading(files: Sequence[Path]) -> Iterator[dissect.Progress]:
    """A bar on a terminal: how much of the files has been read."""
    console = Console(stderr=True)
    total = sum(file.stat().st_size for file in files if file.is_file())
    columns = (TextColumn("reading"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda done: bar.update(task, completed=done)
