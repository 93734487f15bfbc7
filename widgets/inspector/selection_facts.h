#pragma once

#include "widgets/document.h"
#include "widgets/inspector/fact_rows.h"
#include "widgets/run_controller.h"
#include "widgets/training_run.h"

#include <vector>

namespace twb {

/// The figures of the selection: types, devices, times and memory.
class SelectionFacts {
public:
    /// `trained`: the training whose values are shown; null: those of the last run.
    SelectionFacts(const Document& document, const RunController& runs, const TrainingRun* trained);

    std::vector<FactRows::Row> ofNode(const Node& node) const;
    std::vector<FactRows::Row> ofEdge(const Edge& edge) const;
    std::vector<FactRows::Row> ofGraph() const;

private:
    QString bufferText(NodeId node) const;

    const Document& m_document;
    const RunController& m_runs;
    const TrainingRun* m_trained;
};

} // namespace twb
