#include "backends/cpu/convolution.h"
#include "backends/cpu/dense_input.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/vector_math.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/recurrent_cells.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace twb {
namespace {

using Cell = RecurrentCell;

std::vector<std::string> standardActivations(Cell cell) {
    switch (cell) {
    case Cell::rnn:
        return {"Tanh"};
    case Cell::gru:
        return {"Sigmoid", "Tanh"};
    case Cell::lstm:
        break;
    }
    return {"Sigmoid", "Tanh", "Tanh"};
}

void requireShape(const InferContext& ctx, int port, const Shape& wanted) {
    if (!ctx.input(port)) return;
    const Shape& got = ctx.input(port)->shape;
    bool fits = got.rank() == wanted.rank();
    for (int axis = 0; fits && axis < got.rank(); ++axis)
        fits = got[axis] == wanted[axis] || got[axis] == kUnknownDim || wanted[axis] == kUnknownDim;
    if (!fits)
        ctx.fail("shape-mismatch", port,
                 fmt::format("Expected {} of size {}, got {}", ctx.op().inputAt(port).name,
                             wanted.toTorchString(), got.toTorchString()));
}

template <Cell C> void inferRecurrent(InferContext& ctx) {
    const Shape& x = ctx.input(0)->shape;
    const Shape& r = ctx.input(2)->shape;
    if (x.rank() != 3)
        ctx.fail("shape-mismatch", 0, fmt::format("input must have 3 dimensions, got {}", x.rank()));
    if (r.rank() != 3)
        ctx.fail("shape-mismatch", 2, fmt::format("R must have 3 dimensions, got {}", r.rank()));
    recurrentActivationsOf(C, ctx.attributes());
    const int directions = recurrentDirections(ctx.attributes());
    const bool batchFirst = ctx.attributes().integer("layout") == 1;
    std::int64_t hidden = r[2];
    if (ctx.attributes().has("hidden_size")) {
        const std::int64_t given = ctx.attributes().integer("hidden_size");
        if (hidden != kUnknownDim && hidden != given)
            ctx.fail(
                "attribute", -1,
                fmt::format("attribute \"hidden_size\" is {}, but R has size {}", given, r.toTorchString()));
        hidden = given;
    }
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (hidden > most) ctx.fail("too-large", 2, fmt::format("a hidden size of {} is too large", hidden));
    const auto times = [hidden](std::int64_t factor) {
        return hidden == kUnknownDim ? kUnknownDim : factor * hidden;
    };
    const std::int64_t gates = gatesOf(C);
    const std::int64_t length = x[batchFirst ? 1 : 0];
    const std::int64_t batch = x[batchFirst ? 0 : 1];
    requireShape(ctx, 1, {directions, times(gates), x[2]});
    requireShape(ctx, 2, {directions, times(gates), hidden});
    requireShape(ctx, 3, {directions, times(2 * gates)});
    requireShape(ctx, 4, {batch});
    const Shape state = batchFirst ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    requireShape(ctx, 5, state);
    if (C == Cell::lstm) {
        requireShape(ctx, 6, state);
        requireShape(ctx, 7, {directions, times(3)});
    }
    const DType dtype = ctx.input(0)->dtype;
    ctx.output(0, {dtype, batchFirst ? Shape{batch, length, directions, hidden}
                                     : Shape{length, directions, batch, hidden}});
    ctx.output(1, {dtype, state});
    if (C == Cell::lstm) ctx.output(2, {dtype, state});
}

Cost recurrentCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes&) {
    Cost cost = streamingCost(inputs, outputs, 0);
    const double steps =
        countOf(inputs[0].shape) / std::max<double>(1, static_cast<double>(inputs[0].shape[2]));
    cost.flops = 2 * steps * (countOf(inputs[1].shape) + countOf(inputs[2].shape));
    return cost;
}

