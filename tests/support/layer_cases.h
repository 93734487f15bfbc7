#pragma once

#include "support/kernel_cases.h"

namespace twb::test {

/// Of the ops that networks are layers of, and of what trains them.
const CaseMakers& layerCases();

} // namespace twb::test
