#pragma once

#include "graph/diagnostic.h"
#include "graph/module_op.h"
#include "widgets/document.h"
#include "widgets/inspector/fact_rows.h"
#include "widgets/run_controller.h"
#include "widgets/training_run.h"

#include <QScrollArea>

#include <set>
#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;
class QVBoxLayout;

namespace twb {

class AttributeEditor;
class DevicePill;
class ElidedLabel;
class OpHelpView;

class ProblemCards;
class TensorPanel;

/// The right panel: the selection's attributes, output and problems.
class Inspector : public QScrollArea {
    Q_OBJECT

public:
    Inspector(Document& document, RunController& runs, TrainingRun& training, QWidget* parent = nullptr);

    /// Moves the focus to the name of the selected node.
    void editName();
    /// Shows the help of the selected node's op; without one, said() asks for a selection.
    void openHelp();
    /// Problems that another panel currently shows are hidden here.
    void setProblemsElsewhere(bool elsewhere);

Q_SIGNALS:
    void fixRequested(const twb::Fix& fix);
    void problemsRequested();
    void exampleRequested(const QString& entry);
    /// The document refused a change.
    void refused(const QString& sentence);
    /// A message for the status line.
    void said(const QString& sentence);

private:
    QWidget* makeHeader();
    QWidget* makePlacement();
    void refresh();        ///< after a change of the selection or the document
    void refreshFigures(); ///< after RunController::frame()
    QString placeholderText(const Node& node) const;
    void showNode(const Node& node);
    void showEdge(const Edge& edge);
    void showMany();
    bool showModule();
    void buildModule(const ModuleOp& op);
    void dropEditors();
    void setModuleAttribute(const std::string& name, const std::optional<AttributeValue>& value);
    /// The module op from which the selected module was made; null if the selection is something else.
    const ModuleOp* selectedModule() const;
    void showGraph();
    void showAttributes(const std::vector<const Node*>& nodes);
    void buildAttributes(const std::vector<const Op*>& ops);
    void fillLanes(const std::vector<NodeId>& nodes);
    void moveToLane(int index);
    void rename();
    void setAttribute(const std::set<NodeId>& nodes, const AttributeSpec& spec,
                      const std::optional<AttributeValue>& value);
    void apply(Delta delta);
    void showTensor(PortRef output);
    void readTensor(PortRef output);
    void showGradient();
    std::vector<FactRows::Row> outputRows(const Node& node) const;
    QString bufferText(NodeId node) const;
    const Node* onlyNode() const;

    Document& m_document;
    RunController& m_runs;
    TrainingRun& m_training;
    bool m_isTrained = false; ///< a training run has ended since the last run, so its values are shown
    QLineEdit* m_name;
    ElidedLabel* m_title;
    ElidedLabel* m_op;
    DevicePill* m_device;
    QLabel* m_doc;
    OpHelpView* m_help;
    QWidget* m_placement;
    QComboBox* m_lane;
    QWidget* m_attributes;
    QVBoxLayout* m_attributeRows;
    std::vector<AttributeEditor*> m_editors;
    std::set<NodeId> m_builtFor; ///< the nodes and ops of the current editors
    std::vector<const Op*> m_builtOps;
    QString m_builtFolder;                  ///< the document's
    std::string m_shownName;                ///< of the node, in m_name
    std::optional<ModuleRef> m_builtModule; ///< the editors are those of a module op
    QLabel* m_factsHeading;
    FactRows* m_facts;
    QWidget* m_tensorSection;
    TensorPanel* m_tensor;
    QWidget* m_gradientSection;
    TensorPanel* m_gradient;
    ProblemCards* m_problems;
    QWidget* m_problemsSection;
    bool m_problemsElsewhere = false;
};

} // namespace twb
