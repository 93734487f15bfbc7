#pragma once

#include "backends/cuda/kernels/kernel_table.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace twb::cuda {

using KernelMap = std::map<std::string_view, Kernel>;

/// Accepts any dtypes that the op table allows and that are not narrow.
inline bool supportsWide(std::span<const DType> dtypes) {
    return std::none_of(dtypes.begin(), dtypes.end(), isNarrow);
}
/// Also 8-bit floats.
inline bool supportsBytes(std::span<const DType> dtypes) {
    return std::none_of(dtypes.begin(), dtypes.end(), isPacked);
}
/// Accepts any dtypes that the op table allows.
inline bool supportsAll(std::span<const DType>) { return true; }

inline void add(KernelMap& table, std::string_view op, void (*run)(const KernelCall&),
                bool (*supports)(std::span<const DType>) = supportsWide) {
    table.emplace(op, Kernel{supports, run});
}

/// Each function adds the kernels of one family.
void addMathKernels(KernelMap& table);
void addActivationKernels(KernelMap& table);
void addArithmeticKernels(KernelMap& table);
void addPowerKernels(KernelMap& table);
void addLogicKernels(KernelMap& table);
void addCastKernels(KernelMap& table);
void addMovementKernels(KernelMap& table);
void addIndexingKernels(KernelMap& table);
void addScatterKernels(KernelMap& table);
void addGeneratorKernels(KernelMap& table);
void addReductionKernels(KernelMap& table);
void addSoftmaxKernels(KernelMap& table);
void addScanKernels(KernelMap& table);
void addNormalizationKernels(KernelMap& table);
void addRowNormalizationKernels(KernelMap& table);
void addPoolingKernels(KernelMap& table);
void addLossKernels(KernelMap& table);
void addMatMulKernels(KernelMap& table);
void addIntegerMatMulKernels(KernelMap& table);
void addDeterminantKernels(KernelMap& table);
void addConvolutionKernels(KernelMap& table);
void addTrainingKernels(KernelMap& table);
void addUpdateKernels(KernelMap& table);
void addQuantizationKernels(KernelMap& table);
void addOrderingKernels(KernelMap& table);
void addResizeKernels(KernelMap& table);
void addAttentionKernels(KernelMap& table);
void addLinearAttentionKernels(KernelMap& table);
void addCausalConvolutionKernels(KernelMap& table);
void addSamplingKernels(KernelMap& table);
void addRecurrentKernels(KernelMap& table);
void addFoldingKernels(KernelMap& table);
void addIntegerConvolutionKernels(KernelMap& table);
void addEinsumKernels(KernelMap& table);
void addFourierKernels(KernelMap& table);
void addMlFeatureKernels(KernelMap& table);
void addMlModelKernels(KernelMap& table);
void addSelectionKernels(KernelMap& table);
void addUniqueKernels(KernelMap& table);
void addNGramKernels(KernelMap& table);

} // namespace twb::cuda
