#pragma once

#include "placement/analysis.h"

namespace twb {

/// Sets Diagnostic::root of the device mismatches of an imported program (nodes with source lines). In the
/// order of the program, a mismatch follows from an earlier one if one of its culprits is a culprit of that
/// one, or was computed from it on the same device; or if it repeats that one: the same line, op and
/// operand. The culprits are the operands on the CPU or, if there are none, the wrong ones. Several
/// mismatched operands of one node have one root.
void findMismatchRoots(const Graph& graph, Analysis& analysis);

} // namespace twb
