# SPDX-License-Identifier: GPL-2.0-only
"""The commands: a file for each, whose docstring is the help, and whose `command` is called."""
