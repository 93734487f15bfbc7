#include "formats/onnx/onnx_schemas.h"

#include "formats/onnx/onnx_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>
#include <string_view>
#include <vector>

namespace twb {
namespace {

using onnx::AttributeProto;
using onnx::OpSchema;

constexpr std::string_view kLaterSchemas =
#include "formats/onnx/later_schemas.inc"
    ;

/// Initializers with more elements than this are not shapes or axes, so shape inference does not need their
/// data.
constexpr std::int64_t kShapeElements = 1024;

std::vector<std::string_view> split(std::string_view text, char by) {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(by), text.size());
        if (end > 0) out.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// The strings before and after the first `by`; the second one is empty if there is none.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char by) {
    const std::size_t at = text.find(by);
    if (at == std::string_view::npos) return {text, {}};
    return {text.substr(0, at), text.substr(at + 1)};
}

/// A dtype as spelled in ONNX's schemas; other strings are names of type constraints.
std::string typeText(std::string_view text) {
    const auto dtype = parseDType(text);
    return dtype && !isNarrow(*dtype) ? onnxTypeText(*dtype) : std::string(text);
}

struct Port {
    std::string name;
    std::string type;
    OpSchema::FormalParameterOption option = OpSchema::Single;
    bool homogeneous = true;
};

Port readPort(std::string_view text) {
    auto [name, type] = cut(text, ':');
    Port port;
    port.type = typeText(type);
    const char mark = name.back();
    if (mark == '?') port.option = OpSchema::Optional;
    if (mark == '*' || mark == '~') port.option = OpSchema::Variadic;
    port.homogeneous = mark != '~';
    if (port.option != OpSchema::Single) name.remove_suffix(1);
    port.name = name;
    return port;
}

template <class T> T number(std::string_view text) {
    T value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

void addAttribute(OpSchema& schema, std::string_view text) {
    static const std::map<std::string_view, AttributeProto::AttributeType> kinds{
        {"i", AttributeProto::INT},    {"f", AttributeProto::FLOAT},   {"s", AttributeProto::STRING},
        {"is", AttributeProto::INTS},  {"fs", AttributeProto::FLOATS}, {"ss", AttributeProto::STRINGS},
        {"t", AttributeProto::TENSOR}, {"g", AttributeProto::GRAPH}};
    auto [name, rest] = cut(text, ':');
    const bool required = name.ends_with('!');
    if (required) name.remove_suffix(1);
    const auto [kind, value] = cut(rest, '=');
    const AttributeProto::AttributeType type = kinds.at(kind);
    const std::string key(name);
    if (rest.size() == kind.size())
        schema.Attr(key, std::string(), type, required);
    else if (type == AttributeProto::INT)
        schema.Attr(key, std::string(), type, number<std::int64_t>(value));
    else if (type == AttributeProto::FLOAT)
        schema.Attr(key, std::string(), type, number<float>(value));
    else
        schema.Attr(key, std::string(), type, std::string(value));
}

/// Whether a newer schema stands in for an older one, whose shape inference then serves both.
bool sameForm(const OpSchema& a, const OpSchema& b) {
    const auto names = [](const OpSchema& schema) {
        std::vector<std::string> out;
        for (const auto* ports : {&schema.inputs(), &schema.outputs()})
            for (const auto& port : *ports) out.push_back(port.GetName());
        for (const auto& [name, attribute] : schema.attributes()) out.push_back(name);
        return out;
    };
    return a.inputs().size() == b.inputs().size() && names(a) == names(b);
}

/// Ops for which this library infers wrong sizes: windows that start in the padding at the end (which ONNX
/// leaves out), volumes in GridSample, frames of STFT, and a single score without labels.
constexpr std::pair<const char*, const char*> kWithoutInference[] = {
    {"MaxPool", ""},    {"AveragePool", ""}, {"LpPool", ""},
    {"GridSample", ""}, {"STFT", ""},        {"LinearClassifier", "ai.onnx.ml"}};

class Schemas final : public onnx::ISchemaRegistry {
public:
    Schemas() {
        for (const auto& [name, domain] : kWithoutInference) {
            OpSchema schema = *onnx::OpSchemaRegistry::Schema(name, domain);
            schema.TypeAndShapeInferenceFunction({});
            const int version = schema.SinceVersion();
            m_later[{domain, name}].emplace(version, std::move(schema));
        }
        for (const std::string_view line : split(kLaterSchemas, '\n')) read(line);
    }

    bool takesNarrow(const OpSchema& schema, const std::string& variable, DType dtype) const {
        const auto at = m_narrow.find(
            {fmt::format("{}.{} {}", schema.domain(), schema.Name(), schema.SinceVersion()), variable});
        return at != m_narrow.end() && at->second.contains(dtype);
    }

    const OpSchema* GetSchema(const std::string& key, int version, const std::string& domain) const override {
        if (const auto versions = m_later.find({domain, key}); versions != m_later.end()) {
            const auto after = versions->second.upper_bound(version);
            if (after != versions->second.begin()) return &std::prev(after)->second;
        }
        return onnx::OpSchemaRegistry::Schema(key, version, domain);
    }

private:
    void read(std::string_view line) {
        std::vector<std::string_view> fields;
        for (std::string_view rest = line; fields.size() < 5;) {
            const auto [field, behind] = cut(rest, '|');
            fields.push_back(field);
            rest = behind;
        }
        const auto head = split(fields[0], ' ');
        const std::size_t dot = head[0].rfind('.');
        const std::string domain(dot == std::string_view::npos ? "" : head[0].substr(0, dot));
        const std::string name(dot == std::string_view::npos ? head[0] : head[0].substr(dot + 1));
        const int version = number<int>(head[1]);
        OpSchema schema;
        schema.SetName(name).SetDomain(domain).SinceVersion(version);
        for (int n = 0; const std::string_view text : split(fields[1], ' ')) {
            const Port port = readPort(text);
            schema.Input(n++, port.name, std::string(), port.type, port.option, port.homogeneous);
        }
        for (int n = 0; const std::string_view text : split(fields[2], ' ')) {
            const Port port = readPort(text);
            schema.Output(n++, port.name, std::string(), port.type, port.option, port.homogeneous);
        }
        for (const std::string_view text : split(fields[3], ' ')) addAttribute(schema, text);
        for (const std::string_view text : split(fields[4], ' ')) {
            const auto [variable, types] = cut(text, '=');
            std::vector<std::string> allowed;
            for (const std::string_view type : split(types, ',')) {
                const bool all = type == "all";
                if (const auto dtype = parseDType(type); dtype && isNarrow(*dtype)) {
                    DTypeSet& narrow =
                        m_narrow[{fmt::format("{}.{} {}", domain, name, version), std::string(variable)}];
                    narrow = narrow | DTypeSet(*dtype);
                    continue;
                }
                if (!all && type != "numbers" && type != "floats") {
                    allowed.push_back(typeText(type));
                    continue;
                }
                for (const DType dtype : kWideDTypes)
                    if (all || (type == "numbers" ? dtype != DType::boolean : isFloating(dtype)))
                        allowed.push_back(onnxTypeText(dtype));
            }
            schema.TypeConstraint(std::string(variable), allowed, std::string());
        }
        schema.Finalize();
        const OpSchema* older = GetSchema(name, version, domain);
        if (older && older->has_type_and_shape_inference_function() && sameForm(*older, schema)) {
            schema.TypeAndShapeInferenceFunction(older->GetTypeAndShapeInferenceFunction());
            schema.PartialDataPropagationFunction(older->GetDataPropagationFunction());
        }
        m_later[{domain, name}].emplace(version, std::move(schema));
    }

    std::map<std::pair<std::string, std::string>, std::map<int, OpSchema>> m_later; ///< by domain and name
    /// By "domain.Op version" and type variable. The library does not know these dtypes.
    std::map<std::pair<std::string, std::string>, DTypeSet> m_narrow;
};

const Schemas& schemas() {
    static const Schemas all;
    return all;
}

/// Whether a tensor of the graph or of a body has a narrow dtype.
bool hasNarrow(const onnx::GraphProto& graph) {
    const auto isNarrowType = [](std::int32_t type) {
        const auto dtype = dtypeOfOnnx(type);
        return dtype && isNarrow(*dtype);
    };
    for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()})
        for (const auto& value : *values)
            if (isNarrowType(value.type().tensor_type().elem_type())) return true;
    for (const auto& tensor : graph.initializer())
        if (isNarrowType(tensor.data_type())) return true;
    for (const auto& node : graph.node())
        for (const auto& attribute : node.attribute())
            if (hasNarrow(attribute.g()) || isNarrowType(attribute.t().data_type())) return true;
    return false;
}

} // namespace

