# SPDX-License-Identifier: GPL-2.0-only
"""The docs and --help say of each key of a scenario what its model says."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checks import keys
from mptcplab.cli import load
from mptcplab.scenario import literal, option_keys, resolve
from mptcplab.scenario.flags import Flags

ROOT = Path(__file__).parents[2]


def test_the_tables_of_the_pages_are_those_of_the_models() -> None:
    wrong = [
        f"{page}: {name}"
        for page, tables in keys.pages().items()
        for name, table in tables.items()
        if f"<!-- begin: {name} -->\n{table}<!-- end: {name} -->"
        not in (ROOT / "docs" / page).read_text(encoding="utf-8")
    ]
    assert wrong == [], "write them with python -m checks.keys"


EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
SCHEMA = keys.schema()


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_an_example_names_its_schema_and_follows_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    assert first.startswith("#:schema ./")
    text_of_schema = (file.parent / first.removeprefix("#:schema ")).read_text(encoding="utf-8")
    assert text_of_schema == SCHEMA, "write it with python -m checks.keys"
    schema = json.loads(text_of_schema)
    jsonschema.validate(tomllib.loads(text), schema)
    with pytest.raises(jsonschema.ValidationError, match="'nosuch' was unexpected"):
        jsonschema.validate(tomllib.loads(f"nosuch = 1\n{rest}"), schema)
    assert resolve.load_file(file).base.paths


def test_every_key_is_in_a_table() -> None:
    text = "".join(table for page in keys.pages().values() for table in page.values())
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


def said(key: str) -> tuple[str, str]:
    """The description and the default of a key at the top of a file, or of a workload."""
    model = (
        literal.LiteralScenario
        if key in literal.LiteralScenario.model_fields
        else (literal.LiteralWorkload)
    )
    field = model.model_fields[key]
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    text, _, default = str(field.description).partition(" By default ")
    return text, str(extra.get("default", default.removesuffix(".")))


@pytest.mark.parametrize("command", ["run", "compare", "exec", "shell", "advise"])
def test_an_option_says_of_its_key_what_the_model_says(command: str) -> None:
    # what these mean there is not what they mean in a file
    own = {"compare": {"scheduler"}, "advise": {"scheduler", "cc", "seed"}}.get(command, set())
    options = {
        str(each.name): each.to_info_dict()["help"]
        for each in load(command).params
        if each.name in option_keys.KEYS
    }
    assert options
    for key in options.keys() - own:
        text, default = said(key)
        text = {"scheduler": "Packet scheduler", "cc": "Congestion control of every"}.get(key, text)
        assert options[key].startswith(text.removesuffix("."))
        assert options[key].endswith(f".  [{default}]")


def test_every_flag_with_the_name_of_a_key_is_described_once() -> None:
    known = {*(literal.LiteralScenario.model_fields), *(literal.LiteralWorkload.model_fields)}
    # these have a form of their own
    tables = {"path", "link", "connection", "event", "workload"}
    flags = {each.name for each in dataclasses.fields(Flags)}
    assert (flags & known) - tables == option_keys.KEYS.keys()


def test_the_default_of_a_description_is_the_one_that_is_used() -> None:
    def resolved(**flags: Any) -> object:
        return resolve.from_flags(Flags(path=("a:10mbit,10ms",), **flags)).runs()

    for name, key in option_keys.KEYS.items():
        if key.default is not None:
            assert resolved(**{name: str(key.default)}) == resolved(), name
    assert resolved(seed="2") != resolved()
