// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/policy.c: settings from text and back, every refusal, and where pages live.
 */
#include "unit.h"

#include "policy.h"

struct good {
	const char *text;
	struct dsm_policy want;
	const char *back;
};

/* The settings of preset hlrc, with the home map and others replaced. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#define HLRC(...) { .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_PIPE, .diffpath = DSM_DIFFPATH_AUTO, \
		    .around = 1, .pipe_depth = 4, .pipe_bytes = 32768, __VA_ARGS__ }
#define BACK(home, diff, rest) "consistency=hlrc,home=" home ",diff=" diff "," rest
#define CSM_BACK(home, diff, rest) "consistency=cashmere,home=" home ",diff=" diff "," rest
#define REST "fetch=nocopy,diffpath=auto,grain=1,sync=msg,algo=queue,around=on"
#define BLOCK(n) HLRC(.block_pages = n)
#define DEFAULTS BACK("block", "pipe:32768:4", REST)
#define PIPE "pipe:32768:4"
#define SC(...) { .consistency = DSM_CONSISTENCY_SC, .fetch = DSM_FETCH_COPY, .diff = DSM_DIFF_MODE_ORIG, \
		  .diffpath = DSM_DIFFPATH_MSG, __VA_ARGS__ }
#define SC_BACK(home) "consistency=sc,home=" home ",diff=orig,fetch=copy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off"
static const struct good goods[] = {
	{ "", BLOCK(0), DEFAULTS },
	{ "hlrc", BLOCK(0), DEFAULTS },
	{ "preset=hlrc", BLOCK(0), DEFAULTS },
	{ "consistency=hlrc", BLOCK(0), DEFAULTS },
	{ "home=block", BLOCK(0), DEFAULTS },
	{ "home=block:1", BLOCK(1), BACK("block:1", PIPE, REST) },
	{ "home=block:4294967295", BLOCK(4294967295u), BACK("block:4294967295", PIPE, REST) },
	{ "home=block:8,home=block", BLOCK(0), DEFAULTS },
	{ "home=rr", HLRC(.home = DSM_HOME_RR), BACK("rr", PIPE, REST) },
	{ "home=block:8,home=rr", HLRC(.home = DSM_HOME_RR), BACK("rr", PIPE, REST) },
	{ "home=first-touch", HLRC(.home = DSM_HOME_FIRST_TOUCH), BACK("first-touch", PIPE, REST) },
	{ "home=migrate@barrier", HLRC(.home = DSM_HOME_MIGRATE_BARRIER), BACK("migrate@barrier", PIPE, REST) },
	{ "hlrc-rdma,home=migrate@barrier",
	  { .home = DSM_HOME_MIGRATE_BARRIER, .fetch = DSM_FETCH_READ, .diff = DSM_DIFF_MODE_PIPE, .pipe_bytes = 32768,
	    .pipe_depth = 4, .diffpath = DSM_DIFFPATH_WRITE, .sync = DSM_SYNC_RDMA },
	  BACK("migrate@barrier", PIPE, "fetch=read,diffpath=write,grain=1,sync=rdma,algo=queue,around=off") },
	{ "hlrc,home=rr", HLRC(.home = DSM_HOME_RR), BACK("rr", PIPE, REST) },
	/* A preset resets what stands before it, and a later setting changes the preset. */
	{ "home=rr,preset=hlrc", BLOCK(0), DEFAULTS },
	{ "fetch=read,grain=8,diff=orig,around=off,hlrc", BLOCK(0), DEFAULTS },
	{ "home=rr,", HLRC(.home = DSM_HOME_RR), BACK("rr", PIPE, REST) },
	{ "hlrc-copy", { .fetch = DSM_FETCH_COPY, .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG },
	  BACK("block", "orig", "fetch=copy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off") },
	{ "hlrc-nocopy", { .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG },
	  BACK("block", "orig", "fetch=nocopy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off") },
	{ "hlrc-orig", { .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG },
	  BACK("block", "orig", "fetch=nocopy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off") },
	{ "hlrc-pipe", { .fetch = DSM_FETCH_NOCOPY, .diffpath = DSM_DIFFPATH_MSG, .pipe_bytes = 32768,
			 .pipe_depth = 2 },
	  BACK("block", "pipe:32768:2", "fetch=nocopy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off") },
	{ "hlrc-rdma", { .fetch = DSM_FETCH_READ, .diffpath = DSM_DIFFPATH_WRITE, .sync = DSM_SYNC_RDMA,
			 .pipe_bytes = 32768, .pipe_depth = 4 },
	  BACK("block", PIPE, "fetch=read,diffpath=write,grain=1,sync=rdma,algo=queue,around=off") },
	{ "data=msg", HLRC(.diffpath = DSM_DIFFPATH_MSG),
	  BACK("block", PIPE, "fetch=nocopy,diffpath=msg,grain=1,sync=msg,algo=queue,around=on") },
	{ "data=rdma", HLRC(.fetch = DSM_FETCH_READ, .diffpath = DSM_DIFFPATH_WRITE),
	  BACK("block", PIPE, "fetch=read,diffpath=write,grain=1,sync=msg,algo=queue,around=on") },
	{ "data=rdma-w", HLRC(.diffpath = DSM_DIFFPATH_WRITE),
	  BACK("block", PIPE, "fetch=nocopy,diffpath=write,grain=1,sync=msg,algo=queue,around=on") },
	{ "fetch=copy", HLRC(.fetch = DSM_FETCH_COPY),
	  BACK("block", PIPE, "fetch=copy,diffpath=auto,grain=1,sync=msg,algo=queue,around=on") },
	{ "fetch=read,fetch=nocopy", BLOCK(0), DEFAULTS },
	{ "diff=pipe", BLOCK(0), DEFAULTS },
	{ "diff=pipe:4096", HLRC(.pipe_bytes = 4096), BACK("block", "pipe:4096:4", REST) },
	{ "diff=pipe:65536:8", HLRC(.pipe_bytes = 65536, .pipe_depth = 8), BACK("block", "pipe:65536:8", REST) },
	{ "diff=pipe:10000:1", HLRC(.pipe_bytes = 10000, .pipe_depth = 1), BACK("block", "pipe:10000:1", REST) },
	{ "diff=orig", HLRC(.diff = DSM_DIFF_MODE_ORIG, .pipe_bytes = 0, .pipe_depth = 0),
	  BACK("block", "orig", REST) },
	{ "grain=1", BLOCK(0), DEFAULTS },
	{ "grain=4", HLRC(.grain_log2 = 2),
	  BACK("block", PIPE, "fetch=nocopy,diffpath=auto,grain=4,sync=msg,algo=queue,around=on") },
	{ "grain=8", HLRC(.grain_log2 = 3),
	  BACK("block", PIPE, "fetch=nocopy,diffpath=auto,grain=8,sync=msg,algo=queue,around=on") },
	{ "algo=array,sync=rdma", HLRC(.sync = DSM_SYNC_RDMA, .algo = DSM_ALGO_ARRAY),
	  BACK("block", PIPE, "fetch=nocopy,diffpath=auto,grain=1,sync=rdma,algo=array,around=on") },
	{ "level=2", BLOCK(0), DEFAULTS },
	{ "level=1,level=2", BLOCK(0), DEFAULTS },
	{ "level=1", HLRC(.level = DSM_LEVEL_ONE), DEFAULTS ",level=1" },
	{ "level=1,hlrc", BLOCK(0), DEFAULTS },
	{ "sc,level=1", SC(.level = DSM_LEVEL_ONE), SC_BACK("block") ",level=1" },
	{ "sc", SC(), SC_BACK("block") },
	{ "consistency=sc", SC(), SC_BACK("block") },
	{ "home=rr,consistency=sc", SC(.home = DSM_HOME_RR), SC_BACK("rr") },
	{ "sc,home=block:4", SC(.block_pages = 4), SC_BACK("block:4") },
	{ "fetch=copy,diff=orig,diffpath=msg,around=off,consistency=sc", SC(), SC_BACK("block") },
	{ "sc,consistency=hlrc", BLOCK(0), DEFAULTS },
	{ "hlrc-copy,consistency=hlrc", { .fetch = DSM_FETCH_COPY, .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG },
	  BACK("block", "orig", "fetch=copy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off") },
	{ "consistency=cashmere", HLRC(.consistency = DSM_CONSISTENCY_CASHMERE), CSM_BACK("block", PIPE, REST) },
	{ "consistency=cashmere,metadata=msg,home=rr", HLRC(.consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_RR),
	  CSM_BACK("rr", PIPE, REST) },
	{ "sc,consistency=cashmere", HLRC(.consistency = DSM_CONSISTENCY_CASHMERE), CSM_BACK("block", PIPE, REST) },
	{ "csm-none", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH, .fetch = DSM_FETCH_NOCOPY,
			.diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG },
	  CSM_BACK("first-touch", "orig", "fetch=nocopy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off") },
	{ "csm-s", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH, .fetch = DSM_FETCH_NOCOPY,
		     .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG, .sync = DSM_SYNC_RDMA },
	  CSM_BACK("first-touch", "orig", "fetch=nocopy,diffpath=msg,grain=1,sync=rdma,algo=queue,around=off") },
	{ "csm-ms", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH, .fetch = DSM_FETCH_NOCOPY,
		      .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG, .metadata = DSM_METADATA_RDMA,
		      .sync = DSM_SYNC_RDMA },
	  CSM_BACK("first-touch", "orig", "fetch=nocopy,diffpath=msg,grain=1,metadata=rdma,sync=rdma,algo=queue,around=off") },
	{ "csm-dms,sync=msg", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH,
				.fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_PIPE, .pipe_bytes = 32768,
				.pipe_depth = 4, .diffpath = DSM_DIFFPATH_WRITE, .metadata = DSM_METADATA_RDMA },
	  CSM_BACK("first-touch", PIPE, "fetch=nocopy,diffpath=write,grain=1,metadata=rdma,sync=msg,algo=queue,around=off") },
	{ "csm-adb", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH, .fetch = DSM_FETCH_COPY,
		       .diff = DSM_DIFF_MODE_PIPE, .pipe_bytes = 32768, .pipe_depth = 4,
		       .diffpath = DSM_DIFFPATH_WRITE, .metadata = DSM_METADATA_RDMA,
		       .sync = DSM_SYNC_RDMA, .bcast = DSM_BCAST_ADAPTIVE },
	  CSM_BACK("first-touch", PIPE,
		   "fetch=copy,diffpath=write,grain=1,metadata=rdma,sync=rdma,algo=queue,bcast=adaptive,around=off") },
	{ "fetch=copy,bcast=adaptive", HLRC(.fetch = DSM_FETCH_COPY, .bcast = DSM_BCAST_ADAPTIVE),
	  BACK("block", PIPE, "fetch=copy,diffpath=auto,grain=1,sync=msg,algo=queue,bcast=adaptive,around=on") },
	{ "csm-ms-mg,metadata=msg", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_MIGRATE,
				      .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
				      .diffpath = DSM_DIFFPATH_MSG, .sync = DSM_SYNC_RDMA },
	  CSM_BACK("migrate", "orig", "fetch=nocopy,diffpath=msg,grain=1,sync=rdma,algo=queue,around=off") },
	{ "csm-none-mg", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_MIGRATE, .fetch = DSM_FETCH_NOCOPY,
			   .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG },
	  CSM_BACK("migrate", "orig", "fetch=nocopy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off") },
	{ "csm-none-mg,predict=on", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_MIGRATE, .fetch = DSM_FETCH_NOCOPY,
				      .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG, .predict = 1 },
	  CSM_BACK("migrate", "orig", "fetch=nocopy,diffpath=msg,grain=1,sync=msg,algo=queue,predict=on,around=off") },
	{ "auto", HLRC(.consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_MIGRATE_BARRIER, .notices = DSM_NOTICES_LAZY,
		       .fetch = DSM_FETCH_READ, .around = DSM_AROUND_AGAIN),
	  CSM_BACK("migrate@barrier", PIPE, "fetch=read,diffpath=auto,grain=1,notices=lazy,sync=msg,algo=queue,around=again") },
	{ "auto,notices=eager", HLRC(.consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_MIGRATE_BARRIER, .fetch = DSM_FETCH_READ,
				     .around = DSM_AROUND_AGAIN),
	  CSM_BACK("migrate@barrier", PIPE, "fetch=read,diffpath=auto,grain=1,sync=msg,algo=queue,around=again") },
	/* With hlrc they are so, and that is not said. */
	{ "notices=lazy", HLRC(), BACK("block", PIPE, "fetch=nocopy,diffpath=auto,grain=1,sync=msg,algo=queue,around=on") },
	{ "auto,consistency=hlrc", HLRC(.home = DSM_HOME_MIGRATE_BARRIER, .fetch = DSM_FETCH_READ, .around = DSM_AROUND_AGAIN),
	  BACK("migrate@barrier", PIPE, "fetch=read,diffpath=auto,grain=1,sync=msg,algo=queue,around=again") },
	{ "csm-ms,fetch=read", { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH, .fetch = DSM_FETCH_READ,
				 .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG, .metadata = DSM_METADATA_RDMA,
				 .sync = DSM_SYNC_RDMA },
	  CSM_BACK("first-touch", "orig", "fetch=read,diffpath=msg,grain=1,metadata=rdma,sync=rdma,algo=queue,around=off") },
	{ "csm-none,consistency=hlrc", { .home = DSM_HOME_FIRST_TOUCH, .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
					 .diffpath = DSM_DIFFPATH_MSG },
	  BACK("first-touch", "orig", "fetch=nocopy,diffpath=msg,grain=1,sync=msg,algo=queue,around=off") },
	{ "around=off", HLRC(.around = 0),
	  BACK("block", PIPE, "fetch=nocopy,diffpath=auto,grain=1,sync=msg,algo=queue,around=off") },
	/* The longest text there is fits into what travels. */
	{ "consistency=cashmere,home=block:4294967295,diff=pipe:65536:8,data=rdma-w,fetch=copy,grain=8,"
	  "metadata=rdma,sync=rdma,algo=array,bcast=adaptive,around=again,level=1,merge=live",
	  HLRC(.consistency = DSM_CONSISTENCY_CASHMERE, .block_pages = 4294967295u, .fetch = DSM_FETCH_COPY, .diffpath = DSM_DIFFPATH_WRITE,
	       .grain_log2 = 3, .sync = DSM_SYNC_RDMA, .metadata = DSM_METADATA_RDMA, .algo = DSM_ALGO_ARRAY, .bcast = DSM_BCAST_ADAPTIVE,
	       .around = DSM_AROUND_AGAIN, .level = DSM_LEVEL_ONE, .merge = DSM_MERGE_LIVE, .pipe_bytes = 65536, .pipe_depth = 8),
	  CSM_BACK("block:4294967295", "pipe:65536:8",
	       "fetch=copy,diffpath=write,grain=8,metadata=rdma,sync=rdma,algo=array,bcast=adaptive,around=again,level=1,merge=live") },
};

