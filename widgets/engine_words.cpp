#include "widgets/engine_words.h"

#include <QCoreApplication>

namespace twb {
namespace {

/// For translators.
struct EngineWords {
    Q_DECLARE_TR_FUNCTIONS(EngineWords)
};

/// The sections of the op table and of the palette, for lupdate.
[[maybe_unused]] const char* const kSections[] = {
    QT_TRANSLATE_NOOP("EngineWords", "Tensors"),        QT_TRANSLATE_NOOP("EngineWords", "Move"),
    QT_TRANSLATE_NOOP("EngineWords", "Linear algebra"), QT_TRANSLATE_NOOP("EngineWords", "Activation"),
    QT_TRANSLATE_NOOP("EngineWords", "Pointwise"),      QT_TRANSLATE_NOOP("EngineWords", "Math"),
    QT_TRANSLATE_NOOP("EngineWords", "Logic"),          QT_TRANSLATE_NOOP("EngineWords", "Shape"),
    QT_TRANSLATE_NOOP("EngineWords", "Training"),       QT_TRANSLATE_NOOP("EngineWords", "Reduce"),
    QT_TRANSLATE_NOOP("EngineWords", "Indexing"),       QT_TRANSLATE_NOOP("EngineWords", "Selection"),
    QT_TRANSLATE_NOOP("EngineWords", "Convolution"),    QT_TRANSLATE_NOOP("EngineWords", "Pooling"),
    QT_TRANSLATE_NOOP("EngineWords", "Normalization"),  QT_TRANSLATE_NOOP("EngineWords", "Recurrent"),
    QT_TRANSLATE_NOOP("EngineWords", "Attention"),      QT_TRANSLATE_NOOP("EngineWords", "Image"),
    QT_TRANSLATE_NOOP("EngineWords", "Loss"),           QT_TRANSLATE_NOOP("EngineWords", "Signal"),
    QT_TRANSLATE_NOOP("EngineWords", "Random"),         QT_TRANSLATE_NOOP("EngineWords", "Quantize"),
    QT_TRANSLATE_NOOP("EngineWords", "Ranks"),          QT_TRANSLATE_NOOP("EngineWords", "Classic ML"),
    QT_TRANSLATE_NOOP("EngineWords", "Control flow"),   QT_TRANSLATE_NOOP("EngineWords", "Imported"),
    QT_TRANSLATE_NOOP("EngineWords", "Look"),           QT_TRANSLATE_NOOP("EngineWords", "Modules"),
    QT_TRANSLATE_NOOP("EngineWords", "Your modules"),
};

} // namespace

QString severityWord(Severity severity) {
    switch (severity) {
    case Severity::note:
        return EngineWords::tr("note", "severity");
    case Severity::warning:
        return EngineWords::tr("warning", "severity");
    case Severity::error:
        return EngineWords::tr("error", "severity");
    }
    return {};
}

QString stateWord(StepState state) {
    switch (state) {
    case StepState::pending:
        return EngineWords::tr("pending");
    case StepState::running:
        return EngineWords::tr("running");
    case StepState::done:
        return EngineWords::tr("done");
    case StepState::cached:
        return EngineWords::tr("cached");
    case StepState::failed:
        return EngineWords::tr("failed");
    case StepState::skipped:
        return EngineWords::tr("skipped");
    case StepState::poisoned:
        return EngineWords::tr("poisoned");
    case StepState::cancelled:
        return EngineWords::tr("cancelled");
    }
    return {};
}

QString kindWord(TransferKind kind) {
    switch (kind) {
    case TransferKind::explicitTo:
        return EngineWords::tr("explicit");
    case TransferKind::implicitTo:
        return EngineWords::tr("implicit");
    case TransferKind::staging:
        return EngineWords::tr("staging");
    case TransferKind::collective:
        return EngineWords::tr("collective");
    }
    return {};
}

QString metricWord(Metric metric) {
    switch (metric) {
    case Metric::loss:
        return EngineWords::tr("loss");
    case Metric::validationLoss:
        return EngineWords::tr("validation loss");
    case Metric::accuracy:
        return EngineWords::tr("accuracy");
    }
    return {};
}

QString sectionWord(const QString& category) { return EngineWords::tr(category.toUtf8().constData()); }

} // namespace twb
