# SPDX-License-Identifier: GPL-2.0-only
"""The command line: reads what a person wants, calls the modules below, shows what they found."""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

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
from rich.table import Table

from mptcplab import __version__
from mptcplab.advice import advise, advise_report, variations
from mptcplab.capture import analyze, dissect
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.figures import series
from mptcplab.published import papers, reproduce, results
from mptcplab.runs import archive, entries, experiment, index, program, store, sweep, work
from mptcplab.runs.collection import collect, run_directories
from mptcplab.runs.entries import Document, Entry
from mptcplab.runs.store import DOCUMENT, Store
from mptcplab.runs.sweep import How
from mptcplab.runs.work import Workers
from mptcplab.show import (
    analyze_report,
    chart,
    explain,
    palette,
    report,
    report_charts,
    report_figures,
    report_page,
    run_chart,
)
from mptcplab.spec import (
    congestion,
    drive_settings,
    literal,
    plan,
    presets,
    radio,
    scenario,
    scheduler,
)
from mptcplab.spec.scenario import Flags, Request, Scenario
from mptcplab.tools import bench
from mptcplab.uml import doctor, engine, guest, kernel
from mptcplab.uml.engine import Limits, RunCancelledError, Watch

F = TypeVar("F", bound=Callable[..., Any])

#: Where runs are kept if nothing else is said.
DEFAULT_OUT = Path("mptcplab-out")
_SPEC = "NAME[:PARAM=VALUE...]"
_SHARE_THAT_TELLS = 0.02
_LINE_EVERY_S = 10.0
_WIDE = 10_000
_PROGRAM = "mptcplab.program"
# Of the scenario's options, those that hold also where a program is the workload.
_TESTBED = (
    *(
        "path",
        "link",
        "event",
        "cc",
        "transport",
        "send_buffer",
        "receive_buffer",
        "sample_interval",
    ),
    *("seed", "out", "wall_limit", "only_plan"),
)
# And for advice, in which all schedulers and congestion controls are run with seeds of its own.
_ADVISED = (
    *("path", "link", "event", "direction", "duration", "warmup", "send_buffer"),
    *("receive_buffer", "sample_interval", "jobs", "wall_limit", "as_json"),
)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: mptcplab doctor, then mptcplab compare --help",
)
@click.version_option(__version__, prog_name="mptcplab")
def cli() -> None:
    """Compare Multipath TCP packet schedulers: the real Linux kernel, in virtual time."""


def _scenario_options(command: F) -> F:
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
        click.option("--duration", help="How long data is sent, e.g. 20s.  [20s]"),
        click.option("--size", help="How much is sent instead, e.g. 10MB or 64KiB."),
        click.option(
            "--warmup", help="Left out of the figures at the start.  [a tenth, at most 5s]"
        ),
        click.option("--send-buffer", help="Fixed size, e.g. 256KiB.  [auto: grows as needed]"),
        click.option("--receive-buffer", help="Fixed size, e.g. 256KiB.  [auto: grows as needed]"),
        click.option("--sample-interval", help="Virtual time between samples.  [10ms]"),
        click.option("--seed", help="Of all randomness; the first one with --repeat.  [1]"),
        click.option("--repeat", help="Runs of each, with one seed after the other.  [1]"),
        click.option(
            "--jobs",
            "-j",
            type=click.IntRange(1, 1024),
            default=lambda: len(experiment.cpus()),
            show_default="one per CPU",
            help="Runs at the same time.",
        ),
        click.option(
            "--out",
            "-o",
            type=click.Path(path_type=Path, file_okay=False),
            default=DEFAULT_OUT,
            show_default=True,
            help="Directory for runs, pictures and the document.",
        ),
        click.option(
            "--wall-limit",
            type=click.FloatRange(min=0, min_open=True),
            default=Limits.wall_s,
            show_default=True,
            help="End a run that takes longer, in seconds.",
        ),
        click.option(
            "--plan", "only_plan", is_flag=True, help="Print the commands of the runs, and stop."
        ),
        click.option(
            "--json", "as_json", is_flag=True, help="Print one JSON document, nothing else."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _some_of_scenario_options(names: Sequence[str]) -> Callable[[F], F]:
    """Those of the scenario's options that have these names."""

    def decorate(command: F) -> F:
        holder: Any = command
        own = list(getattr(holder, "__click_params__", ()))
        _scenario_options(command)
        shared = holder.__click_params__[len(own) :]
        holder.__click_params__ = [*own, *(option for option in shared if option.name in names)]
        return command

    return decorate


_cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Make the runs on a Dask cluster: tcp://HOST:PORT, tls://HOST:PORT or its scheduler's "
    "FILE.json; docs/cluster.md.",
)
_storage_option = click.option(
    "--storage",
    metavar="URL",
    help="Keep records there, one object per run, and their series here; mptcplab fetch has them "
    "back.",
)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--scheduler",
    "-s",
    metavar=_SPEC,
    help="Packet scheduler; ./NAME.c is one of your own.  [default]",
)
@_scenario_options
@click.option("--pcap", is_flag=True, help="Keep the headers of all packets, as pcapng files.")
@click.option("--trace", is_flag=True, help="Keep the scheduler's decisions.")
def run(file: Path | None, **options: Any) -> None:
    """Run one scenario, from a FILE, from flags, or from a file with flags that override it."""
    request = _request(file, options, single=True)
    _execute(request, options, baseline=False)


_dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Say how many runs there are, how many are stored already, and how long the rest takes.",
)
_jobs_option = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 1024),
    default=lambda: len(experiment.cpus()),
    show_default="one per CPU",
    help="Runs at the same time.",
)
_out_option = click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_OUT,
    show_default=True,
    help="Directory of the runs.",
)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--scheduler",
    "-s",
    metavar=f"{_SPEC},...",
    help="Packet schedulers, or all; ./NAME.c is one of your own.  [default]",
)
@click.option(
    "--baseline/--no-baseline",
    default=True,
    help="Also run plain TCP over each path alone, which the aggregation benefit needs.  [yes]",
)
@click.option(
    "--sweep",
    "axes",
    multiple=True,
    metavar="KEY=VALUES",
    help="Run all of it with each value of a key: path.lte.delay=10ms,20ms or 10ms..160ms:log5 "
    "(five, by factors), :5 (evenly), :+10ms (by steps); several are a grid; docs/sweep.md.",
)
@_dry_run_option
@_scenario_options
@click.option("--pcap", is_flag=True, help="Keep the headers of all packets, as pcapng files.")
@click.option("--trace", is_flag=True, help="Keep the schedulers' decisions.")
@_cluster_option
@_storage_option
def compare(
    file: Path | None, baseline: bool, axes: tuple[str, ...], dry_run: bool, **options: Any
) -> None:
    """Compare schedulers, or congestion controls, on the same paths with the same seeds: a table
    and a picture.

    With --scheduler all, those of mptcplab scheduler list.

    \b
    mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms,queue=200,loss=0.1% \\
        --scheduler default,roundrobin --duration 20s --repeat 5
    mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms --cc reno,lia,olia
    mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms --sweep path.lte.delay=10ms,40ms
    """
    if axes and not options["only_plan"]:
        given = sweep.from_flags(file, _flags(options), axes, baselines=baseline)
        limits = Limits(wall_s=options["wall_limit"])
        how = How(jobs=options["jobs"], storage=options["storage"], limits=limits)
        _sweep(
            *(given, how, options["cluster"], options["out"]),
            dry_run=dry_run,
            as_json=options["as_json"],
        )
        return
    if dry_run or axes:
        raise click.UsageError("--dry-run is for --sweep, and --plan is for a single setting")
    request = _request(file, options, single=False)
    _execute(request, options, baseline=baseline)


