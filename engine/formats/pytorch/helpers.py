"""Helper functions for exported modules: ONNX ops that have no equivalent function in PyTorch.

The exporter copies the functions that a module calls, with the functions and constants that they use, and adds
the imports. Definitions are separated by two empty lines; a module's own code can use every name defined here.
"""

import json
import math
import pathlib

import numpy
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent


DEVICES = {}  # from --device-map: "cuda:0" -> "cpu"


def device(name):
    """The torch device for a device name in this run."""
    if name == "auto":
        name = "cuda:0" if torch.cuda.is_available() else "cpu"
    return torch.device(DEVICES.get(name, name))


def pinned(tensor):
    """The tensor in page-locked memory if there is a GPU; otherwise unchanged."""
    return tensor.pin_memory() if torch.cuda.is_available() else tensor


def arrived(tensor):
    """Waits for a non-blocking copy to the host, which must not be read earlier."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return tensor


def load(path, where):
    """Loads a tensor from a .npy or .npz file, with a path relative to this file, onto a device."""
    file, _, name = path.partition("#")
    array = numpy.load(HERE / file)
    if file.endswith(".npz"):
        array = array[name or array.files[0]]
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("="))).to(device(where))


SAFETENSORS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
               "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
               "BOOL": torch.bool,
               **{name: getattr(torch, dtype) for name, dtype in
                  {"F8_E4M3": "float8_e4m3fn", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2": "float8_e5m2",
                   "F8_E5M2FNUZ": "float8_e5m2fnuz"}.items() if hasattr(torch, dtype)}}  # since PyTorch 2.1


def load_safetensors(path, where):
    """Loads a tensor from a .safetensors file (a length, a JSON header, then the elements) onto a device."""
    path, _, name = path.partition("#")
    with open(HERE / path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        entry = header[name or next(key for key in header if key != "__metadata__")]
        begin, end = entry["data_offsets"]
        file.seek(begin, 1)
        elements = bytearray(file.read(end - begin))
    dtype = SAFETENSORS[entry["dtype"]]
    flat = torch.frombuffer(elements, dtype=dtype) if elements else torch.empty(0, dtype=dtype)
    return flat.reshape(entry["shape"]).to(device(where))


def save(tensor, path):
    """Writes a tensor to a .npy file or into a .npz file, with a path relative to this file; bfloat16 as float32."""
    file, _, name = str(path).partition("#")
    tensor = tensor.cpu()
    array = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    if not name:
        numpy.save(HERE / file, array)
        return
    others = dict(numpy.load(HERE / file)) if (HERE / file).exists() else {}
    numpy.savez(HERE / file, **{**others, name: array})


def show(name, tensor):
    """Prints one output on a line, in the format of the workbench's Probes."""
    values = tensor.double() if tensor.numel() else tensor
    numbers = values[~torch.isnan(values)]
    sizes = "×".join(str(size) for size in tensor.shape) or "scalar"
    seen = "no elements"
    if tensor.numel() == 1:
        seen = f"{values.item():.6g}"
    elif numbers.numel():
        seen = f"min {numbers.min():.6g}  max {numbers.max():.6g}  mean {numbers.mean():.6g}"
    print(f"{name}  {seen}  {str(tensor.dtype).removeprefix('torch.')} {sizes}")


def reshape(x, shape, allow_zero):
    """x.reshape in which a size of 0 copies the size of x, unless zeros are allowed."""
    return x.reshape([x.shape[i] if n == 0 and not allow_zero else n for i, n in enumerate(shape)])


def arange(start, limit, delta, **options):
    """torch.arange, but empty if delta leads away from the limit."""
    return torch.arange(start, limit if (limit - start) * delta > 0 else start, delta, **options)


