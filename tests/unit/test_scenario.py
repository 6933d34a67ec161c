# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import copy
import datetime
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mptcplab.errors import InputError, Problem
from mptcplab.mistakes import Mistakes
from mptcplab.scenario import flags, resolve
from mptcplab.scenario import model as sc
from mptcplab.scenario.flags import Flags, parse_path_flag
from mptcplab.scenario.literal import (
    LiteralDirection,
    LiteralScenario,
    LiteralWorkload,
    json_schema,
)
from mptcplab.scenario.resolve import Request, from_flags, load_file
from mptcplab.scenario.scheduler import Choice, Parameter, Scheduler

KNOWN = {
    name: Scheduler(name, "", parameters)
    for name, parameters in {
        "default": (),
        "redundant": (),
        "roundrobin": (
            Parameter("num_segments", "uint", 1, 255, 1, "segments", ""),
            Parameter("cwnd_limited", "bool", 0, 1, 1, "", ""),
        ),
    }.items()
}
ROOT = Path(__file__).parents[2]

WIFI = '[[path]]\nname = "wifi"\nrate = "50mbit"\ndelay = "10ms"\n'
LTE = '[[path]]\nname = "lte"\nrate = "20mbit"\ndelay = "40ms"\n'

# No test may fail because the machine is busy, and a failure must come again.
PROPERTY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

MS = 10**6
SECOND = 10**9


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scenario.toml"


def load(file: Path, text: str, flags: Flags | None = None, *, single: bool = False) -> Request:
    file.write_text(text, encoding="utf-8")
    return load_file(file, flags, known=KNOWN, single=single)


def problems(file: Path, text: str, flags: Flags | None = None, **options: bool) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        load(file, text, flags, **options)
    assert caught.value.exit_status == 2
    return list(caught.value.problems)


def problem(file: Path, text: str, flags: Flags | None = None, **options: bool) -> str:
    """The one mistake in a file, as the line that a person sees."""
    found = problems(file, text, flags, **options)
    assert len(found) == 1, found
    return str(found[0])


def flag_problems(flags: Flags, **options: bool) -> list[str]:
    with pytest.raises(InputError) as caught:
        from_flags(flags, known=KNOWN, **options)
    return [f"{problem.where}: {problem}" for problem in caught.value.problems]


# What a scenario means


def test_the_example_loads_and_means_what_its_comments_say() -> None:
    request = load_file(ROOT / "examples" / "two-paths.toml", known=KNOWN, single=True)
    wifi, lte = request.base.paths
    assert (wifi.name, wifi.up.rate_bps, wifi.up.delay_ns) == ("wifi", 50_000_000, 10 * MS)
    assert (wifi.up.queue_packets, wifi.up) == (83, wifi.down)
    assert (lte.name, lte.up.queue_packets, lte.down.loss) == ("lte", 200, 0.001)
    assert request.base.workload.duration_ns == 20 * SECOND
    assert request.base.workload.warmup_ns == 2 * SECOND
    assert [choice.name for choice in request.schedulers] == ["default"]


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda f: f.stem)
def test_every_example_loads_with_the_schedulers_that_there_are(file: Path) -> None:
    assert load_file(file, single=True).runs()


def test_what_is_not_given_has_its_default(file: Path) -> None:
    request = load(file, WIFI)
    base = request.base
    assert (base.transport, base.cc, base.seed) == ("mptcp", "cubic", 1)
    assert (base.send_buffer_bytes, base.receive_buffer_bytes) == (None, None)
    assert base.sample_interval_ns == 10 * MS
    assert base.workload.duration_ns == 20 * SECOND
    assert (base.paths[0].up.jitter_ns, base.paths[0].up.loss) == (0, 0.0)
    assert (base.events, base.pcap, base.trace) == ((), False, False)
    assert (request.schedulers, request.repeat) == ((Choice(name="default"),), None)


def test_the_default_queue_takes_each_direction_s_rate_and_the_whole_round_trip(file: Path) -> None:
    path = load(file, WIFI + '[path.down]\nrate = "100mbit"\ndelay = "30ms"\n').base.paths[0]
    # round trip 40 ms: 250,000 bytes up, 500,000 bytes down
    assert (path.up.queue_packets, path.down.queue_packets) == (166, 331)


def test_the_default_queue_is_at_least_20_packets_and_at_most_the_largest(file: Path) -> None:
    slow = WIFI.replace("50mbit", "1mbit")
    huge = WIFI.replace("50mbit", "100gbit").replace("10ms", "10s")
    assert load(file, slow).base.paths[0].up.queue_packets == 20
    assert load(file, huge).base.paths[0].up.queue_packets == 1_000_000


def test_a_direction_may_differ_in_everything(file: Path) -> None:
    down = '[path.down]\nrate = "10mbit"\ndelay = "5ms"\njitter = "1ms"\nloss = "1%"\nqueue = "50p"'
    path = load(file, WIFI + down).base.paths[0]
    assert path.up.rate_bps == 50_000_000
    assert path.down == sc.Shape(
        rate_bps=10_000_000, delay_ns=5 * MS, jitter_ns=1 * MS, loss=0.01, queue_packets=50
    )


@pytest.mark.parametrize(
    ("workload", "warmup_ns"),
    [
        ('duration = "20s"', 2 * SECOND),
        ('duration = "100s"', 5 * SECOND),
        ('duration = "20s"\nwarmup = 0', 0),
        ('duration = "20s"\nwarmup = "19s"', 19 * SECOND),
        ('size = "10MB"', 0),
        ('size = 10\nwarmup = "0s"', 0),
    ],
)
def test_the_warmup_is_a_tenth_of_the_duration_up_to_5_s(
    file: Path, workload: str, warmup_ns: int
) -> None:
    assert load(file, f"{WIFI}[workload]\n{workload}").base.workload.warmup_ns == warmup_ns


def test_buffers_are_auto_or_a_size(file: Path) -> None:
    base = load(file, f'send_buffer = "auto"\nreceive_buffer = 65536\n{WIFI}').base
    assert (base.send_buffer_bytes, base.receive_buffer_bytes) == (None, 65536)


