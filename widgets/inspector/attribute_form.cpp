#include "widgets/inspector/attribute_form.h"

#include "core/error.h"
#include "ops/op_table.h"
#include "widgets/edit_title.h"
#include "widgets/graph_edits.h"
#include "widgets/inspector/attribute_editor.h"
#include "widgets/labels.h"
#include "widgets/module_edits.h"
#include "widgets/palette/own_modules.h"
#include "widgets/text.h"

#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace twb {

const ModuleOp* selectedModule(const Document& document) {
    const Selection& selection = document.selection();
    if (selection.nodes.size() < 2) return nullptr;
    const Frame* frame = document.graph().find(moduleOf(document.graph(), selection));
    const std::optional<ModuleRef> ref = frame ? madeFrom(*frame) : std::nullopt;
    const ModuleOp* op = ref ? ownModule(toQt(ref->name)) : nullptr;
    return op && isMadeFrom(document.graph(), frame->id, *op, selection.nodes) ? op : nullptr;
}

AttributeForm::AttributeForm(Document& document, QWidget* parent)
    : QWidget(parent), m_document(document), m_rows(new QVBoxLayout(this)) {
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setSpacing(6);
}

void AttributeForm::clear() {
    dropEditors();
    m_nodes.clear();
}

void AttributeForm::add(AttributeEditor* editor) {
    m_rows->addWidget(editor);
    m_editors.push_back(editor);
}

void AttributeForm::showNodes(const std::vector<const Node*>& nodes) {
    std::set<NodeId> ids;
    std::vector<const Op*> ops;
    for (const Node* node : nodes) {
        ids.insert(node->id);
        const Op* op = findOp(node->op);
        if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
    }
    if (std::find(ops.begin(), ops.end(), nullptr) != ops.end())
        ops.clear(); // an unknown op has no known attributes
    if (ids != m_nodes || ops != m_ops || m_document.folder() != m_folder || m_module) {
        m_nodes = std::move(ids);
        m_folder = m_document.folder();
        buildNodes(ops);
    }
    for (AttributeEditor* editor : m_editors) {
        const auto valueOf = [&](const Node* node) {
            const AttributeValue* value = node->attributes.find(editor->spec().name);
            return value ? std::optional(*value) : std::nullopt;
        };
        const auto first = valueOf(nodes.front());
        const bool same =
            std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) { return valueOf(node) == first; });
        if (same)
            editor->setValue(first);
        else
            editor->setMixed();
    }
}

void AttributeForm::dropEditors() {
    for (AttributeEditor* editor : std::exchange(m_editors, {})) {
        editor->disconnect(this); // hide() takes the focus from the editor, which then reports its text
        editor->hide();
        editor->deleteLater(); // the call may come from this editor
    }
    m_ops.clear();
    m_module.reset();
}

/// For the attributes that all of these ops have.
void AttributeForm::buildNodes(const std::vector<const Op*>& ops) {
    dropEditors();
    m_ops = ops;
    if (ops.empty()) return;
    for (const AttributeSpec& spec : ops.front()->attributes) {
        const bool isShared = std::all_of(ops.begin(), ops.end(), [&](const Op* op) {
            const AttributeSpec* other = op->attribute(spec.name);
            return other && other->type == spec.type && other->choices == spec.choices &&
                   other->defaultValue == spec.defaultValue;
        });
        if (!isShared) continue;
        auto* editor = new AttributeEditor(ops, spec, m_document.folder(), this);
        connect(editor, &AttributeEditor::edited, this,
                [this, editor, nodes = m_nodes](const AttributeEdit& edit) {
                    setOfNodes(nodes, editor->spec(), edit.value);
                });
        add(editor);
    }
}

