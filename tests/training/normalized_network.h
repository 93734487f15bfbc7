#pragma once

#include "support/graphs.h"
#include "support/op_runner.h"
#include "training/training.h"

#include <memory>
#include <string>
#include <vector>

namespace twb::test {

/// A graph that learns from rows of random data.
struct Problem {
    Graph graph;
    std::shared_ptr<MemoryFiles> files = std::make_shared<MemoryFiles>();
};

/// Two BatchNormalization nodes in f64, one of them on planes, whose batches have a mean far from 0.
inline Problem normalizedNetwork(std::int64_t rows, std::int64_t batch, Attributes more = {},
                                 const std::string& device = "cpu") {
    Problem out;
    Dice dice(6);
    std::vector<double> points;
    std::vector<double> labels;
    for (std::int64_t i = 0; i < rows; ++i) {
        for (int k = 0; k < 6; ++k) points.push_back(dice.real(-1, 1) + (k / 2 == i % 3 ? 1 : 0) + 5);
        labels.push_back(static_cast<double>(i % 3));
    }
    out.files->put("x.npy", tensorOf(DType::f64, {rows, 2, 3}, points));
    out.files->put("y.npy", tensorOf(DType::i64, {rows}, labels));
    GraphMaker g;
    more.set("path", std::string("x.npy"));
    more.set("labels", std::string("y.npy"));
    more.set("batch_size", batch);
    const NodeId data = g.node("Batches", "data", "cpu", more);
    const auto source = [&](const char* op, const std::string& name, std::vector<std::int64_t> shape,
                            Attributes attributes) {
        attributes.set("shape", std::move(shape));
        attributes.set("dtype", std::string("f64"));
        return g.node(op, name, device, std::move(attributes));
    };
    std::vector<NodeId> parameters;
    const auto normalized = [&](const std::string& name, NodeId x, std::int64_t channels) {
        const NodeId scale = source("Full", name + " scale", {channels}, {{"value", 1.0}});
        const NodeId bias = source("Parameter", name + " bias", {channels}, {});
        parameters.insert(parameters.end(), {scale, bias});
        return g.node("BatchNormalization", name, device, {},
                      {x, scale, bias, source("Zeros", name + " mean", {channels}, {}),
                       source("Full", name + " variance", {channels}, {{"value", 1.0}})});
    };
    NodeId x = data;
    NodeId y = data;
    if (device != "cpu") {
        x = g.node("To", "x there", device, {}, {data});
        y = g.node("To", "y there", device);
        g.connect(data, y, 0, 1);
    }
    const NodeId planes = normalized("bn 1", x, 2);
    const NodeId flat = g.node("Flatten", "flat", device, {}, {planes});
    const NodeId w1 = source("Parameter", "w1", {5, 6}, {{"init", std::string("normal")}});
    const NodeId w2 = source("Parameter", "w2", {3, 5}, {{"init", std::string("normal")}});
    parameters.insert(parameters.end(), {w1, w2});
    const NodeId hidden = g.node("Gemm", "hidden", device, {{"transB", true}}, {flat, w1});
    const NodeId curved = g.node("Tanh", "curved", device, {}, {normalized("bn 2", hidden, 5)});
    const NodeId scores = g.node("Gemm", "scores", device, {{"transB", true}}, {curved, w2});
    const NodeId loss = g.node("SoftmaxCrossEntropyLoss", "loss", device, {}, {scores});
    g.connect(y, loss, 1, device == "cpu" ? 1 : 0);
    Optimizer optimizer;
    optimizer.rate = {{"lr", 0.1}};
    out.graph = g.graph();
    out.graph.apply(makeTraining(out.graph, simulatedMap(), out.files.get(), loss, parameters, optimizer));
    return out;
}

} // namespace twb::test
