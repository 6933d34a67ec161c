# SPDX-License-Identifier: GPL-2.0-only
"""The common parts of all pictures drawn with Matplotlib: size, look, files."""

from __future__ import annotations

import io
import logging
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mptcplab.report.palette import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH = 150
WIDTH = 8.0  # inches: 1200 pixels
FONT_SIZE = 9.0
LEGEND_ROW_HEIGHT = 0.2
LINE_HEIGHT = 0.15  # of a further line of text, inches
_NAME_WIDTH = 36  # of a name beside its row, in characters: a quarter of the picture
#: The metadata to leave out of files, by their format: dates and versions.
NO_DATE: Mapping[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def drawn(figure: Figure, form: str, dots: int | None = None, **options: Any) -> bytes:
    """A figure as the content of a file, png, svg or pdf; `dots` per inch, by default Matplotlib's.

    Call it within `drawing`. Matplotlib itself would leave half a file on a full disk.
    """
    content = io.BytesIO()
    options |= {} if dots is None else {"dpi": dots}
    figure.savefig(content, format=form, metadata=NO_DATE[form], **options)
    return content.getvalue()


def style(font_size: float = FONT_SIZE) -> dict[str, Any]:
    """The settings of Matplotlib that differ from its defaults."""
    return {
        # Without the salt the ids in an SVG file are random. A name with a $ is no formula.
        "svg.hashsalt": "mptcplab",
        "font.size": font_size,
        "text.parse_math": False,
        # Text as text, which is smaller and searchable; publishers refuse PDF's Type 3 fonts.
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
    }


@contextmanager
def drawing(font_size: float = FONT_SIZE) -> Iterator[dict[str, Any]]:
    """Whatever is drawn within it looks the same on every machine, and needs no screen.

    Yields Matplotlib's settings that hold within.
    """
    matplotlib = _matplotlib()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style(font_size))
        yield matplotlib.rcParams


def title_of_scheduler(axis: Axes, title: str, look: Style, note: str = "") -> None:
    """A title to the left, behind the marker of its scheduler, and a note to the right."""
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axis.annotate(
        look.marker.text, (0, 1), xytext=(1, 6), color=look.colour, fontsize="large", **above
    )
    axis.annotate(title, (0, 1), xytext=(14, 6), fontsize="medium", fontweight="bold", **above)
    if note:
        axis.annotate(note, (1, 1), xytext=(0, 6), ha="right", fontsize="small", **above)


def in_lines(name: str, width: int) -> str:
    """A name in lines of up to so many characters, which end behind parameters if they can.

    Schedulers with many parameters have names that are wider than a picture.
    """
    lines = [""]
    for part in re.findall(r"[^:,]*[:,]? *", name):
        for piece in textwrap.wrap(part, width, drop_whitespace=False):
            if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
                lines.append("")
            lines[-1] += piece
    return "\n".join(line.strip() for line in lines)


class NamedRows:
    """Rows below each other, each with a name beside it, in as many lines as that needs.

    `places` has the place of each row, 0 for the first one, and `height` is the sum of all. A row
    with a name in a single line has the height 1, which is `row_height` in inches.
    """

    def __init__(self, names: Sequence[str], row_height: float) -> None:
        self._labels = [in_lines(name, _NAME_WIDTH) for name in names]
        self.places: list[float] = []
        self.height = 0.0
        for label in self._labels:
            own = 1 + label.count("\n") * LINE_HEIGHT / row_height
            self.places.append(self.height + (own - 1) / 2)
            self.height += own

    def name(self, axis: Axes) -> None:
        """Write the names beside an axis, the first one on top."""
        axis.set_yticks(self.places, self._labels)
        axis.set_ylim(self.height - 0.5, -0.5)


def _matplotlib() -> ModuleType:
    """Import matplotlib, which takes long; its font cache goes into the cache of mptcplab."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("MPLCONFIGDIR", str(cache / "mptcplab" / "matplotlib"))
    # hide the warning about a read-only cache
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib as module
    from matplotlib import artist

    # nobody reads the lists of properties in docstrings, which take a third of this import
    made, artist.kwdoc = artist.kwdoc, lambda artist: ""  # noqa: ARG005
    import matplotlib.figure

    artist.kwdoc = made
    module.use("agg")
    return module
