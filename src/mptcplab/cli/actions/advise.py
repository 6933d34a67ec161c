# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab advise does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mptcplab.advice import advise, advise_report
from mptcplab.cli.actions import common
from mptcplab.runs import experiment
from mptcplab.scenario import congestion, scheduler, uncertainty
from mptcplab.scenario.limits import WORKLOAD_KEYS, WORKLOADS

# Options that say how long runs are.
_TIMES = ("duration", "warmup")


def advise_on(file: Path | None, options: Mapping[str, Any]) -> None:
    """Make the runs that advice needs, write it, and show it."""
    wanted = {**options, "scheduler": options["scheduler"] or scheduler.ALL}
    if file is None and _has_direction(options["workload"]):
        wanted["direction"] = options["direction"] or "down"
    request = common.request(file, wanted, single=False)
    advise.check(request)
    common.require_no_kernels(request, "advice is for the current kernel")
    known_to = uncertainty.parse(options["uncertain"], request.base)
    timed = file is not None or any(options[name] is not None for name in _TIMES)
    timed = timed or (options["workload"] or "").partition(":")[0] == WORKLOADS[0]
    effort = advise.effort(
        request.base, quick=options["quick"], count=options["count"], is_timed=timed
    )
    ccs = request.ccs if options["cc"] else congestion.names()
    question = advise.Question(request, ccs, known_to, effort, options["goals"], options["give_up"])
    most_runs = advise.most_runs(question)

    (rig,) = experiment.rigs(request, common.limits(options))
    out: Path = options["out"]
    common.say(
        f"schedulers: {len(request.schedulers)}, congestion controls: {len(ccs)}, variations: "
        f"{effort.variations}: up to {most_runs} runs"
    )
    with common.running(options, show=common.rare_progress) as runner:
        advice = advise.advise(question, rig, runner, common.say)
    document = advise_report.write(advice, out)
    pictures = advise_report.write_chart(advice, out)
    if options["as_json"]:
        click.echo(json.dumps(document, indent=1))
        return
    click.echo(advise_report.text(advice) + "\n")
    Console().print(advise_report.table(advice))
    click.echo(advise_report.use(advice) + "\n")
    click.echo(f"picture:  {pictures[0]}")
    click.echo(f"document: {out / advise_report.DOCUMENT}")


def _has_direction(workload: str | None) -> bool:
    """Whether data goes one way that is not said: most people download."""
    kind, _, rest = (workload or WORKLOADS[0]).partition(":")
    said = any(item.partition("=")[0].strip() == "direction" for item in rest.split(","))
    return "direction" in WORKLOAD_KEYS.get(kind.strip(), ()) and not said
