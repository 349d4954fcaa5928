# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The command line of dsmvm: `run` and `shell`."""
import argparse
import os
import select
import signal
import subprocess
import sys
import termios
import threading
import time
import tty

from . import cluster, kernels
from .channel import ERR, EXIT, GuestError

STATUS_TOOL_FAILED = 125
STATUS_TIMEOUT = 124


def _add_machine_options(p, nodes):
    p.add_argument("-n", "--nodes", type=int, default=nodes, metavar="NODES",
                   help="guests, 1 to 8" + (f" (default {nodes})" if nodes else ""))
    p.add_argument("--cpus", type=_some, default=1, metavar="C", help="processors of each guest")
    p.add_argument("--mem", default="1G", metavar="M", help="memory of each guest (default 1G)")
    p.add_argument("--kernel", default="6.12", metavar="K",
                   help="6.1, 6.12, debug, or a release (default 6.12)")
    p.add_argument("--region", action="append", default=[], metavar="NAME=SIZE[,POLICY...]",
                   help="create a region (may be given again)")
    p.add_argument("--net", default="", metavar="loss=P,delay=US",
                   help="lose a fraction P of all frames, delay each by US microseconds")
    p.add_argument("--add", action="append", default=[], metavar="FILE[:DEST]",
                   help="copy a further file into the guests (default to /work)")
    p.add_argument("--no-dsm", action="store_true", help="guests with rxe only, no dsm.ko")
    p.add_argument("--no-unload", action="store_true",
                   help="end the guests without unloading dsm.ko and looking for leaks")
    p.add_argument("--module-arg", action="append", default=[], metavar="NAME=VALUE",
                   help="a further parameter of dsm.ko")
    p.add_argument("--disk", default="0", metavar="SIZE", help="scratch disk /dev/vda, e.g. 64M")
    p.add_argument("--logs", metavar="DIR", help="where logs go (default build/logs/vm/...)")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress lines")


def _size(text):
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper())
    try:
        return int(text[:-1]) * factor if factor else int(text)
    except ValueError:
        raise cluster.ClusterError(f"--disk: '{text}' is no size, such as 64M") from None


def _some(text):
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 on")
    return int(text)


def _net(text):
    loss, delay = 0.0, 0
    for word in filter(None, text.split(",")):
        key, _, value = word.partition("=")
        try:
            if key == "loss":
                loss = float(value)
            elif key == "delay":
                delay = int(value)
            else:
                raise ValueError
        except ValueError:
            raise cluster.ClusterError(f"--net: '{word}'; say loss=P,delay=US, a fraction and whole microseconds") from None
    if not 0 <= loss < 1:
        raise cluster.ClusterError(f"--net: loss={loss} is no fraction of 0 to 1")
    return loss, delay


def _cluster(args, programs=()):
    loss, delay = _net(args.net)
    return cluster.Cluster(
        nodes=args.nodes, cpus=args.cpus, mem=args.mem, kernel=args.kernel, dsm=not args.no_dsm,
        regions=args.region, add=args.add, programs=programs, loss=loss, delay_us=delay,
        module_args=args.module_arg, disk=_size(args.disk), log_dir=args.logs,
        unload=not args.no_unload, progress=None if args.quiet else cluster.progress_to_stderr)


class _Printer:
    """Whole lines of a job's output, with the node's number before each."""

    lock = threading.Lock()
    lost = None		# why the output could not be written; a reader that has enough is no reason

    def __init__(self, index):
        self.prefix = f"{index}| ".encode()
        self.rest = {}

    def __call__(self, job, kind, payload):
        if kind == EXIT:
            for stream, rest in self.rest.items():
                if rest:
                    self._write(stream, [rest])
            self.rest = {}
            return
        *lines, self.rest[kind] = (self.rest.get(kind, b"") + payload).split(b"\n")
        self._write(kind, lines)

    def _write(self, kind, lines):
        out = sys.stderr if kind == ERR else sys.stdout
        with self.lock:
            try:
                for line in lines:
                    out.buffer.write(self.prefix + line + b"\n")
                out.buffer.flush()
            except OSError as e:
                # The program goes on, and what it says from here on goes nowhere.
                if not isinstance(e, BrokenPipeError):
                    _Printer.lost = e
                with open(os.devnull, "wb") as nowhere:
                    os.dup2(nowhere.fileno(), out.fileno())


def _start_program(c, args):
    """The program on every node at the same time: ppn processes each, ranks round robin."""
    name = args.program[0]
    command = name if "/" not in name else "/work/" + os.path.basename(name)
    ranks = c.count * args.ppn
    jobs = []
    for i in range(args.ppn):
        for node in c.nodes:
            env = {"DSM_RANK": node.index + i * c.count, "DSM_RANKS": ranks,
                   "DSM_NODE": node.index, "DSM_NODES": c.count}
            for word in args.env:
                key, _, value = word.partition("=")
                env[key] = value
            jobs.append(node.start([command, *args.program[1:]], env=env,
                                   sink=_Printer(node.index)))
    return jobs


