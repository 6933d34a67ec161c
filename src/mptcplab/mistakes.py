# SPDX-License-Identifier: GPL-2.0-only
"""Every mistake in a request: the origin of a value, the value, and the problem with it."""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab.errors import InputError, Problem

if TYPE_CHECKING:
    from pydantic import ValidationError  # slow to import, and `--help` needs the words below

# The place of a value: keys and, in lists, indices from 0. Messages show indices from 1.
Place = tuple[str | int, ...]

#: The keys of a scenario that are lists of tables.
LISTS = ("path", "event", "link", "connection")

# A missing value: TOML has no null, but None means "not given" in flags.
ABSENT = object()


class Mistakes:
    """Collects every mistake in a request."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.data: dict[str, Any] = {}
        self.flags: dict[Place, str] = {}
        self._prefix: Place = ()
        self._bad: set[Place] = set()
        self._problems: list[Problem] = []

    def add(self, place: Place, message: str, value: object = ABSENT) -> None:
        """Report a mistake in the value at `place`, or in `value` there."""
        flag = self.flag(place)
        place = (*self._prefix, *place)
        self._bad.add(place)
        own = place in self.flags and place[0] not in LISTS
        key = "" if own else _shown_place(self._by_name(place) if flag else place)
        text = shown(self._value(place) if value is ABSENT else value)
        problem = Problem(flag or self.source, key, text, message)
        if problem not in self._problems:
            self._problems.append(problem)

    def missing(self, place: Place, message: str) -> None:
        """Report a missing value at `place`, unless it or its parent is already reported."""
        if not self.spoiled(place):
            self.add(place, f"missing; {message}")

    def spoiled(self, place: Place) -> bool:
        """Whether the value at `place`, or one that contains it, is known to be wrong."""
        # An unreadable file says nothing about the values of flags.
        whole = 1 if self.flag(place) else 0
        place = (*self._prefix, *place)
        return any(place[:length] in self._bad for length in range(whole, len(place) + 1))

    def flag(self, place: Place) -> str:
        """The flag that the value at `place` came from, or "" for the file."""
        place = (*self._prefix, *place)
        origins = (self.flags.get(place[:length], "") for length in range(len(place), 0, -1))
        return next(filter(None, origins), "")

    def inside(self, *place: str | int) -> Mistakes:
        """The same mistakes, for a caller that knows only places below `place`."""
        inner = copy.copy(self)
        inner._prefix = (*self._prefix, *place)
        return inner

    def stop_if_any(self) -> None:
        """Raise InputError if there is any mistake."""
        if self._problems:
            raise InputError(self._problems)

    def _by_name(self, place: Place) -> Place:
        """The same place as flags have it: by the name in a table of a list, not by its number."""
        match place:
            case (str(key), int(number), str(inner), *rest) if inner != "name":
                name = self._value((key, number, "name"))
                tables = self.data.get(key)
                names = [self._value((key, at, "name")) for at in range(len(tables or ()))]
                if isinstance(name, str) and name and names.count(name) == 1:
                    return (key, name, inner, *rest)
        return place

    def _value(self, place: Place) -> object:
        value: Any = self.data if place else ABSENT
        for step in place:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value


def _shown_place(place: Place) -> str:
    text = ""
    for step in place:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{printable(step)}"
    return text.lstrip(".")


def shown(value: object, limit: int = 60) -> str:
    """A value as it was written, on one line, shortened, without control characters."""
    if value is ABSENT:
        return ""
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, list):
        more = ["..."] if len(value) > 3 else []
        text = f"[{', '.join([*map(shown, value[:3]), *more])}]"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, str):
        text = f'"{printable(value[:limit])}"'
    elif isinstance(value, int) and abs(value) >= 10**100:
        text = hex(value)  # Python refuses to print thousands of decimal digits
    else:
        text = str(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def printable(text: str) -> str:
    """The text, escaped if it contains anything that a terminal would not show as it is."""
    return text if text.isprintable() else json.dumps(text)[1:-1].replace("\x7f", "\\u007f")


def is_utf8(text: str) -> bool:
    """Whether a text can be written to a file; one from a flag may not be valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def first_of(error: ValidationError) -> tuple[str, str]:
    """The place of the first mistake in a JSON file, "" for the whole file, and the mistake."""
    first = error.errors()[0]
    return ".".join(str(step) for step in first["loc"]), first["msg"]


def one_of(choices: Sequence[str], word: str = "or") -> str:
    """The choices as "a, b or c"."""
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} {word} {choices[-1]}"


def suggestion(word: object, known: Collection[str] | Mapping[str, str]) -> str:
    """The clause that suggests the nearest known word, or "" if none is near.

    A mapping maps further words to what to suggest for each.
    """
    near = difflib.get_close_matches(str(word)[:64].lower(), sorted(known), n=1)
    if not near:
        return ""
    best = known[near[0]] if isinstance(known, Mapping) else near[0]
    return f'; did you mean "{best}"?'


def unknown(kind: str, name: str, known: Collection[str]) -> str:
    """The message on a name that is not one of the known things of a kind, such as "path"."""
    hint = suggestion(name, known) or ";"
    there = f"the {kind}s are {', '.join(known)}" if known else f"there are no {kind}s"
    return f"unknown {kind}{hint} {there}"


def read_bytes(file: Path, most_mib: int, expected: str) -> bytes:
    """The content of a user's file; `expected` says what it should be, for messages.

    Raises ValueError, which says what is wrong, if it cannot be read or is larger than `most_mib`.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read((most_mib << 20) + 1)
    except FileNotFoundError:
        message = "there is no such file"
    except IsADirectoryError:
        message = f"this is a directory; {expected}"
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
    except ValueError:
        message = "this is not the name of a file"
    else:
        if len(content) <= most_mib << 20:
            return content
        message = f"larger than {most_mib} MiB; {expected}"
    raise ValueError(message)


def read_text(file: Path, most_mib: int, expected: str) -> str:
    """The same for a text in UTF-8, without its byte order mark."""
    content = read_bytes(file, most_mib, expected)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # positions count after a byte order mark, if there is one
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        raise ValueError(f"line {line}: not UTF-8 text (byte 0x{byte:02x})") from None
