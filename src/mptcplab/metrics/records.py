# SPDX-License-Identifier: GPL-2.0-only
"""The record files of a run: one table of fields, from which the reader and docs/records.md come.

The kernel probe samples every connection and every subflow of a namespace at fixed instants of
virtual time and writes one fixed-size record for each. If it was asked for, there is one more for
each decision of the scheduler, or several with what it saw. docs/records.md is made of it.
"""

from __future__ import annotations

import re
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


def _fields(text: str) -> tuple[Field, ...]:
    """The fields that a text declares, `TYPE NAME: MEANING` or `TYPE NAME [UNIT]: MEANING` each."""
    found = []
    for each in re.split(r"\n    (?=\S)", text.rstrip())[1:]:
        head, _, meaning = each.partition(": ")
        declared, _, unit = head.partition(" [")
        kind, name = declared.split()
        found.append(Field(name, kind, unit[:-1], " ".join(meaning.split())))
    return tuple(found)


HEAD = _fields(f"""
    u64 time_ns [ns]: virtual CLOCK_MONOTONIC of the sample, which comes before all else of that
        time
    u32 connection: number of the connection within its namespace, from 1 in the order of first
        sight. The other end may count in another order; the ports identify the connection. 0 in a
        link record
    u8 kind: {CONNECTION}: connection record, {SUBFLOW}: subflow record, {LINK}: link record
    u8 n: connection record: number of subflows; subflow record: index of the subflow, from 0 in
        the order of creation (0 is the initial subflow); link record: 0
    u16 flags: connection record, bit 0 ({NO_SPACE}): the application waits for room in the send
        buffer; bit 1 ({UNSCHEDULED}): the kernel had no memory for its scheduler and used the
        default one, which fails the run; other bits and records: 0
""")

CONNECTION_FIELDS = _fields("""
    u64 delivered_bytes [bytes]: received in order on the connection, read or not, each byte once
    u64 read_bytes [bytes]: taken from the connection by the application
    u64 ofo_bytes [bytes]: waiting in the out-of-order queue of the connection for an earlier byte
    u64 written_bytes [bytes]: written into the connection by the application
    u64 sent_bytes [bytes]: handed to a subflow for the first time, without reinjections and
        duplicates
    u64 acked_bytes [bytes]: acknowledged by the peer on the connection level
    u32 sndbuf_used [bytes]: memory in the send buffer, kernel overhead included
    u32 sndbuf [bytes]: limit of the send buffer
    u32 rcvbuf_used [bytes]: memory in the receive buffer, kernel overhead included
    u32 rcvbuf [bytes]: limit of the receive buffer
    u64 window_bytes [bytes]: send window left: bytes beyond the highest sent byte that the peer's
        receive window still permits; 0 before the peer has answered
    u32 ofo_packets [packets]: number of buffers in the out-of-order queue
    u32 reserved: 0
    u64 reinjected_bytes [bytes]: sent again on the connection level
    u64 waits: the scheduler chose to send nothing; this and the next two are 0 for upstream's
        default, which does not decide segment by segment
    u64 refused: the scheduler's pick made no sense, and the framework sent nothing
    u64 forced: the scheduler waited with nothing in flight that could end the wait, and the
        framework sent the oldest segment
    u64 blocked_us [us]: time so far in which the out-of-order queue of the connection was not empty
        (head-of-line blocking); 0 for plain TCP
    u32 blocks: number of times that this queue became not empty
    u32 fallbacks: the scheduler decided without a value that it needs and could not have
    u32 forced_reinjections: the scheduler named no usable subflow for the oldest segment, with
        nothing outstanding on any, and the framework sent the segment again
    u32 deferred: timers or window cuts of the scheduler caused more than 1024 questions in a tick,
        and the framework deferred the next question
    u32 refused_calls: the scheduler called a function with a subflow that no longer exists, which
        did nothing
    u32 reinjection_packets [packets]: waiting in the reinjection queue; this queue exists in the
        out-of-tree kernel alone
""")

