/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Copyright (C) 2026 The dsm authors */
/*
 * User interface of the dsm module: ioctls of /dev/dsm and /dev/dsm-NAME.
 *
 * Every argument begins with its own size in bytes. A larger struct is accepted if the part
 * that the kernel does not know is zero (else -E2BIG), a smaller one if all mandatory fields
 * (those of ABI 1) are there (else -EINVAL). Unknown flags and non-zero reserved fields give
 * -EINVAL.
 *
 * Control ioctls carry @errtxt and @errtxt_len: a user buffer, or 0; on failure it
 * receives one line of text, NUL terminated, that says what was wrong and what to do.
 *
 * Common errnos: -EINVAL bad argument, -E2BIG unknown non-zero tail, -EFAULT bad pointer,
 * -EPERM/-EACCES not allowed, -ENOTCONN this node has not joined, -EHOSTDOWN a node that was
 * needed is lost, -EINTR a signal, -ENOTTY unknown ioctl.
 */
#ifndef _UAPI_DSM_H
#define _UAPI_DSM_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DSM_ABI 1
#define DSM_NAME_MAX 32		/* region name with its NUL */
#define DSM_POLICY_MAX 256	/* policy text with its NUL */
#define DSM_NODE_ANY 0xffffu
#define DSM_PORT 18515		/* of a machine's first node, if it was not told another */
#define DSM_LOCAL_NODES_MAX 8	/* of one machine: /dev/dsm, /dev/dsm.1 ... /dev/dsm.7 */

struct dsm_ioc_version {
	__u32 size;
	__u32 abi;		/* out: DSM_ABI */
	__u32 protocol;		/* out: wire protocol version */
	__u32 page_bytes;	/* out */
};

/*
 * Join a cluster: CAP_SYS_ADMIN, else -EPERM. -EISCONN already joined;
 * -EADDRNOTAVAIL @listen_addr is no address here; -EADDRINUSE the port is taken;
 * -ENODEV no RDMA device has the address; -EPROTONOSUPPORT other version;
 * -EEXIST the node id is taken; -EPERM no insecure=1; -ECONNREFUSED, -EHOSTUNREACH, -ENETUNREACH, -ETIMEDOUT nobody
 * answers at @seed_addr; -ETIMEDOUT also: the coordinator waited too long, or fewer than @nodes are up in time; -EBUSY
 * the node there is itself joining or leaving; -EPROTO what answers is no dsm; -EHOSTDOWN a member was lost meanwhile;
 * -EOPNOTSUPP a region there has settings that this node's device cannot do; -ENETDOWN the device is down; -ENOSPC no id
 * is left; -EINVAL no listening address, a number above its limit, or @seed_addr is this node; -EINTR. @errtxt says
 * which of them.
 */
struct dsm_ioc_join {
	__u32 size;
	__u32 flags;		/* 0 */
	__be32 listen_addr;	/* IPv4 */
	__u16 listen_port;	/* host order; 0 = DSM_PORT + K for the machine's node K */
	__u16 node;		/* in: wanted id or DSM_NODE_ANY; out: own id */
	__be32 seed_addr;	/* 0 = start a cluster */
	__u16 seed_port;	/* 0 = DSM_PORT */
	/* in: wait until so many are up (0, 1: do not wait); out: members */
	__u16 nodes;
	__u32 timeout_ms;	/* 0 = 30 s */
	__u32 errtxt_len;
	__aligned_u64 errtxt;
};

/*
 * Leave: CAP_SYS_ADMIN. -EBUSY: open files, pages are still being fetched, this node homes touched pages, or a home does not
 * answer; -EINTR.
 */
#define DSM_LEAVE_FORCE 1u	/* lose the pages homed here */
struct dsm_ioc_leave {
	__u32 size;
	__u32 flags;
	__u32 reserved;
	__u32 errtxt_len;
	__aligned_u64 errtxt;
};

