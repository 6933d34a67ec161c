# SPDX-License-Identifier: GPL-2.0-only
"""What a scheduler saw when it was asked, as a model of a scheduler gets it.

The units are those of the kernel: packets, bytes, and times in eighths of a microsecond (`_8us`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mptcplab.errors import MptcplabError
from mptcplab.metrics import records

WAIT, NEW, REINJECTION, DUPLICATE = range(4)
#: of what is done: of the scheduler's own, with a number in place of its bytes
EVENT = 7

#: TCP_CA_Open, TCP_CA_Recovery and TCP_CA_Loss
CA_OPEN, CA_RECOVERY, CA_LOSS = 0, 3, 4
INFINITE_SSTHRESH = 0x7FFFFFFF


@dataclass(slots=True)
class Subflow:
    """One subflow, when the scheduler was asked; `index` is its place in our list."""

    index: int
    id: int
    usable: bool
    backup: bool
    #: established and not closing, even if silent since its last timeout (pf)
    can_send: bool
    ca_state: int
    mss: int
    srtt_8us: int
    rttvar_4us: int
    rttvar_us: int
    min_rtt_us: int
    last_rtt_us: int
    #: the same, or the RTT of a handshake that left a smoothed one alone
    last_rtt_8us: int
    cwnd: int
    ssthresh: int
    limit: int
    in_flight: int
    packets_out: int
    unsent_bytes: int
    outstanding_bytes: int
    window_bytes: int
    wmem_queued: int
    snd_una: int
    snd_nxt: int
    owd_us: int
    commd_us: int
    pacing_rate: int
    delivered_ns: int
    device_sent_bytes: int
    #: TCP's small queues hold it back
    throttled: bool
    #: as upstream's default scheduler asks; and upstream has given it up
    memory_full: bool
    stale: bool
    carried_head: bool
    carried_oldest: bool
    carried_reinjection: bool
    #: of the out-of-tree kernel: not fully established, it takes the segment at next_seq and no
    #: other; it is to answer the peer's DATA_FIN
    in_order: bool
    answers_fin: bool
    next_seq: int
    mss_cache: int
    #: its send queue in buffers, and how many packets TCP, or the device, puts into one
    queued_skbs: int
    tso_segs: int
    gso_max_segs: int
    #: what is queued ends so far beyond the receive window
    past_window_bytes: int


class Segment(NamedTuple):
    """A segment, and the numbers of the subflows that have carried it."""

    seq: int
    bytes: int
    carried: frozenset[int]

    @property
    def end(self) -> int:
        return self.seq + self.bytes


@dataclass(slots=True)
class Question:
    """The connection, when its scheduler was asked, with its subflows in our order."""

    time_ns: int
    connection: int
    scheduler: str
    una_seq: int
    nxt_seq: int
    window_end_seq: int
    window_bytes: int
    unsent_bytes: int
    segment_bytes: int
    jiffies: int
    #: there is nothing to send, since a writer waits for memory; and there is none
    writer_waits: bool
    sndbuf_full: bool
    #: the first unsent segment: as it was written, without what was sent of it
    head: Segment | None
    head_sent: int
    oldest: Segment | None
    reinjection: Segment | None
    subflows: list[Subflow]
    #: the order in which the source walks them; else in the order of creation
    newest_first: bool = True
    #: as our schedulers compute: RTTs and halves of them in whole us, their ratios in thousandths
    whole_us: bool = False
    wmem_queued: int = 0
    #: of the out-of-tree kernel: get_subflow() is asked, for the reinjection alone, and perhaps to
    #: look at receive windows; the segment asked for ends with a DATA_FIN, a byte of it
    packets_out: int = 0
    one_segment: bool = False
    window_test: bool = False
    fin: bool = False

    def subflow(self, number: int) -> Subflow | None:
        """The subflow of that number of creation."""
        return next((each for each in self.subflows if each.id == number), None)


class Answer(NamedTuple):
    """What was picked: WAIT, or a segment by its first byte, on a subflow by its number."""

    what: int = WAIT
    subflow: int = 0
    seq: int = 0

    @classmethod
    def new(cls, subflow: Subflow | None, segment: Segment | None, what: int = NEW) -> Answer:
        """A segment on a subflow; a wait if one of them is missing."""
        return cls(what, subflow.id, segment.seq) if subflow and segment else cls()

    @classmethod
    def reinjection(cls, subflow: Subflow | None, segment: Segment | None) -> Answer:
        return cls.new(subflow, segment, REINJECTION)

    @classmethod
    def duplicate(cls, subflow: Subflow | None, segment: Segment | None) -> Answer:
        return cls.new(subflow, segment, DUPLICATE)

    def __str__(self) -> str:
        if self.what == WAIT:
            return "wait"
        return f"{records.DECISIONS[self.what]} {self.seq} on {self.subflow}"


class Asked(NamedTuple):
    """A question and the answer of the scheduler in the kernel, with the most bytes to send."""

    question: Question
    answer: Answer
    limit: int = 0


class Done(NamedTuple):
    """A pick that was carried out, or what else `records.DECISIONS` has but a wait."""

    time_ns: int
    connection: int
    what: int
    subflow: int
    seq: int
    bytes: int


#: Of a record of a question all fields, and those that are taken as they are.
_OF_QUESTION = [name for name in records.QUESTION_DTYPE.names or () if name != "version"]
_QUESTION_FIELDS = [each.name for each in fields(Question) if each.name in _OF_QUESTION]
_SUBFLOW_FLAGS = (
    *("usable", "backup", "can_send", "throttled", "memory_full", "stale"),
    *("carried_head", "carried_oldest", "carried_reinjection"),
)
# What the out-of-tree kernel has besides, where the lab's has padding: kernel/patches/4.19, 0090.
_ONE_SEGMENT, _WINDOW_TEST, _FIN = 64, 128, 256
_IN_ORDER, _ANSWERS_FIN = 512, 1024


def _out_of_tree(first: int, **fields: str) -> np.dtype[np.void]:
    """Fields that follow each other from the byte `first` of a record."""
    sizes = [np.dtype(each).itemsize for each in fields.values()]
    layout: Any = {
        "names": list(fields),
        "formats": list(fields.values()),
        "offsets": [first + sum(sizes[:index]) for index in range(len(sizes))],
        "itemsize": records.STATE_BYTES,
    }
    dtype: np.dtype[np.void] = np.dtype(layout)
    return dtype


OUT_OF_TREE_QUESTION = _out_of_tree(124, packets_out="<u4")
OUT_OF_TREE_SUBFLOW = _out_of_tree(
    160,
    next_seq="<u8",
    mss_cache="<u4",
    queued_skbs="<u4",
    tso_segs="<u4",
    gso_max_segs="<u4",
    past_window_bytes="<u4",
)


def read(path: Path, scheduler: str) -> Iterator[Asked | Done]:
    """What is in a file of states, in its order, of all connections.

    Raises MptcplabError, in one line, when there are no states, when they are of another format or
    scheduler, or when a question lacks subflows or an answer. (Of an answer, that is known at the
    end.)
    """
    if not path.exists():
        raise MptcplabError(f"{path}: no such file; states are kept with --states")
    states = records.read_states(path)
    if not np.any(np.isin(states["kind"], (records.QUESTION, records.ANSWER))):
        raise MptcplabError(f"{path}: no scheduler was asked anything")
    names = np.unique(states["scheduler"][states["kind"] == records.QUESTION])
    others = [name.decode("ascii", "replace") for name in names if name != scheduler.encode()]
    if others:
        raise MptcplabError(f"{path}: states of scheduler {others[0]}, not of {scheduler}")
    yield from _in_order(path, states)


def _in_order(path: Path, states: records.Records) -> Iterator[Asked | Done]:
    kinds = states["kind"].tolist()
    connections = states["connection"].tolist()
    questions = _rows(states, records.QUESTION, _OF_QUESTION, records.QUESTION_DTYPE)
    subflows = _subflows(states)
    answers = _rows(states, records.ANSWER, (*Answer._fields, "bytes"))
    more = _rows(states, records.QUESTION, ("packets_out",), OUT_OF_TREE_QUESTION)
    done = map(Done._make, _rows(states, records.DONE, Done._fields))
    #: by connection, the question without an answer so far, with its place
    pending: dict[int, tuple[dict[str, Any], list[Subflow], int]] = {}
    for place, (kind, number) in enumerate(zip(kinds, connections, strict=True)):
        if kind == records.DONE:
            yield next(done)
        elif kind == records.QUESTION:
            asked = dict(zip(_OF_QUESTION, next(questions), strict=True))
            (asked["packets_out"],) = next(more)
            pending[number] = (asked, [], place)
        elif number not in pending:
            raise MptcplabError(
                f"{path}: the record at offset {place * records.STATE_BYTES} has no question"
            )
        elif kind == records.SUBFLOW_STATE:
            pending[number][1].append(next(subflows))
        else:
            asked, its, _ = pending.pop(number)
            if len(its) != asked["n"]:
                raise MptcplabError(
                    f"{path}: {len(its)} of {asked['n']} subflows before the answer at offset "
                    f"{place * records.STATE_BYTES}"
                )
            *answer, limit = next(answers)
            yield Asked(_question(asked, its), Answer._make(answer), limit)
    for _, _, place in pending.values():
        raise MptcplabError(
            f"{path}: the question at offset {place * records.STATE_BYTES} has no answer; the file "
            "is cut off"
        )


def _rows(
    states: records.Records,
    kind: int,
    names: Iterable[str],
    dtype: np.dtype[np.void] = records.ANSWER_DTYPE,
) -> Iterator[tuple[Any, ...]]:
    """The records of a kind: of each, the values of these fields."""
    chosen = records.select(states.view(dtype), states["kind"] == kind)
    return zip(*(chosen[name].tolist() for name in names), strict=True)


def _subflows(states: records.Records) -> Iterator[Subflow]:
    """All subflows of all questions, column by column: there are hundreds of thousands."""
    dtype = records.SUBFLOW_STATE_DTYPE
    chosen = records.select(states.view(dtype), states["kind"] == records.SUBFLOW_STATE)
    columns = {name: chosen[name] for name in dtype.names or ()}
    for name in _SUBFLOW_FLAGS:
        columns[name] = chosen["flags"] & getattr(records, name.upper()) != 0
    columns["in_order"] = chosen["flags"] & _IN_ORDER != 0
    columns["answers_fin"] = chosen["flags"] & _ANSWERS_FIN != 0
    more = chosen.view(OUT_OF_TREE_SUBFLOW)
    columns |= {name: more[name] for name in OUT_OF_TREE_SUBFLOW.names or ()}
    rtt_8us = chosen["last_rtt_us"].astype(np.int64) << 3
    columns["last_rtt_8us"] = np.where(rtt_8us, rtt_8us, chosen["srtt_8us"])
    columns["index"] = np.zeros(len(chosen), dtype=np.int64)  # until its question is whole
    return map(Subflow, *(columns[each.name].tolist() for each in fields(Subflow)))


def _question(asked: dict[str, Any], its: list[Subflow]) -> Question:
    flags = asked["flags"]
    for index, each in enumerate(its):
        each.index = index

    def segment(name: str, flag: int) -> Segment | None:
        if not flags & flag:
            return None
        carried = frozenset(each.id for each in its if getattr(each, f"carried_{name}"))
        return Segment(asked[f"{name}_seq"], asked[f"{name}_bytes"], carried)

    known = {name: asked[name] for name in _QUESTION_FIELDS}
    return Question(
        **known | {"scheduler": asked["scheduler"].decode()},
        writer_waits=bool(flags & records.WRITER_WAITS),
        sndbuf_full=bool(flags & records.SNDBUF_FULL),
        packets_out=asked["packets_out"],
        one_segment=bool(flags & _ONE_SEGMENT),
        window_test=bool(flags & _WINDOW_TEST),
        fin=bool(flags & _FIN),
        head=segment("head", records.HAS_HEAD),
        oldest=segment("oldest", records.HAS_OLDEST),
        reinjection=segment("reinjection", records.HAS_REINJECTION),
        subflows=its,
    )
