#include "profile/report_page.h"

#include "core/format.h"
#include "profile/markup.h"
#include "profile/profiles.h"
#include "profile/report_pictures.h"
#include "profile/saved_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iomanip>
#include <sstream>

namespace twb {
namespace {

using Json = nlohmann::json;

constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--window:#F3F4F7;--panel:#FFFFFF;--border:#D7DCE4;--text:#1A1E26;--quiet:#566072;
--head:#EEF0F4;--cpu:#5A7396;--gpu0:#357A19;--gpu1:#0D7A6A;--gpu2:#2962C3;--cpulane:#F4F7FB;--gpulane:#F3F9F0;
--wire:#3B78E7;--error:#C93236;--warning:#9C5D00;--good:#1E8E5A;--on:#FFFFFF}
@media (prefers-color-scheme:dark){:root{--window:#16181D;--panel:#1C1F26;--border:#2C323D;--text:#E8EBF1;--quiet:#9BA5B5;
--head:#20242D;--cpu:#8FA3BF;--gpu0:#7CC651;--gpu1:#35BFA8;--gpu2:#6EA8FE;--cpulane:#171B22;--gpulane:#151C18;
--wire:#8AB4F8;--error:#FF7070;--warning:#F2B84B;--good:#4CC38A;--on:#121419}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1320px;padding:24px;background:var(--window);color:var(--text);
font:13px/1.5 Inter,system-ui,sans-serif}
h1{font-size:22px;margin:0}h2{font-size:15px;margin:0 0 12px}p{margin:4px 0}.quiet{color:var(--quiet)}
section{background:var(--panel);border:1px solid var(--border);border-radius:8px;padding:16px;margin-top:16px}
.scroll{overflow-x:auto}svg{display:block;height:auto}svg.fit{max-width:100%;min-width:900px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{font-size:11px;font-weight:600;color:var(--quiet);text-align:left;vertical-align:bottom}
th,td{padding:5px 10px 5px 0;border-bottom:1px solid var(--border);vertical-align:top}tr:last-child td{border-bottom:0}
td:first-child{min-width:136px;overflow-wrap:anywhere}td small{display:block;color:var(--quiet)}section>p.quiet{margin-top:8px}td.n,th.n{text-align:right;white-space:nowrap}th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid var(--wire)}
th[aria-sort=ascending] button::after{content:" ▲"}th[aria-sort=descending] button::after{content:" ▼"}
.figures{display:flex;flex-wrap:wrap;gap:8px 32px;margin-top:12px}.figures b{display:block;font-size:18px;font-weight:600}
.error b{color:var(--error)}.warning b{color:var(--warning)}.finding{white-space:pre-wrap;margin:0 0 12px}
text{fill:var(--text);font:12.5px Inter,system-ui,sans-serif}.small{fill:var(--quiet);font-size:11px}
text.device{font-weight:600;font-size:13px}.tag{fill:var(--warning);font-size:10px;font-weight:600;letter-spacing:.05em}
.name{font-weight:600}.grid{stroke:var(--border)}.head{fill:var(--head)}.card{fill:var(--panel);stroke:var(--border)}
.lane{fill:var(--gpulane);stroke:var(--border)}.lane.cpu{fill:var(--cpulane)}.wire{fill:none;stroke:var(--quiet);stroke-width:1.5}
.wire.crossing{stroke:var(--wire);stroke-width:2.5}.mark.cpu,.slice.cpu,text.cpu{fill:var(--cpu)}
.mark.gpu0,.slice.gpu0,text.gpu0{fill:var(--gpu0)}.mark.gpu1,.slice.gpu1,text.gpu1{fill:var(--gpu1)}
.mark.gpu2,.slice.gpu2,text.gpu2{fill:var(--gpu2)}.slice.copy{fill:var(--wire)}.on{fill:var(--on);font-size:11px}
@media print{body{max-width:none;padding:0;font-size:9px}section{break-inside:avoid;padding:8px}.scroll{overflow:visible}
svg.fit{min-width:0;width:100%}th,td{padding:3px 6px 3px 0}td:first-child{min-width:80px}}
.area{opacity:.5}.area.cpu{fill:var(--cpu)}.area.gpu0{fill:var(--gpu0)}.area.gpu1{fill:var(--gpu1)}.area.gpu2{fill:var(--gpu2)}
)css";

/// Sorts a table by the column of the pressed heading: by data-v if a cell has it, else by its text.
constexpr const char* kScript = R"js(
document.querySelectorAll("th button").forEach(button=>button.addEventListener("click",()=>{
const th=button.parentElement,table=th.closest("table"),body=table.tBodies[0],column=th.cellIndex,
down=th.getAttribute("aria-sort")==="ascending",value=row=>{const c=row.cells[column];return c.dataset.v===undefined?c.textContent:+c.dataset.v},
rows=[...body.rows].sort((a,b)=>{const x=value(a),y=value(b);return (x>y?1:x<y?-1:0)*(down?-1:1)});
table.querySelectorAll("th").forEach(other=>other.removeAttribute("aria-sort"));
th.setAttribute("aria-sort",down?"descending":"ascending");body.append(...rows)}));
)js";

std::string clockOf(bool modelled) { return modelled ? "modelled" : "measured"; }

/// The source of a row's times; in an overlay, they come from another program's profile.
std::string sourceOf(const Json& row) {
    const std::string clock = clockOf(row.at("modelled"));
    if (!row.contains("measured_by")) return clock;
    if (row.contains("measured_with"))
        return fmt::format("included in the time of {}", row["measured_with"].get<std::string>());
    return row["measured_by"].is_string() ? "measured by " + row["measured_by"].get<std::string>()
                                          : "not measured";
}

/// A sortable table; columns from `numbers` on hold numbers.
class Table {
public:
    Table(std::initializer_list<const char*> heads, std::size_t numbers) {
        m_text = "<div class=\"scroll\"><table><thead><tr>";
        for (std::size_t i = 0; i < heads.size(); ++i)
            m_text += fmt::format("<th scope=\"col\"{}><button>{}</button></th>",
                                  i >= numbers ? " class=\"n\"" : "", heads.begin()[i]);
        m_text += "</tr></thead><tbody>\n";
    }
    void begin() { m_text += "<tr>"; }
    /// `remark` is shown below it, in small letters.
    void text(const std::string& text, const std::string& remark = {}) {
        m_text += fmt::format("<td>{}{}</td>", escaped(text),
                              remark.empty() ? "" : "<small>" + escaped(remark) + "</small>");
    }
    void figure(const std::string& text, double value) {
        m_text += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", value, escaped(text));
    }
    /// The text for a missing figure.
    void none() { figure("–", -1); }
    void end() { m_text += "</tr>\n"; }
    std::string done() { return m_text + "</tbody></table></div>"; }

private:
    std::string m_text;
};

std::string section(const std::string& title, const std::string& content, const std::string& remark = {}) {
    if (content.empty()) return {};
    return fmt::format("<section><h2>{}</h2>{}{}</section>\n", escaped(title), content,
                       remark.empty() ? "" : "<p class=\"quiet\">" + escaped(remark) + "</p>");
}

std::string ms(double value) { return formatMs(value * 1e6); }

void addTime(Table& table, const Json& row, const char* key, bool ran) {
    if (!ran || !row.contains(key) || !row[key].is_number()) return table.none();
    table.figure(ms(row[key]), row[key]);
}

void addPercent(Table& table, const Json& row, const char* key) {
    if (!row.contains(key) || !row[key].is_number()) return table.none();
    table.figure(fmt::format("{:.0f} %", row[key].get<double>()), row[key]);
}

/// The graph's title, else the name of its file.
std::string titleOf(const Json& report) {
    const std::string title = report.value("title", "");
    if (!title.empty()) return title;
    const std::filesystem::path file(report.at("file").get<std::string>());
    return file.filename().string();
}

/// "2026-11-22T21:40:05Z" as "22 November 2026, 21:40 UTC".
std::string dateOf(const Json& report) {
    std::istringstream text(report.value("date", ""));
    std::tm date{};
    text >> std::get_time(&date, "%Y-%m-%dT%H:%M:%S");
    if (text.fail()) return {};
    return fmt::format("{} {:%B %Y, %H:%M} UTC", date.tm_mday, date);
}

std::string headOf(const Json& report) {
    const bool modelled = report.at("clock") == "modelled";
    const std::string path = report.at("file");
    const std::string date = dateOf(report);
    const auto fileName = [](const std::string& of) { return std::filesystem::path(of).filename().string(); };
    const std::string subject = report.contains("overlay")
                                    ? "times of " + fileName(report["overlay"].at("trace"))
                                    : "run " + report.at("status").get<std::string>();
    std::string out = fmt::format(
        "<h1>{}</h1><p class=\"quiet\">{}<span title=\"{}\">{}</span> · {} · {} policy</p>"
        "<div class=\"figures\">",
        escaped(titleOf(report)), date.empty() ? "" : escaped(date) + " · ", escaped(path),
        escaped(fileName(path)), escaped(subject), escaped(report.at("policy").get<std::string>()));
    const auto add = [&](const std::string& value, const std::string& what) {
        out +=
            fmt::format("<div><b>{}</b><span class=\"quiet\">{}</span></div>", escaped(value), escaped(what));
    };
    add(std::to_string(report.at("iterations").get<std::int64_t>()), "iterations");
    if (report.contains("iteration_ms"))
        add(ms(report["iteration_ms"].at("median")), "one iteration, median, " + clockOf(modelled));
    double moved = 0;
    for (const Json& transfer : report.at("transfers")) moved += transfer.value("bytes", 0.0);
    add(formatBytes(moved), "moved between devices");
    if (report.contains("prepare_ms"))
        add(ms(report["prepare_ms"]), "kernel compilation, measured on this machine");
    if (report.contains("cuda_graphs"))
        add(std::to_string(report["cuda_graphs"].at("replays").get<std::int64_t>()),
            fmt::format("launches of {} CUDA graphs",
                        report["cuda_graphs"].at("graphs").get<std::int64_t>()));
    if (report.contains("overlay")) {
        const Json& overlay = report["overlay"];
        const std::string by = overlay.at("profiler");
        add(fmt::format("{} of {}", overlay.at("matched_steps").get<std::size_t>(),
                        overlay.at("steps").get<std::size_t>()),
            "steps in the profile");
        add(ms(report.at("wall_ms")), "the profile, measured by " + by);
        return out + "</div>\n";
    }
    add(ms(report.at("setup_ms")), "setup, measured on this machine");
    add(ms(report.at("wall_ms")), "the iterations, measured on this machine");
    return out + "</div>\n";
}

/// "NVIDIA L4 datasheet; error unknown"; for a report of an older version, only the source.
std::string predictionsFrom(const Json& profile) {
    DeviceProfile of;
    of.source = profile.at("source");
    if (!profile.contains("known_error")) return of.source;
    const Json& errors = profile["known_error"];
    const auto read = [&errors](const char* what) -> std::optional<KnownError> {
        if (!errors.is_object() || !errors.contains(what)) return {};
        return KnownError{errors[what].at("median"), errors[what].at("worst"), errors[what].at("count")};
    };
    of.copyError = read("copies");
    of.kernelError = read("kernels");
    return sourceText(of);
}

std::string devicesOf(const Json& report) {
    Table table({"device", "hardware", "timing", "predictions from", "planned", "peak"}, 4);
    for (const Json& device : report.at("devices")) {
        table.begin();
        table.text(device.at("device"));
        const std::string detail = device.at("detail");
        table.text(device.at("name").get<std::string>() + (detail.empty() ? "" : ", " + detail));
        table.text(report.contains("overlay") ? "in each row" : clockOf(device.at("simulated")));
        table.text(device.contains("profile") ? predictionsFrom(device["profile"]) : "");
        table.figure(formatBytes(device.at("planned_bytes")), device.at("planned_bytes"));
        if (device.contains("peak_bytes"))
            table.figure(formatBytes(device["peak_bytes"]), device["peak_bytes"]);
        else
            table.none();
        table.end();
    }
    return table.done();
}

std::string ledgerOf(const Json& report) {
    if (report.at("transfers").empty()) return "<p>No transfers: every tensor is where it is used.</p>";
    Table table({"transfer", "count", "bytes", "last", "min", "median", "p95", "total", "GB/s", "of peak",
                 "waited", "overlap", "predicted", "error"},
                1);
    for (const Json& row : report["transfers"]) {
        const bool ran = row.value("count", 0) > 0;
        table.begin();
        table.text(row.at("label"), fmt::format("{}{}, {}, {}{}", row.at("kind").get<std::string>(),
                                                row.value("direction", "") == "peer" ? ", peer" : "",
                                                row.contains("link") ? row["link"].get<std::string>()
                                                : row.at("pinned").get<bool>() ? "pinned"
                                                                               : "pageable",
                                                sourceOf(row), row.at("setup").get<bool>() ? ", setup" : ""));
        table.figure(std::to_string(row.value("count", 0)), row.value("count", 0));
        table.figure(formatExactBytes(row.value("bytes", std::uint64_t{0})), row.value("bytes", 0.0));
        for (const char* key : {"last_ms", "min_ms", "median_ms", "p95_ms", "total_ms"})
            addTime(table, row, key, ran);
        if (ran)
            table.figure(fmt::format("{:.3g}", row.at("gb_per_s").get<double>()), row.at("gb_per_s"));
        else
            table.none();
        addPercent(table, row, "of_link_peak_percent");
        addTime(table, row, "queue_wait_ms", ran);
        addPercent(table, row, "overlapped_percent");
        addTime(table, row, "predicted_ms", true);
        addPercent(table, row, "prediction_error_percent");
        table.end();
    }
    return table.done();
}

std::string stepsOf(const Json& report) {
    Table table({"step", "op", "device", "state", "count", "median", "p95", "total", "predicted"}, 4);
    for (const Json& row : report.at("steps")) {
        if (row.at("op") == "copy") continue;
        const bool ran = row.value("count", 0) > 0;
        table.begin();
        table.text(row.at("label"),
                   sourceOf(row) + std::string(row.at("setup").get<bool>() ? ", setup" : ""));
        table.text(row.at("op"));
        table.text(row.at("device"));
        table.text(row.value("state", "pending"));
        table.figure(std::to_string(row.value("count", 0)), row.value("count", 0));
        for (const char* key : {"median_ms", "p95_ms", "total_ms"}) addTime(table, row, key, ran);
        addTime(table, row, "predicted_ms", true);
        table.end();
    }
    return table.done();
}

/// A probe's number, which JSON may hold as text.
std::string numberOf(const Json& value) {
    if (value.is_number_integer()) return value.dump();
    return value.is_number() ? fmt::format("{:.6g}", value.get<double>()) : value.get<std::string>();
}

std::string probesOf(const Json& report) {
    if (!report.contains("probes") || report["probes"].empty()) return {};
    Table table({"probe", "value", "type"}, 3);
    for (const Json& row : report["probes"]) {
        std::string seen = "no elements";
        if (row.contains("value"))
            seen = numberOf(row["value"]);
        else if (row.contains("min"))
            seen = fmt::format("min {}  max {}  mean {}", numberOf(row["min"]), numberOf(row.at("max")),
                               numberOf(row.at("mean")));
        table.begin();
        table.text(row.at("name"));
        table.text(seen);
        table.text(row.at("type"));
        table.end();
    }
    return table.done();
}

std::string findingsOf(const Json& report) {
    std::string out;
    if (report.contains("errors"))
        for (const Json& error : report["errors"])
            out += fmt::format("<p class=\"finding error\"><b>run failed</b> {}</p>\n",
                               escaped(error.at("message").get<std::string>()));
    if (!report.contains("diagnostics")) return out;
    for (const Json& row : report["diagnostics"]) {
        const std::string severity = row.at("severity");
        out += fmt::format("<p class=\"finding {0}\"><b>{0}</b> {1} <span class=\"quiet\">{2}</span>",
                           escaped(severity), escaped(row.at("message").get<std::string>()),
                           escaped(row.at("code").get<std::string>()));
        for (const Json& fix : row.at("fixes")) {
            std::string price;
            if (fix.at("price").is_object() && fix["price"].at("bytes") == 0)
                price = "  no transfer in the iteration";
            else if (fix.at("price").is_object())
                price = fmt::format("  {}  {}{}", formatExactBytes(fix["price"].at("bytes")),
                                    ms(fix["price"].at("ms")),
                                    fix["price"].at("modelled").get<bool>() ? " modelled" : "");
            out += fmt::format("\n   {}<span class=\"quiet\">{}</span>",
                               escaped(fix.at("title").get<std::string>()), escaped(price));
        }
        out += "</p>\n";
    }
    return out.empty() ? "<p>No findings.</p>" : out;
}

} // namespace

