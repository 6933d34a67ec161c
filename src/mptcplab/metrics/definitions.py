# SPDX-License-Identifier: GPL-2.0-only
"""Every metric, defined once: what is shown anywhere takes its name, unit and meaning from here.

docs/metrics.md is made of them. Module `compute` computes them.
"""

from __future__ import annotations

from typing import Any

from mptcplab.metrics.schema import Figures, Real, Whole, figure, metrics_of


class TransportFigures(Figures):
    """What the connections of a run did."""

    goodput_bps: Real = figure(
        "bit/s",
        "Application bytes per second that arrived at the receiver, each once: headers, "
        "retransmissions and duplicates do not count (goodput as in RFC 2647, 3.17). A byte counts "
        "when it arrives, also if an earlier one is missing: if it counted when the gap is filled, "
        "what arrived in the warm-up would count later, and a run could have more than its links "
        "carry. What a reader got in order differs from it by what waits more, or less, at the end "
        "than at the begin, at most a receive buffer.",
        "duration: 8 x (a at t1 - a at t0) / (t1 - t0), a = delivered_bytes + ofo_bytes of the "
        "connection + ofo_bytes of its subflows (plain TCP: delivered_bytes + ofo_bytes); "
        "size: 8 x size / (complete_ns - start_ns)",
        "connection and subflow at the receiver; guest.json",
    )
    goodput_down_bps: Real = figure(
        "bit/s",
        "Of a workload in both directions, the goodput of the data to the client; all other "
        "figures are about the data to the server. Missing for other workloads.",
        "as goodput_bps",
        "connection at the client",
    )
    aggregation_benefit: Real = figure(
        "",
        "What the further paths brought: 1 is the sum of the paths, 0 is as good as the best path "
        "alone, -1 is nothing at all. Missing unless plain TCP was measured over each path alone "
        "with the same seed, and with a single path. MPTCP's headers are longer than TCP's, so "
        "that full use of all paths stays a little below 1.",
        "with g the goodput, C_i the goodput of plain TCP over path i alone, C_max the highest "
        "C_i: (g - C_max) / (sum C_i - C_max) if g >= C_max, else (g - C_max) / C_max "
        "(Kaspar 2012; Paasch et al. 2013)",
        "goodput_bps of the run and of its baselines",
    )
    fairness: Real = figure(
        "",
        "Jain's fairness index of the goodputs of the connections: 1 is all the same, 1/n is "
        "all for one of n. Missing with fewer than two connections.",
        "(sum g_i)^2 / (n x sum g_i^2), with g_i the goodput of connection i (Jain, Chiu, Hawe "
        "1984), or with connections in the scenario its common_goodput_bps",
        "connection at the receiver",
    )
    ofo_bytes_mean: Real = figure(
        "bytes",
        "Mean over time of the out-of-order queue of the connection: bytes that arrived and wait "
        "for an earlier byte (head-of-line blocking). The queues of the subflows, which hold what "
        "a loss on the same path holds up, are not in it.",
        "mean of the samples of ofo_bytes in [t0, t1]",
        "connection at the receiver",
    )
    ofo_bytes_p50: Whole = figure(
        "bytes",
        "The median over time of the out-of-order queue.",
        "nearest rank, as ofo_bytes_p99",
        "connection at the receiver",
    )
    ofo_bytes_p95: Whole = figure(
        "bytes",
        "The out-of-order queue was not longer than this for 95 % of the measured time.",
        "nearest rank, as ofo_bytes_p99",
        "connection at the receiver",
    )
    ofo_bytes_p99: Whole = figure(
        "bytes",
        "The out-of-order queue of the connection was not longer than this in 99 % of the "
        "samples, that is, for 99 % of the measured time. A percentile over time, not over "
        "packets.",
        "nearest rank: the lowest sample of ofo_bytes in [t0, t1] that at least 99 % of these "
        "samples do not exceed; no interpolation",
        "connection at the receiver",
    )
    blocked_share: Real = figure(
        "",
        "Part of the measured time in which data waited at the receiver for an earlier byte "
        "(head-of-line blocking), to the microsecond. Over several connections it is a sum. 0 "
        "for plain TCP, whose data waits in the queue of its subflow.",
        "(blocked_us at t1 - blocked_us at t0) / (t1 - t0)",
        "connection at the receiver",
    )
    blocks: Whole = figure(
        "",
        "How often data began to wait for an earlier byte.",
        "blocks at t1 - blocks at t0",
        "connection at the receiver",
    )
    longest_gap_s: Real = figure(
        "s",
        "Longest time for which the receiver got nothing in order though it should have: the "
        "sender had data that had not arrived. Times in which all had arrived are not in it.",
        "longest time between two samples in [t0, t1] at each of which delivered_bytes of a "
        "connection had grown or written_bytes of its sender had all been delivered at the "
        "sample before, or from t0, or to t1",
        "connection at both ends",
    )
    retransmitted_packets: Whole = figure(
        "packets",
        "Packets that a subflow sent again on the same path, spurious ones too. Reinjections over "
        "another path are not in it (they show in duplicate_bytes). Whole run, warm-up included; a "
        "SYN that was sent again counts too.",
        "sum over subflows of retransmitted_packets at the last sample",
        "subflow at the sender",
    )
    retransmitted_bytes: Whole = figure(
        "bytes",
        "Payload of the retransmitted packets. Whole run, warm-up included.",
        "sum over subflows of retransmitted_bytes at the last sample",
        "subflow at the sender",
    )
    data_packets: Whole = figure(
        "packets",
        "Packets with payload that the sender sent, retransmissions included. Whole run, warm-up "
        "included.",
        "sum over subflows of data_packets_out at the last sample",
        "subflow at the sender",
    )
    reinjected_bytes: Whole = figure(
        "bytes",
        "Payload that was sent again on the connection level: copies, and what was on a path "
        "in trouble. Whole run, warm-up included.",
        "reinjected_bytes at the last sample",
        "connection at the sender",
    )
    duplicate_bytes: Whole = figure(
        "bytes",
        "Payload that arrived over more than one path: reinjections and redundant copies that "
        "turned out not to be needed. Bytes that a subflow has received and not passed on yet "
        "count as well, which is at most a few packets. Whole run, warm-up included.",
        "sum over subflows of received_bytes - delivered_bytes - ofo_bytes, at the last sample",
        "subflow and connection at the receiver",
    )
    wasted_bytes: Whole = figure(
        "bytes",
        "Payload sent for nothing: what went out beyond one copy of each byte, as a "
        "retransmission on the same path, a reinjection or a duplicate, whether it arrived or "
        "not. What still waits in the queues of subflows counts as sent. Whole run, warm-up "
        "included.",
        "sum over subflows of (sent_bytes + unsent_bytes) - sent_bytes of the connection, at "
        "the last sample; plain TCP: retransmitted_bytes",
        "subflow and connection at the sender",
    )
    send_buffer_bytes_mean: Real = figure(
        "bytes",
        "Mean over time of the memory in the send buffer of the connection, as the kernel "
        "accounts it (its overhead per packet included).",
        "mean of the samples of sndbuf_used in [t0, t1]",
        "connection at the sender",
    )
    receive_buffer_bytes_mean: Real = figure(
        "bytes",
        "Mean over time of the memory in the receive buffer of the connection, as the kernel "
        "accounts it (its overhead per packet included).",
        "mean of the samples of rcvbuf_used in [t0, t1]",
        "connection at the receiver",
    )
    receive_window_bytes_mean: Real = figure(
        "bytes",
        "Mean over time of what the receive window still permitted the sender to send beyond the "
        "highest byte sent, as the sender knew it. Near 0: the receive window was the limit.",
        "mean of the samples of window_bytes in [t0, t1]",
        "connection at the sender",
    )
    limited_by_window: Real = figure(
        "",
        "Part of the measured time in which the sender had data that was never sent, and the "
        "receive window had no room for a segment of it.",
        "samples with window_bytes < min(written_bytes - sent_bytes, mss) / samples in [t0, "
        "t1]; of several connections, at least one",
        "connection and subflow at the sender",
    )
    completion_s: Real = figure(
        "s",
        "Time from the start of the workload until the receiver had everything. Missing for a "
        "workload with a duration.",
        "(complete_ns - start_ns) / 10^9",
        "guest.json",
    )
    subflows: Whole = figure(
        "",
        "Number of subflows that the connection had in the course of the run.",
        "number of different n",
        "subflow at the sender",
    )
    duplicate_segments: Whole = figure(
        "",
        "Segments that the scheduler sent again, at once, while they were on their way over "
        "another path. Whole run, warm-up included. Missing, as the next nine, for a scheduler "
        "that is not asked segment by segment: upstream's default, and plain TCP.",
        "sum over subflows of duplicates at the last sample",
        "subflow at the sender",
    )
    reinjected_segments: Whole = figure(
        "",
        "Segments of a path in trouble (a timeout, a lost address) that the scheduler sent again "
        "over another. Whole run, warm-up included.",
        "sum over subflows of reinjections at the last sample",
        "subflow at the sender",
    )
    waits: Whole = figure(
        "",
        "How often the scheduler was asked and chose to send nothing. Whole run, warm-up included.",
        "waits at the last sample",
        "connection at the sender",
    )
    refused_picks: Whole = figure(
        "",
        "How often the scheduler picked what makes no sense, such as a closed subflow or an "
        "acknowledged segment: a mistake in it. Whole run, warm-up included.",
        "refused at the last sample",
        "connection at the sender",
    )
    forced_picks: Whole = figure(
        "",
        "How often the scheduler waited with nothing in flight that could end the waiting, and a "
        "segment was sent for it: a mistake in it, too. Whole run, warm-up included.",
        "forced at the last sample",
        "connection at the sender",
    )
    fallbacks: Whole = figure(
        "",
        "How often the scheduler decided without what it is made to look at, because that could "
        "not be had, such as one-way delays that cannot be compared; its page says what it does "
        "then. Whole run, warm-up included.",
        "fallbacks at the last sample",
        "connection at the sender",
    )
    forced_reinjections: Whole = figure(
        "",
        "How often the scheduler named no usable path to repeat the oldest segment on while "
        "nothing was outstanding on any, and it was sent again all the same: a mistake in it. "
        "Whole run, warm-up included.",
        "forced_reinjections at the last sample",
        "connection at the sender",
    )
    deferred_questions: Whole = figure(
        "",
        "How often the scheduler was made to wait for the next tick because it had itself asked "
        "again 1024 times in one, by timers or cuts of windows: a mistake in it. Whole run, "
        "warm-up included.",
        "deferred at the last sample",
        "connection at the sender",
    )
    refused_calls: Whole = figure(
        "",
        "How often the scheduler called a function with a subflow that was gone, which did "
        "nothing: a mistake in it. Whole run, warm-up included.",
        "refused_calls at the last sample",
        "connection at the sender",
    )
    decisions_per_s: Real = figure(
        "1/s",
        "Decisions of the scheduler per second of virtual time: picks and waits. Whole run, "
        "warm-up included.",
        "(new_segments + duplicates + reinjections over all subflows + waits + refused) / "
        "(time from the first to the last sample)",
        "connection and subflow at the sender",
    )


