#include "formats/pytorch/capture_record.h"

#include "core/error.h"
#include "formats/input_file.h"

#include <climits>
#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

namespace twb::capture {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "tensor-workbench-capture";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr std::int64_t kLastLine = 999'999'999; // of a program, as in SourceLine
constexpr std::int64_t kBelow = std::int64_t{1} << 62;

/// A line that has no place in a capture; the reader adds the file and the line.
struct BadLine {
    std::string problem;
};

[[noreturn]] void refuse(std::string problem) { throw BadLine{std::move(problem)}; }

const json* find(const json& object, const char* key) {
    const auto at = object.find(key);
    return at == object.end() ? nullptr : &*at;
}

const json& need(const json& object, const char* key) {
    const json* value = find(object, key);
    if (!value) refuse(fmt::format("\"{}\" is missing", key));
    return *value;
}

std::int64_t toInteger(const json& value, const char* key, std::int64_t least, std::int64_t most) {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t(kBelow));
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
        refuse(fmt::format("\"{}\" must be an integer from {} to {}", key, least, most));
    return value.get<std::int64_t>();
}

std::int64_t integer(const json& object, const char* key, std::int64_t least, std::int64_t most = kBelow) {
    return toInteger(need(object, key), key, least, most);
}

/// 0 if absent.
std::int64_t reference(const json& object, const char* key) {
    const json* value = find(object, key);
    return value ? toInteger(*value, key, 0, kBelow) : 0;
}

const std::string& toText(const json& value, const char* key) {
    if (!value.is_string()) refuse(fmt::format("\"{}\" must be a string", key));
    return value.get_ref<const std::string&>();
}

const std::string& text(const json& object, const char* key) { return toText(need(object, key), key); }

std::string textOr(const json& object, const char* key) {
    const json* value = find(object, key);
    return value ? toText(*value, key) : std::string();
}

bool flag(const json& object, const char* key) {
    const json* value = find(object, key);
    if (value && !value->is_boolean()) refuse(fmt::format("\"{}\" must be true or false", key));
    return value && value->get<bool>();
}

const json& list(const json& object, const char* key) {
    const json& value = need(object, key);
    if (!value.is_array()) refuse(fmt::format("\"{}\" must be a list", key));
    for (const json& entry : value)
        if (!entry.is_object()) refuse(fmt::format("each entry of \"{}\" must be an object", key));
    return value;
}

Shape shapeOf(const json& object) {
    const json& value = need(object, "shape");
    if (!value.is_array()) refuse("\"shape\" must be a list");
    std::vector<std::int64_t> dims;
    for (const json& entry : value) dims.push_back(toInteger(entry, "shape", 0, kBelow));
    try {
        Shape shape(dims);
        (void)shape.byteCount(DType::f64);
        return shape;
    } catch (const Error& e) {
        refuse(fmt::format("\"shape\": {}", e.what()));
    }
}

Phase phaseOf(const json& object) {
    const std::string& phase = text(object, "phase");
    if (phase == "forward") return Phase::forward;
    if (phase == "backward") return Phase::backward;
    if (phase == "optimizer") return Phase::optimizer;
    refuse(fmt::format("\"phase\" is \"{}\", but must be forward, backward or optimizer", phase));
}

/// Ops whose result sizes depend on values; index does if an operand is a mask.
bool isValueSized(std::string_view op) {
    constexpr std::array<std::string_view, 8> kNames{
        "aten::nonzero",    "aten::masked_select",      "aten::_unique",           "aten::_unique2",
        "aten::unique_dim", "aten::unique_consecutive", "aten::repeat_interleave", "aten::bincount"};
    return std::find(kNames.begin(), kNames.end(), op) != kNames.end();
}

/// Arguments of aten ops that are a scalar or a position. A loop may change them from step to step without
/// changing the work: the learning rate, the rows of a batch.
bool isScalarOrPosition(std::string_view argument) {
    constexpr std::array kNames{"start",    "end",        "index", "storage_offset", "value",
                                "other",    "self",       "alpha", "beta",           "scalar",
                                "scalars",  "min",        "max",   "from",           "to",
                                "exponent", "fill_value", "low",   "high",           "seed"};
    return std::find(kNames.begin(), kNames.end(), argument) != kNames.end();
}

