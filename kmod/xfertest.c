// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Debug builds only: tries one-sided transfers between two nodes, without the protocol.
 * debugfs dsm/xfer (of further nodes of this machine dsm/xfer.K) takes one command per write and shows its outcome when read:
 *
 *   reg NODE PAGES            offer pages, registered on the connection to NODE: "key ADDR RKEY"
 *   run NODE ADDR RKEY PAGES  READ, WRITE, CAS, ADD and SIGNAL there: "ok ..." or "failed: ..."
 *   burst NODE ADDR RKEY N    N READs of 64 KiB of the offer's start: "ok N back, M of them late"
 *   bad NODE ADDR RKEY        READ beyond the offer: the connection breaks, "status -112"
 *   key NODE REGION PAGE      what NODE told of its part of a region: "key ADDR RKEY"
 *   try WHAT NODE ADDR RKEY   one read, write or add there: "status 0", or it is refused and the connection breaks
 *   spoil RKEY                the next answer to a fetch takes that key away, 0: no key; "none": does not any more
 *   forge WHAT                the next bulk breaks a rule, or none does any more; see net/forge.c
 *   signals                   "signals N", received since the module was loaded
 *   fault NODE WHAT A B       something goes wrong with NODE; see net/fault.c
 *   free                      take the offer back
 *
 * Touches no region and no engine.
 */
#include <linux/debugfs.h>
#include <linux/sort.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "shell.h"

#define PAGES_MAX DSM_MR_PAGES
#define WORDS (PAGE_SIZE / sizeof(u64))
#define ADDS 40u
#define SIGNALS 200u	/* more than there are credits */
#define SAMPLES 100u

static struct dentry *dir;
static DEFINE_MUTEX(lock);	/* one command at a time, of all nodes; guards what follows */
static struct dsm_node *offerer, *runner;	/* whose the offer is, and the transfers */
static struct page *offer[PAGES_MAX], *local[PAGES_MAX];
static struct dsm_mr *mr;
static char outcome[160] = "nothing was tried\n";
static u32 samples[SAMPLES];

/* What "spoil" is to do: a key; negative: nothing. */
static atomic64_t spoil = ATOMIC64_INIT(-1);
static atomic_t signals = ATOMIC_INIT(0);
static atomic_t out = ATOMIC_INIT(0);		/* transfers not back */
static atomic_t failed = ATOMIC_INIT(0);	/* transfers back with an error */
static DECLARE_WAIT_QUEUE_HEAD(back);
static struct dsm_xfer *finished;		/* the last one that is back */

/**
 * dsm_xfertest_done() - a transfer of the test is back
 * @n:    node
 * @xfer: transfer
 *
 * Context: process.
 */
void dsm_xfertest_done(struct dsm_node *n, struct dsm_xfer *xfer)
{
	if (xfer->status)
		atomic_inc(&failed);
	xfer = xchg(&finished, xfer);
	dsm_net_xfer_free(n->net, xfer);
	if (atomic_dec_and_test(&out))
		wake_up_all(&back);
}

/**
 * dsm_xfertest_signal() - a signal of the test
 * @n:    node
 * @node: sender
 * @imm:  value
 *
 * Context: process.
 * Return: 0.
 */
int dsm_xfertest_signal(struct dsm_node *n, u16 node, u32 imm)
{
	atomic_inc(&signals);
	return 0;
}

/**
 * dsm_xfertest_spoil() - break the rules for sinks, once, if that was asked for
 * @msg: message about to be sent
 *
 * Context: process.
 */
void dsm_xfertest_spoil(struct dsm_msgbuf *msg)
{
	s64 rkey;

	if (likely(atomic64_read(&spoil) < 0) || msg->data[0] != DSM_MSG_PAGE)
		return;
	rkey = atomic64_xchg(&spoil, -1);
	if (rkey < 0)
		return;
	msg->rkey = rkey;
	if (msg->page)
		put_page(msg->page);
	msg->page = NULL;
}

static u64 value(u32 page, u32 word, u32 salt)
{
	return ((u64)page << 40) + ((u64)salt << 20) + word;
}

static void fill(struct page **pages, u32 n, u32 salt)
{
	u32 i, w;

	for (i = 0; i < n; i++)
		for (w = 0; w < WORDS; w++)
			((u64 *)page_address(pages[i]))[w] = value(i, w, salt);
}

static bool holds(struct page **pages, u32 from, u32 n, u32 salt)
{
	u32 i, w;

	for (i = from; i < n; i++)
		for (w = 0; w < WORDS; w++)
			if (((u64 *)page_address(pages[i]))[w] != value(i, w, salt))
				return false;
	return true;
}

static void drop_pages(struct page **pages)
{
	u32 i;

	for (i = 0; i < PAGES_MAX; i++) {
		if (pages[i])
			__free_page(pages[i]);
		pages[i] = NULL;
	}
}

