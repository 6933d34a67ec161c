# SPDX-License-Identifier: GPL-2.0-only
"""A scenario, resolved: one run with every default filled in, in base units."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from mptcplab.scenario import limits, scheduler
from mptcplab.scenario.scheduler import Choice
from mptcplab.scenario.workload import AnyWorkload, Bulk
from mptcplab.units import NS_PER_S

#: A scenario without a duration ends when its data has arrived; until then events repeat and traces
#: are played, but no longer than this.
LONGEST_NS = 600 * 10**9

#: How many samples a host takes of a crowd's connections in all, but for one at the end of each,
#: and how many at least of each.
CROWD_SAMPLES = 20_000
LEAST_CROWD_SAMPLES = 20

#: The actions that set whether a path is up.
UP_OR_NOT = ("down", "up", "close", "lose")
#: The actions on endpoints and addresses of the client.
OF_CLIENT = ("remove", "lose", "renumber")
PRIORITY = ("backup", "regular")


class _Resolved(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


#: When a step begins, in ns after the start of the workload, then rate, delay and loss; None keeps
#: the previous value.
TraceStep = tuple[int, int | None, int | None, float | None]


#: Of a link, one of `uncertainty.KEYS`, and what part of its value is how far it may be off.
Varied = tuple[str, str, float]


class Shape(_Resolved):
    """How one direction of a path or link is shaped: up is client to server, down the opposite.

    A rate of 0 is an outage, during which packets wait; NO_RATE_BPS is unlimited, for a path whose
    links set the rate. `loss` is the mean; with a `loss_burst` that of two states, the bad one of
    which lasts for `loss_burst` packets on average. `drop` and `drop_acks` are ranges of the
    numbers of packets, with data and without, that are lost. The queue is limited in packets or in
    bytes; the other limit is None. `cross_bps` is the rate of a stream of UDP packets from the
    start of the workload on. `steps` are those of a trace after its first.
    """

    rate_bps: int
    delay_ns: int
    jitter_ns: int
    loss: float
    loss_burst: int | None = None
    loss_bad: float = 1.0
    loss_good: float = 0.0
    loss_correlation: float = 0.0
    drop: tuple[tuple[int, int], ...] = ()
    drop_acks: tuple[tuple[int, int], ...] = ()
    duplicate: float = 0.0
    reorder: float = 0.0
    reorder_by_ns: int | None = None
    queue_packets: int | None
    queue_bytes: int | None = None
    queue_discipline: limits.Discipline = "netem"
    bottleneck: limits.Bottleneck = "router"
    cross_bps: int = 0
    middlebox: limits.Middlebox = Field(default="none", exclude_if=lambda box: box == "none")
    steps: tuple[TraceStep, ...] = ()


class Link(_Resolved):
    """Both directions of a link: a path's own, or one between two routers that paths share."""

    name: str
    up: Shape
    down: Shape


class Path(Link):
    """A pair of addresses with a link each way, and the names of the shared `links` behind it.

    `ip` says of which versions of IP there is such a pair. With a `nat_timeout_s` its router
    translates addresses, and forgets a mapping that is idle for so long.
    """

    links: tuple[str, ...] = ()
    ip: limits.Ip = Field(default="4", exclude_if=lambda ip: ip == "4")
    nat_timeout_s: int | None = Field(default=None, exclude_if=lambda time: time is None)

    @property
    def versions(self) -> tuple[limits.IpVersion, ...]:
        return limits.IP_VERSIONS[self.ip]

    @property
    def version(self) -> limits.IpVersion:
        """The version of its subflow: IPv6 where there are both, as programs choose (RFC 6724)."""
        return self.versions[-1]


class Change(_Resolved):
    """What changes in one direction of a path; None keeps a value.

    A factor multiplies the value that holds when the event happens.
    """

    rate_bps: int | None = None
    rate_factor: float | None = None
    delay_ns: int | None = None
    delay_factor: float | None = None
    jitter_ns: int | None = None
    loss: float | None = None
    cross_bps: int | None = None
    middlebox: limits.Middlebox | None = Field(default=None, exclude_if=lambda box: box is None)


class Event(_Resolved):
    """An event on a path, `at_ns` after the start of the workload, and then every `every_ns`;
    BEFORE_NS: before the first connection opens.

    down: the path loses every packet, in both directions; up: that ends; unplug: the client's
    device there has no carrier; close: the server removes its address there, and the subflow ends;
    change, handover: the directions change as `up` and `down` say; backup, regular: the client asks
    that the subflow be used only as a last resort, or like the others; remove, lose, renumber: the
    client's endpoint or address there goes, or becomes another; rebind: the NAT forgets; reboot:
    the path is down, and its NAT forgets.

    With `random`, `every_ns` is the mean of exponential gaps. After `lasts_ns` the event is undone;
    None: it stays, except that a handover draws its length. Module `timeline` has the details.
    """

    at_ns: int
    path: str
    action: limits.Action
    lasts_ns: int | None = None
    every_ns: int | None = None
    random: bool = False
    up: Change = Change()
    down: Change = Change()


