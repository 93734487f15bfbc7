#pragma once

#include "core/tensor.h"
#include "graph/graph.h"

#include <optional>

namespace twb {

/// Whether a tensor is small enough for a Constant, which users can edit, and has a dtype that its attributes
/// hold.
bool fitsConstant(const Tensor& tensor);
/// Makes the node a Constant with the elements of a dense host tensor for which fitsConstant() is true.
void makeConstant(Node& node, const Tensor& tensor);
/// The type of the tensor that makeConstant() has written into a node; nothing if its attributes are faulty.
std::optional<TensorType> typeOfConstant(const Node& node);

} // namespace twb
