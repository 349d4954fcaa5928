// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Settings of a region: text to struct and back, and the home map.
 *
 * An unknown word is refused with those that are known. Keeps no state.
 */
#include "policy.h"
#include "array.h"
#include "dir.h"
#include "presets.h"

static const char * const consistencies[] = { "hlrc", "sc", "cashmere" };

/* Settings that are one of a few words; the word's place is the value. @unsaid: the first one is the usual, and goes without saying. */
static const struct choice {
	const char *key;
	u32 offset;
	const char *words[4];
	const char *use;
	bool unsaid;
} choices[] = {
	{ "fetch", offsetof(struct dsm_policy, fetch), { "nocopy", "copy", "read" },
	  "nocopy, copy or read", false },
	{ "diffpath", offsetof(struct dsm_policy, diffpath), { "auto", "msg", "write" },
	  "auto, msg or write", false },
	{ "grain", offsetof(struct dsm_policy, grain_log2), { "1", NULL, "4", "8" }, "1, 4 or 8", false },
	{ "metadata", offsetof(struct dsm_policy, metadata), { "msg", "rdma" }, "msg or rdma", true },
	{ "notices", offsetof(struct dsm_policy, notices), { "eager", "lazy" }, "eager or lazy", true },
	{ "sync", offsetof(struct dsm_policy, sync), { "msg", "rdma" }, "msg or rdma", false },
	{ "algo", offsetof(struct dsm_policy, algo), { "queue", "array" }, "queue or array", false },
	{ "bcast", offsetof(struct dsm_policy, bcast), { "off", "adaptive" }, "off or adaptive", true },
	{ "predict", offsetof(struct dsm_policy, predict), { "off", "on" }, "on or off", true },
	{ "around", offsetof(struct dsm_policy, around), { "off", "on", "again" },
	  "on, off or again", false },
	{ "level", offsetof(struct dsm_policy, level), { "2", "1" }, "2 or 1", true },
	{ "merge", offsetof(struct dsm_policy, merge), { "fault", "live" }, "fault or live", true },
};

#define KNOWN_KEYS \
	"preset, consistency, home, metadata, notices, data, fetch, diff, diffpath, grain, sync, algo, bcast, predict, around, " \
	"level, merge"

struct word {
	const char *at;
	u32 len;
};

static bool word_is(const struct word *w, const char *s)
{
	return strlen(s) == w->len && !memcmp(w->at, s, w->len);
}

static int parse_u32(const struct word *w, u32 *out)
{
	u64 v = 0;
	u32 i;

	for (i = 0; i < w->len; i++) {
		if (w->at[i] < '0' || w->at[i] > '9')
			return -EINVAL;
		v = v * 10 + (w->at[i] - '0');
		if (v > 0xffffffffu)
			return -EINVAL;
	}
	*out = v;
	return w->len && v ? 0 : -EINVAL;
}

static int set_preset(struct dsm_policy *p, const struct word *v, char *why, u32 why_bytes)
{
	const struct dsm_preset *preset = dsm_preset_find(v->at, v->len);

	if (!preset) {
		snprintf(why, why_bytes, "unknown preset '%.*s'; use %s", (int)v->len, v->at,
			 "hlrc[-copy|-nocopy|-orig|-pipe|-rdma] csm-{dms,ms,s,none,ms-mg,none-mg,adb} sc auto");
		return -EINVAL;
	}
	*p = preset->policy;
	return 0;
}

static int set_home(struct dsm_policy *p, const struct word *v, char *why, u32 why_bytes)
{
	struct word n = { .at = v->at + 6, .len = v->len - 6 };

	p->block_pages = 0;
	if (word_is(v, "block")) {
		p->home = DSM_HOME_BLOCK;
	} else if (v->len > 6 && !memcmp(v->at, "block:", 6) && !parse_u32(&n, &p->block_pages)) {
		p->home = DSM_HOME_BLOCK;
	} else if (word_is(v, "rr")) {
		p->home = DSM_HOME_RR;
	} else if (word_is(v, "first-touch")) {
		p->home = DSM_HOME_FIRST_TOUCH;
	} else if (word_is(v, "migrate")) {
		p->home = DSM_HOME_MIGRATE;
	} else if (word_is(v, "migrate@barrier")) {
		p->home = DSM_HOME_MIGRATE_BARRIER;
	} else {
		snprintf(why, why_bytes,
			 "home=%.*s: use block, block:PAGES, rr, first-touch, migrate or migrate@barrier; dsmctl also list:FILE",
			 (int)v->len, v->at);
		return -EINVAL;
	}
	return 0;
}

