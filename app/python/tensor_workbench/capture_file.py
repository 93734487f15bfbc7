"""The capture file: JSON lines, written one by one, so that a script that is killed leaves all lines up to there."""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any, Dict, Optional

import torch

from .lock import LOCK

FORMAT = "tensor-workbench-capture"
VERSION = 1


class CaptureFile:
    """Writes records as lines. Without a path the records are dropped.

    Raises OSError if the file cannot be created. A later failure to write (a full disk) ends the recording with a
    sentence on stderr; the script goes on. A forked child writes nothing.
    """

    def __init__(self, path: Optional[str]) -> None:
        self._process = os.getpid()
        self._encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
        self._descriptor = -1
        self._path = path
        if path is not None:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)

    @property
    def is_open(self) -> bool:
        return self._descriptor >= 0

    def write(self, record: Dict[str, Any]) -> None:
        if self._descriptor < 0 or os.getpid() != self._process:
            return
        data = (self._encode(record) + "\n").encode("ascii")
        with LOCK:
            if self._descriptor < 0:
                return  # another thread has closed it
            try:
                written = os.write(self._descriptor, data)
                while written < len(data):
                    data = data[written:]
                    written = os.write(self._descriptor, data)
            except OSError as error:
                self.close()
                # Not to a stderr of the program's own, which may wait for a thread that waits for the lock.
                if sys.__stderr__:
                    print(f"tensor_workbench: cannot write {self._path}: {error.strerror}. The capture ends here.",
                          file=sys.__stderr__)

    def close(self) -> None:
        with LOCK:
            if self._descriptor >= 0 and os.getpid() == self._process:
                os.close(self._descriptor)
            self._descriptor = -1


def plain(value: Any) -> Any:
    """An argument of an op as JSON: dtypes, devices and numbers that JSON lacks become strings."""
    kind = type(value)
    if value is None or kind is bool or kind is int or kind is str:
        return value
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind is torch.dtype:
        return dtype_name(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, int):
        return int(value)
    if kind.__name__.endswith("Storage"):
        return "storage"  # its text would be all its values
    return str(value)


_DTYPES: Dict[torch.dtype, str] = {}


def dtype_name(dtype: torch.dtype) -> str:
    """As "float32"."""
    name = _DTYPES.get(dtype)
    if name is None:
        name = _DTYPES[dtype] = str(dtype)[6:]
    return name
