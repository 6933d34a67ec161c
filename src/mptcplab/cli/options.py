# SPDX-License-Identifier: GPL-2.0-only
"""Options shared by several commands. `actions` has their meaning, and the work of commands; it is
imported when a command runs: neither help nor a mistyped option waits for it.
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
#: The types of arguments and options that name a file, a directory, or either.
FILE = click.Path(path_type=Path, dir_okay=False)
DIRECTORY = click.Path(path_type=Path, file_okay=False)
PLACE = click.Path(path_type=Path)


#: The sections of the help of a command with a scenario, and the parameters in each.
_SECTIONS: Mapping[str, Sequence[str]] = {
    "Comparison": ("scheduler", "cc", "kernel", "transport", "baseline", "axes"),
    "Advice": ("uncertain", "count", "goals", "give_up", "quick"),
    "Program": ("server", "listen", "time_limit"),
    "Paths": ("path", "path_from", "link", "event", "connection"),
    "Traffic": ("workload", "direction", "start", "duration", "size", "warmup"),
    "Hosts": (
        *("send_buffer", "receive_buffer", "endpoints", "blackhole_timeout"),
        *("kernel_like", "sample_interval", "agent"),
    ),
    "Seeds": ("seed", "seed_delay", "vary", "repeat"),
    "Runs": (
        *("jobs", "cluster", "cluster_key", "wall_limit", "disk_limit", "dry_run", "only_plan"),
        "again",
    ),
    "Results": ("out", "storage", "as_json", "pcap", "decisions", "states", "expect", "junit"),
}


class Grouped(click.Command):
    """A command whose help has its options in sections, by subject."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {
            str(parameter.name): record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(ctx)) is not None
        }
        for title, names in _SECTIONS.items():
            if found := [records.pop(name) for name in names if name in records]:
                with formatter.section(title):
                    formatter.write_dl(found)
        with formatter.section("Others"):
            formatter.write_dl(list(records.values()))


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


def scenario_option(name: str, *short: str) -> Callable[[F], F]:
    """The option of a scenario's key."""
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


def workload_option(text: str) -> Callable[[F], F]:
    """The workload; `text` is its help."""
    return click.option(
        "--workload",
        "-w",
        shell_complete=completion.workloads,
        metavar="KIND[:KEY=VALUE,...]",
        help=text,
    )


scheduler_option = scenario_option("scheduler", "-s")
scenario_file = click.argument("file", type=PLACE, required=False)
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
    return click.option(
        "--out", "-o", type=DIRECTORY, default=default, show_default=True, help=text
    )


