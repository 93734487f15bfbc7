#include "widgets/inspector/tensor_panel.h"

#include "widgets/inspector/fact_rows.h"
#include "widgets/inspector/tensor_pictures.h"
#include "widgets/inspector/tensor_statistics.h"
#include "widgets/inspector/tensor_table_model.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <limits>

namespace twb {
namespace {

enum Tab { TableTab, HeatMapTab, HistogramTab, ScalarPage };

constexpr int kRowHeight = 20;
constexpr int kColumnWidth = 76;

} // namespace

TensorPanel::TensorPanel(QWidget* parent)
    : QWidget(parent), m_model(new TensorTableModel(this)), m_tabs(new QButtonGroup(this)),
      m_slice(new QSpinBox(this)),
      m_sliceLabel(makeLabel(tr("slice"), TextRole::small, QStringLiteral("secondary"))),
      m_reason(makeLabel({}, TextRole::body, QStringLiteral("secondary"))),
      m_scalar(makeLabel({}, TextRole::laneTitle)), m_stack(new QStackedWidget(this)),
      m_heatMap(new HeatMap(*m_model)), m_histogram(new HistogramView), m_facts(new FactRows) {
    m_tabRow = makeTabs();
    m_stack->addWidget(makeTable());
    m_stack->addWidget(m_heatMap);
    m_stack->addWidget(m_histogram);
    m_stack->addWidget(m_scalar);
    m_stack->setFixedHeight(136);
    m_scalar->setObjectName(QStringLiteral("scalarValue"));
    m_scalar->setAlignment(Qt::AlignCenter);
    m_scalar->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_reason->setWordWrap(true);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_tabRow);
    layout->addWidget(m_reason);
    layout->addWidget(m_stack);
    layout->addWidget(m_facts);
    showTab(HeatMapTab);
    setTensor(std::nullopt, {});
}

QWidget* TensorPanel::makeTabs() {
    auto* row = new QWidget(this);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeHeading(tr("Tensor")));
    layout->addStretch(1);
    const QString names[] = {tr("Table"), tr("Heat map"), tr("Histogram")};
    for (int i = 0; i < 3; ++i) {
        auto* button = new QPushButton(names[i]);
        button->setProperty("role", QStringLiteral("segment"));
        button->setCheckable(true);
        button->setAccessibleName(tr("Show the tensor as %1").arg(names[i]));
        m_tabs->addButton(button, i);
        layout->addWidget(button);
    }
    connect(m_tabs, &QButtonGroup::idClicked, this, &TensorPanel::showTab);

    m_slice->setObjectName(QStringLiteral("tensorSlice"));
    m_slice->setAccessibleName(tr("Slice of the tensor"));
    m_slice->setFont(twb::font(TextRole::figure));
    connect(m_slice, &QSpinBox::valueChanged, this, [this](int slice) { m_model->setSlice(slice); });
    auto* column = new QWidget(this);
    auto* outer = new QVBoxLayout(column);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->setSpacing(4);
    outer->addWidget(row);
    auto* slices = new QHBoxLayout;
    slices->addWidget(m_sliceLabel, 1);
    slices->addWidget(m_slice);
    outer->addLayout(slices);
    return column;
}

QWidget* TensorPanel::makeTable() {
    auto* table = new QTableView;
    table->setObjectName(QStringLiteral("tensorTable"));
    table->setAccessibleName(tr("Elements of the tensor"));
    table->setModel(m_model);
    table->setShowGrid(false);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table->horizontalHeader()->setDefaultSectionSize(kColumnWidth);
    table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    table->verticalHeader()->setMinimumSectionSize(kRowHeight);
    return table;
}

void TensorPanel::showTab(int index) {
    m_tabs->button(index)->setChecked(true);
    m_stack->setCurrentIndex(index);
}

void TensorPanel::setTensor(const std::optional<Tensor>& tensor, const QString& reason) {
    const bool shown = tensor && *tensor;
    m_reason->setText(reason);
    m_reason->setVisible(!shown);
    m_stack->setVisible(shown);
    m_facts->setVisible(shown);
    for (QAbstractButton* button : m_tabs->buttons())
        button->setVisible(shown && tensor->elementCount() != 1);
    if (!shown) {
        m_slice->hide();
        m_sliceLabel->hide();
        m_shown = nullptr;
        m_model->setTensor({});
        return;
    }
    if (m_shown == tensor->data()) return;
    m_shown = tensor->data();
    m_model->setTensor(*tensor);
    const auto slices = int(std::min<std::int64_t>(m_model->sliceCount(), std::numeric_limits<int>::max()));
    m_slice->setVisible(slices > 1);
    m_sliceLabel->setVisible(slices > 1);
    m_sliceLabel->setText(tr("slice, of %1").arg(grouped(slices)));
    m_slice->setRange(0, std::max(0, slices - 1));
    m_slice->setValue(0);

    const TensorStatistics s = statisticsOf(*tensor);
    m_heatMap->setRange(s.min, s.max);
    m_histogram->setStatistics(s);
    if (s.count == 1) {
        m_scalar->setText(m_model->textAt(0, 0));
        m_stack->setCurrentIndex(ScalarPage);
        m_stack->setFixedHeight(48);
    } else {
        m_stack->setFixedHeight(136);
        showTab(m_tabs->checkedId());
    }
    const QString dot = QStringLiteral(" · ");
    m_facts->setRows(
        {{tr("min · max"), compact(s.min) + dot + compact(s.max)},
         {tr("mean · std"), compact(s.mean) + dot + compact(s.std)},
         {tr("NaN · inf · zero"), grouped(s.nan) + dot + grouped(s.infinite) + dot + grouped(s.zero)}});
}

} // namespace twb
