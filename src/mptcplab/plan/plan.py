# SPDX-License-Identifier: GPL-2.0-only
"""The plan of a run: the commands that build its testbed and start its traffic, as text.

Every line is one that you could type as root, except `traffic`, `tunnel`, `program`, `capture` and
`cross`, which are parts of the guest program, `message`, which says what client and server send,
and `at`, which precedes a command with its time. The guest's init executes the same lines over
netlink; lines of one namespace stand together, so that it sends each namespace a single batch. The
plan depends only on the scenario. `testbed.py` says where its devices are, and their addresses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from mptcplab import units
from mptcplab.plan import middleboxes, qdiscs, testbed, timeline, tunnels
from mptcplab.plan.qdiscs import Spots
from mptcplab.plan.testbed import End
from mptcplab.plan.timeline import Instant
from mptcplab.scenario import congestion, scheduler, workload
from mptcplab.scenario.limits import BEFORE_NS, DIRECTIONS, NO_RATE_BPS, Direction, IpVersion
from mptcplab.scenario.model import PRIORITY, Link, Pair, Path, Scenario, Shape
from mptcplab.scenario.workload import Message, Program, Tunnel, Video

PORT = 5001

CLIENT_CAPTURE, SERVER_CAPTURE = "client.pcapng", "server.pcapng"

# The kernel's own limits on a machine with 1 GiB of memory or more, set explicitly so that
# autotuning, and with it every result, does not depend on the memory of the guest.
_AUTO_RECEIVE_BUFFER = "4096 131072 6291456"
_AUTO_SEND_BUFFER = "4096 16384 4194304"
# For the same reason, the memory of all sockets, in pages: as with 8 GiB of memory, a sixteenth of
# it for TCP and an eighth for UDP; the first limit is a quarter lower, the last one half as high
# again.
_TCP_MEMORY = "98304 131072 196608"
_UDP_MEMORY = "196608 262144 393216"

# A router forwards packets that belong to no socket of its own, so it need not look for one.
# The latter holds for IPv6, too.
_ROUTER_SETTINGS = "net.ipv4.ip_forward=1 net.ipv4.ip_early_demux=0"
_IPV6_ROUTER_SETTINGS = "net.ipv6.conf.all.forwarding=1"

# In a namespace with IPv6 it is on, without the link-local addresses that nobody asked for and that
# the kernel would announce; addresses stay when a device has no carrier.
_IPV6_SETTINGS = (
    "net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.addr_gen_mode=1"
    " net.ipv6.conf.all.keep_addr_on_down=1"
)
# A device with IPv6 neither asks for neighbours nor announces addresses: they are configured, and
# only packets of the traffic pass through netem. An address is valid at once.
_IPV6_DEVICE = "arp off multicast off"
_AT_ONCE: Mapping[IpVersion, str] = {"4": "", "6": " nodad"}
# iproute2 takes a rule for IPv4 by default.
_OF_RULE: Mapping[IpVersion, str] = {"4": "", "6": " -6"}

# The kernel's limit of further subflows.
_MOST_SUBFLOWS = 8

# A lost ADD_ADDR is sent again after 1 s; the kernel's default of 120 s is longer than most runs.
_ADD_ADDR_TIMEOUT_S = 1


Section = tuple[str, Iterable[str]]


def render(
    scenario: Scenario, *, commands: Iterable[str] = (), events: Iterable[tuple[int, str]] = ()
) -> str:
    """The plan of one run, a command or a `#` comment per line.

    For what scenarios cannot express: `commands` are carried out after the testbed is built, and
    `events` (times in ns after the start of measuring) while the traffic runs, like the scenario's.
    """
    sections = list(_testbed(scenario))
    happening = list(_events(scenario))
    before = [command for at_ns, command in happening if at_ns == BEFORE_NS]
    if before:
        sections.append(("events before the first connection opens", before))
    paths = list(enumerate(scenario.paths, 1))
    further = list(commands)
    if further:
        sections.append(("further commands", further))
    if scenario.pcap:
        captures = [
            f"ip netns exec {place} capture {file}" for place, file in captured(scenario).items()
        ]
        sections.append(("captures: at all devices of the client, the server, a router", captures))
    losses = [
        line
        for i, path in paths
        for direction, link in _shapes(path)
        for line in qdiscs.exact_losses(i, direction, link)
    ]
    if losses:
        sections.append(("packets that are lost, counted from the start of measuring", losses))
    if isinstance(scenario.workload, Program):
        title = "programs: the server's, and when it listens the client's"
        sections.append((title, _programs(scenario, scenario.workload)))
    else:
        lines = [line for pair in scenario.pairs() for line in _tunnel(scenario, pair)]
        if lines:
            sections.append(("tunnel: two hosts, and a connection for their packets", lines))
        title = "traffic: the server, and beside it the client"
        if scenario.connections:
            title += ", of each connection: "
            title += ", ".join(connection.name for connection in scenario.connections)
        lines = [line for pair in scenario.pairs() for line in _traffic(scenario, pair)]
        sections.append((title, lines))
        sections.append(("messages: times after the start of measuring", _messages(scenario)))
    later = [each for each in (*happening, *events) if each[0] != BEFORE_NS]
    if later:
        later.sort(key=lambda each: each[0])
        happenings = [f"at {units.format_time(at_ns)} {command}" for at_ns, command in later]
        sections.append(("events and traces: times after the start of measuring", happenings))
    return _text(sections)


def render_measurements(scenario: Scenario, measurements: Iterable[str]) -> str:
    """The paths of a scenario with these lines instead of its traffic."""
    return _text([*_testbed(scenario), ("measurements", measurements)])


def _text(sections: Iterable[Section]) -> str:
    return "\n\n".join("\n".join([f"# {title}", *lines]) for title, lines in sections) + "\n"


def _testbed(scenario: Scenario) -> Iterator[Section]:
    """Everything that is built before the traffic starts."""
    pairs = scenario.pairs()
    further = "" if len(pairs) == 1 else ", of each connection,"
    further += " and two per link" if scenario.links else ""
    yield f"client, server and a router per path{further}, wired up", _topology(scenario)
    for pair in pairs:
        of = f" of {pair.connection.name}" if scenario.connections else ""
        yield f"client{of}: addresses, and a route per source address", _client(scenario, pair)
        yield f"server{of}: the same", _server(scenario, pair)
    for i, path in enumerate(scenario.paths, 1):
        yield f"path {i}, {path.name}: router", _router(i, path, _link_numbers(scenario))
        if box := list(middleboxes.router(scenario, i, path)):
            yield f"path {i}, {path.name}: what its router does to packets", box
    for m, link in enumerate(scenario.links, 1):
        yield f"link {m}, {link.name}: its two routers", _link_routers(scenario, m)
    mesh: list[str] = []
    if isinstance(scenario.workload, Program) or scenario.endpoints != "signal":
        mesh = [line for pair in pairs for line in _mesh(scenario, pair)]
    if mesh:
        yield "from each address of the client to each of the server: by the client's path", mesh
    spots = spots_of(scenario)
    for number, each in enumerate(scenario.own_and_shared, 1):
        m = number - len(scenario.paths)
        title = f"path {number}" if m <= 0 else f"link {m}"
        shaping = [
            qdisc.command("add")
            for direction, link in _shapes(each)
            if direction in spots[each.name].further_ns or _is_shaped(scenario, each, link)
            for qdisc in qdiscs.shaping(spots[each.name], direction, link)
        ]
        if shaping:
            yield f"{title}, {each.name}: client to server, server to client", shaping
    for choice in scenario.choices():
        if choice.digest is not None:
            insmod = [f"insmod {choice.name}.ko"]
            yield f"scheduler, its file {choice.digest}", insmod
    yield "kernel parameters", _sysctls(scenario, pairs)
    yield "offloads off: queues hold packets of MTU size", _offloads(scenario)


def _is_shaped(scenario: Scenario, each: Link, link: Shape) -> bool:
    """Whether a direction needs disciplines: not if all is left to its links and no event changes
    it.
    """
    if any(event.path == each.name for event in scenario.events):
        return True
    nothing = Shape(
        rate_bps=NO_RATE_BPS, delay_ns=0, jitter_ns=0, loss=0.0, queue_packets=link.queue_packets
    )
    same = {"drop": (), "drop_acks": (), "cross_bps": 0, "middlebox": "none"}
    return link.model_copy(update=same) != nothing


def spots_of(scenario: Scenario) -> dict[str, Spots]:
    """Where each path and each link of a run is shaped, by its name."""
    found = {
        path.name: qdiscs.path_spots(
            i,
            pair.client,
            pair.server,
            qdiscs.seed_delays(scenario.seed, i, scenario.seed_delay_ns),
        )
        for pair in scenario.pairs()
        for i, path in pair.numbered
    }
    return found | {link.name: qdiscs.link_spots(m) for m, link in enumerate(scenario.links, 1)}


def captured(scenario: Scenario) -> dict[str, str]:
    """The namespaces at which packets are captured, and the files' names in the run's directory."""
    found: dict[str, str] = {}
    for pair in scenario.pairs():
        found |= {pair.client: f"{pair.client}.pcapng", pair.server: f"{pair.server}.pcapng"}
    found |= {testbed.router(i): router_capture(p.name) for i, p in enumerate(scenario.paths, 1)}
    for m, link in enumerate(scenario.links, 1):
        found |= {f"{end}{m}": f"{end}-{link.name}.pcapng" for end in ("near", "far")}
    return found


def capture_files(scenario: Scenario) -> list[str]:
    """The names, in the run's directory, of the captures of hosts, routers and links."""
    return list(captured(scenario).values())


