# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Files of results: whether they can be written is known before hours of measuring, and an old one stays until a new one is whole."""

import contextlib
import os
import signal
import sys


def unwind_on_signals():
    """A terminating signal ends a run as Ctrl-C does: guests in order, and what was measured is written."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def check(parser, *paths):
    """End with a message if one of these, None among them, could not be written."""
    for path in filter(None, paths):
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.isdir(path) or not os.path.isdir(folder):
            parser.error(f"{path}: {'is a directory' if os.path.isdir(path) else f'there is no directory {folder}'}")
        if not os.access(path if os.path.exists(path) else folder, os.W_OK):
            parser.error(f"{path}: may not be written")


@contextlib.contextmanager
def replacing(path):
    """A file to write to, which becomes path at the end; what is no plain file is written as it is."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as f:
            yield f
        return
    new = f"{path}.new"
    try:
        with open(new, "w", encoding="utf-8") as f:
            yield f
        os.replace(new, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
