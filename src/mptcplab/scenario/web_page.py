# SPDX-License-Identifier: GPL-2.0-only
"""Web pages: their objects, and which objects become known only by loading others.

`MEDIAN` is a page of median size. The user's own is a TOML file:

    [[object]]
    name = "index.html"
    size = "18KiB"

    [[object]]
    name = "style.css"
    size = "10KiB"
    depends = "index.html"      # requested when that has arrived,
    delay = "5ms"               # and this much later
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from mptcplab.mistakes import Mistakes, printable, shown, suggestion
from mptcplab.scenario import fields, toml_file
from mptcplab.scenario.fields import Reads

MAX_OBJECTS = 5000
_SIZE = fields.size("a size", "1B", "1GB")
_DELAY = fields.time("a delay", "0s", "60s")
_MAX_NAME = 100
_KEYS = ("name", "size", "depends", "delay")


class Object(BaseModel):
    """A part of a page.

    It is requested `delay_ns` after object `parent` (counted from 0, earlier in the page) has
    arrived, or, if that is None, after the page was requested.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    size_bytes: int
    parent: int | None = None
    delay_ns: int = 0


def _median() -> tuple[Object, ...]:
    """The median home page for desktops of October 2024.

    Sizes and the numbers of scripts and images: HTTP Archive, Web Almanac 2024, chapter "Page
    Weight" (https://almanac.httparchive.org/en/2024/page-weight), its KB taken as 1024 bytes. The
    numbers of style sheets and fonts, equal sizes within a kind, and the dependencies are our
    choice: the HTML names style sheets, scripts and two thirds of the images, the first style sheet
    names the fonts, scripts fetch the other images.
    """
    objects = [Object(name="html", size_bytes=18 * 1024)]

    def add(kind: str, count: int, total_kib: int, parent: Callable[[int], int]) -> int:
        first = len(objects)
        for i in range(count):
            size = total_kib * 1024 * (i + 1) // count - total_kib * 1024 * i // count
            objects.append(Object(name=f"{kind}-{i + 1}", size_bytes=size, parent=parent(i)))
        return first

    style = add("css", 8, 78, lambda _: 0)
    script = add("js", 24, 613, lambda _: 0)
    add("font", 4, 131, lambda _: style)
    add("image", 18, 1054, lambda i: 0 if i < 12 else script + i - 12)
    return tuple(objects)


MEDIAN = _median()


def read(file: Path) -> tuple[Object, ...]:
    """The objects of a page, from a file. Raises InputError."""
    mistakes = Mistakes(printable(str(file)))
    data = toml_file.read(file, mistakes)
    mistakes.stop_if_any()
    for key in data:
        if key != "object":
            mistakes.add((key,), "unknown key; a page has objects, each an [[object]]")
    tables: Any = data.get("object")
    if not isinstance(tables, list) or not 1 <= len(tables) <= MAX_OBJECTS:
        mistakes.add((), f"a page has 1 to {MAX_OBJECTS} objects, each headed [[object]]")
    mistakes.stop_if_any()
    objects: list[Object] = []
    numbers: dict[str, int] = {}
    for index, table in enumerate(tables):
        try:
            found = _object(table, numbers)
        except ValueError as error:
            mistakes.add(("object", index), str(error))
            mistakes.stop_if_any()
        else:
            numbers[found.name] = index
            objects.append(found)
    return tuple(objects)


def _object(table: object, numbers: Mapping[str, int]) -> Object:
    if not isinstance(table, dict):
        raise ValueError(f"a table is expected, with {', '.join(_KEYS)}")
    for key in table:
        if key not in _KEYS:
            hint = suggestion(key, _KEYS) or ";"
            raise ValueError(f"unknown key {shown(key)}{hint} accepted here: {', '.join(_KEYS)}")
    name = table.get("name")
    if not isinstance(name, str) or not 1 <= len(name) <= _MAX_NAME or not name.isprintable():
        raise ValueError(f"every object has a name, of 1 to {_MAX_NAME} printable characters")
    if name in numbers:
        raise ValueError(f"name = {shown(name)}: also that of object[{numbers[name] + 1}]")
    if "size" not in table:
        raise ValueError(f'{shown(name)} has no size, e.g. size = "10KB"')
    parent = table.get("depends")
    if parent is not None and (not isinstance(parent, str) or parent not in numbers):
        raise ValueError(f"depends = {shown(parent)}: not the name of an object before this one")
    return Object(
        name=name,
        size_bytes=_read("size", _SIZE, table),
        parent=None if parent is None else numbers[parent],
        delay_ns=_read("delay", _DELAY, table) if "delay" in table else 0,
    )


def _read(key: str, reads: Reads, table: Mapping[str, Any]) -> int:
    try:
        number: int = reads.read(table[key])
    except ValueError as error:
        raise ValueError(f"{key} = {shown(table[key])}: {error}") from None
    return number
