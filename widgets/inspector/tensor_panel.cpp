#include "widgets/inspector/tensor_panel.h"

#include "core/error.h"
#include "core/format.h"
#include "formats/npy.h"
#include "widgets/inspector/fact_rows.h"
#include "widgets/inspector/tensor_comparison.h"
#include "widgets/inspector/tensor_image.h"
#include "widgets/inspector/tensor_pictures.h"
#include "widgets/inspector/tensor_table_model.h"
#include "widgets/inspector/tensor_text.h"
#include "widgets/labels.h"
#include "widgets/message_box.h"
#include "widgets/text.h"
#include "widgets/wheel_guard.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>

namespace twb {
namespace {

enum View {
    TableView,
    HeatMapView,
    ImageView,
    LinePage,
    HistogramPage,
    DifferenceView,
    RelativeView, ///< pages from here on do not correspond to a view
    ScalarView
};

constexpr int kRowHeight = 20;
constexpr int kColumnWidth = 76;
constexpr int kHeight = 168; ///< the minimum; it grows with the inspector
constexpr int kScalarHeight = 48;
constexpr int kViewsWidth = 144;
constexpr int kLeastViewsWidth = 104;
constexpr int kImageHeight = 244;
constexpr std::int64_t kReadAtOnce =
    1'000'000; ///< elements; statistics up to this number take a few milliseconds

} // namespace

TensorPanel::TensorPanel(const QString& title, std::function<void(const QString& path)> checkTarget,
                         QWidget* parent)
    : QWidget(parent), m_model(new TensorTableModel(this)), m_differenceModel(new TensorTableModel(this)),
      m_views(new QComboBox), m_menu(new QPushButton(QStringLiteral("•••"))), m_slice(new QSpinBox),
      m_sliceLabel(makeLabel({}, TextRole::small, QStringLiteral("secondary"))), m_page(new QSpinBox),
      m_pageLabel(makeLabel({}, TextRole::small, QStringLiteral("secondary"))),
      m_reason(makeLabel({}, TextRole::body, QStringLiteral("secondary"))),
      m_scalar(makeLabel({}, TextRole::laneTitle)), m_stack(new QStackedWidget),
      m_heatMap(new HeatMap(*m_model)), m_difference(new HeatMap(*m_differenceModel)),
      m_image(new TensorImage), m_line(new LineView(*m_model)), m_histogram(new HistogramView),
      m_facts(new FactRows), m_checkTarget(std::move(checkTarget)) {
    m_head = makeHead(title);
    m_stack->addWidget(makeTable());
    m_stack->addWidget(m_heatMap);
    m_stack->addWidget(m_image);
    m_stack->addWidget(m_line);
    m_stack->addWidget(m_histogram);
    m_stack->addWidget(m_difference);
    m_stack->addWidget(m_scalar);
    m_scalar->setObjectName(QStringLiteral("scalarValue"));
    m_scalar->setAlignment(Qt::AlignCenter);
    m_scalar->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_reason->setWordWrap(true);
    m_facts->setObjectName(QStringLiteral("tensorFacts"));
    m_stack->setObjectName(QStringLiteral("tensorPages"));

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_head);
    layout->addWidget(m_reason);
    layout->addWidget(m_stack, 1);
    layout->addWidget(m_facts);
    m_views->setCurrentIndex(HeatMapView);
    showNothing({});
}

TensorPanel::~TensorPanel() = default;

