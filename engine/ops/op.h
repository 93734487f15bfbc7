#pragma once

#include "backends/device_profile.h"
#include "backends/kernel.h"
#include "core/attributes.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"
#include "core/tensor.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

class GradientContext;
class InferContext;

/// One input or output of an op.
struct PortSpec {
    std::string name;         ///< ONNX's name: "A", "axes"
    std::string argument;     ///< PyTorch's name in messages: "mat1", "self"; empty: same as `name`
    DTypeSet types;           ///< the accepted dtypes
    std::string typeVariable; ///< ports with the same non-empty variable must have the same dtype ("T")
    bool optional = false;    ///< may stay unconnected
    /// Only for the last port. An input takes one or more edges; the number of outputs is the node's
    /// attribute "num_outputs". An `optional` output without a consumer has data == nullptr in its kernel.
    bool variadic = false;
    /// A small value that the host reads before the launch (a shape, axes). It is on cpu whatever the lane,
    /// like sizes in PyTorch. Without a connection, the attribute of the same name is used.
    bool hostValue = false;
    /// infer() reads its elements for the output's sizes, so the sizes may be known only at run time
    /// (NonZero).
    bool shapesOutput = false;
};

enum class AttributeType : std::uint8_t {
    flag,
    integer,
    number,
    text,
    enumeration,
    integers,
    numbers,
    dtype,
    shape,
    file,
    texts
};

struct AttributeSpec {
    std::string name;
    AttributeType type = AttributeType::number;
    std::optional<AttributeValue> defaultValue; ///< none: see `required`
    bool required = false;                      ///< false without a default: may be absent
    std::optional<double> minimum;
    std::optional<double> maximum;
    std::vector<std::string> choices; ///< for enumeration
    std::string doc;
};

/// The tolerance of a kernel against the exact result: |got - exact| <= atol + rtol * |exact|. Given for f32;
/// f64's is smaller by the ratio of the precisions; integers are exact.
struct Tolerance {
    double rtol = 0;
    double atol = 0;
};

/// Two inputs with one type variable but different dtypes.
struct MixedInputs {
    std::string_view first, second; ///< the framework's names of them
    DType firstDType, secondDType;
};

enum class OpRole : std::uint8_t {
    compute,
    source,   ///< no inputs; runs once, before the first iteration
    transfer, ///< To
    sink,     ///< Save, Probe
    control,  ///< If, Loop, Scan: runs its bodies (graph/bodies.h) any number of times
    state,    ///< Carried, ScanSlice, Iteration: an input of a body at each run
    /// AllReduce: called by all ranks of a run (backends/world.h)
    collective,
};

/// The op's support for channels-last tensors (channelsLastStrides), which make convolutions faster. Every
/// kernel accepts inputs of any layout; this affects only the speed and the layout of output 0.
enum class ChannelsLast : std::uint8_t {
    no,
    /// Elementwise, so the order of axes does not matter: if output 0 is channels-last, the kernel gets all
    /// tensors with permuted axes, row-major.
    pointwise,
    /// Any layouts of input 0 and output 0; fastest if they are equal.
    either,
    /// Any layouts; fastest with channels-last.
    wanted,
};

/// A struct of ops/element_functions.h, which kernels that compute several ops per element call by name.
struct ElementFunction {
    std::string_view name; ///< "LeakyRelu"; empty: the op has none
    /// The attributes that initialize its members, in their order. An enumeration gives the index of its
    /// choice.
    std::array<std::string_view, 2> parameters{};
};

/// An input of an op's example.
struct ExampleInput {
    Shape shape;
    std::vector<double> values; ///< row-major, or one for all; empty: random, or 0, 1, 2 … for integers
    std::optional<DType> dtype; ///< nothing: the first of f32, i64 and bool that the port accepts
};

/// Operands with which an op runs, for its help.
struct OpExample {
    /// By input port; nothing: not connected. Empty: a tensor [3, 4] at each required input.
    std::vector<std::optional<ExampleInput>> inputs;
    Attributes attributes;
    std::string_view none; ///< why there is no example, as the end of a sentence about the op
};

/// One entry of the op table. The palette, the inspector, `twb ops`, the validator and the tests derive from
/// it.
struct Op {
    std::string name;     ///< ONNX's name if ONNX has the op
    std::string category; ///< palette section: "Tensors", "Linear algebra", …
    std::string domain;   ///< ONNX's domain: "ai.onnx.ml"; empty: the default
    int opset = 0;        ///< the version whose semantics it has; 0: not an ONNX op
    std::string doc;      ///< one line
    std::string formula;  ///< "Y = alpha · A′ × B′ + beta · C"; may be empty
    std::string shapes;   ///< "A [m, k] · B [k, n] → Y [m, n]"; may be empty
    OpExample example;
    OpRole role = OpRole::compute;
    std::vector<PortSpec> inputs;
    std::vector<PortSpec> outputs;
    std::vector<AttributeSpec> attributes;
    std::vector<std::string> bodies; ///< of a control op, with ONNX's names: "then_branch"
    /// PyTorch accepts a 0-dimensional CPU tensor among operands on another device in these ops.
    bool elementwise = false;
    /// The result depends only on the types of the inputs (Shape, Size).
    bool readsTypesOnly = false;
    /// Inputs whose buffer the planner may reuse for output 0 if they have no other consumer and sizes are
    /// equal.
    std::vector<int> inPlace;
    /// Inputs whose tensors the op writes: output i is the tensor of input updates[i] after the step, in the
    /// same memory. Each must come directly from a source on the op's lane (placement/update_rule.h).
    std::vector<int> updates;
    /// The kernel reads KernelContext::iteration, so its result may differ between iterations.
    bool readsIteration = false;
    ChannelsLast channelsLast = ChannelsLast::no;
    Tolerance tolerance;
    /// PyTorch's message for inputs of different dtypes; null if PyTorch promotes them.
    std::string (*mixedInputs)(const MixedInputs&) = nullptr;

