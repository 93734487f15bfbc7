#include "formats/pytorch/python_helpers.h"

namespace twb::pytorch {

void addLayerHelpers(std::vector<PythonHelper>& table) {
    table.push_back({"over_all_planes", R"py(
def over_all_planes(values, indices, x):
    """Indices count in one plane in PyTorch, over the whole tensor in ONNX."""
    planes = x.shape[0] * x.shape[1]
    first = torch.arange(planes, device=x.device) * math.prod(x.shape[2:])
    return values, indices + first.reshape(x.shape[0], x.shape[1], *[1] * (x.dim() - 2))
)py"});
    table.push_back({"window_sums", R"py(
def window_sums(x, kernel, stride, dilation, pads):
    """The sum over each window: a convolution with ones, whatever its padding and dilation."""
    convolution = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(kernel)]
    ones = torch.ones(x.shape[1], 1, *kernel, dtype=x.dtype, device=x.device)
    return convolution(F.pad(x, pads), ones, stride=stride, dilation=dilation, groups=x.shape[1])
)py"});
    table.push_back({"batch_norm_training", R"py(
def batch_norm_training(x, scale, bias, mean, var, eps, momentum):
    """Normalises by the batch's own mean and variance, and moves the running ones towards them."""
    dims = [0, *range(2, x.dim())]
    now_mean, now_var = x.mean(dims), x.var(dims, unbiased=False)
    y = F.batch_norm(x, now_mean, now_var, scale, bias, eps=eps)
    return y, mean * momentum + now_mean * (1 - momentum), var * momentum + now_var * (1 - momentum)
)py"});
    table.push_back({"layer_norm", R"py(
def layer_norm(x, scale, bias, axis, eps, dtype):
    """F.layer_norm with the mean and the inverse deviation that it used, of another dtype."""
    dims = list(range(axis, x.dim()))
    wide = x if x.dtype == torch.float64 else x.float()
    mean = wide.mean(dims, True)
    inverse = torch.rsqrt(wide.var(dims, unbiased=False, keepdim=True) + eps)
    y = ((wide - mean) * inverse).type(x.dtype) * scale
    return y if bias is None else y + bias, mean.type(dtype), inverse.type(dtype)
)py"});
    table.push_back({"quantized", R"py(
def quantized(x, scale, zero, axis, dtype):
    """round(x / scale) + zero, to even, within the dtype's range; scales of their own along an axis."""
    along = [1] * x.dim()
    if scale.numel() > 1:
        along[axis] = -1
    steps = torch.round(x / scale.reshape(along) if x.dim() else x / scale.reshape(()))
    if zero is not None:
        steps = steps + (zero.reshape(along) if x.dim() else zero.reshape(()))
    info = torch.iinfo(dtype)
    return steps.clamp(info.min, info.max).type(dtype)
)py"});
    table.push_back({"dequantized", R"py(
def dequantized(x, scale, zero, axis):
    """(x - zero) * scale; scales of their own along an axis."""
    along = [1] * x.dim()
    if scale.numel() > 1:
        along[axis] = -1
    steps = x.type(scale.dtype)
    if zero is not None:
        steps = steps - zero.type(scale.dtype).reshape(along)
    return steps * scale.reshape(along)
)py"});
    table.push_back({"dynamically_quantized", R"py(
def dynamically_quantized(x):
    """To 8 bits, with a scale and a zero point that fit x and 0."""
    seen = F.pad(x.flatten(), [0, 1])  # and 0
    low, high = seen.min(), seen.max()
    scale = (high - low) / 255
    zero = torch.round(-low / scale).clamp(0, 255)
    return torch.clamp(torch.round(x / scale) + zero, 0, 255).type(torch.uint8), scale, zero.type(torch.uint8)
)py"});
    table.push_back({"requantized", R"py(
def requantized(product, scale, zero, dtype):
    """An integer product at its result's scale, rounded to even."""
    info = torch.iinfo(dtype)
    return (torch.round(product * scale) + zero.double()).clamp(info.min, info.max).type(dtype)
)py"});
}

} // namespace twb::pytorch
