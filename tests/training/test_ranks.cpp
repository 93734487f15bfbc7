#include "backends/simulated/simulated_backend.h"
#include "ops/op_table.h"
#include "support/hooked_backend.h"
#include "support/op_runner.h"
#include "support/ranks.h"
#include "support/test_main.h"
#include "training/gradient_sums.h"
#include "training/normalized_network.h"
#include "training/sync_batch_norm.h"
#include "training/trainer.h"
#include "training/training_session.h"

#include <cmath>
#include <map>
#include <mutex>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<double>;
using Parameters = std::map<std::string, Values>;

/// Two layers in f64 that tell three clouds apart.
Problem network(std::int64_t rows, std::int64_t batch, Attributes more = {}) {
    Problem out;
    Dice dice(3);
    Values points;
    Values labels;
    for (std::int64_t i = 0; i < rows; ++i) {
        for (int k = 0; k < 4; ++k) points.push_back(dice.real(-1, 1) + (k == i % 3 ? 1 : 0));
        labels.push_back(static_cast<double>(i % 3));
    }
    out.files->put("x.npy", tensorOf(DType::f64, {rows, 4}, points));
    out.files->put("y.npy", tensorOf(DType::i64, {rows}, labels));
    GraphMaker g;
    more.set("path", std::string("x.npy"));
    more.set("labels", std::string("y.npy"));
    more.set("batch_size", batch);
    const NodeId data = g.node("Batches", "data", "cpu", more);
    const auto parameter = [&](const char* name, Ints shape) {
        return g.node(
            "Parameter", name, "cpu",
            {{"shape", std::move(shape)}, {"init", std::string("normal")}, {"dtype", std::string("f64")}});
    };
    const NodeId w1 = parameter("w1", {8, 4});
    const NodeId b1 = parameter("b1", {8});
    const NodeId w2 = parameter("w2", {3, 8});
    const NodeId hidden = g.node("Gemm", "hidden", "cpu", {{"transB", true}}, {data, w1, b1});
    const NodeId curved = g.node("Tanh", "curved", "cpu", {}, {hidden});
    const NodeId scores = g.node("Gemm", "scores", "cpu", {{"transB", true}}, {curved, w2});
    const NodeId loss = g.node("SoftmaxCrossEntropyLoss", "loss", "cpu", {}, {scores});
    g.connect(data, loss, 1, 1);
    Optimizer optimizer;
    optimizer.attributes = {{"momentum", 0.9}};
    optimizer.rate = {{"lr", 0.1}};
    optimizer.clipNorm = 0.7;
    out.graph = g.graph();
    const NodeId parameters[] = {w1, b1, w2};
    out.graph.apply(makeTraining(out.graph, DeviceMap(), out.files.get(), loss, parameters, optimizer));
    return out;
}

/// The mean distance of x · w from y, whole numbers: its gradients are sums of whole numbers over a power of
/// two, so they are exact in any order.
Problem exactNetwork(std::int64_t rows, std::int64_t batch) {
    Problem out;
    Dice dice(4);
    Values points;
    Values targets;
    for (std::int64_t i = 0; i < rows; ++i) {
        for (int k = 0; k < 3; ++k) points.push_back(static_cast<double>(dice.integer(-4, 4)));
        targets.push_back(static_cast<double>(dice.integer(-8, 8)));
    }
    out.files->put("x.npy", tensorOf(DType::f64, {rows, 3}, points));
    out.files->put("y.npy", tensorOf(DType::f64, {rows, 1}, targets));
    GraphMaker g;
    const NodeId data =
        g.node("Batches", "data", "cpu",
               {{"path", std::string("x.npy")}, {"labels", std::string("y.npy")}, {"batch_size", batch}});
    const NodeId w = g.node("Parameter", "w", "cpu", {{"shape", Ints{3, 1}}, {"dtype", std::string("f64")}});
    const NodeId product = g.node("MatMul", "product", "cpu", {}, {data, w});
    const NodeId difference = g.node("Sub", "difference", "cpu", {}, {product});
    g.connect(data, difference, 1, 1);
    const NodeId distance = g.node("Abs", "distance", "cpu", {}, {difference});
    const NodeId loss = g.node("ReduceMean", "loss", "cpu", {{"keepdims", false}}, {distance});
    Optimizer optimizer;
    optimizer.rate = {{"lr", 0.125}};
    out.graph = g.graph();
    const NodeId parameters[] = {w};
    out.graph.apply(makeTraining(out.graph, DeviceMap(), out.files.get(), loss, parameters, optimizer));
    return out;
}

