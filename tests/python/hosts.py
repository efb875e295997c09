# SPDX-License-Identifier: Apache-2.0
"""Hosts of a test: network namespaces of this machine, each with its own addresses and host name, at one bridge.

A script that uses them calls main() instead of support.main(). It then runs as the first process of its own process,
mount and network namespaces, so all that it starts ends with it, however it ends.
"""

import contextlib
import fcntl
import heapq
import os
import pathlib
import random
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest

import support

INSIDE = "STEMTAP_TEST_NAMESPACES"
STATE = pathlib.Path("/run/stemtap")  # in a file system of the test


def main():
    """Runs the tests of the script in namespaces. Without permission, require() skips them."""
    if INSIDE not in os.environ:
        words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.geteuid() != 0:
            words += ["--user", "--map-root-user"]
        with contextlib.suppress(FileNotFoundError):
            if support.run([*words, "true"]).returncode == 0:
                os.execvpe(words[0], [*words, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
    support.main()


def require():
    """Skips the tests unless main() has entered namespaces. Otherwise prepares them."""
    if INSIDE not in os.environ:
        raise unittest.SkipTest("requires network namespaces: root, or user namespaces")
    call("mount", "-t", "tmpfs", "none", "/run")
    (STATE / "uts").mkdir(parents=True)
    call("ip", "link", "set", "lo", "up")


def has_one_user():
    """Returns whether the test has entered a user namespace, in which no user but root exists."""
    return pathlib.Path("/proc/self/uid_map").read_text().split()[2] == "1"


def call(*words):
    done = support.run(words)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def end_all():
    """Kills all processes of this process namespace except this one."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)


class Host:
    """A host of a network. Its processes see the files and processes of all hosts."""

    def __init__(self, network, number, name):
        self.name = name
        self.address, self.address6 = f"10.77.0.{number}", f"fd77::{number:x}"
        self.port = f"port{number}"
        self.network = network
        call("ip", "netns", "add", name)
        uts = STATE / "uts" / name
        uts.touch()
        call("unshare", f"--uts={uts}", "hostname", name)
        self.connect()

    def connect(self):
        call("ip", "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        self.set_up()

    def set_up(self):
        """Gives the interface of the host its addresses, and connects its other end to the bridge."""
        call("ip", "link", "set", self.port, "master", self.network.bridge, "up")
        call("ip", "-n", self.name, "address", "add", f"{self.address}/24", "dev", "eth0")
        call("ip", "-n", self.name, "address", "add", f"{self.address6}/64", "dev", "eth0", "nodad")
        for device in ("lo", "eth0"):
            call("ip", "-n", self.name, "link", "set", device, "up")

    def command(self, *words):
        """Returns the command that runs `words` on the host."""
        return ["nsenter", f"--net=/run/netns/{self.name}", f"--uts={STATE}/uts/{self.name}",
                *(str(word) for word in words)]

    def run(self, *words, **options):
        """Runs a command on the host to completion, and captures its output as text."""
        return support.run(self.command(*words), **options)

    def call(self, *words, **options):
        """As run(), for a command that must succeed. Returns its output."""
        done = self.run(*words, **options)
        assert done.returncode == 0, f"{self.name}: {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *words, **options):
        """Starts a command on the host. Its output is text, if it goes to pipes."""
        return subprocess.Popen(self.command(*words), universal_newlines=True, **options)

    def listens(self, port):
        """Returns whether something on the host listens on a TCP port."""
        return f":{port} " in self.call("ss", "-Hltn")

    def set_port(self, state):
        """Sets the port of the host at the bridge "up" or "down": the host is cut off, and sees no error."""
        call("ip", "link", "set", self.port, state)

    def set_link(self, state):
        """Sets the interface of the host "up" or "down": its calls fail at once."""
        call("ip", "-n", self.name, "link", "set", "eth0", state)
        if state == "up":  # the kernel has removed the address
            call("ip", "-n", self.name, "address", "replace", f"{self.address6}/64", "dev", "eth0", "nodad")


class Network:
    """A bridge with a host for each of the names, which resolve on all of them."""

    def __init__(self, *names):
        self.bridge = "bridge0"
        call("ip", "link", "add", self.bridge, "type", "bridge")
        call("ip", "link", "set", self.bridge, "up")
        self.hosts = {name: Host(self, number, name) for number, name in enumerate(names, 1)}
        table = STATE / "hosts"
        table.write_text("127.0.0.1 localhost\n" +
                         "".join(f"{host.address} {host.name}\n" for host in self.hosts.values()))
        call("mount", "--bind", table, "/etc/hosts")

    def __getitem__(self, name):
        return self.hosts[name]


class Cable:
    """Replaces the connection of a host to the bridge, until close(), by one with faults.

    Each direction delays packets by `delay` seconds and loses a part `loss` of them. `lost_ways` are directions that
    lose all: "in" to the host, "out" of it.
    """

    def __init__(self, host, seed=1):
        self.host, self.delay, self.loss, self.lost_ways = host, 0.0, 0.0, ()
        self.chance = random.Random(seed)
        self.lost = 0
        call("ip", "link", "delete", host.port)
        self.far, self.near = open_tap(f"far{host.port}"), open_tap(host.port)
        call("ip", "link", "set", f"far{host.port}", "netns", host.name, "name", "eth0")
        host.set_up()
        self.is_closed, self.closer = os.pipe()
        self.thread = threading.Thread(target=self.pass_on, daemon=True)
        self.thread.start()

    def close(self):
        os.close(self.closer)
        self.thread.join()
        for end in (self.far, self.near, self.is_closed):
            os.close(end)
        self.host.connect()

    def pass_on(self):
        ways = {self.far: (self.near, "out"), self.near: (self.far, "in")}
        under_way = []  # (time of arrival, number, destination, packet)
        number = 0
        while True:
            pause = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
            for end in select.select([*ways, self.is_closed], [], [], pause)[0]:
                if end == self.is_closed:
                    return
                packet = os.read(end, 65536)
                destination, way = ways[end]
                if way in self.lost_ways or self.chance.random() < self.loss:
                    self.lost += 1
                    continue
                number += 1
                heapq.heappush(under_way, (time.monotonic() + self.delay, number, destination, packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, _, destination, packet = heapq.heappop(under_way)
                with contextlib.suppress(OSError):  # the interface is down
                    os.write(destination, packet)


def open_tap(name):
    """Makes an Ethernet interface of which this process is the other end. Returns that end."""
    tun_set_interface, tap_without_header = 0x400454CA, 0x1002
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(end, tun_set_interface, struct.pack("16sH22x", name.encode(), tap_without_header))
    return end
