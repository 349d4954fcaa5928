# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The groups of tests: what is started, to which commands they belong, how long they may take.

The groups' environment: O (directory of built user programs), DSM_KERNEL (6.1, 6.12 or
debug, for those that boot guests), DSM_TESTS (how much to run, or what).
"""


class Group:
    """A name, a command, the sets it belongs to, minutes it takes, a limit, its environment.

    Minutes are those of a host with two processors that does nothing else; on a slower one all take longer.
    """

    def __init__(self, name, argv, sets, minutes, limit_seconds, **env):
        self.name, self.argv, self.sets = name, argv, sets
        self.minutes, self.limit_seconds, self.env = minutes, limit_seconds, env


def guests(name, directory, kernel, tests, sets, minutes, limit_seconds, **env):
    """A group that boots guests of one kernel."""
    return Group(name, [f"selftests/{directory}/run"], sets, minutes, limit_seconds,
                 DSM_KERNEL=kernel, DSM_TESTS=tests, **env)


# Parts of the product of all settings, each by itself resumable.
MATRIX_PARTS = 4
MATRIX = tuple(
    guests(f"matrix-{kernel}-{part}", "cluster", kernel, "matrix", ("all",), 5, 2400,
           MATRIX=f"{part}/{MATRIX_PARTS}")
    for kernel in ("6.12", "6.1") for part in range(1, MATRIX_PARTS + 1))
# Parts of the presets.
LITMUS_PARTS = 6
LITMUS = tuple(
    guests(f"litmus-{kernel}-{part}", "cluster", kernel, "litmus", ("all",), 35, 4500,
           LITMUS=f"{part}/{LITMUS_PARTS}")
    for kernel in ("6.12", "6.1") for part in range(1, LITMUS_PARTS + 1))

# In this order; on a slow host there may be no time for the last.
GROUPS = (
    Group("build", ["tools/check/build"], ("check", "quick"), 1, 600, DSM_TESTS="full"),
    Group("unit", ["selftests/unit/run"], ("check", "quick", "unit", "all"), 1, 600),
    Group("model-quick", ["selftests/model/run"], ("quick",), 3, 360, DSM_TESTS="quick"),
    guests("ksft-6.12", "ksft", "6.12", "full", ("check", "quick", "all"), 1, 600),
    guests("cluster-quick", "cluster", "6.12", "quick", ("quick",), 1, 300),
    Group("lint", ["tools/check/lint"], ("check", "lint", "all"), 2.5, 600),
    Group("model", ["selftests/model/run"], ("check", "model"), 6, 1200, DSM_TESTS="full"),
    guests("cluster-6.12", "cluster", "6.12", "check", ("check",), 8, 2400),
    guests("ksft-6.1", "ksft", "6.1", "full", ("check", "all"), 1, 600),
    guests("cluster-6.1", "cluster", "6.1", "quick", ("check",), 1, 600),
    Group("guests", ["selftests/qemu/run"], ("check", "all"), 1, 600),
    guests("parmacs-6.12", "parmacs", "6.12", "full", ("check", "all"), 1, 400),
    guests("parmacs-6.1", "parmacs", "6.1", "full", ("check", "all"), 1, 400),
    guests("ssh", "ssh", "6.12", "full", ("check", "all"), 1.5, 300),
    guests("pairs-6.12", "cluster", "6.12", "pairs", ("check",), 1, 600),
    guests("pairs-6.1", "cluster", "6.1", "pairs", ("check",), 1, 600),
    guests("apps", "apps", "6.12", "full", ("check", "all"), 1, 300),
    Group("debug-build", ["tools/check/build"], ("check",), 7, 1200, DSM_TESTS="debug"),
    guests("ksft-debug", "ksft", "debug", "debug", ("check", "all"), 3, 1200),
    guests("cluster-debug", "cluster", "debug", "debug", ("check", "all"), 5, 1200),
    guests("bench", "bench", "6.12", "full", ("check", "all"), 1.5, 480),
    guests("examples", "examples", "6.12", "full", ("check", "all"), 1.5, 900),
    # What `make check-all` runs besides, or instead of a part of it.
    Group("model-deep", ["selftests/model/run"], ("all",), 40, 5400, DSM_TESTS="deep"),
    guests("cluster-full-6.12", "cluster", "6.12", "full", ("all",), 13, 1800),
    guests("cluster-full-6.1", "cluster", "6.1", "full", ("all",), 13, 1800),
    guests("presets-6.12", "cluster", "6.12", "presets", ("all",), 11, 1800),
    guests("presets-6.1", "cluster", "6.1", "presets", ("all",), 11, 1800),
    guests("pairs-debug", "cluster", "debug", "pairs", ("all",), 8, 1800),
    guests("faults-6.12", "cluster", "6.12", "faults", ("all",), 4, 900),
    guests("faults-6.1", "cluster", "6.1", "faults", ("all",), 4, 900),
    guests("faults-debug", "cluster", "debug", "faults", ("all",), 30, 3600),
    guests("soak-6.12", "cluster", "6.12", "soak", ("all",), 2, 2400),
    guests("soak-6.1", "cluster", "6.1", "soak", ("all",), 10, 2400),
    *LITMUS,
    *MATRIX,
)
# Every shard of check-all begins with these.
FIRST = tuple(g for g in GROUPS if g.name in ("build", "debug-build"))
