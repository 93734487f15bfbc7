#include "support/cuda_op_runner.h"

#include "support/host_queue.h"

namespace twb::test {

std::vector<Tensor> runOpByCuda(std::string_view op, const Attributes& attributes,
                                const std::vector<Tensor>& inputs) {
    setKernelRunner([](const Op& entry, const KernelContext& context) {
        runCudaKernel(entry.name.c_str(), context);
        return true;
    });
    std::vector<Tensor> out = runOp(op, attributes, inputs);
    setKernelRunner(nullptr);
    return out;
}

} // namespace twb::test
