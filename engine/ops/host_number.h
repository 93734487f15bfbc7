#pragma once

#include "ops/op.h"

#include <optional>

namespace twb {

/// A port of a single number that the host reads; the attribute of the same name stands in for it.
PortSpec hostNumber(std::string name, std::string argument, DTypeSet types);

/// What infer() knows of a host number: nothing when it is absent or known only at run time. Fails when it is
/// no single number.
std::optional<double> knownNumber(const InferContext& ctx, int port);

/// The number at a launch, from the port or the attribute; nothing when it is in neither. Throws
/// Error(invalidArgument) when it is no single number.
std::optional<double> hostNumberOf(const KernelContext& ctx, int port, std::string_view name);

} // namespace twb