@cli.command("sweep")
@click.argument("file", type=click.Path(path_type=Path))
@_dry_run_option
@click.option("--no-cache", "again", is_flag=True, help="Also run what is stored already.")
@click.option("--retry-failed", is_flag=True, help="Also run what failed before.")
@click.option(
    "--fail-fast/--keep-going",
    default=False,
    help="Stop at the first run that fails.  [keep going]",
)
@click.option("--keep-records", is_flag=True, help="Keep all records, not only their series.")
@click.option(
    "--wall-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=Limits.wall_s,
    show_default=True,
    help="End a run that takes longer, in seconds.",
)
@_jobs_option
@_cluster_option
@_storage_option
@_out_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, nothing else.")
def sweep_command(
    file: Path,
    dry_run: bool,
    again: bool,
    retry_failed: bool,
    fail_fast: bool,
    keep_records: bool,
    wall_limit: float,
    jobs: int,
    cluster: str | None,
    storage: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Run a scenario again and again, with values that change as FILE says: a grid, ranges, points
    that fill a space. docs/sweep.md.

    What is stored already is not run again, so that what was interrupted goes on.

    \b
    mptcplab sweep sweep.toml --dry-run
    mptcplab sweep sweep.toml
    mptcplab results query 'SELECT scheduler, median(goodput_bps) FROM runs GROUP BY 1'
    """
    how = How(
        jobs=jobs,
        keep_records=keep_records,
        again=again,
        retry_failed=retry_failed,
        fail_fast=fail_fast,
        storage=storage,
        limits=Limits(wall_s=wall_limit),
    )
    _sweep(sweep.load(file), how, cluster, out, dry_run=dry_run, as_json=as_json)


def _sweep(
    given: sweep.Given,
    how: How,
    cluster: str | None,
    out: Path,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run a sweep, or say what it would be; exit status 1 if a run failed."""
    if how.storage is not None:
        archive.require(how.storage)
    lab_kernel, lab_guest = _builds(cluster)
    planned = sweep.plan(given, scheduler.known(), lab_kernel, lab_guest)
    if dry_run:
        expected = sweep.dry_run(planned, out, how)
        click.echo(json.dumps(asdict(expected), indent=1) if as_json else expected.text())
        return
    runs_store = Store(out)
    with _workers(cluster) as workers, _interruptible() as cancel, _sweeping() as show:
        outcome = sweep.run(planned, runs_store, how, show=show, cancel=cancel, workers=workers)
    table = index.read(out)
    summary = sweep.summary(planned, table)
    if as_json:
        click.echo(json.dumps(asdict(outcome) | {"schedulers": summary}, indent=1))
    else:
        Console().print(report.sweep_table(summary))
        click.echo(sweep.closing(outcome, out))
    if outcome.reasons:
        sys.exit(MptcplabError.exit_status)


@contextmanager
def _sweeping() -> Iterator[Callable[[sweep.Standing], None]]:
    """A bar with rate, failures and time left on a terminal, else a line now and then."""
    console = Console(stderr=True)
    if not console.is_terminal:
        last = -1.0

        def line(standing: sweep.Standing) -> None:
            nonlocal last
            now = time.monotonic()
            if standing.ended == standing.total or now - last > _LINE_EVERY_S:
                last = now
                _say(standing.text())

        yield line
        return
    columns = (BarColumn(), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("sweep", total=1, text="")

        def moved(standing: sweep.Standing) -> None:
            bar.update(task, completed=standing.ended, total=standing.total, text=standing.text())

        yield moved


@cli.group("results")
def results_group() -> None:
    """All runs of an output directory as one table: OUT/runs.parquet, docs/results-store.md."""


@results_group.command("list")
@_out_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, nothing else.")
def results_list(out: Path, as_json: bool) -> None:
    """List how many runs there are of what, and what failed."""
    found = index.overview(index.read(out))
    _show_answer(found, "json" if as_json else "table")


@results_group.command("fetch")
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@_out_option
def results_fetch(keys: tuple[str, ...], out: Path) -> None:
    """Have the records here that --storage keeps elsewhere: of runs by their keys, or of all."""
    fetched = work.fetch(Store(out), keys)
    click.echo(f"records of {fetched} runs fetched")


@results_group.command("query")
@click.argument("sql", metavar="SQL")
@_out_option
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
@click.option("--json", "form", flag_value="json", help="Print a JSON document: a list of rows.")
@click.option(
    "--parquet",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the answer as Parquet instead.",
)
def results_query(sql: str, out: Path, form: str | None, parquet: Path | None) -> None:
    """Ask the tables runs and series, in SQL as DuckDB has it.

    \b
    mptcplab results query 'SELECT scheduler, median(goodput_bps)/1e6 FROM runs GROUP BY 1'
    """
    if parquet is not None and form:
        raise click.UsageError("--parquet writes a file; leave out --csv and --json")
    answer = index.query(out, sql, parquet)
    if parquet is not None:
        click.echo(f"written: {parquet}")
    else:
        _show_answer(answer, form or "table")


def _show_answer(answer: index.Answer, form: str) -> None:
    if form == "json":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        click.echo(json.dumps(rows, indent=1, default=str))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        table = Table(box=report.RULE, pad_edge=False)
        for name, column in zip(answer.columns, zip(*answer.rows, strict=True), strict=False):
            number = all(isinstance(value, int | float | None) for value in column)
            table.add_column(name, justify="right" if number else "left", overflow="fold")
        for name in answer.columns[len(table.columns) :]:
            table.add_column(name)
        for row in answer.rows:
            table.add_row(*(_cell(value) for value in row))
        # what goes into a file or a pipe is not folded
        Console(width=None if sys.stdout.isatty() else _WIDE).print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@cli.command("advise")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--uncertain",
    "-u",
    multiple=True,
    metavar="[[PATH.]KEY=]PERCENT",
    help="By how much what is known of the paths may be off, e.g. 20%, or for one key or path "
    "loss=50%, lte=40%, lte.rate=60%; keys: rate, delay, loss, queue.  [20%]",
)
@click.option(
    "--variations",
    "count",
    type=click.IntRange(1, 1024),
    help="Of the paths, within their uncertainty; more tell more.  [16; with --quick 6]",
)
@click.option("--quick", is_flag=True, help="Fewer variations and finalists: less sure, sooner.")
@click.option(
    "--scheduler",
    "-s",
    metavar=f"{_SPEC},...",
    help="Only these packet schedulers; ./NAME.c is one of your own.  [all]",
)
@click.option(
    "--cc",
    metavar="NAME,...",
    help="Only these congestion controls, as in mptcplab cc list.  [all]",
)
@click.option(
    "--workload",
    "-w",
    metavar="KIND[:KEY=VALUE,...]",
    help="What your application does, e.g. video or requests:interval=1s, for latency and, if it "
    "goes on for a duration, resilience; docs/workloads.md.  [a stream of blocks]",
)
@click.option("--seed", help="Of the first variation; each has the next one.  [1]")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("advice-out"),
    show_default=True,
    help="Directory for the runs, the picture and the document; what is there is not run again.",
)
@_some_of_scenario_options(_ADVISED)
def advise_command(
    file: Path | None, uncertain: tuple[str, ...], count: int | None, quick: bool, **options: Any
) -> None:
    """Say which scheduler and congestion control to use on some paths: for throughput, for
    latency, and for when a path fails; with the figures, and how sure it is.

    Runs the catalogue on variations of the paths, since nobody knows theirs exactly. Of a FILE,
    all counts but the scheduler, the congestion control and the number of seeds.

    \b
    mptcplab advise --path dsl:50mbit,10ms --path lte:30mbit,30ms,loss=0.1% --direction down
    mptcplab advise --path dsl --path lte --uncertain 10%,lte=40% --workload video --quick
    """
    wanted = {**options, "scheduler": options["scheduler"] or scheduler.ALL}
    request = _request(file, wanted, single=False)
    advise.check(request)
    uncertainty = variations.parse(uncertain, request.base)
    effort = advise.effort(quick=quick, count=count)
    ccs = request.ccs if options["cc"] else congestion.names()

    lab_kernel, lab_guest = _builds()
    modules = experiment.modules(request, lab_kernel)
    out: Path = options["out"]
    _say(
        f"schedulers: {len(request.schedulers)}, congestion controls: {len(ccs)}, variations: "
        f"{effort.variations}: up to {advise.most_runs(request, ccs, effort)} runs"
    )
    with _interruptible() as cancel:
        advice = advise.advise(
            *(request, ccs, uncertainty, effort, lab_kernel, lab_guest, out),
            modules=modules,
            jobs=options["jobs"],
            limits=Limits(wall_s=options["wall_limit"]),
            show=_progress,
            say=_say,
            cancel=cancel,
        )
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


