#pragma once

#include <QObject>
#include <QString>
#include <QTimer>

#include <cstdint>
#include <memory>
#include <thread>

namespace twb {

class Document;
class RunController;

/// Runs the document's graph on another machine, as `twb run --on` does, and shows it as it goes on: the
/// ledger, the plots and the timeline have the times that were measured there. If the connection is lost, or
/// the user leaves it running (RunController::detach), the run goes on; the same start continues with it.
class RunThere : public QObject {
    Q_OBJECT

public:
    RunThere(Document& document, RunController& runs, QObject* parent = nullptr);
    ~RunThere() override;

    /// `on`: "ssh:HOST" or "ssh:HOST:PATH". `program`: the `twb` on HOST; empty: as for `twb run --on`.
    /// `ranks`: processes there; the figures are those of rank 0, RunController::ranks() has all. Does
    /// nothing while a run is active; a graph that cannot run is refused as by RunController::run. Throws
    /// Error.
    void start(const QString& on, const QString& program, std::int64_t iterations, int ranks = 1);
    bool isActive() const noexcept { return m_shared != nullptr; }

Q_SIGNALS:
    /// The run could not start there, or its end is not known.
    void failed(const QString& title, const QString& sentence);

private:
    class Shared;
    void take();
    void finish();
    void leave();
    void detach();

    Document& m_document;
    RunController& m_runs;
    std::shared_ptr<Shared> m_shared; ///< with the thread; null: no run
    std::thread m_thread;
    QTimer m_timer;
    bool m_hasPlan = false;
};

} // namespace twb
