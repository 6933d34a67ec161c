# SPDX-License-Identifier: GPL-2.0-only
"""The paths of a connection from a log of ss, repeated while it sends."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import numpy as np

from mptcplab.capture.dissect import Array
from mptcplab.errors import InputError, Problem
from mptcplab.fit import estimates
from mptcplab.fit.estimates import FULL_BYTES, Estimate, Passage, PathFit, Transfer
from mptcplab.mistakes import read_text
from mptcplab.units import counted

_MOST_MIB = 64
_SOCKET = re.compile(r"(?:tcp +)?ESTAB +[0-9]+ +[0-9]+ +(\S+):[0-9]+ +(\S+):[0-9]+")
_TIME = re.compile(r"[0-9]{9,}(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}\S*")
_VALUE = re.compile(r"\b(bytes_[a-z]+|minrtt|rtt|mss):([0-9.]+)")
_DELIVERY = re.compile(r"delivery_rate ([0-9.]+)([KMG]?)bps")
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
# The token of a subflow's connection at this end.
_TOKEN = re.compile(r"token:\S+/([0-9a-f]+)\(")
_NAMES = ("at", "bytes_acked", "bytes_sent", "bytes_retrans", "bytes_received", "minrtt", "rtt")
# Headers of Ethernet, IPv4, and TCP with timestamps, and an acknowledgment on the link.
_HEADERS_BYTES, _ACK_BYTES = 66, 80
_FEWEST = 5
# Percentiles of delivery_rate: the estimate, and the ends of its interval.
_RATES = (90, 50, 100)


def is_log(file: Path) -> bool:
    """Whether a file is a log of ss, not a capture."""
    try:
        with file.open("rb") as opened:
            return b"ESTAB" in opened.read(1 << 16)
    except OSError:
        return False


def fit(file: Path, interval_s: float | None) -> tuple[list[PathFit], Transfer, list[str]]:
    """The paths of the largest connection in a log, as `captures.fit` has them.

    A line with a time precedes each output of ss, or outputs are `interval_s` apart. Raises
    InputError.
    """
    try:
        connections = _read(read_text(file, _MOST_MIB, "a log of ss is expected"), interval_s)
        usable = {
            token: {ends: seen for ends, seen in sockets.items() if len(seen["at"]) >= _FEWEST}
            for token, sockets in connections.items()
        }
        moved = {token: _growth(sockets) for token, sockets in usable.items()}
        token = max(moved, key=lambda each: max(moved[each]), default="")
        if not moved or not max(moved[token]):
            text = f"no subflow that carries data in {_FEWEST} outputs"
            raise ValueError(f"{text}; run ss -tin every second while data flows")
    except ValueError as error:
        raise InputError([Problem(str(file), "", "", str(error))]) from None
    sends = moved[token][0] >= moved[token][1]
    sockets = usable[token]
    paths = [
        _path(f"path{number}", f"{ends[0]} to {ends[1]}", seen, sends)
        for number, (ends, seen) in enumerate(sockets.items(), 1)
    ]
    times_s = np.concatenate([seen["at"] for seen in sockets.values()])
    lasts_s, size_bytes = float(np.ptp(times_s)), int(max(moved[token]))
    return paths, Transfer("up" if sends else "down", size_bytes, lasts_s), []


# What ss showed of each subflow, an item per output, by the subflow's addresses.
_Sockets = dict[tuple[str, ...], dict[str, Array]]


def _read(text: str, interval_s: float | None) -> dict[str, _Sockets]:
    """The subflows by connection: by its token, or of TCP by the socket."""
    found: dict[str, dict[tuple[str, ...], list[dict[str, float]]]] = {}
    at_s: float | None = None
    socket: re.Match[str] | None = None
    for line in map(str.strip, text.splitlines()):
        if _TIME.fullmatch(line):
            is_number = "-" not in line
            iso = line.replace(",", ".")
            at_s = float(line) if is_number else datetime.fromisoformat(iso).timestamp()
        socket = _SOCKET.match(line) or socket
        values = {name: float(value) for name, value in _VALUE.findall(line)}
        if socket is None or "minrtt" not in values:
            continue
        token = _TOKEN.search(line)
        sockets = found.setdefault(token[1] if token else socket[0], {})
        seen = sockets.setdefault(socket.groups(), [])
        if at_s is None and interval_s is None:
            text = "put the output of date +%s.%N before each output of ss, or name --interval"
            raise ValueError(f"no times: {text}")
        values["at"] = (at_s or 0.0) if interval_s is None else interval_s * len(seen)
        rate = _DELIVERY.search(line)
        values["delivery"] = float(rate[1]) * _SCALE[rate[2]] if rate else 0.0
        seen.append(values)
        socket = None
    return {
        token: {
            ends: {n: np.array([e.get(n, 0.0) for e in seen]) for n in (*_NAMES, "mss", "delivery")}
            for ends, seen in sockets.items()
        }
        for token, sockets in found.items()
    }


def _growth(sockets: _Sockets) -> tuple[float, float]:
    """The bytes of all subflows that were acknowledged, and the received ones."""
    ends = ((seen["bytes_acked"], seen["bytes_received"]) for seen in sockets.values())
    grown = [(acked[-1] - acked[0], received[-1] - received[0]) for acked, received in ends]
    return sum(float(each[0]) for each in grown), sum(float(each[1]) for each in grown)


def _path(name: str, about: str, seen: dict[str, Array], sends: bool) -> PathFit:
    """The path of a subflow, from the end that sends or from the other one."""
    at_s = seen["at"] - seen["at"][0]
    shortest_s = float(seen["minrtt"].min()) / 1000
    headers = 1 + _HEADERS_BYTES / float(seen["mss"][-1])
    if not sends:
        rates = 8 * headers * np.diff(seen["bytes_received"]) / np.diff(at_s)
        rate = estimates.of_samples(
            rates.tolist(), f"received in {counted(len(rates), 'interval')}"
        )
        rate = Estimate(rate.value, rate.low, None, rate.source)
        return PathFit(name, about, {"rate": rate, "delay": _delay(shortest_s, rate.value)})
    wait_s = seen["rtt"] / 1000 - shortest_s
    rates = seen["delivery"] * headers
    busy = wait_s * rates > estimates.WAITED_PACKETS * 8 * FULL_BYTES
    if busy.any():
        # in a recovery, the subflow has less than the link
        value, low, high = np.percentile(rates[busy], _RATES).tolist()
        rate = Estimate(value, low, high, f"delivery_rate of {counted(int(busy.sum()), 'output')}")
    else:
        most = float(rates.max())
        rate = Estimate(most, most, None, "fastest delivery_rate: nothing waited")
    sent = np.diff(seen["bytes_sent"]) / seen["mss"][-1]
    lost = np.diff(seen["bytes_retrans"]) / seen["mss"][-1]
    passed = _passage(at_s, wait_s, sent, lost, shortest_s)
    queue, loss = estimates.queue_and_loss(passed, [(0.0, rate)])
    values = {"rate": rate, "delay": _delay(shortest_s, rate.value)}
    return PathFit(name, about, {**values, "queue": queue, "up.loss": loss})


def _delay(shortest_s: float, rate_bps: float) -> Estimate:
    """Half of the shortest round trip: as a rule that of the handshake, with its short packets."""
    ends = (shortest_s - 8 * each / rate_bps for each in (2 * _ACK_BYTES, FULL_BYTES, 0))
    value, low, high = (max(end, 0.0) / 2 for end in ends)
    return Estimate(value, low, high, "minrtt, less the transmission")


def _passage(at_s: Array, wait_s: Array, sent: Array, lost: Array, shortest_s: float) -> Passage:
    """Packets at equal distances between outputs, of which as many are lost as were sent again."""
    counts = np.maximum(np.round(sent), 1).astype(np.int64)
    number = np.concatenate([np.arange(each) for each in counts])
    which = np.repeat(np.arange(len(counts)), counts)
    count, gone = counts[which], np.round(lost).astype(np.int64)[which]
    waited = np.maximum(wait_s[:-1], wait_s[1:])[which]
    none = np.empty(0)
    return Passage(
        at_s=at_s[which] + np.diff(at_s)[which] * number / count,
        wait_s=np.maximum(waited, 0.0),
        lost=(number + 1) * gone // count > number * gone // count,
        step_at_s=none,
        step_s=none,
        step_bytes=none,
        step_wait_s=none,
        round_trip_s=shortest_s,
        accuracy_s=0.0,
    )
