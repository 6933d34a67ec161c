# SPDX-License-Identifier: GPL-2.0-only
"""Resolves workloads: gives values to their fields, and checks what does not go together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mptcplab import units
from mptcplab.errors import InputError
from mptcplab.mistakes import Mistakes, one_of
from mptcplab.scenario import web_page, workload
from mptcplab.scenario.limits import WORKLOAD_KEYS
from mptcplab.scenario.literal import LiteralWorkload, given

#: Values of a workload, by the names of its fields.
_Given = dict[str, Any]

MAX_CONNECTIONS = 256
#: Each fills its send buffer, and the guest has 512 MiB.
MAX_OPEN_ENDED = 2000

MAX_DEFAULT_WARMUP_NS = 5 * 10**9
#: At 500 kbit/s, as the application-limited flow of Paasch et al. 2014.
DEFAULT_BLOCK_RATE_BPS = 500_000
DEFAULT_REQUEST_INTERVAL_NS = 10**8
DEFAULT_REQUESTS = 100
#: A thousand at once would overrun the queues with their handshakes.
DEFAULT_OPENING_INTERVAL_NS = 10**6
#: The headers of a browser's request; our choice.
DEFAULT_GET_BYTES = 500
DEFAULT_VIDEO_NS = 120 * 10**9
#: Huang et al. 2014 have a buffer of 240 s, longer than a run: ours is a sixth, and its parts (90 s
#: and 126 s of 240 s) in proportion.
DEFAULT_BUFFER_NS = 40 * 10**9
_RESERVOIR = (90, 240)
_CUSHION = (126, 240)
# The defaults of each kind, by field.
_DEFAULTS: Mapping[str, _Given] = {
    # transfers of 10 Mbit, as in Mahmud and Cho
    "transfers": {"transfer_bytes": 1_250_000, "count": 20, "interval_ns": None, "fresh": False},
    "cbr": {"block_bytes": workload.DEFAULT_BLOCK_BYTES, "rate_bps": None, "interval_ns": None},
    # thin: each fits into a packet; our choice
    "requests": {
        "request_bytes": 100,
        "response_bytes": 1000,
        "random": False,
        **dict.fromkeys(("interval_ns", "think_ns", "count")),
    },
    # as many connections as browsers open to one host
    "web": {"request_bytes": DEFAULT_GET_BYTES, "connections": 6, "fresh": True},
    "video": {
        "request_bytes": DEFAULT_GET_BYTES,
        "segment_ns": 4 * 10**9,  # as in Huang et al. 2014
        # the ladder that all titles once had at Netflix ("Per-Title Encode Optimization", 2015)
        "bitrates_bps": tuple(
            kbps * 1000 for kbps in (235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800)
        ),
    },
    "frames": {
        "fps": 25,
        "rate_bps": 4_000_000,
        "gop": "IBBPBBPBBPBB",  # 12 frames, every third an I or P: common in MPEG
        # from the compression ratios usually quoted for I, P and B frames, 1:7, 1:20 and 1:50
        "ratio": (14, 5, 2),
        # the one-way delay that hardly affects most applications, by ITU-T G.114 (2003)
        "deadline_ns": 150 * 10**6,
    },
    "tunnel": {
        "bulk": True,
        "call": "inside",
        # G.711 with the usual 20 ms of speech in a packet (RFC 3551)
        "packet_bytes": 160,
        "interval_ns": 20 * 10**6,
        "deadline_ns": 150 * 10**6,  # as for frames
        # OpenVPN's default of a tunnel's device, and the queue that Linux gives it
        "mtu": 1500,
        "queue": 500,
        "rate_bps": None,
        "not_sent_lowat_bytes": None,
    },
}
#: Headers of IPv4 and UDP.
_UDP_BYTES = 20 + 8
#: A mean number of random requests at which far fewer than one seed in 10^9 exceeds the limit.
_MAX_RANDOM_REQUESTS = 49_000

# The fields of a size, by kind.
_SIZES = {
    "bulk": "size_bytes",
    "transfers": "transfer_bytes",
    "cbr": "block_bytes",
    "tunnel": "packet_bytes",
}

#: Reports a mistake that lets the others be found: the key, and the message.
_Report = Callable[[str, str], None]


def resolve(
    literal: LiteralWorkload, folder: Path, mistakes: Mistakes
) -> workload.AnyWorkload | None:
    """The workload with all defaults; None, after reporting mistakes, if it is invalid.

    The file of a page is looked up in `folder`.
    """
    if mistakes.spoiled(("workload", "kind")):
        return None
    kind = literal.kind or "bulk"
    if literal.direction == "down" and "direction" not in WORKLOAD_KEYS[kind]:
        # the data of these kinds goes down anyway
        literal = literal.model_copy(update={"direction": None})
    own = ("kind", *WORKLOAD_KEYS[kind])
    foreign = [key for key, value in literal if value is not None and key not in own]
    for key in foreign:
        having = one_of([name for name, keys in WORKLOAD_KEYS.items() if key in keys])
        has = ", ".join(WORKLOAD_KEYS[kind])
        message = f"a {kind} workload has {has}; {key} is a key of {having}"
        mistakes.add(("workload", key), message)
    if foreign or any(mistakes.spoiled(("workload", key)) for key in WORKLOAD_KEYS[kind]):
        return None
    # as programs do, which know nothing of further subflows and do not wait for them
    values = {"start": "at-once", **given(literal, "kind", "size")}
    if literal.size is not None:
        values[_SIZES[kind]] = literal.size
    try:
        if kind == "web":
            found: workload.AnyWorkload = _web(values, folder)
        else:
            found = _RESOLVERS[kind](
                values, lambda key, message: mistakes.add(("workload", key), message)
            )
        if workload.opens_connections(found) and literal.start is not None:
            raise _Impossible(
                "start", "its connections are opened when they are needed; leave it out"
            )
        if kind == "tunnel" and literal.start == "at-once":
            raise _Impossible("start", "a tunnel is there before its traffic; leave it out")
    except _Impossible as error:
        mistakes.add(("workload", error.key), str(error))
        return None
    return found


class _Impossible(Exception):  # noqa: N818
    """A value of a key that makes a workload impossible, and why."""

    def __init__(self, key: str, why: str) -> None:
        self.key = key
        super().__init__(why)


def _timed(values: _Given, report: _Report) -> _Given:
    """The values, with a duration and a warm-up."""
    duration_ns = values.get("duration_ns", workload.DEFAULT_DURATION_NS)
    warmup_ns = values.get("warmup_ns", min(MAX_DEFAULT_WARMUP_NS, duration_ns // 10))
    if warmup_ns >= duration_ns:
        length = units.format_time(duration_ns)
        report("warmup", f"it must be shorter than the duration, which is {length}")
    return {**values, "duration_ns": duration_ns, "warmup_ns": warmup_ns}


def _bulk(values: _Given, report: _Report) -> workload.Bulk:
    connections = values.get("connections", 1)
    if connections == 1 and values.pop("interval_ns", None):
        report("interval", "it is the time between the openings of connections; give connections")
    if "size_bytes" not in values:
        if connections > MAX_OPEN_ENDED:
            limit = f"at most {MAX_OPEN_ENDED} fit into the guest's memory"
            raise _Impossible("connections", f"{limit}; give them a size, for more")
        values = _timed(values, report)
        if connections > 1:
            within_ns = max(values["warmup_ns"] // connections, 1)
            values.setdefault("interval_ns", min(DEFAULT_OPENING_INTERVAL_NS, within_ns))
        found = workload.Bulk(**values)
        if found.opened_ns >= values["duration_ns"]:
            opened = units.format_time(found.opened_ns)
            report("interval", f"the last connection would open at {opened}, after the end")
        return found
    if "duration_ns" in values:
        raise _Impossible("size", "duration and size are both given; give one of them")
    if values.pop("warmup_ns", 0):
        report("warmup", "a workload of a given size has no warm-up; leave it out")
    if connections > 1:
        values.setdefault("interval_ns", DEFAULT_OPENING_INTERVAL_NS)
    return workload.Bulk(**values)


def _transfers(values: _Given, _report: _Report) -> workload.Transfers:
    found = workload.Transfers(**{**_DEFAULTS["transfers"], **values})
    transfers = found.count * len(found.directions)
    if found.fresh and transfers > MAX_CONNECTIONS:
        limit = f"at most {MAX_CONNECTIONS} are possible"
        raise _Impossible("count", f"{transfers} connections, one for each transfer; {limit}")
    each = 1 if found.direction == "up" and found.interval_ns is not None else 2
    _check_number(each * transfers, "count")
    return found


def _cbr(values: _Given, report: _Report) -> workload.Cbr:
    if "interval_ns" not in values:
        values.setdefault("rate_bps", DEFAULT_BLOCK_RATE_BPS)
    elif "rate_bps" in values:
        raise _Impossible("interval", "rate and interval are both given; give one of them")
    found = workload.Cbr(**{**_DEFAULTS["cbr"], **_timed(values, report)})
    assert found.duration_ns, "it lasts"
    if found.interval_ns is not None:
        blocks = -(-found.duration_ns // found.interval_ns)
    else:
        assert found.rate_bps, "it is given, or the default"
        blocks = -(-found.duration_ns * found.rate_bps // (found.block_bytes * 8 * 10**9))
    blamed = "duration" if found.interval_ns is None else "interval"
    _check_number(blocks * len(found.directions), blamed)
    return found


def _requests(values: _Given, report: _Report) -> workload.Requests:
    if "think_ns" in values:
        for name in ("interval_ns", "random", "duration_ns", "warmup_ns"):
            if values.pop(name, None):
                report(
                    name.removesuffix("_ns"),
                    "with a think time, a request waits for the last response; leave it out",
                )
        return workload.Requests(**{**_DEFAULTS["requests"], "count": DEFAULT_REQUESTS, **values})
    if "count" in values:
        message = "requests at an interval are sent for a duration; a count goes with think"
        raise _Impossible("count", message)
    interval_ns = values.setdefault("interval_ns", DEFAULT_REQUEST_INTERVAL_NS)
    found = workload.Requests(**{**_DEFAULTS["requests"], **_timed(values, report)})
    assert found.duration_ns, "it lasts"
    number = -(-found.duration_ns // interval_ns)
    if found.random and number > _MAX_RANDOM_REQUESTS:
        message = f"{number} requests on average; at most {_MAX_RANDOM_REQUESTS} are possible"
        raise _Impossible("interval", message)
    _check_number(2 * number, "interval")
    return found


def _web(values: _Given, folder: Path) -> workload.Web:
    if values.get("connections", 1) > MAX_CONNECTIONS:
        raise _Impossible("connections", f"at most {MAX_CONNECTIONS} connections load a page")
    page = values.pop("page", None)
    try:
        objects = web_page.read(folder / page) if page else web_page.MEDIAN
    except InputError as error:
        raise _Impossible("page", str(error.problems[0])) from None
    return workload.Web(objects=objects, **{**_DEFAULTS["web"], **values})


def _video(values: _Given, _report: _Report) -> workload.Video:
    duration_ns = values.pop("duration_ns", DEFAULT_VIDEO_NS)
    segment_ns: int = {**_DEFAULTS["video"], **values}["segment_ns"]
    buffer_ns = values.setdefault("buffer_ns", max(DEFAULT_BUFFER_NS, 2 * segment_ns))
    # A request waits until the buffer has room for a segment: it is never fuller then.
    room_ns = buffer_ns - segment_ns
    if room_ns < segment_ns:
        message = f"it must hold two segments, which are {units.format_time(2 * segment_ns)}"
        raise _Impossible("buffer", message)
    blamed = "cushion" if "cushion_ns" in values else "reservoir"
    reservoir_ns = values.setdefault("reservoir_ns", buffer_ns * _RESERVOIR[0] // _RESERVOIR[1])
    usual_ns = max(1, min(buffer_ns * _CUSHION[0] // _CUSHION[1], room_ns - reservoir_ns))
    if reservoir_ns + values.setdefault("cushion_ns", usual_ns) > room_ns:
        message = (
            f"reservoir and cushion exceed the buffer less a segment, which is "
            f"{units.format_time(room_ns)}: the highest bitrate would never be reached"
        )
        raise _Impossible(blamed, message)
    segments = -(-duration_ns // segment_ns)
    _check_number(2 * segments, "duration")
    found = workload.Video(segments=segments, **{**_DEFAULTS["video"], **values})
    if len(set(found.sizes)) < len(found.sizes):
        raise _Impossible("bitrates", "two of them have segments of the same size in bytes")
    return found


def _frames(values: _Given, report: _Report) -> workload.Frames:
    found = workload.Frames(**{**_DEFAULTS["frames"], **_timed(values, report)})
    _check_number(found.frames * len(found.directions), "duration")
    return found


def _tunnel(values: _Given, report: _Report) -> workload.Tunnel:
    # a VPN is there long before its traffic
    values["start"] = "established"
    found = workload.Tunnel(**{**_DEFAULTS["tunnel"], **_timed(values, report)})
    if found.direction == "both":
        raise _Impossible("direction", "the bulk data of a tunnel goes up or down")
    if not found.bulk and found.call != "inside":
        raise _Impossible("call", "without bulk data, only a call inside is left for the tunnel")
    least, most = workload.MIN_FRAME_BYTES, found.mtu - _UDP_BYTES
    if not least <= found.packet_bytes <= most:
        message = f"a packet of a call has {least} to {most} bytes: the MTU less {_UDP_BYTES}"
        raise _Impossible("size", message)
    _check_number(2 * found.packets + 1, "interval" if "interval_ns" in values else "duration")
    return found


def _check_number(messages: int, blamed: str) -> None:
    if messages > workload.MAX_MESSAGES:
        raise _Impossible(
            blamed, f"{messages} messages; at most {workload.MAX_MESSAGES} are possible"
        )


_RESOLVERS: dict[str, Callable[[_Given, _Report], workload.AnyWorkload]] = {
    "bulk": _bulk,
    "transfers": _transfers,
    "cbr": _cbr,
    "requests": _requests,
    "video": _video,
    "frames": _frames,
    "tunnel": _tunnel,
}
