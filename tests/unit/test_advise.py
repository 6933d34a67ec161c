# SPDX-License-Identifier: GPL-2.0-only
"""Which runs advice is made of, and what is said of them; without a kernel."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.advice import Name, advise, advise_report
from mptcplab.advice.advise import REFERENCE, Advice, Effort, GivenUp, Overall, Question
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab.engine import Rig
from mptcplab.lab.kernel import ENGINE_ONLY, KernelBuild
from mptcplab.runs.runner import Runner
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.uncertainty import parse
from tests.unit.advised import GUEST, KERNEL, FakeKernel, Given, Gives, pretend
from tests.vocabulary import shown

PATHS = ("wifi:50mbit,10ms", "lte:20mbit,40ms")
SMALL = Effort(screened=2, halved=3, variations=6, contenders=3, kept=1, ccs=1, crossed=None)
LARGE = replace(SMALL, kept=3)


#: Asks for advice, see `ask`.
Ask = Callable[..., Advice]
#: Few candidates, all of which become finalists.
FEW: dict[str, Any] = {"ccs": ("cubic",), "effort": LARGE}


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Advice on PATHS, from runs that give what a function says, or that a fake kernel makes."""

    def asked(
        gives: Gives | FakeKernel,
        *,
        ccs: Sequence[str] = ("cubic", "reno", "olia"),
        schedulers: str = "default,minrtt,blest,roundrobin",
        effort: Effort = SMALL,
        only: Sequence[Name] = (),
        give_up: Sequence[GivenUp] = (),
        kernel: KernelBuild = KERNEL,
        **more: Any,
    ) -> Advice:
        pretend(gives if isinstance(gives, FakeKernel) else FakeKernel(gives), monkeypatch)
        flags = {key: more[key] for key in more.keys() & {"path", "direction"}}
        request = from_flags(Flags(**{"path": PATHS, "scheduler": schedulers, **flags}))
        question = Question(request, ccs, parse([], request.base), effort, only, give_up)
        out = tmp_path / "-".join(give_up)
        rig, runner, there = Rig(kernel, GUEST), Runner(out), more.get("with_adapter")
        return advise.advise(question, rig, runner, lambda _text: None, there)

    return asked


def said(advice: Advice) -> str:
    """The text of the advice in one line."""
    return " ".join(advise_report.text(advice).split())


def all_the_same(_scenario: Scenario) -> Given:
    return Given(60, 20, 200)


def minrtt_is_fast_and_blest_with_olia_prompt(scenario: Scenario) -> Given:
    name = scenario.scheduler.name
    mbps = 65 if name == "minrtt" else 60
    delay_ms = {"default": 20.0, "minrtt": 18, "blest": 12, "roundrobin": 30}[name]
    delay_ms /= 2 if (name, scenario.cc) == ("blest", "olia") else 1
    return Given(mbps, delay_ms, 10 * delay_ms)


def test_with_nothing_better_the_advice_is_to_change_nothing(ask: Ask) -> None:
    found = ask(all_the_same)
    assert [each.ranking.chosen for each in found.judged] == [REFERENCE.label] * 3
    assert found.overall[0].name == REFERENCE.label
    text = advise_report.text(found)
    assert text.count("default with cubic, Linux's default") == 4
    assert "apt" not in advise_report.use(found)
    assert "Quick" not in text


def test_each_goal_has_its_own_answer(ask: Ask) -> None:
    found = ask(minrtt_is_fast_and_blest_with_olia_prompt)
    answers = {each.goal.name: each.ranking.chosen for each in found.judged}
    assert answers == {
        "throughput": "minrtt, cubic",
        "latency": "blest, olia",
        "resilience": "blest, olia",
    }
    # the best for two goals of three; it has 60 of 65 Mbit/s
    overall = found.overall[0]
    assert overall.as_good == ["latency", "resilience"]
    assert overall.name == "blest, olia"
    assert overall.behind["throughput"] == pytest.approx(5 / 65, rel=0.01)
    assert overall.behind["latency"] == 0
    assert overall.costs == []


