# SPDX-License-Identifier: GPL-2.0-only
"""The literal scenario: the keys of the file, how each value is read, and the JSON Schema.

Here every value is optional, units are read, and nothing is resolved: None means "not given".
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from mptcplab.mistakes import ABSENT, Mistakes, Place, is_utf8, one_of, suggestion
from mptcplab.scenario import fields, limits, option_keys, toml_file
from mptcplab.scenario.fields import Factor, Reads
from mptcplab.scenario.presets import PRESETS
from mptcplab.traces.link_trace import COLUMNS


def _key(
    reads: Reads, examples: Sequence[object], default: object = None, description: str = ""
) -> Any:
    """A key, and how its value is read; the docstring below it describes it. If no value is the
    default, that text ends with what holds "By default".
    """
    extra: dict[str, Any] = {} if default is None else {"default": default}
    field: Any = Field(
        default=None,
        description=description or None,
        examples=list(examples),
        json_schema_extra=extra,
    )
    field.metadata.append(reads)
    return field


def _option_key(name: str, reads: Reads, examples: Sequence[object]) -> Any:
    """A key that is an option, too."""
    key = option_keys.KEYS[name]
    return _key(reads, examples, key.default, key.description)


def _table(example: str, default: BaseModel) -> Any:
    """A key whose value is a table, with such keys as the example says."""
    field: Any = Field(default=default)
    field.metadata.append(fields.table(example))
    return field


class _Literal(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: Any) -> None:
        for field in cls.model_fields.values():
            field.description = " ".join((field.description or "").split())


def _trace_table(value: object) -> object:
    return {"file": value} if isinstance(value, str) else value


def _read_columns(value: object) -> dict[str, str]:
    if (
        not isinstance(value, dict)
        or not value
        or not all(key in COLUMNS and isinstance(name, str) for key, name in value.items())
    ):
        raise ValueError(
            f"a table of the columns to use is expected, with {one_of(COLUMNS)}, e.g. "
            '{ rate = "DL_bitrate [kbit]" }'
        )
    return value


class LiteralTrace(_Literal):
    """A trace of a link, and how the lab reads and plays it."""

    file: str | None = _key(fields.FILE, ["lte.down"])
    """The file, Mahimahi or CSV; a relative path starts at the scenario file."""
    columns: dict[str, str] | None = _key(
        Reads(
            _read_columns,
            {"type": "object", "additionalProperties": {"type": "string"}},
            ", ".join(f"`{column}`" for column in COLUMNS),
        ),
        [{"rate": "DL_bitrate [kbit]"}],
    )
    """For a CSV file: the columns of time, rate, delay and loss, each with its unit. By default the
    columns with these names.
    """
    interval: int | None = _key(fields.time("the time of a row", "1ns", "86400s"), ["1s"])
    """For a CSV file: the time of each row. By default the file has a column of times."""
    skip_empty: bool | None = _key(fields.FLAG, [True], False)
    """Skip the rows of a CSV file without a value."""
    offset: int | None = _key(fields.time("an offset", "0s", "86400s"), ["30s"], "0s")
    """The time in the trace at which the workload starts."""
    repeat: bool | None = _key(fields.FLAG, [False], True)
    """The trace starts again at its end; otherwise its last values stay."""
    resolution: int | None = _key(fields.time("a resolution", "1ms", "60s"), ["100ms"], "10ms")
    """The shortest time between two changes; the lab averages shorter ones."""


class LiteralDirection(_Literal):
    """The differences in one direction of a path."""

    rate: int | None = _key(fields.RATE, ["50mbit", "0.5gbit"])
    """Rate of the link, in bits per second. By default from the path, its preset or its link; one
    of them needs it.
    """
    delay: int | None = _key(fields.DELAY, ["10ms", "250us"])
    """One-way delay. By default from the same places as the rate."""
    jitter: int | None = _key(fields.JITTER, ["2ms"], "0ms")
    """Variation of the delay, at most the delay; packets keep their order."""
    loss: float | None = _key(fields.LOSS, ["0.1%"], "0%")
    """Fraction of packets lost at random."""
    loss_burst: int | None = _key(fields.count("a loss_burst", 1, 10_000), [5])
    """Mean number of packets lost in a row: the length of the bad state of the Gilbert-Elliott
    model. By default losses are independent.
    """
    loss_bad: float | None = _key(fields.PART, ["50%"], "100%")
    """Fraction of packets lost in the bad state; with loss_burst."""
    loss_good: float | None = _key(fields.PART, ["0.01%"], "0%")
    """Fraction of packets lost in the good state; with loss_burst."""
    loss_correlation: float | None = _key(fields.PART, ["25%"], "0%")
    """Dependence of a packet's random number on the previous one, as in netem; it lowers the loss.
    """
    drop: tuple[tuple[int, int], ...] | None = _key(
        fields.DROPS, [[5, 17, "100-120"], "5+17+100-120"]
    )
    """Packets with data that the router drops: their numbers, from 1 at the start of the workload.
    """
    drop_acks: tuple[tuple[int, int], ...] | None = _key(fields.DROPS, [[1, 2]])
    """The same for packets without data."""
    duplicate: float | None = _key(fields.LOSS, ["0.1%"], "0%")
    """Fraction of packets that arrive twice."""
    reorder: float | None = _key(fields.LOSS, ["1%"], "0%")
    """Fraction of packets that overtake earlier ones."""
    reorder_by: int | None = _key(fields.DELAY, ["2ms"])
    """Time by which they arrive earlier. By default the whole delay."""
    queue: int | None = _key(fields.QUEUE, [300, "300p", "300KB"])
    """Queue limit in packets, or a size. By default one bandwidth-delay product (at least 20
    packets), or the discipline's own default.
    """
    queue_discipline: limits.Discipline | None = _key(
        fields.choice("a queue_discipline", limits.DISCIPLINES), ["codel"], "netem"
    )
    """netem limits waiting packets and packets in flight together; droptail limits waiting packets
    alone; codel, fq_codel, red and pie are the kernel's. A queue with a size is droptail.
    """
    bottleneck: limits.Bottleneck | None = _key(
        fields.choice("a bottleneck", limits.BOTTLENECKS), ["host"], "router"
    )
    """The place of the rate and the queue: the router, or the interface of the sending host."""
    cross: int | None = _key(fields.CROSS, ["30mbit"], "0bit")
    """Rate of cross traffic: full-size UDP packets from the start of the workload."""
    middlebox: limits.Middlebox | None = _key(fields.MIDDLEBOX, ["strip"], "none")
    """What the router does with packets that have options of MPTCP: strip removes the options, drop
    loses the packets.
    """
    trace: Annotated[
        LiteralTrace | None,
        fields.table("a file, or keys such as file"),
        BeforeValidator(_trace_table),
    ] = Field(
        default=None,
        examples=["lte.down", {"file": "5g.csv", "interval": "1s"}],
        json_schema_extra=lambda schema: schema["anyOf"].insert(0, {"type": "string"}),  # type: ignore[union-attr]
    )
    """A trace: a file, or a table. Its rate, delay and loss replace the given ones."""


class LiteralLink(LiteralDirection):
    """A link that several paths share, between two routers."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": ["name"],
            "anyOf": [{"required": ["rate", "delay"]}, {"required": ["preset"]}],
        }
    )

    name: str | None = _key(fields.NAME, ["wifi"])
    """Its name, unique in the scenario."""
    preset: str | None = _key(fields.choice("a preset", tuple(PRESETS)), ["lte"])
    """Kind of link; its values fill the gaps."""
    up: LiteralDirection = _table("keys such as up.rate", LiteralDirection())
    """Differences from client to server."""
    down: LiteralDirection = _table("keys such as down.rate", LiteralDirection())
    """Differences from server to client."""


