#include "backends/cuda/kernels/outside.h"

#include "backends/cuda/kernels/view_copy.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace twb::cuda {
namespace {

constexpr std::size_t kAlignment = 64; ///< of the tensors, as resources/sdk/twb_op.h promises

void runOutside(const KernelCall& call);

struct Outside {
    OutsideCudaKernel run = nullptr;
    Kernel entry{nullptr, runOutside};
};

/// Never destroyed: streams may run until the program ends. Its entries stay where they are.
struct Registry {
    std::mutex mutex;
    std::map<std::string, Outside, std::less<>> kernels;
};
Registry& registry() {
    static auto* const one = new Registry;
    return *one;
}

const Outside* find(std::string_view op) {
    const std::scoped_lock lock(registry().mutex);
    const auto found = registry().kernels.find(op);
    return found == registry().kernels.end() ? nullptr : &found->second;
}

bool isReady(const TensorView& view) {
    return view.data && view.isDense() && reinterpret_cast<std::uintptr_t>(view.data) % kAlignment == 0;
}

/// The same tensor in memory of its own, dense and aligned, without its elements.
TensorView ownMemory(const TensorView& view, Queue& queue, std::deque<Scratch>& memory) {
    const auto bytes = static_cast<std::size_t>(TensorType{view.dtype, view.shape}.byteCount());
    memory.emplace_back(queue, std::max(bytes, kAlignment)); // not null without elements either
    return {memory.back().data(), view.dtype, view.shape, denseStrides(view.shape)};
}

void runOutside(const KernelCall& call) {
    const Outside* kernel = find(call.queue.op());
    std::deque<Scratch> memory; // released in the stream's order
    std::vector<TensorView> inputs;
    for (const TensorView& view : call.inputs) {
        const bool isUnconnected = !view.data && view.shape.elementCount() != 0;
        inputs.push_back(isUnconnected || isReady(view) ? view : ownMemory(view, call.queue, memory));
        if (inputs.back().data != view.data && view.data) copyView(call.queue, view, inputs.back());
    }
    std::vector<TensorView> outputs;
    std::vector<std::pair<TensorView, TensorView>> back; // to copy from and to
    for (const TensorView& view : call.outputs) {
        outputs.push_back(isReady(view) ? view : ownMemory(view, call.queue, memory));
        if (outputs.back().data != view.data && view.data) back.emplace_back(outputs.back(), view);
    }
    kernel->run({inputs, outputs, call.attributes, nullptr, nullptr, call.iteration}, call.queue.stream());
    for (const auto& [from, to] : back) copyView(call.queue, from, to);
}

} // namespace

void addOutsideKernel(const char* op, OutsideCudaKernel kernel) {
    const std::scoped_lock lock(registry().mutex);
    registry().kernels[op].run = kernel;
}

const Kernel* findOutsideKernel(std::string_view op) {
    const Outside* found = find(op);
    return found ? &found->entry : nullptr;
}

} // namespace twb::cuda
