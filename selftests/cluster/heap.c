// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * heap HEAP RAW STEPS: the allocator under stress from all ranks.
 *
 * Blocks of random size are filled with a pattern that depends on their address and owner, checked
 * and freed in random order; each rank then frees what its neighbour allocated, with addresses
 * handed over in the region RAW. Overlaps and lost bytes show up as wrong contents.
 */
#include <errno.h>

#include "common.h"

#define BARRIER_KEY 1
#define KEPT 64
#define RANKS_MAX 16
#define SMALL 300
#define LARGE 60000

struct block {
	uint64_t at, bytes;
};

static struct dsm *heap, *raw;

static uint8_t pattern(const struct block *b, uint64_t i, long owner)
{
	return (uint8_t)((b->at >> 4) * 31 + i * 7 + (uint64_t)owner * 101 + 1);
}

static void fill(const struct block *b, long owner)
{
	uint8_t *p = (uint8_t *)b->at;
	uint64_t i;

	for (i = 0; i < b->bytes; i++)
		p[i] = pattern(b, i, owner);
}

static void check_and_free(struct block *b, long owner)
{
	const uint8_t *p = (const uint8_t *)b->at;
	uint64_t i;

	for (i = 0; i < b->bytes; i++)
		CHECK(p[i] == pattern(b, i, owner), "byte %lu of a block of %lu at %#lx of rank %ld is %u",
		      i, b->bytes, b->at, owner, p[i]);
	must(dsm_free(heap, (void *)b->at), "free");
	b->at = 0;
}

static void allocate(struct block *b, uint32_t *random)
{
	uint64_t limit = next_random(random) % 16 ? SMALL : LARGE, i;
	uint32_t kind = next_random(random) % 8;
	uint8_t *p;

	b->bytes = 1 + next_random(random) % limit;
	if (kind == 0)
		p = dsm_calloc(heap, 1, b->bytes);
	else if (kind == 1)
		p = dsm_aligned_alloc(heap, 256, b->bytes);
	else
		p = dsm_malloc(heap, b->bytes);
	CHECK(p, "%lu bytes: %s", b->bytes, dsm_error());
	CHECK(p >= (uint8_t *)dsm_base(heap) &&
	      p + b->bytes <= (uint8_t *)dsm_base(heap) + dsm_size(heap), "%p is outside", (void *)p);
	CHECK(((uintptr_t)p & (kind == 1 ? 255 : 15)) == 0, "%p is not aligned", (void *)p);
	for (i = 0; kind == 0 && i < b->bytes; i++)
		CHECK(!p[i], "byte %lu of a zeroed block is %u", i, p[i]);
	b->at = (uintptr_t)p;
}

static void stress(struct block *kept, long steps)
{
	uint32_t random = 12345 + (uint32_t)dsm_rank(heap) * 7919;

	while (steps--) {
		struct block *b = &kept[next_random(&random) % KEPT];

		if (b->at) {
			check_and_free(b, dsm_rank(heap));
		} else {
			allocate(b, &random);
			fill(b, dsm_rank(heap));
		}
	}
}

/* Each rank frees the blocks of its neighbour. */
static void exchange(const struct block *kept)
{
	struct block *boxes = dsm_base(raw);
	long ranks = dsm_ranks(heap), next = (dsm_rank(heap) + 1) % ranks, i;

	memcpy(&boxes[dsm_rank(heap) * KEPT], kept, KEPT * sizeof(*kept));
	barrier(raw, BARRIER_KEY, (unsigned int)ranks);
	for (i = 0; i < KEPT; i++)
		if (boxes[next * KEPT + i].at) {
			struct block b = boxes[next * KEPT + i];

			check_and_free(&b, next);
		}
	barrier(raw, BARRIER_KEY, (unsigned int)ranks);
}

/* Rank 0: too much is refused with ENOMEM, and nothing was lost by all that went before. */
static void check_limits(void)
{
	size_t most = dsm_size(heap) / 2;
	void *p;

	CHECK(dsm_has_heap(heap) == 1 && !dsm_has_heap(raw), "which region has a heap");
	errno = 0;
	CHECK(!dsm_malloc(heap, dsm_size(heap)) && errno == ENOMEM, "the whole region: errno %d", errno);
	p = dsm_malloc(heap, most);
	CHECK(p, "half of the region after all was freed: %s", dsm_error());
	errno = 0;
	CHECK(!dsm_malloc(heap, most) && errno == ENOMEM, "half a region twice: errno %d", errno);
	must(dsm_free(heap, p), "free");
	errno = 0;
	CHECK(!dsm_malloc(raw, 16) && errno == EINVAL, "malloc in a raw region: errno %d", errno);
}

int main(int argc, char **argv)
{
	struct block kept[KEPT] = { { 0, 0 } };

	CHECK(argc == 4, "usage: heap HEAP RAW STEPS");
	heap = open_region(argv[1]);
	raw = open_region(argv[2]);
	CHECK(dsm_ranks(heap) <= RANKS_MAX, "at most %d ranks", RANKS_MAX);
	stress(kept, number(argv[3], 1, 1000000));
	exchange(kept);
	if (!dsm_rank(heap))
		check_limits();
	must(dsm_close(raw), "close");
	must(dsm_close(heap), "close");
	return 0;
}
