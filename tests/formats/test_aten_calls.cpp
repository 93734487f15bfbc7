#include "formats/imported_model.h"
#include "formats/pytorch/aten.h"
#include "placement/analysis.h"
#include "runtime/executor.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <set>

using namespace twb;
using namespace twb::aten;
using nlohmann::json;

namespace {

double numberOf(const json& value) {
    if (value.is_string()) return std::stod(value.get<std::string>());
    return value.is_boolean() ? double(value.get<bool>()) : value.get<double>();
}

TensorType typeOf(const json& tensor) {
    return {*parseDType(tensor.at("dtype").get<std::string>()),
            Shape(tensor.at("shape").get<std::vector<std::int64_t>>())};
}

Tensor tensorOf(const json& tensor) {
    std::vector<double> values;
    for (const json& value : tensor.at("values")) values.push_back(numberOf(value));
    Tensor out = Tensor::onHost(typeOf(tensor));
    for (std::size_t i = 0; i < values.size(); ++i) {
        switch (out.dtype()) {
        case DType::f32:
            out.view().as<float>()[i] = static_cast<float>(values[i]);
            break;
        case DType::f64:
            out.view().as<double>()[i] = values[i];
            break;
        case DType::f16:
            out.view().as<Half>()[i] = Half(static_cast<float>(values[i]));
            break;
        case DType::bf16:
            out.view().as<BFloat16>()[i] = BFloat16(static_cast<float>(values[i]));
            break;
        case DType::i32:
            out.view().as<std::int32_t>()[i] = static_cast<std::int32_t>(values[i]);
            break;
        case DType::i64:
            out.view().as<std::int64_t>()[i] = static_cast<std::int64_t>(values[i]);
            break;
        default:
            out.view().as<bool>()[i] = values[i] != 0;
        }
    }
    return out;
}

/// One graph with all calls, each on its own operands.
class Calls {
public:
    explicit Calls(const json& calls) {
        for (const json& call : calls) add(call);
        m_graph.apply(m_writer.take());
    }

    struct Expected {
        std::string label;
        PortRef from;
        const json* tensor;
    };

    const Graph& graph() const { return m_graph; }
    const std::vector<Expected>& expected() const { return m_expected; }
    const std::map<std::string, Tensor>& tensors() const { return m_tensors; }
    const std::set<std::string>& ops() const { return m_ops; }
    const QStringList& opaque() const { return m_opaque; }

private:
    ValueId operand(const json& tensor) {
        const ValueId id{++m_last};
        Node node;
        node.op = "File";
        node.name = "operand";
        node.lane = m_writer.laneOf(Device::cpu());
        const std::string path = "operand#" + std::to_string(m_last);
        node.attributes.set("path", path);
        m_tensors.emplace(path, tensorOf(tensor));
        m_writer.define(id, {{m_writer.addNode(std::move(node)), 0}, typeOf(tensor), Device::cpu()});
        return id;
    }

    Argument argument(const json& value) {
        if (value.is_null()) return std::monostate{};
        if (value.is_boolean()) return value.get<bool>();
        if (value.is_number_integer()) return value.get<std::int64_t>();
        if (value.is_number()) return value.get<double>();
        if (value.is_string()) return value.get<std::string>();
        if (value.is_object() && value.contains("tensor")) return operand(value.at("tensor"));
        if (value.is_object()) {
            std::vector<ValueId> out;
            for (const json& tensor : value.at("tensors"))
                out.push_back(tensor.is_null() ? ValueId::none : operand(tensor));
            return out;
        }
        if (!value.empty() && value[0].is_boolean()) return value.get<std::vector<bool>>();
        if (!value.empty() && value[0].is_number_float()) return value.get<std::vector<double>>();
        return value.get<std::vector<std::int64_t>>();
    }

