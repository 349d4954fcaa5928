// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * pings REGION SECONDS: messages by every mechanism, on every connection, between all nodes.
 *
 * First rank 1 asks for what must be refused, then for every length that is a bound. Then all ranks send to
 * all others for a while, as fast as credits allow and with locks taken beside: everything is answered, and the
 * locks' counter is exact. Needs root. Judges no time but that things end.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <time.h>

#include "../../uapi/dsm.h"
#include "common.h"

#define MEET_KEY 1
#define LOCK_KEY 2
#define LOCKS 200
#define BODY_LEAST 8u
#define BODY_MOST 8160u
/* What a message in its work request may have behind its header; soft-RoCE takes so much. */
#define INLINE_MOST 480u
#define COUNT_MOST 4096u
#define WINDOW_MOST 32u
#define GAP_MOST 10000000u

static struct dsm *d;
static volatile uint64_t *counter;
static int control;
static unsigned int ranks, self;
static time_t end;

static struct dsm_ioc_logp valid(unsigned int to)
{
	return (struct dsm_ioc_logp){
		.size = sizeof(struct dsm_ioc_logp), .node = (unsigned short)to, .bytes = 16,
		.answer_bytes = 16, .count = 1, .window = 1, .batch = 1,
	};
}

static void want(const struct dsm_ioc_logp *wanted, int error, const char *what)
{
	struct dsm_ioc_logp a = *wanted;
	int got = ioctl(control, DSM_IOC_LOGP, &a) ? errno : 0;

	CHECK(got == error, "%s: %s instead of %s", what, strerror(got), strerror(error));
	if (!got)
		CHECK(a.total_ns && a.send_ns <= a.total_ns && a.busy_ns <= a.send_ns,
		      "%s: %llu ns in all, %llu sending, %llu busy", what,
		      (unsigned long long)a.total_ns, (unsigned long long)a.send_ns,
		      (unsigned long long)a.busy_ns);
}

#define WANT(_error, _what, ...) do {				\
	struct dsm_ioc_logp _a = valid(!self);			\
	_a.__VA_ARGS__;						\
	want(&_a, _error, _what);				\
} while (0)

static void refusals(void)
{
	WANT(EINVAL, "unknown flag", flags = 0x40000000);
	WANT(EINVAL, "reserved member", reserved = 1);
	WANT(EINVAL, "unknown mechanism", mechanism = DSM_LOGP_BULK + 1);
	WANT(EINVAL, "ring for replies", mechanism = DSM_LOGP_BULK, _a.priority = DSM_LOGP_HIGH);
	WANT(EINVAL, "unknown priority", priority = DSM_LOGP_CALL + 1);
	WANT(EINVAL, "short body", bytes = BODY_LEAST - 1);
	WANT(EINVAL, "long body", bytes = BODY_MOST + 1);
	WANT(EINVAL, "short answer", answer_bytes = BODY_LEAST - 1);
	WANT(EINVAL, "long answer", answer_bytes = BODY_MOST + 1);
	WANT(EINVAL, "length of an answer that does not come", flags = DSM_LOGP_ONE_WAY);
	WANT(EINVAL, "none", count = 0);
	WANT(EINVAL, "too many", count = COUNT_MOST + 1);
	WANT(EINVAL, "no window", window = 0);
	WANT(EINVAL, "wide window", window = WINDOW_MOST + 1);
	WANT(EINVAL, "no batch", batch = 0);
	WANT(EINVAL, "batch beyond the window", batch = 2);
	WANT(EINVAL, "long pause", gap_ns = GAP_MOST + 1);
	WANT(EHOSTDOWN, "itself", node = (unsigned short)self);
	WANT(EHOSTDOWN, "nobody", node = 60);
	WANT(EHOSTDOWN, "no node", node = 0xfffe);
}

