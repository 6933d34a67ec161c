# SPDX-License-Identifier: GPL-2.0-only
"""The scripts with which shells ask for suggestions, and the answers.

Click has such scripts, which this module extends: words go on after a colon or an equals sign,
where bash begins a new one, and such a part of a word gets no space.
"""

from __future__ import annotations

import os
import shlex

from click import shell_completion
from click.shell_completion import CompletionItem

from mptcplab.cli.completion import PART

PROGRAM = "mptcplab"

_BASH = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            part) compopt -o nospace; COMPREPLY+=("$value") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" \\
        COMP_WORDBREAKS="$COMP_WORDBREAKS" %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(shell_completion.BashComplete):
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
        self._is_quoted = _is_quoted(line)
        # another letter shows whether the last word goes on
        *words, last = shell_completion.split_arg_string(f"{line}x")
        return words[1:], last[:-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        value = str(item.value)
        # bash replaces what comes after the last of these
        breaks = os.environ["COMP_WORDBREAKS"] if not self._is_quoted else ""
        incomplete = self._incomplete
        after = max(
            (incomplete.rfind(sign) + 1 for sign in breaks if not sign.isspace()), default=0
        )
        return f"{item.type},{value[after:]}"

    def complete(self) -> str:
        _, self._incomplete = self.get_completion_args()
        return super().complete()


class _Zsh(shell_completion.ZshComplete):
    # Click keeps its script as it is; tests/cli/test_completion.py runs this branch in zsh
    source_template = shell_completion.ZshComplete.source_template.replace(
        '        elif [[ "$type" == "dir" ]]; then',
        '        elif [[ "$type" == "part" ]]; then\n'
        "            compadd -U -V unsorted -S '' -- \"$key\"\n"
        '        elif [[ "$type" == "dir" ]]; then',
    )

    def format_completion(self, item: CompletionItem[str]) -> str:
        if item.type == PART:  # as it is, without a description
            return f"{PART}\n{item.value}\n_"
        return super().format_completion(item)


class _Fish(shell_completion.FishComplete):
    def format_completion(self, item: CompletionItem[str]) -> str:
        # fish knows by itself after which signs a word goes on
        kind = "plain" if item.type == PART else item.type
        return super().format_completion(CompletionItem(item.value, type=kind, help=item.help))


SHELLS = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def register() -> None:
    """Have Click use these scripts and answers."""
    for shell in SHELLS.values():
        shell_completion.add_completion_class(shell)


def _is_quoted(line: str) -> bool:
    """Whether a line ends within quotes."""
    try:
        shlex.split(line)
    except ValueError as error:
        return "quotation" in str(error)
    return False
