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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from mptcplab.spec import units, web_page
from mptcplab.spec.limits import WORKLOAD_KEYS, Direction, Start
from mptcplab.spec.literal import LiteralWorkload
from mptcplab.spec.mistakes import Mistakes, one_of
from mptcplab.spec.web_page import Object, PageError

if TYPE_CHECKING:
    from numpy.random import Generator

T = TypeVar("T")


MAX_MESSAGES = 100_000
MAX_CONNECTIONS = 256

#: As programs do, which know nothing of further subflows and do not wait for them.
DEFAULT_START: Start = "at-once"
DEFAULT_DURATION_NS = 20 * 10**9
MAX_DEFAULT_WARMUP_NS = 5 * 10**9

#: Transfers of 10 Mbit, as in Mahmud and Cho.
DEFAULT_TRANSFER_BYTES = 1_250_000
DEFAULT_TRANSFERS = 20
#: Blocks of 8 KB, at 500 kbit/s: the application-limited flow of Paasch et al. 2014.
DEFAULT_BLOCK_BYTES = 8000
DEFAULT_BLOCK_RATE_BPS = 500_000
# Thin: each fits into a packet. Our choice.
DEFAULT_REQUEST_BYTES = 100
DEFAULT_RESPONSE_BYTES = 1000
DEFAULT_REQUEST_INTERVAL_NS = 10**8
DEFAULT_REQUESTS = 100
#: The headers of a browser's request; our choice.
DEFAULT_GET_BYTES = 500
#: The number of connections that browsers open to one host.
DEFAULT_WEB_CONNECTIONS = 6
#: The ladder that all titles once had at Netflix ("Per-Title Encode Optimization", 2015).
DEFAULT_BITRATES_BPS = tuple(
    kbps * 1000 for kbps in (235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800)
)
DEFAULT_VIDEO_NS = 120 * 10**9
#: As in Huang et al. 2014. Their buffer of 240 s is longer than a run: ours is a sixth, and its
#: parts (90 s and 126 s of 240 s) in proportion.
DEFAULT_SEGMENT_NS = 4 * 10**9
DEFAULT_BUFFER_NS = 40 * 10**9
_RESERVOIR = (90, 240)
_CUSHION = (126, 240)
DEFAULT_FPS = 25
DEFAULT_FRAMES_RATE_BPS = 4_000_000
#: 12 frames, every third an I or P: common in MPEG.
DEFAULT_GOP = "IBBPBBPBBPBB"
#: From the compression ratios usually quoted for I, P and B frames, 1:7, 1:20 and 1:50.
DEFAULT_RATIO = (14, 5, 2)
#: The one-way delay that hardly affects most applications, by ITU-T G.114 (2003).
DEFAULT_DEADLINE_NS = 150 * 10**6
#: A frame that the scheduler may drop begins with its number, of 4 bytes.
MIN_FRAME_BYTES = 8

#: A mean number of random requests at which far fewer than one seed in 10^9 exceeds the limit.
_MAX_RANDOM_REQUESTS = 49_000
# Events use the streams of their numbers, which are smaller.
_STREAM = 1 << 16

#: The labels of messages whose arrival is not a figure on its own.
REQUEST = "request"
REPLY = "reply"
_REPLY_BYTES = 1


# Resolved: what each kind is


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


