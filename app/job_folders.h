#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace twb {

/// The folders in which the ranks of a job and their watches say why the job has failed: one on each machine,
/// and one beside the logs, which other machines may see. Without a folder, a reason may be said more than
/// once. An object has no pointers, so processes may share it.
class JobFolders {
public:
    using Path = std::array<char, 512>;

    /// Makes a new folder in $TMPDIR or /tmp. Rank 0 sends its path to all ranks.
    static Path makeHere();
    /// Beside the logs. Rank 0 makes it; where another machine has it, that machine sees the logs, too.
    static std::string besideLogs(const std::filesystem::path& logs, const Path& here);

    void setHere(const Path& path) { m_here = path; }
    void setShared(const std::string& path);
    bool hasHere() const { return m_here[0]; }
    bool hasShared() const { return m_shared[0]; }

    /// The file of a rank in the folder of this machine.
    std::filesystem::path fileOf(int rank) const;
    /// Whether a rank has said why the job has failed.
    bool isOver() const;
    /// The reason that this machine has said, and the first one of all machines; "" if there is none.
    std::string reasonHere() const;
    std::string reasonShared() const;

    /// What a process that knows a reason does next.
    struct Turn {
        bool isFirstHere = false; ///< it is the first process of this machine that has said a reason
        bool isSaid = false;      ///< another machine has said a reason and has removed the shared folder
        std::string reason;       ///< the first reason of all machines, or this process's own one
    };
    /// Writes a reason into the folders, unless they have one. `doubt` is appended to the reason if it is not
    /// known to be the first one of all machines.
    Turn claim(const std::string& reason, std::string_view doubt) const;

    /// Waits up to 2 s for a reason that the watch of another rank may say.
    void awaitReason() const;
    /// Says that the machine of rank 0 has written the report.
    void setReported() const;
    /// Waits for it, up to 2 s.
    void awaitReport() const;

    /// Removes the file of a rank and, after the last one of this machine, the folder; `withShared`: and the
    /// shared one.
    void clear(int rank, int ranks, bool withShared) const;

private:
    Path m_here{};
    Path m_shared{};
};

/// Writes all bytes; stops at an error, which is not reported.
void writeAll(int descriptor, std::string_view text);

} // namespace twb
