#pragma once

#include "graph/diagnostic.h"
#include "widgets/document.h"
#include "widgets/inspector/fact_rows.h"
#include "widgets/run_controller.h"
#include "widgets/training_run.h"

#include <QScrollArea>

#include <string>
#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;

namespace twb {

class AttributeForm;
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
    void showGraph();
    void fillLanes(const std::vector<NodeId>& nodes);
    void moveToLane(int index);
    void rename();
    void apply(Delta delta);
    void showTensor(PortRef output);
    void readTensor(PortRef output);
    void showGradient();
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
    AttributeForm* m_attributes;
    std::string m_shownName; ///< of the node, in m_name
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