def split_evenly(x, count, axis):
    """Splits into parts of equal size; the last nonempty part may be smaller, and later parts are empty."""
    n = x.shape[axis]
    size = -(-n // count)
    ends = [min(i * size, n) for i in range(count + 1)]
    return torch.split(x, [end - start for start, end in zip(ends, ends[1:])], axis)


def exclusive(function, first, x, axis, dtype):
    """torch.cumsum or torch.cumprod of the elements before each one; `first` if there are none."""
    n = x.shape[axis] if x.dim() else 1
    start = torch.full_like(x.narrow(axis, 0, 1) if x.dim() and n else x, first, dtype=dtype)
    if x.dim() == 0 or n == 0:
        return start
    return function(torch.cat([start, x.narrow(axis, 0, n - 1).type(dtype)], axis), axis, dtype=dtype)


def top_k(x, k, axis, largest):
    """torch.topk, with equal elements in their original order."""
    values, indices = torch.sort(x, dim=axis, descending=largest, stable=True)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)


def extreme(x, function, otherwise, dims, keepdim):
    """torch.amax or torch.amin, with the value `otherwise` for empty inputs."""
    if x.numel():
        return function(x, dims, keepdim)
    return torch.full_like(torch.sum(x, dims, keepdim, dtype=x.dtype), otherwise)


def hardmax(x, axis):
    """1 at the first largest element along an axis, else 0."""
    return torch.zeros_like(x).scatter(axis, x.argmax(axis, keepdim=True), 1) if x.numel() else x


def sliced(x, starts, ends, axes, steps):
    """Slices along axes; steps may be negative, which x[a:b:c] does not allow."""
    for i, (start, end) in enumerate(zip(starts, ends)):
        axis = axes[i] if axes else i
        step = steps[i] if steps else 1
        n = x.shape[axis]
        x = x.index_select(axis, torch.tensor(list(range(*slice(start, end, step).indices(n))), dtype=torch.int64,
                                              device=x.device))
    return x


def padded(x, pads, mode, value, axes):
    """Pads the given axes, or all axes; negative pads crop."""
    axes = list(range(x.dim())) if axes is None else axes
    for i, axis in enumerate(axes):
        before, after, n = pads[i], pads[len(axes) + i], x.shape[axis]
        place = torch.arange(-before, n + after, device=x.device)
        inside = (place >= 0) & (place < n)
        if mode == "edge":
            place = place.clamp(0, n - 1)
        elif mode == "wrap":
            place = place % n
        elif mode == "reflect":
            period = max(2 * (n - 1), 1)
            place = (place % period).minimum(period - place % period)
        else:
            along = [1] * x.dim()
            along[axis] = -1
            source = x if n else torch.zeros_like(x).new_zeros([1 if a == axis % x.dim() else s for a, s in enumerate(x.shape)])
            x = source.index_select(axis, place.clamp(0, max(n - 1, 0)))
            x = torch.where(inside.reshape(along), x, torch.tensor(value or 0, dtype=x.dtype, device=x.device))
            continue
        x = x.index_select(axis, place)
    return x


