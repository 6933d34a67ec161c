# SPDX-License-Identifier: GPL-2.0-only
"""What happened in a run over time: the series of its picture, as numbers.

All series have the same grid of at most `MAX_BINS` bins from T0 on, however long the run was.
Counters become a rate or a count per bin; for momentary values, each bin has the mean, the lowest
and the highest sample, so that no peak is lost. A column's name has its unit.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from mptcplab import extras
from mptcplab.errors import MptcplabError
from mptcplab.metrics.recorded import queue_records, sample_times
from mptcplab.metrics.records import Records, Samples, path_indices, select
from mptcplab.plan import timeline
from mptcplab.scenario.limits import DIRECTIONS, Direction
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.scheduler import DEFAULT
from mptcplab.traces import trace_file, trace_steps
from mptcplab.traces.link_trace import SINR, Source, TraceError
from mptcplab.units import NS_PER_S

if TYPE_CHECKING:
    import polars as pl

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_BINS = 400  # on a page, more would be narrower than a few pixels
_MIN_BINS = 100
# If the run is long enough: a shorter bin shows packets and round trips, not goodput.
_SHORTEST_BIN_NS = 100_000_000
_BITS_PER_BYTE = 8
_KIB = 1024.0


@dataclass(frozen=True)
class Series:
    """A value for each bin, or NaN. The unit ends the name of the metric.

    `path` is the name of the path it belongs to, None for the connection; `what` distinguishes it
    where a panel shows several figures. `low` and `high` are the lowest and highest sample in the
    bin.
    """

    metric: str
    path: str | None
    values: Floats
    low: Floats | None = None
    high: Floats | None = None
    what: str = ""


@dataclass(frozen=True)
class Panel:
    """Series that are shown together: their values / `scale`, in `unit`.

    `kind` is lines, or counts, which are mostly 0. `side` is the direction of the data, "" if the
    run has only one.
    """

    title: str
    unit: str
    series: tuple[Series, ...]
    scale: float = 1.0
    kind: Literal["lines", "counts"] = "lines"
    side: str = ""


@dataclass(frozen=True)
class RunSeries:
    """The panels of a run, and the ends of their bins, in ns since T0: int64[bins + 1]."""

    edges_ns: Integers
    panels: tuple[Panel, ...]


def run_series(
    scenario: Scenario,
    client: Samples,
    server: Samples,
    traces: Mapping[tuple[str, str], Source] | None = None,
    *,
    of_sockets: bool = False,
) -> RunSeries:
    """All series of a run; `traces` were played, by name of the path and direction.

    With `of_sockets`, only series that sockets.py knows.

    Raises MptcplabError for records without a sample or of a path that is not in the scenario, and
    for a trace that cannot be read.
    """
    for name, samples in (("client", client), ("server", server)):
        if not len(samples.connection):
            raise MptcplabError(f"the records of the {name} have no sample")
    begin = _begin_ns(client, server)
    end = max(int(each.connection["time_ns"][-1]) for each in (client, server))
    edges = _edges(end - begin, scenario.host_interval_ns)
    asked = scenario.workload.direction
    directions = DIRECTIONS if asked == "both" else (asked,)
    panels: list[Panel] = []
    for direction in directions:
        sender, receiver = (client, server) if direction == "up" else (server, client)
        grid = _Grid(tuple(path.name for path in scenario.paths), begin, edges)
        rates = timeline.rates(scenario, direction)
        played = {path: source for (path, d), source in (traces or {}).items() if d == direction}
        found = (
            _goodput(grid, receiver, rates, shared=bool(scenario.links)),
            *_sinr(grid, played, scenario.sample_interval_ns),
            _round_trips(grid, sender),
            _windows(grid, sender),
            *([] if of_sockets else [_out_of_order(grid, receiver)]),
            _buffers(grid, sender, receiver, of_sockets=of_sockets),
            _sent_again(grid, sender, of_sockets=of_sockets),
        )
        panels += [replace(panel, side=direction if asked == "both" else "") for panel in found]
    return RunSeries(edges, tuple(panels))


def shared_series(
    scenario: Scenario, samples: Mapping[str, Samples], queues: Records | None
) -> RunSeries:
    """All series of a run with several connections; `samples` are by host.

    There is the goodput of each connection, round trips and windows of each path in the direction
    of its data, and queues of each direction of each link, but for samples of sockets, whose runs
    have no records of links. Raises MptcplabError as `run_series`.
    """
    times = sample_times(samples.values(), queues)
    begin, end = int(times[0]), int(times[-1])
    edges = _edges(end - begin, scenario.host_interval_ns)
    carried: list[Series] = []
    of_paths: list[Panel] = []
    for pair in scenario.pairs():
        names = tuple(path.name for path in pair.paths)
        grid = _Grid(names, begin, edges, pair.first)
        up = pair.connection.workload.direction != "down"
        hosts = (pair.client, pair.server) if up else (pair.server, pair.client)
        sender, receiver = (samples[host] for host in hosts)
        bps = grid.rate(receiver.connection, "delivered_bytes")
        carried.append(Series("goodput_bps", pair.connection.name, bps, what="goodput"))
        sent_again = _sent_again(grid, sender, of_sockets=queues is None)
        of_paths += [_round_trips(grid, sender), _windows(grid, sender), sent_again]
    grid = _Grid((), begin, edges)
    waiting = []
    for direction in DIRECTIONS:
        rates = timeline.link_rates(scenario, direction)
        for link in scenario.links:
            if direction == "up":
                rate = _mean_rates(rates[link.name], edges)
                carried.append(Series("link_bps", link.name, rate, what="link"))
            if queues is None:
                continue
            records = queue_records(scenario, queues, link.name, direction)
            metric = "queue_packets" if direction == "up" else "queue_down_packets"
            what = f"queue {direction}"
            waiting.append(grid.sampled(records, "queue_packets", metric, link.name, what=what))
    panels = [Panel("Goodput", "Mbit/s", tuple(carried), scale=1e6)]
    if waiting:
        panels.append(Panel("Queues of links", "packets", tuple(waiting)))
    for first in of_paths[:3]:
        every = (series for each in of_paths if each.title == first.title for series in each.series)
        # reinjections are in the figures of the connection
        series = tuple(each for each in every if each.path is not None)
        panels.append(replace(first, series=series))
    return RunSeries(edges, tuple(panels))


def goodput(
    scenario: Scenario,
    samples: Mapping[str, Samples],
    span_ns: tuple[int, int],
    bin_ns: int,
    direction: Direction = "up",
) -> dict[str | None, Floats]:
    """The goodput in each bin, in bit/s: of each path, or connection if there are several; None has
    what all connections got in order. `samples` are by host. Bins begin with the span; one that
    would end after it is left out. Of data both ways, it is the goodput in `direction`.

    Raises MptcplabError for records of a path that is not in the scenario.
    """
    begin_ns, end_ns = span_ns
    edges_ns = np.arange(0, end_ns - begin_ns + 1, bin_ns, dtype=np.int64)
    total = np.zeros(len(edges_ns) - 1)
    found: dict[str | None, Floats] = {None: total}
    for pair in scenario.pairs():
        grid = _Grid(tuple(path.name for path in pair.paths), begin_ns, edges_ns, pair.first)
        asked = pair.connection.workload.direction
        down = (direction if asked == "both" else asked) == "down"
        receiver = samples[pair.client if down else pair.server]
        in_order = grid.rate(receiver.connection, "delivered_bytes")
        total += in_order
        if scenario.connections:
            found[pair.connection.name] = in_order
        else:
            for path, records in grid.by_path(receiver):
                found[path] = grid.rate(records, "received_bytes")
    return found


def decision_panels(
    scenario: Scenario,
    client: Samples,
    server: Samples,
    edges_ns: Integers,
    begin_ns: int | None = None,
) -> list[Panel]:
    """The decisions of the scheduler in each bin of a run, a panel for each direction of the data.

    The bins begin at `begin_ns`, by default at the first sample. Nothing for upstream's scheduler,
    which does not pick segment by segment, and for plain TCP.
    """
    if scenario.transport != "mptcp" or scenario.scheduler.name == DEFAULT:
        return []
    direction = scenario.workload.direction
    if begin_ns is None:
        begin_ns = _begin_ns(client, server)
    names = tuple(path.name for path in scenario.paths)
    grid = _Grid(names, begin_ns, edges_ns, scenario.first_path)
    panels = []
    for side, sender in (("up", client), ("down", server)):
        if direction not in (side, "both"):
            continue
        found = [
            Series(f"{counter}_segments", path, grid.counted(records, field), what=counter)
            for path, records in grid.by_path(sender)
            for field, counter in (
                *(("new_segments", "new"), ("duplicates", "duplicate")),
                ("reinjections", "reinjection"),
            )
        ]
        waits = grid.counted(sender.connection, "waits")
        found.append(Series("waits", None, waits, what="wait"))
        kept = tuple(each for each in found if each.values.any())
        label = side if direction == "both" else ""
        panels.append(Panel("Decisions", "in each bin", kept, side=label))
    return panels


def _begin_ns(client: Samples, server: Samples) -> int:
    return min(int(each.connection["time_ns"][0]) for each in (client, server))


def csv_text(run: RunSeries) -> str:
    """A row for each bin: when it begins and ends, in s, and the columns of all series.

    A column is called METRIC, of the connection, or METRIC.PATH, preceded by up. or down. if data
    went in both directions. A momentary value has its mean there, and the lowest and highest sample
    as METRIC_min and METRIC_max. Where there is no value the cell is empty.
    """
    seconds = [f"{edge / NS_PER_S:.9g}" for edge in run.edges_ns.tolist()]
    columns: dict[str, Sequence[str]] = {"begin_s": seconds[:-1], "end_s": seconds[1:]}
    for panel in run.panels:
        for series in panel.series:
            for end, values in (("", series.values), ("_min", series.low), ("_max", series.high)):
                name = (panel.side, series.metric + end, series.path)
                if values is not None:
                    cells = ["" if v != v else f"{v:.9g}" for v in values.tolist()]
                    columns[".".join(filter(None, name))] = cells
    rows = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    return "\n".join(rows) + "\n"


#: The columns of the file that keeps series: a row for each bin of each series.
COLUMNS = (
    *("panel", "unit", "scale", "kind", "side", "metric", "path", "what"),
    *("begin_ns", "end_ns", "value", "low", "high"),
)
_ABOUT = 8


def write(run: RunSeries, file: Path) -> None:
    """Write the table of `to_table` as Parquet. Raises OSError."""
    file.write_bytes(parquet(to_table(run)))


def parquet(table: pl.DataFrame) -> bytes:
    """The content of a file with the table: on a full disk Polars would raise errors of its own."""
    content = io.BytesIO()
    table.write_parquet(content, compression="zstd")
    return content.getvalue()


def to_table(run: RunSeries) -> pl.DataFrame:
    """Series as a table with COLUMNS; the first ones identify the row.

    Values are in the unit that ends the metric's name, as floats of 32 bits; null where there is
    none. `scale` and `unit` are what a panel shows them in.
    """
    extras.require("results", "a table of series", "polars")
    import polars as pl  # not needed by most commands

    each = [(panel, series) for panel in run.panels for series in panel.series]
    bins = len(run.edges_ns) - 1
    texts = [
        (p.title, p.unit, p.scale, p.kind, p.side, series.metric, series.path, series.what)
        for p, series in each
    ]
    types = {name: pl.Float64 if name == "scale" else pl.String for name in COLUMNS[:_ABOUT]}
    about = pl.DataFrame(texts, schema=types, orient="row")
    none = np.full(bins, np.nan)

    def joined(values: list[Floats | None]) -> Floats:
        return np.concatenate([none if each is None else each for each in values])

    numbers = pl.DataFrame(
        {
            "begin_ns": np.tile(run.edges_ns[:-1], len(each)),
            "end_ns": np.tile(run.edges_ns[1:], len(each)),
            "value": joined([series.values for _, series in each]),
            "low": joined([series.low for _, series in each]),
            "high": joined([series.high for _, series in each]),
        }
    ).with_columns(pl.col("value", "low", "high").fill_nan(None).cast(pl.Float32))
    return about[np.repeat(np.arange(len(each)), bins)].hstack(numbers)


def read(file: Path) -> RunSeries:
    """Series as `write` wrote them. Raises MptcplabError, naming the file, if they cannot be."""
    table = read_parquet(file)
    import polars as pl

    try:
        about = COLUMNS[:_ABOUT]
        panels: dict[tuple[Any, ...], list[Series]] = {}
        edges = np.zeros(1, np.int64)
        for key, rows in table.group_by(*about, maintain_order=True):
            *panel, metric, path, what = key
            values, low, high = (
                rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
                for name in ("value", "low", "high")
            )
            if np.isnan(low).all():
                found = Series(str(metric), path, values, what=what)
            else:
                found = Series(str(metric), path, values, low, high, what)
            panels.setdefault(tuple(panel), []).append(found)
            edges = np.append(rows["begin_ns"].to_numpy(), rows["end_ns"].to_numpy()[-1])
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise MptcplabError(f"{file}: not the series of a run: {reason}") from None
    return RunSeries(
        edges,
        tuple(
            Panel(title, unit, tuple(found), scale, kind, side)
            for (title, unit, scale, kind, side), found in panels.items()
        ),
    )


def read_parquet(file: Path) -> pl.DataFrame:
    """The table in a Parquet file.

    Raises MptcplabError, naming the file, if it is missing, MachineError if Polars is missing.
    """
    extras.require("results", f"{file}: reading it", "polars")
    import polars as pl

    try:
        # read at once: Polars opens a file twice, and takes some names for patterns
        return pl.read_parquet(file.read_bytes())
    except OSError as error:
        raise MptcplabError(f"{file}: cannot be read: {error.strerror}") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise MptcplabError(f"{file}: not Parquet: {reason}") from None


# The panels


@dataclass(frozen=True)
class _Grid:
    """The bins, and the names of the paths."""

    paths: tuple[str, ...]
    begin_ns: int
    edges_ns: Integers
    first: int = 1  # the number of the first path

    def counted(self, records: Records, counter: str) -> Floats:
        """Growth of a counter in each bin, over all connections and subflows in the records.

        Counters are interpolated where a bin does not end at a sample.
        """
        total = np.zeros(len(self.edges_ns) - 1)
        for part in _each(records):
            # Differences to T0 first: below 2^53 they are exact as floats.
            at = self._since(part)
            values = part[counter].astype(np.float64)
            total += np.diff(np.interp(self.edges_ns, at, values, left=0.0))
        return total

    def rate(self, records: Records, counter: str) -> Floats:
        """The same of a counter of bytes, in bit/s."""
        seconds = np.diff(self.edges_ns) / NS_PER_S
        return self.counted(records, counter) * _BITS_PER_BYTE / seconds

    def sampled(
        self,
        records: Records,
        field: str,
        metric: str,
        path: str | None = None,
        *,
        what: str = "",
        mean: bool = False,
        scale: float = 1.0,
    ) -> Series:
        """A momentary value; of records sampled at the same time the sum, or else the mean."""
        times, inverse = np.unique(self._since(records), return_inverse=True)
        weights = records[field] / scale
        values: Floats = np.bincount(inverse, weights, len(times)).astype(np.float64)
        if mean:
            values = values / np.bincount(inverse, minlength=len(times))
        return self.binned(times, values, metric, path, what)

    def binned(
        self, times_ns: Integers, values: Floats, metric: str, path: str | None, what: str = ""
    ) -> Series:
        """Mean, lowest and highest value in each bin; times rise. The last bin includes its end."""
        bins = len(self.edges_ns) - 1
        index = np.clip(np.searchsorted(self.edges_ns, times_ns, side="right") - 1, 0, bins - 1)
        mean, low, high = (np.full(bins, np.nan) for _ in range(3))
        if len(values):
            starts = np.flatnonzero(np.diff(index, prepend=-1))
            used = index[starts]
            mean[used] = np.add.reduceat(values, starts) / np.diff([*starts, len(values)])
            low[used] = np.minimum.reduceat(values, starts)
            high[used] = np.maximum.reduceat(values, starts)
        return Series(metric, path, mean, low, high, what)

    def by_path(self, samples: Samples) -> Iterator[tuple[str, Records]]:
        """The records of each path's subflows, with its name."""
        indices = path_indices(samples.subflow, self.first)
        if np.any((indices < 0) | (indices >= len(self.paths))):
            raise MptcplabError("the records have a subflow that is on no path of the scenario")
        for number, name in enumerate(self.paths):
            yield name, select(samples.subflow, indices == number)

    def _since(self, records: Records) -> Integers:
        since: Integers = records["time_ns"].astype(np.int64) - self.begin_ns
        return since