/* Holds an allocator: dsm_malloc works, raw read and write are refused. */
#define DSM_REGION_HEAP 1u
#define DSM_REGION_RAW_OK 2u	/* in region flags of an open file only, see DSM_IOC_FORCE_RAW */

/*
 * Create a region on all nodes. -EEXIST name taken, -EFBIG
 * too large, -EADDRINUSE @addr overlaps another region's, -ENOSPC no address range of this size is left,
 * -EINVAL or -EOPNOTSUPP the policy (named in errtxt), -EDQUOT a node is asked too much at once, or the owner has
 * regions_per_user regions (named in errtxt), -EPERM another's uid, -ENOTCONN in no cluster, -EHOSTDOWN a member is lost,
 * -EAGAIN one is that decided about regions, try again, -ENETDOWN a member's network device is down (sync=rdma,
 * metadata=rdma), -ENOMEM, -EINTR.
 */
struct dsm_ioc_region {
	__u32 size;
	__u32 flags;			/* DSM_REGION_HEAP */
	char name[DSM_NAME_MAX];	/* [A-Za-z0-9._-], NUL terminated */
	__u64 bytes;			/* multiple of the page size, up to 16 TiB */
	/* in: 0 or the wanted mapping address on every node; out: chosen one */
	__u64 addr;
	__u32 uid;			/* (__u32)-1: the caller's */
	__u32 gid;
	__u32 mode;			/* 0 = 0660 */
	__u32 policy_len;
	__aligned_u64 policy;		/* "preset=hlrc,home=block:512": text, NUL terminated */
	__u32 id;			/* out */
	__u32 errtxt_len;
	__aligned_u64 errtxt;
};

/*
 * -ENOENT no such region, -EPERM neither its owner nor CAP_SYS_ADMIN, -EBUSY open on some
 * node (named in errtxt), a lock of it is held, writes or fetches are under way, or a node is about to leave; -EDQUOT, -ENOTCONN,
 * -EHOSTDOWN, -EAGAIN and -EINTR as above.
 */
struct dsm_ioc_region_destroy {
	__u32 size;
	__u32 flags;			/* 0 */
	char name[DSM_NAME_MAX];
	__u32 reserved;
	__u32 errtxt_len;
	__aligned_u64 errtxt;
};

/*
 * Facts of a region. On a region's own file with @id = 0: that region. On /dev/dsm:
 * @id; with @flags DSM_INFO_NEXT the first region with an id above @id. -ENOENT: none.
 */
#define DSM_INFO_NEXT 1u
struct dsm_ioc_region_info {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 region_flags;		/* out: DSM_REGION_* */
	char name[DSM_NAME_MAX];	/* out; "" is /dev/dsm itself */
	__u64 bytes;			/* out */
	__u64 addr;			/* out */
	__u32 uid, gid, mode;		/* out */
	__u32 opens;			/* out: open files on this node */
	__u64 touched_pages;		/* out: on this node */
	__u64 homed_pages;		/* out: touched pages homed here */
	/* out: bitmap of the nodes that home its pages; 0 until first use */
	__u64 members;
	char policy[DSM_POLICY_MAX];	/* out */
};

enum dsm_node_state { DSM_NODE_NONE, DSM_NODE_SELF, DSM_NODE_UP, DSM_NODE_LOST, DSM_NODE_LEFT };

/* This node and its peers. */
struct dsm_ioc_node_info {
	__u32 size;
	__u16 node;			/* in: id, or DSM_NODE_ANY: this node */
	__u16 state;			/* out: enum dsm_node_state */
	__be32 addr;			/* out */
	__u16 port;			/* out */
	__u16 members;			/* out: nodes up, self included */
	__u16 max_id;			/* out: highest id ever seen */
	__u16 insecure;			/* out: 1 = no authentication */
	__u32 silent_ms;		/* out: since the last message */
	__u64 cluster;			/* out */
	char device[32];		/* out: RDMA device; "" for peers */
	char reason[64];		/* out: why it was lost */
};