@cli.command()
@click.argument(
    "places", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path), required=False
)
@click.option(
    "--format",
    "-f",
    "formats",
    metavar=f"{'|'.join(run_chart.FORMATS)}",
    multiple=True,
    type=click.Choice(run_chart.FORMATS),
    help="Of the picture; may be given several times.  [png]",
)
@click.option("--data", is_flag=True, help="Also write the series that are drawn, as CSV.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the pictures, as KEY.png.  [run.png in the directory of each run]",
)
def show(places: tuple[Path, ...], formats: tuple[str, ...], data: bool, out: Path | None) -> None:
    """Draw a run: goodput, round-trip times, windows, queues and buffers over time.

    RUN is the directory of a run, OUT/runs/KEY, or several runs, as for a report: an output
    directory OUT, or a document, for a picture of each that ended well.  [mptcplab-out]
    """
    directories = run_directories(places or (DEFAULT_OUT,))
    if out is not None:
        store.make_directory(out)
    for directory in directories:
        item, drawn = store.read_scenario(directory), store.read_series(directory)
        file = directory / "run" if out is None else out / directory.resolve().name
        written = run_chart.write(item, drawn, file, tuple(formats) or ("png",))
        if data:
            written.append(file.with_name(f"{file.name}.csv"))
            store.write(written[-1], series.csv_text(drawn).encode())
        for each in written:
            click.echo(f"{_title(item)}: {each}")


@cli.command("explain")
@click.argument("runs", metavar="RUN...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, nothing else.")
def explain_command(runs: tuple[Path, ...], as_json: bool) -> None:
    """Say why runs did not reach the sum of their paths.

    RUN is the directory of a run, OUT/runs/KEY, or the output directory OUT of a single one.
    docs/explain.md says how to read it.
    """
    found = [explain.find_run(run) for run in runs]
    explanations = [explain.explain(directory) for directory in found]
    if as_json:
        documents = [
            {"directory": str(directory), **each.document()}
            for directory, each in zip(found, explanations, strict=True)
        ]
        click.echo(json.dumps(documents, indent=1))
    else:
        click.echo("\n\n".join(each.text() for each in explanations))


@cli.command("report")
@click.argument("places", metavar="RUNS...", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Also draw the charts for papers, as PNG, SVG and PDF, into this directory.",
)
@click.option(
    "--series",
    "most",
    type=click.IntRange(min=0),
    default=500,
    show_default=True,
    metavar="N",
    help="How many runs can be opened to what happened over time; low seeds go first.",
)
def report_command(places: tuple[Path, ...], out: Path, figures: Path | None, most: int) -> None:
    """Make one page of runs, with tables and interactive charts, that needs no network.

    RUNS are directories of runs, OUT/runs/KEY, output directories OUT, documents of comparisons,
    OUT/comparison.json, or of published experiments, OUT/PAPER/FIGURE.json.  [mptcplab-out]
    """
    collection = collect(places or (DEFAULT_OUT,)).opening(most)
    for directory in filter(None, (out.parent, figures)):
        store.make_directory(directory)
    looks = palette.styles(collection.schedulers())
    overview = report_charts.overview(collection)
    of_groups = [report_charts.of_group(group) for group in collection.groups]
    page = report_page.page(collection, looks, overview, of_groups)
    store.write(out, page.encode())
    click.echo(f"report:  {out} ({len(page.encode()) / 1e6:.1f} MB)")
    if (count := collection.count()) > most:
        click.echo(f"series:  of {most} of {count} runs; --series {count} has all")
    if figures is None:
        return
    named = [("", chart) for charts in overview for chart in charts]
    for group, charts in zip(collection.groups, of_groups, strict=True):
        place = group.name if len(of_groups) > 1 else ""
        named += [(place, chart) for chart in charts]
    written = report_figures.write(named, looks, figures)
    click.echo(f"figures: {figures} ({len(named)} charts, {len(written)} files)")


