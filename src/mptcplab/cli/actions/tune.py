# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab tune does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import click

from mptcplab import extras
from mptcplab.cli.actions import common
from mptcplab.errors import MptcplabError
from mptcplab.leaderboard import play
from mptcplab.leaderboard.play import Asked
from mptcplab.leaderboard.standings import Played
from mptcplab.runs import experiment, single, store, sweep
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.runs.sweep import How
from mptcplab.tuning import outputs, search
from mptcplab.tuning.search import Trial


def tune(options: Mapping[str, Any]) -> None:
    """Make the trials, and judge the best one on held-out scenarios."""
    extras.require("tune", "tune")
    spec, count, out = options["scheduler"], options["count"], options["out"]
    tuned = search.axes(spec, options["parameters"])
    if files := options["files"]:
        training = search.of_files(files, range(1, count + 1))
        others = search.of_files(files, range(count + 1, 2 * count + 1))
    else:
        training = search.of_set(options["set_name"], count)
        others = search.of_set(options["held_out"], count)
    common.say(f"tuning {', '.join(axis.text for axis in tuned)}")

    def show(trial: Trial, best: Trial) -> None:
        common.say(
            f"trial {trial.number} of {options['trials']}: {outputs.percent(trial.gain)} with "
            f"{trial.label}; best {outputs.percent(best.gain)}"
        )

    builds = experiment.built()
    with common.running(options, keep_records=False) as runner:
        make = partial(_played, runner=runner, builds=builds)
        made = search.trials(spec, tuned, training, options["trials"], options["seed"], make, show)
        first, verdict = search.best(made), None
        if first.number:
            common.say(f"judging {first.label} on {len(others)} held-out scenarios")
            verdict = search.verdict(search.compare(spec, first.values, others, make, first.number))
    given = {
        name: [str(file) for file in value] if name == "files" else value
        for name, value in options.items()
        if name in ("scheduler", "files", "set_name", "held_out", "count", "seed")
    }
    document = outputs.document(given, tuned, made, verdict, single.builds(*builds))
    store.write_json(out / outputs.DOCUMENT, document)
    picture = outputs.write_picture(made, verdict, out)
    if options["as_json"]:
        click.echo(json.dumps(document, indent=1))
        return
    for line in (*outputs.lines(made, verdict), outputs.RULE):
        click.echo(line)
    click.echo(f"picture:  {picture}\ndocument: {out / outputs.DOCUMENT}")


def _played(what: Asked, *, runner: Runner, builds: tuple[Any, Any]) -> list[Played]:
    """What comes of the runs; those in the store are not repeated."""
    planned = play.plan(what, *builds)
    outcome = sweep.run(planned, runner, How())
    if outcome.killed:
        raise MptcplabError("\n".join(sweep.counted("killed", outcome.killed)))
    return play.played(what, planned, Store(runner.out))
