#include "formats/npy.h"
#include "formats/project.h"
#include "support/graphs.h"
#include "support/op_runner.h"
#include "support/test_main.h"
#include "widgets/dialog_answer.h"
#include "widgets/file_answer.h"
#include "widgets/review_dialog.h"

#include <QCheckBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QMenu>
#include <QTableWidget>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// Accepts or closes the next review dialog, and counts its rows.
class Review : public QObject {
public:
    explicit Review(bool accepts) : m_accepts(accepts) {
        connect(&m_timer, &QTimer::timeout, this, &Review::look);
        m_timer.start(10);
    }
    int rows = 0;

private:
    void look() {
        auto* dialog = qobject_cast<ReviewDialog*>(QApplication::activeModalWidget());
        if (!dialog) return;
        m_timer.stop();
        rows = dialog->findChild<QTableWidget*>(QStringLiteral("reviewTable"))->rowCount();
        const auto* buttons = dialog->findChild<QDialogButtonBox*>();
        for (QAbstractButton* button : buttons->buttons())
            if ((buttons->buttonRole(button) == QDialogButtonBox::AcceptRole) == m_accepts)
                return QTest::mouseClick(button, Qt::LeftButton);
    }

    QTimer m_timer;
    bool m_accepts;
};

/// The number in a Constant.
double numberOf(const Attributes& attributes) {
    const AttributeValue* const value = attributes.find("value");
    const auto* const list = value ? std::get_if<std::vector<double>>(value) : nullptr;
    return list                                              ? list->at(0)
           : value && std::holds_alternative<double>(*value) ? std::get<double>(*value)
                                                             : 0;
}

/// x (of an Input or of a File) · w · w … in a project; w is square if it is used more than once.
QString saveNet(const QTemporaryDir& folder, bool hasInput, int products = 1) {
    Dice dice(2);
    GraphMaker g;
    const NodeId x = hasInput ? g.node("Input", "x", "cpu", {{"shape", Ints{4, 16}}})
                              : g.node("File", "x", "cpu", {{"path", std::string("samples/x.npy")}});
    const NodeId w = g.node("File", "w", "cpu", {{"path", std::string("w.npy")}});
    NodeId y = x;
    for (int i = 0; i < products; ++i) y = g.node("MatMul", "y" + std::to_string(i), "cpu", {}, {y, w});
    QDir(folder.path()).mkpath(QStringLiteral("samples"));
    const auto path = [&](const char* name) {
        return folder.filePath(QString::fromLatin1(name)).toStdString();
    };
    writeNpy(path("w.npy"), dice.tensor(DType::f32, {16, products > 1 ? 16 : 10}, -1, 1).view());
    writeNpy(path("samples/x.npy"), dice.tensor(DType::f32, {4, 16}, -2, 2).view());
    saveProject(g.graph(), path("net.twb"));
    return folder.filePath(QStringLiteral("net.twb"));
}

} // namespace

