#pragma once

#include "graph/delta.h"

namespace twb {

/// The change that turns `before` into `after`.
Delta difference(const Graph& before, const Graph& after, std::string title);

} // namespace twb
