# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of a run: one schema, from which everything that is shown takes names and units.

Sums are taken over integers, with one division at the end, so that a metric is the same to the
last bit on every machine. `python -m mptcplab.metrics` prints docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mptcplab import scheduler, timeline
from mptcplab.application import APPLICATION_METRICS
from mptcplab.errors import RunError
from mptcplab.records import Records, Samples, path_indices, select
from mptcplab.scenario import Scenario
from mptcplab.schema import Metric, Value
from mptcplab.units import format_time

_NS_PER_S = 1_000_000_000
_BITS_PER_BYTE = 8


METRICS = (
    Metric(
        "goodput_bps",
        "run",
        "bit/s",
        "Application bytes per second that arrived in order at the receiver. Headers, "
        "retransmissions and duplicates do not count.",
        "duration: 8 x (delivered_bytes at t1 - delivered_bytes at t0) / (t1 - t0); "
        "size: 8 x size / (complete_ns - start_ns)",
        "connection at the receiver; guest.json",
    ),
    Metric(
        "aggregation_benefit",
        "run",
        "",
        "What the further paths brought: 1 is the sum of the paths, 0 is as good as the best path "
        "alone, -1 is nothing at all. Missing unless plain TCP was measured over each path alone "
        "with the same seed, and with a single path. MPTCP's headers are longer than TCP's, so "
        "that full use of all paths stays a little below 1.",
        "with g the goodput, C_i the goodput of plain TCP over path i alone, C_max the highest "
        "C_i: (g - C_max) / (sum C_i - C_max) if g >= C_max, else (g - C_max) / C_max "
        "(Kaspar 2012; Paasch et al. 2013)",
        "goodput_bps of the run and of its baselines",
    ),
    Metric(
        "ofo_bytes_mean",
        "run",
        "bytes",
        "Mean over time of the out-of-order queue of the connection: bytes that arrived and wait "
        "for an earlier byte (head-of-line blocking). The queues of the subflows, which hold what "
        "a loss on the same path holds up, are not in it.",
        "mean of the samples of ofo_bytes in [t0, t1]",
        "connection at the receiver",
    ),
    Metric(
        "ofo_bytes_p99",
        "run",
        "bytes",
        "The out-of-order queue of the connection was not longer than this in 99 % of the "
        "samples, that is, for 99 % of the measured time. A percentile over time, not over "
        "packets.",
        "nearest rank: the lowest sample of ofo_bytes in [t0, t1] that at least 99 % of these "
        "samples do not exceed; no interpolation",
        "connection at the receiver",
    ),
    Metric(
        "retransmitted_packets",
        "run",
        "packets",
        "Packets that a subflow sent again on the same path, spurious ones too. Reinjections over "
        "another path are not in it (they show in duplicate_bytes). Whole run, warm-up included; a "
        "SYN that was sent again counts too.",
        "sum over subflows of retransmitted_packets at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "retransmitted_bytes",
        "run",
        "bytes",
        "Payload of the retransmitted packets. Whole run, warm-up included.",
        "sum over subflows of retransmitted_bytes at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "data_packets",
        "run",
        "packets",
        "Packets with payload that the sender sent, retransmissions included. Whole run, warm-up "
        "included.",
        "sum over subflows of data_packets_out at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "duplicate_bytes",
        "run",
        "bytes",
        "Payload that arrived over more than one path: reinjections and redundant copies that "
        "turned out not to be needed. Bytes that a subflow has received and not passed on yet "
        "count as well, which is at most a few packets. Whole run, warm-up included.",
        "sum over subflows of received_bytes - delivered_bytes - ofo_bytes, at the last sample",
        "subflow and connection at the receiver",
    ),
    Metric(
        "send_buffer_bytes_mean",
        "run",
        "bytes",
        "Mean over time of the memory in the send buffer of the connection, as the kernel "
        "accounts it (its overhead per packet included).",
        "mean of the samples of sndbuf_used in [t0, t1]",
        "connection at the sender",
    ),
    Metric(
        "receive_buffer_bytes_mean",
        "run",
        "bytes",
        "Mean over time of the memory in the receive buffer of the connection, as the kernel "
        "accounts it (its overhead per packet included).",
        "mean of the samples of rcvbuf_used in [t0, t1]",
        "connection at the receiver",
    ),
    Metric(
        "receive_window_bytes_mean",
        "run",
        "bytes",
        "Mean over time of what the receive window still permitted the sender to send beyond the "
        "highest byte sent, as the sender knew it. Near 0: the receive window was the limit.",
        "mean of the samples of window_bytes in [t0, t1]",
        "connection at the sender",
    ),
    Metric(
        "completion_s",
        "run",
        "s",
        "Time from the start of the workload until the receiver had everything. Missing for a "
        "workload with a duration.",
        "(complete_ns - start_ns) / 10^9",
        "guest.json",
    ),
    Metric(
        "subflows",
        "run",
        "",
        "Number of subflows that the connection had in the course of the run.",
        "number of different n",
        "subflow at the sender",
    ),
    Metric(
        "duplicate_segments",
        "run",
        "",
        "Segments that the scheduler sent again, at once, while they were on their way over "
        "another path. Whole run, warm-up included. Missing, as the next four, for a scheduler "
        "that is not asked segment by segment: upstream's default, and plain TCP.",
        "sum over subflows of duplicates at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "reinjected_segments",
        "run",
        "",
        "Segments of a path in trouble (a timeout, a lost address) that the scheduler sent again "
        "over another. Whole run, warm-up included.",
        "sum over subflows of reinjections at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "waits",
        "run",
        "",
        "How often the scheduler was asked and chose to send nothing. Whole run, warm-up included.",
        "waits at the last sample",
        "connection at the sender",
    ),
    Metric(
        "refused_picks",
        "run",
        "",
        "How often the scheduler picked what makes no sense, such as a closed subflow or an "
        "acknowledged segment: a mistake in it. Whole run, warm-up included.",
        "refused at the last sample",
        "connection at the sender",
    ),
    Metric(
        "forced_picks",
        "run",
        "",
        "How often the scheduler waited with nothing in flight that could end the waiting, and a "
        "segment was sent for it: a mistake in it, too. Whole run, warm-up included.",
        "forced at the last sample",
        "connection at the sender",
    ),
    Metric("name", "path", "", "Name of the path, as in the scenario.", "", "scenario"),
    Metric(
        "goodput_bps",
        "path",
        "bit/s",
        "Payload per second that arrived in order on the subflow of this path. A byte counts once "
        "per path, so that a byte that arrived over two paths counts on both: the paths together "
        "can exceed the goodput of the run by the duplicates, and differ from it by what waits "
        "out of order.",
        "8 x (received_bytes at t1 - received_bytes at t0) / (t1 - t0)",
        "subflow at the receiver",
    ),
    Metric(
        "share",
        "path",
        "",
        "Part of the payload of all paths that arrived over this one, from 0 to 1; duplicates "
        "count on each path they arrived over, retransmissions count once. Missing when nothing "
        "arrived.",
        "goodput_bps of the path / sum of goodput_bps over all paths",
        "subflow at the receiver",
    ),
    Metric(
        "srtt_ms_mean",
        "path",
        "ms",
        "Mean over time of the smoothed round-trip time as the sender saw it, queueing included.",
        "mean of the samples of srtt_us in [t0, t1] / 1000",
        "subflow at the sender",
    ),
    Metric(
        "cwnd_mean",
        "path",
        "packets",
        "Mean over time of the congestion window.",
        "mean of the samples of cwnd in [t0, t1]",
        "subflow at the sender",
    ),
    Metric(
        "in_flight_mean",
        "path",
        "packets",
        "Mean over time of the packets in flight. Well below cwnd_mean: not the congestion window "
        "but the scheduler, the receive window or the send buffer was the limit.",
        "mean of the samples of in_flight in [t0, t1]",
        "subflow at the sender",
    ),
    Metric(
        "retransmitted_packets",
        "path",
        "packets",
        "Packets sent again on this path. Whole run, warm-up included.",
        "retransmitted_packets at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "new_segments",
        "path",
        "",
        "Segments that the scheduler sent over this path for the first time. Whole run, warm-up "
        "included. Missing, as the next two, for a scheduler that is not asked segment by segment.",
        "new_segments at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "duplicate_segments",
        "path",
        "",
        "Segments that the scheduler sent over this path while they were on their way over "
        "another. Whole run, warm-up included.",
        "duplicates at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "reinjected_segments",
        "path",
        "",
        "Segments of another path in trouble that the scheduler sent again over this one. Whole "
        "run, warm-up included.",
        "reinjections at the last sample",
        "subflow at the sender",
    ),
    Metric(
        "utilisation",
        "path",
        "",
        "Payload that arrived, as a part of what the link carries. Headers take capacity too: with "
        "full-sized packets of 1514 bytes a full link shows about 0.94 with MPTCP and 0.96 with "
        "plain TCP. Null if the link carried nothing in all that time.",
        "goodput_bps of the path / rate of the path in the direction of the data, mean over t0 to "
        "t1",
        "subflow at the receiver; scenario",
    ),
)

