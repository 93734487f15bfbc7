#pragma once

#include <QString>

class QPrinter;

namespace twb {

class CanvasWidget;

/// Writes the whole graph as a picture; the extension selects the format: .png at 200 %, .svg or .pdf.
/// Returns false, and leaves the file unchanged, if it cannot be written or the extension is unknown.
bool exportPicture(CanvasWidget& canvas, const QString& path);
/// Prints the graph on one page, as large as possible. False if the printer is not available.
bool printPicture(CanvasWidget& canvas, QPrinter& printer);

} // namespace twb
