#include "core/error.h"
#include "graph/arrange.h"
#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/layered_layout.h"
#include "support/test_main.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <thread>

using namespace twb;

namespace {

LayoutBox cardBox(int group = -1) { return {176, 74, 37, group}; }

bool overlap(const Position& a, const LayoutBox& boxA, const Position& b, const LayoutBox& boxB) {
    return a.x < b.x + boxB.width && b.x < a.x + boxA.width && a.y < b.y + boxB.height &&
           b.y < a.y + boxA.height;
}

/// A chain with a bypass around every third box, as in residual networks.
std::vector<LayoutLink> residual(std::size_t count) {
    std::vector<LayoutLink> links;
    for (std::size_t i = 1; i < count; ++i) links.push_back({i - 1, i});
    for (std::size_t i = 3; i < count; i += 3) links.push_back({i - 3, i});
    return links;
}

struct Parameters {
    Graph graph;
    LaneId cpu, cuda;
    NodeId x, gemm, weight, bias, shared, relu;

    Parameters() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 0});
        const auto add = [&](const char* op, const char* name) {
            Node node;
            node.op = op;
            node.name = name;
            node.lane = cpu;
            return builder.addNode(node);
        };
        x = add("Input", "x");
        gemm = add("Gemm", "fc");
        weight = add("Ones", "weight");
        bias = add("Zeros", "bias");
        shared = add("Ones", "shared");
        relu = add("Relu", "relu");
        const NodeId add1 = add("Add", "add");
        builder.connect({{x, 0}, {gemm, 0}});
        builder.connect({{weight, 0}, {gemm, 1}});
        builder.connect({{bias, 0}, {gemm, 2}});
        builder.connect({{gemm, 0}, {relu, 0}});
        builder.connect({{shared, 0}, {add1, 0}});
        builder.connect({{shared, 0}, {add1, 1}});
        graph.apply(builder.take());
    }
};

} // namespace

