# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab exec and shell do."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console

from mptcplab.cli.actions import common
from mptcplab.errors import InputError, MptcplabError, Problem, RunCancelledError, from_program
from mptcplab.lab import kernel_names, out_of_tree, stock_package
from mptcplab.lab.engine import Rig, Watch
from mptcplab.metrics import run_files
from mptcplab.metrics.definitions import UdpFigures
from mptcplab.plan import plan
from mptcplab.report import tables
from mptcplab.runs import entries, experiment, program, single
from mptcplab.runs.entries import Entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.workers import InThreads
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import Program

# In the table; a resolver that asks often has many.
_MOST_FLOWS = 16


def execute(words: Sequence[str], file: Path | None, options: Mapping[str, Any]) -> None:
    """Run a program on the client, and exit with its status."""
    client = program.find(words)
    limit_ns = program.time_limit_ns(options["time_limit"])
    scenario, rig = _ready(file, options, client=client, time_limit_ns=limit_ns)
    out: Path = options["out"]
    as_json: bool = options["as_json"]
    with (
        _outputs(sys.stderr if as_json else sys.stdout) as (outputs, cancel),
        InThreads(1, outputs.look) as workers,
    ):
        (entry,) = Runner(out, workers=workers, cancel=cancel).run([scenario], rig)
    if as_json:
        built = single.builds(rig.kernel, rig.guest)
        document = entries.document([entry], [], built, scenario)
        click.echo(json.dumps(document.model_dump(mode="json"), indent=1))
    sys.exit(_show_program(entry, scenario, words[0], out, table=not as_json))


def shell(file: Path | None, options: Mapping[str, Any]) -> None:
    """Run the commands of a terminal, or of standard input, on the client."""
    typed = sys.stdin.isatty()
    scenario, rig = _ready(
        file,
        options,
        client=program.find(["bash", "-i"] if typed else ["bash"]),
        time_limit_ns=None if typed else program.time_limit_ns(options["time_limit"]),
        input="terminal" if typed else "file",
        term=os.environ.get("TERM", "linux") if typed else None,
        records=False,
    )
    with (
        tempfile.TemporaryDirectory(prefix="mptcplab-shell-") as name,
        _outputs(sys.stdout) as (outputs, cancel),
    ):
        directory = Path(name)
        if typed:
            common.say(program.greeting(scenario, out_of_tree=rig.kernel.is_out_of_tree))
        else:
            (directory / run_files.CLIENT_INPUT).write_bytes(sys.stdin.buffer.read())
        outcome = single.run(scenario, rig, directory, Watch(look=outputs.look, cancel=cancel))
    sys.exit(outcome.guest["client_status"])


def _ready(file: Path | None, options: Mapping[str, Any], **client: Any) -> tuple[Scenario, Rig]:
    """The run of a program, and what it is made with; --plan only prints its commands."""
    wanted = Program(
        server=program.split(options["server"], "--server"),
        directory=program.directory(),
        listen=program.listen(options["listen"], options["server"]),
        **client,
    )
    request = common.request(file, {**options, "program": wanted}, single=True)
    (item,) = request.runs()
    if options["only_plan"]:
        for name in request.kernels:
            if stock_package.is_stock(name):
                message = "runs on this kernel have no programs"
                raise InputError([Problem("--kernel", "", name, message)])
        theirs = [
            named for named in map(kernel_names.find, request.kernels) if named.is_out_of_tree
        ]
        for named in theirs:
            click.echo(out_of_tree.plan_text(item, named.brought))
        if not theirs:
            click.echo(plan.render(item))
        click.get_current_context().exit()
    (rig,) = experiment.rigs(request, common.limits(options), options["kernel_like"])
    return item, rig


@contextmanager
def _outputs(client: TextIO) -> Iterator[tuple[program.Outputs, threading.Event]]:
    """The display of the programs' output, the client's on `client`, and the event that ends them
    if it fails.
    """
    outputs = program.Outputs(client.buffer, sys.stderr.buffer)
    with common.interruptible() as cancel:
        outputs.on_broken = cancel.set
        try:
            yield outputs, cancel
        except RunCancelledError:
            raise outputs.broken or RunCancelledError from None


def _show_program(entry: Entry, item: Scenario, name: str, out: Path, *, table: bool) -> int:
    """Show the figures of a program's run on standard error; returns the exit status."""
    if entry.status != "ok":
        reason = str(entry.reason).removeprefix("the run failed: ")
        common.say(from_program(f"the run failed: {reason}"))
        return MptcplabError.exit_status
    if entry.no_figures is not None:
        common.say(f"no figures of connections: {entry.no_figures}")
        assert isinstance(item.workload, Program)
        if not item.pcap:
            common.say("--pcap gives figures of each flow of UDP")
        if not item.workload.server:
            common.say("no program ran on the server; --server COMMAND starts one there")
    elif table:
        document = entries.document([entry], [], {}, item)
        Console(stderr=True).print(tables.comparison_table(document))
    if table and entry.links:
        Console(stderr=True).print(tables.link_table(entry.links))
    if table and entry.udp:
        rows = [(_udp_name(flow), flow) for flow in entry.udp[:_MOST_FLOWS]]
        Console(stderr=True).print("", tables.udp_table("UDP, path,\ndirection", rows), sep="\n")
        for note in tables.udp_notes(rows):
            common.say(note)
        if len(entry.udp) > len(rows):
            common.say(f"{len(entry.udp) - len(rows)} more directions of flows of UDP: --json")
    common.say(f"run: {out / str(entry.directory)}")
    if entry.server_status:
        status = entry.server_status
        message = f"the server's program ended with status {status} before the client's"
        common.say(from_program(message))
    if entry.client_status:
        common.say(from_program(f"{name} ended with status {entry.client_status}"))
    return entry.client_status or 0


def _udp_name(flow: UdpFigures) -> str:
    """The port of the server, the path and the direction."""
    port = flow.server.rpartition(":")[2]
    return f":{port} {flow.path or flow.client} {flow.direction}"
