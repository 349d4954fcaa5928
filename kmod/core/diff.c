// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Diffs of pages: which bytes changed since the twin was taken, as one record.
 *
 * Making a diff takes two passes. The first compares 64-byte blocks and notes
 * each changed byte in a bitmap; from it follow the encoding and the exact
 * length. The second loads each changed word once and gives that one value to
 * the record and, if asked, to the twin. A sibling may store to the page
 * meanwhile: a store that the second pass misses differs from the twin, so the
 * next diff finds it. Two runs are joined only if no unchanged byte lies
 * between, because sending an unchanged byte would undo another node's store
 * to it.
 *
 * Never writes a byte of a page that the record does not name, not even with
 * the value that it has, and never reads a received length or offset before it was
 * compared with its bound.
 */
#include "diff.h"

#define REC_BYTES ((u32)sizeof(struct dsm_wire_record))
#define RUN_BYTES ((u32)sizeof(struct dsm_wire_run))
#define BLOCK_BYTES 64u

/* A run of this length is worth a string instruction. */
#define COPY_BYTES 256u

/* Run offsets are 16 bits wide, and the bitmap has to fit on the stack. */
static_assert(DSM_PAGE_BYTES <= 65536);

/**
 * struct changes - which bytes of a page changed
 * @map:   bit i of word b: byte 64 * b + i; bits behind the page's end are 0
 * @bytes: number of bits set
 * @runs:  number of groups of adjacent bits set
 */
struct changes {
	u64 map[(DSM_PAGE_BYTES + BLOCK_BYTES - 1) / BLOCK_BYTES];
	u32 bytes;
	u32 runs;
};

static bool is_word_aligned(const void *p)
{
	return IS_ALIGNED((unsigned long)p, sizeof(u64));
}

