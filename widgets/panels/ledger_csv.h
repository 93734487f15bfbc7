#pragma once

#include <string>

namespace twb {

class LedgerFilter;
class LedgerModel;

/// The rows that the filter lets through, in its order, as CSV: a head with units, then a record an edge,
/// with an empty cell where there is no figure. The last column says whether its times are measured, modelled
/// or only predicted.
std::string toCsv(const LedgerModel& model, const LedgerFilter& rows);

} // namespace twb
