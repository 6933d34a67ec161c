# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab fit does."""

from __future__ import annotations

import json
import shlex
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from mptcplab import files as files_
from mptcplab.cli.actions.analyze import reading
from mptcplab.errors import InputError, Problem
from mptcplab.fit import captures, socket_logs, speed_tests
from mptcplab.fit.document import Fit, document, scenario, table
from mptcplab.fit.estimates import PathFit
from mptcplab.scenario import resolve
from mptcplab.units import NS_PER_S, TIME


def fit(
    files: Sequence[Path],
    paths: Sequence[str],
    names: Sequence[str],
    interval: str | None,
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Fit a scenario, write it, and show it. Raises InputError for unusable files and names."""
    if bool(files) == bool(paths) or (paths and names):
        raise click.UsageError("either a FILE is needed, a capture or a log of ss, or --path")
    # a file counts once
    files = list(dict.fromkeys(file.resolve() for file in files))
    of = ", ".join(file.name for file in files) or "speed tests and ping"
    if paths:
        made = Fit(of, [speed_tests.path(each) for each in paths])
    elif logs := [file for file in files if socket_logs.is_log(file)]:
        if len(files) > 1:
            raise click.UsageError(f"{logs[0].name} is a log of ss, which is fitted on its own")
        made = Fit(of, *socket_logs.fit(logs[0], _seconds(interval)))
    else:
        with reading(files) as progress:
            made = Fit(of, *captures.fit(files, progress))
    _finish(replace(made, paths=_named(made.paths, names)), out, as_json=as_json)


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else TIME.parse(text) / NS_PER_S
    except ValueError as error:
        raise InputError([Problem("--interval", "", text or "", str(error))]) from None


def _finish(fit: Fit, out: Path, *, as_json: bool) -> None:
    texts = scenario(fit, out)
    # names may be wrong, and values beyond the lab's limits
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as folder:
        for each, text in texts.items():
            Path(folder, each.name).write_text(text)
        given = tomllib.loads(texts[out])
        resolve.from_table(given, "the fitted scenario", folder=Path(folder))
    for each, text in texts.items():
        files_.write(each, text.encode())
    if as_json:
        click.echo(json.dumps(document(fit, str(out)), indent=1))
        return
    Console().print(table(fit))
    click.echo(f"scenario: {out}")
    file = shlex.quote(str(out))
    click.echo(f"next:     mptcplab run {file} --out fitted && mptcplab explain fitted --try")
    click.echo(f"          mptcplab compare {file} --scheduler default,minrtt,blest")
    click.echo(f"          mptcplab advise {file} --uncertain {','.join(fit.vary)}")


def _named(paths: Sequence[PathFit], names: Sequence[str]) -> list[PathFit]:
    """Paths with the names that their addresses were given."""
    found = list(paths)
    for text in names:
        address, _, name = text.partition("=")
        places = [i for i, path in enumerate(paths) if address in path.about.split(" to ")]
        if len(places) != 1:
            known = "; ".join(path.about for path in paths)
            message = f"ADDRESS=NAME, of one path; the paths are {known}"
            raise InputError([Problem("--name", "", text, message)])
        found[places[0]] = replace(found[places[0]], name=name)
    return found
