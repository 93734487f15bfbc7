"""Turns what the modes see into records of the capture file and into results."""

from __future__ import annotations

import datetime
import linecache
import platform
import threading
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch

from . import live
from .capture_file import FORMAT, VERSION, CaptureFile, dtype_name
from .claims import CPU, Claims, Geometry, Memory, geometry
from .locations import Location, Locations
from .lock import LOCK
from .results import Mismatch, Results, SyncLine, TransferLine
from .rules import Operand

_next_sequence = getattr(torch.autograd, "_get_sequence_nr", None)
# Newer versions tell which autograd node is running; older ones do not.
TRACES_BACKWARD = _next_sequence is not None and hasattr(torch._C, "_current_autograd_node")
Occurrence = Tuple[int, str, Tuple[Tuple[str, str], ...]]


class Thread(threading.local):
    """State of one thread of the script."""

    def __init__(self) -> None:
        self.muted = 0                          # above 0: claims are kept, nothing is recorded
        self.inside = 0                         # above 0: a fake tensor tells its real device
        self.modules: List[int] = []            # ids of the modules that are being called, outermost first
        self.homes: List[Any] = []              # device, or operands, of the torch functions that are being called
        self.call = 0                           # number of the outermost torch function call
        self.function = ""                      # and its name
        self.cause = ""                         # name of the sync or transfer under way, if a torch function gives one
        self.target: Optional[str] = None       # device of the copy under way
        self.non_blocking = False               # of the copy under way
        self.phase = "forward"
        self.forward_module = 0                 # in the backward: the module of the op that is differentiated
        self.sequence = -1                      # autograd's number of the next node
        self.last_device = CPU                  # of the last op; a guess for tensors that the autograd engine makes
        self.casts: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}  # by id: a parameter, and autocast's copy of it
        self.starts_workers = False             # the processes that start now are a data loader's