class TestLayout : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void boxesFollowWhatTheyReadAndKeepApart() {
        const std::vector<LayoutBox> boxes(5, cardBox());
        const std::vector<LayoutLink> links{{0, 1}, {1, 2}, {0, 3}, {3, 2}, {2, 4}};
        const auto at = layeredLayout(boxes, links);
        for (const LayoutLink& link : links) QVERIFY(at[link.from].x + 176 < at[link.to].x);
        for (std::size_t a = 0; a < at.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) QVERIFY(!overlap(at[a], boxes[a], at[b], boxes[b]));
        QCOMPARE(at[0].x, 0.0);
    }

    void aChainOfUnequalCardsIsStraight() {
        std::vector<LayoutBox> boxes(3, cardBox());
        boxes[1].height = 74 + 44; // two rows below its ports
        const auto at = layeredLayout(boxes, std::vector<LayoutLink>{{0, 1}, {1, 2}});
        QCOMPARE(at[0].y, at[1].y);
        QCOMPARE(at[1].y, at[2].y);
    }

    void groupsKeepApart() {
        // Two branches, each in its own group, within a third group.
        std::vector<LayoutBox> boxes{cardBox(), cardBox(0), cardBox(0), cardBox(1), cardBox(1), cardBox()};
        const std::vector<LayoutLink> links{{0, 1}, {1, 2}, {0, 3}, {3, 4}, {2, 5}, {4, 5}};
        const auto at = layeredLayout(boxes, links, std::vector<int>{2, 2, -1});
        const double bottom = std::max(at[1].y, at[2].y) + 74;
        const double top = std::min(at[1].y, at[2].y);
        for (const std::size_t other : {3, 4})
            QVERIFY(at[other].y > bottom + 30 || at[other].y + 74 < top - 30);
    }

    /// The group of the boxes 1, 2 and 3 is at the border of the lanes; 0 and 4 are outside of its outline.
    void aGroupOfTwoLanesContainsNoOtherBox() {
        std::vector<LayoutBox> boxes{cardBox(), cardBox(0), cardBox(0), cardBox(0), cardBox()};
        for (const std::size_t below : {2, 3, 4}) boxes[below].lane = 1;
        const std::vector<LayoutLink> links{{0, 2}, {1, 2}, {2, 3}, {2, 4}};
        const auto at = layeredLayout(boxes, links, std::vector<int>{-1});
        QVERIFY(at[0].y + boxes[0].height + 60 <= at[1].y);
        QVERIFY(std::max(at[2].y, at[3].y) + boxes[2].height + 60 <= at[4].y);
    }

    void lanesHaveNoSpaceForBoxesOfOtherLanes() {
        std::vector<LayoutBox> boxes(9, cardBox());
        std::vector<LayoutLink> links;
        for (std::size_t i = 1; i < boxes.size(); ++i) {
            boxes[i].lane = static_cast<int>(i % 2);
            links.push_back({0, i});
        }
        const auto at = layeredLayout(boxes, links);
        for (const int lane : {0, 1}) {
            std::vector<double> tops;
            for (std::size_t i = 0; i < boxes.size(); ++i)
                if (boxes[i].lane == lane) tops.push_back(at[i].y);
            std::sort(tops.begin(), tops.end());
            QCOMPARE(tops.front(), 0.0);
            for (std::size_t i = 1; i < tops.size(); ++i) QVERIFY(tops[i] - tops[i - 1] <= 74 + 40);
        }
    }

    void cyclesAndEmptyGraphs() {
        QVERIFY(layeredLayout({}, {}).empty());
        const std::vector<LayoutBox> boxes(3, cardBox());
        QCOMPARE(layeredLayout(boxes, std::vector<LayoutLink>{{0, 1}, {1, 2}, {2, 0}, {1, 1}}).size(),
                 std::size_t{3});
        QCOMPARE(layeredLayout(boxes, {}).size(), std::size_t{3});
    }

    void largeNetworksAreQuickAndKeepApart_data() {
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("milliseconds");
        QTest::newRow("200") << 200 << 1000;
        QTest::newRow("2000") << 2000 << 10000;
        QTest::newRow("more than Graphviz gets") << 6000 << 10000;
    }
    void largeNetworksAreQuickAndKeepApart() {
        QFETCH(int, count);
        QFETCH(int, milliseconds);
        std::vector<LayoutBox> boxes;
        std::vector<int> parents;
        for (int i = 0; i < count; ++i) {
            if (i % 6 == 0) parents.push_back(-1);
            boxes.push_back(cardBox(int(parents.size()) - 1));
        }
        const auto links = residual(boxes.size());
        // CPU time, so that other load on the machine does not count.
        const std::clock_t start = std::clock();
        const auto at = layeredLayout(boxes, links, parents);
        const auto spent = 1000 * (std::clock() - start) / CLOCKS_PER_SEC;
        QVERIFY2(spent < milliseconds, qPrintable(QString::number(spent)));
        double width = 0;
        double height = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
            width = std::max(width, at[i].x + 176);
            height = std::max(height, at[i].y + 74);
            for (std::size_t j = i + 1; j < std::min(at.size(), i + 12); ++j)
                QVERIFY(!overlap(at[i], boxes[i], at[j], boxes[j]));
        }
        // The layout fits a window; it is not a long strip.
        QVERIFY2(width < 5 * height, qPrintable(QStringLiteral("%1 x %2").arg(width).arg(height)));
    }

    /// Rows are as long as a view of 1.6 : 1 shows them largest. Short chains stay in one row.
    void rowsFillTheView_data() {
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("rows");
        QTest::newRow("3") << 3 << 1;
        QTest::newRow("4") << 4 << 1;
        QTest::newRow("6") << 6 << 2;
        QTest::newRow("8") << 8 << 3;
        QTest::newRow("30") << 30 << 6;
    }
    void rowsFillTheView() {
        QFETCH(int, count);
        QFETCH(int, rows);
        const std::vector<LayoutBox> boxes(static_cast<std::size_t>(count), cardBox());
        std::vector<LayoutLink> links;
        for (std::size_t i = 1; i < boxes.size(); ++i) links.push_back({i - 1, i});
        const auto at = layeredLayout(boxes, links);
        std::map<double, int> inRow;
        double width = 0;
        for (const Position& place : at) {
            ++inRow[place.y];
            width = std::max(width, place.x + 176);
        }
        QCOMPARE(int(inRow.size()), rows);
        const double height = inRow.rbegin()->first + 74;
        const int longest =
            std::ranges::max_element(inRow, {}, [](const auto& r) { return r.second; })->second;
        QVERIFY2(longest * rows < count + longest,
                 qPrintable(QString::number(longest))); // no row is left over
        if (rows > 2) QVERIFY(width < 2 * height && height < width);
    }

    void mayBeCalledFromSeveralThreads() {
        const std::vector<LayoutBox> boxes(40, cardBox());
        const auto links = residual(boxes.size());
        const auto expected = layeredLayout(boxes, links);
        std::vector<Position> a, b;
        std::thread one([&] { a = layeredLayout(boxes, links); });
        std::thread two([&] { b = layeredLayout(boxes, links); });
        one.join();
        two.join();
        QVERIFY(a == expected && b == expected);
    }

    void arrangeLeavesFoldedNodesAlone() {
        Parameters p;
        p.graph.apply(fold(p.graph, {p.weight, p.bias}));
        std::vector<NodeId> all;
        for (const Node& node : p.graph.nodes()) all.push_back(node.id);
        const Delta delta = arrange(p.graph, all, {{40, 48}}).delta;
        for (const auto& change : delta.nodes) QVERIFY(!change.after->folded);
        p.graph.apply(delta);
        QVERIFY(p.graph.find(p.x)->position.x < p.graph.find(p.gemm)->position.x);
        QVERIFY(arrange(p.graph, all, {{40, 48}}).delta.nodes.empty());
    }

    /// A collapsed module of 20 nodes takes the place of one card; its content keeps an order of its own.
    void collapsedModulesTakeThePlaceOfTheirCard() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        Frame collapsed;
        collapsed.collapsed = true;
        const FrameId frame = builder.addFrame(collapsed);
        std::vector<NodeId> chain;
        for (int i = 0; i < 22; ++i) {
            Node node;
            node.op = i == 0 ? "Input" : "Relu";
            node.lane = lane;
            if (i > 0 && i < 21) node.frame = frame;
            chain.push_back(builder.addNode(node));
            if (i > 0) builder.connect({{chain[chain.size() - 2], 0}, {chain.back(), 0}});
        }
        graph.apply(builder.take());
        graph.apply(arrange(graph, chain, {{40, 48}}).delta);
        const auto x = [&](std::size_t i) { return graph.find(chain[i])->position.x; };
        QVERIFY(x(0) < x(1) && x(1) < x(21)); // x(1): the corner of the card
        QVERIFY(x(21) - x(0) < 4 * card::maxWidth);
        for (std::size_t i = 2; i < 21; ++i)
            QVERIFY(graph.find(chain[i])->position != graph.find(chain[i - 1])->position);
    }

    void onlySourcesWithOneReaderFold() {
        Parameters p;
        QCOMPARE(foldTarget(p.graph, p.weight), (std::optional<PortRef>{{p.gemm, 1}}));
        QVERIFY(!foldTarget(p.graph, p.x)); // an input of the model is not a parameter
        QVERIFY(!foldTarget(p.graph, p.shared));
        QVERIFY(!foldTarget(p.graph, p.gemm));
        QVERIFY(!foldTarget(p.graph, p.relu));
        // Folding the op folds its parameters.
        const Delta delta = fold(p.graph, {p.gemm});
        QCOMPARE(delta.nodes.size(), std::size_t{2});
        p.graph.apply(delta);
        QCOMPARE(foldedIn(p.graph, p.gemm), (std::vector<NodeId>{p.weight, p.bias}));
        QCOMPARE(cardOf(p.graph, p.bias), p.gemm);
        QVERIFY(cardSizeOf(p.graph, *p.graph.find(p.gemm)).height > card::height);
        // Without a consumer it becomes a card again, although it is marked as folded.
        DeltaBuilder builder(p.graph, "cut");
        builder.disconnect({{p.bias, 0}, {p.gemm, 2}});
        p.graph.apply(builder.take());
        QVERIFY(!foldedInto(p.graph, *p.graph.find(p.bias)));
    }

    void unfoldReversesFold() {
        Parameters p;
        const Graph before = p.graph;
        const Delta folding = fold(p.graph, {p.gemm});
        p.graph.apply(folding);
        Graph again = p.graph;
        again.apply(folding.inverse());
        QVERIFY(again == before);
        p.graph.apply(unfold(p.graph, {p.weight}));
        QVERIFY(!p.graph.find(p.weight)->folded && p.graph.find(p.bias)->folded);
        p.graph.apply(unfold(p.graph, {p.gemm}));
        QVERIFY(!p.graph.find(p.bias)->folded);
        QVERIFY(unfold(p.graph, {p.gemm, p.bias}).empty());
    }

    void parametersGoWithTheirOp() {
        Parameters p;
        p.graph.apply(fold(p.graph, {p.gemm}));
        DeltaBuilder builder(p.graph, "move");
        moveToLane(builder, p.gemm, p.cuda);
        p.graph.apply(builder.take());
        for (const NodeId id : {p.gemm, p.weight, p.bias}) QCOMPARE(p.graph.find(id)->lane, p.cuda);
        QCOMPARE(p.graph.find(p.relu)->lane, p.cpu);
    }

    void aShapeThatTheHostReadsStaysThere() {
        Parameters p;
        DeltaBuilder builder(p.graph, "reshape");
        Node node;
        node.lane = p.cpu;
        node.op = "Reshape";
        node.name = "reshape";
        const NodeId reshape = builder.addNode(node);
        node.op = "Constant";
        node.name = "shape";
        node.folded = true;
        const NodeId shape = builder.addNode(node);
        builder.connect({{p.relu, 0}, {reshape, 0}});
        builder.connect({{shape, 0}, {reshape, 1}});
        p.graph.apply(builder.take());
        const auto sendTo = [&](LaneId lane) {
            DeltaBuilder move(p.graph, "move");
            moveToLane(move, reshape, lane);
            p.graph.apply(move.take());
        };
        sendTo(p.cuda);
        QCOMPARE(p.graph.find(reshape)->lane, p.cuda);
        QCOMPARE(p.graph.find(shape)->lane, p.cpu);
        sendTo(p.cpu);
        Node astray = *p.graph.find(shape);
        DeltaBuilder mistake(p.graph, "mistake");
        astray.lane = p.cuda;
        mistake.change(astray);
        p.graph.apply(mistake.take());
        sendTo(p.cpu); // a wrongly placed shape moves to the cpu with its consumer
        QCOMPARE(p.graph.find(shape)->lane, p.cpu);
    }
};

TWB_TEST_MAIN(TestLayout)
#include "test_layout.moc"
