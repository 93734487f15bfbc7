#pragma once

#include <functional>
#include <string>
#include <vector>

namespace twb {

/// What a launcher of parallel jobs has told this process in its environment.
struct Launcher {
    std::string name; ///< "mpirun of Open MPI", "mpiexec of MPICH", "srun"; empty: no launcher
    std::string mpi;  ///< the MPI implementation whose ranks it starts, "openmpi" or "mpich"; empty: any
    int rank = 0;
    int size = 1;
    int localRank = 0; ///< among the ranks on this machine
    int localSize = 1;
    bool bindsUnasked = false; ///< it may have bound the rank to fewer cores than its share, though nobody
                               ///< has asked for that
};

/// `variable`: a variable of the environment, or null.
Launcher launcherIn(const std::function<const char*(const char*)>& variable);
/// Of this process.
Launcher launcher();

/// The value of CUDA_VISIBLE_DEVICES with which cuda:0 is the GPU of a local rank: all `gpus`, its own first.
std::string visibleGpus(int localRank, int gpus);

/// Makes this process one of several on its machine: its share of the cores becomes the number of its
/// threads, unless OMP_NUM_THREADS is set, and cuda:0 its own GPU, unless CUDA_VISIBLE_DEVICES is set. A rank
/// that its launcher has bound to fewer cores unasked may use those of the launcher. To be called before the
/// first thread is started.
void shareMachine(const Launcher& launcher);

} // namespace twb
