#include "backends/cpu/elementwise.h"
#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"
#include "ops/update_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace twb {
namespace {

// Ops that write their inputs in place (Op::updates): the steps of optimizers with PyTorch's formulas, and
// the counters that they read. Each input is 0-dimensional or has the parameter's shape.

constexpr DTypeSet kParameters{DType::f32, DType::f64};
constexpr std::int64_t kWorkPerElement = 6;

// Ports of an optimizer's step. The states follow the last one.
constexpr int kRate = 2;
constexpr int kSkip = 3;
constexpr int kGradientScale = 4;
constexpr int kStep = 5;

void needScalar(const InferContext& ctx, int port) {
    const TensorType* type = ctx.input(port);
    if (!type || !type->shape.isKnown() || type->shape.elementCount() == 1) return;
    ctx.fail("shape-mismatch", port,
             fmt::format("{} must be a single number, but has the shape {}", ctx.op().inputAt(port).name,
                         type->shape.toTorchString()));
}

/// Sets the outputs to the types of the tensors that the op writes.
void inferUpdated(InferContext& ctx) {
    const TensorType& parameter = *ctx.input(0);
    for (std::size_t i = 0; i < ctx.op().updates.size(); ++i) {
        const TensorType* type = ctx.input(ctx.op().updates[i]);
        ctx.output(static_cast<int>(i), type ? *type : parameter);
    }
}

/// The gradient and the states have the parameter's shape.
void needShapeOfParameter(const InferContext& ctx, int port) {
    const TensorType* type = ctx.input(port);
    const Shape& shape = ctx.input(0)->shape;
    if (!type || !type->shape.isKnown() || !shape.isKnown() || type->shape == shape) return;
    ctx.fail("shape-mismatch", port,
             fmt::format("{} must have the shape of the parameter, {}, but has {}",
                         ctx.op().inputAt(port).name, shape.toTorchString(), type->shape.toTorchString()));
}

void inferStep(InferContext& ctx) {
    for (int port = 1; port < static_cast<int>(ctx.op().inputs.size()); ++port) {
        const std::string& name = ctx.op().inputAt(port).name;
        if (name == "lr" || name == "skip" || name == "grad_scale" || name == "step")
            needScalar(ctx, port);
        else
            needShapeOfParameter(ctx, port);
        // A state without which the attributes make no sense.
        const bool isNeeded = (name == "momentum_buffer" && ctx.attributes().number("momentum") != 0) ||
                              (name == "grad_avg" && ctx.attributes().flag("centered"));
        if (isNeeded && !ctx.input(port))
            ctx.fail("missing-input", port,
                     fmt::format("{} needs its input {}: connect Zeros of the parameter's shape",
                                 ctx.op().name, name));
    }
    inferUpdated(ctx);
}

bool isSkipped(const KernelContext& ctx, std::size_t port) {
    return port < ctx.inputs.size() && ctx.inputs[port].data && *ctx.inputs[port].as<const element::Bool>();
}

double numberAt(const KernelContext& ctx, std::size_t port) {
    Tensor keep;
    return *denseAs(DType::f64, ctx.inputs[port], keep).as<const double>();
}

std::int64_t stepOf(const KernelContext& ctx) { return *ctx.inputs[kStep].as<const std::int64_t>(); }

/// Applies a rule of update_rules.h to each element.
template <class Rule> void applyRule(const KernelContext& ctx, const Rule& rule, std::int64_t step) {
    if (isSkipped(ctx, kSkip) || ctx.outputs[0].elementCount() == 0) return;
    const bool hasRate = ctx.inputs.size() > kRate && ctx.inputs[kRate].data;
    const double rate = hasRate ? numberAt(ctx, kRate) : ctx.attributes.number("lr");
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        Tensor keep;
        const TensorView gradient = denseAs(ctx.outputs[0].dtype, ctx.inputs[1], keep);
        const T* const g = gradient.as<const T>();
        T* const p = ctx.outputs[0].as<T>();
        const auto stateAt = [&](std::size_t i) -> T* {
            return i < ctx.outputs.size() && ctx.outputs[i].data ? ctx.outputs[i].as<T>() : nullptr;
        };
        const UpdateStates<T> states{stateAt(1), stateAt(2), stateAt(3)};
        const bool isScaled = ctx.inputs.size() > kGradientScale && ctx.inputs[kGradientScale].data;
        const T scale = isScaled ? static_cast<T>(numberAt(ctx, kGradientScale)) : T{1};
        const auto update = rule.template at<T>(rate, step);
        const std::int64_t total = ctx.outputs[0].elementCount();
        parallelRanges(total, kWorkPerElement * total, 64, [&](std::int64_t begin, std::int64_t end) {
            const UpdateStates<T> own = states;
#pragma omp simd
            for (std::int64_t i = begin; i < end; ++i) update(i, p[i], scale * g[i], own);
        });
    });
}

