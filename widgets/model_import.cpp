#include "widgets/model_import.h"

#include "formats/onnx/onnx_model.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QProgressDialog>
#include <QThread>

#include <exception>
#include <memory>

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

/// Shows that something goes on, and cannot be sent away.
class BusyDialog : public QProgressDialog {
public:
    BusyDialog(const QString& text, QWidget* parent) : QProgressDialog(text, {}, 0, 0, parent) {
        setWindowModality(Qt::WindowModal);
        setMinimumDuration(0);
        setAutoClose(false);
        setAutoReset(false);
        setObjectName(QStringLiteral("busy"));
    }
    void reject() override {}
};

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
    std::exception_ptr failure;
    const std::unique_ptr<QThread> thread(QThread::create([&] {
        try {
            remarks = importModel(model, project);
        } catch (...) {
            failure = std::current_exception();
        }
    }));
    BusyDialog busy(QCoreApplication::translate("MainWindow", "Reading %1…").arg(QFileInfo(model).fileName()),
                    parent);
    QObject::connect(thread.get(), &QThread::finished, &busy, &QDialog::accept);
    thread->start();
    busy.exec();
    thread->wait();
    if (failure) std::rethrow_exception(failure);
    return remarks;
}

} // namespace twb