def with_copies_or_without(scenario: Scenario) -> Given:
    if scenario.scheduler.name == "default":
        return Given(60, 30, 300)
    # as prompt as each other, and each the best for one goal beside that
    if scenario.scheduler.name == "redundant":
        return Given(50, 10, 100, copies=1.0)
    return Given(66, 10, 200)


def test_each_place_has_its_best_with_the_gain_and_never_a_worse_one(ask: Ask) -> None:
    def gives(scenario: Scenario) -> Given:
        prompt = {"default": 30, "minrtt": 12, "burst": 20, "first": 21, "redundant": 8}
        slow = scenario.scheduler.name == "first"
        copies = 1.0 if scenario.scheduler.name == "redundant" else 0.0
        cc = 5 if scenario.cc == "bbr" else 0
        delay_ms = prompt.get(scenario.scheduler.name, 30) - cc
        return Given(40 if slow else 60, delay_ms, 200, copies)

    found = ask(
        gives,
        schedulers="default,minrtt,burst,first,redundant",
        ccs=("cubic", "bbr", "olia"),
        effort=LARGE,
    )
    assert {place: found.best_at(place) for place in ("today", "package", "router")} == {
        "today": "default, bbr",
        "package": "minrtt, bbr",
        "router": "burst, bbr",
    }
    words = said(found).partition("What you can have, with its gain over default with cubic")[2]
    assert (
        "Without installing anything: default with bbr (sysctl -w net.mptcp.scheduler=default "
        "net.ipv4.tcp_congestion_control=bbr). Throughput: "
    ) in words
    assert "Latency: 25.0 ms (-5.00)." in words
    assert "Latency: 7.00 ms (-23.0)." in words
    assert "mptcplab kernel build --engine-only --name plain, then the same command" in words
    assert "With OpenMPTCProuter: the scheduler bpf_burst (burst here) with bbr." in words
    assert "Latency: 15.0 ms (-15.0)." in words
    assert "first with" not in words
    assert "redundant with cubic (sends 100 % more)" not in words
    assert advise_report.document(found)["places"]["router"] == "burst, bbr"


def test_a_parameter_of_ours_is_in_no_unmodified_kernel(ask: Ask) -> None:
    found = ask(
        lambda scenario: Given(60 if scenario.scheduler.changed else 40, 30, 200),
        schedulers="default,default:recovery=on",
        **FEW,
    )
    assert found.overall[0].name == "default:recovery=on, cubic"
    assert found.best_at("today") is None


def test_the_package_is_measured_with_its_adapter_where_it_is_built(ask: Ask) -> None:
    plain = replace(KERNEL, id="k2", variant=ENGINE_ONLY, name="plain")
    prompt = {"default": 30.0, "minrtt": 10.0}

    def gives(scenario: Scenario) -> Given:
        return Given(60, prompt[scenario.scheduler.name], 200)

    few: dict[str, Any] = {**FEW, "schedulers": "default,minrtt"}
    words = said(ask(gives, with_adapter=plain, **few))
    assert "With the package mptcplab-schedulers: minrtt with cubic." in words
    assert "Measured with the package's adapter." in words
    assert "It is worse" not in words


def test_what_sends_twice_says_so_in_every_list(ask: Ask) -> None:
    def gives(scenario: Scenario) -> Given:
        quick = scenario.scheduler.name in ("minrtt", "redundant")
        copies = 1.0 if scenario.scheduler.name == "redundant" else 0.0
        return Given(60, 10 if quick else 30, 200, copies)

    words = said(ask(gives, schedulers="default,minrtt,redundant", **FEW))
    assert "As good, but less simple: redundant with cubic (sends 100 % more)." in words


