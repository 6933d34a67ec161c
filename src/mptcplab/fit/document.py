# SPDX-License-Identifier: GPL-2.0-only
"""A fit as a scenario file, as a JSON document, and as a table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.text import Text

from mptcplab.fit.estimates import Estimate, PathFit, Transfer
from mptcplab.mistakes import printable
from mptcplab.report.catalogue_tables import add_numbers, ruled
from mptcplab.scenario.uncertainty import KEYS, MOST
from mptcplab.units import RATE, TIME, format_fraction

# Nobody knows a link better than its model fits it.
_LEAST_VARY = 0.01
# More changes of a path become a trace.
_MOST_EVENTS = 4
# Of each key: the shown unit, its size, and the ending of the key in the document.
_UNITS = {
    "rate": ("Mbit/s", 1e6, "_bps"),
    "delay": ("ms", 1e-3, "_s"),
    "jitter": ("ms", 1e-3, "_s"),
    "queue": ("packets", 1.0, "_packets"),
    "loss": ("%", 0.01, ""),
}


@dataclass(frozen=True)
class Fit:
    """Paths, and the transfer that showed them, if any; `of` names the files."""

    of: str
    paths: Sequence[PathFit]
    transfer: Transfer | None = None
    notes: Sequence[str] = ()

    @property
    def vary(self) -> list[str]:
        """The intervals, as a scenario's `vary` and `advise --uncertain` take them."""
        found = [format_fraction(_LEAST_VARY)]
        for path in self.paths:
            for key in KEYS:
                parts = [_part(each) for name, each in path.values.items() if _key(name) == key]
                if (part := max(parts, default=0.0)) > _LEAST_VARY:
                    found.append(f"{path.name}.{key}={format_fraction(part)}")
        return found


def _key(name: str) -> str:
    return name.rpartition(".")[2]


def _part(estimate: Estimate) -> float:
    """How far the value may be off, as a part of it, in whole percents."""
    ends = (estimate.low, estimate.value if estimate.high is None else estimate.high)
    far = max(abs(end - estimate.value) for end in ends) / (estimate.value or math.inf)
    return min(math.ceil(100 * far - 1e-9) / 100, MOST)


def scenario(fit: Fit, file: Path) -> dict[Path, str]:
    """The scenario file, each value with its interval and its source, and the traces beside it."""
    texts = {
        _trace(file, path): "time_s,rate_mbit\n"
        + "".join(
            f"{at:.3f},{e.value / 1e6:.6f}\n"
            for at, e in [(0.0, path.values["rate"]), *path.changes]
        )
        for path in fit.paths
        if len(path.changes) > _MOST_EVENTS
    }
    return {**texts, file: "\n".join(_lines(fit, file)) + "\n"}


def _trace(file: Path, path: PathFit) -> Path:
    return file.with_name(f"{file.stem}-{path.name}.csv")


def _lines(fit: Fit, file: Path) -> Iterator[str]:
    yield f"# Fitted to {fit.of} by mptcplab fit; docs/fit.md has the arithmetic."
    yield from (f"# {note}" for note in _notes(fit))
    yield "# Behind each value: its 95 % interval, and its source."
    yield ""
    vary = ", ".join(f'"{each}"' for each in fit.vary)
    yield f"vary = [{vary}]    # the intervals: each seed draws from them"
    for path in fit.paths:
        yield from ("", "[[path]]", f"name = {json.dumps(path.name)}    # {printable(path.about)}")
        tables: dict[str, list[str]] = {"": []}
        for name, estimate in path.values.items():
            lines = tables.setdefault(name.rpartition(".")[0], [])
            lines.append(_line(_key(name), estimate))
            if _key(name) == "queue":
                lines.append('queue_discipline = "droptail"')
        yield from tables.pop("")
        for table, lines in tables.items():
            yield from ("", f"[path.{table}]", *lines)
        if fit.transfer and len(path.changes) > _MOST_EVENTS:
            yield from ("", f"[path.{fit.transfer.direction}.trace]    # of the rate")
            yield from (f"file = {json.dumps(_trace(file, path).name)}", "repeat = false")
            continue
        for at_s, estimate in path.changes:
            at = f"{round(at_s * 1000)}ms"
            yield from ("", "[[event]]", f'at = "{at}"', f"path = {json.dumps(path.name)}")
            yield from ('action = "change"', _line("rate", estimate))
    if fit.transfer:
        yield from ("", "[workload]", f'direction = "{fit.transfer.direction}"')
        yield f"size = {fit.transfer.size_bytes}"


