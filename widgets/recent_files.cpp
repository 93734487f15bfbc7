#include "widgets/recent_files.h"

#include "profile/resource_path.h"

#include <QDir>
#include <QSettings>

namespace twb {
namespace {

constexpr qsizetype kMostRecent = 10;
const char* const kKey = "recent";

} // namespace

QStringList recentFiles() { return QSettings().value(QLatin1String(kKey)).toStringList(); }

void rememberRecent(const QString& path) {
    QStringList recent = recentFiles();
    recent.removeAll(path);
    recent.prepend(path);
    QSettings().setValue(QLatin1String(kKey), recent.mid(0, kMostRecent));
}

QStringList exampleFiles() {
    const QDir folder(QString::fromStdString((resourceFolder() / "examples").string()));
    QStringList out;
    for (const QFileInfo& file : folder.entryInfoList({QStringLiteral("*.twb")}, QDir::Files, QDir::Name))
        out << file.absoluteFilePath();
    return out;
}

} // namespace twb
