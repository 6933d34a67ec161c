# SPDX-License-Identifier: GPL-2.0-only
"""The pages that say what is recorded and measured: docs/records.md and docs/metrics.md.

`python -m mptcplab.metrics.docs_pages records` prints the one, `... metrics` the other.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mptcplab.metrics.definitions import (
    ApplicationFigures,
    ConnectionFigures,
    LinkFigures,
    PathFigures,
    TransportFigures,
    UdpFigures,
)
from mptcplab.metrics.records import (
    ANSWER_FIELDS,
    CONNECTION,
    CONNECTION_FIELDS,
    DECISION_BYTES,
    DECISION_FIELDS,
    GUEST_FIELDS,
    HEAD,
    LINK,
    LINK_FIELDS,
    MESSAGE_BYTES,
    MESSAGE_FIELDS,
    QUESTION_FIELDS,
    RECORD_BYTES,
    STATE_BYTES,
    STATE_HEAD_FIELDS,
    SUBFLOW,
    SUBFLOW_FIELDS,
    SUBFLOW_STATE_FIELDS,
    Field,
)
from mptcplab.metrics.schema import Figures, metrics_of


def records_page() -> str:
    """The text of docs/records.md."""
    return "\n".join(
        [
            "<!-- Written by `python -m mptcplab.metrics.docs_pages records`; edit records.py. -->",
            "# Records of a run",
            "",
            "A probe in the kernel samples each connection and each subflow of the client and of "
            "the server, and each link, at fixed instants of virtual time: first at T0 (`start_ns` "
            "of `guest.json`), then at every sample interval, and last at the end of the workload. "
            "Nothing is averaged between two samples: counters are exact at the instant, a "
            "momentary value such as `cwnd` is what it was at that instant.",
            "",
            "| file | written by |",
            "|---|---|",
            "| `client.samples` | the probe in the client's namespace (the sender) |",
            "| `server.samples` | the probe in the server's namespace (the receiver) |",
            "| `links.samples` | the probe, of all devices that have a queueing discipline |",
            "| `client.decisions`, `server.decisions` | the scheduler's framework in the namespace "
            "of an end that sends data, if the run was traced |",
            "| `client.states`, `server.states` | the same, with what the scheduler saw, if that "
            "was asked for (`--states`) |",
            "| `messages.records` | the programs inside the guest, of each message of the "
            "workload |",
            "| `client.pcapng`, `server.pcapng`, `router-PATH.pcapng` | a process that captures at "
            "the client, the server, the router of path PATH, if that was asked for |",
            "| `client2.samples`, `server2.decisions`, ... | the same at the hosts of the second "
            "connection, and so on, of a scenario that has [several](connections.md) |",
            "| `near-LINK.pcapng`, `far-LINK.pcapng` | a capture at each router of a shared link |",
            "| `guest.json` | the programs inside the guest |",
            "",
            f"A `.samples` file is a sequence of {RECORD_BYTES}-byte little-endian records in "
            "the order of time, kinds mixed, with no header. Every record starts with the same "
            f"{_size(HEAD)} bytes and is padded with zeros. Counters start with the connection, "
            "the subflow or the queueing discipline, not with T0. A connection that is closed "
            "between two samples is last seen at the first of them.",
            "",
            "## Head of every record",
            "",
            *_field_table(HEAD, 0),
            "",
            f"## Connection record (kind {CONNECTION})",
            "",
            *_field_table(CONNECTION_FIELDS, _size(HEAD)),
            "",
            f"## Subflow record (kind {SUBFLOW})",
            "",
            "The addresses tell the path: path i, counted from 1 in the order of the scenario, "
            "joins 10.0.i.x (client) and 10.1.i.x (server). Those of IPv6 end with these bytes.",
            "",
            *_field_table(SUBFLOW_FIELDS, _size(HEAD)),
            "",
            f"## Link record (kind {LINK})",
            "",
            "What path i, counted from 1, carries to the server leaves the device `rsi` of its "
            "router, and what it carries to the client leaves `rci`; so `rs2` has the queue in "
            "front of the second path. Shared link m, counted likewise, is sent into from `nm` "
            "towards the servers and from `fm` towards the clients. Devices of client and server "
            "(`ci`, `si`) are there if they have a queueing discipline of their own.",
            "",
            *_field_table(LINK_FIELDS, _size(HEAD)),
            "",
            "## Decision record",
            "",
            f"A `.decisions` file is a sequence of {DECISION_BYTES}-byte little-endian records, "
            "one for each decision of the scheduler from T0 on, in the order of time. A refused "
            "pick makes no sense (a closed subflow, an acknowledged segment) and is not carried "
            "out. A forced one was made for a scheduler that waited for nothing. What is dropped "
            "is a unit ([units](units.md)), with its length. Upstream's default is not traced.",
            "",
            *_field_table(DECISION_FIELDS, 0),
            "",
            "## State records",
            "",
            f"A `.states` file is a sequence of {STATE_BYTES}-byte little-endian records in the "
            "order of time, padded with zeros: what the scheduler of each connection saw each time "
            "it was asked, and what it answered. A question is followed by a record of each "
            "subflow, in the order of the scheduler's list, and by the answer; records of other "
            "connections may come between them. What was done follows the answer, at once, or "
            "later where a subflow was not free: picks carried out, refused and forced ones, "
            "drops and events, as decision records have them. An answer that could not leave (a "
            "closed window) has none. [oracle](oracle.md) reads them.",
            "",
            "Question:",
            "",
            *_field_table((*STATE_HEAD_FIELDS, *QUESTION_FIELDS), 0),
            "",
            "Subflow:",
            "",
            *_field_table(SUBFLOW_STATE_FIELDS, _size(STATE_HEAD_FIELDS)),
            "",
            "Answer, and done:",
            "",
            *_field_table(ANSWER_FIELDS, _size(STATE_HEAD_FIELDS)),
            "",
            "## Message record",
            "",
            f"`messages.records` is a sequence of {MESSAGE_BYTES}-byte little-endian records, one "
            "for each `message` line of the plan, in that order ([workloads](workloads.md) says "
            "what the messages of a workload are). The times are virtual CLOCK_MONOTONIC; 0 is "
            "what did not happen.",
            "",
            *_field_table(MESSAGE_FIELDS, 0),
            "",
            "## Captures",
            "",
            "`client.pcapng`, `server.pcapng` and `router-PATH.pcapng` have the first 96 bytes of "
            "every packet that passes a device there, from before the connection is made until "
            "after it has ended; each device is an interface of the file. At a router, `rcI` is "
            "that towards the client and `rsI` that towards the server: what comes in by one has "
            "not been delayed or dropped by the link yet, what goes out by the other has. "
            "Timestamps are virtual CLOCK_MONOTONIC in nanoseconds, as in the records. A capture "
            "that would miss a packet fails the run. `mptcplab analyze` computes figures from "
            "these files alone ([analyze](analyze.md)); Wireshark and tshark show them.",
            "",
            "## guest.json",
            "",
            "One JSON object; the times are virtual CLOCK_MONOTONIC, as in the records.",
            "",
            "| key | type | unit | meaning |",
            "|---|---|---|---|",
            *(f"| `{f.name}` | {f.type} | {f.unit} | {f.meaning} |" for f in GUEST_FIELDS),
            "",
            "## Reading them",
            "",
            "```python",
            "from pathlib import Path",
            "from mptcplab.metrics.records import read_decisions, read_links, read_samples",
            "",
            'server = read_samples(Path("server.samples"))',
            'server.connection["ofo_bytes"].max()  # NumPy arrays, one entry per sample',
            'links = read_links(Path("links.samples"))',
            'links["queue_packets"][links["device"] == b"rs1"].max()  # in front of the first path',
            'decisions = read_decisions(Path("client.decisions"))',
            '(decisions["kind"] == 0).sum()  # how often the scheduler waited',
            "```",
            "",
        ]
    )


def _size(fields: Sequence[Field]) -> int:
    return sum(field.bytes for field in fields)


def _field_table(fields: Sequence[Field], offset: int) -> list[str]:
    lines = ["| offset | field | type | unit | meaning |", "|---|---|---|---|---|"]
    for field in fields:
        lines.append(
            f"| {offset} | `{field.name}` | {field.type} | {field.unit} | {field.meaning} |"
        )
        offset += _size([field])
    return lines


def metrics_page() -> str:
    """The text of docs/metrics.md."""
    return "\n".join(
        [
            "<!-- Written by `python -m mptcplab.metrics.docs_pages metrics`; edit its models. -->",
            "# Metrics",
            "",
            "Every figure that is shown anywhere, computed from the [records](records.md) of a "
            "run. In JSON a figure that does not exist for a run is `null`.",
            "",
            "## What is measured, and when",
            "",
            "- **Data flows from the client (sender) to the server (receiver)**, with the "
            "direction `down` from the server (sender) to the client (receiver). Of a workload in "
            "both directions, the figures are about the data to the server. T0 (`start_ns` "
            "in `guest.json`) is when the workload starts, with the first subflow or, with "
            "`start=established`, with all of them ([workloads](workloads.md#when-it-starts)): the "
            "handshake of the first one is in no figure.",
            "- **`[[connection]]` in the scenario**: each has all figures for itself, over its own "
            "life ([connections](connections.md)). Of those of the run, `goodput_bps` is the sum "
            "over the connections in [t0, t1], each in its own direction, counters of the whole "
            "run are sums, and the others are missing.",
            "- **Several connections of a workload**: counters and queues are summed over them. A "
            "mean of the round-trip time, the congestion window or the packets in flight is over "
            "all samples of all subflows of the path.",
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
            "range from the lowest to the highest. Failed runs are in no figure, and are listed. "
            "[Reports](report.md#statistics) and the `statistics` of a comparison's document have "
            "confidence intervals, and the differences of schedulers on the same seeds.",
            "",
            "## Of a run",
            "",
            *_metric_table(TransportFigures),
            "",
            "## Of each path",
            "",
            *_metric_table(PathFigures),
            "",
            "## Of each connection",
            "",
            "Only of a scenario that has `[[connection]]`.",
            "",
            *_metric_table(ConnectionFigures),
            "",
            "## Of each shared link",
            "",
            "Only of a scenario that has `[[link]]`; one entry for each direction. If "
            "[programs](exec.md) sent the data, also of each path.",
            "",
            *_metric_table(LinkFigures),
            "",
            "## Of each flow of UDP",
            "",
            "Only of [programs](exec.md) in a run with `--pcap`, by the captures of client and "
            "server, and of [`mptcplab analyze`](analyze.md#udp); one entry for each direction.",
            "",
            *_metric_table(UdpFigures),
            "",
            "## Of the applications",
            "",
            "What the applications saw of a [workload](workloads.md) other than bulk, from when "
            "each of its messages was due, and when its last byte was read at the other end. Of "
            "a workload with a duration, what is due in the warm-up is left out; what is due later "
            "counts, also if it arrives after the end. They stand beside those of the run.",
            "",
            *_metric_table(ApplicationFigures),
            "",
        ]
    )


def _metric_table(figures: type[Figures]) -> list[str]:
    lines = ["| metric | unit | meaning | formula | source |", "|---|---|---|---|---|"]
    for metric in metrics_of(figures):
        lines.append(
            f"| `{metric.name}` | {metric.unit} | {metric.meaning} | {metric.formula} | "
            f"{metric.source} |"
        )
    return lines


if __name__ == "__main__":
    print({"records": records_page, "metrics": metrics_page}[sys.argv[1]](), end="")
