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
from typing import Any, NamedTuple, TextIO

import click
from rich.console import Console

from mptcplab.cli.actions import asked, common
from mptcplab.errors import MptcplabError, RunCancelledError, from_program
from mptcplab.lab import guest
from mptcplab.lab.engine import Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from mptcplab.metrics.definitions import UdpFigures
from mptcplab.plan import plan
from mptcplab.report import tables
from mptcplab.runs import entries, experiment, program
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import Program

# In the table; a resolver that asks often has many.
_MOST_FLOWS = 16


def execute(
    words: Sequence[str],
    file: Path | None,
    server: str,
    listen: str,
    time_limit: str | None,
    options: Mapping[str, Any],
) -> None:
    """Run a program on the client, and exit with its status."""
    wanted = Program(
        client=program.find(words),
        server=program.split(server, "--server"),
        directory=program.directory(),
        time_limit_ns=program.time_limit_ns(time_limit),
        listen=program.listen(listen, server),
    )
    ready = _ready(file, options, wanted)
    out: Path = options["out"]
    as_json: bool = options["as_json"]
    with _outputs(sys.stderr if as_json else sys.stdout) as (outputs, cancel):
        (entry,) = experiment.run_all(
            [ready.scenario],
            ready.kernel,
            ready.guest,
            Store(out),
            modules=ready.modules,
            jobs=1,
            limits=common.limits(options),
            look=outputs.look,
            cancel=cancel,
        )
    if as_json:
        built = experiment.builds(ready.kernel, ready.guest)
        document = entries.document([entry], [], built, ready.scenario)
        click.echo(json.dumps(document.model_dump(mode="json"), indent=1))
    sys.exit(_show_program(entry, ready.scenario, words[0], out, table=not as_json))


def shell(
    file: Path | None,
    server: str,
    listen: str,
    time_limit: str | None,
    options: Mapping[str, Any],
) -> None:
    """Run the commands of a terminal, or of standard input, on the client."""
    typed = sys.stdin.isatty()
    wanted = Program(
        client=program.find(["bash", "-i"] if typed else ["bash"]),
        server=program.split(server, "--server"),
        directory=program.directory(),
        time_limit_ns=None if typed else program.time_limit_ns(time_limit),
        input="terminal" if typed else "file",
        term=os.environ.get("TERM", "linux") if typed else None,
        listen=program.listen(listen, server),
        records=False,
    )
    ready = _ready(file, options, wanted)
    with (
        tempfile.TemporaryDirectory(prefix="mptcplab-shell-") as name,
        _outputs(sys.stdout) as shown,
    ):
        outputs, cancel = shown
        directory = Path(name)
        if typed:
            common.say(program.greeting(ready.scenario))
        else:
            (directory / run_files.CLIENT_INPUT).write_bytes(sys.stdin.buffer.read())
        outcome = experiment.run(
            ready.scenario,
            ready.kernel,
            ready.guest,
            directory,
            modules=ready.modules,
            limits=common.limits(options),
            watch=Watch(look=outputs.look, cancel=cancel),
        )
    sys.exit(outcome.guest["client_status"])


class _Ready(NamedTuple):
    """A run with a program, and everything it needs."""

    scenario: Scenario
    kernel: KernelBuild
    guest: Guest
    modules: Mapping[str, Path]


def _ready(file: Path | None, options: Mapping[str, Any], wanted: Program) -> _Ready:
    """The request with this program; --plan only prints its commands."""
    request = asked.request(file, {**options, "program": wanted}, single=True)
    item = request.runs()[0]
    if options["only_plan"]:
        click.echo(plan.render(item))
        click.get_current_context().exit()
    (lab_kernel,), lab_guest = experiment.kernels(request, options["kernel_like"]), guest.build()
    return _Ready(item, lab_kernel, lab_guest, experiment.modules(request, lab_kernel))


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
            common.say("with --pcap there are figures of each flow of UDP")
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