def test_a_request_runs_every_scheduler_with_every_seed(file: Path) -> None:
    text = f'scheduler = ["default", "roundrobin"]\nseed = 5\nrepeat = 2\n{WIFI}'
    runs = load(file, text).runs()
    assert [(run.scheduler.name, run.seed) for run in runs] == [
        ("default", 5),
        ("default", 6),
        ("roundrobin", 5),
        ("roundrobin", 6),
    ]


def test_flags_say_the_same_as_a_file(file: Path) -> None:
    flags = Flags(
        path=["wifi:50mbit,10ms", "lte:20mbit,40ms,queue=200,loss=0.1%,down.rate=10mbit"],
        scheduler="default,roundrobin",
        cc="bbr",
        seed="3",
        repeat="5",
        send_buffer="64KiB",
        sample_interval="1ms",
        duration="5s",
        warmup="1s",
    )
    text = (
        'scheduler = ["default", "roundrobin"]\ncc = "bbr"\nseed = 3\nrepeat = 5\n'
        'send_buffer = "64KiB"\nsample_interval = "1ms"\n'
        f'{WIFI}{LTE}queue = 200\nloss = "0.1%"\n[path.down]\nrate = "10mbit"\n'
        '[workload]\nduration = "5s"\nwarmup = "1s"\n'
    )
    assert from_flags(flags, known=KNOWN) == load(file, text)


def test_flags_override_the_file(file: Path) -> None:
    text = f'seed = 1\ncc = "reno"\n{WIFI}[workload]\nsize = "1MB"'
    base = load(file, text, Flags(seed="9", path=["dsl:6mbit,20ms"], duration="3s")).base
    assert (base.seed, base.cc, base.paths[0].name) == (9, "reno", "dsl")
    assert (base.workload.duration_ns, base.workload.size_bytes) == (3 * SECOND, None)


def test_a_size_flag_replaces_the_duration_and_warmup_of_the_file(file: Path) -> None:
    workload = load(
        file, f'{WIFI}[workload]\nduration = "9s"\nwarmup = "2s"', Flags(size="1MB")
    ).base.workload
    assert (workload.duration_ns, workload.size_bytes, workload.warmup_ns) == (None, 10**6, 0)


def test_the_path_flag_is_the_table_that_the_file_would_hold() -> None:
    assert parse_path_flag("lte:20mbit, 40ms,queue=200,down.rate=10mbit,down.loss=1%") == {
        "name": "lte",
        "rate": "20mbit",
        "delay": "40ms",
        "queue": "200",
        "down": {"rate": "10mbit", "loss": "1%"},
    }


def test_the_key_text_is_canonical_and_can_be_read_back(file: Path) -> None:
    base = load(file, WIFI + LTE).base
    text = base.key_text()
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) == text
    assert sc.Scenario.model_validate_json(text) == base
    assert base.with_(seed=2).key_text() != text
    assert load(file, f"# another comment\n{WIFI}{LTE}").base.key_text() == text


def test_with_changes_what_it_is_told_to_and_nothing_else(file: Path) -> None:
    base = load(file, WIFI).base
    assert base.with_() == base
    changed = base.with_(scheduler=Choice(name="roundrobin"), seed=0)
    assert (changed.scheduler.name, changed.seed) == ("roundrobin", 0)
    assert changed.paths == base.paths


def test_a_baseline_is_plain_tcp_over_one_path(file: Path) -> None:
    base = load(file, f'scheduler = "roundrobin"\n{WIFI}{LTE}').base
    baseline = base.single_path("lte")
    assert baseline.paths == base.paths[1:]
    assert (baseline.transport, baseline.scheduler.name) == ("tcp", "default")
    with pytest.raises(ValueError, match="no path is named 'dsl'"):
        base.single_path("dsl")


EVENT = '[[event]]\nat = "3s"\npath = "wifi"\naction = "down"\n'


def test_events_are_resolved_in_the_order_of_time(file: Path) -> None:
    later = EVENT.replace("down", "up").replace("3s", "4.5s")
    assert load(file, WIFI + LTE + later + EVENT).base.events == (
        sc.Event(at_ns=3 * SECOND, path="wifi", action="down"),
        sc.Event(at_ns=4500 * MS, path="wifi", action="up"),
    )


def test_event_flags_replace_the_events_of_the_file(file: Path) -> None:
    flags = Flags(event=["1s:lte:close"])
    assert [e.path for e in load(file, WIFI + LTE + EVENT, flags).base.events] == ["lte"]


def test_a_sized_workload_takes_events_at_any_time(file: Path) -> None:
    workload = '[workload]\nsize = "1GB"'
    assert load(file, WIFI + LTE + EVENT.replace("3s", "80000s") + workload).base.events


def test_the_event_flag_is_the_table_that_the_file_would_hold() -> None:
    assert flags.parse_event_flag(" 3s : lte:down") == {"at": "3s", "path": "lte", "action": "down"}


def test_what_is_kept_is_part_of_the_run_and_not_of_its_baseline() -> None:
    flags = Flags(path=["a:1mbit,1ms"], scheduler="redundant", pcap=True, decisions=True)
    base = from_flags(flags, known=KNOWN).base
    assert (base.pcap, base.trace) == (True, True)
    alone = base.single_path("a")
    assert (alone.pcap, alone.trace) == (True, False)


def test_schedulers_have_parameters_and_come_from_files(file: Path) -> None:
    mine = file.with_name("mine.c")
    mine.write_text('static struct mps_ops ops = { .name = "mine" };')
    text = f'scheduler = ["roundrobin:num_segments=2", "roundrobin", "mine.c"]\n{WIFI}'
    request = load(file, text)
    assert [choice.label for choice in request.schedulers] == [
        *("roundrobin:num_segments=2", "roundrobin", "mine")
    ]
    assert dict(request.sources) == {"mine": mine}


def test_all_stands_for_every_scheduler_of_the_lab(file: Path) -> None:
    request = load(file, f'scheduler = ["all", "roundrobin:num_segments=2"]\n{WIFI}')
    assert [choice.label for choice in request.schedulers] == [*KNOWN, "roundrobin:num_segments=2"]
    line = problem(file, f'scheduler = "all"\n{WIFI}', single=True)
    assert line.endswith("3 schedulers, where one is expected; mptcplab compare takes several")
    line = problem(file, f'scheduler = ["all", "redundant"]\n{WIFI}')
    assert line.endswith('scheduler = "redundant": named twice')


