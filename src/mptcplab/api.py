# SPDX-License-Identifier: GPL-2.0-only
"""What `import mptcplab` offers: everything the command line does, for programs and notebooks.

See docs/python.md. Errors are in `mptcplab.errors`: MptcplabError, and for bad input
InputError, which lists every mistake. Ctrl-C ends the running runs and keeps the finished ones.
"""

from __future__ import annotations

import html
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from mptcplab import extras
from mptcplab.errors import InputError, MptcplabError, Problem, RunError
from mptcplab.lab import choices, guest
from mptcplab.lab.choices import Limits
from mptcplab.metrics import series
from mptcplab.mistakes import suggestion
from mptcplab.report import explain, figure_files, tables
from mptcplab.report.figure_files import Figure
from mptcplab.runs import archive, documents, experiment, index, single, store, sweep, tls
from mptcplab.runs.entries import Document, Entry, ended_well
from mptcplab.runs.runner import QUIET, Runner, Show, calling
from mptcplab.runs.sweep import How
from mptcplab.scenario import congestion, resolve, scheduler
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import Direction
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Comparison",
    "Figure",
    "InputError",
    "MptcplabError",
    "Request",
    "Run",
    "RunError",
    "Scenario",
    "Swept",
    "cluster_settings",
    "compare",
    "congestion_controls",
    "figure",
    "open_run",
    "query",
    "read_runs",
    "request",
    "run",
    "run_sweep",
    "schedulers",
    "write_report",
]

FilePath = str | PathLike[str]

_OUT = "mptcplab-out"
_WIDTH = 200