class _ProgramCommand(click.Command):
    """A command whose last part, after --, is that of a program: in meta, under _PROGRAM."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


_scheduler_option = click.option(
    "--scheduler",
    "-s",
    metavar=_SPEC,
    help="Packet scheduler; ./NAME.c is one of your own.  [default]",
)
_server_option = click.option(
    "--server", default="", metavar="COMMAND", help="Run this program at the server, first."
)
_time_limit_option = click.option(
    "--time-limit", help="End it then, in virtual time, e.g. 30s.  [600s]"
)


@cli.command("exec", cls=_ProgramCommand)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@_server_option
@_time_limit_option
@_scheduler_option
@_some_of_scenario_options(_TESTBED)
@click.option("--pcap", is_flag=True, help="Keep the headers of all packets, as pcapng files.")
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
    wanted = scenario.Program(
        client=program.find(words),
        server=program.split(server, "--server"),
        directory=program.directory(),
        time_limit_ns=program.time_limit_ns(time_limit),
    )
    request = _request(file, {**options, "program": wanted}, single=True)
    item = request.runs()[0]
    if options["only_plan"]:
        click.echo(plan.render(item))
        return

    lab_kernel, lab_guest = _builds()
    modules = experiment.modules(request, lab_kernel)
    out: Path = options["out"]
    with _outputs() as (outputs, cancel):
        (entry,) = experiment.run_all(
            [item],
            lab_kernel,
            lab_guest,
            Store(out),
            modules=modules,
            jobs=1,
            limits=Limits(wall_s=options["wall_limit"]),
            look=outputs.look,
            cancel=cancel,
        )
    sys.exit(_show_program(entry, request, words[0], out))


@cli.command("shell")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@_server_option
@_time_limit_option
@_scheduler_option
@_some_of_scenario_options(_TESTBED)
def shell_command(file: Path | None, server: str, time_limit: str | None, **options: Any) -> None:
    """A prompt at the client, where ss, nstat, tc, tcpdump and any other program work.

    In real time, if a terminal is there to type on; the commands of a script on standard input run
    in virtual time. Nothing of it is kept.

    \b
    echo 'ping -c 3 server; ss -M' | mptcplab shell --path wifi:50mbit,10ms
    """
    typed = sys.stdin.isatty()
    wanted = scenario.Program(
        client=program.find(["bash", "-i"] if typed else ["bash"]),
        server=program.split(server, "--server"),
        directory=program.directory(),
        time_limit_ns=None if typed else program.time_limit_ns(time_limit),
        input="terminal" if typed else "file",
        term=os.environ.get("TERM", "linux") if typed else None,
        records=False,
    )
    request = _request(file, {**options, "program": wanted}, single=True)
    item = request.runs()[0]
    if options["only_plan"]:
        click.echo(plan.render(item))
        return

    lab_kernel, lab_guest = _builds()
    modules = experiment.modules(request, lab_kernel)
    with tempfile.TemporaryDirectory(prefix="mptcplab-shell-") as name, _outputs() as shown:
        outputs, cancel = shown
        directory = Path(name)
        if typed:
            _say(program.greeting(item))
        else:
            (directory / engine.CLIENT_INPUT).write_bytes(sys.stdin.buffer.read())
        outcome = experiment.run(
            item,
            lab_kernel,
            lab_guest,
            directory,
            modules=modules,
            limits=Limits(wall_s=options["wall_limit"]),
            watch=Watch(look=outputs.look, cancel=cancel),
        )
    sys.exit(outcome.guest["client_status"])


@cli.group("kernel")
def kernel_group() -> None:
    """The lab kernel: Linux, built as an ordinary program."""


@kernel_group.command("build")
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="Archive or directory of a Linux 6.12 source; remembered for later builds.  "
    "[Debian's package linux-source-6.12]",
)
@click.option(
    "--variant",
    type=click.Choice(list(kernel.VARIANTS)),
    default="lab",
    show_default=True,
    help="With checks of everything (debug), for the kernel's own tests (selftest), or without "
    "the schedulers' framework (upstream).",
)
def kernel_build(source: Path | None, variant: str) -> None:
    """Build the kernel into the cache, or only what has changed since."""
    started = time.monotonic()
    known = kernel.current(variant)
    built = kernel.build(source, variant=variant)
    if known == built:
        click.echo(f"kernel {built.id} is up to date")
    else:
        click.echo(f"kernel {built.id} built in {time.monotonic() - started:.0f} s")


@cli.group("scheduler")
def scheduler_group() -> None:
    """Packet schedulers: those of the lab, and your own."""


@scheduler_group.command("list")
def scheduler_list() -> None:
    """List the schedulers of the lab."""
    Console().print(report.scheduler_table(scheduler.known().values()))
    click.echo("\nmptcplab scheduler show NAME says more, mptcplab scheduler new NAME begins one.")


@scheduler_group.command("show")
@click.argument("name")
def scheduler_show(name: str) -> None:
    """Show what a scheduler does, where it is from, and its parameters.

    NAME is one of mptcplab scheduler list, or the file of your own, ./NAME.c.
    """
    try:
        _, found = scheduler.choose(name, scheduler.known(), Path())
    except scheduler.SpecError as error:
        problems = [Problem("scheduler show", "", name, text) for text in error.messages]
        raise InputError(problems) from None
    click.echo(found.description or f"{found.name}: its file begins with no comment")
    if found.parameters:
        click.echo()
        Console().print(report.parameter_table(found.parameters))
    if found.file:
        click.echo(f"\nfile: {found.file}")


@scheduler_group.command("new")
@click.argument("name")
def scheduler_new(name: str) -> None:
    """Write a scheduler to begin with, NAME.c, and its test, NAME_test.py, here."""
    for file in scheduler.new(name, Path(), scheduler.known()):
        click.echo(f"written: {file}")
    click.echo(f"compare it: mptcplab compare ... --scheduler default,./{name}.c")


@cli.group("cc")
def cc_group() -> None:
    """Congestion controls: those of the kernel, and those that couple subflows."""


@cc_group.command("list")
def cc_list() -> None:
    """List the congestion controls, with what they couple."""
    Console().print(report.congestion_table(congestion.known().values()))
    click.echo("\nmptcplab cc show NAME says more.")


@cc_group.command("show")
@click.argument("name")
def cc_show(name: str) -> None:
    """Show what a congestion control does, and where it is from.

    NAME is one of mptcplab cc list.
    """
    found = congestion.find(name)
    click.echo(found.description)
    if found.file:
        click.echo(f"\nfile: {found.file}")


@cli.command("analyze")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the picture and the document; without it, only the table is shown.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, nothing else.")
def analyze_command(files: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Compute figures from captures alone: FILE.pcapng or .pcap, of the lab or anybody's.

    Several files of the same time, such as one of each end, are taken together: which side each is
    from is found out, and no packet is counted twice.
    """
    with _reading(files) as progress:
        analysis = analyze.analyse(files, progress)
    written = analyze_report.write(analysis, out) if out else []
    if as_json:
        click.echo(json.dumps(analyze_report.document(analysis), indent=1))
        return
    Console().print(analyze_report.tables(analysis))
    for file in written:
        click.echo(f"written: {file}")


