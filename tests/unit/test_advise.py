# SPDX-License-Identifier: GPL-2.0-only
"""Which runs advice is made of, and what is said of them; without a kernel."""

from __future__ import annotations

import contextlib
import io
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mptcplab.advice import advise, advise_report
from mptcplab.advice.advise import REFERENCE, Advice, Effort, GivenUp, Overall
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import RunFigures
from mptcplab.runs import experiment, store
from mptcplab.runs.entries import Entry, run_entry
from mptcplab.runs.store import Store
from mptcplab.spec.flags import Flags
from mptcplab.spec.resolve import from_flags
from mptcplab.spec.scenario import Scenario
from mptcplab.spec.uncertainty import parse

KERNEL = KernelBuild("k1", "lab", Path("linux"), Path("config"))
GUEST = Guest("g1", Path("guest"))
PATHS = ("wifi:50mbit,10ms", "lte:20mbit,40ms")
SMALL = Effort(screened=2, variations=6, kept=1)


@dataclass(frozen=True)
class Given:
    """What a run gives: goodput of bulk data in Mbit/s, the delays of blocks in ms, and what was
    sent besides, as a part of what arrived.
    """

    mbps: float
    delay_ms: float
    longest_ms: float
    copies: float = 0.0


#: None: it fails.
Gives = Callable[[Scenario], Given | None]


@contextlib.contextmanager
def quiet(_total: int) -> Iterator[tuple[experiment.Progress, experiment.Ended]]:
    yield lambda _share: None, lambda _count, _scenario, _entry: None


class FakeKernel:
    """Takes the place of experiment.run_all."""

    def __init__(self, gives: Gives) -> None:
        self.ran: list[Scenario] = []
        self.gives = gives

    def __call__(
        self,
        scenarios: Sequence[Scenario],
        kernel: KernelBuild,
        guest: Guest,
        out: Store,
        **_options: Any,
    ) -> list[Entry]:
        return [self.run(each, kernel, guest, out) for each in scenarios]

    def run(self, scenario: Scenario, kernel: KernelBuild, guest: Guest, out: Store) -> Entry:
        self.ran.append(scenario)
        key = store.run_key(scenario, kernel, guest)
        given = self.gives(scenario)
        figures = RunFigures()
        if given:
            duration_s = (scenario.workload.duration_ns or 0) / 1e9
            figures = RunFigures(
                goodput_bps=given.mbps * 1e6,
                wasted_bytes=int(given.copies * given.mbps * 1e6 * duration_s / 8),
                delay_ms_p99=given.delay_ms,
                delay_ms_max=given.longest_ms,
            )
        entry = run_entry(
            scenario,
            status="ok" if given else "failed",
            reason="no power",
            virtual_s=20.0,
            wall_s=1.0,
            run_metrics=RunMetrics(metrics=figures, paths=()),
            directory=f"runs/{key}",
        )
        if given:
            with out.new_run(key) as directory:
                store.write_json(directory / store.RESULT, entry)
        return entry


def ask(
    out: Path,
    fake: FakeKernel,
    monkeypatch: pytest.MonkeyPatch,
    *,
    ccs: Sequence[str] = ("cubic", "reno", "olia"),
    schedulers: str = "default,minrtt,blest,roundrobin",
    effort: Effort = SMALL,
    give_up: Sequence[GivenUp] = (),
) -> Advice:
    monkeypatch.setattr(experiment, "run_all", fake)
    request = from_flags(Flags(path=PATHS, scheduler=schedulers))
    return advise.advise(
        *(request, ccs, parse([], request.base), effort, KERNEL, GUEST, out),
        give_up=give_up,
        modules={},
        jobs=1,
        limits=Limits(),
        show=quiet,
        say=lambda _text: None,
        cancel=threading.Event(),
    )


def all_the_same(_scenario: Scenario) -> Given:
    return Given(60, 20, 200)


def minrtt_is_fast_and_blest_with_olia_prompt(scenario: Scenario) -> Given:
    name = scenario.scheduler.name
    mbps = 65 if name == "minrtt" else 60
    delay_ms = {"default": 20.0, "minrtt": 18, "blest": 12, "roundrobin": 30}[name]
    delay_ms /= 2 if (name, scenario.cc) == ("blest", "olia") else 1
    return Given(mbps, delay_ms, 10 * delay_ms)


