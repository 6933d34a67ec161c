# SPDX-License-Identifier: GPL-2.0-only
"""The commands, each in a module that is imported when it is called."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from mptcplab.cli import COMMANDS, cli, load


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_as_its_own_help_begins(name: str) -> None:
    command, summary = load(name), COMMANDS[name][1]
    assert command.name == name
    assert " ".join(str(command.help).split()).startswith(summary)
    assert summary.endswith(".")


def test_every_command_is_found_and_no_other() -> None:
    for name in COMMANDS:
        found = CliRunner().invoke(cli, [name, "--help"])
        assert found.exit_code == 0, found.output
        assert f"Usage: cli {name} " in found.output
    missing = CliRunner().invoke(cli, ["fetch"])
    assert missing.exit_code == 2
    assert "No such command 'fetch'" in missing.output
