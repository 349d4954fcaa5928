// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Programs for regions with consistency=cashmere: those of litmus.c that hlrc has to pass too, and those about
 * what only cashmere promises or does. And programs again, with bcast=adaptive.
 */
#include "model.h"

#define A 0
#define B 1
#define C 2
#define END { OP_END, 0, 0, 0 }
#define PROG(name, ...) static const struct op name[] = { __VA_ARGS__, END }

/* What every run looks at: with cashmere most. All others are for deep runs, and each for its turn. */
static const char * const as_hlrc[] = {
	"L1", "L2", "L3", "L6", "L7", "L8", "L8small", "L9", "L10", "L10flag", "L11", "L12", "L13", "L14", "L15", "L15flush",
	"L15write", "L16", "L17", "L23", "L27", "L28", "L30", "L34", "L35", "L37", "L40", "L41", "L43", "untold", "kept", "dma", "mix",
	"crash-lock", "crash-all", "crash-flag", "crash-barrier", "around", "L18", "L19", "L36", "L38", "L39", "L39left", "drop", "turns",
	"upg", "dma-wanted", "crash-only", "L24", "L25", "L25merge", "L25halves", "L25halves-merge",
};

/* And with hlrc those of cashmere that it has to pass too. */
static const char * const as_own[] = { "L18", "L19", "L38" };

/* With sc those that end in few steps. */
static const char * const as_sc[] = { "L1", "L3", "L8small", "L12", "L23", "L34", "L36" };

/* With notices=lazy those in which it matters who has copies, who has been told, and that a lock goes on without a release. */
static const char * const as_lazy[] = {
	"L1", "L8", "L9", "L10", "L11", "L14", "L16", "L17", "L28", "L30", "L37", "mix", "crash-lock", "crash-all", "around", "L18", "L38", "L39",
	"drop", "turns", "upg", "crash-only", "L25", "L25halves", "slot", "part-told", "part-pages",
};

/* And with home=migrate. */
static const char * const as_lazy_moved[] = { "L9", "L17", "L38", "mix", "drop", "turns", "upg", "crash-only" };

/* With home=migrate those in which pages change hands. */
static const char * const as_moved[] = {
	"L1", "L7", "L8", "L9", "L10", "L12", "L14", "L15", "L16", "L17", "L23", "L28", "L30", "L37", "kept", "dma", "mix", "crash-lock",
	"crash-barrier", "L18", "L36", "L38", "drop", "turns", "upg", "around", "crash-only",
};

/* With metadata=rdma those in which sets and notices matter. */
static const char * const as_dir[] = {
	"L1", "L8", "L9", "L14", "L16", "L17", "L28", "L30", "L37", "dma", "mix", "crash-all", "crash-barrier", "around", "L18", "L36",
	"L38", "L39", "L39left", "drop", "turns", "upg", "dma-wanted", "crash-only", "crash-touch", "crash-said", "L25", "L25halves",
};

/* With home=migrate@barrier, in regions with cashmere and with hlrc, those with barriers in which pages may move; if releases tell, a few. */
static const char * const as_at_barrier_told[] = { "L17", "mix", "turns", "L38", "L25halves" };
static const char * const as_at_barrier[] = {
	"L7", "L15", "L17", "kept", "mix", "crash-barrier", "turns", "L38", "L25", "L25halves", "drop", "around",
};

/* And with home=migrate too. */
static const char * const as_moved_dir[] = { "L9", "L14", "L17", "L38", "mix", "drop", "turns", "around", "crash-only", "crash-barrier" };

/* With bcast=adaptive those in which copies are made while something else goes on. */
static const char * const as_cast[] = {
	"L9", "L16", "L17", "L24", "L30", "alone", "look", "mix", "crash-all", "L38", "drop", "turns", "crash-only",
};

/* And with metadata=rdma, or home=migrate, too. */
static const char * const as_cast_more[] = { "L16", "mix", "L38", "drop", "turns", "crash-only", "crash-lock" };

static s8 reg(u32 thread, u32 r)
{
	return w.thread[thread].reg[r];
}

/* L18: a page written without anybody knowing, then read elsewhere, then written again. */
PROG(l18_a, STORE(0, 0, 1), LOCK(0), STORE(0, 0, 2), STORE(0, 1, 2), UNLOCK(0), TELL(0), LOCK(0), STORE(0, 0, 3), UNLOCK(0));
PROG(l18_b, LOAD(0, 0, 1), HEAR(0), LOCK(0), LOAD(0, 0, 0), LOAD(0, 1, 1), UNLOCK(0));

