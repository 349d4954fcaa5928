# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What runs a guest's instructions, and whether it crashed."""
import os
import signal
import subprocess

from . import kernels

CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)


def accelerator():
    """(QEMU arguments, reason in words). DSMVM_ACCEL=kvm or tcg overrides the choice."""
    choice = os.environ.get("DSMVM_ACCEL")
    if choice not in (None, "kvm", "tcg"):
        raise kernels.KernelError(f"DSMVM_ACCEL={choice}: it is kvm or tcg")
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        flags = f.read().split()
    capable = ("vmx" in flags or "svm" in flags) and os.access("/dev/kvm", os.R_OK | os.W_OK)
    if choice == "kvm" or (choice is None and capable):
        return ["-accel", "kvm", "-cpu", "host"], "KVM"
    why = "DSMVM_ACCEL" if choice else "no usable vmx or svm here"
    # Without cmpxchg16b: guests with 6.12 died now and then at the instruction after one that had failed
    # (kmalloc's fast path), of a double fault, with bits in EFLAGS that no processor sets.
    # Without erms: kernels then copy and clear by words, while the emulator does REP MOVSB and STOSB byte by byte.
    return ["-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max,-cx16,-erms"], f"TCG ({why})"


def crash(qemu):
    """The signal by which QEMU itself ended, or None. Debian 12's crashes, rarely, under TCG with two processors."""
    try:
        status = qemu.wait(1)
    except subprocess.TimeoutExpired:
        return None
    return -status if -status in CRASHES else None
