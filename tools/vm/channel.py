# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The host's end of a guest's agent: runs commands in the guest, any number at a time.

A Channel owns one socket (a virtio-serial port of the guest) and one reader thread. It
knows nothing of clusters or of QEMU. Frames are those of agent.c.
"""
import os
import re
import struct
import threading

from . import clock

EXEC, INPUT, SIGNAL, PING = 1, 2, 3, 4
HELLO, OUT, ERR, STARTED, EXIT = 16, 17, 18, 19, 20
HEADER = struct.Struct("<III")
INPUT_CHUNK = 65536
# Of all channels, since somebody may wait for whichever guest is first.
CHANGED = threading.Condition()


class GuestError(Exception):
    """A guest did not do what was asked: gone, too slow, or a command failed."""


class Result:
    """What a finished command left: status (128 + N if killed by signal N), out, err."""

    def __init__(self, argv, status, out, err):
        self.argv, self.status, self.out, self.err = argv, status, out, err

    def __repr__(self):
        return f"Result(status={self.status}, out={self.out!r}, err={self.err!r})"


class Job:
    """A command running in a guest; made by Channel.start()."""

    def __init__(self, channel, number, argv, sink):
        self.channel, self.number, self.argv, self.sink = channel, number, argv, sink
        self.cond = channel.cond
        self.chunks = {OUT: [], ERR: []}
        self.times = {OUT: [], ERR: []}
        self.pid = None
        self.status = None

    def _text(self, stream):
        return b"".join(self.chunks[stream]).decode(errors="replace")

    @property
    def out(self):
        """Standard output so far, text."""
        with self.cond:
            return self._text(OUT)

    @property
    def err(self):
        """Standard error so far, text."""
        with self.cond:
            return self._text(ERR)

    def when(self, match, stream=OUT):
        """clock.now() at which the end of a match of wait_line() had come in."""
        with self.cond:
            end = len(match.string[:match.end()].encode())
            for chunk, at in zip(self.chunks[stream], self.times[stream]):
                end -= len(chunk)
                if end <= 0:
                    return at
        raise ValueError("a match of another output")

    def name(self):
        return f"'{' '.join(self.argv)}' on {self.channel.name}"

    def _await(self, ready, timeout, what):
        end = None if timeout is None else clock.now() + timeout
        with self.cond:
            while not ready():
                if self.channel.gone and self.status is None:
                    raise GuestError(f"{self.channel.name} is gone while {self.name()} ran")
                left = None if end is None else end - clock.now()
                if left is not None and left <= 0:
                    raise GuestError(f"{self.name()}: {what} within {timeout} s\n"
                                     f"stdout: {self._text(OUT)[-2000:]}\n"
                                     f"stderr: {self._text(ERR)[-2000:]}")
                self.cond.wait(left)

    def wait_line(self, pattern, timeout=120, stream=OUT):
        """Wait until a line of the output matches the regex; return the match object.

        Raises GuestError when the time is over or the command ended without that line.
        """
        rx = re.compile(pattern, re.M)
        found = []

        def ready():
            m = rx.search(self._text(stream))
            if m:
                found.append(m)
            elif self.status is not None:
                raise GuestError(f"{self.name()} ended with status {self.status} before a "
                                 f"line matched '{pattern}'\nstdout: {self._text(OUT)[-2000:]}"
                                 f"\nstderr: {self._text(ERR)[-2000:]}")
            return bool(m)

        self._await(ready, timeout, f"no line matched '{pattern}'")
        return found[0]

    def wait(self, timeout=120):
        """Wait for the end of the command; return its Result."""
        self._await(lambda: self.status is not None, timeout, "did not end")
        return Result(self.argv, self.status, self.out, self.err)

    def done(self):
        """True once the command has ended."""
        with self.cond:
            return self.status is not None

    def signal(self, number):
        """Send a signal to the command's whole process group."""
        self.channel.send(SIGNAL, self.number, bytes([number]))

    def write(self, data):
        """Append bytes to the command's standard input."""
        for at in range(0, len(data), INPUT_CHUNK):
            self.channel.send(INPUT, self.number, data[at:at + INPUT_CHUNK])

    def close_input(self):
        """End the command's standard input."""
        self.channel.send(INPUT, self.number, b"")


def wait_jobs(jobs, timeout):
    """Wait until all have ended, or one has failed or its guest is gone; False if that does not come in time."""
    end = clock.now() + timeout

    def over():
        return (all(job.done() for job in jobs) or
                any(job.status if job.done() else job.channel.gone for job in jobs))

    with CHANGED:
        while not over():
            left = end - clock.now()
            if left <= 0:
                return False
            CHANGED.wait(left)
    return True


class Channel:
    """A connection to one guest's agent."""

    def __init__(self, name):
        self.name = name
        self.sock = None
        self.cond = CHANGED
        self.sending = threading.Lock()
        self.jobs = {}
        self.next_number = 1
        self.hello = None
        self.gone = False

    def attach(self, sock):
        """Take over a connected socket and ask the agent for a sign of life."""
        self.sock = sock
        threading.Thread(target=self._read, daemon=True).start()
        self.send(PING, 0, b"")

    def send(self, kind, number, payload):
        try:
            with self.sending:
                self.sock.sendall(HEADER.pack(len(payload), kind, number) + payload)
        except OSError:
            self.lost()

    def lost(self):
        """The guest is gone: wakes all who wait for it."""
        with self.cond:
            self.gone = True
            self.cond.notify_all()

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def _read(self):
        try:
            while True:
                length, kind, number = HEADER.unpack(self._exactly(HEADER.size))
                self._frame(kind, number, self._exactly(length))
        except (OSError, EOFError):
            self.lost()

    def _frame(self, kind, number, payload):
        with self.cond:
            job = self.jobs.get(number)
            if kind == HELLO:
                self.hello = payload.decode()
            elif job and kind in (OUT, ERR):
                job.chunks[kind].append(payload)
                job.times[kind].append(clock.now())
            elif job and kind == STARTED:
                job.pid = struct.unpack("<I", payload)[0]
            elif job and kind == EXIT:
                raw = struct.unpack("<I", payload)[0]
                code = os.waitstatus_to_exitcode(raw)
                job.status = code if code >= 0 else 128 - code
            self.cond.notify_all()
        if job and job.sink and kind in (OUT, ERR, EXIT):
            job.sink(job, kind, payload)

    def wait_hello(self, timeout):
        """Wait for the agent's first word; return the kernel release, or None."""
        with self.cond:
            self.cond.wait_for(lambda: self.hello or self.gone, timeout)
            return self.hello

    def start(self, argv, env=None, cwd="/work", stdin=None, pty=False, sink=None):
        """Start a command in the guest and return its Job at once.

        argv: list of strings; env: dict added to the guest's environment; stdin: bytes, or
        None for an empty input, or True to leave it open for Job.write();
        sink: called from the reader thread as sink(job, OUT | ERR | EXIT, bytes).
        """
        argv = [os.fspath(a) for a in argv]
        pairs = [f"{k}={v}" for k, v in (env or {}).items()]
        with self.cond:
            number = self.next_number
            self.next_number += 1
            job = Job(self, number, argv, sink)
            self.jobs[number] = job
        words = b"".join(w.encode() + b"\0" for w in [cwd, *argv, *pairs])
        self.send(EXEC, number, struct.pack("<III", 1 if pty else 0, len(argv), len(pairs)) + words)
        if stdin is not True:
            if stdin:
                job.write(stdin)
            job.close_input()
        return job