class NewValue(_Resolved):
    """A parameter of a scheduler gets another value, `at_ns` after the start of the workload."""

    at_ns: int
    scheduler: str = Field(pattern=r"^\w+$")
    parameter: str = Field(pattern=r"^\w+$")
    value: int


class Connection(_Resolved):
    """A connection between hosts of its own, opened `start_ns` after the start of the workload.

    No other connection has its `paths`, which are names. None as `scheduler` or `cc` means the
    scenario's. The duration of its `workload` counts from its own start. With a start of 0 it is
    opened before the workload starts, like the connection of a scenario without [[connection]].
    """

    name: str
    paths: tuple[str, ...]
    transport: limits.Transport
    scheduler: Choice | None
    cc: str | None
    start_ns: int = 0
    workload: AnyWorkload

    @property
    def end_ns(self) -> int | None:
        """When it stops sending; None: when its data has arrived."""
        duration_ns = self.workload.duration_ns
        return None if duration_ns is None else self.start_ns + duration_ns


@dataclass(frozen=True)
class Pair:
    """A client and a server: their namespaces, and the connections between them.

    Its paths are those of the scenario from number `first` on, counted from 1.
    """

    client: str
    server: str
    first: int
    connection: Connection
    paths: tuple[Path, ...]

    @property
    def numbered(self) -> list[tuple[int, Path]]:
        return list(enumerate(self.paths, self.first))

    @property
    def behind(self) -> tuple[str, str]:
        """The hosts behind the ends of its tunnel: their namespaces."""
        return self.client.replace("client", "lan"), self.server.replace("server", "wan")


