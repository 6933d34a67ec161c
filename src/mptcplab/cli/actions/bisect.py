# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab bisect does."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mptcplab.bisection import document, search, terminal
from mptcplab.bisection.document import Bisection, Question, Tried
from mptcplab.bisection.judge import Judge
from mptcplab.cli.actions import common
from mptcplab.errors import InputError, Problem
from mptcplab.lab import doctor, guest, kernel
from mptcplab.lab.git import Repository
from mptcplab.lab.kernel_commit import Commit
from mptcplab.lab.kernel_tree import SourceError
from mptcplab.runs.expectations import CompiledExpectation
from mptcplab.runs.store import run_key
from mptcplab.scenario.resolve import Request


def find(
    request: Request, expected: Sequence[CompiledExpectation], options: Mapping[str, Any]
) -> None:
    """Find the first bad commit and show it. Raises UndecidedError if skipped ones hide it."""
    repository = Repository(options["tree"])
    good, bad = search.ends(repository, options["good"], options["bad"])
    variant: str = options["variant"]
    try:
        of_good = kernel.of_commit(Commit(repository, good), variant)
    except SourceError as error:
        raise InputError([Problem("--good", "", options["good"], str(error))]) from None
    doctor.require(*doctor.RUN_CHECKS)
    lab_guest = guest.build()
    question = Question(
        tree=str(repository.path),
        good=good,
        bad=bad,
        variant=variant,
        expectations=tuple(options["expect"]),
        runs=tuple(run_key(each, of_good, lab_guest) for each in request.runs()),
    )
    out: Path = options["out"]
    judge = Judge(
        repository,
        request,
        expected,
        variant,
        lab_guest,
        common.limits(options),
        common.runner(options),
        common.interruptible,
        quiet=not sys.stderr.isatty(),
    )
    so_far = _so_far(document.resumed(out, question), retry=options["retry_skipped"])
    progress = terminal.Progress(repository, common.say)
    progress.begin(good, bad, so_far.tried)

    def tried(commit: str) -> Tried:
        nonlocal so_far
        made = judge(commit)
        so_far = so_far.model_copy(update={"tried": (*so_far.tried, made)})
        document.keep(out, so_far)
        progress.tried(made)
        return made

    candidates, first_bad = search.search(
        repository, good, bad, so_far.tried, tried, progress.trying
    )
    if len(candidates) > 1:
        document.keep(out, so_far.model_copy(update={"candidates": tuple(candidates)}))
        raise terminal.undecided(repository, candidates, first_bad, so_far.tried)
    before = search.good_before(repository, first_bad, so_far.tried, tried)
    found = terminal.about(repository, first_bad, before)
    so_far = so_far.model_copy(update={"found": found})
    document.keep(out, so_far)
    _show(so_far, request, out, as_json=options["as_json"])


def _so_far(kept: Bisection, *, retry: bool) -> Bisection:
    """A bisection so far, without its result, which is found again at once."""
    tried = [each for each in kept.tried if not (retry and each.verdict == "skipped")]
    return Bisection(question=kept.question, tried=tuple(tried))


def _show(made: Bisection, request: Request, out: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(made.model_dump(mode="json"), indent=1))
        return
    for line in terminal.lines(made):
        click.echo(line)
    table = terminal.table(made, request, out)
    if table is not None:
        click.echo()
        Console().print(table)
    for line in terminal.places(made, out):
        click.echo(line)
