# SPDX-License-Identifier: GPL-2.0-only
"""Expectations of runs: the names they can have, the verdicts, and the reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mptcplab.errors import InputError
from mptcplab.formulas.amounts import UNITS
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import ConnectionFigures, LinkFigures, PathFigures, RunFigures
from mptcplab.metrics.schema import metrics_of, short_name
from mptcplab.report import expectation_verdicts as shown
from mptcplab.runs import expectations
from mptcplab.runs.entries import Entry, Expectation, run_entry
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request, from_flags, load_file

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = (RunFigures, PathFigures, ConnectionFigures, LinkFigures)


def asked(**flags: Any) -> Request:
    paths = {"path": ("wifi:50mbit,10ms", "5g-sub6:20mbit,40ms"), "repeat": "3"}
    return from_flags(Flags(**{**paths, **flags}))


def read(
    request: Request, *texts: str, baseline: bool = True
) -> list[expectations.CompiledExpectation]:
    return expectations.read(texts, request.runs(), request.baselines() if baseline else [])


def entry(item: Scenario, **figures: Any) -> Entry:
    share = figures.pop("share", None)
    paths = tuple(PathFigures(name=path.name, share=share) for path in item.paths)
    return run_entry(item, RunMetrics(RunFigures(**figures), paths))


def failed(item: Scenario) -> Entry:
    return run_entry(item, reason="no power\nat all")


def judged(request: Request, runs: list[Entry], *texts: str) -> list[Expectation]:
    alone = [entry(item, goodput_bps=20e6) for item in request.baselines()]
    return expectations.judge(read(request, *texts), runs, alone)


def compared(*goodputs_mbit: tuple[float, ...]) -> tuple[Request, list[Entry]]:
    """default and minrtt with these goodputs, by seed."""
    request = asked(scheduler="default,minrtt")
    values = [value for of in goodputs_mbit for value in of]
    items = request.runs()
    return request, [
        entry(item, goodput_bps=value * 1e6, retransmitted_packets=4, share=0.25)
        for item, value in zip(items, values, strict=True)
    ]


def with_one_scheduler() -> tuple[Request, list[Entry]]:
    request = asked()
    return request, [entry(item, goodput_bps=50e6, share=0.5) for item in request.runs()]


def test_each_figure_has_one_short_name_and_no_two_have_the_same() -> None:
    for model in MODELS:
        metrics = metrics_of(model)
        names = [metric.name for metric in metrics]
        short = [short_name(metric.name, metric.unit) for metric in metrics]
        assert len({*short}) == len(metrics)
        assert {name for name in short if name in names} == {
            metric.name for metric in metrics if metric.unit not in ("bit/s", "ms", "s")
        }
        assert {metric.unit for metric in metrics} <= set(UNITS)
    assert short_name("goodput_bps", "bit/s") == "goodput"
    assert short_name("delay_ms_p99", "ms") == "delay_p99"
    assert short_name("page_load_s", "s") == "page_load"
    assert short_name("decisions_per_s", "1/s") == "decisions_per_s"
    assert short_name("ofo_bytes_p99", "bytes") == "ofo_bytes_p99"


@pytest.mark.parametrize(
    "text",
    [
        "goodput >= 50mbit",
        "paths['5g-sub6'].share <= 30% and paths.wifi.srtt_mean <= 30ms",
        "default.goodput > 0 and cubic.goodput > 0",
        "row['default'].goodput > 3mbit",
        "goodput >= 0.9 * (alone.wifi.goodput + default.alone['5g-sub6'].goodput)",
        "any([g > 3mbit for g in values(goodput)])",
        "quantile(5%, goodput) > 1mbit",
        "values(goodput)[0] <= values(goodput)[2]",
        # a ratio to a difference that imagined figures do not have
        "(goodput - 3mbit) / (goodput - default.goodput) > 1",
    ],
)
def test_what_can_be_judged_is_read(text: str) -> None:
    assert [each.text for each in read(asked(), text)] == [text]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("gooput >= 5mbit", 'unknown name gooput; did you mean "goodput"?'),
        ("dely_p99 <= 2ms", 'unknown name dely_p99; did you mean "delay_p99"?'),
        ("ecf.goodput > 3mbit", r"unknown name ecf; known are the figures .*, and default, cubic$"),
        ("defualt.goodput > 3mbit", 'unknown name defualt; did you mean "default"?'),
        ("default.gooput > 3mbit", 'default.gooput: unknown; did you mean "goodput"?'),
        ("row['defualt'].goodput > 1mbit", 'row: unknown "defualt"; did you mean "default"?'),
        ("paths.wify.share > 0", 'paths.wify: unknown; did you mean "wifi"?'),
        ("srtt_mean > 3ms", "srtt_mean is a figure of a path: paths.wifi.srtt_mean"),
        ("delay_p99 <= 2ms", "default has no delay_p99"),
        ("completion <= 2s", "default has no completion"),
        ("goodput >= 50ms", "a rate and a time do not fit together"),
        ("goodput >= 1mbit or goodput >= 50ms", "a rate and a time do not fit together"),
        ("1mbit <= goodput <= 50ms", "a rate and a time do not fit together"),
        ("goodput > (1mbit if goodput > 0 else 3s)", "a rate and a time do not fit together"),
        ("goodput", "is a rate; a comparison is expected"),
        ("goodput / 1mbit", "is 1e-06; a comparison is expected"),
        ("1 < 2", "names no figure"),
        ("medain(goodput) > 1mbit", r'unknown function medain\(\); did you mean "median"?'),
        ("median(goodput, scheduler='x') > 1mbit", r"median\(\) takes one figure"),
        ("lowest(2 * goodput) > 1mbit", r"lowest\(\) takes one figure"),
        ("lowest(goodput, 1mbit) > 1mbit", r"lowest\(\) takes one figure"),
        ("quantile(goodput) > 1mbit", r"quantile\(\) takes a share from 0 to 1"),
        ("quantile('5', goodput) > 1mbit", r"quantile\(\) takes a share from 0 to 1"),
        ("goodput * 1e308 >= 1mbit", "a number too large"),
        ("-" * 2000 + "goodput > 1mbit", "too many nested parts"),
        ("not " * 400 + "goodput > 1mbit", "too many nested parts"),
        ("goodput > 1mbit" + " + 1mbit" * 2000, "too many nested parts"),
        ("quantile(5, goodput) > 1mbit", r"quantile\(\) takes a share from 0 to 1"),
        ("goodput =< 1mbit", "not a formula"),
        ("goodput >= 5mbits", "unknown unit"),
        ("goodput.__class__ > 1", "goodput.__class__: goodput is not a table"),
    ],
)
def test_what_cannot_be_judged_is_refused_before_anything_is_run(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong) as caught:
        read(asked(), text)
    assert str(caught.value).startswith("1 mistake in --expect\n")
    assert caught.value.exit_status == 2
    with pytest.raises(InputError, match="2 mistakes in --expect"):
        read(asked(), text, "goodput > 1mbit", "goodput > 1ms")


def test_the_formulas_of_the_page_can_be_judged() -> None:
    text = (EXAMPLES.parent / "docs" / "expect.md").read_text()
    formulas = re.findall(r"--expect '(.+?)'", text)
    assert len(formulas) > 5
    paths = ("wifi:50mbit,10ms", "lte:20mbit,40ms")
    several = asked(scheduler="default,minrtt,redundant", path=paths)
    for formula in formulas:
        assert read(several, formula.replace("mine.", "redundant."))


def test_figures_of_other_workloads_and_of_baselines_are_known_beforehand() -> None:
    cbr = asked(workload="cbr:duration=5s,size=8KB,rate=1mbit")
    read(cbr, "delay_p99 <= 200ms")
    with pytest.raises(InputError, match="no aggregation_benefit"):
        read(cbr, "aggregation_benefit > 0.5")
    read(asked(), "aggregation_benefit > 0.5")
    with pytest.raises(InputError, match="no aggregation_benefit"):
        read(asked(), "aggregation_benefit > 0.5", baseline=False)
    with pytest.raises(InputError, match=r"alone\.wifi: unknown"):
        read(asked(), "alone.wifi.goodput > 1mbit", baseline=False)


def test_connections_and_links_have_figures() -> None:
    request = load_file(EXAMPLES / "fairness.toml")
    texts = (
        "connections.tcp.goodput >= 3mbit and connections.multipath.retransmitted_packets >= 0",
        "links.bottleneck.up.utilisation >= 90% and fairness > 0.9",
    )
    assert len(read(request, *texts, baseline=False)) == 2
    with pytest.raises(InputError, match=r'connections.tpc: unknown; did you mean "tcp"?'):
        read(request, "connections.tpc.share < 1", baseline=False)


def test_a_row_is_named_by_what_only_it_has() -> None:
    several = asked(scheduler="minrtt,minrtt:rp=off,ecf", cc="reno,lia")
    read(several, 'row["minrtt:rp=off, lia"].goodput > row["ecf, reno"].goodput')
    with pytest.raises(InputError, match=r'lia is in several rows: row\["minrtt, lia"\], row'):
        read(several, "lia.goodput > 1mbit")
    with pytest.raises(InputError, match=r'minrtt is in several rows: row\["minrtt, reno"\] and'):
        read(several, "minrtt.goodput > 1mbit")
    read(asked(cc="reno,lia"), "lia.goodput >= reno.goodput")
    # with its parameters, or without, if none goes without
    read(asked(scheduler="minrtt,minrtt:rp=off"), 'minrtt.goodput > row["minrtt:rp=off"].goodput')
    read(asked(scheduler="default,minrtt:rp=off"), "minrtt.goodput > default.goodput")


def test_a_figure_is_the_median_over_the_seeds() -> None:
    request, runs = compared((10, 50, 60), (40, 49, 90))
    found = judged(
        request,
        runs,
        "minrtt.goodput >= 0.98 * default.goodput",
        "minrtt.goodput >= default.goodput",
        "lowest(default.goodput) >= 10mbit and highest(default.goodput) <= 60mbit",
        "lowest(minrtt.goodput) > 40mbit",
        "quantile(50%, minrtt.goodput) == median(minrtt.goodput) == 49mbit",
        "len(values(minrtt.goodput)) == 3",
    )
    assert [each.held for each in found] == [True, False, True, False, True, True]
    first, second = found[:2]
    assert (first.left, first.right, first.unit) == (49e6, 49e6, "bit/s")
    assert (second.left, second.right, second.difference) == (49e6, 50e6, -1e6)
    assert {name: each.value for name, each in second.figures.items()} == {
        "minrtt.goodput": 49e6,
        "default.goodput": 50e6,
    }


def test_without_a_row_it_is_about_each() -> None:
    request, runs = compared((50, 50, 50), (40, 40, 40))
    found = judged(request, runs, "goodput >= default.goodput", "minrtt.goodput >= 0")
    assert [(each.of, each.held) for each in found] == [
        ("default", True),
        ("minrtt", False),
        (None, True),
    ]
    only = asked()
    (alone,) = judged(only, [entry(item, goodput_bps=1e6) for item in only.runs()], "goodput > 0")
    assert alone.of is None


def test_failed_runs_make_what_is_about_them_unknown_and_nothing_else() -> None:
    request, runs = compared((50, 50, 50), (40, 40, 40))
    runs[4] = failed(request.runs()[4])
    found = judged(request, runs, "default.goodput >= 50mbit", "minrtt.goodput > 0", "goodput > 0")
    assert [(each.of, each.held) for each in found] == [
        (None, True),
        (None, None),
        ("default", True),
        ("minrtt", None),
    ]
    assert found[1].reason == "minrtt has no goodput: 1 of 3 runs failed, no power"


def test_what_a_run_turns_out_not_to_have_meets_nothing() -> None:
    request = asked(workload="web")
    runs = [
        entry(item, page_load_s=None if item.seed == 2 else 3.0, stall_s=None)
        for item in request.runs()
    ]
    found = judged(request, runs, "page_load <= 4s", "stall == 0 or stall > 0")
    assert [each.held for each in found] == [False, False]
    assert found[0].reason == "default has no page_load: the run with seed 2 lacks it"
    # nor does a figure that is too large or undefined
    squared = "goodput * goodput * 1e300"  # 2.5e315
    large = (f"{squared} >= goodput * 1mbit", f"max({squared}, goodput * goodput) > 0")
    found = judged(*with_one_scheduler(), *large, "goodput / 0 > 1")
    assert [each.held for each in found] == [False, False, False]
    too_large = "a number too large to compute with"
    assert [each.reason for each in found] == [too_large, too_large, "division by zero"]


def test_a_line_says_held_or_not_and_by_how_much() -> None:
    request, runs = compared((50, 50, 50), (40, 40, 40))
    runs[5] = failed(request.runs()[5])
    texts = (
        "default.goodput >= 45mbit",
        "default.goodput >= 1.25 * default.alone.wifi.goodput + 50mbit",
        "default.retransmitted_packets == 4",
        "default.goodput >= 45mbit and max(default.paths.wifi.share, 5%) < 1",
        "goodput > 0",
    )
    assert shown.lines(judged(request, runs, *texts)) == [
        f"held:     {texts[0]}: 50 Mbit/s, 5 Mbit/s (11 %) above 45 Mbit/s",
        f"not held: {texts[1]}: 50 Mbit/s, 25 Mbit/s (33 %) below 75 Mbit/s; "
        "default.alone.wifi.goodput 20 Mbit/s",
        f"held:     {texts[2]}: 4 packets, the same as 4 packets",
        f"held:     {texts[3]}: default.goodput 50 Mbit/s, max(default.paths.wifi.share, 5%) 0.25",
        "held:     goodput > 0 (default): 50 Mbit/s, 50 Mbit/s above 0 bit/s",
        "unknown:  goodput > 0 (minrtt): minrtt has no goodput: 1 of 3 runs failed, no power",
    ]
    # a line is one line
    text = "all(g > 1mbit\n for g in values(goodput))"
    (line,) = shown.lines(judged(*with_one_scheduler(), text))
    assert line == r"held:     all(g > 1mbit\n for g in values(goodput)): goodput 50 Mbit/s"
    text = "all(paths[p].share > 1% for p in paths)"
    assert shown.lines(judged(*with_one_scheduler(), text)) == [f"held:     {text}"]


def test_many_that_are_met_are_counted() -> None:
    held = Expectation(expectation="a > 0", held=True)
    unmet = Expectation(expectation="b > 0", held=False, reason="so", point={"path.a.delay": "5ms"})
    assert len(shown.lines([held] * shown.MOST_HELD)) == shown.MOST_HELD
    assert shown.lines([*[held] * (shown.MOST_HELD + 1), unmet]) == [
        "not held: b > 0 (path.a.delay=5ms): so",
        f"held:     {shown.MOST_HELD + 1} of {shown.MOST_HELD + 2}",
    ]


def test_the_junit_report_has_a_case_for_each() -> None:
    request, runs = compared((50, 50, 50), (40, 40, 40))
    runs[5] = failed(request.runs()[5])
    texts = ("default.goodput >= 45mbit", "default.goodput >= 55mbit", "minrtt.goodput > 0")
    command = "mptcplab compare --expect 'a >= b' & <c>"
    text = shown.junit(judged(request, runs, *texts), "mptcplab compare", command)
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    (suite,) = root
    counts = {"tests": "3", "failures": "1", "errors": "1"}
    assert root.attrib == counts
    assert suite.attrib == {"name": "mptcplab compare", **counts, "skipped": "0"}
    assert [case.get("name") for case in suite] == list(texts)
    assert {case.get("classname") for case in suite} == {"mptcplab.compare"}
    held, unmet, unknown = ([child.tag for child in case] for case in suite)
    assert (held, unmet, unknown) == (["system-out"], ["failure"], ["error"])
    failure = suite[1][0]
    assert failure.get("message") == "not held: 50 Mbit/s, 5 Mbit/s (9.1 %) below 55 Mbit/s"
    assert str(failure.text).splitlines() == [
        "expected: default.goodput >= 55mbit",
        "figures:  50 Mbit/s, 5 Mbit/s (9.1 %) below 55 Mbit/s",
        f"repeat:   {command}",
    ]


def test_the_junit_report_is_xml_whatever_is_in_it() -> None:
    request, runs = with_one_scheduler()
    text = "goodput > 60mbit and row['default'].goodput > 0 and 'a\x1b\ufffe\x00' != '<&'"
    found = [
        each.model_copy(update={"reason": "a\x07b\ud800 \U0001f600"})
        for each in judged(request, runs, text.replace("\x00", ""))
    ]
    root = ElementTree.fromstring(shown.junit(found, "mptcplab run", "mptcplab \udcff \x00 <&"))
    message = next(root.iter("failure")).get("message")
    assert message == r"not held: a\u0007b\ud800 " + "\U0001f600"
    written = str(next(root.iter("failure")).text).splitlines()
    assert written[2] == r"repeat:   mptcplab \udcff \u0000 <&"
