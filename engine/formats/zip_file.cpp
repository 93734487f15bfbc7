#include "formats/zip_file.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace twb {
namespace {

/// The file operations of libzip: random access for reading, and writing to the replacement file.
constexpr zip_int64_t kCommands =
    ZIP_SOURCE_SUPPORTS_WRITABLE | ZIP_SOURCE_MAKE_COMMAND_BITMASK(ZIP_SOURCE_ACCEPT_EMPTY);

} // namespace

ZipFile::ZipFile(const std::filesystem::path& path, Mode mode, FileBounds bounds, const char* kind)
    : m_path(path), m_bounds(std::move(bounds)) {
    zip_error_init(&m_error);
    std::error_code unknown;
    if (mode == Mode::read || std::filesystem::exists(path, unknown)) m_input.emplace(path, m_bounds);
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_function_create(answer, this, &error);
    if (source)
        m_archive = zip_open_from_source(source, mode == Mode::read ? ZIP_RDONLY : ZIP_CREATE, &error);
    if (m_archive) return;
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (source) zip_source_free(source);
    fail(fmt::format("not a {} (a zip archive): {}", kind, reason));
}

ZipFile::~ZipFile() {
    if (m_archive) zip_discard(m_archive);
    zip_error_fini(&m_error);
}

void ZipFile::commit() {
    if (zip_close(m_archive) != 0) fail(fmt::format("cannot write it: {}", zip_strerror(m_archive)));
    m_archive = nullptr;
}

void ZipFile::fail(const std::string& reason) const {
    if (m_failure) std::rethrow_exception(m_failure);
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", m_path.string(), reason));
}

zip_int64_t ZipFile::answer(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    auto* file = static_cast<ZipFile*>(self);
    try {
        return file->answer(data, length, command);
    } catch (...) { // exceptions must not pass through C code; fail() rethrows it
        file->m_failure = std::current_exception();
        return file->refuse(command == ZIP_SOURCE_READ ? ZIP_ER_READ : ZIP_ER_WRITE, EIO);
    }
}

zip_int64_t ZipFile::answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    switch (command) {
    case ZIP_SOURCE_OPEN:
        m_readAt = 0;
        return m_input ? 0 : refuse(ZIP_ER_OPEN, ENOENT);
    case ZIP_SOURCE_READ: {
        const std::size_t got = m_input->readAt(m_readAt, data, static_cast<std::size_t>(length));
        m_readAt += got;
        return static_cast<zip_int64_t>(got);
    }
    case ZIP_SOURCE_SEEK:
        return seek(m_readAt, size(), data, length);
    case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(m_readAt);
    case ZIP_SOURCE_STAT: {
        if (!m_input) return refuse(ZIP_ER_READ, ENOENT); // libzip's way to ask for a new file
        auto* status = static_cast<zip_stat_t*>(data);
        zip_stat_init(status);
        status->size = size();
        status->valid = ZIP_STAT_SIZE;
        return sizeof *status;
    }
    case ZIP_SOURCE_BEGIN_WRITE:
        m_output.emplace(m_path, m_bounds);
        m_writeAt = m_written = 0;
        return 0;
    case ZIP_SOURCE_WRITE:
        m_output->write(data, static_cast<std::size_t>(length));
        m_writeAt += length;
        m_written = std::max(m_written, m_writeAt);
        return static_cast<zip_int64_t>(length);
    case ZIP_SOURCE_SEEK_WRITE:
        if (seek(m_writeAt, m_written, data, length) != 0) return -1;
        m_output->seek(m_writeAt);
        return 0;
    case ZIP_SOURCE_TELL_WRITE:
        return static_cast<zip_int64_t>(m_writeAt);
    case ZIP_SOURCE_COMMIT_WRITE:
        m_output->commit();
        m_output.reset();
        return 0;
    case ZIP_SOURCE_ROLLBACK_WRITE:
        m_output.reset();
        return 0;
    case ZIP_SOURCE_SUPPORTS:
        return kCommands;
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&m_error, data, length);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
    case ZIP_SOURCE_ACCEPT_EMPTY: // an empty file is not an archive
        return 0;
    default:
        return refuse(ZIP_ER_OPNOTSUPP, 0);
    }
}

zip_int64_t ZipFile::seek(std::uint64_t& at, std::uint64_t end, void* data, zip_uint64_t length) {
    const zip_int64_t to = zip_source_seek_compute_offset(at, end, data, length, &m_error);
    if (to < 0) return -1;
    at = static_cast<std::uint64_t>(to);
    return 0;
}

zip_int64_t ZipFile::refuse(int zipCode, int systemCode) {
    zip_error_set(&m_error, zipCode, systemCode);
    return -1;
}

} // namespace twb
