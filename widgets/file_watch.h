#pragma once

#include "widgets/document.h"

#include <QByteArray>
#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>

namespace twb {

/// Reports when another program writes or removes a document's file. The document's own access does not
/// count, nor does a write of the same bytes.
class FileWatch : public QObject {
    Q_OBJECT

public:
    explicit FileWatch(Document& document, QObject* parent = nullptr);
    /// Compares the file on disk now, without waiting for a notification of the system.
    void look();

Q_SIGNALS:
    void changed();
    void removed();

private:
    struct Stamp {
        QDateTime time;
        qint64 size = -1; ///< -1: no file
        bool operator==(const Stamp&) const = default;
    };
    static Stamp stampOf(const QString& path);
    void follow();

    Document& m_document;
    QFileSystemWatcher m_watcher;
    QTimer m_timer; ///< many programs write a file in several steps
    Stamp m_stamp;
    QByteArray m_digest;
};

} // namespace twb