def test_the_direction_and_all_that_is_given_of_paths_is_echoed(ask: Ask) -> None:
    paths = (
        "wifi:up.rate=20mbit,down.rate=50mbit,delay=10ms,up.loss=1%",
        "lte:20mbit,40ms,loss=0.5%",
    )
    down = said(ask(all_the_same, path=paths, direction="down"))
    assert down.startswith(
        "Data goes down, to the client; --direction changes this. Paths: wifi 50mbit, 10ms, "
        "up.rate=20mbit, up.loss=1%; lte 20mbit, 40ms, loss=0.5%; each value"
    )
    up = said(ask(all_the_same, path=paths))
    assert up.startswith(
        "Data goes up, to the server; --direction changes this. Paths: wifi 20mbit, 10ms, loss=1%, "
        "down.rate=50mbit, down.loss=0%; lte"
    )


def test_what_sends_copies_or_costs_goodput_is_not_for_all(ask: Ask) -> None:
    found = ask(with_copies_or_without, schedulers="default,minrtt,redundant", **FEW)
    best, second, third = found.overall
    assert (best.name, best.as_good) == ("minrtt, cubic", ["throughput", "latency"])
    # 60 of 66 Mbit/s are 9 % less; the delay that counts beside is its own
    assert (second.name, second.costs) == (REFERENCE.label, [])
    # 50 of 66, and 17 % less than the reference
    assert (third.name, third.costs) == ("redundant, cubic", ["throughput", "data"])
    words = said(found)
    assert (
        "As good as the best for throughput and latency. Throughput: 98.4 % (default with cubic "
        "89.4 %). Latency: 10.0 ms (default with cubic 30.0 ms). Resilience: 200 ms (default with "
        "cubic 300 ms, redundant with cubic 100 ms). redundant with cubic costs too much of "
        "throughput and data."
    ) in words
    assert "It sends 100 % more than necessary, which a metered link charges." in words


def test_what_is_given_up_does_not_count(ask: Ask) -> None:
    def asked(*give_up: GivenUp) -> Overall:
        names = "default,minrtt,redundant"
        found = ask(with_copies_or_without, ccs=["cubic"], schedulers=names, give_up=give_up)
        return found.overall[0]

    assert asked("data").name == "minrtt, cubic"
    assert asked("throughput").name == "minrtt, cubic"
    assert asked("throughput", "data").name == "redundant, cubic"
    assert asked("latency", "resilience").name == "minrtt, cubic"


def test_worse_than_the_reference_in_one_goal_is_not_for_all(ask: Ask) -> None:
    def gives(scenario: Scenario) -> Given:
        # 2 % is the margin: 306 of 300 ms
        longest = {"default": 300, "minrtt": 307, "blest": 305}[scenario.scheduler.name]
        prompt = {"default": 30, "minrtt": 10, "blest": 15}[scenario.scheduler.name]
        return Given(60, prompt, longest)

    found = ask(gives, schedulers="default,minrtt,blest", **FEW)
    costs = {each.name: each.costs for each in found.overall}
    assert costs == {"default, cubic": [], "blest, cubic": [], "minrtt, cubic": ["resilience"]}
    assert found.overall[-1].name == "minrtt, cubic"


def test_if_all_cost_too_much_the_least_bad_one_is_named(ask: Ask) -> None:
    def gives(scenario: Scenario) -> Given:
        # the reference has half of the goodput, and the others are late
        if scenario.scheduler.name == "default":
            return Given(30, 10, 100)
        return Given(60, {"minrtt": 20.0, "blest": 40.0}[scenario.scheduler.name], 100)

    found = ask(gives, schedulers="default,minrtt,blest", **FEW)
    assert [(each.name, each.costs) for each in found.overall] == [
        (REFERENCE.label, ["throughput"]),
        ("minrtt, cubic", ["latency"]),
        ("blest, cubic", ["latency"]),
    ]
    assert "It costs too much of throughput, as all do." in said(found)


