"""The lock of what the threads of a program share: the tables and the file of a capture, and the sites and steps of a watch.

There is one lock for the process, so threads cannot take two in different orders. A number is given, its line is written
and the table that others read without the lock is changed last, all in one section: a line that names a number comes
after the line that introduces it. Nothing that waits for another thread runs under the lock, and no code of the program:
Python collects no garbage meanwhile, because the program's finalizers would run in the middle of a section.
"""

import gc
import os
import threading
from typing import Any


class Lock:
    """Reentrant. Garbage is not collected while a thread holds it.

    Whether Python collects garbage is a setting of the whole process, which a section changes and restores. A thread that
    calls gc.disable() while another one is in a section therefore finds collection enabled after it, and one that calls
    gc.isenabled() meanwhile gets False. Programs that set it before they start threads are not affected.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0         # of the thread that holds it
        self._collects = False  # whether the program collects garbage

    def acquire(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._collects = gc.isenabled()
            gc.disable()

    def release(self) -> None:
        self._depth -= 1
        if not self._depth and self._collects:
            gc.enable()
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()


LOCK = Lock()

if hasattr(os, "register_at_fork"):
    # A forked child finds the tables whole and the lock free.
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
