# SPDX-License-Identifier: GPL-2.0-only
"""docs/write-a-scheduler.md: each of its commands is run, in order, and its code is used."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from mptcplab.lab.kernel import KernelBuild

PAGE = Path(__file__).parents[2] / "docs" / "write-a-scheduler.md"

#: A fenced block and its language.
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[list[str]]:
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line]


def replace_function(file: Path, text: str) -> None:
    """Put a function in the place of the one of the same name, as the page asks for."""
    head = text[: text.index("\n")]
    source = file.read_text()
    assert source.count(f"{head}\n") == 1, f"{head} is not in {file.name}"
    start = source.index(head)
    end = source.index("\n}\n", start) + 3
    file.write_text(source[:start] + text + source[end:])


def test_every_command_of_the_page_works(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    del lab_kernel  # built by now
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = 0
    for language, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "c":
            replace_function(tmp_path / "mine.c", block)
            continue
        if language == "text":
            continue  # what a command says
        assert language == "sh"
        for command in commands(block):
            assert command[0] in ("mptcplab", "python"), command
            done = subprocess.run(
                command,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            ran += 1
    assert ran >= 8
    (traced,) = tmp_path.glob("mptcplab-out/runs/*/client.decisions")
    assert traced.stat().st_size > 0
    assert {file.name for file in traced.parent.glob("*.pcapng")} == {
        *("client.pcapng", "server.pcapng", "router-wifi.pcapng", "router-lte.pcapng")
    }


def test_the_names_of_the_page_are_those_of_the_template() -> None:
    """What the page says in prose of the file that it begins with."""
    template = PAGE.parents[1] / "kernel" / "template"
    source = (template / "mine.c").read_text()
    named = set(re.findall(r"`(mine_\w+)(?:\(\))?`", PAGE.read_text(encoding="utf-8")))
    assert named >= {"mine_choose", "mine_next_segment", "mine_on_sent", "mine_params", "mine_ops"}
    for name in named:
        assert re.search(rf"\b{name}\b", source), name
