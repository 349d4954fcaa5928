# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What papers on distributed shared memory measured of the programs in userspace/apps.

Cashmere: R. Stets, S. Dwarkadas, L. Kontothanassis, U. Rencuzogullari, M. Scott, "The effect of network
total order, broadcast, and remote-write capability on network-based shared memory computing", tables
3 to 6. HLRC: M. Rangarajan, L. Iftode, "Software distributed shared memory over Virtual Interface
Architecture: implementation and performance", 4th Annual Linux Showcase, 2000, tables 1 and 5, figures 2
and 3. ORIG and PIPE: R. Noronha, D. Panda, "Reducing diff overhead in software DSM systems using RDMA
operations in InfiniBand", slides. StarT-X: J. Hoe, "StarT-X: a one-man-year exercise in network interface
engineering", Hot Interconnects VI, 1998, table 2.

Numbers are as the papers print them. What is only in a picture, or in no place, is UNTOLD.
"""

UNTOLD = "not in the paper's text"

PAPERS = {
    "Cashmere": "tables 3 and 4: 8 machines of 4 Alpha 21164A, 600 MHz, Memory Channel II; tables 5 and 6: 4 machines "
                "of 4 Alpha 21064A, 233 MHz, Memory Channel of the first generation; pages of 8 KiB; homes by first "
                "touch, the same for all protocols; times are the lowest of three runs; table 6 has SOR's counts, 144 to "
                "960, under a label that says K, as here; beside table 4's 0.3 to 1.4 K they are hardly thousands",
    "HLRC": "8 machines of two Pentium II, 300 MHz, of which one is used; Gigaset cLAN; pages of 4 KiB",
    "ORIG and PIPE": f"16 machines, 8 of them of two Xeons, 2.4 GHz, the others' processors {UNTOLD}; InfiniBand; "
                     f"sizes of problems and pages, sequential times, speedups {UNTOLD}",
    "StarT-X": "UltraSPARC-1 of 166 MHz on the Arctic Switch Fabric and a SUN E5000 of 8 processors, up to three machines; MPI, no shared memory",
}

# Cashmere, tables 3 and 5: size, shared memory, and seconds of one processor of each generation.
CASHMERE_SIZES = {
    "barnes": ("128K bodies", "26 MB", 120.4, 469.4),
    "clu": ("2048 x 2048", "33 MB", 75.4, 294.7),
    "lu": ("2500 x 2500", "50 MB", 143.8, 254.8),
    "em3d": ("64000 nodes", "52 MB", 30.6, 137.3),
    "gauss": ("2048 x 2048", "33 MB", 234.8, 948.1),
    "ilink": ("CLP", "15 MB", 212.7, 755.9),
    "sor": ("3072 x 4096", "50 MB", 36.2, 194.8),
    "tsp": ("17 cities", "1 MB", 1342.49, 4036.24),
    "water-nsquared": ("9261 molecules", "6 MB", 332.6, 1120.6),
    "water-spatial": ("9261 molecules", "16 MB", 20.2, 74.0),
}

# Cashmere, table 4, 32 processors: speedup, then page transfers, invalidations, diffs and migrations
# (attempts) in thousands, under each of CASHMERE_PRESETS.
CASHMERE_PRESETS = ("csm-dms", "csm-ms", "csm-s", "csm-none", "csm-ms-mg", "csm-none-mg")
TABLE4 = {
    "barnes": (
        ("7.6", "5.5", "4.2", "4.2", "6.3", "5.9"),
        ("66.0", "63.4", "96.8", "96.1", "69.1", "78.5"),
        ("214.2", "201.6", "209.9", "210.2", "210.5", "210.2"),
        ("60.8", "50.2", "66.4", "61.8", "45.1", "47.5"),
        ("0", "0", "0", "0", "15.6 (15.6)", "11.6 (67.4)"),
    ),
    "clu": (
        ("18.3", "18.4", "18.0", "18.0", "18.2", "17.7"),
        ("8.3", "11.9", "11.9", "11.9", "11.9", "11.9"),
        ("0", "0", "0", "0", "1.3", "8.6"),
        ("0", "0", "0", "0", "0", "0"),
        ("0", "0", "0", "0", "3.5 (3.5)", "3.5 (3.5)"),
    ),
    "lu": (
        ("4.0", "3.5", "3.6", "3.6", "12.5", "12.4"),
        ("44.1", "44.4", "44.6", "44.4", "51.1", "53.1"),
        ("32.6", "33.3", "31.8", "32.5", "124.0", "91.0"),
        ("285.6", "278.06", "278.9", "277.4", "1.1", "1.1"),
        ("0", "0", "0", "0", "5.5 (5.5)", "5.5 (5.5)"),
    ),
    "em3d": (
        ("13.5", "10.5", "10.5", "10.3", "10.2", "9.8"),
        ("32.8", "32.8", "33.1", "33.1", "43.9", "43.8"),
        ("33.1", "33.1", "33.4", "33.4", "41.0", "40.9"),
        ("7.1", "7.1", "7.1", "7.1", "0", "0"),
        ("0", "0", "0", "0", "1.9 (1.9)", "1.9 (1.9)"),
    ),
    "gauss": (
        ("22.7", "21.9", "23.2", "23.0", "22.1", "21.9"),
        ("38.2", "42.2", "40.1", "40.3", "43.9", "44.1"),
        ("59.6", "74.7", "64.4", "63.8", "73.4", "78.7"),
        ("3.6", "3.6", "3.6", "3.6", "0.5", "0.1"),
        ("0", "0", "0", "0", "4.5 (4.5)", "4.6 (4.6)"),
    ),
    "ilink": (
        ("12.5", "12.1", "11.1", "11.1", "11.6", "11.4"),
        ("50.0", "50.0", "53.1", "53.1", "51.9", "56.1"),
        ("199.6", "199.6", "196.0", "196.0", "206.8", "204.9"),
        ("12.0", "12.2", "12.4", "12.4", "8.7", "8.6"),
        ("0", "0", "0", "0", "1.9 (2.7)", "1.9 (6.2)"),
    ),
    "sor": (
        ("31.2", "30.1", "30.1", "29.9", "31.2", "30.9"),
        ("0.3", "0.3", "0.3", "0.3", "0.7", "0.7"),
        ("0.3", "0.3", "0.3", "0.3", "0.7", "0.7"),
        ("1.4", "1.4", "1.4", "1.4", "0", "0"),
        ("0", "0", "0", "0", "0", "0"),
    ),
    "tsp": (
        ("33.9", "34.0", "33.8", "34.2", "33.9", "34.0"),
        ("12.6", "12.2", "12.3", "12.2", "14.1", "13.9"),
        ("16.2", "15.7", "15.9", "15.8", "18.3", "18.0"),
        ("8.0", "7.8", "7.8", "7.8", "0.1", "0.1"),
        ("0", "0", "0", "0", "5.0 (5.0)", "5.0 (5.0)"),
    ),
    "water-nsquared": (
        ("20.6", "18.0", "17.8", "17.0", "19.6", "19.3"),
        ("31.5", "29.8", "29.4", "22.9", "28.3", "32.9"),
        ("55.1", "58.2", "55.8", "54.3", "55.1", "59.2"),
        ("251.1", "234.4", "249.7", "243.7", "17.2", "26.3"),
        ("0", "0", "0", "0", "9.2 (9.3)", "11.0 (11.7)"),
    ),
    "water-spatial": (
        ("7.7", "7.0", "7.0", "7.2", "12.3", "11.8"),
        ("4.0", "4.5", "4.8", "4.9", "5.2", "5.6"),
        ("11.8", "11.8", "11.7", "11.8", "17.6", "17.4"),
        ("6.2", "6.2", "6.4", "6.4", "0.1", "0.1"),
        ("0", "0", "0", "0", "0.3 (0.3)", "0.3 (0.3)"),
    ),
}

# Table 6, 16 processors: the same without attempts.
TABLE6 = {
    "barnes": (
        ("7.3", "7.1", "6.8", "6.8", "7.1", "6.4"),
        ("37.4", "37.5", "39.3", "39.2", "35.6", "37.5"),
        ("100.6", "100.8", "94.0", "94.0", "87.6", "87.0"),
        ("31.6", "31.1", "32.1", "32.2", "25.6", "24.0"),
        ("0", "0", "0", "0", "5.8", "6.5"),
    ),
    "clu": (
        ("12.4", "12.7", "12.5", "12.5", "12.6", "12.4"),
        ("9.3", "9.3", "9.3", "9.3", "9.3", "9.3"),
        ("0", "0", "0", "0", "1.2", "1.8"),
        ("0", "0", "0", "0", "0", "0"),
        ("0", "0", "0", "0", "1.2", "1.8"),
    ),
    "lu": (
        ("6.7", "6.2", "6.0", "6.0", "10.2", "10.2"),
        ("21.0", "21.3", "21.7", "21.6", "22.7", "23.0"),
        ("41.3", "41.3", "40.7", "40.2", "52.6", "50.0"),
        ("65.4", "65.4", "65.5", "65.5", "1.0", "1.0"),
        ("0", "0", "0", "0", "4.6", "4.6"),
    ),
    "em3d": (
        ("6.2", "6.2", "5.7", "5.8", "6.4", "6.2"),
        ("35.3", "35.2", "35.2", "35.2", "41.7", "41.7"),
        ("35.3", "35.2", "35.2", "35.2", "38.6", "38.6"),
        ("3.2", "3.2", "3.2", "3.2", "0", "0"),
        ("0", "0", "0", "0", "1.0", "1.0"),
    ),
    "gauss": (
        ("12.1", "12.0", "11.7", "11.7", "11.5", "11.6"),
        ("17.2", "17.3", "17.5", "17.6", "20.6", "21.9"),
        ("27.8", "27.5", "27.6", "27.6", "36.4", "45.3"),
        ("4.4", "4.4", "4.4", "4.4", "1.2", "0.2"),
        ("0", "0", "0", "0", "3.7", "4.0"),
    ),
    "ilink": (
        ("8.3", "8.3", "8.4", "8.5", "8.5", "8.2"),
        ("20.2", "20.2", "22.1", "22.1", "21.0", "22.8"),
        ("80.7", "80.7", "80.0", "80.0", "83.6", "83.4"),
        ("4.7", "4.8", "4.9", "4.9", "4.3", "4.1"),
        ("0", "0", "0", "0", "1.7", "1.4"),
    ),
    "sor": (
        ("14.1", "13.9", "13.7", "13.7", "14.2", "14.3"),
        ("144", "144", "144", "144", "288", "288"),
        ("144", "144", "144", "144", "288", "288"),
        ("960", "960", "960", "960", "0", "0"),
        ("0", "0", "0", "0", "0", "0"),
    ),
    "tsp": (
        ("14.4", "14.3", "14.2", "14.1", "14.3", "14.1"),
        ("7.3", "7.3", "7.3", "7.4", "9.7", "9.7"),
        ("9.9", "9.8", "9.8", "9.9", "13.0", "13.0"),
        ("6.6", "6.5", "6.6", "6.6", "0.5", "0.3"),
        ("0", "0", "0", "0", "4.5", "4.5"),
    ),
    "water-nsquared": (
        ("11.4", "10.9", "10.5", "10.1", "11.5", "10.9"),
        ("10.5", "16.6", "13.5", "11.7", "22.1", "12.7"),
        ("21.8", "27.7", "24.8", "24.2", "31.8", "23.6"),
        ("101.3", "120.0", "120.4", "123.7", "14.6", "19.6"),
        ("0", "0", "0", "0", "8.2", "6.0"),
    ),
    "water-spatial": (
        ("6.5", "6.4", "6.1", "6.2", "8.7", "8.6"),
        ("2.3", "2.7", "2.9", "2.9", "3.4", "3.7"),
        ("7.5", "7.6", "7.5", "7.5", "11.5", "11.4"),
        ("4.0", "4.0", "4.0", "4.0", "0.1", "0.1"),
        ("0", "0", "0", "0", "0.1", "1.5"),
    ),
}

# Of CSM-ADB the text of the section with the numbers is missing; these are from elsewhere.
ADB = ("up to 56 % better for some applications on an emulated system of 32 nodes (section 1; which ones, and all "
       f"other numbers, {UNTOLD}); up to 13 % over 8 nodes (HLRC's section 6 on it)")

# What its section 3.3.1 says of figure 1: 32 processors, in parts of the time with CSM-DMS.
FIGURE1 = {("em3d", "csm-dms"): "figure 1: wait 41 %, message 18 %", ("em3d", "csm-ms"): "figure 1: wait 65 %, message 24 %"}

# HLRC, table 1: size, shared memory, seconds of one processor; table 5: speedup on 8 machines.
HLRC_SIZES = {
    "barnes": ("262144 bodies, by regions of space", "325 MB", 357),
    "fft": ("2048 x 2048", "196 MB", 86),
    "lu": ("2048 x 2048", "33 MB", 209),
    "ocean": ("514 x 514", "97 MB", 30),
    "radix": ("45 M keys", "377 MB", 95),
    "water-nsquared": ("32768 molecules, 5 steps", "22 MB", 22450),
    "water-spatial": (f"262144 molecules, steps {UNTOLD}", "264 MB", 14202),
}
TABLE5 = {"barnes": 6.3, "fft": 5.8, "lu": 7.4, "ocean": 7.7, "radix": 4.3, "water-nsquared": 6.2, "water-spatial": 6.7}
# Its figures 2 and 3 in its words; the numbers are in pictures.
FIGURE2 = "the copy costs 15 % of FFT's time and less than 5 % of the others', at smaller sizes"
FIGURE3 = ("messages of less than 256 bytes are more than 75 % of all, in four programs; which, and the other sizes, "
           f"{UNTOLD}")

# Of its section 6 on RDMA READ.
HANDLERS = "handlers take no more than 5 % of any program's time"

# ORIG and PIPE, the slide behind the last: averages of diff MB, diffs, bytes of one, intervals, diffs in an
# interval, and MB of all traffic. The slides in front say: by node.
AVERAGES = {
    "barnes": ("1.83", "6060", "317", "13", "466.15", "48"),
    "is": ("29.55", "7680", "4034", "17", "451.76", "94.24"),
    "lu": ("10.9", "15114", "756.21", "129", "117.16", "964.62"),
    "ocean": ("9.16", "14327.56", "670.38", "937", "15.29", "157.77"),
}
# And what it says in words of times and waits, which are in pictures.
DIFF_WORDS = {
    "barnes": "waits at barriers 45 % of the time",
    "is": f"time and waits {UNTOLD}",
    "lu": "PIPE takes 35 % off the time",
    "ocean": f"time and waits {UNTOLD}",
}

# StarT-X, table 2: P, by processors of each machine, and seconds to multiply matrices of each size.
STARTX_SIZES = (1024, 2048, 4096)
STARTX = {
    (1, 1): ("9.5", "68.4", "NA"),
    (2,): ("9.4", "68.3", "NA"),
    (2, 2): ("4.8", "35.3", "404.0"),
    (4,): ("4.6", "34.2", "401.5"),
    (4, 4): ("2.6", "17.6", "204.3"),
    (8,): ("2.6", "17.7", "206.0"),
    (8, 8): ("2.4", "11.0", "103.0"),
    (8, 8, 8): ("3.5", "9.8", "78.5"),
}
