#pragma once

#include "widgets/document.h"

#include <QByteArray>
#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>

namespace twb {

/// Tells when somebody else writes or removes the file of a document. What the document itself reads and
/// writes is no news, nor is a file that is written with the same bytes.
class FileWatch : public QObject {
    Q_OBJECT

public:
    explicit FileWatch(Document& document, QObject* parent = nullptr);

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
    void look();

    Document& m_document;
    QFileSystemWatcher m_watcher;
    QTimer m_timer; ///< many programs write a file in several steps
    Stamp m_stamp;
    QByteArray m_digest;
};

} // namespace twb
