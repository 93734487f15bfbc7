#include "backends/cuda/kernels/chain_source.h"

#include "backends/cuda/kernels/chain_headers.h"
#include "backends/cuda/kernels/chain_kernel.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace twb::cuda {
namespace {

static_assert(kChainInputs == kMaxChainInputs);

/// A number as a C++ literal, bit for bit.
std::string literal(double value) { return fmt::format("{:a}", value); }

/// The op's function as an expression; nothing if it has none, or if a parameter is not a literal.
std::optional<std::string> functionOf(std::string_view name, const Attributes& attributes) {
    const Op* const op = findOp(name);
    if (!op || op->element.name.empty()) return std::nullopt;
    std::string out = fmt::format("element::{}{{", op->element.name);
    for (const std::string_view parameter : op->element.parameters) {
        if (parameter.empty()) break;
        if (out.back() != '{') out += ", ";
        const AttributeSpec& spec = *op->attribute(parameter);
        if (spec.type == AttributeType::enumeration) {
            const auto choice =
                std::find(spec.choices.begin(), spec.choices.end(), attributes.text(parameter));
            out += std::to_string(choice - spec.choices.begin());
            continue;
        }
        const double value = attributes.number(parameter);
        if (!std::isfinite(value)) return std::nullopt;
        out += literal(value);
    }
    return out + "}";
}

struct Types {
    std::string_view stored, wide;
};

std::optional<Types> typesOf(DType dtype) {
    switch (dtype) {
    case DType::f16:
        return Types{"Half", "float"};
    case DType::bf16:
        return Types{"BFloat16", "float"};
    case DType::f32:
        return Types{"float", "float"};
    case DType::f64:
        return Types{"double", "double"};
    default:
        return std::nullopt;
    }
}

/// The number of elements of a pack that the code computes together: fewer for a long chain, since each
/// repeats its code and compilation time.
std::size_t elementsTogether(const OpChain& chain, DType dtype) {
    constexpr std::size_t most = 32; // functions
    std::size_t count = kChainBytes / sizeOf(dtype);
    while (count > 1 && count * chain.members.size() > most) count /= 2;
    return count;
}

} // namespace

bool isChainMember(const char* op, const Attributes& attributes, DType dtype) {
    return typesOf(dtype) && functionOf(op, attributes);
}

std::string chainSource(const OpChain& chain, DType dtype) {
    const Types types = typesOf(dtype).value();
    std::string out(chainHeaders());
    out += fmt::format("\nnamespace {{\n\nusing namespace twb;\nusing T = {};\nusing W = {};\n\n"
                       "struct Chain {{\n    TWB_HOST_DEVICE T operator()(const T* x) const {{\n",
                       types.stored, types.wide);
    const auto operand = [&](std::size_t k) {
        return k < chain.inputs ? fmt::format("x[{}]", k) : fmt::format("y{}", k - chain.inputs);
    };
    for (std::size_t m = 0; m < chain.members.size(); ++m) {
        const OpChain::Member& member = chain.members[m];
        // Max and Min take any number of inputs: the first two, then the result and the next.
        std::string value = fmt::format("element::cast<W>({})", operand(member.operands.at(0)));
        const std::string function = functionOf(member.op, member.attributes).value();
        if (findOp(member.op)->inputAt(1).name.empty()) value = fmt::format("{}({})", function, value);
        for (std::size_t k = 1; k < member.operands.size(); ++k)
            value = fmt::format("{}({}, element::cast<W>({}))", function, value, operand(member.operands[k]));
        out += fmt::format("        const T y{} = element::cast<T>({});\n", m, value);
    }
    out += fmt::format("        return y{};\n    }}\n}};\n\n}} // namespace\n\n", chain.members.size() - 1);
    out += fmt::format(R"(#if defined(__CUDACC__)
extern "C" __global__ void __launch_bounds__({1}) chain(const twb::cuda::ChainLaunch launch) {{
    const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * {1} + threadIdx.x;
    twb::cuda::runChain<T, {0}, {2}>(launch, thread, static_cast<std::int64_t>(gridDim.x) * {1}, Chain{{}});
}}
#else
extern "C" void runChainOnHost(const twb::cuda::ChainLaunch* launch) {{
    twb::cuda::runChain<T, {0}, {2}>(*launch, 0, 1, Chain{{}});
}}
#endif
)",
                       chain.inputs, kChainThreads, elementsTogether(chain, dtype));
    return out;
}

} // namespace twb::cuda
