# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab exec and shell: programs of this machine in a run."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from rich.console import Console

from mptcplab.cli import common
from mptcplab.errors import MptcplabError
from mptcplab.lab import engine
from mptcplab.lab.engine import RunCancelledError, Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.report import tables
from mptcplab.runs import entries, experiment, program
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store
from mptcplab.spec import plan
from mptcplab.spec.scenario import Scenario
from mptcplab.spec.workload import Program

F = TypeVar("F", bound=Callable[..., Any])

_PROGRAM = "mptcplab.program"
# Of the scenario's options, those that hold also where a program is the workload.
_TESTBED = (
    *("path", "link", "event", "cc", "transport", "send_buffer", "receive_buffer", "seed_delay"),
    "kernel_like",
    *("sample_interval", "seed", "out", "wall_limit", "disk_limit", "only_plan"),
)


class _ProgramCommand(click.Command):
    """A command whose last part, after --, is that of a program: in meta, under _PROGRAM."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def _program_options(command: F) -> F:
    """The options of a run whose workload is a program."""
    options = [
        click.argument("file", type=click.Path(path_type=Path), required=False),
        click.option(
            "--server",
            default="",
            metavar="COMMAND",
            help="Run this program at the server, first.",
        ),
        click.option("--time-limit", help="End it then, in virtual time, e.g. 30s.  [600s]"),
        common.scheduler_option,
        common.some_of_scenario_options(_TESTBED),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command("exec", cls=_ProgramCommand)
@_program_options
@common.pcap_option
@click.option("--trace", is_flag=True, help="Keep the scheduler's decisions.")
def exec_command(file: Path | None, server: str, time_limit: str | None, **options: Any) -> None:
    """Run a program of this machine at the client, over MPTCP, in virtual time.

    Its output is shown, and kept in the directory of the run; the table goes to standard error.
    The exit status is the program's.

    \b
    mptcplab exec --path wifi:50mbit,10ms --path lte:20mbit,40ms \\
        --server 'iperf3 -s' -- iperf3 -c server -t 10
    """
    words = click.get_current_context().meta[_PROGRAM]
    if not words:
        raise click.UsageError("no command; it goes after --, e.g. -- curl http://server:8080/")
    wanted = Program(
        client=program.find(words),
        server=program.split(server, "--server"),
        directory=program.directory(),
        time_limit_ns=program.time_limit_ns(time_limit),
    )
    ready = _ready(file, options, wanted)
    out: Path = options["out"]
    with _outputs() as (outputs, cancel):
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
    sys.exit(_show_program(entry, ready.scenario, words[0], out))


@click.command("shell")
@_program_options
def shell_command(file: Path | None, server: str, time_limit: str | None, **options: Any) -> None:
    """A prompt at the client, where ss, nstat, tc, tcpdump and any other program work.

    In real time, if a terminal is there to type on; the commands of a script on standard input run
    in virtual time. Nothing of it is kept.

    \b
    echo 'ping -c 3 server; ss -M' | mptcplab shell --path wifi:50mbit,10ms
    """
    typed = sys.stdin.isatty()
    wanted = Program(
        client=program.find(["bash", "-i"] if typed else ["bash"]),
        server=program.split(server, "--server"),
        directory=program.directory(),
        time_limit_ns=None if typed else program.time_limit_ns(time_limit),
        input="terminal" if typed else "file",
        term=os.environ.get("TERM", "linux") if typed else None,
        records=False,
    )
    ready = _ready(file, options, wanted)
    with tempfile.TemporaryDirectory(prefix="mptcplab-shell-") as name, _outputs() as shown:
        outputs, cancel = shown
        directory = Path(name)
        if typed:
            common.say(program.greeting(ready.scenario))
        else:
            (directory / engine.CLIENT_INPUT).write_bytes(sys.stdin.buffer.read())
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
    """A run with a program, and all that it needs."""

    scenario: Scenario
    kernel: KernelBuild
    guest: Guest
    modules: Mapping[str, Path]


def _ready(file: Path | None, options: Mapping[str, Any], wanted: Program) -> _Ready:
    """What is asked for, with this program; with --plan it is printed, and that is all."""
    request = common.request(file, {**options, "program": wanted}, single=True)
    item = request.runs()[0]
    if options["only_plan"]:
        click.echo(plan.render(item))
        click.get_current_context().exit()
    lab_kernel, lab_guest = common.builds(kernel_like=options["kernel_like"])
    return _Ready(item, lab_kernel, lab_guest, experiment.modules(request, lab_kernel))


@contextmanager
def _outputs() -> Iterator[tuple[program.Outputs, threading.Event]]:
    """What shows the programs' output, and the event that ends them; if that fails, it does."""
    outputs = program.Outputs(sys.stdout.buffer, sys.stderr.buffer)
    with common.interruptible() as cancel:
        outputs.on_broken = cancel.set
        try:
            yield outputs, cancel
        except RunCancelledError:
            raise outputs.broken or RunCancelledError from None


def _show_program(entry: Entry, item: Scenario, name: str, out: Path) -> int:
    """The figures of a program's run, on standard error; gives the exit status."""
    if entry["status"] != "ok":
        common.say(f"mptcplab: the run failed: {entry['reason'].removeprefix('the run failed: ')}")
        return MptcplabError.exit_status
    if "no_figures" in entry:
        common.say(f"no figures: {entry['no_figures']}")
    else:
        document = entries.document([entry], [], {}, item)
        Console(stderr=True).print(tables.comparison_table(document))
    common.say(f"run: {out / entry['directory']}")
    if entry["server_status"]:
        status = entry["server_status"]
        common.say(f"mptcplab: the server's program ended with status {status} before the client's")
    if entry["client_status"]:
        common.say(f"mptcplab: {name} ended with status {entry['client_status']}")
    return int(entry["client_status"])
