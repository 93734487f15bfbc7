#pragma once

#include "backends/cuda/kernels/team.h"

#include <cstdint>

namespace twb::cuda {

/// Replaces each number in each row of `size` numbers by the total of the numbers before it.
/// Rule: AddStates or MultiplyStates.
template <class T, class Rule = AddStates> struct TotalBefore {
    T* numbers;
    std::int64_t size;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        T* const own = numbers + row * size;
        const std::int64_t each = (size + team.size() - 1) / team.size();
        const std::int64_t begin = each * team.index() < size ? each * team.index() : size;
        const std::int64_t end = begin + each < size ? begin + each : size;
        const Rule rule;
        T share = Rule::template start<T>();
        for (std::int64_t i = begin; i < end; ++i) rule.merge(share, own[i]);
        T total = team.before(rule, share);
        for (std::int64_t i = begin; i < end; ++i) {
            const T number = own[i];
            own[i] = total;
            rule.merge(total, number);
        }
    }
};

} // namespace twb::cuda
