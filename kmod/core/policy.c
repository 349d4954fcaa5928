// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Settings of a region: text to struct and back, and the home map.
 *
 * Known words that later versions will carry are refused as "not in this
 * version", never taken silently. Keeps no state.
 */
#include "policy.h"

static const char * const presets_later[] = {
	"csm-dms", "csm-ms", "csm-s", "csm-none", "csm-ms-mg", "csm-none-mg", "csm-adb",
	"hlrc-copy", "hlrc-nocopy", "hlrc-orig", "hlrc-pipe", "hlrc-rdma", "sc", "auto",
};

static const char * const keys_later[] = {
	"data", "fetch", "diffpath", "metadata", "diff", "bcast", "sync",
};

struct word {
	const char *at;
	u32 len;
};

static bool word_is(const struct word *w, const char *s)
{
	return strlen(s) == w->len && !memcmp(w->at, s, w->len);
}

static bool word_in(const struct word *w, const char * const *list, u32 n)
{
	while (n--)
		if (word_is(w, list[n]))
			return true;
	return false;
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
	if (word_is(v, "hlrc")) {
		*p = (struct dsm_policy){
			.consistency = DSM_CONSISTENCY_HLRC,
			.home = DSM_HOME_BLOCK,
		};
		return 0;
	}
	if (word_in(v, presets_later, ARRAY_SIZE(presets_later))) {
		snprintf(why, why_bytes, "preset=%.*s is not in this version; use preset=hlrc",
			 (int)v->len, v->at);
		return -EOPNOTSUPP;
	}
	snprintf(why, why_bytes, "unknown preset '%.*s'; use preset=hlrc", (int)v->len, v->at);
	return -EINVAL;
}

static int set_home(struct dsm_policy *p, const struct word *v, char *why, u32 why_bytes)
{
	struct word n = { .at = v->at + 6, .len = v->len - 6 };

	if (v->len >= 7 && !memcmp(v->at, "migrate", 7)) {
		snprintf(why, why_bytes,
			 "home=%.*s is not in this version; use block, block:PAGES, rr or first-touch",
			 (int)v->len, v->at);
		return -EOPNOTSUPP;
	}
	p->block_pages = 0;
	if (word_is(v, "block")) {
		p->home = DSM_HOME_BLOCK;
	} else if (v->len > 6 && !memcmp(v->at, "block:", 6) && !parse_u32(&n, &p->block_pages)) {
		p->home = DSM_HOME_BLOCK;
	} else if (word_is(v, "rr")) {
		p->home = DSM_HOME_RR;
	} else if (word_is(v, "first-touch")) {
		p->home = DSM_HOME_FIRST_TOUCH;
	} else {
		snprintf(why, why_bytes, "home=%.*s: use block, block:PAGES, rr or first-touch",
			 (int)v->len, v->at);
		return -EINVAL;
	}
	return 0;
}

static int set_consistency(struct dsm_policy *p, const struct word *v, char *why, u32 why_bytes)
{
	if (word_is(v, "hlrc")) {
		p->consistency = DSM_CONSISTENCY_HLRC;
		return 0;
	}
	if (word_is(v, "sc") || word_is(v, "cashmere")) {
		snprintf(why, why_bytes, "consistency=%.*s is not in this version; use hlrc",
			 (int)v->len, v->at);
		return -EOPNOTSUPP;
	}
	snprintf(why, why_bytes, "unknown consistency '%.*s'; use hlrc", (int)v->len, v->at);
	return -EINVAL;
}

static int set_one(struct dsm_policy *p, const struct word *key, const struct word *val, char *why,
		   u32 why_bytes)
{
	if (word_is(key, "preset"))
		return set_preset(p, val, why, why_bytes);
	if (word_is(key, "home"))
		return set_home(p, val, why, why_bytes);
	if (word_is(key, "consistency"))
		return set_consistency(p, val, why, why_bytes);
	if (word_in(key, keys_later, ARRAY_SIZE(keys_later))) {
		snprintf(why, why_bytes, "setting '%.*s' is not in this version", (int)key->len,
			 key->at);
		return -EOPNOTSUPP;
	}
	snprintf(why, why_bytes, "unknown setting '%.*s'; known: preset, home, consistency",
		 (int)key->len, key->at);
	return -EINVAL;
}

/**
 * dsm_policy_parse() - settings from text
 * @text:      "key=value,key=value"; a bare word is a preset; "" gives the defaults (hlrc, block)
 * @out:       settings
 * @why:       on failure: one line saying what is wrong and what would be right
 * @why_bytes: room in @why
 *
 * Context: any.
 * Return: 0; -EINVAL unknown or malformed word; -EOPNOTSUPP known, but not in this version.
 */
int dsm_policy_parse(const char *text, struct dsm_policy *out, char *why, u32 why_bytes)
{
	static const char preset[] = "preset";

	*out = (struct dsm_policy){ .consistency = DSM_CONSISTENCY_HLRC, .home = DSM_HOME_BLOCK };
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
	return 0;
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
	static const char * const homes[] = { "block", "rr", "first-touch" };

	if (p->home == DSM_HOME_BLOCK && p->block_pages)
		snprintf(out, bytes, "consistency=hlrc,home=block:%u", p->block_pages);
	else
		snprintf(out, bytes, "consistency=hlrc,home=%s", homes[p->home]);
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
	if (p->home == DSM_HOME_FIRST_TOUCH)
		return (idx / 16) % n;
	block = p->block_pages ? p->block_pages : (pages + n - 1) / n;
	return (idx / block) % n;
}
