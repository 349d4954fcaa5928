# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The papers' programs on the host: what needs no guest. Each test returns what is wrong, or None."""
import itertools
import os
import re
import subprocess

from bench import programs as bench

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
USER = os.environ.get("O", os.path.join(TOP, "build/user"))
APPS = os.path.join(TOP, "userspace/apps")
MANUAL = os.path.join(APPS, "dsm-apps.7")
HOST_SECONDS = 300
# Workers of the runs under ThreadSanitizer.
RANKS, THREADS = 2, 2
# What a program refuses beside numbers out of their bounds, and its words.
UNFIT = {"sor": ((["--cols", "511"], "must be even"), (["--rows", "1", "-t", "2"], "more workers than rows")),
         "matmul": ((["--n", "1", "-t", "2"], "more workers than columns"),),
         "fft": ((["--log2-points", "15"], "must be even"),
                 (["--log2-points", "4", "-t", "5"], "more workers than rows")),
         "ocean": ((["--n", "48"], "power of two"),),
         "tsp": ((["--cities", "8", "--alone", "8"], "must be less"),),
         "water-spatial": ((["--molecules", "216", "-t", "64"], "more workers than cells"),),
         "is": ((["--log2-keys", "3", "--iterations", "5"], "too many iterations"),
                (["--log2-buckets", "1", "--iterations", "3"], "more iterations than buckets")),
         "em3d": ((["--nodes", "4", "-t", "3"], "more workers than nodes of a kind"),),
         "barnes": ((["--bodies", "48", "-t", "49"], "more workers than bodies"),)}
# What is no number, in one place of the result or of the input: which piece of memory, and where in it. With a number
# behind it, that much more than is right, which is a few times what the program's bound allows there.
SPOILT = {"gauss": ["result 2 0", "result 2 0 4e-15", "input 0 8"], "lu": ["result 0 4096", "result 0 4096 4e-11"],
          "clu": ["result 0 4096", "result 0 4096 4e-11"], "matmul": ["result 2 4096", "result 2 4096 2e-4 float"],
          "ocean": ["result 2 8272", "result 2 8272 2e-9", "result 0 8272", "result 0 8272 2e-6", "input 0 8272"],
          "sor": ["result 0 4096", "result 0 4096 0.5 float", "result 1 4096", "result 1 4096 0.2 float"],
          "fft": ["result 0 4096", "result 0 4096 1e-8"],
          # The first value, which lies where it does so that the one in the middle is the first of a page.
          "em3d": ["result 0 384", "result 0 384 1e-5", "result 3 384", "result 3 384 1e-5"],
          # A place; a pull, of those that are compared with direct sums; the mass of all.
          "barnes": ["result 0 0", "result 0 0 4e-8", "result 0 26008 0.13", "result 1 0 4e-9"],
          "ilink": ["result 2 0", "result 3 8", "result 3 32", "result 3 32 4e-10"],
          # A place, a velocity, the energy.
          "water-nsquared": ["result 0 0", "result 0 0 3e-9", "result 2 0 5e-9", "result 3 24", "result 3 24 200"],
          "water-spatial": ["result 0 0", "result 0 0 8e-9", "result 2 0 1.5e-8", "result 5 24", "result 5 24 700"],
          # Of two keys that are equal, one has the place of the other for its rank; a key that became another.
          "is": ["result 1 4096", "result 1 4264 1 int", "result 0 4096 1 int"],
          "radix": ["result 0 4096", "result 0 4096 1 int"],
          # No city; one twice; a length that is not the tour's; nothing to search, so that the greedy tour is the best.
          "tsp": ["result 1 0", "result 1 4 1 int", "result 1 0 1 int", "input 0 0 -1 int"]}
# What asks ahead for what it will read, with several workers.
HINTING = ("barnes", "clu", "em3d", "fft", "gauss", "lu", "water-nsquared", "water-spatial")
# Whose look at the result takes about as long as the work.
LOOKING = ("em3d",)
# How many lines about the work, where steps take so long that they have several.
WORK_LINES = {"water-nsquared": 8, "barnes": 100, "ilink": 100}
# What is found at every size, and at once: nothing was searched.
ALL_SIZES = {"tsp": "input 0 0 -1 int"}
# What compares with the run of one thread: all but those whose look at the result is enough.
COMPARING = tuple(name for name in SPOILT if name != "tsp")
# Trees whose likelihoods are smaller than any number; the first is too large for the reference.
LARGEST_TREE, *LARGE_TREES = (["--generations", generations, "--children", children, "--alleles", alleles,
                               "--evaluations", "2"]
                              for generations, children, alleles in (("5", "4", "2"), ("3", "8", "2"), ("4", "4", "4")))
# Trees for Ilink's reference; of the second, the loci are nearly unlinked.
TREES = (["--generations", "3"], ["--generations", "3", "--seed", "2"], ["--children", "3", "--alleles", "5"],
         *LARGE_TREES)
