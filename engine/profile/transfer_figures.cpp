#include "profile/transfer_figures.h"

namespace twb {

std::string_view name(CopyDirection direction) noexcept {
    switch (direction) {
    case CopyDirection::hostToDevice:
        return "host-to-device";
    case CopyDirection::deviceToHost:
        return "device-to-host";
    case CopyDirection::peer:
        return "peer";
    }
    return {};
}

namespace {

TransferFigures figuresOf(const RunReport& report, std::size_t index) {
    const Plan& plan = *report.plan;
    const Transfer& transfer = plan.transfers[index];
    TransferFigures out;
    const CopyRoute route = plan.devices.route(transfer.source, transfer.target);
    out.direction =
        transfer.source.isCpu() || transfer.target.isCpu() ? route.direction : CopyDirection::peer;
    const DeviceProfile& profile = plan.devices.at(route.by).profile();
    const double peak = out.direction == CopyDirection::peer ? profile.peerGBps : profile.linkPinnedGBps;
    if (peak > 0) out.linkPeakGBps = peak;
    const LedgerRow* cost = report.ledger ? &report.ledger->rows()[index] : nullptr;
    if (!cost || cost->count == 0) return out;
    if (out.linkPeakGBps) out.ofPeakPercent = 100 * cost->gbPerSecond() / peak;
    if (cost->waited > 0)
        out.queueWaitNs = static_cast<double>(cost->waitNs) / static_cast<double>(cost->waited);
    if (report.timeline && !transfer.setup && cost->totalNs > 0)
        out.overlapPercent = 100 * static_cast<double>(report.timeline->overlapNs()[index]) /
                             static_cast<double>(cost->totalNs);
    if (!transfer.modelled && transfer.predictedNs > 0)
        out.errorPercent = 100 * (cost->medianNs() / transfer.predictedNs - 1);
    return out;
}

} // namespace

std::vector<TransferFigures> figuresOf(const RunReport& report) {
    std::vector<TransferFigures> out;
    out.reserve(report.plan->transfers.size());
    for (std::size_t i = 0; i < report.plan->transfers.size(); ++i) out.push_back(figuresOf(report, i));
    return out;
}

} // namespace twb