struct Trained {
    Parameters parameters;
    Values losses;
    bool operator==(const Trained&) const = default;
};

Trained train(Trainer& trainer, std::int64_t steps) {
    Trained out;
    while (trainer.place().steps < steps)
        for (const double loss : trainer.run(steps - trainer.place().steps).losses)
            out.losses.push_back(loss);
    for (const auto& [name, tensor] : trainer.parameters()) out.parameters[name] = valuesOf(tensor);
    return out;
}

Trained trainAlone(const Problem& problem, std::int64_t steps) {
    Trainer trainer(problem.graph, DeviceMap(), problem.files, {});
    return train(trainer, steps);
}

/// By rank.
std::vector<Trained> trainOnRanks(const Problem& problem, int ranks, std::int64_t steps,
                                  const TrainerOptions& options = {}) {
    std::vector<Trained> out(static_cast<std::size_t>(ranks));
    const auto errors = onRanks(ranks, [&](const std::shared_ptr<World>& world) {
        Trainer trainer(problem.graph, mapIn(world), problem.files, options);
        out[static_cast<std::size_t>(world->rank())] = train(trainer, steps);
    });
    for (const std::string& error : errors)
        if (!error.empty()) qFatal("%s", error.c_str());
    return out;
}

double farthest(const Trained& a, const Trained& b) {
    if (a.losses.size() != b.losses.size() || a.parameters.size() != b.parameters.size()) return 1e300;
    double out = 0;
    for (std::size_t i = 0; i < a.losses.size(); ++i)
        out = std::max(out, std::abs(a.losses[i] - b.losses[i]));
    for (const auto& [name, values] : a.parameters)
        for (std::size_t i = 0; i < values.size(); ++i)
            out = std::max(out, std::abs(values[i] - b.parameters.at(name).at(i)));
    return out;
}

} // namespace

class TestRanks : public QObject {
    Q_OBJECT

private:
    static void batches() {
        QTest::addColumn<int>("ranks");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("batch");
        for (int n = 1; n <= 4; ++n) {
            QTest::addRow("%d, even", n) << n << 96 << 24;
            QTest::addRow("%d, uneven", n) << n << 93 << 10; // the last batch of an epoch has 3 rows
            QTest::addRow("%d, more ranks than rows", n) << n << 33 << 8; // the last batch has 1 row
        }
    }

private Q_SLOTS:
    void ranksLearnWhatOneProcessLearns_data() { batches(); }
    void ranksLearnWhatOneProcessLearns() {
        QFETCH(const int, ranks);
        QFETCH(const int, rows);
        QFETCH(const int, batch);
        const Problem problem = network(rows, batch);
        const Trained alone = trainAlone(problem, 50);
        const std::vector<Trained> all = trainOnRanks(problem, ranks, 50);
        for (const Trained& one : all) QVERIFY(one == all[0]);
        QVERIFY2(farthest(all[0], alone) <= 1e-12, qPrintable(QString::number(farthest(all[0], alone))));
        // The comparison would see a gradient that is not averaged.
        QVERIFY(farthest(trainAlone(problem, 49), alone) > 1);
        QVERIFY(alone.losses.back() < alone.losses.front());
    }

    void exactSumsGiveTheSameBits() {
        const Problem problem = exactNetwork(64, 16);
        const Trained alone = trainAlone(problem, 50);
        QVERIFY(alone.parameters.at("w") != Values(3, 0));
        for (int n = 1; n <= 4; ++n)
            for (const Trained& one : trainOnRanks(problem, n, 50))
                QCOMPARE(one.parameters, alone.parameters);
    }

