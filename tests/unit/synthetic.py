# SPDX-License-Identifier: GPL-2.0-only
"""Builders of synthetic runs, plain enough that a test derives every figure by hand.

A run is some `Flow`s, one per path, that each carry so many bytes in every millisecond from T0 on
and stand still in everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mptcplab.metrics import records
from mptcplab.metrics.records import Samples
from mptcplab.scenario.model import Path as NetworkPath
from mptcplab.scenario.model import Scenario, Shape
from mptcplab.scenario.scheduler import Choice
from mptcplab.scenario.workload import AnyWorkload, Bulk

MS = 1_000_000
SECOND = 1000 * MS
T0 = 3 * SECOND
MSS = 1000
ESTABLISHED = 1


@dataclass(frozen=True)
class Flow:
    """What one path's subflow does; bytes per ms of virtual time, a packet carries 1000 bytes."""

    bytes_per_ms: int
    srtt_us: int = 20_000
    cwnd: int = 10
    in_flight: int = 8
    retransmitted_packets: int = 0
    duplicates: int = 0
    reinjections: int = 0
    path: int = 1  # i of 10.0.i.1


FAST = Flow(bytes_per_ms=4000, path=1)  # 32 Mbit/s
SLOW = Flow(bytes_per_ms=1000, path=2)  # 8 Mbit/s


def scenario(
    rates_bps: Sequence[int] = (40_000_000, 10_000_000),
    *,
    names: Sequence[str] = ("fast", "slow"),
    duration_ns: int | None = 10 * SECOND,
    size_bytes: int | None = None,
    warmup_ns: int = 1 * SECOND,
    sample_interval_ns: int = 10 * MS,
    workload: AnyWorkload | None = None,
    **fields: Any,
) -> Scenario:
    """A resolved scenario; by default a 40 and a 10 Mbit/s path for 10 s, 1 s of it warm-up."""
    directions = [
        Shape(rate_bps=rate, delay_ns=10 * MS, jitter_ns=0, loss=0.0, queue_packets=100)
        for rate in rates_bps
    ]
    return Scenario(
        paths=tuple(
            NetworkPath(name=name, up=direction, down=direction)
            for name, direction in zip(names, directions, strict=True)
        ),
        transport=fields.pop("transport", "mptcp"),
        scheduler=Choice(name=fields.pop("scheduler", "default")),
        cc="cubic",
        send_buffer_bytes=None,
        receive_buffer_bytes=None,
        sample_interval_ns=sample_interval_ns,
        workload=workload
        or Bulk(
            duration_ns=None if size_bytes else duration_ns,
            size_bytes=size_bytes,
            warmup_ns=0 if size_bytes else warmup_ns,
        ),
        events=(),
        pcap=False,
        trace=False,
        seed=fields.pop("seed", 1),
        **fields,
    )


