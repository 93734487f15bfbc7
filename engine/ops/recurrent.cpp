#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/recurrent_layer.h"
#include "ops/recurrent_steps.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
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

template <Cell C, class T>
void runPass(const RecurrentPass<T>& p, const KernelContext& ctx, PassProducts& products, std::vector<T>& h,
             std::vector<T>& c) {
    const auto units = static_cast<std::size_t>(p.batch * p.hidden);
    RecurrentSteps<C, T> steps(p, products);
    T* const y = ctx.outputs[0].as<T>();
    if (steps.runInParts({nullptr, h.data(), c.data(), nullptr}, y)) return;
    std::vector<T> gates(gatesOf(C) * units);
    std::vector<T> inner(C == Cell::gru ? units : 0);
    for (std::int64_t s = 0; s < steps.count(); ++s) {
        steps.run(s, {gates.data(), h.data(), c.data(), C == Cell::gru ? inner.data() : nullptr});
        for (std::int64_t b = 0; y && b < p.batch; ++b)
            if (p.runs(s, b))
                std::copy_n(h.begin() + b * p.hidden, p.hidden, y + p.resultAt(p.step(s, b), b));
    }
}

/// By direction.
struct RecurrentProducts final : KernelState {
    std::array<PassProducts, 2> passes;
};

template <Cell C, class T> void recurrent(const KernelContext& ctx) {
    const RecurrentInputs<C, T> in(ctx);
    for (const TensorView& out : ctx.outputs)
        if (out.data) std::fill_n(out.as<T>(), out.elementCount(), T{0});
    if (in.isEmpty()) return;
    RecurrentProducts ofThisLaunch;
    RecurrentProducts* products = &ofThisLaunch;
    if (ctx.memory && ctx.memory->isConstant(1) && ctx.memory->isConstant(2)) {
        if (!ctx.memory->state) ctx.memory->state = std::make_unique<RecurrentProducts>();
        products = static_cast<RecurrentProducts*>(ctx.memory->state.get());
    }
    for (int d = 0; d < in.directions(); ++d) {
        const RecurrentPass<T> p = in.direction(d);
        const auto units = static_cast<std::size_t>(p.batch * p.hidden);
        std::vector<T> h(units);
        std::vector<T> c(C == Cell::lstm ? units : 0);
        readState(p, in.initialH(), h.data());
        if constexpr (C == Cell::lstm) readState(p, in.initialC(), c.data());
        if (p.length > 0) runPass<C>(p, ctx, products->passes[static_cast<std::size_t>(d)], h, c);
        if (ctx.outputs.size() > 1) writeState(p, h.data(), ctx.outputs[1].as<T>());
        if (ctx.outputs.size() > 2) writeState(p, c.data(), ctx.outputs[2].as<T>());
    }
}

template <Cell C> void recurrentKernel(const KernelContext& ctx) {
    withFloat(ctx.inputs[0].dtype, [&](auto zero) { recurrent<C, decltype(zero)>(ctx); });
}

template <Cell C> void inferRecurrent(InferContext& ctx) {
    const RecurrentSizes sizes = recurrentSizes(ctx, C);
    const DType dtype = ctx.input(0)->dtype;
    ctx.output(0, {dtype, sizes.y});
    ctx.output(1, {dtype, sizes.state});
    if (C == Cell::lstm) ctx.output(2, {dtype, sizes.state});
}

template <Cell C> Op makeRecurrent(std::string name, std::string doc, std::string formula) {
    Op op = makeOp(std::move(name), "Recurrent", 22, std::move(doc), std::move(formula));
    op.inputs = recurrentInputs(C);
    op.outputs = {port("Y", "", kFloats, "T"), port("Y_h", "", kFloats, "T")};
    if (C == Cell::lstm) op.outputs.push_back(port("Y_c", "", kFloats, "T"));
    for (PortSpec& output : op.outputs) output.optional = true;
    op.attributes = recurrentAttributes(C);
    op.tolerance = {1e-4, 1e-5};
    op.infer = inferRecurrent<C>;
    op.cost = recurrentCost;
    op.kernel = viaFloat<recurrentKernel<C>>;
    op.gradient = [](GradientContext& g) { recurrentGradient(g, C); };
    return op;
}

} // namespace