@cli.command("doctor")
def doctor_command() -> None:
    """Say what this machine lacks, and the command that mends it."""
    built = kernel.current()
    found = doctor.checks(built.id if built else None)
    Console().print(doctor.table(found))
    sys.exit(doctor.exit_status(found))


@cli.group("scenario")
def scenario_group() -> None:
    """Scenario files."""


@scenario_group.command("schema")
def scenario_schema() -> None:
    """Print the JSON Schema of a scenario file."""
    click.echo(json.dumps(scenario.json_schema(), indent=2))


@scenario_group.command("presets")
def scenario_presets() -> None:
    """List the presets of paths, with their numbers and where they are from."""
    Console().print(report.preset_table(presets.PRESETS.values()))
    click.echo()
    for label, source in presets.SOURCES.items():
        click.echo(f"{label}: {source.title} {source.address}")
    click.echo("\ndocs/presets.md has the reason for each number.")


def _list_settings(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    click.echo(drive_settings.listing(radio.Drive()))
    click.echo("\nbuilding=none takes the building away. docs/radio.md has the sources at length.")
    context.exit()


@scenario_group.command("drive")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--seed", type=click.IntRange(0, literal.MAX_SEED), default=1, show_default=True)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a parameter, e.g. lte.power=40dBm or building=none.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_settings,
    help="List the parameters with defaults, ranges and sources, and stop.",
)
def scenario_drive(directory: Path, seed: int, settings: tuple[str, ...]) -> None:
    """Write a drive past a 5G and an LTE cell into DIRECTORY.

    A car passes a mast with both at 60 km/h, and for a while there is a house between them
    (docs/radio.md). A trace of each cell, with rate, delay and SINR, and drive.toml, a scenario
    whose paths are these. The seed is that of the shadowing.
    """
    drive = drive_settings.apply(radio.Drive(), settings)
    for file in radio.write_scenario(drive, seed, directory, settings):
        click.echo(f"written: {file}")
    click.echo(f"compare with it: mptcplab compare {directory}/drive.toml --scheduler ...")


