#pragma once

#include <string>
#include <string_view>

namespace twb {

/// A report as one self-contained HTML page: the graph on its lanes, the ledger as a sortable table, the
/// timeline and the memory of the last iteration, the probes and the diagnostics. Light or dark like the
/// reader's system. Figures of simulated devices are labelled "modelled". `json` comes from
/// toJson(RunReport); `origin` is for messages. Throws Error(badFile) if it is not a report.
std::string reportPage(std::string_view json, const std::string& origin);

} // namespace twb
