#include "widgets/panels/ledger_csv.h"

#include "profile/csv.h"
#include "widgets/panels/ledger_model.h"

#include <fmt/format.h>

namespace twb {

std::string toCsv(const LedgerModel& model, const LedgerFilter& rows) {
    std::string out =
        csvLine({"edge", "kind", "setup", "count", "bytes_of_one", "bytes", "last_ms", "min_ms", "median_ms",
                 "p95_ms", "total_ms", "gb_per_s", "of_peak_percent", "memory", "queue_wait_ms",
                 "overlapped_percent", "predicted_ms", "prediction_error_percent", "times"});
    const auto number = [](double figure) { return fmt::format("{}", figure); };
    const auto ms = [](double ns) { return ns > 0 ? fmt::format("{}", ns / 1e6) : std::string(); };
    const auto optional = [&](const std::optional<double>& figure, double unit = 1) {
        return figure ? number(*figure / unit) : std::string();
    };
    for (int at = 0; at < rows.rowCount(); ++at) {
        const auto source = std::size_t(rows.mapToSource(rows.index(at, 0)).row());
        const LedgerModel::Row& row = model.rows()[source];
        const TransferFigures& figures = row.figures;
        const bool isPeer = figures.direction == CopyDirection::peer && figures.link.empty();
        const bool isPredicted = figures.count == 0;
        const char* own = figures.modelled ? "modelled" : "measured";
        const char* predicted = figures.modelled ? "predicted, modelled" : "predicted";
        out += csvLine(
            {row.nameInFiles.toStdString(), std::string(name(figures.kind)) + (isPeer ? ", peer" : ""),
             figures.setup ? "true" : "false", std::to_string(figures.count), number(figures.bytesPerCopy),
             std::to_string(figures.bytes), ms(figures.lastNs), ms(figures.minNs), ms(figures.medianNs),
             ms(figures.p95Ns), ms(figures.totalNs), isPredicted ? "" : number(figures.gbPerSecond()),
             optional(figures.ofPeakPercent),
             !figures.link.empty() ? figures.link
             : figures.pinned      ? "pinned"
                                   : "pageable",
             optional(figures.queueWaitNs, 1e6), optional(figures.overlapPercent), ms(figures.predictedNs),
             optional(figures.errorPercent), isPredicted ? predicted : own});
    }
    return out;
}

} // namespace twb
