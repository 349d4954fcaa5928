# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of the papers' tables that need no guests: what is compared, what runs, what a failed run leaves, goals."""
import argparse
import contextlib
import io
import math
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest.mock
import xml.etree.ElementTree

import goalstests
from made import TOP, Cluster, Faked, Guests, Job, check, idle, printed, script
from bench import host, output, papergoals, programs, seeds, tables, webpage
from bench.results import heading

USER = os.path.join(TOP, "build/user")


def empty_tables():
    """A table that has none of the programs named is an error of the command line, and not an empty file."""
    good = True
    for words in (["--table", "startx", "sor"], ["--table", "diffs", "sor", "fft"], ["nosuch"]):
        r = subprocess.run([os.path.join(TOP, "tools/bench/papers"), *words], capture_output=True, text=True, timeout=60,
                           check=False)
        good &= check(f"papers.nothing_of_{words[-1]}", r.returncode == 2 and words[-1] in r.stderr, f"{r}")
    return good


def results():
    """Checksums are compared, and what is no number is not as good as any."""
    read = programs.parse(printed("sum=00ff"))
    good = check("papers.parse", read["options"] == {"n": "3", "pad": "0"} and read["seconds"] == 1.5 and
                 read["sum"] == "00ff" and read["counters"] == {"diffs": 4, "barriers": 2}, f"{read}")
    cases = [("sum=00ff", "sum=00ff", True), ("sum=00ff", "sum=00fe", False),
             ("mean=0.5 within=1e-9", "mean=0.5000000001 within=1e-9", True),
             ("mean=0.5 within=1e-9", "mean=0.500000002 within=1e-9", False),
             ("mean=0.5 within=1e-9", "mean=nan within=1e-9", False),
             ("mean=nan within=1e-9", "mean=nan within=1e-9", False), ("x=1", "x=1", False), ("sum=00ff", "x=1", False)]
    wrong = [case for case in cases
             if (programs.differs(*(programs.parse(printed(said)) for said in case[:2])) is None) != case[2]]
    good &= check("papers.compared", not wrong, f"{wrong}")
    other = programs.differs(read, programs.parse(printed("sum=00ff", options="n=4 pad=0")))
    return good & check("papers.other_options", other and "options" in other and programs.differs(read, {}), f"{other}")


def waits():
    """Whoever waits for a program that failed, or for too long, is ended; the reason is the first one's."""
    good = True
    for name, jobs, seconds, words in (
            ("papers.one_fails", [Job(1, "lu: WRONG, row 3 differs"), Job()], 60, "row 3 differs"),
            ("papers.late", [Job(0), Job()], 0, "no end after 0 s"),
            ("papers.guest_gone", [Job(gone=True), Job()], 60, "a guest is gone")):
        try:
            programs.wait_all("lu", jobs, seconds)
            said, is_late = "nothing", None
        except programs.Failed as e:
            said, is_late = str(e), isinstance(e, programs.Late)
        good &= check(name, words in said and all(job.done() for job in jobs) and is_late == (name == "papers.late"),
                      f"{said}, late: {is_late}")
    both = programs.wait_all("lu", [Job(0, "a"), Job(0, "b")], 60)
    return good & check("papers.all_end", [r.out for r in both] == ["a", "b"], f"{both}")


def mended():
    """Guests are used again if no region is left and it is known who has joined, else others take their place."""
    seen = []
    for cluster, joined in ((Cluster(0), 2), (Cluster(1), 2), (Cluster(None), 2), (Cluster(0, alive=False), 2),
                            (Cluster(1), 0), (Cluster(0), None)):
        machines = programs.Machines(2, "6.12", [])
        machines.now, machines.joined = cluster, joined
        machines.mend(programs.Failed("x"))
        seen.append(machines.now is cluster)
        machines.folder.cleanup()
    return check("papers.mended", seen == [True, False, False, False, True, False], f"{seen}")


