#pragma once

#include <stdexcept>
#include <string>

namespace twb {

/// The kind of an error. It decides the exit code of `twb`, and nothing else.
enum class ErrorCode {
    invalidArgument, ///< a value that the caller may not pass
    badGraph,        ///< an invalid graph, or an invalid change of one
    badFile,         ///< a file that was read but has invalid content
    io,              ///< a file that cannot be read or written
    outOfMemory,     ///< not enough memory on a device
    unsupported,     ///< an op, dtype or feature that is not supported
    missingDevice,   ///< a required device is missing
    cancelled,       ///< the run was cancelled
    failed,          ///< a step of a run failed
};

/// Any failure that a user can cause, except a Diagnostic of a graph. The message is a sentence that names
/// the place (file, node, field) and, if there is one, the way out.
class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& sentence) : std::runtime_error(sentence), m_code(code) {}
    ErrorCode code() const noexcept { return m_code; }

private:
    ErrorCode m_code;
};

} // namespace twb