    void add(const json& json) {
        Call call;
        call.op = json.at("op").get<std::string>();
        for (const auto& [name, value] : json.at("arguments").items())
            call.arguments.emplace_back(name, argument(value));
        for (const auto& result : json.at("results"))
            call.results.push_back({ValueId(++m_last), typeOf(result), Device::cpu()});
        const Outcome outcome = m_writer.add(call);
        const std::string label = call.op + " " + json.at("arguments").dump().substr(0, 160);
        if (outcome == Outcome::opaque) {
            m_opaque << QString::fromStdString(
                label + ": " + m_writer.node(m_writer.added().back()).attributes.text("reason"));
            return;
        }
        m_ops.insert(call.op);
        for (std::size_t i = 0; i < call.results.size(); ++i)
            if (const Value* value = m_writer.find(call.results[i].id))
                m_expected.push_back(
                    {label + " result " + std::to_string(i), value->from, &json.at("results")[i]});
    }

    Graph m_graph;
    GraphWriter m_writer{m_graph, "Calls"};
    std::map<std::string, Tensor> m_tensors;
    std::vector<Expected> m_expected;
    std::set<std::string> m_ops;
    QStringList m_opaque;
    std::int64_t m_last = 0;
};

QString compared(const Tensor& got, const json& wanted) {
    const Tensor expected = tensorOf(wanted);
    if (!(got.type() == expected.type()))
        return QString::fromStdString("has type " + got.type().toString() + " instead of " +
                                      expected.type().toString());
    // Half-width results are rounded once more.
    const double rtol = got.dtype() == DType::f16 ? 2e-3 : isFloating(got.dtype()) ? 2e-5 : 0;
    for (std::int64_t i = 0; i < got.elementCount(); ++i) {
        const double a = got.at(i);
        const double b = expected.at(i);
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        if (!(std::abs(a - b) <= rtol * (1 + std::abs(b))))
            return QStringLiteral("element %1 is %2 instead of %3")
                .arg(i)
                .arg(a, 0, 'g', 9)
                .arg(b, 0, 'g', 9);
    }
    return {};
}

/// The calls that cannot run, or whose results differ.
QStringList problemsOf(const Calls& program) {
    if (!program.opaque().isEmpty()) return program.opaque(); // keep the whole graph from running
    const auto files = makeMemoryFiles(program.tensors());
    const Analysis analysis = analyze(program.graph(), DeviceMap(), Policy::strict, files.get());
    QStringList wrong;
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity == Severity::error) wrong << QString::fromStdString(d.message);
    if (!wrong.isEmpty()) return wrong;
    CompileOptions options;
    for (const auto& expected : program.expected()) options.keep.insert(expected.from);
    const RunResult result =
        runToEnd(compile(program.graph(), analysis, DeviceMap(), files, options), {}, nullptr);
    for (const StepError& error : result.errors) wrong << QString::fromStdString(error.message);
    for (const auto& expected : program.expected()) {
        const Tensor* got = result.tensor(expected.from);
        const QString problem = got ? compared(*got, *expected.tensor) : QStringLiteral("has no result");
        if (!problem.isEmpty()) wrong << QString::fromStdString(expected.label) + ' ' + problem;
    }
    return wrong;
}

} // namespace