def test_the_catalogue_is_screened_on_few_variations(ask: Ask) -> None:
    fake = FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt)
    found = ask(fake)
    # finalists are compared on the same paths and seeds
    finalists = {name for each in found.judged for name in each.ranking.standings}
    assert len(found.variations) == 6
    for varied in found.variations:
        same = [run for run in fake.ran if run.seed == varied.seed]
        assert {run.paths for run in same} == {varied.paths}
        assert {f"{run.scheduler.label}, {run.cc}" for run in same} >= finalists

    def seeds(scheduler: str, cc: str) -> set[int]:
        return {r.seed for r in fake.ran if (r.scheduler.name, r.cc) == (scheduler, cc)}

    assert seeds("roundrobin", "cubic") == {1, 2}
    assert seeds("roundrobin", "olia") == set()  # it was not among the best
    assert seeds("blest", "olia") == set(range(1, 7))
    # what is to be had without another kernel is tried with all
    assert seeds("default", "reno") >= {1, 2}
    # nothing twice, and no more than was announced
    assert len({run.key_text() for run in fake.ran}) == len(fake.ran) == found.runs
    request = from_flags(Flags(path=PATHS, scheduler="default,minrtt,blest,roundrobin"))
    assert found.runs <= advise.most_runs(
        Question(request, ("cubic", "reno", "olia"), parse([], request.base), SMALL)
    )
    # each is in the document, with the figure that it had
    judged = found.judged[0]
    assert judged.screening["roundrobin, cubic"] == pytest.approx(100 * 60 / 70, rel=0.2)
    assert judged.tried == len(judged.screening) + len(judged.ranking.standings)


def bbr_turns_the_order(scenario: Scenario) -> Given:
    # as on lossy paths: with cubic all schedulers are poor, and their order is another one
    fair = {"default": 20, "minrtt": 21, "blest": 25, "roundrobin": 15}[scenario.scheduler.name]
    return Given(100 - fair if scenario.cc == "bbr" else fair, 20, 200)


def test_fewer_and_fewer_pairs_are_run_on_more_and_more_variations(ask: Ask) -> None:
    fake = FakeKernel(bbr_turns_the_order)
    found = ask(fake, ccs=("cubic", "reno", "bbr"), only=["throughput"])
    assert found.judged[0].ranking.chosen == "roundrobin, bbr"
    seeds = Counter((run.scheduler.name, run.cc) for run in fake.ran)
    # congestion controls with default and minrtt; the others with the best; then all three with
    # the best scheduler; the 3 best go on, roundrobin wins, and there is the reference
    assert seeds == {
        ("default", "cubic"): 6,
        ("default", "reno"): 2,
        ("default", "bbr"): 6,  # the best without another kernel
        ("minrtt", "cubic"): 2,
        ("minrtt", "reno"): 2,
        ("minrtt", "bbr"): 3,
        ("blest", "bbr"): 2,
        ("roundrobin", "bbr"): 6,
        ("roundrobin", "cubic"): 2,
        ("roundrobin", "reno"): 2,
    }


@pytest.mark.parametrize(
    ("paths", "seconds", "stream_s"),
    [
        # 40 round trips of 100 ms are less than 6 s; 12.5 MB at 5 Mbit/s
        (("a:20mbit,10ms", "b:10mbit,50ms"), 6, 20),
        # 40 round trips of 200 ms
        (("a:20mbit,10ms", "b:10mbit,100ms"), 8, 20),
        # 40 of 400 ms are more than 12 s; 12.5 MB at 1 Mbit/s take 100 s, more than usual
        (("a:5mbit,10ms", "b:2mbit,200ms"), 12, 20),
        # what 3 s carry costs too much even so: 285,000 packets; 12.5 MB at 10 Mbit/s
        (("a:200mbit,10ms", "b:900mbit,10ms"), 3, 10),
        # 20 round trips of 400 ms, of bulk data and of the stream
        (("a:200mbit,10ms", "b:900mbit,200ms"), 8, 10),
    ],
)
def test_quick_runs_are_short(paths: tuple[str, str], seconds: float, stream_s: float) -> None:
    base = from_flags(Flags(path=paths)).base
    effort = advise.effort(base, quick=True)
    spans = [goal.load.duration_ns for goal in advise.wanted_goals(base, effort)]
    assert spans[0] == seconds * 10**9
    for stream_ns in spans[1:]:
        assert stream_ns == pytest.approx(stream_s * 10**9, rel=1e-3)
    # what somebody said counts
    timed = advise.effort(base, quick=True, is_timed=True)
    assert {goal.load.duration_ns for goal in advise.wanted_goals(base, timed)} == {20 * 10**9}
    assert advise.effort(base).span is None


