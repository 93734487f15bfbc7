#include "widgets/canvas/paint_parts.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr double kCell = 5; ///< pixels of a density cell

struct DeviceBatch {
    Device device;
    std::vector<QRectF> rects;
};

} // namespace

void paintFarNodes(const Pass& pass) {
    static thread_local std::vector<DeviceBatch> batches;
    static thread_local std::vector<QRectF> errors;
    static thread_local std::vector<QRectF> selected;
    for (auto& batch : batches) batch.rects.clear();
    errors.clear();
    selected.clear();
    const auto& nodes = pass.scene.nodes();
    const double least = pass.state.bare ? 2 : 1;
    pass.scene.visitNodes(pass.viewport, [&](std::uint32_t slot) {
        const NodeShape& shape = nodes[slot];
        const QPointF at = pass.toScreen(shape.rect.topLeft());
        const QRectF rect(at.x(), at.y(), std::max(least, shape.rect.width() * pass.zoom),
                          std::max(least, shape.rect.height() * pass.zoom));
        if (pass.isSelected(shape.id)) selected.push_back(rect);
        if (shape.hasError) {
            errors.push_back(rect);
            return;
        }
        auto batch = std::find_if(batches.begin(), batches.end(),
                                  [&](const DeviceBatch& b) { return b.device == shape.device; });
        if (batch == batches.end()) batch = batches.insert(batch, {shape.device, {}});
        batch->rects.push_back(rect);
    });
    QPainter& painter = pass.painter;
    painter.setPen(Qt::NoPen);
    for (const auto& batch : batches) {
        if (batch.rects.empty()) continue;
        painter.setBrush(withAlpha(pass.theme().device(batch.device), 0.9));
        painter.drawRects(batch.rects.data(), static_cast<int>(batch.rects.size()));
    }
    painter.setBrush(pass.theme().error);
    painter.drawRects(errors.data(), static_cast<int>(errors.size()));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(pass.theme().accent, 2));
    painter.drawRects(selected.data(), static_cast<int>(selected.size()));
}

void paintDensity(const Pass& pass) {
    struct Cell {
        std::uint32_t count = 0;
        std::uint8_t device = 0;
        bool error = false;
        bool selected = false;
    };
    static thread_local std::vector<Cell> cells;
    static thread_local std::vector<Device> devices;
    static thread_local QImage image;
    const int columns = static_cast<int>(std::ceil(pass.viewport.width() * pass.zoom / kCell)) + 1;
    const int rows = static_cast<int>(std::ceil(pass.viewport.height() * pass.zoom / kCell)) + 1;
    cells.assign(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows), {});
    devices.clear();
    const double scale = pass.zoom / kCell;
    // Cells stand still on the canvas while it is moved.
    const QPointF origin(std::floor(pass.viewport.left() * scale) / scale,
                         std::floor(pass.viewport.top() * scale) / scale);
    const bool hasSelection = pass.state.selection && !pass.state.selection->nodes.empty();
    double area = 0;
    std::size_t seen = 0;
    for (const NodeShape& shape : pass.scene.nodes()) {
        if (shape.id == NodeId::none) continue;
        const QPointF at = (shape.rect.center() - origin) * scale;
        if (at.x() < 0 || at.y() < 0 || at.x() >= columns || at.y() >= rows) continue;
        Cell& cell = cells[static_cast<std::size_t>(at.y()) * static_cast<std::size_t>(columns) +
                           static_cast<std::size_t>(at.x())];
        ++cell.count;
        area += shape.rect.width() * shape.rect.height();
        ++seen;
        std::size_t device = 0;
        while (device < devices.size() && devices[device] != shape.device) ++device;
        if (device == devices.size()) devices.push_back(shape.device);
        cell.device = static_cast<std::uint8_t>(std::min<std::size_t>(device, 255));
        cell.error = cell.error || shape.hasError;
        cell.selected = cell.selected || (hasSelection && pass.isSelected(shape.id));
    }
    if (seen == 0) return;
    // How much of a cell one card covers.
    const double cover = area / static_cast<double>(seen) * scale * scale;
    if (image.width() != columns || image.height() != rows)
        image = QImage(columns, rows, QImage::Format_ARGB32_Premultiplied);
    for (int y = 0; y < rows; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < columns; ++x) {
            const Cell& cell = cells[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) +
                                     static_cast<std::size_t>(x)];
            if (cell.count == 0) {
                line[x] = 0;
                continue;
            }
            QColor color =
                cell.selected ? pass.theme().accent
                              : (cell.error ? pass.theme().error : pass.theme().device(devices[cell.device]));
            const double share =
                cell.selected || cell.error ? 1.0 : std::min(1.0, 0.22 + 0.78 * cover * cell.count);
            color.setAlphaF(static_cast<float>(share));
            line[x] = qPremultiply(color.rgba());
        }
    }
    pass.painter.drawImage(QRectF(pass.toScreen(origin), QSizeF(columns * kCell, rows * kCell)), image);
}

} // namespace twb