class PathFigures(Figures):
    """What was carried over a path."""

    name: str = figure("", "Name of the path, as in the scenario.", "", "scenario", default=...)
    goodput_bps: Real = figure(
        "bit/s",
        "Payload per second that arrived over this path, in order or not. A byte counts once "
        "per path, so that a byte that arrived over two paths counts on both: the paths together "
        "exceed the goodput of the run by the duplicates.",
        "8 x (a at t1 - a at t0) / (t1 - t0), a = received_bytes + ofo_bytes",
        "subflow at the receiver",
    )
    share: Real = figure(
        "",
        "Part of the payload of all paths that arrived over this one, from 0 to 1; duplicates "
        "count on each path they arrived over, retransmissions count once. Missing when nothing "
        "arrived.",
        "goodput_bps of the path / sum of goodput_bps over all paths",
        "subflow at the receiver",
    )
    srtt_ms_mean: Real = figure(
        "ms",
        "Mean over time of the smoothed round-trip time as the sender saw it, queueing included.",
        "mean of the samples of srtt_us in [t0, t1] / 1000",
        "subflow at the sender",
    )
    cwnd_mean: Real = figure(
        "packets",
        "Mean over time of the congestion window.",
        "mean of the samples of cwnd in [t0, t1]",
        "subflow at the sender",
    )
    in_flight_mean: Real = figure(
        "packets",
        "Mean over time of the packets in flight. Well below cwnd_mean: not the congestion window "
        "but the scheduler, the receive window or the send buffer was the limit.",
        "mean of the samples of in_flight in [t0, t1]",
        "subflow at the sender",
    )
    retransmitted_packets: Whole = figure(
        "packets",
        "Packets sent again on this path. Whole run, warm-up included.",
        "retransmitted_packets at the last sample",
        "subflow at the sender",
    )
    ofo_bytes_mean: Real = figure(
        "bytes",
        "Mean over time of the out-of-order queue of the subflow: what waits for a packet of "
        "the same path.",
        "mean of the samples of ofo_bytes in [t0, t1]",
        "subflow at the receiver",
    )
    ofo_bytes_p99: Whole = figure(
        "bytes",
        "The out-of-order queue of the subflow was not longer than this for 99 % of the "
        "measured time.",
        "nearest rank, as ofo_bytes_p99 of the run",
        "subflow at the receiver",
    )
    blocking_share: Real = figure(
        "",
        "Part of the measured time in which data of the connection waited for what then came "
        "over this path: the part of blocked_share that the path caused. Each wait counts, as far "
        "as it is in the measured time, for the path that ended it; so what was lost on one path "
        "and came by another, as a reinjection, counts for the other. The paths add up to "
        "blocked_share, less a wait that nothing has ended when the run ends.",
        "(w at t1 - w at t0) / (t1 - t0), w = blocking_us + (blocked_us - sum of blocking_us) for "
        "the next subflow whose blocking_us grows",
        "subflow and connection at the receiver",
    )
    new_segments: Whole = figure(
        "",
        "Segments that the scheduler sent over this path for the first time. Whole run, warm-up "
        "included. Missing, as the next two, for a scheduler that is not asked segment by segment.",
        "new_segments at the last sample",
        "subflow at the sender",
    )
    duplicate_segments: Whole = figure(
        "",
        "Segments that the scheduler sent over this path while they were on their way over "
        "another. Whole run, warm-up included.",
        "duplicates at the last sample",
        "subflow at the sender",
    )
    reinjected_segments: Whole = figure(
        "",
        "Segments of another path in trouble that the scheduler sent again over this one. Whole "
        "run, warm-up included.",
        "reinjections at the last sample",
        "subflow at the sender",
    )
    utilisation: Real = figure(
        "",
        "Payload that arrived, as a part of what the link carries. Headers take capacity too: with "
        "full-sized packets of 1514 bytes a full link shows about 0.94 with MPTCP and 0.96 with "
        "plain TCP. Null if the link carried nothing in all that time.",
        "goodput_bps of the path / rate of the path in the direction of the data, mean over t0 to "
        "t1",
        "subflow at the receiver; scenario",
    )
    limited_by_cwnd: Real = figure(
        "",
        "Part of the measured time in which as much was in flight on the path as its "
        "congestion window allows: the path was used as far as its congestion control knew it. "
        "So it counts when TCP has data in the queue of the subflow and keeps it back until a "
        "third of the window is free, to send a larger segment (TSO deferral). Of several "
        "subflows on the path, over all connections, the state that comes first in this list "
        "counts. The seven parts from limited_by_cwnd to absent add up to 1.",
        "samples with in_flight >= cwnd, or unsent_bytes of the subflow >= mss and 3 x (cwnd - "
        "in_flight) < cwnd / samples in [t0, t1]",
        "subflow and connection at the sender",
    )
    limited_by_pacing: Real = figure(
        "",
        "Part of the measured time in which more than a third of the congestion window was free "
        "and a segment or more waited in the queue of the subflow: it is paced, as with BBR.",
        "samples with 3 x (cwnd - in_flight) >= cwnd, unsent_bytes of the subflow >= mss and room "
        "in its receive window / samples in [t0, t1]",
        "subflow and connection at the sender",
    )
    limited_by_window: Real = figure(
        "",
        "Part of the measured time in which the path was idle, or not used in full, though "
        "there was data and room in the congestion window, because the receive window was "
        "closed.",
        "samples with in_flight < cwnd and window_bytes < min(written_bytes - sent_bytes, mss) "
        "/ samples in [t0, t1]; for data in the queue of the subflow, by the window of the "
        "subflow",
        "subflow and connection at the sender",
    )
    limited_by_scheduler: Real = figure(
        "",
        "Part of the measured time in which there was data, and room in both windows, and the "
        "scheduler sent nothing over the path.",
        "samples with in_flight < cwnd, written_bytes > sent_bytes and window_bytes >= "
        "min(written_bytes - sent_bytes, mss) / samples in [t0, t1]",
        "subflow and connection at the sender",
    )
    limited_by_send_buffer: Real = figure(
        "",
        "Part of the measured time in which all data was sent, the congestion window had room, "
        "and the application waited for room in the send buffer, which holds what is not "
        "acknowledged.",
        "samples with in_flight < cwnd, written_bytes = sent_bytes and flag 1 / samples in "
        "[t0, t1]",
        "subflow and connection at the sender",
    )
    limited_by_application: Real = figure(
        "",
        "Part of the measured time in which all data was sent, the congestion window had room, "
        "and the application wrote no more.",
        "samples with in_flight < cwnd, written_bytes = sent_bytes and no flag / samples in "
        "[t0, t1]",
        "subflow and connection at the sender",
    )
    absent: Real = figure(
        "",
        "Part of the measured time in which no subflow on the path could carry data: it was "
        "closed, or not yet established.",
        "samples without a subflow in a state of TCP in which it sends / samples in [t0, t1]",
        "subflow and connection at the sender",
    )
    queue_packets_mean: Real = figure(
        "packets",
        "Mean over time of the packets that wait in front of the path, the one that is being "
        "sent included; those on their way are not in it.",
        "mean of the samples of queue_packets in [t0, t1]",
        "link, in the direction of the data",
    )
    queue_packets_max: Whole = figure(
        "packets",
        "The longest of these samples.",
        "maximum of the samples of queue_packets in [t0, t1]",
        "link, in the direction of the data",
    )
    queue_delay_ms_mean: Real = figure(
        "ms",
        "Mean time that a packet spent in the queue, being sent included.",
        "mean of the samples of queue_bytes in [t0, t1] / ((sent_bytes at t1 - sent_bytes at "
        "t0) / (t1 - t0)) (Little's law)",
        "link, in the direction of the data",
    )
    queue_dropped_packets: Whole = figure(
        "packets",
        "Packets that the queue dropped, because it was full or its discipline chose to. From "
        "T0 on, warm-up included.",
        "dropped_packets - lost_packets, last sample less first",
        "link, in the direction of the data",
    )
    lost_packets: Whole = figure(
        "packets",
        "Packets lost at random, as the loss of the path says, or all while it is down. From "
        "T0 on, warm-up included.",
        "lost_packets, last sample less first",
        "link, in the direction of the data",
    )
    detection_s_mean: Real = figure(
        "s",
        "Mean time from the begin of such an event until no more is sent over the path than it "
        "then carries: how fast the sender notices. An event counts that lowers the rate of "
        "the path and is undone: one with lasts, or a down until up. Missing without one, as the "
        "next five.",
        "of the first of the bins of 50 ms from the begin on in which 8 x (sent_bytes at its "
        "end - sent_bytes at its begin) <= 1.1 x what the link then carries in it: the begin; "
        "none: the length of the event",
        "subflow at the sender; scenario",
    )
    detection_s_max: Real = figure(
        "s",
        "The longest of these times.",
        "as detection_s_mean",
        "subflow at the sender; scenario",
    )
    recovery_s_mean: Real = figure(
        "s",
        "Mean time from the end of such an event until the goodput of the path is back. Events "
        "before which the path carried nothing are left out.",
        "of the first of the bins of 100 ms that end at a sample and begin after the event, in "
        "which received_bytes grows by 90 % of what it did, on average, in the second before "
        "the event: the begin; none until the next event of the path or t1: that time",
        "subflow at the receiver; scenario",
    )
    recovery_s_max: Real = figure(
        "s",
        "The longest of these times.",
        "as recovery_s_mean",
        "subflow at the receiver; scenario",
    )
    resumption_s_mean: Real = figure(
        "s",
        "Mean time from the end of such an event until anything arrives over the path, of the "
        "events in which it carries nothing: down, unplug, close. Those before which the path "
        "carried nothing are left out.",
        "first sample after the event with more received_bytes + ofo_bytes than until its end, "
        "less its end; none until the next event of the path or t1: that time",
        "subflow at the receiver; scenario",
    )
    resumption_s_max: Real = figure(
        "s",
        "The longest of these times.",
        "as resumption_s_mean",
        "subflow at the receiver; scenario",
    )


