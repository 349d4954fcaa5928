# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Finds the kernels that guests boot, and fetches from apt what is not installed.

A stock kernel is used from /boot and /lib/modules if it is there; otherwise its package is
downloaded with apt-get and unpacked below the cache, so that a machine's own boot set-up
stays as it is. The module must have been built for exactly that release.
"""
import fcntl
import glob
import lzma
import os
import re
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class KernelError(Exception):
    """No such kernel, and the message says what to do."""


def cache_dir(*parts):
    """A directory below the cache, outside the tree; made if need be."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(base, "dsm", *parts)
    os.makedirs(path, exist_ok=True)
    return path


class Kernel:
    """release, image (path of the kernel QEMU boots), root (of lib/modules), debug (bool)."""

    def __init__(self, release, image, root, debug=False):
        self.release, self.image, self.root, self.debug = release, image, root, debug

    def module_files(self, names):
        """Paths of the modules and what they need, in load order, without duplicates."""
        files = []
        if self.debug:
            return files
        for name in names:
            out = subprocess.run(
                ["modprobe", "-d", self.root or "/", "-S", self.release, "--show-depends", name],
                capture_output=True, text=True,
                env={**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"},
                check=False)
            if out.returncode:
                raise KernelError(f"kernel {self.release} has no module {name}: "
                                  f"{out.stderr.strip()}")
            for line in out.stdout.splitlines():
                kind, _, path = line.strip().partition(" ")
                path = path.split(" ")[0]
                if kind == "insmod" and path not in files:
                    files.append(path)
        return files


def _version_key(release):
    return [int(p) for p in re.findall(r"\d+", release)]


def _release(spec):
    """The newest installed release (with headers) that the user's word means."""
    found = [p.split("/")[3] for p in glob.glob("/lib/modules/*/build/Makefile")]
    if spec in found:
        return spec
    match = [r for r in found if re.match(re.escape(spec) + r"([.-]|$)", r)
             and "cloud" not in r and "-rt" not in r]
    if not match:
        there = ", ".join(sorted(found, key=_version_key)) or "none"
        raise KernelError(f"no headers of kernel {spec} are installed (there are: {there}); `tools/setup/need kernels` "
                          "brings those of 6.1 and 6.12")
    return max(match, key=_version_key)


def _fetch(release):
    """Unpack the kernel's package below the cache; return that root."""
    root = os.path.join(cache_dir("kernels"), release)
    with open(root + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(root):
            return root
        package = f"linux-image-{release}"
        version = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", f"linux-headers-{release}"],
            capture_output=True, text=True, check=False).stdout.strip()
        wanted = f"{package}={version}" if version else package
        print(f"dsmvm: fetching {wanted} with apt-get for the guests (not installed)", flush=True)
        with tempfile.TemporaryDirectory(dir=cache_dir("kernels")) as tmp:
            got = subprocess.run(["apt-get", "download", wanted], cwd=tmp, capture_output=True,
                                 text=True, check=False)
            debs = glob.glob(os.path.join(tmp, "*.deb"))
            if got.returncode or not debs:
                raise KernelError(f"apt-get download {wanted} failed; try apt-get update\n"
                                  f"{got.stderr}")
            subprocess.run(["dpkg-deb", "-x", debs[0], os.path.join(tmp, "root")], check=True)
            subprocess.run(["/sbin/depmod", "-b", os.path.join(tmp, "root"), release], check=True)
            os.rename(os.path.join(tmp, "root"), root)
    return root


def _unpacked(release, image):
    """The ELF kernel inside a bzImage, cached; the bzImage itself if there is none.

    QEMU enters an ELF kernel directly (PVH). Decompressing it in an emulated guest costs
    one to three seconds of each boot, and every node of every test boots.
    """
    stamp = int(os.stat(image).st_mtime)
    path = os.path.join(cache_dir("kernels"), f"vmlinux-{release}-{stamp}")
    if os.path.exists(path):
        return path
    with open(image, "rb") as f:
        data = f.read()
    for magic, unpack in ((b"\x28\xb5\x2f\xfd", _unzstd), (b"\xfd7zXZ\0", _unxz)):
        at = data.find(magic)
        while at >= 0:
            content = unpack(data[at:])
            if content.startswith(b"\x7fELF"):
                with open(f"{path}.{os.getpid()}", "wb") as f:
                    f.write(content)
                os.rename(f"{path}.{os.getpid()}", path)
                return path
            at = data.find(magic, at + 1)
    return image


def _unzstd(data):
    return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False).stdout


def _unxz(data):
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(data)
    except lzma.LZMAError:
        return b""


def find(spec="6.12"):
    """The Kernel for '6.1', '6.12', 'debug' or a release; fetched if it is not here."""
    if spec == "debug":
        tool = os.path.join(TOP, "tools/setup/debug-kernel")
        out = subprocess.run([tool, "--path"], capture_output=True, text=True, check=False)
        path = out.stdout.strip()
        if out.returncode or not os.path.exists(f"{path}/.complete"):
            raise KernelError("the debug kernel is not built yet: type `make debug-kernel`")
        with open(f"{path}/include/config/kernel.release", encoding="ascii") as f:
            return Kernel(f.read().strip(), f"{path}/vmlinux", "", True)
    release = _release(spec)
    image = f"/boot/vmlinuz-{release}"
    if os.path.exists(image) and os.path.isdir(f"/lib/modules/{release}/kernel"):
        return Kernel(release, _unpacked(release, image), "")
    root = _fetch(release)
    return Kernel(release, _unpacked(release, f"{root}/boot/vmlinuz-{release}"), root)
