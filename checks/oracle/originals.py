# SPDX-License-Identifier: GPL-2.0-only
"""The schedulers of the out-of-tree kernel itself, as they are in v0.95: docs/oracle.md, originals.

The other models have the fixes of our schedulers, and see our connection. These have the faults of
the sources, each as a form with a name, and see what that kernel records: segments longer than a
packet, path masks as the source clears them, and what is queued in a subflow. They also know the
limit, the most bytes of a segment that are to leave.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from checks.oracle.blest import Blest
from checks.oracle.ecf import Ecf, complete_earlier, queued_bytes
from checks.oracle.minrtt import MinRtt
from checks.oracle.redundant import Redundant
from checks.oracle.roundrobin import RoundRobin
from checks.oracle.sent import Sent
from checks.oracle.state import (
    DUPLICATE,
    NEW,
    WAIT,
    Answer,
    Asked,
    Done,
    Question,
    Segment,
    Subflow,
)
from checks.oracle.v09x import Default, Model, in_list_order, in_loss, lowest_rtt
from mptcplab.errors import MptcplabError
from mptcplab.lab import kernel_names, kernel_tree

_U32 = 0xFFFFFFFF
#: Before any subflow that was there when recording began had begun.
_LONG_AGO = 1 << 20

FASTEST = "waits for the lowest RTT of all, also if that subflow may never send"
PASSED = "takes the window of a subflow whose queue is beyond it for 4 GiB"
OVERFLOW = "products of 32 bits overflow"
MEMORY = "counts memory, not bytes"
BUSY = "reinjects on the oldest subflow where none has room"
LOST = "forgets a place whose segment was split or did not leave: begins with the oldest again"
AGAIN = "repeats a segment on a subflow that has carried it"

#: Has a subflow room for a segment?
Room = Callable[[Subflow], bool]


def queued_packets(subflow: Subflow) -> int:
    """mptcp_subflow_queued(): in flight, and at most what is in the send queue."""
    queued = subflow.queued_skbs
    return subflow.in_flight + (queued * subflow.tso_segs if queued > 1 else queued)


def packets_room(subflow: Subflow) -> bool:
    return queued_packets(subflow) < subflow.cwnd


def bytes_room(subflow: Subflow) -> bool:
    space = (subflow.cwnd - subflow.in_flight) * subflow.mss_cache
    return subflow.in_flight < subflow.cwnd and subflow.unsent_bytes < space


def bytes_room_rr(subflow: Subflow) -> bool:
    """mptcp_rr_is_available(): `>`, where mptcp_is_available() has `>=`."""
    space = (subflow.cwnd - subflow.in_flight) * subflow.mss_cache
    return subflow.in_flight < subflow.cwnd and subflow.unsent_bytes <= space


class Availability(Default):
    """get_available_subflow() of v0.95, with the path masks as recorded."""

    def __init__(self, room: Room, packet_window: bool = True) -> None:
        super().__init__()
        self.room = room
        self.packet_window = packet_window
        self.window_test = False

    def began(self, question: Question) -> None:
        # a mask that was cleared is recorded so
        self.cleared.clear()
        self.window_test = question.one_segment and question.window_test
        first = not self.optimised
        for each in question.subflows:
            since = question.jiffies - (_LONG_AGO if first else 0)
            self.optimised.setdefault(each.id, since)

    def available(self, subflow: Subflow, segment: Segment | None) -> bool:
        if not subflow.usable or in_loss(subflow) or not self.room(subflow):
            return False
        if subflow.in_order and segment and segment.seq != subflow.next_seq:
            return False
        if not self.window_test:
            return True
        least = min(segment.bytes, subflow.mss) if segment and self.packet_window else 1
        return max(least, 1) <= subflow.window_bytes

    def choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        return self.fin(question, segment) or super().choose(question, segment)

    def fin(self, question: Question, segment: Segment | None) -> Subflow | None:
        """A DATA_FIN answers the peer's where that came."""
        order = in_list_order(question) if segment else ()
        found = (each for each in order if each.answers_fin and self.available(each, segment))
        return next(found, None)


