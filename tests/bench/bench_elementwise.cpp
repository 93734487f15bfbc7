// Elementwise ops and those along rows on 16 Mi elements of f32, beside their floor: the time in which all
// threads copy as many bytes as the op reads and writes. Prints medians, and the median of the ratios of an
// op's time to that of the copy right after it, since a shared machine's pace changes; the budget is 1.3.
//
//   bench_elementwise [OP...]

#include "backends/cpu/parallel.h"
#include "core/tensor.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using namespace twb;

namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 24;
constexpr std::int64_t kRow = 1024;
constexpr double kBudget = 1.3;
constexpr int kRounds = 15;

double msOf(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The sizes of a tensor.
enum class Sizes : std::uint8_t {
    all,    ///< kElements
    row,    ///< one element per column
    column, ///< one element per row
    one
};

struct Case {
    std::string name;
    std::string op;
    Attributes attributes;
    std::vector<DType> inputs;
    DType output = DType::f32;
    std::vector<Sizes> sizes{}; ///< of the inputs; Sizes::all for those that are missing
    Sizes outputSizes = Sizes::all;
};

Shape shapeOf(Sizes sizes, bool keepsAxes) {
    switch (sizes) {
    case Sizes::row:
        return keepsAxes ? Shape{1, kRow} : Shape{kRow};
    case Sizes::column:
        return Shape{kElements / kRow, 1};
    case Sizes::one:
        return Shape{};
    case Sizes::all:
        break;
    }
    return {kElements / kRow, kRow};
}

Tensor filled(DType dtype, const Shape& shape) {
    Tensor values = Tensor::onHost({DType::f32, shape});
    auto* const data = static_cast<float*>(values.data());
    for (std::int64_t i = 0; i < values.elementCount(); ++i)
        data[i] = 0.05F + 0.9F * static_cast<float>(i % 1009) / 1009;
    if (dtype == DType::f32) return values;
    if (dtype == DType::boolean) // both, in no simple order
        for (std::int64_t i = 0; i < values.elementCount(); ++i)
            data[i] = i * 7919 % 1013 < 506 ? 0.0F : 1.0F;
    const Op& cast = *findOp("Cast");
    Tensor out = Tensor::onHost({dtype, shape});
    const std::vector<TensorView> inputs{values.view()};
    const std::vector<TensorView> outputs{out.view()};
    const Attributes attributes = completeAttributes(cast, {{"to", std::string(name(dtype))}});
    cast.kernel({inputs, outputs, attributes});
    return out;
}

std::vector<Case> cases() {
    std::vector<Case> out;
    for (const char* op :
         {"Exp", "Log", "Sqrt", "Sin", "Cos", "Tanh", "Erf", "Sigmoid", "Gelu", "Swish", "Mish", "Relu",
          "Softplus", "Elu", "Floor", "HardSwish", "Softmax", "LogSoftmax", "Reciprocal"})
        out.push_back({op, op, {}, {DType::f32}});
    out.push_back({"Gelu, tanh", "Gelu", {{"approximate", "tanh"}}, {DType::f32}});
    out.push_back({"Pow", "Pow", {}, {DType::f32, DType::f32}});
    out.push_back(
        {"Pow, one exponent", "Pow", {}, {DType::f32, DType::f32}, DType::f32, {Sizes::all, Sizes::one}});
    out.push_back({"Add", "Add", {}, {DType::f32, DType::f32}});
    for (const char* op : {"Less", "Equal", "GreaterOrEqual"})
        out.push_back({op, op, {}, {DType::f32, DType::f32}, DType::boolean});
    out.push_back({"Where", "Where", {}, {DType::boolean, DType::f32, DType::f32}});
    out.push_back({"LayerNormalization",
                   "LayerNormalization",
                   {},
                   {DType::f32, DType::f32, DType::f32},
                   DType::f32,
                   {Sizes::all, Sizes::row, Sizes::row}});
    out.push_back({"RMSNormalization",
                   "RMSNormalization",
                   {},
                   {DType::f32, DType::f32},
                   DType::f32,
                   {Sizes::all, Sizes::row}});
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax"})
        for (const bool isLast : {true, false})
            out.push_back({fmt::format("{}, {} axis", op, isLast ? "last" : "first"),
                           op,
                           {{"axes", std::vector<std::int64_t>{isLast ? 1 : 0}}},
                           {DType::f32},
                           DType::f32,
                           {},
                           isLast ? Sizes::column : Sizes::row});
    out.push_back({"Cast to f16", "Cast", {{"to", "f16"}}, {DType::f32}, DType::f16});
    out.push_back({"Cast to bf16", "Cast", {{"to", "bf16"}}, {DType::f32}, DType::bf16});
    out.push_back({"Cast from f16", "Cast", {{"to", "f32"}}, {DType::f16}});
    out.push_back({"Cast from bf16", "Cast", {{"to", "f32"}}, {DType::bf16}});
    return out;
}

void run(const Case& c) {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
        tensors.push_back(filled(c.inputs[i], shapeOf(i < c.sizes.size() ? c.sizes[i] : Sizes::all, false)));
    Tensor output = Tensor::onHost({c.output, shapeOf(c.outputSizes, true)});
    std::vector<TensorView> inputs;
    std::int64_t bytes = output.byteCount();
    for (const Tensor& tensor : tensors) {
        inputs.push_back(tensor.view());
        bytes += tensor.byteCount();
    }
    const Op& op = *findOp(c.op);
    const Attributes attributes = completeAttributes(op, c.attributes);
    std::vector<TensorView> outputs{output.view()};
    outputs.resize(op.outputs.size()); // optional ones are not connected
    const auto compute = [&] { op.kernel({inputs, outputs, attributes}); };

    // A copy of half the bytes moves as many as the op.
    const std::int64_t half = bytes / 2;
    std::vector<char> from(static_cast<std::size_t>(half), 1);
    std::vector<char> to(static_cast<std::size_t>(half));
    const auto copy = [&] {
        parallelRanges(half, half, 4096, [&](std::int64_t begin, std::int64_t end) {
            std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
        });
    };
    compute();
    copy();
    std::vector<double> times;
    std::vector<double> floors;
    std::vector<double> ratios;
    for (int round = 0; round < kRounds; ++round) {
        times.push_back(msOf(compute));
        floors.push_back(msOf(copy));
        ratios.push_back(times.back() / floors.back());
    }
    const auto median = [](std::vector<double> values) {
        std::ranges::nth_element(values, values.begin() + kRounds / 2);
        return values[kRounds / 2];
    };
    const double ratio = median(ratios);
    fmt::print("{:<24} {:8.2f} ms   floor {:7.2f} ms   {:5.2f} ×{}\n", c.name, median(times), median(floors),
               ratio, ratio > kBudget ? "   OVER 1.3" : "");
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> wanted(argv + 1, argv + argc);
    for (const Case& c : cases())
        if (wanted.empty() || std::ranges::find(wanted, c.op) != wanted.end()) run(c);
    return 0;
}