def failed():
    """A run that failed, or found something else, is a row with its reason; all others are there."""
    paper = script("papers")
    policies = ["home=a", "home=b", "home=c"]
    bench = Faked(None, "tiny", False, 1, [1, 2], policies)
    bench.broken, bench.spoilt = ("home=a",), ("home=b",)
    measured = []
    with contextlib.redirect_stdout(io.StringIO()) as text:
        paper.measure(["lu", "sor"], bench, paper.TABLES["speedups"], measured)
        paper.measure(["lu"], bench, paper.TABLES["cashmere"], measured)
    kinds = [["failed" in row for row in rows if "run" in row or "failed" in row] for _, rows in measured]
    good = check("papers.failed_rows", not any(kinds[2]) and
                 kinds[:2] == [[False, True, True, True, True, False, False]] * 2, f"{kinds}")
    said = text.getvalue()
    good &= check("papers.failed_reasons", "failed: no end after 9 s" in said and "the checksum is f00d" in said, said)
    report = paper.Report()
    report.measured["speedups"] = measured
    good &= check("papers.failed_status", report.failed() and not paper.Report().failed(), f"{measured}")
    page = webpage.page("t", [webpage.section(paper.TABLES["speedups"], "a head", measured[:2])])
    good &= check("papers.failed_page", "no end after 9 s" in page and "a head" in page and "n=3 pad=0" in page, page)
    bench = Faked(None, "tiny", False, 1, [2], policies)
    bench.alone_fails = True
    rows = list(paper.TABLES["speedups"].rows(bench, "lu"))
    good &= check("papers.failed_words", tables.heading("lu", rows[:1]) == "lu --size tiny", f"{rows[0]}")
    return good & check("papers.no_time_without_dsm", "failed" in rows[0] and rows[1]["run"]["speedup"] is None and
                        not rows[1]["run"]["verified"] and "no time without dsm" in rows[1]["cells"], f"{rows[:2]}")


def no_time():
    """Runs that are too short for their clock: no ratio, and it is said; all files are there."""
    paper = script("papers")
    bench = Faked(None, "tiny", False, 5, [1, 2, 4])
    bench.presets, bench.seconds_of = list(papergoals.POLICIES), (0.0, 0.0)
    measured = {}
    with contextlib.redirect_stdout(io.StringIO()) as text:
        for key, table in paper.TABLES.items():
            measured[key] = []
            paper.measure([name for name in ("lu", "matmul") if name in table.programs], bench, table, measured[key])
    rows = [row for table in measured.values() for _, lines in table for row in lines if "run" in row]
    good = check("papers.no_time_rows", len(rows) > 50 and not any(row.get("speedup") or row.get("parts")
                                                                   for row in rows), f"{rows}")
    good &= check("papers.no_time_said", f"{papergoals.LU_MOVES}, pad=0" in text.getvalue() and
                  any(row["cells"][:2] == ["0.00", tables.UNKNOWN] for row in rows), text.getvalue())
    runs = [run for run in bench.runs.values() if run["program"] == "lu"]
    found = papergoals.evaluate(runs, ["lu"], lambda name: paper.TABLES["goals"].words(bench, name), (),
                                tables.lu_by_rows(bench), tables.lu_dealt(bench))
    of_times = [g for g in found if "diffs" not in g["goal"]]
    good &= check("papers.no_time_goals", len(of_times) == 4 and all(
        g["ratio"] is None and g["reached"] is None and g["note"] == papergoals.NO_TIME for g in of_times), f"{found}")
    shares = [tables.handlers(runs[0] | {"nodes": 2}), *tables.breakdown(runs[0], tables.HLRC_PARTS).values()]
    good &= check("papers.no_time_shares", not any(shares) and not papergoals.where(runs[0] | {"nodes": 2}),
                  f"{shares}")
    return good & kept(paper, measured)


def kept(paper, measured):
    """What was measured is in the files before goals are evaluated, and if that goes wrong."""
    def measure_all(args, cpus, todo, report):
        report.measured.update((table.key, measured[table.key]) for table in todo)
        report.heads.update((table.key, f"head of {cpus}, {args.size}") for table in todo)

    def goals_of(args, report):
        raise ZeroDivisionError(f"{args.size}: {len(report.measured)} tables")

    paper.measure_all, paper.goals_of, said = measure_all, goals_of, ""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        paths = [os.path.join(folder, name) for name in ("a.json", "a.html")]
        words, sys.argv = sys.argv, ["papers", "--table", "all", "--size", "tiny", "--json", paths[0],
                                     "--html", paths[1]]
        try:
            paper.main()
        except ZeroDivisionError as e:
            said = str(e)
        finally:
            sys.argv = words
        texts = [open(path, encoding="utf-8").read() if os.path.exists(path) else "" for path in paths]
    wanted = (f'"{papergoals.LU_MOVES}', papergoals.LU_MOVES)
    lost = [text[:200] for text, part in zip(texts, wanted) if part not in text or "head of 2, tiny" not in text]
    return check("papers.files_first", "6 tables" in said and not lost, f"{said}: {lost}")


