"""Live view of a running program: transfers, syncs and step times go to the window as they happen.

Only the calls that can copy between devices or wait for one are replaced, so the other ops of a program cost nothing.
A transfer is timed by CUDA events on its stream. Inside a capture, the events are the capture's: their devices are the
claimed ones and transfers have no time, so the window shows modelled times.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import time
from types import CodeType, FrameType, TracebackType
from typing import Any, Callable, Dict, List, Optional, Tuple, Type
from weakref import WeakKeyDictionary

import torch

from .locations import _is_left_out, _is_library
from . import live
from .live import ORIGINALS, Listener
from .lock import LOCK
from .patches import Patches, replace_optimizer_steps
from .watch_socket import Line, WatchSocket

FORMAT, VERSION = "tensor-workbench-watch", 1

_is_compiling: Callable[[], bool] = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
_now = time.perf_counter_ns
_CPU = torch.device("cpu")
Place = Tuple[str, int, str]  # file, line, function


class Watch(Listener):
    """The watch of this process. Made by `watch`."""

    _open: Optional["Watch"] = None

    def __init__(self) -> None:
        self._begin = _now()
        self._step = 0
        self._step_begin = self._begin
        self._steps_by_hand = False
        self._counts: "WeakKeyDictionary[Any, int]" = WeakKeyDictionary()
        self._sites: Dict[Tuple[Any, ...], Line] = {}
        self._lines: Dict[CodeType, Tuple[bool, bool]] = {}  # left out, library
        self._inside = threading.local()
        self._patches = Patches()
        self._socket = WatchSocket(self._greeting, _settle)
        self._install()
        live.listener = self

    # ---- for the program ----

    @property
    def path(self) -> str:
        """The socket's path."""
        return self._socket.path

    def step(self) -> None:
        """Ends a step. Without calls of this, a step ends when an optimizer has stepped more often than all others."""
        self._steps_by_hand = True
        self._end_step()

    def close(self) -> None:
        """Ends the watch and takes all replacements back."""
        with LOCK:
            if Watch._open is not self:
                return
            Watch._open = None
            self._take_back()
        self._socket.close({"kind": "end", "step": self._step, "at": self._at()})

    def _take_back(self) -> None:
        live.listener = None
        self._patches.undo()
        ORIGINALS.clear()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    # ---- events ----

    def _at(self) -> int:
        return _now() - self._begin

    def _greeting(self) -> List[Line]:
        header: Line = {
            "format": FORMAT, "version": VERSION, "pid": os.getpid(), "torch": torch.__version__,
            "script": os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else "",
            "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if _has_gpu() else [],
        }
        with LOCK:
            header.update(step=self._step, at=self._at())
            return [header, *self._sites.values()]

    def _end_step(self) -> None:
        with LOCK:
            now = _now()
            if self._socket.listening:
                self._socket.send({"kind": "step", "step": self._step, "ns": now - self._step_begin, "at": now - self._begin})
            self._step += 1
            self._step_begin = now

    def _optimizer_stepped(self, optimizer: Any) -> None:
        if self._steps_by_hand:
            return
        with LOCK:
            count = self._counts[optimizer] = self._counts.get(optimizer, 0) + 1
            if count > max((c for o, c in self._counts.items() if o is not optimizer), default=0):
                self._end_step()

    def _users_frame(self) -> Optional[FrameType]:
        """The innermost frame of the user's code; of a library's if there is none."""
        frame: Optional[FrameType] = sys._getframe(1)
        library: Optional[FrameType] = None
        while frame is not None:
            code = frame.f_code
            known = self._lines.get(code)
            if known is None:
                known = self._lines[code] = _is_left_out(code.co_filename), _is_library(code.co_filename)
            if not known[0]:
                if not known[1]:
                    return frame
                library = library or frame
            frame = frame.f_back
        return library

    def _here(self) -> Optional[Place]:
        frame = self._users_frame()
        return (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) if frame else None

    def _site(self, place: Optional[Place], cause: str, source: str, target: str = "", pinned: bool = False,
              non_blocking: bool = False, claimed: bool = False) -> int:
        """The number of a line that copies from `source` to `target`, or that waits for `source`."""
        key = place, cause, source, target, pinned, non_blocking, claimed
        with LOCK:
            site = self._sites.get(key)
            if site is None:
                site = {"kind": "site", "id": len(self._sites) + 1, "cause": cause, "from": source}
                if target:
                    site.update(to=target, pinned=pinned, non_blocking=non_blocking)
                if claimed:
                    site["claimed"] = True
                if place is not None:
                    file, line, function = place
                    site.update(file=file if file.startswith("<") else os.path.abspath(file), line=line, function=function)
                self._sites[key] = site
                self._socket.send(site)
            return int(site["id"])

    def claimed_transfer(self, size: int, source: str, target: str, cause: str, pinned: bool, non_blocking: bool,
                         location: Any) -> None:
        if self._socket.listening:
            site = self._site(_place_of(location), cause, source, target, pinned, non_blocking, True)
            self._socket.send({"kind": "transfer", "site": site, "step": self._step, "bytes": size, "at": self._at()})

    def claimed_sync(self, cause: str, location: Any) -> None:
        if self._socket.listening:
            site = self._site(_place_of(location), cause, "cuda", claimed=True)
            self._socket.send({"kind": "sync", "site": site, "step": self._step, "at": self._at()})

    def _transferred(self, cause: str, source: str, target: str, size: int, pinned: bool, non_blocking: bool,
                    begin: int, events: Optional[Tuple[Any, Any]], waits: bool) -> None:
        line: Line = {"kind": "transfer", "site": self._site(self._here(), cause, source, target, pinned, non_blocking),
                      "step": self._step, "bytes": size, "at": begin - self._begin}
        if waits:
            line["wait"] = _now() - begin
        if events is not None:
            line["_events"] = events
        self._socket.send(line)

    def _waited(self, cause: str, device: str, begin: int) -> None:
        self._socket.send({"kind": "sync", "site": self._site(self._here(), cause, device),
                           "step": self._step, "wait": _now() - begin, "at": begin - self._begin})

    # ---- replacements ----

    def _install(self) -> None:
        tensor = torch.Tensor

        def put(owner: Any, name: str, replacement: Any) -> None:
            ORIGINALS[replacement] = getattr(owner, name)
            self._patches.set(owner, name, replacement)

        put(tensor, "to", self._moving(tensor.to, "to", _target_of_to))
        put(tensor, "cuda", self._moving(tensor.cuda, "cuda", _target_of_cuda))
        put(tensor, "cpu", self._moving(tensor.cpu, "cpu", lambda args, kwargs: (_CPU, False)))
        put(tensor, "copy_", self._copying(tensor.copy_))
        for name, cause in (("item", "item()"), ("tolist", "tolist()"), ("__bool__", "bool(tensor)"),
                            ("__int__", "int(tensor)"), ("__float__", "float(tensor)"), ("__index__", "index(tensor)")):
            put(tensor, name, self._reading(getattr(tensor, name), cause))
        for owner in (tensor, torch):
            for name in ("nonzero", "masked_select", "unique", "unique_consecutive"):
                put(owner, name, self._counting(getattr(owner, name), f"{name}()"))
        put(tensor, "__getitem__", self._indexing(tensor.__getitem__))
        put(tensor, "__setitem__", self._indexing(tensor.__setitem__))
        for name in ("tensor", "as_tensor"):
            put(torch, name, self._creating(getattr(torch, name), name))
        put(torch.cuda, "synchronize", self._waiting(torch.cuda.synchronize, "torch.cuda.synchronize()"))
        for kind in (torch.cuda.Stream, torch.cuda.Event):
            put(kind, "synchronize", self._waiting(kind.synchronize, f"{kind.__name__}.synchronize()"))
        replace_optimizer_steps(self._patches, self._counting_steps)

    def _is_idle(self) -> bool:
        """Whether a replaced function only calls its original: nobody listens, or the capture sees the call."""
        return not self._socket.listening or _is_compiling() or getattr(self._inside, "busy", False) or _is_captured()

    def _moving(self, original: Callable[..., Any], cause: str,
                target_of: Callable[[Tuple[Any, ...], Dict[str, Any]], Tuple[Optional[torch.device], bool]]) -> Callable[..., Any]:
        @functools.wraps(original)
        def move(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if self._is_idle():
                return original(tensor, *args, **kwargs)
            target, non_blocking = target_of(args, kwargs)
            source = tensor.device
            if target is None or target.type == source.type and (target.index is None or target.index == source.index):
                return original(tensor, *args, **kwargs)
            return self._timed(lambda: original(tensor, *args, **kwargs), cause, source, target, tensor,
                               non_blocking)
        return move

    def _copying(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def copy(tensor: torch.Tensor, other: Any, non_blocking: bool = False) -> Any:
            if self._is_idle() or not isinstance(other, torch.Tensor) or other.device == tensor.device:
                return original(tensor, other, non_blocking)
            return self._timed(lambda: original(tensor, other, non_blocking), "copy_", other.device, tensor.device, other,
                               non_blocking)
        return copy

    def _timed(self, call: Callable[[], Any], cause: str, source: torch.device, target: torch.device,
               tensor: Optional[torch.Tensor] = None, non_blocking: bool = False) -> Any:
        """Calls what copies `tensor` (None: the tensor that it returns), and reports the copy."""
        self._inside.busy = True
        try:
            pinned = tensor is not None and source.type == "cpu" and target.type == "cuda" and tensor.is_pinned()
            events = _begin_event(source, target)
            begin = _now()
            out = call()
            _end_event(events)
            if isinstance(out, torch.Tensor):
                target = out.device
                pinned = pinned or (target.type == "cpu" and cause == "copy_" and out.is_pinned())
            copied = out if tensor is None else tensor
            waits = not non_blocking or not pinned
            self._transferred(cause, str(source), str(target), copied.numel() * copied.element_size(), pinned,
                              non_blocking, begin, events, waits)
            return out
        finally:
            self._inside.busy = False

    def _reading(self, original: Callable[..., Any], cause: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def read(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if self._is_idle() or tensor.device.type != "cuda":
                return original(tensor, *args, **kwargs)
            return self._timed(lambda: original(tensor, *args, **kwargs), cause, tensor.device, _CPU, tensor)
        return read

    def _counting(self, original: Callable[..., Any], cause: str) -> Callable[..., Any]:
        """An op whose result's size the CPU has to wait for."""
        @functools.wraps(original)
        def count(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_idle() or not isinstance(tensor, torch.Tensor) or tensor.device.type != "cuda":
                return original(tensor, *args, **kwargs)
            self._inside.busy = True
            try:
                begin = _now()
                value = original(tensor, *args, **kwargs)
                self._waited(cause, str(tensor.device), begin)
                return value
            finally:
                self._inside.busy = False
        return count

    def _indexing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        counted = self._counting(original, "mask indexing")

        @functools.wraps(original)
        def index(tensor: torch.Tensor, key: Any, *value: Any) -> Any:
            if type(key) is torch.Tensor and key.dtype is torch.bool and key.dim():
                return counted(tensor, key, *value)
            return original(tensor, key, *value)
        return index

    def _creating(self, original: Callable[..., Any], cause: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def create(data: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_idle() or kwargs.get("device") is None or isinstance(data, torch.Tensor):
                return original(data, *args, **kwargs)
            target = torch.device(kwargs["device"])
            if target.type != "cuda":
                return original(data, *args, **kwargs)
            return self._timed(lambda: original(data, *args, **kwargs), cause, _CPU, target)
        return create

    def _waiting(self, original: Callable[..., Any], cause: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def wait(*args: Any, **kwargs: Any) -> Any:
            if self._is_idle():
                return original(*args, **kwargs)
            begin = _now()
            value = original(*args, **kwargs)
            self._waited(cause, "cuda:0" if not _has_gpu() else f"cuda:{torch.cuda.current_device()}", begin)
            return value
        return wait

    def _counting_steps(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def stepped(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            outer = getattr(self._inside, "optimizer", None)
            self._inside.optimizer = optimizer
            try:
                value = step(optimizer, *args, **kwargs)
            finally:
                self._inside.optimizer = outer
            if outer is not optimizer:  # a subclass that calls its base's step() counts once
                self._optimizer_stepped(optimizer)
            return value
        return stepped


def _target_of_to(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Optional[torch.device], bool]:
    keywords = {key: value for key, value in kwargs.items() if key != "copy"}
    if args and isinstance(args[0], torch.Tensor):
        return args[0].device, bool(kwargs.get("non_blocking", args[1] if len(args) > 1 else False))
    if "other" in keywords:
        return keywords["other"].device, bool(keywords.get("non_blocking", False))
    try:
        device, _, non_blocking, _ = torch._C._nn._parse_to(*args[:3], **keywords)
    except (TypeError, RuntimeError):
        return None, False  # the call itself raises the error, or takes arguments that do not name a device
    return _with_index(device), bool(non_blocking)


def _target_of_cuda(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Optional[torch.device], bool]:
    device = args[0] if args else kwargs.get("device")
    non_blocking = bool(args[1] if len(args) > 1 else kwargs.get("non_blocking", False))
    if device is None:
        return _with_index(torch.device("cuda")), non_blocking
    return _with_index(torch.device("cuda", device) if isinstance(device, int) else torch.device(device)), non_blocking


def _with_index(device: Optional[torch.device]) -> Optional[torch.device]:
    if device is not None and device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def _place_of(location: Any) -> Optional[Place]:
    return (location.file, location.line, location.function) if location is not None else None


def _is_captured() -> bool:
    session = sys.modules.get("tensor_workbench.session")
    return session is not None and session.Capture._open is not None


def _has_gpu() -> bool:
    return torch.cuda.is_available() and not _is_captured()


def _begin_event(source: torch.device, target: torch.device) -> Optional[Tuple[Any, Any]]:
    """CUDA events on the current stream; None without a GPU."""
    if "cuda" not in (source.type, target.type) or not _has_gpu():
        return None
    device = target if target.type == "cuda" else source
    with torch.cuda.device(device):
        events = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        events[0].record()
    return events


def _end_event(events: Optional[Tuple[Any, Any]]) -> None:
    if events is not None:
        events[1].record()


def _settle(line: Line) -> bool:
    """Adds the time of the copy from its CUDA events; False while it is under way."""
    events = line.get("_events")
    if events is None:
        return True
    if not events[1].query():
        return False
    line["ns"] = round(events[0].elapsed_time(events[1]) * 1e6)
    return True


def watch() -> Watch:
    """Lets the window show this process live: Run, Watch a process… lists it. Call it first in the script.

    Returns the watch, which is the same one for each call in a process. `step()` ends a step by hand; else a step ends
    when an optimizer steps. The watch ends with the process, or with `close()`. The script never waits for the window.

    Raises OSError if the socket cannot be created, PermissionError if its folder is open to other users.
    """
    with LOCK:
        if Watch._open is None:
            Watch._open = Watch()
        return Watch._open


def _close_at_exit() -> None:
    watch = Watch._open
    if watch is not None:
        watch.close()


def _leave_to_parent() -> None:
    if Watch._open is not None:
        Watch._open._take_back()
        Watch._open._socket.close()
        Watch._open = None


atexit.register(_close_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