/*
 * Counters, since the module was loaded. Indexes are stable; new ones are appended. Times in ns.
 */
enum dsm_stat {
	DSM_STAT_READ_FAULTS,
	DSM_STAT_WRITE_FAULTS,
	DSM_STAT_PAGE_TRANSFERS,	/* pages received with data */
	DSM_STAT_ZERO_REPLIES,		/* pages received as "all zero" */
	DSM_STAT_FETCHES_SERVED,	/* pages sent as home */
	DSM_STAT_INVALIDATIONS,
	DSM_STAT_TWINS,
	DSM_STAT_DIFFS,			/* sent */
	DSM_STAT_DIFF_BYTES,
	DSM_STAT_DIFFS_APPLIED,
	DSM_STAT_MERGES,
	DSM_STAT_RACE_CONFLICTS,	/* bytes that two nodes wrote without synchronisation */
	DSM_STAT_INTERVALS,
	DSM_STAT_NOTICES_SENT,
	DSM_STAT_NOTICES_RECEIVED,
	DSM_STAT_INVAL_ALL,
	DSM_STAT_RELEASES,
	DSM_STAT_ACQUIRES,
	DSM_STAT_LOCKS_LOCAL,		/* asked for: the node had the token, or had asked for it */
	DSM_STAT_LOCKS_REMOTE,		/* asked for: the node had to ask others */
	DSM_STAT_BARRIERS,
	DSM_STAT_FLAGS,			/* set, counted at their manager */
	DSM_STAT_MSGS_SENT,		/* without heartbeats and those that only give credit */
	DSM_STAT_MSGS_RECEIVED,
	DSM_STAT_BYTES_SENT,
	DSM_STAT_BYTES_RECEIVED,
	DSM_STAT_CREDIT_STALLS,
	DSM_STAT_INVALID_MSGS,
	DSM_STAT_SIGBUS,
	DSM_STAT_NS_PROTOCOL,		/* fault, twin, diff, invalidate */
	DSM_STAT_NS_WAIT_LOCK,
	DSM_STAT_NS_WAIT_BARRIER,
	DSM_STAT_NS_WAIT_FLAG,
	DSM_STAT_NS_WAIT_PAGE,		/* waiting for page replies */
	DSM_STAT_NS_WAIT_RELEASE,	/* waiting for diff acks, and for room for twins */
	DSM_STAT_NS_MESSAGE,		/* message handlers */
	DSM_STAT_REQUESTS_REFUSED,	/* too many kept here, or not the coordinator's */
	DSM_STAT_ZERO_LOCAL,		/* pages known to be zero without asking */
	DSM_STAT_PAGE_READS,		/* of PAGE_TRANSFERS: read from the home's memory */
	DSM_STAT_PAGE_WRITES,		/* of PAGE_TRANSFERS: written by the home into the frame */
	DSM_STAT_CHUNKS,		/* 2 MiB chunks registered for remote access */
	DSM_STAT_PREFETCH_ISSUED,	/* pages fetched ahead of their use */
	DSM_STAT_PREFETCH_HITS,		/* of these: used */
	DSM_STAT_PREFETCH_WASTED,	/* of these: invalidated, lost or gone with the region before */
	DSM_STAT_DIRECT_PAGES,		/* diffs written into the home's frame */
	DSM_STAT_DIRECT_RUNS,		/* changed runs of these */
	DSM_STAT_XFER_READS,		/* one-sided transfers posted */
	DSM_STAT_XFER_WRITES,
	DSM_STAT_XFER_ATOMICS,
	DSM_STAT_SIGNALS_SENT,		/* WRITEs that tell the receiver */
	DSM_STAT_SIGNALS_RECEIVED,
	DSM_STAT_XFER_BYTES,		/* moved by transfers posted here */
	DSM_STAT_DOORBELLS,		/* posts, of messages and transfers */
	DSM_STAT_WORK_REQUESTS,		/* in them */
	DSM_STAT_SIGNALLED,		/* of these, with a completion */
	DSM_STAT_SENDS_INLINE,		/* messages that their work request held */
	DSM_STAT_SENDS_BATCHED,		/* messages posted together with others */
	DSM_STAT_SENDS_SIGNALLED,	/* of SIGNALLED: of messages */
	DSM_STAT_BULKS,			/* WRITEs of requests into a peer's ring */
	DSM_STAT_SENDS_BULK,		/* requests in them */
	DSM_STAT_SINKS_LENT,		/* fetches that named a frame to write the page into */
	DSM_STAT_SINK_MISSES,		/* that could not: no registration was free */
	DSM_STAT_SC_GRANTS,		/* consistency=sc: rights got */
	DSM_STAT_SC_RECALLS,		/* rights given up again */
	DSM_STAT_SC_REFUSALS,		/* not given up: a device was using the page */
	DSM_STAT_PAGES_LOST,		/* pages whose only copy, or home, is lost */
	DSM_STAT_LETTERS,		/* sync=rdma: records of barriers and flags written to peers */
	DSM_STAT_LETTERS_BY_MESSAGE,	/* of such regions, but sent as messages */
	DSM_STAT_EXCL_ENTERS,		/* pages that only this node had, so that writes need no notice */
	DSM_STAT_EXCL_BREAKS,		/* and that another one wanted then */
	DSM_STAT_MIGRATIONS,		/* home=migrate: pages whose home this node became */
	DSM_STAT_MIGRATION_ATTEMPTS,	/* asked for; home=migrate@barrier: proposed, as home */
	DSM_STAT_NS_WAIT_PAGE_LOCK,	/* of faults: for a release that reads the page, its lock, or the node's */
	DSM_STAT_RESUMES,		/* times broken connections to a node were made anew */
	DSM_STAT_DUPLICATES,		/* messages that came again after that, discarded */
	DSM_STAT_DIR_CHANGES,		/* metadata=rdma: words of sharing sets changed, by atomics */
	DSM_STAT_DIR_LOOKS,		/* and only read */
	DSM_STAT_NOTICES_WRITTEN,	/* write notices written into the receiver's ring */
	DSM_STAT_SENDS_BRIEF,		/* answers that were a page and an immediate */
	DSM_STAT_PREDICTIONS,		/* predict=on: homes asked for at a read */
	DSM_STAT_PREDICTION_HITS,	/* and pages written then */
	DSM_STAT_MSGS_BELOW_256,	/* messages sent, by size in bytes, headers included */
	DSM_STAT_MSGS_BELOW_1K,
	DSM_STAT_MSGS_BELOW_4K,
	DSM_STAT_MSGS_LARGER,
	DSM_STAT_BCAST_PAGES,		/* bcast=adaptive: pages multicast as home */
	DSM_STAT_BCAST_HITS,		/* of page_transfers: by multicast */
	DSM_STAT_BCAST_LOST,		/* that were multicast and asked for once more, since nothing or not all came */
	DSM_STAT_HEARTBEATS,		/* sent; in no other count of messages or bytes */
	DSM_STAT_CREDITS,		/* messages sent that only gave credit, likewise */
	DSM_STAT_ANSWERS_FIRST,		/* answers that went while ones with a page waited */
	DSM_STAT_PAGES_SENT,		/* pages, or that one is zero, sent to who asked, or back to the home */
	DSM_STAT_PAGES_DROPPED,		/* such that came, and were too old by then */
	DSM_STAT_NOTICES_READ,		/* sync=rdma: notices read from a board of who sent none */
	DSM_STAT_NOTICES_DROPPED,	/* notices that came, and were known already */
	DSM_STAT_MERGES_LIVE,		/* merge=live: merges that an acquire began, beside stores */
	DSM_STAT_ATOMICS_DOUBTED,	/* atomics of which a broken connection did not tell what they did */
	DSM_STAT_WRPROTECT_RUNS,	/* runs of pages made read-only, each in one walk with one TLB flush */
	DSM_STAT_ZAP_RUNS,		/* runs of pages unmapped, likewise */
	DSM_STAT_XFERS_FIRST,		/* transfers of locks, barriers and directories that went while ones of pages waited */
	DSM_STAT_NS_MESSAGE_WAIT,	/* of ns_message: for the node's lock, below which faults and releases work */
	DSM_STAT_CREDITS_HELD,		/* not given back at once, since many answers to that node waited */
	DSM_STAT_COUNT
};