PATH_METRICS = metrics_of(PathFigures)


_SOURCE = "messages.records"

_COMPLETION = (
    "Of transfers, responses, objects and segments: the time from when it was due, or, if it was "
    "asked for, its request was, until its last byte was read."
)
_DELAY = (
    "Of blocks and frames: the time from when it was due until its last byte was read, so that "
    "what waited in the send buffer is in it."
)


def _seen(unit: str, meaning: str, formula: str) -> Any:
    return figure(unit, meaning, formula, _SOURCE)


def _quantile(share: str) -> Any:
    formula = f"nearest rank: the lowest that at least {share} of them do not exceed"
    return _seen("ms", f"The same time: {share} of them took no longer.", formula)


class ApplicationFigures(Figures):
    """What the applications saw; bulk data has no such figures."""

    completed: Whole = _seen(
        "",
        "Transfers, blocks, responses, objects, segments or frames that arrived whole, of those "
        "that were due after the warm-up. Missing, as all of these, for bulk.",
        "number with complete_ns > 0 and due_ns >= start_ns + warmup",
    )
    completion_ms_mean: Real = _seen(
        "ms",
        f"{_COMPLETION} The mean of those completed.",
        "mean of (complete_ns - due_ns) / 10^6, with due_ns that of the request if there is one",
    )
    completion_ms_median: Real = _quantile("half")
    completion_ms_p95: Real = _quantile("95 %")
    completion_ms_p99: Real = _quantile("99 %")
    completion_ms_max: Real = _seen("ms", "The same time: the longest.", "highest of them")
    transfer_goodput_bps: Real = _seen(
        "bit/s",
        "Of transfers: what the application got while it waited for one.",
        "8 x sum of bytes / sum of the completion times, of those completed",
    )
    delay_ms_mean: Real = _seen(
        "ms",
        f"Application delay. {_DELAY} The mean.",
        "mean of (complete_ns - due_ns) / 10^6",
    )
    delay_ms_sd: Real = _seen(
        "ms",
        "Standard deviation of the application delay; its square is the variance.",
        "square root of the mean of the squares less the square of the mean",
    )
    delay_variation_ms_mean: Real = _seen(
        "ms",
        "How much the application delay differs from one block or frame to the next (of the same "
        "direction), in the mean.",
        "mean of |delay of i - delay of i-1|",
    )
    delay_ms_p99: Real = _seen(
        "ms",
        "99 % of the blocks or frames had no higher application delay.",
        "nearest rank",
    )
    delay_ms_max: Real = _seen("ms", "The highest application delay.", "highest of them")
    page_load_s: Real = _seen(
        "s",
        "Of web: the time until the last object had arrived. Missing if one did not.",
        "(highest complete_ns - start_ns) / 10^9",
    )
    startup_s: Real = _seen(
        "s",
        "Of video: the time until playback began, with the first segment.",
        "(complete_ns of segment 1 - start_ns) / 10^9",
    )
    stalls: Whole = _seen(
        "",
        "Of video: how often the player ran dry and waited for a segment.",
        "number of k with c(k) > e(k-1), docs/workloads.md",
    )
    stall_s: Real = _seen(
        "s",
        "Of video: how long it waited, in all; the start-up is not in it.",
        "sum of c(k) - e(k-1) over the stalls / 10^9",
    )
    bitrate_bps: Real = _seen(
        "bit/s",
        "Of video: the mean bitrate of what was played.",
        "mean of the bitrates of the segments that arrived",
    )
    switches: Whole = _seen(
        "",
        "Of video: how often the bitrate changed from a segment to the next.",
        "number of segments with another choice than the one before",
    )
    in_time: Real = _seen(
        "",
        "Of frames: part that arrived whole before its deadline, from 0 to 1. What did not arrive "
        "at all was not in time.",
        "number with complete_ns - due_ns <= deadline / number of frames",
    )
    playable: Real = _seen(
        "",
        "Of frames: part that arrived whole before its deadline, and all that it needs by then, "
        "too, directly or not: what a decoder could show in time.",
        "number whose complete_ns, and those of all it needs, are <= due_ns + deadline / number of "
        "frames",
    )


