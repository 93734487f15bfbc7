#include "widgets/save_module_dialog.h"

#include "ops/op_table.h"
#include "widgets/inspector/attribute_text.h"
#include "widgets/labels.h"
#include "widgets/palette/own_modules.h"
#include "widgets/text.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <set>

namespace twb {
namespace {

constexpr int kWidth = 560;
constexpr int kListHeight = 240;
constexpr int kRowHeight = 26;

enum Column { kValue, kName, kDefault };
enum Role { kNode = Qt::UserRole, kAttribute };

/// Only the attribute's name can be edited.
class NameDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const override {
        return index.column() == kName ? QStyledItemDelegate::createEditor(parent, option, index) : nullptr;
    }
};

/// Keys act on the cells as the text above the list says: Space ticks the row, F2 edits its name.
class ValueList : public QTreeWidget {
public:
    using QTreeWidget::QTreeWidget;

protected:
    void keyPressEvent(QKeyEvent* event) override {
        QTreeWidgetItem* row = currentItem();
        if (row && event->key() == Qt::Key_F2)
            editItem(row, kName);
        else if (row && event->key() == Qt::Key_Space)
            row->setCheckState(kValue, row->checkState(kValue) == Qt::Checked ? Qt::Unchecked : Qt::Checked);
        else
            QTreeWidget::keyPressEvent(event);
    }
};

ModuleOp::Setting settingOf(const QTreeWidgetItem& row) {
    return {NodeId(row.data(kValue, kNode).toULongLong()),
            row.data(kValue, kAttribute).toString().toStdString()};
}

} // namespace

SaveModuleDialog::SaveModuleDialog(const ModuleOp& op, const QString& name, QWidget* parent)
    : QDialog(parent), m_op(op), m_name(new QLineEdit(name)), m_doc(new QLineEdit(toQt(op.doc))),
      m_values(new ValueList), m_problem(makeLabel({}, TextRole::body, QStringLiteral("error"))) {
    setObjectName(QStringLiteral("saveModule"));
    setWindowTitle(tr("Save to palette"));
    m_name->setObjectName(QStringLiteral("moduleName"));
    m_doc->setObjectName(QStringLiteral("moduleDoc"));
    m_doc->setPlaceholderText(tr("one line, for the palette"));
    m_values->setObjectName(QStringLiteral("moduleValues"));
    m_values->setAccessibleName(tr("Attributes of the nodes"));
    m_values->setHeaderLabels({tr("Attribute of a node"), tr("Name"), tr("Default")});
    m_values->setRootIsDecorated(false);
    m_values->setUniformRowHeights(true);
    m_values->setTabKeyNavigation(false);
    m_values->setItemDelegate(new NameDelegate(m_values));
    m_values->setMinimumHeight(kListHeight);
    m_problem->setObjectName(QStringLiteral("moduleProblem"));
    m_problem->setWordWrap(true);
    m_problem->hide();
    list();

    auto* form = new QFormLayout;
    form->setHorizontalSpacing(12);
    form->setVerticalSpacing(8);
    form->addRow(tr("&Name"), m_name);
    form->addRow(tr("&Description"), m_doc);
    QLabel* help =
        makeLabel(tr("Tick the attributes that can be set wherever the module is used. Space ticks "
                     "a row, F2 changes its name; rows with one name are set together."),
                  TextRole::body, QStringLiteral("secondary"));
    help->setWordWrap(true);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel);
    connect(buttons, &QDialogButtonBox::accepted, this, &SaveModuleDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 12);
    layout->setSpacing(12);
    layout->addLayout(form);
    layout->addWidget(help);
    layout->addWidget(m_values, 1);
    layout->addWidget(m_problem);
    layout->addWidget(buttons);
    resize(kWidth, sizeHint().height());
    m_name->setFocus();
    m_name->selectAll();
}