static const struct dsm_policy *policy_of(const char *preset)
{
	return &dsm_preset_find(preset, strlen(preset))->policy;
}

/* Has nobody asked for another way of moving data than @base's? */
static bool moves_as(const struct dsm_policy *p, const struct dsm_policy *base)
{
	return p->fetch == base->fetch && p->diff == base->diff && p->diffpath == base->diffpath &&
	       p->grain_log2 == base->grain_log2 && p->around == base->around && p->merge == base->merge &&
	       p->pipe_bytes == base->pipe_bytes && p->pipe_depth == base->pipe_depth;
}

static void move_as(struct dsm_policy *p, const struct dsm_policy *base)
{
	p->consistency = base->consistency;
	p->fetch = base->fetch;
	p->diff = base->diff;
	p->diffpath = base->diffpath;
	p->grain_log2 = base->grain_log2;
	p->around = base->around;
	p->merge = base->merge;
	p->pipe_bytes = base->pipe_bytes;
	p->pipe_depth = base->pipe_depth;
}

static int set_consistency(struct dsm_policy *p, const struct word *v, char *why, u32 why_bytes)
{
	const struct dsm_policy *hlrc = policy_of("hlrc"), *sc = policy_of("sc");

	if (word_is(v, "hlrc") || word_is(v, "cashmere")) {
		if (p->consistency == DSM_CONSISTENCY_SC)
			move_as(p, hlrc);
		p->consistency = word_is(v, "hlrc") ? DSM_CONSISTENCY_HLRC :
						      DSM_CONSISTENCY_CASHMERE;
		return 0;
	}
	if (word_is(v, "sc")) {
		/* What was asked for before and has no meaning here is refused by check_together(). */
		if (moves_as(p, hlrc))
			move_as(p, sc);
		p->consistency = DSM_CONSISTENCY_SC;
		return 0;
	}
	snprintf(why, why_bytes, "unknown consistency '%.*s'; use hlrc, cashmere or sc", (int)v->len,
		 v->at);
	return -EINVAL;
}

/* "pipe", "pipe:BYTES" or "pipe:BYTES:DEPTH". */
static bool parse_pipe(struct dsm_policy *p, const struct word *v)
{
	struct word bytes = { .at = v->at + 5 }, depth;
	u32 n_bytes = DSM_PIPE_BYTES, n_depth = DSM_PIPE_DEPTH;

	if (v->len > 4) {
		if (v->len < 6 || memcmp(v->at, "pipe:", 5))
			return false;
		while (bytes.at + bytes.len < v->at + v->len && bytes.at[bytes.len] != ':')
			bytes.len++;
		if (parse_u32(&bytes, &n_bytes))
			return false;
		depth.at = bytes.at + bytes.len + 1;
		if (depth.at <= v->at + v->len) {
			depth.len = v->at + v->len - depth.at;
			if (parse_u32(&depth, &n_depth))
				return false;
		}
	} else if (!word_is(v, "pipe")) {
		return false;
	}
	if (n_bytes < DSM_PIPE_BYTES_MIN || n_bytes > DSM_PIPE_BYTES_MAX ||
	    n_depth > DSM_PIPE_DEPTH_MAX)
		return false;
	p->diff = DSM_DIFF_MODE_PIPE;
	p->pipe_bytes = n_bytes;
	p->pipe_depth = n_depth;
	return true;
}

