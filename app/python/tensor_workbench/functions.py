"""The mode above autograd: answers what a program asks of tensors (device, is_cuda), makes its copies, and gives new
tensors the device that they were asked for."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode

from .autocast import CudaAutocast
from .claims import CPU, Memory
from .dispatch import spell
from .live import ORIGINALS
from .lock import LOCK
from .modes import no_functions
from .moves import move
from .recorder import Recorder, size_of
from .rules import Operand, judge

T = torch.Tensor
Handler = Callable[["FunctionMode", Any, Tuple[Any, ...], Dict[str, Any]], Any]
_HANDLERS: Dict[Any, Handler] = {}

# Names of the functions that make a tensor from no tensor, and of those that take device= beside a tensor.
_FACTORIES = ("arange", "bartlett_window", "blackman_window", "empty", "empty_permuted", "empty_strided",
              "empty_quantized", "eye", "fft.fftfreq", "fft.rfftfreq", "full", "hamming_window", "hann_window", "kaiser_window",
              "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm", "range", "sparse_coo_tensor",
              "sparse_csr_tensor", "sparse_compressed_tensor", "tril_indices", "triu_indices", "vander", "zeros", "normal")

# One op for the program, many kernels below; the CPU's are others than CUDA's.
_WHOLE = {name: f"aten::{name}" for name in ("lstm", "gru", "rnn_tanh", "rnn_relu", "scaled_dot_product_attention")}
_WHOLE_ARGUMENTS = {
    "aten::scaled_dot_product_attention": ("query", "key", "value", "attn_mask"),
    "packed": ("data", "batch_sizes", "hx", "params"),
    "padded": ("input", "hx", "params"),
}


def _resolve(name: str) -> Optional[Any]:
    value: Any = torch
    for part in name.split("."):
        value = getattr(value, part, None)
    return ORIGINALS.get(value, value)


try:
    from torch.overrides import _get_current_function_mode_stack as _function_modes
    from torch.utils._device import DeviceContext as _DeviceContext
except ImportError:  # before torch 2.0 a program cannot choose a default device
    _DeviceContext = None
# What a program asks of a tensor that is no op and has nothing to do with devices. Optimizers ask hundreds of times a step.
_QUESTIONS = {getattr(T, name).__get__ for name in (
    "dtype", "grad", "grad_fn", "is_leaf", "is_meta", "is_quantized", "is_sparse", "is_sparse_csr", "itemsize", "layout", "nbytes",
    "ndim", "output_nr", "requires_grad", "shape", "_backward_hooks", "_version") if hasattr(T, name)} | {
    T.dim, T.element_size, T.is_complex, T.is_contiguous, T.is_floating_point, T.ndimension, T.nelement, T.numel, T.size,
    T.storage_offset, T.stride}

_FACTORY_FUNCTIONS = {function for function in map(_resolve, _FACTORIES) if function is not None}


def _handles(*functions: Any) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for function in functions:
            if function is not None:
                _HANDLERS[ORIGINALS.get(function, function)] = handler
        return handler
    return register


class FunctionMode(TorchFunctionMode):
    """Sees each call of PyTorch's Python interface with the tensors' claims still to be answered."""

    def __init__(self, recorder: Recorder, gpus: "CurrentGpu", fake: bool) -> None:
        super().__init__()
        self.recorder = recorder
        self.gpus = gpus
        self.fake = fake
        self.autocast = CudaAutocast(recorder)

    def spell(self, device: Any) -> str:
        return spell(device, self.gpus.index)

    def __torch_function__(self, func: Any, types: Any, args: Tuple[Any, ...] = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        func = ORIGINALS.get(func, func)
        if func in _QUESTIONS:
            with no_functions():
                return func(*args, **kwargs)
        handler = _HANDLERS.get(func)
        if handler is not None:
            return handler(self, func, args, dict(kwargs))
        if torch.is_autocast_enabled():
            with no_functions():
                args, kwargs = self.autocast.cast(func, args, kwargs)
        thread = self.recorder.thread
        if func in _FACTORY_FUNCTIONS or kwargs.get("device") is not None:
            return self._make(func, args, dict(kwargs))
        whole = _WHOLE.get(getattr(func, "__name__", ""))
        is_outermost = not thread.homes
        if is_outermost:
            thread.call = self.recorder.new_call()
            thread.function = getattr(func, "__name__", "")
        thread.homes.append((*args, *kwargs.values()) if kwargs else args)
        try:
            with no_functions():
                if whole is not None and not thread.muted:
                    return self._call_whole(whole, func, args, kwargs)
                return func(*args, **kwargs)
        finally:
            thread.homes.pop()
            if is_outermost:
                thread.call = 0

    def _make(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """A function that makes a tensor on a device."""
        asked = kwargs.get("device")
        if asked is not None:
            device = self.spell(asked)
            if device == "meta":
                with no_functions():
                    return func(*args, **kwargs)
            kwargs["device"] = CPU
        else:
            device = self.gpus.default
            for value in args[:1]:
                if isinstance(value, T):
                    with no_functions():
                        device = self.recorder.claims.device(value)
        is_pinned = bool(kwargs.pop("pin_memory", False))
        thread = self.recorder.thread
        thread.homes.append(device)
        try:
            with no_functions():
                out = func(*args, **kwargs)
                if isinstance(out, T):
                    memory = self.recorder.claims.memory(out)
                    if memory is not None and (asked is not None or func in _FACTORY_FUNCTIONS):
                        memory.device = device
                        memory.pinned = memory.pinned or is_pinned
            return out
        finally:
            thread.homes.pop()

    def _call_whole(self, name: str, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Records a function as one op, whatever kernels it consists of here."""
        recorder = self.recorder
        claims = recorder.claims
        names: Tuple[str, ...]
        if name in _WHOLE_ARGUMENTS:
            names = _WHOLE_ARGUMENTS[name]
        else:
            is_packed = len(args) > 1 and isinstance(args[1], T) and len(args) > 3 and isinstance(args[3], (list, tuple))
            names = _WHOLE_ARGUMENTS["packed" if is_packed else "padded"]
        found = []
        attributes = {}
        for i, value in enumerate(args):
            argument = names[i] if i < len(names) else f"argument_{i}"
            items = value if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(item, T) for item in items):
                found += [(argument, item, claims.memory(item)) for item in items if isinstance(item, T)]
            elif value is not None:
                attributes[argument] = value
        for argument, value in kwargs.items():
            if isinstance(value, T):
                found.append((argument, value, claims.memory(value)))
            elif value is not None:
                attributes[argument] = value
        if name != "aten::scaled_dot_product_attention":
            # has_biases, num_layers, dropout, train, bidirectional, and batch_first for padded input
            tail = [value for value in args if isinstance(value, (bool, int, float))]
            attributes = dict(zip(("has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first"), tail))
        operands = [Operand(a, 0, m.device if m else CPU, t.dim()) for a, t, m in found]
        verdict = judge(name, operands)
        location = recorder.locations.here()
        thread = recorder.thread
        thread.muted += 1
        try:
            out = func(*args, **kwargs)
        finally:
            thread.muted -= 1
        results = []
        for item in out if isinstance(out, tuple) else (out,):
            memory: Optional[Memory] = claims.memory(item, verdict.device)
            if memory is not None and not any(memory is m for _, _, m in found):
                memory.device = verdict.device
                memory.made_at = memory.made_at or location
            results.append((item, memory))
        if recorder.recording:
            with LOCK:
                if verdict.wrong:
                    recorder.mismatch(name, [(o, t, m) for o, (_, t, m) in zip(operands, found)], verdict.wrong, verdict.device,
                                      location, recorder.next_op)
                number = recorder.op(name, "", found, attributes, results, [], verdict.device, location)
            recorder.remember_nodes(number, verdict.device)
        return out


