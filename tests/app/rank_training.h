#pragma once

#include "app/ranks.h"
#include "formats/npy.h"
#include "support/op_runner.h"

#include <functional>

namespace twb::test {

/// A layer in f64 with a cross-entropy loss on 93 rows, in batches of 10.
inline Program prepared() {
    Program twb;
    GraphMaker maker;
    const NodeId data = maker.node(
        "Batches", "data", "cpu",
        {{"path", std::string("x.npy")}, {"labels", std::string("y.npy")}, {"batch_size", std::int64_t{10}}});
    const NodeId w = maker.node(
        "Parameter", "w", "cpu",
        {{"shape", Integers{3, 8}}, {"init", std::string("xavier_uniform")}, {"dtype", std::string("f64")}});
    const NodeId b =
        maker.node("Parameter", "b", "cpu", {{"shape", Integers{3}}, {"dtype", std::string("f64")}});
    const NodeId scores = maker.node("Gemm", "scores", "cpu", {{"transB", true}}, {data, w, b});
    const NodeId loss = maker.node("SoftmaxCrossEntropyLoss", "loss", "cpu", {}, {scores});
    maker.connect(data, loss, 1, 1);
    twb.save("net.twb", maker);
    Dice dice(5);
    std::vector<double> x;
    std::vector<double> y;
    for (int row = 0; row < 93; ++row) {
        for (int k = 0; k < 8; ++k) x.push_back(dice.real(-1, 1) + (k == row % 3 ? 1 : 0));
        y.push_back(row % 3);
    }
    writeNpy(twb.fsPath("x.npy"), tensorOf(DType::f64, {93, 8}, x).view());
    writeNpy(twb.fsPath("y.npy"), tensorOf(DType::i64, {93}, y).view());
    return twb;
}

inline QStringList training(const QStringList& more = {}) {
    return QStringList{"train", "net.twb",    "--loss", "loss", "--optimizer",
                       "sgd",   "--momentum", "0.9",    "--lr", "0.1"} +
           more;
}

inline bool waitFor(const std::function<bool()>& condition, int timeoutMs = 60000) {
    QElapsedTimer timer;
    for (timer.start(); timer.elapsed() < timeoutMs; QTest::qWait(20))
        if (condition()) return true;
    return false;
}

} // namespace twb::test
