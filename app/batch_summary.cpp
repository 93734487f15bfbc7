#include "app/batch_summary.h"

#include "app/terminal.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text_table.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "profile/csv.h"
#include "profile/report.h"
#include "profile/saved_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace twb {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A report; nothing if the file is missing or is not a report.
std::optional<Json> readReport(const fs::path& path) {
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) return std::nullopt;
    try {
        Json report = Json::parse(readFile(path, kLargestReport));
        if (report.is_object() && report.value("schema", 0) == kReportSchema) return report;
    } catch (const Json::exception&) {
    } catch (const Error&) {
    }
    return std::nullopt;
}

/// Fills a row's figures from a report. Throws Json::exception if it is not in the format of toJson.
void readFigures(const Json& report, BatchRow& row) {
    row.status = report.at("status");
    row.iterations = report.at("iterations");
    row.wallMs = report.at("wall_ms");
    row.clockMs = report.at("clock_ms");
    row.modelled = report.at("clock") == "modelled";
    for (const Json& transfer : report.at("transfers")) {
        row.transferBytes += transfer.at("bytes").get<std::uint64_t>();
        row.transferMs += transfer.at("total_ms").get<double>();
    }
    for (const Json& probe : report.at("probes")) {
        if (!probe.contains("value")) continue;
        const Json& value = probe.at("value");
        row.probes[probe.at("name")] = value.is_number() ? value.get<double>()
                                       : value == "inf"  ? INFINITY
                                       : value == "-inf" ? -INFINITY
                                                         : NAN;
    }
}

bool inputsUnchanged(const Json& report, const fs::path& graph) {
    const auto files = makeProjectFiles(fs::absolute(graph).parent_path(), true); // as allowed for its run
    for (const Json& input : report.at("inputs"))
        if (input.at("fingerprint") != Json(files->fingerprint(input.at("path").get<std::string>())))
            return false;
    return true;
}

std::set<std::string> probeNames(const std::vector<BatchRow>& rows) {
    std::set<std::string> out;
    for (const BatchRow& row : rows)
        for (const auto& [name, value] : row.probes) out.insert(name);
    return out;
}

/// The first sentence of a message, short enough for a cell; the report has all of it.
std::string firstWords(const std::string& message) {
    constexpr std::size_t kLongest = 80;
    std::string out = message.substr(0, std::min(message.find(". "), message.find('\n')));
    if (out.size() <= kLongest) return out;
    const std::size_t space = out.rfind(' ', kLongest);
    out.resize(space == std::string::npos ? kLongest : space);
    return out + "…";
}

std::string number(double value) { return fmt::format("{}", value); }

std::string toCsv(const std::vector<SweepAxis>& axes, const std::vector<BatchRow>& rows) {
    const std::set<std::string> probes = probeNames(rows);
    std::vector<std::string> head{"name", "file"};
    for (const SweepAxis& axis : axes) head.push_back(axis.target);
    for (const char* column : {"status", "exit", "skipped", "iterations", "wall_ms", "clock_ms", "modelled",
                               "transfer_bytes", "transfer_ms"})
        head.emplace_back(column);
    for (const std::string& name : probes) head.push_back("probe " + name);
    head.emplace_back("message");

    std::string out = csvLine(head);
    for (const BatchRow& row : rows) {
        std::vector<std::string> cells{row.member.name, row.member.file.string()};
        cells.insert(cells.end(), row.member.values.begin(), row.member.values.end());
        for (std::string cell :
             {row.status, std::to_string(row.exitCode), std::string(row.skipped ? "true" : "false"),
              std::to_string(row.iterations), number(row.wallMs), number(row.clockMs),
              std::string(row.modelled ? "true" : "false"), std::to_string(row.transferBytes),
              number(row.transferMs)})
            cells.push_back(std::move(cell));
        for (const std::string& name : probes) {
            const auto at = row.probes.find(name);
            cells.push_back(at == row.probes.end() ? "" : number(at->second));
        }
        cells.push_back(row.message);
        out += csvLine(cells);
    }
    return out;
}

Json valuesOf(const std::vector<SweepAxis>& axes, const BatchMember& member) {
    Json out = Json::object();
    for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i].target] = member.values[i];
    return out;
}

Json toJson(const std::vector<SweepAxis>& axes, const std::vector<BatchRow>& rows) {
    Json runs = Json::array();
    std::size_t failed = 0;
    for (const BatchRow& row : rows) {
        if (row.exitCode != 0) ++failed;
        Json probes = Json::object();
        for (const auto& [name, value] : row.probes)
            probes[name] = std::isfinite(value) ? Json(value) : Json(number(value));
        runs.push_back({{"name", row.member.name},
                        {"file", row.member.file.string()},
                        {"set", valuesOf(axes, row.member)},
                        {"report", row.member.name + ".json"},
                        {"status", row.status},
                        {"exit", row.exitCode},
                        {"skipped", row.skipped},
                        {"iterations", row.iterations},
                        {"wall_ms", row.wallMs},
                        {"clock_ms", row.clockMs},
                        {"modelled", row.modelled},
                        {"transfer_bytes", row.transferBytes},
                        {"transfer_ms", row.transferMs},
                        {"probes", std::move(probes)},
                        {"message", row.message}});
    }
    return {{"schema", kReportSchema}, {"count", rows.size()}, {"failed", failed}, {"runs", std::move(runs)}};
}

} // namespace

