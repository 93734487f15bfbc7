"""The mode below autograd: sees each aten op of forward, backward and optimizer with real CPU tensors."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import assumed, missing_kernels
from .capture_file import plain
from .claims import CPU, Claims, Memory
from .lock import LOCK
from .modes import no_functions
from .recorder import TRACES_BACKWARD, Recorder, size_of
from .rules import CPU_RESULTS, INDEXING, SYNCS, Operand, judge

_CPU_DEVICE = torch.device("cpu")
_MASKS = (torch.bool, torch.uint8)
_PLAIN_KEYWORDS = frozenset({"device", "pin_memory", "generator", "layout"})
_current_node = getattr(torch._C, "_current_autograd_node", None)

Found = Tuple[str, Optional[torch.Tensor], Optional[Memory]]


def spell(device: Any, current: int = 0) -> str:
    """A device, an index or a name as "cpu" or "cuda:N"; plain "cuda" is the current GPU."""
    if isinstance(device, int):
        return f"cuda:{device}"
    device = torch.device(device)
    if device.type == "cuda":
        return f"cuda:{current if device.index is None else device.index}"
    return CPU if device.type == "cpu" else str(device)


class _Op:
    """What is known of an overload before it is called."""

    __slots__ = ("name", "overload", "names", "written", "is_composite", "sync", "is_indexing", "is_list")

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.name: str = schema.name
        self.overload: str = schema.overload_name
        self.names: List[str] = [argument.name for argument in schema.arguments]
        self.written = frozenset(a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write)
        can_decompose = getattr(func, "_can_decompose", None)
        if self.name.startswith("prim::"):  # questions to a fake tensor, which the dispatcher does not know
            self.is_composite = False
        elif can_decompose is not None:
            self.is_composite = bool(can_decompose())
        else:
            self.is_composite = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
        self.sync = SYNCS.get(self.name)
        if self.name == "aten::repeat_interleave" and self.overload == "Tensor":
            self.sync = "repeat_interleave()"
        self.is_indexing = self.name in INDEXING
        self.is_list = self.name.startswith(("aten::_foreach_", "aten::_fused_", "aten::_amp_foreach"))


class OpMode(TorchDispatchMode):
    """Runs each op on CPU tensors and records it with the devices that its operands claim. Never raises by itself."""

    def __init__(self, recorder: Recorder, fake: bool) -> None:
        super().__init__()
        self._recorder = recorder
        self._fake = fake
        self._ops: Dict[Any, _Op] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Tuple[Any, ...] = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        op = self._ops.get(func)
        if op is None:
            op = self._ops[func] = _Op(func)
        thread = self._recorder.thread
        thread.inside += 1
        try:
            with no_functions():
                if op.name.startswith("prim::"):
                    return func(*args, **(kwargs or {}))
                if op.is_composite:  # inference mode hands over composites whole
                    with self:
                        return func.decompose(*args, **(kwargs or {}))
                return self._run(op, func, args, dict(kwargs) if kwargs else {})
        finally:
            thread.inside -= 1

    def _run(self, op: _Op, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        recorder = self._recorder
        thread = recorder.thread
        claims = recorder.claims
        wanted: Optional[str] = None
        pinned = False
        if kwargs:
            device = kwargs.get("device")
            if device is not None:
                if device.type == "meta":
                    return func(*args, **kwargs)
                if device.type != "cpu":
                    wanted = spell(device)
                kwargs["device"] = _CPU_DEVICE
            if kwargs.get("pin_memory"):
                pinned = True
                kwargs["pin_memory"] = False

        count = claims.count
        found, operands = _operands(op, args, kwargs, claims)
        if claims.count != count and thread.homes and not op.is_indexing:
            operands = self._place_inner(found, operands)
        if any(operand.device == "meta" for operand in operands):
            return func(*args, **kwargs)

        forward = 0
        if TRACES_BACKWARD:
            forward, made_for = self._trace_backward()
        else:
            made_for = ""

        if self._fake:
            out = assumed.call(recorder, op.name, func, args, kwargs)
        else:
            out = missing_kernels.call(func, op.name, args, kwargs)

        verdict = judge(op.name, operands)
        device = verdict.device
        is_guess = False
        if op.name == "aten::_to_copy":
            device = thread.target or wanted or device
        elif wanted is not None:
            device = wanted
        elif not operands:
            device = self._home(made_for)
            is_guess = thread.phase == "backward" and not thread.homes
            if is_guess and not made_for:
                recorder.note("backward-guess", "The device of a tensor that autograd makes by itself is taken from the ops "
                              "around it, since this version of PyTorch does not tell which op it is for.")
        if operands:
            thread.last_device = device

        results = _results(out, claims, device, CPU_RESULTS.get(op.name))
        if is_guess:
            for _, memory in results:
                if memory is not None:
                    memory.is_guess = True
        if not recorder.recording:
            return out
        location = recorder.locations.here()
        tensors = [entry for entry in found if entry[1] is not None]
        written = [(t, m) for name, t, m in tensors if t is not None and name in op.written] if op.written else []
        attributes = _attributes(op, args, kwargs)
        wrong = verdict.wrong
        root = 0
        with LOCK:
            for _, memory in results:
                if memory is not None and not memory.made_at:
                    memory.made_at = location
                    memory.pinned = memory.pinned or pinned
            if wrong:
                # Before the op, so that the operands are the values that it read.
                root = recorder.mismatch(op.name, [(o, t, m) for o, (_, t, m) in zip(operands, tensors)], wrong,  # type: ignore[misc]
                                         device, location, recorder.next_op)
            number = recorder.op(op.name, op.overload, found, attributes, results, written, device, location, forward)
            self._pass_on_root(operands, tensors, results, device, root)
        recorder.remember_nodes(number, device)
        self._note_waits(op, args, kwargs, operands, tensors, device, location, number)
        return out

    def _trace_backward(self) -> Tuple[int, str]:
        """In the backward: the op that is being differentiated and its device."""
        node = _current_node()  # type: ignore[misc]
        thread = self._recorder.thread
        if node is None:
            thread.forward_module = 0
            return 0, ""
        op, module, device = self._recorder.forward_of(node._sequence_nr())
        thread.forward_module = module
        return op, device

    def _place_inner(self, found: Sequence[Found], operands: Sequence[Operand]) -> List[Operand]:
        """An index that a function made in C++ without an op (of the list in `x[[0, 1]] = 0`) is where its operands are."""
        placed = list(operands)
        tensors = [(tensor, memory) for _, tensor, memory in found if tensor is not None]
        for i, (tensor, memory) in enumerate(tensors):
            if memory is not None and not memory.made_at and not memory.values and tensor.dim() and tensor.dtype is torch.int64:
                home = self._recorder.thread.homes[-1]
                if not isinstance(home, str) and not _holds(home, memory, self._recorder.claims):
                    memory.device = self._home("")
                    placed[i] = placed[i]._replace(device=memory.device)
        return placed

    def _home(self, made_for: str) -> str:
        """The device of a tensor that an op without operands makes."""
        thread = self._recorder.thread
        for home in reversed(thread.homes):
            if isinstance(home, str):
                return home
            for value in home:
                if isinstance(value, torch.Tensor):
                    device = self._recorder.claims.device(value)
                    if device != CPU:
                        return device
            return CPU
        return (made_for or thread.last_device) if thread.phase == "backward" else CPU

    def _pass_on_root(self, operands: Sequence[Operand], tensors: Sequence[Found],
                      results: Sequence[Tuple[torch.Tensor, Optional[Memory]]], device: str, root: int) -> None:
        """A result on the device of a culprit is a culprit too, if it is used wrongly."""
        if root and any(operand.device == CPU for operand in operands):
            return  # the result stands where it should
        if not root:
            for operand, (_, _, memory) in zip(operands, tensors):
                if memory is not None and memory.root and operand.device == device:
                    root = memory.root
                    break
            else:
                return
        for _, memory in results:
            if memory is not None and not memory.root and memory.device == device:
                memory.root = root

    def _note_waits(self, op: _Op, args: Tuple[Any, ...], kwargs: Dict[str, Any], operands: Sequence[Operand],
                    tensors: Sequence[Found], device: str, location: int, number: int) -> None:
        """Transfers and syncs of the op."""
        recorder = self._recorder
        thread = recorder.thread
        if op.name in ("aten::_to_copy", "aten::copy_"):
            source = 0 if op.name == "aten::_to_copy" else len(operands) - 1
            before = operands[source].device
            if before != device:
                _, tensor, memory = tensors[source]
                assert tensor is not None
                non_blocking = thread.non_blocking or bool(kwargs.get("non_blocking")) or (len(args) > 2 and args[2] is True)
                on_host = memory if before == CPU else tensors[0][2] if op.name == "aten::copy_" else None
                pinned = bool(on_host and on_host.pinned)
                cause = thread.cause or op.name[6:].strip("_")
                recorder.transfer(size_of(tensor), before, device, cause, location, pinned=pinned, non_blocking=non_blocking, op=number)
                if device == CPU and not non_blocking:
                    recorder.sync(f"{cause}()" if cause in ("cpu", "to") else "copy to the CPU", location, number)
        elif op.sync is not None:
            if any(operand.device != CPU for operand in operands):
                if op.name == "aten::_local_scalar_dense":
                    _, tensor, _ = tensors[0]
                    assert tensor is not None
                    cause = thread.cause or op.sync
                    recorder.transfer(size_of(tensor), operands[0].device, CPU, cause, location, op=number)
                    recorder.sync(cause, location, number)
                else:
                    recorder.sync(op.sync, location, number)
        elif op.is_indexing and operands[0].device != CPU:
            self._note_indexing(op, args, operands, tensors, device, location, number)

    def _note_indexing(self, op: _Op, args: Tuple[Any, ...], operands: Sequence[Operand], tensors: Sequence[Found],
                       device: str, location: int, number: int) -> None:
        recorder = self._recorder
        indices = [(o, t) for o, (_, t, _) in zip(operands, tensors) if o.argument == "indices" and t is not None]
        is_fill = (len(args) > 2 and isinstance(args[2], torch.Tensor) and args[2].numel() == 1 and len(indices) == 1
                   and not (len(args) > 3 and args[3]))
        for operand, tensor in indices:
            is_mask = tensor.dtype in _MASKS
            if operand.device == CPU and tensor.dim():
                size = int(tensor.count_nonzero()) * tensor.dim() * 8 if is_mask and not self._fake else size_of(tensor)
                recorder.transfer(size, CPU, device, "index", location, op=number)
            elif is_mask and operand.device != CPU and not is_fill:
                recorder.sync("mask indexing", location, number)


def _operands(op: _Op, args: Tuple[Any, ...], kwargs: Dict[str, Any], claims: Claims) -> Tuple[List[Found], List[Operand]]:
    """The tensors of a call by argument (None inside a list keeps its place), and what the rules need of them."""
    found: List[Found] = []
    operands: List[Operand] = []

    def add(name: str, position: int, tensor: torch.Tensor) -> None:
        memory = claims.memory(tensor)
        found.append((name, tensor, memory))
        operands.append(Operand(name, position, memory.device if memory is not None else CPU, tensor.dim()))

    def look(name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            add(name, 0, value)
        elif isinstance(value, (list, tuple)) and value:
            if any(isinstance(item, torch.Tensor) for item in value):
                for position, item in enumerate(value):
                    if isinstance(item, torch.Tensor):
                        add(name, position, item)
                    else:
                        found.append((name, None, None))

    for name, value in zip(op.names, args):
        look(name, value)
    for name, value in kwargs.items():
        look(name, value)
    if any(memory is not None and memory.is_guess for _, _, memory in found):
        operands = _settle(found, operands)
    return found, operands


def _holds(values: Any, memory: Memory, claims: Claims) -> bool:
    """Whether a tensor of that memory is among the values, or in lists in them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if claims.memory(value) is memory:
                return True
        elif isinstance(value, (list, tuple)) and _holds(value, memory, claims):
            return True
    return False


