#include "formats/pytorch/python_helpers.h"

namespace twb::pytorch {

void addSequenceHelpers(std::vector<PythonHelper>& table) {
    table.push_back({"recurrent", R"py(
def recurrent(x, w, r, b, lengths, states, direction, batch_first, cell):
    """Runs a cell along time, in one direction or both; finished sequences keep their states."""
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
)py"});
    table.push_back({"rnn",
                     R"py(
def rnn(x, w, r, b, lengths, h, direction, batch_first):
    def cell(x, state, w, r, b):
        wb, rb = b.chunk(2)
        return [torch.tanh(F.linear(x, w, wb) + F.linear(state[0], r, rb))]

    return recurrent(x, w, r, b, lengths, [h], direction, batch_first, cell)
)py",
                     {"recurrent"}});
    table.push_back({"gru",
                     R"py(
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
)py",
                     {"recurrent"}});
    table.push_back({"lstm",
                     R"py(
def lstm(x, w, r, b, lengths, h, c, direction, batch_first):
    def cell(x, state, w, r, b):
        (h, c), (wb, rb) = state, b.chunk(2)
        i, o, f, g = (F.linear(x, w, wb) + F.linear(h, r, rb)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return [torch.sigmoid(o) * torch.tanh(c), c]

    return recurrent(x, w, r, b, lengths, [h, c], direction, batch_first, cell)
)py",
                     {"recurrent"}});
    table.push_back({"attention", R"py(
def attention(q, k, v, mask, past_k, past_v, is_causal, q_heads, kv_heads, scale, softcap, mode):
    """softmax(q k' + mask) v over heads; past keys and values come before."""
    is_flat = q.dim() == 3
    if is_flat:
        q, k, v = (x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)
                   for x, heads in ((q, q_heads), (k, kv_heads), (v, kv_heads)))
    if past_k is not None:
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
    present_k, present_v = k, v
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    root = math.sqrt(scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
    scores = (q * root) @ (k * root).transpose(-1, -2)
    seen = [scores]
    bias = torch.zeros(q.shape[-2], k.shape[-2], dtype=q.dtype, device=q.device)
    if is_causal:
        bias = bias.masked_fill(~torch.ones_like(bias, dtype=torch.bool).tril(k.shape[-2] - q.shape[-2] if past_k is not None else 0), float("-inf"))
    if mask is not None:
        given = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else mask
        if given.shape[-1] < bias.shape[-1]:
            given = F.pad(given, [0, bias.shape[-1] - given.shape[-1]], value=float("-inf"))
        bias = bias + given
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    seen.append(scores)
    masked = scores + bias
    seen.append(masked)
    weights = torch.softmax(masked, -1).masked_fill(masked.amax(-1, keepdim=True) == float("-inf"), 0)
    seen.append(weights)
    y = weights @ v
    if is_flat:
        y = y.transpose(1, 2).flatten(2)
    return y, present_k, present_v, seen[mode]
)py"});
    table.push_back({"rotary_embedding", R"py(
def rotary_embedding(x, cos, sin, positions, interleaved, heads, dims):
    """Turns pairs of features by their position's angles."""
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
)py"});
    table.push_back({"dft", R"py(
def dft(x, n, axis, inverse, onesided, is_complex):
    """The discrete Fourier transform; the last axis holds real and imaginary parts."""
    n = x.shape[axis] if n is None else int(n)
    wide = x if x.dtype == torch.float64 else x.float()
    wide = torch.view_as_complex(wide.contiguous()) if is_complex else wide[..., 0]
    y = torch.fft.ifft(wide, n, axis) if inverse else torch.fft.fft(wide, n, axis)
    return torch.view_as_real((y.narrow(axis, 0, n // 2 + 1) if onesided else y).resolve_conj()).type(x.dtype)
)py"});
    table.push_back({"stft", R"py(
def stft(signal, step, window, length, onesided):
    """Fourier transforms of frames of a signal, each faded by the window."""
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
)py"});
    table.push_back({"adagrad", R"py(
def adagrad(r, t, tensors, norm_coefficient, decay_factor, epsilon):
    """Steps by gradients over the root of their squares so far."""
    n = len(tensors) // 3
    xs, hs = [], []
    for x, g, h in zip(tensors[:n], tensors[n:2 * n], tensors[2 * n:]):
        g = norm_coefficient * x + g
        h = h + g * g
        xs.append(x - r / (1 + t * decay_factor) * g / (torch.sqrt(h) + epsilon))
        hs.append(h)
    return (*xs, *hs)
)py"});
    table.push_back({"adam", R"py(
def adam(r, t, tensors, norm_coefficient, alpha, beta, epsilon, norm_coefficient_post):
    """Steps by running means of gradients over the root of those of their squares."""
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
)py"});
    table.push_back({"momentum", R"py(
def momentum(r, t, tensors, norm_coefficient, alpha, beta, mode):
    """Steps by a running sum of gradients."""
    n = len(tensors) // 3
    xs, vs = [], []
    for x, g, v in zip(tensors[:n], tensors[n:2 * n], tensors[2 * n:]):
        g = norm_coefficient * x + g
        v = alpha * v + (beta if t > 0 else 1) * g
        xs.append(x - r * (g + alpha * v) if mode == "nesterov" else x - r * v)
        vs.append(v)
    return (*xs, *vs)
)py"});
}

} // namespace twb::pytorch
