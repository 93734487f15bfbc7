#pragma once

#include "support/graphs.h"

#include <QByteArray>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace twb::test {

/// x on the CPU, copied to cuda:0, multiplied, rectified, and copied back.
inline GraphMaker roundTrip() {
    GraphMaker maker;
    const NodeId x = maker.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{32, 64}}});
    const NodeId there = maker.node("To", "there", "cuda:0", {}, {x});
    const NodeId w =
        maker.node("RandomNormal", "w", "cuda:0", {{"shape", std::vector<std::int64_t>{64, 16}}});
    const NodeId y = maker.node("MatMul", "y", "cuda:0", {}, {there, w});
    const NodeId r = maker.node("Relu", "r", "cuda:0", {}, {y});
    const NodeId s = maker.node("Relu", "s", "cuda:0", {}, {r});
    const NodeId z = maker.node("Sigmoid", "z", "cuda:0", {}, {s});
    const NodeId back = maker.node("To", "back", "cpu", {}, {z});
    maker.node("Probe", "seen", "cpu", {}, {back});
    return maker;
}

/// A Kineto trace of ops that each launch one activity; iteration() is one of roundTrip().
class KinetoTraceMaker {
public:
    void op(const std::string& name, const char* dims, const std::string& category,
            const std::string& activity, double us, nlohmann::json arguments = nlohmann::json::object()) {
        arguments["correlation"] = ++m_count;
        arguments["device"] = 0;
        arguments["stream"] = 7;
        add("cpu_op", name, m_now, 100, {{"Input Dims", nlohmann::json::parse(dims)}});
        add("cuda_runtime", "cudaLaunchKernel", m_now + 10, 5, {{"correlation", m_count}});
        add(category, activity, m_now + 20, us, std::move(arguments));
        m_now += 200;
    }
    /// The same inside of an op that launches nothing itself.
    void opInside(const std::string& outer, const std::string& name, const char* dims, double us) {
        add("cpu_op", outer, m_now - 10, 150, nlohmann::json::object());
        op(name, dims, "kernel", name, us);
    }
    void iteration() {
        op("aten::to", "[[32,64]]", "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 9, {{"bytes", 8192}});
        op("aten::zeros", "[[]]", "gpu_memset", "Memset (Device)", 2, {{"bytes", 64}});
        op("aten::mm", "[[32,64],[64,16]]", "kernel", "gemm", 40);
        op("aten::relu_", "[[32,16]]", "kernel", "relu", 3);
        op("aten::relu", "[[32,16]]", "kernel", "relu", 5);
        op("aten::sigmoid", "[[99,16]]", "kernel", "other shape", 5);
        op("aten::to", "[[32,16]]", "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 4, {{"bytes", 2048}});
    }
    QByteArray text() const {
        return QByteArray::fromStdString(nlohmann::json{{"traceEvents", m_events}}.dump());
    }

private:
    void add(const std::string& category, const std::string& name, double start, double us,
             nlohmann::json arguments) {
        m_events.push_back({{"ph", "X"},
                            {"cat", category},
                            {"name", name},
                            {"pid", 1},
                            {"tid", 1},
                            {"ts", start},
                            {"dur", us},
                            {"args", std::move(arguments)}});
    }

    nlohmann::json m_events = nlohmann::json::array();
    double m_now = 0;
    int m_count = 0;
};

} // namespace twb::test
