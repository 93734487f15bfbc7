#pragma once

#include "backends/cuda/kernels/team.h"

#include <cstdint>

namespace twb::cuda {

/// Replaces each number in each row of `size` numbers by the sum of the numbers before it.
template <class T> struct SumBefore {
    T* numbers;
    std::int64_t size;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        T* const own = numbers + row * size;
        const std::int64_t each = (size + team.size() - 1) / team.size();
        const std::int64_t begin = each * team.index() < size ? each * team.index() : size;
        const std::int64_t end = begin + each < size ? begin + each : size;
        T share{};
        for (std::int64_t i = begin; i < end; ++i) share += own[i];
        T sum = team.before(share);
        for (std::int64_t i = begin; i < end; ++i) {
            const T number = own[i];
            own[i] = sum;
            sum += number;
        }
    }
};

} // namespace twb::cuda