std::string reportPage(std::string_view json, const std::string& origin) {
    const Json report = parseReport(json, origin);
    return withReport(origin, [&] {
        const auto scrolled = [](const std::string& picture) {
            return picture.empty() ? picture : "<div class=\"scroll\">" + picture + "</div>";
        };
        const bool modelled = report.at("clock") == "modelled";
        std::string iteration;
        if (report.contains("timeline"))
            iteration =
                fmt::format("Iteration {}.", report["timeline"].at("iteration").get<std::int64_t>() + 1);
        if (modelled)
            iteration +=
                " Times are modelled: simulated steps take the times of their device profile, and CPU "
                "steps take their measured times.";
        if (report.contains("timeline") && report["timeline"].at("left_out").get<std::int64_t>() > 0)
            iteration += fmt::format(" Not shown: {}.",
                                     counted(report["timeline"]["left_out"].get<std::uint64_t>(), "event"));
        std::string out = fmt::format(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
            "content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}</style>"
            "</head>\n<body>\n",
            escaped(titleOf(report)), kStyle);
        out += headOf(report);
        out += section("Findings", findingsOf(report));
        out += section("Graph", scrolled(graphPicture(report)));
        out += section("Devices", devicesOf(report));
        out += section(
            "Transfers", ledgerOf(report),
            "Of peak: the median rate as a share of the link's rate from pinned memory. Overlap: "
            "the share of the copies' time in which some step computed. Error: the difference between the "
            "measured median and the prediction.");
        out += section("Timeline of the last iteration", scrolled(timelinePicture(report)), iteration);
        out += section("Memory in the last iteration", scrolled(memoryPicture(report)),
                       "Bytes of live tensors, computed from the plan and the times of its steps.");
        out += section("Steps", stepsOf(report));
        out += section("Probes", probesOf(report));
        return out + fmt::format("<script>{}</script>\n</body></html>\n", kScript);
    });
}

} // namespace twb
