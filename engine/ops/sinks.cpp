#include "backends/cpu/strided.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

namespace twb {
namespace {

void inferSink(InferContext&) {}

void inferSave(InferContext& ctx) {
    if (ctx.files()) ctx.files()->checkTarget(ctx.attributes().text("path"));
}

/// The executor keeps the tensor, so the kernel does nothing.
void probeKernel(const KernelContext&) {}

void saveKernel(const KernelContext& ctx) {
    const std::string& path = ctx.attributes.text("path");
    if (!ctx.files)
        throw Error(ErrorCode::io,
                    fmt::format("\"{}\" cannot be written: this run has no project folder; save the "
                                "project first",
                                path));
    const TensorView& tensor = ctx.inputs[0];
    if (isDense(tensor)) return ctx.files->write(path, tensor);
    const Tensor dense = Tensor::onHost({tensor.dtype, tensor.shape});
    copyElements(tensor, dense.view());
    ctx.files->write(path, dense.view());
}

Op makeSink(std::string name, std::string doc) {
    Op op = makeOp(std::move(name), "Look", 0, std::move(doc));
    op.role = OpRole::sink;
    op.inputs = {port("tensor", "tensor", kStored)};
    op.infer = inferSink;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 0);
    };
    return op;
}

} // namespace

void addSinks(std::vector<Op>& table) {
    Op probe = makeSink("Probe", "Keeps its tensor for inspection after the run");
    probe.kernel = probeKernel;
    table.push_back(std::move(probe));

    Op save =
        makeSink("Save", "Writes its tensor to a .npy, .npz or .safetensors file of the project's folder");
    save.attributes = {fileAttribute(
        "path", "The file, relative to the project's folder: a.npy, a.npz#name or a.safetensors#name")};
    save.infer = inferSave;
    save.kernel = saveKernel;
    table.push_back(std::move(save));

    describe(table, "Save", "", {}, {{"path", std::string("example.npy")}});
}

} // namespace twb