/// to[i] += from[i]
template <class T> void add(const T* from, T* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

/// The products with the weights W and R of one direction, which are packed once. Null: BLAS is used.
struct PassProducts {
    std::unique_ptr<NativeConvolution> w, r;
};

/// By direction.
struct RecurrentProducts final : KernelState {
    std::array<PassProducts, 2> passes;
};

/// The number of multiply-adds from which packing pays off.
constexpr std::int64_t kPackedProduct = 1 << 17;

/// y = x · weightsᵀ by a primitive of oneDNN, if it pays off; false without an effect.
template <class T>
bool multiplyPacked(std::unique_ptr<NativeConvolution>& product, std::int64_t rows, std::int64_t inner,
                    std::int64_t columns, const T* x, const T* weights, T* y) {
    if constexpr (std::is_same_v<T, float>) {
        if (rows * inner * columns < kPackedProduct) return false;
        if (!product)
            product = NativeConvolution::make(
                {.rows = rows, .inner = inner, .columns = columns, .stride = inner, .transposed = true});
        if (!product) return false;
        product->run({.x = x, .w = weights, .y = y});
        return true;
    }
    return false;
}

/// X · Wᵀ plus both biases for all steps at once. Rows are as in X, with the gates side by side.
template <class T> std::vector<T> inputParts(const RecurrentPass<T>& p, PassProducts& products, int gates) {
    const std::int64_t width = gates * p.hidden;
    const std::int64_t rows = p.length * p.batch;
    std::vector<T> out(static_cast<std::size_t>(rows * width), T{0});
    const bool isDone = multiplyPacked(products.w, rows, p.input, width, p.x, p.w, out.data());
    if (p.bias) {
        std::vector<T> bias(static_cast<std::size_t>(width));
        for (std::int64_t k = 0; k < width; ++k) bias[static_cast<std::size_t>(k)] = p.biasAt(k, width);
        for (std::int64_t i = 0; i < rows; ++i) add(bias.data(), out.data() + i * width, width);
    }
    if (p.input > 0 && !isDone)
        gemm<T>(rows, width, p.input, T{1}, {p.x, p.input, false}, {p.w, p.input, true}, T{1}, out.data(),
                width);
    return out;
}

/// The states of all sequences: batch × hidden.
template <class T> struct State { std::vector<T> h, c; };

/// gates = h · Rᵀ for `count` gates starting at `first`.
template <class T>
void recurrentParts(const RecurrentPass<T>& p, PassProducts& products, const std::vector<T>& h, int first,
                    int count, int gates, std::vector<T>& out) {
    if (count == gates &&
        multiplyPacked(products.r, p.batch, p.hidden, count * p.hidden, h.data(), p.r, out.data()))
        return;
    gemm<T>(p.batch, count * p.hidden, p.hidden, T{1}, {h.data(), p.hidden, false},
            {p.r + first * p.hidden * p.hidden, p.hidden, true}, T{0}, out.data() + first * p.hidden,
            gates * p.hidden);
}

/// The buffers of one direction's steps.
template <class T> struct Steps {
    const RecurrentPass<T>& p;
    PassProducts& products;
    std::vector<T> inputs, gates, reset;
    State<T>& state;
};

/// The row of a sequence in Steps::inputs or Steps::gates, with the gates side by side, and its state.
template <class T> struct Row {
    const T* inputs;
    T *gates, *h, *c, *reset;
};

/// Calls run(row) for every sequence that is active at pass s, in parallel.
template <class T, class Run> void overRows(Steps<T>& steps, std::int64_t s, int gates, const Run& run) {
    const RecurrentPass<T>& p = steps.p;
    const std::int64_t width = gates * p.hidden;
    parallelRanges(p.batch, p.batch * width, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) {
            if (!p.runs(s, b)) continue;
            const auto stateOf = [&](std::vector<T>& all) {
                return all.empty() ? nullptr : all.data() + b * p.hidden;
            };
            run(Row<T>{steps.inputs.data() + p.row(p.step(s, b), b) * width, steps.gates.data() + b * width,
                       stateOf(steps.state.h), stateOf(steps.state.c), stateOf(steps.reset)});
        }
    });
}