def test_with_nothing_better_the_advice_is_to_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(tmp_path, FakeKernel(all_the_same), monkeypatch)
    assert [each.ranking.chosen for each in found.judged] == [REFERENCE.label] * 3
    assert found.overall[0].name == REFERENCE.label
    text = advise_report.text(found)
    assert text.count("default with cubic, Linux's default") == 4
    assert "needs" not in advise_report.use(found)


def test_each_goal_has_its_own_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ask(tmp_path, FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt), monkeypatch)
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


def test_what_sends_copies_or_costs_goodput_is_not_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(
        *(tmp_path, FakeKernel(with_copies_or_without), monkeypatch),
        ccs=("cubic",),
        schedulers="default,minrtt,redundant",
        effort=Effort(screened=2, variations=6, kept=3),
    )
    best, second, third = found.overall
    assert (best.name, best.as_good) == ("minrtt, cubic", ["throughput", "latency"])
    # 60 of 66 Mbit/s are 9 % less; the delay that counts beside is its own
    assert (second.name, second.costs) == (REFERENCE.label, [])
    # 50 of 66, and 17 % less than the reference
    assert (third.name, third.costs) == ("redundant, cubic", ["throughput", "data"])
    words = " ".join(advise_report.text(found).split())
    assert (
        "As good as the best for throughput and latency. Throughput: 98.4 % (default with cubic "
        "89.4 %). Latency: 10.0 ms (default with cubic 30.0 ms). Resilience: 200 ms (default with "
        "cubic 300 ms, redundant with cubic 100 ms). redundant with cubic costs too much of "
        "throughput and data."
    ) in words
    assert "For this it sends 100 % more than necessary." in words


def test_what_is_given_up_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*give_up: GivenUp) -> Overall:
        found = ask(
            *(tmp_path / "-".join(give_up), FakeKernel(with_copies_or_without), monkeypatch),
            ccs=("cubic",),
            schedulers="default,minrtt,redundant",
            give_up=give_up,
        )
        return found.overall[0]

    assert asked("data").name == "minrtt, cubic"
    assert asked("throughput").name == "minrtt, cubic"
    assert asked("throughput", "data").name == "redundant, cubic"
    assert asked("latency", "resilience").name == "minrtt, cubic"


def test_worse_than_the_reference_in_one_goal_is_not_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gives(scenario: Scenario) -> Given:
        # a tenth may be lost, no more: 330 of 300 ms
        longest = {"default": 300, "minrtt": 331, "blest": 329}[scenario.scheduler.name]
        prompt = {"default": 30, "minrtt": 10, "blest": 15}[scenario.scheduler.name]
        return Given(60, prompt, longest)

    found = ask(
        *(tmp_path, FakeKernel(gives), monkeypatch),
        ccs=("cubic",),
        schedulers="default,minrtt,blest",
        effort=Effort(screened=2, variations=6, kept=3),
    )
    costs = {each.name: each.costs for each in found.overall}
    assert costs == {"default, cubic": [], "blest, cubic": [], "minrtt, cubic": ["resilience"]}
    assert found.overall[-1].name == "minrtt, cubic"


def test_if_all_cost_too_much_the_least_bad_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gives(scenario: Scenario) -> Given:
        # the reference has half of the goodput, and the others are late
        if scenario.scheduler.name == "default":
            return Given(30, 10, 100)
        return Given(60, {"minrtt": 20.0, "blest": 40.0}[scenario.scheduler.name], 100)

    found = ask(
        *(tmp_path, FakeKernel(gives), monkeypatch),
        ccs=("cubic",),
        schedulers="default,minrtt,blest",
        effort=Effort(screened=2, variations=6, kept=3),
    )
    assert [(each.name, each.costs) for each in found.overall] == [
        (REFERENCE.label, ["throughput"]),
        ("minrtt, cubic", ["latency"]),
        ("blest, cubic", ["latency"]),
    ]
    assert "It costs too much of throughput, as all do." in " ".join(
        advise_report.text(found).split()
    )