std::vector<PortSpec> recurrentInputs(RecurrentCell cell) {
    std::vector<PortSpec> all{port("X", "input", kFloats, "T"),
                              port("W", "weight_ih", kFloats, "T"),
                              port("R", "weight_hh", kFloats, "T"),
                              optionalPort("B", "bias", kFloats, "T"),
                              optionalPort("sequence_lens", "lengths", DTypeSet{DType::i32}),
                              optionalPort("initial_h", "h_0", kFloats, "T")};
    if (cell == Cell::lstm) {
        all.push_back(optionalPort("initial_c", "c_0", kFloats, "T"));
        all.push_back(optionalPort("P", "peepholes", kFloats, "T"));
    }
    return all;
}

std::vector<AttributeSpec> recurrentAttributes(RecurrentCell cell) {
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
    std::vector<AttributeSpec> all{
        choiceAttribute("direction", "forward", {"forward", "reverse", "bidirectional"},
                        "Direction of the steps"),
        std::move(hidden),
        std::move(layout),
        textsAttribute("activations",
                       "The activations of each direction; absent: Sigmoid for gates, else Tanh"),
        numbersAttribute("activation_alpha", "alpha of the activations that have one, in order"),
        numbersAttribute("activation_beta", "beta of the activations that have one, in order"),
        std::move(clip)};
    if (cell == Cell::gru)
        all.push_back(flagAttribute("linear_before_reset", false,
                                    "Apply the reset gate after the product with R, as PyTorch does"));
    if (cell == Cell::lstm)
        all.push_back(flagAttribute("input_forget", false, "Couple the input and forget gates"));
    return all;
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

RecurrentSizes recurrentSizes(const InferContext& ctx, RecurrentCell cell) {
    const Shape& x = ctx.input(0)->shape;
    const Shape& r = ctx.input(2)->shape;
    if (x.rank() != 3)
        ctx.fail("shape-mismatch", 0, fmt::format("input must have 3 dimensions, got {}", x.rank()));
    if (r.rank() != 3)
        ctx.fail("shape-mismatch", 2, fmt::format("R must have 3 dimensions, got {}", r.rank()));
    recurrentActivationsOf(cell, ctx.attributes());
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
    const std::int64_t gates = gatesOf(cell);
    const std::int64_t length = x[batchFirst ? 1 : 0];
    const std::int64_t batch = x[batchFirst ? 0 : 1];
    RecurrentSizes out;
    out.y = batchFirst ? Shape{batch, length, directions, hidden} : Shape{length, directions, batch, hidden};
    out.state = batchFirst ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    out.inputs = {x,
                  {directions, times(gates), x[2]},
                  {directions, times(gates), hidden},
                  {directions, times(2 * gates)},
                  {batch},
                  out.state};
    if (cell == Cell::lstm) {
        out.inputs.push_back(out.state);
        out.inputs.push_back({directions, times(3)});
    }
    for (std::size_t port = 1; port < out.inputs.size(); ++port)
        requireShape(ctx, static_cast<int>(port), out.inputs[port]);
    return out;
}

Cost recurrentCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                   const Attributes&) {
    Cost cost = streamingCost(inputs, outputs, 0);
    const double steps =
        countOf(inputs[0].shape) / std::max<double>(1, static_cast<double>(inputs[0].shape[2]));
    cost.flops = 2 * steps * (countOf(inputs[1].shape) + countOf(inputs[2].shape));
    return cost;
}

std::vector<std::int32_t> recurrentLengths(const DenseInput& given, std::int64_t length, std::int64_t batch) {
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
    for (const Cell cell : {Cell::rnn, Cell::gru, Cell::lstm}) table.push_back(makeRecurrentGrad(cell));

    const std::string layer = "X [t, n, i] · W [directions, gates · h, i] · R [directions, gates · h, h] · ";
    describe(table, "RNNGrad", layer + "dY [t, directions, n, h] → dX [t, n, i] and the others",
             {operand({3, 2, 4}), operand({1, 5, 4}), operand({1, 5, 5}), {}, {}, {}, operand({3, 1, 2, 5})});
    describe(
        table, "GRUGrad", layer + "dY [t, directions, n, h] → dX [t, n, i] and the others",
        {operand({3, 2, 4}), operand({1, 15, 4}), operand({1, 15, 5}), {}, {}, {}, operand({3, 1, 2, 5})});
    describe(table, "LSTMGrad", layer + "dY [t, directions, n, h] → dX [t, n, i] and the others",
             {operand({3, 2, 4}),
              operand({1, 20, 4}),
              operand({1, 20, 5}),
              {},
              {},
              {},
              {},
              {},
              operand({3, 1, 2, 5})});
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
