# SPDX-License-Identifier: Apache-2.0
"""A private Redis server for tests, and what tests need to speak its protocol."""

import socket
import subprocess
import threading

import support


class Server:
    """A Redis server on a socket in `directory`, with `options` as on its command line."""

    def __init__(self, directory, *options):
        self.directory, self.options = directory, options
        self.path = str(directory / "redis.sock")
        self.url = "unix://" + self.path
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", str(self.directory),
             *self.options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        support.wait_for(lambda: b"PONG" in self.cli("PING") or b"NOAUTH" in self.cli("PING"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends the server as its service does: what it persists is complete."""
        self.process.terminate()
        self.process.wait()

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-s", self.path, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=20).stdout


class RedisError(Exception):
    """The server's answer to a command is an error."""


class Client:
    """A connection to the server at the socket `path`. Values are bytes; numbers and lists are converted."""

    def __init__(self, path, password=None, seconds=10):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rb")
        if password:
            self.call("AUTH", password)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def call(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self.read()

    def read(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError
        kind, text = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(text.decode(errors="replace"))
        if kind == b":":
            return int(text)
        if kind == b"$":
            return None if text == b"-1" else self.stream.read(int(text) + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(text))]
        return text


def listen(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    return listener


def serve(listener, handle):
    """Calls handle(connection) in a thread for each connection, until the listener is closed."""
    def one(connection):
        try:
            handle(connection)
        except (OSError, EOFError):
            pass

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def read_value(stream):
    """Returns the bytes of the next command or reply."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise EOFError
    size = int(line[1:]) if line[:1] in b"$*" else 0
    if line[:1] == b"$":
        return line + (stream.read(size + 2) if size >= 0 else b"")
    return line + b"".join(read_value(stream) for _ in range(size))
