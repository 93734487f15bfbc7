#include "widgets/watch_dialog.h"

#include "widgets/labels.h"

#include <QDialogButtonBox>
#include <QListWidget>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

constexpr int kWidth = 620;
constexpr int kHeight = 300;
constexpr int kRefreshMs = 1000;

QLabel* sentence(const QString& text, TextRole role = TextRole::body) {
    QLabel* label = makeLabel(text, role);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

WatchDialog::WatchDialog(QWidget* parent)
    : QDialog(parent), m_list(new QListWidget), m_pages(new QStackedWidget),
      m_buttons(new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel)) {
    setObjectName(QStringLiteral("watch"));
    setWindowTitle(tr("Watch a process"));
    m_list->setObjectName(QStringLiteral("programs"));
    m_list->setAccessibleName(tr("Programs that can be watched"));
    m_list->setTextElideMode(Qt::ElideMiddle);

    auto* none = new QWidget;
    auto* code =
        sentence(QStringLiteral("import tensor_workbench\ntensor_workbench.watch()"), TextRole::figure);
    auto* help = new QVBoxLayout(none);
    help->setContentsMargins(0, 0, 0, 0);
    help->setSpacing(12);
    help->addWidget(
        sentence(tr("No program can be watched now. Start a PyTorch script with these lines at its "
                    "beginning. It appears here as soon as it runs.")));
    help->addWidget(code);
    help->addStretch(1);
    m_pages->addWidget(m_list);
    m_pages->addWidget(none);

    QPushButton* watch = m_buttons->button(QDialogButtonBox::Ok);
    watch->setText(tr("Watch"));
    connect(m_buttons, &QDialogButtonBox::accepted, this, &WatchDialog::choose);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_list, &QListWidget::itemActivated, this, &WatchDialog::choose);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 12);
    layout->setSpacing(12);
    layout->addWidget(
        sentence(tr("Shows the transfers, waits and steps of a running PyTorch program as they happen.")));
    layout->addWidget(m_pages, 1);
    layout->addWidget(m_buttons);
    resize(kWidth, kHeight);
    connect(&m_timer, &QTimer::timeout, this, &WatchDialog::refresh);
    m_timer.start(kRefreshMs);
    refresh();
}

void WatchDialog::refresh() {
    std::vector<WatchableProgram> programs = watchablePrograms();
    const auto isSame = [](const WatchableProgram& a, const WatchableProgram& b) {
        return a.process == b.process && a.commandLine == b.commandLine;
    };
    if (m_list->count() == 0 ||
        !std::equal(programs.begin(), programs.end(), m_programs.begin(), m_programs.end(), isSame)) {
        const qint64 current =
            m_list->currentRow() >= 0 ? m_programs[std::size_t(m_list->currentRow())].process : 0;
        m_programs = std::move(programs);
        m_list->clear();
        for (const WatchableProgram& program : m_programs) {
            m_list->addItem(QStringLiteral("%1   %2").arg(program.process).arg(program.commandLine));
            if (program.process == current) m_list->setCurrentRow(m_list->count() - 1);
        }
        if (m_list->currentRow() < 0 && !m_programs.empty()) m_list->setCurrentRow(0);
    }
    m_pages->setCurrentIndex(m_programs.empty() ? 1 : 0);
    m_buttons->button(QDialogButtonBox::Ok)->setEnabled(!m_programs.empty());
}

void WatchDialog::choose() {
    m_chosen = m_list->currentRow();
    if (m_chosen >= 0) accept();
}

} // namespace twb
