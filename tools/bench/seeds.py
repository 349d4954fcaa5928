# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What papers on distributed shared memory measured of the programs in userspace/apps.

Cashmere: R. Stets, S. Dwarkadas, L. Kontothanassis, U. Rencuzogullari, M. Scott, "The effect of network
total order, broadcast, and remote-write capability on network-based shared memory computing", tables
3 and 4. HLRC: M. Rangarajan, L. Iftode, "Software distributed shared memory over Virtual Interface
Architecture: implementation and performance", 4th Annual Linux Showcase, 2000, tables 1 and 5, figures 2
and 3. ORIG and PIPE: R. Noronha, D. Panda, "Reducing diff overhead in software DSM systems using RDMA
operations in InfiniBand". StarT-X: J. Hoe, "StarT-X: a one-man-year exercise in network interface
engineering", Hot Interconnects VI, 1998, table 2.
"""

PAPERS = {
    "Cashmere": "CSM-None, homes by first touch; 8 machines of 4 Alpha 21164A, 600 MHz; Memory Channel II; pages of 8 KiB",
    "HLRC": "8 machines of one Pentium II, 300 MHz; Gigaset cLAN; pages of 4 KiB",
    "ORIG and PIPE": "16 machines of 2 Xeons, 2.4 GHz; InfiniBand; pages of 4 KiB",
    "StarT-X": "SUN E5000 of 8 processors; MPI, no shared memory",
}

# Program: paper, size, seconds of one processor, processors, speedup, and, in thousands, page
# transfers, invalidations and diffs (None: not told).
FIGURES = {
    "clu": ("Cashmere", "2048 x 2048", 75.4, 32, 18.0, 11.9, 0, 0),
    "lu": ("Cashmere", "2500 x 2500", 143.8, 32, 3.6, 44.4, 32.5, 277.4),
    "em3d": ("Cashmere", "64000 nodes", 30.6, 32, 10.3, 33.1, 33.4, 7.1),
    "gauss": ("Cashmere", "2048 x 2048", 234.8, 32, 23.0, 40.3, 63.8, 3.6),
    "ilink": ("Cashmere", "CLP", 212.7, 32, 11.1, 53.1, 196.0, 12.4),
    "sor": ("Cashmere", "3072 x 4096", 36.2, 32, 29.9, 0.3, 0.3, 1.4),
    "tsp": ("Cashmere", "17 cities", 1342.49, 32, 34.2, 12.2, 15.8, 7.8),
    "water-nsquared": ("Cashmere", "9261 molecules", 332.6, 32, 17.0, 22.9, 54.3, 243.7),
    "water-spatial": ("Cashmere", "9261 molecules", 20.2, 32, 7.2, 4.9, 11.8, 6.4),
    "barnes": ("HLRC", "262144 bodies", 357, 8, 6.3, None, None, None),
    "fft": ("HLRC", "2048 x 2048", 86, 8, 5.8, None, None, None),
    "ocean": ("HLRC", "514 x 514", 30, 8, 7.7, None, None, None),
    "radix": ("HLRC", "45 M keys", 95, 8, 4.3, None, None, None),
}

# The Cashmere paper's table 4, 32 processors: speedup, then page transfers, invalidations, diffs and
# migrations (attempts) in thousands, under each of CASHMERE_PRESETS.
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

# The HLRC paper's table 5: speedup on 8 machines.
TABLE5 = {"barnes": 6.3, "fft": 5.8, "lu": 7.4, "ocean": 7.7, "radix": 4.3, "water-nsquared": 6.2, "water-spatial": 6.7}
# Its figures 2 and 3 in its words; the numbers are in pictures.
FIGURE2 = "the copy costs 15 % of FFT's time and less than 5 % of the others'"
FIGURE3 = "messages of less than 256 bytes are more than 75 % of all, in all four programs shown"

# What the paper on ORIG and PIPE says in words.
DIFFS = {
    "barnes": "few small diffs, many in an interval; with PIPE 45 % of the time at barriers",
    "is": "few diffs of about 4 KiB, many in an interval; the most diff traffic",
    "lu": "many small diffs, fewer in an interval; PIPE takes 35 % off the time",
    "ocean": "many small diffs, fewer in an interval; the most intervals",
}

# StarT-X, table 2: seconds to multiply matrices of 1024 rows, by machines and processors of each.
STARTX = {(2, 1): 9.5, (1, 2): 9.4, (2, 2): 4.8, (1, 4): 4.6}
