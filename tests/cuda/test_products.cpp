#include "backends/cuda/cuda_backend.h"
#include "cuda/fake_runtime.h"
#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

namespace {

using Labels = std::vector<std::string>;

/// Consecutive ops on cuda:0; the first one reads x, which is 4 × 3.
struct Line {
    GraphMaker g;
    NodeId x, last;
    std::string dtype;

    explicit Line(const std::string& type = "f32") : dtype(type) {
        x = tensor("x", {4, 3});
        last = x;
    }
    NodeId tensor(const char* name, const Ints& shape) {
        return g.node("RandomNormal", name, "cuda:0",
                      {{"shape", shape}, {"dtype", dtype}, {"seed", std::int64_t(++m_seed)}});
    }
    /// Adds an op that reads the last result and `others`.
    NodeId add(const char* op, const char* name, const std::vector<NodeId>& others = {},
               const Attributes& attributes = {}) {
        std::vector<NodeId> inputs{last};
        inputs.insert(inputs.end(), others.begin(), others.end());
        return last = g.node(op, name, "cuda:0", attributes, inputs);
    }

private:
    int m_seed = 0;
};

DeviceMap fakeGpu() {
    fake::start({.gpus = 1, .mostDelayUs = 50});
    std::string problem;
    DeviceMap map;
    map.set(Device::cuda(0), cuda::findGpus(problem).at(0), true);
    return map;
}

Labels labelsOf(const Plan& plan) {
    Labels out;
    for (const Step& step : plan.steps)
        if (!step.setup) out.push_back(step.label);
    return out;
}

Labels labelsOf(const Line& line, const DeviceMap& map, std::set<PortRef> alsoKept = {}) {
    alsoKept.insert({line.last, 0});
    return labelsOf(*planOf(line.g.graph(), map, {.keep = alsoKept}));
}

} // namespace

