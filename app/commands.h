#pragma once

#include "app/exit_code.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace twb {

/// Each adds one subcommand. A chosen subcommand runs and stores its exit code in `exit`. A twb::Error
/// propagates to main, which prints it.
void addImportCommand(CLI::App& app, ExitCode& exit);
void addExportCommand(CLI::App& app, ExitCode& exit);
void addCheckCommand(CLI::App& app, ExitCode& exit);
void addFixCommand(CLI::App& app, ExitCode& exit);
void addPlaceCommand(CLI::App& app, ExitCode& exit);
void addPredictCommand(CLI::App& app, ExitCode& exit);
void addRunCommand(CLI::App& app, ExitCode& exit);
void addBatchCommand(CLI::App& app, ExitCode& exit);
void addTrainCommand(CLI::App& app, ExitCode& exit);
void addQuantizeCommand(CLI::App& app, ExitCode& exit);
void addCompareCommand(CLI::App& app, ExitCode& exit);
void addReportCommand(CLI::App& app, ExitCode& exit);
void addProfileCommand(CLI::App& app, ExitCode& exit);
void addOverlayCommand(CLI::App& app, ExitCode& exit);
void addDevicesCommand(CLI::App& app, ExitCode& exit);
void addCalibrateCommand(CLI::App& app, ExitCode& exit);
void addOpsCommand(CLI::App& app, ExitCode& exit);
void addNewOpCommand(CLI::App& app, ExitCode& exit);
void addManCommand(CLI::App& app, ExitCode& exit); ///< after all others, whose pages it lists
void addCompletionCommand(CLI::App& app, ExitCode& exit);
/// The process becomes Python's, whose exit code the command has.
void addCaptureCommand(CLI::App& app);

/// The answer to `twb __complete WORD…`, by which a shell completes a command line (completion.h).
std::string completionLines(const CLI::App& twb, const std::vector<std::string>& words);

} // namespace twb