class RunFigures(ApplicationFigures, TransportFigures):
    """All figures of a run: what its connections did, and then what the applications saw."""

    # unknown ones are figures, too
    __pydantic_extra__: dict[str, Real]


RUN_METRICS = metrics_of(RunFigures)


class ConnectionFigures(Figures):
    """One of several connections of a run."""

    name: str = figure(
        "", "Name of the connection, as in the scenario.", "", "scenario", default=...
    )
    transport: str = figure(
        "",
        "mptcp or tcp; `cc`, its congestion control, `scheduler`, "
        "missing for plain TCP, and `paths`, the names of its paths, stand beside it.",
        "",
        "scenario",
        default="",
    )
    scheduler: str | None = None
    cc: str = ""
    paths: tuple[str, ...] = ()
    goodput_bps: Real = figure(
        "bit/s",
        "Its goodput over its own life: from its start, less its warm-up, to its end.",
        "as goodput_bps of the run, with t0 = T0 + start + warmup and t1 = T0 + end",
        "connection at its receiver",
    )
    common_goodput_bps: Real = figure(
        "bit/s",
        "Its goodput in the common time, in which all connections send: from the end of the last "
        "warm-up to the first end. Missing, as share, if there is no such time.",
        "as goodput_bps of the run, from the latest T0 + start + warmup to the "
        "earliest end, both moved inwards to samples",
        "connection at its receiver",
    )
    share: Real = figure(
        "",
        "Its part of what all connections together got in the common time.",
        "common_goodput_bps / sum of common_goodput_bps over all connections",
        "connection at its receiver",
    )
    takeover_s: Real = figure(
        "s",
        "How fast others use what it leaves: the time from its end until the connections that "
        "share a link with it, and send on, have together what all of them had before. Missing if "
        "nobody does, or not for so long.",
        "of the first of the bins of 100 ms from T0 + end on in which received_bytes of the others "
        "grows by 90 % of what it did, of all, on average, in the second before: the begin",
        "subflow at the receivers",
    )
    metrics: RunFigures = figure(
        "",
        "All figures of a run, as if the connection were the only one.",
        "as above, over its own life",
        "",
        default_factory=RunFigures,
    )