def router_capture(path: str) -> str:
    """The name, in the run's directory, of the capture at the router of a path."""
    # not PATH alone: a path may be called client
    return f"router-{path}.pcapng"


def quoted(word: str) -> str:
    """A word of a command, quoted for bash, on one line."""
    if re.fullmatch(r"[\w%+,./:=@^-]+", word, re.ASCII):
        return word
    if word.isprintable() and "'" not in word:
        return f"'{word}'"
    special = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}
    plain = (special.get(c) or (f"\\x{ord(c):02x}" if c < " " else c) for c in word)
    return f"$'{''.join(plain)}'"


def _topology(scenario: Scenario) -> Iterator[str]:
    hosts = [host for pair in scenario.pairs() for host in (pair.client, pair.server)]
    namespaces = [*hosts, *_routers(scenario)]
    with_ipv6 = _with_ipv6(scenario)
    for name in namespaces:
        yield f"ip netns add {name}"
    for name in namespaces:
        if name in with_ipv6:
            yield f"ip netns exec {name} sysctl -qw {_IPV6_SETTINGS}"
    for m in range(1, len(scenario.links) + 1):
        yield _veth(testbed.near(m), testbed.far(m))
    for _, (*others, last, server) in _along(scenario):
        for one, other in zip(others[::2], others[1::2], strict=True):
            yield _veth(one, other)
        yield _veth(server, last)


