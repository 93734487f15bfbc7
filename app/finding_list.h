#pragma once

#include "graph/diagnostic.h"

#include <string>
#include <vector>

namespace twb {

/// Diagnostics as `twb check` lists them: one finding for a mismatch and all that follow from it, and one for
/// all equal lints of a source line.
struct Finding {
    const Diagnostic* diagnostic = nullptr; ///< the root, or the first one
    std::string text; ///< its place in the program, its message, operands and fixes, and the rest in a line
};

/// In the order of their first diagnostics. The diagnostics must outlive the findings.
std::vector<Finding> findingsOf(const Graph& graph, const std::vector<Diagnostic>& diagnostics);

} // namespace twb
