# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The tests of clusters that hold for any consistency, under each preset; each preset has guests of its own."""
import loss
import plain
import presets
import queues
import rsync
import waits
import work
from scene import promises, under

DISK_BYTES = 8 << 20	# direct.c's

# The last one kills a node.
TESTS = (work.counters_under_locks, work.false_sharing, work.barriers_whole_subsets_several_keys,
         work.barriers_with_wrong_party_counts, work.a_signal_does_not_end_a_barrier, work.flags,
         work.a_thread_computes_while_a_lock_comes, work.killed_holding_a_lock, work.killed_inside_a_barrier,
         waits.conditions_and_semaphores, waits.waits_end_with_what_they_wait_for,
         work.closed_here_and_opened_there, work.direct_io_across_releases, work.allocator_from_all_nodes,
         queues.a_lock_leaves_nodes_that_want_it_again, work.attach_and_detach_under_load,
         loss.killed_during_a_barrier)


def rdma_lock_calls(c):
    """Locks by atomics refuse in another order."""
    rsync.rdma_lock_calls(c, "home=rr")


def rdma_node_killed_in_queues(c):
    """Behind a dead node no lock by atomics is passed on."""
    rsync.rdma_node_killed_in_queues(c, "home=rr")


def tests_of(preset):
    """Those for its kind of locks, and those for all."""
    settings = presets.PRESETS[preset]
    # With eager notices an unlock waits, for which io_uring takes a thread of its own: the program counts threads.
    odd = (work.a_thread_computes_while_a_lock_comes,) if promises(settings) == "cashmere" else ()
    calls = rdma_lock_calls if settings["sync"] == "rdma" else work.lock_calls
    published = () if settings["consistency"] == "sc" else (plain.published,)
    return (calls, *published, *(test for test in TESTS if test not in odd))


def losses_of(preset):
    """Each of these kills a node too, and has guests of its own."""
    settings = presets.PRESETS[preset]
    rdma = settings["sync"] == "rdma"
    yield rdma_node_killed_in_queues if rdma else loss.killed_during_a_lock_wait
    yield waits.killed_while_others_wait
    # plain.sc_loss is that of pages which have no twin.
    if settings["consistency"] != "sc":
        yield loss.killed_during_a_fault
        # A home that moves to who writes takes no diff.
        if settings["home"] != "migrate":
            yield loss.killed_during_a_release


def run_under(preset, test):
    """A test of which every region has a preset."""
    def run(c):
        with under(*presets.words_of(preset)):
            test(c)
    run.__name__ = test.__name__
    return run


def groups(part):
    """For the presets of part "k/n": the name, what Cluster() is given, and the tests."""
    number, parts = map(int, part.split("/"))
    for preset in tuple(presets.PRESETS)[number - 1::parts]:
        options = {"nodes": 3, "disk": DISK_BYTES, "programs": plain.TOOLS}
        yield preset, options, tuple(run_under(preset, test) for test in tests_of(preset))
        for test in losses_of(preset):
            yield preset, {"nodes": 3}, (run_under(preset, test),)
