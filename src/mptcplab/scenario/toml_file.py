# SPDX-License-Identifier: GPL-2.0-only
"""Reads TOML files written by users, and reports what is wrong with them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from mptcplab.mistakes import ABSENT, Mistakes, Place, printable, read_text, suggestion

_Model = TypeVar("_Model", bound=BaseModel)


def read(file: Path, mistakes: Mistakes) -> dict[str, Any]:
    """The content of a file as a table; an empty one, after reporting why, if it is unreadable."""
    if file.suffix == ".c":
        mistakes.add((), "a scheduler, where a scenario is expected; --scheduler takes it")
        return {}
    try:
        text = read_text(file, 1, "a short TOML file is expected")
    except ValueError as error:
        mistakes.add((), str(error))
        return {}
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = _syntax_message(text, str(error))
    except (ValueError, RecursionError):
        # tomllib lets these pass: an integer of thousands of digits, brackets within brackets.
        message = "a number with thousands of digits, or too many brackets"
    mistakes.add((), message)
    return {}


def _syntax_message(text: str, error: str) -> str:
    """What tomllib found, with the line, and the most frequent cause."""
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", error, re.DOTALL)
    if not found:
        return f"not valid TOML: {printable(error)}"
    what, number = found[1][:1].lower() + found[1][1:], int(found[2])
    # TOML lines end in \n or \r\n; str.splitlines knows further line breaks.
    line = text.replace("\r\n", "\n").split("\n")[number - 1].strip()
    unquoted = re.fullmatch(r"([\w.-]+)\s*=\s*([\w.%+-]*[a-zA-Z%][\w.%+-]*)\s*(?:#.*)?", line)
    if unquoted and what.startswith(("invalid value", "expected newline")):
        what = f'text goes in quotes: {unquoted[1]} = "{unquoted[2]}"'
    return f"line {number}: {printable(line[:60])}: not valid TOML: {printable(what)}"


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The models of the tables that a key of this type has."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def table_at(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """The model of the table with the key at a place; `model` is that of the whole file."""
    for step in place[:-1]:
        if field := model.model_fields.get(str(step)):
            model = next(models_in(field.annotation), model)
    return model


def model_of(file: Path, model: type[_Model]) -> _Model:
    """The content of a file as its model. Raises InputError with every mistake in it."""
    mistakes = Mistakes(printable(str(file)))
    mistakes.data = read(file, mistakes)
    mistakes.stop_if_any()
    return validated(mistakes, model)


def validated(mistakes: Mistakes, model: type[_Model]) -> _Model:
    """Data that has been read, as its model; see `model_of`."""
    try:
        return model.model_validate(mistakes.data)
    except ValidationError as error:
        for found in error.errors(include_url=False):
            place = _place(mistakes.data, found["loc"])
            message = found["msg"].removeprefix("Value error, ")
            if found["type"] == "missing":
                mistakes.add((*place, found["loc"][-1]), "missing", ABSENT)
            elif found["type"] == "extra_forbidden":
                accepted = list(table_at(model, place).model_fields)
                hint = suggestion(place[-1], accepted) or ";"
                mistakes.add(place, f"unknown key{hint} accepted here: {', '.join(accepted)}")
            else:
                mistakes.add(place, message[:1].lower() + message[1:])
        mistakes.stop_if_any()
        raise


def _place(data: Any, steps: Place) -> Place:
    """The keys in a place as pydantic reports it, without the branches of unions."""
    found: list[str | int] = []
    for step in steps:
        try:
            data = data[step]
        except (IndexError, KeyError, TypeError):
            continue
        found.append(step)
    return tuple(found)