class Recorder:
    """The one writer of a capture. Methods are called outside of torch-function and dispatch modes."""

    def __init__(self, file: CaptureFile, first_step: int = 0, end_step: Optional[int] = None) -> None:
        self.claims = Claims()
        self.thread = Thread()
        self.results = Results()
        self.step = 0
        self.steps_by_hand = False
        self._file = file
        self._steps = (first_step, end_step)
        self._announced_steps = -1
        self.locations = Locations(self._write_location)
        self.module_paths: List[str] = [""]
        self._parameters: Dict[int, Tuple[int, str]] = {}  # storage id -> module, name
        self._tensors = 0
        self._ops = 0
        self._mismatches = 0
        self._roots: Dict[Occurrence, Mismatch] = {}
        self._by_id: Dict[int, Mismatch] = {}
        self._forward_ops: Dict[int, Tuple[int, int, str]] = {}  # autograd sequence number -> op, module, device
        self._calls = 0
        self.threads: List[threading.Thread] = []  # that the script started

    # ---- header, ends, tables ----

    def write_header(self, gpus: int, fake: bool, script: str, arguments: Sequence[str]) -> None:
        header: Dict[str, Any] = {
            "format": FORMAT, "version": VERSION, "torch": str(torch.__version__), "python": platform.python_version(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "gpus": gpus, "fake": fake, "script": script, "arguments": list(arguments)}
        first, end = self._steps
        if first or end is not None:
            header["steps"] = [first, end]
        self._file.write(header)

    def write_end(self, status: str, message: str = "") -> None:
        """Writes the last line and closes the file. `status`: finished, failed, interrupted."""
        with LOCK:
            results = self.results
            results.steps = self.step
            record: Dict[str, Any] = {
                "kind": "end", "status": status, "ops": results.ops, "steps": self.step,
                "mismatches": len(results.mismatches), "transfers": sum(t.count for t in results.transfers.values()),
                "syncs": sum(results.syncs.values())}
            if message:
                record["message"] = message
            self._file.write(record)
            self._file.close()

    def _write_location(self, number: int, location: Location) -> None:
        record: Dict[str, Any] = {
            "kind": "location", "id": number, "file": location.file, "line": location.line, "function": location.function}
        if location.caller:
            record["caller"] = location.caller
        if location.library:
            record["library"] = True
        else:
            text = linecache.getline(location.file, location.line).strip()
            if text:
                record["text"] = text[:200]
        self._file.write(record)

    def add_module(self, path: str, kind: str, parent: int) -> int:
        """Announces an nn.Module by its path and class. Returns its id, from 1."""
        with LOCK:
            number = len(self.module_paths)
            self.module_paths.append(path)
            record: Dict[str, Any] = {"kind": "module", "id": number, "path": path, "class": kind}
            if parent:
                record["parent"] = parent
            self._file.write(record)
            return number

    def add_parameter(self, tensor: torch.Tensor, module: int, name: str, is_buffer: bool) -> None:
        """Announces a parameter or a buffer by its name within its module."""
        memory = self.claims.memory(tensor)
        if memory is None:
            return
        with LOCK:
            if memory.id in self._parameters:
                return
            self._parameters[memory.id] = (module, name)
            self._file.write({
                "kind": "parameter", "tensor": self.tensor_id(tensor, memory), "storage": memory.id, "module": module,
                "name": name, "buffer": is_buffer, "requires_grad": bool(tensor.requires_grad)})

    def note(self, code: str, sentence: str) -> None:
        """Says once what this capture assumes or leaves out."""
        with LOCK:
            if code not in self.results.notes:
                self.results.notes[code] = sentence
                self._file.write({"kind": "note", "code": code, "text": sentence, "location": self.locations.here()})

    def new_call(self) -> int:
        """The number of another outermost torch function call."""
        with LOCK:
            self._calls += 1
            return self._calls

    @property
    def next_op(self) -> int:
        """The id that the next recorded op gets. Ask, and record the op, under the lock."""
        return self._ops + 1

    @property
    def recording(self) -> bool:
        """False in a muted call and outside of the chosen steps."""
        first, end = self._steps
        return not self.thread.muted and first <= self.step and (end is None or self.step < end)

    def _place(self, record: Dict[str, Any], location: int) -> None:
        thread = self.thread
        if location:
            record["location"] = location
        module = thread.modules[-1] if thread.modules else thread.forward_module
        if module:
            record["module"] = module
        record["phase"] = thread.phase
        record["step"] = self.step

    # ---- tensors ----

    def _tensor_record(self, number: int, tensor: torch.Tensor, memory: Optional[Memory], device: str) -> Dict[str, Any]:
        record: Dict[str, Any] = {"id": number}
        if memory is not None:
            record["storage"] = memory.id
        record["shape"] = [int(n) for n in tensor.shape]
        record["dtype"] = dtype_name(tensor.dtype)
        record["device"] = device
        if tensor.layout is not torch.strided:
            record["layout"] = str(tensor.layout)[6:]
        return record

    def tensor_id(self, tensor: torch.Tensor, memory: Optional[Memory]) -> int:
        """The id of the tensor's value. A value that no recorded op made is announced with a line of its own."""
        with LOCK:
            if memory is None:
                self._tensors += 1
                self._file.write({"kind": "tensor", **self._tensor_record(self._tensors, tensor, None, CPU)})
                return self._tensors
            key = geometry(tensor)
            number = memory.values.get(key)
            if number is not None:
                return number
            self._tensors += 1
            number = self._tensors
            record = {"kind": "tensor", **self._tensor_record(number, tensor, memory, memory.device)}
            if memory.pinned:
                record["pinned"] = True
            if memory.latest:
                record["after"] = memory.latest
            before = memory.outdated.get(key)
            if before is not None:
                record["before"] = before
            if memory.made_at:
                record["location"] = memory.made_at
            memory.values[key] = number
            if not memory.latest:
                memory.latest = number
            self._file.write(record)
            return number

    def _new_value(self, tensor: torch.Tensor, memory: Optional[Memory], key: Geometry, device: str,
                   overwritten: int) -> Dict[str, Any]:
        self._tensors += 1
        number = self._tensors
        record = self._tensor_record(number, tensor, memory, device)
        if memory is not None:
            if overwritten:
                memory.outdated.update(memory.values)
                memory.values.clear()
                record["overwrites"] = overwritten
                memory.latest = number
            elif not memory.latest:
                memory.latest = number
            memory.values[key] = number
        return record

    # ---- ops ----

    def op(self, name: str, overload: str, operands: Sequence[Tuple[str, Optional[torch.Tensor], Optional[Memory]]],
           attributes: Dict[str, Any], results: Sequence[Tuple[torch.Tensor, Optional[Memory]]],
           written: Sequence[Tuple[torch.Tensor, Optional[Memory]]], device: str, location: int,
           forward: int = 0) -> int:
        """Records an op after it ran. Returns its id; 0 if nothing was recorded."""
        with LOCK:
            inputs: List[Dict[str, Any]] = []
            for argument, tensor, memory in operands:
                inputs.append({"arg": argument, "id": 0 if tensor is None else self.tensor_id(tensor, memory)})
            seen: Set[int] = {entry["id"] for entry in inputs}
            outputs: List[Dict[str, Any]] = []
            in_place: Set[Tuple[int, Any]] = set()
            for tensor, memory in written:
                key = geometry(tensor)
                outputs.append(self._new_value(tensor, memory, key, memory.device if memory else device,
                                               self.tensor_id(tensor, memory)))
                if memory is not None:
                    in_place.add((memory.id, key))
            for tensor, memory in results:
                key = geometry(tensor)
                if memory is not None:
                    if in_place and (memory.id, key) in in_place:
                        continue
                    if memory.values.get(key) in seen:
                        continue  # detach and the like: the same value
                outputs.append(self._new_value(tensor, memory, key, memory.device if memory else device, 0))
            if not outputs and (results or written):
                return 0
            self._ops += 1
            self.results.ops += 1
            record: Dict[str, Any] = {"kind": "op", "id": self._ops, "op": name}
            if overload:
                record["overload"] = overload
            record["in"] = inputs
            record["out"] = outputs
            if attributes:
                record["attributes"] = attributes
            record["device"] = device
            self._place(record, location)
            if self.thread.call:
                record["call"] = self.thread.call
                record["function"] = self.thread.function
            if forward:
                record["forward"] = forward
            self._file.write(record)
            return self._ops

    def remember_nodes(self, op: int, device: str) -> None:
        """Notes which op made the latest autograd nodes, so that their backward ops can be traced to it."""
        if not TRACES_BACKWARD:
            return
        thread = self.thread
        following = _next_sequence()  # type: ignore[misc]
        if following != thread.sequence:
            if len(self._forward_ops) > 200_000:
                self._forward_ops.clear()
            made_by = (op, thread.modules[-1] if thread.modules else 0, device)
            first = thread.sequence if 0 <= thread.sequence < following else following - 1
            for number in range(max(first, following - 4096), following):
                self._forward_ops[number] = made_by
            thread.sequence = following

    def forward_of(self, sequence: int) -> Tuple[int, int, str]:
        """The op, the module and the device that an autograd node belongs to; zeros and "" if unknown."""
        return self._forward_ops.get(sequence, (0, 0, ""))

    # ---- findings ----

    def transfer(self, size: int, source: str, destination: str, cause: str, location: int, *,
                 pinned: bool = False, non_blocking: bool = False, op: int = 0, tensor: int = 0) -> None:
        """A copy of `size` bytes between devices. The CPU waits for it unless it is asynchronous; a copy between GPUs always is.

        `tensor` is the id of the copied value, for a copy that is not an op's."""
        thread = self.thread
        if not self.recording:
            return
        listener = live.listener
        if listener is not None:
            listener.claimed_transfer(size, source, destination, cause, pinned, non_blocking, self.locations.users_line(location))
        blocking = CPU in (source, destination) and not (non_blocking and (pinned or destination == CPU))
        record: Dict[str, Any] = {
            "kind": "transfer", "from": source, "to": destination, "bytes": size, "cause": cause, "pinned": pinned,
            "non_blocking": non_blocking, "blocking": blocking}
        if op:
            record["op"] = op
        if tensor:
            record["tensor"] = tensor
        self._place(record, location)
        with LOCK:
            self._file.write(record)
            self.results.add_transfer(TransferLine(
                self.locations.text(location), source, destination, cause, thread.phase, pinned, non_blocking, blocking), size)

    def sync(self, cause: str, location: int, op: int = 0) -> None:
        """The CPU waits for a device."""
        if not self.recording:
            return
        listener = live.listener
        if listener is not None:
            listener.claimed_sync(cause, self.locations.users_line(location))
        record: Dict[str, Any] = {"kind": "sync", "cause": cause}
        if op:
            record["op"] = op
        self._place(record, location)
        with LOCK:
            self._file.write(record)
            self.results.add_sync(SyncLine(self.locations.text(location), cause, self.thread.phase))

    def mismatch(self, name: str, operands: Sequence[Tuple[Operand, torch.Tensor, Optional[Memory]]], wrong: Sequence[int],
                 expected: str, location: int, op: int, message: str = "") -> int:
        """An op whose operands are on more than one device. Returns the id of its root."""
        with LOCK:
            culprits = self._culprits(operands, wrong)
            self._mismatches += 1
            number = self._mismatches
            key: Occurrence = (location, name, tuple((o.argument, o.device) for o, _, _ in operands))
            root = self._roots.get(key)
            relation = "repeat"
            if root is None:
                consequences = {memory.root for memory in culprits}
                if culprits and 0 not in consequences:
                    root = self._by_id[min(consequences)]
                    relation = "backward" if self.thread.phase == "backward" else "downstream"
            if not message:
                bad = operands[wrong[0]][0]
                message = (f"Expected all tensors to be on the same device, but got {bad.argument} is on {bad.device}, "
                           f"different from other tensors on {expected} (when checking arguments of {name})")
            record: Dict[str, Any] = {"kind": "mismatch", "id": number}
            if op:
                record["op"] = op
            record["name"] = name
            record["expected"] = expected
            record["message"] = message
            record["operands"] = [self._operand_record(operand, tensor, memory, i in wrong)
                                  for i, (operand, tensor, memory) in enumerate(operands)]
            self._place(record, location)
            if root is not None:
                record["root"] = root.id
                record["relation"] = relation
                if relation == "repeat":
                    root.count += 1
                else:
                    root.echoes += 1
            else:
                at = self.locations.users_line(location)
                module = self.module_paths[self.thread.modules[-1]] if self.thread.modules else ""
                root = Mismatch(number, name, message, at.file if at else "", at.line if at else 0, at.function if at else "",
                                module, self.thread.phase,
                                operands=[self._operand_text(o, t, m) for o, t, m in operands])
                self._roots[key] = root
                self._by_id[number] = root
                self.results.mismatches.append(root)
            for memory in culprits:
                if not memory.root:
                    memory.root = root.id
            self._file.write(record)
            return root.id

    def _culprits(self, operands: Sequence[Tuple[Operand, torch.Tensor, Optional[Memory]]],
                  wrong: Sequence[int]) -> List[Memory]:
        """The tensors to blame: of those that differ, the ones on the CPU, else the ones that are no parameters."""
        differing = [operands[i] for i in wrong]
        on_cpu = [memory for operand, _, memory in differing if memory is not None and operand.device == CPU]
        if on_cpu:
            return on_cpu
        for candidates in (differing, operands):
            found = [m for _, _, m in candidates if m is not None and m.id not in self._parameters]
            if found:
                return found
        return [m for _, _, m in differing if m is not None]

    def _operand_record(self, operand: Operand, tensor: torch.Tensor, memory: Optional[Memory], wrong: bool) -> Dict[str, Any]:
        record: Dict[str, Any] = {"arg": operand.argument, "id": self.tensor_id(tensor, memory), "device": operand.device}
        if wrong:
            record["wrong"] = True
        if memory is not None and memory.made_at:
            record["location"] = memory.made_at
        return record

    def _operand_text(self, operand: Operand, tensor: torch.Tensor, memory: Optional[Memory]) -> str:
        text = f"{operand.argument} {dtype_name(tensor.dtype)} {[int(n) for n in tensor.shape]} on {operand.device}"
        if memory is not None:
            parameter = self._parameters.get(memory.id)
            if parameter:
                path = self.module_paths[parameter[0]]
                text += f", {path + '.' if path else ''}{parameter[1]}"
            if memory.made_at:
                text += f", created at {self.locations.text(memory.made_at)}"
        return text


def size_of(tensor: torch.Tensor) -> int:
    """Bytes of the elements; of a sparse tensor, of its dense form."""
    return int(tensor.numel() * tensor.element_size())