RUN_METRICS = tuple(metric for metric in METRICS if metric.scope == "run")
PATH_METRICS = tuple(metric for metric in METRICS if metric.scope == "path")


@dataclass(frozen=True)
class RunMetrics:
    """The figures of one run, ready for JSON.

    `metrics` has one entry for each of RUN_METRICS, `paths` one dictionary for each path of the
    scenario, in its order, with one entry for each of PATH_METRICS. None is a figure that does
    not exist for this run.
    """

    metrics: dict[str, Value]
    paths: list[dict[str, Value | str]]


class Goodput(NamedTuple):
    """Goodput over time: the mean of each bin, in bit/s.

    `time_s` is the middle of each bin, in seconds after T0. `paths` are the subflows' bytes by
    name of the path, `total` the bytes that arrived in order on the connection.
    """

    time_s: npt.NDArray[np.float64]
    paths: dict[str, npt.NDArray[np.float64]]
    total: npt.NDArray[np.float64]


class _Subflow(NamedTuple):
    """The records of one subflow on one side, and the index of its path in the scenario."""

    path: int
    records: Records


class _Interval(NamedTuple):
    """The measured interval, t0 to t1: virtual times in ns, both ends belong to it."""

    begin_ns: int
    end_ns: int


def run_metrics(
    scenario: Scenario, client: Samples, server: Samples, guest: Mapping[str, Any]
) -> RunMetrics:
    """All metrics of one run but aggregation_benefit, which takes further runs.

    The client sends and the server receives. `guest` is the content of guest.json. Raises
    RunError when the records do not cover the measured interval, when a side has not exactly one
    connection, or when a subflow belongs to no path.
    """
    sending = _subflows(scenario, "client", client)
    receiving = _subflows(scenario, "server", server)
    interval = _measured_interval(scenario, server, guest)
    sender, receiver = client.connection, server.connection
    ofo = receiver["ofo_bytes"][_within(receiver, interval)]
    asked = _is_asked(scenario)
    metrics: dict[str, Value] = {
        "goodput_bps": _bps(
            scenario.workload.size_bytes or _increase(receiver, "delivered_bytes", interval),
            interval,
        ),
        "aggregation_benefit": None,
        "ofo_bytes_mean": _mean(ofo),
        "ofo_bytes_p99": int(np.quantile(ofo, 0.99, method="inverted_cdf")),
        "retransmitted_packets": _last_sum(sending, "retransmitted_packets"),
        "retransmitted_bytes": _last_sum(sending, "retransmitted_bytes"),
        "data_packets": _last_sum(sending, "data_packets_out"),
        "duplicate_bytes": _last_sum(receiving, "received_bytes")
        - int(receiver["delivered_bytes"][-1])
        - int(receiver["ofo_bytes"][-1]),
        "send_buffer_bytes_mean": _mean(sender["sndbuf_used"][_within(sender, interval)]),
        "receive_buffer_bytes_mean": _mean(receiver["rcvbuf_used"][_within(receiver, interval)]),
        "receive_window_bytes_mean": _mean(sender["window_bytes"][_within(sender, interval)]),
        "completion_s": None
        if scenario.workload.size_bytes is None
        else (interval.end_ns - interval.begin_ns) / _NS_PER_S,
        "subflows": len(sending),
        "duplicate_segments": _last_sum(sending, "duplicates") if asked else None,
        "reinjected_segments": _last_sum(sending, "reinjections") if asked else None,
        "waits": int(sender["waits"][-1]) if asked else None,
        "refused_picks": int(sender["refused"][-1]) if asked else None,
        "forced_picks": int(sender["forced"][-1]) if asked else None,
    }
    start_ns = int(guest["start_ns"])
    return RunMetrics(metrics, _path_metrics(scenario, sending, receiving, interval, start_ns))


