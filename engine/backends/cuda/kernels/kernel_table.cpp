#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/outside.h"

namespace twb::cuda {
namespace {

KernelMap makeTable() {
    KernelMap table;
    addMathKernels(table);
    addActivationKernels(table);
    addArithmeticKernels(table);
    addPowerKernels(table);
    addLogicKernels(table);
    addCastKernels(table);
    addMovementKernels(table);
    addIndexingKernels(table);
    addScatterKernels(table);
    addGeneratorKernels(table);
    addReductionKernels(table);
    addSoftmaxKernels(table);
    addScanKernels(table);
    addNormalizationKernels(table);
    addRowNormalizationKernels(table);
    addPoolingKernels(table);
    addLossKernels(table);
    addMatMulKernels(table);
    addIntegerMatMulKernels(table);
    addDeterminantKernels(table);
    addConvolutionKernels(table);
    addTrainingKernels(table);
    addUpdateKernels(table);
    addQuantizationKernels(table);
    addOrderingKernels(table);
    addResizeKernels(table);
    addAttentionKernels(table);
    addLinearAttentionKernels(table);
    addCausalConvolutionKernels(table);
    addSamplingKernels(table);
    addRecurrentKernels(table);
    addFoldingKernels(table);
    addIntegerConvolutionKernels(table);
    addEinsumKernels(table);
    addFourierKernels(table);
    addMlFeatureKernels(table);
    addMlModelKernels(table);
    addSelectionKernels(table);
    addUniqueKernels(table);
    addNGramKernels(table);
    return table;
}

const KernelMap& table() {
    static const KernelMap kernels = makeTable();
    return kernels;
}

} // namespace

const Kernel* findKernel(std::string_view op) {
    const auto found = table().find(op);
    return found == table().end() ? findOutsideKernel(op) : &found->second;
}

std::vector<std::string_view> kernelNames() {
    std::vector<std::string_view> names;
    for (const auto& [name, kernel] : table()) names.push_back(name);
    return names;
}

} // namespace twb::cuda