_QUEUE = "link, in that direction"


def _of_queue(name: str) -> Any:
    """A figure of the queue of a path, of that of a link."""
    (same,) = (metric for metric in PATH_METRICS if metric.name == name)
    return figure(same.unit, same.meaning, same.formula, _QUEUE)


class LinkFigures(Figures):
    """A direction of a link that paths share, or, if programs sent the data, of a path."""

    name: str = figure("", "Name of the link, as in the scenario.", "", "scenario", default=...)
    direction: str = figure("", "up, from the clients to the servers, or down.", "", "", default="")
    carried_bps: Real = figure(
        "bit/s",
        "What the link carried in [t0, t1] of the run, headers of Ethernet included.",
        "8 x (sent_bytes at t1 - sent_bytes at t0) / (t1 - t0)",
        _QUEUE,
    )
    utilisation: Real = figure(
        "",
        "What the link carried, as a part of what it can: 1 is all.",
        "carried_bps / rate of the link, mean over t0 to t1",
        f"{_QUEUE}; scenario",
    )
    queue_packets_mean: Real = _of_queue("queue_packets_mean")
    queue_packets_max: Whole = _of_queue("queue_packets_max")
    queue_delay_ms_mean: Real = _of_queue("queue_delay_ms_mean")
    queue_dropped_packets: Whole = _of_queue("queue_dropped_packets")
    lost_packets: Whole = figure(
        "packets",
        "Packets lost at random, as the loss of the link says, or all while it is down. From T0 "
        "on, warm-up included.",
        "lost_packets, last sample less first",
        _QUEUE,
    )