#pragma GCC diagnostic pop

static bool same(const struct dsm_policy *a, const struct dsm_policy *b)
{
	return a->consistency == b->consistency && a->home == b->home && a->block_pages == b->block_pages &&
	       a->fetch == b->fetch && a->diff == b->diff && a->diffpath == b->diffpath &&
	       a->grain_log2 == b->grain_log2 && a->metadata == b->metadata && a->notices == b->notices &&
	       a->sync == b->sync && a->algo == b->algo &&
	       a->bcast == b->bcast && a->predict == b->predict && a->around == b->around && a->level == b->level && a->merge == b->merge &&
	       a->pipe_depth == b->pipe_depth && a->pipe_bytes == b->pipe_bytes;
}

static void settings_survive_text_and_back(void **state)
{
	const struct good *g;

	for (g = goods; g < goods + ARRAY_SIZE(goods); g++) {
		struct dsm_policy p, again;
		char why[192] = "", text[DSM_POLICY_TEXT_BYTES];

		unit_require(!dsm_policy_parse(g->text, &p, why, sizeof(why)), "'%s': %s", g->text, why);
		unit_require(same(&p, &g->want), "'%s'", g->text);
		dsm_policy_format(&p, text, sizeof(text));
		assert_string_equal(text, g->back);
		assert_int_equal(dsm_policy_parse(text, &again, why, sizeof(why)), 0);
		assert_true(same(&again, &p));
		assert_string_equal(why, "");
	}
}

