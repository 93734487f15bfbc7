#pragma once

#include "formats/atomic_file.h"
#include "formats/input_file.h"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <zip.h>

namespace twb {

/// A zip archive, opened with libzip. Changes are written as an AtomicFile: only commit() makes them visible.
/// Not thread-safe. Throws Error(io), or Error(badFile) if it is not a zip archive.
class ZipFile {
public:
    enum class Mode { read, change }; ///< `change` creates a missing file
    /// `kind` completes the message "not a .npz file (a zip archive)".
    ZipFile(const std::filesystem::path& path, Mode mode, FileBounds bounds = {},
            const char* kind = ".npz file");
    ~ZipFile();
    ZipFile(const ZipFile&) = delete;
    ZipFile& operator=(const ZipFile&) = delete;

    zip_t* get() const noexcept { return m_archive; }
    /// The size when the file was opened; 0 if it did not exist.
    std::uint64_t size() const noexcept { return m_input ? m_input->size() : 0; }
    void commit();
    /// Throws the error that stopped libzip: the file's own error if there is one, else Error(badFile) with
    /// `reason`.
    [[noreturn]] void fail(const std::string& reason) const;

private:
    static zip_int64_t answer(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command);
    zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command);
    zip_int64_t seek(std::uint64_t& at, std::uint64_t end, void* data, zip_uint64_t length);
    zip_int64_t refuse(int zipCode, int systemCode);

    std::filesystem::path m_path;
    FileBounds m_bounds;
    std::optional<InputFile> m_input;
    std::optional<AtomicFile> m_output;
    std::uint64_t m_readAt = 0;
    std::uint64_t m_writeAt = 0;
    std::uint64_t m_written = 0;
    zip_error_t m_error{}; ///< the last error; libzip queries it
    std::exception_ptr m_failure;
    zip_t* m_archive = nullptr;
};

struct CloseZipEntry {
    void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
/// An open entry of an archive; null if it cannot be opened.
using ZipEntry = std::unique_ptr<zip_file_t, CloseZipEntry>;

} // namespace twb