def _goodput(
    grid: _Grid, receiver: Samples, rates: Mapping[str, Sequence[tuple[int, int]]], *, shared: bool
) -> Panel:
    """The paths together can carry the sum of their rates, unless they share a link."""
    in_order = grid.rate(receiver.connection, "delivered_bytes")
    found = [Series("goodput_bps", None, in_order, what="goodput")]
    for path, records in grid.by_path(receiver):
        bps = grid.rate(records, "received_bytes")
        found.append(Series("goodput_bps", path, bps, what="goodput"))
    capacities = {path: _mean_rates(each, grid.edges_ns) for path, each in rates.items()}
    for path, bps in capacities.items():
        found.append(Series("link_bps", path, bps, what="link"))
    if len(capacities) > 1 and not shared:
        total = np.sum(list(capacities.values()), axis=0)
        found.insert(1, Series("link_bps", None, total, what="link"))
    return Panel("Goodput", "Mbit/s", tuple(found), scale=1e6)


def _sinr(grid: _Grid, traces: Mapping[str, Source], interval_ns: int) -> Iterator[Panel]:
    times = np.arange(0, max(int(grid.edges_ns[-1]), 1), interval_ns, dtype=np.int64)
    found = []
    for path in grid.paths:
        if path not in traces:
            continue
        source = traces[path]
        try:
            read = trace_file.read(
                source.file,
                columns=source.columns,
                interval_ns=source.interval_ns,
                skip_empty=source.skip_empty,
                sinr=True,
            )
        except TraceError as error:
            raise MptcplabError(f"{source.file}: {error}") from None
        if read.sinr_db is not None:
            steps = trace_steps.at(read, times, offset_ns=source.offset_ns, repeat=source.repeat)
            found.append(grid.binned(times, read.sinr_db[steps], SINR, path))
    if found:
        yield Panel("Signal to noise and interference (SINR)", "dB", tuple(found))