class LiteralPath(LiteralLink):
    """A path between client and server, through a router of its own."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": ["name"],
            "anyOf": [
                {"required": ["rate", "delay"]},
                {"required": ["preset"]},
                {"required": ["link"]},
            ],
        }
    )

    link: tuple[str, ...] | None = _key(
        fields.names("links", limits.MAX_LINKS), ["bottleneck", ["access", "backbone"]]
    )
    """The shared link behind the path's own router, or several in this order. With a link, the path
    needs no rate or delay of its own.
    """
    ip: limits.Ip | None = _key(fields.IP, ["6"], "4")
    """IP version of its addresses. With both, the subflow uses IPv6, and programs choose."""
    nat_timeout: int | None = _key(
        fields.seconds("a nat_timeout", "1s", "432000s"), ["300s", "7440s"]
    )
    """The router translates addresses (NAT), and forgets a mapping without packets for this time.
    By default it translates none.
    """


class LiteralChange(_Literal):
    """The changes of an event in one direction of its path: new values, or factors of the old."""

    rate: int | float | None = _key(fields.or_factor(fields.RATE), ["5mbit", "x0.1"])
    """The new rate, or a factor for the current one. By default unchanged."""
    delay: int | float | None = _key(fields.or_factor(fields.DELAY), ["100ms", "x3"])
    """The new one-way delay, or a factor for the current one. By default unchanged."""
    jitter: int | None = _key(fields.JITTER, ["5ms"])
    """The new jitter. By default unchanged."""
    loss: float | None = _key(fields.LOSS, ["2%"])
    """The new loss. By default unchanged."""
    cross: int | None = _key(fields.CROSS, ["30mbit", 0])
    """The new rate of cross traffic; 0 for none. By default unchanged."""
    middlebox: limits.Middlebox | None = _key(fields.MIDDLEBOX, ["strip"])
    """What the router does from now on with packets of MPTCP. By default unchanged."""


class LiteralEvent(LiteralChange):
    """Something that happens to a path while data is sent, once or repeatedly."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": ["at"],
            "oneOf": [
                {"required": ["path", "action"]},
                {"required": ["link", "action"]},
                {"required": ["parameter", "value"]},
            ],
        }
    )

    at: int | None = _key(
        fields.or_before(fields.time("the time of an event", "0s", "86400s")), ["3s", "before"]
    )
    """Time of the first occurrence, from the start of the workload; before: it has happened when
    the first connection opens.
    """
    path: str | None = _key(fields.NAME, ["lte"])
    """Name of the affected path. By default none, with a link or a parameter."""
    link: str | None = _key(fields.NAME, ["bottleneck"])
    """Name of the affected link, instead of a path. By default none."""
    parameter: str | None = _key(fields.PARAMETER, ["ecf.beta_permille"])
    """A parameter of a scheduler, which gets a new value, instead of a path and an action. By
    default none.
    """
    value: str | None = _key(fields.VALUE, [500, True])
    """The new value of the parameter: live connections have it from their next question on. By
    default none.
    """
    action: limits.Action | None = _key(fields.choice("an action", limits.ACTIONS), ["down"])
    """down: the path loses every packet in both directions; up: it works again; unplug: the
    client's device on the path has no carrier; close: the server removes its address on the path,
    and the subflow ends; change: the path gets the rate, delay, jitter or loss given here;
    handover: a tenth of the rate and three times the delay, for a while; backup, regular: the
    subflow becomes a last resort, or like the others again; remove: the client removes its endpoint
    on the path; lose: the client has no address on the path; renumber: the client gets another one;
    rebind: the router's NAT forgets all mappings; reboot: the path is down for a while, and its NAT
    forgets. By default none, with a parameter.
    """
    lasts: int | None = _key(fields.time("how long an event lasts", "1us", "86400s"), ["2s"])
    """Time until the lab undoes it. By default it stays; a handover lasts a random time, below 100
    ms for 85 of 100, seconds for the others.
    """
    every: int | None = _key(fields.time("the period of an event", "1ms", "86400s"), ["15s"])
    """Period of its repetitions. By default it happens once."""
    random: bool | None = _key(fields.FLAG, [True], False)
    """The time between two occurrences is random (exponential, from the seed), with mean `every`.
    """
    up: LiteralChange = _table("keys such as up.rate", LiteralChange())
    """Differences from client to server."""
    down: LiteralChange = _table("keys such as down.rate", LiteralChange())
    """Differences from server to client."""


