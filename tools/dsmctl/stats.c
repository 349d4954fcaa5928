// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmctl stats: this node's counters, or those of a region at it, as a table or as JSON. Never resets them; take
 * differences.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dsmctl.h"

#define VALUES_MAX 256	/* room for counters of a newer module */

static const struct {
	const char *name;
	const char *text;
} names[DSM_STAT_COUNT] = {
	[DSM_STAT_READ_FAULTS] = { "read_faults", "read faults" },
	[DSM_STAT_WRITE_FAULTS] = { "write_faults", "write faults" },
	[DSM_STAT_PAGE_TRANSFERS] = { "page_transfers", "pages received with data" },
	[DSM_STAT_ZERO_REPLIES] = { "zero_replies", "pages received as all zero" },
	[DSM_STAT_FETCHES_SERVED] = { "fetches_served", "pages sent as home" },
	[DSM_STAT_INVALIDATIONS] = { "invalidations", "pages invalidated" },
	[DSM_STAT_TWINS] = { "twins", "twins made" },
	[DSM_STAT_DIFFS] = { "diffs", "diffs sent" },
	[DSM_STAT_DIFF_BYTES] = { "diff_bytes", "bytes of diffs sent" },
	[DSM_STAT_DIFFS_APPLIED] = { "diffs_applied", "diffs applied as home" },
	[DSM_STAT_MERGES] = { "merges", "pages merged with own writes" },
	[DSM_STAT_RACE_CONFLICTS] = { "race_conflicts", "bytes two nodes wrote without order" },
	[DSM_STAT_INTERVALS] = { "intervals", "intervals closed" },
	[DSM_STAT_NOTICES_SENT] = { "notices_sent", "write notices sent" },
	[DSM_STAT_NOTICES_RECEIVED] = { "notices_received", "write notices received" },
	[DSM_STAT_INVAL_ALL] = { "inval_all", "invalidations of everything" },
	[DSM_STAT_RELEASES] = { "releases", "releases" },
	[DSM_STAT_ACQUIRES] = { "acquires", "acquires" },
	[DSM_STAT_LOCKS_LOCAL] = { "locks_local", "locks asked for, token here" },
	[DSM_STAT_LOCKS_REMOTE] = { "locks_remote", "locks asked for, token elsewhere" },
	[DSM_STAT_BARRIERS] = { "barriers", "barriers passed" },
	[DSM_STAT_FLAGS] = { "flags", "flags set, as their manager" },
	[DSM_STAT_MSGS_SENT] = { "msgs_sent", "messages sent" },
	[DSM_STAT_MSGS_RECEIVED] = { "msgs_received", "messages received" },
	[DSM_STAT_BYTES_SENT] = { "bytes_sent", "bytes sent" },
	[DSM_STAT_BYTES_RECEIVED] = { "bytes_received", "bytes received" },
	[DSM_STAT_CREDIT_STALLS] = { "credit_stalls", "sends that waited for credit" },
	[DSM_STAT_INVALID_MSGS] = { "invalid_msgs", "invalid messages" },
	[DSM_STAT_SIGBUS] = { "sigbus", "SIGBUS given" },
	[DSM_STAT_NS_PROTOCOL] = { "ns_protocol", "time in the protocol" },
	[DSM_STAT_NS_WAIT_LOCK] = { "ns_wait_lock", "time waiting for locks" },
	[DSM_STAT_NS_WAIT_BARRIER] = { "ns_wait_barrier", "time waiting at barriers" },
	[DSM_STAT_NS_WAIT_FLAG] = { "ns_wait_flag", "time waiting for flags" },
	[DSM_STAT_NS_WAIT_PAGE] = { "ns_wait_page", "time waiting for pages" },
	[DSM_STAT_NS_WAIT_PAGE_LOCK] = { "ns_wait_page_lock", "faults waiting for each other" },
	[DSM_STAT_NS_WAIT_RELEASE] = { "ns_wait_release", "time waiting for diffs to be acked" },
	[DSM_STAT_NS_MESSAGE] = { "ns_message", "time in message handlers" },
	[DSM_STAT_REQUESTS_REFUSED] = { "requests_refused", "requests of peers refused" },
	[DSM_STAT_ZERO_LOCAL] = { "zero_local", "pages known to be zero without asking" },
	[DSM_STAT_PAGE_READS] = { "page_reads", "pages read from the home's memory" },
	[DSM_STAT_PAGE_WRITES] = { "page_writes", "pages written by the home into the frame" },
	[DSM_STAT_CHUNKS] = { "chunks", "chunks registered for remote access" },
	[DSM_STAT_PREFETCH_ISSUED] = { "prefetch_issued", "pages fetched ahead" },
	[DSM_STAT_PREFETCH_HITS] = { "prefetch_hits", "pages fetched ahead and used" },
	[DSM_STAT_PREFETCH_WASTED] = { "prefetch_wasted", "pages fetched ahead in vain" },
	[DSM_STAT_DIRECT_PAGES] = { "direct_pages", "diffs written into the home's frame" },
	[DSM_STAT_DIRECT_RUNS] = { "direct_runs", "runs of bytes of these" },
	[DSM_STAT_XFER_READS] = { "xfer_reads", "READs posted" },
	[DSM_STAT_XFER_WRITES] = { "xfer_writes", "WRITEs posted" },
	[DSM_STAT_XFER_ATOMICS] = { "xfer_atomics", "atomics posted" },
	[DSM_STAT_SIGNALS_SENT] = { "signals_sent", "signals sent" },
	[DSM_STAT_SIGNALS_RECEIVED] = { "signals_received", "signals received" },
	[DSM_STAT_XFER_BYTES] = { "xfer_bytes", "bytes moved by transfers" },
	[DSM_STAT_DOORBELLS] = { "doorbells", "doorbells rung" },
	[DSM_STAT_WORK_REQUESTS] = { "work_requests", "work requests posted" },
	[DSM_STAT_SIGNALLED] = { "signalled", "work requests signalled" },
	[DSM_STAT_SENDS_INLINE] = { "sends_inline", "messages sent inline" },
	[DSM_STAT_SENDS_BATCHED] = { "sends_batched", "messages sent in batches" },
	[DSM_STAT_SENDS_SIGNALLED] = { "sends_signalled", "message posts signalled" },
	[DSM_STAT_BULKS] = { "bulks", "writes of requests into a ring" },
	[DSM_STAT_SENDS_BULK] = { "sends_bulk", "requests in them" },
	[DSM_STAT_SENDS_BRIEF] = { "sends_brief", "answers that were a page and an immediate" },
	[DSM_STAT_SINKS_LENT] = { "sinks_lent", "fetches straight into the frame" },
	[DSM_STAT_SINK_MISSES] = { "sink_misses", "fetches without room for that" },
	[DSM_STAT_SC_GRANTS] = { "sc_grants", "consistency=sc: rights got" },
	[DSM_STAT_SC_RECALLS] = { "sc_recalls", "rights given up again" },
	[DSM_STAT_SC_REFUSALS] = { "sc_refusals", "not given up: in use by a device" },
	[DSM_STAT_PAGES_LOST] = { "pages_lost", "pages lost with a node" },
	[DSM_STAT_LETTERS] = { "letters", "barrier and flag records written" },
	[DSM_STAT_LETTERS_BY_MESSAGE] = { "letters_by_message", "of sync=rdma, but by message" },
	[DSM_STAT_EXCL_ENTERS] = { "excl_enters", "pages that this node alone had: written without notice" },
	[DSM_STAT_EXCL_BREAKS] = { "excl_breaks", "and that another one wanted then" },
	[DSM_STAT_MIGRATIONS] = { "migrations", "home=migrate, migrate@barrier: pages whose home came here" },
	[DSM_STAT_MIGRATION_ATTEMPTS] = { "migration_attempts", "and that were asked for, or proposed by homes" },
	[DSM_STAT_PREDICTIONS] = { "predictions", "predict=on: homes asked for at a read" },
	[DSM_STAT_PREDICTION_HITS] = { "prediction_hits", "and written then" },
	[DSM_STAT_RESUMES] = { "resumes", "broken connections made anew" },
	[DSM_STAT_DUPLICATES] = { "duplicates", "messages that came again" },
	[DSM_STAT_DIR_CHANGES] = { "dir_changes", "metadata=rdma: sharing sets changed by atomics" },
	[DSM_STAT_DIR_LOOKS] = { "dir_looks", "and only read" },
	[DSM_STAT_NOTICES_WRITTEN] = { "notices_written", "write notices written into rings" },
	[DSM_STAT_MSGS_BELOW_256] = { "msgs_below_256", "messages sent of less than 256 bytes" },
	[DSM_STAT_MSGS_BELOW_1K] = { "msgs_below_1k", "of less than 1 KiB" },
	[DSM_STAT_MSGS_BELOW_4K] = { "msgs_below_4k", "of less than 4 KiB" },
	[DSM_STAT_MSGS_LARGER] = { "msgs_larger", "larger messages sent" },
	[DSM_STAT_BCAST_PAGES] = { "bcast_pages", "pages multicast as home" },
	[DSM_STAT_BCAST_HITS] = { "bcast_hits", "pages received by multicast" },
	[DSM_STAT_BCAST_LOST] = { "bcast_lost", "multicast, and asked for again" },
	[DSM_STAT_HEARTBEATS] = { "heartbeats", "heartbeats sent" },
	[DSM_STAT_CREDITS] = { "credits", "messages sent that only gave credit" },
	[DSM_STAT_ANSWERS_FIRST] = { "answers_first", "answers sent while ones with a page waited" },
	[DSM_STAT_PAGES_SENT] = { "pages_sent", "pages sent to who asked, or to their home" },
	[DSM_STAT_PAGES_DROPPED] = { "pages_dropped", "such that came too late" },
	[DSM_STAT_NOTICES_READ] = { "notices_read", "sync=rdma: notices read from another's board" },
	[DSM_STAT_NOTICES_DROPPED] = { "notices_dropped", "notices that were known already" },
	[DSM_STAT_MERGES_LIVE] = { "merges_live", "merge=live: merges that an acquire began" },
	[DSM_STAT_ATOMICS_DOUBTED] = { "atomics_doubted", "atomics whose outcome was in doubt" },
	[DSM_STAT_WRPROTECT_RUNS] = { "wrprotect_runs", "runs of pages made read-only, with one TLB flush" },
	[DSM_STAT_ZAP_RUNS] = { "zap_runs", "runs of pages unmapped, likewise" },
	[DSM_STAT_NS_MESSAGE_WAIT] = { "ns_message_wait", "handlers waiting for the node's lock" },
	[DSM_STAT_CREDITS_HELD] = { "credits_held", "not given back while many answers waited" },
	[DSM_STAT_XFERS_FIRST] = { "xfers_first", "transfers of locks, barriers, directories sent while pages waited" },
};

