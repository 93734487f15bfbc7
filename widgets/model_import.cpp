#include "widgets/model_import.h"

#include "formats/onnx/onnx_model.h"
#include "widgets/busy_dialog.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

#include <filesystem>

namespace twb {
namespace {

std::filesystem::path toPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

/// Beside the project, under its name; under another where that belongs to somebody else.
QString tensorFileFor(const QString& project) {
    const QFileInfo file(project);
    const QDir folder = file.absoluteDir();
    QString name = file.completeBaseName() + QStringLiteral(".safetensors");
    // A project that is replaced had its tensors there.
    for (int number = 2; !file.exists() && folder.exists(name); ++number)
        name = QStringLiteral("%1-%2.safetensors").arg(file.completeBaseName()).arg(number);
    return name;
}

} // namespace

bool isModel(const QString& path) { return path.endsWith(QLatin1String(".onnx"), Qt::CaseInsensitive); }

QStringList importModel(const QString& model, const QString& project) {
    OnnxImportOptions options;
    options.tensorFile = tensorFileFor(project).toStdString();
    const ImportedModel imported = importOnnx(toPath(model), options);
    saveImportedModel(imported, toPath(project));
    QStringList remarks;
    for (const std::string& remark : imported.remarks) remarks << toQt(remark);
    return remarks;
}

QStringList importModelWaiting(const QString& model, const QString& project, QWidget* parent) {
    QStringList remarks;
    workWaiting(QCoreApplication::translate("MainWindow", "Reading %1…").arg(QFileInfo(model).fileName()),
                parent, [&] { remarks = importModel(model, project); });
    return remarks;
}

} // namespace twb
