#include "ops/plugins/plugin_library.h"

#include "core/error.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <dlfcn.h>

namespace twb {
namespace {

static_assert(static_cast<int>(DType::f32) == TWB_F32 && static_cast<int>(DType::boolean) == TWB_BOOL &&
                  kWideDTypes.size() == TWB_BOOL + 1,
              "element types of plug-ins have the numbers of DType");

/// The size of an op in the first header of this version of the interface.
constexpr std::size_t kLeastOpSize = offsetof(twb_op, cuda);

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::badFile, sentence); }

std::string textOf(const char* text) { return text ? text : ""; }

DTypeSet typesOf(std::uint32_t bits) {
    DTypeSet out;
    for (const DType dtype : kAllDTypes)
        if (bits & 1U << static_cast<unsigned>(dtype)) out = out | DTypeSet{dtype};
    return out;
}

std::vector<PortSpec> portsOf(const twb_op& op, const twb_port* ports, std::uint32_t count) {
    std::vector<PortSpec> out;
    for (const twb_port& one : std::span(ports, count)) {
        if (!one.name || !*one.name) refuse(fmt::format("a port of its op {} has no name", op.name));
        if ((one.types & TWB_TYPES_ANY) == 0)
            refuse(fmt::format("the port {} of its op {} accepts no element type", one.name, op.name));
        PortSpec spec = port(one.name, one.name, typesOf(one.types), textOf(one.same));
        spec.optional = one.flags & TWB_PORT_OPTIONAL;
        out.push_back(std::move(spec));
    }
    return out;
}

AttributeSpec attributeOf(const twb_op& op, const twb_attribute& one) {
    if (!one.name || !*one.name) refuse(fmt::format("an attribute of its op {} has no name", op.name));
    AttributeSpec spec;
    spec.name = one.name;
    spec.doc = textOf(one.doc);
    switch (one.kind) {
    case TWB_NUMBER:
        spec = numberAttribute(one.name, one.number, spec.doc);
        break;
    case TWB_INTEGER:
        spec = integerAttribute(one.name, one.integer, spec.doc);
        break;
    case TWB_FLAG:
        spec = flagAttribute(one.name, one.integer != 0, spec.doc);
        break;
    case TWB_TEXT:
        spec.type = AttributeType::text;
        spec.defaultValue = textOf(one.text);
        break;
    case TWB_INTEGERS:
        spec.type = AttributeType::integers;
        spec.defaultValue = std::vector<std::int64_t>();
        break;
    default:
        refuse(fmt::format("the attribute {} of its op {} has the unknown kind {}", one.name, op.name,
                           one.kind));
    }
    if (one.has_limits) {
        spec.minimum = one.minimum;
        spec.maximum = one.maximum;
    }
    return spec;
}

/// "libcudart.so.13: cannot open shared object file: No such file or directory" names the missing library,
/// "bend.so: undefined symbol: bend_cuda" the missing symbol.
std::string whyNotLoaded(const std::filesystem::path& file, std::string_view reason) {
    const auto colon = reason.find(": ");
    const bool isOther = colon != std::string_view::npos && reason.substr(0, colon) != file.string();
    if (isOther && reason.find("cannot open shared object file: No such file") != std::string_view::npos)
        return fmt::format("it needs {}, which is not on this machine; install that library, or link it "
                           "statically",
                           reason.substr(0, colon));
    constexpr std::string_view undefined = "undefined symbol: ";
    if (const auto at = reason.find(undefined); at != std::string_view::npos)
        return fmt::format("its function or variable {} is missing; link the file that defines it",
                           reason.substr(at + undefined.size()));
    return fmt::format("it cannot be loaded: {}", reason);
}

const PluginCall& self(const twb_call* call) { return *static_cast<const PluginCall*>(call); }

} // namespace

PluginLibrary PluginLibrary::load(const std::filesystem::path& file) {
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* reason = ::dlerror();
        refuse(whyNotLoaded(file, reason ? reason : "no reason is given"));
    }
    const auto entry = reinterpret_cast<twb_plugin_entry_function>(::dlsym(library, "twb_plugin_entry"));
    if (!entry) refuse("it is not a plug-in: it has no function twb_plugin_entry");
    PluginLibrary out;
    out.table = entry();
    if (!out.table) refuse("its function twb_plugin_entry returns no table");
    if (out.table->api != TWB_OP_API)
        refuse(fmt::format(
            "it was built for version {} of the interface, but this program has version {}; build it "
            "with the twb_op.h of this program",
            out.table->api, TWB_OP_API));
    if (!out.table->name || !*out.table->name) refuse("it has no name");
    if (out.table->op_count == 0 || !out.table->ops) refuse("it has no ops");
    if (out.table->op_size < kLeastOpSize) refuse("its ops are smaller than the interface requires");
    return out;
}

const twb_op& PluginLibrary::op(std::uint32_t index) const {
    const auto* first = reinterpret_cast<const char*>(table->ops);
    return *reinterpret_cast<const twb_op*>(first + std::size_t{index} * table->op_size);
}

decltype(twb_op::cuda) PluginLibrary::cudaOf(std::uint32_t index) const {
    return table->op_size >= kLeastOpSize + sizeof(twb_op::cuda) ? op(index).cuda : nullptr;
}

