#pragma once

#include "formats/onnx/onnx_model.h"

#include <filesystem>
#include <onnx/onnx_pb.h>
#include <string>

namespace twb {

/// Replaces the sequences and optionals of a model by their tensors. Whether an optional has an element must
/// follow from the model, and so must the length of each sequence, except of those of tensors of one shape
/// that SplitToSequence or a Loop makes: such a sequence becomes one tensor with its elements along the first
/// axis, and SequenceMap over it a Loop. Otherwise, SplitToSequence becomes Split, SequenceMap its body once
/// for each element, an If over sequences an If over their elements or the branch that is always taken, and a
/// Loop over sequences a Loop over their elements or, if their lengths change, its body once for each
/// iteration.
///
/// A sequence "x" among the model's inputs becomes inputs "x[0]", "x[1]", …, as many as
/// options.dimensions["x"], else one. An optional input has an element unless options.dimensions["x"] is 0.
/// Outputs are named in the same way; an empty optional is left out. The nodes must have the form of the
/// newest opset, and functions must be expanded.
///
/// Other Ifs whose condition follows from constants and sizes become the branch that they take, since the
/// other one may return another number of axes.
///
/// Returns "" on success. Else the model is unchanged, and the result is a clause that names the node and
/// says why its sequence is not known before the run.
std::string resolveSequences(onnx::ModelProto& model, const std::filesystem::path& path,
                             const ImportOptions& options);

} // namespace twb
