"""Copies between claimed devices: .to(), .cuda(), .cpu(), torch.tensor(..., device=...), and their gradients."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch

from .modes import no_functions
from .recorder import Recorder


class _Move(torch.autograd.Function):
    """A copy to another device (and dtype) whose gradient goes back to where the tensor came from."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, recorder: Recorder, device: str, dtype: torch.dtype,  # type: ignore[override]
                memory_format: Optional[torch.memory_format], non_blocking: bool, cause: str) -> torch.Tensor:
        ctx.recorder, ctx.non_blocking, ctx.cause = recorder, non_blocking, cause
        ctx.source, ctx.dtype = recorder.claims.device(tensor), tensor.dtype
        thread = recorder.thread
        before = thread.target, thread.non_blocking, thread.cause
        thread.target, thread.non_blocking, thread.cause = device, non_blocking, cause
        try:
            keywords = {} if memory_format is None else {"memory_format": memory_format}
            copied: torch.Tensor = torch.ops.aten._to_copy.default(tensor, dtype=dtype, **keywords)
            return copied
        finally:
            thread.target, thread.non_blocking, thread.cause = before

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Tuple[Any, ...]:  # type: ignore[override]
        with no_functions():
            moved = move(ctx.recorder, gradient, ctx.source, ctx.dtype, cause=ctx.cause, non_blocking=ctx.non_blocking)
        return (moved,) + (None,) * 6


def move(recorder: Recorder, tensor: torch.Tensor, device: Optional[str], dtype: Optional[torch.dtype] = None, *,
         memory_format: Optional[torch.memory_format] = None, non_blocking: bool = False, copy: bool = False,
         cause: str = "to") -> torch.Tensor:
    """The tensor on `device` (None: where it is) with `dtype` (None: its own). The tensor itself if nothing changes.

    Call it outside of torch-function modes.
    """
    source = recorder.claims.device(tensor)
    device = device or source
    dtype = dtype or tensor.dtype
    if device == "meta" or source == "meta":
        return tensor.to(device="meta", dtype=dtype)
    is_format_kept = memory_format is None or memory_format is torch.preserve_format or \
        tensor.is_contiguous(memory_format=memory_format)
    if not copy and device == source and dtype == tensor.dtype and is_format_kept:
        return tensor
    moved: torch.Tensor = _Move.apply(tensor, recorder, device, dtype, memory_format, non_blocking, cause)
    return moved