static u64 load_word(const u8 *p)
{
	u64 word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* Length of a record's bitmap; the last byte may be partly used. */
static u32 map_bytes(u32 page_bytes)
{
	return (page_bytes + 7) / 8;
}

/* One bit per byte of @word that is not 0, the byte at the lowest address in bit 0. */
static u64 nonzero_bytes(u64 word)
{
	const u64 low7 = 0x7f7f7f7f7f7f7f7fULL;
	u64 high;

	high = (((word & low7) + low7) | word) & ~low7;
	high = le64_to_cpu((__force __le64)high);
	return ((high >> 7) * 0x0102040810204080ULL) >> 56;
}

/*
 * Changed bytes of one block of 64; both sides aligned. Most blocks of most pages are unchanged,
 * so that is found out first, without a branch in between.
 */
static __always_inline u64 compare_block(const u8 *page, const u8 *twin)
{
	const u64 *p = (const u64 *)page, *t = (const u64 *)twin;
	unsigned int i;
	u64 mask = 0;

	if (likely(!((READ_ONCE(p[0]) ^ t[0]) | (READ_ONCE(p[1]) ^ t[1]) |
		     (READ_ONCE(p[2]) ^ t[2]) | (READ_ONCE(p[3]) ^ t[3]) |
		     (READ_ONCE(p[4]) ^ t[4]) | (READ_ONCE(p[5]) ^ t[5]) |
		     (READ_ONCE(p[6]) ^ t[6]) | (READ_ONCE(p[7]) ^ t[7]))))
		return 0;
	for (i = 0; i < BLOCK_BYTES / 8; i++)
		mask |= nonzero_bytes(READ_ONCE(p[i]) ^ t[i]) << (8 * i);
	return mask;
}

/* The same for a short or unaligned block. */
static u64 compare_bytes(const u8 *page, const u8 *twin, u32 bytes)
{
	u64 mask = 0;
	u32 i;

	for (i = 0; i < bytes; i++)
		if (READ_ONCE(page[i]) != twin[i])
			mask |= BIT_ULL(i);
	return mask;
}

/* A coarser grain: one changed byte is all of its grain's. */
static u64 widen(u64 mask, u32 grain_log2)
{
	mask |= mask >> 1;
	mask |= mask >> 2;
	if (grain_log2 == 2)
		return (mask & 0x1111111111111111ULL) * 0xf;
	mask |= mask >> 4;
	return (mask & 0x0101010101010101ULL) * 0xff;
}

static __always_inline u64 changes_of(const u8 *page, const u8 *twin, u32 bytes, bool aligned,
				      u32 grain_log2)
{
	u64 mask;

	if (aligned && bytes == BLOCK_BYTES)
		mask = compare_block(page, twin);
	else
		mask = compare_bytes(page, twin, bytes);
	if (mask && grain_log2) {
		mask = widen(mask, grain_log2);
		if (bytes < BLOCK_BYTES)
			mask &= BIT_ULL(bytes) - 1;
	}
	return mask;
}

static void find_changes(const u8 *page, const u8 *twin, u32 page_bytes, u32 grain_log2,
			 struct changes *c)
{
	bool aligned = is_word_aligned(page) && is_word_aligned(twin);
	u64 mask, before = 0;
	u32 off, left;

	c->bytes = 0;
	c->runs = 0;
	for (off = 0; off < page_bytes; off += BLOCK_BYTES) {
		left = min(page_bytes - off, BLOCK_BYTES);
		mask = changes_of(page + off, twin + off, left, aligned, grain_log2);
		c->map[off / BLOCK_BYTES] = mask;
		if (mask) {
			c->bytes += hweight64(mask);
			/* A run starts where the bit below is clear. */
			c->runs += hweight64(mask & ~(mask << 1 | before));
		}
		before = mask >> 63;
	}
}

/* First bit at or above @from that is set (or clear); @end if there is none below it. */
static u32 next_bit(const u64 *map, u32 from, u32 end, bool set)
{
	u64 word;

	while (from < end) {
		word = set ? map[from / 64] : ~map[from / 64];
		word >>= from % 64;
		if (word)
			return min(from + (u32)__ffs64(word), end);
		from += 64 - from % 64;
	}
	return end;
}

static u8 *put_runs(const struct changes *c, u32 page_bytes, u8 *out)
{
	struct dsm_wire_run run;
	u32 off, end, i;

	end = 0;
	for (i = 0; i < c->runs; i++) {
		off = next_bit(c->map, end, page_bytes, true);
		end = next_bit(c->map, off, page_bytes, false);
		run.off = cpu_to_le16(off);
		run.len_minus_1 = cpu_to_le16(end - off - 1);
		memcpy(out, &run, RUN_BYTES);
		out += RUN_BYTES;
	}
	if (c->runs % 2) {
		memset(out, 0, RUN_BYTES);
		out += RUN_BYTES;
	}
	return out;
}

static u8 *put_map(const struct changes *c, u32 page_bytes, u8 *out)
{
	u32 left = map_bytes(page_bytes), i, n;
	__le64 word;

	for (i = 0; left; i++) {
		word = cpu_to_le64(c->map[i]);
		n = min_t(u32, left, sizeof(word));
		memcpy(out, &word, n);
		out += n;
		left -= n;
	}
	return out;
}

/* Copy the changed bytes to @out, each loaded once, and to @twin unless it is NULL. */
static u8 *put_data(const struct changes *c, const u8 *page, u8 *twin, u32 page_bytes, u8 *out)
{
	bool aligned = is_word_aligned(page);
	u32 off, base;
	u64 word, mask;
	u8 value;

	for (off = next_bit(c->map, 0, page_bytes, true); off < page_bytes;
	     off = next_bit(c->map, base + 8, page_bytes, true)) {
		base = off & ~7u;
		mask = c->map[base / 64] >> (base % 64) & 0xff;
		if (aligned && mask == 0xff) {
			word = READ_ONCE(*(const u64 *)(page + base));
			memcpy(out, &word, sizeof(word));
			if (twin)
				memcpy(twin + base, &word, sizeof(word));
			out += sizeof(word);
			continue;
		}
		for (; mask; mask &= mask - 1) {
			off = base + __ffs64(mask);
			value = READ_ONCE(page[off]);
			*out++ = value;
			if (twin)
				twin[off] = value;
		}
	}
	return out;
}

static bool page_is_zero(const u8 *page, u32 page_bytes)
{
	u32 i = 0;

	if (is_word_aligned(page))
		for (; i + sizeof(u64) <= page_bytes; i += sizeof(u64))
			if (READ_ONCE(*(const u64 *)(page + i)))
				return false;
	for (; i < page_bytes; i++)
		if (READ_ONCE(page[i]))
			return false;
	return true;
}

/* The shortest encoding; payload bytes, padding included, go to *@payload. */
static enum dsm_diff_enc choose(const struct changes *c, const u8 *page, u32 page_bytes,
				u32 *payload)
{
	u32 as_runs, as_map;

	if (c->bytes == page_bytes) {
		/* A store between this look and the copy only makes the next diff longer. */
		if (page_is_zero(page, page_bytes)) {
			*payload = 0;
			return DSM_DIFF_ZERO;
		}
		*payload = ALIGN(page_bytes, 8);
		return DSM_DIFF_FULL;
	}
	as_runs = ALIGN(c->runs * RUN_BYTES, 8) + ALIGN(c->bytes, 8);
	as_map = ALIGN(map_bytes(page_bytes) + c->bytes, 8);
	*payload = min(as_runs, as_map);
	return as_runs <= as_map ? DSM_DIFF_RUNS : DSM_DIFF_BITMAP;
}

/**
 * dsm_diff_make_grain() - record how a page differs from its twin
 * @page:       current contents; siblings may store to it meanwhile if @refresh
 * @twin:       contents before the first write
 * @page_bytes: size of both, a multiple of 4, at most DSM_PAGE_BYTES
 * @idx:        page index, for the record's header
 * @grain_log2: 0: exactly the bytes that differ; 2, 3: whole aligned words of 4 or 8 bytes that
 *              have such a byte. An unchanged neighbour then undoes what another node stored to it:
 *              only for programs that share no word (messaging.md 2.3)
 * @refresh:    bring @twin up to what the record says (flush-update, protocol.md
 *              3.2 keep=1)
 * @dst:        buffer for the record
 * @cap:        size of @dst in bytes; DSM_DIFF_RECORD_MAX() always suffices
 *
 * Each byte of the record has one value, loaded once, and with @refresh the twin
 * gets the same.
 *
 * Context: any; takes no lock. The caller keeps others off @twin, and off @page
 *          unless @refresh.
 * Return: bytes used, a multiple of 8; 0 if equal (nothing is written); -ENOSPC
 *         if the record is longer than @cap (@dst and @twin are unchanged);
 *         -EINVAL if @page_bytes is out of range.
 */
int dsm_diff_make_grain(const u8 *page, u8 *twin, u32 page_bytes, u32 idx, u32 grain_log2,
			bool refresh, u8 *dst, u32 cap)
{
	struct dsm_wire_record rec = { .idx = cpu_to_le32(idx) };
	u8 *renew = refresh ? twin : NULL;
	struct changes c;
	u32 payload;
	u8 *out;

	if (page_bytes > DSM_PAGE_BYTES || page_bytes % 4)
		return -EINVAL;
	find_changes(page, twin, page_bytes, grain_log2, &c);
	if (!c.bytes)
		return 0;

	rec.enc = choose(&c, page, page_bytes, &payload);
	if (cap < REC_BYTES + payload)
		return -ENOSPC;
	if (rec.enc == DSM_DIFF_RUNS)
		rec.nruns = cpu_to_le16(c.runs);
	rec.bytes = cpu_to_le32(payload);
	memcpy(dst, &rec, REC_BYTES);
	out = dst + REC_BYTES;

	if (rec.enc == DSM_DIFF_ZERO) {
		if (refresh)
			memset(twin, 0, page_bytes);
		return REC_BYTES;
	}
	if (rec.enc == DSM_DIFF_RUNS)
		out = put_runs(&c, page_bytes, out);
	else if (rec.enc == DSM_DIFF_BITMAP)
		out = put_map(&c, page_bytes, out);
	if (rec.enc == DSM_DIFF_FULL && !refresh) {
		memcpy(out, page, page_bytes);
		out += page_bytes;
	} else {
		out = put_data(&c, page, renew, page_bytes, out);
	}
	memset(out, 0, dst + REC_BYTES + payload - out);
	return REC_BYTES + payload;
}

/* Copy bytes that somebody may store to, each loaded once. */
static void copy_live(u8 *to, const u8 *from, u32 bytes)
{
	u64 word;

	for (; bytes && !is_word_aligned(from); bytes--)
		*to++ = READ_ONCE(*from++);
	for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
		word = READ_ONCE(*(const u64 *)from);
		memcpy(to, &word, sizeof(word));
		to += sizeof(word);
		from += sizeof(word);
	}
	for (; bytes; bytes--)
		*to++ = READ_ONCE(*from++);
}

