#include "formats/data_files.h"

#include "backends/cpu/strided.h"
#include "core/error.h"
#include "formats/input_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <zlib.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytesOf(const fs::path& path, const FileBounds& bounds) {
    const InputFile file(path, bounds);
    std::vector<std::byte> out(file.size());
    out.resize(file.readAt(0, out.data(), out.size()));
    return out;
}

/// Unpacks a gzip stream piece by piece.
class Unpacker {
public:
    Unpacker(const fs::path& path, std::vector<std::byte>& packed) : m_path(path) {
        m_stream.next_in = reinterpret_cast<Bytef*>(packed.data());
        m_stream.avail_in = static_cast<uInt>(packed.size());
        constexpr int gzip = 16;
        if (packed.size() > std::numeric_limits<uInt>::max() ||
            inflateInit2(&m_stream, MAX_WBITS + gzip) != Z_OK)
            throw Error(
                ErrorCode::badFile,
                fmt::format("{}: the file is too large to read while compressed; decompress it with gunzip "
                            "and name the result",
                            path.string()));
    }
    ~Unpacker() { inflateEnd(&m_stream); }
    Unpacker(const Unpacker&) = delete;
    Unpacker& operator=(const Unpacker&) = delete;

    void read(void* to, std::size_t count) {
        auto* out = static_cast<Bytef*>(to);
        while (count > 0) {
            const auto piece = static_cast<uInt>(std::min<std::size_t>(count, 1U << 30));
            m_stream.next_out = out;
            m_stream.avail_out = piece;
            const int result = inflate(&m_stream, Z_NO_FLUSH);
            const std::size_t got = piece - m_stream.avail_out;
            out += got;
            count -= got;
            if (result == Z_STREAM_END && count > 0)
                throw Error(ErrorCode::badFile,
                            fmt::format("{}: the file ends in the middle of its data", m_path.string()));
            if (result != Z_OK && result != Z_STREAM_END)
                throw Error(ErrorCode::badFile,
                            fmt::format("{}: the file cannot be unpacked: it is damaged or not "
                                        "compressed by gzip",
                                        m_path.string()));
        }
    }

private:
    fs::path m_path;
    z_stream m_stream{};
};

template <class T> void swapBytes(void* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::byte* at = static_cast<std::byte*>(data) + i * sizeof(T);
        std::reverse(at, at + sizeof(T));
    }
}

/// The file may have been replaced since its type was read.
void requireType(const fs::path& path, const TensorType& type, const TensorView& out) {
    const TensorType wanted{out.dtype, out.shape};
    if (type != wanted)
        throw Error(
            ErrorCode::badFile,
            fmt::format("{}: the tensor is now {}, but was {} when the graph was checked; reload the graph",
                        path.string(), type.toString(), wanted.toString()));
}

} // namespace

bool IdxFile::isNamed(const fs::path& path) {
    const fs::path plain = path.extension() == ".gz" ? path.stem() : path.filename();
    const std::string name = plain.string();
    return plain.extension() == ".idx" || (name.find("-idx") != std::string::npos && !plain.has_extension());
}

IdxFile::IdxFile(const fs::path& path, const FileBounds& bounds) : m_path(path) {
    const auto fail = [&](const std::string& what) {
        throw Error(ErrorCode::badFile, fmt::format("{}: {}", path.string(), what));
    };
    std::vector<std::byte> bytes = bytesOf(path, bounds);
    const bool isPacked = bytes.size() > 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
    std::optional<Unpacker> unpacker;
    if (isPacked) unpacker.emplace(path, bytes);
    std::size_t at = 0;
    const auto take = [&](void* to, std::size_t count) {
        if (unpacker) return unpacker->read(to, count);
        if (count > bytes.size() - at) fail("the file ends in the middle of its data");
        std::memcpy(to, bytes.data() + at, count);
        at += count;
    };
    std::array<std::uint8_t, 4> magic{};
    take(magic.data(), magic.size());
    const std::map<std::uint8_t, DType> dtypes{{0x08, DType::u8},  {0x09, DType::i8},  {0x0B, DType::i16},
                                               {0x0C, DType::i32}, {0x0D, DType::f32}, {0x0E, DType::f64}};
    const auto dtype = dtypes.find(magic[2]);
    if (magic[0] != 0 || magic[1] != 0 || dtype == dtypes.end()) fail("not an IDX file");
    if (magic[3] > kMaxRank)
        fail(fmt::format("it has {} dimensions, but a tensor has {} at most", magic[3], kMaxRank));
    std::vector<std::int64_t> sizes;
    for (int axis = 0; axis < magic[3]; ++axis) {
        std::array<std::uint8_t, 4> size{};
        take(size.data(), size.size());
        sizes.push_back(std::int64_t{size[0]} << 24 | std::int64_t{size[1]} << 16 |
                        std::int64_t{size[2]} << 8 | size[3]);
    }
    const TensorType type{dtype->second, Shape(sizes)};
    constexpr std::uint64_t expansion = 1032; // deflate's largest
    const std::uint64_t most = isPacked ? bytes.size() * expansion : bytes.size();
    if (static_cast<std::uint64_t>(type.byteCount()) > most) fail("the file ends in the middle of its data");
    m_tensor = Tensor::onHost(type);
    take(m_tensor.data(), static_cast<std::size_t>(type.byteCount()));
    if constexpr (std::endian::native == std::endian::little) {
        const auto count = static_cast<std::size_t>(m_tensor.elementCount());
        if (sizeOf(type.dtype) == 2) swapBytes<std::int16_t>(m_tensor.data(), count);
        if (sizeOf(type.dtype) == 4) swapBytes<std::int32_t>(m_tensor.data(), count);
        if (sizeOf(type.dtype) == 8) swapBytes<std::int64_t>(m_tensor.data(), count);
    }
}

