#pragma once

#include "widgets/canvas/canvas_picture.h"

#include <QImage>
#include <QSize>

namespace twb {

/// A small picture of a project, for file managers and the start page. It shows the graph without the errors
/// of data files that cannot be read: a project may be looked at where its data is not.
class Thumbnail {
public:
    /// `graph` and `devices` must outlive it. `headerWidth`: of the lanes; 0: no headers.
    Thumbnail(const Graph& graph, Analysis analysis, const DeviceMap& devices, double headerWidth);
    Thumbnail(const Thumbnail&) = delete;
    Thumbnail& operator=(const Thumbnail&) = delete;

    const CanvasPicture& picture() const noexcept { return m_picture; }

    /// A picture of `size` for a place at which text would be too small to read. The boxes of the cards, the
    /// wires and the lanes fill it. `ratio`: pixels of the screen per unit of `size`.
    QImage small(QSize size, double ratio) const;

private:
    Analysis m_analysis;
    Scene m_scene;
    CanvasPicture m_picture;
};

} // namespace twb
