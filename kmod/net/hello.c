// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Encodes and checks the private data of connection requests, answers and
 * refusals. Changes nothing but what it is given.
 */
#include "fault.h"
#include "hello.h"

/* Refusals have numbers of their own: errno differs between architectures. */
static const struct {
	u16 code;
	int err;
} refusals[] = {
	{ 1, -EPROTONOSUPPORT },
	{ 2, -EEXIST },
	{ 3, -ENOSPC },
	{ 4, -ESTALE },
	{ 5, -EPERM },
	{ 6, -EBUSY },
	{ 7, -EAGAIN },
	{ 8, -EPROTO },
	{ 9, -ENOMEM },
};
#define CODE_OTHER 0

/**
 * dsm_hello_fill() - what a connecting node says
 * @hello: filled completely
 * @qp:    connection that it asks for
 *
 * Context: any.
 */
void dsm_hello_fill(struct dsm_hello *hello, const struct dsm_qp *qp)
{
	const struct dsm_peer *peer = qp->peer;
	const struct sockaddr_in *listen = &peer->net->cfg.listen;
	/* A peer that has no id yet has not answered. */
	u32 session = peer->node == DSM_NO_NODE ? 0 : peer->session;

	*hello = (struct dsm_hello){
		.magic = cpu_to_le32(DSM_WIRE_MAGIC),
		.version = cpu_to_le16(DSM_WIRE_VERSION),
		.vc = qp->vc,
		.session = cpu_to_le32(session),
		.addr = cpu_to_le32(ntohl(listen->sin_addr.s_addr)),
		.port = cpu_to_le16(ntohs(listen->sin_port)),
		.node = cpu_to_le16(peer->self),
		.received = cpu_to_le32(dsm_fault_lie(qp->peer, qp->rx_told)),
		.cluster = cpu_to_le64(peer->cluster),
	};
}

/**
 * dsm_hello_check() - check a request's private data
 * @data:    private data
 * @len:     its length in bytes
 * @hello:   copy, valid if 0 is returned
 * @version: version the node speaks, if -EPROTONOSUPPORT is returned
 *
 * Context: any.
 * Return: 0; -EPROTO if it is none of ours or breaks a rule, -EPROTONOSUPPORT
 *         if it speaks another version.
 */
int dsm_hello_check(const void *data, u32 len, struct dsm_hello *hello, u16 *version)
{
	u16 node;

	if (!data || len < sizeof(*hello))
		return -EPROTO;
	memcpy(hello, data, sizeof(*hello));
	*version = le16_to_cpu(hello->version);
	if (le32_to_cpu(hello->magic) != DSM_WIRE_MAGIC)
		return -EPROTO;
	if (*version != DSM_WIRE_VERSION)
		return -EPROTONOSUPPORT;
	node = le16_to_cpu(hello->node);
	if (hello->vc >= DSM_VC_COUNT || hello->reserved || !hello->port ||
	    (node >= DSM_MAX_NODES && node != DSM_NO_NODE) ||
	    (!hello->session && (hello->vc != DSM_VC_C || hello->received)))
		return -EPROTO;
	return 0;
}

/**
 * dsm_answer_fill() - what the accepting node answers
 * @answer: filled completely
 * @qp:     connection; the connecting node has an id
 *
 * Context: any.
 */
void dsm_answer_fill(struct dsm_answer *answer, const struct dsm_qp *qp)
{
	const struct dsm_peer *peer = qp->peer;

	*answer = (struct dsm_answer){
		.magic = cpu_to_le32(DSM_WIRE_MAGIC),
		.version = cpu_to_le16(DSM_WIRE_VERSION),
		.session = cpu_to_le32(peer->session),
		.node = cpu_to_le16(peer->self),
		.assigned = cpu_to_le16(peer->node),
		.cluster = cpu_to_le64(peer->cluster),
		.received = cpu_to_le32(dsm_fault_lie(qp->peer, qp->rx_told)),
	};
}

/**
 * dsm_answer_check() - check an answer
 * @data:   private data
 * @len:    its length in bytes
 * @peer:   the answering node; unchanged, but for the version if -EPROTONOSUPPORT is returned
 * @answer: copy, valid if 0 is returned
 *
 * Context: any.
 * Return: 0; -EPROTO if it breaks a rule or names us other than we are named, -ESTALE if it
 *         belongs to another cluster, node or session, -EPROTONOSUPPORT if it speaks another
 *         version.
 */
int dsm_answer_check(const void *data, u32 len, struct dsm_peer *peer, struct dsm_answer *answer)
{
	u16 assigned;

	if (!data || len < sizeof(*answer))
		return -EPROTO;
	memcpy(answer, data, sizeof(*answer));
	if (le32_to_cpu(answer->magic) != DSM_WIRE_MAGIC)
		return -EPROTO;
	if (le16_to_cpu(answer->version) != DSM_WIRE_VERSION) {
		peer->version = le16_to_cpu(answer->version);
		return -EPROTONOSUPPORT;
	}
	assigned = le16_to_cpu(answer->assigned);
	if (assigned >= DSM_MAX_NODES || (peer->self != DSM_NO_NODE && assigned != peer->self) ||
	    answer->reserved || answer->reserved2 || !answer->session)
		return -EPROTO;
	if (peer->cluster && le64_to_cpu(answer->cluster) != peer->cluster)
		return -ESTALE;
	if (peer->node != DSM_NO_NODE && (le16_to_cpu(answer->node) != peer->node ||
					  le32_to_cpu(answer->session) != peer->session))
		return -ESTALE;
	return 0;
}

/**
 * dsm_answer_take() - note what a first answer on C says
 * @answer: answer, checked
 * @peer:   the answering node: @self, @cluster and @session are set
 *
 * Context: any.
 */
void dsm_answer_take(const struct dsm_answer *answer, struct dsm_peer *peer)
{
	peer->self = le16_to_cpu(answer->assigned);
	peer->cluster = le64_to_cpu(answer->cluster);
	peer->session = le32_to_cpu(answer->session);
}

/**
 * dsm_refusal_fill() - say why a request is refused
 * @refusal: filled completely
 * @err:     negative errno; one without a number of its own is told as "refused"
 *
 * Context: any.
 */
void dsm_refusal_fill(struct dsm_refusal *refusal, int err)
{
	u16 code = CODE_OTHER;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].err == err)
			code = refusals[i].code;
	*refusal = (struct dsm_refusal){
		.magic = cpu_to_le32(DSM_WIRE_MAGIC),
		.version = cpu_to_le16(DSM_WIRE_VERSION),
		.code = cpu_to_le16(code),
	};
}

/**
 * dsm_refusal_read() - why a request was refused
 * @data:    private data of the refusal, or NULL
 * @len:     its length in bytes
 * @version: version the other node speaks, or 0
 *
 * Context: any.
 * Return: negative errno; -ECONNREFUSED if it gave no reason that we know.
 */
int dsm_refusal_read(const void *data, u32 len, u16 *version)
{
	struct dsm_refusal refusal;
	size_t i;

	*version = 0;
	if (!data || len < sizeof(refusal))
		return -ECONNREFUSED;
	memcpy(&refusal, data, sizeof(refusal));
	if (le32_to_cpu(refusal.magic) != DSM_WIRE_MAGIC)
		return -ECONNREFUSED;
	*version = le16_to_cpu(refusal.version);
	if (*version != DSM_WIRE_VERSION)
		return -EPROTONOSUPPORT;
	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].code == le16_to_cpu(refusal.code))
			return refusals[i].err;
	return -ECONNREFUSED;
}
