# SPDX-License-Identifier: GPL-2.0-only
"""README.md: its commands work, and what it shows of their output is what they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from mptcplab.cli import load
from mptcplab.lab.kernel import KernelBuild
from tests import docs_commands
from tests.cli.calls import mptcplab

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
BLOCKS = list(docs_commands.blocks(ROOT / "README.md"))


def commands() -> list[list[str]]:
    """The arguments of each call of mptcplab."""
    lines = "".join(block.script for block in BLOCKS).replace("\\\n", " ").splitlines()
    found = [shlex.split(line, comments=True) for line in lines]
    return [command[1:] for command in found if command[:1] == ["mptcplab"]]


def test_the_demo_is_the_comparison_whose_output_is_shown() -> None:
    (shown,) = (each for each in commands() if each[-2:] == ["--repeat", "3"])
    demo = re.search(r"^demo: .*\n\t\$\(MPTCPLAB\) ((?:.*\\\n)*.*)", MAKEFILE, re.MULTILINE)
    assert demo
    assert shlex.split(demo[1].replace("\\\n", " ")) == [*shown, "--out", "$(DEMO_OUT)"]


def quick(command: list[str]) -> list[str]:
    """A command, or the same with --plan where it would take long or wait for input."""
    if command[0] in ("exec", "shell") or command[-2:] == ["--repeat", "5"]:
        place = command.index("--") if "--" in command else len(command)
        return [*command[:place], "--plan", *command[place:]]
    return command


def test_the_commands_work_one_after_the_other(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    del lab_kernel  # built by now
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    printed = {}
    for command in commands():
        if command[0] == "advise":
            # takes a minute, and has tests of its own: it takes its options, and `run` its paths
            load("advise").make_context("advise", command[1:])
            assert command[-1] == "--quick"
            command = ["run", *command[1:-1], "--plan"]
        done = mptcplab(*quick(command), cwd=tmp_path)
        printed[" ".join(command)] = done.stdout
    assert len(printed) >= 8
    (shown,) = (text for command, text in printed.items() if command.endswith("--repeat 3"))
    (sample,) = (block.text for block in BLOCKS if block.language == "text")
    assert about_the_same(sample, shown), shown


def about_the_same(sample: str, printed: str) -> bool:
    """Whether a sample of a table is how the printed one begins, apart from small numbers.

    Another compiler makes another kernel, whose runs differ as those of another seed do: figures
    are compared within a third, words exactly.
    """
    number = re.compile(r"\d+(?:\.\d+)?")
    words = [number.sub("#", text).split() for text in (sample, printed)]
    if words[1][: len(words[0])] != words[0]:
        return False
    pairs = zip(number.findall(sample), number.findall(printed), strict=False)
    return all(abs(float(a) - float(b)) <= max(float(a), float(b)) / 3 for a, b in pairs)


def test_a_sample_with_other_words_or_numbers_is_not_the_same() -> None:
    assert about_the_same("default 31.6 44", "default 31.8 40 lte 3")
    assert not about_the_same("default 31.6 44", "default 31.8 25")
    assert not about_the_same("default 31.6 44", "lte 31.6 44")


def test_the_commands_in_a_container_are_taken() -> None:
    page = (ROOT / "docs" / "container.md").read_text(encoding="utf-8")
    recipe = (ROOT / "Containerfile").read_text(encoding="utf-8")
    image = 'podman run --rm -v "$PWD:/lab" mptcplab '
    found = re.findall(rf"^(?:# +)?{re.escape(image)}(.*)$", page + recipe, re.MULTILINE)
    assert len(found) >= 3
    for command in found:
        name, *arguments = shlex.split(command)
        load(name).make_context(name, arguments)
    # what it is built with is there
    assert re.search(r"^RUN make wheel$", recipe, re.MULTILINE)
    assert re.search(r"^wheel: ", MAKEFILE, re.MULTILINE)
