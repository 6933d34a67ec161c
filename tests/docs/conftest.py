# SPDX-License-Identifier: GPL-2.0-only
"""What is here runs every command of the docs to its end: it is left out of `make test`."""

from __future__ import annotations

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return not config.getoption("--docs-commands") or None