def sizes():
    """How large messages are is a picture for each program, of bars of one length; none where there were none."""
    table, bench = tables.Hlrc(), Faked(None, "tiny", False, 1, [1, 2])
    rows = list(table.rows(bench, "fft"))
    some = {"msgs_below_256": 60, "msgs_below_1k": 25, "msgs_below_4k": 10, "msgs_larger": 5}
    for row, counters in zip((row for row in rows if row.get("parts")), (some, {"msgs_larger": 3000}, {})):
        row["run"] = {**row["run"], "counters": counters}
    page = webpage.section(table, "h", [("fft", rows)])
    shown = re.search(r"<h3>fft: how large messages are.*?</h3>(<svg.*?</svg>)", page)
    good = check("papers.sizes_shown", shown, f"{rows}")
    drawn = xml.etree.ElementTree.fromstring(shown[1]) if shown else ()
    boxes = [(box[0].text, float(box.get("width"))) for box in drawn if box.tag.endswith("rect")][len(tables.SIZES):]
    wanted = [60, 25, 10, 5, 0, 0, 0, 100]
    said = [f"{size} {share:.1f} %" for size, share in zip([*tables.SIZES] * 2, wanted)]
    whole = sum(width for _, width in boxes) / 200
    good &= check("papers.sizes_drawn", [title for title, _ in boxes] == said and all(
        math.isclose(width, share * whole, abs_tol=0.1) for (_, width), share in zip(boxes, wanted)), f"{boxes}")
    words = [part.text for part in drawn if part.tag.endswith("text")][len(tables.SIZES):]
    good &= check("papers.sizes_named", words == ["1, no copy", "0.1 K", "2, no copy", "3.0 K"], f"{words}")
    page = webpage.section(tables.Speedups(), "h", [("fft", rows)])
    return good & check("papers.sizes_once", "how large messages" not in page and "where the time goes" in page, page)


def words():
    """Each table runs its paper's program, at `paper` its size, and states both."""
    tiny, small, paper = (programs.Bench(None, size, False, 1) for size in ("tiny", "small", "paper"))
    cashmere, hlrc, diffs = tables.Cashmere(), tables.Hlrc(), tables.Diffs()
    got = [cashmere.words(small, "barnes")[2:], cashmere.words(small, "water-nsquared")[2:],
           cashmere.words(small, "water-spatial")[2:], cashmere.words(small, "lu")[2:],
           tables.lu_by_rows(small)[2:], tables.lu_dealt(small)[2:], tables.lu_dealt(tiny)[2:],
           cashmere.words(small, "sor")[2:], hlrc.words(small, "barnes")[2:], hlrc.words(paper, "barnes")[2:],
           hlrc.words(paper, "lu")[2:], hlrc.words(paper, "radix")[2:],
           diffs.words(small, "lu")[2:], diffs.words(tiny, "lu")[2:]]
    rows = ["--pad", "0", "--rows", "1"]
    wanted = [["--spatial", "0"], ["--group", "1"], ["--group", "1"], ["--pad", "0"], [*rows, "--n", "800"],
              ["--pad", "1", "--n", "800"], ["--pad", "1"], [], ["--spatial", "1"],
              ["--spatial", "1", "--bodies", "262144"], ["--pad", "1", "--n", "2048"], [],
              [*rows, "--scatter", "1", "--n", "1024"], [*rows, "--scatter", "1"]]
    good = check("papers.words", got == wanted, f"{got}")
    known = [name for table in (cashmere, hlrc, diffs) for name in table.programs
             if programs.space_mib(name, table.largest(paper, name), 4) < programs.REGION_MIB]
    return good & check("papers.sizes", not known and programs.space_mib("radix", hlrc.words(paper, "radix"), 4) > 360,
                        f"{known}")