def _routers(scenario: Scenario) -> list[str]:
    """The routers of paths, then the routers at the ends of links."""
    of_links = [
        end(m).namespace
        for m in range(1, len(scenario.links) + 1)
        for end in (testbed.near, testbed.far)
    ]
    return [*map(testbed.router, range(1, len(scenario.paths) + 1)), *of_links]


def _link_numbers(scenario: Scenario) -> dict[str, int]:
    return {link.name: m for m, link in enumerate(scenario.links, 1)}


def _along(scenario: Scenario) -> Iterator[tuple[Path, list[End]]]:
    """Each path, and the devices along it."""
    numbers = _link_numbers(scenario)
    for pair in scenario.pairs():
        for i, path in pair.numbered:
            through = [numbers[name] for name in path.links]
            yield path, testbed.ends(i, through, pair.client, pair.server)


def _with_ipv6(scenario: Scenario) -> set[str]:
    """The namespaces that a path over IPv6 goes through."""
    along = (ends for path, ends in _along(scenario) if "6" in path.versions)
    return {end.namespace for ends in along for end in ends}


def _veth(one: End, other: End) -> str:
    return (
        f"ip link add {one.device} netns {one.namespace} address {one.mac} type veth"
        f" peer name {other.device} netns {other.namespace} address {other.mac}"
    )


def neighbour(of: End, other: End, version: IpVersion, verb: str = "add") -> str:
    """The neighbour is configured, not resolved: the ARP reply would pass through netem, and the
    first RTT of each path, all that schedulers know at first, would be twice the true one.
    """
    known = f"neigh {verb} {other.ip(version)} lladdr {other.mac} dev {of.device}"
    return f"ip -n {of.namespace} {known}"


def _client(scenario: Scenario, pair: Pair) -> Iterator[str]:
    yield from _host(scenario, pair, "up")
    if scenario.endpoints != "signal":
        for number, (i, path) in enumerate(pair.numbered, 1):
            yield _endpoint(scenario, pair, number, testbed.client(i).ip(path.version))
        return
    # An endpoint without flags creates no subflow; it exists so that it can be made a backup.
    changing = {e.path for e in scenario.events if e.action in PRIORITY}
    for i, path in pair.numbered:
        if path.name in changing:
            end = testbed.client(i)
            known = f"{end.ip(path.version)} dev {end.device}"
            yield f"ip -n {pair.client} mptcp endpoint add {known}"


