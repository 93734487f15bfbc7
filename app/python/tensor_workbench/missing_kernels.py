"""Ops that a GPU has and this CPU build lacks: half precision in older versions, and the loss scaler's."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import torch

_NARROW = (torch.float16, torch.bfloat16)


def call(func: Any, name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    """Calls an aten op; in float32 with results in the narrow type if the CPU has no kernel for that."""
    try:
        return func(*args, **kwargs)
    except (RuntimeError, NotImplementedError) as error:
        text = str(error)
        if "_amp_" in name and "not" in text:
            return _scale(name, args, error)
        if "not implemented for" not in text and "expected scalar type" not in text and "same dtype" not in text:
            raise
        return _widened(func, args, kwargs, error)


def _widened(func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], error: Exception) -> Any:
    narrow = []

    def widen(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.dtype in _NARROW:
                narrow.append(value)
                return value.float()
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(widen(item) for item in value)
        if isinstance(value, torch.dtype) and value in _NARROW:
            return torch.float32
        return value

    wide_args = widen(tuple(args))
    wide_kwargs = {key: widen(value) for key, value in kwargs.items()}
    if not narrow:
        raise error
    out = func(*wide_args, **wide_kwargs)
    dtype = narrow[0].dtype
    schema = func._schema.arguments
    # What was written in place goes back to the caller's tensors.
    for argument, before, after in zip(schema, args, wide_args):
        if argument.alias_info is not None and argument.alias_info.is_write and before is not after:
            for old, new in zip(*([before], [after]) if isinstance(before, torch.Tensor) else (before, after)):
                if old is not new:
                    old.copy_(new)
            if out is after:
                return before
    return _narrowed(out, dtype)


def _narrowed(out: Any, dtype: torch.dtype) -> Any:
    if isinstance(out, torch.Tensor):
        return out.to(dtype) if out.dtype is torch.float32 else out
    if isinstance(out, (list, tuple)):
        return type(out)(_narrowed(item, dtype) for item in out)
    return out


def _scale(name: str, args: Tuple[Any, ...], error: Exception) -> Any:
    """torch.cuda.amp.GradScaler's two kernels."""
    if name.startswith("aten::_amp_foreach_non_finite_check_and_unscale"):
        gradients, found_inf, inverse_scale = args
        for gradient in gradients:
            if not bool(torch.isfinite(gradient).all()):
                found_inf.fill_(1.0)
            gradient.mul_(inverse_scale.to(gradient.dtype))
        return None
    if name.startswith("aten::_amp_update_scale"):
        scale, tracker, found_inf, growth, backoff, interval = args
        if float(found_inf):
            scale.mul_(backoff)
            tracker.zero_()
        elif int(tracker) + 1 == interval:
            scale.mul_(growth)
            tracker.zero_()
        else:
            tracker.add_(1)
        return scale
    raise error
