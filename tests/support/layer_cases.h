#pragma once

#include "support/kernel_cases.h"

namespace twb::test {

/// Cases for layers of networks and for training ops.
const CaseMakers& layerCases();

} // namespace twb::test