class _OfThread(threading.local):
    index = 0


class CurrentGpu:
    """The GPU of torch.cuda.current_device(), which is a thread's own, and the device of tensors that are made without device=."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.of_tensor_type = CPU  # set by torch.set_default_tensor_type
        self._thread = _OfThread()

    @property
    def index(self) -> int:
        return self._thread.index

    @index.setter
    def index(self, index: int) -> None:
        self._thread.index = index

    @property
    def default(self) -> str:
        """As torch.set_default_device, `with torch.device(...)` or torch.set_default_tensor_type have it."""
        for mode in reversed(_function_modes() if _DeviceContext is not None else []):
            if isinstance(mode, _DeviceContext):
                return spell(mode.device, self.index)
        return self.of_tensor_type


# ---- what a tensor says of itself ----

@_handles(T.device.__get__)  # type: ignore[attr-defined]
def _device(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        return torch.device(mode.recorder.claims.device(args[0]))


@_handles(T.is_cuda.__get__)  # type: ignore[attr-defined]
def _is_cuda(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        return mode.recorder.claims.device(args[0]).startswith("cuda")


@_handles(getattr(getattr(T, "is_cpu", None), "__get__", None))
def _is_cpu(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        return mode.recorder.claims.device(args[0]) == CPU


@_handles(T.get_device, getattr(torch, "get_device", None))
def _get_device(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        device = mode.recorder.claims.device(args[0])
        return int(device[5:]) if device.startswith("cuda:") else -1


@_handles(T.is_pinned)
def _is_pinned(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        memory = mode.recorder.claims.memory(args[0])
        return bool(memory and memory.pinned)


@_handles(T.type)
def _type(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        tensor = args[0]
        wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
        device = mode.recorder.claims.device(tensor)
        if wanted is None:
            name = tensor.type()
            return name.replace("torch.", "torch.cuda.", 1) if device.startswith("cuda") else name
        name = wanted if isinstance(wanted, str) else getattr(wanted, "__module__", "") + "." + getattr(wanted, "__name__", "")
        if "torch.cuda." in name:
            dtype = T.type(torch.empty(0), name.replace("torch.cuda.", "torch.").replace("torch.torch.", "torch.")).dtype
            return move(mode.recorder, tensor, mode.spell("cuda"), dtype, cause="type")
        if isinstance(wanted, torch.dtype):
            return func(*args, **kwargs)
        return move(mode.recorder, tensor, CPU, T.type(torch.empty(0), wanted).dtype, cause="type")


# ---- copies ----

@_handles(T.to)
def _to(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    tensor, rest = args[0], list(args[1:])
    device, dtype, other = kwargs.get("device"), kwargs.get("dtype"), kwargs.get("other")
    non_blocking, copy = kwargs.get("non_blocking", False), kwargs.get("copy", False)
    if rest and isinstance(rest[0], T):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], torch.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
            dtype = rest.pop(0)
    if rest:
        non_blocking = rest.pop(0)
    if rest:
        copy = rest.pop(0)
    with no_functions():
        if other is not None:
            target: Optional[str] = mode.recorder.claims.device(other)
            dtype = other.dtype
        else:
            target = None if device is None else mode.spell(device)
        return move(mode.recorder, tensor, target, dtype, memory_format=kwargs.get("memory_format"),
                    non_blocking=bool(non_blocking), copy=bool(copy))


@_handles(T.cuda)
def _cuda(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    device = args[1] if len(args) > 1 else kwargs.get("device")
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    with no_functions():
        return move(mode.recorder, args[0], mode.spell("cuda" if device is None else device),
                    non_blocking=bool(non_blocking), cause="cuda")


@_handles(T.cpu)
def _cpu(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        return move(mode.recorder, args[0], CPU, cause="cpu")


@_handles(T.pin_memory)
def _pin_memory(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        memory = mode.recorder.claims.memory(args[0])
        if memory is not None and memory.pinned:
            return args[0]
        pinned = args[0].clone()
        memory = mode.recorder.claims.memory(pinned)
        if memory is not None:
            memory.pinned = True
        return pinned


@_handles(torch.tensor, torch.as_tensor, getattr(torch, "asarray", None))
def _tensor(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    asked = kwargs.pop("device", None)
    is_pinned = kwargs.pop("pin_memory", False)
    requires_grad = kwargs.pop("requires_grad", False)
    data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
    recorder = mode.recorder
    with no_functions():
        if asked is not None:
            device = mode.spell(asked)
        else:
            device = recorder.claims.device(data) if isinstance(data, T) else mode.gpus.default
        if device == "meta":
            return func(*args, device="meta", **kwargs)
        recorder.thread.homes.append(recorder.claims.device(data) if isinstance(data, T) else CPU)
        try:
            made = func(*args, device=CPU, **kwargs)
        finally:
            recorder.thread.homes.pop()
        memory = recorder.claims.memory(made)
        if memory is not None:
            memory.pinned = memory.pinned or bool(is_pinned)
            memory.made_at = memory.made_at or recorder.locations.here()
        out = move(recorder, made, device, cause=func.__name__)
        return out.detach().requires_grad_() if requires_grad else out


@_handles(getattr(T, "new_tensor", None))
def _new_tensor(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        device = kwargs.pop("device", None)
        target = mode.recorder.claims.device(args[0]) if device is None else mode.spell(device)
        kwargs.setdefault("dtype", args[0].dtype)
    return _tensor(mode, torch.tensor, args[1:], {**kwargs, "device": target})


@_handles(torch.ctc_loss)
def _ctc_loss(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    """The mean divides by the lengths, which ATen copies to the device of the losses inside of the op."""
    values = dict(zip(("log_probs", "targets", "input_lengths", "target_lengths", "blank", "reduction", "zero_infinity"), args))
    values.update(kwargs)
    is_mean = values.get("reduction", 1) == 1
    if is_mean:
        values["reduction"] = 0
    with no_functions():
        losses = func(**values)
        if not is_mean:
            return losses
        lengths = torch.as_tensor(values["target_lengths"])
        there = move(mode.recorder, lengths, mode.recorder.claims.device(losses), losses.dtype, cause="ctc_loss")
        return (losses / there.clamp_min(1)).mean()


# ---- values that the CPU asks for ----

def _named_sync(name: str) -> Handler:
    def handler(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        thread = mode.recorder.thread
        before, thread.cause = thread.cause, name
        try:
            with no_functions():
                return func(*args, **kwargs)
        finally:
            thread.cause = before
    return handler


for _function, _name in ((T.item, "item()"), (T.__bool__, "bool(tensor)"), (T.__float__, "float(tensor)"),
                         (T.__int__, "int(tensor)"), (T.__index__, "int(tensor)"), (getattr(T, "__complex__", None), "complex(tensor)"),
                         (T.is_nonzero, "bool(tensor)")):
    _handles(_function)(_named_sync(_name))


def read_values(mode: FunctionMode, tensor: torch.Tensor, cause: str) -> str:
    """Records that the CPU reads all values of a tensor. Returns the tensor's device. Call it outside of function modes."""
    recorder = mode.recorder
    device = recorder.claims.device(tensor)
    if device.startswith("cuda"):
        location = recorder.locations.here()
        value = recorder.tensor_id(tensor, recorder.claims.memory(tensor)) if recorder.recording else 0
        recorder.transfer(size_of(tensor), device, CPU, cause, location, tensor=value)
        recorder.sync(cause, location)
    return device


@_handles(T.tolist)
def _tolist(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    with no_functions():
        read_values(mode, args[0], "tolist()")
        mode.recorder.thread.muted += 1
        try:
            return func(*args, **kwargs)
        finally:
            mode.recorder.thread.muted -= 1


@_handles(T.numpy)
def to_numpy(mode: FunctionMode, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    """PyTorch refuses a CUDA tensor here; the capture records that and goes on with the values."""
    recorder = mode.recorder
    with no_functions():
        tensor = args[0]
        memory = recorder.claims.memory(tensor)
        device = memory.device if memory else CPU
        if device.startswith("cuda") and recorder.recording:
            recorder.mismatch(
                "numpy", [(Operand("self", 0, device, tensor.dim()), tensor, memory)], [0], CPU, recorder.locations.here(), 0,
                f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
        if mode.fake:
            recorder.note("fake-numpy", "numpy() answers zeros, since no value is computed.")
            import numpy
            return numpy.zeros(tuple(tensor.shape), dtype=str(tensor.dtype)[6:].replace("bfloat16", "float32"))
        return func(*args, **kwargs)