struct refused {
	const char *text;
	int err;
	const char *why;
};

#define PRESETS "hlrc[-copy|-nocopy|-orig|-pipe|-rdma] csm-{dms,ms,s,none,ms-mg,none-mg,adb} sc auto"
#define KNOWN \
	"preset, consistency, home, metadata, notices, data, fetch, diff, diffpath, grain, sync, algo, bcast, predict, around, level, " \
	"merge"
#define MIGRATE_READ "home=migrate needs fetch=nocopy or copy: who reads remotely does not hear that a home has moved"
#define METADATA_CSM \
	"metadata=rdma needs consistency=cashmere: only there a word says who has copies, and those are told"
#define LAZY_SC "notices=lazy needs consistency=cashmere or hlrc: with sc nobody has old bytes that a notice could name"
#define LAZY_WORD "notices=lazy needs metadata=msg: who reads in a word that others have copies tells them itself"
#define MIGRATE_CSM \
	"home=migrate needs consistency=cashmere: who has copies is known at the home, and moves with it"
#define MIGRATE_DIFF \
	"home=migrate needs diff=orig and diffpath=msg: a home that has moved gives a diff back, one at a time"
#define PREDICT "predict=on needs home=migrate: elsewhere no home moves at a fault"
#define BARRIER_METADATA \
	"home=migrate@barrier needs metadata=msg: a home must know who has the only copy before it moves"