_SENT = "capture next to the sender"
_ARRIVED = "capture next to the receiver"
_BOTH = "both captures"


class UdpFigures(Figures):
    """A direction of a UDP flow: what one socket sent to another, by the captures of both ends.

    `path` is the name of the path that its packets take, if the scenario is known.
    """

    client: str = figure(
        "",
        "Address and port of the one that sent the flow's first packet; `server`, the other one's, "
        "and in a run `path`, that of the client's address, stand beside it.",
        "",
        _SENT,
        default="",
    )
    server: str = ""
    path: str | None = None
    direction: str = figure(
        "", "up, from the client to the server, or down.", "", _SENT, default=""
    )
    packets: Whole = figure(
        "packets",
        "What was sent. A datagram in fragments counts as its first one.",
        "number of packets",
        _SENT,
    )
    payload_bytes: Whole = figure(
        "bytes",
        "What was sent, headers of UDP and below left out.",
        "sum of (length in the header of UDP - 8)",
        _SENT,
    )
    first_s: Real = figure(
        "s",
        "When the first packet was sent: in a run after T0, for `analyze` after the first packet "
        "of the captures.",
        "time of the first packet",
        _SENT,
    )
    last_s: Real = figure(
        "s", "When the last packet was sent.", "as first_s, of the last packet", _SENT
    )
    arrived_packets: Whole = figure("packets", "What arrived.", "as packets", _ARRIVED)
    arrived_bytes: Whole = figure(
        "bytes", "The payload that arrived.", "as payload_bytes", _ARRIVED
    )
    payload_bps: Real = figure(
        "bit/s",
        "The payload that arrived, per second. What the program itself adds (headers of QUIC or of "
        "a tunnel) and sends again is in it, so it is not goodput. Flows to the same port of the "
        "server are measured over the same time, so that they can be compared.",
        "8 x arrived_bytes / time from the first to the last packet that arrived, in this "
        "direction, of all flows to this port of the server",
        _ARRIVED,
    )
    share: Real = figure(
        "",
        "Its part of all payload that arrived in this direction of flows to the same port of the "
        "server: of a program that uses several paths, the share of each.",
        "arrived_bytes / sum of arrived_bytes over these flows",
        _ARRIVED,
    )
    lost_packets: Whole = figure(
        "packets",
        "Packets that did not arrive, though one that was sent later did.",
        "number of packets that are not in the receiver's capture, before the last that is",
        _BOTH,
    )
    pending_packets: Whole = figure(
        "packets",
        "Packets sent after the last one that arrived: on their way when the captures ended, or "
        "lost.",
        "packets sent after the last one that is in the receiver's capture",
        _BOTH,
    )
    alike_packets: Whole = figure(
        "packets",
        "Packets that look like others that were sent, of which some arrived: which, and when, is "
        "not known, also where as many arrived, since some may be lost and others duplicated. They "
        "count neither as lost nor as pending, and are in none of the figures below: with them, "
        "packets lost and reordered may be more. If all are alike, these figures are missing.",
        "number of packets with the same identification of IPv4, length, and first 48 bytes of "
        "payload as others that were sent, if any of these arrived",
        _BOTH,
    )
    delay_ms_min: Real = figure(
        "ms",
        "The shortest one-way delay, from the device of the sender to that of the receiver. In the "
        "lab all clocks are the same; elsewhere, the difference of the clocks is in it.",
        "lowest of (time at the receiver - time at the sender)",
        _BOTH,
    )
    delay_ms_median: Real = figure(
        "ms",
        "The one-way delay that half of the packets that arrived do not exceed.",
        "median of the delays",
        _BOTH,
    )
    delay_ms_p95: Real = figure(
        "ms", "That which 95 % do not exceed.", "95th percentile of the delays", _BOTH
    )
    delay_ms_max: Real = figure("ms", "The longest one.", "highest of the delays", _BOTH)
    reordered_packets: Whole = figure(
        "packets",
        "Packets that arrived after one that was sent later on the same flow (RFC 4737, "
        "section 3).",
        "number of packets that arrived after one of a later place in the sender's capture",
        _BOTH,
    )
