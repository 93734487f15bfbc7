#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>

namespace twb {

/// Which member of a batch is run by which of several processes that share a folder. A claim is a lock on a
/// byte of a file: the system takes it back when its process ends in any way, so that another process can run
/// the member. All processes that hold claims at a time belong to one job.
class BatchClaims {
public:
    /// Throws Error(io) that names the file.
    explicit BatchClaims(const std::filesystem::path& folder);
    ~BatchClaims();
    BatchClaims(const BatchClaims&) = delete;
    BatchClaims& operator=(const BatchClaims&) = delete;

    /// The same for all processes of the job, and different for each job.
    const std::string& job() const noexcept { return m_job; }
    /// False if another process has the member.
    bool take(std::size_t member);
    void release(std::size_t member);

private:
    void joinJob();

    std::filesystem::path m_path;
    int m_file = -1;
    std::string m_job;
};

} // namespace twb