/// The attributes that belong to the form of an op. If sizes depend on values, integers do not.
std::string formOf(const json& attributes, bool isSized) {
    std::string out;
    for (const auto& [name, value] : attributes.items()) {
        const bool hasFraction =
            value.is_number_float() ||
            (value.is_array() && std::any_of(value.begin(), value.end(),
                                             [](const json& entry) { return entry.is_number_float(); }));
        const bool varies = hasFraction || (!value.is_boolean() && isScalarOrPosition(name)) ||
                            (isSized && (value.is_number() || value.is_array()));
        out += fmt::format("{}={};", name,
                           varies ? "#" : value.dump(-1, ' ', true, json::error_handler_t::replace));
    }
    return out;
}

/// Numbers in order of first use, by any key.
template <class Key> class Numbers {
public:
    /// The number of the key, and whether it is new.
    std::pair<Index, bool> of(const Key& key) {
        const auto [at, fresh] = m_numbers.try_emplace(key, static_cast<Index>(m_numbers.size()));
        return {at->second, fresh};
    }

private:
    std::unordered_map<Key, Index> m_numbers;
};

class Reader {
public:
    explicit Reader(std::string name) : m_name(std::move(name)) {}

    void add(std::string_view line, bool isComplete);
    Record finish();

private:
    using Ids = std::unordered_map<std::int64_t, Index>;

    void addHeader(const json& line);
    void addLine(const json& line);
    void addLocation(const json& line);
    void addModule(const json& line);
    void addParameter(const json& line);
    void addTensor(const json& line);
    void addOp(const json& line);
    void addTransfer(const json& line);
    void addSync(const json& line);
    void addMismatch(const json& line);
    void addEnd(const json& line);

    Index typeOf(const json& object);
    Index addValue(const json& object);
    std::string keyOf(Index value) const;
    void place(Finding& finding, const json& line);
    Index refer(const Ids& ids, const json& object, const char* key, const char* what) const;
    [[noreturn]] void fail(const std::string& problem) const {
        throw Error(ErrorCode::badFile, fmt::format("{}: line {}: {}", m_name, m_line, problem));
    }

    const std::string m_name;
    Record m_out;
    std::size_t m_line = 0;
    bool m_hasEnd = false;
    Ids m_locations, m_modules, m_values, m_ops;
    std::vector<std::pair<Index, std::int64_t>> m_expected; ///< mismatch, and the id of the op that follows
    std::vector<std::pair<Index, std::int64_t>> m_transferOps, m_syncOps;
    Numbers<std::string> m_locationKeys, m_typeKeys, m_formKeys, m_attributes;
};

void Reader::add(std::string_view line, bool isComplete) {
    ++m_line;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    const json parsed = json::parse(line, nullptr, false);
    if (parsed.is_discarded() || !parsed.is_object()) {
        if (m_line == 1)
            fail("not a capture: it does not begin with a capture's header; make one with twb capture");
        if (isComplete) fail("not a JSON object; the file is damaged");
        return; // the file was cut here
    }
    try {
        if (m_line == 1)
            addHeader(parsed);
        else
            addLine(parsed);
    } catch (const BadLine& bad) {
        fail(bad.problem);
    }
}

void Reader::addHeader(const json& line) {
    const json* format = find(line, "format");
    if (!format || *format != kFormat) fail("not a capture: its format is not \"tensor-workbench-capture\"");
    if (const std::int64_t version = integer(line, "version", 0); version != kVersion)
        fail(fmt::format("the capture has version {}, but this program reads version {}; {}", version,
                         kVersion, version > kVersion ? "update the program" : "capture the script again"));
    m_out.script = text(line, "script");
    (void)textOr(line, "torch");
    (void)flag(line, "fake");
}

void Reader::addLine(const json& line) {
    const std::string& kind = text(line, "kind");
    if (kind == "op") return addOp(line);
    if (kind == "tensor") return addTensor(line);
    if (kind == "location") return addLocation(line);
    if (kind == "transfer") return addTransfer(line);
    if (kind == "sync") return addSync(line);
    if (kind == "mismatch") return addMismatch(line);
    if (kind == "module") return addModule(line);
    if (kind == "parameter") return addParameter(line);
    if (kind == "note") {
        m_out.remarks.push_back(text(line, "text"));
        return;
    }
    if (kind == "end") return addEnd(line);
    // Later versions of the package may write more kinds.
}

