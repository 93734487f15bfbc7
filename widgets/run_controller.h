#pragma once

#include "runtime/executor.h"
#include "widgets/document.h"
#include "widgets/latest_task.h"
#include "widgets/run_batch.h"
#include "widgets/run_figures.h"
#include "widgets/run_preparation.h"
#include "widgets/run_state.h"

#include <QObject>
#include <QTimer>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace twb {

/// Runs the document's graph on the executor and tells the window about it, at most once a frame. The run
/// works on a snapshot: editing goes on meanwhile and only marks the results stale.
class RunController : public QObject {
    Q_OBJECT

public:
    explicit RunController(Document& document, QObject* parent = nullptr);
    ~RunController() override;

    /// Prepares a run off the window's thread and starts it; does nothing while one is on. Emits preparing(),
    /// then started(). A graph with errors is refused() at once, a run that cannot start later; finished()
    /// follows then.
    void run(std::int64_t iterations);
    void runContinuously();
    /// Whether the next runs let real GPUs round products of f32 to TF32 (RunOptions::allowTf32).
    void setAllowsTf32(bool allows) noexcept { m_allowsTf32 = allows; }
    /// Takes effect within one kernel; finished() follows. A run that is being prepared ends at once, and the
    /// results of the run before it stay.
    void stop();
    /// From a breakpoint to the next one, or to the end of the next step. Nothing unless isStopped().
    void proceed();
    void step();
    /// Whether the run stands still at a breakpoint. It is running all the same.
    bool isStopped() const noexcept { return m_stop.has_value(); }
    /// Where: "fc1, iteration 3: max is 4.2 (max > 4)".
    QString stopSentence() const;
    /// The edge that an implicit copy serves which it stands at; nothing for a node.
    std::optional<Edge> stoppedEdge() const;
    /// From the call of run() to finished().
    bool isRunning() const noexcept { return m_state.running; }
    bool isContinuous() const noexcept { return m_continuous; }

    const RunState& state() const noexcept { return m_state; }
    /// Figures of the run that is on or was last; null before the first and after another document was
    /// opened.
    const RunFigures* figures() const noexcept { return m_figures.get(); }
    /// The same, for another thread to read: once the run has ended they change no more.
    std::shared_ptr<const RunFigures> sharedFigures() const noexcept { return m_figures; }
    /// How the last run ended; nothing once the next one has started.
    const std::optional<RunResult>& result() const noexcept { return m_result; }
    /// All about the last run, as `twb run --report` has it; nothing (a null plan) while there is none with a
    /// result. Its parts are this controller's, until the next run starts.
    RunReport report() const;
    /// Values of scalars that Probes saw, after a run and while it stands still.
    const std::vector<ProbeValue>& probes() const noexcept { return m_probes; }
    /// The edges that transfer `index` of the plan serves; the first one stands for it.
    const std::vector<Edge>& edgesOf(std::uint32_t transfer) const { return m_edges[transfer]; }

    std::int64_t done() const noexcept { return m_done; }
    std::int64_t total() const noexcept { return m_total; } ///< 0: until stopped
    int runNumber() const noexcept { return m_number; }
    /// "Run 12 finished: 1,000 iterations in 40.2 ms modelled, 1.9 s on the clock".
    QString sentence() const { return m_sentence; }

    /// The plan of the last run as a measurement has it: with memory shared wherever it can be. Null before
    /// the first.
    const Plan* leanPlan() const noexcept { return m_leanPlan.get(); }
    /// A host copy of an output of the last run, or, while a run stands still, of what it has made so far in
    /// this iteration. Nothing when it did not keep it (too large, not run).
    std::optional<Tensor> tensor(PortRef output) const;
    /// Whether tensor() shows a value that the last run did not keep, so that it was computed again after it,
    /// one op at a time.
    bool isComputedAgain(PortRef output) const noexcept;

Q_SIGNALS:
    void preparing(); ///< isRunning(); results are still those of the run before
    void started();
    void frame();    ///< state and figures are new
    void finished(); ///< after the last frame()
    void stopped();  ///< at a breakpoint; after a frame()
    void resumed();  ///< from there
    void refused(const QString& sentence);
    void stateChanged(); ///< outside of a run: stale, predictions
    void logged(twb::Severity severity, const QString& sentence);

private:
    void start(std::int64_t iterations, bool continuous);
    void launch(Graph graph, PreparedRun prepared, RunOptions options);
    bool launchOn(const std::shared_ptr<const Plan>& plan, const RunOptions& options);
    void afterExecutor(std::function<void()> go);
    void giveUp(const QString& sentence);
    bool startAgain();
    void takeTensors(const RunResult& result, bool again);
    void assignEdges(const Plan& plan, const Analysis& analysis);
    void tick();
    void updateNodes(bool final);
    void standStill(RunStop stop);
    void leaveStop();
    std::optional<Tensor> tensorAtStop(PortRef output) const;
    void updateEdges();
    void finish(RunResult result);
    void readProbes();
    void forget();
    void predict();
    void predict(const Delta& delta, const Revised& revised);
    void predictInto(const NodeFacts& facts);
    void documentChanged(const Delta& delta);
    void log(Severity severity, const QString& sentence) { Q_EMIT logged(severity, sentence); }

    struct KeptTensor {
        PortRef output;
        Tensor tensor;
        bool again = false; ///< computed again after the run
    };

    Document& m_document;
    std::unique_ptr<RunBatch> m_batch; ///< of the latest run; outlives the executor, which reports to it
    Executor m_executor;
    QTimer m_timer;
    RunState m_state;
    std::shared_ptr<RunFigures> m_figures;
    std::vector<std::vector<Edge>> m_edges;
    Graph m_snapshot;                      ///< what the last run ran
    std::vector<Diagnostic> m_diagnostics; ///< of it
    std::vector<InputFile> m_inputs;
    std::shared_ptr<const Plan> m_leanPlan;
    std::shared_ptr<const Plan> m_againPlan;
    bool m_isPreparing = false;
    bool m_isAgain = false; ///< the measurement is over; one more iteration computes tensors again
    bool m_edited = false;  ///< since the snapshot of the run
    std::optional<RunStop> m_stop;
    std::optional<RunResult> m_measured;
    std::optional<RunResult> m_result;
    std::vector<KeptTensor> m_tensors; ///< by output
    std::vector<ProbeValue> m_probes;
    QString m_sentence;
    std::string m_date; ///< when the last run ended
    std::int64_t m_done = 0;
    std::int64_t m_total = 0;
    int m_number = 0;
    bool m_continuous = false;
    bool m_allowsTf32 = false;
    bool m_ranWithTf32 = false;                                   ///< the last run might
    mutable std::optional<std::pair<PortRef, Tensor>> m_lastCopy; ///< the tensor view asks again and again
    LatestTask m_preparer; ///< last: what it works on lives until it has ended
};

/// Whether a change can change what a run computes or costs; moving a card or writing a note cannot.
bool affectsRun(const Delta& delta);

} // namespace twb
