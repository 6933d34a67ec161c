# SPDX-License-Identifier: GPL-2.0-only
"""Every metric, defined once: all outputs take its name, unit and meaning from here.

docs/metrics.md is made of them; the text below a figure is its meaning. Module `compute` computes
them, most with a recipe (`counter`, `Recipe`) without further code.
"""

from __future__ import annotations

from typing import Any

from mptcplab.metrics.schema import Figures, Real, Recipe, Trait, Whole, counter, figure, metrics_of

SUM, PROBE, DECISIONS = Trait

_SENDER, _RECEIVER = "connection at the sender", "connection at the receiver"
_SENDERS_SUBFLOW, _RECEIVERS_SUBFLOW = "subflow at the sender", "subflow at the receiver"


class TransportFigures(Figures):
    """What the connections of a run did."""

    goodput_bps: Real = figure(
        "bit/s",
        "duration: 8 x (a at t1 - a at t0) / (t1 - t0), a = delivered_bytes + ofo_bytes of the "
        "connection + ofo_bytes of its subflows (plain TCP: delivered_bytes + ofo_bytes); "
        "size: 8 x size / (complete_ns - start_ns)",
        "connection and subflow at the receiver; guest.json",
    )
    """Application bytes per second that arrive at the receiver, each once (RFC 2647, 3.17):
    headers, retransmissions and duplicates do not count. A byte counts when it arrives, even if an
    earlier one is missing. Otherwise data of the warm-up would count later, and a run could have
    more than its links carry. The data that a reader gets in order differs by at most a receive
    buffer.
    """
    goodput_down_bps: Real = figure("bit/s", "as goodput_bps", "connection at the client")
    """Goodput of the data to the client, if a workload sends in both directions. All other figures
    then describe the data to the server, except for the times of messages, which count both.
    Missing for other workloads.
    """
    aggregation_benefit: Real = figure(
        "",
        "with g the goodput, C_i the goodput of plain TCP over path i alone, C_max the highest "
        "C_i: (g - C_max) / (sum C_i - C_max) if g >= C_max, else (g - C_max) / C_max "
        "(after Kaspar 2012; Paasch et al. 2013, where C_i are capacities)",
        "goodput_bps of the run and of its baselines",
    )
    """Benefit of the additional paths: 1 is the sum of the paths, 0 is as good as the best path
    alone, -1 is no data at all. It needs runs of plain TCP over each path alone, with the same
    seed, and is missing without them or with a single path. MPTCP has longer headers than TCP, so
    full use of all paths stays a little below 1.
    """
    fairness: Real = figure(
        "",
        "(sum g_i)^2 / (n x sum g_i^2), with g_i the goodput of connection i (Jain, Chiu, Hawe "
        "1984), or with connections in the scenario its common_goodput_bps",
        _RECEIVER,
    )
    """Jain's fairness index of the goodputs of the connections: 1 if all are equal, 1/n if one of n
    has all. Missing with fewer than two connections.
    """
    ofo_bytes_mean: Real = figure("bytes", Recipe("mean", "ofo_bytes"), _RECEIVER, PROBE)
    """Mean over time of the out-of-order queue of the connection: bytes that arrived and wait for
    an earlier byte (head-of-line blocking). The queues of the subflows, where data waits for a loss
    on the same path, do not count.
    """
    ofo_bytes_p50: Whole = figure("bytes", Recipe("p50", "ofo_bytes"), _RECEIVER, PROBE)
    """Median over time of the out-of-order queue."""
    ofo_bytes_p95: Whole = figure("bytes", Recipe("p95", "ofo_bytes"), _RECEIVER, PROBE)
    """95th percentile over time of the out-of-order queue."""
    ofo_bytes_p99: Whole = figure("bytes", Recipe("p99", "ofo_bytes"), _RECEIVER, PROBE)
    """99th percentile over time, not over packets: the out-of-order queue of the connection was not
    longer for 99 % of the measured time.
    """
    blocked_share: Real = figure(
        "", "(blocked_us at t1 - blocked_us at t0) / (t1 - t0)", _RECEIVER, PROBE
    )
    """Part of the measured time in which data waited at the receiver for an earlier byte
    (head-of-line blocking), to the microsecond. Several connections add up. 0 for plain TCP, whose
    data waits in the queue of its subflow.
    """
    blocks: Whole = figure("", Recipe("increase", "blocks"), _RECEIVER, SUM, PROBE)
    """Number of times that data began to wait for an earlier byte."""
    longest_gap_s: Real = figure(
        "s",
        "longest time from t0 or a start to the next start or t1; a start is a sample at which "
        "delivered_bytes of the connection has grown, or before which written_bytes of its sender "
        "had all been delivered",
        "connection at both ends",
        PROBE,
    )
    """Longest time in which the receiver got nothing in order, although the sender had data that
    had not arrived.
    """
    retransmitted_packets: Whole = counter(
        "retransmitted_packets", _SENDERS_SUBFLOW, unit="packets"
    )
    """Packets that a subflow sent again on the same path, even without need; a repeated SYN counts,
    too. Reinjections on another path do not count (see duplicate_bytes). Covers the whole run,
    warm-up included.
    """
    retransmitted_bytes: Whole = counter("retransmitted_bytes", _SENDERS_SUBFLOW, unit="bytes")
    """Payload of the retransmitted packets. Covers the whole run, warm-up included."""
    data_packets: Whole = counter("data_packets_out", _SENDERS_SUBFLOW, unit="packets")
    """Packets with payload that the sender sent, retransmissions included. Covers the whole run,
    warm-up included.
    """
    reinjected_bytes: Whole = counter("reinjected_bytes", _SENDER, unit="bytes")
    """Payload that the connection sent again: duplicates, and data of a path in trouble. Covers the
    whole run, warm-up included.
    """
    duplicate_bytes: Whole = figure(
        "bytes",
        "sum over subflows of received_bytes - delivered_bytes - ofo_bytes, at the last sample",
        "subflow and connection at the receiver",
        SUM,
        PROBE,
    )
    """Payload that arrived over more than one path: reinjections and duplicates that were not
    needed. Bytes that a subflow has received and not yet passed on count as well, at most a few
    packets. Covers the whole run, warm-up included.
    """
    wasted_bytes: Whole = figure(
        "bytes",
        "sum over subflows of (sent_bytes + unsent_bytes) - sent_bytes of the connection, at "
        "the last sample; plain TCP: retransmitted_bytes",
        "subflow and connection at the sender",
        SUM,
    )
    """Payload sent beyond one copy of each byte, whether it arrived or not: retransmissions,
    reinjections and duplicates. Data in the queues of subflows counts as sent. Covers the whole
    run, warm-up included.
    """
    send_buffer_bytes_mean: Real = figure("bytes", Recipe("mean", "sndbuf_used"), _SENDER)
    """Mean over time of the memory in the send buffer of the connection, with the kernel's overhead
    per packet.
    """
    receive_buffer_bytes_mean: Real = figure("bytes", Recipe("mean", "rcvbuf_used"), _RECEIVER)
    """Mean over time of the memory in the receive buffer of the connection, with the kernel's
    overhead per packet.
    """
    receive_window_bytes_mean: Real = figure(
        "bytes", Recipe("mean", "window_bytes"), _SENDER, PROBE
    )
    """Mean over time of the bytes beyond the highest sent byte that the receive window still
    permitted, as the sender knew it. Near 0: the receive window was the limit.
    """
    limited_by_window: Real = figure(
        "",
        "samples with window_bytes < min(written_bytes - sent_bytes, mss) / samples in [t0, "
        "t1]; of several connections, at least one",
        "connection and subflow at the sender",
        PROBE,
    )
    """Part of the measured time in which the sender had data that was never sent, and the receive
    window had no room for a segment of it.
    """
    completion_s: Real = figure("s", "(complete_ns - start_ns) / 10^9", "guest.json")
    """Time from the start of the workload until the receiver had all data. Missing for a workload
    with a duration.
    """
    subflows: Whole = figure("", "number of different n", _SENDERS_SUBFLOW, SUM)
    """Number of subflows that the connection had during the run."""
    duplicate_segments: Whole = counter("duplicates", _SENDERS_SUBFLOW, DECISIONS)
    """Segments that the scheduler sent again at once, while they were on their way over another
    path. This figure and the next nine are missing for upstream's default scheduler, which does not
    decide segment by segment, and for plain TCP. Covers the whole run, warm-up included.
    """
    reinjected_segments: Whole = counter("reinjections", _SENDERS_SUBFLOW, DECISIONS)
    """Segments of a path in trouble (a timeout, a lost address) that the scheduler sent again over
    another path. Covers the whole run, warm-up included.
    """
    waits: Whole = counter("waits", _SENDER, DECISIONS)
    """Number of times that the scheduler chose to send nothing. Covers the whole run, warm-up
    included.
    """
    refused_picks: Whole = counter("refused", _SENDER, DECISIONS)
    """Picks of the scheduler that make no sense, such as a closed subflow or an acknowledged
    segment. They are mistakes in the scheduler. Covers the whole run, warm-up included.
    """
    forced_picks: Whole = counter("forced", _SENDER, DECISIONS)
    """Segments that the framework sent because the scheduler waited with nothing in flight that
    could end the wait. They are mistakes in the scheduler. Covers the whole run, warm-up included.
    """
    fallbacks: Whole = counter("fallbacks", _SENDER, DECISIONS)
    """Decisions of the scheduler without a value that it needs, such as one-way delays that cannot
    be compared. Its page describes these decisions. Covers the whole run, warm-up included.
    """
    forced_reinjections: Whole = counter("forced_reinjections", _SENDER, DECISIONS)
    """Reinjections of the oldest segment by the framework, with nothing outstanding on any path,
    because the scheduler named no usable path for it. They are mistakes in the scheduler. Covers
    the whole run, warm-up included.
    """
    deferred_questions: Whole = counter("deferred", _SENDER, DECISIONS)
    """Questions that the framework deferred to the next tick, because timers or window cuts of the
    scheduler caused 1024 questions in one tick. They are mistakes in the scheduler. Covers the
    whole run, warm-up included.
    """
    refused_calls: Whole = counter("refused_calls", _SENDER, DECISIONS)
    """Calls of functions with a subflow that no longer exists, which did nothing. They are mistakes
    in the scheduler. Covers the whole run, warm-up included.
    """
    decisions_per_s: Real = figure(
        "1/s",
        "(new_segments + duplicates + reinjections over all subflows + waits + refused) / "
        "(time from the first to the last sample)",
        "connection and subflow at the sender",
        SUM,
        DECISIONS,
    )
    """Picks and waits of the scheduler per second of virtual time. Covers the whole run, warm-up
    included.
    """


