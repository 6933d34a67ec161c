# SPDX-License-Identifier: GPL-2.0-only
"""Workloads: what the applications at both ends send, and when.

Each kind is a class here, the resolved form of a [workload] table, and a function that turns it
into a list of messages. The guest only plays messages (docs/workloads.md): the messages of one
connection and direction are written in the order of the list, each when it is due. Their fate is
recorded in messages.records, from which module `application` computes the figures.

All times and sizes are whole numbers, and random ones result from comparing integers of the
generator, so the messages are the same on every machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mptcplab.scenario.limits import DIRECTIONS, Call, Direction, Start
from mptcplab.scenario.web_page import Object

if TYPE_CHECKING:
    from numpy.random import Generator


MAX_MESSAGES = 100_000
DEFAULT_DURATION_NS = 20 * 10**9
#: Blocks of the application-limited flow of Paasch et al. 2014.
DEFAULT_BLOCK_BYTES = 8000
#: A frame that the scheduler may drop begins with its number, of 4 bytes.
MIN_FRAME_BYTES = 8

# Events use the streams of their numbers, which are smaller.
_STREAM = 1 << 16

#: The labels of messages whose arrival is not a figure on its own.
REQUEST = "request"
REPLY = "reply"
#: The label of the packets of a tunnel's call.
CALL = "call"
_REPLY_BYTES = 1


# What each kind is


class Workload(BaseModel):
    """The fields of every workload.

    `direction` is that of the data: up is client to server. Messages begin until `duration_ns`
    after T0; None: the run ends when all of them have arrived. `size_bytes` is the total to send,
    for bulk only. Messages due in the first `warmup_ns` count in no figure.

    `start` defines T0: at-once, when a connection's first subflow exists, or established, when each
    path has a subflow that can carry data. Scenarios resolved before this choice existed lack the
    key, and mean established. With `no_delay` a short last segment does not wait for an
    acknowledgment (TCP_NODELAY); a program of the host sets that itself.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: str
    direction: Literal["up", "down", "both"] = "up"
    duration_ns: int | None = None
    size_bytes: int | None = None
    warmup_ns: int = 0
    start: Start = "established"
    no_delay: bool = False

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions in which data is sent."""
        return DIRECTIONS if self.direction == "both" else (self.direction,)

    @property
    def is_crowd(self) -> bool:
        """Whether it has many connections between two hosts, whose data the kernel moves."""
        return False


class Bulk(Workload):
    """As much as the connection can carry, for `duration_ns` or until `size_bytes` are sent.

    With several `connections`, a crowd, one opens every `interval_ns`, and the size is of each.
    """

    kind: Literal["bulk"] = "bulk"
    connections: int = Field(default=1, exclude_if=lambda connections: connections == 1)
    interval_ns: int | None = Field(default=None, exclude_if=lambda interval: interval is None)

    @property
    def is_crowd(self) -> bool:
        return self.connections > 1

    @property
    def opened_ns(self) -> int:
        """When the last connection opens, after T0."""
        return (self.connections - 1) * (self.interval_ns or 0)


class Transfers(Workload):
    """`count` transfers of a size, every `interval_ns`, or (None) one after another.

    With `fresh` each has a connection of its own, opened for it.
    """

    kind: Literal["transfers"] = "transfers"
    no_delay: bool = True
    transfer_bytes: int
    count: int
    interval_ns: int | None
    fresh: bool


class Cbr(Workload):
    """Blocks of a size at a constant rate: block i is due 8e9 x i x size / rate ns after T0."""

    kind: Literal["cbr"] = "cbr"
    no_delay: bool = True
    block_bytes: int
    rate_bps: int | None
    interval_ns: int | None


class Requests(Workload):
    """Requests, up, each with its response, down.

    There is one every `interval_ns` (the mean if `random`), or `count` of them, each `think_ns`
    after the previous response.
    """

    kind: Literal["requests"] = "requests"
    no_delay: bool = True
    direction: Literal["down"] = "down"
    request_bytes: int
    response_bytes: int
    interval_ns: int | None
    random: bool
    think_ns: int | None
    count: int | None


class Web(Workload):
    """A page, loaded over several connections, which it opens itself if `fresh`."""

    kind: Literal["web"] = "web"
    no_delay: bool = True
    direction: Literal["down"] = "down"
    objects: tuple[Object, ...]
    request_bytes: int
    connections: int
    fresh: bool


class Video(Workload):
    """Segments of a video for a player that buffers `buffer_ns` and selects their bitrates."""

    kind: Literal["video"] = "video"
    no_delay: bool = True
    direction: Literal["down"] = "down"
    segments: int
    segment_ns: int
    bitrates_bps: tuple[int, ...]
    request_bytes: int
    buffer_ns: int
    reservoir_ns: int
    cushion_ns: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of a segment at each bitrate."""
        return tuple(bps * self.segment_ns // (8 * 10**9) for bps in self.bitrates_bps)


class Frames(Workload):
    """Frames of a live video, each with its deadline, `deadline_ns` after it is due."""

    kind: Literal["frames"] = "frames"
    no_delay: bool = True
    fps: int
    rate_bps: int
    gop: str
    ratio: tuple[int, int, int]
    deadline_ns: int

    @property
    def frames(self) -> int:
        """Their number, in each direction."""
        assert self.duration_ns is not None
        return -(-self.duration_ns * self.fps // 10**9)

    def frame_bytes(self, kind: str) -> int:
        """Size of a frame of kind I, P or B, such that a group has the mean rate."""
        weights = dict(zip("IPB", self.ratio, strict=True))
        group_bits = self.rate_bps * len(self.gop)
        total = sum(weights[each] for each in self.gop) * self.fps * 8
        return max(MIN_FRAME_BYTES, group_bits * weights[kind] // total)


class Tunnel(Workload):
    """A connection that carries the packets of two hosts behind its ends, as VPNs over TCP do.

    With `bulk` there is bulk data over a plain TCP connection inside, in the `direction`. The call
    is UDP, in both directions: packets of `packet_bytes` of payload every `interval_ns`. In front
    of each end, up to `queue` packets wait, each of at most `mtu` bytes; the bulk data before that,
    with a `rate_bps`, in a shaper with fq_codel. The connection takes no more packets while it has
    `not_sent_lowat_bytes` that were never sent.
    """

    kind: Literal["tunnel"] = "tunnel"
    no_delay: bool = True
    bulk: bool
    call: Call
    packet_bytes: int
    interval_ns: int
    deadline_ns: int
    mtu: int
    queue: int
    rate_bps: int | None
    not_sent_lowat_bytes: int | None

    @property
    def packets(self) -> int:
        """The number of the call's packets, in each direction."""
        assert self.duration_ns is not None
        return 0 if self.call == "none" else -(-self.duration_ns // self.interval_ns)


class Program(Workload):
    """Programs of the host to run: the command lines of the client and of the server.

    The server's may be missing. `directory` is where both start. The client's standard input is
    empty, the run's file `client.in`, or the terminal, which runs in real time and without a limit;
    `term` is the terminal's type. The client's program starts when something on the server listens:
    on `listen`, such as udp:4433, or, if that is empty, on any port. With `records` false no
    samples are taken. There are no messages, and the direction of the data is found in the records.
    """

    kind: Literal["program"] = "program"
    start: Literal["at-once"] = "at-once"
    client: tuple[str, ...]
    server: tuple[str, ...] = ()
    directory: str
    time_limit_ns: int | None
    input: Literal["none", "file", "terminal"] = "none"
    term: str | None = None
    listen: str = Field(default="", exclude_if=lambda listen: not listen)
    records: bool = True


AnyWorkload = Annotated[
    Bulk | Transfers | Cbr | Requests | Web | Video | Frames | Tunnel | Program,
    Field(discriminator="kind"),
]


# Messages


@dataclass(frozen=True)
class Message:
    """Bytes that one end writes, and the other waits for.

    `sizes` is empty for a message that lasts until the workload ends; if there are several, the
    player picks one. It is due `at_ns` after T0, or `delay_ns` after message `after` (counted from
    1) is complete at the end that sends this one: received there, or, if that end sent it, written.
    It is in time if it arrives within `deadline_ns` of its due time. It is useless without message
    `needs`, counted like `after`; it is itself needed until `expires_ns` after its due time, and
    `importance` is the number of messages that are useless without it, itself included.
    """

    connection: int
    direction: Direction
    sizes: tuple[int, ...]
    at_ns: int = 0
    after: int | None = None
    delay_ns: int = 0
    deadline_ns: int | None = None
    needs: int | None = None
    importance: int = 0
    expires_ns: int | None = None
    label: str = ""


# The points of a sweep have few workloads, and these many messages.
_few = lru_cache(maxsize=8)


@_few
def messages(workload: AnyWorkload, seed: int) -> Sequence[Message]:
    """The messages of a workload, in the order of the plan."""
    found: list[Message]
    match workload:
        case Bulk():
            found = _bulk(workload)
        case Transfers():
            found = _transfers(workload)
        case Cbr():
            found = _cbr(workload)
        case Requests():
            found = _requests(workload, seed)
        case Web():
            found = _web(workload)
        case Video():
            found = _video(workload)
        case Frames():
            found = _frames(workload)
        case Tunnel():
            found = _tunnel(workload)
        case Program():
            found = []
    assert len(found) <= MAX_MESSAGES, "the limits of each kind keep it below"
    return tuple(found)


def opens_connections(workload: Workload) -> bool:
    """Whether connections are opened when their first message is due, not before T0."""
    return workload.is_crowd or (isinstance(workload, Transfers | Web) and workload.fresh)


@_few
def expected_ns(workload: AnyWorkload, seed: int, up_bps: int, down_bps: int) -> int:
    """An estimate of how long the messages take if their directions have these rates."""
    rates_bps = {"up": max(up_bps, 1), "down": max(down_bps, 1)}
    free_ns = {"up": 0, "down": 0}
    complete: list[int] = []
    for message in messages(workload, seed):
        due_ns = message.at_ns
        if message.after is not None:
            due_ns = complete[message.after - 1] + message.delay_ns
        size = message.sizes[0] if message.sizes else 0
        direction = message.direction
        begins_ns = max(due_ns, free_ns[direction])
        free_ns[direction] = begins_ns + size * 8 * 10**9 // rates_bps[direction]
        complete.append(free_ns[direction])
    least_ns = workload.duration_ns or 0
    if isinstance(workload, Program):
        least_ns = workload.time_limit_ns or 0
    if isinstance(workload, Video):
        least_ns = workload.segments * workload.segment_ns - workload.buffer_ns
    return max([least_ns, *complete])


def _bulk(workload: Bulk) -> list[Message]:
    sizes = () if workload.size_bytes is None else (workload.size_bytes,)
    interval_ns = workload.interval_ns or 0
    return [
        Message(number + 1, each, sizes, at_ns=number * interval_ns, label="bulk")
        for number in range(workload.connections)
        for each in workload.directions
    ]


def _transfers(workload: Transfers) -> list[Message]:
    """Each direction has its own connections: replies would wait behind transfers."""
    found: list[Message] = []
    directions = workload.directions
    for number, direction in enumerate(directions):
        last = None
        for i in range(workload.count):
            connection = 1 + number + (i * len(directions) if workload.fresh else 0)
            due: dict[str, Any] = {"at_ns": i * (workload.interval_ns or 0)}
            if last is not None and workload.interval_ns is None:
                due = {"after": last}
            transfer = Message(connection, direction, (workload.transfer_bytes,), label="transfer")
            # A download is requested; an upload gets a reply if something waits for its end.
            if direction == "down":
                found.append(Message(connection, "up", (_REPLY_BYTES,), label=REQUEST, **due))
                found.append(replace(transfer, after=len(found)))
            else:
                found.append(replace(transfer, **due))
                if workload.interval_ns is None:
                    reply = Message(connection, "down", (_REPLY_BYTES,), label=REPLY)
                    found.append(replace(reply, after=len(found)))
            last = len(found)
    return found


def _cbr(workload: Cbr) -> list[Message]:
    return [
        Message(1, direction, (workload.block_bytes,), at_ns=at_ns, label="block")
        for at_ns in _block_times(workload)
        for direction in workload.directions
    ]


def _block_times(workload: Cbr) -> Iterator[int]:
    assert workload.duration_ns is not None
    for i in itertools.count():
        if workload.interval_ns is not None:
            at_ns = i * workload.interval_ns
        else:
            assert workload.rate_bps is not None
            at_ns = i * workload.block_bytes * 8 * 10**9 // workload.rate_bps
        if at_ns >= workload.duration_ns:
            return
        yield at_ns


def _requests(workload: Requests, seed: int) -> list[Message]:
    found: list[Message] = []

    def add(**due: int) -> None:
        found.append(Message(1, "up", (workload.request_bytes,), label=REQUEST, **due))
        response = Message(1, "down", (workload.response_bytes,), label="response")
        found.append(replace(response, after=len(found)))

    if workload.think_ns is None:
        for at_ns in _request_times(workload, seed):
            add(at_ns=at_ns)
        return found
    assert workload.count is not None
    add(at_ns=0)
    for _ in range(workload.count - 1):
        add(after=len(found), delay_ns=workload.think_ns)
    return found


def _request_times(workload: Requests, seed: int) -> Iterator[int]:
    assert workload.duration_ns is not None
    assert workload.interval_ns is not None
    # NumPy is slow to import: nothing else in a scenario needs it
    from mptcplab.scenario.randomness import generator

    random = generator(seed, _STREAM)
    at_ns = 0
    while at_ns < workload.duration_ns:
        yield at_ns
        gap_ns = workload.interval_ns
        at_ns += _exponential(random, gap_ns) if workload.random else gap_ns


def _exponential(random: Generator, mean: int) -> int:
    """An exponential random number, by comparing integers only (von Neumann 1951).

    A run of falling numbers, each uniform below 1, has odd length with probability exp(-first):
    then the first is the fraction, and the number of even runs before it the whole part.
    """
    for whole in itertools.count():
        first = last = int(random.integers(1 << 53))
        length = 1
        while (new := int(random.integers(1 << 53))) < last:
            last = new
            length += 1
        if length % 2:
            return ((whole << 53) + first) * mean >> 53
    raise AssertionError


def _web(workload: Web) -> list[Message]:
    """Each object, in page order, goes to the connection with the fewest bytes so far."""
    found: list[Message] = []
    load = dict.fromkeys(range(1, workload.connections + 1), 0)
    arrived: list[int] = []
    for item in workload.objects:
        connection = min(load, key=lambda number: (load[number], number))
        load[connection] += item.size_bytes
        request = Message(
            connection, "up", (workload.request_bytes,), at_ns=item.delay_ns, label=REQUEST
        )
        if item.parent is not None:
            after = arrived[item.parent]
            request = replace(request, at_ns=0, after=after, delay_ns=item.delay_ns)
        found.append(request)
        label = f"object {item.name}"
        found.append(Message(connection, "down", (item.size_bytes,), after=len(found), label=label))
        arrived.append(len(found))
    return found


def _video(workload: Video) -> list[Message]:
    found: list[Message] = []
    for number in range(1, workload.segments + 1):
        after = len(found) or None
        found.append(Message(1, "up", (workload.request_bytes,), after=after, label=REQUEST))
        label = f"segment {number}"
        found.append(Message(1, "down", workload.sizes, after=len(found), label=label))
    return found


def _frames(workload: Frames) -> list[Message]:
    """P and B frames need the last I or P frame before them."""
    sizes = {kind: workload.frame_bytes(kind) for kind in "IPB"}
    count = workload.frames
    kinds = [workload.gop[i % len(workload.gop)] for i in range(count)]
    due_ns = [i * 10**9 // workload.fps for i in range(count)]
    needs: list[int | None] = []
    reference = None
    for i, kind in enumerate(kinds):
        needs.append(reference if kind != "I" else None)
        if kind != "B":
            reference = i
    importance, last_ns = [1] * count, list(due_ns)
    for i in reversed(range(count)):
        needed = needs[i]
        if needed is not None:
            importance[needed] += importance[i]
            last_ns[needed] = max(last_ns[needed], last_ns[i])
    directions = workload.directions

    def message(i: int, place: int) -> Message:
        needed = needs[i]
        return Message(
            1,
            directions[place],
            (sizes[kinds[i]],),
            at_ns=due_ns[i],
            deadline_ns=workload.deadline_ns,
            needs=None if needed is None else needed * len(directions) + place + 1,
            importance=importance[i],
            expires_ns=last_ns[i] - due_ns[i] + workload.deadline_ns,
            label=f"frame {kinds[i]}",
        )

    return [message(i, place) for i in range(count) for place in range(len(directions))]


def _tunnel(workload: Tunnel) -> list[Message]:
    """Bulk data on the first connection inside, and the call on the next one."""
    bulk = [Message(1, each, (), label="bulk") for each in workload.directions if workload.bulk]
    number, sizes = len(bulk) + 1, (workload.packet_bytes,)
    return bulk + [
        Message(number, direction, sizes, at_ns=i * workload.interval_ns, label=CALL)
        for i in range(workload.packets)
        for direction in DIRECTIONS
    ]