// The functions that a plug-in calls. They must not throw into it.
PluginCall::PluginCall(const twb_op& op, const Attributes& complete, std::vector<twb_type> types)
    : twb_call{}, m_op(op), m_attributes(complete), m_types(std::move(types)) {
    size = sizeof(twb_call);
    input_count = static_cast<std::uint32_t>(m_types.size());
    output_count = op.output_count;
    inputs = m_types.data();
    m_lists.reserve(op.attribute_count);
    number = [](const twb_call* call, const char* name) {
        try {
            return self(call).m_attributes.number(name);
        } catch (const std::exception& error) {
            self(call).report(-1, error.what());
            return 0.0;
        }
    };
    integer = [](const twb_call* call, const char* name) -> std::int64_t {
        try {
            const AttributeValue* value = self(call).m_attributes.find(name);
            if (const bool* flag = value ? std::get_if<bool>(value) : nullptr) return *flag;
            return self(call).m_attributes.integer(name);
        } catch (const std::exception& error) {
            self(call).report(-1, error.what());
            return 0;
        }
    };
    text = [](const twb_call* call, const char* name) {
        try {
            return self(call).m_attributes.text(name).c_str();
        } catch (const std::exception& error) {
            self(call).report(-1, error.what());
            return "";
        }
    };
    integers = [](const twb_call* call, const char* name, const std::int64_t** values) -> std::size_t {
        try {
            auto& lists = self(call).m_lists;
            lists.push_back(self(call).m_attributes.integers(name));
            *values = lists.back().data();
            return lists.back().size();
        } catch (const std::exception& error) {
            self(call).report(-1, error.what());
            *values = nullptr;
            return 0;
        }
    };
    fail = [](const twb_call* call, int input, const char* sentence) {
        self(call).report(input, textOf(sentence));
        return 1;
    };
}

void PluginCall::report(int port, std::string sentence) const {
    if (m_hasFailed) return; // the first error is the cause
    m_hasFailed = true;
    m_port = port >= 0 && port < static_cast<int>(input_count) ? port : -1;
    m_sentence = std::move(sentence);
}

std::string PluginCall::sentence() const {
    return m_sentence.empty() ? fmt::format("{} failed without a reason", m_op.name) : m_sentence;
}

Op entryOf(const twb_op& op, const std::string& category) {
    if (!op.name || !std::isupper(static_cast<unsigned char>(*op.name)) ||
        !std::all_of(op.name, op.name + std::char_traits<char>::length(op.name),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; }))
        refuse(fmt::format(
            "the name of its op \"{}\" must begin with a capital letter and consist of letters, digits "
            "and _",
            textOf(op.name)));
    if (!op.infer) refuse(fmt::format("its op {} has no function infer", op.name));
    if (!op.cpu) refuse(fmt::format("its op {} has no kernel for the cpu", op.name));
    if (op.output_count == 0 || !op.outputs) refuse(fmt::format("its op {} has no outputs", op.name));
    Op out = makeOp(op.name, category, 0, textOf(op.doc), textOf(op.formula));
    out.inputs = portsOf(op, op.inputs, op.input_count);
    out.outputs = portsOf(op, op.outputs, op.output_count);
    for (const twb_attribute& one : std::span(op.attributes, op.attribute_count))
        out.attributes.push_back(attributeOf(op, one));
    out.tolerance = {1e-5, 1e-6};
    return out;
}

twb_type toPlugin(const TensorType* type) {
    twb_type out{};
    out.dtype = -1;
    if (!type) return out;
    if (type->shape.rank() > TWB_MAX_RANK)
        throw Error(ErrorCode::unsupported,
                    fmt::format("a plug-in accepts {} dimensions at most, but a tensor has {}", TWB_MAX_RANK,
                                type->shape.rank()));
    out.dtype = static_cast<std::int32_t>(type->dtype);
    out.rank = type->shape.rank();
    std::copy(type->shape.begin(), type->shape.end(), out.shape);
    return out;
}

TensorType fromPlugin(const twb_type& type, const twb_op& op, std::uint32_t output) {
    const twb_port& port = op.outputs[output];
    const auto lie = [&](const std::string& what) {
        throw Error(ErrorCode::badGraph,
                    fmt::format("infer() of {} gives its output {} {}", op.name, port.name, what));
    };
    if (type.dtype < 0 || type.dtype > TWB_BOOL) lie(fmt::format("the unknown element type {}", type.dtype));
    const auto dtype = static_cast<DType>(type.dtype);
    if (!(port.types & 1U << static_cast<unsigned>(type.dtype)))
        lie(fmt::format("the element type {}, which the port does not have", name(dtype)));
    if (type.rank < 0 || type.rank > TWB_MAX_RANK) lie(fmt::format("{} dimensions", type.rank));
    std::vector<std::int64_t> dims(type.shape, type.shape + type.rank);
    for (const std::int64_t dim : dims)
        if (dim < kUnknownDim) lie(fmt::format("the size {}", dim));
    return {dtype, Shape(std::move(dims))};
}

} // namespace twb