/* L19: the first to read is the home, or anybody. */
PROG(l19_a, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0), LOAD(0, 0, 0), STORE(0, 1, 1));
PROG(l19_b, HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0));

/* L36: who releases has told all that have a copy, whatever they acquire next. */
PROG(l36_a, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l36_b, LOAD(0, 0, 1), HEAR(0), LOCK(1), LOAD(0, 0, 0), UNLOCK(1));

static const char *l36_final(void)
{
	return reg(1, 0) == 1 ? NULL : "a completed release is not seen";
}

/* L38: copies that are made while diffs of two writers arrive. */
PROG(l38_w0, LOAD(0, 3, 3), LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l38_w1, LOAD(0, 3, 3), LOCK(1), STORE(0, 1, 1), UNLOCK(1), TELL(1));
PROG(l38_r, LOAD(0, 0, 2), LOAD(0, 1, 3), HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0), HEAR(1), LOCK(1), LOAD(0, 1, 1), UNLOCK(1));

/* A node that is told again and again of a page that it does not use any more, and then uses it. */
#define BOTH LOCK(0), INC(0, 0), INC(1, 0), UNLOCK(0)
#define LOOK1 LOCK(0), LOAD(1, 0, 1), UNLOCK(0)
#define LOOK0 LOCK(0), LOAD(0, 0, 0), UNLOCK(0)
PROG(drop_a, BOTH, TELL(0), HEAR(1), BOTH, TELL(2), HEAR(3), BOTH, LOOP(3, 8));
PROG(drop_b, HEAR(0), LOOK0, LOOK1, TELL(1), HEAR(2), LOOK1, TELL(3), LOOK1, LOOK1, LOOK0, LOOK1, LOOK0, LOOK1, LOOK0, LOOK0);

/* L39: who has an old copy, and is the only one that is left, becomes exclusive (P2). */
PROG(l39_a, LOAD(0, 0, 0), SET(1), STORE(0, 0, 5), WAIT(0), LOAD(0, 1, 1), LOAD(0, 0, 2));
PROG(l39_b, WAIT(1), STORE(0, 1, 7), SET(0), LOAD(0, 1, 0));

/* The same, and all others have left by themselves: B is told by A, which has not looked at what B told. */
PROG(l39left_a, LOAD(0, 3, 3), TELL(0), HEAR(1), STORE(0, 0, 1), RELEASE, TELL(2), HEAR(3), STORE(0, 0, 2), RELEASE, STORE(0, 0, 3),
	STORE(0, 0, 4));
PROG(l39left_b, HEAR(0), STORE(0, 1, 7), RELEASE, TELL(1), HEAR(2), LOCK(1), LOAD(1, 0, 0), UNLOCK(1), LOOP(6, 5), TELL(3), LOCK(0),
	LOAD(0, 1, 1), UNLOCK(0), LOOP(3, 10));
PROG(l39left_c, LOCK(1), INC(1, 0), UNLOCK(1), LOOP(8, 0));

/* Exclusive by turns: written under a lock by all, read first, or not. */
PROG(turns_r, LOCK(0), INC(0, 0), UNLOCK(0), LOCK(0), INC(0, 0), UNLOCK(0), LOCK(0), INC(0, 0), STORE(0, 1, 1), UNLOCK(0));
PROG(turns_w, LOCK(0), STORE(1, 0, 4), UNLOCK(0), LOCK(0), INC(0, 0), STORE(1, 1, 5), UNLOCK(0), LOCK(0), LOAD(1, 0, 1), LOAD(1, 1, 2),
	UNLOCK(0));

/* A page is invalidated while it is asked for as the only copy, which it is not (P7): who acquired does not see its old bytes. */
PROG(upg_w, LOAD(0, 0, 0), TELL(1), STORE(0, 2, 5), LOAD(0, 2, 1));
PROG(upg_r, HEAR(0), LOCK(0), LOAD(0, 1, 0), UNLOCK(0));
PROG(upg_c, HEAR(1), LOCK(0), STORE(0, 1, 1), UNLOCK(0), TELL(0));