#define SC_HOME "consistency=sc needs home=block or rr: who may write is decided at a home that does not move"
#define SC_MOVES "consistency=sc has no fetch, diff, diffpath, grain, around or merge: a page comes with its right, whole"
#define BCAST_FETCH \
	"bcast=adaptive needs fetch=copy: a home counts who asks, and what it sends is the page of one moment"
#define BCAST_HOME \
	"bcast=adaptive needs another home than migrate and migrate@barrier: a home that may move says so with the page itself"
#define BCAST_SC \
	"bcast=adaptive needs consistency=hlrc or cashmere: with sc a page comes with its right, to one node"
#define DIFF(v) { "diff=" v, -EINVAL, "diff=" v ": use orig or pipe[:BYTES[:DEPTH]], 4096 to 65536 and 1 to 8" }
#define ONE_OF(key, v, use) { key "=" v, -EINVAL, key "=" v ": use " use }
#define HOME(v) { "home=" v, -EINVAL, "home=" v ": use block, block:PAGES, rr, first-touch, migrate or migrate@barrier; dsmctl also list:FILE" }
static const struct refused refusals[] = {
	ONE_OF("bcast", "x", "off or adaptive"), ONE_OF("level", "3", "2 or 1"), ONE_OF("merge", "x", "fault or live"),
	ONE_OF("metadata", "x", "msg or rdma"), ONE_OF("notices", "x", "eager or lazy"),
	{ "sc,notices=lazy", -EINVAL, LAZY_SC }, { "notices=lazy,consistency=sc", -EINVAL, LAZY_SC },
	{ "csm-ms,notices=lazy", -EINVAL, LAZY_WORD }, { "auto,metadata=rdma,home=first-touch", -EINVAL, LAZY_WORD },
	{ "metadata=rdma", -EINVAL, METADATA_CSM }, { "csm-ms,consistency=hlrc", -EINVAL, METADATA_CSM },
	{ "hlrc-rdma,metadata=rdma", -EINVAL, METADATA_CSM }, { "sc,metadata=rdma", -EINVAL, METADATA_CSM },
	{ "csm-dms,home=migrate", -EINVAL, MIGRATE_DIFF },
	HOME(""), HOME("blocks"), HOME("block:"), HOME("block:0"), HOME("block:-1"), HOME("block:1x"),
	HOME("block:4294967296"), HOME("block:99999999999999999999999"), HOME("r"), HOME("first"),
	{ "csm-dms,home=migrate@barrier", -EINVAL, BARRIER_METADATA }, { "sc,home=migrate@barrier", -EINVAL, SC_HOME },
	{ "predict=on", -EINVAL, PREDICT }, { "csm-none,predict=on,home=migrate@barrier", -EINVAL, PREDICT },
	ONE_OF("predict", "1", "on or off"),
	{ "home=migrate", -EINVAL, MIGRATE_CSM }, { "hlrc-orig,home=migrate", -EINVAL, MIGRATE_CSM },
	{ "csm-none-mg,consistency=hlrc", -EINVAL, MIGRATE_CSM },
	{ "csm-none-mg,fetch=read", -EINVAL, MIGRATE_READ }, { "csm-none-mg,data=rdma", -EINVAL, MIGRATE_DIFF }, { "csm-none-mg,data=rdma-w", -EINVAL, MIGRATE_DIFF },
	{ "csm-none-mg,diff=pipe", -EINVAL, MIGRATE_DIFF }, { "consistency=cashmere,home=migrate", -EINVAL, MIGRATE_DIFF },
	{ "csm-none,home=migrated", -EINVAL, "home=migrated: use block, block:PAGES, rr, first-touch, migrate or migrate@barrier; dsmctl also list:FILE" },
	{ "sc,home=migrate", -EINVAL, SC_HOME },
	{ "consistency=", -EINVAL, "unknown consistency ''; use hlrc, cashmere or sc" },
	{ "sc,home=first-touch", -EINVAL, SC_HOME }, { "home=first-touch,consistency=sc", -EINVAL, SC_HOME },
	{ "sc,fetch=read", -EINVAL, SC_MOVES }, { "fetch=read,consistency=sc", -EINVAL, SC_MOVES },
	{ "consistency=sc,diff=pipe", -EINVAL, SC_MOVES }, { "sc,around=on", -EINVAL, SC_MOVES },
	{ "sc,merge=live", -EINVAL, SC_MOVES }, { "merge=live,consistency=sc", -EINVAL, SC_MOVES },
	{ "sc,grain=8", -EINVAL, SC_MOVES }, { "sc,data=rdma", -EINVAL, SC_MOVES },
	{ "hlrc-copy,diffpath=write,consistency=sc", -EINVAL, SC_MOVES },
	{ "preset=", -EINVAL, "unknown preset ''; use " PRESETS },
	{ "hlr", -EINVAL, "unknown preset 'hlr'; use " PRESETS },
	{ "hlrcc", -EINVAL, "unknown preset 'hlrcc'; use " PRESETS },
	{ ",", -EINVAL, "unknown preset ''; use " PRESETS },
	{ "=", -EINVAL, "unknown setting ''; known: " KNOWN },
	{ "homes=rr", -EINVAL, "unknown setting 'homes'; known: " KNOWN },
	{ "home=rr,colour=red", -EINVAL, "unknown setting 'colour'; known: " KNOWN },
	{ "home=rr,bcast=adaptive", -EINVAL, BCAST_FETCH }, { "hlrc-rdma,bcast=adaptive", -EINVAL, BCAST_FETCH },
	{ "csm-none,fetch=copy,bcast=adaptive,home=migrate@barrier", -EINVAL, BCAST_HOME },
	{ "csm-none-mg,fetch=copy,bcast=adaptive", -EINVAL, BCAST_HOME }, { "csm-adb,diff=orig,diffpath=msg,home=migrate", -EINVAL, BCAST_HOME },
	{ "csm-none-mg,fetch=copy,bcast=adaptive,predict=on", -EINVAL, BCAST_HOME },
	{ "csm-adb,fetch=nocopy", -EINVAL, BCAST_FETCH }, { "sc,bcast=adaptive", -EINVAL, BCAST_SC },
	DIFF(""), DIFF("pip"), DIFF("pipes"), DIFF("pipe:"), DIFF("pipe::"), DIFF("pipe:4095"), DIFF("pipe:65537"),
	DIFF("pipe:4096:"), DIFF("pipe:4096:0"), DIFF("pipe:4096:9"), DIFF("pipe:4096:2:2"), DIFF("pipe:4096 "),
	DIFF("orig:1"),
	ONE_OF("fetch", "msg", "nocopy, copy or read"), ONE_OF("fetch", "", "nocopy, copy or read"),
	ONE_OF("diffpath", "rdma", "auto, msg or write"), ONE_OF("grain", "2", "1, 4 or 8"),
	ONE_OF("sync", "msgs", "msg or rdma"), ONE_OF("algo", "mcs", "queue or array"),
	ONE_OF("around", "1", "on, off or again"), ONE_OF("data", "read", "msg, rdma or rdma-w"),
	{ "algo=array", -EINVAL, "algo=array needs sync=rdma: its locks are slots written by remote writes" },
	{ "hlrc-rdma,algo=array,sync=msg", -EINVAL,
	  "algo=array needs sync=rdma: its locks are slots written by remote writes" },
};

