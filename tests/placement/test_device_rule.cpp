#include "placement/fixes.h"
#include "placement/lane_move.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <array>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// One operand: its device, and whether it is 0-dimensional.
struct Given {
    const char* device;
    bool isScalar;
};

constexpr std::array kGiven{Given{"cpu", false},   Given{"cpu", true},     Given{"cuda:0", false},
                            Given{"cuda:0", true}, Given{"cuda:1", false}, Given{"cuda:1", true}};

struct TestedOp {
    const char* name;
    int inputs;
    bool elementwise; ///< uses PyTorch's TensorIterator
    bool takesScalars;
};

constexpr std::array kOps{TestedOp{"Add", 2, true, true},      TestedOp{"Mul", 2, true, true},
                          TestedOp{"Sub", 2, true, true},      TestedOp{"Pow", 2, true, true},
                          TestedOp{"Less", 2, true, true},     TestedOp{"Where", 3, true, true},
                          TestedOp{"MatMul", 2, false, false}, TestedOp{"Gemm", 3, false, false}};

/// Whether PyTorch accepts the operands for an op on `lane`. The common device is that of the first operand
/// that is not a 0-dimensional CPU tensor (or of the first operand if all are). The other operands must be on
/// it or, in ops that use TensorIterator, be 0-dimensional CPU tensors (ATen/TensorIterator.cpp,
/// compute_types). All other functions accept no such tensors (ATen/core/adaption.cpp, common_device_check).
bool pytorchAccepts(const TestedOp& op, const std::vector<Given>& operands, std::string_view lane) {
    const auto isHostScalar = [&](const Given& o) {
        return op.elementwise && o.isScalar && std::string_view(o.device) == "cpu";
    };
    std::string_view common = operands.front().device;
    for (const Given& o : operands)
        if (!isHostScalar(o)) {
            common = o.device;
            break;
        }
    if (common != lane) return false; // the lane decides where an op runs here; in PyTorch its operands do
    return std::all_of(operands.begin(), operands.end(),
                       [&](const Given& o) { return o.device == common || isHostScalar(o); });
}

} // namespace