struct dsm_ioc_stats {
	__u32 size;
	__u32 flags;			/* 0 */
	__u32 region;			/* id, or 0: of the node */
	__u32 count;			/* in: room in @values; out: counters written */
	__aligned_u64 values;		/* __u64[count] */
};

#define DSM_LOCK_TRY 1u		/* -EBUSY instead of waiting */
#define DSM_LOCK_TIMED 2u	/* -ETIMEDOUT at @deadline_ns */
/* Unlock: what was written and is lost is left to be told by a later release. */
#define DSM_UNLOCK_SILENT 4u
/*
 * Lock, unlock, mark consistent. 0; -EOWNERDEAD: taken, the last holder ended while holding it;
 * -EDEADLK: this thread holds it already; -EPERM: unlock by a process that does not hold it;
 * -EHOSTDOWN: token or manager was on a lost node.
 */
struct dsm_ioc_lock {
	__u32 size;
	__u32 flags;
	__u64 key;
	__u64 deadline_ns;	/* CLOCK_MONOTONIC */
};

/*
 * -EINVAL: parties 0, or other than what the others gave; -EOWNERDEAD: a party ended inside;
 * -EHOSTDOWN: manager or a party was on a lost node, or, without a last time of so many parties, any
 * node is lost that had opened the region and of which this file was not told; -EDQUOT: too many
 * threads of this node wait.
 */
