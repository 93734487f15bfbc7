#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace twb {

/// Whether a file is to be imported rather than opened: by its ending.
bool isModel(const QString& path);

/// Reads an ONNX model and writes it as a project, its large tensors beside it in a .safetensors file.
/// Returns what was read otherwise than it is written. Throws Error as importOnnx and saveImportedModel do.
QStringList importModel(const QString& model, const QString& project);

/// The same on a thread of its own, while `parent` shows that it is busy and goes on painting itself.
QStringList importModelWaiting(const QString& model, const QString& project, QWidget* parent);

} // namespace twb