def _limit(formula: str) -> Any:
    """A figure of the time that a path is in a state of module `sender_states`."""
    text = f"samples {formula} / samples in [t0, t1]"
    return figure("", text, "subflow and connection at the sender", PROBE)


_PATH_QUEUE = "link, in the direction of the data"


class PathFigures(Figures):
    """What was carried over a path."""

    name: str = figure("", "", "scenario", default=...)
    """Name of the path, as in the scenario."""
    goodput_bps: Real = figure(
        "bit/s",
        "8 x (a at t1 - a at t0) / (t1 - t0), a = received_bytes + ofo_bytes",
        _RECEIVERS_SUBFLOW,
    )
    """Payload per second that arrived over this path, in order or not. A byte that arrived over two
    paths counts on both. So the paths together exceed the goodput of the run by the duplicates.
    """
    share: Real = figure(
        "", "goodput_bps of the path / sum of goodput_bps over all paths", _RECEIVERS_SUBFLOW
    )
    """Part of the payload of all paths that arrived over this one, from 0 to 1. Duplicates count on
    each path, retransmissions count once. Missing if nothing arrived.
    """
    goodput_down_bps: Real = figure("bit/s", "as goodput_bps", "subflow at the client")
    """The same of the data to the client, if a workload sends in both directions; else missing."""
    share_down: Real = figure("", "as share, of goodput_down_bps", "subflow at the client")
    """The same of the data to the client, if a workload sends in both directions; else missing."""

    def shares(self) -> tuple[float | None, ...]:
        """Its share; if data went in both directions, that of each, up first."""
        return (self.share,) if self.goodput_down_bps is None else (self.share, self.share_down)

    srtt_ms_mean: Real = figure("ms", Recipe("mean of each", "srtt_us", 1000), _SENDERS_SUBFLOW)
    """Mean over time of the sender's smoothed RTT, with the time in queues."""
    cwnd_mean: Real = figure("packets", Recipe("mean of each", "cwnd"), _SENDERS_SUBFLOW)
    """Mean over time of the congestion window."""
    in_flight_mean: Real = figure("packets", Recipe("mean of each", "in_flight"), _SENDERS_SUBFLOW)
    """Mean over time of the packets in flight. If it is far below cwnd_mean, the limit was the
    scheduler, the receive window or the send buffer, not the congestion window.
    """
    retransmitted_packets: Whole = counter(
        "retransmitted_packets", _SENDERS_SUBFLOW, unit="packets"
    )
    """Packets that were sent again on this path. Covers the whole run, warm-up included."""
    ofo_bytes_mean: Real = figure("bytes", Recipe("mean", "ofo_bytes"), _RECEIVERS_SUBFLOW, PROBE)
    """Mean over time of the out-of-order queue of the subflow: data that waits for a packet of the
    same path.
    """
    ofo_bytes_p99: Whole = figure("bytes", Recipe("p99", "ofo_bytes"), _RECEIVERS_SUBFLOW, PROBE)
    """99th percentile over time of the out-of-order queue of the subflow."""
    blocking_share: Real = figure(
        "",
        "(w at t1 - w at t0) / (t1 - t0), w = blocking_us + (blocked_us - sum of blocking_us) for "
        "the next subflow whose blocking_us grows",
        "subflow and connection at the receiver",
        PROBE,
    )
    """Part of the measured time in which data of the connection waited for a byte that then came
    over this path: the part of blocked_share that the path caused. The measured part of a wait
    counts for the path that ended it. So a loss on one path counts for another path if a
    reinjection there ended the wait. The paths add up to blocked_share, except for a wait that goes
    on at the end of the run.
    """
    new_segments: Whole = counter("new_segments", _SENDERS_SUBFLOW, DECISIONS)
    """Segments that the scheduler sent for the first time, over this path. This figure and the next
    two are missing for a scheduler that does not decide segment by segment. Covers the whole run,
    warm-up included.
    """
    duplicate_segments: Whole = counter("duplicates", _SENDERS_SUBFLOW, DECISIONS)
    """Segments that the scheduler sent over this path while they were on their way over another.
    Covers the whole run, warm-up included.
    """
    reinjected_segments: Whole = counter("reinjections", _SENDERS_SUBFLOW, DECISIONS)
    """Segments of another path in trouble that the scheduler sent again over this one. Covers the
    whole run, warm-up included.
    """
    utilisation: Real = figure(
        "",
        "goodput_bps of the path / rate of the path in the direction of the data, mean over t0 to "
        "t1",
        "subflow at the receiver; scenario",
    )
    """Payload that arrived, as a part of the link's rate. Headers take capacity, too: with
    full-sized packets of 1514 bytes, a full link shows about 0.94 with MPTCP and 0.96 with plain
    TCP. Null if the link carried nothing in all that time.
    """
    limited_by_cwnd: Real = _limit(
        "with in_flight >= cwnd, or unsent_bytes of the subflow >= mss and 3 x (cwnd - in_flight) "
        "< cwnd"
    )
    """Part of the measured time in which the packets in flight filled the congestion window. The
    congestion control thus used the path as far as it knew it. This includes TSO deferral: TCP
    holds back queued data until a third of the window is free, to send a larger segment. Of several
    subflows on a path, the state that comes first in this list counts. The seven parts from
    limited_by_cwnd to absent add up to 1.
    """
    limited_by_pacing: Real = _limit(
        "with 3 x (cwnd - in_flight) >= cwnd, unsent_bytes of the subflow >= mss and room "
        "in its receive window"
    )
    """Part of the measured time in which the subflow was paced, as with BBR: more than a third of
    the congestion window was free, and a segment or more waited in the queue of the subflow.
    """
    limited_by_window: Real = _limit(
        "with in_flight < cwnd and window_bytes < min(written_bytes - sent_bytes, mss), or for "
        "data in the queue of the subflow, by the window of the subflow,"
    )
    """Part of the measured time in which there was data, and room in the congestion window, but the
    receive window was closed.
    """
    limited_by_scheduler: Real = _limit(
        "with in_flight < cwnd, written_bytes > sent_bytes and window_bytes >= "
        "min(written_bytes - sent_bytes, mss)"
    )
    """Part of the measured time in which there was data, and room in both windows, and the
    scheduler sent nothing over the path.
    """
    limited_by_send_buffer: Real = _limit(
        "with in_flight < cwnd, written_bytes = sent_bytes and flag 1"
    )
    """Part of the measured time in which all data was sent, the congestion window had room, and the
    application waited for room in the send buffer. The buffer holds data until it is acknowledged.
    """
    limited_by_application: Real = _limit(
        "with in_flight < cwnd, written_bytes = sent_bytes and no flag"
    )
    """Part of the measured time in which all data was sent, the congestion window had room, and the
    application wrote no more.
    """
    absent: Real = _limit("without a subflow in a state of TCP in which it sends")
    """Part of the measured time in which no subflow on the path could carry data: it was closed, or
    not yet established.
    """
    queue_packets_mean: Real = figure(
        "packets", "mean of the samples of queue_packets in [t0, t1]", _PATH_QUEUE
    )
    """Mean over time of the packets in the queue, including the one that is being sent. Packets on
    their way do not count.
    """
    queue_packets_max: Whole = figure(
        "packets", "maximum of the samples of queue_packets in [t0, t1]", _PATH_QUEUE
    )
    """Most packets in the queue at any sample."""
    queue_delay_ms_mean: Real = figure(
        "ms",
        "mean of the samples of queue_bytes in [t0, t1] / ((sent_bytes at t1 - sent_bytes at "
        "t0) / (t1 - t0)) (Little's law)",
        _PATH_QUEUE,
    )
    """Mean time of a packet in the queue, including the time to send it."""
    queue_dropped_packets: Whole = figure(
        "packets", "dropped_packets - lost_packets, last sample less first", _PATH_QUEUE
    )
    """Packets that the queue dropped, because it was full or its discipline chose to. Counted from
    T0 on, warm-up included.
    """
    lost_packets: Whole = figure("packets", "lost_packets, last sample less first", _PATH_QUEUE)
    """Packets that the configured loss took at random, or all packets while the link is down.
    Counted from T0 on, warm-up included.
    """
    detection_s_mean: Real = figure(
        "s",
        "start of the first bin of 50 ms in which 8 x (growth of sent_bytes) <= 1.1 x the capacity "
        "of the link; without one, the length of the event",
        "subflow at the sender; scenario",
    )
    """Mean time from the start of an event until the sender sends no more over the path than the
    path can carry. An event counts if it lowers the rate of the path and ends: one with lasts, or
    a down until up. This figure and the next five are missing without such an event.
    """
    detection_s_max: Real = figure("s", "as detection_s_mean", "subflow at the sender; scenario")
    """Longest detection time."""
    recovery_s_mean: Real = figure(
        "s",
        "start of the first 100 ms that end at a sample, begin after the event, and in which "
        "received_bytes grows by 90 % of its mean in the second before the event; without one, the "
        "time until the next event of the path or t1",
        "subflow at the receiver; scenario",
    )
    """Mean time from the end of such an event until the path has its goodput back. Events before
    which the path carried nothing do not count.
    """
    recovery_s_max: Real = figure("s", "as recovery_s_mean", "subflow at the receiver; scenario")
    """Longest recovery time."""
    resumption_s_mean: Real = figure(
        "s",
        "time from the end of the event to the first sample with more received_bytes + ofo_bytes "
        "than until then; without one, the time until the next event of the path or t1",
        "subflow at the receiver; scenario",
    )
    """Mean time from the end of such an event until anything arrives over the path. Only events
    count in which the path carries nothing (down, unplug, close) and before which it carried data.
    """
    resumption_s_max: Real = figure(
        "s", "as resumption_s_mean", "subflow at the receiver; scenario"
    )
    """Longest resumption time."""


