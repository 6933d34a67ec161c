# SPDX-License-Identifier: GPL-2.0-only
"""The plan of a run: the commands that build its testbed and start its traffic, as text.

Every line is one that a person could type as root, but for `traffic`, `program`, `capture` and
`cross`, which are parts of the guest program, `message`, which says what client and server send,
and `at`, which names a time before a command. The guest's init executes the same lines; it runs
neighbouring `ip` or `tc` lines of one namespace as one batch, and each batch costs a process, so
the lines are ordered to leave few groups. The plan depends on the scenario alone.

                  10.0.i.0/24              10.1.i.0/24
    client  ci ---------------- rci  router i  rsi ---------------- si  server
            .1                  .254           .254                 .1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mptcplab import links, timeline, units, workload
from mptcplab.links import Side
from mptcplab.scenario import Direction, Path, Scenario
from mptcplab.timeline import Instant
from mptcplab.workload import Message, Program, Video

PORT = 5001

CLIENT_CAPTURE = "client.pcapng"
SERVER_CAPTURE = "server.pcapng"

# The kernel's own limits on a machine with 1 GiB of memory or more. They are set explicitly so
# that autotuning, and with it every result, does not depend on the memory of the guest.
_AUTO_RECEIVE_BUFFER = "4096 131072 6291456"
_AUTO_SEND_BUFFER = "4096 16384 4194304"
# For the same reason, what all sockets may use, in pages: as with 8 GiB of memory.
_TCP_MEMORY = "98304 131072 196608"

# A lost ADD_ADDR is sent again after 1 s; the kernel's default of 120 s outlasts most runs.
_ADD_ADDR_TIMEOUT_S = 1


Section = tuple[str, Iterable[str]]


def render(scenario: Scenario) -> str:
    """The plan of one run, a command or a `#` comment per line."""
    sections = list(_testbed(scenario))
    paths = list(enumerate(scenario.paths, 1))
    if scenario.pcap:
        places = ["client", "server", *(f"router{i}" for i, _ in paths)]
        captures = [
            f"ip netns exec {place} capture {file}"
            for place, file in zip(places, capture_files(scenario), strict=True)
        ]
        sections.append(("captures: at all devices of the client, the server, a router", captures))
    losses = [
        line
        for i, path in paths
        for side, link in _sides(path)
        for line in links.exact_losses(i, side, link)
    ]
    if losses:
        sections.append(("packets that are lost, counted from the start of measuring", losses))
    if isinstance(scenario.workload, Program):
        title = "programs: the server's, and when it listens the client's"
        sections.append((title, _programs(scenario, scenario.workload)))
    else:
        sections.append(("traffic: the server, and beside it the client", _traffic(scenario)))
        sections.append(("messages: times after the start of measuring", _messages(scenario)))
    events = list(_events(scenario))
    if events:
        sections.append(("events and traces: times after the start of measuring", events))
    return _text(sections)


def render_measurements(scenario: Scenario, measurements: Iterable[str]) -> str:
    """The paths of a scenario without its traffic, and these lines instead."""
    return _text([*_testbed(scenario), ("measurements", measurements)])


def _text(sections: Iterable[Section]) -> str:
    return "\n\n".join("\n".join([f"# {title}", *lines]) for title, lines in sections) + "\n"


def _testbed(scenario: Scenario) -> Iterator[Section]:
    """All that is there before the traffic is."""
    numbers = range(1, len(scenario.paths) + 1)
    yield "client, server and a router per path, wired up", _topology(numbers)
    yield "client: addresses, and a route per source address", _client(scenario, numbers)
    yield "server: the same", _server(scenario, numbers)
    for i, path in zip(numbers, scenario.paths, strict=True):
        yield f"path {i}, {path.name}: router", _router(i)
    for i, path in zip(numbers, scenario.paths, strict=True):
        stands = [qdisc for side, link in _sides(path) for qdisc in links.shaping(i, side, link)]
        shaping = [qdisc.command("add") for qdisc in stands]
        yield f"path {i}, {path.name}: client to server, server to client", shaping
    if scenario.scheduler.digest is not None:
        insmod = [f"insmod {module_file(scenario.scheduler.name)}"]
        yield f"scheduler, its file {scenario.scheduler.digest}", insmod
    yield "kernel parameters", _sysctls(scenario, numbers)
    yield "offloads off: queues hold packets of MTU size", _offloads(numbers)


def module_file(scheduler: str) -> str:
    """The name, in the directory of the run, of the module with a person's own scheduler."""
    return f"{scheduler}.ko"