static int get_pages(struct page **pages, u32 n)
{
	u32 i;

	/* From the end: neighbours in the registration are none in memory. */
	for (i = n; i--;) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[i])
			return -ENOMEM;
	}
	return 0;
}

struct target {
	struct dsm_node *from;
	u32 node;
	u64 addr;
	u32 rkey;
	u32 pages;
};

static struct dsm_xfer *make(const struct target *t, u8 op, u64 at)
{
	struct dsm_xfer *x = dsm_net_xfer_alloc(t->from->net, GFP_KERNEL);

	x->op = op;
	x->kind = DSM_XFER_KIND_TEST;
	x->dst = t->node;
	x->rkey = t->rkey;
	x->remote = t->addr + at;
	return x;
}

static bool all_back(void *unused)
{
	return !atomic_read(&out);
}

/* Hand over and wait until all are back. */
static int go(struct dsm_node *from, struct dsm_xfer *list)
{
	struct dsm_xfer *x;
	u64 start = dsm_now_ns();
	u16 node = list->dst;
	bool spun = false;
	int n = 0, err;

	for (x = list; x; x = x->next)
		n++;
	atomic_set(&failed, 0);
	atomic_set(&out, n);
	if (runner && runner != from)
		dsm_net_xfer_free(runner->net, xchg(&finished, NULL));
	runner = from;
	err = dsm_net_xfer(from->net, list);
	if (err) {
		for (; list; list = x) {
			x = list->next;
			dsm_net_xfer_free(from->net, list);
		}
		return err;
	}
	if (n < 16)
		spun = dsm_spin(from, DSM_SPIN_PAGE, node, all_back, NULL);
	wait_event(back, all_back(NULL));
	if (n == 1)
		dsm_spin_learn(DSM_SPIN_PAGE, spun, dsm_now_ns() - start);
	return atomic_read(&failed) ? -EHOSTDOWN : 0;
}

/* All pages of the offer, sixteen a transfer. */
static int move(const struct target *t, u8 op)
{
	struct dsm_xfer *list = NULL, **tail = &list, *x;
	u32 i, s;

	for (i = 0; i < t->pages; i += x->n_segs) {
		x = make(t, op, (u64)i * PAGE_SIZE);
		for (s = 0; s < DSM_XFER_SEGS && i + s < t->pages; s++)
			x->seg[s] = (struct dsm_seg){ .page = local[i + s], .len = PAGE_SIZE };
		x->n_segs = s;
		*tail = x;
		tail = &x->next;
	}
	return go(t->from, list);
}

static int atomic_op(const struct target *t, u8 op, u64 at, u64 compare, u64 operand, u64 *old)
{
	struct dsm_xfer *x = make(t, op, at);
	int err;

	x->compare = compare;
	x->operand = operand;
	x->fence = true;
	err = go(t->from, x);
	if (!err)
		*old = finished->result;
	return err;
}

static const char *try_bytes(const struct target *t)
{
	u32 i;

	if (move(t, DSM_XFER_READ) || !holds(local, 0, t->pages, 1))
		return "READ";
	fill(local, t->pages, 2);
	if (move(t, DSM_XFER_WRITE))
		return "WRITE";
	for (i = 0; i < t->pages; i++)
		clear_page(page_address(local[i]));
	if (move(t, DSM_XFER_READ) || !holds(local, 0, t->pages, 2))
		return "READ of what was written";
	return NULL;
}

static const char *try_atomics(const struct target *t)
{
	struct dsm_xfer *list = NULL, *x;
	u64 was = value(0, 3, 2), old = 0;
	u32 i;

	for (i = 0; i < ADDS; i++) {
		x = make(t, DSM_XFER_ADD, 3 * sizeof(u64));
		x->operand = 5;
		x->next = list;
		list = x;
	}
	if (go(t->from, list) || finished->result != was + 5 * (ADDS - 1))
		return "ADD";
	was += 5 * ADDS;
	if (atomic_op(t, DSM_XFER_CAS, 3 * sizeof(u64), was + 1, 9, &old) || old != was)
		return "CAS that must not swap";
	if (atomic_op(t, DSM_XFER_CAS, 3 * sizeof(u64), was, 9, &old) || old != was)
		return "CAS that must swap";
	if (atomic_op(t, DSM_XFER_ADD, 3 * sizeof(u64), 0, 0, &old) || old != 9)
		return "ADD after CAS";
	return NULL;
}

static const char *try_signals(const struct target *t)
{
	struct dsm_xfer *list = NULL, *x;
	u32 i;

	for (i = 0; i < SIGNALS; i++) {
		x = make(t, DSM_XFER_SIGNAL, 0);
		x->imm = DSM_SIGNAL_TEST << 24 | i;
		/* Some bring bytes along. */
		if (i % 2) {
			x->seg[0] = (struct dsm_seg){ .page = local[0], .off = 64, .len = 64 };
			x->remote += 64;
			x->n_segs = 1;
		}
		x->next = list;
		list = x;
	}
	return go(t->from, list) ? "SIGNAL" : NULL;
}