PATH_METRICS = metrics_of(PathFigures)


def _seen(unit: str, formula: str) -> Any:
    return figure(unit, formula, "messages.records")


def _quantile(share: str) -> Any:
    return _seen("ms", f"nearest rank: the lowest that at least {share} of them do not exceed")


def _inside(unit: str, formula: str) -> Any:
    return figure(unit, formula, "TCP at both hosts behind the tunnel")


class ApplicationFigures(Figures):
    """What the applications saw; bulk data over one connection has no such figures."""

    connections_established: Whole = _seen("", "number of connections with begin_ns > 0")
    """Connections that were established and began to carry data, of bulk with several. Missing for
    all other workloads.
    """
    connections_failed: Whole = _seen(
        "", "number of connections with a message without complete_ns"
    )
    """Connections that were not established in time, or broke off, of bulk with several. Missing
    for all other workloads.
    """

    completed: Whole = _seen("", "number with complete_ns > 0 and due_ns >= start_ns + warmup")
    """Transfers, blocks, responses, objects, segments or frames that were due after the warm-up and
    arrived whole. This figure and all below are missing for bulk, but for several connections with
    a size. A tunnel has the figures of its bulk data and of its call alone.
    """
    completion_ms_mean: Real = _seen(
        "ms", "mean of (complete_ns - due_ns) / 10^6, with due_ns of the request if it has one"
    )
    """Mean completion time of transfers, responses, objects and segments: from the due time, of the
    request if there is one, until the last byte was read.
    """
    completion_ms_median: Real = _quantile("half")
    """The completion time that half of them did not exceed."""
    completion_ms_p95: Real = _quantile("95 %")
    """The completion time that 95 % of them did not exceed."""
    completion_ms_p99: Real = _quantile("99 %")
    """The completion time that 99 % of them did not exceed."""
    completion_ms_max: Real = _seen("ms", "highest of them")
    """The longest completion time."""
    transfer_goodput_bps: Real = _seen(
        "bit/s", "8 x sum of bytes / sum of the completion times, of those completed"
    )
    """Goodput of transfers, over the time in which the application waited for one."""
    delay_ms_mean: Real = _seen("ms", "mean of (complete_ns - due_ns) / 10^6")
    """Mean application delay of blocks and frames: from the due time until the last byte was read.
    It includes the time in the send buffer.
    """
    delay_ms_sd: Real = _seen(
        "ms", "square root of the mean of the squares less the square of the mean"
    )
    """Standard deviation of the application delay; its square is the variance."""
    delay_variation_ms_mean: Real = _seen("ms", "mean of |delay of i - delay of i-1|")
    """Mean difference of the application delay from one block or frame to the next in the same
    direction.
    """
    delay_ms_p99: Real = _seen("ms", "nearest rank")
    """The application delay that 99 % of the blocks or frames did not exceed."""
    delay_ms_max: Real = _seen("ms", "highest of them")
    """The highest application delay."""
    page_load_s: Real = _seen("s", "(highest complete_ns - start_ns) / 10^9")
    """Time until the last object of a web page had arrived. Missing if one did not."""
    startup_s: Real = _seen("s", "(complete_ns of segment 1 - start_ns) / 10^9")
    """Time until a video began to play, with its first segment."""
    stalls: Whole = _seen("", "number of k with c(k) > e(k-1), docs/workloads.md")
    """Number of times that the video player ran dry and waited for a segment."""
    stall_s: Real = _seen("s", "sum of c(k) - e(k-1) over the stalls / 10^9")
    """Total time of these waits, without the start-up."""
    bitrate_bps: Real = _seen("bit/s", "mean of the bitrates of the segments that arrived")
    """Mean bitrate of the video segments that arrived."""
    switches: Whole = _seen("", "number of segments with another choice than the one before")
    """Number of times that the bitrate changed from one video segment to the next."""
    in_time: Real = _seen("", "number with complete_ns - due_ns <= deadline / number of frames")
    """Part of the frames that arrived whole before their deadline, from 0 to 1. A frame that never
    arrived was not in time.
    """
    playable: Real = _seen(
        "",
        "number of frames that have, with all frames they need, complete_ns <= due_ns + deadline / "
        "number of frames",
    )
    """Part of the frames that a decoder could show in time: the frame and all that it needs,
    directly or not, arrived whole before its deadline.
    """
    bulk_goodput_bps: Real = _inside(
        "bit/s", "as goodput_bps of the run, of the TCP connection inside"
    )
    """Goodput of the bulk data inside a tunnel. The tunnel's own goodput, goodput_bps, also has the
    headers of the packets inside, their lengths, the call and acknowledgments.
    """
    bulk_srtt_ms_mean: Real = _inside("ms", "as srtt_ms_mean of a path")
    """Mean over time of the smoothed RTT that TCP inside a tunnel sees. It includes the time in the
    tunnel's queue and send buffer.
    """
    bulk_retransmitted_packets: Whole = _inside("packets", "as retransmitted_packets of the run")
    """Packets that TCP inside a tunnel sent again. The tunnel loses no packet, so its queue dropped
    them, or they came too late. Covers the whole run, warm-up included.
    """
    call_delay_ms_median: Real = _quantile("half")
    """The one-way delay that half of a call's packets did not exceed: from the due time until the
    program has read the packet. The figures of a call are about the packets in the direction of the
    bulk data that arrived, and were due after the warm-up.
    """
    call_delay_ms_p95: Real = _quantile("95 %")
    """The one-way delay that 95 % of the packets did not exceed."""
    call_delay_ms_p99: Real = _quantile("99 %")
    """The one-way delay that 99 % of the packets did not exceed."""
    call_in_time: Real = _seen(
        "", "number with complete_ns - due_ns <= deadline / number of packets due"
    )
    """Part of the call's packets that arrived before their deadline, from 0 to 1."""
    call_lost: Real = _seen("", "number without complete_ns / number of packets due")
    """Part of the call's packets that never arrived, or later than 10 s after the end of the
    workload.
    """
    call_back_delay_ms_median: Real = _quantile("half")
    """As call_delay_ms_median, of the packets in the other direction, like the next four."""
    call_back_delay_ms_p95: Real = _quantile("95 %")
    """As call_delay_ms_p95."""
    call_back_delay_ms_p99: Real = _quantile("99 %")
    """As call_delay_ms_p99."""
    call_back_in_time: Real = _seen("", "as call_in_time")
    """As call_in_time."""
    call_back_lost: Real = _seen("", "as call_lost")
    """As call_lost."""


