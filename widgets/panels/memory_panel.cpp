#include "widgets/panels/memory_panel.h"

#include "widgets/labels.h"
#include "widgets/panels/memory_bars.h"
#include "widgets/panels/memory_stack.h"
#include "widgets/panels/picture_drag.h"
#include "widgets/text.h"

#include <QHBoxLayout>
#include <QImage>

#include <algorithm>

namespace twb {
namespace {

constexpr int kLeastBars = 208; ///< px
constexpr int kMostBars = 340;

} // namespace

MemoryPanel::MemoryPanel(Document& document, RunController& runs, QWidget* parent)
    : QWidget(parent), m_document(document), m_runs(runs), m_bars(new MemoryBars), m_stack(new MemoryStack),
      m_empty(makeLabel(tr("Run the graph to see its memory on each device."), TextRole::body,
                        QStringLiteral("secondary"))) {
    setAccessibleName(tr("Memory of each device"));
    m_empty->setAlignment(Qt::AlignCenter);
    new PictureDrag(*m_stack, QStringLiteral("memory"), [this](const QString& path) {
        constexpr double kScale = 2;
        if (!m_stack->course()) return false;
        QImage image(m_stack->size() * kScale, QImage::Format_RGB32);
        image.setDevicePixelRatio(kScale);
        image.fill(Theme::current().panel);
        m_stack->render(&image, {}, {}, QWidget::RenderFlags()); // without the handle
        return image.save(path, "PNG");
    });
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(4, 8, 0, 8);
    layout->setSpacing(8);
    layout->addWidget(m_bars);
    layout->addWidget(m_stack, 1);
    layout->addWidget(m_empty, 1);
    connect(&m_runs, &RunController::frame, this, [this] {
        if (!m_runs.isRunning() || m_budget.isDue()) refresh();
    });
    connect(&m_runs, &RunController::stateChanged, this, &MemoryPanel::refresh);
    connect(m_bars, &MemoryBars::rowChosen, this, &MemoryPanel::refreshStack);
}

void MemoryPanel::refresh() {
    if (!isVisible()) return;
    m_budget.begin();
    const RunFigures* figures = m_runs.figures();
    m_empty->setVisible(!figures);
    m_bars->setVisible(figures != nullptr);
    m_stack->setVisible(figures != nullptr);
    const DeviceMap& devices = figures ? figures->plan().devices : m_document.devices();
    std::vector<MemoryBars::Row> rows;
    for (const Device device : devices.devices()) {
        const DeviceInfo& info = devices.at(device).info();
        MemoryBars::Row row{device, toQt(info.name), 0, 0, info.memoryBytes};
        if (figures) row.planned = figures->plan().bytesOn(device, m_runs.total());
        if (m_runs.result())
            for (const auto& [of, stats] : m_runs.result()->memory)
                if (of == device) row.peak = stats.peak;
        rows.push_back(std::move(row));
    }
    m_bars->setRows(std::move(rows));
    refreshStack();
    m_budget.end();
}

void MemoryPanel::refreshStack() {
    const RunFigures* figures = m_runs.figures();
    if (!figures || m_bars->rows().empty()) return m_stack->setCourse(nullptr, std::nullopt, 0, 0);
    const MemoryBars::Row& chosen = m_bars->rows()[std::size_t(m_bars->chosen())];
    // Tensors made before the iterations are alive in every iteration.
    std::vector<StepRecord> records = figures->timeline().setup();
    for (const StepRecord& record : figures->recent(1))
        if (!figures->plan().steps[record.step].setup) records.push_back(record);
    std::stable_sort(records.begin(), records.end(),
                     [](const StepRecord& a, const StepRecord& b) { return a.startNs < b.startNs; });
    std::optional<MemoryCourse> course;
    for (MemoryCourse& one : memoryCourses(figures->plan(), records))
        if (one.device == chosen.device) course = std::move(one);
    m_stack->setCourse(figures->sharedPlan(), std::move(course), chosen.planned, chosen.peak);
}

void MemoryPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    m_bars->setFixedWidth(std::clamp(width() * 3 / 10, kLeastBars, kMostBars));
}

void MemoryPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

} // namespace twb
