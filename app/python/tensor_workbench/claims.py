"""The device that each tensor claims to be on.

Every tensor of a captured program is a plain CPU tensor. A claim belongs to the tensor's storage, so views and
detached tensors share it, as they share memory. Devices are spelled "cpu" and "cuda:N".
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .lock import LOCK
from .modes import no_dispatch

CPU = "cpu"
Geometry = Tuple[Any, ...]

_read_storage = getattr(torch.Tensor, "untyped_storage", None) or torch.Tensor._storage  # type: ignore[attr-defined]
_SPARSE_ROWS = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


class Memory:
    """One storage: its claim, and the ids of the values that it holds."""

    __slots__ = ("reference", "id", "device", "pinned", "values", "outdated", "latest", "root", "made_at", "is_guess")

    def __init__(self, reference: StorageWeakRef, number: int, device: str) -> None:
        self.reference = reference
        self.id = number
        self.device = device
        self.pinned = False
        self.values: Dict[Geometry, int] = {}    # geometry -> tensor id, of what the storage holds now
        self.outdated: Dict[Geometry, int] = {}  # the same before the last write in place
        self.latest = 0                          # tensor id of the last write
        self.root = 0                            # id of the mismatch that this storage is a consequence of
        self.made_at = 0                         # location of the call that made it
        self.is_guess = False                    # the device is not known before the tensor is used with others


def geometry(tensor: torch.Tensor) -> Geometry:
    """What tells two views of one storage apart."""
    if tensor.layout is torch.strided:
        return (tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)
    return (str(tensor.layout), tensor.shape, tensor.dtype)


def storage_of(tensor: torch.Tensor) -> Optional[Any]:
    """The storage that stands for the tensor; that of the values for a sparse one; None for a layout without any."""
    try:
        return _read_storage(tensor)
    except (NotImplementedError, RuntimeError):
        pass
    with no_dispatch():
        try:
            if tensor.layout is torch.sparse_coo:
                return _read_storage(tensor._values())
            if tensor.layout in _SPARSE_ROWS:
                return _read_storage(tensor.values())
        except (NotImplementedError, RuntimeError):
            pass
    return None


class Claims:
    """All storages that were met. Call it outside of torch-function modes."""

    def __init__(self) -> None:
        self._memories: Dict[int, Memory] = {}
        self._limit = 4096
        self.count = 0  # storages that were met

    def memory(self, tensor: torch.Tensor, device: str = CPU) -> Optional[Memory]:
        """The tensor's memory; a storage met for the first time claims `device`. None for a tensor without storage."""
        storage = storage_of(tensor)
        if storage is None:
            return None
        return self._memories.get(storage._cdata) or self._add(storage, device)

    def _add(self, storage: Any, device: str) -> Memory:
        key = storage._cdata
        with LOCK:
            memory = self._memories.get(key)
            if memory is None:  # else another thread has added it
                # The weak reference keeps the address from being used again, so a key never means another storage.
                self.count += 1
                memory = self._memories[key] = Memory(StorageWeakRef(storage), self.count, device)
                if len(self._memories) > self._limit:
                    self._forget_the_dead()
        return memory

    def claim_storage(self, storage: Any, device: str) -> None:
        """Sets the device of a storage that no tensor needs to hold yet."""
        storage = getattr(storage, "_untyped_storage", None) or getattr(storage, "_storage", None) or storage
        self._add(storage, device).device = device

    def device_of_storage(self, storage: Any) -> str:
        storage = getattr(storage, "_untyped_storage", None) or getattr(storage, "_storage", None) or storage
        memory = self._memories.get(storage._cdata)
        return memory.device if memory else CPU

    def device(self, tensor: torch.Tensor) -> str:
        memory = self.memory(tensor)
        return memory.device if memory else CPU

    def _forget_the_dead(self) -> None:
        alive: List[Tuple[int, Memory]] = [(k, m) for k, m in list(self._memories.items()) if not m.reference.expired()]
        self._memories = dict(alive)
        self._limit = max(4096, 2 * len(alive))