static int compare(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : *(const u32 *)a > *(const u32 *)b;
}

struct spread {
	u32 median, p90;
};

/* In us, of one transfer after the other. */
static struct spread measure(const struct target *t, u8 op, u32 segs)
{
	struct dsm_xfer *x;
	u32 i, s;
	u64 start;

	for (i = 0; i < SAMPLES; i++) {
		x = make(t, op, 0);
		for (s = 0; s < segs; s++)
			x->seg[s] = (struct dsm_seg){ .page = local[s], .len = PAGE_SIZE };
		x->n_segs = segs;
		start = dsm_now_ns();
		if (go(t->from, x))
			return (struct spread){};
		samples[i] = (dsm_now_ns() - start) / NSEC_PER_USEC;
	}
	sort(samples, SAMPLES, sizeof(samples[0]), compare, NULL);
	return (struct spread){ samples[SAMPLES / 2], samples[SAMPLES * 9 / 10] };
}

static void report(const struct target *t)
{
	struct spread read = measure(t, DSM_XFER_READ, 1);
	struct spread bulk = measure(t, DSM_XFER_READ, DSM_XFER_SEGS);
	struct spread write = measure(t, DSM_XFER_WRITE, 1);
	struct spread add = measure(t, DSM_XFER_ADD, 0);

	snprintf(outcome, sizeof(outcome),
		 "ok median and p90 in us: READ 4K %u %u 64K %u %u WRITE 4K %u %u ADD %u %u\n",
		 read.median, read.p90, bulk.median, bulk.p90, write.median, write.p90, add.median,
		 add.p90);
}

static void run(const struct target *t)
{
	const char *what = NULL;

	if (get_pages(local, max(t->pages, DSM_XFER_SEGS)))
		what = "memory";
	what = what ?: try_bytes(t) ?: try_atomics(t) ?: try_signals(t);
	if (what)
		snprintf(outcome, sizeof(outcome), "failed: %s\n", what);
	else
		report(t);
	drop_pages(local);
}

/* @segs: of each; more than the offer has is refused by its node, which ends the connection. */
static void burst(const struct target *t, u32 n, u64 at)
{
	struct dsm_xfer *list = NULL, *x;
	u64 start = dsm_now_ns();
	u32 i, s;
	int err;

	if (get_pages(local, DSM_XFER_SEGS)) {
		drop_pages(local);
		return;
	}
	for (i = 0; i < n; i++) {
		x = make(t, DSM_XFER_READ, at);
		for (s = 0; s < DSM_XFER_SEGS; s++)
			x->seg[s] = (struct dsm_seg){ .page = local[s], .len = PAGE_SIZE };
		x->n_segs = s;
		x->next = list;
		list = x;
	}
	err = go(t->from, list);
	snprintf(outcome, sizeof(outcome), "status %d, %d of %u failed, %llu us\n", err,
		 atomic_read(&failed), n, (dsm_now_ns() - start) / NSEC_PER_USEC);
	drop_pages(local);
}

/* The registration of a chunk, which has the rights that its region's settings need. */
static void show_key(struct dsm_node *n, u32 node, u32 region, u32 idx)
{
	struct dsm_region *r = dsm_node_region_get(n, region, false);
	struct dsm_key key;
	bool known;

	if (IS_ERR(r)) {
		snprintf(outcome, sizeof(outcome), "failed: %pe\n", r);
		return;
	}
	spin_lock(&n->lock);
	known = dsm_env_key_find(r->space, idx, node, &key);
	spin_unlock(&n->lock);
	dsm_node_region_put(r);
	if (known)
		snprintf(outcome, sizeof(outcome), "key %llx %x\n", key.addr, key.rkey);
	else
		snprintf(outcome, sizeof(outcome), "failed: node %u told of no key\n", node);
}

static int try_one(const struct target *t, const char *what)
{
	struct dsm_xfer *x;
	u8 op;

	if (!strcmp(what, "read"))
		op = DSM_XFER_READ;
	else if (!strcmp(what, "write"))
		op = DSM_XFER_WRITE;
	else if (!strcmp(what, "add"))
		op = DSM_XFER_ADD;
	else
		return -EINVAL;
	if (get_pages(local, 1))
		return -ENOMEM;
	x = make(t, op, 0);
	if (op != DSM_XFER_ADD) {
		x->seg[0] = (struct dsm_seg){ .page = local[0], .len = PAGE_SIZE };
		x->n_segs = 1;
	}
	snprintf(outcome, sizeof(outcome), "status %d\n", go(t->from, x));
	drop_pages(local);
	return 0;
}