def theirs():
    """The papers' numbers have the shape of their tables, and stand beside ours with their sizes."""
    bad = [name for table in (seeds.TABLE4, seeds.TABLE6) for name, rows in table.items()
           if [len(row) for row in rows] != [6] * 5 or name not in seeds.CASHMERE_SIZES]
    good = check("papers.cashmere", not bad and set(seeds.TABLE4) == set(seeds.TABLE6), f"{bad}")
    rows = list(tables.cashmere_rows("barnes", "csm-none")) + list(tables.hlrc_rows("water-spatial"))
    cells = [row["cells"][:2] for row in rows]
    wanted = [["120.4 on 1", "4.2"], ["469.4 on 1", "6.8"], ["14202 on 1", "6.7"]]
    good &= check("papers.sequential", cells == wanted and "262144 molecules" in rows[2]["label"], f"{rows}")
    bench = Faked(None, "small", False, 1, [2])
    rows = [row["cells"] for row in tables.Diffs().rows(bench, "ocean") if "run" not in row]
    good &= check("papers.averages", rows[0][3:] == ["14327.56", "670.38", "937", "15.29", "9.16", "157.77"], f"{rows}")
    labels = [row["label"] for row in tables.Startx().rows(bench, "matmul")]
    return good & check("papers.startx", "P = 8+8+8, 1024 rows" in labels and len(labels) == 1 + len(seeds.STARTX),
                        f"{labels}")


def head():
    """What the numbers depend on, and the papers', for each table."""
    paper = script("papers")
    facts = {"guests": 2, "vcpus": 1, "guest_mib": 1024, "kernel": "6.12.9", "page_kib": 4, "huge_pages": "madvise",
             "accelerator": "TCG", "sharing": "as it comes", "host_cpus": 2, "host_taken": 37, "host_cpu": "a processor",
             "host_mib": 8000, "host_kernel": "6.1.8", "host_huge_pages": "always", "commit": "c0ffee", "date": "d",
             "size": "tiny",
             "short": False, "limit_s": 600}
    text = paper.head(argparse.Namespace(repetitions=None), facts, paper.TABLES["goals"])
    lost = [str(value) for key, value in facts.items() if key != "short" and str(value) not in text]
    good = check("papers.head", not lost and "the median of 5" in text, f"{lost}: {text}")
    lost, texts = [], {}
    for key, table in paper.TABLES.items():
        texts[key] = text = paper.head(argparse.Namespace(repetitions=None), facts, table)
        lost += [(key, words) for words in (table.differs, *(f"{name}: {seeds.PAPERS[name]}" for name in table.papers))
                 if not words or words not in text]
    shown = {name for table in paper.TABLES.values() for name in table.papers}
    good &= check("papers.heads_of_papers", not lost and shown == set(seeds.PAPERS), f"{lost}, {shown}")
    return good & changed(texts)


def changed(texts):
    """In the head of a table stands in what its programs differ from all papers'. texts: heads by table."""
    parts = ("one barrier a step", "asking for pages ahead", "2^20", "up to 128", "one-sided", "SOR's counts")
    seen = {key: [part in text for part in parts] for key, text in texts.items()}
    wanted = {"speedups": [True, True, True, True, False, True], "goals": [True, True, True, True, False, False],
              "cashmere": [True, True, True, False, False, True], "hlrc": [True, True, False, True, True, False],
              "diffs": [False, True, False, True, False, False], "startx": [False] * 6}
    good = check("papers.heads_changed", seen == wanted and "lu, clu: looking" in texts["cashmere"] and
                 "barnes: asking" in texts["diffs"] and "fft" not in texts["cashmere"], f"{seen}, {texts}")
    folder, calling = os.path.join(TOP, "userspace/apps"), set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            if name.endswith(".c") and name != "app.c" and re.search(r"^\s+app_hint(_rows)?\(", f.read(), re.M):
                calling.add(name.removesuffix(".c").split("_")[0])	# lu_tiles.c is of clu too
    named = next(names for names, words in tables.CHANGED if "asking for pages" in words)
    return good & check("papers.who_asks_ahead", calling == set(named) - {"clu"}, f"{calling}, not {named}")


def taken():
    """What others take of this host's processors."""
    share = host.taken(0.1)
    run = {"kernel": "6.12", "nodes": 2, "repetitions": 1, "repetitions_wanted": 1, "reduced": False, "load_before": 0.1,
           "taken_before": 37, "module_args": []}
    text = heading({"commit": "c", "date": "d", "host": {"processors": 2}, "module_flags": "-O2", "program_flags": "-O2",
                    "runs": [run]})
    return check("host.taken", 0 <= share <= 100 and "37 % of its processors taken" in text and "Others take" in text,
                 f"{share}: {text}")


