#pragma once

#include "runtime/plan.h"

#include <cstdint>
#include <vector>

namespace twb {

/// Stretches of a plan: two steps or more, one behind the other on one stream of a GPU, that come in each
/// iteration as they are and meet nobody on their way. Their stream gets them as one (Stream::launchStretch),
/// so that it can capture them as a CUDA graph when the plan repeats.
///
/// A stretch ends
///   - before a step that waits for another stream, in its own iteration or for the one before: waiting
///     earlier would cost overlap;
///   - behind a step that others wait for;
///   - at a copy, which may go through a staging ring that other copies use in turn;
///   - at a step whose sizes are found when it is reached, and whose memory is another each time;
///   - at a step of the last iteration only;
///   - at a step that reads a tensor of the host's which an iteration makes: a graph keeps what was in it.
/// A plan with If, Loop or Scan has none: all streams rest around a body.
///
/// What only the stream can know it finds out as the first iteration runs one by one (cuda_stream.h): a
/// kernel that reports what it finds in its inputs is looked at by the host before the next one.
std::vector<std::vector<std::uint32_t>> stretchesOf(const Plan& plan);

} // namespace twb