/* A device writes a page that is exclusive when others want it. */
PROG(dma_a, PIN(0), DMA(0, 0, 1), TELL(0), DMA(0, 1, 2), UNPIN(0), LOCK(0), UNLOCK(0), TELL(1));
PROG(dma_b, HEAR(0), LOAD(0, 0, 2), STORE(0, 2, 3), HEAR(1), LOCK(0), LOAD(0, 0, 0), LOAD(0, 1, 1), UNLOCK(0));

/* The node that has the only copy is lost. */
PROG(crash_a, STORE(0, 0, 1), SET(0), STORE(0, 1, 2), LOCK(0), INC(0, 2), UNLOCK(0));
PROG(crash_b, WAIT(0), LOAD(0, 0, 0), LOCK(0), INC(0, 2), UNLOCK(0));

/* Two have heard that a node has the only copy. It is lost after one of them got the page, and before the other asks. */
PROG(said_a, STORE(0, 0, 1));
PROG(said_b, LOAD(0, 0, 0));

/* L20: a diff that crosses its home's move. */
PROG(l20_a, STORE(0, 0, 1), RELEASE, STORE(0, 0, 2), LOCK(1), STORE(0, 0, 3), UNLOCK(1));
PROG(l20_b, HEAR(0), LOCK(0), LOAD(0, 1, 0), UNLOCK(0));
PROG(l20_c, LOAD(0, 1, 1), LOCK(0), STORE(0, 1, 7), UNLOCK(0), TELL(0));
PROG(l20_h, STORE(0, 2, 1), RELEASE, LOAD(0, 0, 0), STORE(0, 2, 2), RELEASE);

/* L21: who was home goes on reading, and is told by the next one. */
PROG(l21_h, LOCK(0), STORE(0, 2, 1), UNLOCK(0), TELL(0), LOAD(0, 0, 2), HEAR(1), LOCK(0), LOAD(0, 0, 0), LOAD(0, 1, 1), UNLOCK(0),
	HEAR(2), LOCK(0), LOAD(0, 0, 0), LOAD(0, 1, 1), UNLOCK(0));
PROG(l21_a, HEAR(0), LOCK(0), LOAD(0, 2, 2), STORE(0, 0, 5), UNLOCK(0), TELL(1), LOCK(0), STORE(0, 0, 6), UNLOCK(0), TELL(2));
PROG(l21_c, LOAD(0, 3, 3), LOCK(1), STORE(0, 1, 3), UNLOCK(1), LOCK(1), STORE(0, 1, 4), UNLOCK(1));

/* L22: a page that moves all the time, and one who wants to read it. */
PROG(l22_a, STORE(0, 0, 1), RELEASE, STORE(0, 0, 2), RELEASE, STORE(0, 0, 3), RELEASE, STORE(0, 0, 4), RELEASE, BARRIER(0, 4));
PROG(l22_d, STORE(0, 1, 1), RELEASE, STORE(0, 1, 2), RELEASE, STORE(0, 1, 3), RELEASE, STORE(0, 1, 4), RELEASE, BARRIER(0, 4));
PROG(l22_b, LOAD(0, 0, 0), LOAD(0, 1, 1), STORE(0, 2, 1), RELEASE, LOAD(0, 0, 0), BARRIER(0, 4), LOAD(0, 0, 0), LOAD(0, 1, 1));

static const char *l22_final(void)
{
	if (w.o.most_moves > DSM_MOVES_MAX)
		return "the page moves without end";
	return w.o.most_nacks < w.l->nodes ? NULL : "a question goes round between those who were home";
}

/* The home maps a page that it has not used, and another node wants to have it exclusively. */
PROG(around_a, AROUND, LOCK(0), INC(0, 0), INC(1, 0), UNLOCK(0), AROUND, LOCK(0), INC(1, 0), UNLOCK(0), LOOP(1, 0));
PROG(around_b, LOCK(0), STORE(0, 0, 5), UNLOCK(0), AROUND, TELL(0), LOCK(0), INC(1, 0), INC(0, 0), UNLOCK(0));
PROG(around_h, HEAR(0), AROUND, LOCK(0), LOAD(0, 0, 0), LOAD(1, 0, 1), UNLOCK(0), AROUND, LOCK(0), INC(0, 0), UNLOCK(0));

/* First touch counts anew after two barriers: bytes, versions and who has copies go along (P14). */
#define ROI(n) BARRIER(0, n), UNCLAIM, BARRIER(0, n)
PROG(roi_a, STORE(0, 0, 1), STORE(1, 0, 1), ROI(3), LOCK(0), INC(0, 0), UNLOCK(0), STORE(1, 1, 2), BARRIER(0, 3), LOAD(0, 0, 0),
	LOAD(1, 1, 1), LOAD(1, 2, 2), LOAD(0, 3, 3));