def test_the_key_has_every_parameter_and_what_a_file_holds_but_not_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []
    for folder, text in (("a", ""), ("b", ""), ("c", "/* changed */")):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("mine.c").write_text(f'static struct mps_ops ops = {{ .name = "mine" }};{text}')
        base = from_flags(Flags(path=["p:1mbit,1ms"], scheduler="./mine.c"), known=KNOWN).base
        keys.append(base.key_text())
        assert sc.Scenario.model_validate_json(keys[-1]) == base
    assert keys[0] == keys[1] != keys[2]
    base = from_flags(Flags(path=["p:1mbit,1ms"], scheduler="roundrobin"), known=KNOWN).base
    assert '"cwnd_limited"' in base.key_text()


# Mistakes. Each is one line; the whole message is looked at in the test after them.


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('sheduler = "x"', ': unknown key; did you mean "scheduler"? accepted'),
        ('zzz = "x"', ": unknown key; accepted here: scheduler, cc, kernel, transport, seed,"),
        ('duration = "1s"', ": unknown key here; duration goes in [workload]"),
        ('scheduler = "roundrobbin"', ': unknown scheduler; did you mean "roundrobin"? known: def'),
        ('scheduler = "x"', ": unknown scheduler; known: default, redundant"),
        ('scheduler = ["default", "default"]', 'scheduler = "default": named twice'),
        (
            'scheduler = ["roundrobin", "roundrobin:num_segments=1"]',
            'scheduler = "roundrobin:num_segments=1": named twice',
        ),
        ('scheduler = "roundrobin:num_segments=0"', ': "0": num_segments is a whole number from 1'),
        ('scheduler = "./none.c"', ": there is no such file"),
        ("event = 3", ": a number; each event is a table of its own, headed [[event]]"),
        ("event = {}", ": a single table; each event is a table of its own, headed"),
        ("event = [3]", "event[1] = 3: a number, where a table is needed, with at, path and act"),
        ("scheduler = []", ": a scheduler is a name, or a list of names"),
        ("scheduler = [1]", ": a scheduler is a name, or a list of names"),
        ('cc = ["reno", "cubik"]', ': "cubik": cc (congestion control) is'),
        ('cc = ["lia", "lia"]', ': "lia" is named twice'),
        ("cc = []", ": cc is a name, or a list of names"),
        ("cc = 3", ": cc (congestion control) is cubic, reno"),
        ('cc = "cubik"', ": cc (congestion control) is cubic, reno, bbr, vegas, "),
        ('transport = "udp"', ": a transport is mptcp or tcp"),
        ("transport = {}", ": a transport is mptcp or tcp"),
        ("seed = -1", ": a seed is a whole number from 0 to 4294967295"),
        ("seed = 4294967296", ": a seed is a whole number from 0 to"),
        ('seed = "1"', ": a seed is a whole number"),
        ("seed = true", ": a seed is a whole number"),
        ("repeat = 0", ": repeat is a whole number from 1 to 10000"),
        ("repeat = 1.5", ": repeat is a whole number"),
        ("seed = 4294967295\nrepeat = 2", "repeat = 2: the last seed would be 4294967296; the lar"),
        ('send_buffer = "1KiB"', ": out of range; a send buffer is 4KiB to 1G"),
        ('send_buffer = "Auto"', ": not a number; a send buffer is a number of"),
        ("receive_buffer = false", ": true or false; a receive buffer is"),
        ('sample_interval = "1us"', ": out of range; a sample interval is"),
        ('endpoints = "mesh"', ": endpoints is signal, subflow or fullmesh"),
        ('blackhole_timeout = "1.5s"', ": a blackhole_timeout is in whole seconds, 0s to 86400s"),
        ('blackhole_timeout = "90000s"', ": out of range; a blackhole_timeout is 0s to 86400s"),
        ('sample_interval = "21s"', ": longer than the duration; nothing would be sampled"),
        ("workload = 3", ": a number, where a table is needed, with keys such as"),
        ('workload.kind = "x"', ": the kind of a workload is bulk"),
        ('workload.duration = "1ms"', ": out of range; a duration is 100"),
        ("workload.size = 0", ": out of range; a size is 1B to 1TB"),
        ('workload = {duration = "1s", size = 1}', "workload.size = 1: duration and size are both"),
        (
            'workload = {duration = "1s", warmup = "1s"}',
            'workload.warmup = "1s": it must be shorter than the duration, which is 1s',
        ),
        ('workload.warmup = "20s"', ": it must be shorter than the duration"),
        ('workload = {size = 9, warmup = "1s"}', 'workload.warmup = "1s": a workload of a given s'),
    ],
)
def test_a_mistake_is_named_with_key_value_and_what_is_accepted(
    file: Path, text: str, line: str
) -> None:
    expected = f"{text}{line}" if line.startswith(": ") else line
    assert problem(file, f"{text}\n{WIFI}").startswith(expected)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("delay = 10", ": no unit; a delay is a number with ns, us, ms or s"),
        ('delay = "10"', ": no unit; a delay"),
        ('delay = "11s"', ": out of range; a delay is 0s to 10s"),
        ('delay = ["10ms"]', ": a list; a delay is 0s to 10s"),
        ("delay = {}", ": a table; a delay"),
        ("delay = inf", ": out of range; a delay"),
        ("delay = 10:00:00", ": a date or time; a delay"),
        ("rate = nan", ": out of range; a rate is 1kbit to 100gbit"),
        ('rate = "0"', ": out of range; a rate"),
        ('rate = "200gbit"', ": out of range; a rate"),
        (f"rate = 0x{'f' * 5000}", ".rate = 0xffffffff"),
        ('name = "wi fi"', ": a name is 1 to 32 letters, digits, - or _"),
        ('name = "wifi\\n"', ": a name is"),
        ("name = []", ": a name is"),
        ("name =", '.name: missing; every path has a name, e.g. "wifi"'),
        ("delay =", '.delay: missing; every path has a delay, e.g. "10ms"'),
        ('loss = "100%"', ": out of range; a loss is 0% to less tha"),
        ("queue = 0", ": out of range; a queue is 1 to 1000"),
        ('jitter = "11ms"', ": more than the delay of 1"),
        ("up = 3", ": a number, where a table is needed, with k"),
        ("up.rte = 3", ': unknown key; did you mean "rate"?'),
        ("bandwith = 3", ': unknown key; did you mean "rat'),
        ("seed = 3", ": unknown key here; seed goes at the top"),
        ('up.delay = "1ms"\nup.jitter = "2ms"', '.up.jitter = "2ms": more than the delay of 1ms; '),
        ('queue = "1KB"', ": out of range; a queue is 1514B to 1GB"),
        ('queue = "9K"', ": unknown unit 'K'; a queue is a whole number of"),
        ('queue = "30KB"\nqueue_discipline = "codel"', '.queue = "30KB": codel counts packets; a '),
        ('queue = "30KB"\nqueue_discipline = "netem"', '.queue = "30KB": netem counts packets; a '),
        ('queue = 20\nqueue_discipline = "red"', ".queue = 20: red needs at least 24 packets of 1"),
        ('queue_discipline = "fqcodel"', ": a queue_discipline is netem, droptail, codel, fq_code"),
        ('bottleneck = "client"', ": a bottleneck is router or host"),
        (
            'loss = "1%"\nloss_burst = 5\nloss_correlation = "25%"',
            '.loss_correlation = "25%": loss_burst is another model; give one of the two',
        ),
        ('loss = "1%"\nloss_correlation = "100%"', '.loss_correlation = "100%": every packet woul'),
        (
            'loss = "1%"\nloss_bad = "50%"',
            '.loss_bad = "50%": a loss has two states only with a loss',
        ),
        (
            'loss = "1%"\nloss_burst = 5\nloss_good = "2%"\nloss_bad = "2%"',
            '.loss_good = "2%": loss_good is less than loss_bad',
        ),
        # at most 5 of 6 packets are in the bad state
        (
            'loss = "50%"\nloss_burst = 5\nloss_bad = "30%"',
            '.loss = "50%": a mean loss of 50% is impossible: with this loss_burst, '
            "loss_good and loss_bad it is 0% to 25%",
        ),
        (
            'loss_burst = 5\nup.loss_good = "1%"',
            ".loss: a mean loss of 0% is impossible: with this loss_burst, loss_good and loss_bad "
            "it is 1% to 83.5%",
        ),
        ('reorder_by = "1ms"', ": no packet overtakes others"),
        ('reorder = "1%"\nreorder_by = "11ms"', '.reorder_by = "11ms": reorder_by is more than 0 '),
        ('reorder = "1%"\nup.delay = 0', '.reorder = "1%": without a delay nothing can be overtak'),
        (
            'reorder = "1%"\njitter = "5ms"\nreorder_by = "6ms"',
            '.jitter = "5ms": jitter and reorder_by, which is 6ms, are together at most the delay '
            "of 10ms",
        ),
        ("drop = []", ": the numbers of packets are expected, from 1, and ranges"),
        ('drop = ["x"]', ": the numbers of packets are expected"),
        ("drop = [0]", ": 0: not 1 to 1000000000, the smaller number first"),
        ('drop = "9-7"', ": 9-7: not 1 to 1000000000, the smaller number"),
        ('drop = [5, "3-6"]', ": packet 5 is named twice"),
        (f"drop = {list(range(1, 130))}", ".drop = [1, 2, 3, ...]: 129 numbers and ranges; at mos"),
    ],
)
def test_a_mistake_in_a_path_is_named(file: Path, keys: str, line: str) -> None:
    given = {key.strip(): key for key in WIFI.splitlines()[1:]}
    lines = {text.partition(" ")[0]: text for text in (*given, *keys.split("\n"))}
    text = "\n".join(["[[path]]", *(each for each in lines.values() if each[-1] != "=")])
    expected = f"path[1].{keys}{line}" if line.startswith(": ") else f"path[1]{line}"
    assert problem(file, text).startswith(expected)