/* Did all of the first block change? Of a page written in places that is seldom so. */
static bool starts_whole(const u8 *page, const u8 *twin, u32 page_bytes, u32 grain_log2)
{
	bool aligned = is_word_aligned(page) && is_word_aligned(twin);
	u32 bytes = min(page_bytes, BLOCK_BYTES);

	return hweight64(changes_of(page, twin, bytes, aligned, grain_log2)) == bytes;
}

/**
 * dsm_diff_take() - bring a twin up to its page, and say where they differed
 * @page:       current contents; siblings may store to it meanwhile
 * @twin:       contents before the first write
 * @page_bytes: size of both, a multiple of 4, at most DSM_PAGE_BYTES
 * @grain_log2: as for dsm_diff_make_grain()
 * @piece:      filled: changed runs, ascending, with unchanged bytes between them
 * @max:        room in @piece; one run that is the whole page always counts as one that fits
 *
 * Context: any; takes no lock. The caller keeps others off @twin.
 * Return: runs; 0 if equal; -E2BIG if there are more, or the page became all zero, which a record
 *         says in 16 bytes, or it is equal and @max is 0: then @twin is unchanged; -EINVAL if
 *         @page_bytes is out of range.
 */
int dsm_diff_take(const u8 *page, u8 *twin, u32 page_bytes, u32 grain_log2,
		  struct dsm_piece *piece, u32 max)
{
	struct changes c;
	u32 off, end, i;

