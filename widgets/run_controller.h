#pragma once

#include "profile/rank_pulse.h"
#include "profile/run_trace.h"
#include "runtime/executor.h"
#include "widgets/document.h"
#include "widgets/latest_task.h"
#include "widgets/price.h"
#include "widgets/profile_overlay.h"
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

/// Runs the document's graph on the executor and informs the window, at most once per frame. The run uses a
/// snapshot: edits during the run only mark the results as out of date.
class RunController : public QObject {
    Q_OBJECT

public:
    explicit RunController(Document& document, QObject* parent = nullptr);
    ~RunController() override;

    /// Prepares a run off the window's thread and starts it; does nothing while another one is active. Emits
    /// preparing(), then started(). A graph with errors is refused() immediately; for a run that fails to
    /// start, refused() is followed by finished().
    void run(std::int64_t iterations);
    void runContinuously();
    /// Whether later runs let real GPUs use TF32 (RunOptions::allowTf32).
    void setAllowsTf32(bool allows) noexcept { m_allowsTf32 = allows; }
    bool allowsTf32() const noexcept { return m_allowsTf32; }
    /// Whether later runs fuse no ops (RunRequest::timesEachOp).
    void setTimesEachOp(bool times) noexcept { m_timesEachOp = times; }
    bool timesEachOp() const noexcept { return m_timesEachOp; }
    /// Whether the document's graph can run. Otherwise it is refused().
    bool mayStart();
    /// Announces a run on another machine, of the document's graph as it is now. isRunning() until
    /// endFollowing(). The results of the last run stay until follow() or, if the run ends before that, for
    /// good. `total`: as total(). Does nothing while a run is active.
    void awaitRun(const QString& host, const QString& sentence, std::int64_t total);
    /// Shows the run of another program, which `plan` describes, in place of the last one. isRunning() until
    /// endFollowing(). May be called again with a longer plan, after which all records are added again.
    /// Without awaitRun() before it, the document is made from the other program. `total`: as total().
    /// `isOfGraph`: as for RunFigures.
    void follow(std::shared_ptr<const Plan> plan, const QString& sentence, std::int64_t total = 0,
                std::vector<bool> isOfGraph = {});
    /// New records of the other program, and its completed iterations.
    /// `ranks`: all ranks of the run as they are now.
    void addFollowed(std::span<const StepRecord> records, std::int64_t done, const QString& sentence,
                     std::vector<LiveRank> ranks = {});
    /// The figures stay. If the result has no states, all steps of a finished run are done, and those of
    /// another run have the states of their last records. Without a sentence, sentence() tells of the result
    /// as after a run of this program.
    void endFollowing(RunResult result, const QString& sentence, std::vector<ProbeValue> probes = {},
                      std::vector<RankPace> ranks = {});
    bool isFollowing() const noexcept { return m_isFollowing; }
    /// Whether a run was announced by awaitRun() and its plan is not known yet.
    bool isAwaiting() const noexcept { return m_awaited.has_value(); }
    /// The other machine of the followed run; empty: no such run.
    QString followedHost() const { return m_awaited ? m_awaited->host : m_isFollowing ? host() : QString(); }
    /// Ends following a run on another machine, which goes on: detachRequested(). No effect while
    /// isAwaiting(), because the run may not have started there.
    void detach();
    /// A remark on the followed run, for the log.
    void say(const QString& sentence) { log(Severity::note, sentence); }
    /// The other machine of the run whose results are shown; empty: this one.
    const QString& host() const noexcept { return m_state.host; }
    /// "measured", or "measured on HOST".
    QString measuredText() const { return twb::measuredText(host()); }
    /// Shows a trace of `twb run --trace` in place of the last run, with the tracks of all its ranks. The
    /// graph has the times of rank 0, or none if the trace was recorded from another graph. Returns the
    /// sentence that says so, else nothing. Does nothing while a run is active.
    QString show(RunTrace trace, const QString& file);
    bool showsTrace() const noexcept { return m_showsTrace; }
    /// The pace of the ranks of the shown trace, or of the run on another machine, also while it goes on.
    /// Empty for a single rank.
    const std::vector<LiveRank>& ranks() const noexcept { return m_ranks; }
    /// Shows the times of another program's profile in place of the last run, until the next run. Does
    /// nothing while a run is active.
    void overlay(OverlaidProfile profile);
    /// Removes the overlay and shows the state before any run. Does nothing without an overlay.
    void removeOverlay();
    /// Null if the figures are those of a run.
    const OverlaidProfile* overlaid() const noexcept { return m_overlay ? &*m_overlay : nullptr; }
    /// Takes effect within one kernel; finished() follows. Another program keeps running: leaveRequested(). A
    /// run that is being prepared ends immediately, and the results of the previous run stay.
    void stop();
    /// Continues from a breakpoint to the next one, or to the end of the next step. No effect unless
    /// isStopped().
    void proceed();
    void step();
    /// Whether the run is stopped at a breakpoint; isRunning() is then also true.
    bool isStopped() const noexcept { return m_stop.has_value(); }
    /// The place: "fc1, iteration 3: max is 4.2 (max > 4)".
    QString stopSentence() const;
    /// The edge of the implicit copy at which the run is stopped; nothing for a node.
    std::optional<Edge> stoppedEdge() const;
    /// From the call of run() to finished().
    bool isRunning() const noexcept { return m_state.running; }
    bool isContinuous() const noexcept { return m_continuous; }