SUBFLOW_FIELDS = _fields("""
    ipv4 local_addr: address of this end, of IPv6 the last four bytes; 0 if the subflow closed
        before the peer had answered
    ipv4 remote_addr: address of the peer
    u32 cwnd [packets]: congestion window
    u32 ssthresh [packets]: slow start threshold; 0x7fffffff: not set yet
    u32 srtt_us [us]: smoothed round-trip time
    u32 rttvar_us [us]: mean deviation of the round-trip time
    u32 min_rtt_us [us]: lowest round-trip time of the kernel's recent window; 0: none yet
    u32 in_flight [packets]: sent, neither acknowledged nor considered lost
    u32 mss [bytes]: current maximum segment size (payload)
    u32 unsent_bytes [bytes]: queued on the subflow and not sent yet
    u64 sent_bytes [bytes]: payload sent, retransmissions included
    u64 acked_bytes [bytes]: payload acknowledged on the subflow
    u64 received_bytes [bytes]: payload received in order on the subflow
    u64 retransmitted_bytes [bytes]: payload sent again on this same subflow
    u32 retransmitted_packets [packets]: packets sent again on this same subflow
    u32 data_packets_out [packets]: packets with payload sent, retransmissions included
    u32 data_packets_in [packets]: packets with payload received
    u32 window_bytes [bytes]: the peer's receive window
    u32 ofo_bytes [bytes]: waiting in the out-of-order queue of the subflow
    u8 ca_state: TCP_CA_*: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss
    u8 tcp_state: TCP_*: 1 established, 2 SYN sent, ... as in the kernel
    u8 backup: 1: the subflow is a backup
    u8 reserved: 0
    u32 new_segments: picks of data never sent before; this and the next two are 0 for upstream's
        default scheduler
    u32 duplicates: picks of segments that are on their way elsewhere
    u32 reinjections: picks of segments of subflows in trouble
    u16 local_port: port of this end
    u16 remote_port: port of the peer
    u64 blocking_us [us]: part of blocked_us that this subflow caused: time in which the
        out-of-order queue of the connection waited for data that then came by this subflow; 0 for
        plain TCP
    u64 pacing_rate [bytes/s]: limit of the sending rate; 2^64 - 1: none
    u32 rto_us [us]: retransmission timeout
    u32 timeouts: number of times that it expired; 0 in the out-of-tree kernel
    u32 penalties: number of times that a scheduler of the out-of-tree kernel halved cwnd, since
        data of other subflows waited for data of this one
""")

LINK_FIELDS = _fields("""
    u8[16] device: name of the device, ended by a zero; see below
    u8[16] qdisc: kind of its root queueing discipline, such as netem
    u64 sent_bytes [bytes]: bytes that left the discipline, link headers included
    u64 sent_packets [packets]: packets that left the discipline
    u64 dropped_packets [packets]: packets that it dropped, for whatever reason
    u64 lost_packets [packets]: part of these that the loss model of a netem dropped
    u32 queue_packets [packets]: packets that wait or are being sent, without packets that a netem
        only delays
    u32 queue_bytes [bytes]: bytes of these, link headers included
    u32 delayed_packets [packets]: packets that a netem delays. It does so before it sends them at
        its rate: first come packets on their way, then packets in the queue
    u32 delayed_bytes [bytes]: bytes of these, link headers included
""")

_KINDS = ", ".join(f"{number}: {name}" for number, name in enumerate(DECISIONS))
DECISION_FIELDS = _fields(f"""
    u64 time_ns [ns]: virtual CLOCK_MONOTONIC of the decision
    u64 seq [bytes]: start of the segment in the byte stream of the connection, whose first 8 bytes
        are the greeting of the traffic program
    u32 connection: number of the connection, from 1 in the order of first sight
    u32 length [bytes]: length of the pick; of an event its number, which the scheduler's page
        explains
    u32 subflow: number of the subflow, from 1 in the order of creation: `n` of the samples and
        one; 0 for a wait
    u8 kind: {_KINDS}
    u8[3] reserved: 0
    u32 unsent_bytes [bytes]: written by the application and not sent yet
    u32 in_flight [packets]: in flight on the subflow
    u32 cwnd [packets]: congestion window of the subflow, or the limit beside it
    u32 reserved2: 0
""")

STATE_HEAD_FIELDS = _fields(f"""
    u64 time_ns [ns]: virtual CLOCK_MONOTONIC of the question
    u32 connection: number of the connection, from 1 in the order of first sight
    u8 kind: {QUESTION}: question, {SUBFLOW_STATE}: subflow, {ANSWER}: answer, {DONE}: done
    u8 n: question: number of subflows; subflow: its index, from 0; else 0
    u16 version: version of the format: {STATE_VERSION}
""")

