# SPDX-License-Identifier: GPL-2.0-only
"""Resolves workloads: fills in what was left out, and checks what does not go together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mptcplab import units
from mptcplab.mistakes import Mistakes, one_of
from mptcplab.scenario import web_page
from mptcplab.scenario.limits import WORKLOAD_KEYS, Start
from mptcplab.scenario.literal import LiteralWorkload
from mptcplab.scenario.web_page import PageError
from mptcplab.scenario.workload import (
    MAX_MESSAGES,
    AnyWorkload,
    Bulk,
    Cbr,
    Frames,
    Requests,
    Transfers,
    Video,
    Web,
    opens_connections,
)

T = TypeVar("T")

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
#: A mean number of random requests at which far fewer than one seed in 10^9 exceeds the limit.
_MAX_RANDOM_REQUESTS = 49_000


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
    try:
        if kind == "web":
            found: AnyWorkload = _web(literal, folder)
        else:
            found = _RESOLVERS[kind](literal, mistakes)
        if opens_connections(found) and literal.start is not None:
            raise _Impossible(
                "start", "its connections are opened when they are needed; leave it out"
            )
    except _Impossible as error:
        mistakes.add(("workload", error.key), str(error))
        return None
    return found.model_copy(
        update={
            "start": literal.start or DEFAULT_START,
            "no_delay": _or(literal.no_delay, found.no_delay),
        }
    )


class _Impossible(Exception):  # noqa: N818
    """A value of a key that makes a workload impossible, and why."""

    def __init__(self, key: str, why: str) -> None:
        self.key = key
        super().__init__(why)


def _or(value: T | None, default: T) -> T:
    return default if value is None else value


def _timed(literal: LiteralWorkload, mistakes: Mistakes) -> dict[str, Any]:
    duration_ns = _or(literal.duration, DEFAULT_DURATION_NS)
    warmup_ns = _or(literal.warmup, min(MAX_DEFAULT_WARMUP_NS, duration_ns // 10))
    if warmup_ns >= duration_ns:
        message = f"it must be shorter than the duration, which is {units.format_time(duration_ns)}"
        mistakes.add(("workload", "warmup"), message)
    return {"duration_ns": duration_ns, "warmup_ns": warmup_ns}


def _directed(literal: LiteralWorkload) -> dict[str, Any]:
    return {"direction": literal.direction or "up"}


def _bulk(literal: LiteralWorkload, mistakes: Mistakes) -> Bulk:
    if literal.size is None:
        return Bulk(**_directed(literal), **_timed(literal, mistakes))
    if literal.duration is not None:
        raise _Impossible("size", "duration and size are both given; give one of them")
    if literal.warmup:
        message = "a workload of a given size has no warm-up; leave it out"
        mistakes.add(("workload", "warmup"), message)
    return Bulk(**_directed(literal), size_bytes=literal.size)


def _transfers(literal: LiteralWorkload, _mistakes: Mistakes) -> Transfers:
    count = _or(literal.count, DEFAULT_TRANSFERS)
    fresh = bool(literal.fresh)
    transfers = count * _directions(literal)
    each = 1 if literal.direction in (None, "up") and literal.interval is not None else 2
    if fresh and transfers > MAX_CONNECTIONS:
        limit = f"at most {MAX_CONNECTIONS} are possible"
        raise _Impossible("count", f"{transfers} connections, one for each transfer; {limit}")
    _check_number(each * transfers, "count")
    return Transfers(
        **_directed(literal),
        transfer_bytes=_or(literal.size, DEFAULT_TRANSFER_BYTES),
        count=count,
        interval_ns=literal.interval,
        fresh=fresh,
    )


def _cbr(literal: LiteralWorkload, mistakes: Mistakes) -> Cbr:
    if literal.rate is not None and literal.interval is not None:
        raise _Impossible("interval", "rate and interval are both given; give one of them")
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
    blamed = "duration" if literal.interval is None else "interval"
    _check_number(blocks * _directions(literal), blamed)
    return Cbr(
        **_directed(literal),
        **timed,
        block_bytes=size,
        rate_bps=rate_bps,
        interval_ns=literal.interval,
    )


def _requests(literal: LiteralWorkload, mistakes: Mistakes) -> Requests:
    sizes: dict[str, Any] = {
        "request_bytes": _or(literal.request, DEFAULT_REQUEST_BYTES),
        "response_bytes": _or(literal.response, DEFAULT_RESPONSE_BYTES),
    }
    if literal.think is not None:
        for key in ("interval", "random", "duration", "warmup"):
            if getattr(literal, key):
                message = "with a think time, a request waits for the last response; leave it out"
                mistakes.add(("workload", key), message)
        count = _or(literal.count, DEFAULT_REQUESTS)
        return Requests(
            **sizes, interval_ns=None, random=False, think_ns=literal.think, count=count
        )
    if literal.count is not None:
        message = "requests at an interval are sent for a duration; a count goes with think"
        raise _Impossible("count", message)
    interval_ns = _or(literal.interval, DEFAULT_REQUEST_INTERVAL_NS)
    timed = _timed(literal, mistakes)
    number = -(-timed["duration_ns"] // interval_ns)
    if literal.random and number > _MAX_RANDOM_REQUESTS:
        message = f"{number} requests on average; at most {_MAX_RANDOM_REQUESTS} are possible"
        raise _Impossible("interval", message)
    _check_number(2 * number, "interval")
    random = bool(literal.random)
    return Requests(
        **sizes, **timed, interval_ns=interval_ns, random=random, think_ns=None, count=None
    )


def _web(literal: LiteralWorkload, folder: Path) -> Web:
    objects = web_page.MEDIAN
    if literal.page is not None:
        try:
            objects = web_page.read(folder / literal.page)
        except PageError as error:
            raise _Impossible("page", str(error)) from None
    return Web(
        objects=objects,
        request_bytes=_or(literal.request, DEFAULT_GET_BYTES),
        connections=_or(literal.connections, DEFAULT_WEB_CONNECTIONS),
        fresh=literal.fresh is not False,
    )


def _video(literal: LiteralWorkload, _mistakes: Mistakes) -> Video:
    segment_ns = _or(literal.segment, DEFAULT_SEGMENT_NS)
    buffer_ns = _or(literal.buffer, max(DEFAULT_BUFFER_NS, 2 * segment_ns))
    # A request waits until the buffer has room for a segment: it is never fuller then.
    room_ns = buffer_ns - segment_ns
    if room_ns < segment_ns:
        message = f"it must hold two segments, which are {units.format_time(2 * segment_ns)}"
        raise _Impossible("buffer", message)
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
        raise _Impossible("reservoir" if literal.cushion is None else "cushion", message)
    segments = -(-_or(literal.duration, DEFAULT_VIDEO_NS) // segment_ns)
    _check_number(2 * segments, "duration")
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
        raise _Impossible("bitrates", "two of them have segments of the same size in bytes")
    return found


def _frames(literal: LiteralWorkload, mistakes: Mistakes) -> Frames:
    timed = _timed(literal, mistakes)
    fps = _or(literal.fps, DEFAULT_FPS)
    frames = -(-timed["duration_ns"] * fps // 10**9)
    _check_number(frames * _directions(literal), "duration")
    return Frames(
        **_directed(literal),
        **timed,
        fps=fps,
        rate_bps=_or(literal.rate, DEFAULT_FRAMES_RATE_BPS),
        gop=literal.gop or DEFAULT_GOP,
        ratio=literal.ratio or DEFAULT_RATIO,
        deadline_ns=_or(literal.deadline, DEFAULT_DEADLINE_NS),
    )


def _directions(literal: LiteralWorkload) -> int:
    return 2 if literal.direction == "both" else 1


def _check_number(messages: int, blamed: str) -> None:
    if messages > MAX_MESSAGES:
        raise _Impossible(blamed, f"{messages} messages; at most {MAX_MESSAGES} are possible")


_RESOLVERS: dict[str, Callable[[LiteralWorkload, Mistakes], AnyWorkload]] = {
    "bulk": _bulk,
    "transfers": _transfers,
    "cbr": _cbr,
    "requests": _requests,
    "video": _video,
    "frames": _frames,
}
