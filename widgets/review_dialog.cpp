#include "widgets/review_dialog.h"

#include "widgets/labels.h"
#include "widgets/language.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

constexpr int kRowHeight = 26;
constexpr int kLeastRows = 1;
constexpr int kMostRows = 14; // the table scrolls beyond this
constexpr int kWidth = 720;

} // namespace

ReviewDialog::ReviewDialog(const Content& content, QWidget* parent) : QDialog(parent) {
    setObjectName(QStringLiteral("review"));
    setWindowTitle(content.title);
    const auto text = [](const QString& words, const QString& role = {}) {
        QLabel* label = makeLabel(words, TextRole::body, role);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        return label;
    };
    auto* table = new QTableWidget(int(content.rows.size()), int(content.columns.size()));
    table->setObjectName(QStringLiteral("reviewTable"));
    table->setAccessibleName(content.title);
    table->setHorizontalHeaderLabels(content.columns);
    dressTable(*table, kRowHeight);
    table->setWordWrap(false);
    const Qt::Alignment side = content.areWords ? Qt::AlignLeft : Qt::AlignRight;
    for (int row = 0; row < table->rowCount(); ++row)
        for (int column = 0; column < table->columnCount(); ++column) {
            auto* cell = new QTableWidgetItem(content.rows[std::size_t(row)].value(column));
            cell->setToolTip(cell->text());
            if (column > 0) cell->setData(Qt::TextAlignmentRole, int(side | Qt::AlignVCenter));
            if (column > 0 && !content.areWords) cell->setFont(twb::font(TextRole::figure));
            if (!content.alarm.isEmpty() && cell->text() == content.alarm)
                cell->setForeground(Theme::current().error);
            table->setItem(row, column, cell);
        }
    for (int column = 0; column < table->columnCount(); ++column)
        table->horizontalHeaderItem(column)->setData(
            Qt::TextAlignmentRole, int((column > 0 ? side : Qt::AlignLeft) | Qt::AlignVCenter));
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    const int rows = std::clamp(table->rowCount(), kLeastRows, kMostRows);
    table->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents); // avoids empty space
    table->setMinimumHeight(kRowHeight * rows + table->horizontalHeader()->sizeHint().height() + 2);

    auto* buttons =
        new QDialogButtonBox(content.apply.isEmpty() ? QDialogButtonBox::Close : QDialogButtonBox::Cancel);
    if (!content.apply.isEmpty()) {
        QPushButton* apply = buttons->addButton(content.apply, QDialogButtonBox::AcceptRole);
        apply->setDefault(true);
    }
    if (!content.rows.empty()) {
        QPushButton* copy = buttons->addButton(tr("Copy"), QDialogButtonBox::ActionRole);
        copy->setAutoDefault(false);
        copy->setToolTip(tr("Copies the table as text."));
        connect(copy, &QPushButton::clicked, this, [content] {
            QStringList lines{content.columns.join(QLatin1Char('\t'))};
            for (const QStringList& row : content.rows) {
                QStringList cells = row;
                for (qsizetype column = 1; column < cells.size() && !content.areWords; ++column)
                    cells[column] = withoutLocale(cells[column]);
                lines << cells.join(QLatin1Char('\t'));
            }
            QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')) + QLatin1Char('\n'));
        });
    }
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 12);
    layout->setSpacing(12);
    layout->addWidget(text(content.sentence));
    layout->addWidget(table, 1);
    if (!content.remark.isEmpty()) layout->addWidget(text(content.remark, QStringLiteral("secondary")));
    layout->addWidget(buttons);
    // A long table scrolls, and grows with the window.
    const int beyond = std::max(0, table->sizeHint().height() - table->minimumHeight());
    resize(kWidth, sizeHint().height() - (table->rowCount() > kMostRows ? beyond : 0));
}

} // namespace twb