def test_a_path_has_a_version_of_ip(file: Path) -> None:
    for value, ip in (('"4"', "4"), ("4", "4"), ("6", "6"), ('"6"', "6"), ('"both"', "both")):
        assert load(file, f"{WIFI}ip = {value}\n").base.paths[0].ip == ip
    # what is the default is not written, so that the keys of stored runs are as they were
    text = load(file, f"{WIFI}ip = 4\n").base.key_text()
    assert text == load(file, WIFI).base.key_text()
    assert '"ip"' not in text
    for value in ('"5"', "true", "46", '"v6"'):
        assert problem(file, f"{WIFI}ip = {value}\n").endswith("a version of IP is 4, 6 or both")
    assert from_flags(Flags(path=["a:1mbit,1ms,ip=both"])).base.paths[0].version == "6"


def test_a_loss_that_two_states_cannot_have_is_refused_of_an_event_too(file: Path) -> None:
    event = '[[event]]\nat = "1s"\npath = "wifi"\naction = "change"\ndown.loss = "60%"\n'
    line = problem(file, f"{WIFI}loss_burst = 1\n{event}")
    assert line.startswith('event[1].down.loss = "60%": a mean loss of 60% is impossible')


def test_queues_have_the_limits_of_their_disciplines(file: Path) -> None:
    def queue(keys: str) -> tuple[str, int | None, int | None]:
        link = load(file, f"{WIFI}{keys}\n").base.paths[0].up
        return link.queue_discipline, link.queue_packets, link.queue_bytes

    # 50 Mbit/s x 20 ms = 125,000 bytes = 82.6 packets of 1514 bytes
    assert queue("") == ("netem", 83, None)
    assert queue('queue = "300KB"') == ("droptail", None, 300_000)
    assert queue('queue = "300KB"\nqueue_discipline = "red"') == ("red", None, 300_000)
    assert queue('queue_discipline = "droptail"') == ("droptail", 83, None)
    assert queue('queue_discipline = "codel"') == ("codel", 1000, None)
    assert queue('queue_discipline = "fq_codel"') == ("fq_codel", 10_240, None)
    assert queue('queue_discipline = "pie"\nqueue = 50') == ("pie", 50, None)
    assert queue('queue_discipline = "red"') == ("red", 4 * 83, None)


