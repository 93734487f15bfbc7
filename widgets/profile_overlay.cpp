#include "widgets/profile_overlay.h"

#include "core/error.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QFileInfo>

namespace twb {
namespace {

/// For translators.
struct OverlayWords {
    Q_DECLARE_TR_FUNCTIONS(Overlay)
};

} // namespace

bool OverlaidProfile::isWhole() const noexcept {
    return overlay.unmatched.empty() && overlay.matchedTransfers == overlay.transfers &&
           overlay.otherOps.empty();
}

QString OverlaidProfile::sentence() const {
    const QString profiler = toQt(overlay.profiler);
    const double share = overlay.opsNs > 0 ? double(overlay.matchedNs) / double(overlay.opsNs) : 0;
    const QString text =
        OverlayWords::tr(
            "%1: %3 of %4 steps and %5 of %6 transfers match ops of %2; the matched ops take %7 % of the "
            "profile's op time")
            .arg(QFileInfo(file).fileName(),
                 overlay.device.empty() ? profiler
                                        : QStringLiteral("%1 (%2)").arg(profiler, toQt(overlay.device)),
                 grouped(qint64(overlay.matchedSteps())), grouped(qint64(overlay.steps)),
                 grouped(qint64(overlay.matchedTransfers)), grouped(qint64(overlay.transfers)))
            .arg(fixed(100 * share, 0));
    return copiesWrongOperands
               ? OverlayWords::tr("%1; operands on the wrong device are treated as copied").arg(text)
               : text;
}

OverlaidProfile readOverlay(const RunRequest& request, const QString& file, const ReadProgress& progress) {
    OverlaidProfile out;
    out.file = file;
    Policy policy = request.graph.info().policy;
    const auto analyzed = [&] {
        return std::make_shared<const Analysis>(
            analyze(request.graph, request.devices, policy, request.files.get()));
    };
    out.analysis = analyzed();
    if (!out.analysis->mayRun()) {
        // A program that was captured without a GPU may have mismatches that its profile cannot have.
        policy = Policy::implicit;
        out.analysis = analyzed();
        out.copiesWrongOperands = true;
    }
    if (!out.analysis->mayRun())
        throw Error(
            ErrorCode::badGraph,
            OverlayWords::tr(
                "The graph has problems, so its steps are not known. Fix the problems, then try again.")
                .toStdString());
    const auto plan =
        std::make_shared<Plan>(*compile(request.graph, *out.analysis, request.devices, request.files,
                                        {.revision = request.revision, .policy = policy, .fuse = false}));
    out.overlay = overlay(request.graph, *plan, file.toStdString(), progress);
    plan->virtualClock = false;
    for (const StepRecord& record : out.overlay.records)
        if (const std::uint32_t transfer = plan->steps[record.step].transfer; transfer != kNone)
            plan->transfers[transfer].modelled = false;
    out.plan = plan;
    return out;
}

} // namespace twb
