#include "formats/pytorch/aten_mapping.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace twb::aten {
namespace {

std::optional<double> numberOf(const std::string& text) {
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
}

std::optional<double> numberOf(const Argument& argument) {
    if (const auto* i = std::get_if<std::int64_t>(&argument)) return static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&argument)) return *d;
    if (const auto* b = std::get_if<bool>(&argument)) return *b ? 1 : 0;
    if (const auto* s = std::get_if<std::string>(&argument)) return numberOf(*s);
    return std::nullopt;
}

/// c10::promoteTypes without complex and quantized types.
DType promotedTypes(DType a, DType b) {
    if (a == b || b == DType::boolean) return a;
    if (a == DType::boolean) return b;
    if (isFloating(a) != isFloating(b)) return isFloating(a) ? a : b;
    if (isFloating(a)) {
        if (isHalfWidth(a) && isHalfWidth(b)) return DType::f32;
        return sizeOf(a) >= sizeOf(b) ? a : b;
    }
    const auto isSigned = [](DType d) { return d <= DType::i64; };
    if (isSigned(a) == isSigned(b)) return sizeOf(a) >= sizeOf(b) ? a : b;
    const DType s = isSigned(a) ? a : b;
    const DType u = isSigned(a) ? b : a;
    if (sizeOf(s) > sizeOf(u)) return s;
    if (u == DType::u8) return DType::i16;
    Mapping::refuse(
        fmt::format("PyTorch does not promote {} and {} to a common dtype", torchName(a), torchName(b)));
}

/// at::native::combine_categories: operands of a lower rank only change the kind of dtype.
std::optional<DType> combined(std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher) return lower;
    if (!lower || isFloating(*higher)) return higher;
    if (*higher == DType::boolean || isFloating(*lower)) return promotedTypes(*higher, *lower);
    return higher;
}

} // namespace

std::string typeText(const TensorType& type) {
    return fmt::format("{}[{}]", name(type.dtype), fmt::join(type.shape.dims(), ","));
}

const Argument* Mapping::find(std::string_view name) const {
    for (const auto& [key, argument] : m_call.arguments)
        if (key == name) return std::holds_alternative<std::monostate>(argument) ? nullptr : &argument;
    return nullptr;
}

const Argument& Mapping::get(std::string_view name) const {
    const Argument* argument = find(name);
    if (!argument) refuse(fmt::format("it has no argument \"{}\"", name));
    return *argument;
}

const Value& Mapping::valueOf(ValueId id) const { return *m_find(id); }

bool Mapping::isTensor(std::string_view name) const {
    const Argument* argument = find(name);
    const auto* id = argument ? std::get_if<ValueId>(argument) : nullptr;
    return id && *id != ValueId::none;
}

Value Mapping::tensor(std::string_view name) const {
    const auto* id = std::get_if<ValueId>(&get(name));
    if (!id || *id == ValueId::none) refuse(fmt::format("its argument \"{}\" is not a tensor", name));
    return valueOf(*id);
}

std::optional<Value> Mapping::optionalTensor(std::string_view name) const {
    return isTensor(name) ? std::optional(tensor(name)) : std::nullopt;
}

std::vector<std::optional<Value>> Mapping::optionalTensors(std::string_view name) const {
    const Argument& argument = get(name);
    std::vector<std::optional<Value>> out;
    const auto push = [&](ValueId id) {
        out.push_back(id == ValueId::none ? std::nullopt : std::optional(valueOf(id)));
    };
    if (const auto* list = std::get_if<std::vector<ValueId>>(&argument))
        for (const ValueId id : *list) push(id);
    else if (const auto* one = std::get_if<ValueId>(&argument))
        push(*one);
    else
        refuse(fmt::format("its argument \"{}\" is not a list of tensors", name));
    return out;
}

std::vector<Value> Mapping::tensors(std::string_view name) const {
    std::vector<Value> out;
    for (auto& value : optionalTensors(name))
        if (value) out.push_back(std::move(*value));
    return out;
}

bool Mapping::flag(std::string_view name, bool absent) const {
    const Argument* argument = find(name);
    if (!argument) return absent;
    const auto value = numberOf(*argument);
    if (!value) refuse(fmt::format("its argument \"{}\" is not true or false", name));
    return *value != 0;
}

std::int64_t Mapping::integer(std::string_view name, std::optional<std::int64_t> absent) const {
    if (absent && !find(name)) return *absent;
    const Argument& argument = get(name);
    if (const auto* i = std::get_if<std::int64_t>(&argument)) return *i;
    if (const auto* b = std::get_if<bool>(&argument)) return *b ? 1 : 0;
    if (const auto* list = std::get_if<Ints>(&argument); list && list->size() == 1) return list->front();
    refuse(fmt::format("its argument \"{}\" is not an integer that is known before the run", name));
}

