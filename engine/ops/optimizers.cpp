#include "backends/cpu/elementwise.h"
#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace twb {
namespace {

constexpr DTypeSet kOptimized{DType::f32, DType::f64};

/// The inputs are R, T, then n parameters X, their n gradients G and `states` state tensors each, grouped by
/// kind. The outputs are in the same order, without G.
void inferOptimizer(InferContext& ctx, int states) {
    const int groups = 2 + states;
    const int given = ctx.inputCount() - 2;
    const int count = given / groups;
    if (given <= 0 || given % groups != 0)
        ctx.fail("missing-input", 2,
                 fmt::format("{} needs a gradient and {} of state for each parameter, but has {} inputs "
                             "after R and T",
                             ctx.op().name, states == 1 ? "one tensor" : "two tensors", std::max(given, 0)));
    const int outputs = static_cast<int>(ctx.outputs().size());
    if (outputs != count * (1 + states))
        ctx.fail(
            "attribute", -1,
            fmt::format("{} with {} parameters needs {} outputs: set the attribute \"num_outputs\" to this "
                        "number; it is {}",
                        ctx.op().name, count, count * (1 + states), outputs));
    for (int i = 0; i < count; ++i) {
        const TensorType* x = ctx.input(2 + i);
        for (int group = 0; group < groups; ++group) {
            const int port = 2 + group * count + i;
            const TensorType* type = ctx.input(port);
            if (!type)
                ctx.fail("missing-input", port, fmt::format("{} needs its input {}", ctx.op().name, port));
            if (!broadcast(x->shape, type->shape) || x->shape.rank() != type->shape.rank() ||
                (x->shape.isKnown() && type->shape.isKnown() && x->shape != type->shape))
                ctx.fail("shape-mismatch", port,
                         fmt::format("the parameter has the shape {}, but its gradient or state has {}",
                                     x->shape.toTorchString(), type->shape.toTorchString()));
            if (group != 1) ctx.output((group == 0 ? 0 : group - 1) * count + i, *x);
        }
    }
}

double scalarOf(const KernelContext& ctx, std::size_t port, const char* name) {
    if (port >= ctx.inputs.size() || !ctx.inputs[port].data) return ctx.attributes.number(name);
    if (ctx.inputs[port].elementCount() != 1)
        throw Error(ErrorCode::invalidArgument, fmt::format("{} must be a single number", name));
    Tensor keep;
    return *denseAs(DType::f64, ctx.inputs[port], keep).as<const double>();
}

/// update(x, g, s, t) updates the parameter and the state of one element in place. Ops with one state have no
/// t.
template <class Update>
void forParameters(const KernelContext& ctx, std::size_t states, const Update& update) {
    const std::size_t count = (ctx.inputs.size() - 2) / (2 + states);
    for (std::size_t n = 0; n < count; ++n) {
        const auto input = [&](std::size_t group) -> const TensorView& {
            return ctx.inputs[2 + group * count + n];
        };
        const auto output = [&](std::size_t group) -> const TensorView& {
            return ctx.outputs[group * count + n];
        };
        if (output(0).elementCount() == 0) continue;
        copyElements(input(0), output(0));
        for (std::size_t s = 0; s < states; ++s) copyElements(input(2 + s), output(1 + s));
        const TensorView& parameter = output(0);
        const TensorView& first = output(1);
        const TensorView& last = output(states);
        withFloat(parameter.dtype, [&](auto zero) {
            using T = decltype(zero);
            Tensor keep;
            const TensorView gradient = denseAs(parameter.dtype, input(1), keep);
            const T* const g = gradient.as<const T>();
            T* const x = parameter.as<T>();
            T* const s = first.as<T>();
            T* const t = states > 1 ? last.as<T>() : nullptr;
            const std::int64_t total = parameter.elementCount();
            parallelRanges(total, 10 * total, 64, [&](std::int64_t begin, std::int64_t end) {
                T none{};
                for (std::int64_t i = begin; i < end; ++i) update(x[i], g[i], s[i], t ? t[i] : none);
            });
        });
    }
}

void adagradKernel(const KernelContext& ctx) {
    const double rate =
        scalarOf(ctx, 0, "R") / (1 + scalarOf(ctx, 1, "T") * ctx.attributes.number("decay_factor"));
    const double epsilon = ctx.attributes.number("epsilon");
    const double norm = ctx.attributes.number("norm_coefficient");
    forParameters(ctx, 1, [=](auto& x, auto gradient, auto& h, auto&) {
        using T = std::decay_t<decltype(x)>;
        const T g = static_cast<T>(norm) * x + gradient;
        h += g * g;
        x -= static_cast<T>(rate) * g / (std::sqrt(h) + static_cast<T>(epsilon));
    });
}

void adamKernel(const KernelContext& ctx) {
    const double alpha = ctx.attributes.number("alpha");
    const double beta = ctx.attributes.number("beta");
    const double epsilon = ctx.attributes.number("epsilon");
    const double norm = ctx.attributes.number("norm_coefficient");
    const double post = ctx.attributes.number("norm_coefficient_post");
    const double step = scalarOf(ctx, 1, "T");
    double rate = scalarOf(ctx, 0, "R");
    if (step > 0) rate *= std::sqrt(1 - std::pow(beta, step)) / (1 - std::pow(alpha, step));
    forParameters(ctx, 2, [=](auto& x, auto gradient, auto& v, auto& h) {
        using T = std::decay_t<decltype(x)>;
        const T g = static_cast<T>(norm) * x + gradient;
        v = static_cast<T>(alpha) * v + static_cast<T>(1 - alpha) * g;
        h = static_cast<T>(beta) * h + static_cast<T>(1 - beta) * g * g;
        x -= static_cast<T>(rate) * v / (std::sqrt(h) + static_cast<T>(epsilon));
        x *= static_cast<T>(1 - post);
    });
}

void momentumKernel(const KernelContext& ctx) {
    const double alpha = ctx.attributes.number("alpha");
    const double rate = scalarOf(ctx, 0, "R");
    const double beta = scalarOf(ctx, 1, "T") > 0 ? ctx.attributes.number("beta") : 1;
    const double norm = ctx.attributes.number("norm_coefficient");
    const bool nesterov = ctx.attributes.text("mode") == "nesterov";
    forParameters(ctx, 1, [=](auto& x, auto gradient, auto& v, auto&) {
        using T = std::decay_t<decltype(x)>;
        const T g = static_cast<T>(norm) * x + gradient;
        v = static_cast<T>(alpha) * v + static_cast<T>(beta) * g;
        x -= static_cast<T>(rate) * (nesterov ? g + static_cast<T>(alpha) * v : v);
    });
}

template <int States>
Op makeOptimizer(std::string name, std::string doc, std::string formula, double flops, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Training", 1, std::move(doc), std::move(formula));
    op.domain = "ai.onnx.preview.training";
    PortSpec rate = optionalPort("R", "lr", kOptimized);
    PortSpec step = optionalPort("T", "step", DTypeSet{DType::i64});
    rate.hostValue = true;
    step.hostValue = true;
    op.inputs = {std::move(rate), std::move(step), variadicPort("inputs", "params", kOptimized, "T")};
    op.outputs = {variadicPort("outputs", "", kOptimized, "T")};
    AttributeSpec outputs =
        integerAttribute("num_outputs", 1 + States,
                         "Number of outputs: each new parameter and each new state tensor counts as one");
    outputs.minimum = 1;
    outputs.maximum = 1024;
    op.attributes = {numberAttribute("R", 0.001, "Learning rate if R is not connected"),
                     integerAttribute("T", 0, "Number of updates if T is not connected"),
                     numberAttribute("norm_coefficient", 0, "Factor of the L2 penalty on the parameters"),
                     std::move(outputs)};
    op.tolerance = {1e-5, 1e-6};
    op.infer = [](InferContext& ctx) { inferOptimizer(ctx, States); };
    op.cost = [flops](std::span<const TensorType> inputs, std::span<const TensorType> types,
                      const Attributes&) {
        Cost cost = streamingCost(inputs, types, 0);
        for (const TensorType& type : types) cost.flops += flops / (1 + States) * countOf(type.shape);
        if (!types.empty()) cost.dtype = types[0].dtype;
        return cost;
    };
    op.kernel = kernel;
    op.noGradient = "is a step of an optimizer";
    return op;
}

} // namespace