def aggregation_benefit(goodput: float, single_path_goodputs: Sequence[float]) -> float | None:
    """Aggregation benefit of `goodput`, given plain TCP's goodput over each path alone (bit/s).

    1: the sum of the paths, 0: as good as the best, -1: nothing (Kaspar, "Multipath Aggregation
    of Heterogeneous Access Networks", PhD thesis, Oslo 2012). None with fewer than two paths that
    carried something, where there is nothing to aggregate.
    """
    if sum(c > 0 for c in single_path_goodputs) < 2:
        return None
    best = max(single_path_goodputs)
    if goodput < best:
        return (goodput - best) / best
    return (goodput - best) / (sum(single_path_goodputs) - best)


def goodput_series(scenario: Scenario, server: Samples, bin_ns: int = 100 * 1_000_000) -> Goodput:
    """Goodput over time from T0 on, in bins of `bin_ns`, for charts.

    Counters are interpolated linearly where a bin does not end at a sample. A bin that is not
    complete at the end is left out. Raises RunError as run_metrics does.
    """
    times = server.connection["time_ns"].astype(np.int64)
    begin = int(times[0])
    edges = np.arange(begin, int(times[-1]) + 1, bin_ns, dtype=np.int64)

    def rate(records: Records, counter: str) -> npt.NDArray[np.float64]:
        # Differences to T0 first: below 2^53 they are exact as floats.
        at = (records["time_ns"].astype(np.int64) - begin).astype(np.float64)
        counted = np.interp((edges - begin).astype(np.float64), at, records[counter], left=0.0)
        rates: npt.NDArray[np.float64] = np.diff(counted) * (_BITS_PER_BYTE * _NS_PER_S / bin_ns)
        return rates

    paths = {path.name: np.zeros(max(len(edges) - 1, 0)) for path in scenario.paths}
    for subflow in _subflows(scenario, "server", server):
        paths[scenario.paths[subflow.path].name] += rate(subflow.records, "received_bytes")
    return Goodput(
        time_s=(edges[1:] - begin - bin_ns / 2) / _NS_PER_S,
        paths=paths,
        total=rate(server.connection, "delivered_bytes"),
    )


