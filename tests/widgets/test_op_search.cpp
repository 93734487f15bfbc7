#include "support/test_main.h"
#include "widgets/icon.h"
#include "widgets/palette/fuzzy_match.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/palette/op_search.h"
#include "widgets/palette/op_usage.h"
#include "widgets/text.h"
#include "widgets/window_hand.h"

#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QSettings>

using namespace twb;
using namespace twb::test;

namespace {

/// Two lanes; on cpu a f32 "x", a bool "flags" and a Gemm "fc" without inputs.
struct Start {
    Graph graph;
    LaneId cpu, cuda;
    NodeId x, flags, fc;

    Start() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 320});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 240});
        x = addNode(builder, cpu, "Ones", "x", 16, 16);
        flags =
            addNode(builder, cpu, "Full", "flags", 16, 160, {{"value", 1.0}, {"dtype", std::string("bool")}});
        fc = addNode(builder, cpu, "Gemm", "fc", 520, 40);
        graph.apply(builder.take());
    }
};

/// The popup of the op search.
struct Search {
    OpSearch* popup;
    QLineEdit* field;
    QListView* list;
    QLabel* heading;

    explicit Search(MainWindow& window)
        : popup(window.findChild<OpSearch*>()), field(find<QLineEdit>(*popup, "opSearchField")),
          list(find<QListView>(*popup, "opSearchList")), heading(find<QLabel>(*popup, "opSearchHeading")) {}

    bool isOpen() const { return popup->isVisible(); }
    QString row(int i) const { return list->model()->index(i, 0).data().toString(); }
    bool offers(const char* op) const {
        for (int i = 0; i < list->model()->rowCount(); ++i)
            if (row(i) == QLatin1String(op)) return true;
        return false;
    }
    void type(const char* text) const { QTest::keyClicks(field, QString::fromLatin1(text)); }
    void press(Qt::Key key) const { QTest::keyClick(field, key); }
};

} // namespace

