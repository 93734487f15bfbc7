#include "widgets/model_import.h"

#include "formats/onnx/onnx_model.h"
#include "widgets/busy_dialog.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QFileInfo>

#include <filesystem>

namespace twb {
namespace {

std::filesystem::path toPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

} // namespace

bool isModel(const QString& path) { return path.endsWith(QLatin1String(".onnx"), Qt::CaseInsensitive); }

QStringList importModel(const QString& model, const QString& project) {
    const ImportedModel imported = importOnnx(toPath(model));
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
