#pragma once

#include <filesystem>
#include <string>

namespace twb {

/// The limit of paths from a graph or a model: anywhere, or within one folder. Files and folders are checked
/// after opening, by the path that the kernel reports, so a link that changes between check and opening has
/// no effect.
class FileBounds {
public:
    /// Anywhere.
    FileBounds() = default;
    /// `whose` and `remedy` complete the sentence "a.npy is outside `whose` (folder); `remedy`".
    FileBounds(std::filesystem::path folder, std::string whose, std::string remedy);

    bool isLimited() const noexcept { return !m_folder.empty(); }
    /// Throws Error(badFile) if the open file or folder is outside; `path` is its name for the message.
    /// Throws Error(io) if its path cannot be determined.
    void check(int descriptor, const std::filesystem::path& path) const;
    /// The same check by name, for a file that may not exist yet. The file must be checked again after
    /// opening.
    void checkName(const std::filesystem::path& path) const;
    /// Throws Error(badFile) with the message that `path` leads outside.
    [[noreturn]] void refuse(const std::filesystem::path& path) const;

private:
    void require(const std::filesystem::path& place, const std::filesystem::path& path) const;

    std::filesystem::path m_folder;
    std::string m_whose;
    std::string m_remedy;
};

} // namespace twb