def _server(scenario: Scenario, pair: Pair) -> Iterator[str]:
    yield from _host(scenario, pair, "down")
    if scenario.endpoints == "subflow":
        return
    # One subflow per path: the client joins each address that the server announces, from its own
    # address on that path. Any further endpoint would create further subflows.
    for number, (i, path) in enumerate(pair.numbered[1:], 2):
        yield _announced(pair.server, number, i, path.version)


def _host(scenario: Scenario, pair: Pair, direction: Direction) -> Iterator[str]:
    """The host that sends in a direction: packets leave by the device of their source address."""
    for i, path in pair.numbered:
        if direction == "up":
            end, gateway = testbed.client(i, pair.client), testbed.router_to_client(i)
            far = testbed.server_network
        else:
            end, gateway = testbed.server(i, pair.server), testbed.router_to_server(i)
            far = testbed.client_network
        yield from _addresses(end, path.versions)
        anywhere = direction == "up" and scenario.endpoints != "signal"
        for version in path.versions:
            yield from _attached(i, end, gateway, far(i, version), version, anywhere=anywhere)
        if getattr(path, direction).bottleneck == "host":
            # TCP builds larger packets even without offloads, and the host's queue would hold them
            yield f"ip -n {end.namespace} link set {end.device} gso_max_segs 1"
    yield from _limits(pair.client if direction == "up" else pair.server, scenario, pair)


def _attached(
    i: int,
    end: End,
    gateway: End,
    far: str,
    version: IpVersion,
    *,
    anywhere: bool,
    verb: str = "add",
) -> Iterator[str]:
    """The routes of an address of a host on path `i`. With `anywhere`, a new connection takes the
    first path that has an address.
    """
    ip, by = f"ip -n {end.namespace}", f"via {gateway.ip(version)} dev {end.device}"
    yield neighbour(end, gateway, version, verb)
    yield f"{ip}{_OF_RULE[version]} rule add from {end.ip(version)} table {i}"
    yield f"{ip} route {verb} default {by} table {i}"
    yield f"{ip} route {verb} {far} {by}"
    if anywhere:
        yield f"{ip} route {verb} default {by} metric {i}"


def _addresses(end: End, versions: Iterable[IpVersion]) -> Iterator[str]:
    """A device gets its addresses, and is set up."""
    ip = f"ip -n {end.namespace}"
    if "6" in versions:
        yield f"{ip} link set {end.device} {_IPV6_DEVICE}"
    for version in versions:
        yield f"{ip} addr add {end.network(version)} dev {end.device}{_AT_ONCE[version]}"
    yield f"{ip} link set {end.device} up"


def _shapes(path: Link) -> tuple[tuple[Direction, Shape], tuple[Direction, Shape]]:
    return ("up", path.up), ("down", path.down)


def _limits(name: str, scenario: Scenario, pair: Pair) -> Iterator[str]:
    if isinstance(scenario.workload, Program):
        # programs assume that 127.0.0.1 exists
        yield f"ip -n {name} link set lo up"
    further = len(pair.paths) - 1
    if scenario.endpoints == "subflow":
        # the first subflow, when it returns, is one like the others
        yield f"ip -n {name} mptcp limits set subflow {further + 1} add_addr_accepted 0"
        return
    # the first address, when it returns, is announced like the others
    returns = any(
        e.action == "close" and e.lasts_ns and e.path == pair.paths[0].name for e in scenario.events
    )
    further += returns
    subflows = _MOST_SUBFLOWS if scenario.endpoints == "fullmesh" else further
    if subflows:
        yield f"ip -n {name} mptcp limits set subflow {subflows} add_addr_accepted {further}"


def _router(i: int, path: Path, link_numbers: Mapping[str, int]) -> Iterator[str]:
    """The router of path `i`, which then goes through its links."""
    yield from _port(testbed.router_to_client(i), testbed.client(i), path.versions)
    if not path.links:
        yield from _port(testbed.router_to_server(i), testbed.server(i), path.versions)
        return
    first = link_numbers[path.links[0]]
    port = testbed.near_port(first, i)
    yield from _port(testbed.router_to_server(i, first), port, path.versions)
    yield from _routes(testbed.router(i), testbed.server_network, i, port, path.versions)


