#include "core/error.h"
#include "formats/npy.h"
#include "formats/tensor_archive.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <sys/stat.h>
#include <system_error>

namespace twb {
namespace {

namespace fs = std::filesystem;

class ProjectFiles final : public TensorFiles {
public:
    ProjectFiles(fs::path folder, bool allowOutside)
        : m_folder(folder.empty() ? fs::path(".") : std::move(folder)), m_allowOutside(allowOutside) {}

    TensorType typeOf(std::string_view path) const override {
        const TensorPath at = splitTensorPath(path);
        if (at.isInArchive()) {
            const auto known = archive(at.file);
            return known->typeOf(nameIn(*known, at));
        }
        const fs::path file = resolve(path);
        const std::string now = fingerprintOf(file);
        {
            const std::lock_guard lock(m_mutex);
            const auto known = m_types.find(file);
            if (!now.empty() && known != m_types.end() && known->second.fingerprint == now)
                return known->second.type;
        }
        TensorType type = readNpyHeader(file).type;
        const std::lock_guard lock(m_mutex);
        m_types[file] = {now, type};
        return type;
    }

    void read(std::string_view path, const TensorView& out) const override {
        const TensorPath at = splitTensorPath(path);
        if (!at.isInArchive()) return readNpyInto(resolve(path), out);
        const auto known = archive(at.file);
        known->read(nameIn(*known, at), out);
    }

    void write(std::string_view path, const TensorView& tensor) const override {
        const TensorPath at = splitTensorPath(path);
        const fs::path file = resolve(at.file);
        if (!at.isInArchive() && file.extension() != ".npy")
            throw Error(ErrorCode::io, fmt::format("\"{}\" is not written: the file name must end in .npy, "
                                                   "or in .npz or .safetensors followed by \"#\" and a name",
                                                   path));
        std::error_code failed;
        fs::create_directories(file.parent_path(), failed); // if this failed, the next line says why
        writeTensor({file.string(), at.tensor}, tensor);
    }

    std::string fingerprint(std::string_view path) const override {
        return fingerprintOf(resolve(splitTensorPath(path).file));
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

    static std::string nameIn(const TensorArchive& archive, const TensorPath& path) {
        return path.tensor ? *path.tensor : onlyTensorOf(archive, path.file);
    }

    std::shared_ptr<const TensorArchive> archive(const std::string& path) const {
        const fs::path file = resolve(path);
        const std::string now = fingerprintOf(file);
        const std::lock_guard lock(m_mutex);
        KnownArchive& known = m_archives[file];
        if (!known.file || known.fingerprint != now) known = {now, openTensorArchive(file)};
        return known.file;
    }

    fs::path resolve(std::string_view path) const {
        if (path.empty()) throw Error(ErrorCode::badFile, "the file name is missing; set the node's path");
        if (path.find('\0') != std::string_view::npos)
            throw Error(ErrorCode::badFile, "a file's name must not have a zero byte in it");
        fs::path wanted = m_folder / fs::path(path); // an absolute path replaces the folder
        if (m_allowOutside) return wanted;
        std::error_code failed;
        const fs::path folder = fs::weakly_canonical(m_folder, failed);
        fs::path file = failed ? fs::path() : fs::weakly_canonical(wanted, failed);
        if (failed)
            throw Error(ErrorCode::io, fmt::format("\"{}\" cannot be reached: {}", path, failed.message()));
        const fs::path within = file.lexically_relative(folder);
        if (fs::path(path).is_absolute() || within.empty() || *within.begin() == "..")
            throw Error(ErrorCode::badFile,
                        fmt::format("\"{}\" is outside the project's folder ({}); move the file there and "
                                    "use a relative path, or run twb with --allow-outside",
                                    path, folder.string()));
        return file;
    }

    static std::string fingerprintOf(const fs::path& file) {
        struct stat status {};
        if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
        return fmt::format("{}-{}-{}.{:09}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                           status.st_mtim.tv_nsec);
    }

    fs::path m_folder;
    bool m_allowOutside;
    mutable std::mutex m_mutex;
    mutable std::map<fs::path, Known> m_types;
    mutable std::map<fs::path, KnownArchive> m_archives;
};

} // namespace

std::shared_ptr<const TensorFiles> makeProjectFiles(fs::path folder, bool allowOutside) {
    return std::make_shared<ProjectFiles>(std::move(folder), allowOutside);
}

} // namespace twb
