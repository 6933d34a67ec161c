# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab analyze."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from mptcplab.capture import analyze, dissect
from mptcplab.cli import common
from mptcplab.report import capture_report


@click.command("analyze")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the picture and the document; without it, only the table is shown.",
)
@common.json_option
def analyze_command(files: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Compute figures from captures alone: FILE.pcapng or .pcap, of the lab or anybody's.

    Several files of the same time, such as one of each end, are taken together: which side each is
    from is found out, and no packet is counted twice.
    """
    with _reading(files) as progress:
        analysis = analyze.analyse(files, progress)
    written = capture_report.write(analysis, out) if out else []
    if as_json:
        click.echo(json.dumps(capture_report.document(analysis), indent=1))
        return
    Console().print(capture_report.tables(analysis))
    for file in written:
        click.echo(f"written: {file}")


@contextmanager
def _reading(files: Sequence[Path]) -> Iterator[dissect.Progress]:
    """A bar on a terminal, of how much of some files was read."""
    console = Console(stderr=True)
    total = sum(file.stat().st_size for file in files if file.is_file())
    columns = (TextColumn("reading"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda done: bar.update(task, completed=done)
