#include "graph/card_size.h"
#include "support/test_main.h"
#include "widgets/canvas/hit_test.h"
#include "widgets/canvas/spatial_grid.h"
#include "widgets/canvas_fixture.h"
#include "widgets/scene_text.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace twb;
using namespace twb::test;

class TestCanvasScene : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gridFindsWhatARectangleTouches() {
        std::mt19937 random(7);
        const auto number = [&](double from, double to) {
            return std::uniform_real_distribution<double>(from, to)(random);
        };
        SpatialGrid grid;
        std::map<std::uint32_t, QRectF> items;
        for (std::uint32_t i = 0; i < 2000; ++i) {
            const double size = i % 50 == 0 ? 20000 : 200;
            items[i] = QRectF(number(-9000, 9000), number(-9000, 9000), number(0, size), number(0, size));
            grid.insert(i, items[i]);
        }
        for (std::uint32_t i = 0; i < 2000; i += 3) {
            grid.remove(i, items[i]);
            items.erase(i);
        }
        for (int query = 0; query < 200; ++query) {
            const QRectF area(number(-12000, 9000), number(-12000, 9000), number(1, 3000), number(1, 3000));
            std::multiset<std::uint32_t> found;
            grid.query(area, [&](std::uint32_t item) {
                if (items.at(item).intersects(area)) found.insert(item);
            });
            std::multiset<std::uint32_t> expected;
            for (const auto& [item, rect] : items) {
                if (rect.intersects(area)) expected.insert(item);
            }
            QCOMPARE(found, expected);
        }
    }

    void followsRandomDeltasAsIfBuiltAnew_data() {
        QTest::addColumn<bool>("implicit");
        QTest::newRow("strict") << false;
        QTest::newRow("implicit") << true;
    }
    void followsRandomDeltasAsIfBuiltAnew() {
        QFETCH(bool, implicit);
        std::mt19937 random(implicit ? 11 : 5);
        const auto below = [&](std::size_t n) {
            return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
        };
        Document document(profiles());
        document.setGraph(SmallGraph().graph, {}, QString());
        if (implicit) {
            GraphInfo info = document.graph().info();
            info.policy = Policy::implicit;
            DeltaBuilder builder(document.graph(), "policy");
            builder.setInfo(info);
            document.apply(builder.take());
        }
        const auto source = [&] {
            return SceneSource{document.graph(), document.analysis(), document.devices()};
        };
        Scene scene;
        scene.rebuild(source());
        connect(&document, &Document::changed, this,
                [&](const Delta& delta) { scene.update(source(), delta, document.revised()); });
        static constexpr const char* kOps[] = {"Ones", "Add",    "Relu",      "MatMul",
                                               "To",   "Concat", "ReduceSum", "NoSuchOp"};
        int undone = 0;
        for (int step = 0; step < 500; ++step) {
            const Graph& graph = document.graph();
            std::vector<NodeId> nodes;
            for (const Node& node : graph.nodes()) nodes.push_back(node.id);
            const std::vector<Lane> lanes = graph.lanesInOrder();
            const LaneId lane = lanes[below(lanes.size())].id;
            const double x = static_cast<double>(below(120)) * 8;
            const double y = static_cast<double>(below(40)) * 8;
            DeltaBuilder builder(graph, "step");
            const auto change = [&](const auto& how) {
                if (nodes.empty()) return;
                Node node = *graph.find(nodes[below(nodes.size())]);
                how(node);
                builder.change(node);
            };
            switch (below(16)) {
            case 10:
                change([&](Node& node) {
                    node.name = "a longer name for the node of step " + std::to_string(step);
                    node.breakpoints = below(2) ? Breakpoints{Breakpoint()} : Breakpoints();
                });
                break;
            case 11:
                change([&](Node& node) {
                    node.attributes.set("shape", std::vector<std::int64_t>{std::int64_t(below(9)), 3});
                });
                break;
            case 12:
                change([&](Node& node) { node.disabled = below(3) == 0; });
                break;
            case 13:
                change([&](Node& node) { node.pinned = !node.pinned; });
                break;
            case 14:
                if (!graph.frames().empty()) {
                    Frame frame = *graph.frames().begin();
                    frame.collapsed = !frame.collapsed;
                    frame.title = "module of step " + std::to_string(step);
                    builder.change(frame);
                }
                break;
            case 15: {
                Lane changed = *graph.find(lane);
                changed.collapsed = below(4) == 0;
                changed.height = static_cast<double>(below(500));
                builder.change(changed);
                break;
            }
            case 0:
            case 1:
                addNode(builder, lane, kOps[below(std::size(kOps))], "n" + std::to_string(step), x, y);
                break;
            case 2:
                if (nodes.size() > 6) builder.removeNode(nodes[below(nodes.size())]);
                break;
            case 3:
            case 4:
                if (!nodes.empty()) {
                    Node node = *graph.find(nodes[below(nodes.size())]);
                    node.lane = lane;
                    node.position = {x, y};
                    node.folded = below(2) == 0;
                    if (!graph.frames().empty() && below(3) == 0) node.frame = graph.frames().begin()->id;
                    builder.change(node);
                }
                break;
            case 5:
            case 6:
                if (nodes.size() > 1) {
                    const auto i = below(nodes.size());
                    const auto j = below(nodes.size());
                    if (i != j)
                        builder.connect({{nodes[i], 0}, {nodes[j], static_cast<std::int32_t>(below(2))}});
                }
                break;
            case 7:
                if (const auto edges = graph.edges(); !edges.empty())
                    builder.disconnect(edges[below(edges.size())]);
                break;
            case 8:
                if (below(4) == 0)
                    builder.addLane({LaneId::none, below(2) ? Device::cuda(1) : Device::cpu(), "more",
                                     static_cast<int>(below(9)), 0});
                else if (graph.frames().size() < 3)
                    builder.addFrame({FrameId::none, "frame", FrameId::none});
                else
                    builder.addNote({NoteId::none, "a note of some words that wraps", lane, {x, y}, 120, 0});
                break;
            default:
                if (document.undoStack().canUndo() && undone++ < 60) document.undoStack().undo();
                break;
            }
            document.apply(builder.take());
            Scene fresh;
            fresh.rebuild(source());
            const std::string now = textOf(scene, document.graph());
            const std::string wanted = textOf(fresh, document.graph());
            const auto differs = std::mismatch(now.begin(), now.end(), wanted.begin(), wanted.end());
            const auto at = static_cast<std::size_t>(differs.first - now.begin());
            const std::size_t from = now.rfind('\n', at) + 1;
            QVERIFY2(now == wanted, qPrintable(QStringLiteral("step %1, %2: %3 is wanted to be %4")
                                                   .arg(step)
                                                   .arg(document.undoStack().undoText())
                                                   .arg(QString::fromStdString(now.substr(from, 160)),
                                                        QString::fromStdString(wanted.substr(from, 160)))));
        }
    }

    void lanesGrowWithTheirNodesAndStack() {
        SmallGraph g;
        Document document(profiles());
        document.setGraph(g.graph, {}, QString());
        Scene scene;
        scene.rebuild({document.graph(), document.analysis(), document.devices()});
        QCOMPARE(scene.lanes().bands().size(), std::size_t{3});
        QCOMPARE(scene.lanes().bands()[0].height, 240.0);
        QCOMPARE(scene.lanes().bands()[1].top, 240.0);
        QCOMPARE(scene.lanes().at(-50)->id, g.cpu);
        QCOMPARE(scene.lanes().at(300)->id, g.cuda);
        QVERIFY(scene.lanes().bands()[1].simulated);
        QVERIFY(scene.lanes().bands()[2].repeated);
        Node low = *document.graph().find(g.out);
        low.position.y = 400;
        DeltaBuilder builder(document.graph(), "down");
        builder.change(low);
        const Delta delta = builder.take();
        document.apply(delta);
        scene.update({document.graph(), document.analysis(), document.devices()}, delta);
        QVERIFY(scene.lanes().bands()[0].height >= 400 + card::height);
        QCOMPARE(scene.lanes().bands()[1].top, scene.lanes().bands()[0].bottom());
        QCOMPARE(scene.notes().front().rect.top(), scene.lanes().bands()[1].top + 24);
    }

    void hitTestPrefersPortsThenCardsThenWires() {
        SmallGraph g;
        Document document(profiles());
        document.setGraph(g.graph, {}, QString());
        Scene scene;
        scene.rebuild({document.graph(), document.analysis(), document.devices()});
        const NodeShape& sum = *scene.nodes().find(g.sum);
        const QPointF port = portPosition(sum, PortSide::input, 0);
        QCOMPARE(hitTest(scene, port, 1).kind, Hit::Kind::input);
        QCOMPARE(hitTest(scene, port - QPointF(11, 0), 1).kind,
                 Hit::Kind::input); // ports reach 12 pixels outwards
        QCOMPARE(hitTest(scene, port + QPointF(11, 0), 1).kind, Hit::Kind::node); // inside, the card is hit
        QCOMPARE(hitTest(scene, portPosition(sum, PortSide::output, 0), 1).kind, Hit::Kind::output);
        QCOMPARE(hitTest(scene, sum.rect.center(), 1).node, g.sum);
        const WireShape* wire = scene.wires().find({{g.a, 0}, {g.sum, 0}});
        QCOMPARE(hitTest(scene, scene.wires().path(*wire).at(0.4) + QPointF(0, 3), 1).kind, Hit::Kind::wire);
        QCOMPARE(hitTest(scene, scene.wires().path(*wire).at(0.4) + QPointF(0, 40), 1).kind,
                 Hit::Kind::nothing);
        QCOMPARE(hitTest(scene, scene.notes().front().rect.center(), 1).note, g.note);
    }

    void wiresThatRunBackGoAroundTheCards() {
        const QRectF source(400, 0, 120, 74);
        const QRectF target(100, 160, 120, 74);
        WirePath path({520, 37});
        routeWire(path, {100, 197}, source, target);
        QCOMPARE(path.end(), QPointF(100, 197));
        QVERIFY(path.bounds().right() > 540);
        QVERIFY(path.bounds().left() < 80);
        for (int i = 1; i < 100; ++i) {
            const QPointF at = path.at(i / 100.0);
            QVERIFY(!source.adjusted(1, 1, -1, -1).contains(at));
            QVERIFY(!target.adjusted(1, 1, -1, -1).contains(at));
        }
        WirePath ahead({120, 37});
        routeWire(ahead, {300, 90}, {}, {});
        QCOMPARE(ahead.cubicCount(), 1);
        QVERIFY(ahead.distanceTo(ahead.at(0.37)) < 1);
    }

    void aPriceSaysWhetherItIsPredictedModelledOrMeasured() {
        SmallGraph g;
        DeltaBuilder builder(g.graph, "to");
        const NodeId to = addNode(builder, g.cuda, "To", "to", 240, -16);
        builder.connect({{g.a, 0}, {to, 0}});
        g.graph.apply(builder.take());
        Document document(profiles());
        document.setGraph(g.graph, {}, QString());
        const SceneSource source{document.graph(), document.analysis(), document.devices()};
        Scene scene;
        scene.rebuild(source);
        const auto remark = [&](const RunState* run) {
            scene.prepare(source, scene.extent(), 1, run);
            const PriceLabel* label = scene.labels().ofNode(scene.nodes().slotOf(to));
            return label ? label->remark.text() : QStringLiteral("no label");
        };
        QCOMPARE(remark(nullptr), QStringLiteral("predicted · modelled"));
        // The same times before and after the run; only the label differs.
        RunState run;
        EdgeRun& price = run.edges[{{g.a, 0}, {to, 0}}];
        price = {24, 12000, 0.002, true, true};
        QCOMPARE(remark(&run), QStringLiteral("predicted · modelled"));
        price.predicted = false;
        QVERIFY(remark(&run).endsWith(QStringLiteral("modelled")));
        price.modelled = false;
        QVERIFY(remark(&run).endsWith(QStringLiteral("GB/s")));
        // A To on its input's lane copies nothing.
        Node here = *document.graph().find(to);
        here.lane = g.cpu;
        here.position = {240, 120};
        Delta delta;
        delta.title = "move";
        delta.nodes.push_back({*document.graph().find(to), here});
        document.apply(delta);
        scene.update({document.graph(), document.analysis(), document.devices()}, delta);
        QCOMPARE(remark(nullptr), QString());
    }

    void aModelledTimeIsNeverWrittenWithoutTheWord() {
        SmallGraph g;
        Document document(profiles());
        document.setGraph(g.graph, {}, QString());
        const SceneSource source{document.graph(), document.analysis(), document.devices()};
        Scene scene;
        scene.rebuild(source);
        RunState run;
        const auto card = [&]() -> const NodeCard& {
            scene.prepare(source, scene.extent(), 1, &run);
            return *scene.texts().find(scene.nodes().slotOf(g.out));
        };
        QCOMPARE(card().time.text(), QString());
        QCOMPARE(card().remark.text(), QString());
        run.nodes[g.out] = {StepState::done, 12000, true, false, {}, {}};
        QCOMPARE(card().time.text(), QStringLiteral("0.012 ms"));
        QCOMPARE(card().remark.text(), QStringLiteral("modelled"));
        run.nodes[g.out].modelled = false; // the same time, now measured
        QCOMPARE(card().time.text(), QStringLiteral("0.012 ms"));
        QCOMPARE(card().remark.text(), QString());
        run.nodes[g.out].once = true;
        QCOMPARE(card().remark.text(), QStringLiteral("once"));
        run.nodes[g.out].modelled = true;
        QCOMPARE(card().remark.text(), QStringLiteral("modelled, once"));
        run.nodes[g.out] = {};
        QCOMPARE(card().time.text(), QString());
    }

    void aStagedFileIsPricedUnderItsCard() {
        SmallGraph g;
        DeltaBuilder builder(g.graph, "file");
        const Attributes path{{"path", std::string("resources/examples/digits/mlp_w1.npy")}};
        const NodeId staged = addNode(builder, g.cuda, "File", "staged", 16, 16, path);
        const NodeId local = addNode(builder, g.cpu, "File", "local", 640, 24, path);
        g.graph.apply(builder.take());
        Document document(profiles());
        document.setGraph(g.graph, {}, QStringLiteral(TWB_SOURCE_DIR));
        const SceneSource source{document.graph(), document.analysis(), document.devices()};
        Scene scene;
        scene.rebuild(source);
        RunState run;
        const auto label = [&](NodeId id) {
            scene.prepare(source, scene.extent(), 1, &run);
            return scene.labels().ofNode(scene.nodes().slotOf(id));
        };
        QVERIFY(!label(local));
        QVERIFY(label(staged));
        QVERIFY2(label(staged)->figures.text().startsWith(QStringLiteral("32.8 kB · ")),
                 qPrintable(label(staged)->figures.text()));
        QCOMPARE(label(staged)->remark.text(), QStringLiteral("staging · predicted · modelled"));
        run.edges[stagingOf(staged)] = {32768, 15000, 2.2, true, false};
        QCOMPARE(label(staged)->figures.text(), QStringLiteral("32.8 kB · 0.015 ms"));
        QCOMPARE(label(staged)->remark.text(), QStringLiteral("staging · 2.2 GB/s · modelled"));
        QVERIFY(label(staged)->rect.bottom() <= scene.lanes().find(g.cuda)->bottom());
    }

    void draggingShowsWhatTheNewLaneWouldMakeOfTheWires() {
        SmallGraph g;
        DeltaBuilder builder(g.graph, "move");
        Node sum = *g.graph.find(g.sum);
        sum.lane = g.cuda;
        builder.change(sum);
        g.graph.apply(builder.take());
        Document document(profiles());
        document.setGraph(g.graph, {}, QString());
        Scene scene;
        scene.rebuild({document.graph(), document.analysis(), document.devices()});
        const Edge edge{{g.a, 0}, {g.sum, 0}};
        QVERIFY(scene.wires().find(edge)->mismatch);
        const std::pair<NodeId, QPointF> moved[] = {{g.sum, QPointF(0, -200)}};
        const Device devices[] = {Device::cpu()};
        scene.drag(document.graph(), moved, {}, devices);
        QVERIFY(!scene.wires().find(edge)->mismatch);
        QVERIFY(!scene.wires().find(edge)->crosses);
        scene.endDrag(document.graph());
        QVERIFY(scene.wires().find(edge)->mismatch);
        Scene fresh;
        fresh.rebuild({document.graph(), document.analysis(), document.devices()});
        QCOMPARE(textOf(scene, document.graph()), textOf(fresh, document.graph()));
    }

    void missingAndOptionalInputsAreTold() {
        SmallGraph g;
        Document document(profiles());
        document.setGraph(g.graph, {}, QString());
        Scene scene;
        const SceneSource source{document.graph(), document.analysis(), document.devices()};
        scene.rebuild(source);
        scene.prepare(source, scene.extent(), 1, nullptr);
        const auto& nodes = scene.nodes().shapes();
        for (std::uint32_t slot = 0; slot < nodes.size(); ++slot) {
            const NodeCard* card = scene.texts().find(slot);
            QVERIFY(card);
            if (nodes[slot].id != g.sum) continue;
            QCOMPARE(card->inputs[0].state, PortLook::State::connected);
            QCOMPARE(card->inputs[1].state, PortLook::State::missing);
            QVERIFY(nodes[slot].hasError);
        }
    }
};

TWB_GUI_TEST_MAIN(TestCanvasScene)
#include "test_canvas_scene.moc"
