#include "ops/input_errors.h"

#include "ops/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace twb {
namespace {

InferError missing(const PortSpec& spec, int port) {
    const std::string also = spec.argument.empty() || spec.argument == spec.name
                                 ? std::string()
                                 : fmt::format(" ({})", spec.argument);
    return {"missing-input", port,
            fmt::format("input {}{} is missing: connect a tensor to it", spec.name, also)};
}

InferError notTaken(const Op& op, const PortSpec& spec, int port, DType dtype) {
    std::optional<DType> wanted;
    for (DType usual : {DType::f32, DType::i64, DType::boolean})
        if (!wanted && spec.types.contains(usual)) wanted = usual;
    return {"dtype-mismatch", port,
            fmt::format("{} is not implemented for {}: its input {} takes {}", op.name, name(dtype),
                        spec.name, fmt::join(namesOf(spec.types), ", ")),
            wanted};
}

std::string_view wordFor(const PortSpec& port) { return port.argument.empty() ? port.name : port.argument; }

InferError mixed(const Op& op, int first, DType firstDType, int second, DType secondDType) {
    const MixedInputs inputs{wordFor(op.inputAt(first)), wordFor(op.inputAt(second)), firstDType,
                             secondDType};
    return {"dtype-mismatch", second,
            op.mixedInputs
                ? op.mixedInputs(inputs)
                : fmt::format("{} and {} must have the same dtype, but got {} and {}; PyTorch would promote "
                              "them, but here you must insert a Cast",
                              inputs.first, inputs.second, torchScalarName(firstDType),
                              torchScalarName(secondDType)),
            firstDType};
}

} // namespace

std::vector<InferError> inputErrors(const Op& op, std::span<const TensorType* const> inputs) {
    std::vector<InferError> out;
    const auto taken = [&](int port) -> const TensorType* {
        const auto i = static_cast<std::size_t>(port);
        const TensorType* type = i < inputs.size() ? inputs[i] : nullptr;
        return type && op.inputAt(port).types.contains(type->dtype) ? type : nullptr;
    };
    const std::size_t count = op.isVariadic() ? std::max(inputs.size(), op.inputs.size()) : op.inputs.size();
    for (int port = 0; port < static_cast<int>(count); ++port) {
        const PortSpec& spec = op.inputAt(port);
        const auto i = static_cast<std::size_t>(port);
        if (i >= inputs.size() || !inputs[i]) {
            if (!spec.optional) out.push_back(missing(spec, port));
            continue;
        }
        const DType dtype = inputs[i]->dtype;
        if (!taken(port)) {
            out.push_back(notTaken(op, spec, port, dtype));
            continue;
        }
        if (spec.typeVariable.empty()) continue;
        int first = 0;
        while (op.inputAt(first).typeVariable != spec.typeVariable || !taken(first)) ++first;
        if (taken(first)->dtype != dtype) out.push_back(mixed(op, first, taken(first)->dtype, port, dtype));
    }
    return out;
}

} // namespace twb