def _link_routers(scenario: Scenario, m: int) -> Iterator[str]:
    """The two routers know, for each path through link `m`, the routes onward and back."""
    near, far = testbed.near(m), testbed.far(m)
    name = scenario.links[m - 1].name
    mine = {i: path for i, path in enumerate(scenario.paths, 1) if name in path.links}
    all_versions = sorted({version for path in mine.values() for version in path.versions})
    yield from _port(near, far, all_versions)
    for i, path in mine.items():
        # or the far port of the link before, which has the same address
        before = testbed.router_to_server(i, m)
        yield from _port(testbed.near_port(m, i), before, path.versions)
        yield from _routes(near.namespace, testbed.server_network, i, far, path.versions)
        yield from _routes(near.namespace, testbed.client_network, i, before, path.versions)
    yield from _port(far, near, all_versions)
    for i, path in mine.items():
        yield from _routes(far.namespace, testbed.client_network, i, near, path.versions)
        if path.links[-1] == name:
            yield from _port(testbed.far_port(m, i), testbed.server(i), path.versions)
            continue
        on = _link_numbers(scenario)[path.links[path.links.index(name) + 1]]
        onward = testbed.near_port(on, i)
        yield from _port(testbed.far_port(m, i, on), onward, path.versions)
        yield from _routes(far.namespace, testbed.server_network, i, onward, path.versions)


def _mesh(scenario: Scenario, pair: Pair) -> Iterator[str]:
    """The routes between addresses of a client and its server that belong to different paths.

    Packets take the path of the client's address, in both directions. Each router on it knows the
    route to all addresses of the server, and the server the route to all of the client, from each
    of its own. A router on several paths has a route to the addresses of each already.
    """
    paths = pair.numbered
    numbers = _link_numbers(scenario)
    through = {i: [numbers[name] for name in path.links] for i, path in paths}
    routes = {i: testbed.ends(i, through[i], pair.client, pair.server) for i, _ in paths}
    known = {(end.namespace, i, v) for i, path in paths for end in routes[i] for v in path.versions}
    for (i, path), (j, other) in itertools.permutations(paths, 2):
        versions = [version for version in path.versions if version in other.versions]
        along = routes[i]
        hops = [(out.namespace, into) for out, into in zip(along[2::2], along[3::2], strict=True)]
        hops += [(testbed.near(m).namespace, testbed.far(m)) for m in through[i]]
        for namespace, via in hops:
            new = [version for version in versions if (namespace, j, version) not in known]
            yield from _routes(namespace, testbed.server_network, j, via, new)
            known |= {(namespace, j, version) for version in new}
        gateway, server = along[-2:]
        for version in versions:
            by = f"via {gateway.ip(version)} dev {server.device} table {j}"
            network = testbed.client_network(i, version)
            yield f"ip -n {server.namespace} route add {network} {by}"


def _port(own: End, opposite: End, versions: Sequence[IpVersion]) -> Iterator[str]:
    """A device of a router: its addresses, and its neighbour."""
    yield from _addresses(own, versions)
    for version in versions:
        yield neighbour(own, opposite, version)


def _routes(
    namespace: str,
    network: Callable[[int, IpVersion], str],
    i: int,
    via: End,
    versions: Sequence[IpVersion],
) -> Iterator[str]:
    for version in versions:
        yield f"ip -n {namespace} route add {network(i, version)} via {via.ip(version)}"


def _sysctls(scenario: Scenario, pairs: Iterable[Pair]) -> Iterator[str]:
    # A namespace may only use what the first one allows for all.
    ccs = [congestion.name_of(scenario.cc_of(pair.connection)) for pair in pairs]
    used = " ".join(dict.fromkeys(ccs))
    allowed = f"net.ipv4.tcp_allowed_congestion_control={used}"
    allowed = f"'{allowed}'" if " " in used else allowed
    memory = f"'net.ipv4.tcp_mem={_TCP_MEMORY}' 'net.ipv4.udp_mem={_UDP_MEMORY}'"
    yield f"sysctl -qw {memory} {allowed}"
    with_ipv6 = _with_ipv6(scenario)
    for name in _routers(scenario):
        more = f" {_IPV6_ROUTER_SETTINGS}" if name in with_ipv6 else ""
        yield f"ip netns exec {name} sysctl -qw {_ROUTER_SETTINGS}{more}"
    for pair in pairs:
        yield from _host_sysctls(scenario, pair)


