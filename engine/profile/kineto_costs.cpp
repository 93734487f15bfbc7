#include "profile/kineto_costs.h"

#include "core/dtype.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

namespace twb {
namespace {

using nlohmann::json;
using Dims = std::vector<std::int64_t>;

constexpr double kMostElements = 1e15;

/// A tensor argument.
struct Operand {
    Dims dims;
    DType dtype = DType::f32;

    double elements() const {
        return std::accumulate(dims.begin(), dims.end(), 1.0,
                               [](double n, std::int64_t d) { return n * double(d); });
    }
    double bytes() const { return elements() * bitsOf(dtype) / 8.0; }
};

/// The dtypes of tensors, as the profiler writes them; scalars have other names.
std::optional<DType> dtypeNamed(std::string_view name) {
    static const std::map<std::string_view, DType> kNames{
        {"float", DType::f32},          {"double", DType::f64},     {"c10::Half", DType::f16},
        {"c10::BFloat16", DType::bf16}, {"long int", DType::i64},   {"int", DType::i32},
        {"short int", DType::i16},      {"signed char", DType::i8}, {"unsigned char", DType::u8},
        {"bool", DType::boolean},       {"long", DType::i64},       {"long long", DType::i64}};
    const auto found = kNames.find(name);
    return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

/// The argument `at`, if it is a tensor.
std::optional<Operand> operandAt(const json& shapes, const json& types, std::size_t at) {
    if (!shapes.is_array() || !types.is_array() || at >= shapes.size() || at >= types.size()) return {};
    if (!types[at].is_string() || !shapes[at].is_array()) return {};
    const auto dtype = dtypeNamed(types[at].get_ref<const std::string&>());
    if (!dtype) return {};
    Operand out{{}, *dtype};
    for (const json& dim : shapes[at]) {
        if (!dim.is_number_unsigned()) return {};
        out.dims.push_back(dim.get<std::int64_t>());
    }
    if (!(out.elements() < kMostElements)) return {};
    return out;
}

/// "[1, 1]" as numbers.
std::optional<Dims> numbers(const json& values, std::size_t at) {
    if (!values.is_array() || at >= values.size() || !values[at].is_string()) return {};
    const json list = json::parse(values[at].get_ref<const std::string&>(), nullptr, false);
    if (!list.is_array()) return {};
    Dims out;
    for (const json& each : list) {
        if (!each.is_number_integer()) return {};
        out.push_back(each.get<std::int64_t>());
    }
    return out;
}

Cost productCost(double flops, std::initializer_list<const Operand*> read, double writtenElements) {
    Cost cost;
    cost.flops = flops;
    cost.dtype = (*read.begin())->dtype;
    for (const Operand* operand : read) cost.bytes += operand->bytes();
    cost.bytes += writtenElements * bitsOf(cost.dtype) / 8.0;
    return cost;
}

/// Matrices whose inner sizes fit, with an equal number of batches.
std::optional<Cost> matmulCost(const std::optional<Operand>& a, const std::optional<Operand>& b,
                               std::size_t rank) {
    if (!a || !b || a->dims.size() != rank || b->dims.size() != rank) return {};
    const std::size_t n = rank - 2;
    if (a->dims[n + 1] != b->dims[n] || (n == 1 && a->dims[0] != b->dims[0])) return {};
    const double columns = static_cast<double>(b->dims[n + 1]);
    const double rows = a->elements() / std::max<double>(static_cast<double>(a->dims[n + 1]), 1);
    return productCost(2 * a->elements() * columns, {&*a, &*b}, rows * columns);
}

/// `first`: the index of stride, padding and dilation among the arguments. Of transposed convolutions nothing
/// is known.
std::optional<Cost> convolutionCost(const json& shapes, const json& types, const json& values,
                                    std::size_t stride, std::size_t padding, std::size_t dilation) {
    const auto x = operandAt(shapes, types, 0);
    const auto w = operandAt(shapes, types, 1);
    const auto steps = numbers(values, stride);
    const auto pads = numbers(values, padding);
    const auto spread = numbers(values, dilation);
    if (!x || !w || !steps || !pads || !spread || x->dims.size() < 3 || x->dims.size() != w->dims.size())
        return {};
    double elements = static_cast<double>(x->dims[0]) * static_cast<double>(w->dims[0]);
    for (std::size_t i = 2; i < x->dims.size(); ++i) {
        const auto at = [i](const Dims& list) -> std::optional<std::int64_t> {
            if (list.empty()) return {};
            const std::int64_t value = list[std::min(i - 2, list.size() - 1)];
            return value < 0 || value > 1'000'000 ? std::nullopt : std::optional(value);
        };
        const auto step = at(*steps);
        const auto pad = at(*pads);
        const auto each = at(*spread);
        if (!step || *step == 0 || !pad || !each || x->dims[i] > 1'000'000'000 || w->dims[i] > 1'000'000'000)
            return {};
        const std::int64_t size = x->dims[i] + 2 * *pad - *each * (w->dims[i] - 1) - 1;
        if (size < 0) return {};
        elements *= static_cast<double>(size / *step + 1);
    }
    const double perOutput = w->elements() / std::max<double>(static_cast<double>(w->dims[0]), 1);
    return productCost(2 * elements * perOutput, {&*x, &*w}, elements);
}

/// Reads each tensor once and writes the largest once, for ops without much arithmetic.
std::optional<Cost> elementwiseCost(const json& shapes, const json& types) {
    Cost cost;
    const Operand* largest = nullptr;
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        if (auto operand = operandAt(shapes, types, i)) operands.push_back(std::move(*operand));
    for (const Operand& operand : operands) {
        cost.bytes += operand.bytes();
        if (!largest || operand.elements() > largest->elements()) largest = &operand;
    }
    if (!largest) return {};
    cost.bytes += largest->bytes();
    cost.flops = largest->elements();
    cost.dtype = largest->dtype;
    return cost;
}

} // namespace

std::optional<OpWork> workOf(const std::string& op, const std::string& shapesText,
                             const std::string& typesText, const std::string& valuesText) {
    static const std::set<std::string_view> kElementwise{
        "aten::add",        "aten::add_", "aten::sub",  "aten::mul",     "aten::mul_",
        "aten::div",        "aten::div_", "aten::relu", "aten::relu_",   "aten::clamp_min",
        "aten::clamp_min_", "aten::gelu", "aten::silu", "aten::sigmoid", "aten::tanh",
        "aten::neg",        "aten::exp",  "aten::sqrt", "aten::rsqrt",   "aten::threshold_backward"};
    const bool isElementwise = kElementwise.contains(op);
    const bool isConvolution = op.find("conv") != std::string::npos;
    const bool isMatmul =
        op == "aten::mm" || op == "aten::addmm" || op == "aten::bmm" || op == "aten::baddbmm";
    if (!isElementwise && !isConvolution && !isMatmul) return {};
    const json shapes = json::parse(shapesText, nullptr, false);
    const json types = json::parse(typesText, nullptr, false);
    if (!shapes.is_array() || !types.is_array()) return {};
    std::optional<Cost> cost;
    if (isElementwise) {
        cost = elementwiseCost(shapes, types);
    } else if (isMatmul) {
        const std::size_t first = op == "aten::addmm" || op == "aten::baddbmm" ? 1 : 0;
        cost = matmulCost(operandAt(shapes, types, first), operandAt(shapes, types, first + 1),
                          op.ends_with("bmm") ? 3 : 2);
    } else {
        const json values = json::parse(valuesText, nullptr, false);
        if (op == "aten::cudnn_convolution" || op == "aten::miopen_convolution")
            cost = convolutionCost(shapes, types, values, 3, 2, 4);
        else if (op == "aten::_conv_depthwise2d")
            cost = convolutionCost(shapes, types, values, 4, 5, 6);
    }
    if (!cost) return {};
    return OpWork{*cost, !isElementwise};
}

std::vector<KnownKernel> knownKernels(const KinetoTrace& trace) {
    // The kernels of each op add up.
    std::map<std::uint32_t, KnownKernel> bySpan;
    for (const GpuActivity& activity : trace.activities) {
        const RuntimeCall* call = trace.callOf(activity);
        if (activity.kind != GpuActivity::Kind::kernel || !call || call->span == RuntimeCall::kNoIndex)
            continue;
        KnownKernel& kernel = bySpan[call->span];
        kernel.device = activity.device;
        kernel.ns += activity.durationNs();
    }
    std::map<std::array<NameId, 4>, std::optional<OpWork>> known; // few ops differ
    std::vector<KnownKernel> out;
    for (auto& [index, kernel] : bySpan) {
        const HostSpan& span = trace.spans[index];
        if (span.shapes == NameId::none || span.types == NameId::none) continue;
        const auto [work, isNew] = known.try_emplace({span.name, span.shapes, span.types, span.values});
        if (isNew)
            work->second = workOf(trace.names.at(span.name), trace.names.at(span.shapes),
                                  trace.names.at(span.types), trace.names.at(span.values));
        if (!work->second || kernel.ns <= 0) continue;
        kernel.cost = work->second->cost;
        kernel.isProduct = work->second->isProduct;
        out.push_back(kernel);
    }
    return out;
}

} // namespace twb
