# SPDX-License-Identifier: GPL-2.0-only
"""The pages that say what is recorded and measured: docs/records.md and docs/metrics.md.

`python -m mptcplab.metrics.docs_pages records` prints the one, `... metrics` the other. Their text
is in the templates beside this file, their tables come from the definitions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mptcplab.metrics import definitions, records
from mptcplab.metrics.records import Field
from mptcplab.metrics.schema import Figures, metrics_of


def records_page() -> str:
    """The text of docs/records.md."""
    return _page("records.md.j2", fields=_field_table, size=_size, **vars(records))


def metrics_page() -> str:
    """The text of docs/metrics.md."""
    return _page("metrics.md.j2", figures=_metric_table, **vars(definitions))


def _page(template: str, **names: object) -> str:
    # Markdown, not HTML: nothing is escaped
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(names)


def _size(fields: Sequence[Field]) -> int:
    return sum(field.bytes for field in fields)


def _field_table(fields: Sequence[Field], after: Sequence[Field] = ()) -> str:
    """A row for each field of a record, with its offset behind the fields before them."""
    lines, offset = (
        ["| offset | field | type | unit | meaning |", "|---|---|---|---|---|"],
        _size(after),
    )
    for field in fields:
        lines.append(
            f"| {offset} | `{field.name}` | {field.type} | {field.unit} | {field.meaning} |"
        )
        offset += field.bytes
    return "\n".join(lines)


def _metric_table(figures: type[Figures]) -> str:
    lines = ["| metric | unit | meaning | formula | source |", "|---|---|---|---|---|"]
    for metric in metrics_of(figures):
        lines.append(
            f"| `{metric.name}` | {metric.unit} | {metric.meaning} | {metric.formula} | "
            f"{metric.source} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print({"records": records_page, "metrics": metrics_page}[sys.argv[1]](), end="")