def _settle(found: List[Found], operands: List[Operand]) -> List[Operand]:
    """Tensors that the autograd engine made by itself are where the tensors stand with which they are first used."""
    memories = [memory for _, tensor, memory in found if tensor is not None]
    known = [operand.device for operand, memory in zip(operands, memories) if memory is None or not memory.is_guess]
    if not known:
        return operands
    device = next((device for device in known if device != CPU), CPU)
    for memory in memories:
        if memory is not None and memory.is_guess:
            memory.device = device
            memory.is_guess = False
    return [operand._replace(device=memory.device) if memory is not None else operand
            for operand, memory in zip(operands, memories)]


def _results(out: Any, claims: Claims, device: str,
             on_cpu: Optional[FrozenSet[int]] = None) -> List[Tuple[torch.Tensor, Optional[Memory]]]:
    """The tensors that an op returned. Storages that are new claim `device`, or the CPU by their place in the result."""
    if isinstance(out, torch.Tensor):
        return [(out, claims.memory(out, device))]
    if isinstance(out, (list, tuple)):
        return [entry for place, item in enumerate(out)
                for entry in _results(item, claims, CPU if on_cpu and place in on_cpu else device)]
    return []


def _attributes(op: _Op, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments that are no tensors, as JSON. An argument that was left out has its schema's default."""
    attributes: Dict[str, Any] = {}
    for name, value in zip(op.names, args):
        if not isinstance(value, torch.Tensor) and not _is_tensor_list(value):
            attributes[name] = plain(value)
    for name, value in kwargs.items():
        if value is not None and name not in _PLAIN_KEYWORDS and not isinstance(value, torch.Tensor) and not _is_tensor_list(value):
            attributes[name] = plain(value)
    return attributes


def _is_tensor_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value)