	if (page_bytes > DSM_PAGE_BYTES || page_bytes % 4)
		return -EINVAL;
	/* The record's maker compares the whole page anyway. */
	if (!max && !starts_whole(page, twin, page_bytes, grain_log2))
		return -E2BIG;
	find_changes(page, twin, page_bytes, grain_log2, &c);
	if (!c.bytes)
		return 0;
	if (c.bytes == page_bytes ? page_is_zero(page, page_bytes) : c.runs > max)
		return -E2BIG;
	for (i = 0, end = 0; i < c.runs; i++) {
		off = next_bit(c.map, end, page_bytes, true);
		end = next_bit(c.map, off, page_bytes, false);
		piece[i] = (struct dsm_piece){ .off = off, .len = end - off };
		copy_live(twin + off, page + off, end - off);
	}
	return c.runs;
}

static bool is_zero(const u8 *p, u32 bytes)
{
	while (bytes--)
		if (*p++)
			return false;
	return true;
}

/* Data of @used bytes and zeros up to the next multiple of 8 fill @bytes exactly. */
static bool tail_is_good(const u8 *p, u32 used, u32 bytes)
{
	return bytes == ALIGN(used, 8) && is_zero(p + used, bytes - used);
}

static bool runs_are_good(const u8 *p, u32 bytes, u32 runs, u32 page_bytes)
{
	u32 table = ALIGN(runs * RUN_BYTES, 8), sum = 0, end = 0, off, i;
	struct dsm_wire_run run;

	if (!runs || table > bytes)
		return false;
	for (i = 0; i < runs; i++) {
		memcpy(&run, p + i * RUN_BYTES, RUN_BYTES);
		off = le16_to_cpu(run.off);
		/* Touching runs would have been one. */
		if (i && off <= end)
			return false;
		end = off + le16_to_cpu(run.len_minus_1) + 1;
		if (end > page_bytes)
			return false;
		sum += end - off;
	}
	return is_zero(p + runs * RUN_BYTES, table - runs * RUN_BYTES) &&
	       tail_is_good(p + table, sum, bytes - table);
}

