# SPDX-License-Identifier: GPL-2.0-only
"""The texts of the keys of a scenario that are also options of commands.

`literal` reads them and puts these words into the docs and the JSON Schema; `cli.options` puts them
into --help. A module of its own, since --help must not wait for the import of `literal`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mptcplab.scenario.limits import (
    COMPARED_SEEDS,
    ENDPOINTS,
    STARTS,
    TRANSPORTS,
    WORKLOAD_DIRECTIONS,
)

#: What follows it in a description is the default, in words.
BY_DEFAULT = " By default "


@dataclass(frozen=True)
class Key:
    """A key: its description, as of any key in `literal`; its default, unless the description says
    it; the form of the option's value; and what --help says instead of the description.
    """

    description: str
    default: str | int | None = None
    metavar: str = ""
    option: str = ""

    @property
    def help(self) -> str:
        """The text of the option."""
        text, _, default = self.description.partition(BY_DEFAULT)
        shown = default.rstrip(".") if self.default is None else self.default
        return f"{self.option or text.rstrip('.')}.  [{shown}]"


#: A scheduler or a congestion control, with its parameters.
SPEC = "NAME[:PARAM=VALUE...]"
_BUFFER = "of both ends; auto is the kernel's autotuning."

KEYS = {
    "scheduler": Key(
        "Scheduler, or a list of them to compare: NAME or, for your own, the file NAME.c, each "
        "optionally followed by :PARAM=VALUE.",
        "default",
        SPEC,
        "Packet scheduler; ./NAME.c is your own",
    ),
    "cc": Key(
        "Congestion control of every subflow, or a list of them to compare: NAME, optionally "
        "followed by :PARAM=VALUE.",
        "cubic",
        SPEC,
        "Congestion control of every subflow, see mptcplab cc list; compare takes several, "
        "separated by commas",
    ),
    "kernel": Key(
        "Kernel by its name in mptcplab kernel list, such as 6.12, or a distribution's by its "
        "package, stock:PACKAGE.deb; or a list of them to compare. By default the current one.",
        metavar="NAME,...",
    ),
    "transport": Key(
        "mptcp, or plain tcp over exactly one path.", "mptcp", metavar="|".join(TRANSPORTS)
    ),
    "seed": Key(
        "Seed of every random decision of a run; with repeat, of the first run.", 1, metavar="N"
    ),
    "seed_delay": Key(
        "Upper limit of a random delay, from the seed, in each direction of each path: the time "
        "that hosts and routers take per packet. 0us: none.",
        "50us",
        metavar="TIME",
    ),
    "vary": Key(
        "Random deviation of rates, delays and queues, such as 2%, for all or after KEY=, PATH= or "
        "PATH.KEY=. Each seed draws its own, for all schedulers alike. Losses vary only if named. "
        "By default nothing varies.",
        metavar="[[PATH.]KEY=]PERCENT",
    ),
    "repeat": Key(
        "Number of runs per scheduler and congestion control, each with the next seed. By default "
        f"1, and {COMPARED_SEEDS} in comparisons.",
        metavar="N",
    ),
    "send_buffer": Key(
        f"Send buffer {_BUFFER} A fixed size above the receive window can cost most of the "
        "goodput.",
        "auto",
        metavar="SIZE|auto",
    ),
    "receive_buffer": Key(f"Receive buffer {_BUFFER}", "auto", metavar="SIZE|auto"),
    "sample_interval": Key(
        "Virtual time between two samples of the connection.", "10ms", metavar="TIME"
    ),
    "endpoints": Key(
        "signal: the server announces its addresses; subflow: the client has an endpoint for each "
        "of its own; fullmesh: both, and a subflow for each pair of addresses.",
        "signal",
        metavar="|".join(ENDPOINTS),
    ),
    "blackhole_timeout": Key(
        "Time for which the client opens no connection with MPTCP after only a SYN without it was "
        "answered; 0s: it always tries (net.mptcp.blackhole_timeout). By default the kernel's, "
        "3600s.",
        metavar="TIME",
    ),
    "direction": Key(
        "up: from client to server; down: from server to client; both: both at once.",
        "up",
        metavar="|".join(WORKLOAD_DIRECTIONS),
    ),
    "start": Key(
        "at-once: sending starts with the first subflow, as in programs; established: when each "
        "path has a subflow that can carry data.",
        "at-once",
        metavar="|".join(STARTS),
    ),
    "duration": Key(
        "Sending time; for video, its length. By default 20s without a size; for video 120s.",
        metavar="TIME",
    ),
    "size": Key(
        "Amount of bulk data, instead of a duration; size of each transfer, of a block of cbr, or "
        "of a packet of a tunnel's call. By default 1250KB for transfers, 8KB for cbr, 160B for "
        "tunnel.",
        metavar="SIZE",
    ),
    "warmup": Key(
        "Time at the start without measurements, shorter than the duration. By default a tenth of "
        "it, at most 5s; none without a duration.",
        metavar="TIME",
    ),
}
