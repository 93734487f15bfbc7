#pragma once

#include "core/error.h"

namespace twb {

/// The exit codes of the programs. Scripts and CI jobs depend on them.
enum class ExitCode : int {
    fine = 0,
    runFailed = 1,
    wrongUsage = 2,
    graphErrors = 3,
    fileError = 4,     ///< a file cannot be read or written, or has invalid content
    deviceMissing = 5, ///< a required device is missing
    cancelled = 130,   ///< the code that shells report after Ctrl-C
};

constexpr ExitCode exitCodeOf(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::invalidArgument:
        return ExitCode::wrongUsage;
    case ErrorCode::badGraph:
        return ExitCode::graphErrors;
    case ErrorCode::badFile:
    case ErrorCode::io:
        return ExitCode::fileError;
    case ErrorCode::missingDevice:
        return ExitCode::deviceMissing;
    case ErrorCode::cancelled:
        return ExitCode::cancelled;
    case ErrorCode::outOfMemory:
    case ErrorCode::unsupported:
    case ErrorCode::failed:
        return ExitCode::runFailed;
    }
    return ExitCode::runFailed;
}

} // namespace twb