PROG(roi_b, LOAD(0, 1, 1), ROI(3), LOCK(0), INC(0, 0), UNLOCK(0), STORE(1, 2, 3), STORE(0, 2, 1), BARRIER(0, 3), LOAD(0, 0, 0),
	LOAD(1, 1, 1), LOAD(1, 2, 2), LOAD(0, 3, 3));
PROG(roi_c, STORE(1, 3, 7), ROI(3), STORE(0, 3, 4), LOCK(0), INC(0, 0), UNLOCK(0), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(1, 1, 1),
	LOAD(1, 2, 2), LOAD(0, 3, 3));
/* Without barriers: at any time. */
PROG(unclaim_a, UNCLAIM, LOCK(0), INC(0, 0), STORE(1, 0, 1), UNLOCK(0), UNCLAIM, LOCK(0), INC(0, 0), INC(1, 0), UNLOCK(0), UNCLAIM);
PROG(unclaim_b, LOCK(0), INC(0, 0), UNLOCK(0), UNCLAIM, LOAD(0, 1, 1), STORE(0, 1, 1), LOCK(1), STORE(1, 1, 3), UNLOCK(1), UNCLAIM);

/* L6 where several read: they read again and again, while siblings take their copies away. */
PROG(wide_w, STORE(0, 0, 1), RELEASE, STORE(0, 0, 2), RELEASE, STORE(0, 0, 3), RELEASE);
PROG(wide_r, LOAD(0, 0, 0), LOAD(0, 0, 1), LOAD(0, 0, 2), LOAD(0, 0, 3));
PROG(wide_a, ACQUIRE, ACQUIRE, ACQUIRE);

/* A copy with more than its label says is lost, and a multicast of the same label has come meanwhile. */
PROG(late_w, STORE(0, 0, 1), RELEASE, TELL(0), STORE(0, 0, 2), TELL(1));
PROG(late_r, HEAR(0), LOAD(0, 0, 0), LOAD(0, 0, 1), LOAD(0, 0, 2), LOAD(0, 0, 3));
PROG(late_a, HEAR(1), ACQUIRE, ACQUIRE);
PROG(late_c, HEAR(1), STORE(1, 0, 1), RELEASE, STORE(1, 0, 2), RELEASE, STORE(1, 0, 3), RELEASE);

/* A copy labelled before a multicast of a later version is made would leave after it, with bytes written since. */
PROG(early_w, STORE(0, 0, 1), RELEASE, TELL(0), STORE(0, 0, 2), RELEASE, TELL(1), HEAR(2), STORE(0, 0, 3), TELL(3));
PROG(early_a, HEAR(3), ACQUIRE);
PROG(early_c, HEAR(1), PREFETCH(0), TELL(2));

/* L29: late, repeated and partial multicasts of versions that a node knows to be old. */
PROG(l29_w, LOCK(0), INC(0, 0), INC(0, DSM_PAGE_BYTES - 1), UNLOCK(0), LOOP(2, 0));
PROG(l29_r, LOCK(0), LOAD(0, 0, 0), LOAD(0, DSM_PAGE_BYTES - 1, 1), UNLOCK(0), LOOP(2, 0));

static const struct litmus casts[] = {
	{ "L6wide", 3, 5, { A, B, B, C, C }, LITMUS_SMALL_LOG, { wide_w, wide_r, wide_a, wide_r, wide_a }, NULL },
	{ "L6late", 3, 4, { A, B, B, C }, LITMUS_SMALL_LOG, { late_w, late_r, late_a, late_c }, NULL },
	{ "L6early", 3, 4, { A, B, B, C }, LITMUS_HOLD, { early_w, late_r, early_a, early_c }, NULL },
	{ "L29", 4, 4, { A, B, C, 3 }, 0, { l29_w, l29_r, l29_r, l29_r }, NULL },
};

