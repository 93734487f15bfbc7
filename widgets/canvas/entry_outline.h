#pragma once

#include "graph/port_fit.h"
#include "placement/analysis.h"

#include <QRectF>
#include <QString>

#include <optional>

namespace twb {

/// A tensor to which a new palette entry is connected.
struct FedTensor {
    EntryPort port;
    TensorType type;
};

/// The bounds of a palette entry's cards and frames, in canvas units, if the entry is added at the origin of
/// `lane`. They are measured on the real cards, so that the preview has the final size. Throws
/// Error(badGraph) for an unknown entry.
QRectF outlineOfEntry(const QString& entry, const Graph& graph, const Lane& lane, const DeviceMap& devices,
                      const std::optional<FedTensor>& fed = std::nullopt);

} // namespace twb
