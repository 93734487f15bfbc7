#include "widgets/actions/precision_actions.h"

#include "core/format.h"
#include "formats/sample_folder.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/busy_dialog.h"
#include "widgets/panels/log_panel.h"
#include "widgets/quantize_dialog.h"
#include "widgets/review_dialog.h"
#include "widgets/text.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

namespace twb {
namespace {

std::filesystem::path toPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

QString dtypeOf(LowPrecision to) {
    return to == LowPrecision::int8 ? QStringLiteral("int8") : QStringLiteral("bf16");
}

/// The results before may all be 0, to which no error is relative.
QString relativeErrorOf(const OutputLoss& output) {
    return std::isinf(output.relativeError) ? QStringLiteral("–") : percentage(100 * output.relativeError, 2);
}

QString sqnrOf(const OutputLoss& output) {
    if (std::isinf(output.relativeError)) return QStringLiteral("–");
    return output.relativeError == 0 ? PrecisionActions::tr("exact")
                                     : PrecisionActions::tr("%1 dB").arg(fixed(output.sqnr(), 1));
}

ReviewDialog::Content contentOf(const PrecisionChange& change, LowPrecision to, std::size_t samples) {
    const LowerPrecision& nodes = change.change;
    ReviewDialog::Content out;
    out.title = to == LowPrecision::int8 ? PrecisionActions::tr("Quantize to int8")
                                         : PrecisionActions::tr("Convert to bf16");
    out.sentence =
        PrecisionActions::tr("Accuracy lost in %3. Convolutions converted: %1. Products converted: %2.")
            .arg(nodes.convolutions)
            .arg(nodes.products)
            .arg(dtypeOf(to));
    out.columns = {PrecisionActions::tr("output"), PrecisionActions::tr("largest error"),
                   PrecisionActions::tr("relative error"), PrecisionActions::tr("SQNR"),
                   PrecisionActions::tr("agreement")};
    for (const OutputLoss& output : change.loss.outputs)
        out.rows.push_back({toQt(output.name), compact(output.maxError, 3), relativeErrorOf(output),
                            sqnrOf(output),
                            output.agreement ? percentage(100 * *output.agreement, 2) : QStringLiteral("–")});
    out.remark =
        PrecisionActions::tr(
            "Samples: %1. Time of an iteration: %2 before, %3 after (%4). Weights: %5 before, "
            "%6 after. Agreement: rows with the largest element at the same place.")
            .arg(samples)
            .arg(localized(formatMs(change.loss.nsBefore)), localized(formatMs(change.loss.nsAfter)),
                 change.loss.isModelled ? PrecisionActions::tr("modelled") : PrecisionActions::tr("measured"),
                 localized(formatBytes(nodes.bytesBefore)), localized(formatBytes(nodes.bytesAfter)));
    out.apply = PrecisionActions::tr("Apply");
    return out;
}

} // namespace

PrecisionActions::PrecisionActions(Document& document, GraphEditor& editor, LogPanel& log, QWidget& window)
    : m_document(document), m_editor(editor), m_log(log), m_window(window) {}

void PrecisionActions::fill(QMenu& menu) {
    menu.setToolTipsVisible(true);
    addAction(menu, tr("Convert to &bf16…"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+H")), [this] {
        lower(LowPrecision::bf16);
    })->setToolTip(tr("Computes products and convolutions in bf16, and shows the accuracy lost."));
    addAction(menu, tr("&Quantize to int8…"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+I")), [this] {
        lower(LowPrecision::int8);
    })->setToolTip(tr("Computes products and convolutions in int8, and shows the accuracy lost."));
}

void PrecisionActions::lower(LowPrecision to) {
    const QString title = to == LowPrecision::int8 ? tr("Quantize to int8") : tr("Convert to bf16");
    if (m_document.analysis().hasErrors())
        return m_editor.say(tr("Fix the errors of the graph before changing its precision."),
                            Severity::warning);
    const bool isImported = !m_document.suggestedPath().isEmpty();
    if (m_document.path().isEmpty() && !isImported)
        return m_editor.say(tr("Save the project first: the new weights are written beside it."),
                            Severity::warning);
    QuantizationOptions options;
    if (to == LowPrecision::int8) {
        QuantizeDialog dialog(&m_window);
        if (dialog.exec() != QDialog::Accepted) return;
        options = dialog.options();
    }
    const auto& nodes = m_document.graph().nodes();
    const bool hasInputs =
        std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.op == "Input"; });
    QString folder;
    if (hasInputs) {
        folder =
            QFileDialog::getExistingDirectory(&m_window, tr("Folder of sample inputs"), m_document.folder());
        if (folder.isEmpty()) return;
    }
    m_editor.attempt(tr("Cannot change the precision"), [&] {
        const QString project = isImported ? m_document.suggestedPath() : m_document.path();
        const DocumentSnapshot document = m_document.snapshot();
        HeldTensors held(document.graph,
                         toPath(QDir(m_document.folder()).filePath(QFileInfo(project).fileName())));
        PrecisionChange change;
        std::size_t samples = 0;
        const RunSetup setup{document.devices, document.files, document.graph.info().policy};
        const bool isDone = workCancellable(
            tr("Comparing with %1…").arg(dtypeOf(to)), &m_window, [&](const IsCancelled& isCancelled) {
                const auto given = samplesFor(document.graph, document.analysis,
                                              folder.isEmpty() ? std::filesystem::path() : toPath(folder));
                samples = given->count();
                change = lowerPrecision(document.graph, setup, *given, to, held, isCancelled, options);
            });
        if (!isDone) return;
        if (change.change.delta.empty())
            return m_editor.say(
                options.keepsFirstAndLast && change.change.skipped > 0
                    ? tr("No Conv, MatMul or Gemm in f32 with fixed weights between the first "
                         "and the last one.")
                    : tr("No Conv, MatMul or Gemm in f32 with fixed weights."));
        if (ReviewDialog(contentOf(change, to, samples), &m_window).exec() != QDialog::Accepted) return;
        Graph after = document.graph;
        after.apply(change.change.delta);
        const std::filesystem::path file = held.write(after);
        m_editor.edit(change.change.delta);
        for (const OutputLoss& output : change.loss.outputs)
            m_log.add(Severity::note,
                      tr("%1: %2 in %3, relative error %4")
                          .arg(title, toQt(output.name), dtypeOf(to), relativeErrorOf(output)));
        if (!file.empty())
            m_log.add(Severity::note,
                      tr("Wrote the new weights to %1").arg(QDir::toNativeSeparators(toQt(file.string()))));
        if (change.loss.outputs.empty()) return;
        const OutputLoss& first = change.loss.outputs.front();
        m_editor.say(tr("%1: %2, %3 on %4 samples").arg(title, toQt(first.name), sqnrOf(first)).arg(samples));
    });
}

} // namespace twb
