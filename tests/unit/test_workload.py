# SPDX-License-Identifier: GPL-2.0-only
"""Workloads as messages, and what is wrong with them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError
from mptcplab.plan import plan
from mptcplab.scenario import web_page, workload
from mptcplab.scenario.flags import Flags, parse_workload_flag
from mptcplab.scenario.limits import WORKLOAD_KEYS, WORKLOADS
from mptcplab.scenario.literal import LiteralWorkload
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags, load_file
from mptcplab.scenario.workload import (
    Bulk,
    Cbr,
    Frames,
    Message,
    Requests,
    Transfers,
    Tunnel,
    Video,
    Web,
    messages,
)

MS = 10**6
SECOND = 10**9


def scenario(text: str, **flags: Any) -> Scenario:
    """The scenario with a --workload flag."""
    return from_flags(Flags(path=["a:10mbit,10ms"], workload=text, **flags)).base


def played(text: str, seed: int = 1) -> Sequence[Message]:
    return messages(scenario(text).workload, seed)


def problem(text: str, **flags: Any) -> str:
    with pytest.raises(InputError) as caught:
        scenario(text, **flags)
    (found,) = caught.value.problems
    return f"{found.where}: {found}"


def lines(text: str) -> list[str]:
    """A short form of the messages: connection, direction, sizes, when."""
    found = []
    for m in played(text):
        due = f"at {m.at_ns}" if m.after is None else f"after {m.after} {m.delay_ns}"
        sizes = "|".join(map(str, m.sizes)) or "*"
        found.append(f"{m.connection} {m.direction} {sizes} {due}")
    return found


# Of any kind

SHORT = {
    "bulk": "bulk:duration=1s",
    "transfers": "transfers:count=3",
    "cbr": "cbr:duration=1s",
    "requests": "requests:duration=1s,random=true",
    "web": "web",
    "video": "video:duration=20s",
    "frames": "frames:duration=1s",
    "tunnel": "tunnel:duration=1s",
}


def test_every_kind_has_its_keys_and_every_key_a_kind() -> None:
    assert set(WORKLOAD_KEYS) == set(SHORT)
    keys = {key for keys in WORKLOAD_KEYS.values() for key in keys}
    assert keys | {"kind"} == set(LiteralWorkload.model_fields)


@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_what_a_message_waits_for_comes_before_it(text: str) -> None:
    found = played(text)
    for number, message in enumerate(found, 1):
        assert message.after is None or 1 <= message.after < number
        assert message.delay_ns >= 0
        assert message.at_ns >= 0
    connections = {message.connection for message in found}
    assert connections == set(range(1, len(connections) + 1))


@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_a_scenario_with_it_can_be_read_back_and_gives_the_same_messages(text: str) -> None:
    base = scenario(text)
    again = Scenario.model_validate_json(base.key_text())
    assert again == base
    assert messages(again.workload, 7) == messages(base.workload, 7)


@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_it_runs_over_plain_tcp_too(text: str) -> None:
    base = from_flags(Flags(path=["a:10mbit,10ms", "b:1mbit,1ms"], workload=text)).base
    assert base.single_path("b").workload == base.workload


@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_it_is_guessed_to_take_no_less_than_its_messages(text: str) -> None:
    base = scenario(text)
    load = base.workload
    found = workload.expected_ns(load, 1, 10**7, 10**7)
    assert found >= max(m.at_ns for m in messages(load, 1))
    for direction in ("up", "down"):
        sent = sum(m.sizes[0] for m in messages(load, 1) if m.direction == direction and m.sizes)
        assert found >= sent * 8 * SECOND // 10**7 - len(messages(load, 1))


def test_the_guess_of_a_chain_is_the_sum_of_its_parts() -> None:
    """3 transfers of 1,250,000 bytes at 10 Mbit/s take 1 s each, 2 replies of 1 byte 800 ns."""
    load = scenario("transfers:count=3").workload
    assert workload.expected_ns(load, 1, 10**7, 10**7) == 3 * SECOND + 3 * 800
    video = scenario("video:duration=120s").workload
    # the last request waits until the buffer of 40 s has room
    assert workload.expected_ns(video, 1, 10**9, 10**9) == 80 * SECOND


# Bulk


def test_bulk_is_one_message_in_each_direction() -> None:
    assert lines("bulk") == ["1 up * at 0"]
    assert lines("bulk:size=5,direction=down") == ["1 down 5 at 0"]
    assert lines("bulk:duration=5s,direction=both") == ["1 up * at 0", "1 down * at 0"]


def test_each_of_several_connections_has_the_same_data() -> None:
    assert lines("bulk:connections=2,duration=5s") == ["1 up * at 0", "2 up * at 1000000"]
    assert lines("bulk:connections=2,size=5,interval=3s,direction=both") == [
        "1 up 5 at 0",
        "1 down 5 at 0",
        "2 up 5 at 3000000000",
        "2 down 5 at 3000000000",
    ]


def test_several_connections_open_within_the_warm_up_unless_told_otherwise() -> None:
    assert played("bulk:connections=1000")[-1].at_ns == 999 * MS
    assert played("bulk:connections=1000,duration=1s")[-1].at_ns == 99_900_000
    assert played("bulk:connections=3,duration=1s,interval=400ms")[-1].at_ns == 800 * MS


def test_one_connection_is_as_if_nothing_was_said() -> None:
    assert scenario("bulk:connections=1") == scenario("bulk")
    assert "connections" not in json.loads(scenario("bulk").key_text())["workload"]
    assert "crowd" not in plan.render(scenario("bulk"))


def test_a_crowd_is_sampled_so_often_that_its_records_are_bounded() -> None:
    def interval_ms(text: str, **flags: Any) -> float:
        return scenario(text, **flags).host_interval_ns / MS

    assert interval_ms("bulk") == interval_ms("web") == 10
    assert interval_ms("bulk:connections=10") == 10
    assert interval_ms("bulk:connections=1000") == 1000
    # at least 20 samples of each
    assert interval_ms("bulk:connections=2000") == 1000
    assert interval_ms("bulk:connections=10000,size=1B") == 490
    assert interval_ms("bulk:connections=1000,duration=600s") == 30_000
    assert interval_ms("bulk:connections=1000,size=1B") == 40
    assert interval_ms("bulk:connections=1000", sample_interval="2s") == 2000
    shown = plan.render(scenario("bulk:connections=1000"))
    assert "--sample-interval-ns 10000000 --crowd-interval-ns 1000000000" in shown


def test_the_short_flags_say_what_the_workload_is_too() -> None:
    base = from_flags(Flags(path=["a:1mbit,1ms"], direction="down", size="1MB")).base
    assert base.workload == Bulk(direction="down", size_bytes=10**6, start="at-once")
    base = scenario("cbr:rate=1mbit", size="1KB", duration="2s")
    assert isinstance(base.workload, Cbr)
    assert (base.workload.block_bytes, base.workload.duration_ns) == (1000, 2 * SECOND)


def test_a_workload_flag_replaces_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    path = '[[path]]\nname = "a"\nrate = "1mbit"\ndelay = "1ms"\n'
    file.write_text(f'{path}[workload]\nkind = "frames"\nfps = 30\n')
    flags = Flags(workload="transfers", size="5KB")
    assert load_file(file, flags).base.workload == Transfers(
        transfer_bytes=5000, count=20, interval_ns=None, fresh=False, start="at-once"
    )
    assert isinstance(load_file(file, Flags(duration="5s")).base.workload, Frames)


# When it starts


@pytest.mark.parametrize("kind", sorted({*WORKLOADS} - {"tunnel"}))
def test_every_workload_starts_at_once_unless_all_subflows_are_waited_for(kind: str) -> None:
    assert scenario(kind).workload.start == "at-once"
    fresh = ":fresh=false," if kind == "web" else ":"
    established = scenario(f"{kind}{fresh}start=established")
    assert established.workload.start == "established"
    assert established.key_text() != scenario(f"{kind}{fresh}start=at-once").key_text()


def test_what_was_resolved_before_there_was_a_choice_was_established() -> None:
    old = json.loads(scenario("bulk").key_text())
    del old["workload"]["start"]
    assert Scenario.model_validate_json(json.dumps(old)).workload.start == "established"


@pytest.mark.parametrize("text", ["transfers:fresh=true", "web", "bulk:connections=2"])
def test_a_connection_that_is_opened_when_it_is_needed_has_no_other_start(text: str) -> None:
    joined = f"{text}{',' if ':' in text else ':'}start=established"
    assert problem(joined).startswith(
        '--workload: workload.start = "established": its connections are opened when they are'
    )


def test_the_connections_start_as_the_scenario_does_unless_they_have_a_time() -> None:
    paths = [f"{name}:10mbit,10ms" for name in "abc"]
    own = "b:paths=b,workload.direction=down"
    flags = Flags(
        path=paths, start="established", connection=["a:paths=a", own, "c:paths=c,start=1s"]
    )
    found = [connection.workload.start for connection in from_flags(flags).base.connections]
    assert found == ["established", "established", "at-once"]
    both = ["a:paths=a,start=1s,workload.start=established"]
    with pytest.raises(InputError, match="it is opened at its start"):
        from_flags(Flags(path=paths[:1], connection=both))


# How it writes


@pytest.mark.parametrize("kind", WORKLOADS)
def test_nagles_rule_holds_for_bulk_data_alone_unless_it_is_asked_for(kind: str) -> None:
    assert scenario(kind).workload.no_delay == (kind != "bulk")
    for asked, no_delay in {"true": True, "false": False}.items():
        chosen = scenario(f"{kind}:no_delay={asked}")
        assert chosen.workload.no_delay == no_delay
        word = " tunnel " if kind == "tunnel" else " traffic "
        ends = [line for line in plan.render(chosen).splitlines() if word in line]
        assert [" --no-delay 1" in line for line in ends] == [no_delay, no_delay]
        old = json.loads(chosen.key_text())
        del old["workload"]["no_delay"]
        before = Scenario.model_validate_json(json.dumps(old)).workload.no_delay
        assert before == (kind != "bulk")


# Transfers


def test_transfers_up_wait_for_the_reply_to_the_last() -> None:
    assert lines("transfers:size=9,count=2") == [
        *("1 up 9 at 0", "1 down 1 after 1 0"),
        *("1 up 9 after 2 0", "1 down 1 after 3 0"),
    ]


def test_transfers_down_are_asked_for() -> None:
    assert lines("transfers:size=9,count=2,direction=down,fresh=on") == [
        *("1 up 1 at 0", "1 down 9 after 1 0"),
        *("2 up 1 after 2 0", "2 down 9 after 3 0"),
    ]


def test_transfers_at_an_interval_need_no_reply() -> None:
    assert lines("transfers:size=9,count=2,interval=1s,fresh=on") == [
        *("1 up 9 at 0", "2 up 9 at 1000000000")
    ]


def test_transfers_both_ways_do_not_share_a_connection() -> None:
    for fresh, connections in (("off", [[1], [2]]), ("on", [[1, 3, 5], [2, 4, 6]])):
        found = played(f"transfers:size=9,count=3,direction=both,fresh={fresh}")
        for direction, expected in zip(("up", "down"), connections, strict=True):
            data = [m for m in found if m.label == "transfer" and m.direction == direction]
            assert sorted({m.connection for m in data}) == expected


# Constant rate


def test_blocks_come_at_their_rate_until_the_end() -> None:
    """8000 bytes at 500 kbit/s: every 128 ms; the eighth would be due at 1.024 s."""
    found = played("cbr:duration=1s")
    assert [m.at_ns for m in found] == [i * 128 * MS for i in range(8)]
    assert {m.sizes for m in found} == {(8000,)}


def test_the_rate_does_not_drift_when_the_interval_is_no_whole_number() -> None:
    """1000 bytes at 3 Mbit/s: 8/3 ms; the block after three seconds is due exactly then."""
    found = played("cbr:size=1KB,rate=3mbit,duration=10s")
    assert found[1].at_ns == 2_666_666
    assert found[1125].at_ns == 3 * SECOND


@pytest.mark.parametrize(
    "text",
    [
        "cbr:interval=1ms,duration=100s",
        "cbr:size=125B,rate=1mbit,duration=100s",
        "requests:interval=1ms,duration=50s",
        "frames:fps=200,duration=500s",
        "transfers:count=50000",
        "transfers:count=50000,interval=1ms,direction=down",
    ],
)
def test_the_most_messages_are_possible_and_one_more_is_not(text: str) -> None:
    assert len(played(text)) == workload.MAX_MESSAGES
    if "duration=" in text:
        key, _, value = text.rpartition("duration=")
        longer = f"{key}duration={float(value[:-1]) + 0.1}s"
        assert "messages; at most 100000 are possible" in problem(longer)


def test_an_interval_may_be_given_instead() -> None:
    assert lines("cbr:size=5,interval=100ms,duration=200ms,direction=both") == [
        *("1 up 5 at 0", "1 down 5 at 0", "1 up 5 at 100000000", "1 down 5 at 100000000")
    ]


# Requests


def test_each_request_has_a_response() -> None:
    assert lines("requests:interval=100ms,duration=150ms,request=7,response=9") == [
        *("1 up 7 at 0", "1 down 9 after 1 0"),
        *("1 up 7 at 100000000", "1 down 9 after 3 0"),
    ]


def test_a_closed_loop_thinks_before_the_next() -> None:
    assert lines("requests:think=5ms,count=2,request=7,response=9") == [
        *("1 up 7 at 0", "1 down 9 after 1 0", "1 up 7 after 2 5000000", "1 down 9 after 3 0")
    ]


def test_random_requests_are_exponential_and_follow_from_the_seed() -> None:
    """10,000 gaps with a mean of 1 ms.

    Mean and standard deviation of an exponential are equal; that of the mean of n is 1/100 of it,
    so that 4 % are four of them. e^-1 = 36.8 % of the gaps are longer than the mean, with a
    standard deviation of 0.5 %.
    """
    text = "requests:interval=1ms,random=true,duration=10s"
    times = [m.at_ns for m in played(text) if m.label == "request"]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert abs(len(times) - 10_000) < 400
    assert abs(sum(gaps) / len(gaps) / MS - 1) < 0.04
    deviation = (sum((gap - MS) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert abs(deviation / MS - 1) < 0.08
    assert abs(sum(gap > MS for gap in gaps) / len(gaps) - 0.368) < 0.02
    assert played(text) == played(text)
    assert played(text, seed=2) != played(text)


def test_the_first_random_requests_stay_what_they_are() -> None:
    """They are drawn from whole numbers: another machine, or another release, has the same."""
    found = played("requests:interval=100ms,random=true,duration=1s")
    assert [m.at_ns for m in found if m.label == "request"][:4] == [
        *(0, 72229052, 75971211, 299582137)
    ]


# Web


def test_the_page_of_median_size_has_what_its_source_says() -> None:
    total: dict[str, list[int]] = {}
    for item in web_page.MEDIAN:
        total.setdefault(item.name.split("-")[0], []).append(item.size_bytes)
    assert {kind: (len(sizes), sum(sizes) / 1024) for kind, sizes in total.items()} == {
        "html": (1, 18), "css": (8, 78), "js": (24, 613), "font": (4, 131), "image": (18, 1054),
    }  # fmt: skip


def test_objects_are_asked_for_when_what_names_them_has_arrived(tmp_path: Path) -> None:
    file = tmp_path / "page.toml"
    file.write_text(
        '[[object]]\nname = "a"\nsize = 1000\n'
        '[[object]]\nname = "b"\nsize = 10\ndepends = "a"\ndelay = "5ms"\n'
        '[[object]]\nname = "c"\nsize = 20\ndepends = "b"\n'
        '[[object]]\nname = "d"\nsize = 2000\ndelay = "1ms"\n'
    )
    assert lines(f"web:page={file},connections=2,request=50B") == [
        *("1 up 50 at 0", "1 down 1000 after 1 0"),
        *("2 up 50 after 2 5000000", "2 down 10 after 3 0"),
        *("2 up 50 after 4 0", "2 down 20 after 5 0"),
        *("2 up 50 at 1000000", "2 down 2000 after 7 0"),
    ]


def test_connections_of_a_page_carry_about_as_much() -> None:
    """No connection has more than the mean and an object more: 1894 / 6 + 58.6 KiB."""
    load = dict.fromkeys(range(1, 7), 0)
    for message in played("web"):
        load[message.connection] += message.sizes[0] if message.direction == "down" else 0
    assert sum(load.values()) == 1894 * 1024
    assert max(load.values()) <= (1894 / 6 + 58.6) * 1024


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "object: missing"),
        ("x = 1", "object: missing"),
        ("object = []\nx = 1", "object = []: list should have at least 1 item"),
        ("object = 1", "object = 1: input should be a valid list"),
        ("object = [1]", "object[1] = 1: input should be a valid dictionary"),
        ("[[object]]\nsize = 1", "object[1].name: missing"),
        (
            '[[object]]\nname = ""\nsize = 1',
            'object[1].name = "": every object has a name, of 1 to 100 printable characters',
        ),
        ('[[object]]\nname = "a"', "object[1].size: missing"),
        ('[[object]]\nname = "a"\nsize = "1K"', "object[1].size = \"1K\": unknown unit 'K' (neit"),
        (
            '[[object]]\nname = "a"\nsize = 0',
            "object[1].size = 0: out of range; a size is 1B to 1GB",
        ),
        (
            '[[object]]\nname = "a"\nsize = true',
            "object[1].size = true: true or false; a size is 1B",
        ),
        (
            '[[object]]\nname = "a"\nsize = 1\ndepends = "b"',
            'object[1].depends = "b": not the name of an object before this one',
        ),
        (
            '[[object]]\nname = "a"\nsize = 1\n' * 2,
            'object[2].name = "a": also that of object[1]',
        ),
        (
            '[[object]]\nname = "a"\nsize = 1\nsiz = 1',
            'object[1].siz = 1: unknown key; did you mean "size"? accepted here: name, size,',
        ),
        ('[[object]]\nname = "a"\nsize = 1\ndelay = "5"', 'object[1].delay = "5": no unit'),
        ("[[object]", "not valid TOML: "),
    ],
)
def test_a_mistake_in_a_page_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "page.toml"
    file.write_text(text)
    found = problem(f"web:page={file}")
    assert found.startswith("--workload: workload.page = ")
    assert message in found


def test_a_page_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "this is a directory; a short TOML file" in problem(f"web:page={tmp_path}")
    assert "there is no such file" in problem("web:page=none.toml")


def test_a_page_of_a_scenario_file_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "page.toml").write_text('[[object]]\nname = "a"\nsize = 5\n')
    file = tmp_path / "s.toml"
    path = '[[path]]\nname = "a"\nrate = "1mbit"\ndelay = "1ms"\n'
    file.write_text(f'{path}[workload]\nkind = "web"\npage = "page.toml"\n')
    load = load_file(file).base.workload
    assert isinstance(load, Web)
    assert [item.name for item in load.objects] == ["a"]


# Video


def test_segments_are_there_in_every_bitrate() -> None:
    """1 and 3 Mbit/s for 2 s: 250,000 and 750,000 bytes; 5 s of video are three segments."""
    sizes = "250000|750000"
    assert lines("video:bitrates=1mbit/3mbit,segment=2s,duration=5s,request=9B") == [
        *("1 up 9 at 0", f"1 down {sizes} after 1 0"),
        *("1 up 9 after 2 0", f"1 down {sizes} after 3 0"),
        *("1 up 9 after 4 0", f"1 down {sizes} after 5 0"),
    ]


def test_reservoir_and_cushion_are_the_parts_of_the_buffer_that_they_are_in_the_paper() -> None:
    load = scenario("video").workload
    assert isinstance(load, Video)
    # 90 and 126 of 240 s
    assert (load.buffer_ns, load.reservoir_ns, load.cushion_ns) == (
        *(40 * SECOND, 15 * SECOND, 21 * SECOND),
    )
    small = scenario("video:buffer=20s").workload
    assert isinstance(small, Video)
    # room for 16 s beside the segment that is asked for
    assert (small.reservoir_ns, small.cushion_ns) == (7500 * MS, 8500 * MS)


# Frames


def test_frames_of_a_group_have_the_mean_rate_in_the_ratio() -> None:
    """4 Mbit/s at 25 fps are 240,000 bytes for 12 frames, in 14 + 3 x 5 + 8 x 2 = 45 parts."""
    found = played("frames:duration=1s")
    assert len(found) == 25
    assert [m.at_ns for m in found[:3]] == [0, 40 * MS, 80 * MS]
    assert "".join(m.label[-1] for m in found[:12]) == "IBBPBBPBBPBB"
    assert [m.sizes[0] for m in found[:4]] == [74_666, 10_666, 10_666, 26_666]
    assert 239_980 <= sum(m.sizes[0] for m in found[:12]) <= 240_000
    assert {m.deadline_ns for m in found} == {150 * MS}


def test_a_frame_needs_the_last_i_or_p_frame_before_it() -> None:
    found = played("frames:duration=1s")
    assert [m.needs for m in found[:13]] == [None, 1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, None]
    # so many frames are useless without it, with itself; until the last of them is due
    assert [m.importance for m in found[:12]] == [12, 1, 1, 9, 1, 1, 6, 1, 1, 3, 1, 1]
    assert [m.expires_ns for m in found[:5]] == [590 * MS, 150 * MS, 150 * MS, 470 * MS, 150 * MS]
    # the second group ends early
    assert found[24].importance == 1


def test_frames_need_those_of_their_own_direction() -> None:
    found = played("frames:duration=1s,direction=both")
    assert [m.needs for m in found[:8]] == [None, None, 1, 2, 1, 2, 1, 2]
    for message in found:
        if message.needs is not None:
            assert found[message.needs - 1].direction == message.direction


def test_a_frame_has_room_for_its_number() -> None:
    assert {m.sizes for m in played("frames:rate=1kbit,duration=1s,gop=I,fps=60")} == {(8,)}


def test_thirds_of_a_second_do_not_add_up_to_a_drift() -> None:
    found = played("frames:fps=30,duration=2s")
    assert len(found) == 60
    assert found[30].at_ns == SECOND
    assert found[1].at_ns == 33_333_333


# Tunnel


def test_a_tunnel_carries_bulk_data_and_a_call_each_way() -> None:
    assert lines("tunnel:duration=100ms,interval=50ms,size=20,direction=down") == [
        *("1 down * at 0", "2 up 20 at 0", "2 down 20 at 0"),
        *("2 up 20 at 50000000", "2 down 20 at 50000000"),
    ]
    assert lines("tunnel:duration=100ms,call=none") == ["1 up * at 0"]
    assert lines("tunnel:duration=100ms,bulk=off,interval=60ms,size=9")[2:] == [
        *("1 up 9 at 60000000", "1 down 9 at 60000000")
    ]


def test_a_call_outside_the_tunnel_is_between_the_hosts_of_the_first_path() -> None:
    found = plan.render(scenario("tunnel:call=outside,duration=100ms")).splitlines()
    server, client = (line for line in found if " traffic " in line and " --transport udp" in line)
    assert server.startswith("ip netns exec server traffic server")
    assert server.endswith(" --connect 10.0.1.1")
    assert client.startswith("ip netns exec client traffic client")
    assert client.endswith(" --connect 10.1.1.1")


# Mistakes


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("bulkk", 'workload.kind = "bulkk": the kind of a workload is bulk, transfers, cbr, req'),
        ("cbr:size", '"cbr:size": "size" is not KEY=VALUE; a workload is KIND[:KEY=VALUE,...]'),
        ("cbr:size=1,size=2", '"cbr:size=1,size=2": "size" is given twice'),
        ("web:rate=1mbit", 'workload.rate = "1mbit": a web workload has page, request, connection'),
        ("cbr:siz=1", 'workload.siz = "1": unknown key; did you mean "size"?'),
        ("cbr:jitter=1", 'workload.jitter = "1": unknown key; accepted here: kind, direction'),
        ("cbr:queue=1", 'workload.queue = "1": a cbr workload has direction, duration'),
        ("cbr:rate=1mbit,interval=1s", 'workload.interval = "1s": rate and interval are both'),
        ("cbr:interval=1us", 'workload.interval = "1us": 20000000 messages; at most 100000'),
        ("cbr:rate=1gbit", "workload.duration: 312500 messages; at most 100000 are possible"),
        ("frames:fps=240,duration=1000s", 'workload.duration = "1000s": 240000 messages; at'),
        ("transfers:count=0", 'workload.count = "0": a count is a whole number from 1 to 50000'),
        ("transfers:count=200,direction=both,fresh=on", 'workload.count = "200": 400 connec'),
        ("transfers:count=50000,direction=both", 'workload.count = "50000": 200000 messages'),
        ("transfers:fresh=maybe", 'workload.fresh = "maybe": true or false is expected'),
        ("requests:count=5", 'workload.count = "5": requests at an interval are sent for a du'),
        ("requests:think=1s,interval=1s", 'workload.interval = "1s": with a think time, a requ'),
        ("requests:interval=1ms,duration=50s,random=on", 'workload.interval = "1ms": 50000 reques'),
        ("web:connections=257", 'workload.connections = "257": at most 256 connections load a'),
        ("bulk:connections=0", 'workload.connections = "0": the number of connections is a whole'),
        ("bulk:connections=10001", 'workload.connections = "10001": the number of connections is'),
        ("bulk:connections=2001", 'workload.connections = "2001": at most 2000 fit into the gue'),
        ("bulk:interval=1ms", 'workload.interval = "1ms": it is the time between the openings'),
        ("bulk:connections=3,duration=1s,interval=500ms", 'workload.interval = "500ms": the last'),
        ("cbr:connections=2", 'workload.connections = "2": a cbr workload has direction, durati'),
        ("transfers:connections=2", 'workload.connections = "2": a transfers workload has direc'),
        ("video:bitrates=1mbit", 'workload.bitrates = "1mbit": a list of 2 to 32 rates is exp'),
        ("video:bitrates=2mbit/1mbit", 'workload.bitrates = "2mbit/1mbit": bitrates rise from'),
        ("video:bitrates=2mbit/x", 'workload.bitrates = "2mbit/x": not a number; a bitrate is'),
        ("video:bitrates=1000bit/1001bit,segment=1s", 'workload.bitrates = "1000bit/1001bit": two'),
        ("video:buffer=7s", 'workload.buffer = "7s": it must hold two segments, which are 8s'),
        ("video:cushion=30s", 'workload.cushion = "30s": reservoir and cushion exceed the'),
        ("video:reservoir=36s", 'workload.reservoir = "36s": reservoir and cushion exceed'),
        ("frames:gop=PBB", 'workload.gop = "PBB": a group of pictures is an I and up to 599'),
        ("frames:ratio=1:2", 'workload.ratio = "1:2": the sizes of I, P and B frames are th'),
        ("frames:deadline=0s", 'workload.deadline = "0s": out of range; a deadline is 1ms to'),
        ("frames:warmup=20s", 'workload.warmup = "20s": it must be shorter than the dura'),
        ("tunnel:call=beside", 'workload.call = "beside": the place of a call is inside, outside'),
        ("tunnel:call=none,bulk=off", 'workload.call = "none": without bulk data, only a call in'),
        ("tunnel:direction=both", 'workload.direction = "both": the bulk data of a tunnel goes up'),
        ("tunnel:size=1473", 'workload.size = "1473": a packet of a call has 8 to 1472 bytes: the'),
        ("tunnel:size=7", 'workload.size = "7": a packet of a call has 8 to 1472 bytes: the MTU l'),
        ("tunnel:mtu=9001", 'workload.mtu = "9001": an MTU is a whole number from 576 to 9000'),
        ("tunnel:queue=0", 'workload.queue = "0": a queue is a whole number from 1 to 100000'),
        ("tunnel:interval=1ms,duration=50s", 'workload.interval = "1ms": 100001 messages; at most'),
        ("tunnel:start=at-once", 'workload.start = "at-once": a tunnel is there before its traffi'),
    ],
)
def test_a_mistake_in_a_workload_is_named(text: str, line: str) -> None:
    assert problem(text).startswith(f"--workload: {line}")


def test_a_flag_that_the_kind_has_no_use_for_is_named_as_such() -> None:
    found = problem("web", size="1MB")
    assert found.startswith('--size: "1MB": a web workload has')
    assert problem("video", direction="up").startswith('--direction: "up": a video workload has')


@pytest.mark.parametrize("kind", ["requests", "web", "video"])
def test_down_is_the_direction_of_data_that_is_asked_for(kind: str) -> None:
    assert scenario(kind, direction="down") == scenario(kind)


def test_the_workload_flag_is_the_table_that_the_file_would_hold() -> None:
    assert parse_workload_flag("cbr:size=8KB, rate=500kbit") == {
        "kind": "cbr",
        "size": "8KB",
        "rate": "500kbit",
    }
    assert parse_workload_flag("web") == {"kind": "web"}


def test_the_kinds_are_what_they_are_named() -> None:
    kinds = [Bulk, Transfers, Cbr, Requests, Web, Video, Frames, Tunnel]
    for text, kind in zip(SHORT.values(), kinds, strict=True):
        assert type(scenario(text).workload) is kind
