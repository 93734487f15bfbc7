#pragma once

#include "support/op_runner.h"

#include <vector>

namespace twb::test {

/// A launch that an op can be asked for.
struct Case {
    Attributes attributes;
    std::vector<Tensor> inputs;
};

using CaseMaker = Case (*)(Dice& dice, const Op& op, DType dtype);

/// How an op's launches are made; null when nobody says.
CaseMaker caseMakerOf(const Op& op);
/// The dtypes that an op's launches are made for: those of the port that says most of them.
DTypeSet caseTypesOf(const Op& op);

} // namespace twb::test
