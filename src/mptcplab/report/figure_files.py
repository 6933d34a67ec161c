# SPDX-License-Identifier: GPL-2.0-only
"""One figure of stored runs as files for a paper: the picture, its data, and a script.

The script draws the picture from the data. It has a copy of the functions of `plain_figure` that
drew it, and their settings, and needs nothing but Matplotlib.
"""

from __future__ import annotations

import csv
import inspect
import io
import pprint
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError, Problem
from mptcplab.report import charts, draw, palette, paper_figures
from mptcplab.report.paper_figures import Plain
from mptcplab.runs import store
from mptcplab.runs.collection import collect

#: Width of a column of many journals and proceedings.
WIDTH = "84mm"
#: The files that a figure can be written to, by the end of their names.
DATA = {".csv": ",", ".tsv": "\t"}
SCRIPT = ".py"
ACCEPTED = (*(f".{form}" for form in palette.FORMATS), *DATA, SCRIPT)

_INCHES = {"mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0, "pt": 1 / 72}
_LEAST, _MOST = 1.0, 40.0  # inches
_FONT_SIZE = 8
_DOTS_PER_INCH = 300
_FUNCTIONS = {"lines": ("lines",), "bars": ("bars", "name_bars"), "heat": ("heat",)}

_SCRIPT = '''\
#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draws {picture} from {data}, as mptcplab figure did. Needs Matplotlib."""

from __future__ import annotations

import csv
{standard}
from pathlib import Path

import matplotlib
{drawing}

{types}

DATA, DELIMITER = Path(__file__).with_name({data!r}), {delimiter!r}
PICTURE, DOTS_PER_INCH = Path(__file__).with_name({picture!r}), {dots}
NUMBERS = {numbers}
STYLE = {style}
SETTINGS = {settings}


{functions}


def read(file: Path) -> Rows:
    """The rows of a file; a missing number is a NaN."""
    with open(file, newline="", encoding="utf-8") as opened:
        return [
            {{key: float(text or "nan") if key in NUMBERS else text for key, text in row.items()}}
            for row in csv.DictReader(opened, delimiter=DELIMITER)
        ]


matplotlib.rcdefaults()
matplotlib.rcParams.update(STYLE)
figure = drawn(read(DATA), SETTINGS, {kind})
figure.savefig(PICTURE, dpi=DOTS_PER_INCH)
'''


def inches(option: str, text: str) -> float:
    """The inches of a text such as "84mm". Raises InputError."""
    for unit, factor in _INCHES.items():
        number = text.strip().removesuffix(unit)
        if number != text.strip():
            try:
                if _LEAST <= float(number) * factor <= _MOST:
                    return float(number) * factor
            except ValueError:
                break
    accepted = f"a length with mm, cm, in or pt is expected, from {_LEAST:g} to {_MOST:g} inches"
    raise InputError([Problem(option, "", text, f"{accepted}, e.g. {WIDTH}")])


@dataclass(frozen=True)
class Figure:
    """A figure: what is drawn, to be written with `save` and shown by notebooks."""

    plain: Plain

    def picture(self, form: str = "png") -> bytes:
        """The content of a picture: png, svg or pdf."""
        with draw.drawing(_FONT_SIZE):
            return draw.drawn(self.plain.drawn(), form, _DOTS_PER_INCH)

    def data(self, delimiter: str = ",") -> str:
        """The numbers that are drawn, as CSV with a head."""
        content = io.StringIO()
        writer = csv.DictWriter(
            content, list(self.plain.rows[0]), delimiter=delimiter, lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(
            {
                name: value if not isinstance(value, float) else f"{value:.6g}" * (value == value)
                for name, value in row.items()
            }
            for row in self.plain.rows
        )
        return content.getvalue()

    def script(self, data: str, picture: str) -> str:
        """A Python script that draws a `picture` from a file of the `data` beside it."""
        from mptcplab.report import plain_figure

        head = inspect.getsource(plain_figure).partition("annotations\n")[2].partition("\ndef ")[0]
        standard, drawing, types = head.strip().split("\n\n")
        names = ("drawn", *_FUNCTIONS[self.plain.kind])
        functions = [inspect.getsource(getattr(plain_figure, name)) for name in names]
        settings = self.plain.settings
        numbers = [settings[key] for key in ("x", "y", "z") if settings.get(key)]
        return _SCRIPT.format(
            data=data,
            delimiter=DATA[Path(data).suffix],
            picture=picture,
            dots=_DOTS_PER_INCH,
            standard=standard,
            drawing=drawing,
            types=types,
            numbers=[*numbers, "low", "high"],
            style=pprint.pformat(draw.style(_FONT_SIZE), sort_dicts=False, width=98),
            settings=pprint.pformat(settings, sort_dicts=False, width=98),
            functions="\n\n".join(functions).strip(),
            kind=self.plain.kind,
        )

    def save(self, *files: Path | str) -> list[Path]:
        """Write files: each is a picture, data, or a script, by the end of its name.

        A script draws the first picture from the first data; without data, these are written beside
        it. Returns all files. Raises InputError for other names.
        """
        asked = list(map(Path, files))
        for file in asked:
            if file.suffix not in ACCEPTED:
                accepted = f"accepted are files that end with {', '.join(ACCEPTED)}"
                raise InputError([Problem("--out", "", str(file), accepted)])
        for file in [file for file in asked if file.suffix == SCRIPT]:
            if not any(each.suffix in DATA and each.parent == file.parent for each in asked):
                asked.append(file.with_suffix(".csv"))
        for file in asked:
            store.make_directory(file.parent)
            store.write(file, self._content(file, asked))
        return asked

    def _content(self, file: Path, asked: Sequence[Path]) -> bytes:
        if file.suffix in DATA:
            return self.data(DATA[file.suffix]).encode()
        if file.suffix != SCRIPT:
            return self.picture(file.suffix[1:])
        beside = [each for each in asked if each.parent == file.parent]
        data = next(each.name for each in beside if each.suffix in DATA)
        pictures = [each.name for each in beside if palette.format_of(each)]
        return self.script(data, [*pictures, file.with_suffix(".pdf").name][0]).encode()

    def _repr_png_(self) -> bytes:
        return self.picture()


def figure(
    places: Sequence[Path],
    metric: str = "",
    over: str = "",
    *,
    size: tuple[str, str | None] = (WIDTH, None),
    title: str = "",
) -> Figure:
    """One metric of the runs at some places (see `collect`), over one of the axes they differ in.

    By default the metric is the main one of the workload, and the axis the one with the most
    values. The height follows from the width unless it is given. Raises InputError for an unknown
    metric, axis or length, and if there is nothing to compare.
    """
    width, height = size
    wide = inches("--width", width)
    high = None if height is None else inches("--height", height)
    collection = collect(places)
    found = charts.of_metric(collection, metric, over)
    looks = palette.styles(collection.schedulers(), collection.outputs)
    return Figure(paper_figures.plain(found, looks, wide, high, title))