class Split(Sent):
    """Of what was sent, the segments in the queue of retransmissions, which are split there."""

    def done(self, done: Done) -> None:
        if done.what not in (NEW, DUPLICATE):
            return
        known, carried = self._known.get(done.seq, (done.bytes, frozenset[int]()))
        if done.bytes < known:
            self._known[done.seq + done.bytes] = (known - done.bytes, carried)
        self._known[done.seq] = (min(done.bytes, known), carried | {done.subflow})


class Original(Model):
    """What all originals have; `room` is that of the file mptcp_sched.c in the kernel."""

    metric = False
    #: Does it split segments?
    limits = True
    default: Availability

    def __init__(self, room: Room) -> None:
        self.room = room
        self.forms: set[str] = set()
        #: the windows of all subflows that the last answer left; its time, if it was carried out
        self.left: dict[int, tuple[int, int]] = {}
        self.left_ns = 0
        #: those that something was sent on at this time: an idle one then begins with less
        self.busy: set[int] = set()
        self.busy_ns = 0
        self.penalised = True
        super().__init__({})
        self.default = self._default()
        self.sent = Split()

    def _default(self) -> Availability:
        return Availability(self.room)

    def choose(self, question: Question) -> Answer:
        self.forms.clear()
        self.default.began(question)
        # after a pick that leaves, the core asks again at once
        self.penalised = self.left_ns != question.time_ns or all(
            self.left.get(each.id) in (None, (each.cwnd, each.ssthresh))
            for each in question.subflows
            if each.id not in self.busy
        )
        self.left_ns = 0
        if question.one_segment:
            segment = question.reinjection
            answer = Answer.reinjection(self.one(question, segment), segment)
        else:
            answer = super().choose(question)  # type: ignore[safe-super]
        self.left = {each.id: (each.cwnd, each.ssthresh) for each in question.subflows}
        return answer

    def done(self, done: Done) -> None:
        super().done(done)
        if done.time_ns != self.busy_ns:
            self.busy.clear()
        self.busy.add(done.subflow)
        self.left_ns = self.busy_ns = done.time_ns

    def agrees(self, asked: Asked, answer: Answer) -> bool:
        """Has the kernel this answer and the limit, and the windows that the last answer left?"""
        same = answer == asked.answer and self.limit(asked.question, answer) == asked.limit
        return same and self.penalised

    def one(self, question: Question, segment: Segment | None) -> Subflow | None:
        """get_subflow(), for a segment that the core has chosen."""
        return self.default.choose(question, segment)

    def awaited(self, question: Question, slow: Subflow) -> Subflow | None:
        alive = [each for each in in_list_order(question) if each.can_send]
        found, fixed = lowest_rtt(alive), super().awaited(question, slow)
        self.form(FASTEST, (found and found.id) != (fixed and fixed.id))
        return found

    def form(self, name: str, differs: bool) -> None:
        """Notes a form if it gives another value than the fix."""
        if differs:
            self.forms.add(name)

    def limit(self, question: Question, answer: Answer) -> int:
        """The most bytes of the answer's segment that are to leave; 0: all."""
        subflow = question.subflow(answer.subflow)
        segments = (question.reinjection, question.oldest, question.head)
        if not self.limits or answer.what == WAIT or question.one_segment or not subflow:
            return 0
        segment = next(each for each in segments if each and each.seq == answer.seq)
        length = segment.bytes - (question.fin and answer.what != DUPLICATE)
        return self.part(subflow, length) if length > subflow.mss else 0

    def window(self, subflow: Subflow) -> int:
        """What a subflow's receive window takes: a difference of 32 bits."""
        self.form(PASSED, subflow.past_window_bytes > 0)
        return (subflow.window_bytes - subflow.past_window_bytes) & _U32

    def part(self, subflow: Subflow, length: int) -> int:
        """The end of mptcp_next_segment(), for a segment longer than a packet."""
        most = max(subflow.gso_max_segs, 1)
        if self.room is packets_room:
            packets = min((subflow.cwnd - queued_packets(subflow)) & _U32, most)
            part = min(subflow.mss * max(subflow.tso_segs, packets), length)
        else:
            part = min(subflow.mss * min(cwnd_test(subflow), most), length)
            left = (subflow.cwnd - subflow.in_flight) * subflow.mss - subflow.unsent_bytes
            part = min(part, left) if left > 0 else part
        return min(part, self.window(subflow))


