#include "formats/pytorch/aten_mapping.h"

#include <algorithm>
#include <numeric>

namespace twb::aten {
namespace {

using Ints = Mapping::Ints;

/// Any op that keeps the elements in their order: the result's shape says it all.
void view(Mapping& m) {
    const Value x = m.tensor("self");
    if (x.type.dtype != m.dtype()) Mapping::refuse("it reads the bytes of one dtype as another");
    m.give(m.reshape(x, m.shape()));
}

/// The operand as it is: ops that change only the memory behind it.
void same(Mapping& m) { m.give(m.tensor("self")); }

void expand(Mapping& m) { m.give(m.expand(m.tensor("self"), m.shape())); }

Ints identity(int rank) {
    Ints order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

void permute(Mapping& m) {
    const Value x = m.tensor("self");
    Ints order = m.integers("dims");
    for (auto& axis : order) axis = Mapping::axisOf(axis, x);
    m.give(m.transpose(x, order));
}

void swapped(Mapping& m, const Value& x, int a, int b) {
    Ints order = identity(x.type.shape.rank());
    if (!order.empty()) std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
    m.give(m.transpose(x, order));
}

void transpose(Mapping& m) {
    const Value x = m.tensor("self");
    if (m.has("axis0")) return swapped(m, x, m.axis("axis0", x), m.axis("axis1", x));
    swapped(m, x, m.axis("dim0", x), m.axis("dim1", x));
}

void matrixTranspose(Mapping& m) {
    const Value x = m.tensor("self");
    const int rank = x.type.shape.rank();
    if (rank < 2) return m.give(x);
    swapped(m, x, rank - 2, rank - 1);
}

void reversedAxes(Mapping& m) {
    const Value x = m.tensor("self");
    Ints order = identity(x.type.shape.rank());
    std::reverse(order.begin(), order.end());
    m.give(m.transpose(x, order));
}

void movedim(Mapping& m) {
    const Value x = m.tensor("self");
    const Ints from = m.integers("source");
    const Ints to = m.integers("destination");
    if (from.size() != to.size()) Mapping::refuse("its source and destination have different lengths");
    const auto rank = static_cast<std::size_t>(x.type.shape.rank());
    Ints order(rank, -1);
    std::vector<bool> moved(rank, false);
    for (std::size_t i = 0; i < from.size() && rank > 0; ++i) {
        const int axis = Mapping::axisOf(from[i], x);
        order[static_cast<std::size_t>(Mapping::axisOf(to[i], x))] = axis;
        moved[static_cast<std::size_t>(axis)] = true;
    }
    std::int64_t next = 0;
    for (auto& axis : order) {
        if (axis >= 0) continue;
        while (moved[static_cast<std::size_t>(next)]) ++next;
        axis = next++;
    }
    m.give(m.transpose(x, order));
}

void slice(Mapping& m) {
    const Value x = m.tensor("self");
    const int axis = m.axis("dim", x, 0);
    m.give(m.slice(x, axis, m.integer("start", 0), m.integer("end", kToEnd), m.integer("step", 1)));
}

void narrow(Mapping& m) {
    const Value x = m.tensor("self");
    std::int64_t start = m.integer("start");
    const int axis = m.axis("dim", x);
    if (start < 0) start += x.type.shape[axis];
    m.give(m.slice(x, axis, start, start + m.integer("length")));
}

void select(Mapping& m) {
    const Value x = m.tensor("self");
    const int axis = m.axis("dim", x, 0);
    const std::int64_t index = m.integer("index");
    if (x.type.shape.rank() == 0) Mapping::refuse("it selects from a scalar");
    if (x.type.shape[axis] == 1) return m.give(m.reshape(x, m.shape()));
    m.give(m.make("Gather", {x, m.constant(static_cast<double>(index), DType::i64)},
                  {{"axis", std::int64_t{axis}}}));
}

/// The results are consecutive parts of the operand along an axis.
std::vector<Value> parts(Mapping& m, const Value& x, int axis, const Ints& sizes) {
    if (sizes.size() == 1) return {x};
    return m.makeAll("Split", {x},
                     {{"axis", std::int64_t{axis}},
                      {"split", sizes},
                      {"num_outputs", static_cast<std::int64_t>(sizes.size())}});
}

void split(Mapping& m) {
    const Value x = m.tensor("self");
    const int axis = m.axis("dim", x, 0);
    Ints sizes;
    for (std::size_t i = 0; i < m.resultCount(); ++i) sizes.push_back(m.shape(i)[axis]);
    if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != x.type.shape[axis] || sizes.empty())
        Mapping::refuse("the sizes of its parts do not add up to the size of its operand");
    const std::vector<Value> made = parts(m, x, axis, sizes);
    for (std::size_t i = 0; i < made.size(); ++i) m.give(i, made[i]);
}

void unbind(Mapping& m) {
    const Value x = m.tensor("self");
    const int axis = m.axis("dim", x, 0);
    if (m.resultCount() == 0) return;
    const std::vector<Value> made = parts(m, x, axis, Ints(m.resultCount(), 1));
    for (std::size_t i = 0; i < made.size(); ++i) m.give(i, m.reshape(made[i], m.shape(i)));
}

void concatenate(Mapping& m, std::vector<Value> values, int axis) {
    Mapping::Inputs inputs;
    for (const Value& value : values) inputs.emplace_back(m.cast(value, m.dtype()));
    if (inputs.size() == 1) return m.give(*inputs.front());
    m.give(m.make("Concat", inputs, {{"axis", std::int64_t{axis}}}));
}

void cat(Mapping& m) {
    std::vector<Value> values = m.tensors("tensors");
    // As in PyTorch, an empty vector fits beside any shape.
    if (m.shape().rank() != 1)
        std::erase_if(values, [](const Value& value) { return value.type.shape == Shape{0}; });
    if (values.empty()) Mapping::refuse("it has no operands");
    concatenate(m, values, m.axis("dim", values.front(), 0));
}

void stack(Mapping& m) {
    std::vector<Value> values = m.tensors("tensors");
    const auto axis = normalizeAxis(m.integer("dim", 0), m.shape().rank());
    if (!axis) Mapping::refuse("its dim is out of range for its result");
    for (Value& value : values) value = m.unsqueeze(value, *axis);
    if (values.empty()) Mapping::refuse("it has no operands");
    concatenate(m, values, *axis);
}

void repeat(Mapping& m) {
    const Value x = m.tensor("self");
    const Ints repeats = m.integers(m.has("dims") ? "dims" : "repeats");
    std::vector<std::int64_t> dims = x.type.shape.dims();
    Ints all = repeats;
    while (dims.size() < all.size()) dims.insert(dims.begin(), 1);
    while (all.size() < dims.size()) all.insert(all.begin(), 1); // tile
    m.give(m.make("Tile", {m.reshape(x, Shape(dims))}, {{"repeats", all}}));
}

void repeatInterleave(Mapping& m) {
    const std::int64_t repeats = m.integer("repeats");
    Value x = m.tensor("self");
    if (!m.has("dim")) x = m.reshape(x, Shape{x.type.shape.elementCount()});
    const int axis = m.has("dim") ? m.axis("dim", x) : 0;
    std::vector<std::int64_t> dims = x.type.shape.dims();
    dims.insert(dims.begin() + axis + 1, repeats);
    m.give(m.reshape(m.expand(m.unsqueeze(x, axis + 1), Shape(dims)), m.shape()));
}

void flip(Mapping& m) {
    Value x = m.tensor("self");
    for (const std::int64_t dim : m.integers("dims"))
        x = m.slice(x, Mapping::axisOf(dim, x), -1, std::numeric_limits<std::int64_t>::min() + 1, -1);
    m.give(x);
}

void roll(Mapping& m) {
    Value x = m.tensor("self");
    const Ints shifts = m.integers("shifts");
    Ints dims = m.integers("dims", Ints{});
    if (dims.empty()) {
        x = m.reshape(x, Shape{x.type.shape.elementCount()});
        dims = {0};
    }
    for (std::size_t i = 0; i < dims.size() && i < shifts.size(); ++i) {
        const int axis = Mapping::axisOf(dims[i], x);
        const std::int64_t size = x.type.shape[axis];
        const std::int64_t shift = size == 0 ? 0 : ((shifts[i] % size) + size) % size;
        if (shift == 0) continue;
        x = m.make("Concat", {m.slice(x, axis, size - shift, size), m.slice(x, axis, 0, size - shift)},
                   {{"axis", std::int64_t{axis}}});
    }
    m.give(m.reshape(x, m.shape()));
}

template <bool upper> void triangle(Mapping& m) {
    m.give(m.make("Trilu", {m.tensor("self")}, {{"upper", upper}, {"k", m.integer("diagonal", 0)}}));
}

/// PyTorch lists (before, after) from the last dimension on; ONNX all befores, then all afters.
void padBy(Mapping& m, const Value& x, const std::string& mode, double value) {
    const Ints pad = m.integers(m.has("padding") ? "padding" : "pad");
    const auto rank = static_cast<std::size_t>(x.type.shape.rank());
    if (pad.size() % 2 != 0 || pad.size() / 2 > rank) Mapping::refuse("it pads dimensions that do not exist");
    Ints pads(2 * rank, 0);
    for (std::size_t i = 0; i < pad.size() / 2; ++i) {
        pads[rank - 1 - i] = pad[2 * i];
        pads[2 * rank - 1 - i] = pad[2 * i + 1];
    }
    Attributes attributes{{"mode", mode}, {"pads", pads}};
    if (mode == "constant" && value != 0) attributes.set("constant_value", value);
    m.give(m.make("Pad", {x}, attributes));
}

void pad(Mapping& m) {
    const std::string mode = m.text("mode", "constant");
    const std::string ours = mode == "replicate" ? "edge" : mode == "circular" ? "wrap" : mode;
    padBy(m, m.tensor("self"), ours, m.number("value", 0));
}

void pixelShuffle(Mapping& m) {
    m.give(m.make("DepthToSpace", {m.tensor("self")},
                  {{"blocksize", m.integer("upscale_factor")}, {"mode", std::string("CRD")}}));
}

void pixelUnshuffle(Mapping& m) {
    const Value x = m.tensor("self");
    const Shape& in = x.type.shape;
    const std::int64_t f = m.integer("downscale_factor");
    if (in.rank() != 4 || f < 1) Mapping::refuse("its operand is not a batch of images");
    const Value cut = m.reshape(x, Shape{in[0], in[1], in[2] / f, f, in[3] / f, f});
    m.give(m.reshape(m.transpose(cut, {0, 1, 3, 5, 2, 4}), m.shape()));
}

void channelShuffle(Mapping& m) {
    const Value x = m.tensor("self");
    const Shape& in = x.type.shape;
    const std::int64_t groups = m.integer("groups");
    if (in.rank() < 3 || groups < 1) Mapping::refuse("its operand is not a batch of images");
    const std::int64_t inner = in[0] == 0 ? 0 : in.elementCount() / in[0] / std::max<std::int64_t>(1, in[1]);
    const Value cut = m.reshape(x, Shape{in[0], groups, in[1] / groups, inner});
    m.give(m.reshape(m.transpose(cut, {0, 2, 1, 3}), m.shape()));
}

/// `copy_` and the moves of `to`: a To if the device changes, else a Cast if the dtype does.
void move(Mapping& m, const Value& x) {
    const Device target = m.call().results.at(0).device;
    if (x.device == target) return m.give(m.expand(m.cast(x, m.dtype()), m.shape()));
    Attributes attributes;
    if (x.type.dtype != m.dtype()) attributes.set("dtype", std::string(name(m.dtype())));
    if (m.flag("non_blocking", false)) attributes.set("non_blocking", true);
    if (m.flag("pin_memory", false)) attributes.set("pin_memory", true);
    m.give(m.expand(m.makeOn(target, "To", {x}, attributes), m.shape()));
}

void to(Mapping& m) {
    if (m.resultCount() != 1) Mapping::refuse("it has several results");
    move(m, m.tensor("self"));
}

void copy(Mapping& m) {
    if (m.resultCount() != 1) Mapping::refuse("it has several results");
    move(m, m.tensor("src"));
}

} // namespace

void addShapes(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) {
        rows.push_back({name, map, false});
    };
    for (const char* name :
         {"view", "reshape", "_unsafe_view", "_reshape_alias", "flatten", "unflatten", "squeeze", "unsqueeze",
          "view_as", "reshape_as", "ravel", "_reshape_copy", "view_copy"})
        row(name, view);
    for (const char* name : {"detach", "alias", "contiguous", "clone", "lift", "lift_fresh",
                             "lift_fresh_copy", "resolve_conj", "resolve_neg", "requires_grad"})
        row(name, same);
    for (const char* name : {"expand", "expand_as", "broadcast_to"}) row(name, expand);
    row("permute", permute);
    row("transpose", transpose);
    row("swapaxes", transpose);
    row("swapdims", transpose);
    row("t", matrixTranspose);
    row("mT", matrixTranspose);
    row("numpy_T", reversedAxes);
    row("movedim", movedim);
    row("moveaxis", movedim);
    row("slice", slice);
    row("narrow", narrow);
    row("select", select);
    for (const char* name : {"split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split",
                             "unsafe_split_with_sizes", "unsafe_chunk"})
        row(name, split);
    row("unbind", unbind);
    row("cat", cat);
    row("concat", cat);
    row("stack", stack);
    row("repeat", repeat);
    row("tile", repeat);
    row("repeat_interleave", repeatInterleave);
    row("flip", flip);
    row("roll", roll);
    row("tril", triangle<false>);
    row("triu", triangle<true>);
    row("pad", pad);
    row("constant_pad_nd", [](Mapping& m) { padBy(m, m.tensor("self"), "constant", m.number("value", 0)); });
    for (const char* name : {"reflection_pad1d", "reflection_pad2d", "reflection_pad3d"})
        row(name, [](Mapping& m) { padBy(m, m.tensor("self"), "reflect", 0); });
    for (const char* name : {"replication_pad1d", "replication_pad2d", "replication_pad3d"})
        row(name, [](Mapping& m) { padBy(m, m.tensor("self"), "edge", 0); });
    row("pixel_shuffle", pixelShuffle);
    row("pixel_unshuffle", pixelUnshuffle);
    row("channel_shuffle", channelShuffle);
    row("native_channel_shuffle", channelShuffle);
    for (const char* name : {"to", "_to_copy", "_to_cpu", "type_as", "_autocast_to_full_precision",
                             "_autocast_to_reduced_precision"})
        row(name, to);
    row("copy", copy);
}

} // namespace twb::aten