void sgdKernel(const KernelContext& ctx) {
    const Attributes& a = ctx.attributes;
    const double momentum = a.number("momentum");
    const double decay = a.number("weight_decay");
    if (momentum != 0 && ctx.outputs[1].data)
        applyRule(ctx, SgdRule<true>{momentum, decay, a.flag("nesterov")}, 0);
    else
        applyRule(ctx, SgdRule<false>{0, decay, false}, 0);
}

template <bool IsDecoupled> void adamKernel(const KernelContext& ctx) {
    const Attributes& a = ctx.attributes;
    applyRule(ctx,
              AdamRule{a.number("beta1"), a.number("beta2"), a.number("eps"), a.number("weight_decay"),
                       IsDecoupled},
              stepOf(ctx));
}

template <bool HasMomentum, bool IsCentered> void rmsPropOf(const KernelContext& ctx) {
    const Attributes& a = ctx.attributes;
    applyRule(ctx,
              RmsPropRule<HasMomentum, IsCentered>{a.number("alpha"), a.number("eps"),
                                                   a.number("weight_decay"), a.number("momentum")},
              0);
}

void rmsPropKernel(const KernelContext& ctx) {
    const bool hasMomentum = ctx.attributes.number("momentum") != 0 && ctx.outputs[2].data;
    const bool isCentered = ctx.attributes.flag("centered") && ctx.outputs[3].data;
    if (isCentered)
        hasMomentum ? rmsPropOf<true, true>(ctx) : rmsPropOf<false, true>(ctx);
    else
        hasMomentum ? rmsPropOf<true, false>(ctx) : rmsPropOf<false, false>(ctx);
}

void adagradKernel(const KernelContext& ctx) {
    const Attributes& a = ctx.attributes;
    applyRule(ctx, AdagradRule{a.number("lr_decay"), a.number("eps"), a.number("weight_decay")}, stepOf(ctx));
}

void lionKernel(const KernelContext& ctx) {
    const Attributes& a = ctx.attributes;
    applyRule(ctx, LionRule{a.number("beta1"), a.number("beta2"), a.number("weight_decay")}, 0);
}

void assignKernel(const KernelContext& ctx) {
    if (isSkipped(ctx, 2)) return;
    copyElements(ctx.inputs[1], ctx.outputs[0]);
}

void averageKernel(const KernelContext& ctx) {
    if (isSkipped(ctx, 2) || ctx.outputs[0].elementCount() == 0) return;
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        Tensor keep;
        const T* const value = denseAs(ctx.outputs[0].dtype, ctx.inputs[1], keep).template as<const T>();
        T* const average = ctx.outputs[0].as<T>();
        const auto gain = static_cast<T>(1 - ctx.attributes.number("decay"));
        const std::int64_t total = ctx.outputs[0].elementCount();
        parallelRanges(total, 3 * total, 64, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) average[i] += gain * (value[i] - average[i]);
        });
    });
}

