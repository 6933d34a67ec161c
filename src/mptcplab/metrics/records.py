# SPDX-License-Identifier: GPL-2.0-only
"""The record files of a run: one table of fields, from which the reader and docs/records.md come.

The kernel probe samples every connection and every subflow of a namespace at fixed instants of
virtual time and writes one fixed-size record for each. If it was asked for, there is one more for
each decision of the scheduler, or several with what it saw. docs/records.md is made of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.errors import MptcplabError
from mptcplab.plan.testbed import CLIENT_END, ENDS, NETWORK

RECORD_BYTES = 192
CONNECTION = 1
SUBFLOW = 2
LINK = 3
#: In the flags of a connection record.
NO_SPACE = 1
UNSCHEDULED = 2

DECISION_BYTES = 48
#: The kinds of decisions, by their number.
DECISIONS = (
    *("wait", "new", "reinjection", "duplicate", "dropped"),
    *("refused", "forced", "event"),
)

#: What a scheduler saw and answered; as STATE_... of kernel/mptcp/uapi/probe.h.
STATE_BYTES = 192
STATE_VERSION = 2
QUESTION = 1
SUBFLOW_STATE = 2
ANSWER = 3
DONE = 4
WRITER_WAITS, SNDBUF_FULL, CLOSING, HAS_HEAD, HAS_OLDEST, HAS_REINJECTION = (
    1 << bit for bit in range(6)
)
USABLE, BACKUP, CAN_SEND, CARRIED_HEAD, CARRIED_OLDEST, CARRIED_REINJECTION = (
    1 << bit for bit in range(6)
)
THROTTLED, MEMORY_FULL, STALE = 64, 128, 256

MESSAGE_BYTES = 64
#: The directions of messages, by their number.
DIRECTIONS = ("up", "down")

_NUMPY_TYPES: dict[str, tuple[str, tuple[int, ...]]] = {
    "u8": ("u1", ()),
    "u8[3]": ("u1", (3,)),
    "u8[16]": ("S16", ()),
    "u16": ("<u2", ()),
    "u32": ("<u4", ()),
    "u64": ("<u8", ()),
    "ipv4": ("u1", (4,)),
}

Records = npt.NDArray[np.void]


@dataclass(frozen=True)
class Field:
    """One field; `type` is u8, u16, u32, u64 (little-endian), ipv4 (4 bytes), u8[3], or u8[16].

    The last is text that ends at the first zero.
    """

    name: str
    type: str
    unit: str
    meaning: str

    @property
    def bytes(self) -> int:
        return np.dtype(_NUMPY_TYPES[self.type]).itemsize


HEAD = (
    Field(
        "time_ns",
        "u64",
        "ns",
        "virtual CLOCK_MONOTONIC of the sample, which is taken before all else of that time",
    ),
    Field(
        "connection",
        "u32",
        "",
        "number of the connection within its namespace, from 1 in the order of first sight, which "
        "the other end may see in another order (its ports tell); 0 in a link record",
    ),
    Field(
        "kind",
        "u8",
        "",
        f"{CONNECTION}: connection record, {SUBFLOW}: subflow record, {LINK}: link record",
    ),
    Field(
        "n",
        "u8",
        "",
        "connection record: number of subflows; subflow record: index of the subflow, from 0 in "
        "the order of creation (0 is the initial subflow); link record: 0",
    ),
    Field(
        "flags",
        "u16",
        "",
        f"connection record, bit 0 ({NO_SPACE}): the application waits for room in the send "
        f"buffer; bit 1 ({UNSCHEDULED}): there was no memory for its scheduler, and it has the "
        "default one, so that the run fails; the others are 0",
    ),
)

CONNECTION_FIELDS = (
    Field(
        "delivered_bytes",
        "u64",
        "bytes",
        "received in order on the connection, read or still to be read; each byte counts once",
    ),
    Field("read_bytes", "u64", "bytes", "taken from the connection by the application"),
    Field(
        "ofo_bytes",
        "u64",
        "bytes",
        "waiting in the out-of-order queue of the connection for an earlier byte",
    ),
    Field("written_bytes", "u64", "bytes", "written into the connection by the application"),
    Field(
        "sent_bytes",
        "u64",
        "bytes",
        "handed to a subflow for the first time; a reinjection or a duplicate does not count",
    ),
    Field("acked_bytes", "u64", "bytes", "acknowledged by the peer on the connection level"),
    Field("sndbuf_used", "u32", "bytes", "memory in the send buffer, kernel overhead included"),
    Field("sndbuf", "u32", "bytes", "limit of the send buffer"),
    Field("rcvbuf_used", "u32", "bytes", "memory in the receive buffer, kernel overhead included"),
    Field("rcvbuf", "u32", "bytes", "limit of the receive buffer"),
    Field(
        "window_bytes",
        "u64",
        "bytes",
        "send window left: what the peer's receive window still permits beyond the highest byte "
        "sent; 0 before the peer has answered",
    ),
    Field("ofo_packets", "u32", "packets", "number of buffers in the out-of-order queue"),
    Field("reserved", "u32", "", "0"),
    Field("reinjected_bytes", "u64", "bytes", "sent again on the connection level"),
    Field(
        "waits",
        "u64",
        "",
        "the scheduler was asked and chose to send nothing; this and the next two are 0 for "
        "upstream's default, which is not asked segment by segment",
    ),
    Field("refused", "u64", "", "the scheduler picked what makes no sense; nothing was sent"),
    Field(
        "forced",
        "u64",
        "",
        "the scheduler waited though nothing was in flight that could end the waiting: the oldest "
        "segment was sent for it",
    ),
    Field(
        "blocked_us",
        "u64",
        "us",
        "how long the out-of-order queue of the connection was not empty, until now (head-of-line "
        "blocking); 0 for plain TCP",
    ),
    Field("blocks", "u32", "", "how often it became not empty"),
    Field(
        "fallbacks",
        "u32",
        "",
        "the scheduler decided without what it is made to look at, because that could not be had",
    ),
    Field(
        "forced_reinjections",
        "u32",
        "",
        "the scheduler named no usable subflow to repeat the oldest segment on, though nothing was "
        "outstanding on any: it was sent again all the same",
    ),
    Field(
        "deferred",
        "u32",
        "",
        "the scheduler was to be asked again because of its own timers or cuts of windows, more "
        "often than 1024 times in a tick: the question waited",
    ),
    Field(
        "refused_calls",
        "u32",
        "",
        "the scheduler called a function with a subflow that was gone: nothing was done",
    ),
)

SUBFLOW_FIELDS = (
    Field(
        "local_addr",
        "ipv4",
        "",
        "address of this side, of IPv6 its last four bytes; 0 when it was closed before the peer "
        "had answered",
    ),
    Field("remote_addr", "ipv4", "", "address of the peer"),
    Field("cwnd", "u32", "packets", "congestion window"),
    Field("ssthresh", "u32", "packets", "slow start threshold; 0x7fffffff: not set yet"),
    Field("srtt_us", "u32", "us", "smoothed round-trip time"),
    Field("rttvar_us", "u32", "us", "mean deviation of the round-trip time"),
    Field(
        "min_rtt_us",
        "u32",
        "us",
        "lowest round-trip time of the kernel's recent window; 0: none yet",
    ),
    Field("in_flight", "u32", "packets", "sent, and neither acknowledged nor held to be lost"),
    Field("mss", "u32", "bytes", "current maximum segment size (payload)"),
    Field("unsent_bytes", "u32", "bytes", "queued on the subflow and not sent yet"),
    Field("sent_bytes", "u64", "bytes", "payload sent, retransmissions included"),
    Field("acked_bytes", "u64", "bytes", "payload acknowledged on the subflow"),
    Field("received_bytes", "u64", "bytes", "payload received in order on the subflow"),
    Field("retransmitted_bytes", "u64", "bytes", "payload sent again on this same subflow"),
    Field("retransmitted_packets", "u32", "packets", "packets sent again on this same subflow"),
    Field("data_packets_out", "u32", "packets", "packets with payload sent, retransmitted too"),
    Field("data_packets_in", "u32", "packets", "packets with payload received"),
    Field("window_bytes", "u32", "bytes", "the peer's receive window"),
    Field("ofo_bytes", "u32", "bytes", "waiting in the out-of-order queue of the subflow"),
    Field("ca_state", "u8", "", "TCP_CA_*: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"),
    Field("tcp_state", "u8", "", "TCP_*: 1 established, 2 SYN sent, ... as in the kernel"),
    Field("backup", "u8", "", "1: the subflow is a backup"),
    Field("reserved", "u8", "", "0"),
    Field(
        "new_segments",
        "u32",
        "",
        "picks of the scheduler of data never sent before; this and the next two are 0 for "
        "upstream's default",
    ),
    Field("duplicates", "u32", "", "picks of segments that are on their way elsewhere"),
    Field("reinjections", "u32", "", "picks of segments of subflows in trouble"),
    Field("local_port", "u16", "", "port of this side"),
    Field("remote_port", "u16", "", "port of the peer"),
    Field(
        "blocking_us",
        "u64",
        "us",
        "how long the out-of-order queue of the connection waited for what then came by this "
        "subflow: the part of blocked_us that it caused; 0 for plain TCP",
    ),
    Field("pacing_rate", "u64", "bytes/s", "limit of the sending rate; 2^64 - 1: none"),
    Field("rto_us", "u32", "us", "retransmission timeout"),
    Field("timeouts", "u32", "", "how often it expired"),
)

LINK_FIELDS = (
    Field("device", "u8[16]", "", "name of the device, ended by a zero; see below"),
    Field("qdisc", "u8[16]", "", "kind of its root queueing discipline, such as netem"),
    Field("sent_bytes", "u64", "bytes", "that left the discipline, link headers included"),
    Field("sent_packets", "u64", "packets", "that left the discipline"),
    Field("dropped_packets", "u64", "packets", "that it dropped, for whatever reason"),
    Field("lost_packets", "u64", "packets", "of these, by the loss model of a netem"),
    Field(
        "queue_packets",
        "u32",
        "packets",
        "that wait, or are being sent; those that a netem only delays are not in it",
    ),
    Field("queue_bytes", "u32", "bytes", "of these, link headers included"),
    Field(
        "delayed_packets",
        "u32",
        "packets",
        "that a netem delays. It does so before it sends them at its rate: first come those on "
        "their way, then those in the queue",
    ),
    Field("delayed_bytes", "u32", "bytes", "of these, link headers included"),
)

DECISION_FIELDS = (
    Field("time_ns", "u64", "ns", "virtual CLOCK_MONOTONIC of the decision"),
    Field(
        "seq",
        "u64",
        "bytes",
        "where the segment begins in the byte stream of the connection, whose first 8 bytes are "
        "the greeting of the traffic program",
    ),
    Field("connection", "u32", "", "number of the connection, from 1 in the order of first sight"),
    Field(
        "length",
        "u32",
        "bytes",
        "length of what was picked; of an event its number, which the scheduler's page explains",
    ),
    Field(
        "subflow",
        "u32",
        "",
        "number of the subflow, from 1 in the order of creation: `n` of the samples and one; 0 "
        "for a wait",
    ),
    Field(
        "kind",
        "u8",
        "",
        ", ".join(f"{number}: {name}" for number, name in enumerate(DECISIONS)),
    ),
    Field("reserved", "u8[3]", "", "0"),
    Field("unsent_bytes", "u32", "bytes", "written by the application and not sent yet"),
    Field("in_flight", "u32", "packets", "in flight on the subflow"),
    Field("cwnd", "u32", "packets", "congestion window of the subflow, or the limit beside it"),
    Field("reserved2", "u32", "", "0"),
)

STATE_HEAD_FIELDS = (
    Field("time_ns", "u64", "ns", "virtual CLOCK_MONOTONIC of the question"),
    Field("connection", "u32", "", "number of the connection, from 1 in the order of first sight"),
    Field(
        "kind",
        "u8",
        "",
        f"{QUESTION}: question, {SUBFLOW_STATE}: subflow, {ANSWER}: answer, {DONE}: done",
    ),
    Field("n", "u8", "", "question: number of subflows; subflow: which one, from 0; else 0"),
    Field("version", "u16", "", f"of the format: {STATE_VERSION}"),
)

QUESTION_FIELDS = (
    Field("scheduler", "u8[16]", "", "its name, ended by a zero"),
    Field("una_seq", "u64", "bytes", "all before it is acknowledged on the connection level"),
    Field("nxt_seq", "u64", "bytes", "end of the farthest segment ever sent"),
    Field("window_end_seq", "u64", "bytes", "the receiver takes data before it"),
    Field("head_seq", "u64", "bytes", "the first unsent segment that may leave, if flagged"),
    Field("oldest_seq", "u64", "bytes", "the oldest unacknowledged segment, if flagged"),
    Field("reinjection_seq", "u64", "bytes", "the head of the reinjection queue, if flagged"),
    Field("head_bytes", "u32", "bytes", "length of that segment"),
    Field("head_sent", "u32", "bytes", "of these, sent already"),
    Field("oldest_bytes", "u32", "bytes", "length of that segment"),
    Field("reinjection_bytes", "u32", "bytes", "length of that segment"),
    Field("window_bytes", "u32", "bytes", "the whole receive window, from una_seq on"),
    Field("unsent_bytes", "u32", "bytes", "written by the application and not sent yet"),
    Field("segment_bytes", "u32", "bytes", "size of a full segment"),
    Field("wmem_queued", "u32", "bytes", "memory that the data of the connection takes"),
    Field("sndbuf", "u32", "bytes", "limit of the send buffer"),
    Field("jiffies", "u32", "", "the kernel's clock of timers"),
    Field(
        "flags",
        "u32",
        "",
        f"{WRITER_WAITS}: the application waits for the send buffer, {SNDBUF_FULL}: none of it is "
        f"free, {CLOSING}: nothing more will be written, {HAS_HEAD}: there is a first unsent "
        f"segment that may leave, {HAS_OLDEST}: an unacknowledged one, {HAS_REINJECTION}: one to "
        "be reinjected",
    ),
)

SUBFLOW_STATE_FIELDS = (
    Field("pacing_rate", "u64", "bytes/s", "limit of the sending rate; 2^64 - 1: none"),
    Field("delivered_ns", "u64", "ns", "when its latest ACK came; 0: never"),
    Field("delivered_sent_ns", "u64", "ns", "when what that acknowledged was sent"),
    Field("oldest_sent_ns", "u64", "ns", "when its oldest packet in flight was sent; 0: none"),
    Field("device_queue_bytes", "u64", "bytes", "waiting in the local device it leaves by"),
    Field(
        "device_sent_bytes",
        "u64",
        "bytes",
        "that the device itself counts as sent, with or without a queue",
    ),
    Field("id", "u32", "", "number of the subflow, from 1 in the order of creation"),
    Field(
        "flags",
        "u32",
        "",
        f"{USABLE}: usable, {BACKUP}: a backup, {CAN_SEND}: established and not closing, even if "
        f"silent since a timeout; has carried {CARRIED_HEAD}: the first unsent, {CARRIED_OLDEST}: "
        f"the oldest, {CARRIED_REINJECTION}: the reinjected segment; {THROTTLED}: held back, since "
        f"what it has sent is still in this host; {MEMORY_FULL}: no memory left for more, as "
        f"upstream's default scheduler asks; {STALE}: given up by upstream",
    ),
    Field("ca_state", "u32", "", "TCP_CA_*: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"),
    Field("mss", "u32", "bytes", "of data in one packet, all options counted"),
    Field("srtt_us", "u32", "us", "smoothed round-trip time; 0: no sample yet"),
    Field("srtt_8us", "u32", "us/8", "the same as TCP keeps it"),
    Field("rttvar_us", "u32", "us", "mean deviation of the round-trip time"),
    Field("rttvar_4us", "u32", "us/4", "TCP's deviation, which is 50 ms (200 000) or more"),
    Field("min_rtt_us", "u32", "us", "lowest round-trip time of late; 2^32 - 1: none yet"),
    Field("last_rtt_us", "u32", "us", "latest round-trip time; 0: none yet"),
    Field("cwnd", "u32", "packets", "congestion window"),
    Field("ssthresh", "u32", "packets", "slow-start threshold; 2^31 - 1: none yet"),
    Field("limit", "u32", "packets", "the scheduler's limit beside cwnd; 2^32 - 1: none"),
    Field("in_flight", "u32", "packets", "in flight"),
    Field("packets_out", "u32", "packets", "sent and not acknowledged, lost ones included"),
    Field("unsent_bytes", "u32", "bytes", "in its queue, never sent"),
    Field("outstanding_bytes", "u32", "bytes", "in its queue or sent, and not acknowledged"),
    Field("window_bytes", "u32", "bytes", "left of the receive window as the subflow knows it"),
    Field("wmem_queued", "u32", "bytes", "memory that its data takes"),
    Field("snd_una", "u32", "", "TCP's number of the oldest unacknowledged byte"),
    Field("snd_nxt", "u32", "", "TCP's number of the first byte never sent"),
    Field("delivered", "u32", "packets", "acknowledged since its beginning, SACKed ones counted"),
    Field("owd_us", "u32", "us", "one-way delay, with an unknown constant in it; 0: none yet"),
    Field("commd_us", "u32", "us", "one-way communication delay, likewise; 0: none yet"),
)

ANSWER_FIELDS = (
    Field("seq", "u64", "bytes", "where the segment begins in the byte stream of the connection"),
    Field("subflow", "u32", "", "number of the subflow, from 1; 0: none"),
    Field("bytes", "u32", "bytes", "answer: at most so much of it, 0: all; done: so much was sent"),
    Field("what", "u8", "", "as the kind of a decision record; an answer is 0 to 4"),
)

MESSAGE_FIELDS = (
    Field("connection", "u32", "", "number of the connection that carries it, as in the plan"),
    Field(
        "direction",
        "u8",
        "",
        "0: up, from client to server, 1: down",
    ),
    Field("choice", "u8", "", "which of its sizes the player picked, from 0; 0 if it has one"),
    Field("reserved", "u16", "", "0"),
    Field("bytes", "u64", "bytes", "written of it"),
    Field("due_ns", "u64", "ns", "from when on it was to be written"),
    Field("begin_ns", "u64", "ns", "its first byte was handed to the socket"),
    Field("written_ns", "u64", "ns", "its last byte was handed to the socket"),
    Field("first_ns", "u64", "ns", "its first byte was read at the other end"),
    Field("complete_ns", "u64", "ns", "its last byte was read there"),
    Field("reserved2", "u64", "", "0"),
)

GUEST_FIELDS = (
    Field("status", "text", "", '"ok", or what went wrong'),
    Field("start_ns", "int", "ns", "T0: the workload starts and the first sample is taken"),
    Field("end_ns", "int", "ns", "the last byte of all messages was written"),
    Field("complete_ns", "int", "ns", "every message was received"),
    Field("bytes_written", "int", "bytes", "of all messages"),
    Field("bytes_received", "int", "bytes", "of all messages, read and verified"),
    Field("system_calls", "int", "", "made by client and server to move the data"),
)


def _dtype(fields: Sequence[Field], size: int) -> np.dtype[np.void]:
    """The NumPy type of one record: `fields`, padding to `size` bytes."""
    layout: Any = {
        "names": [field.name for field in fields],
        "formats": [np.dtype(_NUMPY_TYPES[field.type]) for field in fields],
        "itemsize": size,
    }
    dtype: np.dtype[np.void] = np.dtype(layout)
    return dtype


CONNECTION_DTYPE = _dtype((*HEAD, *CONNECTION_FIELDS), RECORD_BYTES)
SUBFLOW_DTYPE = _dtype((*HEAD, *SUBFLOW_FIELDS), RECORD_BYTES)
LINK_DTYPE = _dtype((*HEAD, *LINK_FIELDS), RECORD_BYTES)
DECISION_DTYPE = _dtype(DECISION_FIELDS, DECISION_BYTES)
QUESTION_DTYPE = _dtype((*STATE_HEAD_FIELDS, *QUESTION_FIELDS), STATE_BYTES)
SUBFLOW_STATE_DTYPE = _dtype((*STATE_HEAD_FIELDS, *SUBFLOW_STATE_FIELDS), STATE_BYTES)
ANSWER_DTYPE = _dtype((*STATE_HEAD_FIELDS, *ANSWER_FIELDS), STATE_BYTES)
MESSAGE_DTYPE = _dtype(MESSAGE_FIELDS, MESSAGE_BYTES)


@dataclass(frozen=True)
class Samples:
    """What one side of a run recorded, in time order; fields as in docs/records.md."""

    connection: Records
    subflow: Records


def read_samples(path: Path) -> Samples:
    """Read client.samples or server.samples.

    A subflow that was closed before its peer had answered has no address any more, so no path: what
    is sampled of it then is left out.

    Raises MptcplabError, naming the file and the offset, when it cannot be read, when it ends
    within a record, holds a record of unknown kind, or goes back in time.
    """
    content = _whole_records(path, RECORD_BYTES)
    heads = content.view(CONNECTION_DTYPE)
    kinds = heads["kind"]
    _refuse_other_kinds(path, heads, {CONNECTION: "connection", SUBFLOW: "subflow"})
    _refuse_backwards(path, heads)
    subflow = select(content.view(SUBFLOW_DTYPE), kinds == SUBFLOW)
    return Samples(
        connection=select(heads, kinds == CONNECTION),
        subflow=select(subflow, np.any(subflow["local_addr"] != 0, axis=1)),
    )


def read_links(path: Path) -> Records:
    """Read links.samples: an array of LINK_DTYPE, in time order.

    Raises MptcplabError as `read_samples` does.
    """
    links: Records = _whole_records(path, RECORD_BYTES).view(LINK_DTYPE)
    _refuse_other_kinds(path, links, {LINK: "link"})
    _refuse_backwards(path, links)
    return links


def read_decisions(path: Path) -> Records:
    """Read client.decisions or server.decisions: an array of DECISION_DTYPE, in time order.

    Raises MptcplabError as `read_samples` does.
    """
    decisions: Records = _whole_records(path, DECISION_BYTES).view(DECISION_DTYPE)
    unknown = np.flatnonzero(decisions["kind"] >= len(DECISIONS))
    if len(unknown):
        raise MptcplabError(
            f"{path}: unknown kind {decisions['kind'][unknown[0]]} of a decision at offset "
            f"{unknown[0] * DECISION_BYTES}; known are 0 to {len(DECISIONS) - 1}"
        )
    _refuse_backwards(path, decisions)
    return decisions


def read_states(path: Path) -> Records:
    """Read client.states or server.states: an array of QUESTION_DTYPE, kinds mixed, in time order.

    View records of other kinds as SUBFLOW_STATE_DTYPE or ANSWER_DTYPE. Raises MptcplabError as
    `read_samples` does, and when the records are of another version of the format.
    """
    states: Records = _whole_records(path, STATE_BYTES).view(QUESTION_DTYPE)
    other = np.flatnonzero(states["version"] != STATE_VERSION)
    if len(other):
        raise MptcplabError(
            f"{path}: the record at offset {other[0] * STATE_BYTES} is of version "
            f"{states['version'][other[0]]} of the format of states; this program reads version "
            f"{STATE_VERSION}; repeat the run with --states"
        )
    unknown = np.flatnonzero(~np.isin(states["kind"], (QUESTION, SUBFLOW_STATE, ANSWER, DONE)))
    if len(unknown):
        raise MptcplabError(
            f"{path}: unknown kind {states['kind'][unknown[0]]} of a state at offset "
            f"{unknown[0] * STATE_BYTES}; known are {QUESTION} to {DONE}"
        )
    _refuse_backwards(path, states)
    return states


def read_messages(path: Path) -> Records:
    """Read messages.records: an array of MESSAGE_DTYPE, in the order of the plan.

    Raises MptcplabError, naming the file and the offset, when it cannot be read, ends within a
    record, or holds one that cannot be: of no known direction, or with times out of order.
    """
    messages: Records = _whole_records(path, MESSAGE_BYTES).view(MESSAGE_DTYPE)
    unknown = np.flatnonzero(messages["direction"] >= len(DIRECTIONS))
    if len(unknown):
        raise MptcplabError(
            f"{path}: unknown direction {messages['direction'][unknown[0]]} of a message at offset "
            f"{unknown[0] * MESSAGE_BYTES}; known are 0 (up) and 1 (down)"
        )
    for order in (
        ("due_ns", "begin_ns", "written_ns"),
        ("due_ns", "begin_ns", "first_ns", "complete_ns"),
    ):
        for before, after in itertools.pairwise(order):
            happened = messages[after] > 0
            wrong = np.flatnonzero(
                happened & ((messages[before] == 0) | (messages[after] < messages[before]))
            )
            if len(wrong):
                raise MptcplabError(
                    f"{path}: {after} of the message at offset {wrong[0] * MESSAGE_BYTES} is "
                    f"{messages[after][wrong[0]]}, before its {before}, "
                    f"{messages[before][wrong[0]]}"
                )
    return messages


def _whole_records(path: Path, size: int) -> npt.NDArray[np.uint8]:
    try:
        content = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise MptcplabError(f"{path}: cannot be read: {error.strerror}") from error
    whole = len(content) // size * size
    if whole != len(content):
        raise MptcplabError(
            f"{path}: the record at offset {whole} is cut off: {len(content) - whole} of "
            f"{size} bytes"
        )
    return content


def _refuse_other_kinds(path: Path, records: Records, known: Mapping[int, str]) -> None:
    kinds = records["kind"]
    unknown = np.flatnonzero(~np.isin(kinds, list(known)))
    if len(unknown):
        raise MptcplabError(
            f"{path}: unknown record kind {kinds[unknown[0]]} at offset "
            f"{unknown[0] * RECORD_BYTES}; known are "
            + " and ".join(f"{number} ({name})" for number, name in known.items())
        )


def _refuse_backwards(path: Path, records: Records) -> None:
    times = records["time_ns"]
    backwards = np.flatnonzero(times[1:] < times[:-1])
    if len(backwards):
        raise MptcplabError(
            f"{path}: the record at offset {(backwards[0] + 1) * records.itemsize} is earlier "
            "than the one before it; records are in the order of time"
        )


def select(records: Records, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Records:
    """`records[which]`, ten times faster: NumPy would copy field by field."""
    whole = np.dtype((np.void, records.itemsize))
    chosen: Records = records.view(whole)[which].view(records.dtype)
    return chosen


def path_indices(subflow: Records, first: int = 1) -> npt.NDArray[np.int64]:
    """Index (from 0) of the path that each subflow record belongs to, by its two addresses.

    Path i, from `first` on, joins 10.0.i.x (client) and 10.1.i.x (server), or addresses of IPv6
    that end so, see `plan.testbed`. A program may use any address of the server: packets go by the
    path of the client's. A negative index stands for any other pair.
    """
    local, remote = subflow["local_addr"], subflow["remote_addr"]
    on_a_path = (
        (local[:, 0] == NETWORK)
        & (remote[:, 0] == NETWORK)
        & np.isin(local[:, 1], ENDS)
        & (remote[:, 1] == sum(ENDS) - local[:, 1])
    )
    of_client = np.where(local[:, 1] == CLIENT_END, local[:, 2], remote[:, 2])
    return np.where(on_a_path, of_client.astype(np.int64) - first, -1)