QUESTION_FIELDS = _fields(f"""
    u8[16] scheduler: its name, ended by a zero
    u64 una_seq [bytes]: all before it is acknowledged on the connection level
    u64 nxt_seq [bytes]: end of the farthest segment ever sent
    u64 window_end_seq [bytes]: the receiver takes data before it
    u64 head_seq [bytes]: the first unsent segment that may leave, if flagged
    u64 oldest_seq [bytes]: the oldest unacknowledged segment, if flagged
    u64 reinjection_seq [bytes]: the head of the reinjection queue, if flagged
    u32 head_bytes [bytes]: length of that segment
    u32 head_sent [bytes]: part of these that was sent already
    u32 oldest_bytes [bytes]: length of that segment
    u32 reinjection_bytes [bytes]: length of that segment
    u32 window_bytes [bytes]: the whole receive window, from una_seq on
    u32 unsent_bytes [bytes]: written by the application and not sent yet
    u32 segment_bytes [bytes]: size of a full segment
    u32 wmem_queued [bytes]: memory that the data of the connection takes
    u32 sndbuf [bytes]: limit of the send buffer
    u32 jiffies: the kernel's clock of timers
    u32 flags: {WRITER_WAITS}: the application waits for the send buffer, {SNDBUF_FULL}: none of it
        is free, {CLOSING}: nothing more will be written, {HAS_HEAD}: a first unsent segment may
        leave, {HAS_OLDEST}: a segment is unacknowledged, {HAS_REINJECTION}: a segment is to be
        reinjected
""")

SUBFLOW_STATE_FIELDS = _fields(f"""
    u64 pacing_rate [bytes/s]: limit of the sending rate; 2^64 - 1: none
    u64 delivered_ns [ns]: time of its latest ACK; 0: never
    u64 delivered_sent_ns [ns]: time at which the data of this ACK was sent
    u64 oldest_sent_ns [ns]: time at which its oldest packet in flight was sent; 0: none
    u64 device_queue_bytes [bytes]: waiting in the local device it leaves by
    u64 device_sent_bytes [bytes]: sent by the device's own count, with or without a queue
    u32 id: number of the subflow, from 1 in the order of creation
    u32 flags: {USABLE}: usable, {BACKUP}: a backup, {CAN_SEND}: established and not closing, even
        if silent since a timeout; has carried {CARRIED_HEAD}: the first unsent, {CARRIED_OLDEST}:
        the oldest, {CARRIED_REINJECTION}: the reinjected segment; {THROTTLED}: held back, since
        its data is still in this host; {MEMORY_FULL}: no memory left for more, as upstream's
        default scheduler asks; {STALE}: given up by upstream
    u32 ca_state: TCP_CA_*: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss
    u32 mss [bytes]: data in one packet, all options counted
    u32 srtt_us [us]: smoothed round-trip time; 0: no sample yet
    u32 srtt_8us [us/8]: the same as TCP keeps it
    u32 rttvar_us [us]: mean deviation of the round-trip time
    u32 rttvar_4us [us/4]: TCP's deviation, which is 50 ms (200 000) or more
    u32 min_rtt_us [us]: lowest recent round-trip time; 2^32 - 1: none yet
    u32 last_rtt_us [us]: latest round-trip time; 0: none yet
    u32 cwnd [packets]: congestion window
    u32 ssthresh [packets]: slow-start threshold; 2^31 - 1: none yet
    u32 limit [packets]: the scheduler's limit beside cwnd; 2^32 - 1: none
    u32 in_flight [packets]: in flight
    u32 packets_out [packets]: sent and not acknowledged, lost ones included
    u32 unsent_bytes [bytes]: in its queue, never sent
    u32 outstanding_bytes [bytes]: in its queue or sent, and not acknowledged
    u32 window_bytes [bytes]: left of the receive window as the subflow knows it
    u32 wmem_queued [bytes]: memory that its data takes
    u32 snd_una: TCP's number of the oldest unacknowledged byte
    u32 snd_nxt: TCP's number of the first byte never sent
    u32 delivered [packets]: acknowledged since its beginning, SACKed ones counted
    u32 owd_us [us]: one-way delay, with an unknown constant in it; 0: none yet
    u32 commd_us [us]: one-way communication delay, likewise; 0: none yet
""")

ANSWER_FIELDS = _fields("""
    u64 seq [bytes]: start of the segment in the byte stream of the connection
    u32 subflow: number of the subflow, from 1; 0: none
    u32 bytes [bytes]: answer: at most this part of it, 0: all; done: bytes that were sent
    u8 what: as the kind of a decision record; an answer is 0 to 4
""")

