# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab kernel compare does."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mptcplab.capture import difference
from mptcplab.cli.actions import common
from mptcplab.errors import InputError, MptcplabError, NotMetError, Problem
from mptcplab.kernel_comparison import cases, compare, document, terminal
from mptcplab.kernel_comparison.compare import Kernel
from mptcplab.kernel_comparison.document import Compared, Comparison
from mptcplab.lab import doctor, guest, kernel, kernel_names, stock_package
from mptcplab.lab.choices import CURRENT
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store, write_json
from mptcplab.scenario.model import Scenario


def compare_kernels(
    names: tuple[str, str], files: Sequence[Path], options: Mapping[str, Any]
) -> None:
    """Make the missing runs of both kernels and show how they differ; exit status 1 if one failed,
    and 4 if the kernels differ.
    """
    if options["equal"] and (files or options["only"] is not None):
        raise click.UsageError("--equal is for the project's own set as a whole")
    if options["equal"] and options["but"] is not None:
        raise click.UsageError("--equal is for all fields; leave out --but")
    but = _fields(options["but"])
    wanted = _chosen(cases.of_files(files) if files else cases.own_set(), options["only"])
    doctor.require(*doctor.RUN_CHECKS)
    a, b = (named(name, which) for name, which in zip(names, "AB", strict=True))
    out = Store(options["out"])
    pairs = compare.pairs(wanted, a, b, common.limits(options), common.runner(options))
    todo = compare.missing(pairs, out)
    titles = {case.scenario.key_text(): case.name for case in wanted}

    def titled(item: Scenario, entry: Entry) -> str:
        return f"{titles[item.key_text()]}, {entry.kernel or CURRENT}"

    made: dict[str, Entry] = {}
    if todo:
        with common.running(options, show=partial(common.progress, titled=titled)) as runner:
            made = compare.make(todo, runner)

    def report(count: int, of: Compared) -> None:
        common.say(f"[{count}/{len(pairs)}] {of.scenario}: {terminal.verdict(of)}")

    compared = compare.compare(pairs, a, b, out, made, report, but)
    write_json(out.out / document.DOCUMENT, compared)
    _show(compared, out.out, as_json=options["as_json"])
    if compared.having("failed"):
        sys.exit(MptcplabError.exit_status)
    if compared.having("differs"):
        sys.exit(NotMetError.exit_status)
    if not compared.having("same", "random"):
        raise MptcplabError("nothing was compared: all scenarios were skipped")
    if options["equal"]:
        _keep_equal(options["equal"], a, b, compared)


def _keep_equal(file: Path, a: Kernel, b: Kernel, compared: Comparison) -> None:
    # only for this: it takes what only some installations have
    from mptcplab.papers import stale
    from mptcplab.papers.stale import Now

    shown_by = f"mptcplab kernel compare: {terminal.outcome(compared)}"
    one, other = (Now(kernel.parts(each.build), each.guest.id) for each in (a, b))
    added = stale.add(file, one, other, shown_by)
    common.say(f"{file}: {', '.join(each.what for each in added) or 'nothing to add'}")


def _chosen(found: Sequence[cases.KernelCase], only: str | None) -> list[cases.KernelCase]:
    chosen = [each for each in found if only is None or only in each.name]
    if not chosen:
        names = "\n    ".join(each.name for each in found)
        message = f"no name of a scenario contains this; the names are\n    {names}"
        raise InputError([Problem("--only", "", str(only), message)])
    return chosen


def _fields(text: str | None) -> list[str]:
    """The fields of packets that are named, in the order of all."""
    asked = [] if text is None else [name.strip() for name in text.split(",")]
    problems = [
        Problem(
            "--but",
            "",
            name,
            f"no field of a packet; accepted are {', '.join(difference.FIELDS)}",
        )
        for name in asked
        if name not in difference.FIELDS
    ]
    if problems:
        raise InputError(problems)
    return [name for name in difference.FIELDS if name in asked]


def named(text: str, which: str) -> Kernel:
    """A kernel by its name or id, with the guest program of now or, after a `+`, an old one."""
    # the names of packages have a + in their versions, too
    name, plus, guest_id = (text, "", "") if stock_package.is_stock(text) else text.partition("+")
    program = guest.of_id(guest_id, which) if plus else guest.build()
    return Kernel(kernel_names.build_any(name, which), program, name)


def _show(made: Comparison, out: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(made.model_dump(mode="json"), indent=1))
        return
    tables = terminal.tables(made)
    if tables.renderables:
        Console().print(tables, "")
    for line in terminal.lines(made):
        click.echo(line)
    click.echo(f"document: {out / document.DOCUMENT}")
