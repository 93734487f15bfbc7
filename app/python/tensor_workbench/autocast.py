"""The dtype rules of torch.autocast("cuda"), applied to tensors that claim to be on a GPU.

PyTorch picks autocast's rules by a tensor's real device, so a CPU tensor would get the CPU's. The lists are those of
ATen/autocast_mode.h, by the names of the Python functions, and functions that consist of one of those (cross_entropy_loss).
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

import torch

from .patches import Patches
from .recorder import Recorder

T = torch.Tensor

_NARROW = frozenset("""
__matmul__ __rmatmul__ addbmm addmm addmv addr baddbmm bmm chain_matmul multi_dot linalg_multi_dot linalg_vecdot vecdot conv1d
conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d einsum gru gru_cell linear lstm lstm_cell matmul mm mv
prelu rnn_tanh rnn_tanh_cell rnn_relu rnn_relu_cell scaled_dot_product_attention
""".split())

_WIDE = frozenset("""
__pow__ __rdiv__ __rpow__ __rtruediv__ acos arccos asin arcsin binary_cross_entropy_with_logits cosh cosine_embedding_loss cdist
cosine_similarity cross_entropy_loss cumprod cumsum dist erfinv exp expm1 frobenius_norm group_norm hinge_embedding_loss huber_loss kl_div l1_loss
layer_norm linalg_matrix_norm linalg_vector_norm log log10 log_softmax log1p log2 logsumexp margin_ranking_loss mse_loss
multilabel_margin_loss multi_margin_loss native_layer_norm nll_loss nll_loss2d nll_loss_nd norm nuclear_norm pdist
poisson_nll_loss pow prod reciprocal renorm rsqrt sinh smooth_l1_loss soft_margin_loss softmax softplus sum tan
triplet_margin_loss upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d
upsample_nearest3d upsample_trilinear3d _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d
_upsample_nearest_exact2d _upsample_nearest_exact3d
""".split())

_TAKES_DTYPE = frozenset("prod softmax log_softmax cumprod cumsum linalg_matrix_norm linalg_vector_norm sum".split())

_WIDEST = frozenset("addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put scatter_add tensordot cat stack".split())


def _dtype() -> torch.dtype:
    newer = getattr(torch, "get_autocast_dtype", None)
    return newer("cuda") if newer is not None else torch.get_autocast_gpu_dtype()


class CudaAutocast:
    """Casts the arguments of a function as CUDA's autocast does. Casts of parameters are kept until autocast ends."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def install(self, patches: Patches) -> None:
        clear = torch.clear_autocast_cache

        def clear_both() -> None:
            clear()
            self._recorder.thread.casts.clear()

        patches.set(torch, "clear_autocast_cache", clear_both)

    def cast(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
        """Call it with autocast enabled, outside of torch-function modes."""
        name = getattr(func, "__name__", "")
        if kwargs.get("out") is not None:
            return args, kwargs
        if name in _NARROW:
            dtype = _dtype()
        elif name in _WIDE:
            if name in _TAKES_DTYPE and (kwargs.get("dtype") is not None or any(isinstance(a, torch.dtype) for a in args)):
                return args, kwargs
            dtype = torch.float32
        elif name == "binary_cross_entropy" and any(True for _ in self._eligible((args, kwargs))):
            raise RuntimeError(
                "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. "
                "Use torch.nn.BCEWithLogitsLoss or torch.nn.functional.binary_cross_entropy_with_logits.")
        elif name in _WIDEST:
            dtypes = {tensor.dtype for tensor in self._eligible((args, kwargs))}
            if len(dtypes) < 2:
                return args, kwargs
            dtype = torch.float32
        else:
            return args, kwargs
        return self._to(args, dtype), self._to(kwargs, dtype)

    def _is_eligible(self, value: Any) -> bool:
        return (isinstance(value, T) and value.is_floating_point() and value.dtype is not torch.float64
                and self._recorder.claims.device(value).startswith("cuda"))

    def _eligible(self, value: Any) -> Any:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            for item in value:
                yield from self._eligible(item)
        elif self._is_eligible(value):
            yield value

    def _to(self, value: Any, dtype: torch.dtype) -> Any:
        if isinstance(value, dict):
            return {key: self._to(item, dtype) for key, item in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._to(item, dtype) for item in value)
        if not self._is_eligible(value) or value.dtype is dtype:
            return value
        if value.is_leaf and value.requires_grad and torch.is_autocast_cache_enabled():
            casts = self._recorder.thread.casts
            known = casts.get(id(value))
            if known is None or known[0] is not value or known[1].dtype is not dtype:
                known = casts[id(value)] = (value, value.to(dtype))
            return known[1]
        return value.to(dtype)
