#pragma once

#include "core/cancel.h"
#include "graph/delta.h"

#include <QString>
#include <QStringList>
#include <QTemporaryDir>

#include <memory>
#include <optional>

class QWidget;

namespace twb {

/// A model of another program (modelFormats()) as a project that has not been saved.
struct OpenedModel {
    Graph graph;
    /// Holds the large tensors, which the graph names relative to it, until the project has a folder.
    std::shared_ptr<const QTemporaryDir> folder;
    QStringList remarks;           ///< sentences: parts of the model that were changed on import
    Delta simplification{};        ///< of the graph (graph/simplify.h); empty if there is none
    QStringList simplifications{}; ///< sentences: what it changes
};

/// Whether a file is a model to import, by its extension.
bool isModel(const QString& path);

/// Reads a model; writes only to a new folder in the user's cache. Simplifies it if the settings say so,
/// unless it is a capture. Throws Error as importModel and saveImportedModel do.
OpenedModel readModel(const QString& model, const IsCancelled& isCancelled = {});

/// The same on a thread of its own, while `parent` shows a busy dialog and repaints. Nothing if the user
/// cancels.
std::optional<OpenedModel> readModelWaiting(const QString& model, QWidget* parent);

} // namespace twb
