# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Makes the guests' file system: a cpio archive the kernel unpacks into memory.

The base (busybox, agent, kernel modules, RDMA tools) is cached per kernel and per content;
what a run adds (the module, libdsm, dsmctl, the program with its libraries) is a second
archive appended to it. Nothing needs root, and no tool but gcc, ldd and modprobe is called.
"""
import fcntl
import functools
import hashlib
import lzma
import os
import re
import shutil
import stat
import subprocess

from . import kernels

HERE = os.path.dirname(os.path.abspath(__file__))

BASE_MODULES = ("crc32_generic", "virtio_pci", "virtio_console", "net_failover", "virtio_net",
                "ib_uverbs", "rdma_rxe", "rdma_cm", "rdma_ucm")
# Not loaded at boot, there for `modprobe`-less loading with `insmod /modules/NAME.ko`.
EXTRA_MODULES = ("sch_netem", "virtio_blk")
BASE_TOOLS = ("rdma", "ip", "tc", "rping", "ib_send_bw", "ib_send_lat", "ib_read_bw",
              "ib_read_lat", "ibv_devinfo")
PROVIDERS = ("/etc/libibverbs.d/rxe.driver",)
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Archive:
    """A newc cpio archive in the making; later entries of a path are ignored."""

    def __init__(self):
        self.entries = {}

    def _parents(self, path):
        parent = os.path.dirname(path)
        if parent not in ("", "/") and parent not in self.entries:
            self.directory(parent)

    def directory(self, path, mode=0o755):
        self._parents(path)
        self.entries.setdefault(path, (stat.S_IFDIR | mode, b""))

    def link(self, path, target):
        self._parents(path)
        self.entries.setdefault(path, (stat.S_IFLNK | 0o777, target.encode()))

    def data(self, path, content, mode=0o644):
        self._parents(path)
        self.entries.setdefault(path, (stat.S_IFREG | mode, content))

    def file(self, source, path=None, mode=None):
        with open(source, "rb") as f:
            content = f.read()
        if mode is None:
            mode = 0o755 if os.access(source, os.X_OK) else 0o644
        self.data(path or source, content, mode)

    def elf(self, source, path=None, library_path=""):
        """A program and the shared libraries it needs, at their places on this machine."""
        self.file(source, path, 0o755)
        for lib in libraries(source, library_path):
            if library_path and lib.startswith(library_path + "/"):
                self.file(lib, "/usr/local/lib/" + os.path.basename(lib))
            else:
                self.file(lib)

    def program(self, source, path=None, library_path=""):
        """Any executable: ELF, or a script together with its interpreter."""
        with open(source, "rb") as f:
            head = f.read(256)
        if head.startswith(b"\x7fELF"):
            self.elf(source, path, library_path)
            return
        self.file(source, path, 0o755)
        m = re.match(rb"#!\s*(\S+)(?:\s+(\S+))?", head)
        if not m:
            return
        words = [w.decode() for w in m.groups() if w]
        if os.path.basename(words[0]) == "env" and len(words) > 1:
            self.link("/usr/bin/env", "/bin/busybox")
            words = [shutil.which(words[1], path=SEARCH) or words[1]]
        if words[0] not in ("/bin/sh",) and os.path.exists(words[0]):
            self.elf(words[0])

    def pack(self):
        out = []
        for number, (path, (mode, content)) in enumerate(self.entries.items(), 1):
            out.append(_record(path.lstrip("/"), mode, content, number))
        out.append(_record("TRAILER!!!", 0, b"", 0))
        blob = b"".join(out)
        return blob + b"\0" * (-len(blob) % 512)


def _record(name, mode, content, inode):
    name = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + name
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)


def libraries(source, library_path=""):
    """Paths of the shared libraries of an ELF file, as the dynamic linker finds them."""
    env = dict(os.environ)
    if library_path:
        env["LD_LIBRARY_PATH"] = library_path
    out = subprocess.run(["ldd", source], capture_output=True, text=True, env=env, check=False)
    found = []
    for line in out.stdout.splitlines():
        if "not found" in line:
            raise kernels.KernelError(f"{source} needs a library that is not here: {line.strip()}")
        m = re.search(r"(/\S+) \(0x", line)
        if m:
            found.append(m.group(1))
    return found


def host_tool(source, *flags):
    """Compile one of our C helpers once per content; return the path of the binary."""
    with open(os.path.join(HERE, source), "rb") as f:
        digest = hashlib.sha256(f.read() + " ".join(flags).encode()).hexdigest()[:16]
    path = os.path.join(kernels.cache_dir("bin"), f"{source[:-2]}-{digest}")
    if not os.path.exists(path):
        tmp = f"{path}.{os.getpid()}"
        subprocess.run(["gcc", "-O2", "-Wall", *flags, "-o", tmp, os.path.join(HERE, source)],
                       check=True)
        os.rename(tmp, path)
    return path


def read_module(path):
    """The bytes of a kernel module, uncompressed."""
    with open(path, "rb") as f:
        content = f.read()
    if path.endswith(".xz"):
        return lzma.decompress(content)
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    return content


def module_name(path):
    return os.path.basename(path).split(".ko")[0]


@functools.cache
def busybox():
    """A static one: of this machine, or of its package, which cannot be installed beside another."""
    r = subprocess.run([os.path.join(kernels.TOP, "tools/setup/unpacked"), "busybox"], stdout=subprocess.PIPE, text=True,
                       check=False)
    if r.returncode:
        raise kernels.KernelError("the guests need a static busybox: `tools/setup/need guest`")
    return r.stdout.strip()


def _base_entries(kernel):
    """Everything the base holds, as (kind, guest path, source or bytes)."""
    archive = Archive()
    for d in ("/proc", "/sys", "/dev", "/root", "/run", "/work", "/modules", "/tmp", "/var/tmp"):
        archive.directory(d, 0o1777 if d.endswith("tmp") else 0o755)
    archive.file(os.path.join(HERE, "guest-init"), "/init", 0o755)
    archive.file(host_tool("agent.c", "-static"), "/sbin/agent", 0o755)
    for path in PROVIDERS:
        if not os.path.exists(path):
            raise kernels.KernelError(f"the guests need {path}: `tools/setup/need guest`")
    archive.file(busybox(), "/bin/busybox", 0o755)
    archive.link("/bin/sh", "busybox")
    applets = subprocess.run([busybox(), "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        archive.link("/busybox/" + applet, "/bin/busybox")
    archive.data("/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")
    archive.data("/etc/group", b"root:x:0:\nuser:x:1000:\n")
    for tool in BASE_TOOLS:
        path = shutil.which(tool, path=SEARCH)
        if not path:
            raise kernels.KernelError(f"the guests need {tool}: `tools/setup/need guest`")
        archive.elf(path, "/usr/bin/" + tool)
    for conf in PROVIDERS:
        archive.file(conf)
    for lib in sorted(os.listdir("/usr/lib/x86_64-linux-gnu/libibverbs")):
        if lib.startswith("librxe"):
            archive.elf("/usr/lib/x86_64-linux-gnu/libibverbs/" + lib)
    # The C library loads this one by itself when a thread ends early.
    archive.file("/lib/x86_64-linux-gnu/libgcc_s.so.1")
    boot = kernel.module_files(BASE_MODULES)
    for path in boot + kernel.module_files(EXTRA_MODULES):
        archive.data(f"/modules/{module_name(path)}.ko", read_module(path))
    archive.data("/modules/order", "".join(f"{module_name(p)}\n" for p in boot).encode())
    return archive


def base(kernel):
    """Path of the cached base archive for a kernel; made when its inputs have changed."""
    seen = hashlib.sha256()
    inputs = [os.path.join(HERE, f) for f in ("image.py", "agent.c", "guest-init")]
    inputs += [busybox(), kernel.image]
    inputs += [shutil.which(t, path=SEARCH) or t for t in BASE_TOOLS]
    for path in inputs:
        st = os.stat(path) if os.path.exists(path) else None
        seen.update(f"{path} {st and (st.st_size, st.st_mtime_ns)}\n".encode())
    name = f"base-{kernel.release}-{seen.hexdigest()[:12]}.cpio"
    path = os.path.join(kernels.cache_dir("images"), name)
    with open(os.path.join(kernels.cache_dir("images"), "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            for old in os.listdir(os.path.dirname(path)):
                if old.startswith(f"base-{kernel.release}-"):
                    os.unlink(os.path.join(os.path.dirname(path), old))
            with open(path + ".tmp", "wb") as f:
                f.write(_base_entries(kernel).pack())
            os.rename(path + ".tmp", path)
    return path


def stripped(module, tmp):
    """The module without its debug information."""
    out = os.path.join(tmp, os.path.basename(module))
    subprocess.run(["strip", "--strip-debug", "-o", out, module], check=True)
    return out


def check_module(module, top, kver):
    """KernelError if a module is not there, or not built of the sources as they are now."""
    command = f"type `make KVER={kver} module`"
    if not os.path.exists(module):
        raise kernels.KernelError(f"{module} is not built: {command}")
    source = _newer_source(module, top)
    if source:
        raise kernels.KernelError(f"{module} is not built of {source} as it is now: {command}")


def _newer_source(module, top):
    """A source that a module is not built of in its present form, or None.

    That is one changed since, or one of another tree: the sources are links, and a build can be copied.
    """
    built = os.stat(module).st_mtime
    below = os.path.dirname(module)
    mention = re.compile(rf"/{re.escape(os.path.basename(below))}/((?:kmod|uapi)/\S+\.[ch])\b")
    for directory, _, names in os.walk(below):
        for name in names:
            if not name.endswith(".o.cmd"):
                continue
            with open(os.path.join(directory, name), encoding="utf-8") as f:
                sources = {os.path.normpath(found) for found in mention.findall(f.read())}
            for source in sources:
                path = os.path.join(below, source)
                if not os.path.exists(path) or os.stat(path).st_mtime > built:
                    return source
                if os.path.realpath(path) != os.path.join(os.path.realpath(top), source):
                    return os.path.realpath(path)
    return None
