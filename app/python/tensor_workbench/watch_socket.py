"""The local socket on which a watched process sends its events to the window.

A Unix socket in a folder that only this user can open. The window connects; without a window nothing is kept.
Lines are JSON objects, described by resources/schema/watch.schema.json.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional

from .lock import LOCK

MOST_WAITING = 20_000  # events; more are counted as lost
PERIOD = 0.03          # seconds between two sends
PATIENCE = 2.0         # seconds for a window that does not read

Line = Dict[str, Any]


def folder() -> str:
    """The folder of this user's sockets, as the window looks for it. Creates it.

    Raises PermissionError if the folder belongs to another user or is open to others.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    path = os.path.join(runtime, "tensor-workbench") if runtime else f"/tmp/tensor-workbench-{os.getuid()}"
    os.makedirs(path, mode=0o700, exist_ok=True)
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{path} must be a folder that only you can open. Run: chmod 700 {path}")
    return path


class WatchSocket:
    """Serves one window at a time on a thread of its own. `send` never waits for the window."""

    def __init__(self, greeting: Callable[[], List[Line]], settle: Callable[[Line], bool]) -> None:
        """greeting: the lines for a new window, called on the socket's thread.

        settle: completes an event with times that were not known when it was sent; False if they are not yet known.
        """
        self.listening = False
        self.path = os.path.join(folder(), f"watch-{os.getpid()}.sock")
        self._greeting = greeting
        self._settle = settle
        self._waiting: Deque[Line] = deque()
        self._lost = 0
        self._closing = False
        self._wake = threading.Event()
        self._process = os.getpid()
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if os.path.exists(self.path):
                os.unlink(self.path)  # of an earlier process with this number
            self._server.bind(self.path)
            os.chmod(self.path, 0o600)
            self._server.listen(1)
        except OSError:
            self._server.close()
            raise
        self._thread = threading.Thread(target=self._serve, name="tensor-workbench-watch", daemon=True)
        self._thread.start()

    def send(self, line: Line) -> None:
        """Queues an event. Counts it as lost if the window does not keep up."""
        with LOCK:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(line)
            else:
                self._lost += 1

    def close(self, end: Optional[Line] = None) -> None:
        """Sends what is waiting and `end`, then closes the socket. A forked child only lets go of it."""
        if self._closing:
            return
        self.listening, was_listening = False, self.listening
        if was_listening and end is not None:
            self._waiting.append(end)
        self._closing = True
        if os.getpid() != self._process:
            self._server.close()
            return
        self._wake.set()
        try:
            # Ends a waiting accept().
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
                knock.settimeout(PATIENCE)
                knock.connect(self.path)
        except OSError:
            pass
        self._thread.join(2 * PATIENCE)
        self._server.close()
        try:
            os.unlink(self.path)
        except OSError:
            pass

    # ---- on the socket's thread ----

    def _serve(self) -> None:
        while not self._closing:
            try:
                window, _ = self._server.accept()
            except OSError:
                return
            with window:
                if self._closing or not _is_same_user(window):
                    continue
                try:
                    self._talk(window)
                except OSError:
                    pass  # the window went away
                finally:
                    self.listening = False

    def _talk(self, window: socket.socket) -> None:
        window.settimeout(PATIENCE)
        self._waiting.clear()
        self._lost = 0
        self.listening = True
        window.sendall(_text(self._greeting()))
        unsettled: List[Line] = []
        last_moment = 0.0
        while True:
            if self._closing and not last_moment:
                last_moment = time.monotonic() + PATIENCE
            is_last = bool(last_moment) and time.monotonic() >= last_moment
            while self._waiting:
                unsettled.append(self._waiting.popleft())
            # In order, up to the first event that is still under way.
            settled = 0
            for line in unsettled:
                if not self._settle(line) and not is_last:
                    break
                settled += 1
            lines, unsettled = unsettled[:settled], unsettled[settled:]
            is_last = is_last or bool(last_moment) and not unsettled
            with LOCK:
                lost, self._lost = self._lost, 0
            if lost:
                lines.append({"kind": "lost", "events": lost})
            if lines:
                window.sendall(_text(lines))
            elif _has_gone(window):
                return
            if is_last:
                return
            time.sleep(PERIOD) if last_moment else self._wake.wait(PERIOD)


def _text(lines: List[Line]) -> bytes:
    return "".join(json.dumps({key: value for key, value in line.items() if not key.startswith("_")},
                              separators=(",", ":")) + "\n" for line in lines).encode("ascii")


def _has_gone(window: socket.socket) -> bool:
    """Whether the window has closed its end. The window sends nothing else."""
    window.setblocking(False)
    try:
        return window.recv(1) == b""
    except BlockingIOError:
        return False
    finally:
        window.settimeout(PATIENCE)


def _is_same_user(window: socket.socket) -> bool:
    credentials = window.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", credentials)[1] == os.getuid())
