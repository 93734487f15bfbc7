"""A torch.cuda that has the claimed GPUs: counts, properties, streams and events that do nothing, and one memory of zeros."""

from __future__ import annotations

import types
from typing import Any, Callable, Dict, Optional

import torch

from .functions import CurrentGpu, FunctionMode
from .modes import no_functions
from .patches import Patches
from .recorder import Recorder

_NAME = "Claimed GPU"
_MEMORY = 80 << 30
_CAPABILITY = (9, 0)


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _answer(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def install(patches: Patches, recorder: Recorder, gpus: CurrentGpu, functions: FunctionMode) -> None:
    """Replaces the functions of torch.cuda, of torch.accelerator where it exists, and of what asks the driver itself."""
    cuda = torch.cuda

    def spell(device: Any) -> str:
        return functions.spell(device)

    def index(device: Any) -> int:
        name = spell("cuda" if device is None else device)
        return int(name[5:]) if name.startswith("cuda:") else -1

    def set_device(device: Any) -> None:
        number = index(device)
        if number >= gpus.count:
            raise RuntimeError(f"CUDA error: invalid device ordinal (the capture has {gpus.count} GPUs; see --gpus)")
        if number >= 0:
            gpus.index = number

    def waits(cause: str) -> Callable[..., None]:
        return lambda *_, **__: recorder.sync(cause, recorder.locations.here())

    class Stream:
        """Of no effect: ops run in the order of the program."""

        def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
            self.device_index = index(device)
            self.device = torch.device("cuda", self.device_index)
            self.cuda_stream = self.stream_id = 0
            self.priority = priority
            self.device_type = 1

        synchronize = staticmethod(waits("stream.synchronize()"))
        wait_stream = wait_event = staticmethod(_nothing)
        query = staticmethod(_answer(True))
        is_capturing = staticmethod(_answer(False))

        def record_event(self, event: Any = None) -> Any:
            return event if event is not None else Event()

        def __enter__(self) -> "Stream":
            return self

        def __exit__(self, *_: Any) -> None:
            return None

    class Event:
        """Of no effect; elapsed times are 1 ms."""

        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        record = wait = staticmethod(_nothing)
        synchronize = staticmethod(waits("event.synchronize()"))
        query = staticmethod(_answer(True))

        def elapsed_time(self, end: Any) -> float:
            recorder.note("elapsed-time", "Times between CUDA events are 1 ms, since no GPU runs.")
            return 1.0

    class Device:
        """`with torch.cuda.device(i)`."""

        def __init__(self, device: Any) -> None:
            self.idx = index(device) if device is not None else -1

        def __enter__(self) -> "Device":
            self._before = gpus.index
            if self.idx >= 0:
                gpus.index = self.idx
            return self

        def __exit__(self, *_: Any) -> None:
            gpus.index = self._before

    class DeviceOf(Device):
        def __init__(self, tensor: Any) -> None:
            device = None
            if isinstance(tensor, torch.Tensor):
                with no_functions():
                    device = recorder.claims.device(tensor)
            super().__init__(device if device and device.startswith("cuda") else None)

    class InStream:
        """`with torch.cuda.stream(s)`."""

        def __init__(self, stream: Optional[Any] = None) -> None:
            self._stream = stream

        def __enter__(self) -> Any:
            return self._stream

        def __exit__(self, *_: Any) -> None:
            return None

    class Graph:
        """A CUDA graph that records nothing: what it captures runs at once."""

        def __init__(self, *_: Any, **__: Any) -> None:
            recorder.note("cuda-graph", "CUDA graphs are not replayed; ops in torch.cuda.graph() are recorded once, when captured.")

        capture_begin = capture_end = replay = reset = staticmethod(_nothing)
        pool = staticmethod(_answer((0, 0)))

        def __enter__(self) -> "Graph":
            return self

        def __exit__(self, *_: Any) -> None:
            return None

    properties = types.SimpleNamespace(
        name=_NAME, total_memory=_MEMORY, major=_CAPABILITY[0], minor=_CAPABILITY[1], multi_processor_count=132, warp_size=32,
        max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, shared_memory_per_block=49152, is_integrated=0,
        gcnArchName="", L2_cache_size=50 << 20)

    answers: Dict[str, Any] = {
        "_lazy_init": None, "init": None, "is_available": True, "is_initialized": True, "device_count": gpus.count,
        "empty_cache": None, "manual_seed": None, "manual_seed_all": None, "seed": None, "seed_all": None, "initial_seed": 0,
        "get_device_name": _NAME, "get_device_capability": _CAPABILITY, "get_device_properties": properties,
        "is_bf16_supported": True, "ipc_collect": None, "mem_get_info": (_MEMORY, _MEMORY), "memory_allocated": 0,
        "max_memory_allocated": 0, "memory_reserved": 0, "max_memory_reserved": 0, "memory_cached": 0, "max_memory_cached": 0,
        "memory_stats": {}, "memory_summary": "", "memory_snapshot": [], "reset_peak_memory_stats": None,
        "reset_max_memory_allocated": None, "reset_max_memory_cached": None, "reset_accumulated_memory_stats": None,
        "set_per_process_memory_fraction": None, "can_device_access_peer": True, "set_stream": None,
        "is_current_stream_capturing": False, "get_arch_list": ["sm_90"], "set_sync_debug_mode": None, "get_sync_debug_mode": 0,
        "utilization": 0, "_is_compiled": True, "_sleep": None, "graph_pool_handle": (0, 0), "set_rng_state": None,
        "set_rng_state_all": None, "_exchange_device": -1, "_maybe_exchange_device": -1, "current_blas_handle": 0,
    }
    for name, value in answers.items():
        patches.set_present(cuda, name, _answer(value))
    patches.set(cuda, "current_device", lambda: gpus.index)
    patches.set(cuda, "set_device", set_device)
    patches.set(cuda, "synchronize", waits("torch.cuda.synchronize()"))
    patches.set_present(cuda, "get_rng_state", lambda *_, **__: torch.get_rng_state())
    patches.set_present(cuda, "get_rng_state_all", lambda: [torch.get_rng_state() for _ in range(gpus.count)])
    replacements: Dict[str, Any] = {"Stream": Stream, "ExternalStream": Stream, "Event": Event, "device": Device, "device_of": DeviceOf,
                        "stream": InStream, "StreamContext": InStream, "CUDAGraph": Graph, "graph": Graph}
    for name, value in replacements.items():
        patches.set_present(cuda, name, value)
    patches.set(cuda, "current_stream", lambda device=None: Stream(device))
    patches.set(cuda, "default_stream", lambda device=None: Stream(device))
    patches.set_present(cuda, "make_graphed_callables", lambda callables, *_, **__: callables)
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        patches.set_present(cuda.nvtx, name, _nothing)
    patches.set_present(torch, "Stream", Stream)
    patches.set_present(torch, "Event", Event)
    patches.set_present(torch._C, "_cuda_isCurrentStreamCapturing", _answer(False))

    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        of_accelerator: Dict[str, Any] = {
            "is_available": _answer(True), "device_count": _answer(gpus.count), "synchronize": waits("torch.accelerator.synchronize()"),
            "current_accelerator": lambda *_, **__: torch.device("cuda"), "set_device_index": set_device, "set_device_idx": set_device,
            "device_index": Device, "current_device_index": lambda: gpus.index, "current_device_idx": lambda: gpus.index,
            "current_stream": lambda device=None: Stream(device), "set_stream": _nothing, "empty_cache": _nothing,
            "get_device_capability": _answer({}), "memory_allocated": _answer(0), "max_memory_allocated": _answer(0),
            "memory_reserved": _answer(0), "max_memory_reserved": _answer(0), "memory_stats": _answer({}),
            "reset_peak_memory_stats": _nothing, "reset_accumulated_memory_stats": _nothing,
            "get_memory_info": _answer((_MEMORY, _MEMORY)),
        }
        for name, value in of_accelerator.items():
            patches.set_present(accelerator, name, value)

    cudnn = torch.backends.cudnn
    patches.set(cudnn, "is_acceptable", _answer(False))
    patches.set_present(cudnn, "is_available", _answer(False))

    real_generator = torch.Generator

    class GeneratorType(type(real_generator)):  # type: ignore[misc]
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, real_generator)

    class Generator(real_generator, metaclass=GeneratorType):  # type: ignore[misc, valid-type]
        """A generator of a GPU is one of the CPU."""

        def __new__(cls, device: Any = None) -> Any:
            return real_generator("cpu")

    patches.set(torch, "Generator", Generator)
