#include "widgets/model_import.h"

#include "core/error.h"
#include "formats/model_formats.h"
#include "formats/project.h"
#include "graph/difference.h"
#include "widgets/busy_dialog.h"
#include "widgets/settings.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <filesystem>

namespace twb {
namespace {

std::filesystem::path toPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

/// In the cache rather than in the system's temporary folder, which may be in memory: models are large.
std::shared_ptr<const QTemporaryDir> makeFolder() {
    const QDir cache(QStandardPaths::writableLocation(QStandardPaths::CacheLocation));
    cache.mkpath(QStringLiteral("models"));
    auto folder = std::make_shared<QTemporaryDir>(cache.filePath(QStringLiteral("models/XXXXXX")));
    if (!folder->isValid())
        throw Error(ErrorCode::io,
                    QCoreApplication::translate("MainWindow",
                                                "Cannot write the model's tensors to %1: %2. Free some disk "
                                                "space there, or make the folder writable.")
                        .arg(QDir::toNativeSeparators(folder->path()), folder->errorString())
                        .toStdString());
    return folder;
}

} // namespace

bool isModel(const QString& path) { return modelFormatOf(toPath(path)) != nullptr; }

OpenedModel readModel(const QString& model, const IsCancelled& isCancelled) {
    ImportOptions options;
    options.isCancelled = isCancelled;
    ImportedModel imported = importModel(toPath(model), options);
    Simplified simpler;
    // The nodes of a capture stand for lines of the program.
    if (settings::simplifiesImports() && !isCapture(toPath(model)))
        simpler = simplifyImported(imported, isCancelled);
    OpenedModel out;
    out.folder = makeFolder();
    const QString project =
        out.folder->filePath(QFileInfo(model).completeBaseName() + QStringLiteral(".twb"));
    throwIfCancelled(isCancelled);
    saveImportedModel(imported, toPath(project));
    throwIfCancelled(isCancelled);
    out.graph = loadProject(toPath(project));
    for (const std::string& remark : imported.remarks) out.remarks << toQt(remark);
    for (const std::string& remark : simpler.remarks) out.simplifications << toQt(remark);
    if (simpler.delta.empty()) return out;
    // Saved like the model, so that its Files name the same tensor file.
    imported.graph.apply(simpler.delta);
    saveImportedModel(imported, toPath(project));
    out.simplification = difference(out.graph, loadProject(toPath(project)), simpler.delta.title);
    return out;
}

std::optional<OpenedModel> readModelWaiting(const QString& model, QWidget* parent) {
    OpenedModel out;
    const bool isWhole = workCancellable(
        QCoreApplication::translate("MainWindow", "Reading %1…").arg(QFileInfo(model).fileName()), parent,
        [&](const IsCancelled& isCancelled) { out = readModel(model, isCancelled); });
    return isWhole ? std::optional(std::move(out)) : std::nullopt;
}

} // namespace twb
