# SPDX-License-Identifier: GPL-2.0-only
"""All schedulers on the same scenarios, which nobody chose: who is first, and where each loses."""

from typing import Literal, get_args

#: The sets of scenarios, and how many each has; a quarter is the usual number.
Name = Literal["training", "judged"]
NAMES: tuple[Name, ...] = get_args(Name)
#: A set with a name, or the seed of another one: nobody can know its scenarios before the seed.
Set = Name | int
SIZE = 600
QUARTER = SIZE // 4
