#pragma once

#include "support/op_runner.h"

#include <map>
#include <string>
#include <vector>

namespace twb::test {

/// A launch that an op can be asked for.
struct Case {
    Attributes attributes;
    std::vector<Tensor> inputs;
};

using CaseMaker = Case (*)(Dice& dice, const Op& op, DType dtype);
using CaseMakers = std::map<std::string, CaseMaker>; ///< by op

/// A tensor of any layout, of numbers that most functions are defined for.
Tensor some(Dice& dice, DType dtype, const Shape& shape);
/// The same on both sides of 0.
Tensor wide(Dice& dice, DType dtype, const Shape& shape);
/// Sizes of `shape`, some of them 1 and leading ones left out.
Shape narrowed(Dice& dice, const Shape& shape);

/// How an op's launches are made; null when nobody says.
CaseMaker caseMakerOf(const Op& op);
/// The dtypes that an op's launches are made for: those of the port that says most of them.
DTypeSet caseTypesOf(const Op& op);

} // namespace twb::test
