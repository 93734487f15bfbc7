#include "formats/safetensors.h"

#include "core/error.h"
#include "formats/atomic_file.h"
#include "formats/bool_bytes.h"
#include "formats/safetensors_header.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

namespace twb {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and so is this code");

/// The limit of the reference implementation, in bytes.
constexpr std::uint64_t kLongestHeader = 100'000'000;
/// The chunk size for copies between files.
constexpr std::uint64_t kSlice = 16 << 20;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& problem) {
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", path.string(), problem));
}

} // namespace

Safetensors::Safetensors(const std::filesystem::path& path, const FileBounds& bounds)
    : m_path(path), m_file(path, bounds) {
    std::uint64_t length = 0;
    if (m_file.readAt(0, &length, sizeof length) != sizeof length)
        refuse(path, "not a .safetensors file: it is shorter than the length of its header");
    if (length > kLongestHeader)
        refuse(path, fmt::format("not a .safetensors file: its header would be {} bytes long, but the format "
                                 "allows at most {}",
                                 length, kLongestHeader));
    if (length > m_file.size() - sizeof length)
        refuse(path, fmt::format("the file is truncated: its header is {} bytes long, but the whole file has "
                                 "only {}",
                                 length, m_file.size()));
    std::string text(static_cast<std::size_t>(length), '\0');
    if (m_file.readAt(sizeof length, text.data(), text.size()) != text.size())
        refuse(path, "the file ends within its header");
    SafetensorsHeader header = parseSafetensorsHeader(text, path.string());
    m_metadata = std::move(header.metadata);
    const std::uint64_t start = sizeof length + length;
    const std::uint64_t available = m_file.size() - start;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
    for (auto& [name, entry] : header.tensors) {
        const auto bytes = static_cast<std::uint64_t>(entry.type.byteCount());
        if (entry.begin > entry.end || entry.end > available || entry.end - entry.begin != bytes)
            refuse(path, fmt::format("tensor \"{}\" is {}, which needs {} bytes, but its data_offsets are "
                                     "[{},{}] in {} bytes of data",
                                     name, entry.type.toString(), bytes, entry.begin, entry.end, available));
        if (bytes > 0) spans.emplace_back(entry.begin, entry.end);
        m_offsets[name] = start + entry.begin;
        m_types.emplace(name, std::move(entry.type));
    }
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i)
        if (spans[i].first < spans[i - 1].second) refuse(path, "two of its tensors overlap");
}

std::vector<std::string> Safetensors::names() const {
    std::vector<std::string> names;
    for (const auto& [name, type] : m_types) names.push_back(name);
    return names;
}

TensorType Safetensors::typeOf(const std::string& name) const {
    if (const auto at = m_types.find(name); at != m_types.end()) return at->second;
    refuseMissingTensor(m_path, name, names());
}

void Safetensors::read(const std::string& name, const TensorView& out) const {
    const TensorType type = typeOf(name);
    const TensorType wanted{out.dtype, out.shape};
    if (!(type == wanted) || !out.isDense())
        refuse(m_path,
               fmt::format("\"{}\" is now {}, but was {} when the graph was checked; reload the graph", name,
                           type.toString(), wanted.toString()));
    const auto bytes = static_cast<std::size_t>(type.byteCount());
    readBytes(name, 0, out.data, bytes);
    if (type.dtype == DType::boolean) makeBools(out.data, bytes);
}

std::uint64_t Safetensors::offsetOf(const std::string& name) const {
    (void)typeOf(name);
    return m_offsets.at(name);
}

void Safetensors::readBytes(const std::string& name, std::uint64_t offset, void* to,
                            std::size_t count) const {
    if (m_file.readAt(m_offsets.at(name) + offset, to, count) != count)
        refuse(m_path, "the file was truncated while it was read");
}

namespace {

using Metadata = std::map<std::string, std::string>;

/// A tensor to write, from memory or from a file.
struct Part {
    std::string name;
    TensorType type;
    std::function<void(AtomicFile&)> write;
};

std::uint64_t bytesOf(const Part& part) { return static_cast<std::uint64_t>(part.type.byteCount()); }

Part partOf(const std::filesystem::path& path, const std::string& name, const TensorView& tensor) {
    if (!tensor.isDense())
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{}: only contiguous tensors can be written", path.string()));
    TensorType type{tensor.dtype, tensor.shape};
    const auto bytes = static_cast<std::size_t>(type.byteCount());
    return {name, std::move(type),
            [data = tensor.data, bytes](AtomicFile& file) { file.write(data, bytes); }};
}

void writeParts(const std::filesystem::path& path, std::vector<Part> parts, const Metadata& metadata,
                const FileBounds& bounds, AtomicFile::Existing existing = AtomicFile::Existing::replaced) {
    // Wide elements first, so that each tensor is aligned to its element size.
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
        return sizeOf(a.type.dtype) > sizeOf(b.type.dtype);
    });
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    std::vector<SafetensorsForm> forms;
    Metadata notes = metadata;
    for (const Part& part : parts) {
        forms.push_back(safetensorsForm(part.name, part.type));
        notes.insert(forms.back().metadata.begin(), forms.back().metadata.end());
    }
    if (!notes.empty()) header["__metadata__"] = notes;
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        header[part.name] = {{"dtype", forms[i].dtype},
                             {"shape", forms[i].shape.dims()},
                             {"data_offsets", {offset, offset + bytesOf(part)}}};
        offset += bytesOf(part);
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' '); // the data starts at a multiple of 8
    const std::uint64_t length = text.size();
    AtomicFile file(path, bounds);
    file.write(&length, sizeof length);
    file.write(text.data(), text.size());
    for (const Part& part : parts) part.write(file);
    file.commit(existing);
}

} // namespace

void writeSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, TensorView>>& tensors,
                      AtomicFile::Existing existing) {
    std::vector<Part> parts;
    for (const auto& [name, tensor] : tensors) parts.push_back(partOf(path, name, tensor));
    writeParts(path, std::move(parts), {}, {}, existing);
}

void addToSafetensors(const std::filesystem::path& path, const std::string& name, const TensorView& tensor,
                      const FileBounds& bounds) {
    if (name == "__metadata__")
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("{}: \"{}\" is reserved by the format; choose another name", path.string(), name));
    std::vector<Part> parts;
    std::optional<const Safetensors> old;
    if (std::filesystem::exists(path)) old.emplace(path, bounds);
    if (old)
        for (const auto& [known, type] : old->types()) {
            if (known == name) continue;
            const auto copy = [&old = *old, &known = known, &type = type](AtomicFile& file) {
                const auto total = static_cast<std::uint64_t>(type.byteCount());
                std::vector<char> slice(std::min<std::uint64_t>(total, kSlice));
                for (std::uint64_t at = 0; at < total; at += slice.size()) {
                    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(total - at, kSlice));
                    old.readBytes(known, at, slice.data(), count);
                    file.write(slice.data(), count);
                }
            };
            parts.push_back({known, type, copy});
        }
    parts.push_back(partOf(path, name, tensor));
    writeParts(path, std::move(parts), old ? old->metadata() : Metadata(), bounds);
}

} // namespace twb
