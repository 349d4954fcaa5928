# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Condition variables and semaphores of libdsm: nobody is forgotten, and waits end with a reason."""
import errno
import re

from loss import work_goes_on
from scene import actors, bound, expect, join_ranks, living, region, start_ranks
from vm import clock

COND, SEM = 0, 4096	# offsets
KEY = 7
WAITING = "dsm_node_flag_wait"


def conditions_and_semaphores(c, rounds=50):
    """Threads of all nodes."""
    with region(c, "4M") as name:
        join_ranks(c, start_ranks(c, ["waits", name, 2, rounds]), 120)


def waits_end_with_what_they_wait_for(c):
    """One by one in their order; a killed waiter keeps nobody from going on."""
    with region(c, "1M") as name, actors(name, *living(c)) as (a, b, *_), \
            actors(name, c.nodes[0]) as (k,):
        a.want(0, "sem_init", SEM, 1)
        a.want(0, "cond_init", COND)
        for x in (a, b, k):
            x.want(0, "lock", KEY)
            x.want(0, "unlock", KEY)
        b.want(0, "sem_wait", SEM)
        b.want(-errno.EAGAIN, "sem_trywait", SEM)
        first = a.begin_blocked(WAITING, "sem_wait", SEM)
        second = b.begin_blocked(WAITING, "sem_wait", SEM)
        a.want(0, "sem_post", SEM, thread=1)
        a.finish(first, 0, "the first wait")
        expect(b.pending(second), "both waits ended with one post")
        b.want(0, "sem_post", SEM, thread=1)
        b.finish(second, 0, "the second wait")
        k.want(0, "lock", KEY)
        k.begin_blocked(WAITING, "cond_wait", COND, KEY)
        a.want(0, "lock", KEY)
        number = a.begin_blocked(WAITING, "cond_wait", COND, KEY)
        k.kill()
        b.want(0, "lock", KEY)
        b.want(-errno.EINVAL, "cond_wait", COND, KEY + 1)
        b.want(0, "cond_broadcast", COND)
        b.want(0, "unlock", KEY)
        a.finish(number, 0, "a wait beside one that was killed")
        a.want(0, "unlock", KEY)


def killed_while_others_wait(c):
    """Those who wait for what a lost node may have done hear of it, by its name, and can go on."""
    *rest, victim = living(c)
    with region(c, "1M", "home=rr") as name, actors(name, *rest) as others, \
            actors(name, victim) as (v,):
        a, b = others[0], others[-1]
        a.want(0, "cond_init", COND)
        b.want(0, "sem_init", SEM, 0)
        a.want(0, "lock", KEY)
        waits = [(a, a.begin_blocked(WAITING, "cond_wait", COND, KEY)),
                 (b, b.begin_blocked(WAITING, "sem_wait", SEM))]
        for x in (a, b, v):
            x.settle()
        since = clock.now()
        victim.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "a wait for a lost node", bound(c, since))
            why = x.why(number)
            expect(re.search(rf"\bnode {v.id} is (lost|silent)\b", why), why)
        # Told of the loss; the lock of a semaphore may have been managed there.
        good = 0
        for offset in range(SEM + 64, SEM + 64 * 8, 64):
            a.want(0, "sem_init", offset, 1)
            results = [x.call(what, offset) for x, what in
                       ((a, "sem_wait"), (b, "sem_post"), (a, "sem_wait"), (a, "sem_trywait"))]
            good += results == [0, 0, 0, -errno.EAGAIN]
            expect(good or set(results) == {-errno.EHOSTDOWN}, f"results {results}")
        expect(good, "the survivors could use no semaphore at all")
    work_goes_on(c)