/// The activation with this index, applied to adjacent elements after the clip.
template <class T> void activate(const RecurrentPass<T>& p, int which, T* row, std::int64_t count) {
    const auto kind = p.activations[static_cast<std::size_t>(which)].kind();
    const bool isTanh = kind == RecurrentActivation::Kind::tanh;
    if constexpr (std::is_same_v<T, float>)
        if (isTanh || kind == RecurrentActivation::Kind::sigmoid) {
            const auto bound = static_cast<float>(p.clip);
            for (std::int64_t i = 0; bound > 0 && i < count; ++i)
                row[i] = row[i] < -bound ? -bound : bound < row[i] ? bound : row[i];
            return VectorMap{isTanh ? VectorFunction::tanh : VectorFunction::sigmoid}(row, row, count);
        }
    for (std::int64_t i = 0; i < count; ++i) row[i] = p.activate(which, row[i]);
}

/// to[i] += a[i] · b[i]
template <class T> void addProduct(const T* a, const T* b, T* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += a[i] * b[i];
}

template <class T> void rnnRow(const RecurrentPass<T>& p, const Row<T>& row) {
    add(row.inputs, row.gates, p.hidden);
    activate(p, 0, row.gates, p.hidden);
    std::copy_n(row.gates, p.hidden, row.h);
}

/// The gates z and r, and the reset state r · h.
template <class T> void gruGates(const RecurrentPass<T>& p, const Row<T>& row) {
    add(row.inputs, row.gates, 2 * p.hidden);
    activate(p, 0, row.gates, 2 * p.hidden);
    const T* const r = row.gates + p.hidden;
    for (std::int64_t k = 0; k < p.hidden; ++k) row.reset[k] = r[k] * row.h[k];
}

template <class T> void gruState(const RecurrentPass<T>& p, const Row<T>& row) {
    const T* const z = row.gates;
    const T* const r = row.gates + p.hidden;
    T* const candidate = row.gates + 2 * p.hidden;
    if (p.linearBeforeReset) {
        if (p.bias) add(p.bias + 5 * p.hidden, candidate, p.hidden);
        for (std::int64_t k = 0; k < p.hidden; ++k) candidate[k] *= r[k];
    }
    add(row.inputs + 2 * p.hidden, candidate, p.hidden);
    activate(p, 1, candidate, p.hidden);
    for (std::int64_t k = 0; k < p.hidden; ++k) row.h[k] = (T{1} - z[k]) * candidate[k] + z[k] * row.h[k];
}

template <class T> void lstmRow(const RecurrentPass<T>& p, const Row<T>& row) {
    const std::int64_t n = p.hidden;
    T* const in = row.gates;
    T* const out = row.gates + n;
    T* const forget = row.gates + 2 * n;
    T* const cell = row.gates + 3 * n;
    add(row.inputs, row.gates, 4 * n);
    if (p.peepholes) {
        addProduct(p.peepholes, row.c, in, n);
        addProduct(p.peepholes + 2 * n, row.c, forget, n);
    }
    activate(p, 0, in, n);
    if (p.coupled)
        for (std::int64_t k = 0; k < n; ++k) forget[k] = T{1} - in[k];
    else
        activate(p, 0, forget, n);
    activate(p, 1, cell, n);
    for (std::int64_t k = 0; k < n; ++k) row.c[k] = forget[k] * row.c[k] + in[k] * cell[k];
    if (p.peepholes) addProduct(p.peepholes + n, row.c, out, n);
    activate(p, 0, out, n);
    std::copy_n(row.c, n, row.h);
    activate(p, 2, row.h, n);
    for (std::int64_t k = 0; k < n; ++k) row.h[k] *= out[k];
}