# Other numbers, for which the host is enough, and as how many ranks: with 64 workers one octant has more bodies than
# two workers' shares.
FURTHER = {"ilink": [(words, RANKS) for words in (LARGEST_TREE, *LARGE_TREES)],
           # As many steps as they take, where values grow most.
           "em3d": [(["--nodes", "300", "--degree", "1", "--iterations", "1000"], RANKS)],
           "ocean": [(["--n", n, "--steps", "1000"], RANKS) for n in ("4", "16")],
           "barnes": [(["--spatial", "1", "--bodies", "32768", "--steps", "1", "--no-verify"], 32)]}


def _run(argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, timeout=HOST_SECONDS, check=False, **kw)


def host(argv, status=0, says="", texts=None, **env):
    """Run a program here; what is wrong with it, or None. texts: takes what it prints."""
    try:
        r = _run(argv, env={**os.environ, **env})
    except subprocess.TimeoutExpired:
        return f"no end after {HOST_SECONDS} s"
    if r.returncode != status:
        return f"status {r.returncode}: {r.stdout}{r.stderr}"
    if texts is not None:
        texts.append(r.stdout + r.stderr)
    return None if says in r.stdout + r.stderr else f"no '{says}': {r.stdout}{r.stderr}"


def linked(name):
    """libdsm is what the program needs, and not what it needs without dsm."""
    for path, wanted in (("apps", True), ("apps/plain", False)):
        r = _run(["readelf", "-d", os.path.join(USER, path, name)])
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", r.stdout)
        if r.returncode or not needed or any(library.startswith("libdsm") for library in needed) != wanted:
            return f"{path}: needs {needed}{r.stderr}"
    return None


def built(name, sources, folder):
    """Build a program on threads.c under ThreadSanitizer; (what is wrong, its path)."""
    flags = ["-std=gnu11", "-O1", "-g", "-fsanitize=thread"]
    objects = []
    for source in [*(os.path.join(APPS, s) for s in sources), os.path.join(HERE, "threads.c")]:
        objects.append(os.path.join(folder, os.path.basename(source) + ".o"))
        if not os.path.exists(objects[-1]):
            wrong = host(["cc", *flags, "-c", "-o", objects[-1], source])
            if wrong:
                return wrong, None
    path = os.path.join(folder, name)
    return host(["cc", *flags, "-o", path, *objects, "-lm", "-pthread"]), path


def _on_threads(path, words, ranks=RANKS, **kw):
    """host(), of a program that built() made."""
    return host(["setarch", "-R", path, "-t", str(THREADS), *words], DSM_RANKS=str(ranks), **kw)


def ordered(name, path, ways):
    """No accesses without order, and the checksum of the sequential run, in each way and with further numbers."""
    for words, ranks in [*((words, RANKS) for words in ways), *FURTHER.get(name, ())]:
        texts = []
        wrong = (_on_threads(path, words, ranks, texts=texts) or
                 host([os.path.join(USER, "apps/plain", name), *words], texts=texts) or
                 bench.differs(bench.parse(texts[1]), bench.parse(texts[0])))
        if wrong:
            return f"{' '.join(words)}: {wrong}"
    return None


def spoilt(name, path, ways):
    """In each way a program finds by itself that its result is spoilt, without the run of one thread."""
    sizes = [(["--size", size], ALL_SIZES[name]) for size in ("small", "paper") if name in ALL_SIZES]
    for words, spoil in [*itertools.product(ways, SPOILT[name]), *sizes]:
        texts = []
        wrong = _on_threads(path, ["--no-verify", *words], status=1, texts=texts, DSM_SPOIL=spoil)
        if not wrong and ("WRONG" not in texts[0] if "result" in spoil else "DSM_SPOIL" in texts[0]):
            wrong = f"not for this reason: {texts[0]}"
        if wrong:
            return f"{' '.join(words)}: {spoil}: {wrong}"
    return None


def differing(name, path, ways):
    """In each way a result that became another after the program looked at it is not that of one thread."""
    spoil = SPOILT[name][0].replace("result", "checked")
    for words in ways:
        wrong = _on_threads(path, words, status=1, says="WRONG", DSM_SPOIL=spoil)
        if wrong:
            return f"{' '.join(words)}: {spoil}: {wrong}"
    return None


def _options(path):
    """The program's own numbers, by --help: (name, least, largest)."""
    found = re.findall(r"^  --(\S+) +N +.*; (-?\d+) to (\d+) \(", _run([path, "--help"]).stdout, re.M)
    return [(name, int(least), int(most)) for name, least, most in found]


