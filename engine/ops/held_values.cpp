#include "ops/held_values.h"

#include "core/narrow.h"
#include "ops/dispatch.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace twb {
namespace {

template <class T>
void need(const InferContext& ctx, DType dtype, const char* attribute, const T& value, bool isHeld) {
    if (!isHeld)
        ctx.fail("attribute", -1,
                 fmt::format("{}: attribute \"{}\" is {}, which {} cannot hold; change it, or choose another "
                             "dtype",
                             ctx.op().name, attribute, value, name(dtype)));
}

} // namespace

void needHeldBy(const InferContext& ctx, DType dtype, const char* attribute, std::int64_t value) {
    if (isNarrow(dtype) && holdsIntegers(dtype))
        need(ctx, dtype, attribute, value, value >= leastOf(dtype) && value <= largestOf(dtype));
    if (!isInteger(dtype)) return;
    withInteger(dtype,
                [&](auto zero) { need(ctx, dtype, attribute, value, std::in_range<decltype(zero)>(value)); });
}

void needHeldBy(const InferContext& ctx, DType dtype, const char* attribute) {
    if (!holdsIntegers(dtype)) return;
    const AttributeValue& given = *ctx.attributes().find(attribute);
    if (std::holds_alternative<std::int64_t>(given) ||
        std::holds_alternative<std::vector<std::int64_t>>(given)) {
        for (const std::int64_t value : ctx.attributes().integers(attribute))
            needHeldBy(ctx, dtype, attribute, value);
        return;
    }
    for (const double value : ctx.attributes().numbers(attribute)) {
        if (isNarrow(dtype)) {
            const double whole = std::trunc(value);
            need(ctx, dtype, attribute, value,
                 whole >= static_cast<double>(leastOf(dtype)) &&
                     whole <= static_cast<double>(largestOf(dtype)));
            continue;
        }
        withInteger(dtype, [&](auto zero) {
            using Limits = std::numeric_limits<decltype(zero)>;
            // The upper bound is a power of two and exact in double; the largest i64 would be rounded up to
            // it.
            need(ctx, dtype, attribute, value,
                 std::trunc(value) >= static_cast<double>(Limits::min()) &&
                     value < std::ldexp(1.0, Limits::digits));
        });
    }
}

} // namespace twb
