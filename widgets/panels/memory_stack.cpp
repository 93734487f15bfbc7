#include "widgets/panels/memory_stack.h"

#include "core/format.h"
#include "widgets/labels.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <map>

namespace twb {
namespace {

constexpr std::size_t kBands = 6; ///< with a colour of their own
constexpr int kListWidth = 248;
constexpr int kLine = 20;
constexpr double kHead = 22; ///< px above the chart

} // namespace

MemoryStack::MemoryStack(QWidget* parent) : QWidget(parent) {
    setObjectName(QStringLiteral("memoryStack"));
    setAccessibleName(tr("Memory over an iteration"));
}

void MemoryStack::setCourse(std::shared_ptr<const Plan> plan, std::optional<MemoryCourse> course,
                            std::size_t planned) {
    m_plan = std::move(plan);
    m_course = std::move(course);
    m_planned = planned;
    makeBands();
    update();
}

void MemoryStack::makeBands() {
    m_bands.clear();
    setAccessibleDescription({});
    if (!m_course) return;
    std::map<std::uint32_t, std::uint64_t> bytes;
    for (const LiveTensor& tensor : m_course->tensors) bytes[tensor.producer] += 0;
    for (const LiveTensor& tensor : m_course->atPeak) bytes[tensor.producer] += tensor.bytes;
    for (const auto& [step, sum] : bytes) m_bands.push_back({toQt(m_plan->steps[step].label), {step}, sum});
    std::stable_sort(m_bands.begin(), m_bands.end(),
                     [](const Band& a, const Band& b) { return a.bytesAtPeak > b.bytesAtPeak; });
    if (m_bands.size() > kBands + 1) {
        Band others{tr("%1 others").arg(grouped(qint64(m_bands.size() - kBands))), {}, 0};
        for (std::size_t i = kBands; i < m_bands.size(); ++i) {
            others.producers.push_back(m_bands[i].producers.front());
            others.bytesAtPeak += m_bands[i].bytesAtPeak;
        }
        m_bands.resize(kBands);
        m_bands.push_back(std::move(others));
    }
    QStringList said;
    for (const Band& band : m_bands)
        said << QStringLiteral("%1 %2").arg(band.name, toQt(formatBytes(double(band.bytesAtPeak))));
    setAccessibleDescription(
        tr("At the peak %1: %2")
            .arg(toQt(formatBytes(double(m_course->peakBytes))), said.join(QStringLiteral(", "))));
}

/// What is alive after each change, at most one moment a pixel: the fullest one.
std::vector<MemoryStack::Moment> MemoryStack::moments(double nsPerPixel) const {
    std::map<std::uint32_t, std::size_t> bandOf;
    for (std::size_t i = 0; i < m_bands.size(); ++i)
        for (const std::uint32_t step : m_bands[i].producers) bandOf[step] = i;
    struct Event {
        std::int64_t ns;
        std::int64_t bytes;
        std::size_t band;
    };
    std::vector<Event> events;
    for (const LiveTensor& tensor : m_course->tensors) {
        const std::size_t band = bandOf[tensor.producer];
        events.push_back({std::max(tensor.startNs, m_course->startNs), std::int64_t(tensor.bytes), band});
        if (tensor.endNs <= m_course->endNs)
            events.push_back({tensor.endNs, -std::int64_t(tensor.bytes), band});
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return a.ns != b.ns ? a.ns < b.ns : a.bytes < b.bytes;
    });
    std::vector<Moment> out;
    std::vector<std::int64_t> now(m_bands.size());
    for (std::size_t i = 0; i < events.size();) {
        const std::int64_t ns = events[i].ns;
        for (; i < events.size() && events[i].ns == ns; ++i) now[events[i].band] += events[i].bytes;
        Moment moment{double(ns - m_course->startNs), {}};
        std::uint64_t sum = 0;
        for (const std::int64_t bytes : now)
            moment.sums.push_back(sum += std::uint64_t(std::max<std::int64_t>(bytes, 0)));
        const bool isSamePixel = !out.empty() && moment.ns - out.back().ns < nsPerPixel / 2;
        if (isSamePixel && out.back().sums.back() >= sum && i < events.size()) continue;
        if (isSamePixel) moment.ns = out.back().ns, out.pop_back();
        out.push_back(std::move(moment));
    }
    return out;
}

QRectF MemoryStack::chart() const { return QRectF(rect()).adjusted(64, kHead, -kListWidth - 16, -26); }

double MemoryStack::top() const {
    return 1.08 * double(std::max<std::uint64_t>({m_course->peakBytes, m_planned, 1}));
}

void MemoryStack::paintEvent(QPaintEvent*) {
    if (!m_course) return;
    QPainter painter(this);
    if (chart().width() > 80) {
        paintFrame(painter);
        paintBands(painter);
        paintPeak(painter);
    }
    paintList(painter);
}