class TestAtenCalls : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// The calls are PyTorch's: see tests/conformance/aten_calls.py. TWB_ATEN_CALLS names another file.
    void mappedCallsGivePyTorchsResults() {
        const QByteArray other = qgetenv("TWB_ATEN_CALLS");
        std::ifstream file(other.isEmpty() ? TWB_SOURCE_DIR "/tests/data/aten_calls.json"
                                           : other.constData());
        const json calls = json::parse(file);
        const Calls program(calls);
        const QStringList wrong = problemsOf(program);
        QVERIFY2(wrong.isEmpty(),
                 qPrintable(QString::number(wrong.size()) + " results differ:\n" + wrong.join('\n')));
        if (other.isEmpty())
            QVERIFY2(program.ops().size() >= 240, qPrintable(QString::number(program.ops().size())));
    }

    /// torch.amp.GradScaler's two ops, which PyTorch 1.13 has on a GPU only.
    void lossScalesFollowTheGradients() {
        const auto f32 = [](std::vector<json> values) {
            const std::size_t count = values.size();
            return json{{"dtype", "float32"}, {"shape", {count}}, {"values", std::move(values)}};
        };
        const auto unscale = [&](json last, double foundBefore, double found) {
            return json{
                {"op", "aten::_amp_foreach_non_finite_check_and_unscale_"},
                {"arguments",
                 {{"self", {{"tensors", {f32({2, -4}), f32({last})}}}},
                  {"found_inf", {{"tensor", f32({foundBefore})}}},
                  {"inv_scale", {{"tensor", f32({0.25})}}}}},
                {"results", {f32({0.5, -1}), f32({last.is_string() ? last : json(0.25)}), f32({found})}}};
        };
        const auto update = [&](int tracker, double found, double scaleAfter, int trackerAfter) {
            const auto count = [](int value) {
                return json{{"dtype", "int32"}, {"shape", {1}}, {"values", {value}}};
            };
            return json{{"op", "aten::_amp_update_scale_"},
                        {"arguments",
                         {{"self", {{"tensor", f32({8})}}},
                          {"growth_tracker", {{"tensor", count(tracker)}}},
                          {"found_inf", {{"tensor", f32({found})}}},
                          {"scale_growth_factor", 2.0},
                          {"scale_backoff_factor", 0.5},
                          {"growth_interval", 3}}},
                        {"results", {f32({scaleAfter}), count(trackerAfter)}}};
        };
        json calls = json::array({unscale(1, 0, 0), unscale("inf", 0, 1), unscale("-inf", 0, 1)});
        calls.insert(calls.end(), {unscale("nan", 0, 1), unscale(1, 1, 1)});
        calls.insert(calls.end(), {update(0, 0, 8, 1), update(2, 0, 16, 0), update(2, 1, 4, 0)});
        const QStringList wrong = problemsOf(Calls(calls));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
    }

    /// The node keeps the types, the device rule of its op and the reason; a run fails before its first step.
    void otherCallsAreOpaque() {
        Graph graph;
        GraphWriter writer(graph, "Program");
        const auto zeros = [&](std::int64_t id, const TensorType& type, Device device) {
            Call call{"aten::zeros", {}, {}, {{ValueId(id), type, device}}, device, {}, FrameId::none, {}};
            QCOMPARE(writer.add(call), Outcome::mapped);
        };
        const TensorType matrix{DType::f32, Shape{2, 3}};
        zeros(1, matrix, Device::cuda(0));
        zeros(2, {DType::f32, Shape{}}, Device::cpu());
        for (const char* op : {"aten::atan2", "aten::cdist"}) { // the first one is pointwise
            Call call{op,
                      {},
                      {{"self", ValueId(1)}, {"other", ValueId(2)}},
                      {{ValueId(3), matrix, Device::cuda(0)}},
                      Device::cuda(0),
                      {},
                      FrameId::none,
                      SourceLine{"net.py", 7, "forward"}};
            QCOMPARE(writer.add(call), Outcome::opaque);
        }
        QCOMPARE(writer.counts().opaque, std::size_t{2});
        graph.apply(writer.take());
        const DeviceMap devices = test::simulatedMap();
        const Analysis strict = analyze(graph, devices, Policy::strict, nullptr);
        QCOMPARE(strict.errorCount(), std::size_t{1});
        QCOMPARE(graph.find(strict.diagnostics[0].node)->name, std::string("cdist"));
        const Analysis analysis = analyze(graph, devices, Policy::implicit, nullptr);
        QVERIFY(!analysis.hasErrors());
        const NodeId id = graph.findByName("atan2")->id;
        QCOMPARE(analysis.typeOf({id, 0})->toString(), matrix.toString());
        QCOMPARE(toString(*graph.find(id)->source), std::string("net.py:7 in forward"));
        CompileOptions options;
        options.policy = Policy::implicit;
        options.keep.insert({id, 0});
        const RunResult result = runToEnd(compile(graph, analysis, devices, nullptr, options), {}, nullptr);
        QCOMPARE(result.status, RunStatus::failed);
        QCOMPARE(result.errors.size(), std::size_t{2});
        QVERIFY(result.errors[0].message.find("\"aten::atan2\" cannot run") != std::string::npos);
        for (const StepState state : result.states) QVERIFY(state != StepState::done);
    }
};

TWB_TEST_MAIN(TestAtenCalls)
#include "test_aten_calls.moc"