def test_candidates_are_compared_on_the_same_paths_and_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt)
    found = ask(tmp_path, fake, monkeypatch)
    finalists = {name for each in found.judged for name in each.ranking.standings}
    assert len(found.variations) == 6
    for varied in found.variations:
        same = [run for run in fake.ran if run.seed == varied.seed]
        assert {run.paths for run in same} == {varied.paths}
        assert {f"{run.scheduler.label}, {run.cc}" for run in same} >= finalists


def test_the_catalogue_is_screened_on_few_variations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt)
    found = ask(tmp_path, fake, monkeypatch)

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
    assert found.runs <= advise.most_runs(request, ("cubic", "reno", "olia"), SMALL)
    # each is in the document, with the figure that it had
    judged = found.judged[0]
    assert judged.screening["roundrobin, cubic"] == pytest.approx(100 * 60 / 70, rel=0.2)
    assert judged.tried == len(judged.screening) + len(judged.ranking.standings)


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt)
    first = ask(tmp_path, fake, monkeypatch)
    again = FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt)
    second = ask(tmp_path, again, monkeypatch)
    assert again.ran == []
    assert advise_report.document(first) == advise_report.document(second)
    # more variations need those alone
    ask(tmp_path, again, monkeypatch, effort=Effort(screened=2, variations=7, kept=1))
    assert {run.seed for run in again.ran} == {7}


def test_one_that_fails_is_not_advised_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gives(scenario: Scenario) -> Given | None:
        failed = scenario.scheduler.name == "minrtt" and scenario.seed == 5
        return None if failed else minrtt_is_fast_and_blest_with_olia_prompt(scenario)

    found = ask(tmp_path, FakeKernel(gives), monkeypatch)
    assert found.judged[0].ranking.chosen != "minrtt, cubic"
    assert found.failures[0] == "minrtt, cubic, throughput, variation 5: no power"
    assert "Failed: minrtt, cubic, throughput" in table(found)


def test_if_all_fail_there_is_no_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MptcplabError, match="no scheduler has a figure for throughput") as caught:
        ask(tmp_path, FakeKernel(lambda _scenario: None), monkeypatch)
    assert "no power" in str(caught.value)


def test_few_candidates_are_all_finalists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ask(
        *(tmp_path, FakeKernel(all_the_same), monkeypatch),
        ccs=("reno",),
        schedulers="minrtt",
        effort=Effort(screened=1, variations=2, kept=3),
    )
    # Linux's default is always among them
    standings = found.judged[0].ranking.standings
    assert set(standings) == {REFERENCE.label, "default, reno", "minrtt, reno"}
    # of each a run for throughput, one for latency and two for resilience, of both variations
    assert found.runs == 3 * 4 * 2


def table(advice: Advice) -> str:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(advise_report.table(advice))
    return console.export_text()


def test_the_answer_says_what_how_much_against_what_and_how_sure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(tmp_path, FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt), monkeypatch)
    text = advise_report.text(found)
    assert "For latency: blest with olia.\n" in text
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    # the same in every variation
    assert "Delay of a block, 99th percentile: 6.00 (6.00..6.00) ms." in words
    assert "default with cubic has 20.0 ms: on the same variations that is 14.0" in words
    # 6 variations say 1 - 1/2^6 of a median
    assert re.search(
        r"Sure \(98 %\): of \d+ pairs tried, none of the \d+ best beats it by more", words
    )
    assert "Without another kernel: default with cubic" in words


def test_the_table_has_all_finalists_within_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(tmp_path, FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt), monkeypatch)
    shown = table(found)
    for name in found.judged[0].ranking.standings:
        assert name in shown
    assert "6.00 *" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_commands_are_those_for_the_advised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(tmp_path, FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt), monkeypatch)
    use = advise_report.use(found)
    assert "  sysctl -w net.mptcp.scheduler=blest net.ipv4.tcp_congestion_control=olia\n" in use
    assert "blest needs a kernel with the patches" in use
    assert "olia needs one, too" in use
    assert "(here the client)" in use


def test_document_and_picture_are_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(tmp_path, FakeKernel(minrtt_is_fast_and_blest_with_olia_prompt), monkeypatch)
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
    ],
)
def test_what_cannot_be_advised_on_is_refused(flags: Flags, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        advise.check(from_flags(flags))