Index Reader::refer(const Ids& ids, const json& object, const char* key, const char* what) const {
    const std::int64_t id = reference(object, key);
    if (id == 0) return kNone;
    const auto at = ids.find(id);
    if (at == ids.end())
        refuse(fmt::format("\"{}\" names {} {}, which no earlier line defines", key, what, id));
    return at->second;
}

void Reader::addLocation(const json& line) {
    const std::int64_t id = integer(line, "id", 1);
    Location location;
    location.file = text(line, "file");
    if (location.file.empty()) refuse("\"file\" is empty");
    location.line = static_cast<int>(integer(line, "line", 0, kLastLine));
    location.function = text(line, "function");
    location.text = textOr(line, "text");
    location.isLibrary = flag(line, "library");
    location.caller = refer(m_locations, line, "caller", "location");
    if (location.caller != kNone) location.depth = m_out.locations[location.caller].depth + 1;
    const auto [at, fresh] = m_locationKeys.of(
        fmt::format("{}:{}:{}:{}", location.caller, location.line, location.function, location.file));
    if (fresh) m_out.locations.push_back(std::move(location));
    m_locations[id] = at;
}

void Reader::addModule(const json& line) {
    const std::int64_t id = integer(line, "id", 1);
    Module module;
    module.path = text(line, "path");
    module.parent = refer(m_modules, line, "parent", "module");
    if (module.parent != kNone) module.depth = m_out.modules[module.parent].depth + 1;
    if (m_modules.contains(id)) refuse(fmt::format("module {} is defined twice", id));
    m_modules[id] = static_cast<Index>(m_out.modules.size());
    m_out.modules.push_back(std::move(module));
}

void Reader::addParameter(const json& line) {
    const Index module = refer(m_modules, line, "module", "module");
    const std::string path = module == kNone ? std::string() : m_out.modules[module].path;
    const std::string& name = text(line, "name");
    (void)flag(line, "buffer");
    m_out.parameters.try_emplace(static_cast<std::uint64_t>(integer(line, "storage", 1)),
                                 path.empty() ? name : fmt::format("{}.{}", path, name));
}

Index Reader::typeOf(const json& object) {
    Type type{text(object, "dtype"), text(object, "device"), textOr(object, "layout"), shapeOf(object)};
    const auto [at, fresh] = m_typeKeys.of(
        fmt::format("{}|{}|{}|{}", type.dtype, type.device, type.layout, fmt::join(type.shape.dims(), ",")));
    if (fresh) m_out.types.push_back(std::move(type));
    return at;
}

Index Reader::addValue(const json& object) {
    const std::int64_t id = integer(object, "id", 1);
    Value value;
    value.type = typeOf(object);
    value.storage = static_cast<std::uint64_t>(reference(object, "storage"));
    const auto at = static_cast<Index>(m_out.values.size());
    if (!m_values.emplace(id, at).second) refuse(fmt::format("tensor {} is defined twice", id));
    m_out.values.push_back(value);
    return at;
}

/// The type of a value in the key of a form.
std::string Reader::keyOf(Index index) const {
    if (index == kNone) return "none";
    const Value& value = m_out.values[index];
    if (!value.isValueSized) return fmt::format("{}", value.type);
    const Type& type = m_out.types[value.type];
    return fmt::format("{} {} {} of {}", type.dtype, type.device, type.layout, type.shape.rank());
}

void Reader::addTensor(const json& line) {
    // Found first: a tensor cannot refer to itself.
    const Index before = refer(m_values, line, "before", "tensor");
    const Index after = refer(m_values, line, "after", "tensor");
    Value& value = m_out.values[addValue(line)];
    value.before = before;
    value.after = after;
    value.location = refer(m_locations, line, "location", "location");
    (void)flag(line, "pinned");
}

