#include "widgets/edit_title.h"
#include "widgets/inspector/attribute_editor.h"
#include "widgets/inspector/inspector.h"
#include "widgets/labels.h"
#include "widgets/module_edits.h"
#include "widgets/palette/own_modules.h"
#include "widgets/text.h"

#include <algorithm>

namespace twb {

const ModuleOp* Inspector::selectedModule() const {
    const Selection& selection = m_document.selection();
    if (selection.nodes.size() < 2) return nullptr;
    const Frame* frame = m_document.graph().find(moduleOf(m_document.graph(), selection));
    const std::optional<ModuleRef> ref = frame ? madeFrom(*frame) : std::nullopt;
    const ModuleOp* op = ref ? ownModule(toQt(ref->name)) : nullptr;
    return op && isMadeFrom(m_document.graph(), frame->id, *op, selection.nodes) ? op : nullptr;
}

/// A module that was made from a module op has the attributes of that. Returns false for other selections.
bool Inspector::showModule() {
    const ModuleOp* op = selectedModule();
    if (!op) return false;
    const Graph& graph = m_document.graph();
    const std::set<NodeId>& selected = m_document.selection().nodes;
    const FrameId module = moduleOf(graph, m_document.selection());
    m_title->setText(toQt(graph.find(module)->title));
    m_doc->setText(tr("%1, version %2. %3").arg(toQt(op->name)).arg(op->version).arg(docOf(*op)));
    std::vector<std::string> wanted;
    for (const ModuleOp::Attribute& attribute : op->attributes)
        if (const auto spec = specOf(*op, attribute)) wanted.push_back(spec->name);
    // An op that was removed and saved again may have the same version.
    const bool isSame = std::ranges::equal(m_editors, wanted, {},
                                           [](const AttributeEditor* editor) { return editor->spec().name; });
    if (m_builtFor != selected || m_builtModule != op->ref() || m_document.folder() != m_builtFolder ||
        !isSame) {
        m_builtFor = selected;
        m_builtFolder = m_document.folder();
        buildModule(*op);
    }
    const std::vector<NodeId> nodes = nodesMadeFrom(graph, module, *op);
    std::size_t row = 0;
    for (const ModuleOp::Attribute& attribute : op->attributes) {
        if (!specOf(*op, attribute)) continue;
        AttributeEditor* editor = m_editors[row++];
        std::vector<std::optional<AttributeValue>> values;
        for (const ModuleOp::Setting& setting : attribute.sets) {
            const auto at = std::ranges::find(op->fragment.nodes, setting.node, &Node::id);
            const NodeId node = nodes[std::size_t(at - op->fragment.nodes.begin())];
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
    fillLanes({selected.begin(), selected.end()});
    return true;
}

void Inspector::buildModule(const ModuleOp& op) {
    dropEditors();
    m_builtModule = op.ref();
    for (const ModuleOp::Attribute& attribute : op.attributes) {
        const std::optional<AttributeSpec> spec = specOf(op, attribute);
        if (!spec) continue;
        std::vector<const Op*> ops;
        for (const ModuleOp::Setting& setting : attribute.sets)
            if (const Op* inner = opOf(op, setting)) ops.push_back(inner);
        auto* editor = new AttributeEditor(ops, *spec, m_document.folder(), m_attributes);
        connect(editor, &AttributeEditor::edited, this, [this, editor](const AttributeEdit& edit) {
            if (m_document.selection().nodes == m_builtFor)
                setModuleAttribute(editor->spec().name, edit.value);
        });
        m_attributeRows->addWidget(editor);
        m_editors.push_back(editor);
    }
}

void Inspector::setModuleAttribute(const std::string& name, const std::optional<AttributeValue>& value) {
    const ModuleOp* op = selectedModule();
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

} // namespace twb