void MemoryStack::paintFrame(QPainter& painter) const {
    const Theme& theme = Theme::current();
    const QRectF area = chart();
    painter.setFont(twb::font(TextRole::smallFigure));
    for (int i = 0; i <= 2; ++i) {
        const double y = std::round(area.bottom() - area.height() * i / 2 / 1.08) + 0.5;
        painter.setPen(QPen(theme.border, 1));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setPen(theme.secondaryText);
        painter.drawText(QRectF(0, y - 8, area.left() - 8, 16), Qt::AlignRight | Qt::AlignVCenter,
                         toQt(formatBytes(top() / 1.08 * i / 2)));
    }
    const double length = double(m_course->endNs - m_course->startNs);
    for (int i = 0; i <= 2; ++i)
        painter.drawText(QRectF(area.left() - 4, area.bottom() + 6, area.width() + 4, 16),
                         (i == 0   ? Qt::AlignLeft
                          : i == 1 ? Qt::AlignHCenter
                                   : Qt::AlignRight) |
                             Qt::AlignVCenter,
                         toQt(formatMs(length * i / 2)));
    painter.setFont(twb::font(TextRole::small));
    const bool modelled = m_plan->virtualClock;
    drawElided(painter, QRectF(12, 0, area.right() - 12, kHead - 4).toRect(),
               Qt::AlignLeft | Qt::AlignVCenter,
               tr("%1, last iteration%2")
                   .arg(toQt(m_course->device.toString()), modelled ? tr(" · modelled clock") : QString()));
}

void MemoryStack::paintBands(QPainter& painter) const {
    const Theme& theme = Theme::current();
    const QRectF area = chart();
    const double length = std::max(1.0, double(m_course->endNs - m_course->startNs));
    const std::vector<Moment> steps = moments(length / area.width());
    const auto x = [&](double ns) { return area.left() + std::clamp(ns / length, 0.0, 1.0) * area.width(); };
    const auto y = [&](std::uint64_t bytes) { return area.bottom() - double(bytes) / top() * area.height(); };
    painter.setPen(Qt::NoPen);
    for (std::size_t band = m_bands.size(); band-- > 0;) {
        // From the highest down: each covers what is above the next.
        QPainterPath path(QPointF(area.left(), area.bottom()));
        double last = area.bottom();
        for (const Moment& moment : steps) {
            path.lineTo(x(moment.ns), last);
            last = y(moment.sums[band]);
            path.lineTo(x(moment.ns), last);
        }
        path.lineTo(area.right(), last);
        path.lineTo(area.right(), area.bottom());
        painter.fillPath(path, theme.panel);
        QColor fill = band < kBands ? theme.series(band) : theme.disabledText;
        fill.setAlphaF(theme.isDark ? 0.62f : 0.55f);
        painter.fillPath(path, fill);
    }
}

void MemoryStack::paintPeak(QPainter& painter) const {
    const Theme& theme = Theme::current();
    const QRectF area = chart();
    const double length = std::max(1.0, double(m_course->endNs - m_course->startNs));
    const double planned = std::round(area.bottom() - double(m_planned) / top() * area.height()) + 0.5;
    painter.setPen(QPen(theme.text, 1, Qt::DashLine));
    painter.drawLine(QPointF(area.left(), planned), QPointF(area.right(), planned));
    painter.setFont(twb::font(TextRole::small));
    painter.drawText(QRectF(area.left(), planned - 17, area.width() - 4, 16),
                     Qt::AlignRight | Qt::AlignVCenter,
                     tr("planned %1").arg(toQt(formatBytes(double(m_planned)))));
    const double x = area.left() + double(m_course->peakNs - m_course->startNs) / length * area.width();
    const double y = area.bottom() - double(m_course->peakBytes) / top() * area.height();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.panel, 1));
    painter.setBrush(theme.warning);
    painter.drawPolygon(QPolygonF({{x, y + 1}, {x - 5, y - 8}, {x + 5, y - 8}}));
}

void MemoryStack::paintList(QPainter& painter) const {
    const Theme& theme = Theme::current();
    QRect line(width() - kListWidth, 0, kListWidth - 12, kLine);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.warning);
    const double y = line.center().y() + 1;
    painter.drawPolygon(
        QPolygonF({{line.left() + 4.0, y + 4}, {line.left() - 1.0, y - 4}, {line.left() + 9.0, y - 4}}));
    painter.setFont(twb::font(TextRole::strong));
    painter.setPen(theme.text);
    drawElided(painter, line.adjusted(16, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
               tr("Peak %1, %2 alive")
                   .arg(toQt(formatBytes(double(m_course->peakBytes))),
                        m_course->atPeak.size() == 1
                            ? tr("1 tensor")
                            : tr("%1 tensors").arg(grouped(qint64(m_course->atPeak.size())))));
    for (std::size_t band = 0; band < m_bands.size(); ++band) {
        line.translate(0, kLine);
        if (line.bottom() > height()) break;
        if (m_bands[band].bytesAtPeak == 0) break;
        painter.setPen(Qt::NoPen);
        painter.setBrush(band < kBands ? theme.series(band) : theme.disabledText);
        painter.drawRect(QRect(line.left(), line.center().y() - 4, 9, 9));
        painter.setPen(theme.text);
        painter.setFont(twb::font(TextRole::smallFigure));
        const QString bytes = toQt(formatBytes(double(m_bands[band].bytesAtPeak)));
        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, bytes);
        const int taken = painter.fontMetrics().horizontalAdvance(bytes) + 8;
        painter.setFont(twb::font(TextRole::body));
        drawElided(painter, line.adjusted(16, 0, -taken, 0), Qt::AlignLeft | Qt::AlignVCenter,
                   m_bands[band].name, Qt::ElideMiddle);
    }
}

} // namespace twb
