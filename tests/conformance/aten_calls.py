"""Writes calls of aten ops with PyTorch's results, for tests/formats/test_aten_calls.cpp:
    python3 tests/conformance/aten_calls.py OUT.json
Needs torch. The committed tests/data/aten_calls.json was written with torch 2.9.0; its last 51 calls with 1.13.
"""

import json
import math
import sys

import torch

random = torch.Generator().manual_seed(7)


def t(*shape, low=-2.0, high=2.0, dtype=torch.float32):
    value = torch.rand(shape, generator=random, dtype=torch.float64) * (high - low) + low
    return value.to(dtype) if dtype.is_floating_point else value.floor().to(dtype)


def ints(*shape, low=0, high=5, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=random).to(dtype)


def bools(*shape):
    return torch.rand(shape, generator=random) > 0.5


def hidden_rows():
    return torch.tensor([[1.0, -math.inf, 2.0], [-math.inf] * 3, [0.0, 0.0, -1.0]])


def calls():
    x, y, p = t(2, 3, 4), t(3, 4), t(2, 3, 4, low=0.1, high=0.9)
    for name in ("relu sigmoid tanh exp neg abs sin cos atan sinh cosh asinh erf sign floor ceil round trunc frac silu "
                 "mish hardswish hardsigmoid hardtanh relu6 gelu leaky_relu softplus elu celu selu softshrink hardshrink "
                 "log_sigmoid square expm1 exp2 isnan isinf nan_to_num positive sgn tan").split():
        yield name, dict(self=x)
    for name in "log sqrt rsqrt reciprocal log2 log10 log1p asin acos atanh".split():
        yield name, dict(self=p)
    yield "acosh", dict(self=t(2, 3, low=1.1, high=3.0))
    yield "exp", dict(self=ints(3, 4))
    yield "abs", dict(self=ints(3, 4, low=-5))
    yield "floor", dict(self=ints(3, 4))
    yield "gelu", dict(self=x, approximate="tanh")
    yield "leaky_relu", dict(self=x, negative_slope=0.2)
    yield "softplus", dict(self=x, beta=2.0, threshold=20.0)
    yield "elu", dict(self=x, alpha=1.5, scale=1.2)
    yield "hardtanh", dict(self=x, min_val=-0.5, max_val=0.75)
    yield "threshold", dict(self=x, threshold=0.3, value=-7.0)
    for name in "add sub mul div maximum minimum eq ne lt le gt ge".split():
        yield name, dict(self=x, other=y)
        if name not in ("maximum", "minimum"):
            yield name, dict(self=x, other=2)
        yield name, dict(self=ints(3, 4), other=ints(4, low=1))
    yield "add", dict(self=x, other=y, alpha=2.5)
    yield "add", dict(self=ints(3, 4), other=y)
    yield "add", dict(self=ints(3, 4), other=1.5)
    yield "add", dict(self=bools(3), other=bools(3))
    yield "mul", dict(self=x, other=bools(4))
    yield "mul", dict(self=bools(4), other=bools(4))
    yield "mul", dict(self=t(3, dtype=torch.float16), other=2.0)
    yield "rsub", dict(self=x, other=1.5, alpha=2)
    yield "rsub", dict(self=x, other=y)
    for mode in ("floor", "trunc"):
        yield "div", dict(self=x, other=y, rounding_mode=mode)
        yield "div", dict(self=ints(3, 4, low=-9, high=9), other=ints(4, low=1), rounding_mode=mode)
    yield "floor_divide", dict(self=ints(3, 4, low=-9, high=9), other=ints(4, low=1))
    yield "remainder", dict(self=x, other=1.5)
    yield "remainder", dict(self=ints(3, 4, low=-9, high=9), other=ints(4, low=1))
    yield "fmod", dict(self=x, other=y)
    yield "pow", dict(self=p, exponent=2.5)
    yield "pow", dict(self=ints(3, 4), exponent=2)
    yield "pow", dict(self=p, exponent=y)
    yield "pow", dict(self=2.0, exponent=y)
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield name, dict(self=bools(3, 4), other=ints(4, high=2))
    yield "logical_not", dict(self=ints(4, high=2))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield name, dict(self=ints(3, 4), other=ints(4))
        yield name, dict(self=bools(3, 4), other=bools(4))
    yield "bitwise_not", dict(self=ints(4))
    yield "bitwise_not", dict(self=bools(4))
    yield "clamp", dict(self=x, min=-0.5, max=0.5)
    yield "clamp", dict(self=x, min=y, max=None)
    yield "clamp", dict(self=ints(3, 4), min=1)
    yield "clamp_min", dict(self=x, min=0.1)
    yield "where", dict(condition=bools(3, 4), self=x, other=y)
    yield "where", dict(condition=bools(3, 4), self=y, other=0.0)
    yield "masked_fill", dict(self=x, mask=bools(3, 4), value=-math.inf)
    yield "addcmul", dict(self=x, tensor1=y, tensor2=y, value=0.5)
    yield "addcdiv", dict(self=x, tensor1=y, tensor2=p, value=0.5)
    yield "lerp", dict(self=y, end=t(3, 4), weight=0.3)
    # shapes
    yield "view", dict(self=x, size=[6, 4])
    yield "reshape", dict(self=x, shape=[-1, 2])
    yield "flatten", dict(self=x, start_dim=1)
    yield "unflatten", dict(self=x, dim=2, sizes=[2, 2])
    yield "squeeze", dict(self=t(2, 1, 3), dim=1)
    yield "squeeze", dict(self=t(2, 1, 3))
    yield "unsqueeze", dict(self=x, dim=-1)
    yield "expand", dict(self=t(3, 1), size=[2, 3, 4])
    yield "permute", dict(self=x, dims=[2, 0, -2])
    yield "transpose", dict(self=x, dim0=0, dim1=-1)
    yield "t", dict(self=y)
    yield "t", dict(self=t(4))
    yield "movedim", dict(self=x, source=[0, 1], destination=[-1, 0])
    yield "slice", dict(self=x, dim=2, start=1, end=4, step=2)
    yield "slice", dict(self=x, dim=1, start=-2)
    yield "narrow", dict(self=x, dim=1, start=1, length=2)
    yield "select", dict(self=x, dim=1, index=-1)
    yield "split", dict(self=x, split_size=2, dim=2)
    yield "split_with_sizes", dict(self=x, split_sizes=[1, 3], dim=2)
    yield "chunk", dict(self=t(5, 2), chunks=3)
    yield "unbind", dict(self=x, dim=1)
    yield "cat", dict(tensors=[x, x], dim=-1)
    yield "cat", dict(tensors=[t(0), y, ints(2, 4)])
    yield "stack", dict(tensors=[y, y], dim=1)
    yield "repeat", dict(self=y, repeats=[2, 1, 3])
    yield "tile", dict(self=x, dims=[2])
    yield "repeat_interleave", dict(self=y, repeats=2, dim=0)
    yield "flip", dict(self=x, dims=[0, 2])
    yield "roll", dict(self=x, shifts=[1, -1], dims=[1, 2])
    yield "roll", dict(self=y, shifts=[5])
    yield "tril", dict(self=x, diagonal=1)
    yield "triu", dict(self=x)
    yield "constant_pad_nd", dict(self=x, pad=[1, 2, 0, 1], value=3.0)
    yield "pad", dict(self=t(1, 2, 4, 5), pad=[1, 2, 2, 1], mode="reflect")
    yield "pad", dict(self=t(1, 2, 4, 5), pad=[1, 2, 2, 1], mode="replicate")
    yield "reflection_pad2d", dict(self=t(1, 2, 4, 5), padding=[1, 2, 2, 1])
    yield "replication_pad1d", dict(self=t(1, 2, 4), padding=[1, 2])
    yield "pixel_shuffle", dict(self=t(2, 8, 2, 3), upscale_factor=2)
    yield "pixel_unshuffle", dict(self=t(2, 2, 4, 6), downscale_factor=2)
    yield "channel_shuffle", dict(self=t(2, 6, 2, 2), groups=3)
    yield "_to_copy", dict(self=x, dtype=torch.float64)
    yield "_to_copy", dict(self=x, dtype=torch.int32)
    yield "clone", dict(self=x)
    # indexing
    yield "index", dict(self=x, indices=[None, ints(2, 2, high=3)])
    yield "index", dict(self=x, indices=[ints(4, high=2), ints(4, high=3)])
    yield "index", dict(self=x, indices=[bools(2, 3)])
    yield "index_put", dict(self=y, indices=[ints(2, high=3)], values=t(2, 4), accumulate=True)
    yield "index_put", dict(self=y, indices=[bools(3, 4)], values=torch.tensor(5.0))
    yield "index_select", dict(self=x, dim=1, index=ints(5, high=3))
    yield "gather", dict(self=x, dim=2, index=ints(2, 3, 2, high=4))
    yield "scatter", dict(self=y, dim=1, index=torch.tensor([[0, 2], [1, 3], [3, 0]]), src=t(3, 2))
    yield "scatter", dict(self=y, dim=1, index=torch.tensor([[0, 2], [1, 3], [3, 0]]), value=9.0)
    yield "scatter_add", dict(self=y, dim=1, index=ints(3, 2, high=4), src=t(3, 4))
    yield "index_add", dict(self=y, dim=0, index=ints(2, high=3), source=t(2, 4), alpha=2)
    yield "masked_select", dict(self=y, mask=bools(3, 4))
    yield "nonzero", dict(self=bools(3, 4))
    yield "embedding", dict(weight=t(7, 3), indices=ints(2, 4, high=7))
    yield "one_hot", dict(self=ints(4), num_classes=5)
    yield "topk", dict(self=x, k=2, dim=2)
    yield "sort", dict(self=x, dim=1, descending=True)
    yield "argsort", dict(self=x, dim=1)
    # reductions
    for name in "sum mean amax amin logsumexp".split():
        yield name, dict(self=x, dim=[0, 2], keepdim=True)
    for name in "sum mean prod max min any all argmax argmin var std norm count_nonzero".split():
        yield name, dict(self=x)
    yield "sum", dict(self=bools(3, 4))
    yield "sum", dict(self=ints(3, 4), dim=[1])
    for name in "max min argmax argmin prod any all".split():
        yield name, dict(self=x, dim=1)
    yield "max", dict(self=x, other=y)
    yield "var", dict(self=x, dim=[1], correction=0)
    yield "std", dict(self=x, dim=[1], correction=1, keepdim=True)
    yield "var_mean", dict(self=x, dim=[1, 2])
    yield "linalg_vector_norm", dict(self=x, ord=1, dim=[1])
    yield "linalg_vector_norm", dict(self=x, ord=math.inf)
    yield "cumsum", dict(self=x, dim=1)
    for name in ("softmax", "log_softmax"):
        yield name, dict(self=x, dim=1)
    yield "_softmax", dict(self=x, dim=-1, half_to_float=False)
    yield "_log_softmax", dict(self=x, dim=-1, half_to_float=False)
    # layers
    yield "linear", dict(input=x, weight=t(5, 4), bias=t(5))
    yield "linear", dict(input=y, weight=t(5, 4))
    yield "addmm", dict(self=t(5), mat1=y, mat2=t(4, 5), beta=0.5, alpha=2.0)
    yield "mm", dict(self=y, mat2=t(4, 2))
    yield "bmm", dict(self=x, mat2=t(2, 4, 2))
    yield "matmul", dict(self=x, other=t(4))
    yield "mv", dict(self=y, vec=t(4))
    yield "dot", dict(self=t(4), tensor=t(4))
    yield "baddbmm", dict(self=t(2, 3, 2), batch1=x, batch2=t(2, 4, 2), beta=0.5)
    yield "outer", dict(self=t(3), vec2=t(4))
    yield "einsum", dict(equation="bij,jk->bik", tensors=[x, t(4, 2)])
    yield "det", dict(self=t(3, 3))
    image = t(2, 4, 7, 8)
    yield "conv1d", dict(input=t(2, 4, 9), weight=t(6, 4, 3), bias=t(6), stride=[2], padding=[1])
    yield "conv2d", dict(input=image, weight=t(6, 2, 3, 3), bias=t(6), stride=[2, 1], padding=[1, 2], groups=2)
    yield "conv2d", dict(input=image, weight=t(6, 4, 3, 4), padding="same")
    yield "conv2d", dict(input=t(4, 7, 8), weight=t(6, 4, 3, 3), dilation=[2, 1])
    yield "conv3d", dict(input=t(1, 2, 4, 4, 4), weight=t(3, 2, 2, 2, 2))
    yield "convolution", dict(input=image, weight=t(4, 3, 3, 3), bias=t(3), stride=[2, 2], padding=[1, 1],
                              dilation=[1, 1], transposed=True, output_padding=[1, 0], groups=1)
    yield "conv_transpose2d", dict(input=image, weight=t(4, 3, 3, 3), bias=t(3), stride=[2, 2], padding=[1, 1])
    yield "batch_norm", dict(input=image, weight=t(4), bias=t(4), running_mean=t(4), running_var=t(4, low=.5),
                             training=False, momentum=0.1, eps=1e-5, cudnn_enabled=False)
    yield "batch_norm", dict(input=image, weight=t(4), bias=t(4), running_mean=None, running_var=None,
                             training=True, momentum=0.1, eps=1e-5, cudnn_enabled=False)
    yield "layer_norm", dict(input=x, normalized_shape=[3, 4], weight=y, bias=t(3, 4))
    yield "native_layer_norm", dict(input=x, normalized_shape=[4], weight=None, bias=None, eps=1e-3)
    yield "group_norm", dict(input=image, num_groups=2, weight=t(4), bias=t(4))
    yield "instance_norm", dict(input=image, weight=t(4), bias=t(4), running_mean=None, running_var=None,
                                use_input_stats=True, momentum=0.1, eps=1e-5, cudnn_enabled=False)
    if hasattr(torch.ops.aten, "rms_norm"):
        yield "rms_norm", dict(input=x, normalized_shape=[4], weight=t(4))
    q, k, v = t(2, 3, 5, 4), t(2, 3, 6, 4), t(2, 3, 6, 4)
    if hasattr(torch.ops.aten, "scaled_dot_product_attention"):
        sdpa = "scaled_dot_product_attention"
        yield sdpa, dict(query=q, key=k, value=v)
        yield sdpa, dict(query=q, key=k, value=v, attn_mask=bools(5, 6) | (torch.arange(6) == 0))
        yield sdpa, dict(query=q, key=k, value=v, attn_mask=t(2, 1, 5, 6), scale=0.3)
        yield sdpa, dict(query=k, key=k, value=v, is_causal=True)
        yield sdpa, dict(query=q[0], key=k[0], value=v[0])
    yield "upsample_nearest2d", dict(self=image, output_size=[14, 16])
    yield "upsample_bilinear2d", dict(self=image, output_size=[10, 5], align_corners=False)
    yield "upsample_bilinear2d", dict(self=image, output_size=[10, 5], align_corners=True)
    yield "upsample_bicubic2d", dict(self=image, output_size=[10, 16], align_corners=False)
    yield "grid_sampler", dict(input=image, grid=t(2, 3, 4, 2, low=-1.2, high=1.2), interpolation_mode=0,
                               padding_mode=0, align_corners=False)
    yield "affine_grid_generator", dict(theta=t(2, 2, 3), size=[2, 4, 3, 5], align_corners=False)
    yield "dropout", dict(input=x, p=0.5, train=False)
    yield "glu", dict(self=x, dim=2)
    yield "max_pool2d", dict(self=image, kernel_size=[3, 2], stride=[2, 2], padding=[1, 1])
    yield "max_pool2d", dict(self=image, kernel_size=[3], ceil_mode=True)
    yield "max_pool2d_with_indices", dict(self=image, kernel_size=[2, 2])
    yield "max_pool1d", dict(self=t(2, 4, 9), kernel_size=[2])
    yield "max_pool3d", dict(self=t(1, 2, 4, 4, 4), kernel_size=[2])
    yield "avg_pool2d", dict(self=image, kernel_size=[3, 3], stride=[2, 2], padding=[1, 1])
    yield "avg_pool2d", dict(self=image, kernel_size=[3, 3], padding=[1, 1], count_include_pad=False)
    yield "avg_pool1d", dict(self=t(2, 4, 9), kernel_size=[3])
    yield "avg_pool3d", dict(self=t(1, 2, 4, 4, 4), kernel_size=[2])
    yield "adaptive_avg_pool2d", dict(self=image, output_size=[1, 1])
    yield "adaptive_avg_pool2d", dict(self=image, output_size=[7, 4])
    yield "adaptive_avg_pool1d", dict(self=t(2, 4, 9), output_size=[3])
    yield "adaptive_max_pool2d", dict(self=image, output_size=[7, 4])
    # recurrent
    steps = t(5, 2, 3)

    def cells(gates, layers=1, directions=1, biases=True):
        out = []
        for layer in range(layers):
            for _ in range(directions):
                n = 3 if layer == 0 else 4 * directions
                out += [t(gates * 4, n), t(gates * 4, 4)] + ([t(gates * 4), t(gates * 4)] if biases else [])
        return out

    def state(rows):
        return t(rows, 2, 4)

    common = dict(dropout=0.0, train=False)
    yield "lstm", dict(input=steps, hx=[state(1), state(1)], params=cells(4), has_biases=True, num_layers=1,
                       bidirectional=False, batch_first=False, **common)
    yield "lstm", dict(input=t(2, 5, 3), hx=[state(4), state(4)], params=cells(4, 2, 2), has_biases=True, num_layers=2,
                       bidirectional=True, batch_first=True, **common)
    yield "gru", dict(input=steps, hx=state(2), params=cells(3, 1, 2, False), has_biases=False, num_layers=1,
                      bidirectional=True, batch_first=False, **common)
    for name in ("rnn_tanh", "rnn_relu"):
        yield name, dict(input=steps, hx=state(2), params=cells(1, 2), has_biases=True, num_layers=2,
                         bidirectional=False, batch_first=False, **common)
    # sources
    yield "zeros", dict(size=[2, 3])
    yield "ones_like", dict(self=ints(3))
    yield "full", dict(size=[2, 3], fill_value=2.5)
    yield "full_like", dict(self=x, fill_value=-1)
    yield "new_zeros", dict(self=x, size=[2])
    yield "arange", dict(end=5)
    yield "arange", dict(start=1.0, end=3.0, step=0.5)
    yield "linspace", dict(start=0.0, end=1.0, steps=5)
    yield "eye", dict(n=3)
    yield "scalar_tensor", dict(s=2.5)
    # losses
    logits, target = t(6, 5), torch.tensor([0, 4, 2, 1, -100, 3])
    logs = torch.log_softmax(logits, 1)
    yield "nll_loss", dict(self=logs, target=target)
    yield "nll_loss_nd", dict(self=logs, target=target, weight=t(5, low=0.1), reduction=2)
    yield "cross_entropy_loss", dict(self=logits, target=target, reduction=0)
    yield "cross_entropy_loss", dict(self=logits, target=target)
    for reduction in (0, 1, 2):
        yield "mse_loss", dict(self=x, target=t(2, 3, 4), reduction=reduction)
    yield "l1_loss", dict(self=x, target=t(2, 3, 4))
    yield "smooth_l1_loss", dict(self=x, target=t(2, 3, 4), beta=0.5)
    yield "huber_loss", dict(self=x, target=t(2, 3, 4), delta=0.5)
    yield "binary_cross_entropy", dict(self=p, target=bools(2, 3, 4).float())
    yield "binary_cross_entropy_with_logits", dict(self=x, target=bools(2, 3, 4).float(), pos_weight=t(4, low=0.2))
    # backward
    g = t(2, 3, 4)
    yield "threshold_backward", dict(grad_output=g, self=x, threshold=0)
    yield "hardtanh_backward", dict(grad_output=g, self=x, min_val=-1.0, max_val=1.0)
    yield "leaky_relu_backward", dict(grad_output=g, self=x, negative_slope=0.1, self_is_result=False)
    yield "silu_backward", dict(grad_output=g, self=x)
    yield "gelu_backward", dict(grad_output=g, self=x)
    yield "gelu_backward", dict(grad_output=g, self=x, approximate="tanh")
    yield "tanh_backward", dict(grad_output=g, output=p)
    yield "sigmoid_backward", dict(grad_output=g, output=p)
    yield "_softmax_backward_data", dict(grad_output=g, output=torch.softmax(x, 1), dim=1, input_dtype=torch.float32)
    yield "_log_softmax_backward_data", dict(grad_output=g, output=torch.log_softmax(x, 1), dim=1,
                                             input_dtype=torch.float32)
    yield "native_dropout_backward", dict(grad_output=g, mask=bools(2, 3, 4), scale=2.0)
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [4], t(4), None, 1e-5)
    yield "native_layer_norm_backward", dict(grad_out=g, input=x, normalized_shape=[4], mean=mean, rstd=rstd,
                                             weight=t(4), bias=t(4), output_mask=[True, True, True])
    gi = t(2, 4, 7, 8)
    _, mean, rstd = torch.ops.aten.native_batch_norm(image, t(4), None, None, None, True, 0.1, 1e-5)
    yield "native_batch_norm_backward", dict(grad_out=gi, input=image, weight=t(4), running_mean=None, running_var=None,
                                             save_mean=mean, save_invstd=rstd, train=True, eps=1e-5,
                                             output_mask=[True, True, True])
    yield "convolution_backward", dict(grad_output=t(2, 6, 4, 8), input=image, weight=t(6, 4, 3, 3), bias_sizes=[6],
                                       stride=[2, 1], padding=[1, 1], dilation=[1, 1], transposed=False,
                                       output_padding=[0, 0], groups=1, output_mask=[True, True, True])
    _, at = torch.ops.aten.max_pool2d_with_indices(image, [3, 2], [2, 2], [1, 1])
    yield "max_pool2d_with_indices_backward", dict(grad_output=t(*at.shape), self=image, kernel_size=[3, 2],
                                                   stride=[2, 2], padding=[1, 1], dilation=[1, 1], ceil_mode=False,
                                                   indices=at)
    yield "_adaptive_avg_pool2d_backward", dict(grad_output=t(2, 4, 1, 1), self=image)
    yield "embedding_dense_backward", dict(grad_output=t(2, 4, 3), indices=ints(2, 4, high=7), num_weights=7,
                                           padding_idx=2, scale_grad_by_freq=False)
    yield "slice_backward", dict(grad_output=t(2, 2, 4), input_sizes=[2, 3, 4], dim=1, start=1, end=3, step=1)
    yield "select_backward", dict(grad_output=t(2, 4), input_sizes=[2, 3, 4], dim=1, index=-1)
    yield "mse_loss_backward", dict(grad_output=torch.tensor(2.0), self=x, target=g, reduction=1)
    _, total = torch.ops.aten.nll_loss_forward(logs, target, None, 1, -100)
    yield "nll_loss_backward", dict(grad_output=torch.tensor(2.0), self=logs, target=target, weight=None, reduction=1,
                                    ignore_index=-100, total_weight=total)
    weights = torch.linspace(0.5, 1.5, logs.shape[1])
    _, total = torch.ops.aten.nll_loss_forward(logs, target, weights, 1, -100)
    yield "nll_loss_backward", dict(grad_output=torch.tensor(2.0), self=logs, target=target, weight=weights, reduction=1,
                                    ignore_index=-100, total_weight=total)
    # lists
    some, others = [t(2, 3), t(4)], [t(2, 3, low=0.5), t(4, low=0.5)]
    for name in "add sub mul div".split():
        yield f"_foreach_{name}", dict(self=some, other=others)
        yield f"_foreach_{name}", dict(self=some, scalar=2.0)
    yield "_foreach_mul", dict(self=some, scalars=[2.0, 3.0])
    for name in "sqrt neg abs exp reciprocal".split():
        yield f"_foreach_{name}", dict(self=others)
    yield "_foreach_addcmul", dict(self=some, tensor1=others, tensor2=some, value=0.5)
    yield "_foreach_addcdiv", dict(self=some, tensor1=some, tensor2=others, scalars=[0.5, 2.0])
    yield "_foreach_lerp", dict(self=some, tensors1=others, weight=0.25)
    yield "_foreach_norm", dict(self=some, ord=2)
    # edges
    edges = torch.tensor([1.0, 10000.0, 1e8, 5.0, -7.5, 7.5, 1.0, -1.0, 0.0])
    steps = torch.tensor([0.1, 6.2831853, 0.3, math.inf, 2.0, -2.0, 0.0, 0.0, 3.0])
    yield "remainder", dict(self=edges, other=steps)
    yield "floor_divide", dict(self=edges, other=steps)
    yield "div", dict(self=edges, other=steps, rounding_mode="floor")
    yield "softplus", dict(self=t(3, 4, low=-6, high=6), beta=1.5, threshold=2.0)
    yield "upsample_nearest1d", dict(self=t(1, 2, 14), output_size=[18])
    yield "batch_norm", dict(input=torch.tensor([258.0, 260.0]).reshape(1, 1, 2).bfloat16(), weight=torch.ones(1),
                             bias=torch.zeros(1), running_mean=torch.tensor([257.0]), running_var=torch.ones(1),
                             training=False, momentum=0.1, eps=1e-5, cudnn_enabled=False)
    yield "erfinv", dict(self=t(3, 5, low=-1, high=1))
    wide = t(2, 3, 4, low=-5, high=5)
    yield "hardswish_backward", dict(grad_output=g, self=wide)
    yield "hardsigmoid_backward", dict(grad_output=g, self=wide)
    for groups, mask in ((2, [True, True, True]), (1, [False, True, True]), (4, [False, True, False]), (1, [True, False, True])):
        yield "convolution_backward", dict(grad_output=t(2, 8, 4, 8), input=image, weight=t(8, 4 // groups, 3, 3),
                                           bias_sizes=[8], stride=[2, 1], padding=[1, 1], dilation=[1, 1],
                                           transposed=False, output_padding=[0, 0], groups=groups, output_mask=mask)
    yield "native_layer_norm_backward", dict(grad_out=g, input=x, normalized_shape=[4], mean=x.mean(-1, True),
                                             rstd=t(2, 3, 1, low=0.5), weight=t(4), bias=t(4),
                                             output_mask=[False, True, True])
    for start, end, step in ((0, 7, 2), (1, 7, 3), (1, 8, 2), (-3, 8, 2)):
        rows = len(range(8)[start:end:step])
        yield "slice_backward", dict(grad_output=t(2, rows, 3), input_sizes=[2, 8, 3], dim=1, start=start, end=end, step=step)
    for size in ([4, 4], [5, 7], [3, 8], [1, 3]):
        yield "_adaptive_avg_pool2d", dict(self=image, output_size=size)
    yield "adaptive_avg_pool2d", dict(self=image[0], output_size=[3, 5])
    if hasattr(torch.ops.aten, "_safe_softmax"):
        yield "_safe_softmax", dict(self=hidden_rows(), dim=-1)
    if hasattr(torch.ops.aten, "scaled_dot_product_attention"):
        yield sdpa, dict(query=q, key=k, value=v, attn_mask=t(2, 1, 5, 1))
    part, all_parts = torch.tensor(1.5), t(2, 3, 4)
    yield "smooth_l1_loss_backward", dict(grad_output=part, self=x, target=g, reduction=1, beta=1.0)
    yield "smooth_l1_loss_backward", dict(grad_output=all_parts, self=x, target=g, reduction=0, beta=0.25)
    yield "huber_loss_backward", dict(grad_output=part, self=x, target=g, reduction=2, delta=0.5)
    yield "huber_loss_backward", dict(grad_output=part, self=x, target=g, reduction=1, delta=1.5)
    yield "binary_cross_entropy_backward", dict(grad_output=part, self=p, target=bools(2, 3, 4).float(), weight=None, reduction=1)
    yield "binary_cross_entropy_backward", dict(grad_output=part, self=p, target=t(2, 3, 4, low=0, high=1), weight=t(3, 4, low=0),
                                                reduction=2)
    yield "prelu", dict(self=image, weight=t(4))
    yield "prelu", dict(self=x, weight=t(1))
    yield "prelu_backward", dict(grad_output=gi, self=image, weight=t(4))
    yield "elu_backward", dict(grad_output=g, alpha=1.5, scale=1.2, input_scale=0.5, is_result=False, self_or_result=x)
    yield "softplus_backward", dict(grad_output=g, self=wide, beta=1.5, threshold=2.0)
    for name in ("mish_backward", "glu_backward", "log_sigmoid_backward"):
        more = dict(dim=-1) if name == "glu_backward" else dict(buffer=torch.exp(-x.abs())) if name == "log_sigmoid_backward" else {}
        yield name, dict(grad_output=t(2, 3, 2) if name == "glu_backward" else g, self=x, **more)
    for kernel, stride, padding, ceil, counts in (([2, 2], [2, 2], [0, 0], False, True), ([3, 2], [2, 2], [1, 1], True, False)):
        pool = dict(self=image, kernel_size=kernel, stride=stride, padding=padding, ceil_mode=ceil, count_include_pad=counts)
        y = torch.ops.aten.avg_pool2d._op(**pool)
        yield "avg_pool2d_backward", dict(grad_output=t(*y.shape), divisor_override=None, **pool)
    yield "_adaptive_avg_pool2d_backward", dict(grad_output=t(2, 4, 1, 4), self=image)
    yield "_adaptive_avg_pool2d_backward", dict(grad_output=t(2, 4, 3, 5), self=image)
    sizes = dict(output_size=[9, 16], input_size=[1, 2, 6, 8])
    small = t(1, 2, 9, 16)
    yield "upsample_nearest2d_backward", dict(grad_output=small, scales_h=None, scales_w=None, **sizes)
    for corners in (False, True):
        yield "upsample_bilinear2d_backward", dict(grad_output=small, align_corners=corners, scales_h=None, scales_w=None, **sizes)
        yield "upsample_bicubic2d_backward", dict(grad_output=small, align_corners=corners, scales_h=None, scales_w=None, **sizes)
    places = t(2, 3, 5, 2, low=-1.1, high=1.1)
    for mask in ([True, True], [False, True]):
        yield "grid_sampler_2d_backward", dict(grad_output=t(2, 4, 3, 5), input=image, grid=places, interpolation_mode=0,
                                               padding_mode=0, align_corners=False, output_mask=mask)
    _, mean, rstd = torch.ops.aten.native_group_norm(image, t(4), None, 2, 4, 56, 2, 1e-5)
    for weight, mask in ((t(4), [True, True, True]), (None, [True, False, False])):
        yield "native_group_norm_backward", dict(grad_out=gi, input=image, mean=mean, rstd=rstd, weight=weight, N=2, C=4, HxW=56,
                                                 group=2, output_mask=mask)
    for name in ("reflection_pad2d_backward", "replication_pad2d_backward"):
        yield name, dict(grad_output=t(2, 4, 10, 11), self=image, padding=[1, 2, 3, 0])
    # torch 1.13 has no such calls: their results are by autograd.
    q, k, v = t(2, 2, 5, 4), t(2, 2, 6, 4), t(2, 2, 6, 3)
    for causal, mask in ((False, None), (True, None), (False, t(2, 1, 5, 6))):
        y, back = attention_gradients(q, k, v, causal, mask)
        yield "_scaled_dot_product_flash_attention_for_cpu_backward", dict(
            grad_out=y, query=q, key=k, value=v, out=y, logsumexp=t(2, 2, 5), dropout_p=0.0, is_causal=causal, attn_mask=mask,
            scale=None), back[:3]
    y, back = attention_gradients(q, k, v, False, mask)
    yield "_scaled_dot_product_efficient_attention_backward", dict(
        grad_out_=y, query=q, key=k, value=v, attn_bias=mask, out=y, logsumexp=t(2, 2, 5), philox_seed=ints(1), philox_offset=ints(1),
        dropout_p=0.0, grad_input_mask=[True, True, True, True], is_causal=False), back
    y, back = attention_gradients(x[None], x[None], x[None], False, None)
    yield "_scaled_dot_product_flash_attention_backward", dict(
        grad_out=y, query=x[None], key=x[None], value=x[None], out=y, logsumexp=t(1, 2, 3), cum_seq_q=None, cum_seq_k=None, max_q=3,
        max_k=3, dropout_p=0.0, is_causal=False, philox_seed=ints(1), philox_offset=ints(1)), back[:3]


def attention_gradients(query, key, value, causal, mask):
    """A gradient of the result of an attention, and the gradients of its operands."""
    operands = [None if o is None else o.clone().requires_grad_() for o in (query, key, value, mask)]
    with torch.enable_grad():
        scores = operands[0] @ operands[1].transpose(-1, -2) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores + operands[3]
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:]).tril() == 0, -math.inf)
        y = torch.softmax(scores, -1) @ operands[2]
        gradient = t(*y.shape)
        y.backward(gradient)
    return gradient, [o.grad for o in operands if o is not None]


