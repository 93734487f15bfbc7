#pragma once

#include "graph/port_fit.h"
#include "placement/analysis.h"

#include <QRectF>
#include <QString>

#include <optional>

namespace twb {

/// A tensor that a palette entry is joined to as it is added.
struct FedTensor {
    EntryPort port;
    TensorType type;
};

/// What the cards and frames of a palette entry take up on the canvas, in canvas units, if the entry is added
/// at the origin of `lane`. Measured on the cards themselves, so that a preview is as large as what follows.
/// Throws Error(badGraph) for an unknown entry.
QRectF outlineOfEntry(const QString& entry, const Graph& graph, const Lane& lane, const DeviceMap& devices,
                      const std::optional<FedTensor>& fed = std::nullopt);

} // namespace twb
