# SPDX-License-Identifier: GPL-2.0-only
"""All schedulers on the same scenarios, which nobody chose: who is first, and where each loses."""
