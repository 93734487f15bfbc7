#pragma once

namespace twb {

/// How many threads the host's kernels share: what setHostThreads() was told, else OMP_NUM_THREADS or the
/// number of cores, as OpenMP finds it. At least 1.
int hostThreads() noexcept;
/// To be called before the first backend is made: its name says how many there are. 0: as OpenMP finds it.
void setHostThreads(int count) noexcept;
/// OpenMP keeps the number for each thread that starts a parallel region: what a stream's thread calls first.
void useHostThreads() noexcept;

} // namespace twb
