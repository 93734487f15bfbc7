#pragma once

#include <filesystem>
#include <onnx/onnx_pb.h>
#include <string>
#include <vector>

namespace twb {

/// Replaces each TreeEnsembleClassifier and TreeEnsembleRegressor of ai.onnx.ml, the ops of its versions 1 to
/// 3, by a TreeEnsemble and ops that compute classes and scores from its sums. A node without such a form
/// stays as it is; the result has a sentence for each, which names the node and the reason.
///
/// A leaf that contributes to several scores becomes a leaf in each of several copies of its tree. With two
/// labels and leaves for class 0 only, the sum s belongs to the second label, as in ONNX Runtime: the scores
/// are 1 − s and s if no weight is negative, whatever the post_transform, else −s and s. The label is that of
/// the larger one.
///
/// External data of their tensors must be in `folder`; throws like tensorFromProto().
std::vector<std::string> replaceTrees(onnx::GraphProto& graph, const std::filesystem::path& folder);

} // namespace twb
