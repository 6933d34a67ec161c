# SPDX-License-Identifier: GPL-2.0-only
"""Options shared by several commands. What they mean, and what commands do, is in `actions`, which
is imported when a command runs: neither help nor a mistyped option waits for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mptcplab import units
from mptcplab.cli import completion
from mptcplab.lab import choices
from mptcplab.lab.choices import Limits
from mptcplab.mistakes import one_of
from mptcplab.scenario import option_keys
from mptcplab.scenario.limits import ACTIONS, MAX_PATHS, WORKLOADS

F = TypeVar("F", bound=Callable[..., Any])

#: Where runs are kept by default.
DEFAULT_OUT = Path("mptcplab-out")


def _size_bytes(_context: click.Context, _option: click.Parameter, text: str) -> int:
    """The bytes of a size, written like 10GB."""
    try:
        size_bytes = units.parse_size(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}") from None
    if not size_bytes:
        raise click.BadParameter(f"{text!r}: at least 1B is expected, e.g. 10GB")
    return size_bytes


def listed_option(*names: str, metavar: str | None, text: str) -> Callable[[F], F]:
    """An option of one or more names with commas between; giving it again adds to them.

    The command gets one text, or None.
    """

    def joined(_context: click.Context, _option: click.Parameter, given: list[str]) -> str | None:
        return ",".join(given) if given else None

    return click.option(
        *names,
        metavar=metavar,
        multiple=True,
        callback=joined,
        help=text,
        shell_complete=completion.OF_OPTIONS[names[0]],
    )


def _scenario_option(name: str, *short: str) -> Callable[[F], F]:
    key = option_keys.KEYS[name]
    names = ("--" + name.replace("_", "-"), *short)
    if name in ("scheduler", "cc", "kernel"):
        return listed_option(*names, metavar=key.metavar, text=key.help)
    return click.option(
        *names,
        metavar=key.metavar,
        multiple=name == "vary",
        help=key.help,
        shell_complete=completion.OF_OPTIONS.get(names[0]),
    )


scheduler_option = _scenario_option("scheduler", "-s")
jobs_option = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 1024),
    default=lambda: len(os.sched_getaffinity(0)),
    show_default="one per CPU",
    help="Number of runs at the same time.",
)


def out_option_of(default: Path, text: str) -> Callable[[F], F]:
    """The directory that a command writes to."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--out", "-o", type=kind, default=default, show_default=True, help=text)


out_option = out_option_of(DEFAULT_OUT, "Directory for the runs and their results.")
_address_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Make the runs on a Dask cluster: tls://HOST:PORT, or its scheduler's FILE.json; "
    "docs/cluster.md.",
)
_key_option = click.option(
    "--cluster-key",
    metavar="FILE",
    help="The cluster's key, made by mptcplab cluster key FILE; none for tcp:// in a network "
    f"without others.  [${choices.KEY_VARIABLE}, or Dask's configuration]",
)
storage_option = click.option(
    "--storage",
    metavar="URL",
    help="Keep records there, one object per run, and only their series here; mptcplab results "
    "fetch brings them back.",
)
dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Show the number of runs, how many are stored already, and how long the rest takes.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)
pcap_option = click.option(
    "--pcap", is_flag=True, help="Keep the headers of all packets, as pcapng files."
)


def decisions_option(command: F) -> F:
    """--decisions, under its name of before also, which is refused."""

    def refused(_context: click.Context, _option: click.Parameter, given: bool) -> None:
        if given:
            raise click.UsageError(
                "--trace is --decisions now; a trace is a link's: docs/traces.md"
            )

    old = click.option("--trace", is_flag=True, hidden=True, expose_value=False, callback=refused)
    text = "Keep the decisions of schedulers."
    return click.option("--decisions", is_flag=True, help=text)(old(command))


