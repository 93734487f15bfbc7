#include "backends/cuda/chain_runner.h"
#include "backends/cuda/code_cache.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/kernels/chain_headers.h"
#include "backends/cuda/kernels/chain_launch.h"
#include "backends/cuda/kernels/chain_source.h"
#include "backends/cuda/nvrtc.h"
#include "cuda/fake_runtime.h"
#include "profile/report.h"
#include "runtime/runs.h"
#include "support/broadcast_oracle.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QFloat16>
#include <QObject>
#include <QProcess>
#include <QTemporaryDir>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <filesystem>
#include <fstream>

using namespace twb;
using namespace twb::test;

namespace {

/// Combines several sources: the headers once, and a distinct kernel name for each.
class Sources {
public:
    Sources() : m_text(cuda::chainHeaders()) {}
    void add(const OpChain& chain, DType dtype) {
        std::string body = cuda::chainSource(chain, dtype).substr(std::string(cuda::chainHeaders()).size());
        for (const std::string name : {"runChainOnHost(", " chain("})
            body.replace(body.find(name), name.size() - 1,
                         name.substr(0, name.size() - 1) + std::to_string(m_count));
        m_text += fmt::format("namespace chain{} {{\n{}\n}}\n", m_count++, body);
    }
    const std::string& text() const { return m_text; }

private:
    std::string m_text;
    int m_count = 0;
};

/// The source compiled for the host.
class HostChains {
public:
    explicit HostChains(const Sources& sources) {
        const std::string source = m_folder.filePath("chains.cpp").toStdString();
        std::ofstream(source) << sources.text();
        QProcess compiler;
        // Compiled without contraction of a · b + c, which the GPU's compiler does; the tolerances allow for
        // it.
        compiler.start(QStringLiteral(TWB_CXX),
                       {"-std=c++20", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared",
                        "-fPIC", "-o", m_folder.filePath("chains.so"), QString::fromStdString(source)});
        if (!compiler.waitForFinished(240000) || compiler.exitCode() != 0)
            qFatal("%s", compiler.readAllStandardError().constData());
        m_library = dlopen(m_folder.filePath("chains.so").toUtf8().constData(), RTLD_NOW | RTLD_LOCAL);
        if (!m_library) qFatal("%s", dlerror());
    }
    ~HostChains() { dlclose(m_library); }
    HostChains(const HostChains&) = delete;
    HostChains& operator=(const HostChains&) = delete;

    void run(int which, const std::vector<Tensor>& inputs, const Tensor& out) const {
        std::vector<TensorView> views;
        for (const Tensor& input : inputs) views.push_back(input.view());
        const cuda::ChainLaunch launch = cuda::chainLaunchOf(views, out.view());
        using Run = void (*)(const cuda::ChainLaunch*);
        reinterpret_cast<Run>(dlsym(m_library, fmt::format("runChainOnHost{}", which).c_str()))(&launch);
    }

private:
    QTemporaryDir m_folder;
    void* m_library = nullptr;
};

/// A chain of a single op, with two operands if the op is binary.
OpChain chainOf(const Op& op) {
    const bool isBinary = op.inputs.size() > 1 || op.isVariadic();
    OpChain chain{isBinary ? std::size_t{2} : 1, {{op.name, completeAttributes(op, {}), {0}}}};
    if (isBinary) chain.members[0].operands.push_back(1);
    return chain;
}

/// The chain members among the ops.
std::vector<DType> dtypesOf(const Op& op) {
    std::vector<DType> out;
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64})
        if (op.inputs[0].types.contains(dtype)) out.push_back(dtype);
    return out;
}

/// The ops that chains may contain.
std::vector<const Op*> chainOps() {
    std::vector<const Op*> out;
    for (const Op& op : opTable()) {
        if (op.role != OpRole::compute) continue;
        try {
            if (cuda::isChainMember(op.name.c_str(), completeAttributes(op, {}), DType::f32))
                out.push_back(&op);
        } catch (const InferError&) { // requires attributes, which members do not have
        }
    }
    return out;
}

Tolerance twice(const Op& op, DType dtype) {
    Tolerance out{op.tolerance.rtol * 2, op.tolerance.atol * 2};
    if (isHalfWidth(dtype)) out.rtol += dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
    return out;
}