class RunFigures(ApplicationFigures, TransportFigures):
    """All figures of a run: what its connections did, and then what the applications saw."""

    # unknown ones are figures, too
    __pydantic_extra__: dict[str, Real]


RUN_METRICS = metrics_of(RunFigures)


class ConnectionFigures(Figures):
    """One of several connections of a run."""

    name: str = figure("", "", "scenario", default=...)
    """Name of the connection, as in the scenario."""
    transport: str = figure("", "", "scenario", default="")
    """mptcp or tcp. Further keys are `cc`, its congestion control, `paths`, the names of its paths,
    and `scheduler`, which is missing for plain TCP.
    """
    scheduler: str | None = None
    cc: str = ""
    paths: tuple[str, ...] = ()
    goodput_bps: Real = figure(
        "bit/s",
        "as goodput_bps of the run, with t0 = T0 + start + warmup and t1 = T0 + end",
        "connection at its receiver",
    )
    """Goodput over its own life: from its start, less its warm-up, to its end."""
    common_goodput_bps: Real = figure(
        "bit/s",
        "as goodput_bps of the run, from the latest T0 + start + warmup to the "
        "earliest end, both moved inwards to samples",
        "connection at its receiver",
    )
    """Goodput in the common time, in which all connections send: from the end of the last warm-up
    to the first end. This figure and share are missing without such a time.
    """
    share: Real = figure(
        "",
        "common_goodput_bps / sum of common_goodput_bps over all connections",
        "connection at its receiver",
    )
    """Its part of the goodput of all connections in the common time."""
    takeover_s: Real = figure(
        "s",
        "start of the first of the bins of 100 ms from T0 + end on in which received_bytes of the "
        "others grows by 90 % of the mean of all in the second before",
        "subflow at the receivers",
    )
    """Time from its end until the other connections on its links together have the goodput that all
    had before. Missing if no other connection sends for that long.
    """
    metrics: RunFigures = figure("", "as above, over its own life", "", default_factory=RunFigures)
    """All figures of a run, as if the connection were the only one."""


