# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's coupled congestion control is compared with, and that it is."""

from __future__ import annotations

from mptcplab import resources
from tests import coupled_model


def test_the_kernel_is_compared_with_these_numbers() -> None:
    file = resources.KERNEL / "mptcp" / "tests" / "coupled_vectors.h"
    assert file.read_text() == coupled_model.vector_text(), (
        f"python -m tests.coupled_model > {file}"
    )
