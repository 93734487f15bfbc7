#pragma once

#include "graph/module_op.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QTreeWidget;

namespace twb {

/// Asks for the name, the description and the attributes of a module that is saved to the palette. Each
/// attribute of its nodes can become one of the module; rows with the same name become one attribute that
/// sets all of them.
class SaveModuleDialog : public QDialog {
    Q_OBJECT

public:
    /// `op` without its final name; its attributes are proposed.
    SaveModuleDialog(const ModuleOp& op, const QString& name, QWidget* parent);

    /// Valid after exec() has returned QDialog::Accepted.
    ModuleOp op() const;

private:
    void list();
    void accept() override;
    QString refusal() const;
    std::vector<ModuleOp::Attribute> attributes() const;

    ModuleOp m_op;
    QLineEdit* m_name;
    QLineEdit* m_doc;
    QTreeWidget* m_values;
    QLabel* m_problem;
};

} // namespace twb
