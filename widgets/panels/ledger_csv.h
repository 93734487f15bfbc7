#pragma once

#include <string>

namespace twb {

class LedgerFilter;
class LedgerModel;

/// The rows that pass the filter, in its order, as CSV: a header with units, then one record per edge, with
/// empty cells for missing figures. The last column says whether times are measured, modelled or only
/// predicted.
std::string toCsv(const LedgerModel& model, const LedgerFilter& rows);

} // namespace twb
