#include "widgets/panels/memory_stack.h"

#include "core/format.h"
#include "widgets/labels.h"
#include "widgets/panels/plot_table.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <map>

namespace twb {
namespace {

constexpr std::size_t kBands = 6; ///< bands with a colour of their own
constexpr int kLeastList = 168;   ///< px
constexpr int kMostList = 272;
constexpr int kHandle = 28; ///< px at the right edge, for the handle that drags the picture
constexpr int kLine = 20;
constexpr double kHead = 22; ///< px above the chart

} // namespace

MemoryStack::MemoryStack(QWidget* parent) : QWidget(parent) {
    setObjectName(QStringLiteral("memoryStack"));
    setAccessibleName(tr("Memory over an iteration"));
    new PlotTable(*this, [this] { return values(); });
}

void MemoryStack::setCourse(std::shared_ptr<const Plan> plan, std::optional<MemoryCourse> course,
                            std::size_t planned, std::size_t measured) {
    m_plan = std::move(plan);
    m_course = std::move(course);
    m_planned = planned;
    m_measured = measured;
    makeBands();
    update();
}

void MemoryStack::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    makeBands();
}

/// As many lines as the list beside the chart has room for.
void MemoryStack::makeBands() {
    m_bands.clear();
    m_lines.clear();
    setAccessibleDescription({});
    if (!m_course) return;
    // Known after the run, and only shown if each part is at least as large as the next.
    const bool addsUp = m_measured >= m_planned && m_planned >= m_course->peakBytes;
    std::vector<Line> rest;
    if (addsUp && m_planned > m_course->peakBytes)
        rest.push_back({tr("reserved, not live"), m_planned - m_course->peakBytes});
    if (addsUp && m_measured > m_planned)
        rest.push_back({tr("scratch and rounding"), m_measured - m_planned});
    if (addsUp) rest.push_back({tr("Peak of the run"), m_measured, -1, true});
    const int room = height() / kLine - 1 - int(rest.size());
    const auto most = std::size_t(std::clamp(room - 1, 1, int(kBands)));

    std::map<std::uint32_t, std::uint64_t> bytes;
    for (const LiveTensor& tensor : m_course->tensors) bytes[tensor.producer] += 0;
    for (const LiveTensor& tensor : m_course->atPeak) bytes[tensor.producer] += tensor.bytes;
    for (const auto& [step, sum] : bytes)
        m_bands.push_back({toQt(m_plan->steps[step].label), {step}, sum, false});
    std::stable_sort(m_bands.begin(), m_bands.end(),
                     [](const Band& a, const Band& b) { return a.bytesAtPeak > b.bytesAtPeak; });
    if (m_bands.size() > most + 1) {
        Band others{tr("%1 others").arg(grouped(qint64(m_bands.size() - most))), {}, 0, true};
        for (std::size_t i = most; i < m_bands.size(); ++i) {
            others.producers.push_back(m_bands[i].producers.front());
            others.bytesAtPeak += m_bands[i].bytesAtPeak;
        }
        m_bands.resize(most);
        m_bands.push_back(std::move(others));
    }
    m_lines.push_back({m_course->atPeak.size() == 1
                           ? tr("1 tensor alive")
                           : tr("%1 tensors alive").arg(grouped(qint64(m_course->atPeak.size()))),
                       m_course->peakBytes, -1, true});
    for (std::size_t band = 0; band < m_bands.size() && m_bands[band].bytesAtPeak > 0; ++band)
        m_lines.push_back({m_bands[band].name, m_bands[band].bytesAtPeak, int(band)});
    m_lines.insert(m_lines.end(), rest.begin(), rest.end());
    QStringList said;
    for (const Line& line : m_lines)
        said << QStringLiteral("%1 %2").arg(line.text, localized(formatBytes(double(line.bytes))));
    setAccessibleDescription(tr("At the peak: %1").arg(said.join(QStringLiteral(", "))));
}

PlotValues MemoryStack::values() const {
    if (!m_course) return {accessibleName(), {}, 0, {}};
    std::vector<PlotValues::Column> bands;
    std::map<std::uint32_t, std::size_t> bandOf;
    for (std::size_t i = 0; i < m_bands.size(); ++i) {
        const Band& band = m_bands[i];
        bands.push_back({band.isRest ? "others" : band.name.toStdString(), band.name});
        for (const std::uint32_t step : band.producers) bandOf[step] = i;
    }
    return memoryValues(*m_course, bands, [&](std::uint32_t step) { return bandOf.at(step); });
}

int MemoryStack::columnOf(std::int64_t ns, int width) const {
    const double length = std::max(1.0, double(m_course->endNs - m_course->startNs));
    return std::clamp(int(double(ns - m_course->startNs) / length * width), 0, width - 1);
}

int MemoryStack::peakColumn(int width) const { return columnOf(m_course->peakNs, width); }

std::vector<MemoryStack::Column> MemoryStack::columns(int width) const {
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
    std::vector<std::int64_t> bytes(m_bands.size());
    std::vector<std::uint64_t> now(m_bands.size());
    std::vector<std::uint64_t> fullest = now; // within the current column
    std::vector<Column> out;
    const auto add = [&](int at, const std::vector<std::uint64_t>& sums) {
        if (at < width && (out.empty() || out.back().sums != sums)) out.push_back({at, sums});
    };
    int at = 0;
    for (std::size_t i = 0; i < events.size();) {
        const std::int64_t ns = events[i].ns;
        if (const int column = columnOf(ns, width); column > at) {
            add(at, fullest);
            if (column > at + 1) add(at + 1, now);
            at = column;
            fullest = now;
        }
        for (; i < events.size() && events[i].ns == ns; ++i) bytes[events[i].band] += events[i].bytes;
        std::uint64_t sum = 0;
        for (std::size_t band = 0; band < bytes.size(); ++band)
            now[band] = sum += std::uint64_t(std::max<std::int64_t>(bytes[band], 0));
        if (!now.empty() && now.back() > fullest.back()) fullest = now;
    }
    add(at, fullest);
    add(at + 1, now);
    return out;
}

