// Linked into the op suites: with TWB_TEST_KERNELS=cuda-host in the environment, runOp runs the GPU's
// kernels, compiled for the host, instead of the CPU's, so that each op's tests and oracles apply to both.
// With cuda-blocks, kernels run in blocks of many threads (backends/cuda/kernels/emulated_blocks.h). Ops
// without a GPU kernel run on the CPU and are listed at the end.

#include "support/host_queue.h"
#include "support/op_runner.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace twb::test {
namespace {

struct Counts {
    std::int64_t launches = 0;
    std::set<std::string> ops;
    std::set<std::string> without;
    ~Counts() {
        std::printf("cuda-host: %lld launches of %zu ops;", static_cast<long long>(launches), ops.size());
        std::printf(without.empty() ? " no op without a kernel" : " no kernel for:");
        for (const std::string& op : without) std::printf(" %s", op.c_str());
        std::printf("\n");
    }
};

bool runOnTwin(const Op& op, const KernelContext& context) {
    static Counts counts;
    std::vector<DType> dtypes;
    for (const TensorView& input : context.inputs) dtypes.push_back(input.dtype);
    for (const TensorView& output : context.outputs)
        if (isNarrow(output.dtype)) dtypes.push_back(output.dtype);
    if (!hasCudaKernel(op.name, dtypes)) {
        counts.without.insert(op.name);
        return false;
    }
    ++counts.launches;
    counts.ops.insert(op.name);
    runCudaKernel(op.name.c_str(), context);
    return true;
}

const bool isChosen = [] {
    const char* const kernels = std::getenv("TWB_TEST_KERNELS");
    if (!kernels || (std::string(kernels) != "cuda-host" && std::string(kernels) != "cuda-blocks"))
        return false;
    setKernelRunner(runOnTwin);
    return true;
}();

} // namespace
} // namespace twb::test