double Mapping::number(std::string_view name, std::optional<double> absent) const {
    if (absent && !find(name)) return *absent;
    const auto value = numberOf(get(name));
    if (!value) refuse(fmt::format("its argument \"{}\" is not a number that is known before the run", name));
    return *value;
}

std::vector<double> Mapping::numbers(std::string_view name) const {
    const Argument& argument = get(name);
    if (const auto* list = std::get_if<std::vector<double>>(&argument)) return *list;
    if (const auto* list = std::get_if<Ints>(&argument)) return {list->begin(), list->end()};
    return {number(name)};
}

Mapping::Ints Mapping::integers(std::string_view name, std::optional<Ints> absent) const {
    if (absent && !find(name)) return *absent;
    const Argument& argument = get(name);
    if (const auto* list = std::get_if<Ints>(&argument)) return *list;
    if (const auto* i = std::get_if<std::int64_t>(&argument)) return {*i};
    if (const auto* list = std::get_if<std::vector<bool>>(&argument)) return {list->begin(), list->end()};
    // An empty list has the type that its reader chose.
    if (const auto* list = std::get_if<std::vector<double>>(&argument); list && list->empty()) return {};
    if (const auto* list = std::get_if<std::vector<ValueId>>(&argument); list && list->empty()) return {};
    refuse(fmt::format("its argument \"{}\" is not a list of integers that are known before the run", name));
}

std::string Mapping::text(std::string_view name, std::string absent) const {
    const Argument* argument = find(name);
    if (!argument) return absent;
    const auto* value = std::get_if<std::string>(argument);
    if (!value) refuse(fmt::format("its argument \"{}\" is not a string", name));
    return *value;
}

bool Mapping::isText(std::string_view name) const {
    const Argument* argument = find(name);
    return argument && std::holds_alternative<std::string>(*argument);
}

int Mapping::axisOf(std::int64_t axis, const Value& of) {
    const auto normal = normalizeAxis(axis, std::max(1, of.type.shape.rank()));
    if (!normal)
        refuse(fmt::format("its dimension {} is out of range for a tensor of shape {}", axis,
                           of.type.shape.toTorchString()));
    return *normal;
}

int Mapping::axis(std::string_view name, const Value& of, std::optional<std::int64_t> absent) const {
    return axisOf(integer(name, absent), of);
}

const TensorType& Mapping::type(std::size_t result) const {
    if (result >= m_call.results.size())
        refuse(fmt::format("it has {} results instead of {} or more", m_call.results.size(), result + 1));
    return m_call.results[result].type;
}

DType Mapping::promoted(std::initializer_list<std::string_view> names) const {
    std::optional<DType> dimensioned;
    std::optional<DType> scalarTensor;
    std::optional<DType> number;
    const auto join = [](std::optional<DType>& into, DType dtype) {
        into = into ? promotedTypes(*into, dtype) : dtype;
    };
    for (const std::string_view name : names) {
        const Argument& argument = get(name);
        if (isTensor(name)) {
            const Value value = tensor(name);
            join(value.type.shape.rank() > 0 ? dimensioned : scalarTensor, value.type.dtype);
        } else if (std::holds_alternative<bool>(argument)) {
            join(number, DType::boolean);
        } else {
            join(number, std::holds_alternative<std::int64_t>(argument) ? DType::i64 : DType::f32);
        }
    }
    return *combined(combined(dimensioned, scalarTensor), number);
}

Value Mapping::operand(std::string_view name, DType dtype) {
    return isTensor(name) ? cast(tensor(name), dtype) : constant(number(name), dtype);
}

std::vector<Value> Mapping::makeAll(std::string_view op, const Inputs& inputs, const Attributes& attributes) {
    const Value* only = nullptr;
    int count = 0;
    for (const auto& input : inputs)
        if (input) {
            only = &*input;
            ++count;
        }
    const Device device = count == 1 ? only->device : m_call.device;
    const Op& entry = *findOp(op);
    NewNode made;
    made.node.id = NodeId(m_firstNode + m_nodes.size());
    made.node.op = op;
    made.node.attributes = attributes;
    made.device = device;
    std::vector<const TensorType*> types;
    for (const auto& input : inputs) {
        made.inputs.push_back(input ? std::optional(input->from) : std::nullopt);
        types.push_back(input ? &input->type : nullptr);
    }
    std::vector<TensorType> outputs;
    try {
        const Attributes complete = completeAttributes(entry, attributes);
        outputs.resize(static_cast<std::size_t>(entry.outputCount(complete)));
        const std::vector<const Tensor*> noValues(inputs.size(), nullptr);
        InferContext context(entry, complete, types, noValues, nullptr, outputs);
        entry.infer(context);
    } catch (const Error& e) {
        refuse(e.what());
    }
    std::vector<Value> out;
    for (std::size_t port = 0; port < outputs.size(); ++port)
        out.push_back({{made.node.id, static_cast<std::int32_t>(port)}, std::move(outputs[port]), device});
    m_nodes.push_back(std::move(made));
    return out;
}

