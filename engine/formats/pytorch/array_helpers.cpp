#include "formats/pytorch/python_helpers.h"

namespace twb::pytorch {

void addArrayHelpers(std::vector<PythonHelper>& table) {
    table.push_back({"reshape", R"py(
def reshape(x, shape, allow_zero):
    """A size of 0 is that of x, unless zeros are allowed."""
    return x.reshape([x.shape[i] if n == 0 and not allow_zero else n for i, n in enumerate(shape)])
)py"});
    table.push_back({"arange", R"py(
def arange(start, limit, delta, **options):
    """torch.arange, and no elements where delta leads away from the limit."""
    return torch.arange(start, limit if (limit - start) * delta > 0 else start, delta, **options)
)py"});
    table.push_back({"split_evenly", R"py(
def split_evenly(x, count, axis):
    """As many parts of one size as fit, then a smaller one, then empty ones."""
    n = x.shape[axis]
    size = -(-n // count)
    ends = [min(i * size, n) for i in range(count + 1)]
    return torch.split(x, [end - start for start, end in zip(ends, ends[1:])], axis)
)py"});
    table.push_back({"exclusive_cumsum", R"py(
def exclusive_cumsum(x, axis, dtype):
    """The sum of the elements before each one."""
    n = x.shape[axis] if x.dim() else 1
    if x.dim() == 0 or n == 0:
        return torch.zeros_like(x, dtype=dtype)
    before = torch.cat([torch.zeros_like(x.narrow(axis, 0, 1)), x.narrow(axis, 0, n - 1)], axis)
    return torch.cumsum(before, axis, dtype=dtype)
)py"});
    table.push_back({"top_k", R"py(
def top_k(x, k, axis, largest):
    """torch.topk, where the first of equal elements comes first."""
    values, indices = torch.sort(x, dim=axis, descending=largest, stable=True)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)
)py"});
    table.push_back({"extreme", R"py(
def extreme(x, function, otherwise, dims, keepdim):
    """torch.amax or torch.amin, and another value where there are no elements."""
    if x.numel():
        return function(x, dims, keepdim)
    return torch.full_like(torch.sum(x, dims, keepdim, dtype=x.dtype), otherwise)
)py"});
    table.push_back({"hardmax", R"py(
def hardmax(x, axis):
    """1 at the first of the largest elements along an axis, else 0."""
    return torch.zeros_like(x).scatter(axis, x.argmax(axis, keepdim=True), 1) if x.numel() else x
)py"});
    table.push_back({"sliced", R"py(
def sliced(x, starts, ends, axes, steps):
    """Slices along axes; steps may be negative, which x[a:b:c] does not take."""
    for i, (start, end) in enumerate(zip(starts, ends)):
        axis = axes[i] if axes else i
        step = steps[i] if steps else 1
        n = x.shape[axis]
        x = x.index_select(axis, torch.tensor(list(range(*slice(start, end, step).indices(n))), dtype=torch.int64,
                                              device=x.device))
    return x
)py"});
    table.push_back({"padded", R"py(
def padded(x, pads, mode, value, axes):
    """Pads the given axes, or all; negative pads cut."""
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
)py"});
    table.push_back({"center_crop_pad", R"py(
def center_crop_pad(x, shape, axes):
    """Cuts or pads both ends alike until the axes have these sizes."""
    axes = list(range(x.dim())) if axes is None else [axis % x.dim() for axis in axes]
    for axis, size in zip(axes, shape):
        n = x.shape[axis]
        if n >= size:
            x = x.narrow(axis, (n - size) // 2, size)
        else:
            before = (size - n) // 2
            x = F.pad(x, [0, 0] * (x.dim() - 1 - axis) + [before, size - n - before])
    return x
)py"});
    table.push_back({"eye_like", R"py(
def eye_like(x, k, dtype):
    """Ones on the k-th diagonal of a matrix of x's size."""
    return torch.diag(torch.ones(max(x.shape) + abs(k), device=x.device), k)[:x.shape[0], :x.shape[1]].type(dtype)
)py"});
    table.push_back({"depth_to_space", R"py(
def depth_to_space(x, block):
    """Channels to blocks of pixels, the blocks' places in the outer part of the channels."""
    n, c, h, w = x.shape
    x = x.reshape(n, block, block, c // block ** 2, h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // block ** 2, h * block, w * block)
)py"});
    table.push_back({"space_to_depth", R"py(
def space_to_depth(x, block):
    """Blocks of pixels to channels: the reverse of depth_to_space."""
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // block, block, w // block, block).permute(0, 3, 5, 1, 2, 4)
    return x.reshape(n, c * block ** 2, h // block, w // block)
)py"});
    table.push_back({"from_start", R"py(
def from_start(indices, size):
    """Indices that count from the end, as PyTorch's gather and scatter want them."""
    return torch.where(indices < 0, indices + size, indices).long()
)py"});
    table.push_back({"gather_nd", R"py(
def gather_nd(x, indices, batch_dims):
    """The last axis of the indices says where in x, behind the batch axes, each slice is."""
    indices = indices.long()
    batch = x.shape[:batch_dims]
    flat = x.reshape(math.prod(batch), *x.shape[batch_dims:])
    places = indices.reshape(math.prod(batch), -1, indices.shape[-1])
    first = torch.arange(flat.shape[0], device=x.device).unsqueeze(1)
    taken = flat[(first, *places.unbind(-1))]
    return taken.reshape(*indices.shape[:-1], *x.shape[batch_dims + indices.shape[-1]:])
)py"});
    table.push_back({"scatter_nd", R"py(
def scatter_nd(x, indices, updates, reduce):
    """A copy of x with slices replaced, or reduced with what is there."""
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
)py"});
    table.push_back({"one_hot", R"py(
def one_hot(indices, depth, values, axis):
    """values[1] where the new axis counts to the index, else values[0]."""
    count = torch.arange(int(depth), device=indices.device)
    axis = axis % (indices.dim() + 1)
    count = count.reshape([-1] + [1] * (indices.dim() - axis))
    on = (indices % int(depth)).unsqueeze(axis) == count
    inside = ((indices >= -depth) & (indices < depth)).unsqueeze(axis)
    return torch.where(on & inside, values[1], values[0])
)py"});
    table.push_back({"unique", R"py(
def unique(x, axis, is_sorted):
    """Values or slices once each, where they come first, which of them each is, how often they come."""
    values, inverse, counts = torch.unique(x, sorted=True, return_inverse=True, return_counts=True, dim=axis)
    inverse = inverse.flatten()
    n = inverse.numel()
    first = torch.full_like(counts, n).scatter_reduce(0, inverse, torch.arange(n, device=x.device), "amin")
    if not is_sorted:
        order = first.argsort()
        values = values.index_select(axis or 0, order)
        first, counts, inverse = first[order], counts[order], order.argsort()[inverse]
    return values, first, inverse, counts
)py"});
    table.push_back({"reverse_sequence", R"py(
def reverse_sequence(x, lengths, batch_axis, time_axis):
    """Turns round the first steps of each sequence, as many as its length says."""
    x = x.movedim((time_axis, batch_axis), (0, 1))
    steps = torch.arange(x.shape[0], device=x.device).unsqueeze(1)
    order = torch.where(steps < lengths, lengths - 1 - steps, steps)
    batch = torch.arange(x.shape[1], device=x.device)
    return x[order, batch].movedim((0, 1), (time_axis, batch_axis))
)py"});
}

} // namespace twb::pytorch