class Bulk(Workload):
    """As much as the connection can carry, for `duration_ns` or until `size_bytes` are sent."""

    kind: Literal["bulk"] = "bulk"


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

    def frame_bytes(self, kind: str) -> int:
        """Size of a frame of kind I, P or B, such that a group has the mean rate."""
        weights = dict(zip("IPB", self.ratio, strict=True))
        group_bits = self.rate_bps * len(self.gop)
        total = sum(weights[each] for each in self.gop) * self.fps * 8
        return max(MIN_FRAME_BYTES, group_bits * weights[kind] // total)


class Program(Workload):
    """Programs of the host to run: the command lines of the client and of the server.

    The server's may be missing. `directory` is where both start. The client's standard input is
    empty, the run's file `client.in`, or the terminal, which runs in real time and without a limit;
    `term` is the terminal's type. With `records` false no samples are taken. There are no messages,
    and the direction of the data is found in the records.
    """

    kind: Literal["program"] = "program"
    start: Literal["at-once"] = "at-once"
    client: tuple[str, ...]
    server: tuple[str, ...] = ()
    directory: str
    time_limit_ns: int | None
    input: Literal["none", "file", "terminal"] = "none"
    term: str | None = None
    records: bool = True


AnyWorkload = Annotated[
    Bulk | Transfers | Cbr | Requests | Web | Video | Frames | Program,
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


def messages(workload: AnyWorkload, seed: int) -> list[Message]:
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
        case Program():
            found = []
    assert len(found) <= MAX_MESSAGES, "the limits of each kind keep it below"
    return found


def opens_connections(workload: Workload) -> bool:
    """Whether connections are opened when their first message is due, not before T0."""
    return isinstance(workload, Transfers | Web) and workload.fresh


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
        side = message.direction
        free_ns[side] = max(due_ns, free_ns[side]) + size * 8 * 10**9 // rates_bps[side]
        complete.append(free_ns[side])
    least_ns = workload.duration_ns or 0
    if isinstance(workload, Program):
        least_ns = workload.time_limit_ns or 0
    if isinstance(workload, Video):
        least_ns = workload.segments * workload.segment_ns - workload.buffer_ns
    return max([least_ns, *complete])


def _directions(workload: Workload) -> tuple[Direction, ...]:
    match workload.direction:
        case "both":
            return ("up", "down")
        case one:
            return (one,)


def _bulk(workload: Bulk) -> list[Message]:
    sizes = () if workload.size_bytes is None else (workload.size_bytes,)
    return [Message(1, side, sizes, label="bulk") for side in _directions(workload)]


def _transfers(workload: Transfers) -> list[Message]:
    """Each direction has its own connections: replies would wait behind transfers."""
    found: list[Message] = []
    sides = _directions(workload)
    for number, side in enumerate(sides):
        last = None
        for i in range(workload.count):
            connection = 1 + number + (i * len(sides) if workload.fresh else 0)
            due: dict[str, Any] = {"at_ns": i * (workload.interval_ns or 0)}
            if last is not None and workload.interval_ns is None:
                due = {"after": last}
            transfer = Message(connection, side, (workload.transfer_bytes,), label="transfer")
            # A download is requested; an upload gets a reply if something waits for its end.
            if side == "down":
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
        Message(1, side, (workload.block_bytes,), at_ns=at_ns, label="block")
        for at_ns in _block_times(workload)
        for side in _directions(workload)
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
    from mptcplab.spec.randomness import generator

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
    assert workload.duration_ns is not None
    sizes = {kind: workload.frame_bytes(kind) for kind in "IPB"}
    count = -(-workload.duration_ns * workload.fps // 10**9)
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
    sides = _directions(workload)

    def message(i: int, place: int) -> Message:
        needed = needs[i]
        return Message(
            1,
            sides[place],
            (sizes[kinds[i]],),
            at_ns=due_ns[i],
            deadline_ns=workload.deadline_ns,
            needs=None if needed is None else needed * len(sides) + place + 1,
            importance=importance[i],
            expires_ns=last_ns[i] - due_ns[i] + workload.deadline_ns,
            label=f"frame {kinds[i]}",
        )

    return [message(i, place) for i in range(count) for place in range(len(sides))]


# Resolving


def resolve(literal: LiteralWorkload, folder: Path, mistakes: Mistakes) -> AnyWorkload | None:
    """The workload with all defaults; None, after reporting mistakes, if it is invalid.

    The file of a page is looked up in `folder`.
    """
    if mistakes.spoiled(("workload", "kind")):
        return None
    kind = literal.kind or "bulk"
    given = [key for key in LiteralWorkload.model_fields if getattr(literal, key) is not None]
    foreign = [key for key in given if key != "kind" and key not in WORKLOAD_KEYS[kind]]
    for key in foreign:
        having = one_of([name for name, keys in WORKLOAD_KEYS.items() if key in keys])
        has = ", ".join(WORKLOAD_KEYS[kind])
        message = f"a {kind} workload has {has}; {key} is a key of {having}"
        mistakes.add(("workload", key), message)
    if foreign or any(mistakes.spoiled(("workload", key)) for key in WORKLOAD_KEYS[kind]):
        return None
    found = _RESOLVERS[kind](literal, folder, mistakes)
    if found and opens_connections(found) and literal.start is not None:
        message = "its connections are opened when they are needed; leave it out"
        _wrong(mistakes, "start", message)
        return None
    return found and found.model_copy(
        update={
            "start": literal.start or DEFAULT_START,
            "no_delay": _or(literal.no_delay, found.no_delay),
        }
    )


def _wrong(mistakes: Mistakes, key: str, message: str) -> None:
    mistakes.add(("workload", key), message)


def _or(value: T | None, default: T) -> T:
    return default if value is None else value


def _timed(literal: LiteralWorkload, mistakes: Mistakes) -> dict[str, Any]:
    duration_ns = _or(literal.duration, DEFAULT_DURATION_NS)
    warmup_ns = _or(literal.warmup, min(MAX_DEFAULT_WARMUP_NS, duration_ns // 10))
    if warmup_ns >= duration_ns:
        message = f"not shorter than the duration, which is {units.format_time(duration_ns)}"
        _wrong(mistakes, "warmup", message)
    return {"duration_ns": duration_ns, "warmup_ns": warmup_ns}


def _directed(literal: LiteralWorkload) -> dict[str, Any]:
    return {"direction": literal.direction or "up"}


def _resolve_bulk(literal: LiteralWorkload, _folder: Path, mistakes: Mistakes) -> Bulk | None:
    if literal.size is None:
        return Bulk(**_directed(literal), **_timed(literal, mistakes))
    if literal.duration is not None:
        _wrong(mistakes, "size", "duration and size are both given; give one of them")
        return None
    if literal.warmup:
        _wrong(mistakes, "warmup", "a workload of a given size has no warm-up; leave it out")
    return Bulk(**_directed(literal), size_bytes=literal.size)


def _resolve_transfers(
    literal: LiteralWorkload, _folder: Path, mistakes: Mistakes
) -> Transfers | None:
    count = _or(literal.count, DEFAULT_TRANSFERS)
    fresh = bool(literal.fresh)
    sides = 2 if literal.direction == "both" else 1
    each = 1 if literal.direction in (None, "up") and literal.interval is not None else 2
    if fresh and count * sides > MAX_CONNECTIONS:
        message = (
            f"{count * sides} connections, one for each transfer; at most {MAX_CONNECTIONS} are "
            "possible"
        )
        _wrong(mistakes, "count", message)
        return None
    if not _few_enough(each * count * sides, "count", mistakes):
        return None
    return Transfers(
        **_directed(literal),
        transfer_bytes=_or(literal.size, DEFAULT_TRANSFER_BYTES),
        count=count,
        interval_ns=literal.interval,
        fresh=fresh,
    )


def _resolve_cbr(literal: LiteralWorkload, _folder: Path, mistakes: Mistakes) -> Cbr | None:
    if literal.rate is not None and literal.interval is not None:
        _wrong(mistakes, "interval", "rate and interval are both given; give one of them")
        return None
    rate_bps = literal.rate
    if literal.interval is None:
        rate_bps = _or(rate_bps, DEFAULT_BLOCK_RATE_BPS)
    timed = _timed(literal, mistakes)
    size = _or(literal.size, DEFAULT_BLOCK_BYTES)
    if literal.interval is not None:
        blocks = -(-timed["duration_ns"] // literal.interval)
    else:
        assert rate_bps is not None
        blocks = -(-timed["duration_ns"] * rate_bps // (size * 8 * 10**9))
    sides = 2 if literal.direction == "both" else 1
    blamed = "duration" if literal.interval is None else "interval"
    if not _few_enough(blocks * sides, blamed, mistakes):
        return None
    return Cbr(
        **_directed(literal),
        **timed,
        block_bytes=size,
        rate_bps=rate_bps,
        interval_ns=literal.interval,
    )


def _resolve_requests(
    literal: LiteralWorkload, _folder: Path, mistakes: Mistakes
) -> Requests | None:
    sizes: dict[str, Any] = {
        "request_bytes": _or(literal.request, DEFAULT_REQUEST_BYTES),
        "response_bytes": _or(literal.response, DEFAULT_RESPONSE_BYTES),
    }
    if literal.think is not None:
        for key in ("interval", "random", "duration", "warmup"):
            if getattr(literal, key):
                message = "with a think time, a request waits for the last response; leave it out"
                _wrong(mistakes, key, message)
        count = _or(literal.count, DEFAULT_REQUESTS)
        return Requests(
            **sizes, interval_ns=None, random=False, think_ns=literal.think, count=count
        )
    if literal.count is not None:
        message = "requests at an interval are sent for a duration; a count goes with think"
        _wrong(mistakes, "count", message)
        return None
    interval_ns = _or(literal.interval, DEFAULT_REQUEST_INTERVAL_NS)
    timed = _timed(literal, mistakes)
    number = -(-timed["duration_ns"] // interval_ns)
    if literal.random and number > _MAX_RANDOM_REQUESTS:
        message = f"{number} requests on average; at most {_MAX_RANDOM_REQUESTS} are possible"
        _wrong(mistakes, "interval", message)
        return None
    if not _few_enough(2 * number, "interval", mistakes):
        return None
    random = bool(literal.random)
    return Requests(
        **sizes, **timed, interval_ns=interval_ns, random=random, think_ns=None, count=None
    )


def _resolve_web(literal: LiteralWorkload, folder: Path, mistakes: Mistakes) -> Web | None:
    objects = web_page.MEDIAN
    if literal.page is not None:
        try:
            objects = web_page.read(folder / literal.page)
        except PageError as error:
            _wrong(mistakes, "page", str(error))
            return None
    return Web(
        objects=objects,
        request_bytes=_or(literal.request, DEFAULT_GET_BYTES),
        connections=_or(literal.connections, DEFAULT_WEB_CONNECTIONS),
        fresh=literal.fresh is not False,
    )


def _resolve_video(literal: LiteralWorkload, _folder: Path, mistakes: Mistakes) -> Video | None:
    segment_ns = _or(literal.segment, DEFAULT_SEGMENT_NS)
    buffer_ns = _or(literal.buffer, max(DEFAULT_BUFFER_NS, 2 * segment_ns))
    # A request waits until the buffer has room for a segment: it is never fuller then.
    room_ns = buffer_ns - segment_ns
    if room_ns < segment_ns:
        message = f"less than two segments, which are {units.format_time(2 * segment_ns)}"
        _wrong(mistakes, "buffer", message)
        return None
    reservoir_ns = _or(literal.reservoir, buffer_ns * _RESERVOIR[0] // _RESERVOIR[1])
    cushion_ns = _or(
        literal.cushion,
        max(1, min(buffer_ns * _CUSHION[0] // _CUSHION[1], room_ns - reservoir_ns)),
    )
    if reservoir_ns + cushion_ns > room_ns:
        message = (
            f"reservoir and cushion exceed the buffer less a segment, which is "
            f"{units.format_time(room_ns)}: the highest bitrate would never be reached"
        )
        _wrong(mistakes, "reservoir" if literal.cushion is None else "cushion", message)
        return None
    segments = -(-_or(literal.duration, DEFAULT_VIDEO_NS) // segment_ns)
    if not _few_enough(2 * segments, "duration", mistakes):
        return None
    found = Video(
        segments=segments,
        segment_ns=segment_ns,
        bitrates_bps=_or(literal.bitrates, DEFAULT_BITRATES_BPS),
        request_bytes=_or(literal.request, DEFAULT_GET_BYTES),
        buffer_ns=buffer_ns,
        reservoir_ns=reservoir_ns,
        cushion_ns=cushion_ns,
    )
    if len(set(found.sizes)) < len(found.sizes):
        _wrong(mistakes, "bitrates", "two of them have segments of the same size in bytes")
        return None
    return found


def _resolve_frames(literal: LiteralWorkload, _folder: Path, mistakes: Mistakes) -> Frames | None:
    timed = _timed(literal, mistakes)
    fps = _or(literal.fps, DEFAULT_FPS)
    sides = 2 if literal.direction == "both" else 1
    if not _few_enough(-(-timed["duration_ns"] * fps // 10**9) * sides, "duration", mistakes):
        return None
    return Frames(
        **_directed(literal),
        **timed,
        fps=fps,
        rate_bps=_or(literal.rate, DEFAULT_FRAMES_RATE_BPS),
        gop=literal.gop or DEFAULT_GOP,
        ratio=literal.ratio or DEFAULT_RATIO,
        deadline_ns=_or(literal.deadline, DEFAULT_DEADLINE_NS),
    )


def _few_enough(number: int, blamed: str, mistakes: Mistakes) -> bool:
    if number > MAX_MESSAGES:
        message = f"{number} messages; at most {MAX_MESSAGES} are possible"
        _wrong(mistakes, blamed, message)
    return number <= MAX_MESSAGES


_Resolver = Callable[[LiteralWorkload, Path, Mistakes], AnyWorkload | None]
_RESOLVERS: dict[str, _Resolver] = {
    "bulk": _resolve_bulk,
    "transfers": _resolve_transfers,
    "cbr": _resolve_cbr,
    "requests": _resolve_requests,
    "web": _resolve_web,
    "video": _resolve_video,
    "frames": _resolve_frames,
}
