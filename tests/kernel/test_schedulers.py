# SPDX-License-Identifier: GPL-2.0-only
"""What tests of all schedulers take for all of them."""

from __future__ import annotations

import re

from mptcplab import resources
from mptcplab.lab import kernel


def test_tests_of_all_schedulers_know_all_of_them() -> None:
    text = (resources.KERNEL / "mptcp" / "tests" / "vocabulary.h").read_text()
    listed = re.search(r"mps_test_schedulers\[\][^{]*{([^}]*)}", text)
    assert listed
    names = re.findall(r'"(\w+)"', listed[1])
    assert names == sorted(name for name in kernel.schedulers() if name != "default")