class LiteralWorkload(_Literal):
    """The data of the connections. Each kind has some of these keys (docs/workloads.md)."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["kind"]}, {"not": {"required": ["duration", "size"]}}]
        }
    )

    kind: str | None = _key(
        fields.choice("the kind of a workload", limits.WORKLOADS), ["cbr"], "bulk"
    )
    """bulk sends all that the connection can carry; transfers follow one another, each of a given
    size; cbr sends blocks at a constant rate; requests are small, with responses; web loads a page;
    video sends segments to a player with a buffer; frames is live video, with deadlines; tunnel
    carries the packets of bulk data over TCP and of a call over UDP, as a VPN does.
    """
    direction: str | None = _option_key(
        "direction", fields.choice("a direction", limits.WORKLOAD_DIRECTIONS), ["down"]
    )
    duration: int | None = _option_key(
        "duration", fields.time("a duration", "100ms", "86400s"), ["20s"]
    )
    size: int | None = _option_key(
        "size", fields.size("a size", "1B", "1TB"), ["10MB", "64KiB", 1448]
    )
    warmup: int | None = _option_key("warmup", fields.time("a warm-up", "0s", "86400s"), ["2s"])
    start: limits.Start | None = _option_key(
        "start", fields.choice("a start", limits.STARTS), ["established"]
    )
    no_delay: bool | None = _key(fields.FLAG, [True])
    """A short last segment does not wait for an acknowledgment (TCP_NODELAY). By default false for
    bulk, as in iperf3; true for all others, as in curl, nginx and browsers.
    """
    count: int | None = _key(fields.count("a count", 1, 50_000), [50])
    """Number of transfers, or of requests with a think time. By default 20; 100 for requests."""
    interval: int | None = _key(fields.time("an interval", "1us", "86400s"), ["500ms"])
    """Time from one to the next; for cbr, an alternative to the rate; for bulk, from one opening of
    a connection to the next. By default transfers follow one another; 100ms for requests, 20ms for
    tunnel, 1ms for bulk.
    """
    rate: int | None = _key(fields.RATE, ["500kbit", "4mbit"])
    """Rate of the blocks; for frames, their mean rate; for tunnel, of a shaper with fq_codel in
    front of the end that sends the bulk data. By default 500kbit; 4mbit for frames; a tunnel has no
    shaper.
    """
    fresh: bool | None = _key(fields.FLAG, [True])
    """Connections open when needed, which takes time; each transfer has its own. By default false
    for transfers, true for web.
    """
    request: int | None = _key(fields.size("a request", "1B", "1GB"), ["500B"])
    """Size of a request. By default 100B for requests, 500B for web and video."""
    response: int | None = _key(fields.size("a response", "1B", "1GB"), ["10KB"], "1KB")
    """Size of a response."""
    random: bool | None = _key(fields.FLAG, [True], False)
    """The time between two requests is random (exponential, from the seed), with mean `interval`.
    """
    think: int | None = _key(fields.time("a think time", "0s", "3600s"), ["200ms"])
    """Time from a response to the next request, instead of an interval."""
    page: str | None = _key(fields.FILE, ["page.toml"])
    """A TOML file that describes the page; a relative path starts at the scenario file. By default
    a page of median size.
    """
    connections: int | None = _key(fields.count("the number of connections", 1, 10_000), [1, 1000])
    """Number of connections between the same two hosts; of web, at most 256. By default 6 for web,
    1 for bulk.
    """
    bitrates: tuple[int, ...] | None = _key(fields.BITRATES, [["1mbit", "3mbit"], "1mbit/3mbit"])
    """The available bitrates, ascending. By default ten, 235kbit to 5800kbit."""
    segment: int | None = _key(fields.time("a segment", "100ms", "60s"), ["2s"], "4s")
    """Playing time of a segment."""
    buffer: int | None = _key(fields.time("a playback buffer", "200ms", "3600s"), ["30s"], "40s")
    """Size of the player's buffer, at least two segments."""
    reservoir: int | None = _key(fields.time("a reservoir", "0s", "3600s"), ["10s"])
    """Buffered time up to which the player takes the lowest bitrate. By default 3/8 of the buffer.
    """
    cushion: int | None = _key(fields.time("a cushion", "1ms", "3600s"), ["15s"])
    """Buffered time above the reservoir from which the player takes the highest bitrate. By default
    21/40 of the buffer.
    """
    fps: int | None = _key(fields.count("fps (frames per second)", 1, 240), [30], 25)
    """Frames per second."""
    gop: str | None = _key(fields.GOP, ["IPPPPP"], "IBBPBBPBBPBB")
    """The repeated group of pictures, in sending order."""
    ratio: tuple[int, int, int] | None = _key(fields.RATIO, ["6:3:1"], "14:5:2")
    """Ratio of the sizes of I, P and B frames."""
    deadline: int | None = _key(fields.time("a deadline", "1ms", "60s"), ["50ms"], "150ms")
    """Time from the due time of a frame, or of a call's packet, to its deadline."""
    bulk: bool | None = _key(fields.FLAG, [False], True)
    """The tunnel carries bulk data, over a TCP connection inside."""
    call: limits.Call | None = _key(
        fields.choice("the place of a call", limits.CALLS), ["outside"], "inside"
    )
    """Place of the call: inside the tunnel; outside, as UDP over the first path; or none."""
    mtu: int | None = _key(fields.count("an MTU", 576, 9000), [1400], 1500)
    """Size of the tunnel's largest packet, in bytes, with its headers of IP."""
    queue: int | None = _key(fields.count("a queue", 1, 100_000), [50], 500)
    """Number of packets that may wait for the tunnel at each end."""
    not_sent_lowat: int | None = _key(fields.size("not_sent_lowat", "1B", "1GB"), ["16KiB"])
    """Unsent data in the send buffer from which on it counts as full (TCP_NOTSENT_LOWAT). By
    default the send buffer's size is the only limit.
    """


