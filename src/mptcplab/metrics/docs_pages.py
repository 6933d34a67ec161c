# SPDX-License-Identifier: GPL-2.0-only
"""The pages about records and figures: docs/records.md and docs/metrics.md.

`python -m mptcplab.metrics.docs_pages records` prints the one, `... metrics` the other. Their text
is in the templates beside this file, their tables come from the definitions.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mptcplab.marked import rendered
from mptcplab.metrics import definitions, records


def records_page() -> str:
    """The text of docs/records.md."""
    return rendered(Path(__file__).with_name("records.md.j2"), **vars(records))


def metrics_page() -> str:
    """The text of docs/metrics.md."""
    return rendered(Path(__file__).with_name("metrics.md.j2"), **vars(definitions))


if __name__ == "__main__":
    print({"records": records_page, "metrics": metrics_page}[sys.argv[1]](), end="")
