#include "ops/opaque.h"

#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

namespace twb {
namespace {

constexpr std::string_view kName = "Opaque";

void inferOpaque(InferContext& ctx) {
    const AttributeValue* outputs = ctx.attributes().find("outputs");
    const auto* texts = outputs ? std::get_if<std::vector<std::string>>(outputs) : nullptr;
    const auto count = static_cast<std::size_t>(ctx.attributes().integer("num_outputs"));
    if (!texts || texts->size() != count)
        ctx.fail(
            "attribute", -1,
            fmt::format("Opaque: attribute \"outputs\" must have {} types, as \"num_outputs\" says", count));
    for (std::size_t i = 0; i < count; ++i) {
        const auto type = parseTensorType((*texts)[i]);
        if (!type)
            ctx.fail("attribute", -1,
                     fmt::format("Opaque: attribute \"outputs\" must have types such as f32[2,3], but has "
                                 "\"{}\"",
                                 (*texts)[i]));
        ctx.output(static_cast<int>(i), *type);
    }
}

/// Runs refuse such nodes before they start.
void refusingKernel(const KernelContext& ctx) {
    throw Error(ErrorCode::unsupported, opaqueSentence({}, ctx.attributes));
}

} // namespace

bool isOpaque(const Op& op) noexcept { return op.name == kName; }

std::string opaqueSentence(std::string_view nodeName, const Attributes& attributes) {
    std::string sentence = fmt::format("\"{}\" cannot run", attributes.text("target"));
    if (!nodeName.empty()) sentence += fmt::format(" (node \"{}\")", nodeName);
    if (const std::string& reason = attributes.text("reason"); !reason.empty()) sentence += ": " + reason;
    return sentence;
}

bool takesHostScalars(const Op& op, const Attributes& attributes) {
    return op.elementwise || (isOpaque(op) && attributes.has("pointwise") && attributes.flag("pointwise"));
}

void addOpaque(std::vector<Op>& table) {
    Op op = makeOp(
        std::string(kName), "Imported", 0,
        "A call in an imported program that has no equivalent op; a graph that contains it does not run");
    PortSpec operands = variadicPort("operands", "operands", kStored);
    operands.optional = true;
    op.inputs = {std::move(operands)};
    PortSpec outputs = port("outputs", "", kStored);
    outputs.variadic = true;
    op.outputs = {std::move(outputs)};
    AttributeSpec target;
    target.name = "target";
    target.type = AttributeType::text;
    target.defaultValue = std::string("custom op");
    target.doc = "Name of the op in its program, such as aten::cdist";
    AttributeSpec types = textsAttribute("outputs", "Output types, such as f32[2,3]");
    types.defaultValue = std::vector<std::string>{"f32[2,3]"};
    AttributeSpec count = integerAttribute("num_outputs", 1, "Number of outputs");
    count.minimum = 0;
    count.maximum = 100'000;
    AttributeSpec reason;
    reason.name = "reason";
    reason.type = AttributeType::text;
    reason.defaultValue = std::string();
    reason.doc = "Why it cannot run";
    op.attributes = {std::move(target), std::move(types), std::move(count), std::move(reason),
                     flagAttribute("pointwise", false,
                                   "Accepts a 0-dimensional cpu tensor among operands on another device")};
    op.infer = inferOpaque;
    op.kernel = refusingKernel;
    op.noGradient = "is not known to this program";
    table.push_back(std::move(op));

    describeOnly(table, kName, "", "stands for an op that this program does not know");
}

} // namespace twb