static bool map_is_good(const u8 *p, u32 bytes, u32 page_bytes)
{
	u32 len = map_bytes(page_bytes), sum = 0, i;

	if (len > bytes)
		return false;
	if (page_bytes % 8 && p[len - 1] >> (page_bytes % 8))
		return false;
	for (i = 0; i < len; i++)
		sum += hweight8(p[i]);
	return sum && tail_is_good(p, len + sum, bytes);
}

/**
 * dsm_diff_check() - check a received record completely, without applying it
 * @src:        the record, and what follows it
 * @len:        bytes at @src
 * @page_bytes: size of a page
 * @idx:        set to the record's page index; unchanged on error
 *
 * A record that passes is safe to apply to any page of @page_bytes. Whether the
 * page index exists is for the caller to say.
 *
 * Context: any; takes no lock.
 * Return: bytes of the record, a multiple of 8; -EPROTO if it is cut off, in an
 *         unknown encoding or grain, has runs out of order or behind the page's end, sums
 *         that do not match, or anything but zeros where nothing belongs.
 */
int dsm_diff_check(const u8 *src, u32 len, u32 page_bytes, u32 *idx)
{
	const u8 *payload = src + REC_BYTES;
	struct dsm_wire_record rec;
	u32 bytes, runs;
	bool good;

	if (len < REC_BYTES)
		return -EPROTO;
	memcpy(&rec, src, REC_BYTES);
	bytes = le32_to_cpu(rec.bytes);
	runs = le16_to_cpu(rec.nruns);
	if (bytes > len - REC_BYTES || rec.grain_log2 || rec.base_seq)
		return -EPROTO;
	if (rec.enc != DSM_DIFF_RUNS && runs)
		return -EPROTO;

	switch (rec.enc) {
	case DSM_DIFF_RUNS:
		good = runs_are_good(payload, bytes, runs, page_bytes);
		break;
	case DSM_DIFF_BITMAP:
		good = map_is_good(payload, bytes, page_bytes);
		break;
	case DSM_DIFF_FULL:
		good = tail_is_good(payload, page_bytes, bytes);
		break;
	case DSM_DIFF_ZERO:
		good = !bytes;
		break;
	default:
		good = false;
	}
	if (!good)
		return -EPROTO;
	*idx = le32_to_cpu(rec.idx);
	return REC_BYTES + bytes;
}

static void store_bytes(u8 *to, const u8 *data, u32 bytes)
{
	for (; bytes; bytes--)
		WRITE_ONCE(*to++, *data++);
}

/* Store a run: whole words where it covers them, single bytes at its ends. */
static void store_run(u8 *to, const u8 *data, u32 bytes)
{
	u32 head = -(unsigned long)to % sizeof(u64);

	if (bytes < head + sizeof(u64)) {
		store_bytes(to, data, bytes);
		return;
	}
	store_bytes(to, data, head);
	to += head;
	data += head;
	bytes -= head;
	if (bytes >= COPY_BYTES) {
		dsm_env_copy_words(to, data, bytes / sizeof(u64));
		to += bytes & -sizeof(u64);
		data += bytes & -sizeof(u64);
		bytes %= sizeof(u64);
	}
	for (; bytes >= sizeof(u64); bytes -= sizeof(u64)) {
		WRITE_ONCE(*(u64 *)to, load_word(data));
		to += sizeof(u64);
		data += sizeof(u64);
	}
	store_bytes(to, data, bytes);
}

static void store_zeros(u8 *to, u32 bytes)
{
	static const u8 zeros[BLOCK_BYTES];
	u32 n;

	for (; bytes; bytes -= n, to += n) {
		n = min(bytes, BLOCK_BYTES);
		store_run(to, zeros, n);
	}
}