    void synchronizedStatisticsAreThoseOfTheWholeBatch_data() { batches(); }
    void synchronizedStatisticsAreThoseOfTheWholeBatch() {
        QFETCH(const int, ranks);
        QFETCH(const int, rows);
        QFETCH(const int, batch);
        const Problem problem = normalizedNetwork(rows, batch);
        TrainerOptions options;
        options.syncBatchNorm = true;
        // One step shows the forward pass, the gradient and the running statistics; 30 steps all batches.
        for (const std::int64_t steps : {1, 30}) {
            const Trained alone = trainAlone(problem, steps);
            QVERIFY(alone.parameters.contains("bn 1 mean") && alone.parameters.contains("bn 2 variance"));
            const std::vector<Trained> all = trainOnRanks(problem, ranks, steps, options);
            for (const Trained& one : all) QVERIFY(one == all[0]);
            QVERIFY2(farthest(all[0], alone) <= 1e-12,
                     qPrintable(QString("%1 steps: %2").arg(steps).arg(farthest(all[0], alone))));
            if (ranks > 1) QVERIFY(farthest(trainOnRanks(problem, ranks, steps)[0], alone) > 1e-3);
        }
    }

    /// A validation uses the running statistics, not those of a batch.
    void synchronizedStatisticsServeTheValidation() {
        const Problem problem = normalizedNetwork(120, 10, {{"validation", 0.3}});
        Trainer alone(problem.graph, DeviceMap(), problem.files, {});
        (void)train(alone, 20);
        const Validation wanted = alone.validate().value();
        std::vector<double> losses(3);
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            TrainerOptions options;
            options.syncBatchNorm = true;
            Trainer trainer(problem.graph, mapIn(world), problem.files, options);
            (void)train(trainer, 20);
            losses[static_cast<std::size_t>(world->rank())] = trainer.validate().value().loss;
        });
        QCOMPARE(errors, std::vector<std::string>(3));
        for (const double loss : losses) QVERIFY(std::abs(loss - wanted.loss) <= 1e-12);
    }

    /// Each rank must make the same number of calls.
    void callsOfTheGraphDoNotDisturbTheValidation() {
        const Problem problem = network(120, 10, {{"validation", 0.3}});
        Graph graph = problem.graph;
        DeltaBuilder builder(graph, {});
        const Node& loss = *graph.findByName("loss");
        const auto add = [&](const char* op, NodeId from) {
            Node node;
            node.op = node.name = op;
            node.lane = loss.lane;
            const NodeId id = builder.addNode(std::move(node));
            builder.connect({{from, 0}, {id, 0}});
            return id;
        };
        add("Probe", add("AllReduce", loss.id));
        graph = builder.graph();
        Trainer alone(problem.graph, DeviceMap(), problem.files, {});
        (void)train(alone, 20);
        const Validation wanted = alone.validate().value();
        std::vector<Validation> got(3);
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            Trainer trainer(graph, mapIn(world), problem.files, {});
            (void)train(trainer, 20);
            got[static_cast<std::size_t>(world->rank())] = trainer.validate().value();
        });
        QCOMPARE(errors, std::vector<std::string>(3));
        for (const Validation& validation : got) {
            QCOMPARE(validation.rows, wanted.rows);
            QVERIFY(std::abs(validation.loss - wanted.loss) <= 1e-12);
        }
    }

    void ranksOnAGpuLearnWhatOneProcessLearns_data() {
        QTest::addColumn<bool>("makesCalls");
        QTest::newRow("the GPU makes the calls") << true;
        QTest::newRow("the cpu makes them") << false;
    }
    /// The gradients and statistics of a GPU that cannot make calls over ranks go through the cpu.
    void ranksOnAGpuLearnWhatOneProcessLearns() {
        QFETCH(const bool, makesCalls);
        const Problem problem = normalizedNetwork(93, 10, {}, "cuda:0");
        const auto devicesIn = [&](const std::shared_ptr<World>& world) {
            DeviceMap devices = mapIn(world);
            StepHooks hooks;
            hooks.supports = [](std::string_view op) { return findOp(op)->role != OpRole::collective; };
            if (!makesCalls) devices.set(Device::cuda(0), makeHookedBackend(Device::cuda(0), hooks), true);
            return devices;
        };
        Trainer trainer(problem.graph, simulatedMap(), problem.files, {});
        const Trained alone = train(trainer, 30);
        for (const int n : {2, 3}) {
            std::vector<Trained> all(static_cast<std::size_t>(n));
            const auto errors = onRanks(n, [&](const std::shared_ptr<World>& world) {
                const DeviceMap devices = devicesIn(world);
                Graph graph = problem.graph;
                graph.apply(remakeBackward(graph, devices, problem.files.get()));
                for (const Node& node : graph.nodes())
                    if (node.op == "AllReduce" &&
                        graph.find(node.lane)->device != (makesCalls ? Device::cuda(0) : Device::cpu()))
                        qFatal("summed on the wrong device");
                TrainerOptions options;
                options.syncBatchNorm = true;
                Trainer one(problem.graph, devices, problem.files, options);
                all[static_cast<std::size_t>(world->rank())] = train(one, 30);
                std::uint64_t gathers = 0;
                for (const CollectiveLog& row : world->log())
                    if (row.label.ends_with(" statistics")) gathers += row.calls;
                if (gathers != 60) qFatal("not one call for each BatchNormalization and step");
            });
            QCOMPARE(errors, std::vector<std::string>(static_cast<std::size_t>(n)));
            for (const Trained& one : all) QVERIFY(one == all[0]);
            const double far = farthest(all[0], alone);
            QVERIFY2(far <= 1e-12, qPrintable(QString::number(far)));
        }
    }

    void statisticsInABodyCannotBeSynchronized() {
        GraphMaker g;
        const auto source = [&](const char* name, Ints shape) {
            return g.node("Zeros", name, "cpu", {{"shape", std::move(shape)}});
        };
        const NodeId x = source("x", {4, 2});
        const NodeId h = g.node("Carried", "h", "cpu", {{"index", std::int64_t{0}}}, {x});
        const NodeId normalized =
            g.node("BatchNormalization", "bn", "cpu", {{"training_mode", true}},
                   {h, source("scale", {2}), source("bias", {2}), source("mean", {2}), source("var", {2})});
        const NodeId loop =
            g.node("Loop", "loop", "cpu", {{"M", std::int64_t{2}}, {"carried", std::int64_t{1}}});
        g.connect(normalized, loop, 3);
        g.body(loop, "body", {h, normalized});
        const Analysis analysis = analyze(g.graph(), DeviceMap(), Policy::strict, nullptr);
        try {
            (void)synchronizeBatchNorms(g.graph(), analysis, DeviceMap());
            QFAIL("not refused");
        } catch (const Error& error) {
            QVERIFY2(std::string(error.what())
                             .find("\"bn\" cannot be synchronized, because it is in a body of "
                                   "Loop \"loop\"") != std::string::npos,
                     error.what());
        }
    }

    /// Rank 0's parameters count, also where another rank would start from others.
    void parametersStartAsThoseOfRankZero() {
        const Problem problem = network(96, 24);
        const Trained alone = trainAlone(problem, 10);
        std::vector<Trained> out(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            DeviceMap devices;
            devices.setWorld(world);
            Trainer trainer(problem.graph, devices, problem.files, {});
            if (world->rank() == 1) {
                std::map<std::string, Tensor> other;
                Trainer first(problem.graph, DeviceMap(), problem.files, {});
                (void)first.run(3);
                trainer.restore({0, 1, 1}, first.state(), "another state");
            }
            trainer.agree();
            out[static_cast<std::size_t>(world->rank())] = train(trainer, 10);
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        QVERIFY(out[0] == out[1]);
        QVERIFY(farthest(out[0], alone) <= 1e-12);
    }

    void unlikeDevicesMayRoundDifferently_data() {
        QTest::addColumn<bool>("areAlike");
        QTest::newRow("alike") << true;
        QTest::newRow("unlike") << false;
    }
    /// Ranks with other parameters: a mistake of a sum only where the ranks have the same devices.
    void unlikeDevicesMayRoundDifferently() {
        QFETCH(const bool, areAlike);
        const Problem problem = normalizedNetwork(60, 10, {}, "cuda:0");
        const auto stateAfter = [&](std::int64_t steps) {
            Trainer trainer(problem.graph, simulatedMap(), problem.files, {});
            (void)train(trainer, steps);
            return trainer.state();
        };
        const std::vector<std::map<std::string, Tensor>> states{stateAfter(1), stateAfter(3)};
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            DeviceMap devices = mapIn(world);
            DeviceProfile profile = devices.at(Device::cuda(0)).profile();
            if (!areAlike && world->rank() == 1) profile.name = "another GPU";
            devices.set(Device::cuda(0), makeSimulatedBackend(Device::cuda(0), profile), true);
            Trainer trainer(problem.graph, devices, problem.files, {});
            trainer.restore({0, 1, 1}, states[static_cast<std::size_t>(world->rank())], "a state");
            trainer.compareParameters();
            const std::vector<std::uint64_t>& hashes = trainer.parameterHashes();
            if (hashes.size() != 2 || hashes[0] == hashes[1]) throw Error(ErrorCode::failed, "not hashed");
        });
        for (const std::string& error : errors)
            QCOMPARE(error.substr(0, error.find(':')),
                     areAlike ? std::string("after step 1, rank 1 has other parameters than rank 0")
                              : std::string());
    }

    /// A state of three ranks goes on with two.
    void aTrainingGoesOnWithAnotherNumberOfRanks() {
        const Problem problem = network(93, 10);
        const Trained alone = trainAlone(problem, 40);
        std::map<std::string, Tensor> state;
        TrainingPlace place;
        Values losses;
        onRanks(3, [&](const std::shared_ptr<World>& world) {
            DeviceMap devices;
            devices.setWorld(world);
            Trainer trainer(problem.graph, devices, problem.files, {});
            const Trained trained = train(trainer, 17);
            if (world->rank() != 0) return;
            state = trainer.state();
            place = trainer.place();
            losses = trained.losses;
        });
        Trained rest;
        onRanks(2, [&](const std::shared_ptr<World>& world) {
            DeviceMap devices;
            devices.setWorld(world);
            Trainer trainer(problem.graph, devices, problem.files, {});
            if (world->rank() == 0) trainer.restore(place, state, "checkpoint");
            trainer.agree();
            const Trained trained = train(trainer, 40);
            if (world->rank() == 1) rest = trained;
        });
        rest.losses.insert(rest.losses.begin(), losses.begin(), losses.end());
        QVERIFY2(farthest(rest, alone) <= 1e-12, qPrintable(QString::number(farthest(rest, alone))));
    }

    /// Sessions agree on how many steps they take, although their clocks differ, and on the validation.
    void sessionsDecideTogether() {
        const Problem problem = network(120, 10, {{"validation", 0.3}});
        const auto epochsOf = [&](Trainer& trainer) {
            SessionOptions options;
            options.epochs = 6;
            options.lowersRate = true;
            TrainingSession session(trainer, options);
            while (!session.isDone()) (void)session.advance(1000000);
            return session.record().epochs;
        };
        Trainer alone(problem.graph, DeviceMap(), problem.files, {});
        const std::vector<EpochRecord> wanted = epochsOf(alone);
        std::vector<std::vector<EpochRecord>> got(3);
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            DeviceMap devices;
            devices.setWorld(world);
            Trainer trainer(problem.graph, devices, problem.files, {});
            got[static_cast<std::size_t>(world->rank())] = epochsOf(trainer);
        });
        QCOMPARE(errors, std::vector<std::string>(3));
        for (const auto& epochs : got) {
            QCOMPARE(epochs.size(), wanted.size());
            for (std::size_t i = 0; i < epochs.size(); ++i) {
                QVERIFY(std::abs(epochs[i].loss - wanted[i].loss) <= 1e-12);
                QVERIFY(std::abs(*epochs[i].validationLoss - *wanted[i].validationLoss) <= 1e-12);
                QCOMPARE(*epochs[i].accuracy, *wanted[i].accuracy);
                QCOMPARE(epochs[i].rows, wanted[i].rows);
            }
        }
    }

    void ranksWithOtherGraphsAreRefused() {
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const Problem problem = network(96, world->rank() == 0 ? 24 : 12);
            DeviceMap devices;
            devices.setWorld(world);
            const Trainer trainer(problem.graph, devices, problem.files, {});
        });
        for (const std::string& error : errors)
            QVERIFY2(error.find("rank 1 would not run the same graph as rank 0") == 0 &&
                         error.find("Batches \"data\"") != std::string::npos,
                     error.c_str());
    }

    /// Buckets of 1 MB and then 25 MB, in the order of the backward pass.
    void gradientsAreSummedInBuckets() {
        GraphMaker g;
        const auto files = std::make_shared<MemoryFiles>();
        files->put("x.npy", tensorOf(DType::f32, {8, 4}, Values(32, 1)));
        NodeId x = g.node("Batches", "data", "cpu",
                          {{"path", std::string("x.npy")}, {"batch_size", std::int64_t{8}}});
        std::vector<NodeId> parameters;
        std::int64_t width = 4;
        for (const std::int64_t next : {100, 3000, 3000, 10}) { // 1.6 kB, 1.2 MB, 36 MB, 0.12 MB
            parameters.push_back(g.node("Parameter", "w" + std::to_string(parameters.size()), "cpu",
                                        {{"shape", Ints{width, next}}}));
            x = g.node("MatMul", "layer " + std::to_string(parameters.size()), "cpu", {},
                       {x, parameters.back()});
            width = next;
        }
        const NodeId loss = g.node("ReduceMean", "loss", "cpu", {{"keepdims", false}}, {x});
        std::vector<std::vector<int>> sizes(2);
        onRanks(2, [&](const std::shared_ptr<World>& world) {
            Graph graph = g.graph();
            DeviceMap devices;
            devices.setWorld(world);
            graph.apply(makeTraining(graph, devices, files.get(), loss, parameters, {}));
            for (const Node& node : graph.nodes())
                if (node.op == "AllReduce")
                    sizes[static_cast<std::size_t>(world->rank())].push_back(
                        static_cast<int>(graph.inputs(node.id).size()));
            for (const NodeId parameter : parameters)
                if (graph.find(gradientOf(graph, parameter)->node)->op != "AllReduce") qFatal("not summed");
            // Removing the training removes the sums.
            graph.apply(removeTraining(graph));
            if (graph.nodes().size() != g.graph().nodes().size()) qFatal("nodes are left");
        });
        // The last layer's 0.12 MB; 36 MB do not fit into any; then 1.2 MB and 1.6 kB together.
        QCOMPARE(sizes[0], (std::vector<int>{1, 1, 2}));
        QCOMPARE(sizes[1], sizes[0]);
    }

    void aSimulatedWorldPredictsATraining() {
        const Problem problem = network(96, 24);
        DeviceMap devices;
        devices.setWorld(makeSimulatedWorld("4:pcie"));
        Trainer trainer(problem.graph, devices, problem.files, {});
        const TrainedSteps steps = trainer.run(4);
        QCOMPARE(steps.rows, std::int64_t{96});
        const double call = devices.world().predictNs(CollectiveKind::allReduce, 8 * (8 * 4 + 8 + 3 * 8));
        QVERIFY(steps.clockNs >= std::llround(4 * call));
    }
};

TWB_TEST_MAIN(TestRanks)
#include "test_ranks.moc"
