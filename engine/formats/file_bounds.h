#pragma once

#include <filesystem>
#include <string>

namespace twb {

/// How far a path from a graph or a model may reach: anywhere, or into one folder and what lies beneath it.
/// Files and folders are checked after they were opened, by the place at which the kernel has them: a link
/// that changes between a check and the opening gains nothing.
class FileBounds {
public:
    /// Anywhere.
    FileBounds() = default;
    /// `whose` and `remedy` complete the sentence "a.npy is outside `whose` (folder); `remedy`".
    FileBounds(std::filesystem::path folder, std::string whose, std::string remedy);

    bool isLimited() const noexcept { return !m_folder.empty(); }
    /// Throws Error(badFile) when the open file or folder lies outside; `path` is how it was named. Throws
    /// Error(io) when its place cannot be told.
    void check(int descriptor, const std::filesystem::path& path) const;
    /// The same by name, for a file that may not exist yet. What is opened later is still to be checked.
    void checkName(const std::filesystem::path& path) const;
    /// Throws Error(badFile) that `path` leads outside.
    [[noreturn]] void refuse(const std::filesystem::path& path) const;

private:
    void require(const std::filesystem::path& place, const std::filesystem::path& path) const;

    std::filesystem::path m_folder;
    std::string m_whose;
    std::string m_remedy;
};

} // namespace twb