def _wait_program(c, jobs, timeout):
    end = time.monotonic() + timeout
    worst = 0
    for job in jobs:
        try:
            worst = max(worst, job.wait(max(0.1, end - time.monotonic())).status)
        except GuestError as e:
            if job.channel.gone:
                raise
            late = sorted({j.channel.name for j in jobs if not j.done()})
            c.say(f"no end after {timeout} s on {', '.join(late)}; killing the program")
            for j in jobs:
                j.signal(signal.SIGKILL)
            for j in jobs:
                j.wait(20)
            if not late:
                raise e
            return STATUS_TIMEOUT
    return worst


def _run(args):
    status = 0
    with _cluster(args, programs=[args.program[0]]) as c:
        c.say(f"starting {' '.join(args.program)}")
        status = _wait_program(c, _start_program(c, args), args.timeout)
        c.say(f"program ended, status {status}; logs in {os.path.relpath(c.log_dir)}")
        if args.keep:
            c.say("guests are kept: `tools/dsmvm shell --node K` gives a prompt; Ctrl-C ends them")
            try:
                signal.pause()
            except KeyboardInterrupt:
                pass
    if _Printer.lost:
        raise cluster.ClusterError(f"the program's output could not be written: {_Printer.lost.strerror}")
    return status


def _interact(channel):
    """A shell in the guest on this terminal, until it ends."""
    size = os.get_terminal_size() if sys.stdout.isatty() else os.terminal_size((80, 24))

    def show(job, kind, payload):
        if kind != EXIT:
            os.write(1, payload)

    job = channel.start(["sh", "-c", f"stty rows {size.lines} cols {size.columns}; exec sh -i"],
                        env={"TERM": os.environ.get("TERM", "vt100"), "PS1": "\\h:\\w# "},
                        pty=True, stdin=True, sink=show)
    old = termios.tcgetattr(0) if os.isatty(0) else None
    try:
        if old:
            tty.setraw(0)
        ended = False
        while not job.done() and not channel.gone:
            if ended or not select.select([0], [], [], 0.1)[0]:
                if ended:
                    job.wait(None)
                continue
            data = os.read(0, 4096)
            if not data:
                data, ended = b"\x04", True
            job.write(data)
    finally:
        if old:
            termios.tcsetattr(0, termios.TCSADRAIN, old)
    if not job.done():
        print("dsmvm: the guest has ended", file=sys.stderr)
        return STATUS_TOOL_FAILED
    return job.status or 0


def _shell(args):
    node = args.node
    if args.nodes is None:
        found = cluster.running()
        if found:
            run_dir, info = found[0]
            if not 0 <= node < info["nodes"]:
                raise cluster.ClusterError(f"node {node}: the cluster has {info['nodes']}")
            return _interact(cluster.attach_shell(run_dir, node))
        args.nodes = max(2, node + 1)
    if not 0 <= node < args.nodes:
        raise cluster.ClusterError(f"node {node}: the cluster has {args.nodes}")
    with _cluster(args) as c:
        return _interact(c.nodes[node])


def _parser():
    p = argparse.ArgumentParser(prog="dsmvm", description=__doc__ and
                                "Run programs on virtual machines that share memory through dsm.")
    sub = p.add_subparsers(dest="command", required=True)
    run = sub.add_parser(
        "run", help="run a program on every node",
        usage="dsmvm run [OPTION...] -- PROGRAM [ARG...]",
        description="PROGRAM is copied with the libraries it needs and started on all nodes at "
        "the same time with DSM_RANK, DSM_RANKS, DSM_NODE and DSM_NODES set. Returns the worst "
        "exit status; 124 after the time limit, 125 if a kernel log or a leak check failed.")
    _add_machine_options(run, 2)
    run.add_argument("--ppn", type=_some, default=1, metavar="P", help="processes on each node")
    run.add_argument("--timeout", type=float, default=600, metavar="S",
                     help="seconds the program may run (default 600)")
    run.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                     help="a variable of the program's environment")
    run.add_argument("--keep", action="store_true", help="keep the guests until Ctrl-C")
    run.add_argument("program", nargs="+", metavar="PROGRAM [ARG...]")
    shell = sub.add_parser(
        "shell", help="a prompt on a node",
        description="With -n: of a new cluster, which ends with the shell. Without: of the "
        "newest running cluster (run --keep), or of a new one of 2 nodes if none runs.")
    _add_machine_options(shell, None)
    shell.add_argument("--node", type=int, default=0, metavar="K", help="whose prompt (default 0)")
    return p


def main():
    """Entry point; returns the exit status."""
    args = _parser().parse_args()
    # A terminating signal unwinds like Ctrl-C, so that the guests are ended in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    try:
        return _run(args) if args.command == "run" else _shell(args)
    except (cluster.ClusterError, kernels.KernelError, GuestError, subprocess.CalledProcessError, OSError) as e:
        print(f"dsmvm: FAILED: {e}", file=sys.stderr)
        return STATUS_TOOL_FAILED
    except KeyboardInterrupt:
        print("dsmvm: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
