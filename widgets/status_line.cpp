#include "widgets/status_line.h"

#include "widgets/labels.h"
#include "widgets/text.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QProgressBar>

namespace twb {

/// A state's colour; the text beside it says the same.
class StatusLine::Dot : public QWidget {
public:
    enum State { idle, running, good, stale, failed };
    Dot() { setFixedSize(8, 8); }
    void setState(State state) {
        m_state = state;
        update();
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = Theme::current();
        const QColor colors[] = {theme.disabledText, theme.accent, theme.good, theme.warning, theme.error};
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colors[m_state]);
        painter.drawEllipse(rect());
    }

private:
    State m_state = idle;
};

StatusLine::StatusLine(Document& document, RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs), m_dot(new Dot), m_sentence(new ElidedLabel),
      m_progress(new QProgressBar), m_fresh(makeLabel({}, TextRole::small, QStringLiteral("secondary"))),
      m_counts(makeLabel({}, TextRole::small, QStringLiteral("secondary"))) {
    setProperty("surface", QStringLiteral("panel"));
    setAttribute(Qt::WA_StyledBackground);
    setFixedHeight(26);
    m_sentence->setFont(twb::font(TextRole::small));
    m_sentence->setProperty("role", QStringLiteral("secondary"));
    m_sentence->setObjectName(QStringLiteral("status"));
    m_counts->setObjectName(QStringLiteral("counts"));
    m_fresh->setObjectName(QStringLiteral("fresh"));
    m_progress->setFixedWidth(160);
    m_progress->setTextVisible(false);
    m_progress->setObjectName(QStringLiteral("runProgress"));
    m_progress->setAccessibleName(tr("Progress of the run"));
    m_progress->hide();
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(16, 0, 16, 0);
    layout->addWidget(m_dot);
    layout->addSpacing(4);
    layout->addWidget(m_sentence, 1);
    layout->addWidget(m_progress);
    layout->addSpacing(8);
    layout->addWidget(m_fresh);
    layout->setSpacing(4);
    layout->addWidget(m_counts);
    connect(&m_runs, &RunController::preparing, this, &StatusLine::refreshRun);
    connect(&m_runs, &RunController::started, this, &StatusLine::refreshRun);
    connect(&m_runs, &RunController::frame, this, &StatusLine::refreshRun);
    connect(&m_runs, &RunController::finished, this, &StatusLine::refreshRun);
    connect(&m_runs, &RunController::stopped, this, &StatusLine::refreshRun);
    connect(&m_runs, &RunController::stateChanged, this, &StatusLine::refreshRun);
    connect(&m_document, &Document::changed, this, &StatusLine::refreshGraph);
    connect(&m_document, &Document::reset, this, &StatusLine::refreshGraph);
    connect(&m_document, &Document::devicesChanged, this, &StatusLine::refreshGraph);
    refreshRun();
    refreshGraph();
}

void StatusLine::say(const QString& sentence, Severity severity) {
    m_sentence->setText(sentence);
    if (severity != Severity::note) m_dot->setState(severity == Severity::error ? Dot::failed : Dot::stale);
}

void StatusLine::refreshRun() {
    const RunState& state = m_runs.state();
    m_progress->setVisible(state.running && m_runs.total() > 0); // a bar of a continuous run would only move
    if (state.running) {
        m_dot->setState(m_runs.isStopped() ? Dot::stale : Dot::running);
        m_progress->setRange(0, 1000);
        if (m_runs.total() > 0) m_progress->setValue(int(1000 * m_runs.done() / m_runs.total()));
        const std::int64_t done = m_runs.done();
        const std::int64_t total = m_runs.total();
        const QString count = total > 0 ? tr("%1 of %2").arg(grouped(done), grouped(total)) : grouped(done);
        m_sentence->setText(
            ((total > 0 ? total : done) == 1 ? tr("Run %1: %2 iteration") : tr("Run %1: %2 iterations"))
                .arg(m_runs.runNumber())
                .arg(count));
        if (m_runs.isFollowing()) m_sentence->setText(m_runs.sentence());
        if (m_runs.isStopped())
            m_sentence->setText(tr("Run %1 paused %2").arg(m_runs.runNumber()).arg(m_runs.stopSentence()));
        m_fresh->setText(state.stale ? tr("edited since the run started ·") : QString());
        return;
    }
    const std::optional<RunResult>& result = m_runs.result();
    if (!result) {
        m_dot->setState(Dot::idle);
        m_sentence->setText(tr("Not run yet"));
        m_fresh->clear();
        return;
    }
    const bool failed = result->status == RunStatus::failed;
    m_dot->setState(failed ? Dot::failed : state.stale ? Dot::stale : Dot::good);
    m_sentence->setText(m_runs.sentence());
    m_fresh->setText(state.stale ? tr("results out of date ·") : tr("results up to date ·"));
}

void StatusLine::refreshGraph() {
    const Graph& graph = m_document.graph();
    const auto count = [](std::size_t n, const QString& one, const QString& many) {
        return n == 1 ? one : many.arg(grouped(std::int64_t(n)));
    };
    QStringList parts{count(graph.nodes().size(), tr("1 node"), tr("%1 nodes")),
                      count(graph.edgeCount(), tr("1 edge"), tr("%1 edges")),
                      count(m_document.problemCount(), tr("1 problem"), tr("%1 problems"))};
    if (const std::size_t notes = m_document.noteCount()) parts << count(notes, tr("1 note"), tr("%1 notes"));
    parts << tr("revision %1").arg(m_document.revision());
    m_counts->setText(parts.join(QStringLiteral(" · ")));
}

} // namespace twb