void countKernel(const KernelContext& ctx) {
    if (!isSkipped(ctx, 1)) ++*ctx.outputs[0].as<std::int64_t>();
}

void recordKernel(const KernelContext& ctx) {
    const TensorView& record = ctx.outputs[0];
    const std::int64_t length = record.elementCount();
    if (length == 0) return;
    withFloat(record.dtype, [&](auto zero) {
        using T = decltype(zero);
        record.as<T>()[ctx.iteration % length] = static_cast<T>(numberAt(ctx, 1));
    });
}

/// torch.amp.GradScaler.update().
void scaleKernel(const KernelContext& ctx) {
    const Attributes& a = ctx.attributes;
    updateLossScale(*ctx.outputs[0].as<float>(), *ctx.outputs[1].as<std::int32_t>(),
                    static_cast<bool>(*ctx.inputs[2].as<const element::Bool>()), a.number("growth_factor"),
                    a.number("backoff_factor"), a.integer("growth_interval"));
}

// The learning rate

void inferRate(InferContext& ctx) {
    needScalar(ctx, 0);
    needScalar(ctx, 1);
    const std::string& name = ctx.attributes().text("schedule");
    const bool needsEnd = name == "cosine" || name == "one_cycle";
    if (needsEnd && ctx.attributes().integer("total_steps") <= ctx.attributes().integer("warmup_steps"))
        ctx.fail("attribute", -1,
                 fmt::format("the schedule {} needs its length: set total_steps above warmup_steps, {}", name,
                             ctx.attributes().integer("warmup_steps")));
    ctx.output(0, {dtypeOf(ctx.attributes(), "dtype"), Shape{}});
}

void rateKernel(const KernelContext& ctx) {
    const std::int64_t steps = *ctx.inputs[0].as<const std::int64_t>();
    double rate = scheduleRule(ctx.attributes).at(steps);
    if (ctx.inputs.size() > 1 && ctx.inputs[1].data) rate *= numberAt(ctx, 1);
    withFloat(ctx.outputs[0].dtype,
              [&](auto zero) { *ctx.outputs[0].as<decltype(zero)>() = static_cast<decltype(zero)>(rate); });
}

Cost updateCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    Cost cost = streamingCost(inputs, outputs, 2 * static_cast<double>(kWorkPerElement));
    cost.dtype = outputs[0].dtype;
    return cost;
}

Op makeUpdate(std::string name, std::string doc, std::string formula, std::vector<PortSpec> inputs,
              std::vector<int> updates, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Training", 0, std::move(doc), std::move(formula));
    op.inputs = std::move(inputs);
    op.updates = std::move(updates);
    for (const int input : op.updates) {
        PortSpec output = op.inputs[static_cast<std::size_t>(input)];
        output.name = "new_" + output.name;
        output.argument.clear();
        op.outputs.push_back(std::move(output));
    }
    op.infer = inferUpdated;
    op.cost = updateCost;
    op.kernel = kernel;
    op.noGradient = "writes its inputs in place";
    return op;
}

PortSpec skipPort() { return optionalPort("skip", "found_inf", kBool); }
PortSpec state(const char* name) { return port(name, "", kParameters, "T"); }
PortSpec optionalState(const char* name) { return optionalPort(name, "", kParameters, "T"); }

