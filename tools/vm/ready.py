# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What soft-RoCE counts: receivers that were not ready, of which credits see to it that there are none; and what was sent again."""
import contextlib


def _counted(node, counter):
    """A counter of all devices of a living node. GuestError if it cannot be read, or there is no device.

    iWARP knows no such receivers.
    """
    out = node.sh("for d in /sys/class/infiniband/*; do grep -q RNIC $d/node_type && continue; "
                  f"cat $d/ports/*/hw_counters/{counter} || exit; done").out
    return sum(int(word) for word in out.split())


def missed(node):
    """How often a receiver had no slot posted, on either side of a living node's connections."""
    return _counted(node, "rcvd_rnr_err") + _counted(node, "send_rnr_err") - node.unsent


def sent_again(node):
    """How often a living node has begun to send again what nobody had acknowledged."""
    return _counted(node, "completer_retry_err")


@contextlib.contextmanager
def unable_to_send(node):
    """For a time in which a node's network interface is to take no packets: what that alone lets missed() count.

    soft-RoCE (drivers/infiniband/sw/rxe/rxe_resp.c, read_reply()) takes an answer to a READ that cannot be sent for a
    receiver that is not ready. It counts it in send_rnr_err, and tells nobody, so that rcvd_rnr_err stays. Yields a list:
    at the end of the block its one element is how many there were.
    """
    found = []
    before = _counted(node, "send_rnr_err")
    try:
        yield found
    finally:
        found.append(_counted(node, "send_rnr_err") - before)
        node.unsent += found[0]