def members():
    """The members of a region are the nodes of its row, in whatever order rows come; with others the run has failed."""
    said, joined = [], set()
    machines = programs.Machines(4, "6.12", [])
    machines.now = guests = Guests(4, said, joined)
    bench = programs.Bench(machines, "tiny", False, 1, [1, 2, 4])
    seen = []
    for count, policy in ((1, "home=block"), (4, "home=block"), (2, "home=block"), (2, "home=rr")):
        run = bench.run("sor", count, policy)
        seen.append((run if isinstance(run, Exception) else sorted(joined),
                     *(sum(f"dsmctl {what}" in words for words in said) for what in ("leave", "join"))))
    good = check("papers.members", seen == [([0], 0, 1), ([0, 1, 2, 3], 1, 5), ([0, 1], 5, 7), ([0, 1], 5, 7)], f"{seen}")
    joins = [words for words in said if "dsmctl join" in words][-2:]
    good &= check("papers.members_seed", ["--seed 10.9.0.1" in words for words in joins] == [False, True] and
                  all("--nodes 2" in words for words in joins), f"{joins}")
    joined.add(3)
    wrong = bench.run("sor", 2, "home=block:16")
    good &= check("papers.members_wrong", isinstance(wrong, programs.Failed) and
                  "members are nodes 0 1 3, not 0 1" in str(wrong) and said[-1].startswith("dsmctl region destroy") and
                  machines.now is guests, f"{wrong}, {said[-1]}")
    joined.remove(3)
    guests.nodes[2].joins = False
    wrong = bench.run("sor", 4, "home=rr")
    machines.folder.cleanup()
    return good & check("papers.members_none", isinstance(wrong, programs.Failed) and "join failed on node 2" in str(wrong)
                        and not machines.now and guests.ended, f"{wrong}")


def checked_once():
    """The first run without dsm looks at its own result; those after it must have its sum."""
    said, sums = [], iter(["00ff", "00ff", "00fe"])
    machines = idle()
    machines.c.nodes[0].start = lambda argv, env=None: said.append(argv) or Job(0, printed(f"sum={next(sums)}"))
    machines.c.nodes[0].run = lambda argv: types.SimpleNamespace(status=1, out="", err="")
    bench = programs.Bench(machines, "tiny", False, 2)
    runs = [bench.alone("sor"), bench.at_once("sor", 1)]
    return check("papers.checked_once", ["--no-check" in argv for argv in said] == [False, True, True] and
                 runs[0]["words"] == bench.words("sor") and "the checksum is 00fe" in str(runs[1]), f"{said}, {runs[1]}")


def replayed():
    """Homes of one run are loaded for another: for each preset of Cashmere's table, and dealt ones for the goals."""
    said = []
    c = Guests(2, said)
    first = programs.shared(c, "lu", ["--n", "3"], 2, "preset=csm-dms", 60, 16, keep_homes=True)
    save, load = (f"dsmctl homes {word} {programs.REGION} {programs.HOMES}" for word in ("save", "load"))
    good = check("papers.homes_kept", first.get("homes") == f"homes of {programs.HOMES}" and load not in said and
                 "/work/lu" in said[-3] and said[-2] == save, f"{said}")
    said.clear()
    programs.shared(c, "lu", ["--n", "3"], 2, "preset=csm-s", 60, 16, homes=first["homes"])
    good &= check("papers.homes_loaded", "region create" in said[0] and save not in said and
                  said[1:3] == [(programs.HOMES, first["homes"].encode()), load] and
                  sum("/work/lu" in words for words in said[3:]) == 2, f"{said}")
    bench = Faked(None, "tiny", False, 1, [2])
    rows = [row for row in tables.Cashmere().rows(bench, "lu") if row.get("run", {}).get("nodes")]
    wanted = 2 * (len(seeds.CASHMERE_PRESETS) + 1)	# by columns and by rows
    good &= check("papers.homes_of_rows", len(rows) == wanted and not any(row["run"]["own_homes"] for row in rows) and
                  bench.replayed == ["h"] * wanted and "its own" not in f"{rows}", f"{bench.replayed}, {rows}")
    bench = Faked(None, "small", False, 1, [2, 4])
    bench.presets = []
    rows = [row for row in papergoals.Goals().rows(bench, "lu") if row.get("run", {}).get("own_homes") is False]
    return good & check("papers.homes_dealt", len(rows) == 2 and all("homes dealt" in row["label"] for row in rows) and
                        all(homes.startswith("0 0 1\n1 1 1\n") for homes in bench.replayed), f"{rows}")