def capture_files(scenario: Scenario) -> list[str]:
    """The names, in the directory of the run, of what is captured: client, server, routers."""
    return [CLIENT_CAPTURE, SERVER_CAPTURE, *(router_capture(path.name) for path in scenario.paths)]


def router_capture(path: str) -> str:
    """The name, in the directory of the run, of what is captured at the router of a path."""
    # not PATH alone: a path may be called client
    return f"router-{path}.pcapng"


def quoted(word: str) -> str:
    """A word of a command as bash takes it, on one line."""
    if re.fullmatch(r"[\w%+,./:=@^-]+", word, re.ASCII):
        return word
    if word.isprintable() and "'" not in word:
        return f"'{word}'"
    special = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}
    plain = (special.get(c) or (f"\\x{ord(c):02x}" if c < " " else c) for c in word)
    return f"$'{''.join(plain)}'"


def _topology(numbers: range) -> Iterator[str]:
    for name in ["client", "server", *(f"router{i}" for i in numbers)]:
        yield f"ip netns add {name}"
    for i in numbers:
        for device, host, near in (("c", "client", f"10.0.{i}"), ("s", "server", f"10.1.{i}")):
            yield (
                f"ip link add {device}{i} netns {host} address {_mac(f'{near}.1')} type veth"
                f" peer name r{device}{i} netns router{i} address {_mac(f'{near}.254')}"
            )


def _mac(address: str) -> str:
    """The Ethernet address of the device that has this IP address."""
    return ":".join(f"{int(byte):02x}" for byte in ("2", "0", *address.split(".")))


def _neighbour(netns: str, address: str, device: str) -> str:
    """Known, not asked for: the answer would come through netem, and the first round-trip time of
    each path, which schedulers have nothing but at first, would be twice the true one.
    """
    return f"ip -n {netns} neigh add {address} lladdr {_mac(address)} dev {device}"


def _client(scenario: Scenario, numbers: range) -> Iterator[str]:
    for i, path in zip(numbers, scenario.paths, strict=True):
        yield from _host("client", f"c{i}", i, near=f"10.0.{i}", far=f"10.1.{i}")
        yield from _single_packets("client", f"c{i}", path.up)
    yield from _limits("client", scenario)
    # An endpoint without flags makes no subflow; it is what can be told to be a backup.
    changing = {e.path for e in scenario.events if e.action in ("backup", "regular")}
    for i, path in zip(numbers, scenario.paths, strict=True):
        if path.name in changing:
            yield f"ip -n client mptcp endpoint add 10.0.{i}.1 dev c{i}"


def _server(scenario: Scenario, numbers: range) -> Iterator[str]:
    for i, path in zip(numbers, scenario.paths, strict=True):
        yield from _host("server", f"s{i}", i, near=f"10.1.{i}", far=f"10.0.{i}")
        yield from _single_packets("server", f"s{i}", path.down)
    yield from _limits("server", scenario)
    # One subflow per path: the client joins each address that the server announces, and leaves by
    # the address of that path. Any further endpoint would make further subflows.
    for i in numbers[1:]:
        yield f"ip -n server mptcp endpoint add 10.1.{i}.1 id {i} dev s{i} signal"


def _host(name: str, device: str, table: int, *, near: str, far: str) -> Iterator[str]:
    """One end of a path: packets from its address leave by its device, whatever their goal."""
    ip = f"ip -n {name}"
    yield f"{ip} addr add {near}.1/24 dev {device}"
    yield f"{ip} link set {device} up"
    yield _neighbour(name, f"{near}.254", device)
    yield f"{ip} rule add from {near}.1 table {table}"
    yield f"{ip} route add default via {near}.254 dev {device} table {table}"
    yield f"{ip} route add {far}.0/24 via {near}.254 dev {device}"


