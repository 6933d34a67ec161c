# SPDX-License-Identifier: GPL-2.0-only
"""A published experiment and its runs, written by hand: two schedulers, two queues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mptcplab.papers import samples
from mptcplab.papers.catalogue import (
    PUBLISHED,
    TODAY,
    Assumed,
    Because,
    Chart,
    Claim,
    ClaimFigure,
    Experiment,
    Headline,
    HeadlineFigure,
    Metric,
    Paper,
    Published,
    Reported,
    Variant,
)
from mptcplab.papers.reproduce import Provenance, Ran

SEEDS = range(1, 7)
_OF_MINRTT = "median(goodput, scheduler='minrtt', queue=300)"


def published(name: str = "paper2020/fig1", **chart: Any) -> Published:
    own = Experiment(
        title="Queues",
        place="figure 1",
        setting=["Ours: all of it."],
        repeat=len(SEEDS),
        scenario={"vary": "2%", "path": [{"name": "a", "rate": "{rate}mbit"}]},
        axis={"queue": "queue, packets"},
        grid={"scheduler": ["minrtt", "blest"], "queue": [300, 1000]},
        assumed=[Assumed(name="rate", value=10, because="the usual one", range=[5], source="s")],
        metric=[Metric(name="goodput", title="Goodput", unit="Mbit/s", value="goodput_bps / 1e6")],
        chart=Chart(**({"kind": "lines", "x": "queue", "y": ["goodput"]} | chart)),
        variant=[Variant(name=TODAY, says="today's defaults", scenario={"initial_window": 10})],
        claim=[
            Claim(
                name="more",
                quote="more is more",
                says="More is more.",
                place="section 1",
                holds="minrtt > 11",
                direction="minrtt > 5",
                because=[
                    Because(says="The queue is full.", shown_by="minrtt < 11"),
                    Because(says="The queue is empty.", shown_by="minrtt > 11"),
                ],
                figures={
                    "minrtt": ClaimFigure(says="minRTT", unit="Mbit/s", paper=11, value=_OF_MINRTT)
                },
            ),
            Claim(
                quote="q",
                name="chart",
                says="A|B.",
                place="section 2",
                not_testable="there is none.",
            ),
        ],
        reported=[
            Reported(
                metric="goodput", at={"scheduler": "minrtt", "queue": 300}, value=14, read_off=True
            )
        ],
    )
    headline = Headline(
        says="minRTT has {goodput}.",
        claim="fig1:more",
        figures={"goodput": HeadlineFigure(of="fig1", value=_OF_MINRTT, unit="Mbit/s")},
    )
    lost = headline.model_copy(update={"claim": "fig1:less"})
    paper = Paper(title="On queues", authors="A", published="2020", headline=[headline, lost])
    return Published(name, Path("fig1.toml"), paper, own)


def ran(of: Published, part: str = PUBLISHED, more: float = 0.0, **made: Any) -> Ran:
    """The goodput of a run is a sum of the numbers of its scheduler, queue and seed."""
    return Ran(samples.results(of.experiment, list(rows(more))), provenance(of, part, **made))


def rows(more: float = 0.0) -> Iterator[samples.Row]:
    for scheduler, first in (("minrtt", 3.0), ("blest", 33.0)):
        for number, queue in enumerate((300, 1000)):
            for seed in SEEDS:
                goodput = first + number + seed + 1 / 3 + more
                point = {"scheduler": scheduler, "queue": queue}
                yield samples.Row(point, seed, {"goodput": goodput})


def provenance(of: Published, part: str, **made: Any) -> Provenance:
    fields: dict[str, Any] = {
        "digest": of.experiment.part(part).digest(),
        "repeat": len(SEEDS),
        "kernel": "k1",
        "base": "b1",
        "files": {"sched/minrtt.c": "m1", "sched/blest.c": "l1"},
        "guest": "g1",
        "version": "0.1.0",
        "command": f"mptcplab papers run {of.name}",
        "cpu_s": 1.5,
    }
    return Provenance(**(fields | made))