_QUEUE = "link, in that direction"


def _of_queue(name: str) -> Any:
    """The figure of a path's queue, for the queue of a link."""
    (same,) = (metric for metric in PATH_METRICS if metric.name == name)
    return figure(same.unit, same.formula, _QUEUE, description=same.meaning)


class LinkFigures(Figures):
    """A direction of a link that paths share, or, if programs sent the data, of a path."""

    name: str = figure("", "", "scenario", default=...)
    """Name of the link, as in the scenario."""
    direction: str = figure("", "", "", default="")
    """up, from the clients to the servers, or down."""
    carried_bps: Real = figure(
        "bit/s", "8 x (sent_bytes at t1 - sent_bytes at t0) / (t1 - t0)", _QUEUE
    )
    """Bits per second that the link carried in [t0, t1] of the run, with Ethernet's headers."""
    utilisation: Real = figure(
        "", "carried_bps / rate of the link, mean over t0 to t1", f"{_QUEUE}; scenario"
    )
    """Part of its rate that the link carried: 1 is all."""
    queue_packets_mean: Real = _of_queue("queue_packets_mean")
    queue_packets_max: Whole = _of_queue("queue_packets_max")
    queue_delay_ms_mean: Real = _of_queue("queue_delay_ms_mean")
    queue_dropped_packets: Whole = _of_queue("queue_dropped_packets")
    lost_packets: Whole = _of_queue("lost_packets")


