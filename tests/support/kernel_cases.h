#pragma once

#include "support/op_runner.h"

#include <map>
#include <string>
#include <vector>

namespace twb::test {

/// One test launch of an op.
struct Case {
    Attributes attributes;
    std::vector<Tensor> inputs;
};

using CaseMaker = Case (*)(Dice& dice, const Op& op, DType dtype);
using CaseMakers = std::map<std::string, CaseMaker>; ///< by op

/// A random tensor with any layout, with values for which most functions are defined.
Tensor some(Dice& dice, DType dtype, const Shape& shape);
/// The same with values of both signs.
Tensor wide(Dice& dice, DType dtype, const Shape& shape);
/// `shape` with some sizes replaced by 1 and leading axes removed.
Shape narrowed(Dice& dice, const Shape& shape);

/// The maker of an op's test launches; null if there is none.
CaseMaker caseMakerOf(const Op& op);
/// The dtypes of an op's test launches: those of the port with the most dtypes.
DTypeSet caseTypesOf(const Op& op);

} // namespace twb::test
