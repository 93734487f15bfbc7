#include "core/error.h"
#include "core/narrow.h"
#include "formats/npy.h"
#include "support/graphs.h"
#include "support/test_main.h"
#include "widgets/file_answer.h"
#include "widgets/inspector/tensor_comparison.h"
#include "widgets/inspector/tensor_image.h"
#include "widgets/inspector/tensor_panel.h"
#include "widgets/inspector/tensor_pictures.h"
#include "widgets/inspector/tensor_table_model.h"
#include "widgets/inspector/tensor_text.h"
#include "widgets/panels/log_panel.h"
#include "widgets/window_hand.h"

#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <cmath>
#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

QString facts(QWidget& window) {
    QStringList out;
    for (const QLabel* label : find<QWidget>(window, "tensorFacts")->findChildren<QLabel*>())
        out << label->text();
    return out.join(QLatin1Char('|'));
}

/// An entry of the tensor's menu, triggered as by a click.
void choose(QWidget& window, const char* text) {
    for (QAction* action : find<QPushButton>(window, "tensorMenu")->menu()->actions())
        if (action->text().remove(QLatin1Char('&')) == QString::fromUtf8(text)) return action->trigger();
    QFAIL(text);
}

void show(QWidget& window, const char* view) {
    auto* views = find<QComboBox>(window, "tensorView");
    views->setFocus();
    QTest::keyClick(views, Qt::Key_Home);
    for (int i = 0; i < views->findText(QString::fromLatin1(view)); ++i) QTest::keyClick(views, Qt::Key_Down);
    QCOMPARE(views->currentText(), QString::fromLatin1(view));
}

} // namespace