_SENT = "capture next to the sender"
_ARRIVED = "capture next to the receiver"
_BOTH = "both captures"


class UdpFigures(Figures):
    """A direction of a UDP flow: what one socket sent to another, by the captures of both ends.

    `path` is the name of the path that its packets take, if the scenario is known.
    """

    client: str = figure("", "", _SENT, default="")
    """Address and port of the end that sent the flow's first packet. Further keys are `server`, the
    address of the other end, and in a run `path`, the path of the client's address.
    """
    server: str = ""
    path: str | None = None
    direction: str = figure("", "", _SENT, default="")
    """up, from the client to the server, or down."""
    packets: Whole = figure("packets", "number of packets", _SENT)
    """Packets that were sent. A datagram in fragments counts as its first one."""
    payload_bytes: Whole = figure("bytes", "sum of (length in the header of UDP - 8)", _SENT)
    """Payload that was sent, without the headers of UDP and lower layers."""
    first_s: Real = figure("s", "time of the first packet", _SENT)
    """Time of the first packet: in a run after T0, for `analyze` after the first packet of the
    captures.
    """
    last_s: Real = figure("s", "as first_s, of the last packet", _SENT)
    """Time of the last packet."""
    arrived_packets: Whole = figure("packets", "as packets", _ARRIVED)
    """Packets that arrived."""
    arrived_bytes: Whole = figure("bytes", "as payload_bytes", _ARRIVED)
    """Payload that arrived."""
    payload_bps: Real = figure(
        "bit/s",
        "8 x arrived_bytes / time from the first to the last packet that arrived, in this "
        "direction, of all flows to this port of the server",
        _ARRIVED,
    )
    """Payload per second that arrived. It includes headers of QUIC or of a tunnel, and data that
    the program sends again, so it is not goodput. Flows to the same port of the server are measured
    over the same time, so they can be compared.
    """
    share: Real = figure("", "arrived_bytes / sum of arrived_bytes over these flows", _ARRIVED)
    """Its part of the payload of all flows to the same port of the server that arrived in this
    direction. For a program on several paths, it is the share of each path.
    """
    lost_packets: Whole = figure(
        "packets",
        "number of packets that are not in the receiver's capture, before the last that is",
        _BOTH,
    )
    """Packets that did not arrive, although a later packet did."""
    pending_packets: Whole = figure(
        "packets", "packets sent after the last one that is in the receiver's capture", _BOTH
    )
    """Packets sent after the last one that arrived: on their way when the captures ended, or lost.
    """
    alike_packets: Whole = figure(
        "packets",
        "number of packets with the same identification of IPv4, length, and first 48 bytes of "
        "payload as others that were sent, if any of these arrived",
        _BOTH,
    )
    """Packets that look like others that were sent, if some of these arrived. Which ones arrived,
    and when, is unknown: some may be lost and others duplicated. They count neither as lost nor as
    pending, and in no figure below, so losses and reordering may be higher. If all packets are
    alike, these figures are missing.
    """
    delay_ms_min: Real = figure(
        "ms", "lowest of (time at the receiver - time at the sender)", _BOTH
    )
    """The shortest one-way delay, from the device of the sender to the device of the receiver. In
    the lab all clocks agree; elsewhere, the delay includes their difference.
    """
    delay_ms_median: Real = figure("ms", "median of the delays", _BOTH)
    """The one-way delay that half of the packets that arrived do not exceed."""
    delay_ms_p95: Real = figure("ms", "95th percentile of the delays", _BOTH)
    """The one-way delay that 95 % of them do not exceed."""
    delay_ms_max: Real = figure("ms", "highest of the delays", _BOTH)
    """The longest one-way delay."""
    reordered_packets: Whole = figure(
        "packets",
        "number of packets that arrived after one of a later place in the sender's capture",
        _BOTH,
    )
    """Packets that arrived after a packet that was sent later on the same flow (RFC 4737, section
    3).
    """
