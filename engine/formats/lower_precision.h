#pragma once

#include "formats/imported_model.h"
#include "training/precision_loss.h"
#include "training/quantization.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace twb {

/// Tensors that an edit adds to a graph before they are saved: all in one file that the graph does not name
/// yet.
class HeldTensors {
public:
    /// `project`: the file in whose folder write() will write, under an unused name; empty without write().
    explicit HeldTensors(const Graph& graph, const std::filesystem::path& project = {});

    /// Makes nodes Files that read "FILE#<name of the node>".
    HoldTensor hold();
    /// The files of the graph, and these tensors.
    std::shared_ptr<const TensorFiles> over(std::shared_ptr<const TensorFiles> files) const;
    /// The tensors of the graph's Files.
    std::map<std::string, Tensor> of(const Graph& graph) const;
    /// Writes the tensors of the graph's Files, and returns the file; an empty path if it has none. Throws
    /// Error(io).
    std::filesystem::path write(const Graph& graph) const;

private:
    std::filesystem::path m_folder;
    std::string m_file;
    std::shared_ptr<std::map<std::string, Tensor>> m_tensors; ///< by path
};

enum class LowPrecision : std::uint8_t { int8, bf16 };

struct PrecisionChange {
    LowerPrecision change; ///< with an empty delta, the rest is empty, too
    PrecisionLoss loss;
};

/// Computes a graph in a lower precision, and what that loses: quantize() or castToBFloat16(), then
/// comparePrecision(), all with these samples. `isCancelled` as for observeRanges().
PrecisionChange lowerPrecision(const Graph& graph, const RunSetup& setup, const Samples& samples,
                               LowPrecision to, HeldTensors& held, const IsCancelled& isCancelled,
                               const QuantizationOptions& options = {});

} // namespace twb