static int set_diff(struct dsm_policy *p, const struct word *v, char *why, u32 why_bytes)
{
	if (word_is(v, "orig")) {
		p->diff = DSM_DIFF_MODE_ORIG;
		p->pipe_bytes = 0;
		p->pipe_depth = 0;
		return 0;
	}
	if (parse_pipe(p, v))
		return 0;
	snprintf(why, why_bytes, "diff=%.*s: use orig or pipe[:BYTES[:DEPTH]], %u to %u and 1 to %u",
		 (int)v->len, v->at, DSM_PIPE_BYTES_MIN, DSM_PIPE_BYTES_MAX, DSM_PIPE_DEPTH_MAX);
	return -EINVAL;
}

/* Shorthand for fetch and diffpath. */
static int set_data(struct dsm_policy *p, const struct word *v, char *why, u32 why_bytes)
{
	if (word_is(v, "msg")) {
		p->fetch = DSM_FETCH_NOCOPY;
		p->diffpath = DSM_DIFFPATH_MSG;
	} else if (word_is(v, "rdma")) {
		p->fetch = DSM_FETCH_READ;
		p->diffpath = DSM_DIFFPATH_WRITE;
	} else if (word_is(v, "rdma-w")) {
		p->fetch = DSM_FETCH_NOCOPY;
		p->diffpath = DSM_DIFFPATH_WRITE;
	} else {
		snprintf(why, why_bytes, "data=%.*s: use msg, rdma or rdma-w", (int)v->len, v->at);
		return -EINVAL;
	}
	return 0;
}

static int set_choice(struct dsm_policy *p, const struct choice *c, const struct word *v,
		      char *why, u32 why_bytes)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c->words); i++)
		if (c->words[i] && word_is(v, c->words[i])) {
			*((u8 *)p + c->offset) = i;
			return 0;
		}
	snprintf(why, why_bytes, "%s=%.*s: use %s", c->key, (int)v->len, v->at, c->use);
	return -EINVAL;
}

static int set_one(struct dsm_policy *p, const struct word *key, const struct word *val, char *why,
		   u32 why_bytes)
{
	u32 i;

	if (word_is(key, "preset"))
		return set_preset(p, val, why, why_bytes);
	if (word_is(key, "home"))
		return set_home(p, val, why, why_bytes);
	if (word_is(key, "consistency"))
		return set_consistency(p, val, why, why_bytes);
	if (word_is(key, "diff"))
		return set_diff(p, val, why, why_bytes);
	if (word_is(key, "data"))
		return set_data(p, val, why, why_bytes);
	for (i = 0; i < ARRAY_SIZE(choices); i++)
		if (word_is(key, choices[i].key))
			return set_choice(p, &choices[i], val, why, why_bytes);
	snprintf(why, why_bytes, "unknown setting '%.*s'; known: " KNOWN_KEYS, (int)key->len,
		 key->at);
	return -EINVAL;
}