Value Mapping::make(std::string_view op, const Inputs& inputs, const Attributes& attributes) {
    return makeAll(op, inputs, attributes).front();
}

Value Mapping::makeOn(Device device, std::string_view op, const Inputs& inputs,
                      const Attributes& attributes) {
    Value value = make(op, inputs, attributes);
    value.device = m_nodes.back().device = device;
    return value;
}

Value Mapping::cast(const Value& value, DType dtype) {
    if (value.type.dtype == dtype) return value;
    Attributes attributes{{"to", std::string(name(dtype))}};
    if (isNarrowFloat(dtype)) attributes.set("saturate", false); // as PyTorch's conversions
    return make("Cast", {value}, attributes);
}

Value Mapping::constant(double value, DType dtype) {
    Attributes attributes{{"dtype", std::string(name(dtype))}, {"shape", Ints{}}};
    if (isFloating(dtype)) {
        attributes.set("value", value);
    } else {
        if (dtype != DType::boolean && !(std::abs(value) < 0x1p62))
            refuse(fmt::format("{} is not a value of {}", value, torchName(dtype)));
        attributes.set("value", static_cast<std::int64_t>(dtype == DType::boolean ? value != 0 : value));
    }
    return make("Constant", {}, attributes);
}

Value Mapping::constant(const Ints& values) {
    return make("Constant", {}, {{"value", values}, {"dtype", std::string("i64")}});
}

Value Mapping::filled(double value, const TensorType& type) {
    Attributes attributes{{"shape", type.shape.dims()}, {"dtype", std::string(name(type.dtype))}};
    if (value == 0) return make("Zeros", {}, attributes);
    if (value == 1) return make("Ones", {}, attributes);
    attributes.set("value", value);
    return make("Full", {}, attributes);
}

Value Mapping::reshape(const Value& value, const Shape& shape) {
    if (value.type.shape == shape) return value;
    return make("Reshape", {value}, {{"shape", shape.dims()}, {"allowzero", true}});
}

Value Mapping::transpose(const Value& value, Ints order) {
    Ints same(order.size());
    std::iota(same.begin(), same.end(), 0);
    return order == same ? value : make("Transpose", {value}, {{"perm", std::move(order)}});
}

Value Mapping::expand(const Value& value, const Shape& shape) {
    return value.type.shape == shape ? value : make("Expand", {value}, {{"shape", shape.dims()}});
}

Value Mapping::alongChannels(const Value& value, int rank) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
    if (rank > 1) dims[1] = value.type.shape.elementCount();
    return reshape(value, Shape(std::move(dims)));
}

Value Mapping::unsqueeze(const Value& value, std::int64_t axis) {
    return make("Unsqueeze", {value}, {{"axes", Ints{axis}}});
}

Value Mapping::slice(const Value& value, int axis, std::int64_t start, std::int64_t end, std::int64_t step) {
    const std::int64_t size = value.type.shape[axis];
    const auto place = [size](std::int64_t at) {
        return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
    };
    if (step == 1 && place(start) == 0 && place(end) == size) return value;
    return make("Slice", {value},
                {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{step}}});
}

Value Mapping::reduce(std::string_view op, const Value& value, const Ints& axes, bool keep) {
    if (value.type.shape.rank() == 0 && op != "ReduceLogSumExp" && op != "ReduceL1" && op != "ReduceL2" &&
        op != "ReduceSumSquare")
        return value;
    Attributes attributes{{"keepdims", keep}};
    Ints normal;
    if (value.type.shape.rank() > 0)
        for (const std::int64_t axis : axes) normal.push_back(axisOf(axis, value));
    std::sort(normal.begin(), normal.end());
    if (!normal.empty()) attributes.set("axes", std::move(normal));
    return make(op, {value}, attributes);
}

Value Mapping::scaled(const Value& value, double factor) {
    return factor == 1 ? value : mul(value, constant(factor, value.type.dtype));
}

Value Mapping::onDevice(const Value& value, Device device) {
    return value.device == device ? value : makeOn(device, "To", {value}, {});
}

void Mapping::give(std::size_t result, Value value) {
    const TensorType& stated = type(result);
    const Shape& shape = value.type.shape;
    bool fits = shape.rank() == stated.shape.rank();
    for (int i = 0; fits && i < shape.rank(); ++i)
        fits = shape[i] == kUnknownDim || shape[i] == stated.shape[i];
    if (!fits)
        refuse(fmt::format("the ops that replace it give the shape {}, but the PyTorch program states {}",
                           shape.toTorchString(), stated.shape.toTorchString()));
    value = cast(value, stated.dtype);
    value.type = stated; // sizes that are known only at run time are known to the program
    m_given[result] = std::move(value);
}

} // namespace twb::aten
