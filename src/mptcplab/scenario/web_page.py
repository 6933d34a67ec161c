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

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from mptcplab.errors import InputError, Problem
from mptcplab.mistakes import printable, shown
from mptcplab.scenario import fields, toml_file

MAX_OBJECTS = 5000
_MAX_NAME = 100


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Object(_Frozen):
    """A part of a page.

    It is requested `delay_ns` after object `parent` (counted from 0, earlier in the page) has
    arrived, or, if that is None, after the page was requested.
    """

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


def _name(text: str) -> str:
    if not 1 <= len(text) <= _MAX_NAME or not text.isprintable():
        raise ValueError(f"every object has a name, of 1 to {_MAX_NAME} printable characters")
    return text


class _Table(_Frozen):
    """An object as in a file."""

    name: Annotated[str, AfterValidator(_name)]
    size: Annotated[int, fields.size("a size", "1B", "1GB")]
    depends: str | None = None
    delay: Annotated[int, fields.time("a delay", "0s", "60s")] = 0


class _Page(_Frozen):
    object: list[_Table] = Field(min_length=1, max_length=MAX_OBJECTS)


def read(file: Path) -> tuple[Object, ...]:
    """The objects of a page, from a file. Raises InputError."""
    numbers: dict[str | None, int | None] = {None: None}
    objects: list[Object] = []

    def refused(key: str, value: object, why: str) -> InputError:
        place = f"object[{len(objects) + 1}].{key}"
        return InputError([Problem(printable(str(file)), place, shown(value), why)])

    for table in toml_file.model_of(file, _Page).object:
        if (other := numbers.get(table.name)) is not None:
            raise refused("name", table.name, f"also that of object[{other + 1}]")
        if table.depends not in numbers:
            why = "not the name of an object before this one"
            raise refused("depends", table.depends, why)
        numbers[table.name] = len(objects)
        objects.append(
            Object(
                name=table.name,
                size_bytes=table.size,
                parent=numbers[table.depends],
                delay_ns=table.delay,
            )
        )
    return tuple(objects)
