#include "widgets/inspector/fact_rows.h"

#include "widgets/wrapped_label.h"

#include <QGridLayout>

namespace twb {
namespace {

constexpr int kRowHeight = 18;

} // namespace

FactRows::FactRows(QWidget* parent) : QWidget(parent), m_layout(new QGridLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setHorizontalSpacing(12);
    m_layout->setVerticalSpacing(4);
    m_layout->setColumnStretch(1, 1);
}

void FactRows::setRows(const std::vector<Row>& rows) {
    while (m_labels.size() < rows.size()) {
        auto* name = makeLabel({}, TextRole::body, QStringLiteral("secondary"), this);
        name->setMinimumHeight(kRowHeight);
        auto* value = new WrappedLabel(this);
        value->setMinimumHeight(kRowHeight);
        value->setFont(twb::font(TextRole::figure));
        value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
        const int row = int(m_labels.size());
        m_layout->addWidget(name, row, 0, Qt::AlignTop); // beside the first line of the value
        m_layout->addWidget(value, row, 1);
        m_layout->setRowMinimumHeight(row, kRowHeight);
        m_labels.emplace_back(name, value);
    }
    for (std::size_t i = 0; i < m_labels.size(); ++i) {
        const bool used = i < rows.size();
        const auto& [name, value] = m_labels[i];
        name->setVisible(used);
        value->setVisible(used);
        // Setting an equal text would cause a new layout every frame of a run.
        if (const int least = used ? kRowHeight : 0; m_layout->rowMinimumHeight(int(i)) != least)
            m_layout->setRowMinimumHeight(int(i), least);
        if (!used) continue;
        name->setText(rows[i].first);
        value->setText(rows[i].second);
        value->setAccessibleName(QStringLiteral("%1: %2").arg(rows[i].first, rows[i].second));
    }
}

} // namespace twb