/* Counters that regions have; the others are of the node only. */
static const bool of_regions[DSM_STAT_COUNT] = {
	[DSM_STAT_READ_FAULTS ... DSM_STAT_RACE_CONFLICTS] = true,
	[DSM_STAT_NOTICES_SENT ... DSM_STAT_NOTICES_RECEIVED] = true,
	[DSM_STAT_LOCKS_LOCAL ... DSM_STAT_FLAGS] = true,
	[DSM_STAT_SIGBUS] = true,
	[DSM_STAT_NS_WAIT_LOCK ... DSM_STAT_NS_WAIT_PAGE] = true,
	[DSM_STAT_ZERO_LOCAL ... DSM_STAT_PAGE_WRITES] = true,
	[DSM_STAT_PREFETCH_ISSUED ... DSM_STAT_DIRECT_RUNS] = true,
	[DSM_STAT_SC_GRANTS ... DSM_STAT_LETTERS_BY_MESSAGE] = true,
	[DSM_STAT_EXCL_ENTERS ... DSM_STAT_NS_WAIT_PAGE_LOCK] = true,
	[DSM_STAT_DIR_CHANGES ... DSM_STAT_NOTICES_WRITTEN] = true,
	[DSM_STAT_PREDICTIONS ... DSM_STAT_PREDICTION_HITS] = true,
	[DSM_STAT_BCAST_PAGES ... DSM_STAT_BCAST_LOST] = true,
	[DSM_STAT_PAGES_SENT ... DSM_STAT_ZAP_RUNS] = true,
};