@cli.command("bench")
@click.option("--repeat", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, nothing else.")
def bench_command(repeat: int, as_json: bool) -> None:
    """Measure how fast runs are on this machine, and how well the schedulers fill their paths."""
    builds = _builds()
    with _interruptible() as cancel:
        results = bench.run(*builds, repeat=repeat, say=_say, cancel=cancel)
    if as_json:
        click.echo(json.dumps(results, indent=1))
    else:
        Console().print(bench.table(results))


@cli.group("papers")
def papers_group() -> None:
    """Published experiments: run them again, and see which claims hold."""


_papers_out = click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("papers-out"),
    show_default=True,
    help="Directory for the runs; what is there is not run again.",
)
_quick_option = click.option("--quick", is_flag=True, help="A thinner grid: minutes, not hours.")


@papers_group.command("list")
def papers_list() -> None:
    """List the experiments, with how many runs each has, all and with --quick."""
    for name in papers.names():
        own = papers.load(name).experiment
        count, quick = (len(own.points(quick=q)) * own.repeats(quick=q) for q in (False, True))
        click.echo(f"{name:<26} {own.title}: {own.place}, {count} runs, quick {quick}")


@papers_group.command("run")
@click.argument("names", metavar="PAPER/FIGURE...", nargs=-1, required=True)
@_quick_option
@click.option("--repeat", type=click.IntRange(1, 10_000), help="Seeds.  [that of the file]")
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 1024),
    default=lambda: len(experiment.cpus()),
    show_default="one per CPU",
    help="Runs at the same time.",
)
@_cluster_option
@_papers_out
def papers_run(
    names: tuple[str, ...],
    quick: bool,
    repeat: int | None,
    jobs: int,
    cluster: str | None,
    out: Path,
) -> None:
    """Run experiments, and judge the paper's claims by them: PAPER/FIGURE, PAPER or all.

    What was interrupted goes on where it stopped.
    """
    everything = [papers.load(name) for name in papers.chosen(names)]
    lab_kernel, lab_guest = _builds(cluster)
    failed = False
    with _workers(cluster) as workers, _interruptible() as cancel:
        for published in everything:
            try:
                found = reproduce.run(
                    published,
                    lab_kernel,
                    lab_guest,
                    out,
                    quick=quick,
                    repeat=repeat,
                    jobs=jobs,
                    workers=workers,
                    show=_progress,
                    cancel=cancel,
                )
            except RunCancelledError:
                raise
            except MptcplabError as error:
                if len(everything) == 1:
                    raise
                _say(f"{published.name}: {str(error).removeprefix('mptcplab: ')}")
                failed = True
                continue
            click.echo(results.text(found) + "\n")
    if failed:
        sys.exit(MptcplabError.exit_status)


@papers_group.command("show")
@click.argument("names", metavar="PAPER/FIGURE...", nargs=-1, required=True)
@_quick_option
@_papers_out
def papers_show(names: tuple[str, ...], quick: bool, out: Path) -> None:
    """Show what experiments gave that were run before."""
    for name in papers.chosen(names):
        click.echo(results.text(reproduce.read(papers.load(name), out, quick=quick)) + "\n")


@papers_group.command("publish")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@_papers_out
def papers_publish(directory: Path, out: Path) -> None:
    """Write a page per paper into DIRECTORY, and a summary, of all experiments that were run.

    Of those that were run both ways, all runs go before quick ones.
    """
    found, missing = [], []
    for name in papers.names():
        published = papers.load(name)
        there = [quick for quick in (False, True) if reproduce.has(published, out, quick=quick)]
        if there:
            found.append(reproduce.read(published, out, quick=there[0]))
        else:
            missing.append(name)
    if not found:
        raise MptcplabError(f"mptcplab: {out}: no experiment was run; mptcplab papers run --help")
    for file in results.publish(found, directory, missing):
        click.echo(f"written: {file}")


def _flags(options: dict[str, Any]) -> Flags:
    names = Flags.__dataclass_fields__
    return Flags(**{name: value for name, value in options.items() if name in names})


def _request(file: Path | None, options: dict[str, Any], *, single: bool) -> Request:
    flags = _flags(options)
    if file is None:
        return scenario.from_flags(flags, single=single)
    return scenario.load_file(file, flags, single=single)


def _execute(request: Request, options: dict[str, Any], *, baseline: bool) -> None:
    """Run everything, store it, and show it; exit status 1 if a run failed."""
    runs = request.runs()
    if options["only_plan"]:
        for item in runs:
            click.echo(f"### {_title(item)}")
            click.echo(plan.render(item))
        return

    address: str | None = options.get("cluster")
    storage: str | None = options.get("storage")
    if storage is not None:
        archive.require(storage)
    lab_kernel, lab_guest = _builds(address)
    out: Path = options["out"]
    count = len(runs) + (len(experiment.baselines(request)) if baseline else 0)
    with (
        _workers(address) as workers,
        _interruptible() as cancel,
        _progress(count) as (progress, ended),
    ):
        document = experiment.compare(
            request,
            lab_kernel,
            lab_guest,
            out,
            baseline=baseline,
            jobs=options["jobs"],
            workers=workers,
            storage=storage,
            limits=Limits(wall_s=options["wall_limit"]),
            progress=progress,
            ended=ended,
            cancel=cancel,
        )
    pictures = [*chart.write_overview(document, out), *chart.write_chart(document, out)]
    _show(document, pictures, out, as_json=options["as_json"])
    entries = (*document["runs"], *document["baselines"])
    if any(entry["status"] != "ok" for entry in entries):
        sys.exit(MptcplabError.exit_status)


