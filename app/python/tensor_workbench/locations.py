"""Where in the user's program a call stands.

A location is a line of a function with the location that called it, so a stack is one number. PyTorch's own frames,
this package's and those of Python's start-up are left out.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

import torch

from .lock import LOCK

_SKIPPED = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep for file in (torch.__file__, __file__))
_STANDARD = os.path.realpath(sysconfig.get_paths()["stdlib"]) + os.sep
_SKIPPED_MODULES = {os.path.join(_STANDARD, name) for name in (
    "runpy.py", "contextlib.py", "threading.py", "functools.py", "copy.py", "bdb.py")}
_MAX_FRAMES = 64


class Location(NamedTuple):
    file: str
    line: int       # from 1
    function: str
    caller: int     # id of the calling location; 0 for none
    library: bool   # in site-packages or Python's own library


def _is_left_out(file: str) -> bool:
    if file.startswith("<frozen") or file.startswith(_SKIPPED):
        return True
    return os.path.realpath(file) in _SKIPPED_MODULES or os.path.join(_STANDARD, "concurrent") in file


def _is_library(file: str) -> bool:
    return "site-packages" + os.sep in file or "dist-packages" + os.sep in file or os.path.realpath(file).startswith(_STANDARD)


# File, code, instruction and caller: code that is equal in two files compares equal.
_Key = Tuple[str, CodeType, int, int]


class Locations:
    """Numbers the stacks it is asked about, from 1. `announce` receives each new location once, under the lock."""

    def __init__(self, announce: Callable[[int, Location], None]) -> None:
        self._announce = announce
        self._ids: Dict[_Key, int] = {}
        self._left_out: Dict[str, bool] = {}  # by file
        self.all: List[Location] = []

    def here(self) -> int:
        """The id of the calling stack; 0 if none of its frames is the user's."""
        frame: Optional[FrameType] = sys._getframe(1)
        left_out = self._left_out
        stack: List[Tuple[CodeType, int, FrameType]] = []
        while frame is not None:
            code = frame.f_code
            skip = left_out.get(code.co_filename)
            if skip is None:
                skip = left_out[code.co_filename] = _is_left_out(code.co_filename)
            if not skip:
                stack.append((code, frame.f_lasti, frame))
            frame = frame.f_back
        caller = 0
        for code, instruction, at in reversed(stack[:_MAX_FRAMES]):
            key = (code.co_filename, code, instruction, caller)
            number = self._ids.get(key)
            if number is None:
                number = self._add(key, at.f_lineno)
            caller = number
        return caller

    def _add(self, key: _Key, line: int) -> int:
        file, code, _, caller = key
        if not file.startswith("<"):
            file = os.path.abspath(file)
        with LOCK:
            number = self._ids.get(key)
            if number is None:  # else another thread has added it
                location = Location(file, line, code.co_name, caller, _is_library(file))
                self.all.append(location)
                number = len(self.all)
                self._announce(number, location)
                self._ids[key] = number
        return number

    def users_line(self, number: int) -> Optional[Location]:
        """The innermost line of the stack that is no library's; else the innermost one; None for 0."""
        innermost = self.all[number - 1] if number else None
        while number:
            location = self.all[number - 1]
            if not location.library:
                return location
            number = location.caller
        return innermost

    def text(self, number: int) -> str:
        """As "train.py:12", or "unknown line"."""
        location = self.users_line(number)
        return f"{os.path.basename(location.file)}:{location.line}" if location else "unknown line"
