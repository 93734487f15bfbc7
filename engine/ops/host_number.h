#pragma once

#include "ops/op.h"

#include <optional>

namespace twb {

/// A port that the host reads before the launch (PortSpec::hostValue) and that holds a single number; without
/// a connection, the attribute of the same name is used.
PortSpec hostNumber(std::string name, std::string argument, DTypeSet types);

/// The host number as far as infer() knows it: nothing if it is absent or known only at run time. Fails if it
/// is not a single number.
std::optional<double> knownNumber(const InferContext& ctx, int port);

/// The number at a launch, from the port or the attribute; nothing if neither is given. Throws
/// Error(invalidArgument) if it is not a single number.
std::optional<double> hostNumberOf(const KernelContext& ctx, int port, std::string_view name);

} // namespace twb
