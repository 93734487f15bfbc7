#include "graph/port_fit.h"
#include "ops/op_table.h"
#include "support/test_main.h"

using namespace twb;

class TestPortFit : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theFirstInputThatTakesIt() {
        const DTypeSet f32(DType::f32);
        const DTypeSet boolean(DType::boolean);
        QCOMPARE(inputFor("Relu", f32), std::optional<EntryPort>({0, 0}));
        QVERIFY(!inputFor("Relu", boolean));
        QCOMPARE(inputFor("Where", boolean), std::optional<EntryPort>({0, 0}));
        QVERIFY(!inputFor("Ones", f32)); // a source has no inputs
        QVERIFY(!inputFor("no such op", f32));
        QCOMPARE(outputFor("Equal", boolean), std::optional<EntryPort>({0, 0}));
        QVERIFY(!outputFor("Equal", f32));
        QVERIFY(!outputFor("Save", allTypes())); // a sink has no outputs
    }

    void theOpenPortsOfAComposite() {
        const DTypeSet f32(DType::f32);
        const auto in = inputFor("Linear", f32);
        const auto out = outputFor("Linear", f32);
        QVERIFY(in && out);
        QCOMPARE(in->node, out->node); // the module's Gemm; weight and bias are internal
        QCOMPARE(in->port, 0);
        QVERIFY(!inputFor("Linear", DTypeSet(DType::boolean)));
        // A module of several layers takes input at its first one and gives output at its last one.
        QVERIFY(inputFor("MLP", f32)->node < outputFor("MLP", f32)->node);
    }

    void everyOpAcceptsExactlyItsDtypes() {
        for (const Op& op : opTable()) {
            for (const DType dtype : kAllDTypes) {
                const auto port = inputFor(op.name, DTypeSet(dtype));
                if (port) QVERIFY2(accepts(&op, port->port, dtype), op.name.c_str());
                for (int i = 0; !port && i < int(op.inputs.size()); ++i)
                    QVERIFY2(!accepts(&op, i, dtype), op.name.c_str());
            }
            QVERIFY(!accepts(&op, -1, DType::f32));
            if (!op.isVariadic()) QVERIFY(!accepts(&op, int(op.inputs.size()), DType::f32));
        }
        QVERIFY(accepts(nullptr, 7, DType::boolean)); // unknown ops accept everything
    }

    void connectedInputsAreTaken() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        Node node;
        node.lane = lane;
        node.op = "Ones";
        const NodeId ones = builder.addNode(node);
        node.op = "Add";
        const NodeId add = builder.addNode(node);
        builder.connect({{ones, 0}, {add, 0}});
        graph.apply(builder.take());
        const DTypeSet f32(DType::f32);
        QCOMPARE(freeInputFor(graph, *graph.find(add), f32), std::optional<std::int32_t>(1));
        DeltaBuilder more(graph, "more");
        more.connect({{ones, 0}, {add, 1}});
        graph.apply(more.take());
        QVERIFY(!freeInputFor(graph, *graph.find(add), f32));
    }
};

TWB_TEST_MAIN(TestPortFit)
#include "test_port_fit.moc"
