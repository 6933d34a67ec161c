# SPDX-License-Identifier: GPL-2.0-only
"""The limits of what a scenario may have, and the accepted words."""

from __future__ import annotations

from typing import Literal, get_args

Transport = Literal["mptcp", "tcp"]
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
_EVERY = ("start", "no_delay")
#: The keys of each kind of workload, besides `kind`.
WORKLOAD_KEYS = {
    "bulk": (
        *("direction", "duration", "size", "warmup", "connections", "interval"),
        *_EVERY,
    ),
    "transfers": ("direction", "size", "count", "interval", "fresh", *_EVERY),
    "cbr": ("direction", "duration", "warmup", "size", "rate", "interval", *_EVERY),
    "requests": (
        *("duration", "warmup", "request", "response", "interval", "random"),
        *("think", "count", *_EVERY),
    ),
    "web": ("page", "request", "connections", "fresh", *_EVERY),
    "video": (
        *("duration", "segment", "bitrates", "request", "buffer", "reservoir", "cushion"),
        *_EVERY,
    ),
    "frames": (
        *("direction", "duration", "warmup", "rate", "fps", "gop", "ratio", "deadline"),
        *_EVERY,
    ),
    "tunnel": (
        *("direction", "duration", "warmup", "bulk", "call", "size", "interval", "deadline"),
        *("mtu", "queue", "rate", "not_sent_lowat", *_EVERY),
    ),
}
WORKLOADS = tuple(WORKLOAD_KEYS)
#: The versions of IP that a path has addresses of, by the value of its key `ip`.
IpVersion = Literal["4", "6"]
Ip = Literal["4", "6", "both"]
IP_VERSIONS: dict[Ip, tuple[IpVersion, ...]] = {"4": ("4",), "6": ("6",), "both": ("4", "6")}
#: Towards the server, or towards the client.
Direction = Literal["up", "down"]
DIRECTIONS: tuple[Direction, Direction] = ("up", "down")
WORKLOAD_DIRECTIONS = (*DIRECTIONS, "both")
Call = Literal["inside", "outside", "none"]
CALLS: tuple[Call, ...] = get_args(Call)
Start = Literal["at-once", "established"]
STARTS: tuple[Start, ...] = get_args(Start)
_OfPath = Literal["down", "up", "unplug", "close", "change", "handover", "backup", "regular"]
_OfClient = Literal["remove", "lose", "renumber"]
_OfRouter = Literal["rebind", "reboot"]
Action = Literal[_OfPath, _OfClient, _OfRouter]
ACTIONS: tuple[Action, ...] = get_args(Action)
#: What a router does with packets that have options of MPTCP.
Middlebox = Literal["none", "strip", "drop"]
MIDDLEBOXES: tuple[Middlebox, ...] = get_args(Middlebox)
#: Whose endpoints bring further subflows.
Endpoints = Literal["signal", "subflow", "fullmesh"]
ENDPOINTS: tuple[Endpoints, ...] = get_args(Endpoints)
#: The time of an event before the first connection opens, and its word.
BEFORE_NS, BEFORE = -1, "before"
MAX_PATHS = 8  # of a connection
#: All connections together. Each has a pair of hosts; path i has the networks 10.0.i and 10.1.i
#: and the routing table i, and Linux uses table 253 and above.
MAX_CONNECTIONS = 128
MAX_ALL_PATHS = 250
MAX_LINKS = 32
MAX_CAPTURES = 64  # as many rings of 2 MiB as fit into the guest's memory
#: The rate of an unlimited link: a packet of 1514 bytes takes 12 ps.
NO_RATE_BPS = 10**15
MAX_EVENTS = 32
MAX_OCCURRENCES = 50_000  # of all events together
MAX_FACTOR = 1000
MAX_SEED = 2**32 - 1
MAX_REPEAT = 10_000
#: With this many runs, any state that a quarter of all runs are in shows with a probability of 90 %
#: (1 - 0.75^8), and the range of the runs contains the median with 99 % (1 - 2 / 2^8).
COMPARED_SEEDS = 8
MAX_QUEUE_PACKETS = 1_000_000
# With less, at most one packet fits between the thresholds of red, and tc refuses the average.
MIN_RED_PACKETS = 24
MAX_BITRATES = 32
# The packets in a queue: Ethernet's header and 1500 bytes.
PACKET_BYTES = 1514
Discipline = Literal["netem", "droptail", "codel", "fq_codel", "red", "pie"]
DISCIPLINES: tuple[Discipline, ...] = get_args(Discipline)
Bottleneck = Literal["router", "host"]
BOTTLENECKS: tuple[Bottleneck, ...] = get_args(Bottleneck)
MAX_DROPS = 128  # their numbers fit into a page of the kernel
MAX_DROP_NUMBER = 10**9
MAX_LOSS = 1 - 1e-9  # the last step below 1, see units.parse_fraction


def loss_range(burst: int | None, good: float, bad: float) -> tuple[float, float]:
    """The lowest and the highest mean loss of two states, or of independent losses."""
    if burst is None:
        return 0.0, 1.0
    # The good state lasts for at least one packet: at most burst of burst + 1 are in the bad state.
    return good, (good + burst * bad) / (burst + 1)
