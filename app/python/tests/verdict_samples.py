"""Calls of aten ops with two tensors or more, for the comparison of device verdicts.

A line is an overload and its arguments. A tensor is a letter for its dtype (f float32, i int64, b bool) and its
sizes, one digit each: f34. A number alone, [..] and None are plain arguments; (..) is a list of tensors. A name with
numbers=True takes 0-dimensional tensors in the place of any operand.
"""

import ast
import re

import torch

FLOAT_BINARY = """add.Tensor sub.Tensor mul.Tensor div.Tensor div.Tensor_mode atan2 fmod.Tensor remainder.Tensor pow.Tensor_Tensor maximum minimum fmax
fmin copysign.Tensor hypot nextafter logaddexp logaddexp2 xlogy.Tensor eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor
logical_and logical_or logical_xor floor_divide heaviside igamma igammac special_xlog1py special_zeta rsub.Tensor polar complex""".split()
INTEGER_BINARY = """bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor bitwise_left_shift.Tensor bitwise_right_shift.Tensor gcd lcm""".split()
FLOAT_IN_PLACE = """add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor atan2_ fmod_.Tensor remainder_.Tensor pow_.Tensor copysign_.Tensor hypot_
xlogy_.Tensor eq_.Tensor ne_.Tensor lt_.Tensor le_.Tensor gt_.Tensor ge_.Tensor logical_and_ logical_or_ logical_xor_ floor_divide_.Tensor
heaviside_ igamma_ igammac_ nextafter_""".split()
INTEGER_IN_PLACE = "bitwise_and_.Tensor bitwise_or_.Tensor bitwise_xor_.Tensor bitwise_left_shift_.Tensor bitwise_right_shift_.Tensor gcd_ lcm_".split()

WITH_NUMBERS = """
addcmul f44 f44 f44
addcdiv f44 f44 f44
addcmul_ f44 f44 f44
addcdiv_ f44 f44 f44
lerp.Tensor f44 f44 f44
lerp.Scalar f44 f44 0.5
lerp_.Scalar f44 f44 0.5
where.self b44 f44 f44
clamp.Tensor f44 f44 f44
clamp_min.Tensor f44 f44
clamp_max.Tensor f44 f44
mse_loss f44 f44
smooth_l1_loss f44 f44
huber_loss f44 f44
binary_cross_entropy f44 f44
threshold_backward f44 f44 0
sigmoid_backward f44 f44
tanh_backward f44 f44
silu_backward f44 f44
elu_backward f44 1.0 1.0 1.0 False f44
leaky_relu_backward f44 f44 0.1 False
softplus_backward f44 f44 1 20
hardtanh_backward f44 f44 -1 1
hardsigmoid_backward f44 f44
hardswish_backward f44 f44
mse_loss_backward f f44 f44 1
smooth_l1_loss_backward f f44 f44 1 1.0
logit_backward f44 f44
"""

