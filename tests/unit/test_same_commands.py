# SPDX-License-Identifier: GPL-2.0-only
"""The comparison of two versions by their answers to command lines: it finds what is planted."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from checks import same_commands
from checks.same_commands import (
    Answer,
    changes,
    compared,
    normalised,
    read_renamed,
    refusal,
    spelled,
)

ANSWER = Answer(
    "mptcplab run", 0, "goodput 50\n", "told\n", [("o/a.json", "{}"), ("o/b.png", "<1>")]
)
NOTHING = read_renamed("")


def differing(
    new: Answer, renamed: str = "", old: Answer = ANSWER, same_ids: bool = True
) -> list[str]:
    return [each.what for each in compared(old, new, read_renamed(renamed), same_ids)]


@pytest.mark.parametrize(
    ("new", "what"),
    [
        (ANSWER, []),
        (replace(ANSWER, status=1), ["exit status"]),
        (replace(ANSWER, stdout="goodput 51\n"), ["standard output"]),
        (replace(ANSWER, stdout="goodput  50\n"), ["standard output"]),
        (replace(ANSWER, stderr=""), ["standard error"]),
        (replace(ANSWER, files=ANSWER.files[:1]), ["files"]),
        (replace(ANSWER, files=[("o/a.json", None), ANSWER.files[1]]), ["o/a.json"]),
        (replace(ANSWER, files=[ANSWER.files[0], ("o/b.png", "<2>")]), ["o/b.png"]),
    ],
)
def test_every_kind_of_difference_is_found(new: Answer, what: list[str]) -> None:
    assert differing(new) == what


def test_a_text_may_differ_as_listed_and_no_further() -> None:
    new = replace(ANSWER, stderr="reported\n")
    assert differing(new, "[texts]\n- told\n+ reported\n") == []
    assert differing(new, "[texts]\n- told\n+ said\n") == ["standard error"]
    assert differing(replace(new, status=1), "[texts]\n- told\n+ reported\n") == ["exit status"]


def test_data_may_not_differ_as_a_text_may() -> None:
    old, new = (replace(ANSWER, stdout=f'{{"{word}": 1}}') for word in ("told", "reported"))
    pair = f"- {old.stdout}\n+ {new.stdout}\n"
    assert differing(new, f"[texts]\n{pair}", old) == ["standard output"]
    assert differing(new, f"[data]\n{pair}", old) == []


def test_moved_columns_do_not_count_beside_a_listed_word() -> None:
    old, new = "name  rate\nwifi  50\n", "name   pace\nwifi   50\n"
    assert changes(old, new, words=True) == [("name rate", "name pace")]
    assert changes(old, new, words=False) == [(r"name  rate\nwifi  50", r"name   pace\nwifi   50")]


def test_ids_count_unless_the_kernels_differ() -> None:
    old, new = (replace(ANSWER, files=[(f"runs/{key}/x", key)]) for key in ("0" * 16, "a" * 16))
    assert differing(new, old=old) == ["files"]
    assert differing(new, old=old, same_ids=False) == []


def test_an_old_name_is_refused_with_the_new_one() -> None:
    words = read_renamed("[words]\n- --trace\n+ --decisions\n")["words"]
    lines = ["run --decisions --decisions-x", "show", "run x --decisions"]
    old = ["run --trace --decisions-x", "show", "run x --trace"]
    assert spelled(lines, words) == (old, [(old[0], "--decisions")])
    refused = replace(ANSWER, status=2, stderr="now --decisions", refuses="--decisions")
    assert list(refusal(refused)) == []
    assert [each.what for each in refusal(replace(refused, status=0))] == ["exit status"]
    assert [each.what for each in refusal(replace(refused, stderr="no"))] == ["standard error"]


def test_what_differs_from_call_to_call_is_replaced() -> None:
    assert normalised('/tmp/same-ab_1cd2e: "wall_s": 1.5e-3') == '/tmp/same-XXXXXXXX: "wall_s": 0'
    assert len(normalised("x" * 10**6)) < 100


@pytest.mark.parametrize(
    ("old", "new", "is_wording"),
    [
        ("took 2 runs in 0.5 s", "made 2 runs in 0.5 s", True),
        ("took 2 runs in 0.5 s", "took 20 runs in 1e-3 s", False),  # a figure, or a time
        ("the page of a run", "<p>" + "H4sI" * 50, False),
        ("a page", "two words " * 400, False),
        ("running", "\x1b[2K run", False),
    ],
)
def test_only_wording_is_listed(old: str, new: str, is_wording: bool) -> None:
    assert same_commands.is_wording((old, new)) == is_wording


def test_the_python_of_the_environment_has_no_path() -> None:
    assert normalised("['/x-y/.venv/bin/python3.11', 'f.py']") == "['python', 'f.py']"


def test_versions_are_run_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository, checks = tmp_path / "repository", tmp_path / "checks"
    program = repository / "src" / "mptcplab" / "cli.py"
    program.parent.mkdir(parents=True)
    (program.parent / "__init__.py").touch()
    checks.mkdir()
    (checks / "commands.txt").write_text("== a\nmptcplab > x\ncat x; rm x\n== b\nmptcplab\n")
    (checks / "renamed.txt").write_text("")

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(repository), *arguments], check=True)

    def called(*arguments: str) -> tuple[int, str]:
        kept = ("--kept", str(tmp_path / "kept"))
        status = same_commands.main([*arguments, *kept], checks)
        return status, capsys.readouterr().out

    git("init", "--quiet")
    program.write_text("def main():\n    print('kernel 0123456789ab')\n")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")
    monkeypatch.setattr(same_commands, "ROOT", repository)

    assert called("HEAD", str(repository))[0] == 0
    program.write_text("def main():\n    print('Kernel 0123456789ab')\n")
    status, said = called("HEAD", str(repository))
    assert status == 1
    assert "a: cat x; rm x" in said
    assert "    -kernel 0123456789ab\n    +Kernel 0123456789ab" in said
    assert "3 command lines, 3 differ" in said
    assert called("HEAD", str(repository), "--list")[0] == 1
    # x is data, which is not listed
    status, said = called("HEAD", str(repository))
    assert status == 1
    assert "3 command lines, 1 differ" in said
