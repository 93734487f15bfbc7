#pragma once

#include "support/graphs.h"
#include "support/op_runner.h"
#include "training/training.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace twb::test {

using Ints = std::vector<std::int64_t>;

/// A classifier of three clouds of points in the plane, on one lane.
struct Clouds {
    explicit Clouds(const std::string& device = "cpu",
                    Attributes batches = {{"batch_size", std::int64_t{16}}}, std::int64_t rows = 96) {
        Dice dice(7);
        std::vector<double> points;
        std::vector<double> labels;
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::int64_t label = i % 3;
            const double angle = 2.1 * static_cast<double>(label);
            points.push_back(2 * std::cos(angle) + dice.real(-1, 1));
            points.push_back(2 * std::sin(angle) + dice.real(-1, 1));
            labels.push_back(static_cast<double>(label));
        }
        files->put("x.npy", tensorOf(DType::f32, {rows, 2}, points));
        files->put("y.npy", tensorOf(DType::i64, {rows}, labels));
        batches.set("path", std::string("x.npy"));
        batches.set("labels", std::string("y.npy"));
        data = g.node("Batches", "data", "cpu", std::move(batches));
        NodeId x = data;
        NodeId y = data;
        int labelPort = 1;
        if (device != "cpu") {
            x = g.node("To", "x there", device, {}, {data});
            y = g.node("To", "y there", device, {});
            g.connect(data, y, 0, 1);
            labelPort = 0;
        }
        w = g.node("Parameter", "w", device,
                   {{"shape", Ints{3, 2}}, {"init", std::string("kaiming_uniform")}});
        b = g.node("Parameter", "b", device, {{"shape", Ints{3}}});
        scores = g.node("Gemm", "scores", device, {{"transB", true}}, {x, w, b});
        loss = g.node("SoftmaxCrossEntropyLoss", "loss", device, {}, {scores});
        g.connect(y, loss, 1, labelPort);
    }

    Graph learning(const Optimizer& optimizer = {}) const {
        const Analysis analysis = analyze(g.graph(), simulatedMap(), Policy::strict, files.get());
        Graph graph = g.graph();
        graph.apply(makeTraining(graph, simulatedMap(), files.get(), loss,
                                 parametersOf(graph, analysis, loss), optimizer));
        return graph;
    }

    GraphMaker g;
    std::shared_ptr<MemoryFiles> files = std::make_shared<MemoryFiles>();
    NodeId data, w, b, scores, loss;
};

inline Optimizer adam() {
    Optimizer optimizer;
    optimizer.op = "AdamWUpdate";
    optimizer.rate = {{"lr", 0.05}};
    return optimizer;
}

} // namespace twb::test
