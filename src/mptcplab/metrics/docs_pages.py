# SPDX-License-Identifier: GPL-2.0-only
"""The pages about records and figures: docs/records.md and docs/metrics.md.

`python -m mptcplab.metrics.docs_pages records` prints the one, `... metrics` the other. Their text
is in the templates beside this file, their tables come from the definitions.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mptcplab.metrics import definitions, records


def records_page() -> str:
    """The text of docs/records.md."""
    return _page("records.md.j2", records)


def metrics_page() -> str:
    """The text of docs/metrics.md."""
    return _page("metrics.md.j2", definitions)


def _page(template: str, names: ModuleType) -> str:
    # Markdown, not HTML: nothing is escaped
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(vars(names))


if __name__ == "__main__":
    print({"records": records_page, "metrics": metrics_page}[sys.argv[1]](), end="")
