/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Multicasts between world.h's nodes: whole, or in parts. Part of world.h, which includes it.
 */
#ifndef DSM_SELFTESTS_WORLD_CAST_H
#define DSM_SELFTESTS_WORLD_CAST_H

/* A datagram as a node gets it. */
static inline int world_datagram(u16 to, const void *data, u32 len)
{
	u8 *exact = unit_copy(data, len);
	int err = dsm_bcast_on_datagram(world_engine(to), exact, len, world_begin(to));

	world_end(to);
	free(exact);
	return err;
}

/* Bytes @off to @off + @len of a multicast. */
static inline int world_part(u16 to, const struct dsm_msgbuf *m, u32 off, u32 len)
{
	u8 gram[sizeof(struct dsm_wire_cast) + DSM_PAGE_BYTES];
	struct dsm_wire_cast head;

	memcpy(&head, m->data, sizeof(head));
	head.off = cpu_to_le16(off);
	head.len = cpu_to_le16(len);
	memcpy(gram, &head, sizeof(head));
	memcpy(gram + sizeof(head), m->data + sizeof(head) + off, len);
	return world_datagram(to, gram, sizeof(head) + len);
}

/* The last one made, to all, the sender too; in two parts, the second one first. */
static inline void world_cast(void)
{
	struct dsm_msgbuf *m = w.cast;
	u32 first = 63 * DSM_CAST_UNIT, i;

	w.cast = m->next;
	for (i = 0; i < w.nodes; i++) {
		world_part(i, m, first, DSM_PAGE_BYTES - first);
		world_part(i, m, 0, first);
	}
	world_msg_free(m);
}

#endif