static void store_runs(u8 *page, const u8 *src, u32 runs)
{
	const u8 *data = src + ALIGN(runs * RUN_BYTES, 8);
	struct dsm_wire_run run;
	u32 len;

	for (; runs; runs--, src += RUN_BYTES, data += len) {
		memcpy(&run, src, RUN_BYTES);
		len = le16_to_cpu(run.len_minus_1) + 1;
		store_run(page + le16_to_cpu(run.off), data, len);
	}
}

static void store_by_map(u8 *page, const u8 *map, u32 page_bytes)
{
	const u8 *data = map + map_bytes(page_bytes);
	u32 off, mask;

	for (off = 0; off < page_bytes; off += 8) {
		mask = map[off / 8];
		if (mask == 0xff) {
			store_run(page + off, data, 8);
			data += 8;
			continue;
		}
		for (; mask; mask &= mask - 1)
			WRITE_ONCE(page[off + __ffs64(mask)], *data++);
	}
}

/**
 * dsm_diff_apply() - store a record's bytes into a page
 * @src:        a record that dsm_diff_check() accepted
 * @page:       page; others may load and store other bytes of it meanwhile
 * @page_bytes: size of @page, the same as for the check
 *
 * A byte that the record does not name is not written, so a neighbour's store
 * is never lost (mm.md 2.3).
 *
 * Context: any; takes no lock. One caller per page at a time.
 */
void dsm_diff_apply(const u8 *src, u8 *page, u32 page_bytes)
{
	const u8 *payload = src + REC_BYTES;
	struct dsm_wire_record rec;

	memcpy(&rec, src, REC_BYTES);
	switch (rec.enc) {
	case DSM_DIFF_RUNS:
		store_runs(page, payload, le16_to_cpu(rec.nruns));
		break;
	case DSM_DIFF_BITMAP:
		store_by_map(page, payload, page_bytes);
		break;
	case DSM_DIFF_FULL:
		store_run(page, payload, page_bytes);
		break;
	case DSM_DIFF_ZERO:
		store_zeros(page, page_bytes);
		break;
	}
}

static u32 merge_bytes(u8 *frame, u8 *twin, const u8 *in, u32 bytes)
{
	u32 conflicts = 0, i;

	for (i = 0; i < bytes; i++) {
		if (in[i] == twin[i])
			continue;
		if (READ_ONCE(frame[i]) == twin[i])
			WRITE_ONCE(frame[i], in[i]);
		else
			conflicts++;
		twin[i] = in[i];
	}
	return conflicts;
}

/**
 * dsm_diff_merge() - merge a fetched page into one that was written here
 * @frame:      the local copy; siblings may load and store other bytes of it meanwhile
 * @twin:       its contents before the local writes
 * @in:         the home's contents
 * @page_bytes: size of all three
 *
 * protocol.md 3.3: a byte that changed at the home goes into @frame unless it
 * was written here too, and always into @twin, so that writing the old value
 * back later still shows as a change.
 *
 * Context: any; takes no lock. No diff of this page is unacknowledged.
 * Return: number of bytes that both sides changed: unsynchronised writers. The
 *         local value stays.
 */
u32 dsm_diff_merge(u8 *frame, u8 *twin, const u8 *in, u32 page_bytes)
{
	bool aligned = is_word_aligned(frame);
	u32 conflicts = 0, off, left;
	u64 theirs, old;

	for (off = 0; off < page_bytes; off += 8) {
		left = min(page_bytes - off, 8u);
		if (!aligned || left < 8) {
			conflicts += merge_bytes(frame + off, twin + off, in + off, left);
			continue;
		}
		theirs = load_word(in + off);
		old = load_word(twin + off);
		if (theirs == old)
			continue;
		/* A whole word only if every byte of it is to be stored. */
		if (nonzero_bytes(theirs ^ old) == 0xff &&
		    READ_ONCE(*(u64 *)(frame + off)) == old) {
			WRITE_ONCE(*(u64 *)(frame + off), theirs);
			memcpy(twin + off, &theirs, sizeof(theirs));
			continue;
		}
		conflicts += merge_bytes(frame + off, twin + off, in + off, 8);
	}
	return conflicts;
}
