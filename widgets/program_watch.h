#pragma once

#include "profile/watched_program.h"

#include <QByteArray>
#include <QLocalSocket>
#include <QObject>
#include <QTimer>

#include <functional>
#include <optional>
#include <vector>

namespace twb {

class Document;
class RunController;

/// A program that called `tensor_workbench.watch()` and can be watched.
struct WatchableProgram {
    QString socket; ///< path
    qint64 process = 0;
    QString commandLine;
};

/// The folder of this user's sockets, as the Python package chooses it; it may not exist.
QString watchFolder();
/// The programs of this user that wait to be watched, by process number. Sockets of processes that have ended
/// are left out.
std::vector<WatchableProgram> watchablePrograms(const QString& folder = watchFolder());

/// Shows a running PyTorch program in the window: its lines that copy and wait become the document's graph,
/// and their times the figures of a run that goes on until the program ends or the user stops watching. The
/// program never waits for the window.
class ProgramWatch : public QObject {
    Q_OBJECT

public:
    ProgramWatch(Document& document, RunController& runs, QObject* parent = nullptr);
    /// `mayChange`: whether the document may change now, else the program waits. `mayReplace`: whether
    /// nothing would be lost with the document.
    void setConditions(std::function<bool()> mayChange, std::function<bool()> mayReplace) {
        m_mayChange = std::move(mayChange);
        m_mayReplace = std::move(mayReplace);
    }

    /// Replaces the document's graph by the program's, once it answers; if the graph was edited or a run was
    /// started before that, failed(). Ends an earlier watch.
    void start(const WatchableProgram& program);
    bool isActive() const noexcept { return m_program.has_value(); }

Q_SIGNALS:
    /// The program cannot be watched, or sent what is not understood.
    void failed(const QString& sentence);
    /// Lines were added to the document.
    void grown();

private:
    void readSocket();
    void show();
    void end(const QString& sentence);
    void stop();
    QString scriptName() const;
    QString sentence() const;

    Document& m_document;
    RunController& m_runs;
    QLocalSocket m_socket;
    QTimer m_timer;
    QByteArray m_rest; ///< an incomplete line
    std::optional<WatchedProgram> m_program;
    bool m_isShown = false;
    std::function<bool()> m_mayChange;
    std::function<bool()> m_mayReplace;
    std::uint64_t m_revision = 0; ///< of the document when the watch began
};

} // namespace twb
