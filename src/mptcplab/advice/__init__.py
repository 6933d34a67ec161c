# SPDX-License-Identifier: GPL-2.0-only
"""Advice on a scheduler for some paths: what to try, what is best, and how sure that is."""

from typing import Literal, get_args

#: What paths can be good for.
Name = Literal["throughput", "latency", "resilience"]
GOALS: tuple[Name, ...] = get_args(Name)