def _is_asked(scenario: Scenario) -> bool:
    """Whether the scheduler decides for each segment, so that its decisions are counted."""
    return scenario.transport == "mptcp" and scenario.scheduler.name != scheduler.DEFAULT


def _subflows(scenario: Scenario, side: str, samples: Samples) -> list[_Subflow]:
    """The records of each subflow; refuses what would give wrong figures without being noticed."""
    connections = len(np.unique(samples.connection["connection"]))
    if connections != 1:
        raise RunError(
            f"the records of the {side} have {connections} connections; the workload has one"
        )
    numbers = samples.subflow["n"]
    subflows = []
    for n in np.flatnonzero(np.bincount(numbers)):
        records = select(samples.subflow, numbers == n)
        path = int(path_indices(records[:1])[0])
        if not 0 <= path < len(scenario.paths):
            local, remote = (
                ".".join(str(octet) for octet in records[name][0])
                for name in ("local_addr", "remote_addr")
            )
            raise RunError(
                f"the {side} has a subflow from {local} to {remote}, which is no path of the "
                "scenario"
            )
        subflows.append(_Subflow(path, records))
    return subflows


def _measured_interval(scenario: Scenario, server: Samples, guest: Mapping[str, Any]) -> _Interval:
    """t0 and t1; for a workload with a duration moved inwards to samples, so that counters fit."""
    start = int(guest["start_ns"])
    workload = scenario.workload
    if workload.duration_ns is None:
        begin, end = start, int(guest["complete_ns"])
    else:
        # what is sent at times of its own may all have arrived before the end
        end = min(start + workload.duration_ns, int(guest["complete_ns"]))
        begin = start + workload.warmup_ns
    times = server.connection["time_ns"]
    first = int(np.searchsorted(times, begin, side="left"))
    last = int(np.searchsorted(times, end, side="right")) - 1
    if last < 0 or end - int(times[last]) >= scenario.sample_interval_ns:
        seen = max(int(times[-1]) - start, 0)
        raise RunError(
            f"the records of the server end {format_time(seen)} after the start of the workload, "
            f"which ended after {format_time(end - start)}"
        )
    if workload.duration_ns is None:
        return _Interval(begin, end)
    if last <= first:
        raise RunError(
            f"fewer than two samples between the end of the warm-up "
            f"({format_time(workload.warmup_ns)}) and the end of the workload "
            f"({format_time(workload.duration_ns)}); choose a sample_interval shorter than "
            f"{format_time(scenario.sample_interval_ns)}"
        )
    return _Interval(int(times[first]), int(times[last]))


