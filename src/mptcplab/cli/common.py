# SPDX-License-Identifier: GPL-2.0-only
"""What commands have in common: options, what is read of them, progress, and being interrupted."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from mptcplab.lab import doctor, guest, kernel
from mptcplab.lab.engine import Limits, RunCancelledError
from mptcplab.report import tables
from mptcplab.runs import experiment
from mptcplab.runs.entries import Entry
from mptcplab.runs.work import Workers
from mptcplab.spec import congestion, resolve, units
from mptcplab.spec.flags import Flags
from mptcplab.spec.limits import COMPARED_SEEDS
from mptcplab.spec.resolve import Request
from mptcplab.spec.scenario import Scenario

F = TypeVar("F", bound=Callable[..., Any])

#: Where runs are kept if nothing else is said.
DEFAULT_OUT = Path("mptcplab-out")

SPEC = "NAME[:PARAM=VALUE...]"

_SHARE_THAT_TELLS = 0.02


def _size_bytes(_context: click.Context, _option: click.Parameter, text: str) -> int:
    """The bytes of a size as people write it."""
    try:
        size_bytes = units.parse_size(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}") from None
    if not size_bytes:
        raise click.BadParameter(f"{text!r}: at least 1B is expected, e.g. 10GB")
    return size_bytes


scheduler_option = click.option(
    "--scheduler",
    "-s",
    metavar=SPEC,
    help="Packet scheduler; ./NAME.c is one of your own.  [default]",
)
jobs_option = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 1024),
    default=lambda: len(experiment.cpus()),
    show_default="one per CPU",
    help="Runs at the same time.",
)
out_option = click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_OUT,
    show_default=True,
    help="Directory of the runs, and of what is made of them.",
)
_address_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Make the runs on a Dask cluster: tls://HOST:PORT, or its scheduler's FILE.json; "
    "docs/cluster.md.",
)
_key_option = click.option(
    "--cluster-key",
    metavar="FILE",
    help="The cluster's key, from mptcplab cluster key FILE; none for tcp:// in a network that "
    f"nobody else is in.  [${experiment.KEY_VARIABLE}, or Dask's configuration]",
)
storage_option = click.option(
    "--storage",
    metavar="URL",
    help="Keep records there, one object per run, and their series here; mptcplab results fetch "
    "has them back.",
)
dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Say how many runs there are, how many are stored already, and how long the rest takes.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document, nothing else."
)
pcap_option = click.option(
    "--pcap", is_flag=True, help="Keep the headers of all packets, as pcapng files."
)
kernel_like_option = click.option(
    "--kernel-like",
    type=click.Choice(list(kernel.FLAVOURS)),
    default=kernel.DEFAULT_FLAVOUR,
    show_default=True,
    help="Whose arithmetic the kernel has: that of distributions' kernels, or of their kernels for "
    "virtual machines, with smaller buffers; docs/flavours.md.",
)
wall_limit_option = click.option(
    "--wall-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=Limits.wall_s,
    show_default=True,
    help="End a run that takes longer, in seconds.",
)
disk_limit_option = click.option(
    "--disk-limit",
    callback=_size_bytes,
    default=units.SIZE.format(Limits.disk_bytes),
    show_default=True,
    metavar="SIZE",
    help="End a run that writes more, records and all, e.g. 500MB.",
)


def limits(options: Mapping[str, Any]) -> Limits:
    """What these options say."""
    return Limits(wall_s=options["wall_limit"], disk_bytes=options["disk_limit"])


def cluster_options(command: F) -> F:
    """The options that say on which cluster runs are made."""
    return _address_option(_key_option(command))


def scenario_options(command: F) -> F:
    """The options that describe a scenario, the same for every command that runs one."""
    options = [
        click.option(
            "--path",
            "-p",
            multiple=True,
            metavar="NAME:RATE,DELAY[,KEY=VALUE...]",
            help="A path, with its rate and one-way delay; keys: queue, loss, jitter, and any of "
            "them for one direction (up.rate, down.delay, ...); docs/scenario.md has all. "
            "PRESET[:KEY=VALUE,...] is short for one so named. Up to 8.",
        ),
        click.option(
            "--event",
            "-e",
            multiple=True,
            metavar="TIME:PATH:ACTION",
            help="What happens to a path on the way, e.g. 3s:lte:down: down, up, close, change, "
            "handover, backup or regular, and keys such as lasts and every; docs/scenario.md.",
        ),
        click.option(
            "--link",
            "-l",
            multiple=True,
            metavar="NAME:RATE,DELAY[,KEY=VALUE...]",
            help="A link that paths share, which name it: --path a:link=NAME,delay=5ms; "
            "docs/connections.md.",
        ),
        click.option(
            "--connection",
            "-c",
            multiple=True,
            metavar="NAME:paths=PATH/PATH[,KEY=VALUE...]",
            help="A connection between hosts of its own, over these paths; keys: transport, "
            "scheduler, cc, start, end, count, workload.KEY; docs/connections.md.",
        ),
        click.option(
            "--cc",
            metavar="NAME",
            help="Congestion control of every subflow, as in mptcplab cc list; compare takes "
            "several, with commas.  [cubic]",
        ),
        click.option("--transport", help="mptcp, or tcp over one path.  [mptcp]"),
        click.option(
            "--workload",
            "-w",
            metavar="KIND[:KEY=VALUE,...]",
            help="What is sent: bulk, transfers, cbr, requests, web, video or frames, e.g. "
            "cbr:size=8KB,rate=500kbit; docs/workloads.md.  [bulk]",
        ),
        click.option("--direction", help="Of the data: up, down or both.  [up]"),
        click.option(
            "--start",
            help="When data is sent: at-once, as programs do, when the first subflow is there, or "
            "established, when all are.  [at-once]",
        ),
        click.option("--duration", help="How long data is sent, e.g. 20s.  [20s]"),
        click.option("--size", help="How much is sent instead, e.g. 10MB or 64KiB."),
        click.option(
            "--warmup", help="Left out of the figures at the start.  [a tenth, at most 5s]"
        ),
        click.option(
            "--send-buffer",
            help="Fixed size, e.g. 256KiB; one larger than the receive window can cost most of the "
            "goodput, docs/scenario.md.  [auto: grows as needed]",
        ),
        click.option("--receive-buffer", help="Fixed size, e.g. 256KiB.  [auto: grows as needed]"),
        click.option("--sample-interval", help="Virtual time between samples.  [10ms]"),
        click.option("--seed", help="Of all randomness; the first one with --repeat.  [1]"),
        click.option(
            "--seed-delay",
            help="Each path is longer by up to this, drawn from the seed; 0us: no longer.  [50us]",
        ),
        click.option(
            "--repeat",
            help=f"Runs of each, with one seed after the other.  [1, of compare {COMPARED_SEEDS}]",
        ),
        jobs_option,
        out_option,
        kernel_like_option,
        wall_limit_option,
        disk_limit_option,
        click.option(
            "--plan", "only_plan", is_flag=True, help="Print the commands of the runs, and stop."
        ),
        json_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def some_of_scenario_options(names: Sequence[str]) -> Callable[[F], F]:
    """Those of the scenario's options that have these names."""

    def decorate(command: F) -> F:
        holder: Any = command
        own = list(getattr(holder, "__click_params__", ()))
        scenario_options(command)
        shared = holder.__click_params__[len(own) :]
        holder.__click_params__ = [*own, *(option for option in shared if option.name in names)]
        return command

    return decorate