void AttributeForm::showModule(const ModuleOp& op) {
    const Graph& graph = m_document.graph();
    const std::set<NodeId>& selected = m_document.selection().nodes;
    std::vector<std::string> wanted;
    for (const ModuleOp::Attribute& attribute : op.attributes)
        if (const auto spec = specOf(op, attribute)) wanted.push_back(spec->name);
    // An op that was removed and saved again may have the same version.
    const bool isSame = std::ranges::equal(m_editors, wanted, {},
                                           [](const AttributeEditor* editor) { return editor->spec().name; });
    if (m_nodes != selected || m_module != op.ref() || m_document.folder() != m_folder || !isSame) {
        m_nodes = selected;
        m_folder = m_document.folder();
        buildModule(op);
    }
    const std::vector<NodeId> nodes = nodesMadeFrom(graph, moduleOf(graph, m_document.selection()), op);
    std::size_t row = 0;
    for (const ModuleOp::Attribute& attribute : op.attributes) {
        if (!specOf(op, attribute)) continue;
        AttributeEditor* editor = m_editors[row++];
        std::vector<std::optional<AttributeValue>> values;
        for (const ModuleOp::Setting& setting : attribute.sets) {
            const auto at = std::ranges::find(op.fragment.nodes, setting.node, &Node::id);
            const NodeId node = nodes[std::size_t(at - op.fragment.nodes.begin())];
            const AttributeValue* value = graph.find(node)->attributes.find(setting.attribute);
            const AttributeValue* usual = at->attributes.find(setting.attribute);
            const bool isUsual = value && usual ? *value == *usual : value == usual;
            values.push_back(value && !isUsual ? std::optional(*value) : std::nullopt);
        }
        if (std::ranges::all_of(values, [&](const auto& value) { return value == values.front(); }))
            editor->setValue(values.front());
        else
            editor->setMixed();
    }
}

void AttributeForm::buildModule(const ModuleOp& op) {
    dropEditors();
    m_module = op.ref();
    for (const ModuleOp::Attribute& attribute : op.attributes) {
        const std::optional<AttributeSpec> spec = specOf(op, attribute);
        if (!spec) continue;
        std::vector<const Op*> ops;
        for (const ModuleOp::Setting& setting : attribute.sets)
            if (const Op* inner = opOf(op, setting)) ops.push_back(inner);
        auto* editor = new AttributeEditor(ops, *spec, m_document.folder(), this);
        connect(editor, &AttributeEditor::edited, this, [this, editor](const AttributeEdit& edit) {
            if (m_document.selection().nodes == m_nodes) setOfModule(editor->spec().name, edit.value);
        });
        add(editor);
    }
}

void AttributeForm::setOfNodes(const std::set<NodeId>& nodes, const AttributeSpec& spec,
                               const std::optional<AttributeValue>& value) {
    Delta delta;
    for (const NodeId id : nodes) {
        const Node* before = m_document.graph().find(id);
        if (!before) continue;
        Node after = *before;
        if (value)
            after.attributes.set(spec.name, *value);
        else
            after.attributes.erase(spec.name);
        if (after != *before) delta.nodes.push_back({*before, std::move(after)});
    }
    if (delta.nodes.empty()) return;
    delta.title =
        editTitle(EditTitle::tr("Set %1 of %2"), spec.name,
                  delta.nodes.size() == 1 ? delta.nodes.front().after->name : nodeCount(delta.nodes.size()));
    apply(std::move(delta));
}

void AttributeForm::setOfModule(const std::string& name, const std::optional<AttributeValue>& value) {
    const ModuleOp* op = selectedModule(m_document);
    if (!op) return;
    const Graph& graph = m_document.graph();
    const FrameId module = moduleOf(graph, m_document.selection());
    for (const ModuleOp::Attribute& attribute : op->attributes) {
        if (attribute.name != name) continue;
        Delta delta = twb::setModuleAttribute(graph, module, *op, attribute, value);
        delta.title = editTitle(EditTitle::tr("Set %1 of %2"), name, graph.find(module)->title);
        return apply(std::move(delta));
    }
}

void AttributeForm::apply(Delta delta) {
    try {
        m_document.apply(std::move(delta));
    } catch (const Error& error) {
        Q_EMIT refused(toQt(error.what()));
    }
}

} // namespace twb
