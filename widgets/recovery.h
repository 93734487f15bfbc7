#pragma once

#include "widgets/document.h"

#include <QDateTime>
#include <QLockFile>
#include <QObject>
#include <QThreadPool>
#include <QTimer>

#include <functional>
#include <memory>
#include <vector>

namespace twb {

/// Autosave: some seconds after a change, a snapshot of the graph is written atomically to a folder, one set
/// of files per document. It is deleted when the document is saved or deliberately discarded. Snapshots left
/// by a crash are offered at the next start.
///
/// A document has three files: NAME.twb is the graph, NAME.json names its project, and NAME.lock is locked
/// while the program runs.
class Recovery : public QObject {
    Q_OBJECT

public:
    /// Watches `document`. Creates `folder` with the first snapshot.
    Recovery(Document& document, QString folder, QObject* parent = nullptr);
    /// Keeps a remaining snapshot; only finish() deletes it.
    ~Recovery() override;

    /// The maximum delay of a snapshot after a change.
    void setInterval(std::chrono::milliseconds interval);

    struct Left {
        QString name; ///< name of its files
        QString path; ///< of the project; empty if it was never saved
        QString folder;
        QString title;
        QDateTime time;
    };
    /// Snapshots of programs that have ended, the newest first.
    std::vector<Left> left() const;
    /// The graph of a snapshot. Loads the plug-ins of its project if the user trusts them. Throws Error as
    /// loadProject() does. On any thread.
    Graph read(const Left& left) const;
    /// Runs `work`, perhaps on another thread, and returns after it.
    using Wait = std::function<void(const std::function<void()>& work)>;
    /// Restores it into the document, with unsaved changes, and continues with its files; `wait` runs what
    /// reads files. Throws Error as Document::open() does, with no changes.
    void restore(const Left& left, const Wait& wait);
    void discard(const Left& left);

    /// Regular end: deletes this document's snapshot. Call it once all changes are saved or discarded.
    void finish();

Q_SIGNALS:
    void failed(const QString& sentence); ///< a snapshot could not be written

private:
    void documentChanged();
    void modifiedChanged(bool modified);
    void write();
    void forget();
    bool begin();
    QString file(const QString& name, const char* ending) const;

    Document& m_document;
    QString m_folder;
    QString m_name; ///< name of this document's files; empty until the first snapshot
    std::unique_ptr<QLockFile> m_lock;
    QTimer m_timer;
    QThreadPool m_pool; ///< a single thread, so that writes and deletions keep their order
};

} // namespace twb