def _single_packets(name: str, device: str, link: Direction) -> Iterator[str]:
    """TCP makes larger ones also without offloads, which the queue of the host would hold."""
    if link.bottleneck == "host":
        yield f"ip -n {name} link set {device} gso_max_segs 1"


def _sides(path: Path) -> tuple[tuple[Side, Direction], tuple[Side, Direction]]:
    return ("up", path.up), ("down", path.down)


def _limits(name: str, scenario: Scenario) -> Iterator[str]:
    if isinstance(scenario.workload, Program):
        # programs take it for granted that 127.0.0.1 is there
        yield f"ip -n {name} link set lo up"
    further = len(scenario.paths) - 1
    if further:
        yield f"ip -n {name} mptcp limits set subflow {further} add_addr_accepted {further}"


def _router(i: int) -> Iterator[str]:
    for device, network in ((f"rc{i}", f"10.0.{i}"), (f"rs{i}", f"10.1.{i}")):
        yield f"ip -n router{i} addr add {network}.254/24 dev {device}"
        yield f"ip -n router{i} link set {device} up"
        yield _neighbour(f"router{i}", f"{network}.1", device)


def _sysctls(scenario: Scenario, numbers: range) -> Iterator[str]:
    # A namespace may only use what the first one allows to all.
    allowed = f"net.ipv4.tcp_allowed_congestion_control={scenario.cc}"
    yield f"sysctl -qw 'net.ipv4.tcp_mem={_TCP_MEMORY}' {allowed}"
    for i in numbers:
        yield f"ip netns exec router{i} sysctl -qw net.ipv4.ip_forward=1"
    # Data may flow both ways: a fixed buffer is that of both ends.
    send, receive = scenario.send_buffer_bytes, scenario.receive_buffer_bytes
    rmem = f"4096 {receive} {receive}" if receive else _AUTO_RECEIVE_BUFFER
    wmem = f"4096 {send} {send}" if send else _AUTO_SEND_BUFFER
    # Linux adds a random offset to the timestamps of each pair of addresses; without it, schedulers
    # can compare one-way delays. It changes no packet's time or size.
    common = [f"net.ipv4.tcp_congestion_control={scenario.cc}", "net.ipv4.tcp_timestamps=2"]
    if scenario.transport == "mptcp":
        chosen = scenario.scheduler
        common = [
            "net.mptcp.enabled=1",
            f"net.mptcp.scheduler={chosen.name}",
            *(f"net.mptcp.{chosen.name}.{set_.name}={set_.value}" for set_ in chosen.changed),
            f"net.mptcp.add_addr_timeout={_ADD_ADDR_TIMEOUT_S}",
            *common,
        ]
    if scenario.transport == "mptcp" and isinstance(scenario.workload, Program):
        # programs that know of TCP alone make MPTCP connections
        common.insert(1, "net.mptcp.mptcpize=1")
    settings = [*common, f"'net.ipv4.tcp_rmem={rmem}'", f"'net.ipv4.tcp_wmem={wmem}'"]
    for name in ("client", "server"):
        yield f"ip netns exec {name} sysctl -qw {' '.join(settings)}"


def _offloads(numbers: range) -> Iterator[str]:
    for i in numbers:
        ends = (("client", "c"), (f"router{i}", "rc"), (f"router{i}", "rs"), ("server", "s"))
        for name, device in ends:
            yield f"ip netns exec {name} ethtool -K {device}{i} tso off gso off gro off"


def _traffic(scenario: Scenario) -> Iterator[str]:
    load = scenario.workload
    common = (
        f"--transport {scenario.transport} --port {PORT} --seed {scenario.seed}"
        f" --sample-interval-ns {scenario.sample_interval_ns}"
    )
    if load.kind != "bulk":
        # as applications do whose messages are small: none waits for an ACK (Nagle)
        common += " --no-delay 1"
    elif load.duration_ns is not None:
        common += f" --duration-ns {load.duration_ns}"
    server, client = "", f" --connect 10.1.1.1 --paths {len(scenario.paths)}"
    if workload.opens_connections(load):
        client += " --fresh 1"
    if scenario.trace and load.direction != "down":
        client += " --trace 1"
    if scenario.trace and load.direction != "up":
        server += " --trace 1"
    if isinstance(load, Video):
        client += (
            f" --segment-ns {load.segment_ns} --buffer-ns {load.buffer_ns}"
            f" --reservoir-ns {load.reservoir_ns} --cushion-ns {load.cushion_ns}"
        )
    yield f"ip netns exec server traffic server {common}{server}"
    yield f"ip netns exec client traffic client {common}{client}"


