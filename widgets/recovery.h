#pragma once

#include "widgets/document.h"

#include <QDateTime>
#include <QLockFile>
#include <QObject>
#include <QThreadPool>
#include <QTimer>

#include <memory>
#include <vector>

namespace twb {

/// Keeps unsaved work safe from a crash: some seconds after a change, a snapshot of the graph is written to a
/// folder of its own, one file a document, whole or not at all. It goes when the work is saved or thrown away
/// on purpose. What a program leaves there when it dies is offered to the next one.
///
/// A document has three files there: NAME.twb is the graph, NAME.json says where it belongs, and NAME.lock is
/// held for as long as its program lives.
class Recovery : public QObject {
    Q_OBJECT

public:
    /// Watches `document`. Makes `folder` when there is something to write.
    Recovery(Document& document, QString folder, QObject* parent = nullptr);
    /// Leaves a snapshot where it is: only finish() says that nobody needs it.
    ~Recovery() override;

    /// How long a change may stay unwritten.
    void setInterval(std::chrono::milliseconds interval);

    struct Left {
        QString name; ///< of its files
        QString path; ///< of the project; empty when it was never saved
        QString folder;
        QString title;
        QDateTime time;
    };
    /// What programs that live no more have left, the newest first.
    std::vector<Left> left() const;
    /// What it holds. Throws Error as loadProject() does.
    Graph read(const Left& left) const;
    /// Makes it the document, with unsaved changes, and goes on with its files. Throws Error as
    /// Document::open() does; then all is as it was.
    void restore(const Left& left);
    void discard(const Left& left);

    /// The program ends as it should: nothing is to be offered. Call it once all is saved or given up.
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
    QString m_name; ///< of this document's files; empty until the first snapshot
    std::unique_ptr<QLockFile> m_lock;
    QTimer m_timer;
    QThreadPool m_pool; ///< one thread: what is written and removed keeps its order
};

} // namespace twb
