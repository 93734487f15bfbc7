#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

namespace twb {

/// While it exists, parallel work that the calling thread starts, and primitives that it makes, use one
/// thread.
class OneThread {
public:
    OneThread() {
#ifdef _OPENMP
        m_before = omp_get_max_threads();
        omp_set_num_threads(1);
#endif
    }
    ~OneThread() {
#ifdef _OPENMP
        omp_set_num_threads(m_before);
#endif
    }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

private:
    [[maybe_unused]] int m_before = 1;
};

} // namespace twb