def test_quick_advice_says_what_it_leaves_out(ask: Ask) -> None:
    quick = advise.effort(from_flags(Flags(path=PATHS)).base, quick=True)
    found = ask(all_the_same, effort=quick)
    words = "Quick: runs of 6s or more, the best schedulers with 3 congestion controls"
    assert words in said(found)
    assert advise_report.document(found)["effort"]["span"]["duration_ns"] == 6 * 10**9


def test_what_is_there_is_not_run_again(ask: Ask) -> None:
    fake = FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt)
    first = ask(fake)
    again = FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt)
    second = ask(again)
    assert again.ran == []
    assert advise_report.document(first) == advise_report.document(second)
    # more variations need those alone
    ask(again, effort=replace(SMALL, variations=7))
    assert {run.seed for run in again.ran} == {7}


def test_a_failed_candidate_is_not_advised(ask: Ask) -> None:
    def gives(scenario: Scenario) -> Given | None:
        failed = scenario.scheduler.name == "minrtt" and scenario.seed == 5
        return None if failed else minrtt_is_fast_and_blest_with_olia_prompt(scenario)

    found = ask(gives)
    assert found.judged[0].ranking.chosen != "minrtt, cubic"
    assert found.failures[0] == "minrtt, cubic, throughput, variation 5: no power"
    assert "Failed: minrtt, cubic, throughput" in shown(advise_report.table(found))


def test_if_all_fail_there_is_no_advice(ask: Ask) -> None:
    with pytest.raises(MptcplabError, match="no scheduler has a figure for throughput") as caught:
        ask(lambda _scenario: None)
    assert "no power" in str(caught.value)


def test_the_answer_says_what_how_much_against_what_and_how_sure(ask: Ask) -> None:
    found = ask(minrtt_is_fast_and_blest_with_olia_prompt)
    text = advise_report.text(found)
    assert "For latency: blest with olia.\n" in text
    rows = shown(advise_report.table(found))
    assert max(map(len, [*text.splitlines(), *rows.splitlines()])) <= 80
    words = said(found)
    # the same in every variation
    assert "Delay of a block, 99th percentile: 6.00 (6.00..6.00) ms." in words
    assert "default with cubic has 20.0 ms: on the same variations that is 14.0" in words
    # 6 variations say 1 - 1/2^6 of a median
    assert re.search(
        r"Sure \(98 %\): of \d+ pairs tried, none of the \d+ best beats it by more", words
    )
    assert "Linux's own: default with cubic" in words
    assert "6.00 *" in rows
    for name in found.judged[0].ranking.standings:
        assert name in rows
    use = advise_report.use(found)
    assert "  sysctl -w net.mptcp.scheduler=blest net.ipv4.tcp_congestion_control=olia\n" in use
    assert "olia needs our files in the kernel: Linux does not have it." in " ".join(use.split())


PACKAGE = "apt install ./mptcplab-schedulers-dkms_"


