#pragma once

#include "support/kernel_cases.h"

namespace twb::test {

/// Cases for image and signal ops, recurrent ops, and classic models.
const CaseMakers& modelCases();

} // namespace twb::test
