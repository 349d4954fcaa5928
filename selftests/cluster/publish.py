#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""publish.py FILE msync|fsync|write: publishes each line of the input at the beginning of a file.

Through a mapping and msync(MS_SYNC), through a mapping and fsync(), or by write() and fsync(). The file
stays open and mapped; a line of the output says that it is done.
"""
import mmap
import os
import sys

path, how = sys.argv[1:]
fd = os.open(path, os.O_RDWR)
with mmap.mmap(fd, 4096) as memory:
    for line in sys.stdin:
        text = line.encode()
        if how == "write":
            os.pwrite(fd, text, 0)
        else:
            memory[:len(text)] = text
        if how == "msync":
            memory.flush()
        else:
            os.fsync(fd)
        print("published", line, end="", flush=True)
