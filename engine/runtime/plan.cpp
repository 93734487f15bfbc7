#include "runtime/plan.h"

namespace twb {

std::string_view name(TransferKind kind) noexcept {
    switch (kind) {
    case TransferKind::explicitTo:
        return "explicit";
    case TransferKind::implicitTo:
        return "implicit";
    case TransferKind::collective:
        return "collective";
    case TransferKind::staging:
        return "staging";
    }
    return {};
}

std::vector<std::uint32_t> Plan::stepsOf(NodeId node) const {
    std::vector<std::uint32_t> out;
    for (const Step& step : steps)
        if (step.node == node) out.push_back(step.index);
    return out;
}

std::uint32_t Plan::valueOf(PortRef output) const noexcept {
    const auto at = valuesOfNode.find(output.node);
    const auto port = static_cast<std::size_t>(output.port);
    return at != valuesOfNode.end() && output.port >= 0 && port < at->second.size() ? at->second[port]
                                                                                    : kNone;
}

std::size_t Plan::bytesOn(Device device, std::int64_t iterations) const {
    std::vector<bool> isUsed(slots.size(), true);
    if (iterations > 0)
        for (const PlanValue& value : values)
            for (std::size_t lap = static_cast<std::size_t>(iterations); value.ahead && lap < inFlight; ++lap)
                isUsed[value.slot + lap] = false;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (isUsed[i] && slots[i].device == device) bytes += slots[i].bytes;
    return bytes;
}

} // namespace twb
