#include "profile/gzip_input.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <zlib.h>

namespace twb {
namespace {

constexpr std::size_t kBuffer = std::size_t{256} << 10;
constexpr std::uint64_t kLongestToken = std::uint64_t{64} << 20;
constexpr std::uint64_t kReportEvery = std::uint64_t{4} << 20;

} // namespace

GzipInput::GzipInput(const std::filesystem::path& path, ReadProgress progress)
    : m_path(path.string()), m_progress(std::move(progress)), m_buffer(kBuffer) {
    std::error_code failed;
    const auto status = std::filesystem::status(path, failed);
    if (!failed && !std::filesystem::is_regular_file(status))
        throw Error(ErrorCode::io, fmt::format("{} cannot be read: not a regular file", m_path));
    if (!failed) m_size = std::filesystem::file_size(path, failed);
    if (failed) throw Error(ErrorCode::io, fmt::format("{} cannot be read: {}", m_path, failed.message()));
    errno = 0;
    m_file = gzopen(path.c_str(), "rb");
    if (!m_file)
        throw Error(ErrorCode::io,
                    fmt::format("{} cannot be read: {}", m_path, std::strerror(errno ? errno : ENOMEM)));
    gzbuffer(m_file, kBuffer);
}

GzipInput::~GzipInput() { gzclose_r(m_file); }

GzipInput::int_type GzipInput::underflow() {
    const int got = gzread(m_file, m_buffer.data(), static_cast<unsigned>(m_buffer.size()));
    int code = Z_OK;
    const char* reason = gzerror(m_file, &code);
    if (got < 0 || code == Z_BUF_ERROR) {
        if (code == Z_ERRNO)
            throw Error(ErrorCode::io, fmt::format("{} cannot be read: {}", m_path, std::strerror(errno)));
        throw Error(ErrorCode::badFile,
                    fmt::format("{}: its gzip data is damaged or cut off after {} bytes of content: {}",
                                m_path, m_count, reason && *reason ? reason : "unexpected end of file"));
    }
    if (got == 0) return traits_type::eof();
    m_count += static_cast<std::uint64_t>(got);
    if (m_count - m_marked > kLongestToken)
        throw Error(ErrorCode::badFile,
                    fmt::format("{}: one value before byte {} is longer than 64 MB", m_path, m_count));
    if (m_progress && m_count - m_reported >= kReportEvery) {
        m_reported = m_count;
        const auto at = static_cast<double>(gzoffset(m_file));
        m_progress(m_size > 0 ? std::min(at / static_cast<double>(m_size), 1.0) : 1.0);
    }
    setg(m_buffer.data(), m_buffer.data(), m_buffer.data() + got);
    return traits_type::to_int_type(m_buffer.front());
}

} // namespace twb