    const RunState& state() const noexcept { return m_state; }
    /// Figures of the current or last run; null before the first, and after another document was opened.
    const RunFigures* figures() const noexcept { return m_figures.get(); }
    /// The same for another thread: constant once the run has ended.
    std::shared_ptr<const RunFigures> sharedFigures() const noexcept { return m_figures; }
    /// How the last run ended; nothing once the next one has started.
    const std::optional<RunResult>& result() const noexcept { return m_result; }
    /// The report of the last run, as for `twb run --report`; empty (with a null plan) if there is no result.
    /// It refers to this controller's data until the next run starts.
    RunReport report() const;
    /// The scalars at Probes: during a run of several iterations, of a recent iteration; after it, of the
    /// last one.
    const std::vector<ProbeValue>& probes() const noexcept { return m_probes; }
    /// The edges served by transfer `index` of the plan; the first represents the transfer.
    const std::vector<Edge>& edgesOf(std::uint32_t transfer) const { return m_edges[transfer]; }

    std::int64_t done() const noexcept { return m_done; }
    std::int64_t total() const noexcept { return m_total; } ///< 0: until the user stops it
    int runNumber() const noexcept { return m_number; }
    /// "Run 12 finished: 1,000 iterations in 40.2 ms modelled, 1.9 s wall time".
    QString sentence() const { return m_sentence; }