const onnx::ISchemaRegistry& onnxSchemas() { return schemas(); }

bool allowsType(const OpSchema& schema, const OpSchema::FormalParameter& parameter, DType dtype) {
    if (isNarrow(dtype)) return schemas().takesNarrow(schema, parameter.GetTypeStr(), dtype);
    const auto& types = parameter.GetTypes();
    return std::any_of(types.begin(), types.end(),
                       [&](const std::string* type) { return *type == onnxTypeText(dtype); });
}

std::vector<int> onnxVersions(const std::string& op, const std::string& domain) {
    std::vector<int> out;
    // From the newest one down: each schema names the version that introduced it.
    for (int version = latestOnnxVersion(domain); version > 0; version = out.back() - 1) {
        const OpSchema* schema = schemas().GetSchema(op, version, domain);
        if (!schema || schema->SinceVersion() > version) break;
        out.push_back(schema->SinceVersion());
    }
    std::ranges::reverse(out);
    return out;
}

int latestOnnxVersion(const std::string& domain) {
    if (domain.empty()) return 28;
    if (domain == "ai.onnx.ml") return 5;
    const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    const auto at = versions.find(domain);
    return at == versions.end() ? 0 : at->second.second;
}

std::string onnxTypeText(DType dtype) {
    std::string name = onnx::TensorProto::DataType_Name(onnxTypeOf(dtype));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return fmt::format("tensor({})", name);
}

