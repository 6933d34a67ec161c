# SPDX-License-Identifier: GPL-2.0-only
"""The docs list each key of a scenario as its model has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.spec import literal
from mptcplab.tools import keys

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", keys.tables())
def test_the_tables_of_the_pages_are_those_of_the_models(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for name, table in keys.tables()[page].items():
        expected = f"<!-- begin: {name} -->\n{table}<!-- end: {name} -->"
        assert expected in text, "write it with python -m mptcplab.tools.keys"


def test_every_key_is_in_a_table() -> None:
    text = "".join(table for page in keys.tables().values() for table in page.values())
    listed = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    models = (
        literal.LiteralScenario,
        literal.LiteralPath,
        literal.LiteralLink,
        literal.LiteralTrace,
        literal.LiteralEvent,
        literal.LiteralWorkload,
        literal.LiteralConnection,
    )
    known = {key for model in models for key in model.model_fields}
    # these are tables of their own, headed [[event]] and [[connection]]
    assert known - listed == {"event", "connection"}
