# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own MPTCP selftests, in virtual time: as upstream, then with our framework.

The scripts and their helper programs come from the source of the kernel that they test. None of
their tests may pass upstream and fail with our framework, or with a scheduler of ours, unless
expected.toml says why it cannot pass. docs/selftests.md
"""
