#pragma once

#include <QString>

namespace twb {

class CanvasWidget;

/// Writes the whole graph as a picture; the ending says which: .png at 200 %, .svg or .pdf. Leaves the file
/// as it was and returns false where it cannot be written or the ending is another one.
bool exportPicture(CanvasWidget& canvas, const QString& path);

} // namespace twb
