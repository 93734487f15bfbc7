"""What a capture replaces in PyTorch's Python layer, so that a program's calls reach the modes wherever they are made:
Tensor's Python methods, backward, optimizers, threads, data loaders, pickles, DataParallel and torch.compile."""

from __future__ import annotations

import functools
import multiprocessing.process
import os
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple
from weakref import WeakKeyDictionary

import torch
from torch.utils import checkpoint

from .claims import CPU
from .functions import CurrentGpu, FunctionMode, read_values
from .lock import LOCK
from .modes import no_functions
from .patches import Patches, replace_optimizer_steps
from .recorder import Recorder



def install(patches: Patches, recorder: Recorder, gpus: CurrentGpu, functions: FunctionMode,
            in_modes: Callable[[], Any]) -> None:
    """`in_modes` makes a context in which the calling thread is captured."""
    _open_python_functions(patches)
    _replace_tensor_methods(patches, recorder, functions)
    _mark_backward(patches, recorder)
    _mute_profiler_marks(patches, recorder)
    _Optimizers(recorder).install(patches)
    functions.autocast.install(patches)
    _follow_threads(patches, recorder, in_modes)
    _note_loader_workers(patches, recorder)
    _note_processes(patches, recorder)
    _Pickles(recorder).install(patches)
    _replace_device_copies(patches)
    _group_by_claim(patches, recorder)
    _run_eagerly(patches, recorder)
    _claim_in_checkpoints(patches, recorder)
    _follow_default_tensor_type(patches, gpus)


def _open_python_functions(patches: Patches) -> None:
    """Lets functions that are written in Python run their bodies under the modes, instead of being handed over whole."""
    disabled = torch._C._disabled_torch_function_impl
    has_own: Dict[type, bool] = {torch.Tensor: False, torch.nn.Parameter: False}

    def of_value(value: Any) -> bool:
        kind = type(value)
        known = has_own.get(kind)
        if known is None:
            known = has_own[kind] = getattr(kind, "__torch_function__", disabled) is not disabled
        return known

    def of_values(*values: Any) -> bool:
        return any(of_value(value) for value in values)

    def of_tuple(values: Any) -> bool:
        return any(of_value(value) for value in values)

    originals: List[Tuple[Any, str, Any]] = []
    for module in map(sys.modules.__getitem__, ("torch.nn.functional", "torch.functional", "torch._tensor", "torch.autograd")):
        for name, function in (("has_torch_function_unary", of_value), ("has_torch_function_variadic", of_values),
                               ("has_torch_function", of_tuple)):
            if hasattr(module, name):
                originals.append((module, name, getattr(module, name)))
                patches.set(module, name, function)
    # The compiler of TorchScript knows the original functions only.
    script = torch.jit.script
    closed = Patches()
    scripting = 0  # threads

    @functools.wraps(script)
    def script_with_originals(*args: Any, **kwargs: Any) -> Any:
        nonlocal scripting
        with LOCK:
            scripting += 1
            if scripting == 1:
                for owner, name, original in originals:
                    closed.set(owner, name, original)
        try:
            return script(*args, **kwargs)
        finally:
            with LOCK:
                scripting -= 1
                if not scripting:
                    closed.undo()

    patches.set(torch.jit, "script", script_with_originals)


