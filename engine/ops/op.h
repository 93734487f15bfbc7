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

class InferContext;

/// One input or output of an op.
struct PortSpec {
    std::string name;         ///< ONNX's: "A", "axes"
    std::string argument;     ///< the framework's name in messages: "mat1", "self"; empty: as `name`
    DTypeSet types;           ///< what it accepts
    std::string typeVariable; ///< ports with the same non-empty one must have the same dtype ("T")
    bool optional = false;    ///< may stay unconnected
    /// The last one only. An input takes one or more edges; an output is there as often as the node's
    /// attribute "num_outputs" says. As an output, `optional` means that nobody need ask for it: its kernel
    /// then sees data == nullptr.
    bool variadic = false;
    /// A small value that the host reads before the launch (a shape, axes): lives on cpu whatever the lane,
    /// as sizes do in PyTorch. Unconnected, the attribute of the same name stands in for it.
    bool hostValue = false;
    /// infer() reads its elements for the output's sizes, so only the run can know these (NonZero).
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

/// How near to the exact result a kernel's must be: |got - exact| <= atol + rtol * |exact|. Given for f32;
/// f64 must be nearer by the ratio of their precisions, integers are exact.
struct Tolerance {
    double rtol = 0;
    double atol = 0;
};

/// Two inputs of one type variable whose dtypes differ.
struct MixedInputs {
    std::string_view first, second; ///< the framework's names of them
    DType firstDType, secondDType;
};

enum class OpRole : std::uint8_t {
    compute,
    source,   ///< no inputs; runs once, before the first iteration
    transfer, ///< To
    sink,     ///< Save, Probe
    control,  ///< If, Loop, Scan: runs its bodies (graph/bodies.h) never, once or often
    state,    ///< Carried, ScanSlice, Iteration: what a body finds each time it runs
};

/// How an op's host kernel takes tensors that lie channels last (channelsLastStrides), in which convolutions
/// run best. Every kernel reads inputs of any layout; this is about speed, and about where output 0 may lie.
enum class ChannelsLast : std::uint8_t {
    no,
    /// Each element is made from those at its place, so axes may come in any order: where output 0 lies
    /// channels last, the kernel is shown all tensors with the channels as their last axis, row-major.
    pointwise,
    /// Reads input 0 and writes output 0 either way, and best the same way.
    either,
    /// Reads and writes either way, and runs best channels last.
    wanted,
};

/// One entry of the op table: everything that is known of an op. The palette, the inspector, `twb ops`, the
/// validator and the tests derive from it.
struct Op {
    std::string name;     ///< ONNX's where ONNX has the op
    std::string category; ///< palette section: "Tensors", "Linear algebra", …
    std::string domain;   ///< of operators, as ONNX names it: "ai.onnx.ml"; empty: the default one
    int opset = 0;        ///< the version of its domain whose semantics it has; 0: not an ONNX op
    std::string doc;      ///< one line
    std::string formula;  ///< "Y = alpha · A′ × B′ + beta · C"; may be empty
    OpRole role = OpRole::compute;
    std::vector<PortSpec> inputs;
    std::vector<PortSpec> outputs;
    std::vector<AttributeSpec> attributes;
    std::vector<std::string> bodies; ///< of a control op, as ONNX calls them: "then_branch"
    /// PyTorch lets a 0-dimensional CPU tensor meet tensors on another device in these.
    bool elementwise = false;
    /// The result follows from the types of its inputs (Shape, Size), whatever they hold.
    bool readsTypesOnly = false;
    /// Inputs whose buffer the planner may hand to output 0 when nobody else reads it and sizes are equal.
    std::vector<int> inPlace;
    ChannelsLast channelsLast = ChannelsLast::no;
    Tolerance tolerance;
    /// The sentence in which PyTorch refuses mixed inputs; null where it promotes them to one dtype instead.
    std::string (*mixedInputs)(const MixedInputs&) = nullptr;

    /// Sets the output types from the inputs', or throws InferError. Inputs have no inputErrors (or the first
    /// of them is thrown); unknown dimensions (kUnknownDim) are possible.
    std::function<void(InferContext&)> infer;
    /// Work of one launch; sizes are known. By default: bytes of all inputs and outputs, one flop an element.
    std::function<Cost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                       const Attributes& attributes)>
        cost;
    HostKernel kernel = nullptr;

    const AttributeSpec* attribute(std::string_view name) const noexcept;
    /// Number of ports with `edges` inputs connected: variadic inputs count each of theirs.
    const PortSpec& inputAt(int port) const noexcept;
    bool isVariadic() const noexcept { return !inputs.empty() && inputs.back().variadic; }
    int minimumInputs() const noexcept;
    /// With `complete` attributes; variadic outputs count each of theirs.
    int outputCount(const Attributes& complete) const;
    const PortSpec& outputAt(int port) const noexcept;
};

/// What infer() throws: `port` is the input it concerns, -1 for the node as a whole.
class InferError : public Error {
public:
    /// `kind`: "shape-mismatch", "dtype-mismatch", "attribute", "missing-input", "file",
    /// "too-large".
    InferError(std::string kind, int port, const std::string& sentence,
               std::optional<DType> wanted = std::nullopt)
        : Error(ErrorCode::badGraph, sentence), m_kind(std::move(kind)), m_port(port), m_wanted(wanted) {}
    const std::string& kind() const noexcept { return m_kind; }
    int port() const noexcept { return m_port; }
    /// The dtype with which `port` would do; nothing when it is not about that.
    std::optional<DType> wantedDType() const noexcept { return m_wanted; }

private:
    std::string m_kind;
    int m_port;
    std::optional<DType> m_wanted;
};

/// What infer() sees of a node.
class InferContext {
public:
    InferContext(const Op& op, const Attributes& complete, std::span<const TensorType* const> inputs,
                 std::span<const Tensor* const> values, const TensorFiles* files,
                 std::span<TensorType> outputs)
        : m_op(op), m_attributes(complete), m_inputs(inputs), m_values(values), m_files(files),
          m_outputs(outputs) {}

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
    /// when it is absent or known only at run time; isDeferred() tells these apart.
    std::optional<std::vector<std::int64_t>> integers(int port) const;
    /// The same as a tensor of any dtype, dense: only a connected one.
    const Tensor* value(int port) const noexcept {
        const auto i = static_cast<std::size_t>(port);
        return input(port) && i < m_values.size() ? m_values[i] : nullptr;
    }
    /// Connected, and its value is not known yet.
    bool isDeferred(int port) const noexcept;
    const TensorFiles* files() const noexcept { return m_files; }
    void output(int port, TensorType type) { m_outputs[static_cast<std::size_t>(port)] = std::move(type); }
    /// What output() has set so far.
    std::span<const TensorType> outputs() const noexcept { return m_outputs; }

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
};

/// `given` with every default of `op` filled in. Throws InferError("attribute") naming the attribute when one
/// is unknown, of the wrong type, out of range, or required and absent.
Attributes completeAttributes(const Op& op, const Attributes& given);

/// The op's own cost, or, where it has none, one flop an output element and the bytes of all tensors. Types
/// are known.
Cost costOf(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs,
            const Attributes& attributes);

} // namespace twb
