#include "backends/cuda/kernels/fault.h"

#include "core/error.h"

#include <fmt/format.h>

namespace twb::cuda {
namespace {

std::string sentenceOf(const Fault& fault) {
    switch (fault.code) {
    case Fault::divisionByZero:
        return "ZeroDivisionError: integer division by zero; cast to a floating dtype for infinities";
    case Fault::moduloByZero:
        return "ZeroDivisionError: integer modulo by zero; cast to a floating dtype for NaN";
    case Fault::indexOutOfRange:
        return fault.size == 0
                   ? fmt::format("index {} is out of bounds for dimension {} with size 0: it holds no "
                                 "elements to take",
                                 fault.value, fault.axis)
                   : fmt::format("index {} is out of bounds for dimension {} with size {}; indices go "
                                 "from {} to {}",
                                 fault.value, fault.axis, fault.size, -fault.size, fault.size - 1);
    case Fault::lengthOutOfRange:
        return fmt::format("a sequence of length {} was given, but dimension {} has {} steps; lengths go "
                           "from 0 to {}",
                           fault.value, fault.axis, fault.size, fault.size);
    case Fault::badClass:
        return fmt::format(
            "Target {} is out of bounds: there are {} classes; name it as ignore_index to leave "
            "it out",
            fault.value, fault.size);
    case Fault::badProbability:
        return "probability tensor contains either `inf`, `nan` or element < 0";
    default:
        return "a matrix is singular";
    }
}

} // namespace

void throwIfRaised(const Fault& fault) {
    if (fault.code != Fault::none) throw Error(ErrorCode::invalidArgument, sentenceOf(fault));
}

} // namespace twb::cuda