def _line(key: str, estimate: Estimate) -> str:
    return f"{key} = {_literal(key, estimate.value)}    # {_range(key, estimate)} " + (
        f"{_UNITS[key][0]}; {estimate.source}"
    )


def _literal(key: str, value: float) -> str:
    """A value as TOML: four digits, or a whole number of packets."""
    if key == "queue":
        return str(max(round(value), 1))
    rounded = float(f"{value:.4g}")
    if key == "loss":
        return f'"{format_fraction(rounded)}"'
    # the lowest rate of a path
    return (
        f'"{RATE.format(max(round(rounded), 1000))}"'
        if key == "rate"
        else (f'"{TIME.format(round(rounded * 1e9))}"')
    )


def _range(key: str, estimate: Estimate) -> str:
    low = _shown(key, estimate.low)
    return f">= {low}" if estimate.high is None else f"{low}..{_shown(key, estimate.high)}"


def _shown(key: str, value: float) -> str:
    scaled = value / _UNITS[key][1]
    return f"{scaled:.0f}" if key == "queue" or scaled >= 1000 else f"{scaled:.3g}"


def _notes(fit: Fit) -> list[str]:
    if not (sent := fit.transfer):
        return list(fit.notes)
    goodput = f"{sent.goodput_bps / 1e6:.2f} Mbit/s for {sent.lasts_s:.2f} s, {sent.direction}"
    return [f"Goodput of the transfer: {goodput}.", *fit.notes]


def document(fit: Fit, file: str) -> dict[str, Any]:
    """All of a fit; docs/fit.md describes it."""
    paths = [
        asdict(path)
        | {"values": {n + _UNITS[_key(n)][2]: asdict(e) for n, e in path.values.items()}}
        | {"changes": [{"at_s": at_s, "rate_bps": asdict(e)} for at_s, e in path.changes]}
        for path in fit.paths
    ]
    transfer = fit.transfer and asdict(fit.transfer) | {"goodput_bps": fit.transfer.goodput_bps}
    known = {"scenario": file, "of": fit.of, "transfer": transfer, "vary": fit.vary}
    return {**known, "paths": paths, "notes": list(fit.notes)}


def table(fit: Fit) -> Group:
    """The paths, each value above its interval, for a terminal of 80 columns."""
    shown = ruled()
    shown.add_column("Path")
    names = list(dict.fromkeys(name for path in fit.paths for name in path.values))
    titles = (n.replace(".", "\n") if "." in n else f"{n}\n" for n in names)
    add_numbers(shown, *(f"{t}\n{_UNITS[_key(n)][0]}" for n, t in zip(names, titles, strict=True)))
    for path in fit.paths:
        known = [(_key(name), path.values.get(name)) for name in names]
        shown.add_row(path.name, *("-" if e is None else _shown(k, e.value) for k, e in known))
        shown.add_row("", *("" if e is None else _range(k, e) for k, e in known))
        for at_s, estimate in path.changes[:_MOST_EVENTS]:
            shown.add_row(f"from {at_s:.1f} s", _shown("rate", estimate.value))
        if further := len(path.changes[_MOST_EVENTS:]):
            shown.add_row(f"and {further} more")
        shown.add_row()
    lines = [*(f"{path.name}: {path.about}" for path in fit.paths), *_notes(fit)]
    return Group(shown, *map(Text, lines))
