# SPDX-License-Identifier: GPL-2.0-only
"""How calls at random are divided among guests and judged, without making any."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import fuzz, many
from checks.fuzz import CALLS_PER_GUEST, FuzzCase, Result, cases, main, parse, table
from mptcplab.plan import plan
from tests.vocabulary import shown

SAID = """\
socket             ok=3
send               ok=2 EPIPE=4
reopen
calls 9
"""


@pytest.mark.parametrize(
    ("calls", "sizes"),
    [
        (1, [1]),
        (CALLS_PER_GUEST, [CALLS_PER_GUEST]),
        (2 * CALLS_PER_GUEST + 5, [CALLS_PER_GUEST, CALLS_PER_GUEST, 5]),
    ],
)
def test_each_guest_has_the_next_seed(calls: int, sizes: list[int]) -> None:
    made = cases(7, calls)
    assert [case.calls for case in made] == sizes
    assert [case.seed for case in made] == list(range(7, 7 + len(sizes)))
    # the command of a guest makes that guest alone
    for case in made:
        words = dict(word.split("=") for word in case.command.split()[2:])
        assert cases(int(words["SEED"]), int(words["CALLS"])) == [case]


def test_a_seed_decides_the_whole_plan() -> None:
    plans = [plan.render(FuzzCase(seed, 100).scenario("/calls")) for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]
    assert " -- /calls 1 100" in plans[0]


def test_results_are_counted() -> None:
    result = parse(SAID, 0)
    assert result.counts == {"socket": {"ok": 3}, "send": {"ok": 2, "EPIPE": 4}, "reopen": {}}
    assert (result.calls, result.failures) == (9, [])
    total = Result()
    total.add(result)
    total.add(result)
    assert (total.calls, total.counts["send"]["EPIPE"], result.calls) == (18, 8, 9)
    # every call has a line
    lines = [line.split() for line in shown(table(result), width=120).splitlines()]
    assert lines[1:] == [
        ["socket", "3", "ok", "3"],
        ["send", "6", "EPIPE", "4,", "ok", "2"],
        ["reopen", "0"],
        ["all", "9"],
    ]


@pytest.mark.parametrize(
    ("said", "status", "failures"),
    [
        (SAID, 1, ["the program ended with the status 1"]),
        (SAID.removesuffix("calls 9\n"), 0, ["the program did not end"]),
        ("", 0, ["the program did not end"]),
        ("WRONG: a byte\n" + SAID, 1, ["a byte"]),
        ("malloc(): corrupted\n" + SAID, 0, ["the program said: malloc(): corrupted"]),
        ("WRONG: a byte\nsocket      ok=", 1, ["a byte", "the program said: socket      ok="]),
    ],
)
def test_what_goes_wrong_is_a_failure(said: str, status: int, failures: list[str]) -> None:
    assert parse(said, status).failures == failures


@pytest.mark.parametrize("flag", ["--seed", "--calls"])
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "x", "²", "1000000001"])
def test_a_wrong_number_is_told(flag: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([f"{flag}={value}"])
    assert ended.value.code == 2
    assert f"{value}: a whole number from 1 to 1000000000" in capsys.readouterr().err


def test_failures_are_reported_with_their_command_and_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def perform(case: FuzzCase, *_: object) -> Result:
        return Result(failures=["KASAN: slab-use-after-free"]) if case.seed == 2 else parse(SAID, 0)

    monkeypatch.setattr(many, "builds", lambda _variant, _program: None)
    monkeypatch.setattr(fuzz, "perform", perform)
    assert main(["--out", str(tmp_path), "--calls", str(CALLS_PER_GUEST + 6)]) == 1
    said = capsys.readouterr().out
    assert "FAILED: make fuzz SEED=2 CALLS=6\n    KASAN: slab-use-after-free" in said
    assert f"to repeat it: make fuzz SEED=2 CALLS=6   # kept: {tmp_path}/2" in said
    assert [each.name for each in tmp_path.iterdir()] == ["2"]