struct dsm_ioc_barrier {
	__u32 size;
	__u32 flags;		/* 0 */
	__u64 key;
	__u32 parties;		/* callers in the whole cluster */
	__u32 reserved;
};

/*
 * Set: -EALREADY if set. Wait: until set; -EHOSTDOWN: any node is lost that had opened the region
 * and of which this file was not told; -EDQUOT: too many threads of this node wait. Clear: back to
 * unset.
 */
struct dsm_ioc_flag {
	__u32 size;
	__u32 flags;		/* 0 */
	__u64 key;
};

/*
 * @count pieces of @len bytes, such as the rows of a part of a matrix: the first one at @offset, each @stride
 * bytes behind the one before. All are inside the region (else -EINVAL).
 */
struct dsm_ioc_range {
	__u32 size;
	__u32 flags;		/* 0 */
	__u64 offset;		/* bytes in the region */
	__u64 len;
	__u64 stride;
	__u64 count;		/* 0: one, @stride is not looked at */
};

struct dsm_ioc_plain {
	__u32 size;
	__u32 flags;		/* 0 */
};

/*
 * Homes of pages. @pages: bit k of word w is page @first + 64 w + k. Without flags, out: @first is the
 * first touched page from @first on that @node homes, @pages those from there on; -ENOENT: no more.
 * With DSM_HOMES_CLAIM, in: pages that @node shall touch, all within the region; out: those that it
 * homes now, the others had another home already; DSM_IOC_UNCLAIM leaves @node's pages alone from then on.
 * -EACCES: not open for writing; -EOPNOTSUPP: touching decides nothing in this region, for which it
 * takes home=first-touch or one that migrates; -EHOSTDOWN: @node, or the manager of a page, is lost; -ENOENT:
 * @node does not know the region yet; -ENOMEM: no memory there; -EINVAL: @node is above the limit, or pages are outside
 * of the region; -ENXIO: the region is not in use there, or ends; -EDQUOT: that node has too many requests.
 */
