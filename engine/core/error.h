#pragma once

#include <stdexcept>
#include <string>

namespace twb {

/// What kind of thing went wrong; decides the exit code of `twb` and nothing else.
enum class ErrorCode {
    invalidArgument, ///< a value that the caller may not pass
    badGraph,        ///< a graph, or a change to one, that makes no sense
    badFile,         ///< a file that was read but is not what it should be
    io,              ///< a file that cannot be read or written at all
    outOfMemory,     ///< a device has no room for an allocation
    unsupported,     ///< an op, dtype or feature that is not there
    missingDevice,   ///< a device that the run requires is not there
    cancelled,       ///< somebody asked the run to stop
    failed,          ///< a step of a run failed
};

/// Everything a user can cause that is not a Diagnostic of a graph. The message is a whole sentence
/// that names the place (file, node, field) and, where there is one, the way out.
class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& sentence) : std::runtime_error(sentence), m_code(code) {}
    ErrorCode code() const noexcept { return m_code; }

private:
    ErrorCode m_code;
};

} // namespace twb
