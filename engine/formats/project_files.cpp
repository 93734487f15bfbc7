#include "core/error.h"
#include "formats/npy.h"
#include "formats/safetensors.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
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
        if (const auto member = memberOf(path)) return archive(member->first)->typeOf(member->second);
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
        if (const auto member = memberOf(path)) return archive(member->first)->read(member->second, out);
        readNpyInto(resolve(path), out);
    }

    void write(std::string_view path, const TensorView& tensor) const override {
        const fs::path file = resolve(path);
        if (file.extension() != ".npy")
            throw Error(ErrorCode::io,
                        fmt::format("\"{}\" is not written: a tensor's file name ends in .npy", path));
        std::error_code failed;
        fs::create_directories(file.parent_path(), failed); // if this failed, the next line says why
        writeNpy(file, tensor);
    }

    std::string fingerprint(std::string_view path) const override {
        const auto member = memberOf(path);
        return fingerprintOf(resolve(member ? std::string_view(member->first) : path));
    }

private:
    struct Known {
        std::string fingerprint;
        TensorType type;
    };

    struct KnownArchive {
        std::string fingerprint;
        std::shared_ptr<const Safetensors> file;
    };

    /// File and tensor of a path such as "model.safetensors#conv1.weight".
    static std::optional<std::pair<std::string, std::string>> memberOf(std::string_view path) {
        constexpr std::string_view mark = ".safetensors#";
        const std::size_t at = path.find(mark);
        if (at == std::string_view::npos) return std::nullopt;
        const std::size_t end = at + mark.size();
        return std::pair{std::string(path.substr(0, end - 1)), std::string(path.substr(end))};
    }

    std::shared_ptr<const Safetensors> archive(const std::string& path) const {
        const fs::path file = resolve(path);
        const std::string now = fingerprintOf(file);
        const std::lock_guard lock(m_mutex);
        KnownArchive& known = m_archives[file];
        if (!known.file || known.fingerprint != now) known = {now, std::make_shared<Safetensors>(file)};
        return known.file;
    }

    fs::path resolve(std::string_view path) const {
        if (path.empty()) throw Error(ErrorCode::badFile, "no file is named; set the node's path");
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
            throw Error(
                ErrorCode::badFile,
                fmt::format("\"{}\" leads out of the project's folder ({}); put the file there and name it "
                            "by a relative path, or allow it with --allow-outside of twb",
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
