#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/rows.h"
#include "backends/cuda/kernels/scan.h"
#include "backends/cuda/kernels/total_before.h"
#include "core/error.h"
#include "ops/host_number.h"
#include "ops/reduction_rules.h"

#include <algorithm>

namespace twb::cuda {
namespace {

// CumSum and CumProd. Rows are split into parts, so that a few long rows keep the GPU busy: first the parts'
// totals, then the totals of the parts before each part, then each part separately. The order of operations
// is fixed, so repeated runs give the same bits; CUB's scan does not guarantee this for floats.

template <class T> using Total = twb::Wide<Wide<T>>;

/// Parts of rows, starting from the end in a reverse scan. Neighbouring teams handle the same part of
/// neighbouring rows.
template <class T> struct Parts {
    Rows<T> rows;
    bool reverse;
    std::int64_t each, count;

    struct Part {
        typename Rows<T>::Row row;
        std::int64_t begin, end;
        std::int64_t index; ///< row by row
        std::int64_t last;  ///< the row's last index in a reverse scan, else -1
        TWB_HOST_DEVICE std::int64_t place(std::int64_t n) const { return last < 0 ? n : last - n; }
    };
    TWB_HOST_DEVICE Part operator[](std::int64_t team) const {
        const std::int64_t row = team % rows.kept.total;
        const std::int64_t part = team / rows.kept.total;
        const std::int64_t length = rows.length();
        const std::int64_t begin = part * each;
        const std::int64_t end = begin + each < length ? begin + each : length;
        return {rows[row], begin, end, row * count + part, reverse ? length - 1 : -1};
    }
};

/// Rule: AddStates or MultiplyStates.
template <class T, class Rule> struct TotalOfPart {
    Parts<T> parts;
    Total<T>* totals;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const auto part = parts[index];
        const Rule rule;
        auto own = Rule::template start<Total<T>>();
        for (std::int64_t n = part.begin + team.index(); n < part.end; n += team.size())
            rule.merge(own, static_cast<Total<T>>(part.row.at(part.place(n))));
        own = team.merged(rule, own);
        if (team.isFirst()) totals[part.index] = own;
    }
};

/// The number of adjacent elements per thread and step. The shares of all threads are contiguous, so that
/// memory is read sequentially.
constexpr std::int64_t kShare = 8;

/// Each thread reduces its share, then scans it from the total of all elements before it. This repeats to the
/// end of the part.
template <class T, class Rule> struct TotalUpTo {
    Parts<T> parts;
    const Total<T>* before; ///< the total before each part; null: there is one part per row
    bool exclusive;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const Rule rule;
        const auto part = parts[index];
        const bool isOne = team.size() == 1;
        const std::int64_t share = isOne ? part.end - part.begin : kShare;
        auto total = before ? before[part.index] : Rule::template start<Total<T>>();
        for (std::int64_t all = part.begin; all < part.end; all += share * team.size()) {
            const std::int64_t first = all + share * team.index();
            const std::int64_t begin = first < part.end ? first : part.end;
            const std::int64_t end = begin + share < part.end ? begin + share : part.end;
            auto own = Rule::template start<Total<T>>();
            for (std::int64_t n = begin; !isOne && n < end; ++n)
                rule.merge(own, static_cast<Total<T>>(part.row.at(part.place(n))));
            rule.merge(total, team.before(rule, own));
            for (std::int64_t n = begin; n < end; ++n) {
                const Total<T> last = total;
                rule.merge(total, static_cast<Total<T>>(part.row.at(part.place(n))));
                part.row.set(part.place(n), static_cast<Wide<T>>(exclusive ? last : total));
            }
            total = team.fromLast(total);
        }
    }
};

/// Elements per part, for a block and for a single thread.
constexpr std::int64_t kPart = 4096;
constexpr std::int64_t kPartOfOne = 256;

template <class Rule, class T>
void accumulate(Queue& queue, const Rows<T>& rows, bool reverse, bool exclusive) {
    if (rows.length() == 0 || rows.kept.total == 0) return;
    const TeamOf team = teamOf(rows);
    // If there are enough rows to occupy all multiprocessors, each row is one part and read once.
    const std::int64_t enough = std::int64_t{queue.multiprocessors()} * (team == TeamOf::one ? 1024 : 4);
    const std::int64_t each = rows.kept.total >= enough ? rows.length()
                              : team == TeamOf::one     ? kPartOfOne
                                                        : kPart;
    const Parts<T> parts{rows, reverse, each, (rows.length() + each - 1) / each};
    const std::int64_t all = rows.kept.total * parts.count;
    const Scratch totals(queue, parts.count == 1 ? 0 : static_cast<std::size_t>(all) * sizeof(Total<T>));
    const std::int64_t length = std::min(each, rows.length());
    if (parts.count > 1) {
        forEachRow(queue, all, length, TotalOfPart<T, Rule>{parts, totals.as<Total<T>>()}, team);
        forEachRow(queue, rows.kept.total, parts.count,
                   TotalBefore<Total<T>, Rule>{totals.as<Total<T>>(), parts.count});
    }
    forEachRow(queue, all, length, TotalUpTo<T, Rule>{parts, totals.as<Total<T>>(), exclusive}, team);
}

template <class Rule> void cumulativeKernel(const KernelCall& call) {
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
            accumulate<Rule>(call.queue, rowsAlong<T>(call.inputs[0], out, onlyAxis(axis, out.shape.rank())),
                             call.attributes.flag("reverse"), call.attributes.flag("exclusive"));
        }
    });
}

} // namespace

void sumUpTo(Queue& queue, std::int64_t* numbers, std::int64_t count) {
    const TensorView view{numbers, DType::i64, Shape{count}, {1}};
    accumulate<AddStates>(queue, rowsAlong<std::int64_t>(view, view, onlyAxis(0, 1)), false, false);
}

void addScanKernels(KernelMap& table) {
    add(table, "CumSum", cumulativeKernel<AddStates>);
    add(table, "CumProd", cumulativeKernel<MultiplyStates>);
}

} // namespace twb::cuda
