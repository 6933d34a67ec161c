# SPDX-License-Identifier: GPL-2.0-only
"""Print the script with which a shell completes commands.

It also completes options, schedulers, parameters, presets and figures.

\b
bash: eval "$(mptcplab completion bash)"      in ~/.bashrc
zsh:  eval "$(mptcplab completion zsh)"       in ~/.zshrc, after compinit
fish: mptcplab completion fish | source       in ~/.config/fish/config.fish
"""

from __future__ import annotations

import click

from mptcplab.cli import shells


@click.command("completion", help=__doc__)
@click.argument("shell", type=click.Choice(list(shells.SHELLS)))
def command(shell: str) -> None:
    from mptcplab.cli import COMPLETE, cli

    click.echo(shells.SHELLS[shell](cli, {}, shells.PROGRAM, COMPLETE).source())
