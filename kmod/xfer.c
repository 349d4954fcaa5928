// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Ends of one-sided transfers, signals and brief answers of peers: hands each to whom it is for.
 * Decides nothing.
 */
#include "core/fetch.h"
#include "core/rlock.h"
#include "shell.h"

/**
 * dsm_shell_xfer_done() - a transfer is back
 * @ctx:  struct dsm_node
 * @xfer: transfer, ours again
 *
 * Context: process, no lock held; sleeps, never for the network.
 */
void dsm_shell_xfer_done(void *ctx, struct dsm_xfer *xfer)
{
	struct dsm_node *n = ctx;

	switch (xfer->kind) {
	case DSM_XFER_KIND_TEST:
		dsm_xfertest_done(n, xfer);
		break;
	case DSM_XFER_KIND_FETCH:
	case DSM_XFER_KIND_MERGE:
	case DSM_XFER_KIND_DIFF:
	case DSM_XFER_KIND_RLOCK:
	case DSM_XFER_KIND_DIR:
	case DSM_XFER_KIND_RING:
		dsm_chunk_xfer_done(n, xfer);
		break;
	case DSM_XFER_KIND_LETTER:
		dsm_net_msg_free(n->net, xfer->then);
		dsm_net_xfer_free(n->net, xfer);
		break;
	default:
		dsm_net_xfer_free(n->net, xfer);
	}
}

/**
 * dsm_shell_signal() - a peer's signal, and all it sent before by transfers, is here
 * @ctx:  struct dsm_node
 * @node: sender
 * @imm:  value, not checked
 *
 * Context: process, no lock held; sleeps, never for the network.
 * Return: 0, -EPROTO: no such signal, the sender is to be dropped.
 */
int dsm_shell_signal(void *ctx, u16 node, u32 imm)
{
	struct dsm_node *n = ctx;

	switch (imm >> DSM_SIGNAL_SHIFT) {
	case DSM_SIGNAL_NEXT:
	case DSM_SIGNAL_GRANT:
	case DSM_SIGNAL_GRANT | DSM_SIGNAL_GRANT_DEAD:
	case DSM_SIGNAL_GRANT | DSM_SIGNAL_GRANT_BOARD:
	case DSM_SIGNAL_GRANT | DSM_SIGNAL_GRANT_DEAD | DSM_SIGNAL_GRANT_BOARD:
		return dsm_rsync_signal(n, node, imm);
	}
	switch (imm >> 24) {
	case DSM_SIGNAL_TEST:
		return dsm_xfertest_signal(n, node, imm);
	case DSM_SIGNAL_LETTER:
		return dsm_rsync_letter(n, node, imm);
	case DSM_SIGNAL_TAKEN:
		return dsm_rsync_taken(n, node, imm);
	default:
		return -EPROTO;
	}
}

/**
 * dsm_shell_expand() - what a brief answer of a peer says
 * @ctx:     struct dsm_node
 * @node:    sender
 * @request: request that it answers
 * @len:     its length in bytes
 * @brief:   the answer, not checked
 * @msg:     out: the message that it stands for, DSM_BRIEF_BYTES at most
 *
 * Context: any.
 * Return: length of the message in bytes, -EPROTO: the request has no such answer.
 */
int dsm_shell_expand(void *ctx, u16 node, const u8 *request, u32 len, u32 brief, u8 *msg)
{
	static_assert(DSM_HDR_BYTES + sizeof(struct dsm_wire_page) <= DSM_BRIEF_BYTES);
	/* Of which it is made. */
	static_assert(DSM_HDR_BYTES + sizeof(struct dsm_wire_fetch) <= DSM_BRIEF_BYTES);

	return dsm_fetch_expand(request, len, node, brief, msg);
}
