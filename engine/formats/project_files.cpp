#include "core/error.h"
#include "formats/bool_bytes.h"
#include "formats/input_file.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "formats/tensor_archive.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <system_error>

namespace twb {
namespace {

namespace fs = std::filesystem;

/// Where Debian installs data sets for everybody: each in a folder, by a package "dataset-" + its name.
constexpr std::string_view kDataSets = "/usr/share/datasets";

bool isInDataSets(const fs::path& file) {
    const fs::path inside = file.lexically_normal().lexically_relative(kDataSets);
    return !inside.empty() && *inside.begin() != "..";
}

/// The rows of a tensor that lies in a file row by row. The file is read, not mapped: if it becomes shorter,
/// that is an error instead of a crash.
class FileRows final : public TensorRows {
public:
    FileRows(const fs::path& path, const FileBounds& bounds, TensorType type, std::uint64_t offset)
        : m_path(path), m_file(path, bounds), m_type(std::move(type)), m_offset(offset),
          m_rowBytes(rowBytesOf(m_type)) {}

    const TensorType& type() const override { return m_type; }
    void read(std::span<const std::int64_t> rows, void* to) const override {
        auto* out = static_cast<std::byte*>(to);
        for (std::size_t i = 0; i < rows.size();) {
            std::size_t count = 1; // neighbours are read at once
            while (i + count < rows.size() && rows[i + count] == rows[i] + static_cast<std::int64_t>(count))
                ++count;
            const std::size_t bytes = count * m_rowBytes;
            const std::uint64_t at = m_offset + static_cast<std::uint64_t>(rows[i]) * m_rowBytes;
            if (m_file.readAt(at, out, bytes) != bytes)
                throw Error(ErrorCode::io, fmt::format("{}: the file ends in the middle of row {}",
                                                       m_path.string(), rows[i]));
            if (m_type.dtype == DType::boolean) makeBools(out, bytes);
            out += bytes;
            i += count;
        }
    }

private:
    fs::path m_path;
    InputFile m_file;
    TensorType m_type;
    std::uint64_t m_offset;
    std::size_t m_rowBytes;
};

class ProjectFiles final : public TensorFiles {
public:
    ProjectFiles(fs::path folder, bool allowOutside) : m_folder(std::move(folder)) {
        if (!allowOutside)
            m_bounds = FileBounds(m_folder, "the project's folder",
                                  "move the file into this folder and use a relative path, or run twb with "
                                  "--allow-outside");
        m_dataSetBounds =
            FileBounds(std::string(kDataSets), "the folder of installed data sets", "name a file in it");
    }

    TensorType typeOf(std::string_view path) const override {
        const TensorPath at = splitTensorPath(path);
        requireDataSet(placeOf(at.file));
        if (at.isInArchive()) {
            const auto known = archive(at.file);
            return known->typeOf(nameIn(*known, at));
        }
        const fs::path file = placeOf(path);
        const std::string now = InputFile(file, boundsOf(file)).fingerprint();
        {
            const std::lock_guard lock(m_mutex);
            const auto known = m_types.find(file);
            if (known != m_types.end() && known->second.fingerprint == now) return known->second.type;
        }
        TensorType type = readNpyHeader(file, boundsOf(file)).type;
        const std::lock_guard lock(m_mutex);
        m_types[file] = {now, type};
        return type;
    }

    void read(std::string_view path, const TensorView& out) const override {
        const TensorPath at = splitTensorPath(path);
        if (!at.isInArchive()) return readNpyInto(placeOf(path), out, boundsOf(placeOf(path)));
        const auto known = archive(at.file);
        known->read(nameIn(*known, at), out);
    }

    std::shared_ptr<const TensorRows> rows(std::string_view path) const override {
        constexpr std::int64_t kMostInMemory = std::int64_t{1} << 28;
        if (typeOf(path).byteCount() <= kMostInMemory) return TensorFiles::rows(path);
        const TensorPath at = splitTensorPath(path);
        if (at.isInArchive()) return rowsInArchive(at);
        const NpyHeader header = readNpyHeader(placeOf(path), boundsOf(placeOf(path)));
        if (header.fortranOrder || header.bigEndian) return TensorFiles::rows(path);
        return std::make_shared<FileRows>(placeOf(path), boundsOf(placeOf(path)), header.type,
                                          header.dataOffset);
    }

