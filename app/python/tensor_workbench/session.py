"""A capture: all modes and replacements together, entered and left as one context."""

from __future__ import annotations

import contextlib
import os
import sys
from types import TracebackType
from typing import Any, Callable, List, Optional, Sequence, Type, TypeVar

import torch

from . import claimed_cuda, program
from .capture_file import CaptureFile
from .dispatch import OpMode
from .functions import CurrentGpu, FunctionMode
from .lock import LOCK
from .modes import no_functions
from .module_paths import ModulePaths
from .patches import Patches
from .recorder import Recorder
from .results import Mismatch, Results, describe, summary

Value = TypeVar("Value")
_FAKE_SINCE = (2, 1)


class Capture:
    """Records what the code inside of `with` does with tensors and devices. Made by `capture`.

    One capture can be open at a time in a process. After the block, or inside of it, `mismatches`, `results` and
    `summary()` tell what was found.
    """

    _open: Optional["Capture"] = None

    def __init__(self, path: Optional[str], gpus: int, fake: bool, first_step: int, end_step: Optional[int], script: str,
                 arguments: Sequence[str]) -> None:
        if gpus < 1:
            raise ValueError("A capture needs at least 1 GPU to claim.")
        if fake and _version() < _FAKE_SINCE:
            raise ValueError(f"Capturing without computing values needs torch 2.1 or newer; this is {torch.__version__}.")
        self.path = path
        self._gpus = gpus
        self._fake = fake
        self._steps = first_step, end_step
        self._script = script
        self._arguments = list(arguments)
        self._recorder: Optional[Recorder] = None
        self._status = ("finished", "")

    # ---- results ----

    @property
    def results(self) -> Results:
        """All findings; transfers and syncs are summed by source line."""
        if self._recorder is None:
            return Results()
        self._recorder.results.steps = self._recorder.step
        return self._recorder.results

    @property
    def mismatches(self) -> List[Mismatch]:
        """Ops with operands on more than one device, without the consequences of earlier ones."""
        return self.results.mismatches

    def summary(self) -> str:
        """The findings as text."""
        with LOCK:
            return summary(self.results)

    def step(self) -> None:
        """Ends a step. Without calls of this, a step ends when each optimizer has stepped."""
        if self._recorder is not None:
            with LOCK:
                self._recorder.steps_by_hand = True
                self._recorder.step += 1

    def end_as(self, status: str, message: str = "") -> None:
        """How the script ended: "finished", "failed" or "interrupted", with a sentence."""
        self._status = status, message

    def join_threads(self) -> None:
        """Waits for the threads that were started in the block, as Python does at the end of a program; not for daemons."""
        threads = self._recorder.threads if self._recorder is not None else []
        while True:
            with LOCK:
                if not threads:
                    return
                thread = threads.pop()
            # An executor's threads wait for work until the interpreter ends.
            is_executors = getattr(getattr(thread, "_target", None), "__module__", "") == "concurrent.futures.thread"
            if not thread.daemon and not is_executors:
                thread.join()

    # ---- context ----

    def __enter__(self) -> "Capture":
        with LOCK:
            if Capture._open is not None:
                raise RuntimeError("Another capture is open in this process. End it first.")
            recorder = self._recorder = Recorder(CaptureFile(self.path), *self._steps)
            self._patches = Patches()
            self._context = contextlib.ExitStack()
            Capture._open = self
        try:
            recorder.write_header(self._gpus, self._fake, self._script, self._arguments)
            gpus = CurrentGpu(self._gpus)
            functions = FunctionMode(recorder, gpus, self._fake)
            fake_mode: Any = None
            if self._fake:
                fake_mode = _fake_mode(self._patches, recorder)

            @contextlib.contextmanager
            def in_modes() -> Any:
                with contextlib.ExitStack() as modes:
                    if fake_mode is not None:
                        modes.enter_context(fake_mode)
                    modes.enter_context(OpMode(recorder, self._fake))
                    modes.enter_context(FunctionMode(recorder, gpus, self._fake))
                    yield

            claimed_cuda.install(self._patches, recorder, gpus, functions)
            program.install(self._patches, recorder, gpus, functions, in_modes)
            ModulePaths(recorder).install(self._patches)
            self._context.enter_context(in_modes())
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if error is not None and self._status[0] == "finished":
            is_interrupt = isinstance(error, KeyboardInterrupt)
            self._status = ("interrupted", "") if is_interrupt else ("failed", f"{type(error).__name__}: {error}")
        self._leave()

    def _leave(self) -> None:
        self._context.close()
        self._patches.undo()
        Capture._open = None
        assert self._recorder is not None
        self._recorder.write_end(*self._status)


def _mute_forked_child() -> None:
    if Capture._open is not None and Capture._open._recorder is not None:
        Capture._open._recorder.thread.muted += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mute_forked_child)


def _version() -> Any:
    return tuple(int(part) for part in torch.__version__.split(".")[:2])


def _fake_mode(patches: Patches, recorder: Recorder) -> Any:
    """FakeTensorMode, whose tensors answer .device from Python and out of reach of the function mode."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    real = FakeTensor.__dict__["device"]

    def device(tensor: Any) -> Any:
        if not torch._C._len_torch_function_stack() or recorder.thread.inside:
            return real.fget(tensor)
        with no_functions():
            recorder.thread.inside += 1
            try:
                return torch.device(recorder.claims.device(tensor))
            finally:
                recorder.thread.inside -= 1

    def swap(before: torch.Tensor, after: torch.Tensor) -> None:
        with no_functions():
            before.data = after.data

    patches.set(FakeTensor, "device", property(device))
    patches.set_present(torch.utils, "swap_tensors", swap)
    return FakeTensorMode(allow_non_fake_inputs=True)


def capture(path: Optional[str] = None, *, gpus: int = 1, fake: bool = False, first_step: int = 0,
            end_step: Optional[int] = None) -> Capture:
    """A context in which each op is recorded with the devices that its tensors claim; no GPU is needed or used.

    path: the capture file, replaced if it exists; None keeps the findings in memory only.
    gpus: how many GPUs the code sees.
    fake: compute nothing; the capture marks what it had to assume.
    first_step, end_step: records ops of these steps only, from 0, without end_step.

    Raises ValueError for arguments that cannot be used, OSError if the file cannot be created.
    """
    return Capture(path, gpus, fake, first_step, end_step, _caller_file(), sys.argv[1:])


def _caller_file() -> str:
    file = sys._getframe(2).f_code.co_filename
    return file if file.startswith("<") else os.path.abspath(file)


def assert_no_mismatches(function: Callable[..., Value], *inputs: Any, gpus: int = 1, **keywords: Any) -> Value:
    """Calls `function(*inputs, **keywords)` under a capture and returns its result.

    Raises AssertionError with each mismatch, its line and its operands. Errors of the function pass through.
    """
    recording = Capture(None, gpus, False, 0, None, _caller_file(), [])
    with recording:
        result = function(*inputs, **keywords)
    found = recording.mismatches
    if found:
        count = f"{len(found)} device mismatch{'es' if len(found) > 1 else ''}"
        raise AssertionError(f"{count}:\n" + "\n".join(describe(mismatch) for mismatch in found))
    return result