QWidget* TensorPanel::makeHead(const QString& title) {
    m_views->addItems({tr("Table"), tr("Heat map"), tr("Image"), tr("Line"), tr("Histogram"),
                       tr("Difference"), tr("Relative")});
    m_views->setItemData(RelativeView, tr("The difference divided by the magnitude of the reference value"),
                         Qt::ToolTipRole);
    // Long words may be broken, so that they do not widen the inspector.
    m_views->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_views->setMinimumContentsLength(6);
    m_views->setMinimumWidth(kLeastViewsWidth);
    m_views->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_views->setMaximumWidth(kViewsWidth);
    m_views->setObjectName(QStringLiteral("tensorView"));
    m_views->setAccessibleName(tr("View of the tensor"));
    connect(m_views, &QComboBox::currentIndexChanged, this, &TensorPanel::showView);
    m_menu->setObjectName(QStringLiteral("tensorMenu"));
    m_menu->setProperty("role", QStringLiteral("segment"));
    m_menu->setAccessibleName(tr("Tensor actions"));
    m_menu->setToolTip(m_menu->accessibleName());
    fillMenu();
    auto* head = new QWidget(this);
    auto* column = new QVBoxLayout(head);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    row->addWidget(makeHeading(title));
    row->addStretch(0);
    row->addWidget(m_views, 1, Qt::AlignRight);
    row->addWidget(m_menu);
    column->addLayout(row);
    const auto addSpin = [&](QLabel* label, QSpinBox* spin, const QString& object, const QString& name) {
        spin->setObjectName(object);
        spin->setAccessibleName(name);
        spin->setFont(twb::font(TextRole::figure));
        needFocusForWheel(*spin);
        auto* line = new QHBoxLayout;
        line->addWidget(label, 1);
        line->addWidget(spin);
        column->addLayout(line);
    };
    addSpin(m_sliceLabel, m_slice, QStringLiteral("tensorSlice"), tr("Slice of the tensor"));
    addSpin(m_pageLabel, m_page, QStringLiteral("tensorPage"), tr("Page of the table"));
    connect(m_slice, &QSpinBox::valueChanged, this, [this](int slice) {
        m_model->setSlice(slice);
        m_differenceModel->setSlice(slice);
    });
    connect(m_page, &QSpinBox::valueChanged, this, [this](int page) { m_model->setPage(page); });
    return head;
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

bool TensorPanel::hasPicture() const { return m_tensor && m_tensor.elementCount() != 1; }

void TensorPanel::fillMenu() {
    auto* menu = new QMenu(this);
    menu->addAction(tr("Copy as &NumPy text"), this, &TensorPanel::copyAsNumPy);
    menu->addAction(tr("&Save as .npy…"), this, &TensorPanel::saveAsNpy);
    menu->addSeparator();
    menu->addAction(tr("Use as &reference"), this, &TensorPanel::keep)
        ->setToolTip(
            tr("Keeps this tensor as the reference; the panel compares it with each tensor of the same shape "
               "that you select."));
    menu->setToolTipsVisible(true);
    m_menu->setMenu(menu);
}

void TensorPanel::showView() {
    if (!m_tensor) return;
    const int view = m_views->currentIndex();
    const bool isScalar = m_tensor.elementCount() == 1;
    const bool isComparison = !isScalar && view >= DifferenceView;
    m_reason->hide();
    m_stack->show();
    m_stack->setCurrentWidget(isScalar       ? static_cast<QWidget*>(m_scalar)
                              : isComparison ? m_difference
                                             : m_stack->widget(view));
    m_stack->setMinimumHeight(isScalar ? kScalarHeight : view == ImageView ? kImageHeight : kHeight);
    m_stack->setMaximumHeight(isScalar ? kScalarHeight : QWIDGETSIZE_MAX);
    const bool isPaged = view == TableView && m_model->pageCount() > 1;
    m_page->setVisible(isPaged);
    m_pageLabel->setVisible(isPaged);
    const bool hasSlices = m_model->sliceCount() > 1 && view != ImageView && view != HistogramPage;
    m_slice->setVisible(hasSlices);
    m_sliceLabel->setVisible(hasSlices);
    if (view == ImageView && (m_tensor.shape().rank() < 2 || m_tensor.shape().rank() > 4))
        refuse(
            tr("An image needs two to four axes; this tensor is %1.").arg(toQt(m_tensor.shape().toString())));
    m_differenceModel->setTensor({});
    if (isComparison)
        compareWithKept();
    else if (m_statistics)
        sayStatistics();
}

void TensorPanel::refuse(const QString& reason) {
    m_stack->hide();
    m_reason->setText(reason);
    m_reason->show();
}

void TensorPanel::showNothing(const QString& reason) {
    m_reader.drop();
    m_comparer.drop();
    m_comparison.reset();
    m_tensor = {};
    m_model->setTensor({});
    m_differenceModel->setTensor({});
    m_reason->setText(reason);
    m_reason->show();
    m_stack->hide();
    m_facts->hide();
    m_views->hide();
    m_menu->hide();
    for (QWidget* widget : {static_cast<QWidget*>(m_slice), static_cast<QWidget*>(m_sliceLabel),
                            static_cast<QWidget*>(m_page), static_cast<QWidget*>(m_pageLabel)})
        widget->hide();
}

void TensorPanel::setTensor(const std::optional<Tensor>& tensor, const QString& reason, const QString& name) {
    if (!tensor || !*tensor) return showNothing(reason);
    if (m_tensor && m_tensor.data() == tensor->data()) return; // unchanged, so nothing is computed
    m_tensor = *tensor;
    m_name = name;
    m_reason->hide();
    m_stack->show();
    m_facts->show();
    m_menu->show();
    m_views->setVisible(m_tensor.elementCount() != 1);
    m_model->setTensor(m_tensor);
    countSlices();
    if (m_tensor.elementCount() == 1) m_scalar->setText(m_model->textAt(0, 0));
    m_statistics.reset();
    m_comparer.drop();
    m_comparison.reset();
    showView();
    readStatistics();
}

void TensorPanel::countSlices() {
    const auto slices = int(std::min<std::int64_t>(m_model->sliceCount(), std::numeric_limits<int>::max()));
    m_sliceLabel->setText(tr("slice, of %1").arg(grouped(slices)));
    m_slice->setRange(0, std::max(0, slices - 1));
    m_slice->setValue(0);
    const auto pages = int(std::min<std::int64_t>(m_model->pageCount(), std::numeric_limits<int>::max()));
    m_pageLabel->setText(tr("page of the table, of %1").arg(grouped(pages)));
    m_page->setRange(0, std::max(0, pages - 1));
    m_page->setValue(0);
}

/// Statistics of a large tensor are computed on another thread.
void TensorPanel::readStatistics() {
    m_reader.drop();
    if (m_tensor.elementCount() <= kReadAtOnce) return showStatistics(statisticsOf(m_tensor));
    m_facts->setRows({{tr("statistics"), tr("computing…")}});
    m_reader.start([tensor = m_tensor] { return statisticsOf(tensor); },
                   [this](const TensorStatistics& statistics) { showStatistics(statistics); });
}

void TensorPanel::showStatistics(const TensorStatistics& statistics) {
    m_statistics = statistics;
    m_heatMap->setRange(statistics.min, statistics.max);
    m_line->setRange(statistics.min, statistics.max);
    m_histogram->setStatistics(statistics);
    m_image->setTensor(m_tensor, statistics.min, statistics.max);
    showView();
}

void TensorPanel::sayStatistics() {
    const TensorStatistics& s = *m_statistics;
    const QString dot = QStringLiteral(" · ");
    std::vector<FactRows::Row> rows{
        {tr("min"), s.minAt < 0 ? compact(s.min) : valueText(m_tensor, s.minAt)},
        {tr("max"), s.maxAt < 0 ? compact(s.max) : valueText(m_tensor, s.maxAt)},
        {tr("mean"), compact(s.mean)},
        {tr("std"), compact(s.std)},
        {tr("NaN · inf · zero"), grouped(s.nan) + dot + grouped(s.infinite) + dot + grouped(s.zero)}};
    if (s.firstNan >= 0) rows.push_back({tr("first NaN at"), indexText(m_tensor.shape(), s.firstNan)});
    if (s.firstInfinite >= 0)
        rows.push_back({tr("first inf at"), indexText(m_tensor.shape(), s.firstInfinite)});
    m_facts->setRows(rows);
}

/// The difference from the reference; for large tensors, computed on another thread.
void TensorPanel::compareWithKept() {
    if (!m_kept)
        return refuse(
            tr("Choose “Use as reference” in the menu beside the view, then select another tensor."));
    if (m_kept.shape() != m_tensor.shape())
        return refuse(
            tr("The reference %1 is %2, this tensor is %3. Select a tensor of the same shape.")
                .arg(m_keptName, toQt(m_kept.shape().toString()), toQt(m_tensor.shape().toString())));
    if (m_comparison) return showComparison();
    using Result = std::shared_ptr<const TensorComparison>;
    const auto work = [a = m_tensor, b = m_kept]() -> Result {
        try {
            return std::make_shared<const TensorComparison>(compare(a, b));
        } catch (const std::exception&) {
            return nullptr; // not enough memory for further tensors of that size
        }
    };
    const auto done = [this](const Result& result) {
        m_comparison = result;
        if (result)
            showView();
        else
            refuse(tr("Not enough memory to compare tensors of this size."));
    };
    if (m_tensor.elementCount() <= kReadAtOnce) return done(work());
    m_facts->setRows({{tr("reference"), m_keptName}, {tr("differences"), tr("computing…")}});
    m_comparer.start(work, done);
}

void TensorPanel::showComparison() {
    const TensorComparison& difference = *m_comparison;
    const bool relative = m_views->currentIndex() == RelativeView;
    m_differenceModel->setTensor(relative ? difference.relative : difference.difference);
    m_differenceModel->setSlice(m_slice->value());
    // If no element differs, all differences are 0.
    m_difference->setRange(0, std::max(relative ? difference.maxRel : difference.maxAbs, 1e-30));
    std::vector<FactRows::Row> rows{
        {tr("reference"), m_keptName},
        {tr("differ"), tr("%1 of %2").arg(grouped(difference.differing), grouped(difference.count))},
        {tr("max abs"), compact(difference.maxAbs)},
        {tr("max rel"), compact(difference.maxRel)},
        {tr("mean abs"), compact(difference.meanAbs)}};
    if (difference.worst >= 0) {
        rows.push_back({tr("worst at"), indexText(m_tensor.shape(), difference.worst)});
        rows.push_back({tr("this tensor"), valueText(m_tensor, difference.worst)});
        rows.push_back({tr("reference value"), valueText(m_kept, difference.worst)});
    }
    m_facts->setRows(rows);
}

void TensorPanel::keep() {
    m_comparer.drop();
    m_comparison.reset();
    m_kept = m_tensor;
    m_keptName = m_name;
    showView();
}

void TensorPanel::copyAsNumPy() {
    if (const std::optional<QString> text = numpyText(m_tensor)) {
        QApplication::clipboard()->setText(*text);
        return;
    }
    QMessageBox box(QMessageBox::NoIcon, tr("Too large to copy as text"),
                    tr("%1 has more than %2 elements.").arg(m_name, grouped(kMostNumpyElements)),
                    QMessageBox::Ok, this);
    box.setInformativeText(tr("Save it as .npy and read it with np.load()."));
    dress(box, Severity::note);
    box.exec();
}

void TensorPanel::saveAsNpy() {
    QString name = m_name;
    name.replace(QLatin1Char('/'), QLatin1Char('_'));
    QString path = QFileDialog::getSaveFileName(this, tr("Save the tensor"), name + QStringLiteral(".npy"),
                                                tr("NumPy arrays (*.npy)"));
    if (path.isEmpty()) return;
    if (!path.endsWith(QLatin1String(".npy"), Qt::CaseInsensitive)) path += QStringLiteral(".npy");
    try {
        m_checkTarget(path);
        writeNpy(path.toStdString(), m_tensor.view());
    } catch (const Error& error) {
        showError(tr("Cannot save the tensor"), toQt(error.what()), this);
    }
}

} // namespace twb
