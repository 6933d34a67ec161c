# SPDX-License-Identifier: GPL-2.0-only
"""One run: made on a CPU of its own, and measured."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mptcplab import __version__
from mptcplab.capture import dissect, udp
from mptcplab.errors import RunError
from mptcplab.lab import choices, doctor, engine, stock_machine
from mptcplab.lab.engine import Rig, RunOutcome, Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild, Stock
from mptcplab.metrics import connections, recorded, records, run_files, sockets
from mptcplab.metrics.application import application_figures
from mptcplab.metrics.compute import RunMetrics, run_metrics
from mptcplab.metrics.definitions import LinkFigures, UdpFigures
from mptcplab.metrics.records import Records, Samples
from mptcplab.metrics.schema import Trait
from mptcplab.plan import plan, testbed
from mptcplab.scenario.limits import NO_RATE_BPS
from mptcplab.scenario.model import Link, Scenario
from mptcplab.scenario.workload import Program

# In the entry of a run.
_MOST_FLOWS = 100


def cpus() -> list[int]:
    """The CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


def builds(kernel: KernelBuild, guest: Guest) -> dict[str, str]:
    """The builds that a run is made with, as documents name them."""
    like, stock = kernel.flavour, kernel.stock
    return {
        "kernel": kernel.id,
        **({"kernel_name": kernel.name} if kernel.name else {}),
        **({"kernel_like": like} if like in choices.FLAVOURS else {}),
        **(_package(stock) if stock else {}),
        "guest": guest.id,
        "mptcplab": __version__,
    }


def _package(stock: Stock) -> dict[str, str]:
    about = {"package": f"{stock.package} {stock.version}"}
    if stock.instruction_ns != Stock.instruction_ns:
        about["instruction_ns"] = str(stock.instruction_ns)
    return about


def measure(
    scenario: Scenario, rig: Rig, directory: Path, watch: Watch | None = None
) -> tuple[RunOutcome, RunMetrics]:
    """One run on a CPU of its own, with its files in `directory`, and its figures."""
    outcome = run(scenario, rig, directory, watch)
    return outcome, figures(scenario, outcome)


def run(scenario: Scenario, rig: Rig, directory: Path, watch: Watch | None = None) -> RunOutcome:
    """One run, as `measure` makes it."""
    with own_cpu() as cpu:
        if rig.kernel.stock:
            return stock_machine.run(scenario, rig, directory, cpu=cpu, watch=watch)
        text = stock_machine.plan_text(scenario, rig.kernel)
        return engine.run(scenario, text, rig, directory, cpu=cpu, watch=watch)


def figures(scenario: Scenario, outcome: RunOutcome) -> RunMetrics:
    """The figures of a successful run."""
    start_ns = int(outcome.guest["start_ns"])
    samples = run_files.read_samples(scenario, outcome.directory)
    queues = None
    if outcome.of_sockets:  # a kernel without the probe: nothing was recorded of the links
        samples = sockets.until_the_end(scenario, start_ns, samples)
    else:
        queues = records.read_links(outcome.directory / run_files.LINKS_SAMPLES)
    file = outcome.directory / run_files.MESSAGES
    messages = records.read_messages(file) if file.exists() else None
    if scenario.connections:
        assert messages is not None, "only programs have none"
        assert queues is not None, "a distribution's kernel runs one connection"
        found = connections.figures(scenario, samples, outcome.guest, queues, messages)
        return found if outcome.decisions else sockets.known(found, {Trait.DECISIONS})
    found = run_metrics(scenario, samples["client"], samples["server"], outcome.guest, queues)
    seen = dict(application_figures(scenario, messages, start_ns))
    (pair,) = scenario.pairs()
    seen |= connections.inside(scenario, pair, samples, outcome.guest)
    found = replace(found, metrics=found.metrics.model_copy(update=seen))
    if queues is None:
        return sockets.known(found)
    if not outcome.decisions:
        found = sockets.known(found, {Trait.DECISIONS})
    return replace(found, links=_link_figures(scenario, outcome, samples, queues))


def link_figures(scenario: Scenario, outcome: RunOutcome) -> tuple[LinkFigures, ...]:
    """The figures of the shared links of a run, and, if programs ran, of each path.

    Programs need not use TCP. Raises RunError if the records do not cover the measured interval.
    """
    samples = run_files.read_samples(scenario, outcome.directory)
    queues = records.read_links(outcome.directory / run_files.LINKS_SAMPLES)
    return _link_figures(scenario, outcome, samples, queues)


def _link_figures(
    scenario: Scenario, outcome: RunOutcome, samples: Mapping[str, Samples], queues: Records
) -> tuple[LinkFigures, ...]:
    links: list[Link] = [*scenario.links]
    if isinstance(scenario.workload, Program):
        for path in scenario.paths:
            # one that leaves its rate to its links has no queue
            if {path.up.rate_bps, path.down.rate_bps} != {NO_RATE_BPS}:
                links.append(path)
    elif not links:
        return ()
    times = recorded.sample_times(samples.values(), queues)
    interval = recorded.measured_interval(scenario, "run", times, outcome.guest)
    if interval.length_ns <= 0:
        raise RunError("the run ended before it started")
    start_ns = int(outcome.guest["start_ns"])
    return connections.link_metrics(scenario, links, queues, interval, start_ns)


def udp_figures(scenario: Scenario, outcome: RunOutcome) -> tuple[UdpFigures, ...]:
    """What programs sent by UDP in a run that was captured: each direction of each flow.

    Of more flows than a document should have, those with most payload. Raises InputError if the
    captures are none any more: programs can write to them.
    """
    directory = outcome.directory
    found = dissect.read([directory / plan.CLIENT_CAPTURE, directory / plan.SERVER_CAPTURE]).udp
    if not found:
        return ()
    paths = {
        testbed.client(number).ip(version): path.name
        for number, path in enumerate(scenario.paths, scenario.first_path)
        for version in path.versions
    }
    ports, _ = udp.of_packets(found, int(outcome.guest["start_ns"]), paths)
    sent = [way for port in ports for flow in port.flows for way in flow.ways if way.packets]
    return tuple(
        way.model_copy(update={"path": paths.get(way.client.rpartition(":")[0].strip("[]"))})
        for way in udp.largest(sent, _MOST_FLOWS, lambda way: way.payload_bytes or 0)
    )


@contextlib.contextmanager
def own_cpu() -> Iterator[int]:
    """A CPU for one run, locked against other runs, of this process and of others.

    If there are more runs than CPUs, the further ones share them. Machines may share a cache. A
    read-only cache has the locks of those who could write to it.
    """
    directory = doctor.cache_dir() / "cpu" / platform.node()
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        for cpu in cpus():
            try:
                # locking needs no write permission
                lock = os.open(directory / str(cpu), os.O_RDONLY | os.O_CREAT, 0o666)
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # it is locked by another run, or missing
                continue
            yield cpu
            return
        yield cpus()[threading.get_native_id() % len(cpus())]