class LiteralConnection(_Literal):
    """A connection with hosts and paths of its own."""

    model_config = ConfigDict(json_schema_extra={"required": ["name", "paths"]})

    name: str | None = _key(fields.NAME, ["background"])
    """Its name, unique among the connections."""
    paths: tuple[str, ...] | None = _key(
        fields.names("paths", limits.MAX_PATHS), [["wifi", "lte"], "wifi/lte"]
    )
    """Its paths; one for plain TCP. No other connection uses them; connections share links."""
    count: int | None = _key(fields.count("a count", 1, limits.MAX_CONNECTIONS), [10], 1)
    """Number of such connections, each with its own hosts and its own copies of the paths."""
    transport: limits.Transport | None = _key(
        fields.choice("a transport", limits.TRANSPORTS), ["tcp"]
    )
    """mptcp or tcp. By default the scenario's."""
    scheduler: str | None = _key(fields.SCHEDULER, ["minrtt"])
    """Its scheduler. By default the scenario's, one after the other."""
    cc: str | None = _key(fields.CC, ["reno"])
    """Its congestion control. By default the scenario's, one after the other."""
    start: int | None = _key(fields.time("a start", "0s", "86400s"), ["5s"])
    """Time at which it opens, after the start of the workload. By default in time for the workload,
    see its `start`.
    """
    end: int | None = _key(fields.time("an end", "100ms", "86400s"), ["30s"])
    """Time at which its application stops sending. By default the end of the workload."""
    workload: LiteralWorkload = _table("keys such as kind and direction", LiteralWorkload())
    """Its workload, except video. By default the scenario's workload."""