TensorType IdxFile::typeOf(const std::string& name) const {
    if (name != "data") refuseMissingTensor(m_path, name, names());
    return m_tensor.type();
}

void IdxFile::read(const std::string& name, const TensorView& out) const {
    requireType(m_path, typeOf(name), out);
    std::memcpy(out.data, m_tensor.data(), static_cast<std::size_t>(m_tensor.type().byteCount()));
}

CsvFile::CsvFile(const fs::path& path, const FileBounds& bounds) : m_path(path) {
    const std::vector<std::byte> bytes = bytesOf(path, bounds);
    parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void CsvFile::fail(std::size_t line, const std::string& what) const {
    throw Error(ErrorCode::badFile, fmt::format("{}, line {}: {}", m_path.string(), line, what));
}

void CsvFile::parse(std::string_view text) {
    constexpr std::string_view utf8Mark = "\xEF\xBB\xBF";
    if (text.starts_with(utf8Mark)) text.remove_prefix(utf8Mark.size());
    const std::string_view first = text.substr(0, text.find('\n'));
    const char separator = first.find('\t') != first.npos ? '\t' : first.find(';') != first.npos ? ';' : ',';
    const auto trimmed = [](std::string_view field) {
        while (!field.empty() && (field.front() == ' ' || field.front() == '"')) field.remove_prefix(1);
        while (!field.empty() && (field.back() == ' ' || field.back() == '"' || field.back() == '\r'))
            field.remove_suffix(1);
        return field;
    };
    const auto numberIn = [](std::string_view field) -> std::optional<double> {
        if (field.empty()) return std::nan("");
        if (field.front() == '+') field.remove_prefix(1);
        double value = 0;
        const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
        return value;
    };
    std::size_t line = 0;
    std::vector<std::string_view> fields;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view row = text.substr(0, end);
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
        ++line;
        if (trimmed(row).empty()) continue;
        fields.clear();
        for (std::size_t from = 0;;) {
            const std::size_t to = row.find(separator, from);
            fields.push_back(trimmed(row.substr(from, to == row.npos ? to : to - from)));
            if (to == row.npos) break;
            from = to + 1;
        }
        if (m_names.empty()) {
            const bool isHeader = std::ranges::any_of(fields, [&](auto field) { return !numberIn(field); });
            for (std::size_t c = 0; c < fields.size(); ++c)
                m_names.push_back(isHeader ? std::string(fields[c]) : std::to_string(c));
            for (std::size_t c = 0; c < m_names.size(); ++c)
                if (std::ranges::count(m_names, m_names[c]) > 1)
                    fail(line,
                         fmt::format("two columns have the name \"{}\"; give each its own", m_names[c]));
            if (isHeader) continue;
        }
        if (fields.size() != m_names.size())
            fail(line, fmt::format("it has {} fields, but the previous lines have {}", fields.size(),
                                   m_names.size()));
        for (std::size_t c = 0; c < fields.size(); ++c) {
            const std::optional<double> value = numberIn(fields[c]);
            if (!value)
                fail(line, fmt::format("\"{}\" in column {} is not a number; remove the column, or encode "
                                       "its strings as numbers",
                                       std::string(fields[c].substr(0, 40)), m_names[c]));
            m_values.push_back(*value);
        }
        ++m_rows;
    }
    if (m_rows == 0) fail(line, "the file has no rows");
}

/// Indices; the name "" is the whole table, "!name" all columns but one.
std::vector<std::size_t> CsvFile::columnsOf(const std::string& name) const {
    const bool isRest = name.starts_with('!');
    std::vector<std::size_t> out;
    for (std::size_t c = 0; c < m_names.size(); ++c)
        if (name.empty() || (m_names[c] == name.substr(isRest ? 1 : 0)) != isRest) out.push_back(c);
    if (out.empty() || (isRest && out.size() == m_names.size())) refuseMissingTensor(m_path, name, m_names);
    return out;
}

TensorType CsvFile::typeOf(const std::string& name) const {
    const auto rows = static_cast<std::int64_t>(m_rows);
    const std::vector<std::size_t> columns = columnsOf(name);
    const bool isList = !name.empty() && !name.starts_with('!');
    return {DType::f64, isList ? Shape{rows} : Shape{rows, static_cast<std::int64_t>(columns.size())}};
}

void CsvFile::read(const std::string& name, const TensorView& out) const {
    requireType(m_path, typeOf(name), out);
    const std::vector<std::size_t> columns = columnsOf(name);
    double* to = out.as<double>();
    for (std::size_t row = 0; row < m_rows; ++row)
        for (const std::size_t c : columns) *to++ = m_values[row * m_names.size() + c];
}

} // namespace twb