def cwnd_test(subflow: Subflow) -> int:
    """tcp_cwnd_test(): at most half of the window at once."""
    if subflow.in_flight >= subflow.cwnd:
        return 0
    return min(max(subflow.cwnd >> 1, 1), subflow.cwnd - subflow.in_flight)


class OriginalMinRtt(Original, MinRtt):
    pass


class OriginalBlest(Original, Blest):
    def set_up(self) -> None:
        super().set_up()
        self.updated = -_LONG_AGO

    def one(self, question: Question, segment: Segment | None) -> Subflow | None:
        return self._choose(question, segment)

    def _choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        return self.default.fin(question, segment) or super()._choose(question, segment)

    def linger_8us(self, slow: Subflow) -> int:
        least, most, in_flight = self.least[slow.id], self.most[slow.id], slow.in_flight + 1
        estimate = most
        if in_flight < slow.cwnd:
            estimate = least + ((most - least) * in_flight & _U32) // slow.cwnd
        found = max(slow.srtt_8us, estimate)
        self.form(OVERFLOW, found != super().linger_8us(slow))
        return found

    def bytes_in(self, fast: Subflow, time_8us: int) -> int:
        exact = super().bytes_in(replace(fast, mss=fast.mss_cache), time_8us)
        self.form(OVERFLOW, exact > _U32)
        return exact & _U32

    def part(self, subflow: Subflow, length: int) -> int:
        most = subflow.mss * min(cwnd_test(subflow), max(subflow.gso_max_segs, 1))
        return most if most <= length else min(length, self.window(subflow))


class OriginalEcf(Original, Ecf):
    def one(self, question: Question, segment: Segment | None) -> Subflow | None:
        return self._choose(question, segment)

    def took(self, _: Asked) -> None:
        """What it waits for it has noted as it chose."""

    def _choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        if fin := self.default.fin(question, segment):
            return fin
        slow = self.default.choose(question, segment)
        fast = self.awaited(question, slow) if slow else None
        if not slow or not fast or slow.id == fast.id:
            return slow
        alive = [each for each in question.subflows if each.can_send]
        delta = max(fast.rttvar_4us >> 1, slow.rttvar_4us >> 1)
        on_subflows = sum(each.wmem_queued for each in alive)
        acked = max(question.packets_out - sum(each.packets_out for each in alive), 0) * slow.mss
        memory = max(question.wmem_queued - on_subflows - acked, 0)

        def verdict(queued: int, bits: int) -> int | None:
            return complete_earlier(
                fast, slow, queued, delta, self.waiting, at_least_window=True, bits=bits
            )

        found = verdict(memory, 32)
        self.form(OVERFLOW, found != verdict(memory, 128))
        self.form(MEMORY, verdict(memory, 128) != verdict(queued_bytes(question, alive), 128))
        self._why = f"fast {fast.id}, k {memory}, delta {delta} us, waiting {self.waiting}"
        self.waiting = self.waiting if found is None else found
        return None if found == 1 else slow


class OriginalRoundRobin(Original, RoundRobin):
    def _default(self) -> Availability:
        return Availability(bytes_room_rr, packet_window=False)

    def one(self, question: Question, segment: Segment | None) -> Subflow | None:
        return question.subflow(self.reinject(question, segment).subflow) if segment else None

    def reinject(self, question: Question, segment: Segment) -> Answer:
        if fin := self.default.fin(question, segment):
            return Answer.reinjection(fin, segment)
        answer = super().reinject(question, segment)
        if answer.what != WAIT or not question.subflows:
            return answer
        self.form(BUSY, True)
        return Answer.reinjection(question.subflows[0], segment)

    def limit(self, question: Question, answer: Answer) -> int:
        subflow = question.subflow(answer.subflow)
        return subflow.mss if answer.what == NEW and subflow else 0


