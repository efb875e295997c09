# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of a Redis server, whose connections fail, or which answers itself as a hostile server."""

import collections
import random
import socket
import tempfile
import threading
import time

from redis_server import serve

# Faults of a direction of the connections: "up" to the server, "down" to the client.
#   drop       what arrives is thrown away
#   delay      what arrives is passed on later
#   truncate   half of what arrives is passed on, then the connection ends
#   duplicate  what arrives is passed on twice
#   cut        the connection ends
CONNECTION_FAULTS = ("drop", "delay", "truncate", "duplicate", "cut")

# Answers of a hostile server, to whatever it is sent.
ANSWERS = ("garbage_replies", "huge_replies", "nested_replies", "endless_replies", "silent", "drip", "closing")

_HUGE = (b"$9223372036854775807\r\n", b"$536870911\r\nx", b"*2147483647\r\n", b"*1048576\r\n:1\r\n", b"*-7\r\n",
         b"*99999999999999999999\r\n", b"$-2\r\n", b"*200000000\r\n" + 100 * b":1\r\n")
_ENDLESS = ((b"+", b"x"), (b"$500000000\r\n", b"x"), (b"*2000000000\r\n", b":1\r\n"),
            (b"*2000000000\r\n", b"*1\r\n$1\r\nx\r\n"), (b"-", b"x"))


class FaultProxy:
    """Listens on a Unix socket in `directory`, or on a TCP port of this machine. `hits` counts what each fault has
    affected."""

    def __init__(self, directory, upstream, tcp, seed):
        self.upstream = upstream
        self.random = random.Random(seed)
        self.faults = {"up": None, "down": None}
        self.refuses = False
        self.answer = None
        self.hits = collections.Counter()
        self.lock = threading.Lock()
        self.open = set()
        self.is_closed = False
        if tcp:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        else:
            self.address = tempfile.mktemp(prefix="proxy", dir=directory)
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.address)
            self.listener.listen(64)
        self.is_tcp = tcp
        serve(self.listener, self._handle)

    def url(self, password=None):
        if not self.is_tcp:
            return "unix://" + self.address
        return "redis://" + (f":{password}@" if password else "") + self.address

    def heal(self):
        self.faults = {"up": None, "down": None}
        self.refuses = False
        self.answer = None

    def cut_all(self):
        """Ends all connections."""
        with self.lock:
            for one in self.open:
                _end(one)

    def close(self):
        self.is_closed = True
        _end(self.listener)
        self.listener.close()
        self.cut_all()

    def _hit(self, fault):
        with self.lock:
            self.hits[fault] += 1

    def _handle(self, client):
        if self.refuses:
            self._hit("refused")
            client.close()
            return
        with client, socket.socket(socket.AF_UNIX) as server:
            with self.lock:
                self.open |= {client, server}
            try:
                if not self.answer:
                    server.connect(self.upstream)
                back = threading.Thread(target=self._pump, args=(server, client, "down"), daemon=True)
                if not self.answer:
                    back.start()
                self._pump(client, server, "up")
                if back.ident is not None:
                    back.join()
            finally:
                with self.lock:
                    self.open -= {client, server}

    def _pump(self, source, sink, direction):
        try:
            while not self.is_closed:
                data = source.recv(65536)
                if not data:
                    return
                if direction == "up" and self.answer:
                    self._hit(self.answer)
                    self._reply(source, self.answer)
                    continue
                fault = self.faults[direction]
                if fault:
                    self._hit(fault)
                if fault == "drop":
                    continue
                if fault == "delay":
                    time.sleep(self.random.choice((0.02, 0.3, 1.5)))
                if fault == "cut":
                    return
                if fault == "truncate":
                    sink.sendall(data[:len(data) // 2])
                    return
                if fault == "duplicate":
                    sink.sendall(data)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            _end(source)
            _end(sink)

    def _reply(self, client, kind):
        if kind == "garbage_replies":
            client.sendall(self.random.choice((b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
                                               self.random.randbytes(self.random.randint(1, 5000)),
                                               b"+OK\r\n+OK\r\n", b"$-1\r\n", b"*0\r\n", b":7\r\n", b"-\r\n",
                                               b"*6\r\n:0\r\n:1\r\n$1\r\n1\r\n$3\r\nabc\r\n$1\r\n0\r\n:1\r\n",
                                               b"-ERR \x1b[31m" + b"x" * 300 + b"\r\n")))
        elif kind == "huge_replies":
            client.sendall(self.random.choice(_HUGE))
        elif kind == "nested_replies":
            client.sendall(self.random.choice((20, 100_000)) * b"*1\r\n")
        elif kind == "endless_replies":
            begin, more = self.random.choice(_ENDLESS)
            client.sendall(begin)
            while not self.is_closed and self.answer:
                client.sendall(65536 // len(more) * more)
        elif kind == "drip":
            for byte in b"$100000\r\n" + 100_000 * b"x":
                if self.is_closed or not self.answer:
                    break
                client.sendall(bytes([byte]))
                time.sleep(0.2)
        elif kind == "closing":
            _end(client)


def _end(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