static const struct litmus unclaims[] = {
	{ "roi", 3, 3, { A, B, C }, LITMUS_QUIET, { roi_a, roi_b, roi_c }, NULL },
	{ "unclaim", 3, 3, { A, B, C }, 0, { unclaim_a, unclaim_b, unclaim_a }, NULL },
	{ "unclaim-crash", 3, 3, { A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { unclaim_a, unclaim_b, unclaim_a }, NULL },
};

static const struct litmus moves_own[] = {
	{ "L20", 4, 4, { A, B, C, 3 }, 0, { l20_a, l20_b, l20_c, l20_h }, NULL, REACH_MOVE | REACH_BACK },
	{ "L21", 3, 3, { A, B, C }, 0, { l21_h, l21_a, l21_c }, NULL, REACH_MOVE },
	{ "L22", 4, 4, { A, B, C, 3 }, LITMUS_QUIET, { l22_a, l22_d, l22_b, l22_b }, l22_final, REACH_MOVE | REACH_NACK },
};

static const struct litmus own[] = {
	{ "around", 3, 3, { A, B, C }, 0, { around_a, around_b, around_h }, NULL },
	{ "L18", 3, 2, { A, B }, 0, { l18_a, l18_b }, NULL },
	{ "L19", 3, 2, { A, B }, 0, { l19_a, l19_b }, NULL },
	{ "L36", 3, 2, { A, B }, 0, { l36_a, l36_b }, l36_final },
	{ "L38", 4, 3, { A, B, C }, 0, { l38_w0, l38_w1, l38_r }, NULL },
	{ "L39", 3, 2, { A, B }, LITMUS_CRASH | LITMUS_ERRORS, { l39_a, l39_b }, NULL },
	{ "L39left", 4, 3, { A, B, C }, 0, { l39left_a, l39left_b, l39left_c }, NULL },
	{ "drop", 3, 2, { A, B }, 0, { drop_a, drop_b }, NULL },
	{ "turns", 3, 4, { A, A, B, C }, 0, { turns_r, turns_w, turns_r, turns_w }, NULL },
	{ "upg", 3, 3, { A, A, B }, 0, { upg_w, upg_r, upg_c }, NULL },
	{ "dma-wanted", 3, 2, { A, B }, 0, { dma_a, dma_b }, NULL },
	{ "crash-only", 3, 3, { A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { crash_a, crash_b, crash_b }, NULL },
	{ "crash-said", 4, 3, { A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { said_a, said_b, said_b }, NULL },
};

struct litmus litmus_csm_list[2400];
u32 litmus_csm_count;

/**
 * struct policy - settings under which programs run again
 * @how:   first part of the names
 * @flags: the settings
 * @often: names of the programs that every run looks at; the others are for deep ones, and for their turn
 * @n:     their number
 */
struct policy {
	const char *how;
	u32 flags;
	const char * const *often;
	u32 n;
};

#define OFTEN(names) names, ARRAY_SIZE(names)

static const struct policy policies[] = {
	{ "csm", LITMUS_CSM, OFTEN(as_hlrc) },
	{ "mg", LITMUS_CSM | LITMUS_MIGRATE, OFTEN(as_moved) },
	{ "dir", LITMUS_CSM | LITMUS_DIR, OFTEN(as_dir) },
	{ "dirmg", LITMUS_CSM | LITMUS_DIR | LITMUS_MIGRATE, OFTEN(as_moved_dir) },
	{ "atb", LITMUS_CSM | LITMUS_AT_BARRIER, OFTEN(as_at_barrier_told) },
	{ "hatb", LITMUS_AT_BARRIER, OFTEN(as_at_barrier) },
	{ "lazy", LITMUS_CSM | LITMUS_LAZY, OFTEN(as_lazy) },
	{ "lazymg", LITMUS_CSM | LITMUS_LAZY | LITMUS_MIGRATE, OFTEN(as_lazy_moved) },
	{ "lazyatb", LITMUS_CSM | LITMUS_LAZY | LITMUS_AT_BARRIER, OFTEN(as_at_barrier) },
	{ "cast", LITMUS_BCAST, OFTEN(as_cast) },
	{ "castcsm", LITMUS_BCAST | LITMUS_CSM, OFTEN(as_cast) },
	{ "castdir", LITMUS_BCAST | LITMUS_CSM | LITMUS_DIR, OFTEN(as_cast_more) },
	{ "hlrc", 0, OFTEN(as_own) },
	{ "sync", LITMUS_SC | LITMUS_ORDERED, OFTEN(as_sc) },
};

static bool is_often(const struct policy *p, const struct litmus *l)
{
	u32 n = p->n;

	while (n--)
		if (!strcmp(p->often[n], l->name))
			return true;
	return false;
}

static bool has(const struct litmus *l, u8 kind)
{
	const struct op *op;
	u32 i;

	for (i = 0; i < l->threads; i++)
		for (op = l->thread[i]; op->kind != OP_END; op++)
			if (op->kind == kind)
				return true;
	return false;
}

/* What a program is about has to exist there. */
static bool applies(const struct policy *p, const struct litmus *l)
{
	bool eager = p->flags & LITMUS_CSM && !(p->flags & LITMUS_LAZY);

	/* Processes have no part of a lock whose unlock is a release. */
	if (eager && !strncmp(l->name, "slot", 4))
		return false;
	/* What only a release promises that has told all. */
	if (!eager && !(p->flags & LITMUS_SC) && l->final == l36_final)
		return false;
	/* No remote reads of pages: L25msg is the same then. */
	if (p->flags & (LITMUS_MIGRATE | LITMUS_BCAST) && !strcmp(l->name, "L25"))
		return false;
	/* The same; and pages of sc are asked for otherwise. */
	if (p->flags & (LITMUS_MIGRATE | LITMUS_BCAST | LITMUS_SC) && l->flags & LITMUS_HALVES)
		return false;
	/* litmus_moves.c has another one. */
	if (p->flags & LITMUS_AT_BARRIER && !strcmp(l->name, "L19"))
		return false;
	/* No pages are fetched ahead, and litmus_sc.c loses nodes. */
	if (p->flags & LITMUS_SC && (l->flags & LITMUS_CRASH || has(l, OP_AHEAD) || has(l, OP_AROUND)))
		return false;
	/*
	 * Locks go between nodes as they do there, and of pages of two nodes that are apart little is promised where a release
	 * tells, or homes move.
	 */
	if (l->flags & LITMUS_PART && p->flags != (LITMUS_CSM | LITMUS_LAZY))
		return false;
	/* What hlrc does not promise. */
	return p->flags & (LITMUS_CSM | LITMUS_SC) || strncmp(l->name, "L39", 3);
}

static void add(const struct litmus *l, const struct policy *p, u32 flags)
{
	static char name[ARRAY_SIZE(litmus_csm_list)][24];
	u32 n = litmus_csm_count++;

	if (n == ARRAY_SIZE(litmus_csm_list))
		fail("model: more programs than their list has room for");
	snprintf(name[n], sizeof(name[n]), "%s-%s", p->how, l->name);
	litmus_csm_list[n] = *l;
	litmus_csm_list[n].name = name[n];
	litmus_csm_list[n].flags |= p->flags | flags;
}

static void add_all(const struct policy *p, const struct litmus *list, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (applies(p, &list[i]))
			add(&list[i], p, is_often(p, &list[i]) ? 0 : LITMUS_MORE);
}

/* Once per program. */
void litmus_csm_init(void)
{
	const struct policy *p;
	u32 i;

	for (p = policies; p < policies + ARRAY_SIZE(policies); p++) {
		bool moves = p->flags & LITMUS_MIGRATE, at_barrier = p->flags & LITMUS_AT_BARRIER;
		bool cast = p->flags & LITMUS_BCAST, plain = !p->flags, lazy = p->flags & LITMUS_LAZY;
		bool told = p->flags & LITMUS_CSM && !lazy;

		if (!plain)
			add_all(p, litmus_list, litmus_count);
		add_all(p, own, ARRAY_SIZE(own));
		for (i = 0; i < ARRAY_SIZE(unclaims) && p->flags & LITMUS_CSM && !at_barrier; i++)
			add(&unclaims[i], p, LITMUS_MOVES | (cast || lazy ? LITMUS_MORE : 0));
		for (i = 0; i < ARRAY_SIZE(moves_own) && moves; i++)
			add(&moves_own[i], p, cast || lazy ? LITMUS_MORE : 0);
		for (i = 0; i < litmus_moves_count && at_barrier; i++)
			add(&litmus_moves_list[i], p, told ? LITMUS_MORE : 0);
		for (i = 0; i < ARRAY_SIZE(casts) && cast; i++)
			add(&casts[i], p, 0);
		for (i = 0; i < litmus_sc_count && p->flags & LITMUS_CSM; i++)
			if (litmus_sc_list[i].flags & LITMUS_MIXED)
				add(&litmus_sc_list[i], p, p->flags == LITMUS_CSM ? 0 : LITMUS_MORE);
	}
}