    /// The plan of the last measured run, with shared memory. Null before the first.
    const Plan* leanPlan() const noexcept { return m_leanPlan.get(); }
    /// A host copy of an output of the last run or, while a run is stopped, of this iteration. Nothing if it
    /// was not kept (too large, not run).
    std::optional<Tensor> tensor(PortRef output) const;
    /// If tensor() returns a value that was computed again after the last run, one op at a time, because that
    /// run did not keep it: its iteration, from 1. That is the last one, or the first one if the graph
    /// updates tensors whose values before the last iteration are not known: they are larger than kKeptBytes,
    /// or the user stopped the run.
    std::optional<std::int64_t> iterationComputedAgain(PortRef output) const noexcept;

Q_SIGNALS:
    void preparing(); ///< isRunning(); results are still those of the previous run
    void started();
    void frame();           ///< state and figures were updated
    void finished();        ///< after the last frame()
    void stopped();         ///< at a breakpoint; after a frame()
    void resumed();         ///< from a breakpoint
    void leaveRequested();  ///< the user stopped following the other program
    void detachRequested(); ///< the user leaves the run on the other machine running
    void refused(const QString& sentence);
    void stateChanged(); ///< outside a run: results out of date, predictions
    void logged(twb::Severity severity, const QString& sentence);

private:
    void start(std::int64_t iterations, bool continuous);
    void launch(Graph graph, PreparedRun prepared, RunOptions options);
    bool launchOn(const std::shared_ptr<const Plan>& plan, const RunOptions& options);
    void afterExecutor(std::function<void()> go);
    void giveUp(const QString& sentence);
    void endUnstarted(Severity severity, const QString& sentence);
    bool startAgain();
    void takeTensors(const RunResult& result, bool again);
    void assignEdges(const Plan& plan, const Analysis& analysis);
    void tick();
    void updateNodes(bool final);
    void standStill(RunStop stop);
    void leaveStop();
    std::optional<Tensor> tensorAtStop(PortRef output) const;
    void addModelledTimes();
    void updateEdges();
    void finish(RunResult result);
    void showErrors(const RunResult& result);
    void noteTf32();
    void logEnd();
    QString endSentence(const RunResult& result) const;
    std::vector<std::pair<const Node*, PortRef>> probedOutputs() const;
    void readProbes(const std::function<std::optional<Tensor>(PortRef)>& valueOf);
    void forget();
    void forgetResults();
    void forgetLastRun();
    void predict();
    void predict(const Delta& delta, const Revised& revised);
    void predictInto(const NodeFacts& facts);
    void documentChanged(const Delta& delta);
    void log(Severity severity, const QString& sentence) { Q_EMIT logged(severity, sentence); }

    /// A run on another machine, or of another program, whose plan is not known yet.
    struct AwaitedRun {
        QString host;
        Graph graph;
        std::vector<Diagnostic> diagnostics;
        bool allowsTf32 = false;
    };
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
    /// By transfer of the plan: the first one of its edge. A message between ranks has copies before and
    /// after it.
    std::vector<std::size_t> m_firstOfEdge;
    Graph m_snapshot;                      ///< the graph of the last run
    std::vector<Diagnostic> m_diagnostics; ///< of the snapshot
    std::vector<RunInputFile> m_inputs;
    std::shared_ptr<const Plan> m_leanPlan;
    std::shared_ptr<const Plan> m_againPlan;
    std::vector<PortRef> m_updated; ///< in place, by the graph of the last run
    std::int64_t m_againFirst = 0;  ///< the iterations before the one that is computed again
    bool m_isPreparing = false;
    bool m_isFollowing = false; ///< the run is another program's
    bool m_isAgain = false;     ///< the measurement is over; one more iteration computes tensors again
    bool m_edited = false;      ///< since the snapshot of the run
    std::optional<AwaitedRun> m_awaited;
    std::optional<OverlaidProfile> m_overlay;
    std::optional<RunStop> m_stop;
    std::optional<RunResult> m_measured;
    std::optional<RunResult> m_result;
    std::vector<KeptTensor> m_tensors; ///< by output
    std::vector<ProbeValue> m_probes;
    QString m_sentence;
    std::vector<LiveRank> m_ranks;
    bool m_showsTrace = false;
    std::string m_date; ///< when the last run ended
    std::int64_t m_done = 0;
    std::int64_t m_total = 0;
    int m_number = 0;
    bool m_continuous = false;
    bool m_allowsTf32 = false;
    bool m_timesEachOp = false;
    bool m_ranWithTf32 = false; ///< the last run allowed TF32
    mutable std::optional<std::pair<PortRef, Tensor>>
        m_lastCopy;        ///< cached, since the tensor view asks repeatedly
    LatestTask m_preparer; ///< last member: its thread uses the members above until it ends
};

/// Whether a change affects the results or the cost of a run; moving a card or writing a note does not.
bool affectsRun(const Delta& delta);

} // namespace twb
