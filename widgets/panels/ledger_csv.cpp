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
        const bool isPeer = row.figures.direction == CopyDirection::peer;
        // A row without a run has a prediction but no times of its own.
        const double medianNs = row.predicted ? 0 : row.medianNs;
        const double rate = row.predicted ? 0 : row.rate;
        const char* own = row.modelled ? "modelled" : "measured";
        const char* foreseen = row.modelled ? "predicted, modelled" : "predicted";
        out += csvLine({row.name.toStdString(), std::string(name(row.kind)) + (isPeer ? ", peer" : ""),
                        row.setup ? "true" : "false", std::to_string(row.count), number(row.bytes),
                        number(row.moved), ms(row.lastNs), ms(row.minNs), ms(medianNs), ms(row.p95Ns),
                        ms(row.totalNs), rate > 0 ? number(rate) : "", optional(row.figures.ofPeakPercent),
                        row.pinned ? "pinned" : "pageable", optional(row.figures.queueWaitNs, 1e6),
                        optional(row.figures.overlapPercent), ms(row.predictedNs),
                        optional(row.figures.errorPercent), row.predicted ? foreseen : own});
    }
    return out;
}

} // namespace twb