/// An optimizer's step. `readsStep`: it reads the number of the step.
Op makeStep(std::string name, std::string doc, std::string formula, double rate, bool readsStep,
            const std::vector<PortSpec>& states, HostKernel kernel) {
    std::vector<PortSpec> inputs{port("parameter", "param", kParameters, "T"),
                                 port("gradient", "grad", kParameters, "T"),
                                 optionalPort("lr", "lr", kParameters), skipPort(),
                                 optionalPort("grad_scale", "grad_scale", kParameters)};
    if (readsStep) inputs.push_back(port("step", "step", DTypeSet{DType::i64}));
    std::vector<int> updates{0};
    for (const PortSpec& one : states) {
        updates.push_back(static_cast<int>(inputs.size()));
        inputs.push_back(one);
    }
    Op op = makeUpdate(std::move(name), std::move(doc), std::move(formula), std::move(inputs),
                       std::move(updates), kernel);
    op.infer = inferStep;
    op.attributes = {
        numberAttribute("lr", rate, "Learning rate if lr is not connected"),
        numberAttribute("weight_decay", 0, "L2 penalty: weight_decay · parameter is added to the gradient")};
    op.tolerance = {1e-5, 1e-6};
    return op;
}

AttributeSpec betaOf(const char* name, double value, const char* doc) {
    AttributeSpec beta = numberAttribute(name, value, doc);
    beta.minimum = 0;
    beta.maximum = 1;
    return beta;
}

AttributeSpec count(const char* name, std::int64_t value, const char* doc) {
    AttributeSpec spec = integerAttribute(name, value, doc);
    spec.minimum = 0;
    return spec;
}

constexpr const char* kDecoupled = "Decoupled weight decay: lr · weight_decay · parameter is subtracted";

void addAdam(std::vector<Op>& table, const char* name, const char* doc, double weightDecay,
             HostKernel kernel) {
    Op adam = makeStep(name, doc, "m′ = β₁m + (1 − β₁)g; v′ = β₂v + (1 − β₂)g²; p′ = p − lr · m̂ / (√v̂ + eps)",
                       0.001, true, {state("exp_avg"), state("exp_avg_sq")}, kernel);
    adam.attributes[1].defaultValue = weightDecay;
    if (weightDecay != 0) adam.attributes[1].doc = kDecoupled;
    adam.attributes.push_back(betaOf("beta1", 0.9, "Decay of the running mean of gradients"));
    adam.attributes.push_back(betaOf("beta2", 0.999, "Decay of the running mean of squares"));
    adam.attributes.push_back(numberAttribute("eps", 1e-8, "Added to the divisor to avoid a division by 0"));
    table.push_back(std::move(adam));
}

void addOptimizerSteps(std::vector<Op>& table) {
    Op sgd = makeStep("SGDUpdate", "A step of torch.optim.SGD, in place", "v′ = μv + g; p′ = p − lr · v′",
                      0.01, false, {optionalState("momentum_buffer")}, sgdKernel);
    sgd.attributes.push_back(numberAttribute("momentum", 0, "Decay of the momentum; 0: none"));
    sgd.attributes.push_back(flagAttribute("nesterov", false, "Nesterov momentum"));
    table.push_back(std::move(sgd));

    addAdam(table, "AdamUpdate", "A step of torch.optim.Adam, in place", 0, adamKernel<false>);
    addAdam(table, "AdamWUpdate", "A step of torch.optim.AdamW, in place: Adam with decoupled weight decay",
            0.01, adamKernel<true>);

    Op rmsProp = makeStep("RMSpropUpdate", "A step of torch.optim.RMSprop, in place",
                          "v′ = αv + (1 − α)g²; p′ = p − lr · g / (√v′ + eps)", 0.01, false,
                          {state("square_avg"), optionalState("momentum_buffer"), optionalState("grad_avg")},
                          rmsPropKernel);
    rmsProp.attributes.push_back(betaOf("alpha", 0.99, "Decay of the running mean of squares"));
    rmsProp.attributes.push_back(
        numberAttribute("eps", 1e-8, "Added to the divisor to avoid a division by 0"));
    rmsProp.attributes.push_back(numberAttribute("momentum", 0, "Decay of the momentum; 0: none"));
    rmsProp.attributes.push_back(flagAttribute("centered", false, "Divide by the standard deviation"));
    table.push_back(std::move(rmsProp));

    Op adagrad =
        makeStep("AdagradUpdate", "A step of torch.optim.Adagrad, in place",
                 "s′ = s + g²; p′ = p − lr · g / (√s′ + eps)", 0.01, true, {state("sum")}, adagradKernel);
    adagrad.attributes.push_back(numberAttribute("lr_decay", 0, "Decay of the learning rate per step"));
    adagrad.attributes.push_back(
        numberAttribute("eps", 1e-10, "Added to the divisor to avoid a division by 0"));
    table.push_back(std::move(adagrad));

    Op lion = makeStep("LionUpdate", "A step of Lion, in place: the sign of a running mean",
                       "p′ = p − lr · sign(β₁m + (1 − β₁)g); m′ = β₂m + (1 − β₂)g", 0.0001, false,
                       {state("exp_avg")}, lionKernel);
    lion.attributes[1].doc = kDecoupled;
    lion.attributes.push_back(betaOf("beta1", 0.9, "Weight of the running mean in the step"));
    lion.attributes.push_back(betaOf("beta2", 0.99, "Decay of the running mean"));
    table.push_back(std::move(lion));
}

