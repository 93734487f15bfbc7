#include "formats/pytorch/torch_call.h"

#include "ops/op_table.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace twb::pytorch {

Call::Call(const Graph& graph, const Analysis& analysis, const NodeFacts& facts,
           std::function<std::string(PortRef)> nameOf, std::set<std::string>& helpers)
    : m_graph(graph), m_analysis(analysis), m_facts(facts), m_nameOf(std::move(nameOf)), m_helpers(helpers) {}

bool Call::has(int port) const noexcept {
    return port < inputCount() && m_facts.inputs[static_cast<std::size_t>(port)].has_value();
}

std::string Call::in(int port) const {
    return has(port) ? m_nameOf(*m_facts.inputs[static_cast<std::size_t>(port)]) : "None";
}

std::string Call::inputs(int first) const {
    std::vector<std::string> names;
    for (int port = first; port < inputCount(); ++port) names.push_back(in(port));
    return fmt::format("{}", fmt::join(names, ", "));
}

const TensorType& Call::type(int port) const {
    return *m_analysis.typeOf(*m_facts.inputs[static_cast<std::size_t>(port)]);
}

const TensorType& Call::out(int port) const { return *m_facts.outputs[static_cast<std::size_t>(port)]; }

bool Call::isRead(int port) const noexcept {
    const auto& readers = m_graph.outgoing(m_facts.id);
    return std::any_of(readers.begin(), readers.end(),
                       [&](const Edge& edge) { return edge.from.port == port; });
}

int Call::axis(std::string_view name, int rank) const {
    return normalizeAxis(integer(name), rank).value_or(0);
}

const Tensor* Call::known(int port) const {
    if (!has(port)) return nullptr;
    const NodeFacts* source = m_analysis.find(m_facts.inputs[static_cast<std::size_t>(port)]->node);
    return source && source->value ? &source->value : nullptr;
}

std::optional<std::vector<std::int64_t>> Call::integers(int port) const {
    if (const Tensor* tensor = known(port); tensor && !holdsFractions(tensor->dtype()))
        return tensor->toIntegers();
    const std::string& name = op().inputAt(port).name;
    if (has(port) || !hasAttribute(name)) return std::nullopt;
    return m_facts.attributes.integers(name);
}

std::optional<std::vector<double>> Call::numbers(int port) const {
    if (const Tensor* tensor = known(port)) {
        std::vector<double> out;
        for (std::int64_t i = 0; i < tensor->elementCount(); ++i) out.push_back(tensor->at(i));
        return out;
    }
    const std::string& name = op().inputAt(port).name;
    if (has(port) || !hasAttribute(name)) return std::nullopt;
    if (const bool* flag = std::get_if<bool>(m_facts.attributes.find(name)))
        return std::vector<double>{*flag ? 1.0 : 0.0};
    return m_facts.attributes.numbers(name);
}

std::string Call::list(int port) const {
    const bool isReal = has(port) && isFloating(dtype(port));
    if (const auto values = isReal ? std::nullopt : integers(port)) return literal(*values);
    if (const auto values = numbers(port)) return literal(*values);
    return has(port) ? in(port) + ".tolist()" : "None";
}

std::string Call::scalar(int port) const {
    const bool isReal = has(port) && isFloating(dtype(port));
    if (const auto values = isReal ? std::nullopt : numbers(port); values && values->size() == 1) {
        const AttributeValue* value = has(port) ? nullptr : m_facts.attributes.find(op().inputAt(port).name);
        return value ? literal(*value) : fmt::format("{}", static_cast<std::int64_t>(values->front()));
    }
    if (const auto values = numbers(port); values && values->size() == 1) return literal(values->front());
    return has(port) ? in(port) + ".item()" : "None";
}

std::string Call::alone(std::string expression) const {
    m_alone = true;
    return expression;
}

std::string Call::helper(std::string_view name) const {
    m_helpers.emplace(name);
    return std::string(name);
}

std::string Call::device() const {
    return fmt::format("device(\"{}\")", m_graph.deviceOf(*m_graph.find(m_facts.id)).toString());
}

std::string Call::deviceArgument() const {
    return m_graph.deviceOf(*m_graph.find(m_facts.id)).isCpu() ? "" : ", device=" + device();
}

std::string Call::filled(std::string_view pattern) const {
    std::string out;
    for (std::size_t at = 0; at < pattern.size();) {
        const std::size_t open = pattern.find('{', at);
        out += pattern.substr(at, open - at);
        if (open == std::string_view::npos) break;
        const std::size_t close = pattern.find('}', open);
        const std::string_view key = pattern.substr(open + 1, close - open - 1);
        if (key.front() >= '0' && key.front() <= '9')
            out += in(key.front() - '0');
        else
            out += literal(*m_facts.attributes.find(key));
        at = close + 1;
    }
    return out;
}

void Call::refuse(std::string_view reason) const {
    throw Error(ErrorCode::badGraph, fmt::format("{} \"{}\" cannot be exported to PyTorch: {}", op().name,
                                                 m_graph.find(m_facts.id)->name, reason));
}

std::string literal(double value) {
    if (std::isnan(value)) return "float(\"nan\")";
    if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
    std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string literal(const std::vector<std::int64_t>& values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string literal(const std::vector<double>& values) {
    std::vector<std::string> texts;
    for (const double value : values) texts.push_back(literal(value));
    return fmt::format("[{}]", fmt::join(texts, ", "));
}

/// JSON's escapes are Python's.
std::string literal(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string literal(const AttributeValue& value) {
    struct Visitor {
        std::string operator()(bool v) const { return v ? "True" : "False"; }
        std::string operator()(std::int64_t v) const { return std::to_string(v); }
        std::string operator()(double v) const { return literal(v); }
        std::string operator()(const std::string& v) const {
            // Numbers that JSON cannot hold are written as words.
            if (v == "nan" || v == "inf" || v == "-inf") return "float(\"" + v + "\")";
            return literal(std::string_view(v));
        }
        std::string operator()(const std::vector<std::int64_t>& v) const { return literal(v); }
        std::string operator()(const std::vector<double>& v) const { return literal(v); }
        std::string operator()(const std::vector<std::string>& v) const {
            std::vector<std::string> texts;
            for (const std::string& text : v) texts.push_back(literal(std::string_view(text)));
            return fmt::format("[{}]", fmt::join(texts, ", "));
        }
        std::string operator()(const RawJson& v) const { return v.text; }
    };
    return std::visit(Visitor{}, value);
}

std::string torchDType(DType dtype) { return fmt::format("torch.{}", torchName(dtype)); }

bool isInTorch(DType dtype) noexcept {
    if (isNarrow(dtype)) return dtype < DType::f8e8m0; // the 8-bit floats with a sign
    return dtype != DType::u16 && dtype != DType::u32 && dtype != DType::u64;
}

std::string tupleOf(const std::vector<std::int64_t>& values) {
    return values.size() == 1 ? fmt::format("({},)", values.front())
                              : fmt::format("({})", fmt::join(values, ", "));
}

const Writers& writers() {
    static const Writers table = [] {
        Writers all;
        for (const Op& op : opTable())
            if (!op.torch.empty())
                all[op.name] = [pattern = op.torch](const Call& call) { return call.filled(pattern); };
        for (auto* add : {addPointwise, addArrays, addIndexing, addLayers, addSequences}) add(all);
        return all;
    }();
    return table;
}

} // namespace twb::pytorch