def test_packets_to_be_lost_are_a_list_or_a_text(file: Path) -> None:
    listed = load(file, f'{WIFI}drop = [17, "100-120", 5]\nup.drop_acks = [1]\n').base.paths[0]
    assert listed.up.drop == ((5, 5), (17, 17), (100, 120))
    assert (listed.up.drop_acks, listed.down.drop_acks) == (((1, 1),), ())
    flags = from_flags(Flags(path=["wifi:50mbit,10ms,drop=17+100-120+5"]), known=KNOWN)
    assert flags.base.paths[0].down.drop == listed.up.drop


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "path: missing; 1 to 8 paths are needed"),
        ("path = []", "path = []: missing; 1 to 8 paths are needed"),
        ("path = {}", "path = {}: a single table; each path is a table of its own, headed [[path]"),
        (WIFI.replace("[[path]]", "[path]"), "path = {...}: a single table; each path is a table"),
        ('path = "wifi"', 'path = "wifi": text; each path is a table of its own'),
        ("path = [3]", "path[1] = 3: a number, where a table is needed, with name, rate and del"),
        (WIFI + WIFI, 'path[2].name = "wifi": also the name of path[1]; names are unique'),
        (
            "".join(WIFI.replace("wifi", f"w{i}") for i in range(9)),
            "path = [{...}, {...}, {...}, ...]: 9 paths; at most 8 are possible",
        ),
        (f'transport = "tcp"\n{WIFI}{LTE}', 'transport = "tcp": plain TCP runs over exactly one p'),
        (
            f'transport = "tcp"\nscheduler = "roundrobin"\n{WIFI}',
            'scheduler = "roundrobin": plain TCP has no scheduler; leave it out',
        ),
    ],
)
def test_a_mistake_in_the_number_of_paths_is_named(file: Path, text: str, line: str) -> None:
    assert problem(file, text).startswith(line)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('at = "3s"\n', "", 'event[1].at: missing; every event has at, e.g. "3s"'),
        ('path = "wifi"\n', "", 'event[1].path: missing; every event has path, e.g. "lte"'),
        ('"down"', '"off"', 'event[1].action = "off": an action is down, up, unplug, close, chan'),
        ('"down"', '"handver"', 'event[1].action = "handver": an action is down, up, unplug, clos'),
        ('"wifi"', '"wify"', 'event[1].path = "wify": unknown path; did you mean "wifi"? the pat'),
        ('"wifi"', "3", "event[1].path = 3: a name is 1 to 32"),
        ('"3s"', '"20s"', 'event[1].at = "20s": it must be before the end of the workload, at 2'),
        ('"3s"', "3", "event[1].at = 3: no unit; the time of an event"),
        ('"3s"', '"3s"\nrate = "1mbit"', 'event[1].rate = "1mbit": down changes no value; the'),
        ('"3s"', '"3s"\nup.loss = "1%"', 'event[1].up.loss = "1%": down changes no value; the '),
        ('"3s"', '"3s"\nqueue = 5', "event[1].queue = 5: unknown key here; queue goes in [[path"),
        ('"down"', '"change"', "event[1].rate: missing; a change has a new rate, delay, jitter"),
        ('"3s"', '"3s"\ncross = "1mbit"', 'event[1].cross = "1mbit": down changes no value; the '),
        ('"down"', '"change"\ncross = "x2"', 'event[1].cross = "x2": not a number; a rate of cros'),
        ('"down"', '"change"\nup.cross = "1"', 'event[1].up.cross = "1": '),
        ('"down"', '"change"\nrate = "x"', 'event[1].rate = "x": not a number; a rate is a numb'),
        ('"down"', '"change"\nrate = "x0"', 'event[1].rate = "x0": out of range; a factor is x0.0'),
        ('"down"', '"change"\ndelay = "x-1"', 'event[1].delay = "x-1": '),
        ('"down"', '"down"\nevery = "2s"', 'event[1].every = "2s": it would not be over when it'),
        ('"down"', '"down"\nevery = "2s"\nlasts = "2s"', 'event[1].every = "2s": it must be '),
        ('"down"', '"up"\nlasts = "2s"', 'event[1].lasts = "2s": up cannot be undone'),
        ('"down"', '"close"\nevery = "2s"', 'event[1].every = "2s": it would not be over when it'),
        ('"down"', '"unplug"', "event[1].lasts: missing; unplug has an end; say how long it las"),
        ('"down"', '"unplug"\nlasts = "2"', 'event[1].lasts = "2": no unit; how long an event l'),
        ('"down"', '"down"\nrandom = true', "event[1].random = true: nothing repeats here"),
        ('"down"', '"down"\nrandom = 7', "event[1].random = 7: true or false is expected"),
        ('"down"', '"handover"\nevery = "0s"', 'event[1].every = "0s": out of range; the period'),
        ('"3s"', '"3s"\nacton = "up"', 'event[1].acton = "up": unknown key; did you mean "actio'),
        ('"down"', '"up"', 'event[1].action = "up": path wifi is up already'),
    ],
)
def test_a_mistake_in_an_event_is_named(file: Path, old: str, new: str, line: str) -> None:
    assert problem(file, WIFI + LTE + EVENT.replace(old, new)).startswith(line)


