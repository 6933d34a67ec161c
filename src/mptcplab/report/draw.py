# SPDX-License-Identifier: GPL-2.0-only
"""The common parts of all pictures drawn with Matplotlib: size, look, files."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator, Mapping
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
LEGEND_ROW_HEIGHT = 0.2
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


@contextmanager
def drawing() -> Iterator[dict[str, Any]]:
    """Whatever is drawn within it looks the same on every machine, and needs no screen.

    Yields Matplotlib's settings that hold within.
    """
    matplotlib = _matplotlib()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # Without the salt the ids in an SVG file are random. A name with a $ is no formula.
        settings = {"svg.hashsalt": "mptcplab", "font.size": 9, "text.parse_math": False}
        matplotlib.rcParams.update(settings)
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


def _matplotlib() -> ModuleType:
    """Import matplotlib, which takes a second; its font cache goes into the cache of mptcplab."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("MPLCONFIGDIR", str(cache / "mptcplab" / "matplotlib"))
    # hide the warning about a read-only cache
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib as module

    module.use("agg")
    return module