/// Consecutive elementwise ops on cuda:0. Each reads the previous op and, if binary, `other`.
struct Line {
    GraphMaker g;
    NodeId last, other;
    Line() {
        last = g.node("RandomNormal", "x", "cuda:0", {{"shape", Ints{3, 5}}, {"seed", std::int64_t{1}}});
        other = g.node("RandomNormal", "b", "cuda:0", {{"shape", Ints{5}}, {"seed", std::int64_t{2}}});
    }
    NodeId add(const char* op, const char* name, bool withOther = false) {
        const NodeId before = last;
        last = withOther ? g.node(op, name, "cuda:0", {}, {before, other})
                         : g.node(op, name, "cuda:0", {}, {before});
        return last;
    }
};

DeviceMap fakeGpu(bool noCompiler = false) {
    fake::start({.gpus = 1, .mostDelayUs = 50, .noCompiler = noCompiler});
    std::string problem;
    DeviceMap map;
    map.set(Device::cuda(0), cuda::findGpus(problem).at(0), true);
    return map;
}

std::vector<std::string> labelsOf(const Plan& plan) {
    std::vector<std::string> out;
    for (const Step& step : plan.steps)
        if (!step.setup) out.push_back(step.label);
    return out;
}

using Labels = std::vector<std::string>;

} // namespace

