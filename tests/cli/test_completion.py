# SPDX-License-Identifier: GPL-2.0-only
"""Completion: what shells ask, as their scripts do, and a real bash, zsh and fish with theirs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mptcplab.scenario import scheduler
from mptcplab.scenario.presets import PRESETS
from tests.cli.test_start import CALL, SLOW

#: What bash breaks words at unless it is told otherwise.
BREAKS = " \t\n\"'><=;|&(:"
SHELLS = ("bash", "zsh", "fish")


def environment(shell: str, line: str) -> dict[str, str]:
    """What the script of a shell says when its user asks at the end of a line."""
    words = line.split(" ")
    asked = {
        "bash": {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_WORDBREAKS": BREAKS},
        "zsh": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "fish": {"COMP_WORDS": line, "COMP_CWORD": words[-1]},
    }
    return {**os.environ, **asked[shell], "_MPTCPLAB_COMPLETE": f"{shell}_complete"}


def answer(shell: str, line: str) -> list[str]:
    """The words that are suggested, as the shell gets them."""
    done = subprocess.run(
        [sys.executable, "-m", "mptcplab"],
        env=environment(shell, line),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    lines = done.stdout.strip().splitlines()
    if shell == "zsh":
        return lines[1::3]
    return [each.partition(",")[2].partition("\t")[0] for each in lines]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mptcplab comp", ["compare", "completion"]),
        ("mptcplab scheduler sh", ["show"]),
        ("mptcplab scheduler show rou", ["roundrobin"]),
        ("mptcplab cc show li", ["lia"]),
        ("mptcplab run -s ", [*scheduler.known(), "all"]),
        ("mptcplab compare -s default,ble", ["default,blest"]),
        ("mptcplab advise --cc re", ["reno"]),
        ("mptcplab leaderboard -s ble", ["blest"]),
        ("mptcplab leaderboard --set tr", ["training"]),
        ("mptcplab bisect --variant up", ["upstream"]),
        ("mptcplab selftests --only pm", ["pm_netlink.sh"]),
        ("mptcplab selftests -s minr", ["minrtt"]),
        ("mptcplab bisect --expect goodp", ["goodput", "goodput_down"]),
        ("mptcplab kernel compare cur", ["current"]),
        ("mptcplab kernel compare current 6.", ["6.12"]),
        ("mptcplab run -p ", list(PRESETS)),
        ("mptcplab run --transport ", ["mptcp", "tcp"]),
        ("mptcplab run --kernel-like cl", ["cloud"]),
        ("mptcplab run --kernel 6.12,sto", ["6.12,stock:"]),
        ("mptcplab run -w fra", ["frames"]),
        ("mptcplab run -p a:1mbit,1ms --expect goodp", ["goodput", "goodput_down"]),
        ("mptcplab run --expect goodput_b", ["goodput_bps"]),
        ("mptcplab compare -s default,ecf --expect ecf.page", ["ecf.page_load"]),
        ("mptcplab run -p lte --expect paths.lte.srt", ["paths.lte.srtt_mean"]),
        ("mptcplab compare -p lte --sweep path.lte.de", ["path.lte.delay="]),
        ("mptcplab papers show cech2020/fig1", ["cech2020/fig10", "cech2020/fig11"]),
        ("mptcplab run --no-such", []),
    ],
)
def test_words_are_suggested(shell: str, line: str, words: list[str]) -> None:
    assert answer(shell, line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mptcplab run -s minrtt:rp", ["rp=", "rp_limit="]),
        ("mptcplab run -s minrtt:rp=", ["on", "off"]),
        ("mptcplab run -s minrtt:rp=off:bm_", ["bm_lambda="]),
        ("mptcplab run -s roundrobin:num_segments=", ["1", "255"]),
        ("mptcplab run -s nosuch:", []),
        ("mptcplab run --cc lia:ex", ["exact="]),
        ("mptcplab run -p lte:que", ["queue="]),
        ("mptcplab run -p lte -e 3s:", ["lte:"]),
        ("mptcplab run -p lte -e 3s:lte:do", ["down"]),
        ("mptcplab run -w cbr:siz", ["size="]),
    ],
)
def test_a_word_goes_on_after_a_colon_and_an_equals_sign(line: str, words: list[str]) -> None:
    # bash takes what follows the last of its breaks, zsh and fish the whole word
    assert answer("bash", line) == words
    word = line.rpartition(" ")[2]
    after = max(word.rfind(":"), word.rfind("=")) + 1
    for shell in ("zsh", "fish"):
        whole = [each.replace("\\:", ":") for each in answer(shell, line)]
        assert whole == [word[:after] + each for each in words]


def test_in_quotes_bash_takes_the_whole_word() -> None:
    line = "mptcplab compare -s default,ecf --expect 'goodput >= 0.9 * ec"
    assert answer("bash", line) == ["goodput >= 0.9 * ecf."]
    assert answer("bash", "mptcplab run -s 'minrtt:v0") == ["minrtt:v089="]


@pytest.mark.parametrize(
    "line", ["mptcplab run -s min", "mptcplab run --expect go", "mptcplab run --cc l"]
)
def test_suggestions_wait_for_no_library(tmp_path: Path, line: str) -> None:
    modules = tmp_path / "modules.json"
    done = subprocess.run(
        [sys.executable, "-c", CALL, str(modules)],
        env=environment("bash", line),
        capture_output=True,
        check=True,
    )
    assert done.stdout
    assert set(json.loads(modules.read_text())) & {*SLOW, "numpy"} == set()


def script(shell: str) -> str:
    command = [sys.executable, "-m", "mptcplab", "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A directory with the program."""
    file = tmp_path / "mptcplab"
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -m mptcplab "$@"\n')
    file.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("mptcplab comp", ["compare", "completion"]),
        ("mptcplab run -s minr", ["minrtt"]),
        ("mptcplab run -s minrtt:v0", ["v089="]),
        # with an asterisk that is no pattern for files
        ("mptcplab compare --sweep path.*.r", ["path.*.rate="]),
        ("mptcplab run examples/", []),  # which bash completes itself
    ],
)
def test_bash_completes(program: Path, line: str, reply: list[str]) -> None:
    asked = f"""
shopt -s failglob
{script("bash")}
complete -p mptcplab >&2
compopt() {{ :; }}
COMP_LINE={line!r} COMP_POINT={len(line)}
_mptcplab_completion mptcplab
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    path = f"{program}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc"],
        input=asked,
        env={**os.environ, "PATH": path, "COMP_WORDBREAKS": BREAKS},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "complete -o nosort -F _mptcplab_completion mptcplab\n"
    assert done.stdout.split() == reply


def test_zsh_adds_no_space_after_a_part_of_a_word(program: Path) -> None:
    """Click's script for zsh, as installed, has the branch that shells.py puts into it."""
    asked = f"""
compdef() {{ :; }}
compadd() {{ print -r -- "$@"; }}
{script("zsh")}
words=(mptcplab run -s minrtt:v0) CURRENT=4
_mptcplab_completion
"""
    if shutil.which("zsh") is None:
        assert '"part"' in asked
        pytest.skip("there is no zsh")
    done = subprocess.run(
        ["zsh", "-f"],
        input=asked,
        env={**os.environ, "PATH": f"{program}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("-U -V unsorted -S  -- minrtt:v089=\n", "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(program: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    ask = {
        "zsh": "autoload -U compinit; compinit -u -D; source /dev/stdin && print $_comps[mptcplab]",
        "fish": "source; complete -C 'mptcplab run -s minrtt:v0'",
    }
    done = subprocess.run(
        [shell, *(["-f"] if shell == "zsh" else []), "-c", ask[shell]],
        input=script(shell),
        env={**os.environ, "PATH": f"{program}:{os.environ['PATH']}", "HOME": str(program)},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = {"zsh": "_mptcplab_completion", "fish": "minrtt:v089="}
    assert done.stdout.split("\t")[0].strip() == expected[shell]
    assert done.stderr == ""
