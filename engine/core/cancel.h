#pragma once

#include "core/error.h"

#include <functional>

namespace twb {

/// True once the work should end. Asked from the thread that does the work; empty if the work always ends by
/// itself.
using IsCancelled = std::function<bool()>;

/// Throws Error(cancelled) if the work was cancelled.
inline void throwIfCancelled(const IsCancelled& isCancelled) {
    if (isCancelled && isCancelled()) throw Error(ErrorCode::cancelled, "cancelled");
}

} // namespace twb
