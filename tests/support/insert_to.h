#pragma once

#include "graph/diagnostic.h"

#include <algorithm>
#include <stdexcept>

namespace twb::test {

/// The fix of a device mismatch that copies the operand, whatever its cost compared with others.
inline const Fix& insertToOf(const Diagnostic& d) {
    const auto fix = std::find_if(d.fixes.begin(), d.fixes.end(),
                                  [](const Fix& each) { return each.kind == Fix::Kind::insertTo; });
    if (fix == d.fixes.end()) throw std::runtime_error("no To is offered for: " + d.message);
    return *fix;
}

} // namespace twb::test