@pytest.mark.parametrize(
    ("events", "line"),
    [
        (["3s:a:down", "1s:a:down"], 'event[1].action = "down": path a is down already since 1s'),
        (["1s:a:down", "2s:a:up,every=3s"], 'event[2].every = "3s": up happens once; leave it out'),
        (["1s:a:down", "2s:a:up", "3s:a:up"], 'event[3].action = "up": path a is up already sin'),
        (["1s:a:close", "2s:a:close"], 'event[2].action = "close": path a is closed since 1s'),
        (["1s:a:close", "2s:a:up"], 'event[2].action = "up": path a is closed since 1s'),
        (["1s:a:close", "2s:b:down"], 'event[2].action = "down": no path would be up and open a'),
        (["1s:a:down", "2s:b:down"], 'event[2].action = "down": no path would be up and open a'),
        (["3s:a"], 'event[1] = "3s:a": an event is TIME:PATH:ACTION[,KEY=VALUE...], e.g. 3s:'),
        (["3s:a:down:x"], 'event[1].action = "down:x": an action is down, up, unplug'),
        (["3s:a:down,x"], 'event[1] = "3s:a:down,x": "x" is not KEY=VALUE; an event is TIME'),
        (["3s:a:down,lasts="], 'event[1] = "3s:a:down,lasts=": "lasts=" is not KEY=VALUE'),
        (["3s:a:down,at=2s"], 'event[1] = "3s:a:down,at=2s": "at" is given twice'),
        (["5:a:down"], 'event[1].at = "5": no unit'),
        (["1s:a:rebind"], 'event[1].action = "rebind": its router translates no addresses; a path'),
        (["1s:a:reboot"], "event[1].lasts: missing; reboot has an end; say how long it lasts"),
        (["before:a:up"], 'event[1].action = "up": path a is up already'),
        (["1s:a:lose", "2s:a:up"], 'event[2].action = "up": path a has no address since 1s'),
        (["1s:a:lose", "2s:b:down"], 'event[2].action = "down": no path would be up and open a'),
        (["1s:a:lose,every=2s"], 'event[1].every = "2s": it would not be over when it happens'),
        (["1s:a:remove"], 'event[1].action = "remove": the client has no endpoints; give it some'),
        (["1s:a:backup", "2s:a:lose"], 'event[2].action = "lose": backup and regular are flags'),
        (
            [f"{i}ms:a:{'up' if i % 2 else 'down'}" for i in range(34)],
            "event = [{...}, {...}, {...}, ...]: 34 events; at most 32 are possible",
        ),
    ],
)
def test_events_that_cannot_follow_each_other_are_named(events: list[str], line: str) -> None:
    (found,) = flag_problems(Flags(path=["a:1mbit,1ms", "b:1mbit,1ms"], event=events))
    assert found.startswith(f"--event: {line}")


def test_an_end_without_endpoints_has_no_events_of_them() -> None:
    flags = Flags(path=["a:1mbit,1ms", "b:1mbit,1ms"], endpoints="subflow", event=["1s:b:close"])
    (found,) = flag_problems(flags)
    assert found.startswith('--event: event[1].action = "close": with endpoints = subflow the se')
    own = replace(flags, event=["1s:b:backup", "2s:b:renumber,every=1s", "3s:b:remove,lasts=1s"])
    assert [each.action for each in from_flags(own, known=KNOWN).base.events] == [
        *("backup", "renumber", "remove"),
    ]


def test_a_nat_and_a_middlebox_are_a_path_s() -> None:
    flags = Flags(
        path=["a:link=l,nat_timeout=2s,ip=6", "b:link=l,nat_timeout=0s"],
        link=["l:1mbit,1ms"],
        event=["1s:link=l:change,up.middlebox=drop"],
    )
    assert [line.partition("; ")[0] for line in flag_problems(flags)] == [
        '--path: path.b.nat_timeout = "0s": out of range',
        '--path: path.a.nat_timeout = "2s": addresses of IPv6 are not translated',
        '--event: event[1].up.middlebox = "drop": the router of a path is the middlebox',
    ]
    wrong = Flags(path=["a:1mbit,1ms,nat_timeout=2s"], event=["1s:a:rebind,lasts=1s"])
    (found,) = flag_problems(wrong)
    assert found.startswith('--event: event[1].lasts = "1s": rebind cannot be undone; leave it out')
    wrong = Flags(path=["a:1mbit,1ms,up.middlebox=stripp"])
    (found,) = flag_problems(wrong)
    assert found.endswith('a middlebox is none, strip or drop; did you mean "strip"?')


def test_paths_may_all_be_down_for_a_while() -> None:
    events = ["1s:a:down", "2s:b:down", "3s:a:up"]
    flags = Flags(path=["a:1mbit,1ms", "b:1mbit,1ms"], event=events)
    assert len(from_flags(flags, known=KNOWN).base.events) == 3


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (Flags(event=["1s:a:close"]), '--event: event[1].action = "close": plain TCP has one path'),
        (Flags(event=["1s:a:down"]), '--event: event[1].action = "down": no path would be'),
        (Flags(event=["1s:a:renumber"]), '--event: event[1].action = "renumber": plain TCP has o'),
        (Flags(decisions=True), "--decisions: plain TCP has no scheduler, so it has no decisions "),
    ],
)
def test_what_plain_tcp_cannot_is_named(flags: Flags, line: str) -> None:
    changed = replace(flags, path=["a:1mbit,1ms"], transport="tcp")
    (found,) = flag_problems(changed)
    assert found.startswith(line)


def test_decisions_of_upstream_s_scheduler_are_not_recorded() -> None:
    (found,) = flag_problems(Flags(path=["a:1mbit,1ms"], decisions=True))
    assert found.startswith(
        "--decisions: the decisions of default, upstream's scheduler, are not rec"
    )


def test_two_files_of_one_name_are_two_schedulers(tmp_path: Path) -> None:
    specs = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.c").write_text('struct mps_ops o = { .name = "mine" };')
        specs.append(str(tmp_path / folder / "mine.c"))
    found = flag_problems(Flags(path=["a:1mbit,1ms"], scheduler=",".join(specs)))
    assert "is another scheduler of the same name; rename one of them" in found[0]


def test_a_wrong_delay_is_not_compared_with_the_jitter(file: Path) -> None:
    line = problem(file, f'{WIFI}[path.up]\ndelay = "30"\njitter = "20ms"')
    assert line.startswith('path[1].up.delay = "30": no unit')