bool mayHoldReports(const fs::path& folder) {
    std::error_code failed;
    bool isEmpty = true;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (entry->path().filename() == "traces") continue; // made before the first report
        isEmpty = false;
        if (entry->path().filename() == ".claims")
            return true; // of a batch on several ranks that has just begun
        if (entry->path().extension() != ".json") continue;
        const auto report = readReport(entry->path());
        if (report && (report->contains("batch") || report->contains("runs"))) return true;
    }
    return isEmpty && !failed;
}

fs::path reportPath(const fs::path& folder, const BatchMember& member) {
    return folder / (member.name + ".json");
}

std::optional<BatchRow> findReport(const fs::path& folder, const BatchMember& member,
                                   const std::string& job) {
    const auto report = readReport(reportPath(folder, member));
    if (!report) return std::nullopt;
    try {
        const Json& batch = report->at("batch");
        const bool isOfJob = !job.empty() && batch.value("job", std::string()) == job;
        if (batch.at("key") != member.key) return std::nullopt;
        if (!isOfJob && (report->at("status") != "finished" || batch.at("exit") != 0 ||
                         !inputsUnchanged(*report, member.file)))
            return std::nullopt;
        BatchRow row;
        row.member = member;
        row.skipped = !isOfJob;
        row.exitCode = batch.at("exit");
        row.message = batch.at("message");
        row.status = report->at("status");
        if (report->contains("transfers")) readFigures(*report, row);
        return row;
    } catch (const Json::exception&) {
        return std::nullopt; // another program's file: the run replaces it
    }
}

BatchRow takeReport(const fs::path& folder, const fs::path& written, const std::vector<SweepAxis>& axes,
                    BatchRow row, const std::string& job) {
    Json report = readReport(written).value_or(Json::object());
    if (report.empty()) {
        report = {{"schema", kReportSchema},
                  {"file", row.member.file.string()},
                  {"status", row.status},
                  {"exit", row.exitCode},
                  {"message", row.message}};
    } else {
        readFigures(report, row);
    }
    report["batch"] = {{"key", row.member.key},
                       {"set", valuesOf(axes, row.member)},
                       {"exit", row.exitCode},
                       {"message", row.message}};
    if (!job.empty()) report["batch"]["job"] = job;
    writeFileAtomically(reportPath(folder, row.member), jsonText(report));
    std::error_code ignored;
    fs::remove(written, ignored);
    return row;
}

std::string toTable(const std::vector<SweepAxis>& axes, const std::vector<BatchRow>& rows) {
    using enum TextTable::Align;
    const std::set<std::string> probes = probeNames(rows);
    std::vector<TextTable::Align> columns{left};
    std::vector<std::string> head{"run"};
    for (const SweepAxis& axis : axes) {
        columns.push_back(right);
        head.push_back(axis.target);
    }
    for (const char* column : {"status", "iterations", "one iteration", "all transfers", "all bytes moved"}) {
        columns.push_back(head.size() == axes.size() + 1 ? left : right);
        head.emplace_back(column);
    }
    for (const std::string& name : probes) {
        columns.push_back(right);
        head.push_back(name);
    }
    columns.insert(columns.end(), {left, left});
    TextTable table(columns);
    table.add(head);
    table.addRule();
    for (const BatchRow& row : rows) {
        std::vector<std::string> cells{row.member.name};
        cells.insert(cells.end(), row.member.values.begin(), row.member.values.end());
        const bool ran = row.iterations > 0;
        const double each = ran ? row.clockMs * 1e6 / static_cast<double>(row.iterations) : 0;
        cells.push_back(row.status + (row.skipped ? " earlier" : ""));
        cells.push_back(ran ? std::to_string(row.iterations) : "–");
        cells.push_back(ran ? formatMs(each) : "–");
        cells.push_back(ran ? formatMs(row.transferMs * 1e6) : "–");
        cells.push_back(ran ? formatExactBytes(row.transferBytes) : "–");
        for (const std::string& name : probes) {
            const auto at = row.probes.find(name);
            cells.push_back(at == row.probes.end() ? "–" : formatNumber(at->second));
        }
        cells.emplace_back(!ran ? "" : row.modelled ? "modelled" : "measured");
        cells.push_back(firstWords(row.message));
        table.add(std::move(cells));
    }
    return table.toString();
}

void writeSummary(const fs::path& folder, const std::vector<SweepAxis>& axes,
                  const std::vector<BatchRow>& rows) {
    writeFileAtomically(folder / "summary.json", jsonText(toJson(axes, rows)));
    writeFileAtomically(folder / "summary.csv", toCsv(axes, rows));
}

} // namespace twb