/* Settings that exclude each other; the text names the rule. */
static int check_together(const struct dsm_policy *p, char *why, u32 why_bytes)
{
	if (p->consistency == DSM_CONSISTENCY_SC && dsm_policy_claims(p)) {
		snprintf(why, why_bytes,
			 "consistency=sc needs home=block or rr: who may write is decided at a home that does not move");
		return -EINVAL;
	}
	if (p->consistency == DSM_CONSISTENCY_SC && !moves_as(p, policy_of("sc"))) {
		snprintf(why, why_bytes,
			 "consistency=sc has no fetch, diff, diffpath, grain, around or merge: a page comes with its right, whole");
		return -EINVAL;
	}
	if (p->metadata == DSM_METADATA_RDMA && p->consistency != DSM_CONSISTENCY_CASHMERE) {
		snprintf(why, why_bytes,
			 "metadata=rdma needs consistency=cashmere: only there a word says who has copies, and those are told");
		return -EINVAL;
	}
	if (p->notices == DSM_NOTICES_LAZY && p->consistency == DSM_CONSISTENCY_SC) {
		snprintf(why, why_bytes,
			 "notices=lazy needs consistency=cashmere or hlrc: with sc nobody has old bytes that a notice could name");
		return -EINVAL;
	}
	if (p->notices == DSM_NOTICES_LAZY && p->metadata == DSM_METADATA_RDMA) {
		snprintf(why, why_bytes,
			 "notices=lazy needs metadata=msg: who reads in a word that others have copies tells them itself");
		return -EINVAL;
	}
	if (p->home == DSM_HOME_MIGRATE && p->consistency != DSM_CONSISTENCY_CASHMERE) {
		snprintf(why, why_bytes,
			 "home=migrate needs consistency=cashmere: who has copies is known at the home, and moves with it");
		return -EINVAL;
	}
	if (p->home == DSM_HOME_MIGRATE &&
	    (p->diff != DSM_DIFF_MODE_ORIG || p->diffpath != DSM_DIFFPATH_MSG)) {
		snprintf(why, why_bytes,
			 "home=migrate needs diff=orig and diffpath=msg: a home that has moved gives a diff back, one at a time");
		return -EINVAL;
	}
	if (p->home == DSM_HOME_MIGRATE && p->fetch == DSM_FETCH_READ) {
		snprintf(why, why_bytes,
			 "home=migrate needs fetch=nocopy or copy: who reads remotely does not hear that a home has moved");
		return -EINVAL;
	}
	if (p->bcast == DSM_BCAST_ADAPTIVE && p->consistency == DSM_CONSISTENCY_SC) {
		snprintf(why, why_bytes,
			 "bcast=adaptive needs consistency=hlrc or cashmere: with sc a page comes with its right, to one node");
		return -EINVAL;
	}
	if (p->bcast == DSM_BCAST_ADAPTIVE && p->fetch != DSM_FETCH_COPY) {
		snprintf(why, why_bytes,
			 "bcast=adaptive needs fetch=copy: a home counts who asks, and what it sends is the page of one moment");
		return -EINVAL;
	}
	if (p->bcast == DSM_BCAST_ADAPTIVE &&
	    (p->home == DSM_HOME_MIGRATE || p->home == DSM_HOME_MIGRATE_BARRIER)) {
		snprintf(why, why_bytes,
			 "bcast=adaptive needs another home than migrate and migrate@barrier: a home that may move says so with the page itself");
		return -EINVAL;
	}
	if (p->predict && p->home != DSM_HOME_MIGRATE) {
		snprintf(why, why_bytes,
			 "predict=on needs home=migrate: elsewhere no home moves at a fault");
		return -EINVAL;
	}
	if (p->home == DSM_HOME_MIGRATE_BARRIER && p->metadata == DSM_METADATA_RDMA) {
		snprintf(why, why_bytes,
			 "home=migrate@barrier needs metadata=msg: a home must know who has the only copy before it moves");
		return -EINVAL;
	}
	if (p->algo == DSM_ALGO_ARRAY && p->sync != DSM_SYNC_RDMA) {
		snprintf(why, why_bytes,
			 "algo=array needs sync=rdma: its locks are slots written by remote writes");
		return -EINVAL;
	}
	return 0;
}

/**
 * dsm_policy_parse() - settings from text
 * @text:      "key=value,key=value"; a bare word is a preset; "" gives the defaults (hlrc, block)
 * @out:       settings
 * @why:       on failure: one line saying what is wrong and what would be right
 * @why_bytes: room in @why
 *
 * Context: any.
 * Return: 0; -EINVAL unknown or malformed word, or words that exclude each other.
 */
int dsm_policy_parse(const char *text, struct dsm_policy *out, char *why, u32 why_bytes)
{
	static const char preset[] = "preset";

	*out = *policy_of("hlrc");
	while (*text) {
		struct word key = { .at = text }, val;
		int err;

		while (*text && *text != '=' && *text != ',')
			text++;
		key.len = text - key.at;
		if (*text == '=') {
			val.at = ++text;
			while (*text && *text != ',')
				text++;
			val.len = text - val.at;
		} else {
			val = key;
			key = (struct word){ .at = preset, .len = sizeof(preset) - 1 };
		}
		err = set_one(out, &key, &val, why, why_bytes);
		if (err)
			return err;
		if (*text == ',')
			text++;
	}
	/* There is no other way with hlrc, and one text for it. */
	if (out->consistency == DSM_CONSISTENCY_HLRC)
		out->notices = 0;
	return check_together(out, why, why_bytes);
}

