#include "widgets/source_editor.h"

#include "widgets/message_box.h"
#include "widgets/settings.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QDesktopServices>
#include <QFileInfo>
#include <QProcess>
#include <QUrl>

namespace twb {
namespace {

/// For translators.
struct SourceWords {
    Q_DECLARE_TR_FUNCTIONS(SourceEditor)
};

/// The reason why the line cannot be opened; empty if it was.
QString tryToOpen(const SourceLine& source) {
    const QString file = toQt(source.file);
    if (!QFileInfo::exists(file))
        return SourceWords::tr("%1 does not exist on this machine. Import the program from its own folder.")
            .arg(file);
    QStringList command = QProcess::splitCommand(settings::editor());
    if (command.isEmpty())
        return QDesktopServices::openUrl(QUrl::fromLocalFile(file))
                   ? QString()
                   : SourceWords::tr("The desktop has no program for %1. Choose an editor in the settings.")
                         .arg(file);
    // The file may contain "%l".
    for (QString& word : command)
        word.replace(QLatin1String("%l"), QString::number(source.line)).replace(QLatin1String("%f"), file);
    const QString program = command.takeFirst();
    return QProcess::startDetached(program, command)
               ? QString()
               : SourceWords::tr("Cannot start %1. Choose another editor in the settings.").arg(program);
}

} // namespace

void openSource(const SourceLine& source, QWidget* parent) {
    const QString reason = tryToOpen(source);
    if (!reason.isEmpty()) showError(SourceWords::tr("Cannot open the source line"), reason, parent);
}

} // namespace twb
