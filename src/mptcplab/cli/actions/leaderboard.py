# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab leaderboard does."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mptcplab import marked
from mptcplab.cli.actions import common, sweeps
from mptcplab.errors import MptcplabError
from mptcplab.leaderboard import QUARTER, outputs, play, standings
from mptcplab.report import palette
from mptcplab.runs import experiment, single, store, sweep
from mptcplab.runs.store import Store
from mptcplab.runs.sweep import How

_WIDTH = 100
_FEW = 3


def rank(options: Mapping[str, Any]) -> None:
    """Make the runs that are missing, and show who is first."""
    specs = [each for each in (options["scheduler"] or "").split(",") if each]
    what = play.asked(
        options["set_name"],
        options["count"],
        specs,
        only=options["only"],
        chance=options["chance"],
        kernels=options["kernel"],
    )
    if names := what.request.kernels:
        default_alone = replace(what.request, schedulers=what.request.schedulers[:1])
        kernels = zip(map(experiment.called, names), experiment.kernels(default_alone), strict=True)
        what = replace(what, kernels=dict(kernels))
    lab_kernel, lab_guest = experiment.built()
    planned = play.plan(what, lab_kernel, lab_guest)
    out, as_json = options["out"], options["as_json"]
    how = How(retry_failed=options["retry_failed"], limits=common.limits(options))
    expected = sweep.dry_run(planned, common.runner(options, keep_records=False), how)
    if options["dry_run"]:
        click.echo(json.dumps(asdict(expected), indent=1) if as_json else expected.text())
        return
    common.say(expected.text())
    runs = Store(out)
    with common.running(options, keep_records=False) as runner, sweeps.sweeping() as show:
        outcome = sweep.run(planned, runner, how, show)
    if outcome.killed:
        # a run that somebody killed is no result, and would count as one that failed
        raise MptcplabError("\n".join(sweep.counted("killed", outcome.killed)))
    failures = play.failures(planned, runs)
    board = standings.board(play.played(what, planned, runs), what.catalogue, what.pairs)
    if board is None:
        raise MptcplabError("\n".join(["every run failed", *_counted(failures)]))
    builds = single.builds(lab_kernel, lab_guest)
    document = outputs.write(board, what, builds, failures, out)
    pictures = [out / f"{outputs.PICTURE}.{form}" for form in palette.FORMATS[:2]]
    outputs.write_chart(board, what, pictures)
    if options["docs"] is not None:
        _publish(board, what, options["docs"], builds)
    if as_json:
        click.echo(json.dumps(document, indent=1))
    else:
        Console(width=_WIDTH if not sys.stdout.isatty() else None).print(outputs.table(board))
        for line in outputs.pairs(board):
            click.echo(line)
        for name in what.asked:
            click.echo("\n" + outputs.text_of(board, what, name, out))
        for line in ("", *_counted(failures), f"picture:  {pictures[0]}"):
            click.echo(line)
        click.echo(f"document: {out / outputs.DOCUMENT}")
    if not outcome.is_complete:
        sys.exit(MptcplabError.exit_status)


def _counted(failures: Mapping[str, str]) -> list[str]:
    """How many runs failed, and why the first ones did."""
    if not failures:
        return []
    some = [f"failed:   {each}" for each in list(failures.values())[:_FEW]]
    return [f"failed:   {len(failures)} runs, which --retry-failed makes again", *some]


def _publish(
    board: standings.Board, what: play.Asked, docs: Path, builds: Mapping[str, str]
) -> None:
    """Write the page's part, and the chart beside it."""
    picture = Path("images") / f"{outputs.PICTURE}.svg"
    store.make_directory(docs.parent / picture.parent)
    words = ["--count", str(len(what.drawn))] if len(what.drawn) != QUARTER else []
    words += ["--chance", str(what.chance)] if what.chance else []
    for spec in map(what.spec, what.asked):
        words += ["--scheduler", spec]
    command = "make leaderboard" + (f' LEADERBOARD_ARGS="{shlex.join(words)}"' if words else "")
    outputs.write_chart(board, what, [docs.parent / picture])
    text = outputs.markdown(board, what, command, str(picture), builds)
    marked.replace(docs, {outputs.MARK: text})