class OriginalRedundant(Original, Redundant):
    limits = False

    def set_up(self) -> None:
        super().set_up()
        #: of each subflow, its last segment as it was when chosen; who follows the last one chosen
        self.place: dict[int, tuple[int, int]] = {}
        self.later: list[int] = []

    def one(self, question: Question, segment: Segment | None) -> Subflow | None:
        if fin := self.default.fin(question, segment):
            return fin
        order = self._from_next(question)
        found = next((each for each in order if self.default.available(each, segment)), None)
        self._moved(question, found.id if found else 0)
        return found

    def took(self, asked: Asked) -> None:
        question, answer, _ = asked
        if answer.what not in (NEW, DUPLICATE):
            return
        segment = question.head if answer.what == NEW else self.sent.at(answer.seq)
        if segment:
            self.place[answer.subflow] = (segment.seq, segment.end)
            self.form(AGAIN, answer.subflow in segment.carried)
        self._moved(question, answer.subflow)

    def _moved(self, question: Question, number: int) -> None:
        order = [each.id for each in in_list_order(question)]
        if number in order:
            self.later = order[order.index(number) + 1 :]

    def _from_next(self, question: Question) -> list[Subflow]:
        there = {each.id for each in question.subflows}
        self.next = next((each for each in self.later if each in there), None)
        return super()._from_next(question)

    def _candidate(self, question: Question, subflow: Subflow) -> int | None:
        place = self.place.get(subflow.id)
        if place and (place[0] < question.una_seq or place[1] > question.nxt_seq):
            self.form(LOST, place[1] > question.una_seq)
            place = self.place.pop(subflow.id, None) and None
        if not place:
            first = question.oldest or question.head
            return first.seq if first else None
        segment = self.sent.at(place[0])
        if segment and segment.end < question.nxt_seq:
            return segment.end
        return question.head.seq if question.head else None


#: The file of each in net/mptcp of its kernel, by the lab's name.
FILES: Mapping[str, str] = {
    "minrtt": "mptcp_sched.c",
    "roundrobin": "mptcp_rr.c",
    "redundant": "mptcp_redundant.c",
    "blest": "mptcp_blest.c",
    "ecf": "mptcp_ecf.c",
}


def _files(kernel: str) -> dict[str, bytes]:
    """The files of a kernel, before our patches, by name. Raises MptcplabError without any."""
    tree = kernel_names.find(kernel).tree
    before, now = (tree / each / "net/mptcp" for each in (kernel_tree.ORIGINALS, "src"))
    try:
        return {
            name: (before if (before / name).exists() else now).joinpath(name).read_bytes()
            for name in FILES.values()
        }
    except OSError as error:
        raise MptcplabError(
            f"{kernel}: {error.filename}: {error.strerror}; build the kernel from a source of the "
            "out-of-tree MPTCP, as docs/oracle.md says"
        ) from error


def file_ids(kernel: str) -> dict[str, str]:
    """By scheduler, what git calls its file in the source of a kernel. Raises as `room_of`."""
    files = _files(kernel)
    ids = {
        name: hashlib.sha1(b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest()
        for name, text in files.items()
    }
    return {scheduler: ids[name] for scheduler, name in FILES.items()}


def room_of(kernel: str) -> Room:
    """How mptcp_is_available() of a kernel counts: v0.95.2 in packets, v0.95 in bytes.

    Raises MptcplabError if there is no such kernel, or its source is not unpacked.
    """
    text = _files(kernel)[FILES["minrtt"]]
    return packets_room if b"mptcp_subflow_queued(" in text else bytes_room


#: By the lab's name.
ORIGINALS: Mapping[str, type[Original]] = {
    "minrtt": OriginalMinRtt,
    "roundrobin": OriginalRoundRobin,
    "redundant": OriginalRedundant,
    "blest": OriginalBlest,
    "ecf": OriginalEcf,
}
