# SPDX-License-Identifier: GPL-2.0-only
"""The scenarios in which kernel and models are compared: `make oracle`.

Each has a seed that nothing else in this project uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mptcplab.scenario.flags import Flags

_FIRST_SEED = 91_001


def _flags(paths: str, **more: Any) -> Flags:
    """`paths` and `event` are separated by blanks; it lasts 2 s if nothing else is said."""
    event = tuple(more.pop("event", "").split())
    if "size" not in more:
        more.setdefault("duration", "2s")
    return replace(Flags(path=tuple(paths.split()), event=event), **more)


_USUAL = "a:20mbit,10ms b:10mbit,40ms"
_THREE = "a:15mbit,10ms b:10mbit,30ms c:5mbit,60ms"

_ALL: Mapping[str, Flags] = {
    # two paths, data in bulk: alike, different in rate, in delay, in both
    "alike": _flags("a:20mbit,10ms b:20mbit,10ms"),
    "alike-long": _flags("a:10mbit,60ms b:10mbit,60ms", duration="4s"),
    "rates": _flags("a:30mbit,15ms b:5mbit,15ms"),
    "rates-second": _flags("a:5mbit,15ms b:30mbit,15ms"),
    "delays": _flags("a:20mbit,5ms b:20mbit,50ms"),
    "delays-second": _flags("a:20mbit,50ms b:20mbit,5ms"),
    "delays-small": _flags("a:20mbit,20ms b:20mbit,24ms"),
    "wifi-lte": _flags("a:25mbit,8ms b:15mbit,32ms,queue=200", duration="3s"),
    "far": _flags("a:12mbit,12ms b:8mbit,180ms", duration="4s"),
    "slow": _flags("a:1mbit,20ms b:3mbit,35ms", duration="5s"),
    "fast": _flags("a:60mbit,4ms b:40mbit,9ms", duration="1s"),
    # queues
    "shallow": _flags("a:20mbit,15ms,queue=8 b:10mbit,30ms,queue=8"),
    "bloat": _flags("a:8mbit,10ms,queue=1000 b:4mbit,30ms,queue=1000", duration="5s"),
    "bloat-one": _flags("a:20mbit,10ms,queue=30 b:3mbit,25ms,queue=600", duration="4s"),
    # losses
    "loss-both": _flags("a:20mbit,10ms,loss=1% b:10mbit,40ms,loss=1%"),
    "loss-fast": _flags("a:20mbit,10ms,loss=3% b:10mbit,40ms"),
    "loss-slow": _flags("a:20mbit,10ms b:10mbit,40ms,loss=3%"),
    "loss-heavy": _flags("a:10mbit,10ms,loss=8% b:10mbit,30ms,loss=8%", duration="3s"),
    "loss-long": _flags("a:10mbit,100ms,loss=0.5% b:6mbit,20ms,loss=0.5%", duration="4s"),
    # small buffers
    "window-64k": _flags("a:20mbit,10ms b:10mbit,50ms", receive_buffer="64KiB"),
    "window-128k": _flags("a:10mbit,10ms b:10mbit,100ms", receive_buffer="128KiB"),
    "window-256k": _flags("a:10mbit,20ms b:2mbit,80ms,queue=200", receive_buffer="256KiB"),
    "window-16k": _flags("a:10mbit,10ms b:10mbit,30ms", receive_buffer="16KiB"),
    "send-64k": _flags("a:20mbit,10ms b:10mbit,50ms", send_buffer="64KiB"),
    "send-128k": _flags("a:10mbit,5ms b:3mbit,60ms", send_buffer="128KiB"),
    "send-256k-loss": _flags("a:20mbit,10ms,loss=1% b:10mbit,50ms", send_buffer="256KiB"),
    "both-128k": _flags(
        "a:20mbit,10ms b:5mbit,90ms", send_buffer="128KiB", receive_buffer="128KiB"
    ),
    # outages, changes and priorities
    "outage-fast": _flags(_USUAL, event="800ms:a:down 1600ms:a:up", duration="4s"),
    "outage-slow": _flags(_USUAL, event="700ms:b:down 1500ms:b:up", duration="4s"),
    "outage-both": _flags(
        _USUAL, event="600ms:a:down 700ms:b:down 1500ms:a:up 2s:b:up", duration="4s"
    ),
    "slower": _flags(_USUAL, event="1s:a:change,rate=2mbit", duration="3s"),
    "longer": _flags(_USUAL, event="1s:a:change,delay=120ms", duration="3s"),
    "backup": _flags(_USUAL, event="300ms:b:backup"),
    "backup-fast": _flags("a:10mbit,40ms b:20mbit,10ms", event="300ms:b:backup"),
    "backup-needed": _flags(_USUAL, event="200ms:b:backup 700ms:a:down 1900ms:a:up", duration="4s"),
    # three paths, and one
    "three": _flags(_THREE),
    "three-alike": _flags("a:10mbit,20ms b:10mbit,20ms c:10mbit,20ms"),
    "three-loss": _flags("a:15mbit,10ms,loss=1% b:10mbit,30ms,loss=1% c:5mbit,60ms,loss=1%"),
    "three-window": _flags("a:10mbit,10ms b:10mbit,40ms c:10mbit,120ms", receive_buffer="192KiB"),
    "three-outage": _flags(
        _THREE, event="600ms:a:down 800ms:b:down 1600ms:a:up 1800ms:b:up", duration="4s"
    ),
    "three-backup": _flags(
        "a:10mbit,10ms b:10mbit,30ms c:10mbit,20ms",
        event="200ms:c:backup 800ms:a:down 1s:b:down 2s:b:up",
        duration="4s",
    ),
    "one": _flags("a:10mbit,20ms"),
    # short transfers and streams
    "size-20k": _flags("a:10mbit,10ms b:10mbit,40ms", size="20KB"),
    "size-100k": _flags("a:10mbit,30ms b:10mbit,15ms", size="100KB"),
    "size-500k": _flags(_USUAL, size="500KB"),
    "size-2m-loss": _flags("a:20mbit,10ms,loss=1% b:10mbit,40ms", size="2MB"),
    "cbr": _flags("a:5mbit,10ms b:5mbit,30ms", workload="cbr:size=20KB,rate=3mbit"),
    "thin": _flags(
        "a:5mbit,20ms b:5mbit,30ms", workload="cbr:size=1KB,rate=100kbit", duration="4s"
    ),
    "down": _flags(_USUAL, direction="down"),
}

#: By name, each with a seed of its own.
SCENARIOS: Mapping[str, Flags] = {
    name: replace(flags, seed=_FIRST_SEED + number, states=True)
    for number, (name, flags) in enumerate(_ALL.items())
}

#: For the out-of-tree kernel, with a small one: a path goes and returns, and the writer waits.
ORIGINALS_SCENARIOS: Mapping[str, Flags] = {
    **SCENARIOS,
    "returns": _flags(
        "a:8mbit,10ms b:2mbit,90ms",
        event="1s:a:down 1400ms:a:up",
        send_buffer="128KiB",
        receive_buffer="128KiB",
        seed=91_101,
        states=True,
    ),
}
#: Those whose decisions in that kernel are kept for the tests.
RECORDED = ("size-500k", "thin", "window-16k", "loss-heavy", "returns")
