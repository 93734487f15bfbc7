#include "widgets/breakpoint_dialog.h"

#include "widgets/labels.h"
#include "widgets/text.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr int kLimitWidth = 120;

} // namespace

BreakpointDialog::BreakpointDialog(const QString& node, const Breakpoint& start, bool hasInputs,
                                   QWidget* parent)
    : QDialog(parent), m_place(new QComboBox), m_statistic(new QComboBox), m_relation(new QComboBox),
      m_limit(new QLineEdit),
      m_buttons(new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel)) {
    setObjectName(QStringLiteral("breakpoint"));
    setWindowTitle(tr("Pause on a condition"));
    using Kind = Breakpoint::Kind;
    m_place->addItem(tr("after the node, on its output"), int(Kind::condition));
    if (hasInputs) m_place->addItem(tr("before the node, on any of its inputs"), int(Kind::input));
    m_place->setObjectName(QStringLiteral("place"));
    m_place->setAccessibleName(tr("Where the run pauses"));
    m_place->setCurrentIndex(std::max(0, m_place->findData(int(start.kind))));
    using Statistic = Breakpoint::Statistic;
    const std::pair<Statistic, QString> statistics[] = {{Statistic::min, tr("minimum")},
                                                        {Statistic::max, tr("maximum")},
                                                        {Statistic::mean, tr("mean")},
                                                        {Statistic::std, tr("standard deviation")},
                                                        {Statistic::absMax, tr("largest magnitude")},
                                                        {Statistic::nan, tr("number of NaNs")},
                                                        {Statistic::inf, tr("number of infs")}};
    for (const auto& [statistic, text] : statistics) m_statistic->addItem(text, int(statistic));
    for (int i = 0; i <= int(Breakpoint::Relation::greater); ++i)
        m_relation->addItem(toQt(name(Breakpoint::Relation(i))), i);
    m_statistic->setObjectName(QStringLiteral("statistic"));
    m_statistic->setAccessibleName(tr("Statistic of the tensor"));
    m_statistic->setCurrentIndex(m_statistic->findData(int(start.statistic)));
    m_relation->setObjectName(QStringLiteral("relation"));
    m_relation->setAccessibleName(tr("Comparison"));
    m_relation->setCurrentIndex(m_relation->findData(int(start.relation)));
    m_limit->setObjectName(QStringLiteral("limit"));
    m_limit->setAccessibleName(tr("Number to compare with"));
    m_limit->setFont(twb::font(TextRole::figure));
    m_limit->setFixedWidth(kLimitWidth);
    m_limit->setText(localized(QString::number(start.limit, 'g', QLocale::FloatingPointShortest)));
    m_limit->selectAll();

    auto* sentence = makeLabel(
        tr("The run pauses at %1 in each iteration that meets this condition:").arg(node), TextRole::body);
    sentence->setWordWrap(true);
    auto* remark = makeLabel(
        tr("Minimum, maximum, mean, standard deviation and magnitude count only the finite elements."),
        TextRole::small, QStringLiteral("secondary"));
    remark->setWordWrap(true);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(m_statistic, 1);
    row->addWidget(m_relation);
    row->addWidget(m_limit);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(12);
    layout->addWidget(sentence);
    layout->addWidget(m_place);
    layout->addLayout(row);
    layout->addWidget(remark);
    layout->addStretch(1);
    layout->addWidget(m_buttons);
    resize(432, sizeHint().height());
    connect(m_limit, &QLineEdit::textChanged, this, &BreakpointDialog::refresh);
    connect(m_buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    m_limit->setFocus();
    refresh();
}

std::optional<double> BreakpointDialog::limit() const {
    const std::optional<double> value = typedNumber(m_limit->text());
    return value && std::isfinite(*value) ? value : std::nullopt;
}

void BreakpointDialog::refresh() { m_buttons->button(QDialogButtonBox::Ok)->setEnabled(limit().has_value()); }

Breakpoint BreakpointDialog::breakpoint() const {
    Breakpoint out;
    out.kind = Breakpoint::Kind(m_place->currentData().toInt());
    out.statistic = Breakpoint::Statistic(m_statistic->currentData().toInt());
    out.relation = Breakpoint::Relation(m_relation->currentData().toInt());
    out.limit = limit().value_or(0);
    return out;
}

} // namespace twb
