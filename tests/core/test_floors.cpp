#include "support/test_main.h"

#include <QDirIterator>
#include <QFile>
#include <QObject>
#include <QRegularExpression>

#include <algorithm>
#include <map>
#include <set>

namespace {

/// The engine's floors, lowest first. A floor includes itself and those below it.
const QStringList kFloors{QStringLiteral("core"),     QStringLiteral("backends"),  QStringLiteral("ops"),
                          QStringLiteral("graph"),    QStringLiteral("placement"), QStringLiteral("runtime"),
                          QStringLiteral("training"), QStringLiteral("profile"),   QStringLiteral("formats")};
const QString kPlugin = QStringLiteral("cuda");

/// The part of the source tree that a file belongs to: a floor of the engine, the CUDA plugin, "widgets" or
/// "app".
QString partOf(const QString& file) {
    if (file.startsWith(QLatin1String("engine/backends/cuda/"))) return kPlugin;
    const QStringList folders = file.split('/');
    return folders[0] == QLatin1String("engine") ? folders.value(1) : folders[0];
}

/// The part that an include names; empty for a file of the same folder or of a library.
QString partIncluded(const QString& include) {
    if (include.startsWith(QLatin1String("backends/cuda/"))) return kPlugin;
    const QString first = include.section('/', 0, 0);
    const bool isPart = kFloors.contains(first) || first == QLatin1String("widgets") ||
                        first == QLatin1String("app") || first == QLatin1String("tests") ||
                        first == QLatin1String("support");
    return isPart && include.contains('/') ? first : QString();
}

bool mayInclude(const QString& from, const QString& to) {
    if (from == to || to.isEmpty()) return true;
    if (to == QLatin1String("tests") || to == QLatin1String("support")) return false;
    if (to == kPlugin) return false; // loaded at run time and never linked
    if (from == QLatin1String("app")) return true;
    if (from == QLatin1String("widgets")) return to != QLatin1String("app");
    const qsizetype above = from == kPlugin ? kFloors.indexOf(QLatin1String("ops")) : kFloors.indexOf(from);
    return kFloors.contains(to) && kFloors.indexOf(to) <= above;
}

} // namespace

/// Dependencies go one way only: app, widgets, engine, and within the engine from each floor to those below.
class TestFloors : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theRulesAreThoseOfTheDesign() {
        QVERIFY(mayInclude("ops", "backends"));
        QVERIFY(!mayInclude("backends", "ops"));
        QVERIFY(!mayInclude("core", "formats"));
        QVERIFY(mayInclude("formats", "core"));
        QVERIFY(mayInclude("cuda", "ops"));
        QVERIFY(!mayInclude("cuda", "graph"));
        QVERIFY(!mayInclude("runtime", "cuda"));
        QVERIFY(!mayInclude("widgets", "app"));
        QVERIFY(!mayInclude("profile", "widgets"));
        QVERIFY(!mayInclude("app", "support"));
        QCOMPARE(partOf("engine/backends/cuda/gpu.cpp"), kPlugin);
        QCOMPARE(partOf("engine/backends/cuda_plugin.cpp"), QStringLiteral("backends"));
        QCOMPARE(partIncluded("backends/cuda/gpu.h"), kPlugin);
        QCOMPARE(partIncluded("zip.h"), QString());
    }

    void noFileIncludesUpwards() {
        static const QRegularExpression include(QStringLiteral("^\\s*#\\s*include\\s+\"([^\"]+)\""),
                                                QRegularExpression::MultilineOption);
        const QString root = QStringLiteral(TWB_SOURCE_DIR "/");
        QStringList wrong;
        int files = 0;
        for (const char* folder : {"engine", "widgets", "app"}) {
            QDirIterator entry(root + QLatin1String(folder), {"*.cpp", "*.h", "*.cu", "*.cuh"}, QDir::Files,
                               QDirIterator::Subdirectories);
            while (entry.hasNext()) {
                const QString path = entry.next();
                QFile file(path);
                QVERIFY(file.open(QIODevice::ReadOnly));
                ++files;
                const QString name = path.mid(root.size());
                const QString part = partOf(name);
                QVERIFY2(part == kPlugin || kFloors.contains(part) || part == QLatin1String(folder),
                         qPrintable(name + " lies on no floor"));
                auto match = include.globalMatch(QString::fromUtf8(file.readAll()));
                while (match.hasNext()) {
                    const QString to = match.next().captured(1);
                    if (mayInclude(part, partIncluded(to))) continue;
                    wrong << name + " includes " + to;
                }
            }
        }
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
        QVERIFY(files > 500);
    }
};

TWB_TEST_MAIN(TestFloors)
#include "test_floors.moc"
