# SPDX-License-Identifier: GPL-2.0-only
"""The parameters of a scheduler that do best on some scenarios, judged on other ones."""
