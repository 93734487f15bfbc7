#include "formats/pytorch/pt2_archive.h"

#include "backends/cpu/strided.h"
#include "core/error.h"
#include "core/json_fault.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace twb::pt2 {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostJson = std::uint64_t{1} << 30;
/// Several tensors may share an entry, such as tied weights, but not without limit.
constexpr std::uint64_t kMostSharing = 16;
constexpr std::string_view kFlatProgram = "serialized_exported_program.json";

/// torch/_export/serde/schema.py, ScalarType.
constexpr std::array<std::pair<std::int64_t, std::string_view>, 20> kScalarTypes{{{1, "uint8"},
                                                                                  {2, "int8"},
                                                                                  {3, "int16"},
                                                                                  {4, "int32"},
                                                                                  {5, "int64"},
                                                                                  {6, "float16"},
                                                                                  {7, "float32"},
                                                                                  {8, "float64"},
                                                                                  {9, "complex32"},
                                                                                  {10, "complex64"},
                                                                                  {11, "complex128"},
                                                                                  {12, "bool"},
                                                                                  {13, "bfloat16"},
                                                                                  {28, "uint16"},
                                                                                  {29, "float8_e4m3fn"},
                                                                                  {30, "float8_e5m2"},
                                                                                  {31, "float8_e4m3fnuz"},
                                                                                  {32, "float8_e5m2fnuz"},
                                                                                  {33, "uint32"},
                                                                                  {34, "uint64"}}};

[[noreturn]] void refuseAt(const std::string& what, const std::string& problem) {
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", what, problem));
}

/// A size: a number, or an expression with the number of the export.
std::int64_t readSize(const json& size, const std::string& what) {
    if (size.contains("as_int")) return size.at("as_int").get<std::int64_t>();
    const json& hint = size.at("as_expr").at("hint");
    if (hint.is_null()) refuseAt(what, "a size is symbolic and has no example value");
    return hint.at("as_int").get<std::int64_t>();
}

} // namespace

std::string_view scalarTypeName(std::int64_t number) noexcept {
    for (const auto& [known, name] : kScalarTypes)
        if (known == number) return name;
    return {};
}

Device readDevice(const json& value, const std::string& what) {
    const auto type = value.at("type").get<std::string>();
    if (type == "cpu") return Device::cpu();
    const std::int64_t index =
        value.contains("index") && value.at("index").is_number() ? value.at("index").get<std::int64_t>() : 0;
    const auto device = type == "cuda" && index >= 0 && index < 64
                            ? Device::parse(fmt::format("cuda:{}", index))
                            : std::nullopt;
    if (!device)
        refuseAt(what,
                 fmt::format("it is on {}:{}; only cpu and cuda:0 to cuda:63 are supported", type, index));
    return *device;
}

TensorMeta readMeta(const json& value, const std::string& what) {
    try {
        TensorMeta meta;
        const auto number = value.at("dtype").get<std::int64_t>();
        const std::string_view name = scalarTypeName(number);
        const auto dtype = parseDType(name);
        if (!dtype)
            refuseAt(what,
                     fmt::format("its dtype {} is not supported",
                                 name.empty() ? fmt::format("(number {})", number) : std::string(name)));
        std::vector<std::int64_t> sizes;
        for (const json& size : value.at("sizes")) sizes.push_back(readSize(size, what));
        for (const json& stride : value.at("strides")) meta.strides.push_back(readSize(stride, what));
        meta.type = {*dtype, Shape(std::move(sizes))};
        (void)meta.type.byteCount(); // refuses negative sizes and overflow
        meta.device = readDevice(value.at("device"), what);
        if (value.contains("storage_offset")) meta.offset = readSize(value.at("storage_offset"), what);
        return meta;
    } catch (const json::exception& e) {
        refuseAt(what, fmt::format("its description is damaged: {}", jsonFault(e.what())));
    } catch (const Error& e) {
        if (e.code() == ErrorCode::badFile) throw;
        refuseAt(what, e.what());
    }
}

Archive::Archive(const std::filesystem::path& path)
    : m_origin(path.string()), m_zip(path, ZipFile::Mode::read, {}, ".pt2 file") {
    index();
    std::string program;
    for (const auto& [name, at] : m_entries)
        if (name == kFlatProgram ||
            (program.empty() && name.starts_with("models/") && name.ends_with(".json")))
            program = name;
    if (program.empty())
        refuse("not a program saved by torch.export: it has no models/*.json and no "
               "serialized_exported_program.json");
    m_program = read(program, kMostJson);
    for (const auto& [name, at] : m_entries) {
        if (name.starts_with("data/weights/") && name.ends_with("_config.json"))
            readConfig(name, "data/weights/");
        if (name.starts_with("data/constants/") && name.ends_with("_config.json"))
            readConfig(name, "data/constants/");
    }
}

void Archive::refuse(const std::string& problem) const { refuseAt(m_origin, problem); }

