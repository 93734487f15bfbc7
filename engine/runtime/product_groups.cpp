#include "runtime/step_groups.h"

#include <algorithm>
#include <optional>

namespace twb {
namespace {

/// A contiguous row that is added to each row of a tensor of this shape.
bool isRowOf(const Shape& row, const Shape& shape) {
    const std::int64_t length = shape[shape.rank() - 1];
    return row.rank() >= 1 && row[row.rank() - 1] == length && row.elementCount() == length;
}

bool isUnary(const Step& step) {
    return std::ranges::count_if(step.inputs, [](std::uint32_t v) { return v != kNone; }) == 1;
}

class ProductFinder {
public:
    ProductFinder(const Plan& plan, const std::vector<std::uint32_t>& readers, bool onCpu)
        : m_plan(plan), m_readers(readers), m_isTaken(plan.steps.size(), false),
          m_isConstant(plan.values.size(), false), m_onCpu(onCpu) {
        for (const Step& step : plan.steps)
            for (const std::uint32_t v : step.outputs)
                m_isConstant[v] = step.setup && !plan.values[v].isUpdated;
    }

    /// Starts a group at this step, which is then taken; nothing if the step is launched by itself.
    std::optional<StepGroup> take(const Step& step) {
        std::optional<StepGroup> group = from(step);
        if (group)
            for (const std::uint32_t index : group->steps) m_isTaken[index] = true;
        return group;
    }

private:
    std::optional<StepGroup> from(const Step& step) const {
        if (const Step* const dequantize = dequantizing(step)) return fromBytes(step, *dequantize);
        bool hasRow = false;
        if (!mayShareLaunch(m_plan, step) || !isProduct(step, hasRow)) return std::nullopt;
        // On the cpu, an epilogue can be fused into convolutions and normalisations, and into products with
        // constant weights, which are packed.
        const bool isOnCpu = m_plan.streams[step.stream].device.isCpu();
        const bool isNormalization = step.op->name == "BatchNormalization";
        if (isOnCpu &&
            (!m_onCpu || (step.op->name != "Conv" && !isNormalization && !m_isConstant[step.inputs[1]])))
            return std::nullopt;
        if (isNormalization && !isOnCpu) return std::nullopt;
        StepGroup group{OpChain::Kind::product, {step.index}, {}};
        const Step* last = &step;
        if (const Step* const add = next(*last); add && !hasRow && mayAdd(*add, *last)) {
            group.steps.push_back(add->index);
            last = add;
        }
        if (const Step* const activation = next(*last); activation && isUnary(*activation))
            group.steps.push_back(activation->index);
        if (group.steps.size() < 2) return std::nullopt;
        collectInputs(group);
        return group;
    }

    /// A product of bytes, its conversion to f32, and then any of: a row, a tensor of the result's shape and
    /// an activation.
    StepGroup fromBytes(const Step& product, const Step& dequantize) const {
        constexpr std::size_t kMostSteps = 5;
        StepGroup group{OpChain::Kind::product, {product.index, dequantize.index}, {}};
        const Step* last = &dequantize;
        while (group.steps.size() < kMostSteps) {
            const Step* const after = next(*last);
            if (!after || !(isUnary(*after) || mayAddToBytes(*after, *last))) break;
            group.steps.push_back(after->index);
            last = after;
        }
        collectInputs(group);
        return group;
    }

    /// The step that makes a product of bytes with a constant matrix f32, with one scale or one per column;
    /// null if the two cannot share a launch.
    const Step* dequantizing(const Step& product) const {
        if (!m_onCpu || !product.op || product.op->name != "MatMulInteger" ||
            !isPlainLaunch(m_plan, product) || !m_plan.streams[product.stream].device.isCpu() ||
            !m_isConstant[product.inputs[1]] || shapeOf(product.inputs[1]).rank() != 2 ||
            shapeOf(product.inputs[0]).rank() < 2 ||
            (product.inputs.size() > 3 && product.inputs[3] != kNone))
            return nullptr;
        const std::uint32_t v = product.outputs[0];
        if (m_readers[v] == kNone || !isOnlyPassedOn(m_plan.values[v])) return nullptr;
        const Step& step = m_plan.steps[m_readers[v]];
        if (!step.op || step.op->name != "DequantizeLinear" || m_isTaken[step.index] ||
            step.stream != product.stream || !isPlainLaunch(m_plan, step) || step.inputs[0] != v ||
            (step.inputs.size() > 2 && step.inputs[2] != kNone) ||
            m_plan.values[step.inputs[1]].type.dtype != DType::f32 ||
            m_plan.values[step.outputs[0]].type.dtype != DType::f32)
            return nullptr;
        const Shape& shape = shapeOf(v);
        const Shape& scale = shapeOf(step.inputs[1]);
        const bool isPerColumn =
            scale.rank() == 1 && scale[0] == shape[shape.rank() - 1] &&
            normalizeAxis(step.attributes.integer("axis"), shape.rank()) == shape.rank() - 1;
        const bool isOne = scale.elementCount() == 1;
        return step.attributes.integer("block_size") == 0 && (isPerColumn || isOne) ? &step : nullptr;
    }

