#pragma once

#include <QString>

class QPrinter;

namespace twb {

class CanvasWidget;

/// Writes the whole graph as a picture; the ending says which: .png at 200 %, .svg or .pdf. Leaves the file
/// as it was and returns false where it cannot be written or the ending is another one.
bool exportPicture(CanvasWidget& canvas, const QString& path);
/// One page of it, as large as fits. False where the printer takes nothing.
bool printPicture(CanvasWidget& canvas, QPrinter& printer);

} // namespace twb
