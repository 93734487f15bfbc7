#pragma once

#include "core/error.h"

namespace twb {

/// What the programs return to the shell. A contract: scripts and CI jobs branch on these.
enum class ExitCode : int {
    fine = 0,
    runFailed = 1,
    wrongUsage = 2,
    graphErrors = 3,
    fileError = 4,     ///< a file cannot be read or written, or is not what it should be
    deviceMissing = 5, ///< a device that was required is not there
    cancelled = 130,   ///< as a shell reports a program that Ctrl-C ended
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
