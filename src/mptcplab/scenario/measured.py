# SPDX-License-Identifier: GPL-2.0-only
"""The values of a path from measurements of a link: of a speed test, of ping, or of iperf3.

Several files may measure one link; a later one replaces what an earlier one said. docs/advise.md
says which field becomes which value.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mptcplab.mistakes import read_text
from mptcplab.units import NS_PER_MS, RATE, TIME, format_fraction

ACCEPTED = (
    "accepted are the JSON of speedtest-cli --json, of Ookla's speedtest -f json and of iperf3 -J, "
    "and the output of ping"
)
#: Bytes of a packet on the link for each byte of data: tests measure data, the lab asks for links.
HEADERS = 1514 / 1448
_MOST_MIB = 16
_DIGITS = 3

#: Values of a path by key, such as down.rate, as `parse_path_flag` has them.
Values = dict[str, str]


def read(file: Path) -> Values:
    """What a file measured. Raises ValueError, which names the file."""
    return contents(file)[0]


def contents(file: Path) -> tuple[Values, str]:
    """What a file measured, and its text. Raises ValueError, which names the file."""
    try:
        text = read_text(file, _MOST_MIB, f"a measurement has at most {_MOST_MIB} MiB; {ACCEPTED}")
        found = dict(_of_json(text) if text.lstrip()[:1] in ("{", "[") else _of_ping(text))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    except OverflowError:
        raise ValueError(f"{file}: a number is beyond all rates and times; {ACCEPTED}") from None
    return found, text


def _of_json(text: str) -> Iterator[tuple[str, str]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"broken JSON: {error}; {ACCEPTED}") from None
    if not isinstance(document, dict):
        raise ValueError(f"a JSON list, not an object; {ACCEPTED}")
    if "error" in document:
        raise ValueError(f"the test failed: {document['error']}; repeat it")
    if isinstance(document.get("download"), dict):
        yield from _of_ookla(document)
    elif "download" in document and "ping" in document:
        for key, name in (("download", "down.rate"), ("upload", "up.rate")):
            # 0 stands for a part of the test that was left out
            if rate := _number(document, key):
                yield name, _rate(rate)
        yield "delay", _half(_number(document, "ping"))
    elif "start" in document and "end" in document:
        yield from _of_iperf(document)
    else:
        raise ValueError(f"unknown JSON; {ACCEPTED}")


def _of_ookla(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, name in (("download", "down.rate"), ("upload", "up.rate")):
        # in bytes per second
        yield name, _rate(8 * _number(document, key, "bandwidth"))
    yield "delay", _half(_number(document, "ping", "latency"))
    if "packetLoss" in document:
        yield "loss", _loss(_number(document, "packetLoss") / 100)


def _of_iperf(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    end = _part(document, "end")
    reverse = bool(_part(document, "start", "test_start").get("reverse"))
    first, other = ("down", "up") if reverse else ("up", "down")
    for name, direction in (("", first), ("_bidir_reverse", other)):
        # of UDP, sum_received may be missing; sum then has the receiver's losses
        key = next((k for k in (f"sum_received{name}", f"sum{name}") if end.get(k)), None)
        if key is None:
            continue
        yield f"{direction}.rate", _rate(_number(end, key, "bits_per_second"))
        if "lost_percent" in end[key]:
            yield f"{direction}.loss", format_fraction(_number(end, key, "lost_percent") / 100)
    streams = end.get("streams")
    senders = [
        each["sender"]
        for each in (streams if isinstance(streams, list) else ())
        if isinstance(each, dict) and isinstance(each.get("sender"), dict)
    ]
    # 0 stands for an RTT that is not known; tests of UDP have none
    rtts = [_number(each, "min_rtt") for each in senders if each.get("min_rtt")]
    if rtts:
        yield "delay", _half(min(rtts) / 1000)


def _of_ping(text: str) -> Iterator[tuple[str, str]]:
    times = [float(each) for each in re.findall(r"\btime[=<]([0-9.]+) ?ms", text)]
    # with -q there is the summary alone: lowest/mean/...
    summary = re.search(r"(?:rtt|round-trip) min/avg/max\S* = ([0-9.]+)/([0-9.]+)/", text)
    lost = re.search(r"([0-9.]+)% (?:packet )?loss", text)
    if not times and not summary and not lost:
        raise ValueError(f"neither JSON nor the output of ping; {ACCEPTED}")
    if not times and not summary:
        raise ValueError("no ping was answered; repeat it with another host")
    # a median, since a single answer may be early or late
    yield "delay", _half(statistics.median(times) if times else float((summary or [])[2]))
    if lost:
        yield "loss", _loss(float(lost[1]) / 100)


def _part(document: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    found: Any = document
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        raise ValueError(f"{'.'.join(keys)} is missing; {ACCEPTED}")
    return found


def _number(document: Mapping[str, Any], *keys: str) -> float:
    """The number at a place of a document."""
    found: Any = _part(document, *keys[:-1]).get(keys[-1])
    name = ".".join(keys)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError(f"{name} is no number; {ACCEPTED}")
    if not math.isfinite(found) or found < 0:
        raise ValueError(f"{name} is {found}; at least 0 is expected")
    return float(found)


def _rate(data_bps: float) -> str:
    """The rate of a link over which data had this rate, to three digits."""
    if data_bps < 1:
        raise ValueError("a rate is 0: the test failed; repeat it")
    return RATE.format(int(float(f"{data_bps * HEADERS:.{_DIGITS}g}")))


def _half(rtt_ms: float) -> str:
    """One way of a round trip, to three digits."""
    return TIME.format(int(float(f"{rtt_ms / 2:.{_DIGITS}g}") * NS_PER_MS))


def _loss(of_round_trips: float) -> str:
    """The loss in each direction, of which both together lose so many round trips."""
    if of_round_trips >= 1:
        raise ValueError("every packet was lost; repeat the test")
    return format_fraction(float(f"{1 - math.sqrt(1 - of_round_trips):.{_DIGITS}g}"))