void Archive::index() {
    const auto count =
        static_cast<std::uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(m_zip.get(), 0), 0));
    for (std::uint64_t i = 0; i < count; ++i) {
        zip_stat_t entry;
        zip_stat_init(&entry);
        if (zip_stat_index(m_zip.get(), i, 0, &entry) != 0)
            m_zip.fail(fmt::format("an entry cannot be read: {}", zip_strerror(m_zip.get())));
        constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD;
        if ((entry.valid & kNeeded) != kNeeded) refuse("an entry has no name or size");
        std::string name = entry.name;
        // The archive's folder has the name of the file when it was saved. Old files have none.
        if (!name.starts_with("serialized_"))
            if (const std::size_t slash = name.find('/'); slash != std::string::npos)
                name.erase(0, slash + 1);
        if (name.empty()) continue;
        if (entry.comp_method != ZIP_CM_STORE)
            refuse(fmt::format("its entry \"{}\" is compressed, but torch.export writes uncompressed "
                               "entries; save the program again",
                               name));
        if (entry.size > m_zip.size())
            refuse(fmt::format("its entry \"{}\" has {} bytes, more than the file; the archive is damaged",
                               name, entry.size));
        if (!m_entries.emplace(name, i).second)
            refuse(fmt::format("two of its entries are named \"{}\"", name));
        m_sizes.emplace(name, entry.size);
    }
}

std::vector<std::byte> Archive::bytesOf(const std::string& name) {
    std::vector<std::byte> bytes(m_sizes.at(name));
    const ZipEntry entry(zip_fopen_index(m_zip.get(), m_entries.at(name), 0));
    if (!entry)
        m_zip.fail(fmt::format("its entry \"{}\" cannot be read: {}", name, zip_strerror(m_zip.get())));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const zip_int64_t got = zip_fread(entry.get(), bytes.data() + done, bytes.size() - done);
        if (got <= 0)
            m_zip.fail(
                fmt::format("its entry \"{}\" is cut or damaged: {}", name, zip_file_strerror(entry.get())));
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

std::string Archive::read(const std::string& name, std::uint64_t most) {
    if (m_sizes.at(name) > most)
        refuse(
            fmt::format("its entry \"{}\" has {} bytes; at most {} are read", name, m_sizes.at(name), most));
    const std::vector<std::byte> bytes = bytesOf(name);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Archive::readConfig(const std::string& entry, const std::string& folder) {
    try {
        const json config = json::parse(read(entry, kMostJson));
        for (const auto& [name, value] : config.at("config").items()) {
            Raw raw;
            if (value.contains("use_pickle") && value.at("use_pickle").get<bool>()) {
                m_tensors.emplace(name, std::move(raw));
                continue;
            }
            if (!value.contains("tensor_meta") || value.at("tensor_meta").is_null())
                continue; // a custom object
            raw.entry = folder + value.at("path_name").get<std::string>();
            raw.meta = readMeta(value.at("tensor_meta"), fmt::format("{}: tensor \"{}\"", m_origin, name));
            m_tensors.emplace(name, std::move(raw));
        }
    } catch (const json::exception& e) {
        refuse(fmt::format("its entry \"{}\" is damaged: {}", entry, jsonFault(e.what())));
    }
}

std::optional<Tensor> Archive::tensor(const std::string& name) {
    const auto at = m_tensors.find(name);
    if (at == m_tensors.end() || at->second.entry.empty()) return std::nullopt;
    const Raw& raw = at->second;
    const std::string what = fmt::format("{}: tensor \"{}\"", m_origin, name);
    const auto size = m_sizes.find(raw.entry);
    if (size == m_sizes.end()) refuseAt(what, fmt::format("the archive has no entry \"{}\"", raw.entry));
    const Shape& shape = raw.meta.type.shape;
    if (size->second == 0 && shape.elementCount() > 0) return std::nullopt; // exported without data
    const auto width = static_cast<std::uint64_t>(sizeOf(raw.meta.type.dtype));
    // The last element that the strides reach must be inside the entry.
    if (static_cast<int>(raw.meta.strides.size()) != shape.rank() || raw.meta.offset < 0)
        refuseAt(what, "its strides do not fit its sizes");
    std::uint64_t last = static_cast<std::uint64_t>(raw.meta.offset);
    for (int i = 0; i < shape.rank() && shape.elementCount() > 0; ++i) {
        const std::int64_t stride = raw.meta.strides[static_cast<std::size_t>(i)];
        std::uint64_t reach = 0;
        if (stride < 0 ||
            __builtin_mul_overflow(static_cast<std::uint64_t>(stride),
                                   static_cast<std::uint64_t>(shape[i] - 1), &reach) ||
            __builtin_add_overflow(last, reach, &last))
            refuseAt(what, "its strides do not fit its sizes");
    }
    if (shape.elementCount() > 0 && last >= size->second / width)
        refuseAt(what, fmt::format("it needs element {} of its entry \"{}\", which has only {} bytes", last,
                                   raw.entry, size->second));
    const auto bytes = static_cast<std::uint64_t>(raw.meta.type.byteCount());
    m_loaded += bytes;
    if (bytes > kMostSharing * m_zip.size() || m_loaded > kMostSharing * m_zip.size())
        refuse("its tensors are far larger than the file; the archive is damaged");
    Tensor tensor = Tensor::onHost(raw.meta.type);
    if (shape.elementCount() == 0) return tensor;
    const std::vector<std::byte> data = bytesOf(raw.entry);
    const TensorView view{const_cast<std::byte*>(data.data()) +
                              static_cast<std::uint64_t>(raw.meta.offset) * width,
                          raw.meta.type.dtype, shape, raw.meta.strides};
    copyElements(view, tensor.view());
    return tensor;
}

} // namespace twb::pt2