def test_all_mistakes_are_told_together_each_where_it_was_made(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    text = f'cc = "qubic"\nsped = 1\n{WIFI}{LTE}'.replace("wifi", "lte").replace("40ms", "-4ms")
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_file(file, Flags(seed="x", duration="5", scheduler="nope"), known=KNOWN)
    text = caught.value.told()
    assert text.replace(str(file), "bad.toml") == (
        "mptcplab: 4 mistakes in bad.toml\n"
        '  cc = "qubic": cc (congestion control) is cubic, reno, bbr, vegas, balia, lia, '
        'olia or wvegas; did you mean "cubic"?\n'
        '  path[2].delay = "-4ms": negative; a delay is a number with ns, us, ms or s, e.g. 10ms\n'
        '  sped = 1: unknown key; did you mean "seed"? accepted here: scheduler, cc, kernel, '
        "transport, seed, seed_delay, vary, repeat, send_buffer, receive_buffer, sample_interval, "
        "endpoints, blackhole_timeout, "
        "path, link, connection, event, workload\n"
        '  path[2].name = "lte": also the name of path[1]; names are unique\n'
        "mptcplab: 1 mistake in --seed\n"
        '  "x": a seed is a whole number from 0 to 4294967295\n'
        "mptcplab: 1 mistake in --duration\n"
        '  "5": no unit; a duration is a number with ns, us, ms or s, e.g. 10ms\n'
        "mptcplab: 1 mistake in --scheduler\n"
        '  "nope": unknown scheduler; known: default, redundant, roundrobin; '
        "a file of your own ends in .c, e.g. ./mine.c"
    )


# Flags


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("home", '"home": no colon after the name, and it is not the name of a preset; presets: w'),
        ("wifi:1mbit,1ms,9", '"wifi:1mbit,1ms,9": "9" is not KEY=VALUE; a path is'),
        ("wifi:1mbit,1ms,", '"wifi:1mbit,1ms,": "" is not KEY=VALUE'),
        ("wifi:1mbit,1ms,queue=", '"wifi:1mbit,1ms,queue=": "queue=" is not KEY=VALUE'),
        ("wifi:1mbit,1ms,rate=2mbit", '"wifi:1mbit,1ms,rate=2mbit": "rate" is given twice'),
        ("a:1mbit,1ms,up=1,up.loss=0", '"a:1mbit,1ms,up=1,up.loss=0": "up.loss" is given twice'),
        ("wifi:1mbit", 'path.wifi.delay: missing; every path has a delay, e.g. "10ms"'),
        ("wifi:1mbit,1ms,dely=2", 'path.wifi.dely = "2": unknown key; did you mean "delay"?'),
        ("wifi:1mbit,1ms,seed=2", 'path.wifi.seed = "2": unknown key; '),
        ("wifi:1mbit,1ms,up.x.y=2", 'path.wifi.up.x.y = "2": unknown key; accepted here: rate'),
        (":1mbit,1ms", '.name = "": a name is 1 to 32 letters'),
        ("wifi\udcff:1mbit,1ms", '.name = "wifi\\udcff": not UTF-8 text'),
    ],
)
def test_a_mistake_in_a_path_flag_is_named(path: str, line: str) -> None:
    (found,) = flag_problems(Flags(path=["ok:1mbit,1ms", path]))
    # a path with a proper name is named as in the flag
    place = "" if line.startswith("path.") else "path[2]" if line.startswith(".") else "path[2] = "
    start = f"--path: {place}"
    assert found.startswith(start + line)


def test_no_path_flag_at_all_is_said_with_an_example() -> None:
    (found,) = flag_problems(Flags())
    assert found.startswith("the command line: path: missing; 1 to 8 paths are needed")
    assert found.endswith("--path wifi:50mbit,10ms")


def test_duration_and_size_flags_exclude_each_other() -> None:
    flags = Flags(path=["a:1mbit,1ms"], duration="1s", size="1MB")
    (found,) = flag_problems(flags)
    assert found == '--size: "1MB": duration and size are both given; give one of them'


def test_a_mistake_in_the_file_is_masked_by_the_flag_that_replaces_it(file: Path) -> None:
    assert load(file, f"seed = -1\n{WIFI}", Flags(seed="4")).base.seed == 4


# Files that cannot be read


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("rate = 50mbit", 'line 1: rate = 50mbit: not valid TOML: text goes in quotes: rate = "50'),
        ("\r\nname = wifi # x", "line 2: name = wifi # x: not valid TOML: text goes in quotes: "),
        ("a = 1\nb =\nc = 3", "line 2: b =: not valid TOML: invalid value"),
        ("[workload\n", "line 1: [workload: not valid TOML: expected ']'"),
        ("seed = 0x1\nseed = 0x2\n", "line 2: seed = 0x2: not valid TOML: cannot overwrite a va"),
        ("a = [[", "not valid TOML: Invalid value (at end of document)"),
        ("a = " + "[" * 5000, "a number with thousands of digits, or too many"),
        ("seed = " + "9" * 5000, "a number with thousands of digits, or too many"),
        ("# " + "x" * 2**20, "larger than 1 MiB; a short TOML file is expected"),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_the_line(file: Path, text: str, line: str) -> None:
    file.write_bytes(text.encode())
    with pytest.raises(InputError) as caught:
        load_file(file, known=KNOWN)
    (found,) = caught.value.problems
    assert found.where == str(file)
    assert str(found).startswith(line)


def test_a_scheduler_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a scheduler, where .* --scheduler takes it"):
        load_file(tmp_path / "mine.c", known=KNOWN)


def test_a_file_that_is_not_utf_8_is_told_with_the_line(file: Path) -> None:
    file.write_bytes(b'# M\xc3\xbcnchen\nname = "M\xfcnchen"\n')
    with pytest.raises(InputError, match=r"line 2: not UTF-8 text \(byte 0xfc\)"):
        load_file(file, known=KNOWN)


def test_a_byte_order_mark_is_no_mistake(file: Path) -> None:
    assert load(file, "\ufeff" + WIFI).base.paths[0].name == "wifi"


def test_a_missing_file_and_a_directory_are_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        load_file(tmp_path / "none.toml", known=KNOWN)
    with pytest.raises(InputError, match="this is a directory; a short TOML file is expected"):
        load_file(tmp_path, known=KNOWN)
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        load_file(Path(__file__) / "x.toml", known=KNOWN)


def test_flags_are_checked_also_when_the_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_file(tmp_path / "none.toml", Flags(path=["wifi:1mbit"], seed="x"), known=KNOWN)
    assert [found.where for found in caught.value.problems][1:] == ["--seed", "--path"]


# The schema, and every other file that a person may think of


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def everything(node: Any) -> list[dict[str, Any]]:
    """Every object in a JSON document."""
    if isinstance(node, dict):
        return [node, *(found for child in node.values() for found in everything(child))]
    if isinstance(node, list):
        return [found for child in node for found in everything(child)]
    return []


def test_every_key_in_the_schema_is_described_and_documented() -> None:
    page = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
    named = set(re.findall("`[^`\n]+`", page))
    for node in everything(json_schema()):
        for key, described in node.get("properties", {}).items():
            assert described.get("description"), key
            assert {f"`{key}`", f"`[[{key}]]`", f"`[{key}]`"} & named, key
            assert described.get("default", "") is not None, key