out_option = out_option_of(DEFAULT_OUT, "Directory for the runs and their results.")
storage_option = click.option(
    "--storage",
    metavar="URL",
    help="Keep records at this address, one object per run, and only their series in --out; "
    "mptcplab results fetch brings them back.",
)
no_cache_option = click.option(
    "--no-cache", "again", is_flag=True, help="Repeat runs that are stored already."
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


agent_option = click.option(
    "--agent",
    type=FILE,
    metavar="FILE.py",
    help="The agent whose function decide(question) the scheduler agent asks: docs/agent.md.",
)
states_option = click.option(
    "--states",
    is_flag=True,
    help="Keep the scheduler's view at each decision, and its answer: docs/oracle.md.",
)
kernel_like_option = click.option(
    "--kernel-like",
    type=click.Choice(list(choices.FLAVOURS)),
    default=choices.DEFAULT_FLAVOUR,
    show_default=True,
    help="The arithmetic of distributions' kernels (amd64), or of their kernels for virtual "
    "machines (cloud), with smaller buffers; docs/flavours.md.",
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


def junit_option(text: str) -> Callable[[F], F]:
    """The report for continuous integration; `text` is its help."""
    return click.option("--junit", metavar="FILE", type=FILE, help=text)


def expect_option(text: str) -> Callable[[F], F]:
    """An expectation of runs; `text` is its help."""
    suggested = completion.expectations
    return click.option(
        "--expect", metavar="FORMULA", multiple=True, shell_complete=suggested, help=text
    )


def _together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one, in the order in which the help lists them."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _refuse_trace(_context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given:
        raise click.UsageError("--trace is --decisions now; a trace is a link's: docs/traces.md")


decisions_option = _together(
    click.option("--decisions", is_flag=True, help="Keep the decisions of schedulers."),
    # its name of before
    click.option("--trace", is_flag=True, hidden=True, expose_value=False, callback=_refuse_trace),
)
#: Expectations of runs, and the report on them.
expect_options = _together(
    expect_option(
        "A formula that the figures have to meet, e.g. 'goodput >= 50mbit' or 'minrtt.goodput >= "
        "0.98 * default.goodput'; else the exit status is 4. Repeatable; docs/expect.md."
    ),
    junit_option("Also write a JUnit report on the expectations, for CI."),
)
cluster_options = _together(
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Make the runs on a Dask cluster: tls://HOST:PORT, or its scheduler's FILE.json; "
        "docs/cluster.md.",
    ),
    click.option(
        "--cluster-key",
        metavar="FILE",
        help="The cluster's key, made by mptcplab cluster key FILE; tcp:// has none, and is for "
        f"your own network.  [${choices.KEY_VARIABLE}, or Dask's configuration]",
    ),
)
#: What the runs of experiments share, of papers and of the casebook.
experiment_options = _together(
    click.option(
        "--repeat", type=click.IntRange(1, 10_000), help="Number of seeds.  [as in the file]"
    ),
    listed_option(
        "--kernel",
        metavar="NAME,...",
        text="Kernels by name, see mptcplab kernel list, or stock:PACKAGE.deb; the runs and "
        "results of each are in OUT/kernels/NAME.  [the current one]",
    ),
    jobs_option,
    cluster_options,
)
_SCENARIO: Mapping[str, Callable[[Any], Any]] = {
    "path": click.option(
        "--path",
        "-p",
        multiple=True,
        shell_complete=completion.paths,
        metavar="NAME:RATE,DELAY[,KEY=VALUE...]",
        help="A path, with its rate and one-way delay; keys: queue, loss, jitter, and any of "
        "them for one direction (up.rate, down.delay, ...); docs/scenario.md lists all. "
        f"PRESET[:KEY=VALUE,...] is short for a path named like its preset. Up to {MAX_PATHS}.",
    ),
    "path_from": click.option(
        "--path-from",
        multiple=True,
        metavar="NAME:FILE[,FILE...][,KEY=VALUE...]",
        help="A path as measured: JSON of speedtest-cli, of Ookla's speedtest or of iperf3, or the "
        "output of ping; several files for one link, and keys as of --path; docs/advise.md.",
    ),
    "event": click.option(
        "--event",
        "-e",
        multiple=True,
        shell_complete=completion.events,
        metavar="TIME:PATH:ACTION",
        help=f"An event of a path during the run, e.g. 3s:lte:down. Actions: {one_of(ACTIONS)}; "
        "keys such as lasts and every: docs/scenario.md. 5s:parameter=ecf.beta_permille:500 sets a "
        "parameter of a scheduler.",
    ),
    "link": click.option(
        "--link",
        "-l",
        multiple=True,
        metavar="NAME:RATE,DELAY[,KEY=VALUE...]",
        help="A link that paths share by naming it: --path a:link=NAME,delay=5ms; "
        "docs/connections.md.",
    ),
    "connection": click.option(
        "--connection",
        "-c",
        multiple=True,
        metavar="NAME:paths=PATH/PATH[,KEY=VALUE...]",
        help="A connection with its own hosts, over these paths; keys: transport, "
        "scheduler, cc, start, end, count, workload.KEY; docs/connections.md.",
    ),
    **{name: scenario_option(name) for name in ("cc", "kernel", "transport")},
    "workload": workload_option(
        f"Workload: {one_of(WORKLOADS)}, e.g. cbr:size=8KB,rate=500kbit; docs/workloads.md.  [bulk]"
    ),
    **{
        name: scenario_option(name)
        for name in (
            *("direction", "start", "duration", "size", "warmup", "send_buffer", "receive_buffer"),
            *("endpoints", "blackhole_timeout"),
            *("sample_interval", "seed", "seed_delay", "vary", "repeat"),
        )
    },
    "jobs": jobs_option,
    "out": out_option,
    "kernel_like": kernel_like_option,
    "wall_limit": wall_limit_option,
    "disk_limit": disk_limit_option,
    "only_plan": click.option(
        "--plan", "only_plan", is_flag=True, help="Print the commands of the runs, and stop."
    ),
    "as_json": json_option,
}


def scenario_options(*names: str) -> Callable[[F], F]:
    """The options that describe a scenario: those with these names, or all."""
    return _together(*(each for name, each in _SCENARIO.items() if not names or name in names))


#: The options of a run whose workload is a program.
program_options = _together(
    scenario_file,
    click.option(
        "--server", default="", metavar="COMMAND", help="Run this program on the server first."
    ),
    click.option(
        "--listen",
        default="",
        metavar="tcp|udp:PORT",
        help="Wait until something on the server listens on this.  [any port]",
    ),
    click.option("--time-limit", help="End the program after this virtual time, e.g. 30s.  [600s]"),
    scheduler_option,
    scenario_options(
        *("path", "path_from", "link", "event", "cc", "transport"),
        *("send_buffer", "receive_buffer", "endpoints", "blackhole_timeout"),
        *("seed_delay", "vary", "kernel", "kernel_like", "sample_interval", "seed", "out"),
        *("wall_limit", "disk_limit", "only_plan"),
    ),
)


def check_shown(options: Mapping[str, Any]) -> None:
    """Raises UsageError if two forms of output are asked for."""
    if options["only_plan"] and options["as_json"]:
        raise click.UsageError("--plan prints commands, which are no JSON document; leave one out")
