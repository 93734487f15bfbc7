#include "placement/step_transfers.h"

#include "core/error.h"
#include "ops/op_table.h"

#include <algorithm>
#include <array>

namespace twb {
namespace {

/// Aten ops that the CPU waits for, because it needs a size or a number that depends on values.
constexpr std::array<std::string_view, 14> kWaits{"aten::nonzero",
                                                  "aten::masked_select",
                                                  "aten::_unique",
                                                  "aten::_unique2",
                                                  "aten::unique_dim",
                                                  "aten::unique_consecutive",
                                                  "aten::unique_dim_consecutive",
                                                  "aten::is_nonzero",
                                                  "aten::equal",
                                                  "aten::allclose",
                                                  "aten::bincount",
                                                  "aten::multinomial",
                                                  "aten::repeat_interleave",
                                                  "aten::_linalg_check_errors"};
/// These, if an operand is a mask.
constexpr std::array<std::string_view, 4> kMaskSized{"aten::index", "aten::index_put", "aten::index_put_",
                                                     "aten::_index_put_impl_"};

bool contains(const auto& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

bool isOpaqueSync(const Analysis& analysis, const NodeFacts& facts) {
    const AttributeValue* attribute = facts.attributes.find("target");
    const auto* target = attribute ? std::get_if<std::string>(attribute) : nullptr;
    if (!target) return false;
    if (target->starts_with("torch.cuda.") || contains(kWaits, *target)) return true;
    if (!contains(kMaskSized, *target)) return false;
    return std::any_of(facts.inputs.begin(), facts.inputs.end(), [&](const auto& from) {
        const auto type = from ? analysis.typeOf(*from) : std::nullopt;
        return type && type->dtype == DType::boolean && type->shape.rank() > 0;
    });
}

} // namespace

bool isSync(const Graph& graph, const Analysis& analysis, const NodeFacts& facts) {
    if (!facts.op || facts.disabled) return false;
    if (facts.op->role == OpRole::transfer) {
        const NodeFacts* source =
            !facts.inputs.empty() && facts.inputs[0] ? analysis.find(facts.inputs[0]->node) : nullptr;
        return source && !source->device.isCpu() && facts.device == source->device.host() &&
               !facts.attributes.flag("non_blocking");
    }
    if (facts.device.isCpu() || facts.op->role != OpRole::compute) return false;
    const Node* node = graph.find(facts.id);
    if (node && node->op == "Opaque") return isOpaqueSync(analysis, facts);
    const auto isKnown = [&](const std::optional<TensorType>& type) { return type && type->isKnown(); };
    return std::any_of(facts.outputs.begin(), facts.outputs.end(),
                       [&](const auto& type) { return type && !type->isKnown(); }) &&
           std::all_of(facts.inputs.begin(), facts.inputs.end(),
                       [&](const auto& from) { return !from || isKnown(analysis.typeOf(*from)); });
}

std::vector<StepTransfer> stepTransfers(const Graph& graph, const Analysis& analysis) {
    std::vector<StepTransfer> out;
    for (const NodeFacts& facts : analysis.nodes) {
        const Node* node = graph.find(facts.id);
        if (!node || !facts.op || facts.disabled || graph.runsOnce(*node)) continue;
        StepTransfer transfer;
        transfer.node = facts.id;
        transfer.from = transfer.to = facts.device;
        transfer.isSync = isSync(graph, analysis, facts);
        const bool isCopy = facts.op->role == OpRole::transfer && !facts.inputs.empty() && facts.inputs[0];
        if (isCopy) {
            const NodeFacts* source = analysis.find(facts.inputs[0]->node);
            if (!source || source->device == facts.device) continue;
            transfer.from = source->device;
            if (const auto& type = analysis.typeOf(*facts.inputs[0]); type && type->isKnown()) {
                try {
                    transfer.bytes = static_cast<std::uint64_t>(type->byteCount());
                } catch (const Error&) {
                    // Too large: a diagnostic says so.
                }
            }
        } else if (!transfer.isSync) {
            continue;
        }
        out.push_back(transfer);
    }
    for (const ImplicitCopy& copy : analysis.implicitCopies) {
        const NodeFacts* source = analysis.find(copy.from.node);
        if (source && !copy.hoisted)
            out.push_back({copy.edges.front().to.node, source->device, copy.target, copy.price.bytes,
                           copy.target == source->device.host()});
    }
    return out;
}

std::optional<bool> convertsFirst(const DeviceMap& devices, Device source, Device target, DType before,
                                  DType after) {
    const Op& cast = *findOp("Cast");
    std::vector<DType> dtypes{before};
    if (isNarrow(after)) dtypes.push_back(after);
    const auto hasKernel = [&](Device device) {
        const Backend* backend = devices.find(device);
        return !backend || backend->supports(cast.name.c_str(), cast.kernel, dtypes);
    };
    const bool isFirst = bitsOf(after) <= bitsOf(before);
    if (hasKernel(isFirst ? source : target)) return isFirst;
    if (hasKernel(isFirst ? target : source)) return !isFirst;
    return std::nullopt;
}

} // namespace twb