def flags(options: Mapping[str, Any]) -> Flags:
    """Those of the options that describe a scenario."""
    names = Flags.__dataclass_fields__
    return Flags(**{name: value for name, value in options.items() if name in names})


def request(file: Path | None, options: Mapping[str, Any], *, single: bool) -> Request:
    """What is asked for in a file, in options, or in both."""
    given = flags(options)
    if file is None:
        return resolve.from_flags(given, single=single)
    return resolve.load_file(file, given, single=single)


def builds(
    cluster: str | None = None, kernel_like: str = kernel.DEFAULT_FLAVOUR
) -> tuple[kernel.KernelBuild, guest.Guest]:
    """Kernel of a flavour and guest program, built now if they are not there yet.

    Raises MachineError if the machine lacks what a run needs, unless a cluster makes the runs.
    """
    if cluster is None:
        doctor.require(*doctor.RUN_CHECKS)
    return kernel.build(variant=kernel.FLAVOURS[kernel_like]), guest.build()


@contextmanager
def workers(address: str | None, key: str | None) -> Iterator[Workers | None]:
    """The workers of a cluster, or None: those of this machine."""
    jobs = click.get_current_context().get_parameter_source("jobs")
    if address is not None and jobs is ParameterSource.COMMANDLINE:
        raise click.UsageError("--jobs is for this machine; with --cluster its threads count")
    if address is None and key is not None:
        raise click.UsageError("--cluster-key is for --cluster ADDRESS")
    with experiment.on_cluster(address, say, key) as found:
        yield found


def title(item: Scenario) -> str:
    """Which run it is, in a few words."""
    what = item.scheduler.label
    if item.connections:
        what = what if item.choices() else f"{len(item.connections)} connections"
    elif item.transport == "tcp":
        what = f"tcp {item.paths[0].name}"
    cc = "" if item.cc == congestion.DEFAULT else f", {item.cc}"
    return f"{what}{cc}, seed {item.seed}"


def say(text: str) -> None:
    """A line on standard error."""
    click.echo(text, err=True)


@contextmanager
def progress(total: int) -> Iterator[tuple[experiment.Progress, experiment.Ended]]:
    """A bar with the time left on a terminal, else a line per run; always on standard error."""
    console = Console(stderr=True)

    def line(count: int, item: Scenario, entry: Entry) -> None:
        if entry["status"] == "ok":
            text = tables.headline(item.workload.kind, entry)
            say(f"[{count}/{total}] {title(item)}: {text}")
        else:
            say(f"[{count}/{total}] {title(item)}: failed: {entry['reason'].splitlines()[0]}")

    if not console.is_terminal:
        yield lambda _share: None, line
        return

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[ended]}" + f"/{total} runs"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("running", total=1.0, ended=0)

        def ended(count: int, item: Scenario, entry: Entry) -> None:
            bar.update(task, ended=count)
            if entry["status"] != "ok":
                reason = entry["reason"].splitlines()[0]
                bar.console.print(f"{title(item)}: failed: {reason}", markup=False)

        def moved(share: float) -> None:
            # before that, the time left would be a wild guess
            if share > _SHARE_THAT_TELLS:
                bar.update(task, completed=share)

        yield moved, ended


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first SIGINT or SIGTERM into an event: runs under way are ended and cleaned up.

    An exception out of a signal handler could come while a lock is held. A second signal does
    what it would do without this.
    """
    cancel = threading.Event()
    received: list[int] = []
    former: dict[int, Any] = {}

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        cancel.set()
        signal.signal(number, former[number])

    for caught in (signal.SIGINT, signal.SIGTERM):
        former[caught] = signal.signal(caught, handle)
    try:
        yield cancel
    except RunCancelledError:
        say("mptcplab: interrupted; runs that had ended are kept")
        sys.exit(128 + received[0])
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