OTHERS = """
gelu_backward f44 f44
mm f34 f45
bmm f234 f245
addmm f35 f34 f45
addmm f5 f34 f45
addmv f3 f34 f4
addr f34 f3 f4
baddbmm f235 f234 f245
addbmm f35 f234 f245
mv f34 f4
dot f4 f4
vdot f4 f4
addmm_ f35 f34 f45
baddbmm_ f235 f234 f245
addmv_ f3 f34 f4
convolution f1344 f2333 f2 [1,1] [1,1] [1,1] False [0,0] 1
convolution f134 f233 f2 [1] [1] [1] False [0] 1
native_layer_norm f44 [4] f4 f4 0.00001
native_batch_norm f44 f4 f4 f4 f4 True 0.1 0.00001
native_group_norm f244 f4 f4 2 4 4 2 0.00001
embedding f54 i3
embedding_dense_backward f34 i3 5 -1 False
nll_loss_forward f35 i3 f5 1 -100
nll_loss2d_forward f3522 i322 f5 1 -100
gather f44 1 i44
scatter.src f44 1 i44 f44
scatter_.src f44 1 i44 f44
scatter.value f44 1 i44 1
scatter_.value f44 1 i44 1
scatter_add f44 1 i44 f44
scatter_add_ f44 1 i44 f44
scatter_reduce.two f44 1 i44 f44 "sum"
index_select f44 0 i3
index_add f44 0 i3 f34
index_add_ f44 0 i3 f34
index_copy f44 0 i3 f34
index_copy_ f44 0 i3 f34
index_fill.int_Scalar f44 0 i3 1
index_fill_.int_Scalar f44 0 i3 1
take f44 i3
masked_fill.Scalar f44 b44 1
masked_fill_.Scalar f44 b44 1
masked_scatter f44 b44 f44
masked_scatter_ f44 b44 f44
cat (f44,f44)
cat (f44,f44,f44) 1
stack (f44,f44)
bucketize.Tensor f44 f5
searchsorted.Tensor f5 f4
_prelu_kernel f44 f44
linalg_cross f43 f43
_cdist_forward f34 f54 2.0 None
grid_sampler_2d f1344 f1222 0 0 False
grid_sampler_3d f13444 f12223 0 0 False
_softmax_backward_data f44 f44 1
_log_softmax_backward_data f44 f44 1
native_dropout_backward f44 b44 1.0
max_pool2d_with_indices_backward f1322 f1344 [2,2] [2,2] [0,0] [1,1] False i1322
avg_pool2d_backward f1322 f1344 [2,2] [2,2] [0,0] False True None
_adaptive_avg_pool2d_backward f1322 f1344
triangular_solve f44 f44
cholesky_solve f44 f44
ormqr f44 f4 f44
isin.Tensor_Tensor f44 f5
bernoulli.Tensor f44 f44
normal.Tensor_Tensor f44 f44
slice_scatter f44 f14 0 0 1
select_scatter f44 f4 0 0
diagonal_scatter f44 f4
copy_ f44 f44
copy f44 f44
_foreach_add.List (f44,f5) (f44,f5)
_foreach_sub.List (f44,f5) (f44,f5)
_foreach_mul.List (f44,f5) (f44,f5)
_foreach_div.List (f44,f5) (f44,f5)
_foreach_add_.List (f44,f5) (f44,f5)
_foreach_mul_.List (f44,f5) (f44,f5)
_foreach_div_.List (f44,f5) (f44,f5)
_foreach_addcmul.Scalar (f44,f5) (f44,f5) (f44,f5) 1
_foreach_addcdiv.Scalar (f44,f5) (f44,f5) (f44,f5) 1
_foreach_addcmul_.Scalar (f44,f5) (f44,f5) (f44,f5) 1
_foreach_addcdiv_.Scalar (f44,f5) (f44,f5) (f44,f5) 1
_foreach_lerp_.Scalar (f44,f5) (f44,f5) 0.5
index.Tensor f44 (i3)
index.Tensor f44 (i3,i3)
index_put f44 (i3) f34
index_put_ f44 (i3) f34
index_put_ f44 (i3) f
"""

DTYPES = {"f": torch.float32, "i": torch.int64, "b": torch.bool}


class Tensor:
    """A tensor to be made: dtype and shape."""

    def __init__(self, text):
        self.dtype = DTYPES[text[0]]
        self.shape = tuple(int(digit) for digit in text[1:])


def _argument(text):
    if re.fullmatch(r"[fib]\d*", text):
        return Tensor(text)
    if text.startswith("("):
        return [Tensor(part) for part in text[1:-1].split(",")]
    return ast.literal_eval(text)


def _samples():
    for name in FLOAT_BINARY:
        yield name, [Tensor("f44"), Tensor("f44")], True
    for name in INTEGER_BINARY:
        yield name, [Tensor("i44"), Tensor("i44")], True
    for name in FLOAT_IN_PLACE:
        yield name, [Tensor("f44"), Tensor("f44")], True
    for name in INTEGER_IN_PLACE:
        yield name, [Tensor("i44"), Tensor("i44")], True
    for block, numbers in ((WITH_NUMBERS, True), (OTHERS, False)):
        for line in block.strip().splitlines():
            name, *arguments = line.split()
            yield name, [_argument(argument) for argument in arguments], numbers


def samples():
    """(name, overload, arguments, keywords, takes 0-dimensional operands) of each op that this version of torch has."""
    for full, arguments, numbers in _samples():
        name, _, overload = full.partition(".")
        packet = getattr(torch.ops.aten, name, None) if name in dir(torch.ops.aten) or torch._C._dispatch_has_kernel(f"aten::{name}") else None
        function = getattr(packet, overload or "default", None) if packet is not None else None
        if function is None:
            continue
        if full == "div.Tensor_mode":
            yield full, function, arguments, {"rounding_mode": "floor"}, numbers
        elif full.endswith("softmax_backward_data"):
            yield full, function, arguments[:3] + [torch.float32], {}, numbers
        else:
            yield full, function, arguments, {}, numbers
