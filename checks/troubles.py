# SPDX-License-Identifier: GPL-2.0-only
"""Cases of trouble, drawn from a seed: paths that fail, and connections that must not lose a byte.

A case is a pure function of its seed, the scheduler and the congestion control, and has the same
troubles for each of these. Every trouble draws from a generator of its own, so leaving one out does
not change the others: this is how a failure is narrowed down.

Times are in us of virtual time after the start, as guest/torture/connections.c takes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from mptcplab.plan import plan, qdiscs, testbed
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario, Shape
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.scheduler import known
from mptcplab.scenario.workload import Program

_MS = 1000
_S = 1_000_000

#: The acts of an end, as in enum act.
SHUTDOWN, CLOSE, SHUTDOWN_AT, CLOSE_AT, ABORT_AT = range(5)
#: Each existing subflow, as a kill_index.
KILL_ALL = 99

# After the last trouble, which is calm_us, nothing is lost, every path carries, and all ends read.
# What may still take time, each at most once after the other:
# - the timer of each subflow runs at most TCP_RTO_MAX = 120 s: its data, its window probe or its
#   SYN then comes through, and later ones come after round trips;
# - a connection without a subflow is given up after net.mptcp.close_timeout = 60 s;
# - the bytes themselves, and what of them is sent twice: 12 connections x 2 directions x 200 KB x 8
#   / 1 Mbit/s = 39 s twice, or of buffers of 2 KB, 20 KB in segments of 536 bytes, each with a
#   delayed ACK or a probe, 0.2 s, = 8 s;
# - with a low-water mark and Nagle's rule, a write leaves in a round trip, as in TCP: _HELD_WRITES,
#   0.8 s each (80 ms in each direction, five times as long where delays change), = 80 s.
#: Time after the last trouble in which every connection must have come to an end.
BOUND_US = (120 + 60 + 2 * 39 + 8 + 80) * _S

_MOST_CONNECTIONS = 12
_SIZES = (0, 1, 100, 3_000, 15_000, 15_000, 60_000, 60_000, 200_000)
_SMALL_BYTES = 20_000
# Through a window of 1152 bytes, of a buffer of 2304: a segment in a delayed ACK, so 10 s.
_SHRUNK_BYTES = 60_000
_HELD_WRITES = 100
_RATES = ("1mbit", "2mbit", "5mbit", "10mbit", "20mbit", "50mbit")
_DELAYS_MS = (1, 2, 5, 10, 20, 40, 80)
_QUEUES = (5, 10, 20, 50, 100)
_MTUS = (576, 600, 1000, 1280, 1400, 1499, 1500)
_FLAP_US = 50 * _MS
_OUTAGE_US = 20 * _S
# What an end may take to read or to write all, by its gaps.
_SLOWEST_US = 10 * _S
# The limit of a queue at a host whose only purpose is to corrupt.
_HOST_QUEUE = "limit 100000"


@dataclass(frozen=True)
class End:
    """What one end of a connection does: the fields of struct end_plan."""

    bytes: int
    write_chunk: int = 16_384
    write_gap: int = 0
    read_chunk: int = 65_536
    read_gap: int = 0
    pause_at: int = 0
    pause: int = 0
    send_buffer: int = 0
    receive_buffer: int = 0
    shrink: int = 0
    shrink_at: int = 0
    no_delay: int = 0
    low_water: int = 0
    act: int = SHUTDOWN
    act_at: int = 0
    kill_at: int = 0
    kill_index: int = 0

    def line(self, name: str) -> str:
        """As connections.c reads it."""
        return " ".join([name, *(f"{key}={value}" for key, value in vars(self).items() if value)])


@dataclass(frozen=True)
class Connection:
    """A connection made at `at_us` from the client's address on a path to the server's."""

    at_us: int
    path: int
    client: End
    server: End

    def lines(self) -> Iterator[str]:
        """As connections.c reads them."""
        yield f"connection at={self.at_us} path={self.path}"
        yield self.client.line("client")
        yield self.server.line("server")


@dataclass(frozen=True)
class TortureCase:
    """A run: `scenario` without its program, what happens besides, and the connections.

    `events` have their time in ns. From `calm_us` on there is no more trouble, and at `until_us`
    every connection must have ended.
    """

    seed: int
    scheduler: str
    cc: str
    troubles: tuple[str, ...]
    flags: Flags
    commands: tuple[str, ...]
    events: tuple[tuple[int, str], ...]
    connections: tuple[Connection, ...]
    calm_us: int

    @property
    def name(self) -> str:
        """The scheduler, without its parameters."""
        return self.scheduler.partition(":")[0]

    @property
    def until_us(self) -> int:
        """When every connection must have ended."""
        return self.calm_us + BOUND_US

    def scenario(self, program: str) -> Scenario:
        """With the path of the program that makes the connections."""
        wanted = Program(
            client=(program, "client", "server"),
            directory="/",
            # It ends on its own, after waiting for what the kernel does after a close.
            time_limit_ns=(self.until_us + 10 * _S) * 1000,
            input="file",
            records=False,
        )
        (scenario,) = from_flags(replace(self.flags, program=wanted), single=True).runs()
        return scenario

    def plan(self, program: str) -> str:
        """What the guest carries out."""
        return plan.render(self.scenario(program), commands=self.commands, events=self.events)

    def input(self) -> str:
        """What the program reads."""
        lines = [f"until={self.until_us}"]
        for connection in self.connections:
            lines += connection.lines()
        return "\n".join(lines) + "\n"


def case(
    seed: int,
    scheduler: str,
    cc: str,
    *,
    without: Collection[str] = (),
    only: Collection[int] = (),
) -> TortureCase:
    """The case of a seed, `without` some troubles, and with `only` some connections (from 1)."""
    drawn = Random(f"{seed} troubles")
    chances = {name: drawn.random() < chance for name, (chance, _) in TROUBLES.items()}
    chosen = tuple(name for name, chance in chances.items() if chance and name not in without)
    world = _World(seed, chosen)
    for name in chosen:
        TROUBLES[name][1](world, Random(f"{seed} {name}"))
    connections = tuple(
        connection
        for number, connection in enumerate(world.connections, 1)
        if not only or number in only
    )
    if "parameters" in chosen:
        scheduler = _with_parameters(scheduler, Random(f"{seed} parameters"))
    flags = Flags(path=world.paths, scheduler=scheduler, cc=cc, seed=seed, seed_delay="0us")
    return TortureCase(
        seed=seed,
        scheduler=scheduler,
        cc=cc,
        troubles=chosen,
        flags=flags,
        commands=tuple(world.commands),
        events=tuple(world.events(flags)),
        connections=connections,
        calm_us=world.calm_us(connections),
    )


# --- the world


@dataclass
class _World:
    """A case while it is being built. Paths are counted from 1."""

    seed: int
    troubles: tuple[str, ...]
    count: int = 0
    paths: tuple[str, ...] = ()
    trouble_us: int = 0
    connections: list[Connection] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    # events, in any order: a path gets another value; a device or an endpoint changes
    shapes: list[tuple[int, int, str, float]] = field(default_factory=list)
    devices: list[tuple[int, str, int, bool]] = field(default_factory=list)
    endpoints: list[tuple[int, str, str, int]] = field(default_factory=list)
    others: list[tuple[int, str]] = field(default_factory=list)
    # the endpoints of each host at the start
    present: dict[str, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = Random(f"{self.seed} paths")
        self.count = rng.choice((1, 2, 2, 2, 2, 3, 3, 4))
        if "eight paths" in self.troubles:
            # A host has room for 8 endpoints (MPTCP_PM_ADDR_MAX), which the kernel may have used
            # for its own before those that were flushed come back.
            self.count = 7 if {"endpoints", "client endpoints"} & set(self.troubles) else 8
        self.trouble_us = rng.randrange(1 * _S, 8 * _S)
        if "outage" in self.troubles:
            self.trouble_us += _OUTAGE_US + 2 * _S
        self.paths = tuple(
            f"p{i}:{rng.choice(_RATES)},{rng.choice(_DELAYS_MS)}ms,queue={rng.choice(_QUEUES)}"
            for i in range(1, self.count + 1)
        )
        numbers = range(1, self.count + 1)
        self.present = {"client": set(), "server": set(numbers[1:])}
        self.connections = [
            self._connection(Random(f"{self.seed} connection {number}"))
            for number in range(rng.randint(1, _MOST_CONNECTIONS))
        ]

    def _connection(self, rng: Random) -> Connection:
        """Everything is drawn, even if it is not used, so that the rest does not change."""
        at_us = int(self.trouble_us * rng.random() ** 2 * 0.9)
        path = rng.randint(1, self.count)
        client, server = (self._end(at_us, rng) for _ in range(2))
        client, server = _in_time(client, server), _in_time(server, client)
        return Connection(at_us, path, client, server)

    def _end(self, at_us: int, rng: Random) -> End:
        used = {name: rng.random() < 0.5 for name in ("buffers", "slow", "pause", "end", "kill")}
        end = End(
            bytes=rng.choice(_SIZES),
            write_chunk=rng.choice((1, 100, 1400, 16_384, 16_384, 65_536)),
            write_gap=rng.choice((0, 0, 0, 0, 1 * _MS, 20 * _MS)),
            no_delay=rng.randint(0, 1),
        )
        if end.write_chunk == 1:
            end = replace(end, bytes=min(end.bytes, 3_000))
        buffers = {
            "send_buffer": rng.choice((0, 2048, 4096)),
            "receive_buffer": rng.choice((0, 2048, 3000, 4096)),
        }
        slow = {"read_chunk": rng.choice((20, 100, 536, 1400)), "read_gap": rng.randrange(20 * _MS)}
        since_us = max(self.trouble_us - at_us, 1)
        pause = {
            "pause_at": at_us + int(rng.random() * since_us),
            "pause": int(rng.random() * 5 * _S),
        }
        act = rng.choice((SHUTDOWN, CLOSE, CLOSE, SHUTDOWN_AT, CLOSE_AT, ABORT_AT))
        end_at = at_us + int(rng.random() ** 2 * since_us)
        kill = {
            "kill_at": at_us + int(rng.random() * since_us),
            "kill_index": rng.choice((0, 1, 2, KILL_ALL)),
        }
        if "tiny buffers" in self.troubles and used["buffers"]:
            end = replace(end, **buffers, bytes=min(end.bytes, _SMALL_BYTES))
        if "slow readers" in self.troubles and used["slow"]:
            end = replace(end, **slow)
        if "pauses" in self.troubles and used["pause"]:
            end = replace(end, **pause)
        if "closes" in self.troubles and used["end"]:
            end = replace(end, act=act, act_at=end_at if act >= SHUTDOWN_AT else 0)
        if "kills" in self.troubles and used["kill"]:
            end = replace(end, **kill)
        return end

    def calm_us(self, connections: Collection[Connection]) -> int:
        """When all troubles are over, and slow readers have read everything."""
        last = self.trouble_us
        for connection in connections:
            ends = (connection.client, connection.server)
            for end, other in (ends, ends[::-1]):
                reading = -(-other.bytes // end.read_chunk) * end.read_gap
                writing = -(-end.bytes // end.write_chunk) * end.write_gap
                own = connection.at_us + reading + writing
                last = max(last, own, end.pause_at + end.pause + reading, end.act_at, end.kill_at)
        return last

    def time(self, rng: Random, share: float = 1.0) -> int:
        """A time in the first `share` of the troubled time."""
        return int(rng.random() * share * self.trouble_us)

    def hosts(self) -> Iterator[tuple[str, int]]:
        """The devices of both ends."""
        for host in ("client", "server"):
            for i in range(1, self.count + 1):
                yield host, i

    def out(self, i: int, begin_us: int, end_us: int) -> None:
        """Path `i` carries nothing meanwhile."""
        self.shapes += [(begin_us, i, "out", 1), (min(end_us, self.trouble_us), i, "out", -1)]

    def flaps(self, rng: Random, counts: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The begin and the end of one of these numbers of flaps, one every 100 ms."""
        begin_us = self.time(rng, 0.8)
        for number in range(rng.choice(counts)):
            at_us = begin_us + 2 * number * _FLAP_US
            if at_us + _FLAP_US < self.trouble_us:
                yield at_us, at_us + _FLAP_US

    def change_ends(self, change: Callable[[End, int], End]) -> None:
        """Each end is changed; `change` also gets the time of its connection."""
        for number, each in enumerate(self.connections):
            client, server = (change(end, each.at_us) for end in (each.client, each.server))
            self.connections[number] = replace(each, client=client, server=server)

    def down(self, host: str, i: int, begin_us: int, end_us: int) -> None:
        """A device is down meanwhile."""
        self.devices += [(begin_us, host, i, False), (min(end_us, self.trouble_us), host, i, True)]

    def events(self, flags: Flags) -> list[tuple[int, str]]:
        """All events, in the order of time, as commands of the guest."""
        found = [*self.others]
        found += _device_events(self.devices, self.count)
        found += _endpoint_events(self.endpoints, self.present)
        found += self._shape_events(flags)
        return sorted(((us * 1000, command) for us, command in found), key=lambda event: event[0])

    def _shape_events(self, flags: Flags) -> Iterator[tuple[int, str]]:
        """The state of a path that several troubles change, each at its own times."""
        (scenario,) = from_flags(flags, single=True).runs()
        state = {i: {"out": 0.0} for i in range(1, self.count + 1)}
        for us, i, key, value in sorted(self.shapes, key=lambda shape: shape[0]):
            now = state[i]
            now[key] = now["out"] + value if key == "out" else value
            path = scenario.paths[i - 1]
            for side, link in (("up", path.up), ("down", path.down)):
                shaping = qdiscs.shaping(qdiscs.path_spots(i), side, _like(link, now))  # type: ignore[arg-type]
                for qdisc in shaping:
                    yield us, qdisc.command("change")