#define DSM_HOMES_CLAIM 1u
#define DSM_HOMES_WORDS 64u
struct dsm_ioc_homes {
	__u32 size;
	__u32 flags;		/* DSM_HOMES_CLAIM */
	__u16 node;
	__u16 reserved[3];
	__u64 first;
	__u64 pages[DSM_HOMES_WORDS];
};

/*
 * Lock table of a region on this node, to take and give back locks without a system call. The
 * ioctl makes it and gives the calling process, through this file, a number (-EACCES: not open for
 * writing; -EOPNOTSUPP: the region's locks do not stay at a node, or the caller is in a pid
 * namespace; -ENOSPC: too many processes); a forked child needs its own. Then mmap
 * DSM_LOCK_TABLE_BYTES at DSM_LOCK_TABLE_OFFSET, MAP_SHARED.
 *
 * The module puts locks into slots whose token is at this node, free and not waited for, and takes
 * them out at any time. The table is 1 << DSM_LOCK_SETS_LOG2 sets of DSM_LOCK_WAYS slots each; a
 * key is in a slot of set DSM_LOCK_SET(key), in no other, or in none.
 *
 * @word: bits 0 and 1 state, 2 to 23 thread id (gettid), 24 to 33 the number that the ioctl gave,
 * from 34 on generation. Only two changes are allowed, both by compare-and-exchange of the whole
 * word, with @key compared after the word was read:
 *   take:      FREE (thread, number 0) to HELD with the own thread and number; acquire
 *   give back: HELD with the own number to FREE with thread and number 0; release
 * the generation staying as it was. If either is not possible, DSM_IOC_LOCK and DSM_IOC_UNLOCK do
 * it. The holder adds 1 to @uses. A process that ends gives up what it holds as with the ioctls.
 */
#define DSM_LOCK_SETS_LOG2 9
#define DSM_LOCK_WAYS 4u
#define DSM_LOCK_SET(key) ((__u64)(key) * 0x9e3779b97f4a7c15ull >> (64 - DSM_LOCK_SETS_LOG2))
#define DSM_LOCK_TABLE_BYTES (32u * DSM_LOCK_WAYS << DSM_LOCK_SETS_LOG2)
#define DSM_LOCK_TABLE_OFFSET (1ull << 62)
#define DSM_LOCK_WORD_STATE 3ull
#define DSM_LOCK_WORD_FREE 1ull
#define DSM_LOCK_WORD_HELD 2ull
#define DSM_LOCK_TID_SHIFT 2
#define DSM_LOCK_OWNER_SHIFT 24
#define DSM_LOCK_OWNER_MASK (0x3ffull << DSM_LOCK_OWNER_SHIFT)
#define DSM_LOCK_GEN_MASK (~0ull << 34)
struct dsm_lock_slot {
	__u64 key;
	__u64 word;
	__u64 uses;
	__u64 reserved;
};

struct dsm_ioc_lock_table {
	__u32 size;
	__u32 flags;		/* 0 */
	__u32 owner;		/* out: number of the process */
	__u32 reserved;
};

/*
 * Time messages that mean nothing: CAP_SYS_ADMIN. -EINVAL: something is out of its bounds; -EMSGSIZE:
 * too long to go inline here; -EOPNOTSUPP: no ring there; -EBUSY: another run to that node; -ETIMEDOUT: no
 * answer within 2 s.
 */
