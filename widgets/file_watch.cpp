#include "widgets/file_watch.h"

#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>

namespace twb {
namespace {

constexpr int kSettleMs = 200;

QByteArray digestOf(const QString& path) {
    QFile file(path);
    QCryptographicHash hash(QCryptographicHash::Sha1);
    return file.open(QIODevice::ReadOnly) && hash.addData(&file) ? hash.result() : QByteArray();
}

} // namespace

FileWatch::FileWatch(Document& document, QObject* parent) : QObject(parent), m_document(document) {
    m_timer.setSingleShot(true);
    m_timer.setInterval(kSettleMs);
    connect(&m_timer, &QTimer::timeout, this, &FileWatch::look);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, this, [this] { m_timer.start(); });
    // Other files of the folder may change all the time, which must not put off the look.
    connect(&m_watcher, &QFileSystemWatcher::directoryChanged, this, [this] {
        if (!m_timer.isActive()) m_timer.start();
    });
    connect(&document, &Document::pathChanged, this, &FileWatch::follow);
    follow();
}

FileWatch::Stamp FileWatch::stampOf(const QString& path) {
    const QFileInfo file(path);
    return file.exists() ? Stamp{file.lastModified(), file.size()} : Stamp();
}

/// Also watches the folder: a replaced file is a new one, and the watch of the old one is lost.
void FileWatch::follow() {
    const QString path = m_document.path();
    const QStringList before = m_watcher.files() + m_watcher.directories();
    if (!before.isEmpty()) m_watcher.removePaths(before);
    if (path.isEmpty()) return;
    m_watcher.addPath(QFileInfo(path).absolutePath());
    m_stamp = stampOf(path);
    m_digest = digestOf(path);
    if (m_stamp.size >= 0) {
        m_watcher.addPath(path);
    } else if (!m_document.isModified()) { // removed since it was read or written
        m_stamp.size = 0;
        m_timer.start();
    }
}

void FileWatch::look() {
    const QString path = m_document.path();
    const Stamp stamp = stampOf(path);
    if (path.isEmpty() || stamp == m_stamp) return;
    m_stamp = stamp;
    if (stamp.size < 0) {
        m_digest.clear();
        Q_EMIT removed();
        return;
    }
    if (!m_watcher.files().contains(path)) m_watcher.addPath(path);
    const QByteArray digest = digestOf(path);
    if (digest == m_digest) return;
    m_digest = digest;
    Q_EMIT changed();
}

} // namespace twb
