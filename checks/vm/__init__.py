# SPDX-License-Identifier: GPL-2.0-only
"""The schedulers as modules on unmodified Debian kernels, in virtual machines: `make vm-test`."""
