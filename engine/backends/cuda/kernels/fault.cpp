#include "backends/cuda/kernels/fault.h"

#include "core/error.h"
#include "ops/scatter_rules.h"

#include <fmt/format.h>

#include <bit>

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
                   ? fmt::format(
                         "index {} is out of bounds for dimension {} with size 0, which has no elements",
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
            "Target {} is out of bounds: there are {} classes; set ignore_index to this class to ignore it",
            fault.value, fault.size);
    case Fault::badProbability:
        return "probability tensor contains either `inf`, `nan` or element < 0";
    case Fault::badCoordinate:
        return fmt::format(
            "rois has the coordinate {} at index {}; it must be finite, in pixels of the image",
            std::bit_cast<double>(fault.value), fault.size);
    case Fault::noSuchImage:
        return fmt::format("a region names image {}, but the batch has {} images", fault.value, fault.size);
    case Fault::badSequenceLength:
        return fmt::format(
            "Expected all values in sequence_lens to be between 0 and {}, the length of X, but "
            "got {} for sequence {}",
            fault.size, fault.value, fault.axis);
    case Fault::badMaxIndex:
        return fmt::format("Found an invalid max index: {} (output volumes have {} elements); the indices "
                           "must come from a MaxPool with this kernel, stride and padding",
                           fault.value, fault.size);
    case Fault::noCategory:
        return fmt::format("{} is not one of the {} categories; set zeros to 1 to encode it as zeros",
                           fault.axis == 1
                               ? fmt::to_string(static_cast<float>(std::bit_cast<double>(fault.value)))
                               : fmt::to_string(std::bit_cast<double>(fault.value)),
                           fault.size);
    case Fault::badWriteIndex:
        return sentenceOfWriteIndex(fault.value, static_cast<int>(fault.axis), fault.size);
    default:
        return "a matrix is singular";
    }
}

} // namespace

void throwIfRaised(const Fault& fault) {
    if (fault.code != Fault::none) throw Error(ErrorCode::invalidArgument, sentenceOf(fault));
}

} // namespace twb::cuda