def refused(name):
    """Wrong arguments are told before there is any region to be found."""
    path = os.path.join(USER, "apps", name)
    wrong = [(words, "--help tells more") for words in
             (["--size", "huge"], ["more"], ["-t", "0"], ["-t", "x"], ["-t", "65"], ["--space", "0"],
              ["--progress", "-1"], ["--hints", "-1"], ["--hints", "2"])]
    wrong += [(["--none"], "--none"), *UNFIT.get(name, ())]
    options = _options(path)
    if not options:
        return "--help lists no options"
    for option, least, most in options:
        wrong += [([f"--{option}", str(n)], f"no number from {least} to {most}") for n in (least - 1, most + 1)]
    for words, says in wrong:
        reason = host([path, *words], status=2, says=says)
        if reason:
            return f"{' '.join(words)}: {reason}"
    return None


def space(name):
    """The memory that a program needs is told without a region, and more workers need more."""
    texts = []
    path = os.path.join(USER, "apps", name)
    wrong = host([path, "--space", "2"], texts=texts) or host([path, "--space", "1"], texts=texts)
    return wrong or (None if int(texts[0]) > max(8192, int(texts[1])) else f"{texts}")


def documented(name):
    """The manual has each option of the program, in the program's paragraph, and those of all programs."""
    path = os.path.join(USER, "apps", name)
    with open(MANUAL, encoding="utf-8") as f:
        paragraphs = f.read().split("\n.TP\n")
    text = next((p for p in paragraphs if re.search(rf'^\.BR? (.*[" ])?{name}(?![\w-])', p)), "")
    own = [option for option, _, _ in _options(path)]
    common = [option for option in re.findall(r"^  --(\S+)", _run([path, "--help"]).stdout, re.M) if option not in own]
    missing = [option for option in own if _in_manual(option) not in text]
    missing += [option for option in common if not any(re.match(rf"\.BI? {re.escape(_in_manual(option))}(?!\S)", p)
                                                       for p in paragraphs)]
    return f"the manual does not have --{', --'.join(missing)}" if missing or not common else None


def _in_manual(option):
    return r"\-\-" + option.replace("-", r"\-")


def hints(name, path):
    """What asks ahead does so unless it is told not to, and computes the same; path: of what built() made."""
    for words, wanted in (([], name in HINTING), (["--hints", "1"], name in HINTING), (["--hints", "0"], False)):
        texts = []
        says = f" hints={words[1] if words else 1} "
        wrong = _on_threads(path, words, 1, texts=texts, says=says)
        if wrong or (bench.parse(texts[0])["counters"]["hints"] > 0) != wanted:
            return f"{' '.join(words)}: {wrong or texts[0]}"
    return None


def _progress(name, seconds):
    r = _run([os.path.join(USER, "apps/plain", name), "--progress", str(seconds)])
    lines = re.findall(rf"^{name}: (verifying, |input, |)(\d+)(?: of (\d+))? done$", r.stderr, re.M)
    return r.returncode, lines, r.stderr


def progress(name):
    """A run says how far it is, with the input, the work and a long look; and not more often than it was told."""
    status, lines, text = _progress(name, 0)
    if status or len(lines) != len(text.splitlines()):
        return f"status {status}: {text}"
    made, work, look = ([(int(done), int(total or 0)) for of, done, total in lines if of == what]
                        for what in ("input, ", "", "verifying, "))
    # TSP has next to no input.
    few = len(work) < WORK_LINES.get(name, 1)
    if few or (not made and name != "tsp") or bool(look) != (name in LOOKING):
        return f"{len(made)} lines about the input, {len(work)} about the work, {len(look)} about a look at the result"
    if any(part != sorted(part) for part in (work, look)):
        return f"the work goes back: {work + look}"
    if any(not 0 < done <= (total or done) for done, total in made + work + look):
        return f"more than all, or nothing: {made + work + look}"
    _, lines, _ = _progress(name, 1000000)
    return f"too many lines: {lines}" if lines else None


def same_bits(folder, runs):
    """What built() made gives results that are the same to the last bit; runs: (program, words)."""
    found = {}
    for name, words in runs:
        texts = []
        wrong = _on_threads(os.path.join(folder, name), words, texts=texts)
        checksum = None if wrong else bench.parse(texts[0]).get("sum")
        if not checksum:
            return f"{name} {' '.join(words)}: {wrong or texts}"
        found[f"{name} {' '.join(words)}"] = checksum
    return None if len(set(found.values())) == 1 else f"different results: {found}"


def linkage(folder, words):
    """Ilink's likelihood is that of fastlink's mlink, for the same tree."""
    r = _run([os.path.join(USER, "apps/plain/ilink"), "--linkage", "1", *words], cwd=folder)
    ours = re.search(r"\bln_likelihood=(\S+):", r.stdout)
    if r.returncode or not ours:
        return f"status {r.returncode}: {r.stdout}{r.stderr}"
    text = ""
    for name in ("unknown", "mlink"):
        text += _run([name], cwd=folder, stdin=subprocess.DEVNULL).stdout
    theirs = re.findall(r"^TOTALS +(-\S+)", text, re.M)	# unlinked, then linked
    if len(theirs) != 2 or abs(float(theirs[1]) - float(ours[1])) > 2e-6:
        return f"{ours[1]} is not that of mlink: {text}"
    return None
