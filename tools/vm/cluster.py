# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""A cluster of virtual machines: the interface of tools/dsmvm for tests and tools.

    sys.path.insert(0, "<top>/tools")
    from vm.cluster import Cluster, GuestError

    with Cluster(nodes=3, kernel="6.12", add=["build/user/examples/counter"]) as c:
        r = c.nodes[0].run(["dsmctl", "status"])            # Result: status, out, err
        c.nodes[1].check(["dd", "if=/dev/zero", ...])       # the same, GuestError if status != 0
        job = c.nodes[2].start(["counter", "100"])          # in the background: a Job
        job.wait_line(r"^ready", timeout=10)                # match object, or GuestError
        job.signal(9); job.wait(10).status                  # 137
        results = c.run_all(["hostname"])                   # on every node at the same time

        c.nodes[2].kill()            # the machine is gone at once (QEMU is killed)
        c.nodes[1].stop(); c.nodes[1].cont()      # its processors stand still, and go on
        c.nodes[1].cut(); c.nodes[1].join()       # the switch drops its frames, silently; part(), meet(): between two
        c.nodes[1].carrier(False)                 # the cable is pulled: the guest sees it
        c.nodes[0].put("local/file", "/work/file"); c.nodes[0].read("/proc/slabinfo")
        c.nodes[0].wait_for(["test", "-e", "/dev/dsm-a"], 10)   # poll a command till it succeeds

Leaving the `with` block by its end unloads the module in all guests that live, looks for
what it left behind, judges every kernel log, and raises ClusterError with the lines if
something is wrong. Leaving it by an exception only ends the guests. Node K has the address
10.9.0.(K+1), rxe0 on eth0, and, unless dsm=False, a loaded module that has joined.

Each guest is a QEMU process that dies with this one (parent-death signal: start a Cluster
from a thread that outlives it). All sockets are in a private directory, so any number of
clusters run side by side. Logs are kept in Cluster.log_dir: nodeK.console and nodeK.dmesg.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from . import clock, emulator, image, judge, kernels, leaks, priority, ready
from .channel import Channel, GuestError

TOP = kernels.TOP
PEER_TIMEOUT_MS = 3000
BOOT_SECONDS = 180
COMMAND_SECONDS = 60
KMEMLEAK_SECONDS = 300
# The debug kernel does everything several times slower; bounds of our own grow with it.
DEBUG_FACTOR = 5
RUN_DIR_PREFIX = "dsmvm-"
# How often guests are booted anew when QEMU itself crashes.
REBOOTS = 2


class ClusterError(Exception):
    """The cluster did not come up, or a kernel log or a leak check spoke against it."""


def _dying_with_us(argv):
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]


def _tail(path, lines=25):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return "".join("    " + line for line in f.readlines()[-lines:])
    except OSError:
        return "    (no console log)\n"


class EmulatorCrash(ClusterError):
    """A guest did not come up, since QEMU itself ended with a signal."""