def _in_time(end: End, other: End) -> End:
    """An end that on its own takes no longer than the troubles may."""
    reads, writes = -(-other.bytes // end.read_chunk), -(-end.bytes // end.write_chunk)
    return replace(
        end,
        read_gap=min(end.read_gap, _SLOWEST_US // max(reads, 1)),
        write_gap=min(end.write_gap, _SLOWEST_US // max(writes, 1)),
    )


def _like(link: Shape, now: dict[str, float]) -> Shape:
    """A direction with these values of its loss, rate and delay."""
    changed: dict[str, float | int] = {}
    if "loss" in now:
        changed["loss"] = now["loss"]
    if "delay" in now:
        changed["delay_ns"] = int(link.delay_ns * now["delay"])
    if "rate" in now:
        changed["rate_bps"] = int(link.rate_bps * now["rate"])
    if now["out"]:
        changed["loss"] = 1.0
    return link.model_copy(update=changed)


def _device_events(
    devices: Collection[tuple[int, str, int, bool]], paths: int
) -> Iterator[tuple[int, str]]:
    """Devices go down and up; the kernel forgets neighbours and routes meanwhile, which are added
    again: also those by which the server's other addresses reach the client's on this path.
    """
    down = Counter[tuple[str, int]]()
    for us, host, i, up in sorted(devices, key=lambda change: change[0]):
        down[host, i] += -1 if up else 1
        if down[host, i] != (0 if up else 1):
            continue
        end, gateway, far = _place(host, i)
        yield us, f"ip -n {host} link set {end.device} {'up' if up else 'down'}"
        if up:
            way = f"via {gateway.address} dev {end.device}"
            yield us, plan.neighbour(end, gateway, "4")
            yield us, f"ip -n {host} route add default {way} table {i}"
            yield us, f"ip -n {host} route add {far} {way}"
            for j in range(1, paths + 1):
                if host == testbed.SERVER and j != i:
                    yield us, f"ip -n {host} route add {far} {way} table {j}"


def _place(host: str, i: int) -> tuple[testbed.End, testbed.End, str]:
    """The end of path `i` at a host, its router's, and the network at the other end."""
    if host == testbed.CLIENT:
        return testbed.client(i), testbed.router_to_client(i), testbed.server_network(i, "4")
    return testbed.server(i), testbed.router_to_server(i), testbed.client_network(i, "4")


def _endpoint_events(
    wanted: Collection[tuple[int, str, str, int]], present: dict[str, set[int]]
) -> Iterator[tuple[int, str]]:
    """Endpoints come and go; impossible changes, such as adding one twice, are left out."""
    there = {host: set(numbers) for host, numbers in present.items()}
    # Of the client's, and of those that come back, the kernel chooses the number: it has given some
    # to addresses on its own meanwhile.
    ids = {"client": set[int](), "server": set(present["server"])}
    for us, host, what, i in sorted(wanted, key=lambda change: change[0]):
        ip = f"ip -n {host} mptcp endpoint"
        mine, known = there[host], ids[host]
        if what == "flush":
            mine.clear()
            yield us, f"{ip} flush"
            known.clear()
        elif what == "add" and i not in mine:
            mine.add(i)
            yield us, endpoint(host, i)
        elif what == "delete" and i in mine & known:
            mine.remove(i)
            known.remove(i)
            yield us, f"{ip} delete id {i}"
        elif what == "delete first":
            yield us, f"{ip} delete id 0 {_place(host, i)[0].address}"
        elif what in ("backup", "nobackup") and i in mine:
            yield us, f"{ip} change {_place(host, i)[0].address} {what}"


def endpoint(host: str, i: int, flags: str = "") -> str:
    """The command that adds it: the server announces its own, the client makes subflows."""
    kind = "subflow" if host == testbed.CLIENT else "signal"
    end, _, _ = _place(host, i)
    added = f"ip -n {host} mptcp endpoint add {end.address} dev {end.device} {kind}"
    return f"{added} {flags}".rstrip()


# --- the troubles


def _losses(world: _World, rng: Random) -> None:
    """Losses, reordering and duplicated packets, some only from a certain time on."""
    world.paths = tuple(
        path
        + rng.choice(("", ",loss=0.5%", ",loss=3%", ",loss=10%"))
        + rng.choice(("", "", ",reorder=1%", ",reorder=10%"))
        + rng.choice(("", "", ",duplicate=1%"))
        for path in world.paths
    )
    for i in range(1, world.count + 1):
        if rng.random() < 0.5:
            world.shapes.append((world.time(rng), i, "loss", rng.choice((0.01, 0.05, 0.2))))
        world.shapes.append((world.trouble_us, i, "loss", 0.0))


def _eight_paths(world: _World, rng: Random) -> None:
    """Up to eight paths, which lose and reorder."""
    world.paths = tuple(
        f"{path},loss={rng.choice((1, 3, 5))}%,reorder={rng.choice((1, 5, 20))}%"
        if "loss" not in path and "reorder" not in path
        else path
        for path in world.paths
    )
    for i in range(1, world.count + 1):
        world.shapes.append((world.trouble_us, i, "loss", 0.0))


def _changes(world: _World, rng: Random) -> None:
    """Rates and delays that change."""
    for i in range(1, world.count + 1):
        for _ in range(rng.randint(0, 4)):
            key = rng.choice(("rate", "delay"))
            value = rng.choice((0.1, 0.5, 2, 5) if key == "delay" else (0.1, 0.3, 1, 3))
            world.shapes.append((world.time(rng), i, key, value))
        world.shapes.append((world.trouble_us, i, "rate", 1))


def _device_flaps(world: _World, rng: Random) -> None:
    """Devices of either end go down and up every 50 ms."""
    for host, i in world.hosts():
        if rng.random() >= 0.5:
            for times_us in world.flaps(rng, (1, 3, 10, 20)):
                world.down(host, i, *times_us)


def _path_flaps(world: _World, rng: Random) -> None:
    """Paths stop and resume every 50 ms."""
    for i in range(1, world.count + 1):
        if rng.random() >= 0.4:
            for times_us in world.flaps(rng, (3, 10, 30)):
                world.out(i, *times_us)


def _outage(world: _World, rng: Random) -> None:
    """All paths, or the devices of one end, are down for 20 s."""
    begin_us = int(rng.random() * 2 * _S)
    by_device = rng.random() < 0.3
    host = rng.choice(("client", "server"))
    for i in range(1, world.count + 1):
        own_us = begin_us + rng.randrange(500 * _MS)
        if by_device:
            world.down(host, i, own_us, begin_us + _OUTAGE_US)
        else:
            world.out(i, own_us, begin_us + _OUTAGE_US)


def _mtus(world: _World, rng: Random) -> None:
    """Another MTU of both ends of a cable, from the start or on the way."""
    for host, i in world.hosts():
        for _ in range(rng.randint(0, 3)):
            mtu = rng.choice(_MTUS)
            at_us = world.time(rng) if rng.random() < 0.7 else 0
            for end in _place(host, i)[:2]:
                command = f"ip -n {end.namespace} link set {end.device} mtu {mtu}"
                if at_us:
                    world.others.append((at_us, command))
                else:
                    world.commands.append(command)


def _corruption(world: _World, rng: Random) -> None:
    """Bits change on the way, with MPTCP's checksums."""
    _checksums(world, rng)
    for host, i in world.hosts():
        if rng.random() < 0.5:
            qdisc = f"tc -n {host} qdisc {{}} dev {host[0]}{i} root netem {_HOST_QUEUE}"
            corrupt = f" corrupt {rng.choice(('0.5', '2', '5'))}%"
            world.commands.append(qdisc.format("add") + corrupt)
            world.others.append((world.trouble_us, qdisc.format("change")))


def _checksums(world: _World, _rng: Random) -> None:
    """MPTCP's checksums."""
    for host in ("client", "server"):
        command = f"ip netns exec {host} sysctl -qw net.mptcp.checksum_enabled=1"
        if command not in world.commands:
            world.commands.append(command)


def _shrinks(world: _World, rng: Random) -> None:
    """Receive buffers that become small while data flows, with MPTCP's checksums or without."""
    if rng.random() < 0.5:
        _checksums(world, rng)

    def shrunk(end: End, at_us: int) -> End:
        """What it then reads and writes is bounded."""
        shrink, at_us = rng.choice((0, 1, 2048, 4096)), at_us + rng.randrange(500 * _MS)
        return replace(end, bytes=min(end.bytes, _SHRUNK_BYTES), shrink=shrink, shrink_at=at_us)

    world.change_ends(shrunk)


def _low_water(world: _World, rng: Random) -> None:
    """Ends that leave little unsent (TCP_NOTSENT_LOWAT)."""

    def lowered(end: End, _at_us: int) -> End:
        mark = rng.choice((0, 1, 100, 4096))
        most = _HELD_WRITES * end.write_chunk if mark and not end.no_delay else end.bytes
        return replace(end, low_water=mark, bytes=min(end.bytes, most))

    world.change_ends(lowered)


def _late(world: _World, rng: Random, host: str) -> None:
    """Endpoints of a host are flushed, deleted, and come back, or come late."""
    for _ in range(rng.randint(1, 4)):
        at_us = world.time(rng, 0.9)
        back_us = min(at_us + rng.choice((0, 1, 50, 500)) * _MS, world.trouble_us)
        numbers = rng.sample(range(1, world.count + 1), rng.randint(1, world.count))
        how = rng.random()
        if how < 0.6:
            world.endpoints.append((at_us, host, "flush", 0))
            numbers = list(range(1, world.count + 1))
        elif how < 0.9:
            world.endpoints += [(at_us, host, "delete", i) for i in numbers]
        else:
            world.endpoints.append((at_us, host, "delete first", numbers[0]))
        world.endpoints += [(back_us, host, "add", i) for i in numbers if host == "client" or i > 1]
    for i in range(2, world.count + 1):
        world.endpoints.append((world.trouble_us, host, "add", i))


def _client_endpoints(world: _World, rng: Random) -> None:
    """Endpoints at the client, from the start and later: more subflows than there are paths."""
    limits = f"mptcp limits set subflow {rng.randint(1, 8)} add_addr_accepted {rng.randint(0, 8)}"
    world.commands += [f"ip -n {host} {limits}" for host in ("client", "server")]
    for i in range(1, world.count + 1):
        if rng.random() < 0.6:
            world.present["client"].add(i)
            world.commands.append(endpoint("client", i, rng.choice(("", "", "backup"))))
    _late(world, rng, "client")


def _backup(world: _World, rng: Random) -> None:
    """Subflows become backups and regular ones again."""
    for host, i in world.hosts():
        for _ in range(rng.randint(0, 4)):
            what = rng.choice(("backup", "nobackup"))
            world.endpoints.append((world.time(rng), host, what, i))


def _handshake(world: _World, rng: Random) -> None:
    """Packets of the handshakes and the first data are lost, by their number."""
    for i in range(1, world.count + 1):
        for end in (testbed.router_to_client(i), testbed.router_to_server(i)):
            for kind, most in (("acks", 12), ("data", 6)):
                lost = [number for number in range(1, most + 1) if rng.random() < 0.35]
                if lost:
                    numbers = ",".join(map(str, lost))
                    what = f"drop {end.device} {kind} {numbers}"
                    world.commands.append(f"ip netns exec {end.namespace} {what}")


def _sysctls(world: _World, rng: Random) -> None:
    """Other settings of TCP and MPTCP, of either end."""
    choices = {
        "net.ipv4.tcp_sack": (0, 1),
        "net.ipv4.tcp_timestamps": (0, 1, 2),
        "net.ipv4.tcp_window_scaling": (0, 1),
        "net.ipv4.tcp_mtu_probing": (0, 1, 2),
        "net.ipv4.tcp_early_retrans": (0, 3),
        "net.ipv4.tcp_moderate_rcvbuf": (0, 1),
        "net.mptcp.allow_join_initial_addr_port": (0, 1),
        "net.mptcp.stale_loss_cnt": (0, 1, 4),
    }
    for host in ("client", "server"):
        drawn = [f"{key}={rng.choice(values)}" for key, values in choices.items()]
        settings = " ".join(setting for setting in drawn if rng.random() < 0.3)
        if settings:
            world.commands.append(f"ip netns exec {host} sysctl -qw {settings}")


def _of_ends(_world: _World, _rng: Random) -> None:
    """What ends do is drawn with them."""


def _with_parameters(scheduler: str, rng: Random) -> str:
    """A scheduler with other values of the parameters that have few."""
    parameters = known()[scheduler].parameters if scheduler in known() else ()
    drawn = [
        f"{parameter.name}={parameter.text(rng.randint(parameter.minimum, parameter.maximum))}"
        for parameter in parameters
        if parameter.maximum - parameter.minimum < 10
    ]
    return ":".join([scheduler, *drawn])


#: The troubles: how often a case has each, and what it does.
TROUBLES: dict[str, tuple[float, Callable[[_World, Random], None]]] = {
    "losses": (0.35, _losses),
    "eight paths": (0.08, _eight_paths),
    "changes": (0.15, _changes),
    "device flaps": (0.3, _device_flaps),
    "path flaps": (0.3, _path_flaps),
    "outage": (0.12, _outage),
    "mtus": (0.25, _mtus),
    "corruption": (0.12, _corruption),
    "checksums": (0.2, _checksums),
    "endpoints": (0.35, partial(_late, host="server")),
    "client endpoints": (0.25, _client_endpoints),
    "backup": (0.25, _backup),
    "handshake": (0.25, _handshake),
    "sysctls": (0.2, _sysctls),
    "parameters": (0.3, _of_ends),
    "tiny buffers": (0.25, _of_ends),
    "slow readers": (0.25, _of_ends),
    "pauses": (0.3, _of_ends),
    "closes": (0.5, _of_ends),
    "kills": (0.2, _of_ends),
    "shrinking buffers": (0.15, _shrinks),
    "low water": (0.15, _low_water),
}
