# SPDX-License-Identifier: GPL-2.0-only
"""Random numbers of a scenario: each thing that is random has a stream of its own of the seed."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator


def generator(seed: int, stream: int) -> Generator:
    """The random numbers of a stream; those of two streams, or of two seeds, are independent."""
    return Generator(np.random.PCG64([seed, stream]))