def _round_trips(grid: _Grid, sender: Samples) -> Panel:
    # it is 0 before the first measurement
    found = []
    for path, records in grid.by_path(sender):
        known = select(records, records["srtt_us"] > 0)
        found.append(grid.sampled(known, "srtt_us", "srtt_ms", path, mean=True, scale=1000))
    return Panel("Round-trip time, smoothed", "ms", tuple(found))


def _windows(grid: _Grid, sender: Samples) -> Panel:
    found = []
    for path, records in grid.by_path(sender):
        for field, what in (("cwnd", "window"), ("in_flight", "in flight")):
            found.append(grid.sampled(records, field, f"{field}_packets", path, what=what))
    return Panel("Congestion window, and in flight", "packets", tuple(found))


def _out_of_order(grid: _Grid, receiver: Samples) -> Panel:
    found = [grid.sampled(receiver.connection, "ofo_bytes", "ofo_bytes")]
    for path, records in grid.by_path(receiver):
        found.append(grid.sampled(records, "ofo_bytes", "ofo_bytes", path))
    title = "Out-of-order queues of the connection and of subflows"
    return Panel(title, "KiB", tuple(found), scale=_KIB)


def _buffers(grid: _Grid, sender: Samples, receiver: Samples, *, of_sockets: bool) -> Panel:
    wanted = [
        (sender, "sndbuf_used", "send_buffer_used", "send buffer"),
        (sender, "sndbuf", "send_buffer_limit", "its limit"),
        (receiver, "rcvbuf_used", "receive_buffer_used", "receive buffer"),
        (receiver, "rcvbuf", "receive_buffer_limit", "its limit"),
    ]
    if not of_sockets:
        wanted.append((sender, "window_bytes", "send_window_left", "send window left"))
    found = [
        grid.sampled(side.connection, field, f"{metric}_bytes", what=what)
        for side, field, metric, what in wanted
    ]
    title = "Buffers" if of_sockets else "Buffers, send window"
    return Panel(title, "KiB", tuple(found), scale=_KIB)