/// The attributes of all nodes; those that the module has already are ticked.
void SaveModuleDialog::list() {
    std::set<std::string> names;
    for (const ModuleOp::Attribute& attribute : m_op.attributes) names.insert(attribute.name);
    for (const Node& node : m_op.fragment.nodes) {
        const Op* op = findOp(node.op);
        if (!op) continue;
        for (const AttributeSpec& spec : op->attributes) {
            const ModuleOp::Setting setting{node.id, spec.name};
            const auto known =
                std::ranges::find_if(m_op.attributes, [&](const ModuleOp::Attribute& attribute) {
                    return std::ranges::find(attribute.sets, setting) != attribute.sets.end();
                });
            std::string name = spec.name;
            if (known != m_op.attributes.end())
                name = known->name;
            else
                for (int n = 2; !names.insert(name).second; ++n) name = spec.name + std::to_string(n);
            auto* row = new QTreeWidgetItem(m_values);
            row->setText(kValue, QStringLiteral("%1 · %2").arg(toQt(node.name), toQt(spec.name)));
            row->setToolTip(kValue, toQt(spec.doc));
            row->setSizeHint(kValue, {0, kRowHeight});
            row->setData(kValue, kNode, qulonglong(value(node.id)));
            row->setData(kValue, kAttribute, toQt(spec.name));
            row->setText(kName, toQt(name));
            const AttributeValue* given = node.attributes.find(spec.name);
            row->setText(kDefault, textOf(given ? std::optional(*given) : spec.defaultValue));
            row->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable |
                          Qt::ItemIsEditable | Qt::ItemNeverHasChildren);
            row->setCheckState(kValue, known != m_op.attributes.end() ? Qt::Checked : Qt::Unchecked);
        }
    }
    if (m_values->topLevelItemCount() > 0) m_values->setCurrentItem(m_values->topLevelItem(0));
    m_values->header()->setStretchLastSection(true);
    for (const int column : {kValue, kName}) m_values->resizeColumnToContents(column);
}

std::vector<ModuleOp::Attribute> SaveModuleDialog::attributes() const {
    std::vector<ModuleOp::Attribute> out;
    for (int i = 0; i < m_values->topLevelItemCount(); ++i) {
        const QTreeWidgetItem& row = *m_values->topLevelItem(i);
        if (row.checkState(kValue) != Qt::Checked) continue;
        const std::string name = row.text(kName).trimmed().toStdString();
        auto at = std::ranges::find(out, name, &ModuleOp::Attribute::name);
        if (at == out.end()) at = out.insert(out.end(), {name, {}, {}});
        at->sets.push_back(settingOf(row));
    }
    for (ModuleOp::Attribute& attribute : out)
        for (const ModuleOp::Attribute& before : m_op.attributes)
            if (before.name == attribute.name) attribute.doc = before.doc;
    return out;
}

/// Why the input is invalid; empty if it is valid.
QString SaveModuleDialog::refusal() const {
    if (QString problem = refusalOfName(m_name->text().trimmed()); !problem.isEmpty()) return problem;
    for (const ModuleOp::Attribute& attribute : attributes()) {
        if (attribute.name.empty()) return tr("A ticked attribute has no name.");
        const auto specOfSetting = [&](const ModuleOp::Setting& setting) {
            return opOf(m_op, setting)->attribute(setting.attribute);
        };
        const AttributeSpec* first = specOfSetting(attribute.sets.front());
        for (const ModuleOp::Setting& setting : attribute.sets) {
            const AttributeSpec* other = specOfSetting(setting);
            if (other->type != first->type || other->choices != first->choices)
                return tr("%1 has values of different kinds. Give its rows different names.")
                    .arg(toQt(attribute.name));
        }
    }
    return {};
}

void SaveModuleDialog::accept() {
    const QString problem = refusal();
    m_problem->setText(problem);
    m_problem->setVisible(!problem.isEmpty());
    if (problem.isEmpty()) QDialog::accept();
}

ModuleOp SaveModuleDialog::op() const {
    ModuleOp out = m_op;
    out.name = m_name->text().trimmed().toStdString();
    out.doc = m_doc->text().trimmed().toStdString();
    out.attributes = attributes();
    return out;
}

} // namespace twb
