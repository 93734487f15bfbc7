#pragma once

namespace twb {

/// The number of threads of the host's kernels: the argument of setHostThreads(), else OMP_NUM_THREADS, else
/// the number of cores. At least 1.
int hostThreads() noexcept;
/// Must be called before the first backend is made, whose name includes the number. 0: OpenMP's default.
void setHostThreads(int count) noexcept;
/// Sets the number for the calling thread. OpenMP keeps it per thread, so each stream's thread calls this
/// first.
void useHostThreads() noexcept;
/// The number of threads of a parallel region that the calling thread would start.
int regionThreads() noexcept;

} // namespace twb
