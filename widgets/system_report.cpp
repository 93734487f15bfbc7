#include "widgets/system_report.h"

#include "backends/cuda_plugin.h"
#include "formats/project.h"
#include "widgets/labels.h"
#include "widgets/panels/custom_plot.h"
#include "widgets/text.h"

#include <QClipboard>
#include <QDialog>
#include <QDialogButtonBox>
#include <QGuiApplication>
#include <QLibraryInfo>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScreen>
#include <QSysInfo>
#include <QThread>
#include <QVBoxLayout>

#include <fmt/core.h>

namespace twb {
namespace {

/// For translators.
struct SystemReportWords {
    Q_DECLARE_TR_FUNCTIONS(SystemReport)
};

} // namespace

QString systemReport(const DeviceMap& devices) {
    QStringList lines;
    const auto add = [&](const char* what, const QString& value) {
        lines << QStringLiteral("%1: %2").arg(QLatin1String(what), value);
    };
    add("Tensor Workbench", QStringLiteral("%1, project file version %2, built by %3")
                                .arg(QCoreApplication::applicationVersion())
                                .arg(kProjectVersion)
                                .arg(QStringLiteral("GCC " __VERSION__)));
    add("Qt", QStringLiteral("%1, built with %2")
                  .arg(QString::fromLatin1(qVersion()), QLatin1String(QT_VERSION_STR)));
    add("QCustomPlot", QStringLiteral(QCUSTOMPLOT_VERSION_STR));
    add("fmt", QStringLiteral("%1.%2.%3")
                   .arg(FMT_VERSION / 10000)
                   .arg(FMT_VERSION / 100 % 100)
                   .arg(FMT_VERSION % 100));
    add("System", QStringLiteral("%1, %2 %3, %4")
                      .arg(QSysInfo::prettyProductName(), QSysInfo::kernelType(), QSysInfo::kernelVersion(),
                           QSysInfo::currentCpuArchitecture()));
    add("Threads", QString::number(QThread::idealThreadCount()));
    add("Display", QGuiApplication::platformName());
    for (const QScreen* screen : QGuiApplication::screens())
        add("Screen", QStringLiteral("%1 × %2 at %3 %")
                          .arg(screen->size().width())
                          .arg(screen->size().height())
                          .arg(qRound(screen->devicePixelRatio() * 100)));
    for (const Device device : devices.devices())
        if (const Backend* backend = devices.find(device))
            add(device.toString().c_str(),
                QStringLiteral("%1, %2").arg(toQt(backend->info().name), toQt(backend->info().detail)));
    const CudaDevices& cuda = cudaDevices();
    for (const auto& backend : cuda.backends) add("GPU", toQt(backend->info().name));
    if (cuda.backends.empty()) add("GPU", QStringLiteral("none: ") + toQt(cuda.problem));
    return lines.join(QLatin1Char('\n'));
}

void showAbout(const DeviceMap& devices, QWidget* parent) {
    QDialog dialog(parent);
    dialog.setObjectName(QStringLiteral("about"));
    dialog.setWindowTitle(SystemReportWords::tr("About Tensor Workbench"));
    dialog.resize(560, 420);
    auto* licence = makeLabel(
        SystemReportWords::tr("Which device holds each tensor, and what each transfer costs.\n"
                              "Free software under the GNU General Public License, version 3 or later."),
        TextRole::body, QStringLiteral("secondary"));
    auto* report = new QPlainTextEdit(systemReport(devices));
    report->setReadOnly(true);
    report->setFont(twb::font(TextRole::figure));
    report->setAccessibleName(SystemReportWords::tr("System report"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QPushButton* copy =
        buttons->addButton(SystemReportWords::tr("Copy system report"), QDialogButtonBox::ActionRole);
    QObject::connect(copy, &QPushButton::clicked, &dialog,
                     [report] { QGuiApplication::clipboard()->setText(report->toPlainText()); });
    QPushButton* close = buttons->button(QDialogButtonBox::Close);
    close->setDefault(true);
    close->setFocus();
    QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    auto* layout = new QVBoxLayout(&dialog);
    layout->setContentsMargins(20, 20, 20, 16);
    layout->setSpacing(12);
    layout->addWidget(
        makeLabel(SystemReportWords::tr("Tensor Workbench %1").arg(QCoreApplication::applicationVersion()),
                  TextRole::laneTitle));
    layout->addWidget(licence);
    layout->addWidget(report, 1);
    layout->addWidget(buttons);
    dialog.exec();
}

} // namespace twb
