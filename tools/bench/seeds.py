# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What papers on distributed shared memory measured of the programs in userspace/apps.

Cashmere: R. Stets, S. Dwarkadas, L. Kontothanassis, U. Rencuzogullari, M. Scott, "The effect of network
total order, broadcast, and remote-write capability on network-based shared memory computing", tables
3 and 4. HLRC: M. Rangarajan, L. Iftode, "Software distributed shared memory over Virtual Interface
Architecture: implementation and performance", 4th Annual Linux Showcase, 2000, tables 1 and 5.
"""

PAPERS = {
    "Cashmere": "CSM-None, homes by first touch; 8 machines of 4 Alpha 21164A, 600 MHz; Memory Channel II; pages of 8 KiB",
    "HLRC": "8 machines of one Pentium II, 300 MHz; Gigaset cLAN; pages of 4 KiB",
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
