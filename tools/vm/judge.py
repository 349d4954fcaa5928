# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Finds kernel trouble in a console or dmesg log; one list of patterns for all tests."""
import re

BAD = re.compile("|".join((
    r"WARNING: ", r"\bBUG\b[: ]", r"kernel BUG at", r"Oops[: ]", r"Kernel panic",
    r"general protection fault", r"[Uu]nable to handle", r"invalid opcode", r"stack guard page",
    r"INFO: task .* blocked for more than", r"soft lockup", r"hard LOCKUP",
    r"rcu.*(detected|self-detected).*stall", r"rcu: INFO:", r"suspicious RCU usage",
    r"possible (circular|recursive) locking", r"inconsistent lock state",
    r"lock inversion dependency", r"bad unlock balance", r"held lock freed",
    r"trying to register non-static key", r"DEBUG_LOCKS_WARN_ON",
    r"sleeping function called", r"scheduling while atomic",
    r"KASAN:", r"UBSAN:", r"KCSAN:", r"KFENCE:", r"ODEBUG:", r"unreferenced object",
    r"kmemleak: [1-9][0-9]* new suspected", r"[Kk]memleak.*disabled", r"refcount_t:", r"list_(add|del) corruption",
    r"Bad page (state|map|cache)", r"Bad rss-counter", r"Objects remaining",
    r"sysfs: cannot create duplicate", r"page allocation failure",
)))

# Lines that hold such a word and are no complaint of the kernel about itself.
HARMLESS = re.compile(r"[Cc]ommand line:|ACPI (Warning|BIOS)|traps: .*\[\d+\] (trap invalid opcode|general protection fault) ip:")

CONTEXT_LINES = 40


def find(text, allow=()):
    """Return the bad lines of a log, each with what follows it, as a list of strings.

    allow: regexes of lines that a test provokes on purpose.
    """
    allowed = [re.compile(a) for a in allow]
    lines = text.replace("\r", "").splitlines()
    reports = []
    skip_until = -1
    for i, line in enumerate(lines):
        if i <= skip_until or not BAD.search(line) or HARMLESS.search(line):
            continue
        if any(a.search(line) for a in allowed):
            continue
        end = i
        while end + 1 < len(lines) and end - i < CONTEXT_LINES:
            end += 1
            if "end trace" in lines[end]:
                break
        reports.append("\n".join(lines[i:end + 1]))
        skip_until = end
    return reports
