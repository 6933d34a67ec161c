# SPDX-License-Identifier: GPL-2.0-only
"""What the published schedulers would have picked: models in Python, for `make oracle`.

Each is written from a paper's formulas and the constants of the authors' source, not from our C.
docs/oracle.md has where a model differs from its source, since that stalls or overflows, and why.
"""
