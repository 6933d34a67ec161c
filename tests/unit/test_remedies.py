# SPDX-License-Identifier: GPL-2.0-only
"""Which changes are named for which reasons."""

from __future__ import annotations

from typing import Any

import pytest

from mptcplab import resources
from mptcplab.report.explain import Explanation, Reason
from mptcplab.report.remedies import remedies
from mptcplab.scenario.scheduler import Choice
from tests.unit import synthetic


def explanation(*reasons: Reason, connection: str | None = None) -> Explanation:
    return Explanation("run", connection, None, 50e6, 100e6, list(reasons), 0.0, [])


def reason(kind: str, bps: float = 20e6, behind: str | None = None) -> Reason:
    return Reason(kind, "fast", bps, 0.2, "", behind)


@pytest.mark.parametrize(
    ("kind", "behind", "fields", "options"),
    [
        ("losses", None, {}, ["--cc bbr"]),
        ("growth", None, {}, ["--cc bbr"]),
        ("timeout", None, {}, ["--scheduler earliest"]),
        ("event", None, {}, ["--scheduler earliest"]),
        ("event", None, {"scheduler": Choice(name="earliest")}, []),
        ("scheduler", None, {}, ["--scheduler minrtt"]),
        ("duplicates", None, {"transport": "tcp"}, []),
        ("window", "slow", {}, ["--scheduler ecf", "--receive-buffer 16MiB"]),
        ("window", None, {}, ["--receive-buffer 16MiB"]),
        ("window", None, {"receive_buffer_bytes": 2**24}, []),
        (
            "send_buffer",
            "slow",
            {"send_buffer_bytes": 10**5},
            ["--scheduler ecf", "--send-buffer auto"],
        ),
        ("send_buffer", None, {}, ["--receive-buffer 16MiB"]),
        ("losses", None, {"cc": "bbr"}, []),
        ("paced", None, {"cc": "bbr"}, ["--cc cubic"]),
        ("application", None, {}, []),
        ("others", None, {}, []),
        ("headers", None, {}, []),
    ],
)
def test_a_reason_has_its_changes(
    kind: str, behind: str | None, fields: dict[str, Any], options: list[str]
) -> None:
    scenario = synthetic.scenario().model_copy(update=fields)
    found = remedies(explanation(reason(kind, behind=behind)), scenario)
    assert [each.option for each in found] == options
    for each in found:
        assert (resources.DOCS / each.page).is_file()
        assert each.applied(scenario) != scenario


def test_the_largest_reasons_come_first_once_and_small_ones_not_at_all() -> None:
    found = explanation(
        reason("duplicates"), reason("losses"), reason("growth"), reason("event", 4.9e6)
    )
    assert [each.option for each in remedies(found, synthetic.scenario())] == [
        "--scheduler minrtt",
        "--cc bbr",
    ]
    of_several = explanation(reason("losses"), connection="a")
    assert remedies(of_several, synthetic.scenario()) == []


def test_a_change_changes_one_thing() -> None:
    scenario = synthetic.scenario()
    (ecf, buffer) = remedies(explanation(reason("window", behind="slow")), scenario)
    assert ecf.applied(scenario) == scenario.with_(scheduler=Choice(name="ecf"))
    changed = buffer.applied(scenario)
    assert changed.receive_buffer_bytes == 16 * 2**20
    assert changed.model_copy(update={"receive_buffer_bytes": None}) == scenario
