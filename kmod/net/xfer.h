/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * A one-sided transfer inside net (xfer.c), and where its bytes go (xfer_map.c).
 */
#ifndef DSM_NET_XFER_H
#define DSM_NET_XFER_H

#include "net.h"

/* On devices of software the last bytes of a READ come into a segment of their own. */
#define DSM_XFER_BESIDE 1

/* What a work request must hold. */
static inline u32 dsm_xfer_segs(const struct dsm_net *net)
{
	return DSM_XFER_SEGS + (net->software ? DSM_XFER_BESIDE : 0);
}

/* READs and atomics that the device may have under way; the other side may agree on less. */
static inline u8 dsm_xfer_reads(const struct dsm_net *net)
{
	return min(DSM_READS, net->dev->attrs.max_qp_init_rd_atom);
}

/**
 * struct net_xfer - a transfer with what posting it needs
 * @x:      what the shell sees
 * @peer:   receiver, from hand-over to return
 * @cqe:    completion entry
 * @settled: posted, but the device has it no more; @x.status is what comes of it
 * @mapped: segments mapped
 * @tell:   whom to tell in place of the shell, or NULL
 * @sge:    mapped segments
 * @wr:     work request; the others begin with it
 * @rdma:   of READ, WRITE and SIGNAL
 * @atomic: of CAS and ADD
 * @reg:    of a registration
 * @old:    where the device puts an atomic's old value, or the last bytes of a READ; a cache line of its own
 */
struct net_xfer {
	struct dsm_xfer x;
	struct dsm_peer *peer;
	struct ib_cqe cqe;
	bool settled;
	u32 mapped;
	struct completion *tell;
	struct ib_sge sge[DSM_XFER_SEGS + DSM_XFER_BESIDE];
	union {
		struct ib_send_wr wr;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
		struct ib_reg_wr reg;
	};
	u64 old ____cacheline_aligned;
};

static inline bool dsm_xfer_is_atomic(const struct net_xfer *t)
{
	return t->x.op == DSM_XFER_CAS || t->x.op == DSM_XFER_ADD;
}

/* xfer.c */
int dsm_xfer_init(void);
mempool_t *dsm_xfer_pool(void);
void dsm_xfer_exit(void);
void dsm_xfer_peer_init(struct dsm_peer *peer);
int dsm_xfer_register(struct dsm_peer *peer, struct ib_mr *mr, u32 access);
bool dsm_xfer_waits(const struct dsm_peer *peer);
void dsm_xfer_push(struct dsm_peer *peer);
u32 dsm_xfer_signals(const struct dsm_peer *peer);
void dsm_xfer_again(struct dsm_peer *peer, struct dsm_xfer_list *back);
void dsm_xfer_give_back(struct dsm_peer *peer, struct dsm_xfer_list *back);
void dsm_xfer_purge(struct dsm_peer *peer);

/* mr.c */
void dsm_mr_release_all(struct dsm_net *net);
void dsm_mr_forget_all(struct dsm_net *net);

/* xfer_map.c */
void dsm_xfer_map_init(void);
int dsm_xfer_map(struct net_xfer *t);
void dsm_xfer_unmap(struct net_xfer *t);
void dsm_xfer_expect(struct net_xfer *t);
bool dsm_xfer_brought_nothing(const struct net_xfer *t);
void dsm_xfer_land(struct net_xfer *t);

#endif
