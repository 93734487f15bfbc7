#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/rows.h"
#include "core/error.h"
#include "ops/host_number.h"
#include "ops/reduction_rules.h"

#include <algorithm>

namespace twb::cuda {
namespace {

/// Each thread sums a part of the row, then all parts before its own are put in front.
template <class T> struct SumUpTo {
    Rows<T> rows;
    bool reverse, exclusive;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        using Sum = twb::Wide<Wide<T>>;
        const auto row = rows[index];
        const std::int64_t length = rows.length();
        const std::int64_t share = (length + team.size() - 1) / team.size();
        const std::int64_t begin = share * team.index() < length ? share * team.index() : length;
        const std::int64_t end = begin + share < length ? begin + share : length;
        Sum own{};
        for (std::int64_t n = begin; team.size() > 1 && n < end; ++n)
            own += static_cast<Sum>(row.at(reverse ? length - 1 - n : n));
        Sum sum = team.before(own);
        for (std::int64_t n = begin; n < end; ++n) {
            const std::int64_t i = reverse ? length - 1 - n : n;
            const Sum before = sum;
            sum += static_cast<Sum>(row.at(i));
            row.set(i, static_cast<Wide<T>>(exclusive ? before : sum));
        }
    }
};

void cumSumKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    const double given = hostNumberOf(call.context(), 1, "axis").value_or(0);
    const auto axis = element::cast<std::int64_t>(given);
    const int axes = std::max(out.shape.rank(), 1);
    if (!normalizeAxis(axis, axes))
        throw Error(ErrorCode::invalidArgument, "Dimension out of range (expected to be in range of [" +
                                                    std::to_string(-axes) + ", " + std::to_string(axes - 1) +
                                                    "], but got " + std::to_string(axis) + ")");
    withStoredNumber(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (sizeof(T) >= 4 || isHalf<T>) {
            const Rows<T> rows = rowsAlong<T>(call.inputs[0], out, onlyAxis(axis, out.shape.rank()));
            forEachOf(call.queue, rows,
                      SumUpTo<T>{rows, call.attributes.flag("reverse"), call.attributes.flag("exclusive")});
        }
    });
}

} // namespace

void addScanKernels(KernelMap& table) { add(table, "CumSum", cumSumKernel); }

} // namespace twb::cuda