class TestTensorView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void indicesAreCountedRowByRow() {
        QCOMPARE(indexText({2, 3, 4}, 0), QStringLiteral("[0, 0, 0]"));
        QCOMPARE(indexText({2, 3, 4}, 23), QStringLiteral("[1, 2, 3]"));
        QCOMPARE(indexText({2, 3, 4}, 13), QStringLiteral("[1, 0, 1]"));
        QCOMPARE(indexText({}, 0), QStringLiteral("[]"));
    }

    void numpyTextHoldsEveryDigit() {
        QCOMPARE(
            *numpyText(Tensor::of<float>({2, 2}, {1, 0.1F, float(kNan), -float(kInf)})),
            QStringLiteral("np.array([[1.0, 0.100000001],\n          [np.nan, -np.inf]], dtype=np.float32)"));
        QCOMPARE(*numpyText(Tensor::of<std::int64_t>({2}, {9007199254740993, -1})),
                 QStringLiteral("np.array([9007199254740993, -1], dtype=np.int64)"));
        // NumPy has no narrow dtypes.
        const Tensor codes = Tensor::onHost({DType::i4, Shape{2}});
        const std::uint8_t nibbles[] = {0x8, 0x7};
        packCodes(DType::i4, nibbles, codes.data(), 0, 2);
        QCOMPARE(*numpyText(codes), QStringLiteral("np.array([-8, 7], dtype=np.int8)"));
        const Tensor float8 = Tensor::onHost({DType::f8e5m2, Shape{1}});
        packCodes(DType::f8e5m2, std::data({std::uint8_t{0x3e}}), float8.data(), 0, 1);
        QCOMPARE(*numpyText(float8), QStringLiteral("np.array([1.5], dtype=np.float32)"));
        QCOMPARE(*numpyText(Tensor::of<double>({}, {0.1})),
                 QStringLiteral("np.array(0.10000000000000001, dtype=np.float64)"));
        QCOMPARE(*numpyText(Tensor::onHost({DType::f32, Shape{0, 3}})),
                 QStringLiteral("np.empty([0, 3], dtype=np.float32)"));
        QVERIFY(!numpyText(Tensor::onHost({DType::u8, Shape{kMostNumpyElements + 1}})));
    }

    void theWorstElementIsFound() {
        const TensorComparison same =
            compare(Tensor::of<double>({3}, {1, kNan, kInf}), Tensor::of<double>({3}, {1, kNan, kInf}));
        QCOMPARE(same.differing, 0);
        QCOMPARE(same.worst, -1);
        const TensorComparison off = compare(Tensor::of<double>({2, 2}, {1, 2.5, -3, 0}),
                                             Tensor::of<double>({2, 2}, {1, 2, -4, 0.25}));
        QCOMPARE(off.differing, 3);
        QCOMPARE(off.maxAbs, 1.0);
        QCOMPARE(off.maxRel, 1.0);
        QCOMPARE(off.worst, 2);
        QCOMPARE(off.meanAbs, 1.75 / 4);
        QCOMPARE(off.difference.at(1), 0.5);
        QCOMPARE(off.relative.at(1), 0.25);
        const TensorComparison nan =
            compare(Tensor::of<double>({3}, {9, kNan, 1}), Tensor::of<double>({3}, {1, 2, 1}));
        QCOMPARE(nan.worst, 1); // a NaN in only one tensor is the largest difference
        QVERIFY_EXCEPTION_THROWN(compare(Tensor::of<double>({1}, {1}), Tensor::of<double>({2}, {1, 1})),
                                 Error);
    }

    /// 2^53 + 1 is not a double.
    void integersHaveAllTheirDigits() {
        constexpr std::int64_t odd = 9007199254740993;
        const Tensor a = Tensor::of<std::int64_t>({2, 2}, {odd - 1, odd, -odd, 5});
        TensorTableModel model;
        model.setTensor(a);
        QCOMPARE(model.index(0, 1).data().toString(), QStringLiteral("9007199254740993"));
        QCOMPARE(model.index(1, 0).data().toString(), QStringLiteral("-9007199254740993"));
        const TensorStatistics statistics = statisticsOf(a);
        QCOMPARE(statistics.maxAt, std::int64_t(1));
        QCOMPARE(statistics.minAt, std::int64_t(2));
        const Tensor b = Tensor::of<std::int64_t>({2, 2}, {odd, odd, -odd, 5});
        const TensorComparison off = compare(a, b);
        QCOMPARE(off.differing, 1);
        QCOMPARE(off.worst, std::int64_t(0));
        QCOMPARE(off.maxAbs, 1.0);
        constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
        QCOMPARE(valueText(Tensor::of<std::uint64_t>({}, {most}), 0), QStringLiteral("18446744073709551615"));
        constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
        QCOMPARE(valueText(Tensor::of<std::int64_t>({}, {least}), 0), QStringLiteral("-9223372036854775808"));
        QCOMPARE(compare(Tensor::of<std::uint64_t>({1}, {most}), Tensor::of<std::uint64_t>({1}, {most - 1}))
                     .differing,
                 1);
    }

    void aProbeHasAllDigitsOfAnInteger() {
        const QTemporaryDir folder;
        writeNpy(folder.filePath(QStringLiteral("n.npy")).toStdString(),
                 Tensor::of<std::int64_t>({}, {9007199254740993}).view());
        GraphMaker g;
        const NodeId n = g.node("File", "n", "cpu", {{"path", std::string("n.npy")}});
        const NodeId seen = g.node("Probe", "seen", "cpu", {}, {n});
        WindowHand hand(g.graph(), folder.path());
        MainWindow& window = *hand.window;
        window.runs().run(1);
        QVERIFY(waitForRun(window));
        const QString digits = QStringLiteral("9007199254740993");
        QCOMPARE(window.runs().state().nodes.at(seen).value, digits); // on the card
        const auto labels = [&] {
            QStringList out;
            for (const QLabel* label : window.findChildren<QLabel*>()) out << label->text();
            return out;
        };
        QVERIFY2(labels().contains(digits), qPrintable(labels().join(QLatin1Char('|')))); // of the graph
        QVERIFY(window.selectNode(QStringLiteral("seen")));
        QVERIFY(labels().contains(digits));
        QVERIFY(window.selectNode(QStringLiteral("n")));
        QVERIFY2(facts(window).contains(QStringLiteral("max|") + digits), qPrintable(facts(window)));
        QVERIFY(window.findChild<LogPanel*>()->findChild<QPlainTextEdit*>()->toPlainText().contains(
            QStringLiteral("seen = ") + digits));
    }

    void imagesOfBothLayouts() {
        // Two pixels: red and green; as NCHW and as NHWC.
        const Tensor first = Tensor::of<float>({1, 3, 1, 2}, {1, 0, 0, 1, 0, 0});
        const Tensor last = Tensor::of<float>({1, 1, 2, 3}, {1, 0, 0, 0, 1, 0});
        QCOMPARE(likelyLayout(first.shape()), ImageLayout::channelsFirst);
        QCOMPARE(likelyLayout(last.shape()), ImageLayout::channelsLast);
        for (const auto& [tensor, layout] :
             {std::pair{first, ImageLayout::channelsFirst}, std::pair{last, ImageLayout::channelsLast}}) {
            const QImage image = imageOf(tensor, layout, 0, -1, 0, 1);
            QCOMPARE(image.size(), QSize(2, 1));
            QCOMPARE(image.pixelColor(0, 0), QColor(255, 0, 0));
            QCOMPARE(image.pixelColor(1, 0), QColor(0, 255, 0));
            QCOMPARE(imageOf(tensor, layout, 0, 1, 0, 1).pixelColor(1, 0), QColor(255, 255, 255));
        }
        const Tensor second = Tensor::of<float>({2, 1, 1, 1}, {0, 1});
        QCOMPARE(imageOf(second, ImageLayout::channelsFirst, 1, 0, 0, 1).pixelColor(0, 0),
                 QColor(255, 255, 255));
    }

    /// A table of 10^8 elements is as fast as a page of it, and every element is on a page.
    void aHundredMillionElementsAreReadAPageAtATime() {
        const Tensor tensor = Tensor::onHost({DType::u8, Shape{100'000'000}});
        auto* bytes = static_cast<std::uint8_t*>(tensor.data());
        bytes[87'654'321] = 7;
        TensorTableModel model;
        model.setTensor(tensor);
        QCOMPARE(model.pageCount(), std::int64_t(1000));
        QCOMPARE(model.rowCount(), 100'000);
        model.setPage(876);
        QCOMPARE(model.index(54'321, 0).data().toString(), QStringLiteral("7"));
        QCOMPARE(model.headerData(54'321, Qt::Vertical, Qt::DisplayRole).toLongLong(), 87'654'321);
        model.setTensor(Tensor::of<std::int64_t>({1}, {1}));
        QCOMPARE(model.pageCount(), std::int64_t(1));
    }

    void aNanIsPlacedAndATensorCopiedAndSaved() {
        GraphMaker g;
        const NodeId x =
            g.node("Arange", "x", "cpu", {{"start", -2.0}, {"limit", 2.0}, {"dtype", std::string("f32")}});
        g.node("Sqrt", "root", "cpu", {}, {x});
        const auto window = makeWindow();
        window->document().setGraph(g.graph(), {}, {});
        window->runs().run(1);
        QVERIFY(waitForRun(*window));
        QVERIFY(window->selectNode(QStringLiteral("root")));
        QVERIFY2(facts(*window).contains(QStringLiteral("first NaN at|[0]")), qPrintable(facts(*window)));
        choose(*window, "Copy as NumPy text");
        QVERIFY2(QApplication::clipboard()->text().startsWith(
                     QStringLiteral("np.array([np.nan, np.nan, 0.0, 1.0]")),
                 qPrintable(QApplication::clipboard()->text()));
        const QTemporaryDir folder;
        FileAnswer answer(QStringLiteral("NumPy"), folder.filePath(QStringLiteral("root")));
        choose(*window, "Save as .npy…");
        const Tensor saved = readNpy(folder.filePath(QStringLiteral("root.npy")).toStdString());
        QCOMPARE(saved.shape(), (Shape{4}));
        QVERIFY(std::isnan(saved.at(1)));
        QCOMPARE(saved.at(3), 1.0);
    }

    void twoTensorsAreCompared() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->runs().run(1);
        QVERIFY(waitForRun(*window));
        QVERIFY(window->selectNode(QStringLiteral("relu")));
        show(*window, "Difference");
        choose(*window, "Use as reference");
        QVERIFY(facts(*window).contains(QStringLiteral("differ|0 of 46,080")));
        QVERIFY(window->selectNode(QStringLiteral("fc1"))); // fc1 differs by its negative elements
        QVERIFY2(facts(*window).contains(QStringLiteral("reference|relu")), qPrintable(facts(*window)));
        QVERIFY2(facts(*window).contains(QStringLiteral("worst at|[")), qPrintable(facts(*window)));
        QVERIFY(window->selectNode(QStringLiteral("fc2"))); // has another shape
        QVERIFY(!find<QWidget>(*window, "tensorFacts")->isVisible() ||
                !find<QStackedWidget>(*window, "tensorPages")->isVisible());
        show(*window, "Heat map");
        QVERIFY(find<QStackedWidget>(*window, "tensorPages")->isVisible());
        QVERIFY(facts(*window).contains(QStringLiteral("std|")));
    }

    /// The window's thread starts the comparison and does not wait.
    void largeTensorsAreComparedWhileTheWindowLives() {
        const auto make = [](float first) {
            Tensor tensor = Tensor::onHost({DType::f32, Shape{3000, 2000}});
            auto* values = static_cast<float*>(tensor.data());
            for (std::int64_t i = 0; i < tensor.elementCount(); ++i) values[i] = float(i % 97);
            values[5] = first;
            return tensor;
        };
        const Tensor a = make(1);
        const Tensor b = make(500);
        QWidget window;
        auto* layout = new QVBoxLayout(&window);
        auto* panel = new TensorPanel(QStringLiteral("Tensor"), [](const QString&) {});
        layout->addWidget(panel);
        window.show();
        const auto said = [&] {
            QStringList lines;
            for (const QLabel* label : panel->findChildren<QLabel*>())
                if (label->isVisible()) lines << label->text();
            return lines.join(QLatin1Char('|'));
        };
        panel->setTensor(a, {}, QStringLiteral("a"));
        for (QAction* entry : panel->findChild<QMenu*>()->actions())
            if (entry->text().remove(QLatin1Char('&')) == QLatin1String("Use as reference")) entry->trigger();
        panel->setTensor(b, {}, QStringLiteral("b"));
        auto* views = panel->findChild<QComboBox*>(QStringLiteral("tensorView"));
        views->setFocus();
        QTest::keyClicks(views, QStringLiteral("Diff"));
        QVERIFY2(!said().contains(QStringLiteral("1 of 6,000,000")), qPrintable(said()));
        QVERIFY(QTest::qWaitFor([&] { return said().contains(QStringLiteral("1 of 6,000,000")); }, 60'000));
        QVERIFY2(said().contains(QStringLiteral("[0, 5]")), qPrintable(said()));
        // If another tensor is selected meanwhile, the first result is dropped.
        panel->setTensor(make(7), {}, QStringLiteral("c"));
        panel->setTensor(a, {}, QStringLiteral("a"));
        QVERIFY(QTest::qWaitFor([&] { return said().contains(QStringLiteral("0 of 6,000,000")); }, 60'000));
        panel->setTensor(b, {}, QStringLiteral("b"));
    } // destroyed during a comparison

    void thePictureGrowsWithItsDock() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->runs().run(1);
        QVERIFY(waitForRun(*window));
        QVERIFY(window->selectNode(QStringLiteral("fc1")));
        show(*window, "Heat map");
        auto* pages = find<QStackedWidget>(*window, "tensorPages");
        QCoreApplication::processEvents();
        const QSize before = pages->size();
        window->resize(window->width(), window->height() + 300);
        QCoreApplication::processEvents();
        QVERIFY2(pages->height() >= before.height() + 250, qPrintable(QString::number(pages->height())));
        for (QSplitter* columns : window->findChildren<QSplitter*>())
            if (columns->orientation() == Qt::Horizontal && columns->count() == 3)
                columns->setSizes({150, 600, 650});
        QCoreApplication::processEvents();
        QVERIFY(pages->width() >= before.width() + 200);
        QCOMPARE(pages->currentWidget()->size(), pages->size());
        // In a small window the picture keeps its minimum height, with the figures below it.
        window->resize(1280, 800);
        QCoreApplication::processEvents();
        const auto* figures = find<QWidget>(*window, "tensorFacts");
        QVERIFY2(figures->y() >= pages->y() + pages->height(), qPrintable(QString::number(figures->y())));
    }

    /// The figures below the heat map and the image belong to the tensor.
    void theColourScaleHasNumbers() {
        const auto window = makeWindow();
        GraphMaker g;
        const NodeId x =
            g.node("Arange", "x", "cpu", {{"start", -3.0}, {"limit", 5.0}, {"dtype", std::string("f32")}});
        g.node("Reshape", "m", "cpu", {{"shape", std::vector<std::int64_t>{2, 4}}}, {x});
        window->document().setGraph(g.graph(), {}, {});
        window->runs().run(1);
        QVERIFY(waitForRun(*window));
        QVERIFY(window->selectNode(QStringLiteral("m")));
        auto* pages = find<QStackedWidget>(*window, "tensorPages");
        for (const char* view : {"Heat map", "Image"}) {
            show(*window, view);
            QCoreApplication::processEvents();
            QWidget* page = pages->currentWidget();
            QWidget* canvas = page;
            for (QWidget* child : page->findChildren<QWidget*>())
                if (child->accessibleName() == QLatin1String("Image")) canvas = child;
            const QImage picture = canvas->grab().toImage();
            QImage drawn(canvas->size(), QImage::Format_RGB32);
            drawn.fill(picture.pixelColor(1, canvas->height() - colorScaleHeight() + 2));
            {
                QPainter painter(&drawn);
                const Theme& theme = Theme::current();
                const bool isImage = canvas != page;
                paintColorScale(painter, drawn.rect(), isImage ? QColor(Qt::black) : theme.raised,
                                isImage ? QColor(Qt::white) : theme.accent, -3, 4);
            }
            const QRect foot(0, canvas->height() - colorScaleHeight() + 2, canvas->width(),
                             colorScaleHeight() - 2);
            QCOMPARE(picture.copy(foot).convertToFormat(QImage::Format_RGB32), drawn.copy(foot));
        }
    }

    void aWireShowsItsTensor() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->runs().run(1);
        QVERIFY(waitForRun(*window));
        Selection selection;
        const Graph& graph = window->document().graph();
        selection.edge = graph.outgoing(graph.findByName("fc1")->id).front();
        window->document().select(selection);
        QVERIFY(facts(*window).contains(QStringLiteral("std|")));
    }
};

TWB_GUI_TEST_MAIN(TestTensorView)
#include "test_tensor_view.moc"