template <Cell C, class T> void runStep(Steps<T>& steps, std::int64_t s) {
    const RecurrentPass<T>& p = steps.p;
    if constexpr (C == Cell::rnn) {
        recurrentParts(p, steps.products, steps.state.h, 0, 1, 1, steps.gates);
        overRows(steps, s, 1, [&p](const Row<T>& row) { rnnRow(p, row); });
    } else if constexpr (C == Cell::gru) {
        recurrentParts(p, steps.products, steps.state.h, 0, p.linearBeforeReset ? 3 : 2, 3, steps.gates);
        overRows(steps, s, 3, [&p](const Row<T>& row) { gruGates(p, row); });
        if (!p.linearBeforeReset) recurrentParts(p, steps.products, steps.reset, 2, 1, 3, steps.gates);
        overRows(steps, s, 3, [&p](const Row<T>& row) { gruState(p, row); });
    } else {
        recurrentParts(p, steps.products, steps.state.h, 0, 4, 4, steps.gates);
        overRows(steps, s, 4, [&p](const Row<T>& row) { lstmRow(p, row); });
    }
}

template <class T> void readState(const RecurrentPass<T>& p, const DenseInput& from, std::vector<T>& to) {
    to.assign(static_cast<std::size_t>(p.batch * p.hidden), T{0});
    if (!from) return;
    for (std::int64_t b = 0; b < p.batch; ++b)
        std::copy_n(from.as<T>() + p.stateAt(b), p.hidden, to.begin() + b * p.hidden);
}

template <class T>
void writeState(const RecurrentPass<T>& p, const std::vector<T>& from, const TensorView& to) {
    if (!to.data) return;
    for (std::int64_t b = 0; b < p.batch; ++b)
        std::copy_n(from.begin() + b * p.hidden, p.hidden, to.as<T>() + p.stateAt(b));
}

template <Cell C, class T>
void runPass(const RecurrentPass<T>& p, const KernelContext& ctx, PassProducts& products, State<T>& state) {
    constexpr int gateCount = gatesOf(C);
    Steps<T> work{p,
                  products,
                  inputParts(p, products, gateCount),
                  std::vector<T>(static_cast<std::size_t>(p.batch * gateCount * p.hidden)),
                  std::vector<T>(C == Cell::gru ? static_cast<std::size_t>(p.batch * p.hidden) : 0),
                  state};
    T* const y = ctx.outputs[0].as<T>();
    const std::int64_t steps = p.lengths ? *std::max_element(p.lengths, p.lengths + p.batch) : p.length;
    for (std::int64_t s = 0; s < steps; ++s) {
        runStep<C>(work, s);
        for (std::int64_t b = 0; y && b < p.batch; ++b)
            if (p.runs(s, b))
                std::copy_n(state.h.begin() + b * p.hidden, p.hidden, y + p.resultAt(p.step(s, b), b));
    }
}

/// Null if all sequences have the full length.
std::vector<std::int32_t> sequenceLengths(const KernelContext& ctx, std::int64_t length, std::int64_t batch) {
    const DenseInput given = denseInput(ctx.inputs, 4);
    if (!given) return {};
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(batch));
    for (std::size_t b = 0; b < lengths.size(); ++b) {
        lengths[b] = given.as<std::int32_t>()[b];
        if (lengths[b] < 0 || lengths[b] > length)
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("Expected all values in sequence_lens to be between 0 and {}, the length of X, "
                            "but got {} for sequence {}",
                            length, lengths[b], b));
    }
    return lengths;
}

