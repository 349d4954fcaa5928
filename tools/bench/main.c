// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: times the operations of a region, one process on each node: started by dsmrun on
 * machines, by tools/bench/run in guests. Prints a line of JSON per operation; never judges.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../uapi/dsm.h"
#include "../output.h"
#include "bench.h"

static const struct test {
	const char *name;
	const char *what;
	int (*run)(struct bench *b);
	bool alone;		/* needs no region */
} tests[] = {
	{ "floor", "what the machine itself takes: system call, fault, write-protection, copying",
	  test_floor, true },
	{ "fetch", "page fetch by rank 1, home at rank 0's node", test_fetch, false },
	{ "sequential", "16 MiB read in order by rank 1, home at rank 0's node", test_sequential,
	  false },
	{ "lock", "locks: token here, free elsewhere, handed over", test_lock, false },
	{ "ring", "a lock that comes through io_uring while rank 1 computes, and one that comes first",
	  test_ring, false },
	{ "barrier", "barrier of all ranks, nothing written", test_barrier, false },
	{ "manager", "whether the region's synchronisation manager is not at rank 1's node",
	  test_manager, false },
	{ "release", "release of 1 to 256 pages by rank 1", test_release, false },
	{ "diff", "release of one page by bytes changed", test_diff, false },
	{ "logp", "messages: LogP parameters, bursts, bandwidth, empty calls (root)", test_logp, false },
	{ "curves", "bursts of messages of 64, 256 and 1024 bytes (root)", test_curves, false },
	{ "runs", "release of 16 pages by runs of 8 bytes in each", test_runs, false },
	{ "together", "release of 64 pages at every other rank's node, by all ranks at once", test_together, false },
	{ "packs", "releases in packs of diffs, sent and written into the ring (root)", test_packs, false },
};

#define TESTS (sizeof(tests) / sizeof(tests[0]))

static int usage(const char *why, const char *word)
{
	size_t i;

	if (why)
		fprintf(stderr, "dsm-bench: %s%s\n", why, word);
	fprintf(why ? stderr : stdout,
		"usage: dsm-bench [-q] [-n TRIALS] [-r REGION] TEST...\n"
		"       dsm-bench papers|variants [OPTION...] [PROGRAM...]\n"
		"Times operations on a region, from one process on each node, and prints one line\n"
		"of JSON for each: name, rank, unit, number of trials, median, 10th and 90th\n"
		"percentile, and the messages and bytes of one trial. Run it by dsmrun; blocks\n"
		"of pages must be homed in rank order (home=block). At least 64 MiB.\n"
		"  -q         a tenth of the trials\n"
		"  -n TRIALS  that many trials of everything\n"
		"  -r REGION  region, else $DSM_REGION, else the default one\n"
		"papers and variants run the papers' programs in guests; --help behind them tells more.\n"
		"Tests:\n");
	for (i = 0; i < TESTS; i++)
		fprintf(why ? stderr : stdout, "  %-11s%s\n", tests[i].name, tests[i].what);
	return why ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const struct test *find(const char *name)
{
	size_t i;

	for (i = 0; i < TESTS; i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	return NULL;
}

/*
 * What runs programs in guests of its own: a script of the tree that has the guests' kernels' modules,
 * $DSM_TREE, else the one that this program was built in. Returns only if it cannot be run.
 */
static int run_script(char **argv)
{
	const char *tree = getenv("DSM_TREE");
	char path[4096];

	snprintf(path, sizeof(path), "%s/tools/bench/%s", tree ? tree : DSM_TREE, argv[0]);
	execv(path, argv);
	fprintf(stderr, "dsm-bench: %s: %s: set DSM_TREE to a tree of dsm that is built\n", path, strerror(errno));
	return EXIT_FAILURE;
}

static bool has_nothing_to_release(struct dsm *d)
{
	static const char sc[] = "consistency=sc";
	struct dsm_ioc_region_info info = { .size = sizeof(info) };

	return !ioctl(dsm_fd(d), DSM_IOC_REGION_INFO, &info) && !strncmp(info.policy, sc, strlen(sc));
}

static int open_region(struct bench *b, const char *region)
{
	if (b->d)
		return 0;
	b->d = dsm_open(region, 0);
	if (!b->d) {
		fprintf(stderr, "dsm-bench: %s\n", dsm_error());
		return -1;
	}
	b->base = dsm_base(b->d);
	b->rank = dsm_rank(b->d);
	b->ranks = dsm_ranks(b->d);
	if (b->ranks < 2 || dsm_size(b->d) < 64ul << 20) {
		fprintf(stderr, "dsm-bench: needs two ranks and a region of 64 MiB, here are %d and %zu MiB: "
			"dsmctl region create bench 64M, dsmrun -n 2 dsm-bench -r bench TEST...\n",
			b->ranks, dsm_size(b->d) >> 20);
		return -1;
	}
	if (!b->rank && has_nothing_to_release(b->d))
		fputs("dsm-bench: this region has consistency=sc, where releases and diffs do nothing: name another with -r\n",
		      stderr);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .d = NULL };
	const char *region = getenv("DSM_REGION");
	char *end;
	int c, i;

	if (argc > 1 && !strcmp(argv[1], "--help"))
		return usage(NULL, "");
	if (argc > 1 && (!strcmp(argv[1], "papers") || !strcmp(argv[1], "variants")))
		return run_script(argv + 1);
	while ((c = getopt(argc, argv, "hqn:r:")) != -1) {
		switch (c) {
		case 'h':
			return usage(NULL, "");
		case 'q':
			b.quick = true;
			break;
		case 'n':
			b.n = strtol(optarg, &end, 10);
			if (b.n < 1 || b.n > 1000000 || *end)
				return usage("no number of trials: ", optarg);
			break;
		case 'r':
			region = optarg;
			break;
		default:
			return usage("unknown option", "");
		}
	}
	if (optind == argc)
		return usage("no test is named", "");
	for (i = optind; i < argc; i++)
		if (!find(argv[i]))
			return usage("unknown test ", argv[i]);
	for (i = optind; i < argc; i++) {
		const struct test *t = find(argv[i]);

		if (!t->alone && open_region(&b, region))
			return EXIT_FAILURE;
		if (t->run(&b))
			return EXIT_FAILURE;
	}
	if (b.d)
		bench_check(dsm_close(b.d), "close");
	return output_end("dsm-bench", EXIT_SUCCESS);
}