def center_crop_pad(x, shape, axes):
    """Crops or pads both ends equally until the axes have these sizes."""
    axes = list(range(x.dim())) if axes is None else [axis % x.dim() for axis in axes]
    for axis, size in zip(axes, shape):
        n = x.shape[axis]
        if n >= size:
            x = x.narrow(axis, (n - size) // 2, size)
        else:
            before = (size - n) // 2
            x = F.pad(x, [0, 0] * (x.dim() - 1 - axis) + [before, size - n - before])
    return x


def eye_like(x, k, dtype):
    """Ones on the k-th diagonal of a matrix of x's size."""
    return torch.diag(torch.ones(max(x.shape) + abs(k), device=x.device), k)[:x.shape[0], :x.shape[1]].type(dtype)


def depth_to_space(x, block):
    """Moves channels to blocks of pixels; the position within a block is the outer part of the channel index."""
    n, c, h, w = x.shape
    x = x.reshape(n, block, block, c // block ** 2, h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // block ** 2, h * block, w * block)


def space_to_depth(x, block):
    """Moves blocks of pixels to channels: the inverse of depth_to_space."""
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // block, block, w // block, block).permute(0, 3, 5, 1, 2, 4)
    return x.reshape(n, c * block ** 2, h // block, w // block)


def tensor_scatter(cache, update, starts, axis, wraps):
    """Writes rows into a cache along an axis, from an index per batch entry on; `wraps` continues at the start."""
    shape = [1] * cache.dim()
    shape[axis] = update.shape[axis]
    at = torch.arange(update.shape[axis], device=cache.device).reshape(shape)
    if starts is not None:
        at = at + starts.reshape([-1] + [1] * (cache.dim() - 1))
    return cache.scatter(axis, (at % cache.shape[axis] if wraps else at).expand(update.shape), update)


def from_start(indices, size):
    """Replaces negative indices, which PyTorch's gather and scatter do not accept."""
    return torch.where(indices < 0, indices + size, indices).long()


def gather_nd(x, indices, batch_dims):
    """Gathers slices of x: the last axis of `indices` holds each slice's indices after the batch axes."""
    indices = indices.long()
    batch = x.shape[:batch_dims]
    flat = x.reshape(math.prod(batch), *x.shape[batch_dims:])
    places = indices.reshape(math.prod(batch), -1, indices.shape[-1])
    first = torch.arange(flat.shape[0], device=x.device).unsqueeze(1)
    taken = flat[(first, *places.unbind(-1))]
    return taken.reshape(*indices.shape[:-1], *x.shape[batch_dims + indices.shape[-1]:])


def scatter_nd(x, indices, updates, reduce):
    """A copy of x with slices replaced, or combined with the old slices by `reduce`."""
    depth = indices.shape[-1]
    shape = x.shape[:depth]
    steps = [math.prod(shape[i + 1:]) for i in range(depth)]
    rows = sum(torch.where(place < 0, place + size, place) * step
               for place, size, step in zip(indices.unbind(-1), shape, steps)).flatten()
    flat = x.reshape(math.prod(shape), math.prod(x.shape[depth:]))
    updates = updates.reshape(rows.numel(), flat.shape[1])
    if reduce is None:
        return flat.index_copy(0, rows, updates).reshape(x.shape)
    rows = rows.unsqueeze(1).expand_as(updates)
    return flat.scatter_reduce(0, rows, updates, reduce).reshape(x.shape)


def one_hot(indices, depth, values, axis):
    """values[1] where the position along the new axis equals the index, else values[0]."""
    count = torch.arange(int(depth), device=indices.device)
    axis = axis % (indices.dim() + 1)
    count = count.reshape([-1] + [1] * (indices.dim() - axis))
    on = (indices % int(depth)).unsqueeze(axis) == count
    inside = ((indices >= -depth) & (indices < depth)).unsqueeze(axis)
    return torch.where(on & inside, values[1], values[0])


def unique(x, axis, is_sorted):
    """The unique values or slices, their first occurrences, the inverse indices and the counts."""
    values, inverse, counts = torch.unique(x, sorted=True, return_inverse=True, return_counts=True, dim=axis)
    inverse = inverse.flatten()
    n = inverse.numel()
    first = torch.full_like(counts, n).scatter_reduce(0, inverse, torch.arange(n, device=x.device), "amin")
    if not is_sorted:
        order = first.argsort()
        values = values.index_select(axis or 0, order)
        first, counts, inverse = first[order], counts[order], order.argsort()[inverse]
    return values, first, inverse, counts


def reverse_sequence(x, lengths, batch_axis, time_axis):
    """Reverses the beginning of each sequence, up to its length."""
    x = x.movedim((time_axis, batch_axis), (0, 1))
    steps = torch.arange(x.shape[0], device=x.device).unsqueeze(1)
    order = torch.where(steps < lengths, lengths - 1 - steps, steps)
    batch = torch.arange(x.shape[1], device=x.device)
    return x[order, batch].movedim((0, 1), (time_axis, batch_axis))


def over_all_planes(values, indices, x):
    """Converts PyTorch's pooling indices within a plane to ONNX's indices within the whole tensor."""
    planes = x.shape[0] * x.shape[1]
    first = torch.arange(planes, device=x.device) * math.prod(x.shape[2:])
    return values, indices + first.reshape(x.shape[0], x.shape[1], *[1] * (x.dim() - 2))


def window_sums(x, kernel, stride, dilation, pads):
    """The sum over each window, computed as a convolution with ones, for any padding and dilation."""
    convolution = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(kernel)]
    ones = torch.ones(x.shape[1], 1, *kernel, dtype=x.dtype, device=x.device)
    return convolution(F.pad(x, pads), ones, stride=stride, dilation=dilation, groups=x.shape[1])


def batch_norm_training(x, scale, bias, mean, var, eps, momentum):
    """Normalises by the batch's mean and variance, and updates the running mean and variance."""
    dims = [0, *range(2, x.dim())]
    now_mean, now_var = x.mean(dims), x.var(dims, unbiased=False)
    y = F.batch_norm(x, now_mean, now_var, scale, bias, eps=eps)
    return y, mean * momentum + now_mean * (1 - momentum), var * momentum + now_var * (1 - momentum)


def layer_norm(x, scale, bias, axis, eps, dtype):
    """F.layer_norm, with the mean and the inverse standard deviation in another dtype."""
    dims = list(range(axis, x.dim()))
    wide = x if x.dtype == torch.float64 else x.float()
    mean = wide.mean(dims, True)
    inverse = torch.rsqrt(wide.var(dims, unbiased=False, keepdim=True) + eps)
    y = ((wide - mean) * inverse).type(x.dtype)
    y = y if scale is None else y * scale
    return y if bias is None else y + bias, mean.type(dtype), inverse.type(dtype)


def quantized(x, scale, zero, axis, dtype):
    """round(x / scale) + zero, with halves to even and saturation; scale and zero may vary along an axis."""
    along = [1] * x.dim()
    if scale.numel() > 1:
        along[axis] = -1
    steps = torch.round(x / scale.reshape(along) if x.dim() else x / scale.reshape(()))
    if zero is not None:
        steps = steps + (zero.reshape(along) if x.dim() else zero.reshape(()))
    info = torch.iinfo(dtype)
    return steps.clamp(info.min, info.max).type(dtype)


def dequantized(x, scale, zero, axis):
    """(x - zero) * scale; scale and zero may vary along an axis."""
    along = [1] * x.dim()
    if scale.numel() > 1:
        along[axis] = -1
    steps = x.type(scale.dtype)
    if zero is not None:
        steps = steps - zero.type(scale.dtype).reshape(along)
    return steps * scale.reshape(along)


def dynamically_quantized(x):
    """Quantizes to 8 bits, with the scale and zero point from the range of x and 0."""
    seen = F.pad(x.flatten(), [0, 1])  # and 0
    low, high = seen.min(), seen.max()
    scale = (high - low) / 255
    zero = torch.round(-low / scale).clamp(0, 255)
    return torch.clamp(torch.round(x / scale) + zero, 0, 255).type(torch.uint8), scale, zero.type(torch.uint8)


def requantized(product, scale, zero, dtype):
    """A product of integers, converted to the scale of the result, with halves rounded to even."""
    info = torch.iinfo(dtype)
    return (torch.round(product * scale) + zero.double()).clamp(info.min, info.max).type(dtype)


def recurrent(x, w, r, b, lengths, states, direction, batch_first, cell):
    """Runs a cell over the steps in one or both directions; sequences that have ended keep their states."""
    if batch_first:
        x = x.transpose(0, 1)
        states = [s if s is None else s.transpose(0, 1) for s in states]
    steps, batch, hidden = x.shape[0], x.shape[1], r.shape[-1]
    results, finals = [], []
    for d in range(w.shape[0]):
        bias = b[d] if b is not None else torch.zeros(2 * w.shape[1], dtype=x.dtype, device=x.device)
        state = [s[d] if s is not None else torch.zeros(batch, hidden, dtype=x.dtype, device=x.device) for s in states]
        backwards = direction == "reverse" or d == 1
        outputs = [None] * steps
        for t in reversed(range(steps)) if backwards else range(steps):
            now = cell(x[t], state, w[d], r[d], bias)
            if lengths is None:
                state, outputs[t] = now, now[0]
            else:
                runs = (t < lengths).unsqueeze(1)
                state = [torch.where(runs, new, old) for new, old in zip(now, state)]
                outputs[t] = torch.where(runs, now[0], torch.zeros_like(now[0]))
        results.append(torch.stack(outputs) if steps else x.new_zeros(0, batch, hidden))
        finals.append(state)
    y = torch.stack(results, 1)
    finals = [torch.stack(one) for one in zip(*finals)]
    if batch_first:
        return (y.permute(2, 0, 1, 3), *(one.transpose(0, 1) for one in finals))
    return (y, *finals)


def rnn(x, w, r, b, lengths, h, direction, batch_first):
    def cell(x, state, w, r, b):
        wb, rb = b.chunk(2)
        return [torch.tanh(F.linear(x, w, wb) + F.linear(state[0], r, rb))]

    return recurrent(x, w, r, b, lengths, [h], direction, batch_first, cell)


def gru(x, w, r, b, lengths, h, linear_before_reset, direction, batch_first):
    def cell(x, state, w, r, b):
        (h,), (wb, rb) = state, b.chunk(2)
        xz, xr, xh = F.linear(x, w, wb).chunk(3, 1)
        rz, rr, rh = r.chunk(3)
        bz, br, bh = rb.chunk(3)
        update = torch.sigmoid(xz + F.linear(h, rz, bz))
        reset = torch.sigmoid(xr + F.linear(h, rr, br))
        inner = reset * F.linear(h, rh, bh) if linear_before_reset else F.linear(reset * h, rh, bh)
        return [(1 - update) * torch.tanh(xh + inner) + update * h]

    return recurrent(x, w, r, b, lengths, [h], direction, batch_first, cell)


def lstm(x, w, r, b, lengths, h, c, direction, batch_first):
    def cell(x, state, w, r, b):
        (h, c), (wb, rb) = state, b.chunk(2)
        i, o, f, g = (F.linear(x, w, wb) + F.linear(h, r, rb)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return [torch.sigmoid(o) * torch.tanh(c), c]

    return recurrent(x, w, r, b, lengths, [h, c], direction, batch_first, cell)


def attention(q, k, v, mask, past_k, past_v, is_causal, q_heads, kv_heads, scale, softcap, mode, filled=None, left=None,
              right=None):
    """softmax(q k' + mask) v for each head; past keys and values precede the new ones. Of the keys of a batch entry, the
    first ones are in use, as many as `filled` says. A query sees `left` keys before its own one and `right` after it."""
    is_flat = q.dim() == 3
    if is_flat:
        q, k, v = (x.reshape(x.shape[0], x.shape[1], heads, x.shape[2] // heads).transpose(1, 2)
                   for x, heads in ((q, q_heads), (k, kv_heads), (v, kv_heads)))
    if past_k is not None:
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
    present_k, present_v = k, v
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    root = math.sqrt(scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
    scores = (q * root) @ (k * root).transpose(-1, -2)
    seen = [scores]
    keys = torch.arange(k.shape[-2], device=q.device)
    own = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)  # the place of a query among the keys
    hidden = torch.zeros(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device)
    if filled is not None:
        used = filled.reshape(-1, 1, 1, 1)
        own = own + used - q.shape[-2]
        hidden = hidden | (keys >= used)
    elif past_k is not None:
        own = own + past_k.shape[2]
    if is_causal:
        hidden = hidden | (keys > own)
    if left is not None:
        hidden = hidden | (keys < own - left)
    if right is not None:
        hidden = hidden | (keys > own + right)
    bias = torch.zeros(hidden.shape, dtype=q.dtype, device=q.device)
    if mask is not None:
        given = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else mask
        if given.shape[-1] < bias.shape[-1]:
            given = F.pad(given, [0, bias.shape[-1] - given.shape[-1]], value=float("-inf"))
        bias = bias + given
    bias = bias.masked_fill(hidden, float("-inf"))
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    seen.append(scores)
    masked = scores + bias
    seen.append(masked)
    sees_none = torch.isneginf(bias).all(-1, keepdim=True) | torch.isneginf(masked).all(-1, keepdim=True)
    weights = torch.softmax(masked, -1).masked_fill(sees_none, 0)
    seen.append(weights)
    y = weights @ v
    if is_flat:
        y = y.transpose(1, 2).flatten(2)
    return y, present_k, present_v, seen[mode]


def linear_attention(q, k, v, past, decay, beta, q_heads, kv_heads, rule, scale):
    """Attention through a state of each head, a matrix that maps keys to values and that each step changes."""
    batch, steps = q.shape[:2]
    dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    heads = q.to(dtype).reshape(batch, steps, kv_heads, q_heads // kv_heads, q.shape[2] // q_heads)
    heads = heads * (scale or 1 / math.sqrt(heads.shape[-1]))
    keys = k.to(dtype).reshape(batch, steps, kv_heads, k.shape[2] // kv_heads, 1)
    values = v.to(dtype).reshape(batch, steps, kv_heads, 1, v.shape[2] // kv_heads)
    shape = [batch, kv_heads, keys.shape[3], values.shape[4]]
    state = torch.zeros(shape, dtype=dtype, device=q.device) if past is None else past.to(dtype)
    if "gated" in rule:
        decays = torch.exp(decay.to(dtype)).reshape(batch, steps, kv_heads, decay.shape[2] // kv_heads, 1)
    if "delta" in rule:
        betas = beta.to(dtype).reshape(batch, steps, beta.shape[2], 1, 1)
    outputs = []
    for t in range(steps):
        if "gated" in rule:
            state = state * decays[:, t]
        change = values[:, t]
        if "delta" in rule:
            change = betas[:, t] * (change - (state * keys[:, t]).sum(2, keepdim=True))
        state = state + keys[:, t] * change
        outputs.append((heads[:, t] @ state).reshape(batch, q_heads * shape[3]))
    y = torch.stack(outputs, 1) if outputs else q.new_zeros(batch, 0, q_heads * shape[3])
    return y.to(q.dtype), state.to(q.dtype if past is None else past.dtype)


def causal_conv(x, weight, bias, past, is_swish):
    """Convolves each channel over past positions; also the positions that precede the next step."""
    before = weight.shape[2] - 1
    padded = F.pad(x, [before, 0]) if past is None else torch.cat([past, x], 2)
    y = F.conv1d(padded, weight, bias, groups=x.shape[1]) if x.numel() else x
    return F.silu(y) if is_swish else y, padded[..., x.shape[2]:]


def rotary_embedding(x, cos, sin, positions, interleaved, heads, dims):
    """Rotates pairs of features by the angles of their positions."""
    is_flat = x.dim() == 3
    y = x.reshape(x.shape[0], x.shape[1], heads, -1) if is_flat else x.transpose(1, 2)
    dims = dims or y.shape[-1]
    turned, rest = y[..., :dims], y[..., dims:]
    if positions is not None:
        cos, sin = cos[positions], sin[positions]
    cos, sin = cos[..., :dims // 2].unsqueeze(2), sin[..., :dims // 2].unsqueeze(2)
    a, b = (turned[..., 0::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    real, imaginary = cos * a - sin * b, sin * a + cos * b
    turned = torch.stack([real, imaginary], -1).flatten(-2) if interleaved else torch.cat([real, imaginary], -1)
    y = torch.cat([turned, rest], -1)
    return y.reshape(x.shape) if is_flat else y.transpose(1, 2)


def dft(x, n, axis, inverse, onesided, is_complex):
    """The discrete Fourier transform; the last axis holds real and imaginary parts."""
    is_real = inverse and onesided  # of the first half of a spectrum
    if n is None:
        n = 2 * (x.shape[axis] - 1) if is_real else x.shape[axis]
    n = int(n)
    wide = x if x.dtype == torch.float64 else x.float()
    wide = torch.view_as_complex(wide.contiguous()) if is_complex else wide[..., 0]
    if is_real:
        return torch.fft.irfft(wide, n, axis).unsqueeze(-1).type(x.dtype)
    y = torch.fft.ifft(wide, n, axis) if inverse else torch.fft.fft(wide, n, axis)
    return torch.view_as_real((y.narrow(axis, 0, n // 2 + 1) if onesided else y).resolve_conj()).type(x.dtype)


def stft(signal, step, window, length, onesided):
    """The short-time Fourier transform: one transform per frame, which is multiplied by the window first."""
    length = int(length if length is not None else window.numel())
    dtype = signal.dtype
    if dtype != torch.float64:
        signal = signal.float()
    if signal.dim() == 3:
        signal = torch.view_as_complex(signal.contiguous()) if signal.shape[2] == 2 else signal[..., 0]
    frames = signal.unfold(1, length, int(step))
    if window is not None:
        frames = frames * window
    y = torch.fft.fft(frames)
    return torch.view_as_real(y[..., :length // 2 + 1] if onesided else y).type(dtype)


def adagrad(r, t, tensors, norm_coefficient, decay_factor, epsilon):
    """One Adagrad step; returns the new tensors and the new sums of squared gradients."""
    n = len(tensors) // 3
    xs, hs = [], []
    for x, g, h in zip(tensors[:n], tensors[n:2 * n], tensors[2 * n:]):
        g = norm_coefficient * x + g
        h = h + g * g
        xs.append(x - r / (1 + t * decay_factor) * g / (torch.sqrt(h) + epsilon))
        hs.append(h)
    return (*xs, *hs)


def adam(r, t, tensors, norm_coefficient, alpha, beta, epsilon, norm_coefficient_post):
    """One Adam step; returns the new tensors and the new means of gradients and of squared gradients."""
    n = len(tensors) // 4
    xs, vs, hs = [], [], []
    for x, g, v, h in zip(tensors[:n], tensors[n:2 * n], tensors[2 * n:3 * n], tensors[3 * n:]):
        g = norm_coefficient * x + g
        v = alpha * v + (1 - alpha) * g
        h = beta * h + (1 - beta) * g * g
        rate = r * math.sqrt(1 - beta ** t) / (1 - alpha ** t) if t > 0 else r
        xs.append((1 - norm_coefficient_post) * (x - rate * v / (torch.sqrt(h) + epsilon)))
        vs.append(v)
        hs.append(h)
    return (*xs, *vs, *hs)


def momentum(r, t, tensors, norm_coefficient, alpha, beta, mode):
    """One momentum step; returns the new tensors and the new momenta."""
    n = len(tensors) // 3
    xs, vs = [], []
    for x, g, v in zip(tensors[:n], tensors[n:2 * n], tensors[2 * n:]):
        g = norm_coefficient * x + g
        v = alpha * v + (beta if t > 0 else 1) * g
        xs.append(x - r * (g + alpha * v) if mode == "nesterov" else x - r * v)
        vs.append(v)
    return (*xs, *vs)