static bool wanted(const struct dsm_ioc_stats *s, unsigned int i)
{
	return !s->region || (i < DSM_STAT_COUNT && of_regions[i]);
}

static void print_table(const struct dsm_ioc_stats *s, const uint64_t *values)
{
	unsigned int i;

	for (i = 0; i < s->count; i++) {
		unsigned long long v = values[i];

		if (!wanted(s, i))
			continue;
		if (i >= DSM_STAT_COUNT)
			printf("%-36s %18llu\n", "(of a newer module)", v);
		else if (!strncmp(names[i].name, "ns_", 3))
			printf("%-36s %14llu.%06llu s\n", names[i].text, v / 1000000000,
			       v % 1000000000 / 1000);
		else
			printf("%-36s %18llu\n", names[i].text, v);
	}
}

static void print_json(unsigned int node, const struct dsm_ioc_stats *s, const uint64_t *values)
{
	const char *comma = "";
	unsigned int i;

	printf("{\"node\": %u, ", node);
	if (s->region)
		printf("\"region\": %u, ", s->region);
	printf("\"counters\": {");
	for (i = 0; i < s->count && i < DSM_STAT_COUNT; i++) {
		if (!wanted(s, i))
			continue;
		printf("%s\"%s\": %llu", comma, names[i].name, (unsigned long long)values[i]);
		comma = ", ";
	}
	puts("}}");
}

int cmd_stats(int argc, char **argv)
{
	struct dsm_ioc_node_info self = { .size = sizeof(self), .node = DSM_NODE_ANY };
	uint64_t values[VALUES_MAX] = { 0 };
	struct dsm_ioc_stats arg = {
		.size = sizeof(arg),
		.count = VALUES_MAX,
		.values = (uintptr_t)values,
	};
	const char *region = NULL;
	bool json = false;
	int fd, i, err = 0;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (argv[i][0] != '-' && !region)
			region = argv[i];
		else
			return usage("stats", "what is \"%s\"?", argv[i]);
	}
	if (region)
		region = region_name(region);
	fd = open_control();
	if (fd < 0)
		return EXIT_FAILURE;
	if (region)
		err = find_region(fd, region, &arg.region);
	if (!err && (ioctl(fd, DSM_IOC_NODE_INFO, &self) < 0 || ioctl(fd, DSM_IOC_STATS, &arg) < 0))
		err = errno;
	close(fd);
	if (err == ENOENT && region)
		return fail("stats: there is no region %s: see dsmctl region list", region);
	if (err)
		return report("stats", err, NULL);
	if (arg.count > VALUES_MAX)
		arg.count = VALUES_MAX;
	if (json)
		print_json(self.node, &arg, values);
	else
		print_table(&arg, values);
	return 0;
}
