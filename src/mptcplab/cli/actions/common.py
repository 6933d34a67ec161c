# SPDX-License-Identifier: GPL-2.0-only
"""Shared parts of commands: reading options, showing progress, handling interrupts.

What only some of them need is imported where it is used: `show` makes no runs.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mptcplab import files
from mptcplab.errors import InputError, MptcplabError, Problem, RunCancelledError, from_program
from mptcplab.lab.choices import Limits
from mptcplab.scenario import congestion, resolve
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request

if TYPE_CHECKING:
    from mptcplab.lab.kernel import KernelBuild
    from mptcplab.runs.entries import Entry
    from mptcplab.runs.runner import Ended, Progress, Runner

_SHARE_THAT_TELLS = 0.02
_COUNTED = 10


def limits(options: Mapping[str, Any]) -> Limits:
    """The values of these options."""
    return Limits(wall_s=options["wall_limit"], disk_bytes=options["disk_limit"])


def runner(options: Mapping[str, Any], **more: Any) -> Runner:
    """The runner of a command, as its options say, on this machine; `more` are further fields."""
    from mptcplab.runs.runner import Runner

    storage = options.get("storage")
    return Runner(options["out"], options["jobs"], storage=storage, **more)


@contextmanager
def running(options: Mapping[str, Any], **more: Any) -> Iterator[Runner]:
    """The same runner on the cluster that the options name, if any; an interrupt ends its runs."""
    from mptcplab.runs import experiment

    address, key = options.get("cluster"), options.get("cluster_key")
    jobs = click.get_current_context().get_parameter_source("jobs")
    if address is not None and jobs is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--jobs is for this machine; a cluster runs as many as it has threads"
        )
    if address is None and key is not None:
        raise click.UsageError("--cluster-key is for --cluster ADDRESS")
    with experiment.on_cluster(address, say, key) as workers, interruptible() as cancel:
        yield runner(options, workers=workers, cancel=cancel, **more)


def flags(options: Mapping[str, Any]) -> Flags:
    """The options that describe a scenario."""
    names = Flags.__dataclass_fields__
    return Flags(**{name: value for name, value in options.items() if name in names})


def request(file: Path | None, options: Mapping[str, Any], *, single: bool) -> Request:
    """The request of a file, of options, or of both."""
    given = flags(options)
    if file is None:
        return resolve.from_flags(given, single=single)
    return resolve.load_file(file, given, single=single)


def require_no_kernels(request: Request, why: str) -> None:
    """Raises InputError, with the reason, if a request names kernels."""
    if request.kernels:
        names = ", ".join(request.kernels)
        raise InputError([Problem("kernel", "", names, f"{why}; leave it out")])


def title(item: Scenario, kernel: str | None = None) -> str:
    """A short name of a run, for progress; `kernel` is the name of a kernel that was asked for."""
    what = item.scheduler.label
    if item.connections:
        what = what if item.choices() else f"{len(item.connections)} connections"
    elif item.transport == "tcp":
        what = f"tcp {item.paths[0].name}"
    cc = "" if item.cc == congestion.DEFAULT else f", {item.cc}"
    of = f", {kernel}" if kernel else ""
    return f"{what}{cc}{of}, seed {item.seed}"


def say_slow(kernels: Iterable[KernelBuild]) -> None:
    """Before runs: that those on distributions' kernels take long."""
    from mptcplab.runs import cost

    if any(each.stock for each in kernels):
        say(
            f"runs in virtual machines take about {cost.TIMES_AS_LONG:g} times as long as others; "
            "Ctrl-C keeps those that have ended"
        )


def say_losses(request: Request, kernels: Iterable[KernelBuild]) -> None:
    """Before runs: what is left of schedulers on kernels without our patches for MPTCP."""
    from mptcplab.lab import adapter, out_of_tree

    for build in kernels:
        if build.is_out_of_tree and request.base.transport == "mptcp":
            there = build.brought
            lacking = [e.label for e in request.schedulers if not out_of_tree.runs(e, there)]
            say_left_out(build.name, lacking)
    carried = adapter.carried()
    names = dict.fromkeys(
        each.name for each in request.schedulers if each.digest is None and each.name in carried
    )
    for build in (each for each in kernels if each.has_adapter):
        for name in names:
            if (described := adapter.described(name)) != name:
                say(f"{build.name}: {described}")


def say_left_out(kernel: str, schedulers: Collection[str]) -> None:
    """Before runs: the schedulers that the out-of-tree MPTCP lacks."""
    if schedulers:
        say(f"{kernel}: has the out-of-tree MPTCP, without {', '.join(schedulers)}: no run")


def make_way(file: Path) -> None:
    """Remove a report that an earlier call wrote: see `files.make_way`.

    Raises MptcplabError if it could not be written.
    """
    try:
        files.make_way(file)
    except OSError as error:
        raise MptcplabError(f"cannot write {file}: {error.strerror}") from None


def say(text: str) -> None:
    """A line on standard error."""
    click.echo(text, err=True)


@contextmanager
def progress(
    total: int,
    *,
    pause_s: float = 0.0,
    titled: Callable[[Scenario, Entry], str] = lambda item, entry: title(item, entry.kernel),
) -> Iterator[tuple[Progress, Ended]]:
    """A bar with the time left on a terminal, else a line per run; always on standard error.

    With `pause_s`, lines are at least that far apart, except for runs that failed.
    `titled` gives the short name of a run.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from mptcplab.report import tables

    console = Console(stderr=True)
    last_s = time.monotonic()

    def line(count: int, item: Scenario, entry: Entry) -> None:
        nonlocal last_s
        if entry.status != "ok":
            reason = str(entry.reason).splitlines()[0]
            say(f"[{count}/{total}] {titled(item, entry)}: failed: {reason}")
        elif time.monotonic() - last_s >= pause_s:
            last_s = time.monotonic()
            text = tables.headline(item.workload.kind, entry)
            say(f"[{count}/{total}] {titled(item, entry)}: {text}")

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
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("running", total=1.0, ended=0)

        def ended(count: int, item: Scenario, entry: Entry) -> None:
            bar.update(task, ended=count)
            if entry.status != "ok":
                reason = str(entry.reason).splitlines()[0]
                bar.console.print(f"{titled(item, entry)}: failed: {reason}", markup=False)

        def moved(share: float) -> None:
            # before that, the time left would be a wild guess
            if share > _SHARE_THAT_TELLS:
                bar.update(task, completed=share)

        yield moved, ended


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, else a line for every ten; on standard error. To be called for each of
    the things that are done.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    console = Console(stderr=True)
    done = 0
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total)

        def one_more() -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done)
            if not console.is_terminal and done % _COUNTED == 0:
                say(f"{what}: {done} of {total}")

        yield one_more


#: As `progress`, for hundreds of runs: away from a terminal a line every 10 s at most.
rare_progress = partial(progress, pause_s=10.0)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first SIGINT or SIGTERM into an event, so that running runs end and are cleaned up.

    An exception from a signal handler could come while a lock is held. A second signal has its
    usual effect.
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
        say(from_program("interrupted; finished runs are kept, and the same command continues"))
        sys.exit(128 + received[0])
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