    void checkTarget(std::string_view path) const override { (void)targetOf(path); }

    void write(std::string_view path, const TensorView& tensor) const override {
        const auto [at, file] = targetOf(path);
        std::error_code failed;
        fs::create_directories(file.parent_path(), failed); // a failure shows in the next line
        writeTensor({file.string(), at.tensor}, tensor, m_bounds);
    }

    std::string fingerprint(std::string_view path) const override {
        const fs::path file = placeOf(splitTensorPath(path).file);
        boundsOf(file).checkName(file); // also of a file that is not there yet
        try {
            return InputFile(file, boundsOf(file)).fingerprint();
        } catch (const Error& error) {
            if (error.code() == ErrorCode::io) return {};
            throw;
        }
    }

private:
    struct Known {
        std::string fingerprint;
        TensorType type;
    };

    struct KnownArchive {
        std::string fingerprint;
        std::shared_ptr<const TensorArchive> file;
    };

    struct Target {
        TensorPath path;
        fs::path file;
    };

    Target targetOf(std::string_view path) const {
        const TensorPath at = splitTensorPath(path);
        const fs::path file = placeOf(at.file);
        m_bounds.checkName(file);
        requireWritable(at);
        return {at, file};
    }

    std::shared_ptr<const TensorRows> rowsInArchive(const TensorPath& at) const {
        const auto known = archive(at.file);
        const auto* tensors = dynamic_cast<const Safetensors*>(known.get());
        if (!tensors) return TensorFiles::rows(at.tensor ? at.file + "#" + *at.tensor : at.file);
        const std::string name = nameIn(*known, at);
        return std::make_shared<FileRows>(placeOf(at.file), boundsOf(placeOf(at.file)), tensors->typeOf(name),
                                          tensors->offsetOf(name));
    }

    static std::string nameIn(const TensorArchive& archive, const TensorPath& path) {
        return path.tensor ? *path.tensor : onlyTensorOf(archive, path.file);
    }

    std::shared_ptr<const TensorArchive> archive(const std::string& path) const {
        const fs::path file = placeOf(path);
        const std::string now = InputFile(file, boundsOf(file)).fingerprint();
        const std::lock_guard lock(m_mutex);
        KnownArchive& known = m_archives[file];
        if (!known.file || known.fingerprint != now) known = {now, openTensorArchive(file, boundsOf(file))};
        return known.file;
    }

    /// Data sets may be read by every project, but not written.
    const FileBounds& boundsOf(const fs::path& file) const {
        return isInDataSets(file) ? m_dataSetBounds : m_bounds;
    }

    static void requireDataSet(const fs::path& file) {
        std::error_code failed;
        if (!isInDataSets(file) || fs::exists(file, failed)) return;
        const fs::path name = *file.lexically_normal().lexically_relative(kDataSets).begin();
        throw Error(ErrorCode::io,
                    fmt::format("\"{}\" does not exist: install the data set (Debian package dataset-{}), or "
                                "copy the file into the project's folder and set the path to the copy",
                                file.string(), name.string()));
    }

    /// Where a graph's path leads. Whether it may lead there is checked once the file is open.
    fs::path placeOf(std::string_view path) const {
        if (path.empty()) throw Error(ErrorCode::badFile, "the file name is missing; set the node's path");
        if (path.find('\0') != std::string_view::npos)
            throw Error(ErrorCode::badFile, "a file's name must not have a zero byte in it");
        if (m_bounds.isLimited() && fs::path(path).is_absolute() && !isInDataSets(path))
            m_bounds.refuse(path);        // of this machine only
        return m_folder / fs::path(path); // an absolute path replaces the folder
    }

    fs::path m_folder;
    FileBounds m_bounds;
    FileBounds m_dataSetBounds;
    mutable std::mutex m_mutex;
    mutable std::map<fs::path, Known> m_types;
    mutable std::map<fs::path, KnownArchive> m_archives;
};

} // namespace

std::shared_ptr<const TensorFiles> makeProjectFiles(fs::path folder, bool allowOutside) {
    return std::make_shared<ProjectFiles>(std::move(folder), allowOutside);
}

} // namespace twb
