#pragma once

#include "graph/module_op.h"
#include "widgets/document.h"

#include <QWidget>

#include <optional>
#include <set>
#include <vector>

class QVBoxLayout;

namespace twb {

class AttributeEditor;

/// The module op from which the selected module was made; null if the selection is something else.
const ModuleOp* selectedModule(const Document& document);

/// The editors for the attributes that the selected nodes have in common, or for those of a module that was
/// made from a module op. Edits the document.
class AttributeForm : public QWidget {
    Q_OBJECT

public:
    explicit AttributeForm(Document& document, QWidget* parent = nullptr);

    void showNodes(const std::vector<const Node*>& nodes); ///< at least one
    void showModule(const ModuleOp& op);                   ///< selectedModule()
    /// Removes the editors without an edit by them: the graph of the nodes may be gone.
    void clear();
    bool isFor(const std::set<NodeId>& nodes) const { return m_nodes == nodes; }
    bool isEmpty() const noexcept { return m_editors.empty(); }
    /// Of the nodes; empty for a module, and if one of them is unknown.
    const std::vector<const Op*>& ops() const noexcept { return m_ops; }

Q_SIGNALS:
    void refused(const QString& sentence); ///< the document refused a change

private:
    void dropEditors();
    void add(AttributeEditor* editor);
    void buildNodes(const std::vector<const Op*>& ops);
    void buildModule(const ModuleOp& op);
    void setOfNodes(const std::set<NodeId>& nodes, const AttributeSpec& spec,
                    const std::optional<AttributeValue>& value);
    void setOfModule(const std::string& name, const std::optional<AttributeValue>& value);
    void apply(Delta delta);

    Document& m_document;
    QVBoxLayout* m_rows;
    std::vector<AttributeEditor*> m_editors;
    std::set<NodeId> m_nodes; ///< of the current editors, like the members below
    std::vector<const Op*> m_ops;
    QString m_folder;                  ///< the document's
    std::optional<ModuleRef> m_module; ///< nothing for nodes
};

} // namespace twb
