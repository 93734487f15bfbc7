#include "widgets/recovery.h"

#include "core/error.h"
#include "formats/project.h"
#include "ops/plugins/project_plugins.h"
#include "widgets/text.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QUuid>

#include <algorithm>
#include <filesystem>

namespace twb {
namespace {

constexpr std::chrono::seconds kInterval{10};

std::filesystem::path toPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

/// Not locked by a running process. QLockFile detects processes that have ended; the age of a lock does not
/// count.
std::unique_ptr<QLockFile> lockOf(const QString& path) {
    auto lock = std::make_unique<QLockFile>(path);
    lock->setStaleLockTime(0);
    return lock->tryLock(0) ? std::move(lock) : nullptr;
}

/// All files except the lock, including those that a crash left partly written.
void removeFiles(const QString& folder, const QString& name) {
    QDir in(folder);
    for (const QString& pattern :
         {QStringLiteral("%1.twb"), QStringLiteral("%1.json"), QStringLiteral(".%1.*.tmp")})
        for (const QString& file : in.entryList({pattern.arg(name)}, QDir::Files | QDir::Hidden))
            in.remove(file);
}

} // namespace

Recovery::Recovery(Document& document, QString folder, QObject* parent)
    : QObject(parent), m_document(document), m_folder(std::move(folder)) {
    m_pool.setMaxThreadCount(1);
    m_timer.setSingleShot(true);
    setInterval(kInterval);
    connect(&m_timer, &QTimer::timeout, this, &Recovery::write);
    connect(&document, &Document::changed, this, &Recovery::documentChanged);
    connect(&document, &Document::modifiedChanged, this, &Recovery::modifiedChanged);
}

Recovery::~Recovery() { m_pool.waitForDone(); }

void Recovery::setInterval(std::chrono::milliseconds interval) { m_timer.setInterval(interval); }

QString Recovery::file(const QString& name, const char* ending) const {
    return QDir(m_folder).filePath(name + QLatin1String(ending));
}

/// Later changes do not restart the timer, so continuous work is saved, too.
void Recovery::documentChanged() {
    if (m_document.isModified() && !m_timer.isActive()) m_timer.start();
}

void Recovery::modifiedChanged(bool modified) {
    if (modified)
        documentChanged();
    else
        forget();
}

bool Recovery::begin() {
    if (!m_name.isEmpty()) return true;
    const QString name = QUuid::createUuid().toString(QUuid::WithoutBraces);
    if (!QDir().mkpath(m_folder)) return false;
    m_lock = lockOf(file(name, ".lock"));
    if (!m_lock) return false;
    m_name = name;
    return true;
}

void Recovery::write() {
    if (!m_document.isModified()) return;
    if (!begin()) {
        Q_EMIT failed(tr("Autosave failed: cannot write to %1. Save the graph yourself.").arg(m_folder));
        return;
    }
    const QJsonObject about{{QStringLiteral("path"), m_document.path()},
                            {QStringLiteral("folder"), m_document.folder()},
                            {QStringLiteral("title"), m_document.title()}};
    // The copy of the graph is a snapshot, which does not change while it is written.
    m_pool.start([this, graph = m_document.graph(), about = QJsonDocument(about).toJson(),
                  project = file(m_name, ".twb"), beside = file(m_name, ".json")] {
        try {
            writeFileAtomically(toPath(beside), {about.constData(), std::size_t(about.size())});
            saveProject(graph, toPath(project));
        } catch (const Error& error) {
            const QString sentence = tr("Autosave failed: %1").arg(toQt(error.what()));
            QMetaObject::invokeMethod(this, [this, sentence] { Q_EMIT failed(sentence); });
        }
    });
}

void Recovery::forget() {
    m_timer.stop();
    if (m_name.isEmpty()) return;
    m_pool.start([folder = m_folder, name = m_name] { removeFiles(folder, name); });
}

void Recovery::finish() {
    forget();
    m_pool.waitForDone();
    m_lock.reset();
    m_name.clear();
}

std::vector<Recovery::Left> Recovery::left() const {
    std::vector<Left> out;
    for (const QFileInfo& found :
         QDir(m_folder).entryInfoList({QStringLiteral("*.twb")}, QDir::Files, QDir::Time)) {
        const QString name = found.completeBaseName();
        if (name == m_name || !lockOf(file(name, ".lock"))) continue;
        QFile beside(file(name, ".json"));
        const QJsonObject about = beside.open(QIODevice::ReadOnly)
                                      ? QJsonDocument::fromJson(beside.readAll()).object()
                                      : QJsonObject();
        out.push_back({name, about[QLatin1String("path")].toString(),
                       about[QLatin1String("folder")].toString(),
                       about[QLatin1String("title")].toString(tr("Untitled")), found.lastModified()});
    }
    return out;
}

Graph Recovery::read(const Left& left) const {
    // loadProject() looks for plug-ins beside the snapshot, but they are beside the project.
    if (!left.path.isEmpty()) loadProjectPlugins(toPath(left.path));
    return loadProject(toPath(file(left.name, ".twb")));
}

void Recovery::restore(const Left& left, const Wait& wait) {
    std::unique_ptr<QLockFile> lock = lockOf(file(left.name, ".lock"));
    if (!lock) throw Error(ErrorCode::io, tr("Another window has restored these changes.").toStdString());
    Graph graph;
    wait([&] { graph = read(left); });
    m_document.restore(std::move(graph), left.path, left.folder);
    m_lock = std::move(lock);
    m_name = left.name;
}

void Recovery::discard(const Left& left) {
    const std::unique_ptr<QLockFile> lock = lockOf(file(left.name, ".lock"));
    if (lock) removeFiles(m_folder, left.name);
}

} // namespace twb