def test_the_examples_and_defaults_in_the_schema_are_accepted_by_it(validator: Any) -> None:
    for node in everything(json_schema()):
        for key, described in node.get("properties", {}).items():
            defaults = [described["default"]] if "default" in described else []
            for value in [*described.get("examples", []), *defaults]:
                assert not list(validator.evolve(schema=described).iter_errors(value)), (key, value)


TEXTS = (
    "50mbit 1kbit 0 10ms 0ms 1.5s 0.0 5 300p 64KiB 1% auto default roundrobin cubic tcp bulk cbr "
    "video wifi up x.c roundrobin:num_segments=2 roundrobin:x : 5+17+9-10 3-1 30KB codel droptail "
    "red host 100% -5ms 10 nan 50mbps 1e3 x"
)
SEVERAL = st.one_of(
    st.sampled_from([*TEXTS.split(), ""]),
    st.integers(-1, 70_000),
    st.sampled_from(
        [0.0, 0.01, 0.5, 1.0, float("nan"), float("inf"), 2**70, True, False, [], {}, [5, "7-9"]]
    ),
    st.just(datetime.date(2024, 1, 1)),
)
KEYS = st.sampled_from([*LiteralDirection.model_fields, "name", "preset", "up", "seed", "dely"])
TOP_KEYS = st.sampled_from(
    [key for key in LiteralScenario.model_fields if key not in ("path", "event", "workload")]
    + ["y"]
)
DIRECTION = st.dictionaries(KEYS, SEVERAL, max_size=3)
PATH = st.dictionaries(KEYS, st.one_of(SEVERAL, DIRECTION), max_size=4).map(
    lambda odd: {"name": "wifi", "rate": "50mbit", "delay": "10ms"} | odd
)
EVENTS = st.dictionaries(st.sampled_from(["at", "path", "action", "x"]), SEVERAL, max_size=2).map(
    lambda odd: {"at": "1s", "path": "wifi", "action": "down"} | odd
)
WORKLOAD = st.dictionaries(
    st.sampled_from([*LiteralWorkload.model_fields, "x"]), SEVERAL, max_size=3
)
FILES = st.builds(
    lambda top, path, event, workload: {**top, "path": path, "event": event, "workload": workload},
    st.dictionaries(TOP_KEYS, st.one_of(SEVERAL, st.lists(SEVERAL, max_size=2)), max_size=2),
    st.one_of(SEVERAL, st.lists(st.one_of(PATH, SEVERAL), max_size=2), st.lists(PATH, max_size=1)),
    st.one_of(SEVERAL, st.lists(st.one_of(EVENTS, SEVERAL), max_size=2), st.just([])),
    st.one_of(WORKLOAD, SEVERAL, st.just({})),
)

# Words that pydantic or Python would use and a person should never read.
FOREIGN = re.compile(r"pydantic|[Ii]nput should|validation|NoneType|Traceback|dict|tuple|valid int")


@PROPERTY
@given(FILES)
def test_any_file_is_either_a_scenario_or_a_list_of_mistakes_in_our_words(
    validator: Any, data: dict[str, Any]
) -> None:
    # What load_file does once the file is read: nothing writes TOML from any data.
    mistakes = Mistakes("scenario.toml")
    mistakes.data = copy.deepcopy(data)
    try:
        request = resolve._request(Flags(), mistakes, KNOWN, False, Path())
    except InputError as error:
        told = str(error)
    else:
        told = ""
        assert request.runs()
        assert not list(validator.iter_errors(data))
    assert not FOREIGN.search(told)


# Resolved scenarios, as runs keep them


def resolved(tmp_path: Path, **flags: Any) -> tuple[Path, sc.Scenario]:
    base = from_flags(
        Flags(path=("wifi:50mbit,10ms", "lte:20mbit,40ms,loss=0.1%"), **flags), known=KNOWN
    ).base
    file = tmp_path / "scenario.json"
    file.write_text(base.model_dump_json())
    return file, base


def test_a_resolved_scenario_is_run_again_as_it_was(tmp_path: Path) -> None:
    file, base = resolved(tmp_path, scheduler="roundrobin:num_segments=3", seed="9", decisions=True)
    request = load_file(file, Flags(decisions=True), known=KNOWN, single=True)
    assert request.runs() == [base]
    # what is kept of a run is not what it is, and is said anew
    assert not load_file(file, known=KNOWN).base.trace


def test_a_resolved_scenario_is_compared_with_other_schedulers_and_seeds(tmp_path: Path) -> None:
    file, base = resolved(tmp_path, event=("3s:lte:down",))
    flags = Flags(scheduler="redundant,default", seed="4", repeat="2")
    runs = load_file(file, flags, known=KNOWN).runs()
    assert [(run.scheduler.name, run.seed) for run in runs] == [
        *(("redundant", 4), ("redundant", 5), ("default", 4), ("default", 5))
    ]
    assert {run.with_(scheduler=base.scheduler, seed=1) for run in runs} == {base}


def test_what_a_resolved_scenario_has_cannot_be_changed_by_flags(tmp_path: Path) -> None:
    file, _ = resolved(tmp_path)
    with pytest.raises(InputError) as caught:
        load_file(file, Flags(cc="reno", path=("a:1mbit,1ms",), seed="x"), known=KNOWN)
    found = [(problem.where, problem.message) for problem in caught.value.problems]
    assert {where for where, _ in found} == {"--path", "--cc", "--seed"}
    assert "scenario.json is resolved; flags change only its schedulers and seeds" in found[0][1]


def test_ones_own_scheduler_is_asked_for(tmp_path: Path) -> None:
    file, base = resolved(tmp_path)
    own = base.with_(scheduler=Choice(name="mine", digest="12"))
    file.write_text(own.model_dump_json())
    with pytest.raises(InputError, match=r"give it as --scheduler \./mine\.c"):
        load_file(file, known=KNOWN)


@pytest.mark.parametrize(
    ("text", "said"),
    [("{}", "paths: Field required"), ("nothing", "Invalid JSON"), (None, "No such file")],
)
def test_what_is_no_resolved_scenario_is_told(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "x.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_file(file, known=KNOWN)