def _path_metrics(
    scenario: Scenario,
    sending: Sequence[_Subflow],
    receiving: Sequence[_Subflow],
    interval: _Interval,
    start_ns: int,
) -> list[dict[str, Value | str]]:
    asked = _is_asked(scenario)
    rates = timeline.rates(scenario)
    received = [0] * len(scenario.paths)
    for subflow in receiving:
        received[subflow.path] += _increase(subflow.records, "received_bytes", interval)
    paths: list[dict[str, Value | str]] = []
    for index, path in enumerate(scenario.paths):
        subflows = [subflow for subflow in sending if subflow.path == index]
        srtt_us = _mean_of_all(subflows, "srtt_us", interval)
        goodput_bps = _bps(received[index], interval)
        begin_ns, end_ns = (at_ns - start_ns for at_ns in interval)
        link_bps = timeline.mean_rate_bps(rates[path.name], begin_ns, end_ns)
        paths.append(
            {
                "name": path.name,
                "goodput_bps": goodput_bps,
                "share": received[index] / sum(received) if sum(received) else None,
                "srtt_ms_mean": None if srtt_us is None else srtt_us / 1000,
                "cwnd_mean": _mean_of_all(subflows, "cwnd", interval),
                "in_flight_mean": _mean_of_all(subflows, "in_flight", interval),
                "retransmitted_packets": _last_sum(subflows, "retransmitted_packets"),
                "new_segments": _last_sum(subflows, "new_segments") if asked else None,
                "duplicate_segments": _last_sum(subflows, "duplicates") if asked else None,
                "reinjected_segments": _last_sum(subflows, "reinjections") if asked else None,
                "utilisation": goodput_bps / link_bps if link_bps else None,
            }
        )
    return paths


def _within(records: Records, interval: _Interval) -> slice:
    """The samples in the interval; they are in the order of time."""
    times = records["time_ns"]
    return slice(
        int(np.searchsorted(times, interval.begin_ns, side="left")),
        int(np.searchsorted(times, interval.end_ns, side="right")),
    )