void Reader::addOp(const json& line) {
    const std::int64_t id = integer(line, "id", 1);
    Form form;
    form.op = text(line, "op");
    if (form.op.empty()) refuse("\"op\" is empty");
    form.overload = textOr(line, "overload");
    form.device = text(line, "device");
    form.function = textOr(line, "function");
    form.location = refer(m_locations, line, "location", "location");
    form.module = refer(m_modules, line, "module", "module");
    form.phase = phaseOf(line);
    std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}|", form.op, form.overload, form.device, form.function,
                                  form.location, form.module, static_cast<int>(form.phase));

    Op op;
    op.firstOperand = static_cast<Index>(m_out.operands.size());
    (void)reference(line, "call");
    op.step = integer(line, "step", 0);
    if (!m_out.ops.empty() && op.step < m_out.ops.back().step)
        refuse("\"step\" is lower than the step of the previous op");
    std::vector<Index> operands;
    bool sized = isValueSized(form.op);
    for (const json& entry : list(line, "in")) {
        form.arguments.push_back(text(entry, "arg"));
        operands.push_back(refer(m_values, entry, "id", "tensor"));
        key += fmt::format("{}:{},", form.arguments.back(), keyOf(operands.back()));
        if (operands.back() == kNone) continue;
        const Value& value = m_out.values[operands.back()];
        const bool isMask = form.op == "aten::index" && m_out.types[value.type].dtype == "bool" &&
                            form.arguments.back() == "indices";
        sized = sized || value.isValueSized || isMask;
    }
    const auto at = static_cast<Index>(m_out.ops.size());
    std::vector<Index> results;
    for (const json& entry : list(line, "out")) {
        const Index overwrites = refer(m_values, entry, "overwrites", "tensor");
        const Index result = addValue(entry);
        Value& value = m_out.values[result];
        value.producer = at;
        value.overwrites = overwrites;
        value.isValueSized = overwrites != kNone ? m_out.values[overwrites].isValueSized
                                                 : sized && m_out.types[value.type].shape.rank() > 0;
        form.resultTypes.push_back(value.type);
        results.push_back(result);
        key += fmt::format(">{}{}", overwrites == kNone ? "" : "!", keyOf(result));
    }
    if (const json* attributes = find(line, "attributes")) {
        if (!attributes->is_object()) refuse("\"attributes\" must be an object");
        key += '|' + formOf(*attributes, sized);
        const auto [number, fresh] =
            m_attributes.of(attributes->dump(-1, ' ', true, json::error_handler_t::replace));
        if (fresh) m_out.attributes.push_back(*attributes);
        op.attributes = number;
    }
    op.firstResult = static_cast<Index>(m_out.results.size());
    m_out.operands.insert(m_out.operands.end(), operands.begin(), operands.end());
    m_out.results.insert(m_out.results.end(), results.begin(), results.end());
    const auto [number, fresh] = m_formKeys.of(key);
    if (fresh) m_out.forms.push_back(std::move(form));
    op.form = number;
    if (!m_ops.emplace(id, at).second) refuse(fmt::format("op {} is defined twice", id));
    m_out.ops.push_back(op);
}

void Reader::place(Finding& finding, const json& line) {
    finding.location = refer(m_locations, line, "location", "location");
    finding.module = refer(m_modules, line, "module", "module");
    finding.phase = phaseOf(line);
    finding.step = integer(line, "step", 0);
    finding.before = static_cast<Index>(m_out.ops.size());
}

void Reader::addTransfer(const json& line) {
    Transfer transfer;
    place(transfer, line);
    transfer.from = text(line, "from");
    transfer.to = text(line, "to");
    transfer.cause = text(line, "cause");
    transfer.bytes = static_cast<std::uint64_t>(integer(line, "bytes", 0));
    transfer.isPinned = flag(line, "pinned");
    transfer.isNonBlocking = flag(line, "non_blocking");
    transfer.value = refer(m_values, line, "tensor", "tensor");
    if (const std::int64_t op = reference(line, "op"))
        m_transferOps.emplace_back(static_cast<Index>(m_out.transfers.size()), op);
    m_out.transfers.push_back(std::move(transfer));
}

void Reader::addSync(const json& line) {
    Sync sync;
    place(sync, line);
    sync.cause = text(line, "cause");
    if (const std::int64_t op = reference(line, "op"))
        m_syncOps.emplace_back(static_cast<Index>(m_out.syncs.size()), op);
    m_out.syncs.push_back(std::move(sync));
}

