# SPDX-License-Identifier: Apache-2.0
"""Takes a snapshot of the session that records this process (``docs/formats/control.md``)."""

from __future__ import annotations

import os
import re
from typing import Optional, Union

from stemtap._fields import SessionError

# A snapshot of 4,000 kernels takes half a second; a collector that is stopped never answers.
_TIMEOUT_S = 60.0


def _session_directory() -> Optional[str]:
    """Returns the directory of the session that records this process, or None if the process is not recorded."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            # The ring of the process is mapped by its path: ``... /jobs/session/ring.4242.1737``.
            for line in maps:
                found = re.search(r"(/.*)/ring\.\d+\.\d+$", line.rstrip("\n"))
                if found:
                    return found.group(1)
    except OSError:
        pass
    return None


def _request(session: str, request: str) -> str:
    import socket  # takes milliseconds, and few programs take snapshots

    # The socket is addressed through the directory, because paths may be longer than an address.
    directory = os.open(session, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(f"/proc/self/fd/{directory}/control")
            connection.sendall(os.fsencode(request) + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                part = connection.recv(4096)
                if not part:
                    break
                answer += part
    finally:
        os.close(directory)
    return os.fsdecode(answer.rstrip(b"\n"))


def snapshot(path: Union[str, "os.PathLike[str]", None] = None) -> Optional[str]:
    """Writes the session of this process as of now into a new directory, and returns its path.

    The directory is ``path``, which must not exist or be empty, or by default one next to the session. The session
    goes on. Launches whose records are still on their way, up to half a second old, are not part of it. The call
    waits until the snapshot is written, at most 60 seconds.

    In a process that is not recorded, returns None. Raises SessionError if the snapshot cannot be written.

    >>> snapshot("/tmp/now")
    """
    session = _session_directory()
    if session is None:
        return None
    if path is None:
        request = f"snapshot default {session}-snapshot"
    else:
        request = f"snapshot new {os.path.abspath(os.fspath(path))}"
    if "\n" in request:
        raise SessionError(f"{request}: contains a line end; expected a path without one")
    try:
        answer = _request(session, request)
    except OSError as error:
        raise SessionError(f"{session}: its collector does not answer: {error}; expected a running session") from None
    word, _, rest = answer.partition(" ")
    if word == "ok":
        return rest
    raise SessionError(rest or f"{session}: its session ended before it answered")