def _messages(scenario: Scenario) -> Iterator[str]:
    for message in workload.messages(scenario.workload, scenario.seed):
        unit = message.deadline_ns is not None and scenario.scheduler.units
        yield _message(message) + (_unit(message) if unit else "")


def _unit(message: Message) -> str:
    """What the scheduler is told of it; times are after it is due."""
    assert message.deadline_ns is not None
    assert message.expires_ns is not None
    return (
        f" unit needs {message.needs or 0} importance {message.importance}"
        f" deadline {units.format_time(message.deadline_ns)}"
        f" expires {units.format_time(message.expires_ns)}"
    )


def _message(message: Message) -> str:
    size = "|".join(map(str, message.sizes)) or "*"
    due = f"at {units.format_time(message.at_ns)}"
    if message.after is not None:
        due = f"after {message.after} {units.format_time(message.delay_ns)}"
    return f"message {message.connection} {message.direction} {size} {due}"


def _programs(scenario: Scenario, program: Program) -> Iterator[str]:
    common = f"--directory {quoted(program.directory)}"
    if program.server:
        yield (f"ip netns exec server program {common} -- {' '.join(map(quoted, program.server))}")
    settings = {
        "transport": scenario.transport,
        "seed": scenario.seed,
        "sample-interval-ns": scenario.sample_interval_ns if program.records else 0,
        "time-limit-ns": program.time_limit_ns,
        "input": program.input if program.input != "none" else None,
        "term": quoted(program.term) if program.term else None,
        "trace": 1 if scenario.trace else None,
    }
    given = " ".join(f"--{key} {value}" for key, value in settings.items() if value is not None)
    command = " ".join(map(quoted, program.client))
    yield f"ip netns exec client program {common} {given} -- {command}"


def _events(scenario: Scenario) -> Iterator[str]:
    numbers = {path.name: i for i, path in enumerate(scenario.paths, 1)}
    present = {(path.name, side): link for path in scenario.paths for side, link in _sides(path)}
    for (name, side), link in present.items():
        if link.cross_bps:
            yield f"at 0ns {_cross(numbers[name], side, link)}"
    for instant in timeline.instants(scenario):
        for command in _commands(numbers[instant.path], instant, present):
            yield f"at {units.format_time(instant.at_ns)} {command}"


def _commands(
    i: int, instant: Instant, present: dict[tuple[str, Side], Direction]
) -> Iterator[str]:
    """`present` is how each direction of a path is, and then how it is after this."""
    changed: tuple[tuple[Side, Direction | None], ...] = (
        ("up", instant.up),
        ("down", instant.down),
    )
    for side, link in changed:
        if link is None:
            continue
        before = present[instant.path, side]
        present[instant.path, side] = link
        # each takes over all its values at once: what is not given would be none
        stands = zip(links.shaping(i, side, before), links.shaping(i, side, link), strict=True)
        for old, new in stands:
            if new != old and new.kind != "red":
                yield new.command("change")
        if link.cross_bps != before.cross_bps:
            yield _cross(i, side, link)
    if instant.act == "close":
        # The address of the first path was not announced: no endpoint, and its id is 0.
        what = f"id {i}" if i > 1 else f"id 0 10.1.{i}.1"
        yield f"ip -n server mptcp endpoint delete {what}"
    elif instant.act:
        flag = "backup" if instant.act == "backup" else "nobackup"
        yield f"ip -n client mptcp endpoint change 10.0.{i}.1 {flag}"


def _cross(i: int, side: Side, link: Direction) -> str:
    """The rate of cross traffic from now on, in bit/s."""
    source, goal, address = "client", "server", f"10.1.{i}.1"
    if side == "down":
        source, goal, address = goal, source, f"10.0.{i}.1"
    return f"ip netns exec {source} cross {goal} {address} {link.cross_bps}"
