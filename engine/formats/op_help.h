#pragma once

#include "graph/module_op.h"
#include "ops/op.h"

#include <string>
#include <vector>

namespace twb {

/// The help of an op in English, from its entry of the op table. The inspector and `twb ops OP` show it.
struct OpHelp {
    struct Port {
        std::string name;     ///< ONNX's: "A"
        std::string argument; ///< PyTorch's, if it differs: "mat1"
        std::string dtypes;   ///< "f32 f64 f16 bf16"
        std::string note;     ///< "optional, same dtype as A"; may be empty
    };
    struct Attribute {
        std::string name;
        std::string type;  ///< "integers"
        std::string value; ///< "= 1.0", "required" or empty
        std::string doc;   ///< with its choices or its limits
    };

    std::string doc;
    std::string formula;           ///< may be empty
    std::string shapes;            ///< may be empty
    std::string onnx;              ///< "as in ONNX opset 13", "not an ONNX op"
    std::vector<int> onnxVersions; ///< the opsets that changed the op, up to the newest one known
    std::string torch;             ///< PyTorch's expression of the example: "torch.relu(X)"; may be empty
    std::string gradient; ///< "differentiable", "no gradient: it gives indices"; empty for other roles
    std::vector<Port> inputs;
    std::vector<Port> outputs;
    std::vector<Attribute> attributes;
    /// "A f32[3, 4], B f32[4, 5] → Y f32[3, 5]", or the reason why there is no example.
    std::string example;
    std::string exampleEntry; ///< the example's name for findComposite(); empty if there is none
};

OpHelp helpOf(const Op& op);
/// Has no example and no names in PyTorch and ONNX.
OpHelp helpOf(const ModuleOp& op);

/// "(mat1, mat2, [bias])": the operands by PyTorch's names.
std::string signatureOf(const Op& op);
std::string signatureOf(const ModuleOp& op);
/// "module, version 2, of 3 nodes: Mul, Sigmoid"
std::string contentOf(const ModuleOp& op);

std::string_view name(AttributeType type);
/// The dtypes of a set, separated by spaces.
std::string textOf(DTypeSet types);

} // namespace twb