def _host_sysctls(scenario: Scenario, pair: Pair) -> Iterator[str]:
    connection = pair.connection
    # Data may flow in both directions: a fixed buffer applies to both ends.
    send, receive = scenario.send_buffer_bytes, scenario.receive_buffer_bytes
    rmem = f"4096 {receive} {receive}" if receive else _AUTO_RECEIVE_BUFFER
    wmem = f"4096 {send} {send}" if send else _AUTO_SEND_BUFFER
    # Linux adds a random offset to the timestamps of each pair of addresses; without it, schedulers
    # can compare one-way delays. No packet's time or size changes.
    cc = scenario.cc_of(connection)
    time_s = scenario.blackhole_timeout_s
    blackhole = [] if time_s is None else [f"net.mptcp.blackhole_timeout={time_s}"]
    common = [*congestion.sysctls(cc), "net.ipv4.tcp_timestamps=2"]
    if connection.transport == "mptcp":
        chosen = scenario.scheduler_of(connection)
        common = [
            "net.mptcp.enabled=1",
            *chosen.sysctls,
            *blackhole,
            f"net.mptcp.add_addr_timeout={_ADD_ADDR_TIMEOUT_S}",
            *common,
        ]
    if connection.transport == "mptcp" and isinstance(scenario.workload, Program):
        # makes programs that only know TCP open MPTCP connections
        common.insert(1, "net.mptcp.mptcpize=1")
    settings = [*common, f"'net.ipv4.tcp_rmem={rmem}'", f"'net.ipv4.tcp_wmem={wmem}'"]
    for name in (pair.client, pair.server):
        yield f"ip netns exec {name} sysctl -qw {' '.join(settings)}"


def _offloads(scenario: Scenario) -> Iterator[str]:
    ends = [end for _, along in _along(scenario) for end in along]
    for m in range(1, len(scenario.links) + 1):
        ends += [testbed.near(m), testbed.far(m)]
    features = "tso off gso off gro off"
    if isinstance(scenario.workload, Program):
        # one that sends many packets of UDP in one call: they are lost and queued one by one
        features += " tx-udp-segmentation off"
    for end in ends:
        yield f"ip netns exec {end.namespace} ethtool -K {end.device} {features}"


def _tunnel(scenario: Scenario, pair: Pair) -> Iterator[str]:
    """The tunnel of a pair of hosts, if it has one: it is there before its traffic."""
    load = pair.connection.workload
    if isinstance(load, Tunnel):
        buffers = (
            f"'net.ipv4.tcp_rmem={_AUTO_RECEIVE_BUFFER}' 'net.ipv4.tcp_wmem={_AUTO_SEND_BUFFER}'"
        )
        yield from tunnels.hosts(pair, buffers)
        yield from _ends(scenario, pair)
        yield from tunnels.devices(scenario, pair, load)


def _traffic(scenario: Scenario, pair: Pair) -> Iterator[str]:
    load = pair.connection.workload
    if isinstance(load, Tunnel):
        yield from tunnels.traffic(scenario, pair, load)
    else:
        yield from _ends(scenario, pair)


def _ends(scenario: Scenario, pair: Pair) -> Iterator[str]:
    """The server and the client, of the traffic or of a tunnel."""
    connection = pair.connection
    load = connection.workload
    kind = "tunnel" if isinstance(load, Tunnel) else "traffic"
    common = (
        f"--transport {connection.transport} --port {PORT} --seed {scenario.seed}"
        f" --sample-interval-ns {scenario.sample_interval_ns}"
    )
    if load.is_crowd:
        common += f" --crowd-interval-ns {scenario.host_interval_ns}"
    if scenario.connections and kind == "traffic":
        own = workload.messages(load, scenario.seed)
        common += f" --connections {max(message.connection for message in own)}"
    if load.no_delay:
        common += " --no-delay 1"
    if load.kind == "bulk" and connection.end_ns is not None:
        common += f" --duration-ns {connection.end_ns}"
    if any(path.version == "6" for path in pair.paths):
        # sockets of IPv6 have subflows of both
        common += " --ip 6"
    goal = testbed.server(pair.first).ip(pair.paths[0].version)
    if connection.transport == "mptcp" and middleboxes.may_strip(scenario, pair.paths[0]):
        common += " --may-fall-back 1"
    server, client = "", f" --connect {goal} --paths {len(pair.paths)}"
    if isinstance(load, Tunnel):
        lan, wan = pair.behind
        client, server = f" --behind {lan}{client}", f" --behind {wan}"
        if load.not_sent_lowat_bytes is not None:
            common += f" --not-sent-lowat {load.not_sent_lowat_bytes}"
    if pair.first > 1:
        client += f" --first-path {pair.first}"
    if kind == "tunnel":
        pass  # it is there before T0
    elif connection.start_ns or workload.opens_connections(load):
        client += " --fresh 1"
    elif load.start == "at-once":
        client += " --at-once 1"
    for kept in ("trace", "states"):
        if getattr(scenario, kept) and _decides(scenario, pair):
            if load.direction != "down":
                client += f" --{kept} 1"
            if load.direction != "up":
                server += f" --{kept} 1"
    if isinstance(load, Video):
        client += (
            f" --segment-ns {load.segment_ns} --buffer-ns {load.buffer_ns}"
            f" --reservoir-ns {load.reservoir_ns} --cushion-ns {load.cushion_ns}"
        )
    yield f"ip netns exec {pair.server} {kind} server {common}{server}"
    yield f"ip netns exec {pair.client} {kind} client {common}{client}"