MESSAGE_FIELDS = _fields("""
    u32 connection: number of the connection that carries it, as in the plan
    u8 direction: 0: up, from client to server, 1: down
    u8 choice: number of the size that the player picked, from 0; 0 with a single size
    u16 reserved: 0
    u64 bytes [bytes]: part of it that was written
    u64 due_ns [ns]: time at which it was due
    u64 begin_ns [ns]: its first byte was handed to the socket
    u64 written_ns [ns]: its last byte was handed to the socket
    u64 first_ns [ns]: its first byte was read at the other end
    u64 complete_ns [ns]: its last byte was read there
    u64 reserved2: 0
""")

GUEST_FIELDS = _fields("""
    text status: "ok", or what went wrong
    int start_ns [ns]: T0: the workload starts and the first sample is taken
    int end_ns [ns]: the last byte of all messages was written
    int complete_ns [ns]: every message was received
    int bytes_written [bytes]: of all messages
    int bytes_received [bytes]: of all messages, read and verified
    int system_calls: made by client and server to move the data
""")


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
    last = len(DECISIONS) - 1
    text = f"unknown kind {{kind}} of a decision at offset {{offset}}; known are 0 to {last}"
    _refuse(path, decisions, decisions["kind"] > last, text)
    _refuse_backwards(path, decisions)
    return decisions


def read_states(path: Path) -> Records:
    """Read client.states or server.states: an array of QUESTION_DTYPE, kinds mixed, in time order.

    View records of other kinds as SUBFLOW_STATE_DTYPE or ANSWER_DTYPE. Raises MptcplabError as
    `read_samples` does, and when the records are of another version of the format.
    """
    states: Records = _whole_records(path, STATE_BYTES).view(QUESTION_DTYPE)
    text = (
        "the record at offset {offset} has version {version} of the format of states; this program "
        f"reads version {STATE_VERSION}; repeat the run with --states"
    )
    _refuse(path, states, states["version"] != STATE_VERSION, text)
    text = f"unknown kind {{kind}} of a state at offset {{offset}}; known are {QUESTION} to {DONE}"
    _refuse(path, states, (states["kind"] < QUESTION) | (states["kind"] > DONE), text)
    _refuse_backwards(path, states)
    return states


def read_messages(path: Path) -> Records:
    """Read messages.records: an array of MESSAGE_DTYPE, in the order of the plan.

    Raises MptcplabError, naming the file and the offset, when it cannot be read, ends within a
    record, or holds one that cannot be: of no known direction, or with times out of order.
    """
    messages: Records = _whole_records(path, MESSAGE_BYTES).view(MESSAGE_DTYPE)
    text = "unknown direction {direction} of a message at offset {offset}; known are 0 (up) and "
    _refuse(path, messages, messages["direction"] >= len(DIRECTIONS), f"{text}1 (down)")
    for before, after in (
        *(("due_ns", "begin_ns"), ("begin_ns", "written_ns")),
        *(("begin_ns", "first_ns"), ("first_ns", "complete_ns")),
    ):
        early = (messages[before] == 0) | (messages[after] < messages[before])
        text = (
            f"{after} of the message at offset {{offset}} is {{{after}}}, before its {before}, "
            f"{{{before}}}"
        )
        _refuse(path, messages, (messages[after] > 0) & early, text)
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
    names = " and ".join(f"{number} ({name})" for number, name in known.items())
    text = f"unknown record kind {{kind}} at offset {{offset}}; known are {names}"
    _refuse(path, records, ~np.isin(records["kind"], list(known)), text)


def _refuse_backwards(path: Path, records: Records) -> None:
    times = records["time_ns"]
    text = "the record at offset {offset} is earlier than the one before it; records are in the "
    _refuse(path, records, times < np.maximum.accumulate(times), f"{text}order of time")


def _refuse(path: Path, records: Records, wrong: npt.NDArray[np.bool_], text: str) -> None:
    """Raises MptcplabError for the first wrong record: a text with its fields and its offset."""
    numbers = np.flatnonzero(wrong)
    if len(numbers):
        first = records[numbers[0]]
        fields = dict(zip(first.dtype.names, first, strict=True))
        offset = numbers[0] * records.itemsize
        raise MptcplabError(f"{path}: {text.format(offset=offset, **fields)}")


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