static void take_back(void)
{
	dsm_net_mr_free(mr);
	mr = NULL;
	drop_pages(offer);
}

static void offer_pages(struct dsm_node *n, u32 node, u32 pages)
{
	struct dsm_mr *new;

	take_back();
	if (get_pages(offer, pages))
		return;
	fill(offer, pages, 1);
	new = dsm_net_mr_new(n->net, node, offer, pages,
			     DSM_MR_READ | DSM_MR_WRITE | DSM_MR_ATOMIC);
	if (IS_ERR(new)) {
		drop_pages(offer);
		snprintf(outcome, sizeof(outcome), "failed: %pe\n", new);
		return;
	}
	mr = new;
	offerer = n;
	snprintf(outcome, sizeof(outcome), "key %llx %x\n", dsm_net_mr_addr(mr),
		 dsm_net_mr_rkey(mr));
}

static int command(struct dsm_node *from, const char *text)
{
	struct target t = { .from = from };
	char what[16];
	u32 n, a = 0, b = 0;

	if (sscanf(text, "reg %u %u", &t.node, &t.pages) == 2 && t.pages && t.pages <= PAGES_MAX)
		offer_pages(from, t.node, t.pages);
	else if (sscanf(text, "run %u %llx %x %u", &t.node, &t.addr, &t.rkey, &t.pages) == 4 &&
		 t.pages >= DSM_XFER_SEGS && t.pages <= PAGES_MAX)
		run(&t);
	else if (sscanf(text, "burst %u %llx %x %u", &t.node, &t.addr, &t.rkey, &n) == 4)
		burst(&t, n, 0);
	else if (sscanf(text, "bad %u %llx %x", &t.node, &t.addr, &t.rkey) == 3)
		burst(&t, 1, PAGES_MAX * PAGE_SIZE);
	else if (sscanf(text, "key %u %u %u", &t.node, &a, &b) == 3)
		show_key(from, t.node, a, b);
	else if (sscanf(text, "try %15s %u %llx %x", what, &t.node, &t.addr, &t.rkey) == 4)
		return try_one(&t, what);
	else if (sscanf(text, "spoil %x", &t.rkey) == 1)
		atomic64_set(&spoil, t.rkey);
	else if (!strncmp(text, "spoil none", 10))
		atomic64_set(&spoil, -1);
	else if (sscanf(text, "forge %15s", what) == 1)
		return dsm_net_forge(what);
	else if (!strncmp(text, "signals", 7))
		snprintf(outcome, sizeof(outcome), "signals %d\n", atomic_read(&signals));
	else if (sscanf(text, "fault %u %15s %u %u", &t.node, what, &a, &b) >= 2)
		return dsm_net_fault(from->net, t.node, what, a, b);
	else if (!strncmp(text, "free", 4))
		take_back();
	else
		return -EINVAL;
	return 0;
}

static ssize_t write(struct file *file, const char __user *from, size_t n, loff_t *pos)
{
	struct dsm_node *node = file_inode(file)->i_private;
	char text[128] = {};
	int err = -ENOTCONN;

	if (n >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, n))
		return -EFAULT;
	mutex_lock(&lock);
	if (dsm_node_joined(node))
		err = command(node, text);
	mutex_unlock(&lock);
	return err ?: n;
}

static ssize_t read(struct file *file, char __user *to, size_t n, loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&lock);
	ret = simple_read_from_buffer(to, n, pos, outcome, strlen(outcome));
	mutex_unlock(&lock);
	return ret;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.write = write,
	.read = read,
};

/**
 * dsm_xfertest_init() - a node appears
 * @n: node
 *
 * debugfs that is missing is no error.
 *
 * Context: process, module load.
 */
void dsm_xfertest_init(struct dsm_node *n)
{
	char name[16] = "xfer";

	if (!dir)
		dir = debugfs_create_dir("dsm", NULL);
	if (n->number)
		snprintf(name + 4, sizeof(name) - 4, ".%u", n->number);
	debugfs_create_file(name, 0600, dir, n, &fops);
}

/**
 * dsm_xfertest_forget() - this node leaves: peers are gone, the transport is about to stop
 * @n: node
 *
 * Context: process.
 */
void dsm_xfertest_forget(struct dsm_node *n)
{
	mutex_lock(&lock);
	if (offerer == n)
		take_back();
	if (runner == n)
		dsm_net_xfer_free(n->net, xchg(&finished, NULL));
	mutex_unlock(&lock);
}

/**
 * dsm_xfertest_exit() - at module unload, before the first node goes
 *
 * Nothing happens when it is called again.
 *
 * Context: process.
 */
void dsm_xfertest_exit(void)
{
	debugfs_remove_recursive(dir);
	dir = NULL;
}
