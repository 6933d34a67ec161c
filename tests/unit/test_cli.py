# SPDX-License-Identifier: GPL-2.0-only
"""The commands, each in a module that is imported when it is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mptcplab.cli import cli, load
from mptcplab.errors import MptcplabError
from mptcplab.lab import doctor, kernel


@pytest.mark.parametrize(
    "group", [(), *((name,) for name in cli.commands if isinstance(load(name), click.Group))]
)
def test_lists_of_commands_have_whole_sentences_on_80_columns(group: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*group, "--help"], terminal_width=80).output
    listed = shown[shown.index("Commands:") :].splitlines()[1:]
    assert [line for line in listed if line.endswith("...")] == []


@pytest.mark.parametrize("asked", [(), ("--kernel-like", "cloud")])
@pytest.mark.parametrize("command", ["run", "compare", "exec", "shell"])
def test_the_kernel_is_like_the_one_that_is_asked_for(
    command: str, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def build(*, variant: str) -> None:
        raise MptcplabError(f"built {variant}")

    monkeypatch.setattr(kernel, "build", build)
    monkeypatch.setattr(doctor, "require", lambda *_: None)
    program = ("--", "true") if command == "exec" else ()
    flags = ("--path", "a:10mbit,10ms", "--out", str(tmp_path), *asked)
    done = CliRunner().invoke(cli, [command, *flags, *program])
    assert str(done.exception) == f"built {'cloud' if asked else 'lab'}"


def every_command() -> Iterator[tuple[str, ...]]:
    """The words of each command, and of those within groups."""
    for name in cli.commands:
        yield (name,)
        command = load(name)
        if isinstance(command, click.Group):
            yield from ((name, each) for each in command.commands)


def test_every_command_is_found_and_no_other() -> None:
    for name in cli.commands:
        # listed as its own help begins
        command, summary = load(name), str(cli.commands[name].help)
        assert command.name == name
        assert str(command.help).splitlines()[0] == summary
        assert summary.endswith(".")
    for words in every_command():
        found = CliRunner().invoke(cli, [*words, "--help"])
        assert found.exit_code == 0, found.output
        assert f"Usage: cli {' '.join(words)} " in found.output
    missing = CliRunner().invoke(cli, ["fetch"])
    assert missing.exit_code == 2
    assert "No such command 'fetch'" in missing.output


@pytest.mark.parametrize("name", ["run", "compare", "advise", "exec", "shell"])
def test_help_with_many_options_is_in_sections(name: str) -> None:
    text = CliRunner().invoke(cli, [name, "--help"], terminal_width=80).output
    heads = [line for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert {"Comparison:", "Paths:", "Hosts:", "Seeds:", "Runs:", "Results:"} <= set(heads)
    # nothing is left that belongs to a section
    assert text.partition("Others:\n")[2].split() == [
        "-h,",
        "--help",
        "Show",
        "this",
        "message",
        "and",
        "exit.",
    ]
    shown = [
        option.opts[-1]
        for option in load(name).params
        if isinstance(option, click.Option) and not option.hidden
    ]
    for option in shown:
        assert option in text


@pytest.mark.parametrize(
    "command", [["run"], ["compare"], ["exec", "--", "true"]], ids=lambda c: c[0]
)
def test_commands_are_not_printed_as_json(command: list[str]) -> None:
    options = ["--path", "a:10mbit,10ms", "--plan", "--json"]
    done = CliRunner().invoke(cli, [command[0], *options, *command[1:]])
    assert done.exit_code == 2
    assert "--plan prints commands, which are no JSON document" in done.output


@pytest.mark.parametrize("command", ["run", "compare", "advise"])
def test_a_list_that_is_given_in_parts_is_one(command: str) -> None:
    flags = ("--path", "a:10mbit,10ms", "-s", "nosuch", "--scheduler", "nor")
    done = CliRunner().invoke(cli, [command, *flags])
    found = str(done.exception) + done.output
    assert '"nosuch": unknown scheduler' in found
    assert '"nor": unknown scheduler' in found
