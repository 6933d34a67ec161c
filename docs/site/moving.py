# SPDX-License-Identifier: GPL-2.0-only
"""The moving picture at the top of the site: `python -m docs.site.moving DIR`.

Two schedulers send over the two paths of the README's picture, around the beginning of the
handover. The captures of both runs have every packet where it was sent and where it arrived; the
samples of the receiver have the data that arrived. All this goes into a piece of HTML as JSON, and
moving.js draws it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mptcplab as lab
from mptcplab.capture import difference, dissect
from mptcplab.capture.difference import FIELDS, Lines
from mptcplab.capture.flows import TO_SERVER
from mptcplab.metrics import records
from mptcplab.metrics.run_files import GUEST_OUTCOME, SERVER_SAMPLES
from mptcplab.plan import timeline
from mptcplab.runs import documents
from mptcplab.scenario.model import Scenario

REQUEST: dict[str, Any] = {
    "path": ["first:20mbit,20ms", "second:20mbit,20ms"],
    "event": ["5s:second:handover,lasts=2s"],
    "scheduler": ["default", "lte"],
    "duration": "6s",
    "repeat": 1,
    "pcap": True,
}
# Times in the file are in hundredths of a ms.
_STEP_NS = 10_000
BEGIN, END = 490_000, 560_000

# The script shows it; without scripts, the page has the picture below it alone.
_FIGURE = """\
<figure class="moving" hidden>
<script type="application/json">{packets}</script>
<p><button type="button"></button><input type="range" aria-label="Time"><output></output></p>
<svg role="img" aria-label="Packets on two paths, with two schedulers"></svg>
<figcaption>Each dot is a packet of a real run, 20 times slower: on the <b class="path0">first</b>
path, on the <b class="path1">second</b> one, <b class="again">sent again</b>, or
<b class="lost">lost</b>. At 5 s, a handover slows the second path. <code>default</code> keeps its
packets there: later data waits at the receiver, the pale part of the bar, until the first path has
nothing to send. <code>lte</code> sends these packets again over the first path.</figcaption>
</figure>
<script src="_static/moving.js"></script>
"""
_TIME, _PAYLOAD, _SEQUENCE, _DATA, _MAPPED, _STAMP = map(
    FIELDS.index, ("time", "payload", "sequence", "data sequence", "subflow sequence", "timestamp")
)


def main(out: Path) -> None:
    """Make the runs in a directory, and moving.html there."""
    runs = lab.compare(lab.request(**REQUEST), baseline=False, out=out).runs()
    content = {
        "begin": BEGIN,
        "end": END,
        "paths": _paths(runs[0].scenario),
        "runs": [_run(run) for run in runs],
    }
    packets = json.dumps(content, separators=(",", ":"))
    (out / "moving.html").write_text(_FIGURE.format(packets=packets), encoding="utf-8")


def _paths(scenario: Scenario) -> list[dict[str, Any]]:
    """The name of each path and its states: from when on, its delay, and its rate in bit/s."""
    states = [(0, path.name, path.up) for path in scenario.paths] + [
        (each.at_ns, each.path, each.up) for each in timeline.instants(scenario) if each.up
    ]
    return [
        {
            "name": path.name,
            "states": [
                [_steps(at_ns), _steps(up.delay_ns), up.rate_bps]
                for at_ns, name, up in states
                if name == path.name
            ],
        }
        for path in scenario.paths
    ]


def _run(run: lab.Run) -> dict[str, Any]:
    start_ns = documents.read(run.directory / GUEST_OUTCOME, documents.GUEST).start_ns
    captures = [run.directory / f"{end}.pcapng" for end in ("client", "server")]
    places = difference.streams(dissect.read(captures), start_ns)
    # the addresses of the client are in the order of the paths
    sent, arrived = (
        [
            places[place][places[place][:, _PAYLOAD] > 0]
            for place in sorted(places, key=lambda place: place.client)
            if place.way == TO_SERVER and place.capture == capture.name
        ]
        for capture in captures
    )
    samples = records.read_samples(run.directory / SERVER_SAMPLES).connection
    times = (samples["time_ns"].astype(np.int64) - start_ns) // _STEP_NS
    within = (times >= BEGIN) & (times <= END)
    done = samples["delivered_bytes"][within].astype(np.int64)
    received = np.stack([times[within], done - done[0], samples["ofo_bytes"][within]], axis=1)
    packets = map(_packets, sent, arrived, _again(sent))
    return {
        "scheduler": run.entry.label,
        "packets": [list(each) for each in packets],
        "received": received.tolist(),
    }


def _packets(sent: Lines, arrived: Lines, again: list[bool]) -> Iterator[list[int]]:
    """Of each packet: when it was sent and arrived, -1 if never, and whether its data was sent
    before.
    """
    same = [_SEQUENCE, _PAYLOAD, _DATA, _STAMP]
    arrivals = {tuple(line[same].tolist()): _steps(int(line[_TIME])) for line in arrived}
    for line, repeats in zip(sent, again, strict=True):
        at, there = _steps(int(line[_TIME])), arrivals.get(tuple(line[same].tolist()), -1)
        if at <= END and max(at, there) >= BEGIN:
            yield [at, there, int(repeats)]


def _again(sent: list[Lines]) -> list[list[bool]]:
    """Whether the connection's data in each packet of each path was sent before, on any path."""
    lines = np.concatenate(sent)
    order = np.argsort(lines[:, _TIME], kind="stable")
    # a mapping may cover several packets
    begins = lines[:, _DATA] + lines[:, _SEQUENCE] - lines[:, _MAPPED]
    _, first = np.unique(begins[order], return_index=True)
    again = np.ones(len(lines), np.bool_)
    again[order[first]] = False
    ends = np.cumsum([len(each) for each in sent])[:-1]
    return [each.tolist() for each in np.split(again, ends)]


def _steps(ns: int) -> int:
    return round(ns / _STEP_NS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