    /// The inputs of the group's steps from outside.
    void collectInputs(StepGroup& group) const {
        for (const std::uint32_t index : group.steps)
            for (const std::uint32_t v : m_plan.steps[index].inputs) {
                const bool isInside =
                    std::any_of(group.steps.begin(), group.steps.end(),
                                [&](std::uint32_t other) { return m_plan.steps[other].outputs[0] == v; });
                if (v != kNone && !isInside &&
                    std::find(group.inputs.begin(), group.inputs.end(), v) == group.inputs.end())
                    group.inputs.push_back(v);
            }
    }

    const Shape& shapeOf(std::uint32_t v) const { return m_plan.values[v].type.shape; }

    /// Whether the step is a convolution, a normalisation with given statistics, or a product with one matrix
    /// and at most an added row.
    bool isProduct(const Step& step, bool& hasRow) const {
        if (step.op->name == "Conv") return true;
        if (step.op->name == "BatchNormalization") return !step.attributes.flag("training_mode");
        if (step.op->name == "MatMul") {
            const Shape& a = shapeOf(step.inputs[0]);
            return a.rank() >= 2 && shapeOf(step.inputs[1]).rank() == 2 && a[a.rank() - 1] > 0;
        }
        if (step.op->name != "Gemm") return false;
        const Shape& a = shapeOf(step.inputs[0]);
        if (a[step.attributes.flag("transA") ? 0 : a.rank() - 1] == 0) return false;
        const double beta = step.attributes.number("beta");
        if (step.inputs.size() < 3 || step.inputs[2] == kNone || beta == 0) return true;
        hasRow = true;
        return beta == 1 && isRowOf(shapeOf(step.inputs[2]), shapeOf(step.outputs[0]));
    }

    /// The next step, if the backend can fuse it as an epilogue after `before`.
    const Step* next(const Step& before) const {
        const std::uint32_t v = before.outputs[0];
        if (m_readers[v] == kNone || !isOnlyPassedOn(m_plan.values[v])) return nullptr;
        const Step& step = m_plan.steps[m_readers[v]];
        if (!step.op || m_isTaken[step.index] || step.stream != before.stream ||
            !mayShareLaunch(m_plan, step) || !(shapeOf(step.outputs[0]) == shapeOf(v)))
            return nullptr;
        const Backend& backend = m_plan.devices.at(m_plan.streams[step.stream].device);
        return backend.endsProduct(step.op->name.c_str(), step.attributes, m_plan.values[v].type.dtype)
                   ? &step
                   : nullptr;
    }

    /// A row for a matrix product, a tensor of the result's shape for a convolution.
    bool mayAdd(const Step& add, const Step& product) const {
        if (add.inputs.size() != 2 || product.op->name == "BatchNormalization") return false;
        const std::uint32_t v = product.outputs[0];
        const std::uint32_t other = add.inputs[0] == v ? add.inputs[1] : add.inputs[0];
        if (other == v) return false;
        return product.op->name == "Conv" ? shapeOf(other) == shapeOf(v)
                                          : isRowOf(shapeOf(other), shapeOf(v));
    }

    bool mayAddToBytes(const Step& add, const Step& before) const {
        if (add.op->name != "Add" || add.inputs.size() != 2) return false;
        const std::uint32_t v = before.outputs[0];
        const std::uint32_t other = add.inputs[0] == v ? add.inputs[1] : add.inputs[0];
        return other != v && (shapeOf(other) == shapeOf(v) || isRowOf(shapeOf(other), shapeOf(v)));
    }

    const Plan& m_plan;
    const std::vector<std::uint32_t>& m_readers;
    std::vector<bool> m_isTaken;    ///< by step: two products may meet in one Add
    std::vector<bool> m_isConstant; ///< by value
    const bool m_onCpu;
};

} // namespace

std::vector<StepGroup> productGroups(const Plan& plan, const std::vector<std::uint32_t>& readers,
                                     bool onCpu) {
    ProductFinder finder(plan, readers, onCpu);
    std::vector<StepGroup> groups;
    for (const Step& step : plan.steps)
        if (auto group = finder.take(step)) groups.push_back(std::move(*group));
    return groups;
}

} // namespace twb