states_option = click.option(
    "--states",
    is_flag=True,
    help="Keep what the scheduler saw at each decision, and its answer: docs/oracle.md.",
)
kernel_like_option = click.option(
    "--kernel-like",
    type=click.Choice(list(choices.FLAVOURS)),
    default=choices.DEFAULT_FLAVOUR,
    show_default=True,
    help="Which kernels' arithmetic to use: that of distributions' kernels, or of their kernels "
    "for virtual machines, with smaller buffers; docs/flavours.md.",
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
    help="End a run that writes more than this in all, e.g. 500MB.",
)


def expect_option(text: str) -> Callable[[F], F]:
    """What runs have to meet; `text` says it in the help."""
    return click.option(
        "--expect",
        metavar="FORMULA",
        multiple=True,
        shell_complete=completion.expectations,
        help=text,
    )


def expect_options(command: F) -> F:
    """What runs have to meet, and the report of it for continuous integration."""
    expect = expect_option(
        "What has to be true of the figures, e.g. 'goodput >= 50mbit' or 'minrtt.goodput >= "
        "0.98 * default.goodput'; exit status 4 if it is not. Repeatable; docs/expect.md."
    )
    junit = click.option(
        "--junit",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Also write whether the expectations are met as a JUnit report, for CI.",
    )
    return expect(junit(command))


def cluster_options(command: F) -> F:
    """The options that say which cluster to use."""
    return _address_option(_key_option(command))


def scenario_options(command: F) -> F:
    """The options that describe a scenario, the same for every command that runs one."""
    options = [
        click.option(
            "--path",
            "-p",
            multiple=True,
            shell_complete=completion.paths,
            metavar="NAME:RATE,DELAY[,KEY=VALUE...]",
            help="A path, with its rate and one-way delay; keys: queue, loss, jitter, and any of "
            "them for one direction (up.rate, down.delay, ...); docs/scenario.md lists all. "
            f"PRESET[:KEY=VALUE,...] is short for a path named like its preset. Up to {MAX_PATHS}.",
        ),
        click.option(
            "--event",
            "-e",
            multiple=True,
            shell_complete=completion.events,
            metavar="TIME:PATH:ACTION",
            help=f"What happens to a path during the run, e.g. 3s:lte:down: {one_of(ACTIONS)}, "
            "and keys such as lasts and every; docs/scenario.md.",
        ),
        click.option(
            "--link",
            "-l",
            multiple=True,
            metavar="NAME:RATE,DELAY[,KEY=VALUE...]",
            help="A link that paths share by naming it: --path a:link=NAME,delay=5ms; "
            "docs/connections.md.",
        ),
        click.option(
            "--connection",
            "-c",
            multiple=True,
            metavar="NAME:paths=PATH/PATH[,KEY=VALUE...]",
            help="A connection with its own hosts, over these paths; keys: transport, "
            "scheduler, cc, start, end, count, workload.KEY; docs/connections.md.",
        ),
        _scenario_option("cc"),
        _scenario_option("kernel"),
        _scenario_option("transport"),
        click.option(
            "--workload",
            "-w",
            shell_complete=completion.workloads,
            metavar="KIND[:KEY=VALUE,...]",
            help=f"What is sent: {one_of(WORKLOADS)}, e.g. cbr:size=8KB,rate=500kbit; "
            "docs/workloads.md.  [bulk]",
        ),
        *map(_scenario_option, ("direction", "start", "duration", "size", "warmup")),
        *map(_scenario_option, ("send_buffer", "receive_buffer", "sample_interval")),
        *map(_scenario_option, ("seed", "seed_delay", "vary", "repeat")),
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


def check_shown(options: Mapping[str, Any]) -> None:
    """Raises UsageError if two forms of output are asked for."""
    if options["only_plan"] and options["as_json"]:
        raise click.UsageError("--plan prints commands, which are no JSON document; leave one out")


def some_of_scenario_options(names: Sequence[str]) -> Callable[[F], F]:
    """Adds only the options of a scenario with these names."""

    def decorate(command: F) -> F:
        holder: Any = command
        own = list(getattr(holder, "__click_params__", ()))
        scenario_options(command)
        shared = holder.__click_params__[len(own) :]
        holder.__click_params__ = [*own, *(option for option in shared if option.name in names)]
        return command

    return decorate
