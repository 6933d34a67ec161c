# SPDX-License-Identifier: GPL-2.0-only
"""Traces of the kinds that others measure, made here: files of theirs are no part of the project.

Each is the same at every call, and has what makes the measured ones hard to read: outages, rates
that change by a factor of ten within seconds, seconds that are missing or there twice, empty cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

_PACKET_BITS = 12_000
_START = datetime(2024, 3, 1, 9, 0, 0)


def rates_kbit(random: Random, count: int, *, least: int, most: int, gap: float) -> Iterator[int]:
    """A walk between two rates; with the probability `gap` an outage begins, of up to 8 values."""
    rate, out = math.sqrt(least * most), 0
    for _ in range(count):
        rate = min(max(rate * math.exp(random.gauss(0, 0.5)), least), most)
        out = random.randint(1, 8) if random.random() < gap else max(out - 1, 0)
        yield 0 if out else round(rate)


def lte(seconds: int = 140) -> str:
    """Mahimahi: the ms of each packet of 1500 bytes; a rate for 200 ms, outages of up to 1.6 s."""
    random, credit, lines = Random(1), 0.0, ["0"] * 3
    for number, kbit in enumerate(
        rates_kbit(random, 5 * seconds, least=2000, most=40_000, gap=0.02)
    ):
        for ms in range(200 * number, 200 * (number + 1)):
            # 1 kbit/s is a bit in each ms
            credit += kbit / _PACKET_BITS
            lines += [str(ms)] * int(credit)
            credit -= int(credit)
    return "\n".join([*lines, str(1000 * seconds)]) + "\n"


def drive_5g(seconds: int = 150) -> str:
    """A row about every second, with other columns; some seconds are missing, some there twice."""
    random, at = Random(2), _START
    down = rates_kbit(random, seconds, least=300, most=300_000, gap=0.05)
    up = rates_kbit(random, seconds, least=1, most=30_000, gap=0.05)
    lines = ["Timestamp,Speed,NetworkMode,SNR,DL_bitrate,UL_bitrate,State,PINGAVG"]
    for down_kbit, up_kbit in zip(down, up, strict=True):
        time = at.strftime("%Y.%m.%d_%H.%M.%S")
        lines.append(f"{time},{random.randint(0, 60)},5G,-,{down_kbit},{up_kbit},D,-")
        at += timedelta(seconds=random.choice([0, 1, 1, 1, 1, 1, 2]))
    return "\n".join(lines) + "\n"


def satellite(seconds: int = 150) -> str:
    """A row per second of both directions; pauses, and rows with an empty cell for either."""
    random, at = Random(3), _START
    down = rates_kbit(random, seconds, least=20_000, most=350_000, gap=0.02)
    up = rates_kbit(random, seconds, least=2000, most=30_000, gap=0.02)
    lines = ["timestamp_start,timestamp_end,download,upload,download_mbps,upload_mbps"]
    for number, rates in enumerate(zip(down, up, strict=True)):
        measured = [number % 30 < 20, number % 30 < 10 or number % 30 >= 20]
        pairs = list(zip(rates, measured, strict=True))
        cells = [
            *(f"{kbit * 1000}" if there else "" for kbit, there in pairs),
            *(f"{kbit / 1000:g}" if there else "" for kbit, there in pairs),
        ]
        lines.append(",".join([str(at), str(at + timedelta(seconds=1)), *cells]))
        at += timedelta(seconds=40 if number % 30 == 29 else 1)
    return "\n".join(lines) + "\n"


#: Of each row of `pings`: seconds since the first one, its delay in ms, its loss in percent.
PINGS: Sequence[tuple[int, str, str]] = (
    (0, "61.25", "0.4"),
    (120, "48.007", "1.2"),
    (218, "", "100"),
    (338, "350", "0"),
)


def pings() -> str:
    """Delays and losses over 25 s each, with pauses between; one row has no answer."""
    lines = ["timestamp_start,timestamp_end,target,packet_loss,packets_send,ping_avg,ping_worst"]
    for after_s, delay_ms, loss in PINGS:
        at = _START + timedelta(seconds=after_s)
        end = at + timedelta(seconds=25)
        lines.append(f"{at},{end},10.0.0.1,{loss},250,{delay_ms},{delay_ms}")
    return "\n".join(lines) + "\n"


#: The content of each, by the name of its file.
MADE: dict[str, Callable[[], str]] = {
    "made-lte.down": lte,
    "made-drive-5g.csv": drive_5g,
    "made-satellite.csv": satellite,
    "made-pings.csv": pings,
}


def write(name: str, directory: Path) -> Path:
    """One of them, as a file."""
    file = directory / name
    file.write_text(MADE[name]())
    return file