template <Cell C, class T> void recurrent(const KernelContext& ctx) {
    const Attributes& attributes = ctx.attributes;
    const std::vector<RecurrentActivation> activations = recurrentActivationsOf(C, attributes);
    const DenseInput x(ctx.inputs[0]);
    const DenseInput w(ctx.inputs[1]);
    const DenseInput r(ctx.inputs[2]);
    const DenseInput bias = denseInput(ctx.inputs, 3);
    const DenseInput initialH = denseInput(ctx.inputs, 5);
    const DenseInput initialC = C == Cell::lstm ? denseInput(ctx.inputs, 6) : DenseInput(TensorView{});
    const DenseInput peepholes = C == Cell::lstm ? denseInput(ctx.inputs, 7) : DenseInput(TensorView{});
    RecurrentPass<T> p;
    p.batchFirst = attributes.integer("layout") == 1;
    p.length = x.shape()[p.batchFirst ? 1 : 0];
    p.batch = x.shape()[p.batchFirst ? 0 : 1];
    p.input = x.shape()[2];
    p.hidden = r.shape()[2];
    p.directions = recurrentDirections(attributes);
    const std::vector<std::int32_t> lengths = sequenceLengths(ctx, p.length, p.batch);
    p.lengths = lengths.empty() ? nullptr : lengths.data();
    p.clip = attributes.has("clip") ? attributes.number("clip") : 0;
    p.linearBeforeReset = C == Cell::gru && attributes.flag("linear_before_reset");
    p.coupled = C == Cell::lstm && attributes.flag("input_forget");
    p.x = x.as<T>();
    for (const TensorView& out : ctx.outputs)
        if (out.data) std::fill_n(out.as<T>(), out.elementCount(), T{0});
    if (p.batch == 0 || p.hidden == 0) return;
    RecurrentProducts ofThisLaunch;
    RecurrentProducts* products = &ofThisLaunch;
    if (ctx.memory && ctx.memory->isConstant(1) && ctx.memory->isConstant(2)) {
        if (!ctx.memory->state) ctx.memory->state = std::make_unique<RecurrentProducts>();
        products = static_cast<RecurrentProducts*>(ctx.memory->state.get());
    }
    const std::int64_t gates = gatesOf(C);
    const std::size_t each = activations.size() / static_cast<std::size_t>(p.directions);
    for (int d = 0; d < p.directions; ++d) {
        p.direction = d;
        p.reverse = d == 1 || attributes.text("direction") == "reverse";
        p.w = w.as<T>() + d * gates * p.hidden * p.input;
        p.r = r.as<T>() + d * gates * p.hidden * p.hidden;
        p.bias = bias ? bias.as<T>() + d * 2 * gates * p.hidden : nullptr;
        p.peepholes = peepholes ? peepholes.as<T>() + d * 3 * p.hidden : nullptr;
        std::copy_n(activations.begin() + static_cast<std::ptrdiff_t>(d * each), each, p.activations.begin());
        State<T> state;
        readState(p, initialH, state.h);
        if constexpr (C == Cell::lstm) readState(p, initialC, state.c);
        if (p.length > 0) runPass<C>(p, ctx, products->passes[static_cast<std::size_t>(d)], state);
        if (ctx.outputs.size() > 1) writeState(p, state.h, ctx.outputs[1]);
        if (ctx.outputs.size() > 2) writeState(p, state.c, ctx.outputs[2]);
    }
}

template <Cell C> void recurrentKernel(const KernelContext& ctx) {
    withFloat(ctx.inputs[0].dtype, [&](auto zero) { recurrent<C, decltype(zero)>(ctx); });
}

template <Cell C> Op makeRecurrent(std::string name, std::string doc, std::string formula) {
    Op op = makeOp(std::move(name), "Recurrent", 22, std::move(doc), std::move(formula));
    op.inputs = {port("X", "input", kFloats, "T"),
                 port("W", "weight_ih", kFloats, "T"),
                 port("R", "weight_hh", kFloats, "T"),
                 optionalPort("B", "bias", kFloats, "T"),
                 optionalPort("sequence_lens", "lengths", DTypeSet{DType::i32}),
                 optionalPort("initial_h", "h_0", kFloats, "T")};
    op.outputs = {port("Y", "", kFloats, "T"), port("Y_h", "", kFloats, "T")};
    if (C == Cell::lstm) {
        op.inputs.push_back(optionalPort("initial_c", "c_0", kFloats, "T"));
        op.inputs.push_back(optionalPort("P", "peepholes", kFloats, "T"));
        op.outputs.push_back(port("Y_c", "", kFloats, "T"));
    }
    for (PortSpec& output : op.outputs) output.optional = true;
    AttributeSpec hidden = integerAttribute("hidden_size", 1, "Size of the state; absent: from R");
    hidden.defaultValue.reset();
    hidden.minimum = 1;
    AttributeSpec layout = integerAttribute(
        "layout", 0, "0: sequence first, then batch; 1: batch first, as PyTorch's batch_first");
    layout.minimum = 0;
    layout.maximum = 1;
    AttributeSpec clip =
        numberAttribute("clip", 0, "Clip limit of activation inputs, above 0; absent: no limit");
    clip.defaultValue.reset();
    clip.minimum = 0;
    op.attributes = {
        choiceAttribute("direction", "forward", {"forward", "reverse", "bidirectional"},
                        "Direction of the steps"),
        std::move(hidden),
        std::move(layout),
        textsAttribute("activations",
                       "The activations of each direction; absent: Sigmoid for gates, else Tanh"),
        numbersAttribute("activation_alpha", "alpha of the activations that have one, in order"),
        numbersAttribute("activation_beta", "beta of the activations that have one, in order"),
        std::move(clip)};
    if (C == Cell::gru)
        op.attributes.push_back(flagAttribute(
            "linear_before_reset", false, "Apply the reset gate after the product with R, as PyTorch does"));
    if (C == Cell::lstm)
        op.attributes.push_back(flagAttribute("input_forget", false, "Couple the input and forget gates"));
    op.tolerance = {1e-4, 1e-5};
    op.infer = inferRecurrent<C>;
    op.cost = recurrentCost;
    op.kernel = viaFloat<recurrentKernel<C>>;
    op.gradient = [](GradientContext& g) { recurrentGradient(g, C); };
    return op;
}

} // namespace