def late():
    """A run that did not end within the limit tells that it takes longer, unless it ended before; goals use that."""
    bench = programs.Bench(idle(), "tiny", False, 3, [2], seconds=600)
    left = {"preset=auto": 0, "preset=hlrc": 1}	# runs that end in time

    def shared(c, name, words, count, policy, *more):
        left[policy] -= 1
        if left[policy] < 0:
            raise programs.Late("no end")
        return programs.parse(printed("sum=00ff"))

    with unittest.mock.patch.object(programs, "shared", shared):
        never, once = (bench.run("sor", 2, policy) for policy in left)
    good = check("papers.late_known", isinstance(never, programs.Late) and never.run["policy"] == "preset=auto" and
                 never.run["seconds"] == 600 and never.run["words"] == bench.words("sor") and
                 not isinstance(once, programs.Late) and isinstance(once, programs.Failed), f"{never}, {once}")
    report = script("papers").Report()
    report.take(bench)
    good &= check("papers.late_kept", report.late == [never.run] and [run["nodes"] for run in report.runs] == [0],
                  f"{report.late}, {report.runs}")
    return good & goalstests.late_goals() & goalstests.late_page()


def nodes():
    """How many there are, by what was asked for."""
    paper, seen = script("papers"), []
    for more in ([], ["--table", "goals"], ["--table", "all"], ["--table", "all", "--nodes", "2"]):
        with unittest.mock.patch.object(sys, "argv", ["papers", *more]):
            seen.append(paper.arguments().nodes)
    return check("papers.nodes", seen == [[1, 2], [1, 2], [1, 2, 4], [2]], f"{seen}")


def lower():
    """The median of an even number of runs is the lower one of both in the middle."""
    facts = programs.Bench._facts([{"seconds": s} for s in (1.0, 2.0, 4.0, 5.0)])
    return check("papers.median", (facts["seconds"], facts["fastest"], facts["slowest"], facts["times"]) ==
                 (2.0, 1.0, 5.0, [1.0, 2.0, 4.0, 5.0]), f"{facts}")


def files():
    """A file that cannot be written is found before anything is measured; an old one stays until a new one is whole."""
    paper, said = script("papers"), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        status = []
        for path in (os.path.join(folder, "none", "a.json"), folder):
            with unittest.mock.patch.object(sys, "argv", ["papers", "--json", path]), contextlib.redirect_stderr(said):
                try:
                    paper.arguments()
                except SystemExit as e:
                    status.append(e.code)
        path = os.path.join(folder, "b.json")
        with output.replacing(path) as f:
            f.write("old")
        try:
            with output.replacing(path) as f:
                f.write("half")
                raise OSError("disk full")
        except OSError:
            pass
        with open(path, encoding="utf-8") as f:
            kept_text = f.read()
        left = os.listdir(folder)
    good = check("bench.files_early", status == [2, 2] and "there is no directory" in said.getvalue() and
                 "is a directory" in said.getvalue(), f"{status}: {said.getvalue()}")
    good &= check("bench.files_whole", kept_text == "old" and left == ["b.json"], f"{kept_text}, {left}")
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = [subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                 for words in ([f"{USER}/bin/dsmrun", "--local", "-n", "1", "echo", "x"], [f"{USER}/bin/dsmctl", "--help"],
                               [f"{USER}/apps/plain/sor", "--size", "tiny"])]
    return good & check("tools.full_disk", ended and all(e.returncode == 1 and "could be written" in e.stderr for e in ended),
                        f"{[(e.args, e.returncode, e.stderr) for e in ended]}")


def main():
    """All of them; True if all was well."""
    return all([results(), empty_tables(), waits(), mended(), failed(), no_time(), sizes(), words(), theirs(), head(), taken(), members(),
                checked_once(), replayed(), goalstests.goals(), goalstests.goals_rows(), goalstests.leading(), late(),
                nodes(), lower(), files()])


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
