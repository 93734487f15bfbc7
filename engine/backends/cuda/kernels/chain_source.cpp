#include "backends/cuda/kernels/chain_source.h"

#include "backends/cuda/kernels/chain_headers.h"
#include "backends/cuda/kernels/chain_kernel.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

namespace twb::cuda {
namespace {

static_assert(kChainInputs == kMaxChainInputs);

/// A number as a C++ literal, bit for bit.
std::string literal(double value) { return fmt::format("{:a}", value); }

/// The function of an op, and the attributes that are its parameters.
struct Spelling {
    std::string_view function;
    int operands = 1;
    std::array<std::string_view, 2> parameters{};
};

const Spelling* spellingOf(std::string_view op) {
    static const std::map<std::string_view, Spelling> all{
        {"Abs", {"Abs"}},
        {"Acos", {"Acos"}},
        {"Acosh", {"Acosh"}},
        {"Add", {"Add", 2}},
        {"Asin", {"Asin"}},
        {"Asinh", {"Asinh"}},
        {"Atan", {"Atan"}},
        {"Atanh", {"Atanh"}},
        {"Ceil", {"Ceil"}},
        {"Celu", {"Celu", 1, {"alpha"}}},
        {"Cos", {"Cos"}},
        {"Cosh", {"Cosh"}},
        {"Div", {"Div", 2}},
        {"Elu", {"Elu", 1, {"alpha"}}},
        {"Erf", {"Erf"}},
        {"Exp", {"Exp"}},
        {"Floor", {"Floor"}},
        {"Gelu", {"GeluErf"}},
        {"HardSigmoid", {"HardSigmoid", 1, {"alpha", "beta"}}},
        {"HardSwish", {"HardSwish"}},
        {"LeakyRelu", {"LeakyRelu", 1, {"alpha"}}},
        {"Log", {"Log"}},
        {"Max", {"Max", 2}},
        {"Min", {"Min", 2}},
        {"Mish", {"Mish"}},
        {"Mul", {"Mul", 2}},
        {"Neg", {"Neg"}},
        {"PRelu", {"PRelu", 2}},
        {"Reciprocal", {"Reciprocal"}},
        {"Relu", {"Relu"}},
        {"Round", {"Round"}},
        {"Selu", {"Selu", 1, {"alpha", "gamma"}}},
        {"Shrink", {"Shrink", 1, {"bias", "lambd"}}},
        {"Sigmoid", {"Sigmoid"}},
        {"Sign", {"Sign"}},
        {"Sin", {"Sin"}},
        {"Sinh", {"Sinh"}},
        {"Softplus", {"Softplus"}},
        {"Softsign", {"Softsign"}},
        {"Sqrt", {"Sqrt"}},
        {"Sub", {"Sub", 2}},
        {"Swish", {"Swish", 1, {"alpha"}}},
        {"Tan", {"Tan"}},
        {"Tanh", {"Tanh"}},
        {"ThresholdedRelu", {"ThresholdedRelu", 1, {"alpha"}}},
    };
    const auto found = all.find(op);
    return found == all.end() ? nullptr : &found->second;
}

/// The op's function as an expression; nothing if it has none, or if a parameter is not a literal.
std::optional<std::string> functionOf(std::string_view op, const Attributes& attributes) {
    const Spelling* const spelling = spellingOf(op);
    if (!spelling) return std::nullopt;
    const bool isTanh = op == "Gelu" && attributes.text("approximate") == "tanh";
    std::string out = fmt::format("element::{}{{", isTanh ? "GeluTanh" : spelling->function);
    for (const std::string_view name : spelling->parameters) {
        if (name.empty()) break;
        const double value = attributes.number(name);
        if (!std::isfinite(value)) return std::nullopt;
        out += (out.back() == '{' ? "" : ", ") + literal(value);
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
        if (spellingOf(member.op)->operands == 1) value = fmt::format("{}({})", function, value);
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
