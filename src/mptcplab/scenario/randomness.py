# SPDX-License-Identifier: GPL-2.0-only
"""Random numbers of a scenario: each random process has its own stream of the seed."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator


def generator(seed: int, stream: int) -> Generator:
    """The random numbers of a stream; different streams, and different seeds, are independent."""
    return Generator(np.random.PCG64([seed, stream]))