class TestPrecision : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { isolateSettings(); }

    void itIsOneUndoStep_data() {
        QTest::addColumn<QString>("entry");
        QTest::addColumn<QString>("op");
        QTest::addColumn<bool>("hasInput");
        for (const bool hasInput : {false, true}) {
            QTest::addRow("int8 %d", hasInput) << "Quantize to int8…"
                                               << "MatMulInteger" << hasInput;
            QTest::addRow("bf16 %d", hasInput) << "Convert to bf16…"
                                               << "Cast" << hasInput;
        }
    }
    void itIsOneUndoStep() {
        QFETCH(const QString, entry);
        QFETCH(const QString, op);
        QFETCH(const bool, hasInput);
        const QTemporaryDir folder;
        const auto window = makeWindow();
        Document& document = window->document();
        document.open(saveNet(folder, hasInput));
        const Graph before = document.graph();
        const auto count = [&] {
            return std::ranges::count(document.graph().nodes(), op.toStdString(), &Node::op);
        };
        std::optional<FileAnswer> answer;
        std::optional<DialogAnswer> options;
        const auto answerQuestions = [&] {
            if (hasInput)
                answer.emplace(QStringLiteral("irector"), folder.filePath(QStringLiteral("samples")));
            if (entry.contains(QLatin1String("int8"))) options.emplace("quantize", QDialogButtonBox::Ok);
        };
        answerQuestions();
        {
            const Review review(false);
            action(*window, entry)->trigger();
            QCOMPARE(review.rows, 1);
            QVERIFY(document.graph() == before);
            QCOMPARE(QDir(folder.path()).entryList({QStringLiteral("*.safetensors")}), QStringList());
        }
        answerQuestions();
        const Review review(true);
        action(*window, entry)->trigger();
        QCOMPARE(review.rows, 1);
        QVERIFY(count() > 0);
        QVERIFY(!document.analysis().hasErrors());
        QCOMPARE(QDir(folder.path()).entryList({QStringLiteral("*.safetensors")}),
                 QStringList(QStringLiteral("net-low.safetensors")));
        QCOMPARE(document.undoStack().count(), 1);
        document.undoStack().undo();
        QVERIFY(document.graph() == before);
        document.undoStack().redo();
        QVERIFY(count() > 0 && !document.analysis().hasErrors());
    }

    void theChosenLayersAndRangesAreUsed() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        Document& document = window->document();
        document.open(saveNet(folder, false, 3));
        const Graph before = document.graph();
        const auto count = [&](const char* op) {
            return std::ranges::count(document.graph().nodes(), op, &Node::op);
        };
        /// The scale of the first product's input after the change, which is undone.
        const auto quantized = [&](double percentile, bool keepsFirstAndLast, std::ptrdiff_t products) {
            const DialogAnswer options("quantize", QDialogButtonBox::Ok, [&](QDialog& dialog) {
                dialog.findChild<QDoubleSpinBox*>(QStringLiteral("percentile"))->setValue(percentile);
                auto* const keeps = dialog.findChild<QCheckBox*>(QStringLiteral("keepFirstLast"));
                if (keepsFirstAndLast) QTest::keyClick(keeps, Qt::Key_Space);
            });
            const Review review(true);
            action(*window, QStringLiteral("Quantize to int8…"))->trigger();
            [&] { QCOMPARE(count("MatMulInteger"), products); }();
            double scale = 0;
            for (const Node& node : document.graph().nodes())
                if (node.op == "QuantizeLinear")
                    if (const auto from = document.graph().sourceOf({node.id, 1}))
                        scale = std::max(scale, numberOf(document.graph().find(from->node)->attributes));
            document.undoStack().undo();
            return scale;
        };
        const double whole = quantized(100, false, 3);
        QVERIFY(whole > 0);
        QVERIFY(quantized(90, false, 3) < whole);
        quantized(100, true, 1);
        QVERIFY(document.graph() == before);

        const DialogAnswer no("quantize", QDialogButtonBox::Cancel);
        action(*window, QStringLiteral("Quantize to int8…"))->trigger();
        QVERIFY(no.answered());
        QVERIFY(document.graph() == before);
    }

    void anUnsavedGraphIsRefused() {
        const QTemporaryDir folder;
        const auto window = makeWindow();
        window->document().setGraph(loadProject(saveNet(folder, false).toStdString()), {}, folder.path());
        const Graph before = window->document().graph();
        action(*window, QStringLiteral("Quantize to int8…"))->trigger();
        QVERIFY(window->document().graph() == before);
    }

    void aFolderWithoutSamplesIsRefused() {
        const QTemporaryDir folder;
        const QTemporaryDir empty;
        const auto window = makeWindow();
        window->document().open(saveNet(folder, true));
        const DialogAnswer options("quantize", QDialogButtonBox::Ok);
        const FileAnswer answer(QStringLiteral("irector"), empty.path());
        const BoxAnswer box(QMessageBox::Ok);
        action(*window, QStringLiteral("Quantize to int8…"))->trigger();
        QVERIFY(box.answered());
        QVERIFY2(box.detail().contains(QLatin1String("has no samples")),
                 qPrintable(box.text() + box.detail()));
        QCOMPARE(window->document().undoStack().count(), 0);
    }
};

TWB_GUI_TEST_MAIN(TestPrecision)
#include "test_precision.moc"
