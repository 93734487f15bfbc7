#include "formats/pytorch/torch_call.h"
#include "ops/opaque.h"
#include "support/host_queue.h"
#include "support/kernel_cases.h"
#include "support/test_main.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace twb;
using namespace twb::test;

namespace {

/// Ops that the export to PyTorch refuses, because no function of PyTorch is equivalent. The nodes of a
/// training are left out.
const std::set<std::string> kWithoutPyTorch{"AdagradUpdate",    "AdamUpdate",       "AdamWUpdate",
                                            "Assign",           "AverageUpdate",    "BatchNormalizationGrad",
                                            "Batches",          "ConvWeightGrad",   "LearningRate",
                                            "LionUpdate",       "RMSpropUpdate",    "Record",
                                            "SGDUpdate",        "ScaleUpdate",      "SoftmaxCrossEntropyGrad",
                                            "RNNGrad",          "GRUGrad",          "LSTMGrad",
                                            "TreeEnsemble",     "StepUpdate",       "Bernoulli",
                                            "DeformConv",       "Imputer",          "LabelEncoder",
                                            "LinearClassifier", "LinearRegressor",  "MaxRoiPool",
                                            "MelWeightMatrix",  "Multinomial",      "NonMaxSuppression",
                                            "Normalizer",       "OneHotEncoder",    "QLinearConv",
                                            "RoiAlign",         "RandomNormalLike", "RandomUniformLike",
                                            "TfIdfVectorizer"};

} // namespace

/// Checks what an op needs beside its table entry, in folders that depend on the table.
class TestOpEntries : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyOpThatComputesIsComplete_data() {
        QTest::addColumn<QString>("opName");
        for (const Op& op : opTable())
            if (op.role == OpRole::compute && !isOpaque(op))
                QTest::newRow(op.name.c_str()) << QString::fromStdString(op.name);
    }

    void everyOpThatComputesIsComplete() {
        QFETCH(QString, opName);
        const Op& op = *findOp(opName.toStdString());
        QStringList missing;
        const bool readsFiles = op.attribute("path"); // on the host only
        if (!caseMakerOf(op) && !readsFiles)
            missing << QStringLiteral("a maker of its launches in tests/support");
        if (!m_kernels.contains(op.name) && !readsFiles) missing << QStringLiteral("a CUDA kernel");
        const bool isWritten = pytorch::writers().contains(op.name);
        const bool isListed = kWithoutPyTorch.contains(op.name);
        if (!isWritten && !isListed)
            missing << QStringLiteral("a PyTorch expression in engine/formats/pytorch/torch_*.cpp");
        QVERIFY2(missing.isEmpty(), qPrintable(opName + QStringLiteral(" lacks ") + missing.join(", ")));
        QVERIFY2(!(isWritten && isListed), "an export to PyTorch writes it: take it off the list here");
    }

    void tablesNameOpsThatExist() {
        for (const std::string& name : kWithoutPyTorch) QVERIFY2(findOp(name), name.c_str());
        for (const auto& [name, writer] : pytorch::writers())
            QVERIFY2(findOp(name), std::string(name).c_str());
    }

private:
    const std::set<std::string_view> m_kernels = [] {
        const std::vector<std::string_view> names = cuda::kernelNames();
        return std::set(names.begin(), names.end());
    }();
};

TWB_TEST_MAIN(TestOpEntries)
#include "test_op_entries.moc"