def _decides(scenario: Scenario, pair: Pair) -> bool:
    """Whether the pair's scheduler is asked for each segment, so that it can be traced."""
    chosen = scenario.scheduler_of(pair.connection)
    return pair.connection.transport == "mptcp" and chosen.name != scheduler.DEFAULT


def messages_of(scenario: Scenario) -> list[list[Message]]:
    """The messages of each pair of hosts, as the plan lists them, one pair after the other.

    Connections and messages are numbered on from one list to the next.
    """
    found: list[list[Message]] = []
    connections = number = 0
    for pair in scenario.pairs():
        own = workload.messages(pair.connection.workload, scenario.seed)
        shifted = [
            replace(
                message,
                connection=message.connection + connections,
                at_ns=message.at_ns + (pair.connection.start_ns if message.after is None else 0),
                after=None if message.after is None else message.after + number,
                needs=None if message.needs is None else message.needs + number,
            )
            for message in own
        ]
        found.append(shifted)
        connections = max([connections, *(message.connection for message in shifted)])
        number += len(own)
    return found


def _messages(scenario: Scenario) -> Iterator[str]:
    for pair, messages in zip(scenario.pairs(), messages_of(scenario), strict=True):
        units = scenario.scheduler_of(pair.connection).units
        for message in messages:
            unit = message.deadline_ns is not None and units
            yield _message(message) + (_unit(message) if unit else "")


def _unit(message: Message) -> str:
    """What the scheduler learns about it; times count from when it is due."""
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
        listen = f" --listen {program.listen}" if program.listen else ""
        command = " ".join(map(quoted, program.server))
        yield f"ip netns exec server program {common}{listen} -- {command}"
    hosts = [
        f"--host {end.namespace}={end.ip(version)}"
        for end in (testbed.client(1), testbed.server(1))
        for version in reversed(scenario.paths[0].versions)
    ]
    common = " ".join([common, *hosts])
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


