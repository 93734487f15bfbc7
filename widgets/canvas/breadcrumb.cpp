#include "widgets/canvas/breadcrumb.h"

#include "graph/module_levels.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/document.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QFontMetrics>
#include <QHBoxLayout>
#include <QPushButton>

#include <algorithm>

namespace twb {
namespace {

constexpr int kWidest = 200; ///< maximum width of a name above the open module

} // namespace

Breadcrumb::Breadcrumb(const Document& document, CanvasWidget& canvas, QWidget* parent)
    : QWidget(parent), m_document(document), m_canvas(canvas), m_way(new QHBoxLayout),
      m_hint(makeLabel(tr("Press Esc to leave the module"), TextRole::small, QStringLiteral("secondary"))),
      m_levels(makeLabel({}, TextRole::small, QStringLiteral("secondary"))),
      m_fewer(new QPushButton(QStringLiteral("−"))), m_more(new QPushButton(QStringLiteral("+"))) {
    setObjectName(QStringLiteral("breadcrumb"));
    setAccessibleName(tr("Path to the open module"));
    m_way->setContentsMargins(0, 0, 0, 0);
    m_way->setSpacing(2);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(12, 4, 12, 4);
    layout->addLayout(m_way);
    layout->addStretch(1);
    layout->addWidget(m_hint);
    layout->addSpacing(12);
    m_levels->setObjectName(QStringLiteral("levels"));
    m_fewer->setObjectName(QStringLiteral("levels.fewer"));
    m_fewer->setAccessibleName(tr("Collapse one level"));
    m_fewer->setToolTip(tr("Collapses the innermost expanded modules (Ctrl+[)."));
    m_more->setObjectName(QStringLiteral("levels.more"));
    m_more->setAccessibleName(tr("Expand one level"));
    m_more->setToolTip(tr("Expands the outermost collapsed modules (Ctrl+])."));
    for (QWidget* part :
         {static_cast<QWidget*>(m_levels), static_cast<QWidget*>(m_fewer), static_cast<QWidget*>(m_more)})
        layout->addWidget(part);
    for (QPushButton* button : {m_fewer, m_more}) {
        setStyleProperty(button, "role", QStringLiteral("link"));
        connect(button, &QPushButton::clicked, this, [this, by = button == m_more ? 1 : -1] {
            Q_EMIT levelsWanted(m_open + by);
            m_canvas.setFocus();
        });
    }
    connect(&canvas.navigator(), &CanvasNavigator::insideChanged, this, &Breadcrumb::refresh);
    connect(&document, &Document::changed, this, &Breadcrumb::refresh); // names may change
    connect(&document, &Document::pathChanged, this, &Breadcrumb::refresh);
    connect(&document, &Document::reset, this, &Breadcrumb::refresh);
    refresh();
}

void Breadcrumb::refresh() {
    const Graph& graph = m_document.graph();
    std::vector<FrameId> way;
    for (const Frame* at = graph.find(m_canvas.navigator().inside());
         at && way.size() <= graph.frames().size(); at = graph.find(at->parent))
        way.push_back(at->id);
    m_hint->setVisible(!way.empty());
    way.push_back(FrameId::none);
    std::reverse(way.begin(), way.end());
    refreshLevels();
    while (const QLayoutItem* item = m_way->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater(); // it may be the button that was pressed
        delete item;
    }
    for (const FrameId id : way) {
        const bool isHere = id == m_canvas.navigator().inside();
        const QString name = id == FrameId::none ? m_document.title() : toQt(graph.find(id)->title);
        if (m_way->count() > 0)
            m_way->addWidget(
                makeLabel(QStringLiteral("›"), TextRole::body, QStringLiteral("secondary"), this));
        if (isHere) { // it may take the room that is left
            auto* here = new ElidedLabel(this);
            here->setText(name);
            here->setFont(twb::font(TextRole::strong));
            here->setElideMode(Qt::ElideMiddle);
            here->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
            here->setContentsMargins(4, 0, 4, 0); // same as the buttons
            m_way->addWidget(here);
            continue;
        }
        const QString text =
            QFontMetrics(twb::font(TextRole::strong)).elidedText(name, Qt::ElideMiddle, kWidest);
        auto* button = new QPushButton(QString(text).replace(QLatin1Char('&'), QLatin1String("&&")), this);
        button->setObjectName(QStringLiteral("breadcrumb.%1").arg(value(id)));
        setStyleProperty(button, "role", QStringLiteral("link"));
        button->setAccessibleName(tr("Back to %1").arg(name));
        connect(button, &QPushButton::clicked, this, [this, id] {
            m_canvas.navigator().enter(id);
            m_canvas.setFocus();
        });
        m_way->addWidget(button);
    }
}

void Breadcrumb::refreshLevels() {
    const Graph& graph = m_document.graph();
    const FrameId inside = m_canvas.navigator().inside();
    const int all = moduleLevels(graph, inside);
    m_open = openLevels(graph, inside);
    setVisible(inside != FrameId::none || m_open < all);
    m_levels->setText(tr("Levels expanded: %1 of %2").arg(m_open).arg(all));
    for (QWidget* part :
         {static_cast<QWidget*>(m_levels), static_cast<QWidget*>(m_fewer), static_cast<QWidget*>(m_more)})
        part->setVisible(all > 0);
    m_fewer->setEnabled(m_open > 0);
    m_more->setEnabled(m_open < all);
}

} // namespace twb
