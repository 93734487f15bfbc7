#include "ops/families.h"
#include "ops/schema.h"

namespace twb {
namespace {

void inferSink(InferContext&) {}

Op makeSink(std::string name, std::string doc) {
    Op op = makeOp(std::move(name), "Look", 0, std::move(doc));
    op.role = OpRole::sink;
    op.inputs = {port("tensor", "tensor", kAll)};
    op.infer = inferSink;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 0);
    };
    return op;
}

} // namespace

void addSinks(std::vector<Op>& table) {
    table.push_back(makeSink("Probe", "Keeps its tensor readable after the run"));

    Op save = makeSink("Save", "Writes its tensor to a .npy file of the project's folder");
    save.attributes = {fileAttribute("path", "The .npy file, relative to the project's folder")};
    table.push_back(std::move(save));
}

} // namespace twb
