# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The benchmark's parts: guests.py measures, results.py sums up, goals.py compares, plots.py draws."""
