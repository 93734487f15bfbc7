#include "widgets/canvas/paint_parts.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace twb {
namespace {

constexpr double kCell = 6; ///< pixels of a density cell

struct ColorBatch {
    QColor color;
    std::vector<QRectF> rects;
};

} // namespace

void paintFarNodes(const Pass& pass) {
    static thread_local std::vector<ColorBatch> batches;
    static thread_local std::vector<QRectF> errors;
    static thread_local std::vector<QRectF> selected;
    std::size_t used = 0; // unused entries keep their memory for the next frame
    errors.clear();
    selected.clear();
    const auto& nodes = pass.scene.nodes().shapes();
    const double least = pass.state.bare ? 2 : 1;
    pass.scene.nodes().visit(pass.viewport, [&](std::uint32_t slot) {
        const NodeShape& shape = nodes[slot];
        const bool isRow = shape.kind == NodeShape::Kind::row;
        const bool isWrong = shape.hasError || (isRow && pass.scene.wires().isMismatch(shape));
        if (isRow && !isWrong && !pass.isSelected(shape.id)) return;
        const QPointF at = pass.toScreen(shape.rect.topLeft());
        const QRectF rect(at.x(), at.y(), std::max(least, shape.rect.width() * pass.zoom),
                          std::max(least, shape.rect.height() * pass.zoom));
        if (pass.isSelected(shape.id)) selected.push_back(rect);
        if (isWrong) errors.push_back(rect);
        if (isWrong || isRow) return;
        const QColor color =
            pass.state.heat ? cardGround(pass, slot) : withAlpha(pass.theme().device(shape.device), 0.9);
        const auto end = batches.begin() + static_cast<std::ptrdiff_t>(used);
        const auto known =
            std::find_if(batches.begin(), end, [&](const ColorBatch& b) { return b.color == color; });
        const auto batch = static_cast<std::size_t>(known - batches.begin());
        if (batch == used) {
            if (used == batches.size()) batches.emplace_back();
            batches[used].color = color;
            batches[used++].rects.clear();
        }
        batches[batch].rects.push_back(rect);
    });
    QPainter& painter = pass.painter;
    painter.setPen(Qt::NoPen);
    for (const ColorBatch& batch : std::span(batches).first(used)) {
        painter.setBrush(batch.color);
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
        float count = 0; ///< of nodes, each distributed to the four cells around it
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
    // Cells are fixed to the canvas while it scrolls.
    const QPointF origin(std::floor(pass.viewport.left() * scale) / scale,
                         std::floor(pass.viewport.top() * scale) / scale);
    const bool hasSelection = pass.state.selection && !pass.state.selection->nodes.empty();
    double area = 0;
    std::size_t seen = 0;
    for (const NodeShape& shape : pass.scene.nodes().shapes()) {
        if (shape.id == NodeId::none || shape.kind == NodeShape::Kind::row) continue;
        if (shape.kind == NodeShape::Kind::hidden) continue;
        // A node is distributed to the four cells around it by distance, to avoid moiré patterns.
        const QPointF at = (shape.rect.center() - origin) * scale - QPointF(0.5, 0.5);
        const int column = static_cast<int>(std::floor(at.x()));
        const int row = static_cast<int>(std::floor(at.y()));
        if (column < -1 || row < -1 || column >= columns || row >= rows) continue;
        area += shape.rect.width() * shape.rect.height();
        ++seen;
        std::size_t device = 0;
        while (device < devices.size() && devices[device] != shape.device) ++device;
        if (device == devices.size()) devices.push_back(shape.device);
        const bool isSelected = hasSelection && pass.isSelected(shape.id);
        for (int corner = 0; corner < 4; ++corner) {
            const int x = column + (corner & 1);
            const int y = row + (corner >> 1);
            if (x < 0 || y < 0 || x >= columns || y >= rows) continue;
            const double share = (1 - std::abs(at.x() - x)) * (1 - std::abs(at.y() - y));
            Cell& cell = cells[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) +
                               static_cast<std::size_t>(x)];
            cell.count += static_cast<float>(share);
            if (share < 0.25) continue;
            cell.device = static_cast<std::uint8_t>(std::min<std::size_t>(device, 255));
            cell.error = cell.error || shape.hasError;
            cell.selected = cell.selected || isSelected;
        }
    }
    if (seen == 0) return;
    // The share of a cell that one card covers.
    const double cover = area / static_cast<double>(seen) * scale * scale;
    if (image.width() != columns || image.height() != rows)
        image = QImage(columns, rows, QImage::Format_ARGB32_Premultiplied);
    for (int y = 0; y < rows; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < columns; ++x) {
            const Cell& cell = cells[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) +
                                     static_cast<std::size_t>(x)];
            if (cell.count < 0.02F) {
                line[x] = 0;
                continue;
            }
            QColor color =
                cell.selected ? pass.theme().accent
                              : (cell.error ? pass.theme().error : pass.theme().device(devices[cell.device]));
            const double share = cell.selected || cell.error
                                     ? 1.0
                                     : std::min(1.0, 0.1 + 0.9 * cover * static_cast<double>(cell.count));
            color.setAlphaF(static_cast<float>(share));
            line[x] = qPremultiply(color.rgba());
        }
    }
    pass.painter.drawImage(QRectF(pass.toScreen(origin), QSizeF(columns * kCell, rows * kCell)), image);
}

} // namespace twb
