#include "widgets/recent_files.h"

#include "profile/resource_path.h"

#include <QCoreApplication>
#include <QDir>
#include <QSettings>

#include <algorithm>

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

int lessonNumber(const QString& path) {
    const QString name = QFileInfo(path).fileName();
    const qsizetype dash = name.indexOf(QLatin1Char('-'));
    bool isNumber = false;
    const int number = name.left(std::max<qsizetype>(dash, 0)).toInt(&isNumber);
    return isNumber && number > 0 ? number : 0;
}

QString lessonFile(int number) {
    for (const QString& path : exampleFiles())
        if (lessonNumber(path) == number) return path;
    return {};
}

QString exampleTitle(const QString& path, const QString& title) {
    const int number = lessonNumber(path);
    if (number == 0) return title.isEmpty() ? QFileInfo(path).completeBaseName() : title;
    const QString lesson = QCoreApplication::translate("Lessons", "Lesson %1").arg(number);
    return title.isEmpty() ? lesson : QStringLiteral("%1: %2").arg(lesson, title);
}

} // namespace twb