#define DSM_LOGP_ONE_WAY 1u	/* only every @window-th message and the last are answered, shortly */
#define DSM_LOGP_SPIN 2u	/* spin for answers, else sleep */
enum dsm_logp_mechanism {
	DSM_LOGP_AUTO,		/* as any message of that length */
	DSM_LOGP_INLINE,	/* held by its work request */
	DSM_LOGP_GATHER,	/* read from its buffer by the device */
	DSM_LOGP_BULK		/* written into the receiver's ring, not with DSM_LOGP_HIGH; answers as AUTO */
};
enum dsm_logp_priority {
	DSM_LOGP_LOW,		/* messages and answers as requests go */
	DSM_LOGP_HIGH,		/* both as replies go */
	DSM_LOGP_CALL		/* a request and its reply */
};
struct dsm_ioc_logp {
	__u32 size;
	__u32 flags;		/* DSM_LOGP_* */
	__u16 node;
	__u8 mechanism;		/* enum dsm_logp_mechanism, of messages and answers */
	__u8 priority;		/* enum dsm_logp_priority */
	__u32 bytes;		/* of a message behind its header of 32 bytes, 8 to 8160 */
	__u32 answer_bytes;	/* of an answer, likewise; 0 with DSM_LOGP_ONE_WAY */
	__u32 count;		/* messages, 1 to 4096 */
	__u32 window;		/* most that may be unanswered, 1 to 32; 1: a blocking call each */
	__u32 batch;		/* handed over at once, 1 to window */
	__u32 gap_ns;		/* pause between, up to 10 ms */
	__u32 reserved;
	__u64 busy_ns;		/* out: spent handing messages over */
	__u64 recv_ns;		/* out: spent handling what came from that node meanwhile */
	__u64 send_ns;		/* out: from the first message until the last was handed over */
	__u64 total_ns;		/* out: until the last answer */
};

#define DSM_IOC_MAGIC 0xd5
#define DSM_IOC_VERSION		_IOWR(DSM_IOC_MAGIC, 0x00, struct dsm_ioc_version)
#define DSM_IOC_JOIN		_IOWR(DSM_IOC_MAGIC, 0x01, struct dsm_ioc_join)
#define DSM_IOC_LEAVE		_IOWR(DSM_IOC_MAGIC, 0x02, struct dsm_ioc_leave)
#define DSM_IOC_REGION_CREATE	_IOWR(DSM_IOC_MAGIC, 0x03, struct dsm_ioc_region)
#define DSM_IOC_REGION_DESTROY	_IOWR(DSM_IOC_MAGIC, 0x04, struct dsm_ioc_region_destroy)
#define DSM_IOC_REGION_INFO	_IOWR(DSM_IOC_MAGIC, 0x05, struct dsm_ioc_region_info)
#define DSM_IOC_NODE_INFO	_IOWR(DSM_IOC_MAGIC, 0x06, struct dsm_ioc_node_info)
#define DSM_IOC_STATS		_IOWR(DSM_IOC_MAGIC, 0x07, struct dsm_ioc_stats)
#define DSM_IOC_LOGP		_IOWR(DSM_IOC_MAGIC, 0x08, struct dsm_ioc_logp)
/* On a file of a region (or /dev/dsm for the default one): */
#define DSM_IOC_LOCK		_IOW(DSM_IOC_MAGIC, 0x20, struct dsm_ioc_lock)
#define DSM_IOC_UNLOCK		_IOW(DSM_IOC_MAGIC, 0x21, struct dsm_ioc_lock)
#define DSM_IOC_LOCK_CONSISTENT	_IOW(DSM_IOC_MAGIC, 0x22, struct dsm_ioc_lock)
#define DSM_IOC_BARRIER		_IOW(DSM_IOC_MAGIC, 0x23, struct dsm_ioc_barrier)
#define DSM_IOC_FLAG_SET	_IOW(DSM_IOC_MAGIC, 0x24, struct dsm_ioc_flag)
#define DSM_IOC_FLAG_WAIT	_IOW(DSM_IOC_MAGIC, 0x25, struct dsm_ioc_flag)
#define DSM_IOC_FLAG_CLEAR	_IOW(DSM_IOC_MAGIC, 0x26, struct dsm_ioc_flag)
#define DSM_IOC_ACQUIRE		_IOW(DSM_IOC_MAGIC, 0x27, struct dsm_ioc_plain)
#define DSM_IOC_RELEASE		_IOW(DSM_IOC_MAGIC, 0x28, struct dsm_ioc_plain)
/* A hint, for at most 1024 pages; 0 even if nothing was done. */
#define DSM_IOC_PREFETCH	_IOW(DSM_IOC_MAGIC, 0x29, struct dsm_ioc_range)
/* Allow read and write on a heap region. */
#define DSM_IOC_FORCE_RAW	_IOW(DSM_IOC_MAGIC, 0x2a, struct dsm_ioc_plain)
/*
 * Pages of the region that this node homes go to the next nodes that touch them, with their bytes. -EACCES: not
 * open for writing; -EOPNOTSUPP: homes of this region do not move, for which it takes
 * consistency=cashmere, home=first-touch or migrate. Waits for all nodes if diffs are packed or
 * written directly, or pages read so: -EINTR the process is being killed, -ENOMEM, -EBUSY what a node wrote does not get to its homes,
 * -EDQUOT a node has too many requests to work on.
 */
