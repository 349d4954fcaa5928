# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Virtual machines for dsm: see cluster.py for the interface, tools/dsmvm for the command."""
