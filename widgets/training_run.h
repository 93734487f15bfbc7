#pragma once

#include "training/training_session.h"
#include "widgets/document.h"

#include <QObject>
#include <QTimer>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace twb {

/// A training run: its steps and epochs.
struct TrainingCourse {
    int number = 0;             ///< from 1
    QString title;              ///< "adamw lr 0.001"
    std::vector<double> losses; ///< one per step
    TrainingRecord record;
    Metric metric = Metric::loss; ///< that chooses the best epoch

    /// "run 1 · adamw lr 0.001 · best 97.2 % in epoch 8".
    QString text() const;
};
/// "97.22 %" for an accuracy, else the number.
QString metricText(Metric metric, double value);

/// The training of the document's graph on a thread of its own. It trains a snapshot: edits do not touch it.
/// After a stop the trained parameters stay until the next start.
class TrainingRun : public QObject {
    Q_OBJECT

public:
    enum class State { idle, running, paused, failed };

    explicit TrainingRun(Document& document, QObject* parent = nullptr);
    /// Stops, and waits for the step that runs.
    ~TrainingRun() override;

    State state() const noexcept { return m_state; }
    /// Whether a run has ended, so that its parameters can be written.
    bool hasParameters() const noexcept { return m_trainer && m_state == State::idle; }
    /// Of the current or the last run.
    std::int64_t epochs() const noexcept { return m_options.epochs; }
    std::int64_t batchesPerEpoch() const noexcept { return m_batches; }
    const TrainingCourse& course() const noexcept { return m_course; }
    /// The runs of this document before it, oldest first.
    const std::vector<TrainingCourse>& earlier() const noexcept { return m_earlier; }
    void clearEarlier();
    const TrainingPlace& place() const noexcept { return m_place; }
    bool isModelled() const noexcept { return m_isModelled; }
    const QString& error() const noexcept { return m_error; }

    /// Starts from the graph's initial parameters. Throws Error if the graph cannot be trained.
    void start(const SessionOptions& options);
    void pause();
    void resume();
    void stop();
    /// Whether parameters() would be lost: the last run took a step, and they were not written since.
    bool hasUnsavedParameters() const noexcept { return hasParameters() && m_place.steps > 0 && !m_isSaved; }
    /// Writes the parameters as safetensors. Requires hasParameters(). Throws Error(io).
    void saveParameters(const QString& path);
    /// The trained value of a parameter of the graph, on the host. Nothing while a run is active, or for
    /// other nodes.
    std::optional<Tensor> value(NodeId parameter) const;
    /// The same for its gradient in the last step of the last epoch.
    std::optional<Tensor> gradient(NodeId parameter) const;

Q_SIGNALS:
    void started();
    void progressed(); ///< new steps or epochs
    void stateChanged();

private:
    void work();
    void take();
    void setState(State state);
    void join();
    std::optional<Tensor> tensorOf(NodeId parameter, const std::map<std::string, Tensor>& tensors) const;

    Document& m_document;
    State m_state = State::idle;
    SessionOptions m_options;
    std::unique_ptr<Trainer> m_trainer;
    std::unique_ptr<TrainingSession> m_session;
    std::int64_t m_batches = 0;
    bool m_isModelled = false;
    TrainingCourse m_course;
    std::vector<TrainingCourse> m_earlier;
    TrainingPlace m_place;
    QString m_error;
    bool m_isSaved = false;                         ///< saveParameters() has written those of the last run
    mutable std::map<std::string, Tensor> m_values; ///< of the trained parameters, when they are wanted
    QTimer m_timer;
    std::thread m_thread;

    // Shared with the thread.
    std::atomic<bool> m_mayStop{false}; ///< end between two steps
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_isPaused = false;
    bool m_isEnding = false;
    struct News {
        std::vector<double> losses;
        TrainingRecord record;
        TrainingPlace place;
        bool isNew = false;
        bool hasEnded = false;
        QString error;
    } m_news;
};

} // namespace twb
