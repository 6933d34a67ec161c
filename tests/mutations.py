# SPDX-License-Identifier: GPL-2.0-only
"""Documents that are nearly right: a value of them is of a wrong kind, missing, or there twice."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Place = tuple[str | int, ...]
Mutation = Callable[[Any], Any]


def _deep() -> Any:
    found: Any = 1
    for _ in range(150):
        found = [found]
    return found


#: What stands where something else should: values of any kind, and at the ends of their ranges.
WRONG: tuple[Any, ...] = (
    *(None, True, False),
    *(0, 1, -1, 3, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**400),
    *(0.5, -0.5, 1e308, float("nan"), float("inf"), -float("inf")),
    *("", "x", "1", "a" * 100, "../../x", "/etc/passwd", "\x1b[31m[/red]", "\0", "{r'}", "[None]"),
    *([], [1], [None], ["x"], {}, {"x": 1}, {"name": "x"}, {"[None]": 1}, _deep()),
)


def places(document: Any, at: Place = ()) -> Iterator[Place]:
    """Where there is a value in a document: the whole, each table and list, and each leaf."""
    yield at
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*at, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from places(value, (*at, index))


def mutations(document: Any, wrong: tuple[Any, ...] = WRONG) -> Iterator[tuple[str, Any]]:
    """All documents that differ from this one in one place, each with what is different."""
    for at in places(document):
        for value in wrong:
            yield f"{_shown(at)} = {value!r:.40}", _with(document, at, lambda _: value)  # noqa: B023
        if at:
            yield f"{_shown(at)} is not there", _with(document, at[:-1], _without(at[-1]))
            yield f"{_shown(at)} is there twice", _with(document, at[:-1], _twice(at[-1]))


def _shown(at: Place) -> str:
    return ".".join(map(str, at)) or "all of it"


def _with(document: Any, at: Place, change: Mutation) -> Any:
    if not at:
        return change(copy.deepcopy(document))
    found = copy.copy(document)
    found[at[0]] = _with(document[at[0]], at[1:], change)
    return found


def _without(step: str | int) -> Mutation:
    def change(home: Any) -> Any:
        del home[step]
        return home

    return change


def _twice(step: str | int) -> Mutation:
    """An item once more, or a key beside it that nobody knows."""

    def change(home: Any) -> Any:
        if isinstance(home, list):
            home.append(copy.deepcopy(home[int(step)]))
        else:
            home[f"{step}_"] = home[step]
        return home

    return change
