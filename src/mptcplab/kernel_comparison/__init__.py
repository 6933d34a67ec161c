# SPDX-License-Identifier: GPL-2.0-only
"""Two kernels: do they send the same packets at the same times, and have the same figures?"""
