# SPDX-License-Identifier: GPL-2.0-only
"""Which figures are shown for a kind of workload, and how."""

from __future__ import annotations

from dataclasses import dataclass

MBIT, KIB = 1e6, 1024.0


@dataclass(frozen=True)
class Column:
    """A column of the table: its head, a figure, its unit, and the number of significant digits.

    It is not shown where no run has the figure if `optional`.
    """

    head: str
    metric: str
    unit: float
    digits: int
    optional: bool = False


@dataclass(frozen=True)
class View:
    """What is shown for a kind of workload: columns to the left and right of the paths' shares.

    The first one is the main figure, `text` what follows it in a line, and `less_is_better` says
    whether it is a waiting time.
    """

    left: tuple[Column, ...]
    right: tuple[Column, ...]
    notes: tuple[str, ...]
    text: str
    less_is_better: bool = False


_GOODPUT = Column("Goodput\n\nMbit/s", "goodput_bps", MBIT, 4)
_RETRANSMITTED = Column("Retrans-\nmitted\npackets", "retransmitted_packets", 1, 1)
_OFO_MEAN = Column("Out of\norder\nmean KiB", "ofo_bytes_mean", KIB, 3)
_OFO_P99 = Column("Out of\norder\np99 KiB", "ofo_bytes_p99", KIB, 3)
DEFINED = "mptcplab results schema defines every figure."
_OFO_NOTES = (
    "Out of order: data waiting at the receiver for an earlier byte, mean and 99th percentile over "
    f"time. {DEFINED}",
)


def _completion(what: str, note: str) -> View:
    def column(name: str, metric: str) -> Column:
        return Column(f"{what}\n{name}\nms", f"completion_ms_{metric}", 1, 4)

    return View(
        left=(column("median", "median"), column("p99", "p99"), column("longest", "max")),
        right=(_OFO_MEAN, _RETRANSMITTED),
        notes=(
            f"{note} Out of order: mean over time of the data that waits at the receiver for an "
            "earlier byte.",
            DEFINED,
        ),
        text="median ms",
        less_is_better=True,
    )


_DELAYS = (
    Column("Delay\nmean\nms", "delay_ms_mean", 1, 4),
    Column("Delay\nst. dev.\nms", "delay_ms_sd", 1, 3),
    Column("Delay\np99\nms", "delay_ms_p99", 1, 4),
)
VIEWS = {
    "bulk": View(
        left=(
            _GOODPUT,
            Column("Goodput\ndown\nMbit/s", "goodput_down_bps", MBIT, 4, True),
            Column("Aggre-\ngation\nbenefit", "aggregation_benefit", 1, 3, True),
        ),
        right=(_OFO_MEAN, _OFO_P99, _RETRANSMITTED),
        notes=_OFO_NOTES,
        text="Mbit/s",
    ),
    "program": View(
        left=(_GOODPUT,),
        right=(_OFO_MEAN, _OFO_P99, _RETRANSMITTED),
        notes=(
            "Goodput: data that arrived in order, over the time of the client's program.",
            *_OFO_NOTES,
        ),
        text="Mbit/s",
    ),
    "transfers": _completion(
        "Transfer",
        "Transfer: time until its last byte has arrived, from when it was due.",
    ),
    "requests": _completion(
        "Response", "Response: time from when the request was due until it arrived."
    ),
    "cbr": View(
        left=(*_DELAYS, Column("Delay\nhighest\nms", "delay_ms_max", 1, 4)),
        right=(_RETRANSMITTED,),
        notes=("Delay: from when a block is due until it has arrived.", DEFINED),
        text="ms mean delay",
        less_is_better=True,
    ),
    "web": View(
        left=(
            Column("Page\nload\ns", "page_load_s", 1, 4),
            Column("Object\nmedian\nms", "completion_ms_median", 1, 4),
            Column("Object\np99\nms", "completion_ms_p99", 1, 4),
        ),
        right=(_RETRANSMITTED,),
        notes=(
            "Page load: until the last object has arrived. Object: from its request on.",
            DEFINED,
        ),
        text="s page load",
        less_is_better=True,
    ),
    "video": View(
        left=(
            Column("Start-\nup\ns", "startup_s", 1, 3),
            Column("Stalls", "stalls", 1, 1),
            Column("Stalled\n\ns", "stall_s", 1, 3),
            Column("Bitrate\nmean\nMbit/s", "bitrate_bps", MBIT, 3),
            Column("Switch-\nes", "switches", 1, 1),
        ),
        right=(_RETRANSMITTED,),
        notes=(
            "Stalls: how often, and for how long, the player had nothing to play after it began.",
            f"Switches: changes of the bitrate. {DEFINED}",
        ),
        text="s start-up",
        less_is_better=True,
    ),
    "frames": View(
        left=(Column("Frames\nin time\n%", "in_time", 0.01, 4), *_DELAYS),
        right=(_RETRANSMITTED,),
        notes=(
            "In time: arrived before the deadline. Delay: from when a frame is due until it has "
            f"arrived. {DEFINED}",
        ),
        text="% in time",
    ),
    "tunnel": View(
        left=(
            Column("Call\np99\nms", "call_delay_ms_p99", 1, 4),
            Column("Call\nmedian\nms", "call_delay_ms_median", 1, 4),
            Column("Call\nin time\n%", "call_in_time", 0.01, 4),
            Column("Call\nlost\n%", "call_lost", 0.01, 2),
            Column("Bulk\ninside\nMbit/s", "bulk_goodput_bps", MBIT, 4),
        ),
        right=(Column("Back\nin time\n%", "call_back_in_time", 0.01, 4),),
        notes=(
            "Call: the one-way delay of its packets in the direction of the bulk data. In time: "
            "before the deadline. Back: its packets in the other direction.",
            f"Bulk inside: goodput of the TCP connection in the tunnel. {DEFINED}",
        ),
        text="ms p99 of the call",
        less_is_better=True,
    ),
}


def shown_metrics(kind: str) -> list[str]:
    """The figures that the table shows for a kind of workload, the main one first."""
    view = VIEWS[kind]
    return [column.metric for column in (*view.left, *view.right)]