@pytest.mark.parametrize(
    ("best", "direction", "adapter", "server", "client", "about"),
    [
        # the sender decides, and needs the package; losses are those of minrtt's own page
        (
            "minrtt",
            "down",
            True,
            [PACKAGE, "sysctl -w net.mptcp.scheduler=minrtt "],
            [],
            [
                "to send as well, the client needs the same",
                "minrtt lacks retransmission on other subflows and penalisation, as in these runs",
            ],
        ),
        (
            "minrtt",
            "up",
            True,
            [],
            [PACKAGE, "sysctl -w net.mptcp.scheduler=minrtt "],
            [
                "to send as well, the server needs the same",
            ],
        ),
        ("overflow", "both", True, [PACKAGE], [PACKAGE, "subflow  # wifi", "backup  # lte"], []),
        # places rule among regular subflows: marks would overrule them
        ("overflow:place1=2", "down", True, [PACKAGE, "overflow.place1=2"], ["subflow  # lte"], []),
        (
            "minrtt",
            "down",
            False,
            [PACKAGE],
            [],
            ["penalisation, which it had in these runs", "--kernel plain"],
        ),
        ("minrtt:recovery=on", "down", False, ["recovery=1"], [], ["needs the patches"]),
        (
            "redundant",
            "down",
            False,
            ["sysctl"],
            [],
            ["redundant needs the patches"],
        ),
        ("default", "down", True, ["sysctl"], ["subflow  # lte"], []),
    ],
)
def test_the_lines_for_each_end_have_what_it_needs(
    ask: Ask,
    tmp_path: Path,
    best: str,
    direction: str,
    adapter: bool,
    server: list[str],
    client: list[str],
    about: list[str],
) -> None:
    config = tmp_path / "config"
    config.write_text("CONFIG_MPTCP=y\nCONFIG_MPTCP_LAB_ADAPTER=y\n")
    plain = KernelBuild("k2", ENGINE_ONLY, Path("linux"), config, "plain")
    gives = lambda each: Given(60, 10 if each.scheduler.label == best else 20, 200)  # noqa: E731
    found = ask(
        gives,
        schedulers=",".join(dict.fromkeys(["default", best])),
        direction=direction,
        kernel=plain if adapter else KERNEL,
        **FEW,
    )
    use = advise_report.use(found)
    at_server, at_client = re.findall(r"(?m)^At the \w+.*\n((?:  .*\n)+)", use)
    ends = ((at_server, server, "up"), (at_client, client, "down"))
    for lines, wanted, idle in ends:
        assert all(each in lines for each in wanted)
        assert ("sysctl" in lines) == (direction != idle)
        assert (PACKAGE in lines) == (PACKAGE in wanted)
    words = " ".join(use.split())
    assert all(each in words for each in about)
    assert "backup" not in at_client or best == "overflow"
    without = advise_report.document(found)["candidates"][f"{best}, cubic"].get("without", [])
    assert bool(without) == (adapter and best == "minrtt")
    assert ("with the kernel plain" in advise_report.text(found)) == adapter


def test_document_and_picture_are_the_same_each_time(ask: Ask, tmp_path: Path) -> None:
    found = ask(minrtt_is_fast_and_blest_with_olia_prompt)
    content = advise_report.write(found, tmp_path)
    assert json.loads((tmp_path / advise_report.DOCUMENT).read_text()) == content
    assert content["goals"]["latency"]["chosen"] == "blest, olia"
    assert content["goals"]["latency"]["over_reference"]["median"] == 14
    assert len(content["variations"]) == 6
    png, svg = advise_report.write_chart(found, tmp_path)
    before = png.read_bytes(), svg.read_bytes()
    advise_report.write_chart(found, tmp_path)
    assert (png.read_bytes(), svg.read_bytes()) == before


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (Flags(path=("a:10mbit,1ms",)), "over a alone there is nothing to schedule"),
        (Flags(path=("a:10mbit,1ms",), transport="tcp"), "plain TCP has no scheduler"),
        (
            Flags(path=PATHS, connection=("m:paths=wifi/lte",)),
            "advice is for a single connection; leave the connections out",
        ),
        (
            Flags(path=PATHS, workload="bulk:connections=100"),
            "workload.connections: advice is for a single connection",
        ),
    ],
)
def test_what_cannot_be_advised_on_is_refused(flags: Flags, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        advise.check(from_flags(flags))
    closes = from_flags(Flags(path=PATHS, event=("3s:lte:close",))).base
    with pytest.raises(InputError, match="these paths can be judged for throughput and latency"):
        advise.wanted_goals(closes, SMALL, ["resilience"])