@dataclass(frozen=True)
class Run:
    """A stored run: its directory, its scenario, and its entry in documents."""

    directory: Path
    scenario: Scenario
    entry: Entry

    @property
    def metrics(self) -> dict[str, float | int | None]:
        """Its figures, docs/metrics.md."""
        return dict(self.entry.metrics)

    def paths(self) -> pl.DataFrame:
        """The figures of its paths, one row per path."""
        return _table(list(map(dict, self.entry.paths)))

    def series(self) -> pl.DataFrame:
        """What happened over time, one row per bin of each series: `series.COLUMNS`."""
        return series.to_table(store.read_series(self.directory))

    def explain(
        self, connection: str | None = None, direction: Direction = "up"
    ) -> explain.Explanation:
        """Why it did not reach the sum of its paths; `.text()` is for reading.

        Of several connections, name one; raises InputError if none of that name is there. Of data
        both ways, `direction` is explained.
        """
        found = {
            each.connection: each
            for each in explain.explain(self.directory)
            if each.direction in (None, direction)
        }
        if connection not in found:
            names = ", ".join(str(name) for name in found)
            accepted = "the run has one, without a name" if None in found else f"one of {names}"
            raise InputError([Problem("explain", "connection", str(connection), accepted)])
        return found[connection]

    def draw(self, file: FilePath, formats: Sequence[str] = ("png",)) -> list[Path]:
        """Draw the picture of `mptcplab show`, as FILE.png and so on; returns the files.

        A FILE that ends in .png, .svg or .pdf is the picture, and `formats` has no effect.
        """
        from mptcplab.report import palette, run_chart

        target = Path(file)
        if one := palette.format_of(target):
            target, formats = target.with_suffix(""), (one,)
        store.make_directory(target.parent)
        drawn = store.read_series(self.directory)
        return run_chart.write(self.scenario, drawn, target, tuple(formats))

    def _repr_png_(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="mptcplab-") as place:
            return self.draw(Path(place) / "run.png")[0].read_bytes()


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison, and its directory."""

    result: Document
    out: Path

    @property
    def document(self) -> dict[str, Any]:
        """The result as `compare --json` prints it."""
        return self.result.model_dump(mode="json")

    def table(self) -> pl.DataFrame:
        """Its runs and baselines, one row each, with the columns of docs/results-store.md."""
        own = read_runs(self.out).drop("aggregation_benefit")
        import polars as pl

        benefits = pl.DataFrame(
            [
                (Path(each.directory).name, each.metrics.aggregation_benefit)
                for each in (*self.result.runs, *self.result.baselines)
                if each.directory
            ],
            {"key": pl.String, "aggregation_benefit": pl.Float64},
            orient="row",
        )
        return own.join(benefits, on="key", how="inner", maintain_order="right")

    def runs(self) -> list[Run]:
        """Its successful runs, in the order of the document."""
        return [open_run(self.out / str(each.directory)) for each in ended_well(self.result.runs)]

    def __str__(self) -> str:
        """The table of the command line."""
        from rich.console import Console

        shown = io.StringIO()
        Console(file=shown, width=_WIDTH).print(tables.comparison_table(self.result))
        return shown.getvalue()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True)
class Swept:
    """The result of a sweep: how many runs were stored, made and failed, and their directory."""

    outcome: sweep.SweepOutcome
    keys: tuple[str, ...]
    out: Path

    def table(self) -> pl.DataFrame:
        """Its runs, one row each, with what was varied; docs/results-store.md."""
        runs = read_runs(self.out)
        return runs.filter(runs["key"].is_in(self.keys))

    def figure(self, metric: str = "", over: str = "", **look: Any) -> Figure:
        """One metric over an axis of the sweep; see `figure`."""
        return figure([self.out / store.SWEEP], metric, over, **look)

    def _repr_png_(self) -> bytes:
        return self.figure().picture()


def request(source: FilePath | Mapping[str, Any] | None = None, **flags: Any) -> Request:
    """A request for runs: a scenario file, a table like the one in a file, or nothing; plus flags.

    Flags have the names of the command line: path, link, event and connection are lists of
    strings, scheduler, cc and kernel strings or lists, all others strings or numbers.

    >>> request(path=["wifi:50mbit,10ms", "lte:20mbit,40ms"], scheduler=["default", "minrtt"])

    Raises InputError with every mistake, and TypeError for an unknown flag.
    """
    if "trace" in flags:
        raise TypeError("trace is decisions now")
    known = [field.name for field in fields(Flags)]
    for name in flags:
        if name not in known:
            hint = suggestion(name, known) or f"; accepted: {', '.join(known)}"
            raise TypeError(f"unknown flag {name}{hint}")
    given = Flags(**{name: _as_flag(name, value) for name, value in flags.items()})
    if isinstance(source, Mapping):
        if flags:
            raise TypeError("a table takes no flags; put their values into the table")
        return resolve.from_table(source, "the scenario", folder=Path())
    if source is None:
        return resolve.from_flags(given)
    return resolve.load_file(Path(source), given)


class Options(TypedDict, total=False):
    """Options of `compare` and `run_sweep`, named as on the command line.

    `out` is the directory of the runs (mptcplab-out), `jobs` how many are made at a time (None: one
    per CPU). A run is ended after `wall_limit` seconds, or when it has written more than
    `disk_limit` bytes. `kernel_like`, `cluster`, `cluster_key` and `storage` are as --kernel-like
    and so on; docs/cluster.md.
    """

    out: FilePath
    jobs: int | None
    cluster: str | None
    cluster_key: FilePath | None
    storage: str | None
    kernel_like: str
    wall_limit: float
    disk_limit: int


def _limits(options: Options) -> Limits:
    """Their limits. Raises TypeError for an unknown option, InputError for unusable storage."""
    if unknown := options.keys() - Options.__annotations__.keys():
        raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
    if (storage := options.get("storage")) is not None:
        archive.require(storage)
    wall_s = options.get("wall_limit", Limits.wall_s)
    return Limits(wall_s, options.get("disk_limit", Limits.disk_bytes))


def _kernel_choice(options: Options) -> tuple[str, str | None]:
    return options.get("kernel_like", choices.DEFAULT_FLAVOUR), options.get("cluster")


@contextmanager
def _runner(options: Options, show: Show = QUIET, *, keep_records: bool = True) -> Iterator[Runner]:
    key = options.get("cluster_key")
    place = None if key is None else fspath(key)
    with experiment.on_cluster(options.get("cluster"), _say, place) as workers:
        out, jobs = Path(options.get("out", _OUT)), options.get("jobs") or len(single.cpus())
        yield Runner(out, jobs, workers, keep_records, options.get("storage"), show)


def run(
    wanted: Request,
    *,
    out: FilePath = _OUT,
    progress: Callable[[float], None] = lambda _share: None,
    kernel_like: str = choices.DEFAULT_FLAVOUR,
    wall_limit: float = Limits.wall_s,
    disk_limit: int = Limits.disk_bytes,
) -> Run:
    """Run a scenario with its one scheduler and seed. Raises RunError if it fails.

    `progress` is called with the fraction done, from 0 to 1. The run is ended after `wall_limit`
    seconds, or when it has written more than `disk_limit` bytes. `kernel_like` is --kernel-like.
    """
    scenarios = wanted.runs()
    count = len(scenarios) * max(len(wanted.kernels), 1)
    if count != 1:
        raise MptcplabError(f"{count} runs; compare() makes several")
    limits = Limits(wall_s=wall_limit, disk_bytes=disk_limit)
    (rig,) = experiment.rigs(wanted, limits, kernel_like)
    runner = Runner(Path(out), show=calling(progress))
    (entry,) = runner.run(scenarios, rig)
    if entry.status != "ok":
        raise RunError(str(entry.reason).removeprefix("the run failed: "))
    return Run(runner.out / str(entry.directory), scenarios[0], entry)


def compare(
    wanted: Request,
    *,
    baseline: bool = True,
    progress: Callable[[float], None] = lambda _share: None,
    **options: Unpack[Options],
) -> Comparison:
    """Compare the schedulers, congestion controls and seeds of a request, as `mptcplab compare`.

    The default is eight seeds. A failed run is in the document, with its reason. `options` are out,
    jobs, cluster, cluster_key, storage, kernel_like, wall_limit and disk_limit: see `Options`.
    """
    rigs = experiment.rigs(wanted, _limits(options), *_kernel_choice(options))
    with _runner(options, calling(progress)) as runner:
        result = experiment.compare(wanted.compared(), rigs, runner, baseline=baseline)
    return Comparison(result, runner.out)


def run_sweep(
    source: FilePath | Mapping[str, Any],
    *,
    keep_records: bool = False,
    again: bool = False,
    retry_failed: bool = False,
    fail_fast: bool = False,
    show: Callable[[sweep.Standing], None] = lambda _standing: None,
    **options: Unpack[Options],
) -> Swept:
    """Make the missing runs of a sweep: a file, or a table like the one in a file; docs/sweep.md.

    `again` is --no-cache; `show` is called with the progress, several times a second. `options` are
    out, jobs, cluster, cluster_key, storage, kernel_like, wall_limit and disk_limit: see `Options`.
    """
    limits, (kernel_like, cluster) = _limits(options), _kernel_choice(options)
    if isinstance(source, Mapping):
        found = sweep.from_table(source, "the sweep", Path())
    else:
        found = sweep.load(Path(source))
    by_name = cache(partial(experiment.kernel_by_name, kernel_like=kernel_like, cluster=cluster))
    planned = sweep.plan(found, scheduler.known(), guest.build(), by_name)
    how = How(again, retry_failed, fail_fast, limits)
    with _runner(options, keep_records=keep_records) as runner:
        outcome = sweep.run(planned, runner, how, show)
    return Swept(outcome, tuple(planned.runs), runner.out)


def read_runs(out: FilePath = _OUT) -> pl.DataFrame:
    """All runs of an output directory, one row each; docs/results-store.md."""
    return index.read(Path(out))


def query(sql: str, out: FilePath = _OUT) -> pl.DataFrame:
    """The answer to a query of the tables `runs` and `series`, as `mptcplab results query`."""
    answer = index.query(Path(out), sql)
    import polars as pl

    return pl.DataFrame(
        answer.rows, schema=list(answer.columns), orient="row", infer_schema_length=None
    )


def open_run(directory: FilePath) -> Run:
    """A stored run, by its directory, OUT/runs/KEY."""
    place = Path(directory)
    return Run(place, store.read_scenario(place), documents.read_entry(place / store.RESULT))


def write_report(places: Sequence[FilePath] = (_OUT,), file: FilePath = "report.html") -> Path:
    """Write the page of `mptcplab report` on some runs; returns the file."""
    from mptcplab.report import charts, html_page, palette
    from mptcplab.runs.collection import collect

    found = collect([Path(place) for place in places])
    looks = palette.styles(found.schedulers(), found.outputs)
    with documents.contradictions_reported(", ".join(map(str, places))):
        page = html_page.render(found, looks, *charts.of_collection(found))
    target = Path(file)
    store.make_directory(target.parent)
    store.write(target, page.encode())
    return target


def figure(
    places: Sequence[FilePath] = (_OUT,),
    metric: str = "",
    over: str = "",
    *,
    width: str = figure_files.WIDTH,
    height: str | None = None,
    title: str = "",
) -> Figure:
    """The figure of `mptcplab figure` of some runs, which notebooks show; docs/figure.md.

    `save("fig.pdf", "fig.csv", "fig.py")` writes it. Raises InputError.
    """
    found = [Path(place) for place in places]
    return figure_files.figure(found, metric, over, size=(width, height), title=title)


def schedulers() -> pl.DataFrame:
    """The available schedulers: name, what each does, and its parameters as JSON."""
    return _table(
        [
            {
                "name": each.name,
                "description": each.description,
                "parameters": json.dumps([str(parameter.name) for parameter in each.parameters]),
            }
            for each in scheduler.known().values()
        ]
    )


def congestion_controls() -> pl.DataFrame:
    """The available congestion controls, and what each does."""
    known = congestion.known().values()
    return _table([{"name": each.name, "description": each.description} for each in known])


def cluster_settings(key: FilePath) -> dict[str, Any]:
    """Settings for `dask.config.set` that make a cluster refuse anybody without the key.

    They also keep Dask from watching itself, which costs CPU time and memory. `key` is the key's
    file, which is made if missing; docs/cluster.md.
    """
    file = Path(key)
    if not file.exists():
        tls.make(file)
    return tls.settings(file) | tls.LEAN


def _table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    extras.require("results", "a table in Python", "polars")
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _as_flag(name: str, value: Any) -> Any:
    """A value in the form of a flag: schedulers with commas, numbers as strings, lists as such."""
    if name == "vary" and isinstance(value, str):
        return [value]
    if name in ("scheduler", "cc", "kernel") and not isinstance(value, str):
        return ",".join(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
