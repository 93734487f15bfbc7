"""Ops whose result depends on values, in a capture that computes nothing (`--fake`)."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import torch

from .recorder import Recorder


def _scalar(recorder: Recorder, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    recorder.note("fake-item", "item() and bool(tensor) answer 1, since no value is computed; branches on values may be others.")
    dtype = args[0].dtype
    return True if dtype is torch.bool else 1.0 if dtype.is_floating_point else 1


def _nonzero(recorder: Recorder, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    recorder.note("fake-size", "Sizes that depend on values (nonzero, masks, unique) are taken as if all elements counted.")
    return torch.zeros(args[0].numel(), args[0].dim(), dtype=torch.int64)


def _masked_select(recorder: Recorder, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    _nonzero(recorder, func, args, kwargs)
    shape = torch.broadcast_shapes(args[0].shape, args[1].shape)
    return torch.zeros(shape.numel(), dtype=args[0].dtype)


def _unique(recorder: Recorder, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    _nonzero(recorder, func, args, kwargs)
    flat = torch.zeros(args[0].numel(), dtype=args[0].dtype)
    return flat, torch.zeros(args[0].shape, dtype=torch.int64), torch.zeros(args[0].numel(), dtype=torch.int64)


def _index(recorder: Recorder, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    indices: List[Any] = []
    for index in args[1]:
        if isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8):
            _nonzero(recorder, func, (index,), {})
            indices += [torch.zeros(index.numel(), dtype=torch.int64) for _ in range(index.dim())]
        else:
            indices.append(index)
    return func(args[0], indices, *args[2:], **kwargs)


def _equal(recorder: Recorder, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    recorder.note("fake-item", "item() and bool(tensor) answer 1, since no value is computed; branches on values may be others.")
    return True


_ANSWERS: Dict[str, Callable[[Recorder, Any, Tuple[Any, ...], Dict[str, Any]], Any]] = {
    "aten::_local_scalar_dense": _scalar, "aten::nonzero": _nonzero, "aten::masked_select": _masked_select,
    "aten::_unique2": _unique, "aten::unique_consecutive": _unique, "aten::unique_dim": _unique, "aten::index": _index,
    "aten::index_put": _index, "aten::index_put_": _index, "aten::_index_put_impl_": _index, "aten::equal": _equal,
    "aten::is_nonzero": _equal, "aten::allclose": _equal,
}


def call(recorder: Recorder, name: str, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    """Calls an op on fake tensors; an op whose result depends on values is answered, with a note in the capture."""
    answer = _ANSWERS.get(name)
    return answer(recorder, func, args, kwargs) if answer else func(*args, **kwargs)