static void bounds(void)
{
	unsigned int priority;

	for (priority = DSM_LOGP_LOW; priority <= DSM_LOGP_CALL; priority++) {
		unsigned char p = (unsigned char)priority;

		WANT(0, "shortest", priority = p, _a.bytes = BODY_LEAST, _a.answer_bytes = BODY_LEAST);
		WANT(0, "longest", priority = p, _a.bytes = BODY_MOST, _a.answer_bytes = BODY_MOST);
		WANT(0, "longest inline", priority = p, _a.mechanism = DSM_LOGP_INLINE,
		     _a.bytes = INLINE_MOST, _a.answer_bytes = INLINE_MOST);
		WANT(EMSGSIZE, "longer than inline", priority = p, _a.mechanism = DSM_LOGP_INLINE,
		     _a.bytes = INLINE_MOST + 1);
		WANT(EMSGSIZE, "answer longer than inline", priority = p,
		     _a.mechanism = DSM_LOGP_INLINE, _a.answer_bytes = INLINE_MOST + 1);
		WANT(0, "full window at once", priority = p, _a.mechanism = DSM_LOGP_GATHER,
		     _a.count = 10 * WINDOW_MOST, _a.window = WINDOW_MOST, _a.batch = WINDOW_MOST);
		WANT(0, "spinning", priority = p, _a.flags = DSM_LOGP_SPIN, _a.count = 100);
		WANT(0, "one way", priority = p, _a.flags = DSM_LOGP_ONE_WAY, _a.answer_bytes = 0,
		     _a.count = 10 * WINDOW_MOST, _a.window = WINDOW_MOST, _a.batch = 7);
		WANT(0, "pauses", priority = p, _a.count = 5, _a.gap_ns = 1000000);
	}
	/* More than there are slots, each with one message, and slots that are full. */
	WANT(0, "ring, one by one", mechanism = DSM_LOGP_BULK, _a.count = 10 * WINDOW_MOST,
	     _a.window = WINDOW_MOST);
	WANT(0, "ring, in full slots", mechanism = DSM_LOGP_BULK, _a.priority = DSM_LOGP_CALL,
	     _a.bytes = BODY_MOST, _a.count = 10 * WINDOW_MOST, _a.window = WINDOW_MOST,
	     _a.batch = WINDOW_MOST);
	WANT(0, "ring, one way", mechanism = DSM_LOGP_BULK, _a.flags = DSM_LOGP_ONE_WAY,
	     _a.answer_bytes = 0, _a.count = COUNT_MOST, _a.window = WINDOW_MOST);
	WANT(0, "longest run", flags = DSM_LOGP_ONE_WAY, _a.answer_bytes = 0, _a.count = COUNT_MOST,
	     _a.window = WINDOW_MOST, _a.batch = WINDOW_MOST);
}

/* Two runs to one node: one goes on, the other is told so or comes before or after. */
static void *flood(void *number)
{
	uint32_t random = self * 100 + (uint32_t)(uintptr_t)number + 1;

	while (time(NULL) < end) {
		struct dsm_ioc_logp a = valid(next_random(&random) % ranks);

		if (a.node == self)
			continue;
		a.mechanism = (unsigned char)(next_random(&random) % 4);
		a.priority = (unsigned char)(next_random(&random) % 3);
		if (a.mechanism == DSM_LOGP_BULK && a.priority == DSM_LOGP_HIGH)
			a.priority = DSM_LOGP_LOW;
		a.flags = next_random(&random) % 4;
		a.bytes = BODY_LEAST + next_random(&random) % (INLINE_MOST - BODY_LEAST);
		a.answer_bytes = a.flags & DSM_LOGP_ONE_WAY ? 0 : a.bytes;
		a.count = 1 + next_random(&random) % 500;
		a.window = 1 + next_random(&random) % WINDOW_MOST;
		a.batch = 1 + next_random(&random) % a.window;
		if (ioctl(control, DSM_IOC_LOGP, &a))
			CHECK(errno == EBUSY, "flood: %s", strerror(errno));
	}
	return NULL;
}

static void *work(void *number)
{
	int i;

	if (number)
		return flood(number);
	for (i = 0; i < LOCKS; i++) {
		lock(d, LOCK_KEY);
		++*counter;
		unlock(d, LOCK_KEY);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc == 3, "usage: pings REGION SECONDS");
	d = open_region(argv[1]);
	counter = dsm_base(d);
	ranks = (unsigned int)dsm_ranks(d);
	self = (unsigned int)dsm_node(d);
	control = open("/dev/dsm", O_RDWR);
	CHECK(control >= 0, "/dev/dsm: %s", strerror(errno));
	if (dsm_rank(d) == 1) {
		refusals();
		bounds();
	}
	barrier(d, MEET_KEY, ranks);
	end = time(NULL) + number(argv[2], 1, 100);
	run_threads(4, work);
	barrier(d, MEET_KEY, ranks);
	CHECK(*counter == (uint64_t)LOCKS * ranks, "%lu increments instead of %u", *counter,
	      LOCKS * ranks);
	must(dsm_close(d), "close");
	return 0;
}
