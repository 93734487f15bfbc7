#include "backends/launcher.h"

#include "backends/cpu/host_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sched.h>
#include <string_view>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace twb {
namespace {

std::optional<int> numberIn(const char* text) {
    if (!text) return std::nullopt;
    const std::string_view all(text);
    int value = 0;
    const auto [end, failed] = std::from_chars(all.data(), all.data() + all.size(), value);
    if (failed != std::errc() || end != all.data() + all.size() || value < 0) return std::nullopt;
    return value;
}

/// Slurm's "4(x2),3" gives the tasks of each node.
int tasksOnNode(std::string_view text, int node) {
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        int tasks = 1;
        int nodes = 1;
        std::from_chars(part.data(), part.data() + part.size(), tasks);
        if (const auto times = part.find("(x"); times != std::string_view::npos)
            std::from_chars(part.data() + times + 2, part.data() + part.size(), nodes);
        if (node < nodes) return tasks;
        node -= nodes;
    }
    return 1;
}

/// Cores on which a process may run; 0: this process.
cpu_set_t coresOf(pid_t process) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(process, sizeof cores, &cores) != 0) CPU_SET(0, &cores);
    return cores;
}

/// Open MPI 4 binds the ranks of a small job to a core each, even those that are alone on their machine. It
/// passes on the options by which a user chooses the cores.
bool bindsUnasked(const std::function<const char*(const char*)>& variable) {
    if (!variable("OMPI_MCA_orte_bound_at_launch")) return false;
    for (const char* chosen : {"OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_hwloc_base_cpu_list",
                               "OMPI_MCA_rmaps_base_cpus_per_proc", "OMPI_MCA_orte_rankfile"})
        if (variable(chosen)) return false;
    const char* const mapping = variable("OMPI_MCA_rmaps_base_mapping_policy"); // "slot:PE=2"
    return !mapping || std::string_view(mapping).find("PE=") == std::string_view::npos;
}

} // namespace

Launcher launcherIn(const std::function<const char*(const char*)>& variable) {
    const auto number = [&](const char* name, int otherwise) {
        return numberIn(variable(name)).value_or(otherwise);
    };
    Launcher out;
    if (numberIn(variable("OMPI_COMM_WORLD_SIZE"))) {
        out = {"mpirun of Open MPI",
               "openmpi",
               number("OMPI_COMM_WORLD_RANK", 0),
               number("OMPI_COMM_WORLD_SIZE", 1),
               number("OMPI_COMM_WORLD_LOCAL_RANK", 0),
               number("OMPI_COMM_WORLD_LOCAL_SIZE", 1),
               bindsUnasked(variable)};
    } else if (numberIn(variable("SLURM_STEP_NUM_TASKS"))) {
        const char* tasks = variable("SLURM_STEP_TASKS_PER_NODE");
        out = {"srun",
               "",
               number("SLURM_PROCID", 0),
               number("SLURM_STEP_NUM_TASKS", 1),
               number("SLURM_LOCALID", 0),
               tasks ? tasksOnNode(tasks, number("SLURM_NODEID", 0)) : 1};
        if (variable("PMI_FD") || variable("PMI_RANK")) out.mpi = "mpich"; // srun --mpi=pmi2
        if (variable("PMIX_RANK")) out.mpi = "openmpi";
    } else if (numberIn(variable("PMI_SIZE"))) {
        out = {"mpiexec of MPICH",           "mpich",
               number("PMI_RANK", 0),        number("PMI_SIZE", 1),
               number("MPI_LOCALRANKID", 0), number("MPI_LOCALNRANKS", 1)};
    }
    out.size = std::max(1, out.size);
    out.localSize = std::max(1, out.localSize);
    return out;
}

Launcher launcher() {
    return launcherIn([](const char* name) { return std::getenv(name); });
}

std::string visibleGpus(int localRank, int gpus) {
    std::string out;
    for (int i = 0; i < gpus; ++i) out += fmt::format("{}{}", i == 0 ? "" : ",", (localRank + i) % gpus);
    return out;
}

void shareMachine(const Launcher& launcher) {
    if (launcher.size == 1) return;
    int all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (launcher.bindsUnasked) {
        const cpu_set_t launchers = coresOf(getppid());
        all = std::min(all, CPU_COUNT(&launchers));
        const cpu_set_t own = coresOf(0);
        if (CPU_COUNT(&own) < all / launcher.localSize) sched_setaffinity(0, sizeof launchers, &launchers);
    }
    if (!std::getenv("OMP_NUM_THREADS")) {
        // A launcher that was asked to bind its ranks has shared out the cores already.
        const cpu_set_t own = coresOf(0);
        setHostThreads(std::min(std::max(1, all / launcher.localSize), CPU_COUNT(&own)));
    }
    if (std::getenv("CUDA_VISIBLE_DEVICES")) return;
    std::error_code failed;
    int gpus = 0;
    for (std::filesystem::directory_iterator at("/proc/driver/nvidia/gpus", failed), end;
         !failed && at != end; at.increment(failed))
        ++gpus;
    if (gpus > 1) ::setenv("CUDA_VISIBLE_DEVICES", visibleGpus(launcher.localRank, gpus).c_str(), 0);
}

} // namespace twb