def _increase(records: Records, counter: str, interval: _Interval) -> int:
    """Growth of a counter over the interval.

    Before its first sample a subflow had carried nothing. The end counts up to the first sample
    at or after it: a workload with a size completes between two samples.
    """
    times = records["time_ns"]
    begin = int(np.searchsorted(times, interval.begin_ns, side="right")) - 1
    end = min(int(np.searchsorted(times, interval.end_ns, side="left")), len(times) - 1)
    return int(records[counter][end]) - (int(records[counter][begin]) if begin >= 0 else 0)


def _last_sum(subflows: Sequence[_Subflow], counter: str) -> int:
    return sum(int(subflow.records[counter][-1]) for subflow in subflows)


def _mean_of_all(subflows: Sequence[_Subflow], field: str, interval: _Interval) -> float | None:
    measured = [s.records[field][_within(s.records, interval)] for s in subflows]
    return _mean(np.concatenate(measured)) if measured else None


def _mean(values: npt.NDArray[Any]) -> float | None:
    return int(values.sum(dtype=np.uint64)) / len(values) if len(values) else None


def _bps(count_bytes: int, interval: _Interval) -> float:
    return count_bytes * _BITS_PER_BYTE * _NS_PER_S / (interval.end_ns - interval.begin_ns)


def markdown() -> str:
    """The text of docs/metrics.md."""
    return "\n".join(
        [
            "<!-- Written by `python -m mptcplab.metrics`; edit src/mptcplab/metrics.py. -->",
            "# Metrics",
            "",
            "Every figure that is shown anywhere, computed from the [records](records.md) of a "
            "run. In JSON a figure that does not exist for a run is `null`.",
            "",
            "## What is measured, and when",
            "",
            "- **Data flow from the client (sender) to the server (receiver).** T0 (`start_ns` "
            "in `guest.json`) is when the workload starts; every subflow is established by then, "
            "so that goodput and completion times have no handshake in them.",
            "- **The measured interval [t0, t1]**: for a workload with a duration, t0 = T0 + "
            "warmup and t1 = T0 + duration, or `complete_ns` if that is earlier, both moved "
            "inwards to the nearest sample. For any other, t0 = T0 and t1 = `complete_ns`: slow "
            "start is part of a completion time, so there is no warm-up.",
            "- **Warm-up** leaves slow start out of the figures: by default a tenth of the "
            "duration, at most 5 s. Counts of whole runs (retransmissions, duplicates, packets) "
            "include it, and say so below.",
            "- **Means and percentiles are over time**: all samples in [t0, t1], both ends "
            "included, count the same. Samples are `sample_interval` apart (10 ms unless the "
            "scenario says otherwise); a peak between two samples is not seen.",
            "- **Counters** are exact at each sample, and their differences too. In a workload "
            "with a size, the bytes of a path count up to the first sample at or after t1.",
            "- **Several seeds**: tables show the median over the runs that ended well, and the "
            "range from the lowest to the highest. Failed runs are in no figure, and are listed.",
            "",
            "## Of a run",
            "",
            *_metric_table(RUN_METRICS),
            "",
            "## Of each path",
            "",
            *_metric_table(PATH_METRICS),
            "",
            "## Of the applications",
            "",
            "What the applications saw of a [workload](workloads.md) other than bulk, from when "
            "each of its messages was due, and when its last byte was read at the other end. Of "
            "a workload with a duration, what is due in the warm-up is left out; what is due later "
            "counts, also if it arrives after the end. They stand beside those of the run.",
            "",
            *_metric_table(APPLICATION_METRICS),
            "",
        ]
    )


def _metric_table(metrics: Sequence[Metric]) -> list[str]:
    lines = ["| metric | unit | meaning | formula | source |", "|---|---|---|---|---|"]
    for metric in metrics:
        lines.append(
            f"| `{metric.name}` | {metric.unit} | {metric.meaning} | {metric.formula} | "
            f"{metric.source} |"
        )
    return lines


if __name__ == "__main__":
    print(markdown(), end="")
