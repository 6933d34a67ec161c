# SPDX-License-Identifier: GPL-2.0-only
"""What is asked for: scenarios, read, checked and resolved, and the plan that is made of them."""