int recurrentDirections(const Attributes& attributes) {
    return attributes.text("direction") == "bidirectional" ? 2 : 1;
}

std::vector<RecurrentActivation> recurrentActivationsOf(RecurrentCell cell, const Attributes& attributes) {
    const std::vector<std::string> standard = standardActivations(cell);
    std::vector<std::string> names;
    for (int d = 0; d < recurrentDirections(attributes); ++d)
        names.insert(names.end(), standard.begin(), standard.end());
    if (const AttributeValue* given = attributes.find("activations")) {
        const auto& list = std::get<std::vector<std::string>>(*given);
        if (!list.empty()) {
            if (list.size() != names.size())
                throw InferError(
                    "attribute", -1,
                    fmt::format("attribute \"activations\" must have {} entries, {} for each direction, "
                                "but has {}",
                                names.size(), standard.size(), list.size()));
            names = list;
        }
    }
    const auto numbers = [&](const char* name) {
        return attributes.has(name) ? attributes.numbers(name) : std::vector<double>{};
    };
    return recurrentActivations(names, numbers("activation_alpha"), numbers("activation_beta"));
}

void addRecurrent(std::vector<Op>& table) {
    table.push_back(makeRecurrent<Cell::rnn>("RNN", "A recurrent layer of one activation",
                                             "H = f(X · Wᵀ + H₋₁ · Rᵀ + B)"));
    table.push_back(makeRecurrent<Cell::gru>("GRU", "A gated recurrent layer: gates update, reset, hidden",
                                             "H = (1 − z) · g(X · Wᵀ + (r · H₋₁) · Rᵀ + B) + z · H₋₁"));
    table.push_back(makeRecurrent<Cell::lstm>("LSTM",
                                              "Long short-term memory: gates input, output, forget, cell",
                                              "C = f · C₋₁ + i · c, H = o · h(C)"));

    describe(table, "RNN",
             "X [t, n, i] · W [directions, h, i] · R [directions, h, h] · B [directions, 2h] → Y [t, "
             "directions, n, h]",
             {operand({3, 2, 4}), operand({1, 5, 4}), operand({1, 5, 5})});
    describe(table, "GRU",
             "X [t, n, i] · W [directions, 3h, i] · R [directions, 3h, h] · B [directions, 6h] → Y [t, "
             "directions, n, h]",
             {operand({3, 2, 4}), operand({1, 15, 4}), operand({1, 15, 5})});
    describe(table, "LSTM",
             "X [t, n, i] · W [directions, 4h, i] · R [directions, 4h, h] · B [directions, 8h] → Y [t, "
             "directions, n, h]",
             {operand({3, 2, 4}), operand({1, 20, 4}), operand({1, 20, 5})});
}

} // namespace twb