class LiteralScenario(_Literal):
    """A scenario of mptcplab."""

    model_config = ConfigDict(json_schema_extra={"required": ["path"]})

    scheduler: tuple[str, ...] | None = _option_key(
        "scheduler", fields.SCHEDULERS, ["default", ["minrtt", "minrtt:rp=off", "./mine.c"]]
    )
    cc: tuple[str, ...] | None = _option_key(
        "cc", fields.CCS, ["bbr", ["reno", "lia", "lia:exact=on"]]
    )
    kernel: tuple[str, ...] | None = _option_key(
        "kernel", fields.KERNELS, ["6.12", ["6.12", "mine"]]
    )
    transport: limits.Transport | None = _option_key(
        "transport", fields.choice("a transport", limits.TRANSPORTS), ["tcp"]
    )
    seed: int | None = _option_key("seed", fields.whole("a seed", 0, limits.MAX_SEED), [7])
    seed_delay: int | None = _option_key(
        "seed_delay", fields.time("a seed delay", "0us", "100ms"), ["0us", "100us"]
    )
    vary: tuple[str, ...] | None = _option_key(
        "vary", fields.VARY, ["2%", ["5%", "loss=20%", "lte.rate=10%"]]
    )
    repeat: int | None = _option_key("repeat", fields.whole("repeat", 1, limits.MAX_REPEAT), [5])
    send_buffer: int | None = _option_key(
        "send_buffer", fields.buffer("a send buffer"), ["auto", "256KiB"]
    )
    receive_buffer: int | None = _option_key(
        "receive_buffer", fields.buffer("a receive buffer"), ["auto", "64KiB"]
    )
    sample_interval: int | None = _option_key(
        "sample_interval", fields.time("a sample interval", "100us", "60s"), ["10ms", "1ms"]
    )
    endpoints: limits.Endpoints | None = _option_key(
        "endpoints", fields.choice("endpoints", limits.ENDPOINTS), ["subflow"]
    )
    blackhole_timeout: int | None = _option_key(
        "blackhole_timeout",
        fields.seconds("a blackhole_timeout", "0s", "86400s"),
        ["0s", "60s"],
    )
    path: Annotated[
        tuple[Annotated[LiteralPath, fields.table("name, rate and delay")], ...],
        fields.tables("path"),
    ] = Field(default=(), json_schema_extra={"minItems": 1, "maxItems": limits.MAX_ALL_PATHS})
    """The paths, each a table headed [[path]]: 1 to 8 per connection."""
    link: Annotated[
        tuple[Annotated[LiteralLink, fields.table("name, rate and delay")], ...],
        fields.tables("link"),
    ] = Field(default=(), json_schema_extra={"maxItems": limits.MAX_LINKS})
    """Links that paths share, each a table headed [[link]]."""
    connection: Annotated[
        tuple[Annotated[LiteralConnection, fields.table("name and paths")], ...],
        fields.tables("connection"),
    ] = Field(default=(), json_schema_extra={"maxItems": limits.MAX_CONNECTIONS})
    """The connections, each a table headed [[connection]]. Without any, one pair of hosts has all
    paths.
    """
    event: Annotated[
        tuple[Annotated[LiteralEvent, fields.table("at, path and action")], ...],
        fields.tables("event"),
    ] = Field(default=(), json_schema_extra={"maxItems": limits.MAX_EVENTS})
    """Events on paths during the run, each a table headed [[event]]."""
    workload: LiteralWorkload = _table("keys such as kind and duration", LiteralWorkload())
    """The data of the connections."""