class TestOpSearch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void ranksLikelyMatchesFirst_data() {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<QString>("first");
        const std::pair<const char*, const char*> rows[] = {
            {"relu", "Relu"},        {"softm", "Softmax"},
            {"logsm", "LogSoftmax"}, {"gem", "Gemm"},
            {"mm", "MatMul"},        {"RSum", "ReduceSum"},
            {"trans", "Transpose"},  {"to", "To"},
            {"conv", "Conv"},        {"batch norm", "BatchNormalization"},
            {"am", "ArgMax"},        {"linear", "Linear"},
        };
        for (const auto& [typed, first] : rows)
            QTest::newRow(typed) << QString::fromLatin1(typed) << QString::fromLatin1(first);
    }
    void ranksLikelyMatchesFirst() {
        QFETCH(QString, typed);
        QFETCH(QString, first);
        OpListModel model(OpListModel::Order::nearest);
        model.setFilter(typed);
        QVERIFY(model.rowCount() > 0);
        QStringList nearest;
        for (int i = 0; i < std::min(5, model.rowCount()); ++i) nearest << model.op(model.index(i));
        QVERIFY2(nearest.front() == first, qPrintable(nearest.join(QLatin1Char(' '))));
    }

    void lettersMustComeInTheirOrder() {
        QVERIFY(fuzzyScore(u"gmm", u"Gemm"));
        QVERIFY(!fuzzyScore(u"mgm", u"Gemm"));
        QVERIFY(!fuzzyScore(u"gemmm", u"Gemm"));
        QVERIFY(*fuzzyScore(u"ge", u"Gemm") > *fuzzyScore(u"ge", u"Range"));
        QVERIFY(*fuzzyScore(u"ls", u"LogSoftmax") > *fuzzyScore(u"ls", u"Also"));
        QCOMPARE(fuzzyScore(u"", u"Gemm"), std::optional<int>(0));
    }

    /// Most sections of the palette had none, so that their names stood in a column of gaps.
    void everySectionHasAnIcon() {
        for (const Op& op : opTable()) {
            const QString section = toQt(op.category);
            QVERIFY2(!categoryIcon(section, Qt::black).isNull(), op.category.c_str());
        }
    }

    void everyRowSaysWhatItIsAndTakes() {
        OpListModel model(OpListModel::Order::nearest);
        model.setFilter(QStringLiteral("Relu"));
        const QModelIndex relu = model.firstOp();
        QVERIFY(!relu.data(OpListModel::CategoryRole).toString().isEmpty());
        QVERIFY(!relu.data(OpListModel::DocRole).toString().isEmpty());
        QVERIFY(relu.data(OpListModel::TypesRole).toString().contains(QLatin1String("float")));
        model.setFilter(QStringLiteral("ArgMax"));
        QVERIFY(model.firstOp().data(OpListModel::TypesRole).toString().endsWith(QStringLiteral("→ i64")));
    }

    void shiftAPutsAnOpOnTheLaneUnderThePointer() {
        Start g;
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        const QPoint at = hand.pixel({400, hand.canvas.scene().lanes().find(g.cuda)->top + 110});
        QTest::mouseMove(hand.window.get(), hand.canvas.mapTo(hand.window.get(), at));
        hand.moveTo(at);
        QVERIFY(hand.canvas.underMouse());
        hand.key(Qt::Key_A, Qt::ShiftModifier);
        QVERIFY(search.isOpen());
        QVERIFY(search.heading->isHidden());
        search.type("softm");
        QCOMPARE(search.row(0), QStringLiteral("Softmax"));
        search.press(Qt::Key_Return);
        QVERIFY(!search.isOpen());
        const Node* node = hand.node("softmax");
        QVERIFY(node);
        QCOMPARE(node->lane, g.cuda);
        QVERIFY(hand.shape(node->id).rect.contains(hand.canvas.view().toScene(at)));
        QCOMPARE(hand.document.selection().nodes, std::set<NodeId>{node->id});
        QCOMPARE(hand.undoSteps(), 1);
        QVERIFY(hand.canvas.hasFocus());
    }

    void doubleClickOnAnEmptyPlaceSearchesAndEscapeCancels() {
        Start g;
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        const QPoint at = hand.pixel({360, 200});
        QTest::mouseDClick(&hand.canvas, Qt::LeftButton, {}, at);
        QVERIFY(search.isOpen());
        search.press(Qt::Key_Escape);
        QVERIFY(!search.isOpen());
        QCOMPARE(hand.undoSteps(), 0);
        // A double click on a card does not open the search.
        QTest::mouseDClick(&hand.canvas, Qt::LeftButton, {}, hand.middle(g.fc));
        QVERIFY(!search.isOpen());
    }

    void arrowsAndAClickChoose() {
        Start g;
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        hand.key(Qt::Key_Insert);
        QVERIFY(search.isOpen());
        search.type("re");
        search.press(Qt::Key_Down);
        search.press(Qt::Key_Down);
        search.press(Qt::Key_Up);
        const QString second = search.row(1);
        QCOMPARE(search.list->currentIndex().row(), 1);
        search.press(Qt::Key_Enter);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(4));
        QVERIFY(hand.node(qPrintable(second.toLower())));
        hand.key(Qt::Key_Insert);
        const QString third = search.row(2);
        QTest::mouseClick(search.list->viewport(), Qt::LeftButton, {},
                          search.list->visualRect(search.list->model()->index(2, 0)).center());
        QVERIFY(!search.isOpen());
        QCOMPARE(hand.graph().nodes().size(), std::size_t(5));
        QCOMPARE(QString::fromStdString(hand.graph().find(*hand.document.selection().nodes.begin())->op),
                 third);
        // The selection wraps around at the ends. A name without a match shows a message and adds nothing.
        hand.key(Qt::Key_Insert);
        search.press(Qt::Key_Up);
        QCOMPARE(search.list->currentIndex().row(), search.list->model()->rowCount() - 1);
        search.type("qqqq");
        QVERIFY(search.list->isHidden());
        search.press(Qt::Key_Return);
        QVERIFY(search.isOpen());
        search.press(Qt::Key_Escape);
        QCOMPARE(hand.undoSteps(), 2);
    }

    void wireOverAnEmptyPlaceSearchesConsumers() {
        Start g;
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        const QPoint to = hand.pixel({300, 120});
        hand.drag(hand.output(g.flags), to);
        QVERIFY(search.isOpen());
        QVERIFY(search.heading->text().contains(QLatin1String("bool")));
        QVERIFY(search.offers("Not"));
        QVERIFY(!search.offers("Relu"));
        QVERIFY(!search.offers("Ones")); // it has no inputs
        hand.window->grab();
        search.type("not");
        search.press(Qt::Key_Return);
        const Node* node = hand.node("not");
        QVERIFY(node);
        QCOMPARE(hand.graph().sourceOf({node->id, 0}), std::optional<PortRef>(PortRef{g.flags, 0}));
        QCOMPARE(hand.undoSteps(), 1);
        QVERIFY(std::abs(hand.shape(node->id).rect.left() - hand.canvas.view().toScene(to).x()) <= 8);
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void suggestionsAreRankedByUse_data() {
        QTest::addColumn<QString>("dtype");
        QTest::addColumn<std::vector<std::int64_t>>("shape");
        QTest::addColumn<QString>("first");
        QTest::addColumn<QStringList>("early"); ///< among the first eight
        QTest::addColumn<QStringList>("late");  ///< not among them
        using Sizes = std::vector<std::int64_t>;
        const auto words = [](const char* text) { return QString::fromLatin1(text).split(QLatin1Char(' ')); };
        QTest::newRow("matrix") << QStringLiteral("f32") << Sizes{1000, 1000} << QStringLiteral("MatMul")
                                << words("Gemm Add Relu Linear") << words("Range Conv NonZero Det");
        QTest::newRow("images") << QStringLiteral("f32") << Sizes{8, 3, 224, 224} << QStringLiteral("Conv")
                                << words("Relu BatchNormalization Add") << words("Gemm Range Gather");
        QTest::newRow("tokens") << QStringLiteral("i64") << Sizes{4, 128} << QStringLiteral("Gather")
                                << words("Cast Equal Add") << words("Softmax Conv Range");
        QTest::newRow("mask") << QStringLiteral("bool") << Sizes{4, 128} << QStringLiteral("Where")
                              << words("Cast Not And") << words("Compress");
        QTest::newRow("number") << QStringLiteral("f32") << Sizes{} << QStringLiteral("Add")
                                << words("Mul Probe Div") << words("Conv Gemm Range");
    }
    void suggestionsAreRankedByUse() {
        QFETCH(QString, dtype);
        QFETCH(std::vector<std::int64_t>, shape);
        QFETCH(QString, first);
        QFETCH(QStringList, early);
        QFETCH(QStringList, late);
        QSettings().remove(QStringLiteral("recentOps"));
        Start g;
        DeltaBuilder builder(g.graph, "shape");
        Node x = *g.graph.find(g.x);
        x.op = "Full";
        x.attributes = {{"shape", shape}, {"value", 1.0}, {"dtype", dtype.toStdString()}};
        builder.change(x);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        hand.drag(hand.output(g.x), hand.pixel({300, 220}));
        QVERIFY(search.isOpen());
        QStringList shown;
        for (int i = 0; i < 8; ++i) shown << search.row(i);
        const QString all = shown.join(QLatin1Char(' '));
        QVERIFY2(shown.front() == first, qPrintable(all));
        for (const QString& op : early)
            QVERIFY2(shown.contains(op), qPrintable(op + QStringLiteral(" not in ") + all));
        for (const QString& op : late)
            QVERIFY2(!shown.contains(op), qPrintable(op + QStringLiteral(" in ") + all));
    }

    void recentChoicesRankHigher() {
        QSettings().remove(QStringLiteral("recentOps"));
        Start g;
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        hand.drag(hand.output(g.x), hand.pixel({300, 220}));
        search.type("erf");
        search.press(Qt::Key_Return);
        QVERIFY(hand.node("erf"));
        hand.drag(hand.output(g.x), hand.pixel({300, 60}));
        QStringList shown;
        for (int i = 0; i < 6; ++i) shown << search.row(i);
        QVERIFY2(shown.contains(QStringLiteral("Erf")), qPrintable(shown.join(QLatin1Char(' '))));
    }

    /// A misspelt name in the ranking table would have no effect.
    void everyRankedOpIsInThePalette() {
        OpListModel model(OpListModel::Order::nearest);
        QStringList ranked;
        for (int i = 0; i < model.rowCount(); ++i) {
            const QString op = model.op(model.index(i));
            if (readerUsage(op, std::nullopt) > 0) ranked << op;
        }
        QCOMPARE(std::size_t(ranked.size()), rankedReaders().size());
    }

    void wireFromAnInputSearchesProducers() {
        Start g;
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        hand.drag(hand.input(g.fc, 1), hand.pixel({440, 240}));
        QVERIFY(search.isOpen());
        QVERIFY(search.heading->text().contains(QLatin1String("fc")));
        QVERIFY(search.offers("RandomNormal"));
        QVERIFY(!search.offers("Equal")); // returns bools
        QVERIFY(!search.offers("Save"));  // has no outputs
        search.type("randomn");
        search.press(Qt::Key_Return);
        const auto source = hand.graph().sourceOf({g.fc, 1});
        QVERIFY(source);
        QCOMPARE(hand.node(source->node).op, std::string("RandomNormal"));
        QCOMPARE(hand.undoSteps(), 1);
    }

    void aWireGoesIntoAModuleToo() {
        Start g;
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        hand.drag(hand.output(g.x), hand.pixel({300, 220}));
        search.type("linear");
        QCOMPARE(search.row(0), QStringLiteral("Linear"));
        search.press(Qt::Key_Return);
        const auto& leaving = hand.graph().outgoing(g.x);
        QCOMPARE(leaving.size(), std::size_t(1));
        QCOMPARE(hand.node(leaving.front().to.node).op, std::string("Gemm"));
        QCOMPARE(hand.undoSteps(), 1);
    }

    void wireOntoACardOpensNoSearch() {
        Start g;
        WindowHand hand(g.graph);
        const Search search(*hand.window);
        hand.drag(hand.output(g.flags), hand.middle(g.fc)); // does not accept bool
        QVERIFY(!search.isOpen());
        hand.drag(hand.output(g.x), hand.middle(g.x));
        QVERIFY(!search.isOpen());
        QCOMPARE(hand.undoSteps(), 0);
    }
};

TWB_GUI_TEST_MAIN(TestOpSearch)
#include "test_op_search.moc"