class Scenario(_Resolved):
    """One run, completely: together with the kernel and guest builds it determines every byte.

    `events` are in the order of time; they affect paths and links, whose names differ. So are the
    new values of `parameters` of schedulers. Without
    `connections` there is one pair of hosts, with the scenario's transport, scheduler, cc and
    workload. With them, the paths are in their order, and the workload says how long the run lasts.
    `pcap`, `trace` and `states` add files to what the run leaves, captures at all hosts, the
    scheduler's decisions, and these with what it saw, and change nothing else.

    A delay of up to `seed_delay_ns`, drawn from the seed, is added to each direction of each path.
    `endpoints` says whose endpoints bring further subflows. A `blackhole_timeout_s` of None is the
    kernel's own.

    With `vary`, values are still to be drawn from the seed (`uncertainty.drawn`); a run has none.

    One of several connections, viewed alone, has `first_path` and `start_ns`: the number of its
    first path, and its own start.
    """

    paths: tuple[Path, ...]
    links: tuple[Link, ...] = ()
    connections: tuple[Connection, ...] = ()
    events: tuple[Event, ...]
    parameters: tuple[NewValue, ...] = Field(default=(), exclude_if=lambda new: not new)
    first_path: int = 1
    start_ns: int = 0
    transport: limits.Transport
    scheduler: Choice
    cc: str
    send_buffer_bytes: int | None
    receive_buffer_bytes: int | None
    sample_interval_ns: int
    endpoints: limits.Endpoints = Field(default="signal", exclude_if=lambda own: own == "signal")
    blackhole_timeout_s: int | None = Field(default=None, exclude_if=lambda time: time is None)
    workload: AnyWorkload
    pcap: bool
    trace: bool
    states: bool = False  # scenarios kept before there was such a thing have none
    seed: int
    seed_delay_ns: int = 0
    vary: tuple[Varied, ...] = Field(default=(), exclude_if=lambda vary: not vary)
    # the name of the agent outside that its scheduler asks
    agent: str | None = Field(default=None, exclude_if=lambda agent: agent is None)
    # of a run whose seed drew values: the scenario with the given ones, whose sample the run is
    given: Scenario | None = Field(default=None, exclude_if=lambda given: given is None)

    @property
    def own_and_shared(self) -> tuple[Link, ...]:
        """All paths, then all links."""
        return *self.paths, *self.links

    @property
    def host_interval_ns(self) -> int:
        """The time between two samples of a host's connections; those of links may be denser.

        A crowd's would fill gigabytes, and take longer than its data.
        """
        load = self.workload
        if not isinstance(load, Bulk) or not load.is_crowd:
            return self.sample_interval_ns
        span_ns = load.duration_ns or max(load.opened_ns, self._least_ns(load)) or NS_PER_S
        wanted = max(CROWD_SAMPLES // load.connections, LEAST_CROWD_SAMPLES)
        return max(span_ns // wanted // self.sample_interval_ns, 1) * self.sample_interval_ns

    def _least_ns(self, load: Bulk) -> int:
        """How long data of a size takes if it fills all paths."""
        shared = {link.name: link for link in self.links}
        bits = 8 * (load.size_bytes or 0) * load.connections
        longest_ns = 0
        for direction in load.directions:
            rate_bps = sum(
                min(
                    getattr(each, direction).rate_bps
                    for each in (path, *(shared[name] for name in path.links))
                )
                for path in self.paths
            )
            longest_ns = max(longest_ns, bits * NS_PER_S // rate_bps if rate_bps else 0)
        return longest_ns

    def key_text(self) -> str:
        """Canonical JSON, equal for equal scenarios; `Scenario.model_validate_json` reads it.

        Scenarios with the same values are equal, whether or not a seed drew them.
        """
        content = self.model_dump(mode="json", exclude={"given"})
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @property
    def as_given(self) -> Scenario:
        """The scenario that a run is a sample of: its own, or the one that its seed drew from."""
        return self.given or self

    def with_(
        self, *, scheduler: Choice | None = None, cc: str | None = None, seed: int | None = None
    ) -> Scenario:
        """The same scenario with another scheduler, congestion control, seed, or all of them.

        Values that a seed drew are no sample of another seed.
        """
        changes = {"scheduler": scheduler, "cc": cc, "seed": seed}
        update: dict[str, object] = {k: v for k, v in changes.items() if v is not None}
        if seed not in (None, self.seed):
            update["given"] = None
        return self.model_copy(update=update)

    def pairs(self) -> list[Pair]:
        """The pairs of hosts: one for each connection, or the only one."""
        found, first = [], self.first_path
        for number, connection in enumerate(self.connections or (self._only_connection(),), 1):
            suffix = str(number) if number > 1 else ""
            paths = self.paths[first - self.first_path :][: len(connection.paths)]
            found.append(Pair(f"client{suffix}", f"server{suffix}", first, connection, paths))
            first += len(paths)
        return found

    def _only_connection(self) -> Connection:
        return Connection(
            name="",
            paths=tuple(path.name for path in self.paths),
            transport=self.transport,
            scheduler=None,
            cc=None,
            workload=self.workload,
        )

    def scheduler_of(self, connection: Connection) -> Choice:
        return self.scheduler if connection.scheduler is None else connection.scheduler

    def cc_of(self, connection: Connection) -> str:
        return self.cc if connection.cc is None else connection.cc

    def choices(self) -> list[Choice]:
        """The schedulers that the run uses, each once."""
        mptcp = [p.connection for p in self.pairs() if p.connection.transport == "mptcp"]
        return list(dict.fromkeys(map(self.scheduler_of, mptcp)))

    def alone(self, pair: Pair) -> Scenario:
        """One of several connections alone, with all events of the links it shares."""
        connection = pair.connection
        return self.model_copy(
            update={
                "paths": pair.paths,
                "connections": (),
                "transport": connection.transport,
                "scheduler": self.scheduler_of(connection),
                "cc": self.cc_of(connection),
                "workload": connection.workload,
                "first_path": pair.first,
                "start_ns": connection.start_ns,
            }
        )

    def single_path(self, name: str) -> Scenario:
        """The baseline: plain TCP over the path of this name alone, all else the same.

        Raises ValueError if there is no such path, or if it does not last until the end.
        """
        paths = tuple(path for path in self.paths if path.name == name)
        if not paths:
            raise ValueError(f"no path is named {name!r}")
        if name not in self.lasting_paths():
            raise ValueError(f"path {name!r} does not last until the end")
        changes = {
            "paths": paths,
            "links": tuple(link for link in self.links if link.name in paths[0].links),
            "events": tuple(
                event
                for event in self.events
                if (event.path == name and event.action not in (*PRIORITY, "remove"))
                or event.path in paths[0].links
            ),
            "transport": "tcp",
            "endpoints": "signal",
            "scheduler": Choice(name=scheduler.DEFAULT),
            "trace": False,
            "states": False,
            "given": self.given and self.given.single_path(name),
        }
        return self.model_copy(update=changes)

    def lasting_paths(self) -> list[str]:
        """The names of the paths over which plain TCP lasts until the end."""
        lasting = [e for e in self.events if not e.lasts_ns]
        last = {e.path: e.action for e in lasting if e.action in UP_OR_NOT}
        last |= {e.path: e.action for e in lasting if e.action == "renumber"}
        behind_nat = {path.name for path in self.paths if path.nat_timeout_s is not None}
        forgets = (e for e in self.events if e.action in ("rebind", "reboot"))
        last |= {e.path: e.action for e in forgets if e.path in behind_nat}
        return [
            path.name
            for path in self.paths
            if all(last.get(name, "up") == "up" for name in (path.name, *path.links))
        ]