int MemoryStack::listWidth() const { return std::clamp(width() * 2 / 5, kLeastList, kMostList); }

QRectF MemoryStack::chart() const {
    return QRectF(rect()).adjusted(64, kHead, -listWidth() - 16, -26).toRect();
}

QColor MemoryStack::colorOf(std::size_t band) const {
    const Theme& theme = Theme::current();
    return m_bands[band].isRest ? theme.disabledText : theme.series(band);
}

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
                         localized(formatBytes(top() / 1.08 * i / 2)));
    }
    const double length = double(m_course->endNs - m_course->startNs);
    // The label in the middle is drawn only if there is room for it.
    const int labels =
        area.width() < 3.5 * painter.fontMetrics().horizontalAdvance(localized(formatMs(length))) ? 2 : 1;
    for (int i = 0; i <= 2; i += labels)
        painter.drawText(QRectF(area.left() - 4, area.bottom() + 6, area.width() + 4, 16),
                         (i == 0   ? Qt::AlignLeft
                          : i == 1 ? Qt::AlignHCenter
                                   : Qt::AlignRight) |
                             Qt::AlignVCenter,
                         localized(formatMs(length * i / 2)));
    painter.setFont(twb::font(TextRole::small));
    const bool modelled = m_plan->virtualClock;
    drawElided(painter, QRectF(12, 0, area.right() - 12, kHead - 4).toRect(),
               Qt::AlignLeft | Qt::AlignVCenter,
               tr("%1, last iteration%2")
                   .arg(toQt(m_course->device.toString()), modelled ? tr(" · modelled times") : QString()));
}

void MemoryStack::paintBands(QPainter& painter) const {
    const Theme& theme = Theme::current();
    const QRectF area = chart();
    const std::vector<Column> steps = columns(int(area.width()));
    const auto y = [&](std::uint64_t bytes) { return area.bottom() - double(bytes) / top() * area.height(); };
    painter.setPen(Qt::NoPen);
    for (std::size_t band = m_bands.size(); band-- > 0;) {
        // From the top band down: each band is painted over the lower part of the previous one.
        QPainterPath path(QPointF(area.left(), area.bottom()));
        double last = area.bottom();
        for (const Column& column : steps) {
            path.lineTo(area.left() + column.at, last);
            last = y(column.sums[band]);
            path.lineTo(area.left() + column.at, last);
        }
        path.lineTo(area.right(), last);
        path.lineTo(area.right(), area.bottom());
        painter.fillPath(path, theme.panel);
        QColor fill = colorOf(band);
        fill.setAlphaF(theme.isDark ? 0.62f : 0.55f);
        painter.fillPath(path, fill);
    }
}

void MemoryStack::paintPeak(QPainter& painter) const {
    const Theme& theme = Theme::current();
    const QRectF area = chart();
    const double planned = std::round(area.bottom() - double(m_planned) / top() * area.height()) + 0.5;
    painter.setPen(QPen(theme.text, 1, Qt::DashLine));
    painter.drawLine(QPointF(area.left(), planned), QPointF(area.right(), planned));
    painter.setFont(twb::font(TextRole::small));
    // Above the line, but not over the heading.
    const double label = planned - 17 < kHead - 4 ? planned + 2 : planned - 17;
    drawElided(painter, QRectF(area.left() + 4, label, area.width() - 8, 16).toRect(),
               Qt::AlignRight | Qt::AlignVCenter,
               tr("planned %1").arg(localized(formatBytes(double(m_planned)))));
    const double x = area.left() + peakColumn(int(area.width())) + 0.5;
    const double y = area.bottom() - double(m_course->peakBytes) / top() * area.height();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.panel, 1));
    painter.setBrush(theme.warning);
    painter.drawPolygon(QPolygonF({{x, y + 1}, {x - 5, y - 8}, {x + 5, y - 8}}));
}

void MemoryStack::paintList(QPainter& painter) const {
    const Theme& theme = Theme::current();
    QRect row(width() - listWidth(), 0, listWidth() - kHandle, kLine);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.warning);
    const double y = row.center().y() + 1;
    painter.drawPolygon(
        QPolygonF({{row.left() + 4.0, y + 4}, {row.left() - 1.0, y - 4}, {row.left() + 9.0, y - 4}}));
    for (const Line& line : m_lines) {
        if (row.bottom() > height()) break;
        if (line.band >= 0) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(colorOf(std::size_t(line.band)));
            painter.drawRect(QRect(row.left(), row.center().y() - 4, 9, 9));
        }
        painter.setPen(line.isSum || line.band >= 0 ? theme.text : theme.secondaryText);
        painter.setFont(twb::font(TextRole::smallFigure));
        const QString bytes = localized(formatBytes(double(line.bytes)));
        painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, bytes);
        const int taken = painter.fontMetrics().horizontalAdvance(bytes) + 8;
        painter.setFont(twb::font(line.isSum ? TextRole::strong : TextRole::body));
        drawElided(painter, row.adjusted(16, 0, -taken, 0), Qt::AlignLeft | Qt::AlignVCenter, line.text,
                   Qt::ElideMiddle);
        row.translate(0, kLine);
    }
}

} // namespace twb
