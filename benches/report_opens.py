# SPDX-License-Identifier: GPL-2.0-only
"""How fast a page of `mptcplab report` opens in headless Chromium: its parts, and CPU time.

    python benches/report_opens.py report.html [TIMES]

Wall-clock from the start of the navigation on; medians over the times, and the range. CPU time is
that of all of Chromium's processes, until a chart that can be pointed at is there.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

# In the order in which they happen; the picture is that of the first chart.
_PARTS = ("first paint", "picture", "page shown", "library ready", "chart drawn")
_PICTURE = """
addEventListener("DOMContentLoaded", async () => {
  const picture = document.querySelector(".plot > img");
  if (!picture) return;
  await picture.decode();
  requestAnimationFrame(() => performance.mark("picture"));
});
"""
_MARKS = """
Object.fromEntries(
  [...performance.getEntriesByType("paint"), ...performance.getEntriesByType("mark")]
    .reverse().map(({name, startTime}) => [name.replace("-", " "), startTime]))
"""
_PATIENCE_MS = 300_000


def main() -> None:
    file = Path(sys.argv[1]).resolve()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    with sync_playwright() as playwright:
        found = []
        for _ in range(times):
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox", "--disable-dev-shm-usage"],
            )
            found.append(_open(browser, file))
            browser.close()
    print(f"{file.name}, {file.stat().st_size / 1e6:.1f} MB, opened {times} times; load average "
          f"{os.getloadavg()[0]:.1f}")  # fmt: skip
    for part in (*_PARTS, "CPU time"):
        values = [each[part] / 1000 for each in found]
        print(f"{part:14} {statistics.median(values):6.2f} s  "
              f"({min(values):.2f}..{max(values):.2f})")  # fmt: skip


def _open(browser: Browser, file: Path) -> dict[str, float]:
    processes = browser.new_browser_cdp_session()

    def cpu_ms() -> float:
        every: list[dict[str, Any]] = processes.send("SystemInfo.getProcessInfo")["processInfo"]
        return 1000.0 * float(sum(process["cpuTime"] for process in every))

    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(_PATIENCE_MS)
    page.add_init_script(_PICTURE)
    before = cpu_ms()
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-ready]")
    # it may be below the window, where it is not drawn
    page.locator(".plot").first.scroll_into_view_if_needed()
    page.wait_for_selector(".plot .main-svg", state="attached")
    return {**page.evaluate(_MARKS), "CPU time": cpu_ms() - before}


if __name__ == "__main__":
    main()