std::string refusedByOnnx(const onnx::ModelProto& model) {
    onnx::checker::CheckerContext context;
    context.set_ir_version(8); // the library's newest version; later additions are not used here
    context.set_schema_registry(&onnxSchemas());
    std::unordered_map<std::string, int> versions;
    for (const auto& import : model.opset_import())
        versions[import.domain()] = static_cast<int>(import.version());
    context.set_opset_imports(versions);
    try {
        onnx::checker::check_graph(model.graph(), context, {});
        if (hasNarrow(model.graph())) return {}; // the library's inference refuses their element types
        onnx::GraphProto graph;
        for (const auto& node : model.graph().node()) *graph.add_node() = node;
        *graph.mutable_input() = model.graph().input();
        *graph.mutable_output() = model.graph().output();
        *graph.mutable_value_info() = model.graph().value_info();
        for (const auto& tensor : model.graph().initializer()) {
            std::int64_t count = 1;
            for (const std::int64_t size : tensor.dims()) count *= size;
            if (count <= kShapeElements) {
                *graph.add_initializer() = tensor;
                continue;
            }
            auto& input = *graph.add_input();
            input.set_name(tensor.name());
            auto& type = *input.mutable_type()->mutable_tensor_type();
            type.set_elem_type(tensor.data_type());
            for (const std::int64_t size : tensor.dims())
                type.mutable_shape()->add_dim()->set_dim_value(size);
        }
        const onnx::ShapeInferenceOptions strict(true, 1, true);
        onnx::shape_inference::InferShapes(&graph, versions, &onnxSchemas(), strict);
    } catch (const std::exception& problem) { // onnx throws several exception classes
        return fmt::format("{}", fmt::join(split(problem.what(), '\n'), "; "));
    }
    return {};
}

} // namespace twb
