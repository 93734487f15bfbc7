#pragma once

#include "runtime/executor.h"
#include "widgets/document.h"
#include "widgets/run_batch.h"
#include "widgets/run_figures.h"
#include "widgets/run_state.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>
#include <vector>

namespace twb {

/// Runs the document's graph on the executor and tells the window about it, at most once a frame. The run
/// works on a snapshot: editing goes on meanwhile and only marks the results stale.
class RunController : public QObject {
    Q_OBJECT

public:
    /// Tensors that a run keeps for looking at, all together, in bytes.
    static constexpr std::uint64_t kKeptBytes = 256ull << 20;

    explicit RunController(Document& document, QObject* parent = nullptr);
    ~RunController() override;

    /// Starts a run; does nothing while one is on. A graph with errors is refused().
    void run(std::int64_t iterations);
    void runContinuously();
    /// Whether the next runs let real GPUs round products of f32 to TF32 (RunOptions::allowTf32).
    void setAllowsTf32(bool allows) noexcept { m_allowsTf32 = allows; }
    /// Takes effect within one kernel; finished() follows.
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
    bool isRunning() const noexcept { return m_state.running; }
    bool isContinuous() const noexcept { return m_continuous; }

    const RunState& state() const noexcept { return m_state; }
    /// Figures of the run that is on or was last; null before the first and after another document was
    /// opened.
    const RunFigures* figures() const noexcept { return m_figures.get(); }
    /// The same, for another thread to read: once the run has ended they change no more.
    std::shared_ptr<const RunFigures> sharedFigures() const noexcept { return m_figures; }
    /// How the last run ended; nothing while one is on.
    const std::optional<RunResult>& result() const noexcept { return m_result; }
    /// All about the last run, as `twb run --report` has it; nothing (a null plan) while there is none with a
    /// result. Its parts are this controller's, until the next run starts.
    RunReport report() const;
    /// Values of scalars that a Probe saw, after a run.
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

Q_SIGNALS:
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
    std::shared_ptr<const Plan> compilePlan(const Graph& graph, const Analysis& analysis, bool keep) const;
    Analysis analysisOf(const Graph& graph) const;
    std::shared_ptr<const Plan> compileLook() const;
    bool startLooking();
    void assignEdges(const Plan& plan);
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

    Document& m_document;
    RunBatch m_batch; ///< outlives the executor, which reports to it
    Executor m_executor;
    QTimer m_timer;
    RunState m_state;
    std::shared_ptr<RunFigures> m_figures;
    std::vector<std::vector<Edge>> m_edges;
    Graph m_snapshot;                      ///< what the last run ran
    std::vector<Diagnostic> m_diagnostics; ///< of it
    std::vector<InputFile> m_inputs;
    std::shared_ptr<const Plan> m_leanPlan;
    std::shared_ptr<const Plan> m_lookPlan;
    bool m_looking = false; ///< the measurement is over; one more iteration keeps the tensors to look at
    std::optional<RunStop> m_stop;
    std::optional<RunResult> m_measured;
    std::optional<RunResult> m_result;
    std::vector<std::pair<PortRef, Tensor>> m_tensors;
    std::vector<ProbeValue> m_probes;
    QString m_sentence;
    std::int64_t m_done = 0;
    std::int64_t m_total = 0;
    int m_number = 0;
    bool m_continuous = false;
    bool m_allowsTf32 = false;
    bool m_ranWithTf32 = false;                                   ///< the last run might
    mutable std::optional<std::pair<PortRef, Tensor>> m_lastCopy; ///< the tensor view asks again and again
};

/// Whether a change can change what a run computes or costs; moving a card or writing a note cannot.
bool affectsRun(const Delta& delta);

} // namespace twb
