#include "profile/transfer_figures.h"

#include "backends/world.h"

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

TransferFigures figuresOf(const Plan& plan, std::size_t index, const LedgerRow* cost,
                          const RunTimeline* timeline) {
    const Transfer& transfer = plan.transfers[index];
    TransferFigures out;
    const CopyRoute route = plan.devices.route(transfer.source, transfer.target);
    out.kind = transfer.kind;
    const bool isToOther = !transfer.source.sharesRankWith(transfer.target);
    const bool hasHost = !isToOther && (transfer.source.isCpu() || transfer.target.isCpu());
    out.direction = hasHost ? route.direction : CopyDirection::peer;
    out.link = transfer.link;
    out.setup = transfer.setup;
    out.pinned = transfer.pinned;
    out.modelled = transfer.modelled;
    out.predictedNs = transfer.predictedNs;
    const DeviceProfile& profile = plan.devices.at(route.by).profile();
    // A plan from another machine may have been made for another link.
    const LinkProfile& link = plan.devices.link();
    const double peak = isToOther ? (link.name == out.link ? link.gbPerSecond : 0)
                        : out.direction == CopyDirection::peer ? profile.peerGBps
                                                               : profile.linkPinnedGBps;
    if (peak > 0 && transfer.kind != TransferKind::collective) out.linkPeakGBps = peak;
    if (!cost || cost->count == 0) {
        out.bytesPerCopy = static_cast<double>(transfer.bytes);
        return out;
    }
    out.count = cost->count;
    out.bytes = cost->bytes;
    out.bytesPerCopy = static_cast<double>(cost->bytes) / static_cast<double>(cost->count);
    out.lastNs = static_cast<double>(cost->lastNs);
    out.minNs = static_cast<double>(cost->minNs);
    out.medianNs = cost->medianNs();
    out.p95Ns = cost->p95Ns();
    out.totalNs = static_cast<double>(cost->totalNs);
    if (out.linkPeakGBps) out.ofPeakPercent = 100 * out.gbPerSecond() / peak;
    if (cost->waited > 0) {
        out.waitNs = static_cast<double>(cost->waitNs);
        out.queueWaitNs = *out.waitNs / static_cast<double>(cost->waited);
    }
    if (timeline && !transfer.setup && cost->totalNs > 0)
        out.overlapPercent = 100 * static_cast<double>(timeline->overlapNs()[index]) / out.totalNs;
    if (!transfer.modelled && transfer.predictedNs > 0)
        out.errorPercent = 100 * (out.medianNs / transfer.predictedNs - 1);
    return out;
}

} // namespace

std::vector<TransferFigures> figuresOf(const Plan& plan, const Ledger* ledger, const RunTimeline* timeline) {
    std::vector<TransferFigures> out;
    out.reserve(plan.transfers.size());
    for (std::size_t i = 0; i < plan.transfers.size(); ++i)
        out.push_back(figuresOf(plan, i, ledger ? &ledger->rows()[i] : nullptr, timeline));
    return out;
}

} // namespace twb
