#pragma once

#include <string>
#include <string_view>

namespace twb {

/// A report as one HTML page that needs nothing beside it: a picture of the graph on its lanes, the ledger as
/// a table that can be sorted, the timeline and the memory of the last iteration, what the probes saw and
/// what was found. Light and dark with the reader's system. A figure of a simulated device has "modelled"
/// beside it. `json` is what toJson(RunReport) gives, `origin` is for messages. Throws Error(badFile) when it
/// is no report.
std::string reportPage(std::string_view json, const std::string& origin);

} // namespace twb
