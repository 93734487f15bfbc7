"""The lock of what the threads of a program share: the tables and the file of a capture, and the sites and steps of a watch.

There is one lock for the process, so threads cannot take two in different orders. A number is given, its line is written
and the table that others read without the lock is changed last, all in one section: a line that names a number comes
after the line that introduces it. Nothing that waits for another thread runs under the lock.
"""

import os
import threading

LOCK = threading.RLock()

if hasattr(os, "register_at_fork"):
    # A forked child finds the tables whole and the lock free.
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
