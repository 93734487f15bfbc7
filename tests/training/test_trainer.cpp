#include "clouds.h"
#include "formats/onnx/onnx_export.h"
#include "support/refusal.h"
#include "support/test_main.h"
#include "training/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

using namespace twb;
using namespace twb::test;

namespace {

/// Runs whole epochs, a few steps at a time.
std::vector<double> train(Trainer& trainer, std::int64_t epochs, std::int64_t most = 1000) {
    std::vector<double> losses;
    while (trainer.place().epoch < epochs)
        for (const double loss : trainer.run(most).losses) losses.push_back(loss);
    return losses;
}

std::vector<std::vector<double>> valuesIn(const std::map<std::string, Tensor>& state) {
    std::vector<std::vector<double>> out;
    for (const auto& [name, tensor] : state) out.push_back(valuesOf(tensor));
    return out;
}

double normOf(const std::vector<double>& values) {
    double squares = 0;
    for (const double value : values) squares += value * value;
    return std::sqrt(squares);
}

bool isNear(double a, double b) { return std::abs(a - b) <= 1e-4 * std::abs(b); }

} // namespace

class TestTrainer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aModelLearns_data() {
        QTest::addColumn<QString>("device");
        QTest::newRow("cpu") << "cpu";
        QTest::newRow("simulated") << "cuda:0";
    }
    void aModelLearns() {
        QFETCH(const QString, device);
        const Clouds clouds(device.toStdString(), {{"batch_size", std::int64_t{16}}, {"validation", 0.25}});
        Trainer trainer(clouds.learning(adam()), simulatedMap(), clouds.files, {});
        QCOMPARE(trainer.rowsPerEpoch(), std::int64_t{72});
        QCOMPARE(trainer.batchesPerEpoch(), std::int64_t{5}); // the last one has 8 rows
        const std::vector<double> losses = train(trainer, 40);
        QCOMPARE(losses.size(), std::size_t{200});
        QVERIFY(losses.back() < 0.5 * losses.front());
        const Validation validation = trainer.validate().value();
        QCOMPARE(validation.rows, std::int64_t{24});
        QVERIFY(validation.accuracy.value() > 0.9);
        QCOMPARE(trainer.learningRate().value(), double{0.05F});
    }

    /// The simulated GPU computes with the CPU's kernels.
    void lanesDoNotChangeResults() {
        const Clouds here("cpu");
        const Clouds there("cuda:0");
        Trainer a(here.learning(adam()), simulatedMap(), here.files, {});
        Trainer b(there.learning(adam()), simulatedMap(), there.files, {});
        QCOMPARE(train(a, 3), train(b, 3));
        QCOMPARE(valuesIn(a.parameters()), valuesIn(b.parameters()));
    }

    void batchesLoadedAheadGiveTheSameLosses() {
        for (const char* device : {"cpu", "cuda:0"}) {
            const Clouds plain(device, {{"batch_size", std::int64_t{20}}});
            const Clouds ahead(device, {{"batch_size", std::int64_t{20}}, {"prefetch", std::int64_t{2}}});
            Trainer a(plain.learning(adam()), simulatedMap(), plain.files, {});
            Trainer b(ahead.learning(adam()), simulatedMap(), ahead.files, {});
            QCOMPARE(train(b, 4), train(a, 4)); // the last batch of an epoch has 16 rows
            QCOMPARE(valuesIn(b.parameters()), valuesIn(a.parameters()));
        }
    }

    void aRateOfZeroChangesNothing() {
        const Clouds clouds;
        Optimizer still;
        still.rate = {{"lr", 0.0}};
        Trainer trainer(clouds.learning(still), simulatedMap(), clouds.files, {});
        (void)trainer.run(1);
        const auto before = valuesIn(trainer.parameters());
        train(trainer, 2);
        QCOMPARE(valuesIn(trainer.parameters()), before);
    }

    /// Steps may run one by one or together, and a training may stop anywhere: the result is the same.
    void aRestoredTrainingGoesOnBitByBit() {
        for (const char* device : {"cpu", "cuda:0"}) {
            const Clouds clouds(device, {{"batch_size", std::int64_t{20}}});
            Optimizer optimizer = adam();
            optimizer.clipNorm = 0.5;
            optimizer.averageDecay = 0.9;
            const Graph graph = clouds.learning(optimizer);
            Trainer whole(graph, simulatedMap(), clouds.files, {});
            const std::vector<double> losses = train(whole, 4);
            Trainer first(graph, simulatedMap(), clouds.files, {});
            std::vector<double> pieces;
            for (int i = 0; i < 7; ++i)
                for (const double loss : first.run(1).losses) pieces.push_back(loss);
            Trainer second(graph, simulatedMap(), clouds.files, {});
            second.restore(first.place(), first.state(), "test");
            for (const double loss : train(second, 4, 2)) pieces.push_back(loss);
            QCOMPARE(pieces, losses);
            QCOMPARE(valuesIn(second.state()), valuesIn(whole.state()));
        }
    }

    void anEpochTakesEveryRowOnce() {
        Clouds clouds("cpu", {{"batch_size", std::int64_t{7}}}, 24);
        // The sum of all rows' first coordinates does not depend on their order.
        const Graph graph = clouds.learning();
        Trainer trainer(graph, simulatedMap(), clouds.files, {});
        std::int64_t rows = 0;
        for (bool ends = false; !ends;) {
            const TrainedSteps steps = trainer.run(100);
            rows += steps.rows;
            ends = steps.endsEpoch;
        }
        QCOMPARE(rows, std::int64_t{24});
        QCOMPARE(trainer.place(), (TrainingPlace{1, 0, 4}));
    }

    void theLastRowsCanBeDropped() {
        const Clouds clouds("cpu", {{"batch_size", std::int64_t{7}}, {"drop_last", true}}, 24);
        Trainer trainer(clouds.learning(), simulatedMap(), clouds.files, {});
        QCOMPARE(trainer.batchesPerEpoch(), std::int64_t{3});
        QCOMPARE(train(trainer, 1).size(), std::size_t{3});
    }

    void clippingLimitsTheStep() {
        const Clouds clouds;
        Optimizer optimizer;
        optimizer.rate = {{"lr", 1.0}};
        optimizer.clipNorm = 0.001;
        Trainer trainer(clouds.learning(optimizer), simulatedMap(), clouds.files, {});
        (void)trainer.run(1);
        const auto before = valuesIn(trainer.parameters());
        (void)trainer.run(1);
        const auto after = valuesIn(trainer.parameters());
        double squares = 0;
        for (std::size_t i = 0; i < before.size(); ++i)
            for (std::size_t k = 0; k < before[i].size(); ++k)
                squares += std::pow(after[i][k] - before[i][k], 2);
        QVERIFY2(std::abs(std::sqrt(squares) - 0.001) < 1e-5,
                 qPrintable(QString::number(std::sqrt(squares))));
    }

    void wrongTrainingsAreRefused() {
        const Clouds clouds;
        QVERIFY(refusal([&] {
                    Trainer(clouds.g.graph(), simulatedMap(), clouds.files, {});
                }).contains("the graph has no training"));
        Trainer trainer(clouds.learning(), simulatedMap(), clouds.files, {});
        QCOMPARE(
            refusal([&] { trainer.restore({}, {}, "checkpoint"); }),
            QStringLiteral("checkpoint: the checkpoint does not match this graph: it has no tensor \"w\"; "
                           "resume with the graph and options of the checkpoint"));
        (void)trainer.run(1);
        auto state = trainer.state();
        QCOMPARE(refusal([&] {
                     trainer.restore({0, 99, 0}, state, "checkpoint");
                 }),
                 QStringLiteral("checkpoint: the checkpoint is at batch 99, but an epoch now has 6 batches; "
                                "resume with the same data and batch size"));
        state["b"] = tensorOf(DType::f32, {4}, {1, 2, 3, 4});
        QCOMPARE(refusal([&] { trainer.restore({}, state, "checkpoint"); }),
                 QStringLiteral("checkpoint: the checkpoint does not match this graph: \"b\" is f32 4 in "
                                "the checkpoint, but f32 3 in the graph; resume with the graph and options "
                                "of the checkpoint"));
    }

    void badDataIsNamed() {
        Clouds few("cpu", {{"batch_size", std::int64_t{128}}});
        const Analysis analysis = analyze(few.g.graph(), simulatedMap(), Policy::strict, few.files.get());
        QVERIFY(QString::fromStdString(analysis.diagnostics.at(0).message)
                    .startsWith(
                        "a batch of 128 rows is larger than the training part of \"x.npy\", which has 96"));
        Clouds wrong;
        wrong.files->put("y.npy", tensorOf(DType::i64, {96}, std::vector<double>(96, 5)));
        Trainer trainer(wrong.learning(), simulatedMap(), wrong.files, {});
        QVERIFY(refusal([&] { (void)trainer.run(1); }).contains("out of bounds"));
        Clouds unequal;
        unequal.files->put("y.npy", tensorOf(DType::i64, {95}, std::vector<double>(95, 0)));
        const Analysis rows = analyze(unequal.g.graph(), simulatedMap(), Policy::strict, unequal.files.get());
        QVERIFY(QString::fromStdString(rows.diagnostics.at(0).message).contains("each row needs its label"));
    }

    void aTrainingIsOneChangeThatCanBeUndone() {
        const Clouds clouds;
        Graph graph = clouds.learning(adam());
        const Training training = trainingOf(graph).value();
        QCOMPARE(training.loss, clouds.loss);
        QVERIFY(!analyze(graph, simulatedMap(), Policy::strict, clouds.files.get()).hasErrors());
        graph.apply(removeTraining(graph));
        QVERIFY(graph == clouds.g.graph());
    }

    /// The optimizer keeps its nodes, whose state therefore keeps its names.
    void theBackwardPassIsMadeAgain() {
        Clouds clouds;
        Graph graph = clouds.learning(adam());
        const std::vector<NodeId> before = trainingOf(graph)->nodes;
        DeltaBuilder builder(graph, "Insert Tanh");
        Node tanh = *graph.find(clouds.scores);
        tanh.op = "Tanh";
        tanh.name = "tanh";
        tanh.attributes = {};
        const NodeId id = builder.addNode(tanh);
        builder.connect({{clouds.scores, 0}, {id, 0}});
        builder.connect({{id, 0}, {clouds.loss, 0}});
        graph.apply(builder.take());
        graph.apply(remakeBackward(graph, simulatedMap(), clouds.files.get()));
        QVERIFY(!analyze(graph, simulatedMap(), Policy::strict, clouds.files.get()).hasErrors());
        const Training after = trainingOf(graph).value();
        int kept = 0;
        bool hasTanh = false;
        for (const NodeId node : after.nodes) {
            kept += std::ranges::binary_search(before, node);
            hasTanh = hasTanh || graph.find(node)->forward == id;
        }
        QVERIFY(hasTanh);
        QCOMPARE(kept, int(std::ranges::count_if(before, [&](NodeId node) {
                     return clouds.learning(adam()).find(node)->frame == training(clouds);
                 })));
        Trainer trainer(graph, simulatedMap(), clouds.files, {});
        QVERIFY(train(trainer, 10).back() < 1);
    }

    /// As torch.nn.Module.train(): batches are normalised by their own moments, whose running means the
    /// validation reads.
    void batchNormalizationKeepsItsRunningMoments() {
        Clouds clouds("cpu", {{"batch_size", std::int64_t{16}}, {"validation", 0.25}});
        GraphMaker& g = clouds.g;
        const NodeId scale = g.node("Parameter", "scale", "cpu",
                                    {{"shape", Ints{3}}, {"init", std::string("constant")}, {"value", 1.0}});
        const NodeId shift = g.node("Parameter", "shift", "cpu", {{"shape", Ints{3}}});
        const NodeId mean = g.node("Zeros", "running mean", "cpu", {{"shape", Ints{3}}});
        const NodeId variance = g.node("Ones", "running var", "cpu", {{"shape", Ints{3}}});
        const NodeId normalized =
            g.node("BatchNormalization", "bn", "cpu", {}, {clouds.scores, scale, shift, mean, variance});
        const NodeId dropped = g.node("Dropout", "dropout", "cpu", {{"ratio", 0.1}}, {normalized});
        g.connect(dropped, clouds.loss, 0);
        g.node("Probe", "result", "cpu", {}, {dropped});
        const Graph graph = clouds.learning(adam());
        QVERIFY(graph.find(normalized)->attributes.flag("training_mode"));
        QVERIFY(graph.find(dropped)->attributes.flag("training_mode"));
        Trainer trainer(graph, simulatedMap(), clouds.files, {});
        train(trainer, 30);
        const auto state = trainer.state();
        QVERIFY(state.contains("running mean") && state.contains("running var"));
        QVERIFY(valuesOf(state.at("running mean")) != std::vector<double>(3, 0));
        QVERIFY(trainer.validate()->accuracy.value() > 0.9);
        const Graph inference = inferenceGraph(graph, clouds.files.get());
        QVERIFY(!inference.find(normalized)->attributes.flag("training_mode"));
        const auto has = [](const Graph& in, std::string_view op) {
            return std::ranges::any_of(in.nodes(), [&](const Node& node) { return node.op == op; });
        };
        QVERIFY(has(graph, "BatchNormalizationGrad")); // which ONNX does not have
        QVERIFY(!has(inference, "BatchNormalizationGrad"));
        QVERIFY(!toOnnx(graph, clouds.files.get()).empty());
        QVERIFY(!analyze(inference, simulatedMap(), Policy::strict, clouds.files.get()).hasErrors());
        // Without its node, the running moments are no longer updated.
        DeltaBuilder builder(graph, "Remove bn");
        builder.removeNode(normalized);
        builder.connect({{clouds.scores, 0}, {dropped, 0}});
        Graph without = builder.graph();
        without.apply(remakeBackward(without, simulatedMap(), clouds.files.get()));
        QVERIFY(!analyze(without, simulatedMap(), Policy::strict, clouds.files.get()).hasErrors());
    }

    /// The mask of a Relu would otherwise take memory during the whole forward pass, and a gradient until all
    /// others are there.
    void aBackwardPassComputesNothingEarly() {
        Clouds clouds;
        GraphMaker& g = clouds.g;
        const NodeId relu = g.node("Relu", "relu", "cpu", {}, {clouds.scores});
        const NodeId more = g.node("Parameter", "more", "cpu", {{"shape", Ints{3, 3}}});
        const NodeId last = g.node("MatMul", "last", "cpu", {}, {relu, more});
        g.connect(last, clouds.loss, 0);
        const Graph graph = clouds.learning(adam());
        const DeviceMap map = simulatedMap();
        const auto plan =
            compile(graph, analyze(graph, map, Policy::strict, clouds.files.get()), map, clouds.files, {});
        std::uint32_t loss = 0;
        std::vector<std::uint32_t> backward;
        std::map<std::string, std::uint32_t> updates;
        for (const Step& step : plan->steps) {
            const Node* node = graph.find(step.node);
            if (!node || step.setup) continue;
            if (node->id == clouds.loss) loss = step.index;
            if (node->frame == trainingOf(graph)->backward) backward.push_back(step.index);
            if (node->op == "AdamWUpdate") updates[node->name] = step.index;
        }
        QVERIFY(backward.size() > 5);
        QVERIFY(std::ranges::min(backward) > loss);
        QCOMPARE(updates.size(), std::size_t{3});
        QVERIFY(updates.at("more update") < std::ranges::max(backward));
    }

    void aRemovedParameterLeavesWithItsOptimizer() {
        const Clouds clouds;
        Optimizer optimizer = adam();
        optimizer.clipNorm = 1;
        Graph graph = clouds.learning(optimizer);
        DeltaBuilder builder(graph, "Remove bias");
        builder.removeNode(clouds.b);
        graph.apply(builder.take());
        graph.apply(remakeBackward(graph, simulatedMap(), clouds.files.get()));
        QVERIFY(!analyze(graph, simulatedMap(), Policy::strict, clouds.files.get()).hasErrors());
        for (const Node& node : graph.nodes()) QVERIFY(!node.name.starts_with("b "));
    }

    void theLastStepOfAnEpochIsMeasured_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("batch");
        for (const char* device : {"cpu", "cuda:0"})
            for (const int batch : {16, 20, 96}) // whole batches, a rest of 16 rows, one step per epoch
                QTest::addRow("%s, batches of %d", device, batch) << QString(device) << batch;
    }
    void theLastStepOfAnEpochIsMeasured() {
        QFETCH(const QString, device);
        QFETCH(const int, batch);
        const Clouds clouds(device.toStdString(), {{"batch_size", std::int64_t{batch}}});
        Optimizer sgd;
        sgd.rate = {{"lr", 0.1}};
        sgd.clipNorm = 1e9; // no clipping, but its nodes
        TrainerOptions options;
        options.measures = true;
        Trainer measured(clouds.learning(sgd), simulatedMap(), clouds.files, options);
        Trainer plain(clouds.learning(sgd), simulatedMap(), clouds.files, {});
        for (int epoch = 1; epoch <= 3; ++epoch) {
            std::map<std::string, Tensor> before;
            TrainedSteps steps;
            while (!steps.endsEpoch) {
                QVERIFY(steps.figures.empty());
                before = measured.parameters();
                steps = measured.run(2);
            }
            const auto after = measured.parameters();
            QCOMPARE(steps.figures.size(), std::size_t{2});
            QCOMPARE(measured.gradients().size(), std::size_t{2});
            for (const ParameterFigures& figures : steps.figures) {
                const std::vector<double> gradient = valuesOf(measured.gradients().at(figures.name));
                const std::vector<double> weights = valuesOf(after.at(figures.name));
                QVERIFY(normOf(gradient) > 1e-3);
                QVERIFY(isNear(figures.gradientNorm, normOf(gradient)));
                QVERIFY(isNear(figures.weightNorm, normOf(weights)));
                QCOMPARE(figures.updateNorm.has_value(), epoch > 1 || batch < 96);
                if (!figures.updateNorm) continue;
                // A step of plain SGD is the gradient times the learning rate.
                QVERIFY(isNear(*figures.updateNorm, 0.1 * figures.gradientNorm));
                QCOMPARE(*figures.updateRatio(), *figures.updateNorm / figures.weightNorm);
                std::vector<double> change = weights;
                const std::vector<double> old = valuesOf(before.at(figures.name));
                for (std::size_t i = 0; i < old.size(); ++i) change[i] -= old[i];
                QVERIFY(isNear(*figures.updateNorm, normOf(change)));
            }
        }
        // A measurement changes no bit.
        QCOMPARE(train(plain, 3).size(), static_cast<std::size_t>(measured.place().steps));
        QCOMPARE(valuesIn(plain.parameters()), valuesIn(measured.parameters()));
        QVERIFY(plain.gradients().empty());
    }

    void rowsAreCountedByLabelAndPrediction_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<bool>("ignores");
        for (const char* device : {"cpu", "cuda:0"})
            for (const bool ignores : {false, true})
                QTest::addRow("%s%s", device, ignores ? ", one class ignored" : "")
                    << QString(device) << ignores;
    }
    void rowsAreCountedByLabelAndPrediction() {
        QFETCH(const QString, device);
        QFETCH(const bool, ignores);
        Clouds clouds(device.toStdString(), {{"batch_size", std::int64_t{20}}}); // and a rest of 16
        Optimizer sgd;
        sgd.rate = {{"lr", 0.02}}; // too little to separate the clouds
        TrainerOptions options;
        options.validationData = "x.npy";
        options.validationLabels = "y.npy";
        Graph graph = clouds.learning(sgd);
        if (ignores) {
            DeltaBuilder builder(graph, {});
            builder.setAttribute(clouds.loss, "ignore_index", std::int64_t{1});
            graph.apply(builder.take());
        }
        Trainer trainer(graph, simulatedMap(), clouds.files, options);
        train(trainer, 1);
        const std::vector<double> w = valuesOf(trainer.parameters().at("w"));
        const std::vector<double> b = valuesOf(trainer.parameters().at("b"));
        const std::vector<double> x = valuesOf(clouds.files->get("x.npy"));
        std::vector<std::int64_t> wanted(9);
        for (std::size_t row = 0; row < 96; ++row) {
            if (ignores && row % 3 == 1) continue;
            std::array<double, 3> scores{};
            for (std::size_t c = 0; c < 3; ++c)
                scores[c] = x[2 * row] * w[2 * c] + x[2 * row + 1] * w[2 * c + 1] + b[c];
            const auto best = std::ranges::max_element(scores) - scores.begin();
            ++wanted[3 * (row % 3) + static_cast<std::size_t>(best)];
        }
        QVERIFY(wanted[1] + wanted[2] + wanted[6] + wanted[7] > 0); // some predictions are wrong
        const std::int64_t correct = wanted[0] + wanted[4] + wanted[8];
        const std::int64_t labels = std::accumulate(wanted.begin(), wanted.end(), std::int64_t{0});
        QCOMPARE(labels, std::int64_t{ignores ? 64 : 96});
        for (int time = 0; time < 2; ++time) { // each validation counts anew
            const Validation validation = trainer.validate().value();
            const ConfusionMatrix& matrix = validation.confusion;
            QCOMPARE(matrix.classes, std::int64_t{3});
            QCOMPARE(matrix.counts, wanted);
            QCOMPARE(validation.accuracy.value(), double(correct) / double(labels));
        }
    }

    void aScheduleTakesItsSteps() {
        const auto scheduled = [](const std::string& schedule, std::int64_t steps, std::int64_t warmup) {
            Optimizer optimizer = adam();
            setSchedule(optimizer.rate, schedule, steps, warmup);
            return optimizer;
        };
        QVERIFY(!scheduled("constant", 90, 0).rate.has("schedule"));
        QCOMPARE(scheduled("constant", 90, 10).rate.integer("warmup_steps"), std::int64_t{10});
        QCOMPARE(scheduled("one_cycle", 90, 10).rate.integer("total_steps"), std::int64_t{100});
        QCOMPARE(scheduled("step", 90, 10).rate.integer("step_size"), std::int64_t{30});
        QCOMPARE(scheduled("step", 2, 0).rate.integer("step_size"), std::int64_t{1});
        QVERIFY(std::abs(std::pow(scheduled("exponential", 90, 0).rate.number("gamma"), 90) - 0.01) < 1e-9);
        const Clouds clouds;
        for (const auto& [schedule, text] :
             {std::pair("constant", "adamw lr 0.05"), std::pair("cosine", "adamw lr 0.05 cosine")}) {
            const Graph graph = clouds.learning(scheduled(schedule, 90, 0));
            QCOMPARE(optimizerText(graph, trainingOf(graph).value()), std::string(text));
        }
    }

    void aMatrixNeedsFewClasses() {
        for (const std::int64_t classes : {std::int64_t{100}, std::int64_t{101}}) {
            Clouds clouds("cpu", {{"batch_size", std::int64_t{16}}, {"validation", 0.25}});
            DeltaBuilder builder(clouds.g.graph(), {});
            builder.setAttribute(clouds.w, "shape", Ints{classes, 2});
            builder.setAttribute(clouds.b, "shape", Ints{classes});
            Graph graph = builder.graph();
            const Analysis analysis = analyze(graph, simulatedMap(), Policy::strict, clouds.files.get());
            graph.apply(makeTraining(graph, simulatedMap(), clouds.files.get(), clouds.loss,
                                     parametersOf(graph, analysis, clouds.loss), adam()));
            Trainer trainer(graph, simulatedMap(), clouds.files, {});
            train(trainer, 1);
            const Validation validation = trainer.validate().value();
            QVERIFY(validation.accuracy);
            QCOMPARE(validation.confusion.classes, classes == 100 ? classes : 0);
        }
    }

private:
    static FrameId training(const Clouds& clouds) { return trainingOf(clouds.learning(adam()))->frame; }
};

TWB_TEST_MAIN(TestTrainer)
#include "test_trainer.moc"