def _sent_again(grid: _Grid, sender: Samples, *, of_sockets: bool = False) -> Panel:
    found = [
        Series("retransmitted_packets", path, grid.counted(records, "retransmitted_packets"))
        for path, records in grid.by_path(sender)
    ]
    reinjected = grid.counted(sender.connection, "reinjected_bytes")
    # not all sockets count it
    if not of_sockets or sender.connection["reinjected_bytes"].any():
        found.append(Series("reinjected_bytes", None, reinjected, what="reinjected"))
    return Panel("Retransmissions", "packets", tuple(found), kind="counts")


def _edges(span_ns: int, sample_interval_ns: int) -> Integers:
    """The ends of bins, each some whole sample intervals long; the last may be up to half longer.

    An empty span has one bin of a sample interval.
    """
    wanted = max(span_ns // MAX_BINS, min(_SHORTEST_BIN_NS, span_ns // _MIN_BINS))
    bin_ns = max(1, -(-wanted // sample_interval_ns)) * sample_interval_ns
    edges = np.arange(0, span_ns, bin_ns, dtype=np.int64)
    if len(edges) > 1 and span_ns - edges[-1] < bin_ns / 2:
        edges = edges[:-1]
    return (
        np.append(edges, max(span_ns, sample_interval_ns)) if len(edges) else np.array([0, bin_ns])
    )


def _mean_rates(rates: Sequence[tuple[int, int]], edges_ns: Integers) -> Floats:
    """The mean of a rate in each bin; `rates` has (time in ns, rate from then on)."""
    times = np.array([at_ns for at_ns, _ in rates] + [max(edges_ns[-1], rates[-1][0]) + 1.0])
    values = np.array([rate_bps for _, rate_bps in rates], dtype=np.float64)
    carried = np.concatenate(([0.0], np.cumsum(values * np.diff(times))))
    means: Floats = np.diff(np.interp(edges_ns, times, carried)) / np.diff(edges_ns)
    return means


def _each(records: Records) -> Iterator[Records]:
    """The records of each connection, or of each subflow of each connection."""
    numbers = records["connection"].astype(np.int64) << 8
    if "cwnd" in (records.dtype.names or ()):
        numbers |= records["n"]
    for number in np.unique(numbers):
        yield select(records, numbers == number)