def _events(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """The commands of all events, each with its time."""
    spots = spots_of(scenario)
    present = {
        (each.name, direction): link
        for each in scenario.own_and_shared
        for direction, link in _shapes(each)
    }
    ends = {
        path.name: (pair, number)
        for pair in scenario.pairs()
        for number, path in enumerate(pair.paths, 1)
    }
    for (name, direction), link in present.items():
        if link.cross_bps:
            yield 0, _cross(*ends[name], direction, link)
    # a link that sends in bursts goes to and fro between two states
    known: dict[tuple[str, Direction, Shape, Shape], list[str]] = {}
    for new in scenario.parameters:
        for pair in scenario.pairs():
            if pair.connection.transport == "mptcp":
                setting = f"net.mptcp.{new.scheduler}.{new.parameter}={new.value}"
                for name in (pair.client, pair.server):
                    yield new.at_ns, f"ip netns exec {name} sysctl -qw {setting}"
    for instant in timeline.instants(scenario):
        end = ends.get(instant.path)
        for command in _commands(spots[instant.path], end, instant, present, known):
            yield instant.at_ns, command
        if end:
            for command in _acts(scenario, *end, instant):
                yield instant.at_ns, command


def _commands(
    spots: Spots,
    end: tuple[Pair, int] | None,
    instant: Instant,
    present: dict[tuple[str, Direction], Shape],
    known: dict[tuple[str, Direction, Shape, Shape], list[str]],
) -> Iterator[str]:
    """The commands of an instant; `present` holds the state of each direction and is updated, and
    `known` the commands of changes that have occurred.

    `end` is the hosts of a path and its number among theirs, from 1; None for a link.
    """
    for direction, link in zip(DIRECTIONS, (instant.up, instant.down), strict=True):
        if link is None:
            continue
        before = present[instant.path, direction]
        present[instant.path, direction] = link
        change = instant.path, direction, before, link
        if change not in known:
            # each netem command sets all values: an omitted one would be reset
            own = qdiscs.shaping(spots, direction, before), qdiscs.shaping(spots, direction, link)
            known[change] = [
                new.command("change")
                for old, new in zip(*own, strict=True)
                if new != old and new.kind != "red"
            ]
        yield from known[change]
        if end and link.cross_bps != before.cross_bps:
            yield _cross(*end, direction, link)
        if end and link.middlebox != before.middlebox:
            pair, number = end
            yield from middleboxes.changed(pair.first + number - 1, direction, link.middlebox)


def _acts(scenario: Scenario, pair: Pair, number: int, instant: Instant) -> Iterator[str]:
    """What an instant does to a path, of this number among its hosts', besides its shape."""
    i, path = pair.numbered[number - 1]
    port, client = testbed.router_to_client(i), testbed.client(i, pair.client, instant.number)
    match instant.act:
        case "backup" | "regular":
            flag = "backup" if instant.act == "backup" else "nobackup"
            mesh = " fullmesh" if scenario.endpoints == "fullmesh" else ""
            address = client.ip(path.version)
            yield f"ip -n {pair.client} mptcp endpoint change {address} {flag}{mesh}"
        case "rebind" if path.nat_timeout_s is not None:
            yield middleboxes.forget(i)
        case "lose":
            yield from _loses(i, path, testbed.client(i, pair.client, instant.was))
        case "regain":
            yield from _gains(scenario, i, path, client)
        case "renumber":
            yield from _loses(i, path, testbed.client(i, pair.client, instant.was))
            yield from _gains(scenario, i, path, client)
        case "remove" if scenario.endpoints != "signal":
            yield f"ip -n {pair.client} mptcp endpoint delete id {number}"
        case "add" if scenario.endpoints != "signal":
            yield _endpoint(scenario, pair, number, client.ip(path.version))
        case "unplug":
            yield f"ip -n {port.namespace} link set {port.device} down"
        case "plug":
            yield f"ip -n {port.namespace} link set {port.device} up"
            # it was forgotten
            for version in path.versions:
                yield neighbour(port, client, version)
        case "close":
            # of the first path, it was not announced: it has no endpoint, and its id is 0
            announced = number > 1 or instant.again
            what = f"id {number}" if announced else f"id 0 {testbed.server(i).ip(path.version)}"
            yield f"ip -n {pair.server} mptcp endpoint delete {what}"
        case "open":
            yield _announced(pair.server, number, i, path.version)


def _endpoint(scenario: Scenario, pair: Pair, number: int, address: str) -> str:
    """The client's endpoint on a path, of this number among its hosts'."""
    mesh = " fullmesh" if scenario.endpoints == "fullmesh" else ""
    known = f"{address} id {number} dev {testbed.client(pair.first + number - 1).device}"
    return f"ip -n {pair.client} mptcp endpoint add {known} subflow{mesh}"


def _loses(i: int, path: Path, client: End) -> Iterator[str]:
    for version in path.versions:
        ip = f"ip -n {client.namespace}"
        yield f"{ip} addr del {client.network(version)} dev {client.device}"
        yield f"{ip}{_OF_RULE[version]} rule del from {client.ip(version)} table {i}"


def _gains(scenario: Scenario, i: int, path: Path, client: End) -> Iterator[str]:
    """The client gets an address; with the last one, Linux forgot its routes and neighbours."""
    port, anywhere = testbed.router_to_client(i), scenario.endpoints != "signal"
    for version in path.versions:
        add = f"addr add {client.network(version)} dev {client.device}{_AT_ONCE[version]}"
        yield f"ip -n {client.namespace} {add}"
        known = f"{client.ip(version)} lladdr {testbed.client(i).mac} dev {port.device}"
        yield f"ip -n {port.namespace} neigh replace {known}"
        far = testbed.server_network(i, version)
        yield from _attached(i, client, port, far, version, anywhere=anywhere, verb="replace")


def _announced(server: str, number: int, i: int, version: IpVersion) -> str:
    end = testbed.server(i)
    known = f"{end.ip(version)} id {number} dev {end.device}"
    return f"ip -n {server} mptcp endpoint add {known} signal"


def _cross(pair: Pair, number: int, direction: Direction, link: Shape) -> str:
    """The rate of cross traffic from now on, in bit/s."""
    i, path = pair.numbered[number - 1]
    source, goal = testbed.client(i, pair.client), testbed.server(i, pair.server)
    if direction == "down":
        source, goal = goal, source
    to = f"{goal.namespace} {goal.ip(path.version)}"
    return f"ip netns exec {source.namespace} cross {to} {link.cross_bps}"
