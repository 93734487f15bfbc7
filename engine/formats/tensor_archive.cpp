#include "formats/tensor_archive.h"

#include "core/error.h"
#include "formats/data_files.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "formats/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kEndings{".npz", ".safetensors", ".csv"};

bool isNpz(const fs::path& file) { return file.extension() == ".npz"; }
bool isCsv(const fs::path& file) { return file.extension() == ".csv"; }

/// The maximum number of names in a message.
constexpr std::size_t kMostNames = 8;

std::string listed(const std::vector<std::string>& names) {
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames));
    return fmt::format("{}{}", fmt::join(names.begin(), end, ", "), names.size() > kMostNames ? ", …" : "");
}

/// Adding a tensor reads and rewrites the archive, so concurrent calls could lose a tensor. The mutex
/// excludes other threads; the lock on the folder excludes other processes of this program, such as the runs
/// of a batch. The file itself cannot be locked, since it is replaced. On a file system without locks only
/// the mutex applies.
class AddLock {
public:
    explicit AddLock(const fs::path& file)
        : m_lock(mutex()), m_folder(::open(folderOf(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        if (m_folder >= 0) ::flock(m_folder, LOCK_EX);
    }
    ~AddLock() {
        if (m_folder >= 0) ::close(m_folder);
    }
    AddLock(const AddLock&) = delete;
    AddLock& operator=(const AddLock&) = delete;

private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    /// Locks the folder of the link's target, where the file is written.
    static fs::path folderOf(const fs::path& file) {
        std::error_code failed;
        const fs::path target = fs::weakly_canonical(file, failed);
        const fs::path folder = (failed ? file : target).parent_path();
        return folder.empty() ? fs::path(".") : folder;
    }

    std::lock_guard<std::mutex> m_lock;
    int m_folder;
};

} // namespace

bool TensorPath::isInArchive() const {
    const std::string ending = fs::path(file).extension();
    return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end() || IdxFile::isNamed(file);
}

TensorPath splitTensorPath(std::string_view path) {
    const std::size_t hash = path.rfind('#');
    if (hash != std::string_view::npos && IdxFile::isNamed(path.substr(0, hash)))
        return {std::string(path.substr(0, hash)), std::string(path.substr(hash + 1))};
    std::size_t end = std::string_view::npos;
    for (const std::string_view ending : kEndings)
        if (const auto at = path.find(std::string(ending) + '#'); at != std::string_view::npos)
            end = std::min(end, at + ending.size());
    if (end == std::string_view::npos) return {std::string(path), std::nullopt};
    return {std::string(path.substr(0, end)), std::string(path.substr(end + 1))};
}

std::shared_ptr<const TensorArchive> openTensorArchive(const fs::path& file, const FileBounds& bounds) {
    if (isNpz(file)) return std::make_shared<Npz>(file, bounds);
    if (isCsv(file)) return std::make_shared<CsvFile>(file, bounds);
    if (IdxFile::isNamed(file)) return std::make_shared<IdxFile>(file, bounds);
    return std::make_shared<Safetensors>(file, bounds);
}

std::string onlyTensorOf(const TensorArchive& archive, const fs::path& file) {
    if (archive.isWhole()) return {};
    std::vector<std::string> names = archive.names();
    if (names.size() == 1) return std::move(names.front());
    if (names.empty())
        throw Error(ErrorCode::badFile, fmt::format("{}: the file has no tensors", file.string()));
    throw Error(ErrorCode::badFile,
                fmt::format("{}: it has {} tensors, {}; name one of them: {}#{}", file.string(), names.size(),
                            listed(names), file.filename().string(), names.front()));
}

void requireWritable(const TensorPath& path) {
    if (isCsv(path.file) || IdxFile::isNamed(path.file))
        throw Error(ErrorCode::io,
                    fmt::format("\"{}\" cannot be written: CSV and IDX files are only read; name a "
                                ".npy file, or a tensor in an archive: out.npz#name",
                                path.file));
    if (path.isInArchive() && (!path.tensor || path.tensor->empty()))
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{}: name the tensor to write: {}#result", path.file,
                                fs::path(path.file).filename().string()));
    if (!path.isInArchive() && fs::path(path.file).extension() != ".npy")
        throw Error(ErrorCode::io,
                    fmt::format("\"{}\" cannot be written: name a .npy file, or a tensor in an archive: "
                                "out.npz#name or out.safetensors#name",
                                path.file));
}

void writeTensor(const TensorPath& path, const TensorView& tensor, const FileBounds& bounds) {
    if (!path.isInArchive()) return writeNpy(path.file, tensor, bounds);
    requireWritable(path);
    const AddLock lock(path.file);
    if (isNpz(path.file))
        addToNpz(path.file, *path.tensor, tensor, bounds);
    else
        addToSafetensors(path.file, *path.tensor, tensor, bounds);
}

void refuseMissingTensor(const fs::path& file, const std::string& name,
                         const std::vector<std::string>& names) {
    throw Error(ErrorCode::badFile, fmt::format("{}: it has no tensor \"{}\"; it has {}", file.string(), name,
                                                names.empty() ? "none" : listed(names)));
}

} // namespace twb