void addOptimizers(std::vector<Op>& table) {
    Op adagrad =
        makeOptimizer<1>("Adagrad", "A step of Adagrad: steps shrink where gradients have been large",
                         "H′ = H + G²; X′ = X − R · G / (√H′ + epsilon)", 8, adagradKernel);
    adagrad.attributes.push_back(numberAttribute("decay_factor", 0, "Decay of the learning rate with T"));
    adagrad.attributes.push_back(
        numberAttribute("epsilon", 1e-6, "Added to the divisor to avoid a division by 0"));
    table.push_back(std::move(adagrad));

    Op adam = makeOptimizer<2>("Adam", "A step of Adam: running means of the gradient and of its square",
                               "V′ = αV + (1 − α)G; H′ = βH + (1 − β)G²; X′ = X − R · V′ / (√H′ + epsilon)",
                               14, adamKernel);
    adam.attributes.push_back(numberAttribute("alpha", 0.9, "Decay of the running mean of gradients"));
    adam.attributes.push_back(numberAttribute("beta", 0.999, "Decay of the running mean of squares"));
    adam.attributes.push_back(
        numberAttribute("epsilon", 1e-6, "Added to the divisor to avoid a division by 0"));
    adam.attributes.push_back(
        numberAttribute("norm_coefficient_post", 0, "Factor by which parameters shrink after the step"));
    table.push_back(std::move(adam));

    Op momentum = makeOptimizer<1>("Momentum", "A step of gradient descent with momentum",
                                   "V′ = αV + βG; X′ = X − R · V′", 8, momentumKernel);
    momentum.attributes.push_back(numberAttribute("alpha", 0.9, "Decay of the momentum"));
    momentum.attributes.push_back(
        numberAttribute("beta", 1, "Weight of the gradient from the second step on"));
    momentum.attributes.push_back(
        choiceAttribute("mode", "standard", {"standard", "nesterov"}, "nesterov looks one step ahead"));
    table.push_back(std::move(momentum));

    describe(table, "Adagrad", "For each tensor X: its gradient G and sum H of the same shape",
             {std::nullopt, std::nullopt, operand({4}), operand({4}), operand({4}, {0.0})});
    describe(
        table, "Adam", "For each tensor X: its gradient G and averages V and H of the same shape",
        {std::nullopt, std::nullopt, operand({4}), operand({4}), operand({4}, {0.0}), operand({4}, {0.0})},
        {{"num_outputs", std::int64_t{3}}});
    describe(table, "Momentum", "For each tensor X: its gradient G and momentum V of the same shape",
             {std::nullopt, std::nullopt, operand({4}), operand({4}), operand({4}, {0.0})});
}

} // namespace twb