static void refusal_says_what_is_wrong(void **state)
{
	const struct refused *f;

	for (f = refusals; f < refusals + ARRAY_SIZE(refusals); f++) {
		struct dsm_policy p;
		char why[192] = "", *exact = unit_copy(f->text, strlen(f->text) + 1);
		int err = dsm_policy_parse(exact, &p, why, sizeof(why));

		unit_require(err == f->err, "'%s' gives %d, '%s'", f->text, err, why);
		assert_string_equal(why, f->why);
		free(exact);
	}
}

static void refusal_fits_any_room(void **state)
{
	const struct refused *f;
	struct dsm_policy p;
	u32 room;

	for (f = refusals; f < refusals + ARRAY_SIZE(refusals); f++)
		for (room = 1; room < 40; room += 13) {
			char *why = unit_alloc(room);

			assert_int_equal(dsm_policy_parse(f->text, &p, why, room), f->err);
			assert_true(strlen(why) < room);
			free(why);
		}
}

static void home_is_always_a_member(void **state)
{
	static const u64 lengths[] = { 1, 2, 63, 64, 65, 1000, DSM_REGION_MAX_PAGES };
	static const u32 blocks[] = { 0, 1, 7, 4294967295u };
	u32 l, b, home;
	u16 n;

	for (l = 0; l < ARRAY_SIZE(lengths); l++)
		for (b = 0; b < ARRAY_SIZE(blocks); b++)
			for (home = DSM_HOME_BLOCK; home <= DSM_HOME_MIGRATE_BARRIER; home++)
				for (n = 1; n <= DSM_MAX_NODES; n++) {
					struct dsm_policy p = { .home = home, .block_pages = blocks[b] };

					assert_true(dsm_policy_home(&p, lengths[l], n, 0) < n);
					assert_true(dsm_policy_home(&p, lengths[l], n, lengths[l] / 2) < n);
					assert_true(dsm_policy_home(&p, lengths[l], n, lengths[l] - 1) < n);
				}
}

static void blocks_and_round_robin_spread_as_named(void **state)
{
	struct dsm_policy block = { .home = DSM_HOME_BLOCK }, two = { .home = DSM_HOME_BLOCK, .block_pages = 2 };
	struct dsm_policy rr = { .home = DSM_HOME_RR }, touch = { .home = DSM_HOME_FIRST_TOUCH };
	u32 i;

	for (i = 0; i < 10; i++) {
		assert_int_equal(dsm_policy_home(&block, 10, 3, i), i / 4);
		assert_int_equal(dsm_policy_home(&two, 10, 3, i), i / 2 % 3);
		assert_int_equal(dsm_policy_home(&rr, 10, 3, i), i % 3);
		assert_int_equal(dsm_policy_home(&touch, 1000, 3, i * 16), i % 3);
		assert_int_equal(dsm_policy_home(&touch, 1000, 3, i * 16 + 15), i % 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_survive_text_and_back),
		cmocka_unit_test(refusal_says_what_is_wrong),
		cmocka_unit_test(refusal_fits_any_room),
		cmocka_unit_test(home_is_always_a_member),
		cmocka_unit_test(blocks_and_round_robin_spread_as_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
