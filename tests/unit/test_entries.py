# SPDX-License-Identifier: GPL-2.0-only
"""What is kept of runs, as models: what is written is what is read, and what the schema says."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from mptcplab.cli import cli
from mptcplab.metrics.definitions import ConnectionFigures, LinkFigures
from mptcplab.runs import entries
from mptcplab.runs.entries import Document, Entry
from tests.unit import synthetic
from tests.unit.test_report import BUILD, alone, failed, mptcp


def made() -> Document:
    """With runs of several seeds and schedulers, a failed one, baselines, connections and links."""
    base = synthetic.scenario()
    shared = {
        "connections": (ConnectionFigures(name="a", paths=("fast",)),),
        "links": (LinkFigures(name="l", direction="up", lost_packets=3),),
        "server_status": 0,
    }
    runs = [
        *mptcp([4000, 3000]),
        mptcp(scheduler="blest")[0].model_copy(update=shared),
        failed(base.with_(seed=3), "no power"),
    ]
    baselines = [alone(base, "fast", 4000), alone(base, "slow", 1000)]
    return entries.document(runs, baselines, BUILD, base)


def stored(document: Document) -> Any:
    return json.loads(json.dumps(document.model_dump(mode="json"), allow_nan=False))


def test_what_is_read_is_what_was_written_and_is_written_the_same() -> None:
    text = json.dumps(stored(made()))
    again = Document.model_validate_json(text)
    assert again == made()
    assert json.dumps(again.model_dump(mode="json")) == text
    # keys that are not known stay
    content = stored(made())
    content["runs"][0]["mood"] = content["runs"][0]["metrics"]["luck"] = 7
    again = Document.model_validate_json(json.dumps(content))
    assert stored(again) == content
    # a figure is found by its name, and none by another
    figures = again.runs[0].metrics
    assert figures["goodput_bps"] == figures.goodput_bps
    with pytest.raises(KeyError):
        figures["goodput_mbps"]


@pytest.mark.parametrize("value", [float("inf"), float("nan"), "text", {"a": 1}])
def test_an_unknown_figure_is_a_number(value: Any) -> None:
    content = stored(made())
    content["runs"][0]["metrics"]["luck"] = value
    with pytest.raises(ValidationError, match=r"runs\.0\.metrics\.luck"):
        Document.model_validate_json(json.dumps(content))


def test_what_is_not_said_is_not_written() -> None:
    [plain, *_], [baseline, *_] = stored(made())["runs"], stored(made())["baselines"]
    assert baseline.keys() - plain.keys() == {"transport", "path"}
    assert plain.keys() & {"reason", "connections", "links", "client_status", "no_figures"} == set()


def test_the_schema_accepts_what_is_written_and_nothing_that_is_not_read() -> None:
    schema = json.loads(CliRunner().invoke(cli, ["results", "schema"]).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    content = stored(made())
    validator.validate(content)
    content["runs"][0]["paths"][1]["share"] = "much"
    assert not validator.is_valid(content)
    with pytest.raises(ValidationError, match=r"runs\.0\.paths\.1\.share"):
        Document.model_validate_json(json.dumps(content))


def test_the_schema_says_what_every_figure_means() -> None:
    schema = Entry.model_json_schema()["$defs"]
    for name in ("RunFigures", "PathFigures", "LinkFigures", "UdpFigures"):
        for key, about in schema[name]["properties"].items():
            if name == "UdpFigures" and key in ("server", "path"):  # beside client
                continue
            assert about["description"].endswith(".")
            assert {"unit", "formula", "source"} <= about.keys()
    assert schema["RunFigures"]["properties"]["goodput_bps"]["unit"] == "bit/s"
