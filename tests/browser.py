# SPDX-License-Identifier: GPL-2.0-only
"""Debian's Chromium without a screen, and pages in which nothing may go wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

# A busy machine may take long; no test is about how long.
_PATIENCE_MS = 300_000


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """A browser with further options; skips the test where it is not installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed: make setup-test")
    # as root, and in containers, Chromium has no sandbox of its own
    always = ["--no-sandbox", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=[*always, *options])
        yield started
        started.close()


@contextmanager
def watched(browser: Browser, own: tuple[str, ...], **how: Any) -> Iterator[Page]:
    """A page that may load only addresses that begin so, and may say nothing on its console."""
    wrong: list[str] = []
    page = browser.new_page(**how)
    page.set_default_timeout(_PATIENCE_MS)
    page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(f"cannot load {request.url}"))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(own) else wrong.append(f"loads {request.url}")
        ),
    )
    yield page
    page.close()
    assert wrong == []