/// Products of matrices launched with their epilogue: the steps that are fused, and their result.
class TestProducts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aLayerIsOneStep() {
        const DeviceMap map = fakeGpu();
        Line line;
        line.add("Gemm", "fc", {line.tensor("w", {3, 5}), line.tensor("b", {5})});
        const NodeId end = line.add("Relu", "relu");
        const auto plan = planOf(line.g.graph(), map, {.keep = {{end, 0}}});
        QCOMPARE(labelsOf(*plan), (Labels{"fc, relu"}));
        const Step& step = stepNamed(*plan, "fc, relu");
        QCOMPARE(step.op->name, std::string("Gemm+Relu"));
        QCOMPARE(step.node, end);
        QCOMPARE(step.members.size(), std::size_t{2});
        QCOMPARE(step.inputs.size(), std::size_t{3});
        // Memory traffic is factors, row and result once; intermediate values are not stored and no factor is
        // overwritten.
        QCOMPARE(step.cost.bytes, 4.0 * (12 + 15 + 5 + 20));
        QCOMPARE(step.inPlaceOf, kNone);
        const int products = fake::productLaunches();
        const int prepared = fake::chainsPrepared();
        const RunResult fused = runToEnd(plan, {.iterations = 3});
        QCOMPARE(fake::productLaunches(), products + 3);
        QCOMPARE(fake::chainsPrepared(), prepared);
        const auto oneByOne = planOf(line.g.graph(), map, {.fuse = false, .keep = {{end, 0}}});
        QCOMPARE(labelsOf(*oneByOne), (Labels{"fc", "relu"}));
        const RunResult plain = runToEnd(oneByOne, {});
        QCOMPARE(fake::productLaunches(), products + 3);
        QVERIFY(fused.status == RunStatus::finished && plain.status == RunStatus::finished);
        QCOMPARE(floats(fused, end, map), floats(plain, end, map));
        QVERIFY(!floats(fused, end, map).empty());
    }

    void opsFusedWithAProduct() {
        const DeviceMap map = fakeGpu();
        const Attributes tanh{{"approximate", std::string("tanh")}};
        for (const std::string dtype : {"f32", "f16", "bf16"}) {
            Line line(dtype); // a row added from either side
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.last = line.g.node("Add", "add", "cuda:0", {}, {line.tensor("b", {5}), line.last});
            line.add("Gelu", "gelu", {}, tanh);
            QCOMPARE(labelsOf(line, map), (Labels{"product, add, gelu"}));
        }
        {
            Line line; // a row without an activation, on a taller stack
            line.last = line.tensor("stack", {2, 4, 3});
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Add", "add", {line.tensor("b", {1, 5})});
            line.add("Exp", "exp");
            line.add("Neg", "neg");
            QCOMPARE(labelsOf(line, map), (Labels{"product, add", "exp, neg"}));
        }
        {
            Line line; // only the activation; the following ops are a separate chain
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Relu", "relu");
            line.add("Relu", "again");
            line.add("Neg", "neg");
            QCOMPARE(labelsOf(line, map), (Labels{"product, relu", "again, neg"}));
        }
        {
            Line line; // the same matrix twice
            line.last = line.tensor("square", {3, 3});
            line.add("MatMul", "product", {line.last});
            line.add("Relu", "relu");
            QCOMPARE(labelsOf(line, map), (Labels{"product, relu"}));
        }
    }

    void opsFusedWithAConvolution() {
        const DeviceMap map = fakeGpu();
        Line line;
        line.last = line.tensor("image", {2, 3, 6, 6});
        const NodeId side =
            line.g.node("Conv", "side", "cuda:0", {}, {line.last, line.tensor("v", {4, 3, 3, 3})});
        line.add("Conv", "conv", {line.tensor("w", {4, 3, 3, 3}), line.tensor("b", {4})});
        line.add("Relu", "relu");
        line.add("Conv", "conv 2", {line.tensor("w2", {4, 4, 1, 1})});
        line.add("Add", "add", {side});
        const NodeId end = line.add("Relu", "relu 2");
        // Both convolutions feed the Add, which is fused with one of them.
        const auto plan = planOf(line.g.graph(), map, {.keep = {{end, 0}}});
        QCOMPARE(labelsOf(*plan), (Labels{"conv, relu", "conv 2", "side, add, relu 2"}));
        const auto apart = planOf(line.g.graph(), map, {.fuse = false, .keep = {{end, 0}}});
        QCOMPARE(apart->steps.size(), plan->steps.size() + 3);
        const RunResult together = runToEnd(plan, {.iterations = 3});
        const RunResult oneByOne = runToEnd(apart, {});
        QVERIFY(together.status == RunStatus::finished && oneByOne.status == RunStatus::finished);
        QVERIFY(!floats(oneByOne, end, map).empty());
        QCOMPARE(floats(together, end, map), floats(oneByOne, end, map));
    }

    void opsNotFusedWithAConvolution() {
        const DeviceMap map = fakeGpu();
        Line line; // not of the result's shape
        line.last = line.tensor("image", {2, 3, 6, 6});
        line.add("Conv", "conv", {line.tensor("w", {4, 3, 3, 3})});
        line.add("Add", "add", {line.tensor("b", {4, 1, 1})});
        line.add("Relu", "relu");
        QCOMPARE(labelsOf(line, map), (Labels{"conv", "add, relu"}));
        Line wide("f64");
        wide.last = wide.tensor("image", {1, 3, 6, 6});
        wide.add("Conv", "conv", {wide.tensor("w", {4, 3, 3, 3})});
        wide.add("Relu", "relu");
        QCOMPARE(labelsOf(wide, map), (Labels{"conv", "relu"}));
    }

    void sharedAddIsFusedWithOneProductOnly() {
        const DeviceMap map = fakeGpu();
        Line line;
        line.last = line.tensor("row", {1, 3});
        const NodeId other =
            line.g.node("MatMul", "other", "cuda:0", {}, {line.last, line.tensor("v", {3, 5})});
        line.add("MatMul", "product", {line.tensor("w", {3, 5})});
        const NodeId end = line.add("Add", "sum", {other});
        QCOMPARE(labelsOf(line, map).size(), std::size_t{2});
        const auto plan = planOf(line.g.graph(), map, {.keep = {{end, 0}}});
        const RunResult together = runToEnd(plan, {});
        const RunResult apart =
            runToEnd(planOf(line.g.graph(), map, {.fuse = false, .keep = {{end, 0}}}), {});
        QVERIFY(together.status == RunStatus::finished && apart.status == RunStatus::finished);
        QVERIFY(!floats(apart, end, map).empty());
        QCOMPARE(floats(together, end, map), floats(apart, end, map));
    }

    void opsNotFusedWithAProduct() {
        const DeviceMap map = fakeGpu();
        {
            Line line; // an observed result
            const NodeId seen = line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Relu", "relu");
            QCOMPARE(labelsOf(line, map, {{seen, 0}}), (Labels{"product", "relu"}));
            line.g.node("Probe", "probe", "cuda:0", {}, {seen});
            QCOMPARE(labelsOf(line, map), (Labels{"product", "relu", "probe"}));
        }
        {
            Line line; // a result with several consumers
            const NodeId product = line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Relu", "relu");
            line.add("Add", "sum", {product});
            QCOMPARE(labelsOf(line, map), (Labels{"product", "relu, sum"}));
        }
        {
            Line line("f64"); // a dtype without an epilogue in the library
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Relu", "relu");
            QCOMPARE(labelsOf(line, map), (Labels{"product", "relu"}));
        }
        {
            Line line; // a column
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Add", "add", {line.tensor("column", {4, 1})});
            line.add("Relu", "relu");
            QCOMPARE(labelsOf(line, map), (Labels{"product", "add, relu"}));
        }
        {
            Line line; // one number
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Add", "add", {line.tensor("one", {})});
            QCOMPARE(labelsOf(line, map), (Labels{"product", "add"}));
        }
        {
            Line line; // the product added to itself
            const NodeId product = line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Add", "add", {product});
            QCOMPARE(labelsOf(line, map), (Labels{"product", "add"}));
        }
        {
            Line line; // a row that broadcasts the result to a larger shape
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Add", "add", {line.tensor("b", {1, 1, 5})});
            QCOMPARE(labelsOf(line, map), (Labels{"product", "add"}));
        }
        {
            Line line; // the product already has a row
            line.add("Gemm", "fc", {line.tensor("w", {3, 5}), line.tensor("b", {5})});
            line.add("Add", "add", {line.tensor("other", {5})});
            line.add("Relu", "relu");
            QCOMPARE(labelsOf(line, map), (Labels{"fc", "add, relu"}));
        }
        {
            Line line; // a matrix is added, or a scaled row
            line.add("Gemm", "fc", {line.tensor("w", {3, 5}), line.tensor("c", {4, 5})});
            line.add("Relu", "relu");
            QCOMPARE(labelsOf(line, map), (Labels{"fc", "relu"}));
            Line half;
            half.add("Gemm", "fc", {half.tensor("w", {3, 5}), half.tensor("b", {5})}, {{"beta", 0.5}});
            half.add("Relu", "relu");
            QCOMPARE(labelsOf(half, map), (Labels{"fc", "relu"}));
        }
        {
            Line line; // one matrix per batch
            line.last = line.tensor("stack", {2, 4, 3});
            line.add("MatMul", "product", {line.tensor("w", {2, 3, 5})});
            line.add("Relu", "relu");
            QCOMPARE(labelsOf(line, map), (Labels{"product", "relu"}));
        }
        {
            Line line; // the other Gelu
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            line.add("Gelu", "gelu");
            QCOMPARE(labelsOf(line, map), (Labels{"product", "gelu"}));
        }
        {
            Line line; // another device
            line.add("MatMul", "product", {line.tensor("w", {3, 5})});
            const NodeId there = line.g.node("To", "there", "cpu", {}, {line.last});
            line.last = line.g.node("Relu", "relu", "cpu", {}, {there});
            QCOMPARE(labelsOf(line, map).size(), std::size_t{3});
        }
    }
};

TWB_TEST_MAIN(TestProducts)
#include "test_products.moc"
