#pragma once

#include "runtime/plan.h"

#include <cstdint>
#include <vector>

namespace twb {

/// Finds the stretches of a plan. A stretch is a sequence of two or more consecutive steps on one stream of a
/// GPU that are the same in every iteration and need no synchronisation with other streams in between. The
/// executor submits it by one call (Stream::launchStretch), so that the stream can capture it as a CUDA
/// graph.
///
/// A stretch ends
///   - before a step that waits for another stream: an earlier wait would reduce overlap;
///   - after a step for which another stream waits;
///   - at a copy, because copies share the staging ring;
///   - at a step whose sizes are determined when it is reached, because its memory changes;
///   - at a step that runs in the last iteration only;
///   - at a step that reads a host tensor computed in the iteration, because a CUDA graph would replay the
///     captured value.
/// A plan with If, Loop or Scan has no stretches, because all streams are idle before and after a body.
///
/// The stream excludes further launches from its graphs (cuda_stream.h), such as long ones.
std::vector<std::vector<std::uint32_t>> stretchesOf(const Plan& plan);

} // namespace twb