def _replace_tensor_methods(patches: Patches, recorder: Recorder, functions: FunctionMode) -> None:
    tensor_class = torch.Tensor
    represent, deep_copy = tensor_class.__repr__, tensor_class.__deepcopy__  # type: ignore[attr-defined]

    @functools.wraps(represent)
    def recorded_repr(tensor: torch.Tensor, **kwargs: Any) -> str:
        with no_functions():
            device = read_values(functions, tensor, "print(tensor)")
            recorder.thread.muted += 1
            try:
                text = represent(tensor, **kwargs)
            finally:
                recorder.thread.muted -= 1
        return f"{text[:-1]}, device='{device}')" if device.startswith("cuda") and text.endswith(")") else text

    @functools.wraps(deep_copy)
    def claimed_deepcopy(tensor: torch.Tensor, memo: Any) -> torch.Tensor:
        out: torch.Tensor = deep_copy(tensor, memo)
        with no_functions():
            before, after = recorder.claims.memory(tensor), recorder.claims.memory(out)
            if before is not None and after is not None:
                after.device = before.device
        return out

    def outside_of_modes(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            with no_functions():
                return method(*args, **kwargs)
        return call

    for name in ("storage", "storage_type"):
        patches.set(tensor_class, name, outside_of_modes(getattr(tensor_class, name)))
    patches.set(tensor_class, "record_stream", lambda tensor, stream: None)  # the original takes no other class of stream
    patches.set(tensor_class, "__repr__", recorded_repr)
    patches.set(tensor_class, "__deepcopy__", claimed_deepcopy)


def _mark_backward(patches: Patches, recorder: Recorder) -> None:
    def marked(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            thread = recorder.thread
            before, thread.phase = thread.phase, "backward"
            try:
                return function(*args, **kwargs)
            finally:
                thread.phase = before
                thread.forward_module = 0
        return call

    patches.set(torch.autograd, "backward", marked(torch.autograd.backward))
    patches.set(torch.autograd, "grad", marked(torch.autograd.grad))


def _mute_profiler_marks(patches: Patches, recorder: Recorder) -> None:
    """Before torch 2.0, a mark for the profiler (optimizers make some) allocates tensors of its own."""
    def muted(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            recorder.thread.muted += 1
            try:
                return method(*args, **kwargs)
            finally:
                recorder.thread.muted -= 1
        return call

    mark = torch.autograd.profiler.record_function
    for name in ("__init__", "__enter__", "__exit__"):
        patches.set(mark, name, muted(getattr(mark, name)))


class _Optimizers:
    """Marks the ops of optimizers and counts steps: a step of the program ends when each optimizer has stepped."""

    _IDLE = 3  # steps by which another optimizer is ahead of one that is no longer used

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._counts: "WeakKeyDictionary[Any, int]" = WeakKeyDictionary()

    def install(self, patches: Patches) -> None:
        replace_optimizer_steps(patches, self._marked)

    def _marked(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def marked(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            thread = self._recorder.thread
            if thread.phase == "optimizer":
                return step(optimizer, *args, **kwargs)
            before, thread.phase = thread.phase, "optimizer"
            try:
                return step(optimizer, *args, **kwargs)
            finally:
                thread.phase = before
                self._count(optimizer)
        return marked

    def _count(self, optimizer: Any) -> None:
        recorder = self._recorder
        counts = self._counts
        with LOCK:
            counts[optimizer] = counts.get(optimizer, recorder.step) + 1
            lowest = min(counts.values())
            if counts[optimizer] - lowest >= self._IDLE:
                for other in [o for o, count in counts.items() if count == lowest]:
                    del counts[other]
                lowest = min(counts.values())
            if not recorder.steps_by_hand:
                recorder.step = max(recorder.step, lowest)


def _follow_threads(patches: Patches, recorder: Recorder, in_modes: Callable[[], Any]) -> None:
    """PyTorch's modes belong to a thread; threads that the script starts get them too."""
    start = threading.Thread.start

    @functools.wraps(start)
    def captured_start(thread: threading.Thread) -> None:
        run = thread.run
        modules, phase = list(recorder.thread.modules), recorder.thread.phase

        def captured_run() -> None:
            recorder.thread.modules, recorder.thread.phase = modules, phase
            with in_modes():
                run()

        thread.run = captured_run  # type: ignore[method-assign]
        start(thread)
        with LOCK:
            recorder.threads[:] = [other for other in recorder.threads if other.is_alive()] + [thread]

    patches.set(threading.Thread, "start", captured_start)


def _note_loader_workers(patches: Patches, recorder: Recorder) -> None:
    loader = torch.utils.data.DataLoader
    iterate = loader.__iter__

    @functools.wraps(iterate)
    def noted(self: Any) -> Any:
        if self.num_workers > 0:
            recorder.note("loader-workers", "Ops in the worker processes of a DataLoader are not recorded; its batches are.")
        thread = recorder.thread
        thread.starts_workers = True
        try:
            return iterate(self)
        finally:
            thread.starts_workers = False

    patches.set(loader, "__iter__", noted)


def _note_processes(patches: Patches, recorder: Recorder) -> None:
    def noted(start: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(start)
        def call(*args: Any) -> Any:
            if not recorder.thread.starts_workers:
                recorder.note("processes", "Other processes that the script starts are not recorded.")
            return start(*args)
        return call

    process = multiprocessing.process.BaseProcess
    patches.set(process, "start", noted(process.start))
    if hasattr(os, "fork"):
        patches.set(os, "fork", noted(os.fork))


class _Pickles:
    """torch.save writes the claimed device of a storage, and torch.load claims it again, as map_location has it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def install(self, patches: Patches) -> None:
        registry = torch.serialization._package_registry
        patches.set(torch.serialization, "_package_registry", [(0, self._tag, self._restore)] + list(registry))

    def _tag(self, storage: Any) -> Optional[str]:
        recorder = self._recorder
        with no_functions():
            device = recorder.claims.device_of_storage(storage)
        if not device.startswith("cuda"):
            return None
        location = recorder.locations.here()
        recorder.transfer(storage.nbytes(), device, CPU, "save", location)
        recorder.sync("torch.save()", location)
        return device

    def _restore(self, storage: Any, location: str, *_: Any) -> Any:
        if not str(location).startswith("cuda"):
            return None
        recorder = self._recorder
        with no_functions():
            device = "cuda:0" if str(location) == "cuda" else str(location)
            recorder.claims.claim_storage(storage, device)
        recorder.transfer(storage.nbytes(), CPU, device, "load", recorder.locations.here())
        return storage


def _replace_device_copies(patches: Patches) -> None:
    """torch.nn.parallel's copies between GPUs, which are C++ functions of CUDA builds."""
    comm = sys.modules["torch.nn.parallel.comm"]

    def name(device: Any) -> str:
        return f"cuda:{device}" if isinstance(device, int) else str(device)

    def broadcast(tensor: torch.Tensor, devices: Optional[Sequence[Any]] = None, *, out: Any = None) -> Any:
        if out is not None:
            for target in out:
                target.copy_(tensor)
            return tuple(out)
        return tuple(tensor.to(name(device)) for device in devices or ())

    def broadcast_coalesced(tensors: Sequence[torch.Tensor], devices: Sequence[Any], buffer_size: int = 0) -> Any:
        return tuple([tensor.to(name(device)) for tensor in tensors] for device in devices)

    def scatter(tensor: torch.Tensor, devices: Optional[Sequence[Any]] = None, chunk_sizes: Any = None, dim: int = 0,
                streams: Any = None, *, out: Any = None) -> Any:
        devices = list(devices or [])
        chunks = tensor.split(list(chunk_sizes), dim) if chunk_sizes else tensor.chunk(len(devices), dim)
        return tuple(chunk.contiguous().to(name(device), non_blocking=True) for chunk, device in zip(chunks, devices))

    def gather(tensors: Sequence[torch.Tensor], dim: int = 0, destination: Any = None, *, out: Any = None) -> torch.Tensor:
        target = "cpu" if destination == -1 else name(0 if destination is None else destination)
        return torch.cat([tensor.to(target) for tensor in tensors], dim)

    def reduce_add(inputs: Sequence[torch.Tensor], destination: Any = None) -> torch.Tensor:
        total = inputs[0].to(name(0 if destination is None else destination))
        for tensor in inputs[1:]:
            total = total + tensor.to(total.device)
        return total

    def reduce_add_coalesced(inputs: Sequence[Sequence[torch.Tensor]], destination: Any = None, buffer_size: int = 0) -> Any:
        return tuple(reduce_add(parts, destination) for parts in zip(*inputs))

    for function in (broadcast, broadcast_coalesced, scatter, gather, reduce_add, reduce_add_coalesced):
        patches.set_present(comm, function.__name__, function)
        patches.set_present(torch.cuda.comm, function.__name__, function) if hasattr(torch.cuda, "comm") else None


def _group_by_claim(patches: Patches, recorder: Recorder) -> None:
    """Optimizers and gradient clipping group tensors by device; the group's device is the claimed one."""
    def group(lists: Sequence[Sequence[Optional[torch.Tensor]]], with_indices: bool = False) -> Any:
        groups: Dict[Tuple[torch.device, torch.dtype], Tuple[List[List[Any]], List[int]]] = {}
        with no_functions():
            for i, first in enumerate(lists[0]):
                assert first is not None
                key = (torch.device(recorder.claims.device(first)), first.dtype)
                members, indices = groups.setdefault(key, ([[] for _ in lists], []))
                for member, values in zip(members, lists):
                    if values:
                        member.append(values[i])
                if with_indices:
                    indices.append(i)
        return groups

    patches.set_present(torch._C, "_group_tensors_by_device_and_dtype", group)


def _run_eagerly(patches: Patches, recorder: Recorder) -> None:
    if not hasattr(torch, "compile"):
        return

    def compile(model: Any = None, **kwargs: Any) -> Any:
        recorder.note("compile", "torch.compile was left out: the model ran eagerly, op by op.")
        return model if model is not None else (lambda function: function)

    patches.set(torch, "compile", compile)
    patches.set_present(torch.nn.Module, "compile", lambda self, *_, **__: compile(self))


def _claim_in_checkpoints(patches: Patches, recorder: Recorder) -> None:
    """torch.utils.checkpoint compares saved tensors with recomputed ones, and looks at them inside and outside of the modes."""
    extractors = getattr(checkpoint, "_allowed_determinism_checks_to_fns", None)
    if extractors is None:
        return

    def extract(tensor: torch.Tensor) -> Dict[str, Any]:
        with no_functions():
            return {"shape": tensor.shape, "dtype": tensor.dtype, "device": recorder.claims.device(tensor)}

    patches.set(checkpoint, "_allowed_determinism_checks_to_fns", {**extractors, "default": extract})


def _follow_default_tensor_type(patches: Patches, gpus: CurrentGpu) -> None:
    set_default = torch.set_default_tensor_type

    def claimed(kind: Any) -> None:
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        gpus.of_tensor_type = f"cuda:{gpus.index}" if "torch.cuda." in name else CPU
        set_default(name.replace("torch.cuda.", "torch."))

    patches.set(torch, "set_default_tensor_type", claimed)
