#pragma once

#include "backends/launcher.h"
#include "backends/world.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace twb {

/// How far a rank's run is, as it tells the others.
struct RankFigures {
    std::uint64_t iterations = 0; ///< completed; 0: the other figures are not known
    double iterationNs = 0;       ///< over the last iterations
    double rows = 0;              ///< of a batch
    bool isModelled = false;
};

struct MpiOptions {
    /// A rank that others wait for, and that does not answer or takes no step for so long, is taken for lost:
    /// the job ends, and its last step is named. 0: never.
    double stallSeconds = 60;
    /// What a user should do when a rank of a job on several machines does not answer; ends the sentence that
    /// names the rank.
    std::string advice;
    WorldListener* listener = nullptr; ///< must outlive the world
    /// Asked on the world's thread, ten times in `stallSeconds`, but at least once a second; empty: no
    /// figures.
    std::function<RankFigures()> figures;
    /// Called on the world's thread for each message of another rank. `node`: the rank's current or last
    /// step.
    std::function<void(int rank, std::string_view node, const RankFigures& figures)> heard;
};

/// The world of this process in a job of several ranks. Opens the plugin of an MPI implementation: the one
/// that $TWB_MPI names (openmpi, mpich, or the path of a plugin), else that of the launcher. Plugins are
/// files libtwb_mpi_openmpi.so and libtwb_mpi_mpich.so beside the program, in ../lib or in
/// ../lib/tensor-workbench. All ranks must call it; a process can have one such world, which ends MPI when it
/// is destroyed.
///
/// Throws Error(missingDevice) with a sentence about what is missing, or if the launcher has started more
/// ranks than MPI finds.
std::shared_ptr<World> openMpiWorld(const Launcher& launcher, const MpiOptions& options);

/// $TWB_STALL_SECONDS, else 60. Throws Error(invalidArgument).
double stallSecondsOf(const char* setting);

} // namespace twb
