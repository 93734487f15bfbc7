#include "graph/simplify_models.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

class TestSimplify : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // Constants and sizes

    void constantsAreComputed() {
        Model m;
        const NodeId sum = m.op("Add", {m.number(2), m.number(3)});
        m.probe(m.op("Mul", {m.x, m.op("Sqrt", {sum})}));
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{4});
        QCOMPARE(count(after, "Constant"), 1);
        const Node* root = after.findByName("/block/Sqrt_3");
        QVERIFY(root && root->op == "Constant" && root->folded);
        QCOMPARE(root->attributes.number("value"), double(std::sqrt(5.0F)));
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void shapeArithmeticGoes() {
        Model m; // x.reshape(x.shape[0] * x.shape[1], -1)
        const NodeId shape = m.op("Shape", {m.x});
        const auto size = [&](std::int64_t axis) { return m.op("Gather", {shape, m.integers({axis})}); };
        const NodeId rows = m.op("Mul", {size(0), size(1)});
        const NodeId wanted = m.op("Concat", {rows, m.integers({-1})}, {{"axis", std::int64_t{0}}});
        m.probe(m.op("Reshape", {m.x, wanted}));
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{3});
        for (const Node& node : after.nodes())
            if (node.op == "Reshape") QCOMPARE(node.attributes.integers("shape"), (Ints{6, -1}));
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void freeAxesStayFree() {
        Model m; // the batch is free
        const NodeId x = m.op("Relu", {m.x});
        const NodeId shape = m.op("Shape", {x});
        const auto size = [&](std::int64_t axis) { return m.op("Gather", {shape, m.integers({axis})}); };
        const auto reshaped = [&](const Inputs& sizes) {
            const NodeId wanted = m.op("Concat", sizes, {{"axis", std::int64_t{0}}});
            return m.op("Reshape", {x, wanted});
        };
        const NodeId swapped = reshaped({size(0), size(2), m.integers({3})});
        const NodeId split = reshaped({size(0), m.integers({3}), m.integers({2}), m.integers({-1})});
        const NodeId joined = reshaped({m.integers({24}), size(0)});
        const NodeId same = reshaped({size(0), size(1), size(2)});
        const NodeId factor = m.op("Cast", {size(0)}, {{"to", std::string("f32")}});
        m.probe(m.op("Mul", {swapped, factor}), "swapped");
        m.probe(m.op("Neg", {split}), "split");
        m.probe(m.op("Neg", {joined}), "joined");
        m.probe(m.op("Neg", {same}), "same");
        SimplifyOptions options;
        options.free = {{m.x, 0}};
        const Graph after = simplified(m.graph(), options);
        QCOMPARE(difference(m.graph(), after), QString());
        QCOMPARE(count(after, "Shape"), 1); // of the factor
        QCOMPARE(count(after, "Concat"), 0);
        const auto shapeOf = [&](NodeId reshape) {
            return after.find(reshape)->attributes.integers("shape");
        };
        QCOMPARE(shapeOf(swapped), (Ints{0, 8, 3}));
        QCOMPARE(shapeOf(split), (Ints{0, 3, 2, 4}));
        QCOMPARE(shapeOf(joined), (Ints{24, -1}));
        QVERIFY(!after.find(same));
        const auto larger = [&](Graph graph) {
            DeltaBuilder builder(graph, "batch");
            builder.setAttribute(m.x, "shape", Ints{5, 3, 8});
            graph.apply(builder.take());
            return graph;
        };
        QCOMPARE(difference(larger(m.graph()), larger(after)), QString());
        // With a fixed batch nothing of it stays.
        QCOMPARE(count(simplified(m.graph()), "Shape"), 0);
    }

    /// The size of one free axis must not be taken for that of another one.
    void freeAxesAreToldApart() {
        Model m({2, 2, 8});
        const NodeId shape = m.op("Shape", {m.x});
        const auto size = [&](std::int64_t axis) { return m.op("Gather", {shape, m.integers({axis})}); };
        const auto reshaped = [&](NodeId a, NodeId b, NodeId c) {
            return m.op("Reshape", {m.x, m.op("Concat", {a, b, c}, {{"axis", std::int64_t{0}}})});
        };
        const NodeId straight = reshaped(size(0), size(1), m.integers({-1}));
        const NodeId swapped = reshaped(size(1), size(0), m.integers({-1}));
        const NodeId twice = reshaped(size(0), size(0), m.integers({-1}));
        for (const auto& [name, at] :
             {std::pair{"straight", straight}, {"swapped", swapped}, {"twice", twice}})
            m.probe(m.op("Neg", {at}), name);
        SimplifyOptions options;
        options.free = {{m.x, 0}, {m.x, 1}};
        const Graph after = simplified(m.graph(), options);
        QVERIFY(!after.find(straight));
        QVERIFY(after.sourceOf({swapped, 1}) && after.sourceOf({twice, 1}));
        const auto with = [&](Graph graph, std::int64_t a, std::int64_t b) {
            DeltaBuilder builder(graph, "sizes");
            builder.setAttribute(m.x, "shape", Ints{a, b, 8});
            graph.apply(builder.take());
            return graph;
        };
        QCOMPARE(difference(with(m.graph(), 4, 8), with(after, 4, 8)), QString());
    }

    /// The first axis of pooled regions is that of the regions, not of the images.
    void regionsAreNoBatch() {
        Model m({1, 2, 4, 4});
        Numbers corners;
        for (int i = 0; i < 8; ++i) corners.insert(corners.end(), {0, 0, 2, 2});
        const NodeId rois = m.constant(corners, Ints{8, 4});
        const NodeId pooled =
            m.op("RoiAlign",
                 {m.x, rois, m.op("Constant", {}, {{"value", Ints(8, 0)}, {"dtype", std::string("i64")}})});
        const NodeId batch = m.op("Gather", {m.op("Shape", {m.x}), m.integers({0})});
        const NodeId wanted =
            m.op("Concat", {batch, m.integers({8}), m.integers({-1})}, {{"axis", std::int64_t{0}}});
        m.probe(m.op("Reshape", {pooled, wanted}));
        SimplifyOptions options;
        options.free = {{m.x, 0}};
        QCOMPARE(difference(m.graph(), simplified(m.graph(), options)), QString());
    }

    void randomNumbersAndInputsAreNotConstants() {
        Model m;
        const NodeId noise = m.op("RandomNormal", {}, {{"shape", Ints{8}}});
        const NodeId like = m.op("RandomNormalLike", {m.weight(8)});
        m.probe(m.op("Add", {m.op("Neg", {noise}), m.x}));
        m.probe(m.op("Abs", {like}), "z");
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Neg"), 1);
        QCOMPARE(count(after, "Abs"), 1);
        QCOMPARE(count(after, "RandomNormalLike"), 1);
    }

    void resultsMayNotGrowTheProject() {
        Model m;
        const NodeId large = m.op("Expand", {m.number(1), m.integers({200, 1, 200})}); // 160 kB
        const NodeId small = m.op("Expand", {m.number(1), m.integers({20, 3, 8})});    // 1.9 kB
        m.probe(m.op("ReduceMean", {m.op("Relu", {large})}));
        m.probe(m.op("Add", {m.op("Slice", {small, m.integers({0}), m.integers({2})}), m.x}), "z");
        int held = 0;
        MemoryFiles files;
        SimplifyOptions options;
        options.files = &files;
        options.hold = [&](Node& node, const Tensor& tensor) {
            const std::string path = "held.npy" + std::to_string(++held);
            files.put(path, tensor);
            node.op = "File";
            node.attributes.set("path", path);
        };
        const Graph after = simplified(m.graph(), options);
        QCOMPARE(count(after, "Expand"), 0); // the mean of the large tensor is a small one
        QCOMPARE(held, 0);

        Model kept;
        kept.probe(kept.op("Expand", {kept.number(1), kept.integers({200, 1, 200})}));
        kept.probe(kept.op("Expand", {kept.number(1), kept.integers({20, 3, 8})}), "z");
        const Graph stays = simplified(kept.graph(), options);
        QCOMPARE(count(stays, "Expand"), 1);
        QCOMPARE(count(stays, "File"), 1);
        QCOMPARE(held, 1);
        QCOMPARE(count(simplified(kept.graph()), "Expand"), 2); // nowhere to hold them
    }

    void longComputationsAreLeftToTheRun() {
        Model m;
        const auto square = [&](std::int64_t size) {
            return m.op("Ones", {}, {{"shape", Ints{size, size}}});
        };
        const auto mean = [&](NodeId a, NodeId b) { return m.op("ReduceMean", {m.op("MatMul", {a, b})}); };
        m.probe(mean(square(1024), square(1024)), "large"); // 2 GFLOP
        m.probe(mean(square(20), square(20)), "small");
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "MatMul"), 1);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    // Nodes that do nothing

    void nodesThatPassTheirInputOnGo() {
        Model m;
        NodeId at = m.op("Identity", {m.x});
        at = m.op("Cast", {at}, {{"to", std::string("f32")}});
        at = m.op("Reshape", {at, m.integers({2, -1, 8})});
        at = m.op("Expand", {at, m.integers({1, 3, 8})});
        at = m.op("Pad", {at, m.integers({0, 0, 0, 0, 0, 0})});
        at = m.op("Slice", {at, m.integers({0}), m.integers({100}), m.integers({1})});
        at = m.op("Transpose", {at}, {{"perm", Ints{0, 1, 2}}});
        at = m.op("Concat", {at}, {{"axis", std::int64_t{1}}});
        at = m.op("Dropout", {at, m.number(0), m.boolean(true)});
        m.probe(at);
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{2});
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void nodesThatChangeTheirInputStay_data() {
        QTest::addColumn<QString>("op");
        for (const char* op : {"Cast", "Slice", "Pad", "Transpose", "Expand", "Dropout"})
            QTest::newRow(op) << QString(op);
    }
    void nodesThatChangeTheirInputStay() {
        QFETCH(QString, op);
        Model m({3, 3});
        const std::string name = op.toStdString();
        NodeId at = NodeId::none;
        if (name == "Cast") at = m.op("Cast", {m.x}, {{"to", std::string("i32")}});
        if (name == "Slice") // backwards
            at = m.op("Slice", {m.x, m.integers({-1}), m.integers({-9}), m.integers({0}), m.integers({-1})});
        if (name == "Pad") at = m.op("Pad", {m.x, m.integers({1, 0, -1, 0})});
        if (name == "Transpose") at = m.op("Transpose", {m.x}, {{"perm", Ints{1, 0}}});
        if (name == "Dropout") at = m.op("Dropout", {m.x, m.number(0.5)}); // a training drops elements
        if (name == "Expand") at = m.op("Expand", {m.x, m.integers({2, 3, 3})});
        m.probe(at);
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, name), 1);
        QCOMPARE(difference(m.graph(), after), QString());
    }

    void scalesOfOnesAndBiasesOfZerosGo() {
        Model m;
        const NodeId ones = m.constant(Numbers(8, 1));
        const NodeId zeros = m.constant(Numbers(8, 0));
        const NodeId plain = m.op("LayerNormalization", {m.x, ones, zeros});
        const NodeId shifted = m.op("LayerNormalization", {plain, m.constant(Numbers(8, 1)), ones});
        Numbers nearly(8, 1);
        nearly.back() = 1 + 1e-7; // one unit of f32
        const NodeId scaled = m.op("LayerNormalization", {shifted, m.constant(nearly), zeros});
        m.probe(scaled);
        const Graph after = simplified(m.graph());
        QVERIFY(!after.sourceOf({plain, 1}) && !after.sourceOf({plain, 2}));
        QVERIFY(!after.sourceOf({shifted, 1}) && after.sourceOf({shifted, 2}));
        QVERIFY(after.sourceOf({scaled, 1}) && !after.sourceOf({scaled, 2}));
        QCOMPARE(count(after, "Constant"), 2);
        QCOMPARE(difference(m.graph(), after), QString());
        const std::vector<std::string> remarks = simplify(m.graph(), {}).remarks;
        QVERIFY(std::ranges::any_of(remarks, [](const std::string& remark) {
            return remark == "Disconnected 4 inputs of LayerNormalization, since they are scales of ones and "
                             "biases of zeros";
        }));
    }

    void neighbouringReshapesAndTransposesBecomeOne() {
        Model m({2, 3, 4});
        NodeId at = m.op("Transpose", {m.x}, {{"perm", Ints{1, 2, 0}}});
        at = m.op("Transpose", {at}, {{"perm", Ints{0, 2, 1}}});
        at = m.op("Unsqueeze", {at, m.integers({0})});
        at = m.op("Reshape", {at, m.integers({6, 4})});
        m.probe(m.op("Reshape", {at, m.integers({4, -1})}));
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{4});
        QCOMPARE(difference(m.graph(), after), QString());

        Model zero({2, 3, 4}); // the second Reshape copies a size of the first
        at = zero.op("Reshape", {zero.op("Relu", {zero.x}), zero.integers({6, 4})});
        zero.probe(zero.op("Reshape", {at, zero.integers({0, 2, 2})}));
        QCOMPARE(count(simplified(zero.graph()), "Reshape"), 2);
        QCOMPARE(difference(zero.graph(), simplified(zero.graph())), QString());
    }

    void deadNodesGoButResultsStay() {
        Model m;
        m.op("Neg", {m.op("Abs", {m.x})}); // read by nobody
        m.maker.node("Input", "unused");
        m.probe(m.op("Relu", {m.x}));
        const Graph after = simplified(m.graph());
        QCOMPARE(after.nodes().size(), std::size_t{4});
        QVERIFY(after.findByName("unused"));

        Model without; // without a Probe, the last nodes are the results
        without.op("Identity", {without.op("Abs", {without.x})});
        QVERIFY(simplify(without.graph(), {}).delta.empty());
        QVERIFY(simplify(without.graph(), {}).remarks.empty());
    }

    void breakpointsAndDisabledNodesStay() {
        Model m;
        const NodeId identity = m.op("Identity", {m.x});
        const NodeId sum = m.op("Add", {m.number(1), m.number(2)});
        m.probe(m.op("Mul", {identity, m.op("Neg", {sum})}));
        DeltaBuilder builder(m.graph(), "stop");
        Node stopped = *m.graph().find(identity);
        stopped.breakpoints = {Breakpoint{}};
        builder.change(stopped);
        Node disabled = *m.graph().find(sum);
        disabled.disabled = true;
        builder.change(disabled);
        Graph graph = m.graph();
        graph.apply(builder.take());
        QVERIFY(simplify(graph, {}).delta.empty());
    }

    void otherLanesAreKept() {
        Model m;
        const NodeId there = m.maker.node("Identity", "there", "cuda:0", {}, {m.x});
        m.probe(m.maker.node("Relu", "relu", "cuda:0", {}, {there}));
        QVERIFY(simplify(m.graph(), {}).delta.empty());
    }

    void knownBranchesAreTaken() {
        Model m; // if true: (if false: … else: −x in a module) else: x
        const NodeId inner = m.op("Neg", {m.x});
        const NodeId twice = m.op("Mul", {m.x, m.x});
        const NodeId nested = m.op("If", {m.boolean(false), twice, inner});
        const NodeId other = m.op("Relu", {m.x});
        const NodeId outer = m.op("If", {m.boolean(true), nested, other});
        m.maker.body(outer, "then_branch", {nested});
        m.maker.body(outer, "else_branch", {other});
        const FrameId in = m.maker.body(nested, "then_branch", {twice});
        m.maker.body(nested, "else_branch", {inner});
        m.probe(m.op("Relu", {outer}));
        Graph graph = m.graph();
        DeltaBuilder builder(graph, "nest");
        for (Frame frame : graph.frames())
            if (frame.owner == nested) {
                frame.parent = graph.find(nested)->frame;
                builder.change(frame);
            }
        Frame beside; // a module in the branch that does not run, and one in it
        beside.parent = graph.find(twice)->frame;
        Frame within;
        within.parent = builder.addFrame(beside);
        Node squared = *graph.find(twice);
        squared.frame = builder.addFrame(within);
        builder.change(squared);
        Frame module;
        module.title = "module";
        module.parent = graph.find(inner)->frame;
        Node moved = *graph.find(inner);
        moved.frame = builder.addFrame(module);
        builder.change(moved);
        graph.apply(builder.take());
        const Graph after = simplified(graph);
        QCOMPARE(difference(graph, after), QString());
        QCOMPARE(after.nodes().size(), std::size_t{4}); // x, Neg, Relu and the Probe
        QCOMPARE(after.frames().size(), std::size_t{1});
        QVERIFY(after.find(inner)->frame == moved.frame && after.find(moved.frame)->parent == FrameId::none);
        QVERIFY(!after.find(in) && !after.find(twice) && !after.find(other));
        QVERIFY(std::ranges::any_of(simplify(graph, {}).remarks, [](const std::string& remark) {
            return remark == "Replaced 2 Ifs with a known condition by the nodes of the branch that runs";
        }));
    }

    void bodiesAndTrainingsAreLeftAlone() {
        GraphMaker g;
        const NodeId condition = g.node("Input", "condition", "cpu", {{"shape", Ints{}}, {"dtype", "bool"}});
        const NodeId x = g.node("Input", "x");
        const NodeId yes = g.node("Identity", "yes", "cpu", {}, {x});
        const NodeId no = g.node("Neg", "no", "cpu", {}, {x});
        const NodeId choice = g.node("If", "choice", "cpu", {}, {condition, yes, no});
        g.body(choice, "then_branch", {yes});
        g.body(choice, "else_branch", {no});
        g.node("Probe", "y", "cpu", {}, {choice});
        QVERIFY(simplify(g.graph(), {}).delta.empty());

        Model trained;
        trained.probe(trained.op("Identity", {trained.x}));
        DeltaBuilder builder(trained.graph(), "train");
        Node backward = *trained.graph().find(trained.x);
        backward.id = NodeId::none;
        backward.forward = trained.x;
        builder.addNode(backward);
        Graph graph = trained.graph();
        graph.apply(builder.take());
        QVERIFY(simplify(graph, {}).delta.empty());
        QCOMPARE(simplify(graph, {}).remarks.size(), std::size_t{1});
    }

    void sharedConstantsAreCopied() {
        Model m;
        const NodeId shared = m.weight(8);
        const NodeId a = m.op("Mul", {m.x, shared});
        m.probe(m.op("Add", {m.op("Sub", {a, shared}), shared}));
        const Graph after = simplified(m.graph());
        QCOMPARE(count(after, "Constant"), 3);
        for (const Node& node : after.nodes()) {
            if (node.op != "Constant") continue;
            QCOMPARE(after.outgoing(node.id).size(), std::size_t{1});
            QVERIFY(node.folded);
            QCOMPARE(after.findByName(node.name), &node);
        }
        QCOMPARE(difference(m.graph(), after), QString());
    }
};

TWB_TEST_MAIN(TestSimplify)
#include "test_simplify.moc"