    /// Sets the output types from the input types, or throws InferError. Inputs have no errors of their own.
    /// Dimensions may be unknown (kUnknownDim).
    std::function<void(InferContext&)> infer;
    /// The work of one launch with known sizes. Default: the bytes of all inputs and outputs, and one flop
    /// per element.
    std::function<Cost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                       const Attributes& attributes)>
        cost;
    HostKernel kernel = nullptr;

    /// Adds the ops of the vector-Jacobian product to a graph. Null: the op has no gradient, see
    /// `noGradient`.
    void (*gradient)(GradientContext&) = nullptr;
    /// Why an op with floating inputs has no gradient, as the end of a sentence about it: "gives indices".
    std::string_view noGradient;

    ElementFunction element;
    /// PyTorch's expression: `{0}` is input 0, `{alpha}` an attribute. Empty if PyTorch has none, or if it
    /// depends on more than that; formats/pytorch then composes it.
    std::string_view torch;

    const AttributeSpec* attribute(std::string_view name) const noexcept;
    /// The number of input ports with `edges` connected: a variadic input counts once per edge.
    const PortSpec& inputAt(int port) const noexcept;
    bool isVariadic() const noexcept { return !inputs.empty() && inputs.back().variadic; }
    int minimumInputs() const noexcept;
    /// The number of outputs with `complete` attributes; variadic outputs count each.
    int outputCount(const Attributes& complete) const;
    const PortSpec& outputAt(int port) const noexcept;
};

/// An error of infer(). `port` is the input concerned, -1 for the node as a whole.
class InferError : public Error {
public:
    /// `kind`: "shape-mismatch", "dtype-mismatch", "attribute", "missing-input", "file",
    /// "too-large".
    InferError(std::string kind, int port, const std::string& sentence,
               std::optional<DType> wanted = std::nullopt)
        : Error(ErrorCode::badGraph, sentence), m_kind(std::move(kind)), m_port(port), m_wanted(wanted) {}
    const std::string& kind() const noexcept { return m_kind; }
    int port() const noexcept { return m_port; }
    /// The dtype that `port` would accept; nothing for other errors.
    std::optional<DType> wantedDType() const noexcept { return m_wanted; }

private:
    std::string m_kind;
    int m_port;
    std::optional<DType> m_wanted;
};

/// A node as seen by infer().
class InferContext {
public:
    InferContext(const Op& op, const Attributes& complete, std::span<const TensorType* const> inputs,
                 std::span<const Tensor* const> values, const TensorFiles* files,
                 std::span<TensorType> outputs, int ranks = 1)
        : m_op(op), m_attributes(complete), m_inputs(inputs), m_values(values), m_files(files),
          m_outputs(outputs), m_ranks(ranks) {}

    const Op& op() const noexcept { return m_op; }
    /// With defaults filled in.
    const Attributes& attributes() const noexcept { return m_attributes; }
    std::span<const TensorType* const> inputs() const noexcept { return m_inputs; }
    int inputCount() const noexcept { return static_cast<int>(m_inputs.size()); }
    /// Null when unconnected.
    const TensorType* input(int port) const noexcept {
        return port < inputCount() ? m_inputs[static_cast<std::size_t>(port)] : nullptr;
    }
    /// The host value of a hostValue input: a connected constant, or the attribute of the same name. Nothing
    /// if it is absent or known only at run time; isDeferred() distinguishes these.
    std::optional<std::vector<std::int64_t>> integers(int port) const;
    /// The connected value as a dense tensor of any dtype.
    const Tensor* value(int port) const noexcept {
        const auto i = static_cast<std::size_t>(port);
        return input(port) && i < m_values.size() ? m_values[i] : nullptr;
    }
    /// Connected, but its value is not known yet.
    bool isDeferred(int port) const noexcept;
    const TensorFiles* files() const noexcept { return m_files; }
    void output(int port, TensorType type) { m_outputs[static_cast<std::size_t>(port)] = std::move(type); }
    /// The types set by output() so far.
    std::span<const TensorType> outputs() const noexcept { return m_outputs; }
    /// The ranks that take part in the run (World::size).
    int ranks() const noexcept { return m_ranks; }

    [[noreturn]] void fail(const char* kind, int port, const std::string& sentence) const {
        throw InferError(kind, port, sentence);
    }

private:
    const Op& m_op;
    const Attributes& m_attributes;
    std::span<const TensorType* const> m_inputs;
    std::span<const Tensor* const> m_values;
    const TensorFiles* m_files;
    std::span<TensorType> m_outputs;
    int m_ranks;
};

/// `given` with all defaults of `op`. Throws InferError("attribute") that names an attribute if it is
/// unknown, has the wrong type, is out of range, or is required but absent.
Attributes completeAttributes(const Op& op, const Attributes& given);

/// The op's own cost or, by default, one flop per output element and the bytes of all tensors. Types must be
/// known.
Cost costOf(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs,
            const Attributes& attributes);

} // namespace twb
