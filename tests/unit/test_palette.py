# SPDX-License-Identifier: GPL-2.0-only
"""Colours and markers of schedulers."""

from __future__ import annotations

from mptcplab.report.palette import COLOURS, PATH_COLOURS, TOTAL_COLOUR, styles
from mptcplab.scenario import scheduler


def test_a_scheduler_looks_the_same_in_whatever_order_and_company() -> None:
    alone = styles(["default", "blest"])
    assert styles(["blest", "default"]) == alone
    more = styles(["mine", "default", "weighted", "blest", "ecf:x=1"])
    assert {name: more[name] for name in alone} == alone


def test_up_to_eight_schedulers_have_a_colour_and_a_marker_each() -> None:
    found = styles(["default", "minrtt", "a", "b", "c", "d", "e", "f"]).values()
    assert {style.colour for style in found} == set(COLOURS)
    assert len({style.marker for style in found}) == 8
    assert {style.dash.plotly for style in found} == {"solid"}


def test_all_schedulers_of_the_lab_and_variants_of_them_differ() -> None:
    known = [*scheduler.known()]
    labels = [*known, *(f"roundrobin:num_segments={n}" for n in range(2, 34 - len(known)))]
    assert len(labels) == 32  # there are no more looks
    assert len(set(styles(labels).values())) == 32


def test_those_that_share_a_colour_have_another_marker_and_another_dash() -> None:
    by_colour: dict[str, list[tuple[str, str]]] = {}
    for style in styles(f"s{n:02}" for n in range(32)).values():
        by_colour.setdefault(style.colour, []).append((style.marker.text, style.dash.plotly))
    for looks in by_colour.values():
        markers, dashes = zip(*looks, strict=True)
        assert len(set(markers)) == len(set(dashes)) == 4


def test_no_colour_is_of_a_path_and_of_a_scheduler() -> None:
    paths, schedulers = {*PATH_COLOURS, TOTAL_COLOUR}, {*COLOURS}
    assert len(PATH_COLOURS) == 8  # the most paths of a connection
    assert len(paths) == 9
    assert {c.lower() for c in paths} & {c.lower() for c in schedulers} == set()


def test_a_scheduler_of_two_outputs_has_two_dashes_alone() -> None:
    labels = [f"{name} ({out})" for out in ("a", "b/c") for name in ("default", "own", "x (a)")]
    found = styles([*labels, "ecf"], ("a", "b/c"))
    assert len(set(found.values())) == 7
    for name in ("default", "own", "x (a)"):
        first, second = (found[f"{name} ({out})"] for out in ("a", "b/c"))
        assert (first.colour, first.marker) == (second.colour, second.marker)
        assert (first.dash.hatch, second.dash.hatch) == ("", "///")
    assert found["ecf"] == styles(["ecf"])["ecf"]