/// Sets the types of an update that reads one tensor of the parameter's shape, and a scalar that can skip it.
void inferFromValue(InferContext& ctx) {
    needShapeOfParameter(ctx, 1);
    needScalar(ctx, 2);
    inferUpdated(ctx);
}

} // namespace

void addUpdates(std::vector<Op>& table) {
    addOptimizerSteps(table);

    Op assign = makeUpdate("Assign", "Writes a tensor into a parameter, in place", "target′ = value",
                           {port("target", "self", kAll, "T"), port("value", "src", kAll, "T"), skipPort()},
                           {0}, assignKernel);
    assign.infer = inferFromValue;
    table.push_back(std::move(assign));

    Op average = makeUpdate("AverageUpdate", "Exponential moving average of a parameter, in place",
                            "average′ = decay · average + (1 − decay) · value",
                            {state("average"), state("value"), skipPort()}, {0}, averageKernel);
    average.attributes = {betaOf("decay", 0.999, "Weight of the average")};
    average.infer = inferFromValue;
    average.tolerance = {1e-6, 1e-30};
    table.push_back(std::move(average));

    Op counter = makeUpdate("StepUpdate", "Counts the steps of an optimizer, in place", "step′ = step + 1",
                            {port("step", "step", DTypeSet{DType::i64}), skipPort()}, {0}, countKernel);
    counter.infer = [](InferContext& ctx) {
        needScalar(ctx, 0);
        needScalar(ctx, 1);
        inferUpdated(ctx);
    };
    table.push_back(std::move(counter));

    Op scale = makeUpdate("ScaleUpdate", "Updates the loss scale of mixed precision, as torch.amp.GradScaler",
                          "scale′ = overflow ? scale · backoff_factor : scale",
                          {port("scale", "", DTypeSet{DType::f32}),
                           port("growth_tracker", "", DTypeSet{DType::i32}), port("found_inf", "", kBool)},
                          {0, 1}, scaleKernel);
    scale.attributes = {numberAttribute("growth_factor", 2, "Factor after growth_interval good steps"),
                        numberAttribute("backoff_factor", 0.5, "Factor after an overflow"),
                        count("growth_interval", 2000, "Good steps before the scale grows")};
    scale.infer = [](InferContext& ctx) {
        for (int port : {0, 1, 2}) needScalar(ctx, port);
        inferUpdated(ctx);
    };
    table.push_back(std::move(scale));

    Op record = makeUpdate("Record", "Writes a number of each iteration into a tensor, in place",
                           "record′[iteration mod n] = value",
                           {port("record", "", kParameters), port("value", "", kFloats)}, {0}, recordKernel);
    record.infer = [](InferContext& ctx) {
        needScalar(ctx, 1);
        inferUpdated(ctx);
    };
    record.readsIteration = true;
    table.push_back(std::move(record));

    Op rate = makeOp("LearningRate", "Training", 0, "The learning rate of the next step, by a schedule",
                     "Y = lr · schedule(step)");
    rate.inputs = {port("step", "", DTypeSet{DType::i64}), optionalPort("factor", "", kParameters)};
    rate.outputs = {port("lr", "", kParameters)};
    rate.attributes = {
        numberAttribute("lr", 0.001, "Learning rate before the schedule; of one_cycle: the highest"),
        choiceAttribute("schedule", "constant", {"constant", "step", "exponential", "cosine", "one_cycle"},
                        "Course over the steps, as in torch.optim.lr_scheduler"),
        count("warmup_steps", 0, "Steps of linear warm-up before the schedule starts"),
        betaOf("warmup_start", 0, "Factor at the start of the warm-up"),
        count("total_steps", 0, "Steps until the end of cosine or one_cycle, with the warm-up"),
        count("step_size", 1000, "Steps between two decays of step"),
        numberAttribute("gamma", 0.1, "Factor of a decay of step or exponential"),
        numberAttribute("eta_min", 0, "Last learning rate of cosine"),
        betaOf("pct_start", 0.3, "Share of the steps of one_cycle that rise"),
        numberAttribute("div_factor", 25, "one_cycle starts at lr / div_factor"),
        numberAttribute("final_div_factor", 1e4, "one_cycle ends at its first rate / final_div_factor"),
        dtypeAttribute("dtype", "f32", kParameters, "Type of the learning rate")};
    rate.attributes[5].minimum = 1;
    rate.infer = inferRate;
    rate.kernel = rateKernel;
    rate.noGradient = "is a number of the optimizer";
    table.push_back(std::move(rate));

    describe(table, "SGDUpdate", "gradient and state have the shape of parameter",
             {operand({4}), operand({4})});
    describe(table, "AdamUpdate", "gradient and state have the shape of parameter; step is a scalar",
             {operand({4}), operand({4}), std::nullopt, std::nullopt, std::nullopt,
              operand(Shape{}, {1}, DType::i64), operand({4}, {0.0}), operand({4}, {0.0})});
    describe(table, "AdamWUpdate", "gradient and state have the shape of parameter; step is a scalar",
             {operand({4}), operand({4}), std::nullopt, std::nullopt, std::nullopt,
              operand(Shape{}, {1}, DType::i64), operand({4}, {0.0}), operand({4}, {0.0})});
    describe(table, "RMSpropUpdate", "gradient and state have the shape of parameter",
             {operand({4}), operand({4}), std::nullopt, std::nullopt, std::nullopt, operand({4}, {0.0})});
    describe(table, "AdagradUpdate", "gradient and state have the shape of parameter; step is a scalar",
             {operand({4}), operand({4}), std::nullopt, std::nullopt, std::nullopt,
              operand(Shape{}, {1}, DType::i64), operand({4}, {0.0})});
    describe(table, "LionUpdate", "gradient and state have the shape of parameter",
             {operand({4}), operand({4}), std::nullopt, std::nullopt, std::nullopt, operand({4}, {0.0})});
    describe(table, "Assign", "value has the shape of target", {operand({4}), operand({4})});
    describe(table, "AverageUpdate", "value has the shape of average", {operand({4}), operand({4})});
    describe(table, "StepUpdate", "step is a scalar", {operand(Shape{}, {0}, DType::i64)});
    describe(table, "ScaleUpdate", "All inputs are scalars",
             {operand(Shape{}, {65536.0}), operand(Shape{}, {0}, DType::i32),
              operand(Shape{}, {0}, DType::boolean)});
    describe(table, "Record", "record [n] · value, a scalar → record [n]",
             {operand({8}, {0.0}), operand(Shape{}, {0.5})});
    describe(table, "LearningRate", "step is a scalar → lr, a scalar", {operand(Shape{}, {1}, DType::i64)});
}

} // namespace twb