def _show(document: Document, pictures: list[Path], out: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=1))
        return
    console = Console()
    console.print(report.comparison_table(document))
    # rich would wrap a long path, and break it for those who want to copy it
    for picture in pictures:
        if picture.suffix == ".png":
            click.echo(f"picture:  {picture}")
    click.echo(f"document: {out / DOCUMENT}")
    if len(document["runs"]) == 1 and document["runs"][0]["directory"]:
        click.echo(f"run:      {out / document['runs'][0]['directory']}")


@contextmanager
def _outputs() -> Iterator[tuple[program.Outputs, threading.Event]]:
    """What shows the programs' output, and the event that ends them; if nobody reads, it does."""
    outputs = program.Outputs(sys.stdout.buffer, sys.stderr.buffer)
    with _interruptible() as cancel:
        outputs.on_broken = cancel.set
        try:
            yield outputs, cancel
        except RunCancelledError:
            if outputs.broken:
                raise BrokenPipeError from None
            raise


def _show_program(entry: Entry, request: Request, name: str, out: Path) -> int:
    """The figures of a program's run, on standard error; gives the exit status."""
    if entry["status"] != "ok":
        _say(f"mptcplab: the run failed: {entry['reason'].removeprefix('the run failed: ')}")
        return MptcplabError.exit_status
    if "no_figures" in entry:
        _say(f"no figures: {entry['no_figures']}")
    else:
        document = entries.document([entry], [], {}, request.base)
        Console(stderr=True).print(report.comparison_table(document))
    _say(f"run: {out / entry['directory']}")
    if entry["server_status"]:
        status = entry["server_status"]
        _say(f"mptcplab: the server's program ended with status {status} before the client's")
    if entry["client_status"]:
        _say(f"mptcplab: {name} ended with status {entry['client_status']}")
    return int(entry["client_status"])


def _builds(cluster: str | None = None) -> tuple[kernel.KernelBuild, guest.Guest]:
    """Kernel and guest program, built now if they are not there yet.

    Raises MachineError if the machine lacks what a run needs, unless a cluster makes the runs.
    """
    if cluster is None:
        doctor.require(*doctor.RUN_CHECKS)
    return kernel.build(), guest.build()


@contextmanager
def _workers(address: str | None) -> Iterator[Workers | None]:
    """The workers of a cluster, or None: those of this machine."""
    jobs = click.get_current_context().get_parameter_source("jobs")
    if address is not None and jobs is ParameterSource.COMMANDLINE:
        raise click.UsageError("--jobs is for this machine; with --cluster its threads count")
    with experiment.on_cluster(address, _say) as workers:
        yield workers


def _title(item: Scenario) -> str:
    what = item.scheduler.label
    if item.connections:
        what = what if item.choices() else f"{len(item.connections)} connections"
    elif item.transport == "tcp":
        what = f"tcp {item.paths[0].name}"
    cc = "" if item.cc == congestion.DEFAULT else f", {item.cc}"
    return f"{what}{cc}, seed {item.seed}"


def _say(text: str) -> None:
    click.echo(text, err=True)


@contextmanager
def _progress(total: int) -> Iterator[tuple[experiment.Progress, experiment.Ended]]:
    """A bar with the time left on a terminal, else a line per run; always on standard error."""
    console = Console(stderr=True)

    def line(count: int, item: Scenario, entry: Entry) -> None:
        if entry["status"] == "ok":
            text = report.headline(item.workload.kind, entry)
            _say(f"[{count}/{total}] {_title(item)}: {text}")
        else:
            _say(f"[{count}/{total}] {_title(item)}: failed: {entry['reason'].splitlines()[0]}")

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
                bar.console.print(f"{_title(item)}: failed: {reason}", markup=False)

        def moved(share: float) -> None:
            # before that, the time left would be a wild guess
            if share > _SHARE_THAT_TELLS:
                bar.update(task, completed=share)

        yield moved, ended


@contextmanager
def _reading(files: Sequence[Path]) -> Iterator[dissect.Progress]:
    """A bar on a terminal, of how much of some files was read."""
    console = Console(stderr=True)
    total = sum(file.stat().st_size for file in files if file.is_file())
    columns = (TextColumn("reading"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
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
        _say("mptcplab: interrupted; runs that had ended are kept")
        sys.exit(128 + received[0])
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def main() -> NoReturn:
    """The program: shows errors as what they say, without a traceback."""
    try:
        cli.main(standalone_mode=False)
        sys.exit(0)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _say("mptcplab: interrupted")
        sys.exit(128 + signal.SIGINT)
    except MptcplabError as error:
        _say(str(error))
        sys.exit(error.exit_status)
    except BrokenPipeError:
        # the reader of standard output has left, as `head` does
        sys.stderr.close()
        sys.exit(1)