#define DSM_IOC_UNCLAIM		_IOW(DSM_IOC_MAGIC, 0x2c, struct dsm_ioc_plain)
#define DSM_IOC_LOCK_TABLE	_IOWR(DSM_IOC_MAGIC, 0x2b, struct dsm_ioc_lock_table)
#define DSM_IOC_HOMES		_IOWR(DSM_IOC_MAGIC, 0x2d, struct dsm_ioc_homes)

/*
 * Through io_uring: IORING_OP_URING_CMD with @fd a file of a region (or /dev/dsm), @cmd_op one of
 * DSM_URING_*, and in the 16 bytes of @cmd a struct dsm_uring_arg; nothing else is looked at. The
 * result is 0 or the negative errno of the ioctl of the same name; also -ECANCELED, -EDQUOT (what is
 * pending counts like a lock), and -EOPNOTSUPP: unknown operation, or a ring with
 * IORING_SETUP_IOPOLL or IORING_SETUP_SQPOLL. Members not named below are 0 (else -EINVAL).
 *
 * No thread waits: the completion comes when the operation has ended, after an acquire has been
 * applied. A lock belongs to the thread that submitted. What is pending when this thread ends or
 * calls execve(), or when the ring is closed, ends with -ECANCELED; a barrier at which it had arrived, that is
 * whose release was done, then fails for its other parties, as when a party ends inside.
 */
struct dsm_uring_arg {
	__u64 key;
	__u64 value;
};

#define DSM_URING_LOCK		_IO(DSM_IOC_MAGIC, 0x40)	/* key */
#define DSM_URING_TRYLOCK	_IO(DSM_IOC_MAGIC, 0x41)	/* key */
#define DSM_URING_TIMEDLOCK	_IO(DSM_IOC_MAGIC, 0x42)	/* key; value: deadline_ns */
#define DSM_URING_UNLOCK	_IO(DSM_IOC_MAGIC, 0x43)	/* key */
#define DSM_URING_BARRIER	_IO(DSM_IOC_MAGIC, 0x44)	/* key; value: parties */
#define DSM_URING_FLAG_SET	_IO(DSM_IOC_MAGIC, 0x45)	/* key */
#define DSM_URING_FLAG_WAIT	_IO(DSM_IOC_MAGIC, 0x46)	/* key */
#define DSM_URING_FLAG_CLEAR	_IO(DSM_IOC_MAGIC, 0x47)	/* key */
#define DSM_URING_ACQUIRE	_IO(DSM_IOC_MAGIC, 0x48)
#define DSM_URING_RELEASE	_IO(DSM_IOC_MAGIC, 0x49)
/* key: offset in the region; value: length. Done when the pages have been asked for. */
#define DSM_URING_PREFETCH	_IO(DSM_IOC_MAGIC, 0x4a)
/*
 * Cancel the pending operations of this ring with user_data @key; 0, -ENOENT none. An operation may
 * still end well: its own result tells. IORING_OP_ASYNC_CANCEL does not reach these operations.
 */
#define DSM_URING_CANCEL	_IO(DSM_IOC_MAGIC, 0x4b)

#endif