/// Chains of pointwise ops: the steps that are fused, their results, and the source passed to the GPU's
/// compiler.
class TestChains : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void neighboursBecomeOneStep() {
        const DeviceMap map = fakeGpu();
        Line line;
        line.add("Add", "sum", true);
        line.add("Relu", "relu");
        const NodeId end = line.add("Mul", "scaled", true);
        const auto plan = planOf(line.g.graph(), map, {.keep = {{end, 0}}});
        QCOMPARE(labelsOf(*plan), (Labels{"sum, relu, scaled"}));
        const Step& step = stepNamed(*plan, "sum, relu, scaled");
        QCOMPARE(step.op->name, std::string("Add+Relu+Mul"));
        QCOMPARE(step.node, end);
        QCOMPARE(step.members.size(), std::size_t{3});
        QCOMPARE(step.inputs.size(), std::size_t{2});
        // Memory traffic is each input and the result once; intermediate values are not stored.
        QCOMPARE(step.cost.bytes, 4.0 * (15 + 5 + 15));
        const int before = fake::chainLaunches();
        const int preparedBefore = fake::chainsPrepared();
        Recorder recorder;
        const RunResult fused = runToEnd(plan, {.iterations = 3}, &recorder);
        QCOMPARE(fake::chainLaunches(), before + 3);
        QCOMPARE(fake::chainsPrepared(), preparedBefore + 1);
        const auto oneByOne = planOf(line.g.graph(), map, {.fuse = false, .keep = {{end, 0}}});
        QCOMPARE(labelsOf(*oneByOne), (Labels{"sum", "relu", "scaled"}));
        const RunResult plain = runToEnd(oneByOne, {});
        QVERIFY(fused.status == RunStatus::finished && plain.status == RunStatus::finished);
        QCOMPARE(floats(fused, end, map), floats(plain, end, map));
        QVERIFY(!floats(fused, end, map).empty());
        // The step has one record; its ops have none.
        QCOMPARE(std::count_if(recorder.records.begin(), recorder.records.end(),
                               [&](const StepRecord& record) { return record.step == step.index; }),
                 std::ptrdiff_t{3});
    }

    /// Compilation does not count in the first iteration, which predicts the following ones.
    void kernelsAreMadeBeforeTheIterations() {
        class Watch final : public RunObserver {
        public:
            void started(std::uint64_t, const Plan&, std::int64_t) override {}
            void steps(std::uint64_t, std::span<const StepRecord>) override {
                if (preparedAtFirst < 0) preparedAtFirst = fake::chainsPrepared();
            }
            void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
            void finished(RunResult) noexcept override {}
            int preparedAtFirst = -1;
        } watch;
        const DeviceMap map = fakeGpu();
        Line line;
        line.add("Neg", "a");
        const NodeId end = line.add("Relu", "b");
        const auto plan = planOf(line.g.graph(), map, {.keep = {{end, 0}}});
        const int before = fake::chainsPrepared();
        const RunResult made = runToEnd(plan, {.iterations = 2}, &watch);
        QCOMPARE(watch.preparedAtFirst, before + 1); // at the end of the setup
        QVERIFY(made.prepareNs > 0 && made.status == RunStatus::finished);
        const auto oneByOne = planOf(line.g.graph(), map, {.fuse = false, .keep = {{end, 0}}});
        QCOMPARE(runToEnd(oneByOne, {}).prepareNs, std::int64_t{0});
    }

    /// The compiler runs once for several chains.
    void opsRunOneByOneWithoutAKernel() {
        const DeviceMap map = fakeGpu(true);
        Line line;
        line.add("Neg", "a");
        line.add("Exp", "b");
        line.add("Softmax", "c");
        line.add("Neg", "d");
        const NodeId end = line.add("Exp", "e");
        const auto plan = planOf(line.g.graph(), map, {.keep = {{end, 0}}});
        QCOMPARE(labelsOf(*plan), (Labels{"a, b", "c", "d, e"}));
        const int asked = fake::chainsPrepared();
        const int launched = fake::chainLaunches();
        const int oneByOne = fake::chainsOneByOne();
        QCOMPARE(map.remark(Device::cuda(0)), std::string());
        const RunResult made = runToEnd(plan, {.iterations = 3});
        QVERIFY(made.status == RunStatus::finished);
        QCOMPARE(map.remark(Device::cuda(0)),
                 std::string("cuda:0 runs pointwise ops one by one: the compiler is gone"));
        QCOMPARE(fake::chainsPrepared(), asked + 1);
        QCOMPARE(fake::chainLaunches(), launched);
        QCOMPARE(fake::chainsOneByOne(), oneByOne + 2 * 3);
        const RunResult plain =
            runToEnd(planOf(line.g.graph(), map, {.fuse = false, .keep = {{end, 0}}}), {});
        QCOMPARE(floats(made, end, map), floats(plain, end, map));
        QVERIFY(!floats(made, end, map).empty());
    }

    void compilationErrorIsKept() {
        fake::start({.gpus = 1});
        const auto runner = cuda::ChainRunner::find(80);
        const OpChain relu = chainOf(*findOp("Relu"));
        runner->prepare(relu, DType::f32);
        QCOMPARE(runner->problem(), std::string());
        fake::start({.gpus = 1, .noCompiler = true});
        const int asked = fake::chainsPrepared();
        runner->prepare(relu, DType::f32); // already compiled
        QCOMPARE(runner->problem(), std::string());
        runner->prepare(relu, DType::f64);
        QCOMPARE(runner->problem(), std::string("the compiler is gone"));
        runner->prepare(relu, DType::f16);
        QCOMPARE(fake::chainsPrepared(), asked + 1);
    }

    /// A driver may reject the output of a newer NVRTC.
    void nvrtcMatchesTheDriver() {
        const std::string own = fmt::format("libnvrtc.so.{}", CUDART_VERSION / 1000);
        const auto older = cuda::nvrtcFiles(12040);
        QCOMPARE(older.front(), own);
        for (const std::string& file : older) QVERIFY(file == own || file == "libnvrtc.so.12");
        const auto newer = cuda::nvrtcFiles(14000);
        QCOMPARE(newer.front(), own);
        QVERIFY(std::find(newer.begin(), newer.end(), "libnvrtc.so.14") != newer.end());
        QVERIFY(std::find(newer.begin(), newer.end(), "libnvrtc.so.12") != newer.end());
        QCOMPARE(cuda::nvrtcFiles(0), std::vector{own});
    }

    void aReportNamesTheMembers() {
        const DeviceMap map = fakeGpu();
        Line line;
        const NodeId a = line.add("Neg", "a");
        const NodeId b = line.add("Relu", "b");
        line.add("Softmax", "c");
        const auto plan = planOf(line.g.graph(), map, {.keep = {{line.last, 0}}});
        RunReport report;
        report.plan = plan;
        report.result = runToEnd(plan, {});
        const auto json = nlohmann::json::parse(toJson(report));
        QVERIFY(json.at("prepare_ms").get<double>() > 0);
        int fused = 0;
        for (const auto& step : json.at("steps")) {
            QCOMPARE(step.contains("members"), step.at("label") == "a, b");
            if (!step.contains("members")) continue;
            ++fused;
            QCOMPARE(step.at("op"), "Neg+Relu");
            QVERIFY(step.at("members") == nlohmann::json::array({value(a), value(b)}));
        }
        QCOMPARE(fused, 1);
        QVERIFY(toTable(report, false).find(" · kernels compiled in ") != std::string::npos);
    }

    void opsThatEndAChain() {
        const DeviceMap map = fakeGpu();
        {
            Line line; // an observed result
            const NodeId seen = line.add("Neg", "a");
            line.add("Relu", "b");
            const NodeId end = line.add("Exp", "c");
            QCOMPARE(labelsOf(*planOf(line.g.graph(), map, {.keep = {{seen, 0}, {end, 0}}})),
                     (Labels{"a", "b, c"}));
            QCOMPARE(labelsOf(*planOf(line.g.graph(), map, {.keepAll = true})), (Labels{"a", "b", "c"}));
        }
        {
            Line line; // a result with several consumers
            const NodeId shared = line.add("Neg", "a");
            const NodeId left = line.g.node("Exp", "left", "cuda:0", {}, {shared});
            const NodeId right = line.g.node("Tanh", "right", "cuda:0", {}, {shared});
            const NodeId sum = line.g.node("Add", "sum", "cuda:0", {}, {left, right});
            QCOMPARE(labelsOf(*planOf(line.g.graph(), map, {.keep = {{sum, 0}}})),
                     (Labels{"a", "left, right, sum"}));
        }
        {
            Line line; // an op that is not pointwise
            line.add("Neg", "a");
            line.add("Softmax", "soft");
            line.add("Neg", "b");
            const NodeId end = line.add("Exp", "c");
            QCOMPARE(labelsOf(*planOf(line.g.graph(), map, {.keep = {{end, 0}}})),
                     (Labels{"a", "soft", "b, c"}));
        }
        {
            Line line; // a smaller result, which would be recomputed for each row
            const NodeId small = line.g.node("Neg", "small", "cuda:0", {}, {line.other});
            const NodeId end = line.g.node("Add", "sum", "cuda:0", {}, {line.last, small});
            QCOMPARE(labelsOf(*planOf(line.g.graph(), map, {.keep = {{end, 0}}})), (Labels{"small", "sum"}));
        }
        {
            GraphMaker g; // integers
            const NodeId x =
                g.node("Ones", "x", "cuda:0", {{"shape", Ints{4}}, {"dtype", std::string("i32")}});
            const NodeId a = g.node("Neg", "a", "cuda:0", {}, {x});
            const NodeId b = g.node("Abs", "b", "cuda:0", {}, {a});
            QCOMPARE(labelsOf(*planOf(g.graph(), map, {.keep = {{b, 0}}})), (Labels{"a", "b"}));
        }
    }

    void chainsHaveAnEnd() {
        const DeviceMap map = fakeGpu();
        Line line;
        for (int i = 0; i < 70; ++i) line.add("Neg", "n");
        const auto plan = planOf(line.g.graph(), map, {.keep = {{line.last, 0}}});
        std::size_t members = 0;
        for (const Step& step : plan->steps) {
            QVERIFY(step.members.size() <= 32);
            if (!step.setup) members += std::max<std::size_t>(step.members.size(), 1);
        }
        QCOMPARE(members, std::size_t{70});
        QVERIFY(runToEnd(plan, {}).status == RunStatus::finished);
    }

    /// Compares every op and dtype, compiled for the host, with the op's own kernel.
    void sourcesEqualTheOps() {
        const std::vector<const Op*> ops = chainOps();
        QVERIFY2(ops.size() >= 40, qPrintable(QString::number(ops.size())));
        Sources sources;
        for (const Op* op : ops)
            for (const DType dtype : dtypesOf(*op)) sources.add(chainOf(*op), dtype);
        const HostChains chains(sources);
        int which = 0;
        for (const Op* op : ops)
            for (const DType dtype : dtypesOf(*op)) {
                Dice dice(static_cast<std::uint32_t>(which));
                const OpChain chain = chainOf(*op);
                const double low = op->name == "Acosh"                       ? 1
                                   : op->name == "Log" || op->name == "Sqrt" ? 0.125
                                                                             : -0.875;
                const Shape shape{3, dice.integer(1, 9), dice.one(2) ? 5 : 16};
                const bool broadcasts = op->name != "ReluGrad"; // whose operands have one shape
                std::vector<Tensor> inputs;
                for (std::size_t k = 0; k < chain.inputs; ++k) {
                    const Shape own =
                        k == 0 || !broadcasts ? shape : Shape{dice.one(2) ? shape[1] : 1, shape[2]};
                    inputs.push_back(inLayout(dice.tensor(dtype, own, low, low + 1.75), dice.layout()));
                }
                const Tensor out = Tensor::onHost({dtype, shape});
                chains.run(which++, inputs, out);
                const std::vector<Tensor> wanted = runOp(op->name, {}, inputs);
                const QString problem = difference(out, shape, valuesOf(wanted[0]), twice(*op, dtype));
                QVERIFY2(problem.isEmpty(), qPrintable(QString::fromStdString(op->name) + ": " + problem));
            }
    }

    /// Packs and single elements: inputs that are aligned, broadcast, or strided.
    void elementsAreReachedInEveryLayout() {
        constexpr std::array dtypes{DType::f16, DType::f32, DType::f64};
        const Op& add = *findOp("Add");
        Sources sources;
        for (const DType dtype : dtypes) sources.add(chainOf(add), dtype);
        const HostChains chains(sources);
        std::map<cuda::ChainReach, int> reached;
        int oneByOne = 0;
        for (std::size_t d = 0; d < dtypes.size(); ++d)
            for (std::uint32_t seed = 0; seed < 200; ++seed) {
                Dice dice(seed);
                Shape shape = dice.shape(4, 6);
                if (dice.one(2) && shape.rank() > 0) shape[shape.rank() - 1] = dice.integer(1, 3) * 8;
                const auto operand = [&] {
                    return inLayout(dice.tensor(dtypes[d], operandOf(dice, shape), -9, 9), dice.layout());
                };
                const std::vector<Tensor> inputs{operand(), operand()};
                const Shape result = *broadcast(inputs[0].shape(), inputs[1].shape());
                const Tensor out = Tensor::onHost({dtypes[d], result});
                chains.run(static_cast<int>(d), inputs, out);
                const QString problem =
                    difference(out, result, valuesOf(runOp("Add", {}, inputs)[0]), twice(add, dtypes[d]));
                QVERIFY2(problem.isEmpty(), qPrintable(problem));
                const cuda::ChainLaunch launch =
                    cuda::chainLaunchOf(std::array{inputs[0].view(), inputs[1].view()}, out.view());
                oneByOne += launch.total > 0 && launch.packs == 0;
                if (launch.packs > 0)
                    for (int k = 0; k < 2; ++k) ++reached[launch.inputs[k].reach];
            }
        for (const auto reach : {cuda::ChainReach::pack, cuda::ChainReach::same, cuda::ChainReach::apart})
            QVERIFY(reached[reach] > 20);
        QVERIFY(oneByOne > 20);
    }

    /// A result that is not aligned for packs is written element by element.
    void resultsNeedNotBeAligned() {
        Sources sources;
        sources.add(chainOf(*findOp("Neg")), DType::f32);
        const HostChains chains(sources);
        const Tensor x = tensorOf(DType::f32, Shape{9}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
        const Tensor whole = tensorOf(DType::f32, Shape{10}, std::vector<double>(10, 0.5));
        chains.run(0, {x}, Tensor(whole.buffer(), {DType::f32, Shape{9}}, {1}, 1));
        QCOMPARE(valuesOf(whole), (std::vector<double>{0.5, -1, -2, -3, -4, -5, -6, -7, -8, -9}));
    }

    void elementsBeyondTwoToThe31() {
        for (const Shape& shape : {Shape{3, 1 << 15, 21845}, Shape{3, 1 << 15, 21846}}) {
            const TensorView out{nullptr, DType::f16, shape, denseStrides(shape)};
            const Shape row{shape[2]};
            const Shape column{shape[1], 1};
            const cuda::ChainLaunch launch =
                cuda::chainLaunchOf(std::array{TensorView{nullptr, DType::f16, row, denseStrides(row)},
                                               TensorView{nullptr, DType::f16, column, denseStrides(column)}},
                                    out);
            QCOMPARE(launch.isSmall, shape.elementCount() < std::int64_t{1} << 31);
            Dice dice(1);
            for (int round = 0; round < 1000; ++round) {
                const std::int64_t i = round == 0 ? launch.total - 1 : dice.integer(0, launch.total - 1);
                std::int64_t offsets[2] = {};
                cuda::addChainOffsets<2>(launch, i, offsets);
                QCOMPARE(offsets[0], i % shape[2]);
                QCOMPARE(offsets[1], i / shape[2] % shape[1]);
            }
        }
    }

    void everySourceCompilesForAGpu() {
        if (!cuda::hasNvrtc()) QSKIP("no NVRTC");
        Sources sources;
        for (const Op* op : chainOps())
            for (const DType dtype : dtypesOf(*op)) sources.add(chainOf(*op), dtype);
        QVERIFY(!cuda::compileForGpu(sources.text(), 75).empty());
        // For a GPU newer than NVRTC, the source is compiled to PTX, which the driver translates.
        const OpChain one = chainOf(*findOp("Relu"));
        QVERIFY(cuda::compileForGpu(cuda::chainSource(one, DType::f32), 999).find(".target sm_") !=
                std::string::npos);
        QVERIFY_EXCEPTION_THROWN(cuda::compileForGpu("this is no C++", 75), Error);
    }

    void attributesAreInTheSource() {
        OpChain chain = chainOf(*findOp("LeakyRelu"));
        chain.members[0].attributes.set("alpha", 0.3);
        Sources sources;
        sources.add(chain, DType::f64);
        // (x0 + x1) · max(x0, 0): operands in any order, each used any number of times.
        const OpChain tree{2,
                           {{"Add", completeAttributes(*findOp("Add"), {}), {0, 1}},
                            {"Relu", completeAttributes(*findOp("Relu"), {}), {0}},
                            {"Mul", completeAttributes(*findOp("Mul"), {}), {2, 3}}}};
        sources.add(tree, DType::f32);
        // So long that the elements of a pack are computed one after the other.
        OpChain line{1, {{"Neg", completeAttributes(*findOp("Neg"), {}), {0}}}};
        for (std::size_t m = 0; m < 30; ++m)
            line.members.push_back({"Neg", completeAttributes(*findOp("Neg"), {}), {m + 1}});
        sources.add(line, DType::f16);
        const HostChains chains(sources);
        const Tensor x = tensorOf(DType::f64, Shape{3}, {-1, 0, 2});
        const Tensor y = Tensor::onHost({DType::f64, Shape{3}});
        chains.run(0, {x}, y);
        QCOMPARE(valuesOf(y), (std::vector<double>{-0.3, 0, 2}));
        const Tensor a = tensorOf(DType::f32, Shape{2, 3}, {-1, 2, 3, 4, 5, -6});
        const Tensor b = tensorOf(DType::f32, Shape{3}, {1, 2, 3});
        const Tensor c = Tensor::onHost({DType::f32, Shape{2, 3}});
        chains.run(1, {a, b}, c);
        QCOMPARE(valuesOf(c), (std::vector<double>{0, 8, 18, 20, 35, 0}));
        const Tensor halves = tensorOf(DType::f16, Shape{9}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
        const Tensor turned = Tensor::onHost({DType::f16, Shape{9}});
        chains.run(2, {halves}, turned);
        QCOMPARE(valuesOf(turned), (std::vector<double>{-1, -2, -3, -4, -5, -6, -7, -8, -9}));
        Attributes infinite = completeAttributes(*findOp("Elu"), {});
        infinite.set("alpha", std::numeric_limits<double>::infinity());
        QVERIFY(!cuda::isChainMember("Elu", infinite, DType::f32));
        QVERIFY(!cuda::isChainMember("Relu", {}, DType::i32));
        QVERIFY(!cuda::isChainMember("Softmax", {}, DType::f32));
    }

    void codeIsCachedByContent() {
        const QTemporaryDir folder;
        const auto restore = qScopeGuard([before = qgetenv("XDG_CACHE_HOME")] {
            if (before.isNull())
                qunsetenv("XDG_CACHE_HOME");
            else
                qputenv("XDG_CACHE_HOME", before);
        });
        qputenv("XDG_CACHE_HOME", folder.path().toUtf8());
        const std::string code("\0code\n", 6);
        QVERIFY(!cuda::cachedCode("source"));
        cuda::cacheCode("source", code);
        QCOMPARE(cuda::cachedCode("source"), std::optional(code));
        QVERIFY(!cuda::cachedCode("another"));
        // A truncated file is ignored, and no partial file is left behind.
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path().toStdString()))
            if (entry.is_regular_file()) files.push_back(entry.path());
        QCOMPARE(files.size(), std::size_t{1});
        std::filesystem::resize_file(files[0], std::filesystem::file_size(files[0]) - 1);
        QVERIFY(!cuda::cachedCode("source"));
        qputenv("XDG_CACHE_HOME", "/proc/none");
        cuda::cacheCode("source", code);
        QVERIFY(!cuda::cachedCode("source"));
    }
};

TWB_TEST_MAIN(TestChains)
#include "test_chains.moc"