/**
 * dsm_policy_suits() - can these nodes be members of a region?
 * @p:         settings
 * @nodes:     bitmap
 * @pages:     of the region
 * @why:       on refusal: one line
 * @why_bytes: room in @why
 *
 * Context: any.
 * Return: 0, -EOPNOTSUPP.
 */
int dsm_policy_suits(const struct dsm_policy *p, u64 nodes, u64 pages, char *why, u32 why_bytes)
{
	if (p->metadata == DSM_METADATA_RDMA && nodes >> DSM_DIR_NODES) {
		snprintf(why, why_bytes,
			 "metadata=rdma has a bit for each of the nodes 0 to %u, and the cluster has others; use metadata=msg",
			 DSM_DIR_NODES - 1);
		return -EOPNOTSUPP;
	}
	if (p->metadata == DSM_METADATA_RDMA && pages > DSM_DIR_PAGES) {
		snprintf(why, why_bytes,
			 "metadata=rdma has words for %u pages, and the region is longer; use metadata=msg",
			 DSM_DIR_PAGES);
		return -EOPNOTSUPP;
	}
	if (p->algo != DSM_ALGO_ARRAY || nodes < 1ull << DSM_ARRAY_NODES)
		return 0;
	snprintf(why, why_bytes,
		 "algo=array has an entry for each of the nodes 0 to %u, and the cluster has others; use algo=queue",
		 DSM_ARRAY_NODES - 1);
	return -EOPNOTSUPP;
}

/**
 * dsm_policy_format() - settings as text that parses back to the same
 * @p:     settings
 * @out:   text
 * @bytes: room in @out
 *
 * Context: any.
 */
void dsm_policy_format(const struct dsm_policy *p, char *out, u32 bytes)
{
	static const char * const homes[] = { "block", "rr", "first-touch", "migrate",
					      "migrate@barrier" };
	const char *consistency = consistencies[p->consistency];
	u32 at, i;

	if (p->home == DSM_HOME_BLOCK && p->block_pages)
		at = snprintf(out, bytes, "consistency=%s,home=block:%u", consistency, p->block_pages);
	else
		at = snprintf(out, bytes, "consistency=%s,home=%s", consistency, homes[p->home]);
	if (p->diff == DSM_DIFF_MODE_ORIG)
		at += snprintf(out + min(at, bytes), bytes - min(at, bytes), ",diff=orig");
	else
		at += snprintf(out + min(at, bytes), bytes - min(at, bytes), ",diff=pipe:%u:%u",
			       p->pipe_bytes, p->pipe_depth);
	for (i = 0; i < ARRAY_SIZE(choices); i++) {
		if (choices[i].unsaid && !*((const u8 *)p + choices[i].offset))
			continue;
		at += snprintf(out + min(at, bytes), bytes - min(at, bytes), ",%s=%s",
			       choices[i].key,
			       choices[i].words[*((const u8 *)p + choices[i].offset)]);
	}
}

/**
 * dsm_policy_home() - where a page lives, or for first touch who knows where
 * @p:     settings
 * @pages: length of the region
 * @n:     number of members, at least 1
 * @idx:   page index below @pages
 *
 * Context: any.
 * Return: index into the region's members.
 */
u16 dsm_policy_home(const struct dsm_policy *p, u64 pages, u16 n, u32 idx)
{
	u64 block;

	if (p->home == DSM_HOME_RR)
		return idx % n;
	/* A first-touch manager is spread finely: its table grows with what is touched. */
	if (dsm_policy_claims(p))
		return (idx / 16) % n;
	block = p->block_pages ? p->block_pages : (pages + n - 1) / n;
	return (idx / block) % n;
}
