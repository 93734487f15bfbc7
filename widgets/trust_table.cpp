#include "widgets/trust_table.h"

#include "ops/plugins/project_plugins.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QDir>
#include <QHeaderView>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace twb {
namespace {

constexpr int kRowHeight = 26;
constexpr int kFolder = Qt::UserRole;
constexpr int kBefore = Qt::UserRole + 1;

std::filesystem::path folderOf(const QTreeWidgetItem& row) {
    return std::filesystem::path(row.data(0, kFolder).toString().toStdU16String());
}

} // namespace

TrustTable::TrustTable(QWidget* parent)
    : QWidget(parent), m_list(new QTreeWidget), m_forget(new QPushButton(tr("&Forget the answer"))) {
    m_list->setObjectName(QStringLiteral("trustList"));
    m_list->setAccessibleName(tr("Plug-in folders"));
    m_list->setHeaderLabels({tr("plug-in folder")});
    m_list->setRootIsDecorated(false);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (const auto& [folder, isTrusted] : rememberedTrust()) {
        auto* row = new QTreeWidgetItem(m_list, {QDir::toNativeSeparators(toQt(folder.string()))});
        row->setToolTip(0, row->text(0));
        row->setSizeHint(0, {0, kRowHeight});
        row->setData(0, kFolder, toQt(folder.string()));
        row->setData(0, kBefore, isTrusted);
        row->setCheckState(0, isTrusted ? Qt::Checked : Qt::Unchecked);
    }
    m_forget->setObjectName(QStringLiteral("forgetTrust"));
    m_forget->setToolTip(tr("Asks again when a project of this folder is opened."));
    QLabel* help =
        makeLabel(tr("A project can bring plug-ins in the folder ops beside it. The plug-ins of ticked "
                     "folders are used. A plug-in that is in use stays so until the program ends."),
                  TextRole::body, QStringLiteral("secondary"));
    help->setWordWrap(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 12, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(help);
    layout->addWidget(m_list, 1);
    layout->addWidget(m_forget, 0, Qt::AlignLeft);
    connect(m_forget, &QPushButton::clicked, this, &TrustTable::forget);
    connect(m_list, &QTreeWidget::currentItemChanged, this, &TrustTable::refresh);
    if (m_list->topLevelItemCount() > 0) m_list->setCurrentItem(m_list->topLevelItem(0));
    refresh();
}

void TrustTable::refresh() { m_forget->setEnabled(m_list->currentItem() != nullptr); }

void TrustTable::forget() {
    QTreeWidgetItem* row = m_list->currentItem();
    if (!row) return;
    m_forgotten.push_back(folderOf(*row));
    delete row;
    refresh();
}

void TrustTable::write() const {
    for (const std::filesystem::path& folder : m_forgotten) forgetTrust(folder);
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        const QTreeWidgetItem& row = *m_list->topLevelItem(i);
        const bool isTrusted = row.checkState(0) == Qt::Checked;
        if (isTrusted != row.data(0, kBefore).toBool()) rememberTrust(folderOf(row), isTrusted);
    }
}

} // namespace twb
