#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// Two folders of a job by which its ranks and their watches say why the job has failed. It has fixed size,
/// for memory that processes share. An empty path: there is no such folder, and a reason may be said more
/// than once.
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
    /// That sentence as this machine, or the first of all machines, has it; "" if there is none.
    std::string reasonHere() const;
    std::string reasonShared() const;

    /// What a process that knows a reason has to do.
    struct Turn {
        bool isFirstHere = false; ///< of the processes of this machine
        bool isSaid = false;      ///< and other machines have said a reason and have ended
        std::string reason;       ///< the first one that is known
    };
    /// Says a reason, unless one is known. `doubt` ends the sentence where only this machine knows it.
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

/// Writes all bytes, unless an error occurs.
void writeAll(int descriptor, std::string_view text);

} // namespace twb
