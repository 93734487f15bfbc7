#include "formats/npz.h"

#include "core/error.h"
#include "formats/npy_header.h"
#include "formats/npy_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".npy";
/// Deflate's maximum: 258 bytes from two bits.
constexpr std::uint64_t kMostInflation = 1032;
/// 1980-01-01, as in np.savez: equal tensors give equal bytes.
constexpr zip_uint16_t kFirstDay = (1 << 5) | 1;

[[noreturn]] void refuse(const std::string& origin, const std::string& problem) {
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", origin, problem));
}

/// Checks the archive's description of an entry before unpacking it.
void checkEntry(const zip_stat_t& entry, std::uint64_t fileSize, const std::string& origin) {
    constexpr zip_uint64_t kNeeded =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((entry.valid & kNeeded) != kNeeded)
        refuse(origin, "the archive does not name its compression method");
    if (entry.encryption_method != ZIP_EM_NONE)
        refuse(origin, "the archive is encrypted; save it without a password");
    if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE)
        refuse(origin,
               fmt::format("its compression method {} is not supported; use np.savez or np.savez_compressed",
                           entry.comp_method));
    const std::uint64_t most = entry.comp_method == ZIP_CM_STORE ? 1 : kMostInflation;
    if (entry.comp_size > fileSize || entry.size / most > entry.comp_size)
        refuse(origin, fmt::format("its declared size of {} bytes, compressed to {} in a file of {}, is "
                                   "impossible; the archive is damaged",
                                   entry.size, entry.comp_size, fileSize));
}

/// Other programs unpack by name.
bool leadsOut(const fs::path& name) {
    return name.is_absolute() || std::find(name.begin(), name.end(), "..") != name.end();
}

} // namespace

Npz::Npz(const fs::path& path, const FileBounds& bounds)
    : m_path(path), m_zip(path, ZipFile::Mode::read, bounds) {
    const auto count =
        static_cast<std::uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(m_zip.get(), 0), 0));
    for (std::uint64_t index = 0; index < count; ++index) {
        const char* entry = zip_get_name(m_zip.get(), index, ZIP_FL_ENC_GUESS);
        if (!entry) m_zip.fail(fmt::format("an entry's name cannot be read: {}", zip_strerror(m_zip.get())));
        std::string name = entry;
        if (!name.ends_with(kEnding)) continue;
        name.resize(name.size() - kEnding.size());
        if (!m_entries.emplace(name, index).second)
            refuse(path.string(),
                   fmt::format("two of its entries are named \"{}\"; give them different names", name));
    }
}

std::vector<std::string> Npz::names() const {
    std::vector<std::string> names;
    for (const auto& [name, index] : m_entries) names.push_back(name);
    return names;
}

TensorType Npz::typeOf(const std::string& name) const {
    const std::lock_guard lock(m_mutex);
    if (const auto known = m_types.find(name); known != m_types.end()) return known->second;
    TensorType type;
    visit(name, [&](const NpyStream&, const NpyHeader& header) { type = header.type; });
    return m_types[name] = type;
}

void Npz::read(const std::string& name, const TensorView& out) const {
    const std::lock_guard lock(m_mutex);
    visit(name, [&](const NpyStream& stream, const NpyHeader& header) {
        readNpyData(stream, header, out);
        char more = 0; // reading on makes libzip check the checksum
        if (stream.next(&more, 1) != 0)
            refuse(stream.origin, "it has more data than its header declares; the archive is damaged");
    });
}

void Npz::visit(const std::string& name,
                const std::function<void(const NpyStream&, const NpyHeader&)>& visitor) const {
    const auto known = m_entries.find(name);
    if (known == m_entries.end()) refuseMissingTensor(m_path, name, names());
    const std::string origin = fmt::format("{}#{}", m_path.string(), name);
    zip_stat_t status;
    if (zip_stat_index(m_zip.get(), known->second, 0, &status) != 0)
        refuse(origin, fmt::format("it cannot be found: {}", zip_strerror(m_zip.get())));
    checkEntry(status, m_zip.size(), origin);
    const ZipEntry entry(zip_fopen_index(m_zip.get(), known->second, 0));
    if (!entry) m_zip.fail(fmt::format("\"{}\" cannot be unpacked: {}", name, zip_strerror(m_zip.get())));
    const auto next = [&](void* to, std::size_t count) {
        std::size_t filled = 0;
        while (filled < count) {
            const zip_int64_t got = zip_fread(entry.get(), static_cast<char*>(to) + filled, count - filled);
            if (got < 0)
                m_zip.fail(
                    fmt::format("\"{}\" cannot be unpacked: {}", name, zip_file_strerror(entry.get())));
            if (got == 0) break;
            filled += static_cast<std::size_t>(got);
        }
        return filled;
    };
    const NpyStream stream{next, status.size, origin};
    const NpyHeader header = readNpyHeader(stream);
    const std::uint64_t promised = header.dataOffset + static_cast<std::uint64_t>(header.type.byteCount());
    if (status.size != promised)
        refuse(origin, fmt::format("its header declares {} bytes including itself ({}), but the entry has {}",
                                   promised, header.type.toString(), status.size));
    visitor(stream, header);
}

void addToNpz(const fs::path& path, const std::string& name, const TensorView& tensor,
              const FileBounds& bounds) {
    if (!tensor.isDense())
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{}: only contiguous tensors can be written", path.string()));
    if (leadsOut(name) || name.find('\0') != std::string::npos)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{}: \"{}\" is not a valid tensor name: unpacked, it would leave the folder; "
                                "choose another name",
                                path.string(), name));
    const TensorType type{tensor.dtype, tensor.shape};
    std::string header = makeNpyHeader(type, path.string());
    std::error_code unknown;
    if (fs::exists(path, unknown)) const Npz sound(path, bounds); // else throws
    ZipFile archive(path, ZipFile::Mode::change, bounds);
    zip_t* const zip = archive.get();
    const std::array<zip_buffer_fragment_t, 2> fragments{
        {{reinterpret_cast<zip_uint8_t*>(header.data()), header.size()},
         {static_cast<zip_uint8_t*>(tensor.data), static_cast<zip_uint64_t>(type.byteCount())}}};
    const std::size_t used = type.byteCount() > 0 ? 2 : 1;
    const auto fail = [&] {
        archive.fail(fmt::format("\"{}\" cannot be added: {}", name, zip_strerror(zip)));
    };
    zip_source_t* const source = zip_source_buffer_fragment(zip, fragments.data(), used, 0);
    if (!source) fail();
    const zip_int64_t index =
        zip_file_add(zip, (name + std::string(kEnding)).c_str(), source, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        fail();
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    if (zip_set_file_compression(zip, entry, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(zip, entry, 0, kFirstDay, 0) != 0)
        fail();
    archive.commit();
}

} // namespace twb