class Node(Channel):
    """One guest. See the module's text for its use."""

    def __init__(self, cluster, index):
        super().__init__(f"node {index}")
        self.cluster, self.index = cluster, index
        self.address = f"10.9.0.{index + 1}"
        self.console = os.path.join(cluster.log_dir, f"node{index}.console")
        self.qemu = None
        self.killed = False	# by us
        self.listener = None
        self.unsent = 0	# see ready.py

    # Machine

    def _path(self, what):
        return os.path.join(self.cluster.run_dir, f"{what}{self.index}")

    def _arguments(self):
        c = self.cluster
        words = ["console=ttyS0", "quiet", "loglevel=5", "panic=-1", "mitigations=off",
                 "tsc=reliable", f"tsc_early_khz={c.tsc_khz}", "lsm=capability",
                 "random.trust_cpu=on", "no_timer_check", "init_on_alloc=0", "psi=0",
                 "noautogroup", "cryptomgr.notests", "log_buf_len=4M", "watchdog_thresh=30",
                 "rcupdate.rcu_cpu_stall_timeout=60", "net.ifnames=0", "pci=noaer",
                 # The module's caches by their names: what is left in them is a leak.
                 "slab_nomerge",
                 f"dsmvm.node={self.index}", f"dsmvm.nodes={c.count}", *c.kernel_args]
        pci = "device" if c.kernel.debug else "pci"
        machine = (["-machine", "microvm,acpi=off,rtc=on,pic=on,pit=on"] if c.kernel.debug else
                   ["-machine", "pc,acpi=on,usb=off,vmport=off", "-global", "PIIX4_PM.disable_s3=1"])
        args = ["qemu-system-x86_64", *machine, *c.accel, "-m", c.mem, "-smp", str(c.cpus),
                "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-name", f"dsm-node{self.index}", "-serial", f"file:{self.console}",
                "-qmp", f"unix:{self._path('qmp')},server=on,wait=off",
                "-kernel", c.kernel.image, "-initrd", os.path.join(c.run_dir, "initrd"),
                "-append", " ".join(words),
                "-device", f"virtio-serial-{pci}",
                "-chardev", f"socket,id=control,path={self._path('control')}",
                "-device", "virtserialport,chardev=control,name=dsm.control",
                "-chardev", f"socket,id=shell,path={self._path('shell')},server=on,wait=off",
                "-device", "virtserialport,chardev=shell,name=dsm.shell",
                "-netdev", "stream,id=net0,server=off,addr.type=unix,"
                           f"addr.path={self._path('net')}",
                "-device", f"virtio-net-{pci},netdev=net0,id=nic0,mrg_rxbuf=on,host_mtu=9000,"
                           f"mac=52:54:00:0d:50:{self.index + 1:02x}"
                           + ("" if c.kernel.debug else ",romfile=")]
        if c.disk:
            disk = os.path.join(c.run_dir, f"disk{self.index}")
            with open(disk, "wb") as f:
                f.truncate(c.disk)
            args += ["-drive", f"file={disk},if=none,id=disk0,format=raw,cache=none",
                     "-device", f"virtio-blk-{pci},drive=disk0"]
        return args

    def boot(self):
        """Start QEMU; the agent's connection is taken by a thread of its own."""
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self._path("control"))
        self.listener.listen(1)
        with open(os.path.join(self.cluster.log_dir, f"node{self.index}.qemu"), "wb") as err:
            self.qemu = subprocess.Popen(_dying_with_us(self._arguments()), stdout=err,
                                         stderr=err, stdin=subprocess.DEVNULL,
                                         start_new_session=True)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        self.listener.settimeout(0.2)
        while self.qemu.poll() is None:
            try:
                sock, _ = self.listener.accept()
            except socket.timeout:
                continue
            except OSError:
                return
            sock.settimeout(None)
            self.attach(sock)
            return
        self.lost()

    def crashed(self):
        """The signal by which QEMU itself ended, or None."""
        return emulator.crash(self.qemu)

    def alive(self):
        """True while the machine runs (or is stopped) and its agent can be reached."""
        return self.qemu is not None and self.qemu.poll() is None and not self.gone

    def kill(self):
        """End the machine at once, as a power failure would."""
        if self.qemu and self.qemu.poll() is None:
            self.killed = True
            self.qemu.kill()
            self.qemu.wait()
        self.lost()

    def stop(self):
        """Let the machine's processors stand still."""
        self.qemu.send_signal(signal.SIGSTOP)

    def cont(self):
        """Let a stopped machine go on."""
        self.qemu.send_signal(signal.SIGCONT)

    def qmp(self, command, **arguments):
        """Run one QMP command; return its answer."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20)
            s.connect(self._path("qmp"))
            f = s.makefile("rwb")
            f.readline()
            for request in ({"execute": "qmp_capabilities"},
                            {"execute": command, "arguments": arguments}):
                f.write(json.dumps(request).encode() + b"\n")
                f.flush()
                while True:
                    answer = json.loads(f.readline())
                    if "error" in answer:
                        raise ClusterError(f"{self.name}: {command}: {answer['error']['desc']}")
                    if "return" in answer:
                        break
            return answer["return"]

    def processors(self):
        """Thread ids of the virtual processors."""
        return {cpu["thread-id"] for cpu in self.qmp("query-cpus-fast")}

    def cut(self):
        """Drop all frames to and from this node; nobody is told."""
        self.cluster.switch_command(f"cut {self.index}")

    def join(self):
        """Undo cut()."""
        self.cluster.switch_command(f"join {self.index}")

    def part(self, other):
        """Drop all frames between this node and another; both reach the rest."""
        self.cluster.switch_command(f"part {self.index} {other.index}")

    def meet(self, other):
        """Undo part()."""
        self.cluster.switch_command(f"meet {self.index} {other.index}")

    def carrier(self, on):
        """Pull the network cable, or put it back: the guest sees the link go and come."""
        self.qmp("set_link", name="nic0", up=on)

    # Commands

    def run(self, argv, timeout=None, **kw):
        """Run a command to its end; return its Result. See Channel.start() for **kw.

        timeout: seconds, default 60 (with the debug kernel 300).
        """
        job = self.start(argv, **kw)
        try:
            return job.wait(timeout or self.cluster.command_seconds)
        except GuestError:
            job.signal(signal.SIGKILL)
            raise

    def check(self, argv, timeout=None, **kw):
        """run(), and GuestError if the status is not 0."""
        r = self.run(argv, timeout, **kw)
        if r.status:
            raise GuestError(f"'{' '.join(map(str, argv))}' on {self.name}: status {r.status}\n"
                             f"stdout: {r.out[-2000:]}\nstderr: {r.err[-2000:]}")
        return r

    def sh(self, script, timeout=None, **kw):
        """check() of a shell script given as text."""
        return self.check(["sh", "-c", script], timeout, **kw)

    def wait_for(self, argv, timeout=60):
        """Run a command again and again until its status is 0; GuestError after timeout s."""
        end = clock.now() + timeout
        while True:
            r = self.run(argv)
            if r.status == 0:
                return r
            if clock.now() > end:
                raise GuestError(f"'{' '.join(argv)}' on {self.name} did not succeed within "
                                 f"{timeout} s: status {r.status}, {r.err.strip()}")
            time.sleep(0.05)

    def put(self, source, path, mode=0o755):
        """Copy a file of the host into the guest."""
        with open(source, "rb") as f:
            self.write(f.read(), path, mode)

    def write(self, data, path, mode=0o644):
        """Make a file of bytes in the guest."""
        self.check(["sh", "-c", f'cat > "$1" && chmod {mode:o} "$1"', "put", path], stdin=data)

    def read(self, path):
        """The text of a file of the guest."""
        return self.check(["cat", path]).out

    def dmesg(self):
        """The kernel log of the guest, text."""
        return self.check(["dmesg"]).out


class Cluster:
    """N guests on a private switch.

    nodes: 1 to 8; cpus: virtual processors of each; mem: QEMU's notation;
    kernel: "6.1", "6.12", "debug" or a release; dsm: load the module and join;
    insecure: dsm.ko's parameter, settable for tests of the refusal;
    regions: strings "NAME=SIZE[,policy...]", created from node 0;
    add: files to copy, "SRC" (to /work/, ELF files with their libraries) or "SRC:DEST";
    programs: like add, but also looked up in PATH and kept at their own place then;
    loss: fraction 0..1 of frames lost, delay_us: added to every frame, both by each sender;
    module_args: list of further parameters of dsm.ko; kernel_args: of the kernel;
    disk: bytes of a scratch disk /dev/vda, 0 = none; join: False loads the module only;
    build: directory of the tree that has the module, in RELEASE/dsm.ko;
    peer_timeout_ms: None = the default, raised when guests outnumber processors;
    allow: regexes of kernel log lines that are provoked on purpose;
    log_dir: where logs go, default new below build/logs/vm; progress: called with a line for who waits, None = silent.
    """

    def __init__(self, nodes=2, cpus=1, mem="1G", kernel="6.12", dsm=True, regions=(), add=(),
                 programs=(), loss=0.0, delay_us=0, module_args=(), kernel_args=(), disk=0,
                 join=True, insecure=True, peer_timeout_ms=None, allow=(), log_dir=None,
                 unload=True, build="build", progress=None):
        if not 1 <= nodes <= 8:
            raise ClusterError(f"{nodes} nodes: a cluster has 1 to 8")
        self.count, self.cpus, self.mem, self.disk = nodes, cpus, str(mem), disk
        self.kernel = kernels.find(kernel)
        self.dsm, self.regions, self.add, self.programs = dsm, regions, add, programs
        self.loss, self.delay_us = loss, delay_us
        self.module_args, self.kernel_args = list(module_args), list(kernel_args)
        self.join_nodes, self.insecure, self.unload_at_end = join, insecure, unload
        self.allow, self.build = list(allow), build
        self.say = progress or (lambda line: None)
        self.accel, self.accel_name = emulator.accelerator()
        self.slowness = DEBUG_FACTOR if self.kernel.debug else 1
        self.command_seconds = COMMAND_SECONDS * self.slowness
        self.peer_timeout_ms = peer_timeout_ms or self._peer_timeout()
        self.log_dir = log_dir or self._new_log_dir()
        os.makedirs(self.log_dir, exist_ok=True)
        self.run_dir = tempfile.mkdtemp(prefix=RUN_DIR_PREFIX)
        self.switch = None
        self.tsc_khz = int(subprocess.check_output([image.host_tool("tsc.c")], text=True))
        self.nodes = [Node(self, i) for i in range(nodes)]
        self.boot_seconds = self.ready_seconds = None
        self.adapters_first = False

    @staticmethod
    def _new_log_dir():
        base = os.path.join(TOP, "build/logs/vm")
        os.makedirs(base, exist_ok=True)
        return tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=base)

    def _peer_timeout(self):
        share = -(-self.count * self.cpus // (os.cpu_count() or 1))
        return PEER_TIMEOUT_MS * max(1, share) * self.slowness

    # Life

    def __enter__(self):
        try:
            self.start()
        except BaseException as e:
            try:
                self._end_badly(e)
            finally:
                self.destroy()
            raise
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.finish()
            else:
                self._end_badly(value)
        finally:
            self.destroy()

    def start(self):
        """Boot all guests, load the module, join, create the regions."""
        begin = time.monotonic()
        self._make_initrd()
        self._boot()
        self.boot_seconds = time.monotonic() - begin
        self.adapters_first = priority.adapters_go_first(
            [(n.qemu.pid, n.processors()) for n in self.nodes], self.switch.pid)
        if self.loss or self.delay_us:
            self._set_net()
        if self.disk:
            self._everywhere(["insmod", "/modules/virtio_blk.ko"], "the disk",
                             skip=self.kernel.debug)
        if self.dsm:
            self.load()
            if self.join_nodes:
                self.join_all()
                for region in self.regions:
                    self.create_region(region)
        self.ready_seconds = time.monotonic() - begin
        self.say(f"ready after {self.ready_seconds:.1f} s")

    def _end_badly(self, error):
        """Keep the logs; if a kernel complained, that is the cause to name first."""
        self.save_logs()
        faults = self.judge()
        if faults and isinstance(error, Exception):
            raise ClusterError("\n".join([*faults, str(error)])) from error

    def destroy(self):
        """End all processes and remove the private directory; logs stay."""
        self._end_processes()
        shutil.rmtree(self.run_dir, ignore_errors=True)

    def _end_processes(self):
        for node in self.nodes:
            node.kill()
            if node.listener:
                node.listener.close()
        if self.switch:
            self.switch.kill()
            self.switch.wait()
            self.switch = None

    def finish(self):
        """Unload, look for leaks, judge the logs; ClusterError names what is wrong."""
        faults = [f"{n.name} ended by itself{f', by signal {n.crashed()}' if n.crashed() else ''}"
                  for n in self.nodes if not n.alive() and not n.killed]
        if self.dsm and self.unload_at_end:
            faults += self.unload()
        for node in self.nodes:
            if self.kernel.debug and node.alive():
                faults += leaks.unreferenced(node, KMEMLEAK_SECONDS)
        self.save_logs()
        faults += self.judge()
        if faults:
            raise ClusterError("\n".join(faults))

    # Boot

    def _make_initrd(self):
        user = os.path.join(TOP, "build/user/lib")
        extra = image.Archive()
        with tempfile.TemporaryDirectory() as tmp:
            if self.dsm:
                self._pack_dsm(extra, tmp, user)
        for item in self.programs:
            path = shutil.which(item, path=image.SEARCH) if "/" not in item else None
            if path:
                extra.program(path, library_path=user)
            else:
                self._pack_file(extra, item, user)
        for item in self.add:
            self._pack_file(extra, item, user)
        with open(os.path.join(self.run_dir, "initrd"), "wb") as out:
            with open(image.base(self.kernel), "rb") as f:
                shutil.copyfileobj(f, out)
            out.write(extra.pack())

    @staticmethod
    def _pack_file(extra, item, user):
        source, _, dest = item.partition(":")
        if not os.path.isfile(source):
            raise ClusterError(f"{source}: no such file to copy into the guests")
        dest = dest or "/work/" + os.path.basename(source)
        if os.access(source, os.X_OK):
            extra.program(source, dest, library_path=user)
        else:
            extra.file(source, dest)

    def _pack_dsm(self, extra, tmp, user):
        module = os.path.join(TOP, self.build, self.kernel.release, "dsm.ko")
        image.check_module(module, TOP, "debug" if self.kernel.debug else self.kernel.release)
        extra.file(image.stripped(module, tmp), "/modules/dsm.ko", 0o644)
        wanted = subprocess.run(["/sbin/modinfo", "-F", "depends", module], capture_output=True,
                                text=True, check=True).stdout.strip().split(",")
        paths = self.kernel.module_files([w for w in wanted if w])
        for path in paths:
            extra.data(f"/modules/{image.module_name(path)}.ko", image.read_module(path))
        extra.data("/modules/dsm.needs",
                   "".join(f"{image.module_name(p)}\n" for p in paths).encode())
        for tool in ("dsmctl", "dsmrun"):
            path = os.path.join(TOP, "build/user/bin", tool)
            if os.path.exists(path):
                extra.program(path, "/usr/local/bin/" + tool, library_path=user)
        path = os.path.join(user, "libdsm.so.0")
        if os.path.exists(path):
            extra.elf(path, "/usr/local/lib/libdsm.so.0", library_path=user)

    def _start_switch(self):
        ports = [os.path.join(self.run_dir, f"net{i}") for i in range(self.count)]
        self.switch = subprocess.Popen(
            _dying_with_us([image.host_tool("switch.c"), *ports]), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        if self.switch.stdout.readline() != "ready\n":
            raise ClusterError("the switch between the guests did not start")

    def switch_ask(self, line):
        """One line to the switch; its answer, when it has taken effect."""
        self.switch.stdin.write(line + "\n")
        self.switch.stdin.flush()
        return self.switch.stdout.readline().rstrip("\n")

    def switch_command(self, line):
        """One line that is not a question."""
        if self.switch_ask(line) != "ok":
            raise ClusterError(f"the switch did not take '{line}'")

    def _boot(self):
        """All guests; from the start again if QEMU crashes, which says nothing of what is tested."""
        for left in reversed(range(REBOOTS + 1)):
            self._start_switch()
            for node in self.nodes:
                node.boot()
            with open(os.path.join(self.run_dir, "cluster.json"), "w", encoding="ascii") as f:
                json.dump({"pid": os.getpid(), "nodes": self.count}, f)
            try:
                self._await_boot()
                return
            except EmulatorCrash as e:
                if not left:
                    raise
                self.say(f"{e.args[0].splitlines()[0]} booting all again")
            self._end_processes()
            for name in os.listdir(self.run_dir):
                if name != "initrd":
                    os.unlink(os.path.join(self.run_dir, name))
            self.nodes = [Node(self, node.index) for node in self.nodes]

    def _await_boot(self):
        self.say(f"{self.count} guest{'s' * (self.count > 1)}, {self.cpus} CPU, {self.mem} each, "
                 f"kernel {self.kernel.release}, {self.accel_name}; waiting for them to boot")
        end = clock.now() + BOOT_SECONDS * self.slowness
        for node in self.nodes:
            if not node.wait_hello(max(0.1, end - clock.now())):
                with open(os.path.join(self.log_dir, f"node{node.index}.qemu"),
                          encoding="utf-8", errors="replace") as f:
                    words = f.read().strip()
                crash = node.crashed()
                kind = EmulatorCrash if crash else ClusterError
                cause = f"QEMU itself ended with signal {crash};\n" if crash else ""
                raise kind(f"node {node.index} did not come up; {cause}the end of its console "
                           f"({node.console}):\n{_tail(node.console)}{words}")

    def _everywhere(self, argv, what, skip=False):
        """The command on all nodes at the same time; ClusterError names who failed and how."""
        if skip:
            return
        jobs = [n.start(argv) for n in self.nodes]
        for node, job in zip(self.nodes, jobs):
            r = job.wait(self.command_seconds)
            if r.status:
                raise ClusterError(f"{what} failed on {node.name}: {(r.err or r.out).strip()}\n"
                                   f"{_tail(node.console, 8)}")

    def _set_net(self):
        netem = ["tc", "qdisc", "add", "dev", "eth0", "root", "netem", "limit", "100000"]
        if self.loss:
            netem += ["loss", f"{self.loss * 100:g}%"]
        if self.delay_us:
            netem += ["delay", f"{self.delay_us}us"]
        self._everywhere(["insmod", "/modules/sch_netem.ko"], "loading netem",
                         skip=self.kernel.debug)
        self._everywhere(netem, "setting loss and delay")

    # dsm

    def load(self, nodes=None):
        """Load dsm.ko, with what it needs, on the given nodes (default all)."""
        self.say(f"loading dsm.ko (peer_timeout_ms={self.peer_timeout_ms})")
        args = [f"insecure={int(self.insecure)}", f"peer_timeout_ms={self.peer_timeout_ms}",
                *self.module_args]
        script = ("while read -r m; do grep -q \"^${m} \" /proc/modules || "
                  "insmod /modules/$m.ko || exit 1; done </modules/dsm.needs\n"
                  "exec insmod /modules/dsm.ko \"$@\"")
        jobs = [(n, n.start(["sh", "-c", script, "load", *args]))
                for n in (self.nodes if nodes is None else nodes)]
        for node, job in jobs:
            r = job.wait(self.command_seconds)
            if r.status:
                raise ClusterError(f"loading dsm.ko failed on {node.name}: {r.err.strip()}\n"
                                   f"{node.run(['dmesg']).out[-2000:]}")

    def join_all(self, count=None):
        """Let every node join, or the first `count`; node 0 is the seed of the others."""
        count = count or self.count
        self.say(f"joining {count} node{'s' * (count > 1)}")
        jobs = [(n, n.start(self.join_command(n, count))) for n in self.nodes[:count]]
        for node, job in jobs:
            r = job.wait(self.command_seconds)
            if r.status:
                raise ClusterError(f"join failed on {node.name}: {(r.err or r.out).strip()}\n"
                                   f"{node.run(['dmesg']).out[-2000:]}")

    def join_command(self, node, count=None):
        """The words of `dsmctl join` for a node of all, or of the first `count`."""
        words = ["dsmctl", "join", "--listen", node.address]
        if node.index:
            words += ["--seed", self.nodes[0].address]
        return words + ["--node", str(node.index), "--nodes", str(count or self.count)]

    def create_region(self, text):
        """Create a region from "NAME=SIZE[,policy...]" on node 0."""
        name, _, rest = text.partition("=")
        size, *policies = rest.split(",")
        self.nodes[0].check(["dsmctl", "region", "create", name, size, *policies])
        for node in self.nodes:
            node.wait_for(["test", "-e", f"/dev/dsm-{name}"], 10)

    def unload(self):
        """Leave and unload on every living node; return what is wrong as lines."""
        faults = []
        living = [n for n in self.nodes if n.alive()]
        for node in living:
            if "\ndsm " in "\n" + node.read("/proc/modules"):
                r = node.run(["dsmctl", "leave", "--force"])
                if r.status and "has not joined" not in r.err:
                    faults.append(f"dsmctl leave --force failed on {node.name}: {r.err.strip()}")
        for node in living:
            if "\ndsm " not in "\n" + node.read("/proc/modules"):
                continue
            r = node.run(["rmmod", "dsm"])
            if r.status:
                faults.append(f"rmmod dsm failed on {node.name}: {r.err.strip()}")
                continue
            faults += leaks.after_unload(node)
            if ready.missed(node):
                faults.append(f"{node.name}: {ready.missed(node)} times a receiver was not ready")
        return faults

    # Programs and logs

    def run_all(self, argv, timeout=None, nodes=None, **kw):
        """The command on all living (or the given) nodes at once; Results in node order."""
        chosen = [n for n in self.nodes if n.alive()] if nodes is None else nodes
        jobs = [n.start(argv, **kw) for n in chosen]
        return [j.wait(timeout or self.command_seconds) for j in jobs]

    def save_logs(self):
        """Write the kernel logs of the living guests next to their console logs."""
        for node in self.nodes:
            if not node.alive():
                continue
            try:
                text = node.run(["dmesg"]).out
            except GuestError:
                continue
            with open(os.path.join(self.log_dir, f"node{node.index}.dmesg"), "w",
                      encoding="utf-8") as f:
                f.write(text)

    def judge(self):
        """What the kernel logs hold against this run: a list of texts, empty if clean."""
        faults = []
        for node in self.nodes:
            for kind in ("dmesg", "console"):
                path = os.path.join(self.log_dir, f"node{node.index}.{kind}")
                if not os.path.exists(path):
                    continue
                with open(path, encoding="utf-8", errors="replace") as f:
                    reports = judge.find(f.read(), self.allow)
                if reports:
                    faults += [f"{node.name}, {path}:\n{r}" for r in reports]
                    break
        return faults


def running():
    """Private directories of the clusters that run now for this user, newest first."""
    found = []
    base = tempfile.gettempdir()
    for name in os.listdir(base):
        path = os.path.join(base, name, "cluster.json")
        try:
            with open(path, encoding="ascii") as f:
                info = json.load(f)
            os.kill(info["pid"], 0)
            found.append((os.stat(path).st_mtime, os.path.join(base, name), info))
        except (OSError, ValueError, KeyError):
            continue
    return [(path, info) for _, path, info in sorted(found, reverse=True)]


def attach_shell(run_dir, index):
    """A second Channel to a guest of a running cluster, for a person's shell."""
    channel = Channel(f"node {index}")
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(os.path.join(run_dir, f"shell{index}"))
    channel.attach(sock)
    if not channel.wait_hello(20):
        raise GuestError(f"node {index} does not answer")
    return channel


def progress_to_stderr(line):
    """A progress printer for command-line tools."""
    print(f"dsmvm: {line}", file=sys.stderr, flush=True)
