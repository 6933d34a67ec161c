# SPDX-License-Identifier: GPL-2.0-only
"""The models of the out-of-tree kernel's own schedulers, by decisions recorded in that kernel.

`python -m checks.oracle --kernel NAME --record tests/unit/originals` records them: docs/oracle.md.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from pathlib import Path

import pytest

from checks.oracle import originals
from checks.oracle.__main__ import main
from checks.oracle.compare import Agreement, judge_file
from checks.oracle.originals import ORIGINALS, bytes_room
from checks.oracle.scenarios import RECORDED
from checks.oracle.state import OUT_OF_TREE_QUESTION, OUT_OF_TREE_SUBFLOW
from mptcplab import resources
from mptcplab.metrics import records

DIRECTORY = Path(__file__).with_name("originals")
PATCH = "patches/4.19/engine/0090-mptcp-record-the-decisions-of-schedulers.patch"


def judged(scheduler: str, scenario: str, tmp_path: Path) -> Agreement:
    recorded = DIRECTORY / f"{scheduler}-{scenario}.states.xz"
    states = tmp_path / "states"
    states.write_bytes(lzma.decompress(recorded.read_bytes()))
    return judge_file(states, scheduler, bytes_room)


@pytest.mark.parametrize("scheduler", ORIGINALS)
def test_every_recorded_decision_is_that_of_the_model(scheduler: str, tmp_path: Path) -> None:
    forms: Counter[str] = Counter()
    for scenario in RECORDED:
        found = judged(scheduler, scenario, tmp_path)
        assert found.decisions > 100
        assert not found.differs, f"{scenario}: {found.first}"
        forms += found.forms
    # the faults of each source, which decide there
    assert (
        set(forms)
        == {
            "minrtt": {originals.PASSED},
            "roundrobin": {originals.BUSY},
            "redundant": {originals.LOST, originals.AGAIN},
            "blest": {originals.PASSED, originals.FASTEST},
            "ecf": {originals.PASSED, originals.FASTEST, originals.OVERFLOW, originals.MEMORY},
        }[scheduler]
    )


@pytest.mark.parametrize(
    ("scheduler", "scenario", "part", "wrong"),
    [
        ("minrtt", "size-500k", "Availability.available", lambda _, subflow, __: subflow.usable),
        ("minrtt", "returns", "Availability.penalise", lambda *_: None),
        ("minrtt", "returns", "Availability.repeat", lambda *_: None),
        ("roundrobin", "window-16k", "OriginalRoundRobin.took", lambda *_: None),
        ("redundant", "thin", "OriginalRedundant._moved", lambda *_: None),
        ("blest", "returns", "OriginalBlest.bytes_in", lambda *_: 0),
        ("ecf", "size-500k", "_U32", -1),
    ],
)
def test_a_model_without_a_rule_of_its_source_differs(
    scheduler: str,
    scenario: str,
    part: str,
    wrong: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"checks.oracle.originals.{part}", wrong)
    assert judged(scheduler, scenario, tmp_path).differs


def test_the_records_of_that_kernel_have_their_fields_where_they_are_read() -> None:
    patch = re.sub(r"^\+", "", (resources.KERNEL / PATCH).read_text(), flags=re.MULTILINE)
    for name, *dtypes in (
        ("state_head", records.QUESTION_DTYPE),
        ("state_question", records.QUESTION_DTYPE, OUT_OF_TREE_QUESTION),
        ("state_subflow", records.SUBFLOW_STATE_DTYPE, OUT_OF_TREE_SUBFLOW),
        ("state_answer", records.ANSWER_DTYPE),
        ("probe_decision", records.DECISION_DTYPE),
    ):
        (body,) = re.findall(rf"^struct {name} {{\n(.*?)^}};", patch, re.MULTILINE | re.DOTALL)
        place, at = 16 if "struct state_head" in body else 0, {}
        for bits, field, count in re.findall(r"__(?:le|u)(\d+)\s+(\w+)(?:\[(\d+)\])?;", body):
            at[field] = place
            place += int(bits) // 8 * int(count or 1)
        assert place == (16 if name == "state_head" else dtypes[0].itemsize)
        known = {
            field: offset
            for each in dtypes
            for field, (_, offset, *_) in (each.fields or {}).items()
        }
        at.pop("padding", None)
        assert at.items() <= known.items()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kernel", "v0.95", "--only", "otias"], "with --kernel, accepted is minrtt, roundrobin"),
        (["--record", "there"], "--record needs --kernel"),
    ],
)
def test_mistakes_have_a_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_an_unknown_kernel_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kernel", "no-such-kernel"]) != 0
    assert "no-such-kernel" in capsys.readouterr().err
