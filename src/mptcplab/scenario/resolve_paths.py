# SPDX-License-Identifier: GPL-2.0-only
"""Resolves links and paths: every value of each direction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import Any

from mptcplab import units
from mptcplab.mistakes import Mistakes, Place, one_of, unknown
from mptcplab.scenario.fields import Bytes
from mptcplab.scenario.limits import (
    DIRECTIONS,
    MAX_LINKS,
    MAX_QUEUE_PACKETS,
    MIN_RED_PACKETS,
    NO_RATE_BPS,
    PACKET_BYTES,
    loss_range,
)
from mptcplab.scenario.literal import (
    LiteralDirection,
    LiteralLink,
    LiteralPath,
    LiteralScenario,
    LiteralTrace,
    by_direction,
    given,
)
from mptcplab.scenario.model import LONGEST_NS, Link, Path, Shape
from mptcplab.scenario.presets import PRESETS
from mptcplab.scenario.workload import Workload
from mptcplab.traces import link_trace
from mptcplab.traces.link_trace import Step

# The default queue is one bandwidth-delay product in packets of an Ethernet frame without its
# checksum, which is the size netem counts on a veth of MTU 1500; 20 keeps slow links usable.
MIN_DEFAULT_QUEUE_PACKETS = 20
# Disciplines that do not control the queue by its limit have the kernel's default limit
# (sch_codel.c, sch_fq_codel.c, sch_pie.c). red has none: tc-red(8) starts random losses at a
# twelfth of the limit, and drops everything at a quarter, here one bandwidth-delay product.
_DEFAULT_LIMITS = {"codel": 1000, "fq_codel": 10_240, "pie": 1000}
_RED_PRODUCTS = 4

DEFAULT_RESOLUTION_NS = 10**7

_CROSS_OF_LINK = "cross traffic goes from host to host: give it to a path of the link"
_BOX_OF_LINK = "the router of a path is the middlebox; give it to the paths of the link"
_DROPS_OF_LINK = "packets are counted at the router of a path; give it to the path"
#: The keys that only a path can have, and why.
ONLY_OF_PATHS = {
    "bottleneck": "a link is between routers; only a path can have its bottleneck at a host",
    "cross": _CROSS_OF_LINK,
    "drop": _DROPS_OF_LINK,
    "drop_acks": _DROPS_OF_LINK,
    "middlebox": _BOX_OF_LINK,
}


class Traces:
    """Reads the traces of paths, each file once; relative paths start at `folder`."""

    def __init__(self, folder: FilePath, workload: Workload | None, mistakes: Mistakes) -> None:
        self._folder, self._mistakes = folder, mistakes
        self.duration_ns = (workload and workload.duration_ns) or LONGEST_NS
        #: The traces played, by the name of the path and the direction.
        self.sources: dict[tuple[str, str], link_trace.Source] = {}
        self._read: dict[str, tuple[Sequence[Step], link_trace.Source] | None] = {}

    def steps(
        self, literal: LiteralTrace | None, path: str, direction: str, place: Place
    ) -> Sequence[Step] | None:
        """The steps to play on a path; None, after reporting a mistake, if there is one."""
        if literal is None:
            return ()
        if literal.file is None:
            self._mistakes.missing((*place, "file"), 'every trace has a file, e.g. "lte.down"')
            return None
        key = literal.model_dump_json()
        if key not in self._read:
            self._read[key] = self._load(literal, self._folder / literal.file, place)
        read = self._read[key]
        if read is None:
            return None
        steps, self.sources[path, direction] = read
        return steps

    def _load(
        self, literal: LiteralTrace, file: FilePath, place: Place
    ) -> tuple[Sequence[Step], link_trace.Source] | None:
        # NumPy is slow to import: only scenarios with traces need it
        from mptcplab.traces import trace_file, trace_steps

        try:
            how: dict[str, Any] = {
                "columns": literal.columns,
                "interval_ns": literal.interval,
                "skip_empty": bool(literal.skip_empty),
            }
            found = trace_file.read(file, **how)
            source = link_trace.Source(
                file,
                trace_file.digest(file.read_bytes()),
                **how,
                offset_ns=literal.offset or 0,
                repeat=literal.repeat is not False,
            )
        except (link_trace.TraceError, OSError) as error:
            self._mistakes.add(place, str(error), literal.file)
            return None
        steps = trace_steps.steps(
            found,
            duration_ns=self.duration_ns,
            offset_ns=source.offset_ns,
            repeat=source.repeat,
            resolution_ns=literal.resolution or DEFAULT_RESOLUTION_NS,
        )
        if steps[-1].rate_bps == 0 and literal.repeat is False:
            message = "it ends in an outage and does not repeat, so data would never arrive"
            self._mistakes.add(place, message, literal.file)
        return steps, source


def links_and_paths(
    whole: LiteralScenario, traces: Traces, mistakes: Mistakes
) -> tuple[tuple[Link, ...], tuple[Path, ...]]:
    """The links and paths that can be resolved; a mistake is reported for each of the others."""
    if len(whole.link) > MAX_LINKS:
        mistakes.add(("link",), f"{len(whole.link)} links; at most {MAX_LINKS} are possible")
    numbers: dict[str, str] = {}
    _check_names("link", whole.link, numbers, mistakes)
    _check_names("path", whole.path, numbers, mistakes)
    _check_links(whole, mistakes)
    own = [_path(each, ("link", i), traces, mistakes) for i, each in enumerate(whole.link)]
    trips_ns = {link.name: link.up.delay_ns + link.down.delay_ns for link in own if link}
    paths: list[Path | None] = []
    for index, literal in enumerate(whole.path):
        beyond_ns = sum(trips_ns.get(name, 0) for name in literal.link or ())
        paths.append(_path(literal, ("path", index), traces, mistakes, beyond_ns))
    links = []
    for index, each in enumerate(whole.link):
        # the default queue of a link fits the longest of its paths
        longest_ns = max(
            (
                path.up.delay_ns
                + path.down.delay_ns
                + sum(trips_ns.get(name, 0) for name in path.links if name != each.name)
                for path in paths
                if path and each.name in path.links
            ),
            default=0,
        )
        link = _path(each, ("link", index), traces, mistakes, longest_ns)
        if link:
            links.append(Link(name=link.name, up=link.up, down=link.down))
    return tuple(links), tuple(path for path in paths if path)


def _check_links(whole: LiteralScenario, mistakes: Mistakes) -> None:
    """Report unknown and unused links, and keys of links that only a path can have."""
    known = [link.name for link in whole.link if link.name is not None]
    used = set()
    for index, path in enumerate(whole.path):
        for name in path.link or ():
            used.add(name)
            if name not in known:
                mistakes.add(("path", index, "link"), unknown("link", name, known), name)
    for index, link in enumerate(whole.link):
        if link.name is not None and link.name not in used:
            mistakes.add(("link", index), "no path has this link", link.name)
        for table, inner in by_direction(link):
            for key, message in ONLY_OF_PATHS.items():
                value = getattr(table, key)
                if value is not None and (key, value) != ("bottleneck", "router"):
                    mistakes.add(("link", index, *inner, key), message)


def _check_names(
    kind: str, literals: Sequence[LiteralLink], numbers: dict[str, str], mistakes: Mistakes
) -> None:
    """Report missing names, rates and delays, and names used twice."""
    for index, literal in enumerate(literals):
        place: Place = (kind, index)
        if literal.name is None:
            mistakes.missing((*place, "name"), f'every {kind} has a name, e.g. "wifi"')
        shares = isinstance(literal, LiteralPath) and (
            literal.link or mistakes.spoiled((*place, "link"))
        )
        for key, example in () if shares else (("rate", "50mbit"), ("delay", "10ms")):
            tables = (literal, literal.up, literal.down)
            given = literal.preset or any(table.trace for table in tables)
            spoiled = any(mistakes.spoiled((*place, other)) for other in ("preset", "trace"))
            if getattr(literal, key) is None and not given and not spoiled:
                hint = f"or a preset, which is {one_of(tuple(PRESETS))}"
                message = f'every {kind} has a {key}, e.g. "{example}", {hint}'
                mistakes.missing((*place, key), message)
        if literal.name is not None:
            if literal.name in numbers:
                message = f"also the name of {numbers[literal.name]}; names are unique"
                mistakes.add((*place, "name"), message)
            numbers.setdefault(literal.name, f"{kind}[{index + 1}]")


def _path(
    literal: LiteralLink, place: Place, traces: Traces, mistakes: Mistakes, beyond_ns: int = 0
) -> Path | None:
    """A path or a link; the rest of the route adds `beyond_ns` to the RTT."""
    links = (literal.link or ()) if isinstance(literal, LiteralPath) else ()
    preset = LiteralPath.model_validate(PRESETS[literal.preset].path if literal.preset else {})
    found: list[tuple[LiteralDirection, Sequence[Step]]] = []
    for direction in DIRECTIONS:
        own, of_preset = getattr(literal, direction), getattr(preset, direction)
        values = _overridden(own, literal, of_preset, preset)
        report = functools.partial(_report, mistakes, own, (*place, direction))
        where = (*place, "trace") if own.trace is None else (*place, direction, "trace")
        trace, usual = values.trace, of_preset.trace
        varies = trace and usual and trace.file in (None, usual.file)
        if trace and varies:
            # a trace without a file says how that of the preset is played
            trace = usual.model_copy(update=trace.model_dump(exclude_none=True))
        steps = traces.steps(trace, literal.name or "", direction, where)
        if steps is None:
            return None
        if varies:
            steps = _without(steps, _overridden(own, literal))
        if steps:
            values = _at_first(values, steps[0], where, mistakes)
        if links:
            values = _left_to_links(values, report)
        if not mistakes.spoiled((*place, direction, "delay")):
            _check_delays(values, report)
        _check_losses(values, steps, report)
        _check_queue(values, report)
        found.append((values, steps))
    if literal.name is None or any(v.rate is None or v.delay is None for v, _ in found):
        return None
    round_trip_ns = beyond_ns + sum(values.delay or 0 for values, _ in found)
    up, down = (_shape(*each, round_trip_ns, traces.duration_ns) for each in found)
    ip = (isinstance(literal, LiteralPath) and literal.ip) or "4"
    nat_s = literal.nat_timeout if isinstance(literal, LiteralPath) else None
    if nat_s is not None and ip != "4":
        mistakes.add((*place, "nat_timeout"), "addresses of IPv6 are not translated; leave it out")
    return Path(name=literal.name, up=up, down=down, links=links, ip=ip, nat_timeout_s=nat_s)


#: Reports a mistake in a direction: the key, and the message.
_Report = Callable[[str, str], None]


def _without(steps: Sequence[Step], given: LiteralDirection) -> Sequence[Step]:
    """The steps of a preset without the values that are given, which go before a preset."""
    kept = {"rate_bps": given.rate, "delay_ns": given.delay, "loss": given.loss}
    gone: dict[str, Any] = {name: None for name, value in kept.items() if value is not None}
    left = [step._replace(**gone) for step in steps]
    return [step for step in left if step[1:] != (None,) * 3]


def _left_to_links(values: LiteralDirection, report: _Report) -> LiteralDirection:
    """A path with links: without a rate of its own it limits nothing and has no queue."""
    values = values.model_copy(update={"delay": values.delay or 0})
    if values.rate is not None:
        return values
    for key in ("queue", "queue_discipline", "bottleneck"):
        if getattr(values, key) is not None:
            report(key, "the path has no rate of its own; the queue is the link's")
    return values.model_copy(update={"rate": NO_RATE_BPS, "queue": MAX_QUEUE_PACKETS})


def _report(
    mistakes: Mistakes, own: LiteralDirection, place: Place, key: str, message: str
) -> None:
    """Report a value of a direction where it was given: for this direction, or for the path."""
    mistakes.add((*(place if getattr(own, key) is not None else place[:-1]), key), message)


def _check_delays(given: LiteralDirection, report: _Report) -> None:
    delay_ns, jitter_ns, earlier_ns = given.delay, given.jitter or 0, given.reorder_by
    if earlier_ns is not None and not given.reorder:
        report("reorder_by", "no packet overtakes others; reorder says how many do, e.g. 1%")
    if delay_ns is None:
        return
    text = units.format_time(delay_ns)
    if jitter_ns > delay_ns:
        report("jitter", f"more than the delay of {text}; jitter is at most that")
    if not given.reorder:
        return
    if not delay_ns:
        report("reorder", "without a delay nothing can be overtaken")
    elif earlier_ns == 0 or (earlier_ns or 0) > delay_ns:
        report("reorder_by", f"reorder_by is more than 0 and at most the delay, which is {text}")
    elif jitter_ns > delay_ns - (earlier_ns or delay_ns):
        message = (
            f"jitter and reorder_by, which is {units.format_time(earlier_ns or delay_ns)}, are "
            f"together at most the delay of {text}"
        )
        report("jitter", message)


def _check_losses(given: LiteralDirection, steps: Sequence[Step], report: _Report) -> None:
    if given.loss_correlation and given.loss_burst:
        report("loss_correlation", "loss_burst is another model; give one of the two")
    if given.loss_correlation == 1.0:
        message = "every packet would share the fate of the first; less than 100% is expected"
        report("loss_correlation", message)
    good, bad = _states(given)
    if not given.loss_burst:
        for key in ("loss_good", "loss_bad"):
            if getattr(given, key) is not None:
                report(key, "a loss has two states only with a loss_burst, e.g. 5")
        return
    if good >= bad:
        worse = "loss_good" if given.loss_good is not None else "loss_bad"
        report(worse, "loss_good is less than loss_bad")
        return
    losses = {given.loss or 0.0, *(step.loss for step in steps if step.loss is not None)}
    for loss in losses:
        message = loss_mistake(loss, given.loss_burst, good, bad)
        if message:
            report("trace" if steps else "loss", message)


def _states(given: LiteralDirection) -> tuple[float, float]:
    """The loss in the good state and in the bad one."""
    bad = 1.0 if given.loss_bad is None else given.loss_bad
    return given.loss_good or 0.0, bad


def loss_mistake(loss: float, burst: int | None, good: float, bad: float) -> str:
    """What is wrong with a mean loss of two states, or "" if it is possible."""
    least, most = loss_range(burst, good, bad)
    if burst is None or least <= loss <= most:
        return ""
    low, high = units.format_fraction(least), units.format_fraction(most)
    return (
        f"a mean loss of {units.format_fraction(loss)} is impossible: with this loss_burst, "
        f"loss_good and loss_bad it is {low} to {high}"
    )


def _check_queue(given: LiteralDirection, report: _Report) -> None:
    queue, discipline = given.queue, given.queue_discipline
    if isinstance(queue, Bytes) and discipline not in (None, "droptail", "red"):
        report("queue", f"{discipline} counts packets; a size goes with droptail and red")
    elif queue is not None and discipline == "red":
        least = MIN_RED_PACKETS * (PACKET_BYTES if isinstance(queue, Bytes) else 1)
        if queue < least:
            report("queue", f"red needs at least {MIN_RED_PACKETS} packets of {PACKET_BYTES} bytes")


def _at_first(
    values: LiteralDirection, first: Step, given: Place, mistakes: Mistakes
) -> LiteralDirection:
    """The values of a direction at the first step of its trace."""
    own = {"rate": first.rate_bps, "delay": first.delay_ns, "loss": first.loss}
    values = values.model_copy(update={k: v for k, v in own.items() if v is not None})
    for key, example in (("rate", "50mbit"), ("delay", "10ms")):
        if getattr(values, key) is None:
            message = f'the trace has no {key}, and the path has none, e.g. {key} = "{example}"'
            mistakes.add(given, message)
    return values


def _overridden(*levels: LiteralDirection) -> LiteralDirection:
    """One direction, with each value from the first level that gives it."""
    return LiteralDirection.model_construct(
        **{
            key: next((v for level in levels if (v := getattr(level, key)) is not None), None)
            for key in LiteralDirection.model_fields
        }
    )


def _shape(
    literal: LiteralDirection, steps: Sequence[Step], round_trip_ns: int, duration_ns: int
) -> Shape:
    """A direction with every default filled in; the default queue fits the mean rate."""
    assert literal.rate is not None, "a path without a rate is not resolved"
    assert literal.delay is not None, "a path without a delay is not resolved"
    queue = literal.queue
    discipline = literal.queue_discipline or ("droptail" if isinstance(queue, Bytes) else "netem")
    if queue is None:
        rate_bps = literal.rate
        if steps and steps[0].rate_bps is not None:
            rates = [(step.at_ns, step.rate_bps or 0) for step in steps]
            rate_bps = link_trace.carried(rates, 0, duration_ns) // duration_ns
        queue = _default_queue(discipline, default_queue_packets(rate_bps, round_trip_ns))
    values = {"jitter_ns": 0, "loss": 0.0, "queue_packets": None, **given(literal, "queue")}
    values["queue_bytes" if isinstance(queue, Bytes) else "queue_packets"] = int(queue)
    values |= {"queue_discipline": discipline, "steps": tuple(steps[1:])}
    return Shape(**values)


def _default_queue(discipline: str, product_packets: int) -> int:
    if discipline == "red":
        return min(_RED_PRODUCTS * product_packets, MAX_QUEUE_PACKETS)
    return _DEFAULT_LIMITS.get(discipline, product_packets)


def default_queue_packets(rate_bps: int, round_trip_ns: int) -> int:
    """One bandwidth-delay product in whole packets, rounded up, within the limits of a queue."""
    product = -(-rate_bps * round_trip_ns // (8 * 10**9 * PACKET_BYTES))
    return min(max(product, MIN_DEFAULT_QUEUE_PACKETS), MAX_QUEUE_PACKETS)
