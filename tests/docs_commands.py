# SPDX-License-Identifier: GPL-2.0-only
"""The commands of README.md, CONTRIBUTING.md and docs/, as a shell takes them.

A fenced block without a language, or in `sh`, has commands and nothing else; or options of a
command, if it begins with `--`. In `console` they follow a `$`, and the rest is output; in `yaml`,
the description of a job of a CI, they follow `run:`. Blocks in all other languages have none;
output alone is `text`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
#: Every page that a person reads, but for those that `papers publish` writes (see RESULTS).
PAGES = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"),
    *sorted(ROOT.glob("docs/**/*.md")),
]
#: What else may be called, besides what is checked: tools of the system, which are as they are.
SYSTEM = ("apt-get", "cat", "cc", "git", "grep", "head", "sha256sum", "uname")
PROGRAMS = (*SYSTEM, "dask", "make", "mptcplab", "pip", "podman", "python", "python3")

#: Options of a block that does not say of which paths.
_PATHS = "--path wifi:50mbit,10ms --path lte:20mbit,40ms"
#: The command whose options a block has, where it is not `compare`; and what precedes them there.
_OPTIONS_OF = {
    "docs/advise.md": "advise --path dsl --path lte",
    "docs/congestion/README.md": "compare examples/fairness.toml",
}

_RECORD = '#!/bin/sh\nprintf "%s\\0" "${0##*/}" "$@" >> "$CALLS"\nprintf "\\n\\0" >> "$CALLS"\n'
#: Into what was not cloned, and from what was not made.
BEFORE = "cd() { :; }; .() { :; }\n"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `line` is that of its first content, from 1 on."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def script(self) -> str:
        """The commands in it, for a shell; empty if there are none."""
        if self.language == "console":
            found = re.findall(r"^\$ ((?:.*\\\n)*.*\n)", self.text, re.MULTILINE)
            return "".join(found)
        if self.language == "yaml":  # of a CI; a command is folded into a line
            found = re.findall(r"- run: (?:>\n)?((?:.*\n)(?: {10}.*\n)*)", self.text)
            return "".join(" ".join(each.split()) + "\n" for each in found)
        if self.language not in ("", "sh"):
            return ""
        if not self.text.startswith("--"):
            return self.text
        command = _OPTIONS_OF.get(self.page, "compare")
        lines = self.text.replace("\\\n", " ").splitlines(keepends=True)
        paths = f" {_PATHS}" if command == "compare" else ""
        return "".join(f"mptcplab {command}{'' if '--path' in x else paths} {x}" for x in lines)


@cache
def tokens(page: Path) -> list[Token]:
    """The blocks of a page, of all kinds; `inline` finds what is in a line of text."""
    return MarkdownIt().enable("table").disable("inline").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in lists, too."""
    for token in tokens(page):
        if token.type == "fence" and token.map:
            name = str(page.relative_to(ROOT))
            yield Block(name, token.map[0] + 2, token.info.strip(), token.content)


def inline(page: Path) -> Iterator[str]:
    """The commands within the text and the tables of a page."""
    for block in tokens(page):
        # to parse all text takes seconds
        if block.type == "inline" and re.search(r"`\s*(mptcplab|make)\s", block.content):
            (parsed,) = MarkdownIt().parseInline(block.content)
            for token in parsed.children or []:
                text = token.content.replace("\n", " ")
                if token.type == "code_inline" and text.startswith(("mptcplab ", "make ")):
                    yield text


def calls(script: str, directory: Path) -> list[list[str]]:
    """The programs that a script calls in a directory, and their arguments, as the shell has
    expanded them; none is run. Any other program than PROGRAMS fails.
    """
    names = directory / ".names"
    local = directory / ".venv" / "bin"
    for place in (names, local):
        if not place.exists():
            place.mkdir(parents=True)
            for name in PROGRAMS:
                (place / name).write_text(_RECORD)
                (place / name).chmod(0o755)
    record = directory / ".calls"
    record.write_bytes(b"")
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", BEFORE + script],
        cwd=directory,
        env={**os.environ, "PATH": str(names), "CALLS": str(record)},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{script}{done.stderr}"
    found: list[list[str]] = [[]]
    for word in record.read_text().split("\0")[:-1]:
        if word == "\n":
            found.append([])
        else:
            found[-1].append(word)
    return found[:-1]


def make_files(page: str, directory: Path) -> None:
    """Put there what the reader of a page has: files of the repository, and those that he writes
    as the page says.
    """
    for name in ("examples", "tests"):
        (directory / name).symlink_to(ROOT / name)
    for name, text in _written(page).items():
        (directory / name).write_text(text)


def _written(page: str) -> dict[str, str]:
    """The files that a page speaks of, by their names."""
    match page:
        case "docs/analyze.md":
            return {"echo.py": ECHO, "send.py": SEND}
        case "docs/congestion/balia.md" | "docs/congestion/lia.md" | "docs/congestion/olia.md":
            return {"loss.toml": _fairness_with_losses()}
        case "docs/exec.md":
            (conf,) = (x.text for x in blocks(ROOT / page) if x.text.startswith("daemon"))
            return {"site.conf": conf, "look.sh": "true\n"}
        case "docs/expect.md" | "docs/leaderboard.md" | "docs/tune.md":
            return {"mine.c": (ROOT / "kernel" / "template" / "mine.c").read_text()}
        case "docs/sweep.md":
            (sweep,) = (x.text for x in blocks(ROOT / page) if x.text.startswith("where"))
            return {"sweep.toml": sweep}
        case "docs/python.md":
            return {"sweep.toml": SWEEP}
        case "docs/cluster.md":
            return {"FILE.toml": SWEEP}
        case "docs/traces.md":
            return {"Verizon-LTE-short.down": "3\n3\n7\n"}
        case "docs/scenario.md":
            return {"mine.toml": "#:schema ./scenario.schema.json\n"}
    return {}


#: A server of UDP that answers each packet with its number, and a client that sends 500 of them a
#: second, for two seconds, from each of some addresses.
ECHO = """\
import socket

own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(("", 4433))
while True:
    content, sender = own.recvfrom(2000)
    own.sendto(content[:4], sender)
"""
SEND = """\
import socket
import sys
import time

own = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in sys.argv[1:]]
for each, address in zip(own, sys.argv[1:]):
    each.bind((address, 0))
for number in range(1000):
    for each in own:
        each.sendto(number.to_bytes(4, "big") + bytes(1372), ("10.1.1.1", 4433))
    time.sleep(0.002)
time.sleep(0.1)
"""
#: Any sweep: four short runs.
SWEEP = """\
repeat = 2
scenario.path = [ { name = "a", rate = "20mbit", delay = "10ms" },
  { name = "b", rate = "10mbit", delay = "40ms" } ]
scenario.workload.duration = "1s"
grid.scheduler = ["default", "blest"]
"""


def _fairness_with_losses() -> str:
    """The file that pages on congestion controls describe in a comment."""
    text = (ROOT / "examples" / "fairness.toml").read_text()
    for old, new in (
        ('rate = "10mbit"', 'rate = "100mbit"\nloss = "0.5%"\nqueue = 1000'),
        ('queue_discipline = "red"', 'queue_discipline = "droptail"'),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text