def run(
    *flows: Flow,
    duration_ns: int = 10 * SECOND,
    interval_ns: int = 10 * MS,
    duplicate_bytes_per_ms: int = 0,
    ofo_bytes: Sequence[int] | int = 0,
    sndbuf_used: int = 0,
    rcvbuf_used: int = 0,
    window_bytes: int = 0,
) -> tuple[Samples, Samples]:
    """(client, server) of a run; `duplicate_bytes_per_ms` of what all flows carry is not new.

    Sampled at T0, every `interval_ns`, and at T0 + duration.
    """
    times = np.arange(T0, T0 + duration_ns, interval_ns, dtype=np.uint64)
    times = np.append(times, np.uint64(T0 + duration_ns))
    elapsed_ns = times - np.uint64(T0)

    def carried(bytes_per_ms: int) -> Any:
        return elapsed_ns * np.uint64(bytes_per_ms) // np.uint64(MS)

    sender = _connection(times, len(flows))
    sender["sndbuf_used"] = sndbuf_used
    sender["window_bytes"] = window_bytes
    sender["sent_bytes"] = carried(sum(flow.bytes_per_ms for flow in flows))
    sender["sent_bytes"] -= carried(duplicate_bytes_per_ms)
    sender["written_bytes"] = sender["sent_bytes"]
    receiver = _connection(times, len(flows))
    receiver["ofo_bytes"] = ofo_bytes
    receiver["rcvbuf_used"] = rcvbuf_used
    new = carried(sum(flow.bytes_per_ms for flow in flows) - duplicate_bytes_per_ms)
    receiver["delivered_bytes"] = new - np.minimum(receiver["ofo_bytes"], new)

    sides: tuple[list[Any], list[Any]] = ([], [])
    for n, flow in enumerate(flows):
        ends = ((10, 0, flow.path, 1), (10, 1, flow.path, 1))
        for side, (local, remote) in zip(sides, (ends, ends[::-1]), strict=True):
            subflow = np.zeros(len(times), records.SUBFLOW_DTYPE)
            subflow["time_ns"], subflow["connection"] = times, 1
            subflow["kind"], subflow["n"] = records.SUBFLOW, n
            subflow["local_addr"], subflow["remote_addr"] = local, remote
            subflow["tcp_state"], subflow["mss"] = ESTABLISHED, MSS
            subflow["window_bytes"] = 2**30
            side.append(subflow)
        sent, received = sides[0][-1], sides[1][-1]
        sent["srtt_us"], sent["cwnd"], sent["in_flight"] = flow.srtt_us, flow.cwnd, flow.in_flight
        sent["sent_bytes"] = carried(flow.bytes_per_ms) + flow.retransmitted_packets * MSS
        sent["acked_bytes"] = carried(flow.bytes_per_ms)
        sent["data_packets_out"] = carried(flow.bytes_per_ms) // MSS + flow.retransmitted_packets
        sent["retransmitted_packets"] = flow.retransmitted_packets
        sent["retransmitted_bytes"] = flow.retransmitted_packets * MSS
        sent["new_segments"] = carried(flow.bytes_per_ms) // MSS
        sent["duplicates"], sent["reinjections"] = flow.duplicates, flow.reinjections
        received["received_bytes"] = carried(flow.bytes_per_ms)
    return Samples(sender, _in_time_order(sides[0])), Samples(receiver, _in_time_order(sides[1]))


def links(
    *flows: Flow, duration_ns: int = 10 * SECOND, interval_ns: int = 10 * MS, queue_packets: int = 0
) -> records.Records:
    """The link records of the same run: packets of 1000 bytes, the same queue in front of all."""
    times = np.arange(T0, T0 + duration_ns + 1, interval_ns, dtype=np.uint64)
    parts = []
    for flow in flows:
        link = np.zeros(len(times), records.LINK_DTYPE)
        link["time_ns"], link["kind"] = times, records.LINK
        link["device"], link["qdisc"] = f"rs{flow.path}".encode(), b"netem"
        link["sent_bytes"] = (times - np.uint64(T0)) * np.uint64(flow.bytes_per_ms) // np.uint64(MS)
        link["sent_packets"] = link["sent_bytes"] // MSS
        link["queue_packets"], link["queue_bytes"] = queue_packets, queue_packets * MSS
        parts.append(link)
    together: records.Records = _in_time_order(parts, records.LINK_DTYPE)
    return together


def guest(duration_ns: int = 10 * SECOND) -> dict[str, Any]:
    """guest.json of a run that starts at T0 and completes after `duration_ns`."""
    return {"status": "ok", "start_ns": T0, "complete_ns": T0 + duration_ns}


def write(samples: Samples, path: Path) -> Path:
    """Write a .samples file as the probe would: kinds mixed, in the order of time."""
    parts = [samples.connection, samples.subflow]
    content = b"".join(part.tobytes() for part in parts)
    times = np.concatenate([part["time_ns"] for part in parts])
    whole = np.frombuffer(content, np.dtype((np.void, records.RECORD_BYTES)))
    path.write_bytes(whole[np.argsort(times, kind="stable")].tobytes())
    return path


def _connection(times: Any, subflows: int) -> Any:
    connection = np.zeros(len(times), records.CONNECTION_DTYPE)
    connection["time_ns"], connection["connection"] = times, 1
    connection["kind"], connection["n"] = records.CONNECTION, subflows
    return connection


def _in_time_order(parts: list[Any], dtype: Any = records.SUBFLOW_DTYPE) -> Any:
    together = np.concatenate(parts).astype(dtype)  # it drops the padding
    return together[np.argsort(together["time_ns"], kind="stable")]
