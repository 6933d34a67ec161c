# SPDX-License-Identifier: GPL-2.0-only
"""The queueing disciplines that make up a direction of a path, as `tc` commands.

A packet passes them in this order; a scenario has only the ones that it needs:

    netem   random losses, packets that arrive twice, the delay
    netem   packets that overtake others
    tbf     the rate, with inside it
    fifo, codel, fq_codel, red, pie    the queue

They are nested, at the device by which the direction leaves the router; with a bottleneck at the
host, the rate and the queue are at the sending host's device instead. A shared link has them at
the sending device of each of its two routers. A queue of discipline netem has no tbf: its netem
has the rate, and a single limit for packets that wait or are on their way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mptcplab import units
from mptcplab.plan import testbed
from mptcplab.plan.testbed import End
from mptcplab.scenario.limits import MAX_QUEUE_PACKETS, NO_RATE_BPS, PACKET_BYTES, Direction
from mptcplab.scenario.model import Shape
from mptcplab.scenario.randomness import generator

# netem's lowest rate; it takes 0 as no limit.
_OUTAGE_BPS = 8
# With a rate netem keeps packets in order. At this rate a packet takes no time: 1514 bytes x 8 /
# 10^15 bit/s is less than 1 ns.
_NO_RATE = "1000tbit"
# The first stream of random numbers; events and workloads use others, below.
_STREAM = 1 << 17
# By how many bytes the tbf may be late and still keep its rate; it saves up nothing while idle.
_TBF_BURST = 10 * PACKET_BYTES
# The kernel's default of fq_codel's limit.
_FQ_CODEL_PACKETS = 10_240


@dataclass(frozen=True)
class Qdisc:
    """A queueing discipline, and where it is attached."""

    namespace: str
    device: str
    place: str
    kind: str
    options: str

    def command(self, verb: str) -> str:
        """The command that adds it, or that changes the existing one into it."""
        return (
            f"tc -n {self.namespace} qdisc {verb} dev {self.device} {self.place} {self.kind}"
            f" {self.options}"
        )


@dataclass(frozen=True)
class Spots:
    """Where each direction is shaped: at routers, and for a path also at the sending hosts."""

    routers: Mapping[Direction, End]
    hosts: Mapping[Direction, End]
    #: What is added to the delay of each direction.
    further_ns: Mapping[Direction, int] = field(default_factory=dict)


def seed_delays(seed: int, i: int, most_ns: int) -> dict[Direction, int]:
    """What is added to the delay of each direction of path `i`: uniform, whole us up to `most_ns`.

    It depends on nothing else, so all schedulers and all settings of a path get the same delays.
    """
    if not most_ns:
        return {}
    random = generator(seed, _STREAM + i)
    up, down = (1000 * int(random.integers(most_ns // 1000 + 1)) for _ in range(2))
    return {"up": up, "down": down}


def path_spots(
    i: int,
    client: str = "client",
    server: str = "server",
    further_ns: Mapping[Direction, int] | None = None,
) -> Spots:
    """The spots of path `i`, between these hosts."""
    return Spots(
        routers={"up": testbed.router_to_server(i), "down": testbed.router_to_client(i)},
        hosts={"up": testbed.client(i, client), "down": testbed.server(i, server)},
        further_ns=further_ns or {},
    )


def link_spots(i: int) -> Spots:
    """The spots of link `i`, from 1 in the order of the scenario: each router sends into it."""
    return Spots(routers={"up": testbed.near(i), "down": testbed.far(i)}, hosts={})


def shaping(spots: Spots, direction: Direction, link: Shape) -> list[Qdisc]:
    """All disciplines of a direction, from the outermost to the innermost of each device."""
    far, rate = "1000000", _NO_RATE
    limit = link.queue_packets
    if further_ns := spots.further_ns.get(direction):
        if link.rate_bps == NO_RATE_BPS and not link.delay_ns:
            # on a path that leaves its limits to its links, packets are in flight, none waits
            limit = MAX_QUEUE_PACKETS
        link = link.model_copy(update={"delay_ns": link.delay_ns + further_ns})
    queue = list(_queue(link))
    router = spots.routers[direction]
    if link.bottleneck == "host":
        parts = list(_line(link, far, rate))
        return [*_stack(spots.hosts[direction], queue), *_stack(router, parts)]
    if link.queue_discipline == "netem":
        return _stack(router, list(_line(link, str(limit), _rate(link))))
    return _stack(router, [*_line(link, far, rate), *queue])


def shaper(where: End, rate_bps: int) -> list[Qdisc]:
    """A rate limit with fq_codel, as SQM puts it in front of a device."""
    limit = f"limit {_FQ_CODEL_PACKETS}"
    rate = f"rate {units.format_rate(rate_bps)} burst {_TBF_BURST} {limit}"
    return _stack(where, [("tbf", rate), ("fq_codel", limit)])


def bottleneck(spots: Spots, direction: Direction, link: Shape) -> Qdisc:
    """The discipline that holds the queue in which packets wait for the link."""
    qdiscs = shaping(spots, direction, link)
    if link.queue_discipline == "netem":
        return qdiscs[0]
    where = spots.hosts if link.bottleneck == "host" else spots.routers
    place = where[direction].namespace, where[direction].device
    innermost = [qdisc for qdisc in qdiscs if (qdisc.namespace, qdisc.device) == place]
    return innermost[-1]


def exact_losses(i: int, direction: Direction, link: Shape) -> Iterator[str]:
    """The plan lines that make the router drop packets by their number, in order of arrival."""
    end = testbed.router_to_client(i) if direction == "up" else testbed.router_to_server(i)
    for kind, ranges in (("data", link.drop), ("acks", link.drop_acks)):
        if ranges:
            numbers = ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in ranges)
            yield f"ip netns exec {end.namespace} drop {end.device} {kind} {numbers}"


def _stack(where: End, parts: Sequence[tuple[str, str]]) -> list[Qdisc]:
    """Each part nested in the one before. A single part needs no handle."""
    place = where.namespace, where.device
    if len(parts) == 1:
        return [Qdisc(*place, "root", *parts[0])]
    places = ["root handle 1:", *(f"parent {n}:1 handle {n + 1}:" for n in range(1, len(parts)))]
    return [Qdisc(*place, at, *part) for at, part in zip(places, parts, strict=True)]


def _line(link: Shape, limit: str, rate: str) -> Iterator[tuple[str, str]]:
    """What happens to packets on their way, apart from the queue."""
    overtaking_ns = min(link.reorder_by_ns or link.delay_ns, link.delay_ns) if link.reorder else 0
    delay_ns = link.delay_ns - overtaking_ns
    jitter_ns = min(link.jitter_ns, delay_ns)
    yield (
        "netem",
        f"limit {limit} rate {rate} delay {tc_time(delay_ns)}"
        + (f" {tc_time(jitter_ns)}" if jitter_ns else "")
        + _loss(link)
        + (f" duplicate {units.format_fraction(link.duplicate)}" if link.duplicate else ""),
    )
    # After the other one and without a rate: with a rate, packets would bypass the link.
    if link.reorder:
        yield (
            "netem",
            f"limit {MAX_QUEUE_PACKETS} delay {tc_time(overtaking_ns)}"
            f" reorder {units.format_fraction(link.reorder)}",
        )


def _rate(link: Shape) -> str:
    if link.rate_bps == NO_RATE_BPS:
        return _NO_RATE
    return units.format_rate(max(link.rate_bps, _OUTAGE_BPS))


def _queue(link: Shape) -> Iterator[tuple[str, str]]:
    limit = link.queue_packets if link.queue_bytes is None else link.queue_bytes
    assert limit is not None
    if link.queue_discipline == "netem":
        yield "netem", f"limit {limit} rate {_rate(link)}"
        return
    # tbf passes its limit on to an inner fifo, as bytes or packets, and creates one for bytes.
    yield "tbf", f"rate {_rate(link)} burst {_TBF_BURST} limit {limit}"
    if link.queue_discipline == "droptail":
        if link.queue_bytes is None:
            yield "pfifo", f"limit {limit}"
    elif link.queue_discipline == "red":
        limit *= 1 if link.queue_bytes else PACKET_BYTES
        # tc's defaults, see tc-red(8); limits in sch_red.c are in bytes
        most, least = limit // 4, limit // 12
        burst = -(-(2 * least + most) // (3 * PACKET_BYTES))
        yield (
            "red",
            f"limit {limit} min {least} max {most} avpkt {PACKET_BYTES} burst {burst}"
            f" probability 0.02 bandwidth {_rate(link)}",
        )
    else:
        yield link.queue_discipline, f"limit {limit}"


def _loss(link: Shape) -> str:
    if not link.loss:
        return ""
    if link.loss_burst is None or link.loss == 1.0:
        correlation = link.loss_correlation and link.loss < 1.0
        return f" loss {units.format_fraction(link.loss)}" + (
            f" {units.format_fraction(link.loss_correlation)}" if correlation else ""
        )
    # Gilbert 1960 and Elliott 1963, as in netem (Salsano et al. 2009): from the good state to the
    # bad one with probability p, back with r.
    p, r = gilbert(link.loss, link.loss_burst, good=link.loss_good, bad=link.loss_bad)
    states = ""
    if (link.loss_bad, link.loss_good) != (1.0, 0.0):
        states = f" {link.loss_bad * 100:.7f}% {link.loss_good * 100:.7f}%"
    return f" loss gemodel {min(p, 1) * 100:.7f}% {r * 100:.7f}%{states}"


def gilbert(loss: float, burst: int, *, good: float, bad: float) -> tuple[float, float]:
    """The probabilities p and r of the Gilbert-Elliott model for a mean loss.

    The bad state lasts for `burst` = 1 / r packets on average and covers p / (p + r) of all
    packets; in the two states a fraction `good` and `bad` of the packets is lost. A p above 1 is
    impossible.
    """
    r = 1 / burst
    share = (loss - good) / (bad - good)
    return share * r / (1 - share) if share < 1 else float("inf"), r


def tc_time(ns: int) -> str:
    """A time as tc accepts it: 0 with a unit, and nothing in ns."""
    if ns % 1000 == 0:
        return units.format_time(ns) if ns else "0ms"
    # tc computes in floating point and truncates: the extra half keeps the last digit
    return f"{ns // 1000}.{ns % 1000:03}5us"