def number(value):
    value = float(value)
    return value if math.isfinite(value) else str(value)


def tensor(value):
    flat = value.detach().reshape(-1).tolist()
    if value.dtype.is_floating_point:
        flat = [number(f"{v:.9g}") if value.dtype != torch.float64 else number(v) for v in flat]
    else:
        flat = [int(v) for v in flat]
    return {"dtype": str(value.dtype)[6:], "shape": list(value.shape), "values": flat}


def argument(value):
    if isinstance(value, torch.Tensor):
        return {"tensor": tensor(value)}
    if isinstance(value, torch.dtype):
        return str(value)[6:]
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return {"tensors": [None if v is None else tensor(v) for v in value]}
    if isinstance(value, float):
        return number(value)
    return value


def main():
    out, skipped = [], []
    with torch.no_grad():
        for name, arguments, *known in calls():
            try:  # a call would take "self" for itself
                result = known[0] if known else getattr(torch.ops.aten, name)._op(**arguments)
            except Exception as error:  # an op or an overload that this version lacks
                skipped.append(f"{name}: {str(error).splitlines()[0]}")
                continue
            results = list(result) if isinstance(result, (list, tuple)) else [result]
            results = [r for r in results if r is not None]  # those that the mask leaves out
            out.append({"op": f"aten::{name}", "arguments": {k: argument(v) for k, v in arguments.items()},
                        "results": [tensor(r) for r in results]})
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write("[\n" + ",\n".join(json.dumps(call, separators=(",", ":")) for call in out) + "\n]\n")
    for line in skipped:
        print("skipped:", line, file=sys.stderr)
    print(f"{len(out)} calls of {len({c['op'] for c in out})} ops, torch {torch.__version__}", file=sys.stderr)


if __name__ == "__main__":
    main()