void Reader::addMismatch(const json& line) {
    Mismatch mismatch;
    place(mismatch, line);
    (void)integer(line, "id", 1);
    mismatch.root = reference(line, "root");
    mismatch.name = text(line, "name");
    mismatch.expected = text(line, "expected");
    for (const json& entry : list(line, "operands")) {
        const Index value = refer(m_values, entry, "id", "tensor");
        if (value == kNone) refuse("an operand has no \"id\"");
        mismatch.operands.emplace_back(value, flag(entry, "wrong"));
    }
    if (const std::int64_t op = reference(line, "op"))
        m_expected.emplace_back(static_cast<Index>(m_out.mismatches.size()), op);
    m_out.mismatches.push_back(std::move(mismatch));
}

void Reader::addEnd(const json& line) {
    m_hasEnd = true;
    const std::string& status = text(line, "status");
    const std::string message = textOr(line, "message");
    if (status == "failed")
        m_out.remarks.push_back(fmt::format("The script failed{}{}; the capture ends there.",
                                            message.empty() ? "" : ": ", message));
    else if (status == "interrupted")
        m_out.remarks.emplace_back("The script was interrupted; the capture ends there.");
}

Record Reader::finish() {
    if (m_line == 0) {
        m_line = 1;
        fail("not a capture: the file is empty");
    }
    const auto resolve = [&](auto& findings, const auto& named) {
        for (const auto& [at, id] : named)
            if (const auto op = m_ops.find(id); op != m_ops.end()) findings[at].op = op->second;
    };
    resolve(m_out.transfers, m_transferOps);
    resolve(m_out.syncs, m_syncOps);
    resolve(m_out.mismatches, m_expected);
    // The op of a mismatch follows it, and may be behind the cut.
    std::erase_if(m_out.mismatches,
                  [](const Mismatch& m) { return m.op == kNone && m.name.find("::") != std::string::npos; });
    m_out.isCut = !m_hasEnd;
    if (!m_hasEnd)
        m_out.remarks.push_back(fmt::format(
            "{}: the capture ends early, at line {} of the file: the script was killed, or the file "
            "was cut. Everything before this line was read.",
            m_name, m_line));
    return std::move(m_out);
}

/// Calls add() for each line of text that arrives in pieces.
class Lines {
public:
    Lines(Reader& reader, std::string name) : m_reader(reader), m_name(std::move(name)) {}

    void add(std::string_view piece) {
        for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos;
             piece.remove_prefix(end + 1)) {
            if (m_rest.empty()) {
                next(piece.substr(0, end), true);
            } else {
                m_rest += piece.substr(0, end);
                next(m_rest, true);
                m_rest.clear();
            }
        }
        m_rest += piece;
        if (m_rest.size() > kLongestLine) tooLong();
    }
    void finish() {
        if (!m_rest.empty()) next(m_rest, false);
    }

private:
    void next(std::string_view line, bool isComplete) {
        if (line.size() > kLongestLine) tooLong();
        m_reader.add(line, isComplete);
        ++m_count;
    }
    [[noreturn]] void tooLong() const {
        throw Error(ErrorCode::badFile,
                    fmt::format("{}: line {}: longer than {} MiB; the file is not a capture", m_name,
                                m_count + 1, kLongestLine >> 20));
    }

    Reader& m_reader;
    const std::string m_name;
    std::string m_rest;
    std::size_t m_count = 0;
};

} // namespace

Index Record::userLine(Index location) const {
    for (Index at = location; at != kNone; at = locations[at].caller)
        if (!locations[at].isLibrary) return at;
    return location;
}

Record readCapture(const std::filesystem::path& path) {
    constexpr std::size_t kPiece = 1 << 20;
    const InputFile file(path);
    Reader reader(path.string());
    Lines lines(reader, path.string());
    std::vector<char> piece(kPiece);
    for (std::uint64_t at = 0;;) {
        const std::size_t count = file.readAt(at, piece.data(), kPiece);
        if (count == 0) break;
        lines.add({piece.data(), count});
        at += count;
    }
    lines.finish();
    return reader.finish();
}

Record parseCapture(std::string_view bytes, const std::string& name) {
    Reader reader(name);
    Lines lines(reader, name);
    lines.add(bytes);
    lines.finish();
    return reader.finish();
}

} // namespace twb::capture