def by_direction(table: Any) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """A link, path or event, and its tables up and down, each with the place of its keys."""
    yield table, ()
    for direction in limits.DIRECTIONS:
        yield getattr(table, direction), (direction,)


def given(table: BaseModel, *without: str) -> dict[str, Any]:
    """The values in a table, but for some keys, by the names of resolved fields: rate_bps."""
    found = {}
    for key, field in type(table).model_fields.items():
        reads = next((each for each in field.metadata if isinstance(each, Reads)), None)
        value = getattr(table, key)
        if reads and value is not None and key not in without:
            unit = "factor" if isinstance(value, Factor) else reads.unit
            found[f"{key}_{unit}" if unit else key] = value
    return found


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scenario file; it accepts every file that loads."""
    schema = LiteralScenario.model_json_schema()
    for key, described in schema["$defs"][LiteralWorkload.__name__]["properties"].items():
        if kinds := kinds_of(key):
            described["description"] += f" For {', '.join(kinds)}."
    _tidy(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mptcplab scenario",
        **schema,
    }


def _tidy(node: object) -> None:
    """Drop details of Python: class names as titles, and empty defaults."""
    if isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        if not isinstance(node.get("default"), str | int):
            node.pop("default", None)
        for child in node.values():
            _tidy(child)
    elif isinstance(node, list):
        for child in node:
            _tidy(child)


def kinds_of(key: str) -> tuple[str, ...]:
    """The kinds of workload that have a key; none if all have it."""
    kinds = tuple(kind for kind, keys in limits.WORKLOAD_KEYS.items() if key in keys)
    return () if len(kinds) == len(limits.WORKLOADS) else kinds


# From data to the literal scenario


def validate(mistakes: Mistakes) -> LiteralScenario:
    """The literal scenario without the values that are wrong on their own, which are reported."""
    data = _in_utf8(copy.deepcopy(mistakes.data), (), mistakes)
    try:
        return LiteralScenario.model_validate(data)
    except ValidationError as error:
        for found in error.errors(include_url=False, include_input=False):
            place = found["loc"]
            parent: Any = data
            for step in place[:-1]:
                parent = parent[step]
            if found["type"] == "extra_forbidden":
                message = _unknown_key(place, mistakes)
            else:
                message = str(found["ctx"]["error"])
            mistakes.add(place, message)
            # An empty table in place of a wrong path, so that the others keep their numbers.
            if isinstance(parent, list):
                parent[int(place[-1])] = {}
            else:
                del parent[place[-1]]
    return LiteralScenario.model_validate(data)


def _in_utf8(value: Any, place: Place, mistakes: Mistakes) -> Any:
    """A value without texts that no file can contain: flags may be any bytes."""
    if isinstance(value, str) and not is_utf8(value):
        mistakes.add(place, "not UTF-8 text")
        return ABSENT
    if isinstance(value, dict):
        inside = {key: _in_utf8(each, (*place, key), mistakes) for key, each in value.items()}
        return {key: each for key, each in inside.items() if each is not ABSENT}
    if isinstance(value, list):
        items = [_in_utf8(each, (*place, index), mistakes) for index, each in enumerate(value)]
        return ABSENT if ABSENT in items else items
    return value


def _tables(model: type[BaseModel], name: str) -> Iterator[tuple[str, type[BaseModel]]]:
    """A table and all tables within it, by their keys, such as path.up.trace."""
    yield name, model
    for key, field in model.model_fields.items():
        for inner in toml_file.models_in(field.annotation):
            yield from _tables(inner, f"{name}.{key}".lstrip("."))


_TABLES = dict(_tables(LiteralScenario, ""))
# The words of other tools.
_OTHER_WORDS = {"bandwidth": "rate", "latency": "delay", "limit": "queue", "bytes": "size"}


def _unknown_key(place: Place, mistakes: Mistakes) -> str:
    word = str(place[-1])
    known = list(toml_file.table_at(LiteralScenario, place).model_fields)
    # In TOML every key after a [table] belongs to that table: the most common slip.
    homes = [name for name, model in _TABLES.items() if word in model.model_fields]
    # many tables have a rate or a name; suggest the most ordinary one
    home = next((name for name in homes if not name.startswith(("link", "connection"))), None)
    home = home or next(iter(homes), None)
    if home is not None and not mistakes.flag(place):
        where = {
            "": "at the top of the file, before the first table",
            **{name: f"in [[{name}]]" for name in ("path", "event", "link", "connection")},
        }
        return f"unknown key here; {word} goes {where.get(home, f'in [{home}]')}"
    words = {**{key: key for key in known}, **{w: k for w, k in _OTHER_WORDS.items() if k in known}}
    hint = suggestion(word, words)
    return f"unknown key{hint or ';'} accepted here: {', '.join(known)}"
