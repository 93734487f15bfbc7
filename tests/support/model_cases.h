#pragma once

#include "support/kernel_cases.h"

namespace twb::test {

/// Of the ops that take apart images and signals, of recurrent ones, and of models that are no networks.
const CaseMakers& modelCases();

} // namespace twb::test
