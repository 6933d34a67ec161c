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
from mptcplab.lab.kernel_files import Commit
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
    kept = document.resumed(out, question)
    # without its result, which is found again at once
    again = [each for each in kept.tried if each.verdict == "skipped" and options["retry_skipped"]]
    so_far = Bisection(
        question=question, tried=tuple(each for each in kept.tried if each not in again)
    )
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
    if options["as_json"]:
        click.echo(json.dumps(so_far.model_dump(mode="json"), indent=1))
        return
    for part in terminal.result(so_far, request, out):
        if isinstance(part, str):
            click.echo(part)
        else:
            Console().print(part)
