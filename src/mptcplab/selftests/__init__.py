# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own MPTCP selftests, in virtual time: as upstream, then with our framework.

The scripts and their helper programs come from the source of the kernel that they test. A test that
passes upstream has to pass with our framework and each of our schedulers, unless expected.toml
gives a reason. docs/selftests.md
"""
