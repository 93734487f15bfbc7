#include "widgets/training_run.h"

#include "core/error.h"
#include "formats/trained_graph.h"
#include "widgets/text.h"

#include <limits>
#include <utility>

namespace twb {
namespace {

constexpr int kPictureMs = 50;

} // namespace

QString metricText(Metric metric, double value) {
    return metric == Metric::accuracy ? percentage(100 * value, 2) : compact(value, 5);
}

QString TrainingCourse::text() const {
    QString out = TrainingRun::tr("run %1 · %2").arg(number).arg(title);
    const bool isClassifier = !record.epochs.empty() && record.epochs.back().accuracy;
    const Metric by = isClassifier ? Metric::accuracy : metric;
    const EpochRecord* best = bestEpoch(record, by);
    if (const auto value = best ? valueOf(*best, by) : std::nullopt)
        out += TrainingRun::tr(" · best %1 in epoch %2").arg(metricText(by, *value), grouped(best->epoch));
    return out;
}

TrainingRun::TrainingRun(Document& document, QObject* parent) : QObject(parent), m_document(document) {
    m_timer.setInterval(kPictureMs);
    connect(&m_timer, &QTimer::timeout, this, &TrainingRun::take);
    connect(&m_document, &Document::reset, this, [this] {
        stop();
        m_session.reset();
        m_trainer.reset();
        m_values.clear();
        m_course = {};
        m_earlier.clear();
        m_place = {};
        m_error.clear();
        setState(State::idle);
        Q_EMIT progressed();
    });
}

TrainingRun::~TrainingRun() { join(); }

void TrainingRun::start(const SessionOptions& options) {
    join();
    TrainerOptions trainerOptions;
    trainerOptions.policy = m_document.graph().info().policy;
    trainerOptions.measures = true;
    m_session.reset();
    m_values.clear();
    m_trainer = std::make_unique<Trainer>(m_document.graph(), m_document.devices(), m_document.files(),
                                          trainerOptions);
    m_session = std::make_unique<TrainingSession>(*m_trainer, options);
    m_options = options;
    m_batches = m_trainer->batchesPerEpoch();
    m_isModelled = m_trainer->isModelled();
    if (!m_course.losses.empty()) m_earlier.push_back(std::move(m_course));
    m_course = {m_earlier.empty() ? 1 : m_earlier.back().number + 1,
                toQt(optimizerText(m_document.graph(), *trainingOf(m_document.graph()))),
                {},
                {},
                m_session->metric()};
    m_place = {};
    m_error.clear();
    m_isSaved = false;
    m_news = {};
    m_isPaused = m_isEnding = false;
    m_mayStop = false;
    m_thread = std::thread([this] { work(); });
    m_timer.start();
    Q_EMIT started();
    setState(State::running);
}

void TrainingRun::work() {
    QString error;
    try {
        while (!m_session->isDone()) {
            {
                std::unique_lock lock(m_mutex);
                m_changed.wait(lock, [this] { return !m_isPaused || m_isEnding; });
                if (m_isEnding) break;
            }
            const TrainedSteps steps =
                m_session->advance(std::numeric_limits<std::int64_t>::max(), &m_mayStop);
            const std::lock_guard lock(m_mutex);
            m_news.losses.insert(m_news.losses.end(), steps.losses.begin(), steps.losses.end());
            m_news.record = m_session->record();
            m_news.place = m_trainer->place();
            m_news.isNew = true;
        }
    } catch (const std::exception& e) {
        error = QString::fromUtf8(e.what());
    }
    const std::lock_guard lock(m_mutex);
    m_news.error = error;
    m_news.hasEnded = true;
}

/// Takes over what the thread has done since the last time.
void TrainingRun::take() {
    News news;
    {
        const std::lock_guard lock(m_mutex);
        news = std::exchange(m_news, {});
    }
    if (news.isNew) {
        m_course.losses.insert(m_course.losses.end(), news.losses.begin(), news.losses.end());
        m_course.record = std::move(news.record);
        m_place = news.place;
        Q_EMIT progressed();
    }
    if (!news.hasEnded) return;
    m_timer.stop();
    if (m_thread.joinable()) m_thread.join();
    m_error = news.error;
    setState(m_error.isEmpty() ? State::idle : State::failed);
}

void TrainingRun::clearEarlier() {
    m_earlier.clear();
    Q_EMIT progressed();
}

void TrainingRun::pause() {
    if (m_state != State::running) return;
    {
        const std::lock_guard lock(m_mutex);
        m_isPaused = true;
    }
    setState(State::paused);
}

void TrainingRun::resume() {
    if (m_state != State::paused) return;
    {
        const std::lock_guard lock(m_mutex);
        m_isPaused = false;
    }
    m_changed.notify_all();
    setState(State::running);
}

void TrainingRun::stop() {
    if (!m_thread.joinable()) return;
    join();
    take();
    m_timer.stop();
    setState(m_error.isEmpty() ? State::idle : State::failed);
}

void TrainingRun::join() {
    if (!m_thread.joinable()) return;
    {
        const std::lock_guard lock(m_mutex);
        m_isEnding = true;
    }
    m_mayStop = true;
    m_changed.notify_all();
    m_thread.join();
}

void TrainingRun::saveParameters(const QString& path) {
    saveWeights(path.toStdString(), m_trainer->parameters());
    m_isSaved = true;
}

std::optional<Tensor> TrainingRun::value(NodeId parameter) const {
    if (!hasParameters()) return std::nullopt;
    if (m_values.empty()) m_values = m_trainer->parameters();
    return tensorOf(parameter, m_values);
}

std::optional<Tensor> TrainingRun::gradient(NodeId parameter) const {
    return hasParameters() ? tensorOf(parameter, m_trainer->gradients()) : std::nullopt;
}

std::optional<Tensor> TrainingRun::tensorOf(NodeId parameter,
                                            const std::map<std::string, Tensor>& tensors) const {
    const auto name = m_trainer->names().find(parameter);
    if (name == m_trainer->names().end()) return std::nullopt;
    const auto tensor = tensors.find(name->second);
    return tensor == tensors.end() ? std::nullopt : std::optional(tensor->second);
}

void TrainingRun::setState(State state) {
    if (state == std::exchange(m_state, state)) return;
    Q_EMIT stateChanged();
}

} // namespace twb
