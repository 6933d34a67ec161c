# SPDX-License-Identifier: GPL-2.0-only
"""What is here needs the site that `make site` makes: it is left out of `make test`."""

from __future__ import annotations

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return config.getoption("--site") is None or None
