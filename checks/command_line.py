# SPDX-License-Identifier: GPL-2.0-only
"""What the command lines of the checks share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

_MOST = 10**9


def parser_of(check: str, text: str | None) -> argparse.ArgumentParser:
    """The parser of `python -m checks.CHECK`; --help shows the text as it is."""
    return argparse.ArgumentParser(
        prog=f"python -m checks.{check}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def natural(text: str) -> int:
    """A number from 1 on, as the type of an argument."""
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 1 to {_MOST} is expected")
    return int(text)


def say(text: str) -> None:
    """A line of progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


def chosen(
    parser: argparse.ArgumentParser, flag: str, text: str, known: Sequence[str]
) -> tuple[str, ...]:
    """The names in a text with commas, all that are known if it is empty."""
    names = tuple(text.split(",")) if text else tuple(known)
    for name in names:
        if name not in known:
            parser.error(f"{flag} {name}: not known; accepted is {', '.join(known)}")
    return names