class TestDeviceRule : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Tests every op of the table on every lane with every combination of operands.
    void verdictsArePyTorchs() {
        const DeviceMap devices = simulatedMap(2);
        int accepted = 0;
        int refused = 0;
        for (const TestedOp& op : kOps) {
            std::vector<std::size_t> at(static_cast<std::size_t>(op.inputs), 0);
            for (bool more = true; more;) {
                std::vector<Given> operands;
                for (const std::size_t i : at) operands.push_back(kGiven[i]);
                const bool hasScalars =
                    std::any_of(operands.begin(), operands.end(), [](const Given& o) { return o.isScalar; });
                if (!hasScalars || op.takesScalars)
                    for (const char* lane : {"cpu", "cuda:0", "cuda:1"}) {
                        GraphMaker g;
                        std::vector<NodeId> inputs;
                        for (std::size_t i = 0; i < operands.size(); ++i) {
                            Attributes attributes{{"shape", operands[i].isScalar ? Ints{} : Ints{4, 4}}};
                            if (std::string_view(op.name) == "Where" && i == 0)
                                attributes.set("dtype", std::string("bool"));
                            inputs.push_back(g.node("Zeros", "x" + std::to_string(i), operands[i].device,
                                                    std::move(attributes)));
                        }
                        g.node(op.name, "y", lane, {}, inputs);
                        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
                        const bool expected = pytorchAccepts(op, operands, lane);
                        std::string what = std::string(op.name) + " on " + lane + " of";
                        for (const Given& o : operands)
                            what += std::string(" ") + o.device + (o.isScalar ? " scalar" : "");
                        // The message may speak of other tensors on the lane only if there are any.
                        const bool isAnyThere =
                            std::any_of(operands.begin(), operands.end(),
                                        [&](const Given& o) { return std::string_view(o.device) == lane; });
                        for (const Diagnostic& d : analysis.diagnostics) {
                            if (d.severity != Severity::error) continue;
                            QCOMPARE(d.code, std::string("device-mismatch"));
                            QVERIFY2((d.message.find("different from other tensors on ") !=
                                      std::string::npos) == isAnyThere,
                                     d.message.c_str());
                        }
                        QVERIFY2(analysis.hasErrors() != expected, what.c_str());
                        (expected ? accepted : refused)++;
                    }
                std::size_t i = 0;
                while (i < at.size() && ++at[i] == kGiven.size()) at[i++] = 0;
                more = i < at.size();
            }
        }
        QVERIFY(accepted > 50 && refused > 500);
    }

    void guardsByDirection() {
        const DeviceMap devices = simulatedMap(2);
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{4}}});
        const NodeId up = g.node("Relu", "up", "cuda:0", {}, {x});
        const NodeId over = g.node("Relu", "over", "cuda:1", {}, {up});
        g.node("Relu", "down", "cpu", {}, {over});
        using enum Policy::Action;
        const auto counts = [&](Policy policy) {
            const Analysis analysis = analyze(g.graph(), devices, policy, nullptr);
            const auto warnings = std::count_if(analysis.diagnostics.begin(), analysis.diagnostics.end(),
                                                [](const auto& d) { return d.code == "implicit-transfer"; });
            return std::array{analysis.errorCount(), static_cast<std::size_t>(warnings),
                              analysis.implicitCopies.size()};
        };
        using Counts = std::array<std::size_t, 3>;
        QVERIFY((counts(Policy::guard(allow, log, disallow)) == Counts{1, 1, 2}));
        QVERIFY((counts(Policy::guard(allow, allow, allow)) == Counts{0, 0, 3}));
        QVERIFY((counts(Policy::guard(disallow, disallow, disallow)) == Counts{3, 0, 0}));
        QVERIFY((counts(Policy::implicit) == Counts{0, 3, 3}));
        for (const Diagnostic& d :
             analyze(g.graph(), devices, Policy::guard(disallow, log, log), nullptr).diagnostics) {
            if (d.severity != Severity::error) continue;
            QCOMPARE(
                d.message,
                std::string("Disallowed host-to-device transfer: self is on cpu, but Relu \"up\" reads it on "
                            "cuda:0 (the guard policy says h2d=disallow; a To node is always allowed)"));
            QVERIFY(!d.fixes.empty());
        }
    }

    /// A scalar on the cpu of another rank is not passed with the launch, and the fixes name the rank.
    void ranksHaveCpusOfTheirOwn() {
        const DeviceMap devices = simulatedRanks(2);
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "rank1/cuda:0", {{"shape", Ints{4, 4}}});
        const NodeId near = g.node("Zeros", "near", "rank1/cpu", {{"shape", Ints{}}});
        const NodeId far = g.node("Zeros", "far", "cpu", {{"shape", Ints{}}});
        const NodeId fine = g.node("Mul", "fine", "rank1/cuda:0", {}, {x, near});
        const NodeId wrong = g.node("Mul", "wrong", "rank1/cuda:0", {}, {fine, far});
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        std::vector<const Diagnostic*> errors;
        for (const Diagnostic& d : analysis.diagnostics)
            if (d.severity == Severity::error) errors.push_back(&d);
        QCOMPARE(errors.size(), std::size_t{1});
        const Diagnostic& d = *errors.front();
        QCOMPARE(d.node, wrong);
        QCOMPARE(
            d.message,
            std::string("Expected all tensors to be on the same device, but got other is on cpu, different "
                        "from other tensors on rank1/cuda:0 (when checking arguments of Mul \"wrong\")"));
        const auto insert =
            std::ranges::find(d.fixes, std::string("insert To(rank1/cuda:0) on far -> wrong"), &Fix::title);
        QVERIFY(insert != d.fixes.end());
        QCOMPARE(insert->price.bytes, std::uint64_t{4});
        QCOMPARE(insert->price.ns, 30'000 + 4 / 2.9); // 25 GbE
        Graph mended = g.graph();
        mended.apply(toDelta(mended, *insert));
        QVERIFY(!analyze(mended, devices, Policy::strict, nullptr).hasErrors());
    }

    void hostValuesMoveToTheCpuOfTheRank() {
        const DeviceMap devices = simulatedRanks(2);
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{4, 4}}});
        const NodeId shape =
            g.node("Constant", "shape", "cpu", {{"value", Ints{16}}, {"dtype", std::string("i64")}});
        const NodeId flat = g.node("Reshape", "flat", "cpu", {}, {x, shape});
        const NodeId far = g.node("Relu", "far", "rank1/cuda:0");
        Graph graph = g.graph();
        DeltaBuilder builder(graph, "Move");
        const LaneId lane = graph.find(far)->lane;
        QCOMPARE(moveToLanes(builder, {{x, lane}, {shape, lane}, {flat, lane}}), (std::set<NodeId>{x, flat}));
        builder.removeNode(far);
        graph.apply(builder.take());
        QCOMPARE(graph.deviceOf(*graph.find(shape)), Device::cpu(1));
        QCOMPARE(graph.deviceOf(*graph.find(flat)), Device::cuda(0, 1));
        QVERIFY(!analyze(graph, devices, Policy::strict, nullptr).hasErrors());
    }
};

TWB_TEST_MAIN(TestDeviceRule)
#include "test_device_rule.moc"
