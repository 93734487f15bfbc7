#pragma once

#include "formats/pytorch/aten.h"
#include "ops/op_table.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace twb::aten {

/// Why a call cannot be expressed: a clause such as "its padding is a string".
struct Unmapped {
    std::string reason;
};

/// A node of a mapping that is not in the graph yet. Its id is the one that it will have.
struct NewNode {
    Node node;
    Device device;
    std::vector<std::optional<PortRef>> inputs;
};

/// One call while the table expresses it: reads arguments and makes nodes. All members throw Unmapped if the
/// call cannot be expressed: for an argument that is missing or of another kind, and for a node that the op
/// table rejects.
class Mapping {
public:
    using Ints = std::vector<std::int64_t>;
    using Find = std::function<const Value*(ValueId)>;

    /// `find` gives the operands and throws for unknown ones. `firstNode` is the id of the first new node.
    Mapping(const Call& call, const Find& find, std::uint64_t firstNode, std::int64_t seed)
        : m_call(call), m_find(find), m_firstNode(firstNode), m_seed(seed), m_given(call.results.size()) {}

    const Call& call() const noexcept { return m_call; }
    [[noreturn]] static void refuse(std::string reason) { throw Unmapped{std::move(reason)}; }

    // Arguments. None counts as absent.
    bool has(std::string_view name) const { return find(name) != nullptr; }
    Value tensor(std::string_view name) const;
    std::optional<Value> optionalTensor(std::string_view name) const;
    bool isTensor(std::string_view name) const;
    std::vector<Value> tensors(std::string_view name) const;                        ///< without None
    std::vector<std::optional<Value>> optionalTensors(std::string_view name) const; ///< with None
    bool flag(std::string_view name, bool absent) const;
    std::int64_t integer(std::string_view name, std::optional<std::int64_t> absent = {}) const;
    double number(std::string_view name, std::optional<double> absent = {}) const;
    std::vector<double> numbers(std::string_view name) const;
    Ints integers(std::string_view name, std::optional<Ints> absent = {}) const;
    std::string text(std::string_view name, std::string absent) const;
    bool isText(std::string_view name) const;
    /// A dimension in [0, rank); a scalar counts as one dimension.
    int axis(std::string_view name, const Value& of, std::optional<std::int64_t> absent = {}) const;
    static int axisOf(std::int64_t axis, const Value& of);

    std::size_t resultCount() const noexcept { return m_call.results.size(); }
    const TensorType& type(std::size_t result = 0) const;
    const Shape& shape(std::size_t result = 0) const { return type(result).shape; }
    DType dtype(std::size_t result = 0) const { return type(result).dtype; }

    /// The dtype to which PyTorch promotes the operands with these names; numbers count as scalars.
    DType promoted(std::initializer_list<std::string_view> names) const;
    /// An operand as `dtype`: a tensor, or a number as a Constant.
    Value operand(std::string_view name, DType dtype);

    // Nodes.
    using Inputs = std::vector<std::optional<Value>>;
    /// A node with one used output. A node with one operand is on the operand's device, other nodes on the
    /// call's, so that a mismatch is one of the call's main node.
    Value make(std::string_view op, const Inputs& inputs, const Attributes& attributes = {});
    std::vector<Value> makeAll(std::string_view op, const Inputs& inputs, const Attributes& attributes = {});
    Value makeOn(Device device, std::string_view op, const Inputs& inputs, const Attributes& attributes);
    Value cast(const Value& value, DType dtype); ///< the value itself if it has this dtype
    Value constant(double value, DType dtype);
    Value constant(const Ints& values);
    Value filled(double value, const TensorType& type);
    Value reshape(const Value& value, const Shape& shape); ///< the value itself if it has this shape
    Value transpose(const Value& value, Ints order);
    Value expand(const Value& value, const Shape& shape);
    Value unsqueeze(const Value& value, std::int64_t axis);
    Value alongChannels(const Value& value, int rank); ///< one element per channel, as [1, C, 1, …]
    Value slice(const Value& value, int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1);
    Value reduce(std::string_view op, const Value& value, const Ints& axes, bool keep); ///< no axes: all
    Value add(const Value& a, const Value& b) { return make("Add", {a, b}); }
    Value sub(const Value& a, const Value& b) { return make("Sub", {a, b}); }
    Value mul(const Value& a, const Value& b) { return make("Mul", {a, b}); }
    Value div(const Value& a, const Value& b) { return make("Div", {a, b}); }
    Value scaled(const Value& value, double factor); ///< the value itself for the factor 1
    Value onDevice(const Value& value, Device device);
    std::int64_t seed() const noexcept { return m_seed; } ///< another one in each call

    /// Sets a result, cast to the stated dtype. Refuses another shape. Results that are not set stay opaque.
    void give(std::size_t result, Value value);
    void give(Value value) { give(0, std::move(value)); }

    /// The index of a gradient among the results of a backward call: a capture lists only those that the
    /// output mask includes. Nothing if the call does not have it.
    std::optional<std::size_t> placeOf(std::size_t gradient) const;
    /// Gives the results of a backward call: the gradients of these operands of a forward op. The table
    /// expresses the forward op by the arguments of this call; the ops have their gradients in the op table.
    /// An operand that the call does not have must have the type of its gradient, and no gradient may need
    /// it.
    void giveGradients(std::string_view forward, std::initializer_list<const char*> operands);

    std::vector<NewNode> takeNodes() { return std::move(m_nodes); }
    const std::vector<std::optional<Value>>& given() const noexcept { return m_given; }

private:
    const Argument* find(std::string_view name) const;
    const Argument& get(std::string_view name) const;
    const Value& valueOf(ValueId id) const;

    const Call& m_call;
    const Find& m_find;
    std::uint64_t m_firstNode;
    std::int64_t m_seed;
    std::vector<NewNode> m_nodes;
    std::vector<std::optional<Value>> m_given;
};

/// Template arguments that are the names of ops.
template <std::size_t N> struct Name {
    constexpr Name(const char (&text)[N]) { std::copy_n(text, N, chars); }
    char chars[N];
};

/// One row of the table: expresses the calls of one aten op.
struct Row {
    std::string_view name; ///< without "aten::"
    void (*map)(Mapping&) = nullptr;
    bool pointwise = false;
};
using Rows = std::vector<Row>;

void addPointwise(Rows& rows);
void addShapes(Rows& rows);
void addIndexing(Rows& rows);
void addReductions(Rows& rows);
void addLayers(Rows& rows);
void addPooling(Rows& rows);
void addRecurrent(Rows& rows);
void addSources(Rows& rows);
void addLosses(Rows& rows);
void addBackward(Rows& rows);
void addLists(Rows& rows);

/// The row of an op ("aten::add_" finds "add"); null if the table has none.
const Row* findRow(std::string_view op);

inline constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

/// "f32[2,3]", the notation of an Opaque node's outputs.
std::string typeText(const TensorType& type);

} // namespace twb::aten
