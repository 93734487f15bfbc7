// Compares the CUDA backend's performance with plain CUDA in the same process: one line per figure as soon as
// it is known, and JSON if a path is given. A figure that cannot be measured has a line with the reason.
// Exits with 5 and a message if there is no GPU, with 1 if a figure could not be measured. bench_gpu
// [OUT.json]

#include "backends/cuda_plugin.h"
#include "backends/kept_failure.h"
#include "core/error.h"
#include "core/format.h"
#include "ops/op_table.h"
#include "profile/lone_op.h"
#include "runtime/executor.h"
#include "support/graphs.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace twb;

namespace {

using Seconds = std::chrono::duration<double>;

/// The best of a few runs of `once`, in seconds, which excludes disturbances.
double best(const std::function<void()>& once) {
    once();
    double least = 1e9;
    for (int i = 0; i < 7; ++i) {
        const auto start = std::chrono::steady_clock::now();
        once();
        least = std::min(least, Seconds(std::chrono::steady_clock::now() - start).count());
    }
    return least;
}

/// The target of a ratio.
struct Aim {
    enum class Kind { none, atLeast, atMost } kind = Kind::none;
    double ratio = 0;

    bool isMet(double measured) const {
        return kind == Kind::none || (kind == Kind::atLeast ? measured >= ratio : measured <= ratio);
    }
    std::string toString() const {
        return kind == Kind::none ? "" : fmt::format("{} {}", kind == Kind::atLeast ? "≥" : "≤", ratio);
    }
};
Aim atLeast(double ratio) { return {Aim::Kind::atLeast, ratio}; }
Aim atMost(double ratio) { return {Aim::Kind::atMost, ratio}; }

/// A comparison: our rate over theirs, or their time over ours; for overlap, lower is better.
struct Row {
    std::string what;
    std::string size;
    std::string ours;
    std::string theirs;
    double ratio = 0;
    Aim aim;
};

cudaDataType cudaTypeOf(DType dtype) {
    return dtype == DType::f64   ? CUDA_R_64F
           : dtype == DType::f32 ? CUDA_R_32F
           : dtype == DType::f16 ? CUDA_R_16F
                                 : CUDA_R_16BF;
}

void checkLt(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Error(ErrorCode::failed,
                    fmt::format("cuBLASLt reports {} by itself", cublasGetStatusName(status)));
}

/// A square product with a row and an activation, by cuBLASLt alone.
class BareProduct {
public:
    BareProduct(const Launch& launch, std::int64_t n, cublasLtEpilogue_t epilogue, cudaStream_t stream)
        : m_launch(launch), m_stream(stream) {
        const TensorView& row = launch.inputs[2];
        const cudaDataType type = cudaTypeOf(row.dtype);
        const auto size = static_cast<std::uint64_t>(n);
        checkLt(cublasLtCreate(&m_handle));
        checkLt(cublasLtMatmulDescCreate(&m_product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        checkLt(cublasLtMatmulDescSetAttribute(m_product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                               sizeof(epilogue)));
        checkLt(cublasLtMatmulDescSetAttribute(m_product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &row.data,
                                               sizeof(row.data)));
        checkLt(cublasLtMatrixLayoutCreate(&m_square, type, size, size, n));
        checkLt(cublasLtMatmulPreferenceCreate(&m_preference));
        const std::uint32_t reductions =
            isHalfWidth(row.dtype) ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_MASK;
        checkLt(cublasLtMatmulPreferenceSetAttribute(m_preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                     &reductions, sizeof(reductions)));
        checkLt(cublasLtMatmulPreferenceSetAttribute(m_preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                     &kWorkspace, sizeof(kWorkspace)));
        int found = 0;
        checkLt(cublasLtMatmulAlgoGetHeuristic(m_handle, m_product, m_square, m_square, m_square, m_square,
                                               m_preference, 1, &m_best, &found));
        if (found == 0 || cudaMalloc(&m_workspace, kWorkspace) != cudaSuccess)
            throw Error(ErrorCode::failed, "cuBLASLt has nothing to compare with");
    }
    ~BareProduct() {
        cudaFree(m_workspace);
        cublasLtMatmulPreferenceDestroy(m_preference);
        cublasLtMatrixLayoutDestroy(m_square);
        cublasLtMatmulDescDestroy(m_product);
        cublasLtDestroy(m_handle);
    }
    BareProduct(const BareProduct&) = delete;
    BareProduct& operator=(const BareProduct&) = delete;

    void launch() const {
        const float one = 1;
        const float zero = 0;
        void* out = m_launch.outputs[0].data;
        checkLt(cublasLtMatmul(m_handle, m_product, &one, m_launch.inputs[1].data, m_square,
                               m_launch.inputs[0].data, m_square, &zero, out, m_square, out, m_square,
                               &m_best.algo, m_workspace, kWorkspace, m_stream));
    }

private:
    static constexpr std::size_t kWorkspace = std::size_t{32} << 20;
    const Launch& m_launch;
    const cudaStream_t m_stream;
    cublasLtHandle_t m_handle = nullptr;
    cublasLtMatmulDesc_t m_product = nullptr;
    cublasLtMatrixLayout_t m_square = nullptr;
    cublasLtMatmulPreference_t m_preference = nullptr;
    cublasLtMatmulHeuristicResult_t m_best{};
    void* m_workspace = nullptr;
};

class GpuBench {
public:
    explicit GpuBench(std::shared_ptr<Backend> gpu) : m_shared(std::move(gpu)), m_gpu(*m_shared) {
        cudaSetDevice(0);
        cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking);
        cublasCreate(&m_blas);
        cublasSetStream(m_blas, m_stream);
        // With the same precision as the backend.
        cublasSetMathMode(m_blas,
                          static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    }

    void run() {
        for (const std::size_t bytes :
             {std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{16} << 20, std::size_t{256} << 20})
            for (const MemoryKind kind : {MemoryKind::pinned, MemoryKind::pageable})
                for (const bool there : {true, false}) attempt([&] { transfer(bytes, kind, there); });
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
            for (const std::int64_t n : {1024, 2048, 4096}) attempt([&] { product(dtype, n); });
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
            for (const char* activation : {"Relu", "Gelu"})
                for (const std::int64_t n : {1024, 4096})
                    attempt([&] { endedProduct(dtype, n, activation); });
        const Shape flat{std::int64_t{64} << 20};
        const Shape square{8192, 8192};
        const TensorType row{DType::f32, Shape{8192}};
        const auto sumOver = [](std::int64_t axis) { return Attributes{{"axes", std::vector{axis}}}; };
        const auto stream = [&](const char* what, const char* op, const std::vector<TensorType>& inputs,
                                const Attributes& attributes = {}) {
            attempt([&] { streaming(what, op, inputs, attributes); });
        };
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
            stream("Neg", "Neg", {{dtype, flat}});
            stream("Add", "Add", {{dtype, flat}, {dtype, flat}});
        }
        stream("Add of a row", "Add", {{DType::f32, square}, row});
        stream("Gelu, tanh", "Gelu", {{DType::f32, flat}}, {{"approximate", std::string("tanh")}});
        stream("sum of all", "ReduceSum", {{DType::f32, flat}});
        stream("sums of rows", "ReduceSum", {{DType::f32, square}}, sumOver(1));
        stream("sums of columns", "ReduceSum", {{DType::f32, square}}, sumOver(0));
        stream("largest of rows", "ReduceMax", {{DType::f32, square}}, sumOver(1));
        for (const int layers : {3, 24}) attempt([&] { repeated(layers); });
        attempt([&] { overlap(); });
        attempt([&] { pipeline(); });
    }

    const std::vector<Row>& rows() const { return m_rows; }
    const std::vector<std::string>& failures() const { return m_failures; }

private:
    /// The failure of one benchmark does not affect the others.
    void attempt(const std::function<void()>& measure) {
        try {
            measure();
        } catch (const std::exception& error) {
            m_failures.emplace_back(error.what());
            std::printf("not measured: %s\n", error.what());
        }
    }

    void transfer(std::size_t bytes, MemoryKind kind, bool there) {
        const std::size_t times = std::clamp<std::size_t>((std::size_t{1} << 30) / bytes, 1, 200);
        Allocator& hostMemory = kind == MemoryKind::pinned ? m_gpu.pinnedMemory() : hostAllocator();
        const BufferPtr host = hostMemory.allocate(bytes, kind);
        const BufferPtr device = m_gpu.memory().allocate(bytes, MemoryKind::device);
        std::fill_n(static_cast<char*>(host->data()), bytes, '\0');
        Copy copy;
        copy.target = there ? device->data() : host->data();
        copy.source = there ? host->data() : device->data();
        copy.bytes = bytes;
        copy.direction = there ? CopyDirection::hostToDevice : CopyDirection::deviceToHost;
        copy.hostMemory = kind;
        copy.guard = &m_guard;
        const auto stream = m_gpu.createStream(there ? QueueKind::hostToDevice : QueueKind::deviceToHost);
        const double ours = best([&] {
            for (std::size_t i = 0; i < times; ++i) stream->copy(copy);
            stream->synchronize();
        });
        const double theirs = best([&] {
            for (std::size_t i = 0; i < times; ++i)
                cudaMemcpyAsync(copy.target, copy.source, bytes,
                                there ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, m_stream);
            cudaStreamSynchronize(m_stream);
        });
        const double all = static_cast<double>(bytes * times) * 1e-9;
        const bool isPinned = kind == MemoryKind::pinned;
        add({fmt::format("copy, {}, {}", isPinned ? "pinned" : "pageable",
                         there ? "host→device" : "device→host"),
             formatBytes(static_cast<double>(bytes)), formatRate(all / ours), formatRate(all / theirs),
             theirs / ours, isPinned && bytes >= 1 << 20 ? atLeast(0.95) : Aim{}});
    }

    /// Seconds per launch of one op, launched back to back: as in a run, as a CUDA graph, or individually.
    double launches(Launch launch, int times, bool asGraph = true) {
        launch.guard = &m_guard;
        const std::vector<const Launch*> stretch(static_cast<std::size_t>(times), &launch);
        const auto stream = m_gpu.createStream(QueueKind::compute);
        return best([&] {
                   if (asGraph)
                       stream->launchStretch(stretch);
                   else
                       for (const Launch* one : stretch) stream->launch(*one);
                   stream->synchronize();
               }) /
               times;
    }

    void product(DType dtype, std::int64_t n) {
        if (!LoneOp::isSupported(m_gpu, "MatMul", dtype)) return;
        constexpr int kTimes = 50;
        const LoneOp op(m_gpu, "MatMul", {{dtype, Shape{n, n}}, {dtype, Shape{n, n}}});
        const double ours = launches(op.launch(), kTimes);
        const cudaDataType type = cudaTypeOf(dtype);
        const Launch& l = op.launch();
        const double one64 = 1;
        const double zero64 = 0;
        const float one = 1;
        const float zero = 0;
        const bool isDouble = dtype == DType::f64;
        const int size = static_cast<int>(n);
        const double theirs =
            best([&] {
                for (int i = 0; i < kTimes; ++i)
                    cublasGemmEx(m_blas, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size,
                                 isDouble ? static_cast<const void*>(&one64) : &one, l.inputs[1].data, type,
                                 size, l.inputs[0].data, type, size,
                                 isDouble ? static_cast<const void*>(&zero64) : &zero, l.outputs[0].data,
                                 type, size, isDouble ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                 CUBLAS_GEMM_DEFAULT);
                cudaStreamSynchronize(m_stream);
            }) /
            kTimes;
        const double flops = 2e-12 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
        const auto row = [&](const char* how, double seconds, Aim aim) {
            add({fmt::format("product, {}{}, against cuBLAS", name(dtype), how), fmt::format("{0} × {0}", n),
                 fmt::format("{:.1f} TFLOP/s", flops / seconds),
                 fmt::format("{:.1f} TFLOP/s", flops / theirs), theirs / seconds, aim});
        };
        row("", ours, atLeast(0.97));
        if (n == 1024) row(", each launched by itself", launches(op.launch(), kTimes, false), {});
    }

    /// A product, the addition of a row and an activation, in one launch.
    void endedProduct(DType dtype, std::int64_t n, const char* activation) {
        const bool isGelu = std::string_view(activation) == "Gelu";
        const auto attributes = [](const char* op, const Attributes& given) {
            return completeAttributes(*findOp(op), given);
        };
        const Attributes end =
            attributes(activation, isGelu ? Attributes{{"approximate", std::string("tanh")}} : Attributes{});
        if (!m_gpu.endsProduct(activation, end, dtype)) return;
        constexpr int kTimes = 50;
        const OpChain chain{3,
                            {{"MatMul", attributes("MatMul", {}), {0, 1}},
                             {"Add", attributes("Add", {}), {3, 2}},
                             {activation, end, {4}}},
                            OpChain::Kind::product};
        const LoneOp product(m_gpu, "MatMul", {{dtype, Shape{n, n}}, {dtype, Shape{n, n}}});
        const LoneOp row(m_gpu, "Neg", {{dtype, Shape{n}}});
        const std::array inputs{product.launch().inputs[0], product.launch().inputs[1],
                                row.launch().inputs[0]};
        Launch launch = product.launch();
        const std::string name = fmt::format("MatMul+Add+{}", activation);
        launch.op = name.c_str();
        launch.chain = &chain;
        launch.inputs = inputs;
        const double ours = launches(launch, kTimes);
        const BareProduct bare(launch, n, isGelu ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_RELU_BIAS,
                               m_stream);
        const double theirs = best([&] {
                                  for (int i = 0; i < kTimes; ++i) bare.launch();
                                  cudaStreamSynchronize(m_stream);
                              }) /
                              kTimes;
        const double flops = 2e-12 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
        add({fmt::format("product, row and {}, {}, against cuBLASLt", activation, twb::name(dtype)),
             fmt::format("{0} × {0}", n), fmt::format("{:.1f} TFLOP/s", flops / ours),
             fmt::format("{:.1f} TFLOP/s", flops / theirs), theirs / ours, atLeast(0.97)});
    }

    /// The bandwidth of a memory-bound op, compared with a copy of its first input on the device.
    void streaming(const char* what, const char* name, const std::vector<TensorType>& inputs,
                   const Attributes& attributes) {
        const TensorType& type = inputs[0];
        if (!LoneOp::isSupported(m_gpu, name, type.dtype)) return;
        constexpr int kTimes = 20;
        const LoneOp op(m_gpu, name, inputs, attributes);
        const Launch& l = op.launch();
        const double ours = launches(l, kTimes);
        const auto bytes = static_cast<std::size_t>(type.byteCount());
        const BufferPtr target = m_gpu.memory().allocate(bytes, MemoryKind::device);
        const double theirs = best([&] {
                                  for (int i = 0; i < kTimes; ++i)
                                      cudaMemcpyAsync(target->data(), l.inputs[0].data, bytes,
                                                      cudaMemcpyDeviceToDevice, m_stream);
                                  cudaStreamSynchronize(m_stream);
                              }) /
                              kTimes;
        const double copied = 2e-9 * static_cast<double>(bytes) / theirs;
        const double moved = 1e-9 * l.cost.bytes / ours;
        add({fmt::format("{}, {}, against a copy in the device", what, twb::name(type.dtype)),
             type.shape.toString(), formatRate(moved), formatRate(copied), moved / copied, atLeast(0.85)});
    }

    /// Iterations of a small network: CUDA graphs compared with individual steps.
    void repeated(int layers) {
        constexpr std::int64_t kIterations = 1000;
        const auto normal = [](std::vector<std::int64_t> shape) {
            return Attributes{{"shape", std::move(shape)}};
        };
        test::GraphMaker g;
        NodeId last = g.node("RandomNormal", "x", "cuda:0", normal({32, 256}));
        for (int i = 0; i < layers; ++i) {
            const NodeId weight = g.node("RandomNormal", fmt::format("w{}", i), "cuda:0", normal({256, 256}));
            const NodeId bias = g.node("RandomNormal", fmt::format("b{}", i), "cuda:0", normal({256}));
            last = g.node("Gemm", fmt::format("fc{}", i), "cuda:0", {}, {last, weight, bias});
            last = g.node("Relu", fmt::format("relu{}", i), "cuda:0", {}, {last});
        }
        const auto plan = planOf(g.graph(), last);
        const double ours = iterationNs(plan, kIterations, true);
        const double theirs = iterationNs(plan, kIterations, false);
        add({"an iteration of small layers, as a CUDA graph, against step by step",
             fmt::format("{} of 32 × 256", layers), formatMs(ours), formatMs(theirs), theirs / ours,
             atLeast(1)});
    }

    /// Copies to the device in parallel with products, compared with the longer of both alone.
    void overlap() {
        if (!LoneOp::isSupported(m_gpu, "MatMul", DType::f32)) return;
        constexpr int kTimes = 10;
        const std::size_t bytes = std::size_t{64} << 20;
        const BufferPtr host = m_gpu.pinnedMemory().allocate(bytes, MemoryKind::pinned);
        const BufferPtr device = m_gpu.memory().allocate(bytes, MemoryKind::device);
        Copy copy;
        copy.target = device->data();
        copy.source = host->data();
        copy.bytes = bytes;
        copy.hostMemory = MemoryKind::pinned;
        copy.guard = &m_guard;
        const LoneOp op(m_gpu, "MatMul", {{DType::f32, Shape{4096, 4096}}, {DType::f32, Shape{4096, 4096}}});
        Launch launch = op.launch();
        launch.guard = &m_guard;
        const auto copies = m_gpu.createStream(QueueKind::hostToDevice);
        const auto compute = m_gpu.createStream(QueueKind::compute);
        const auto run = [&](bool copying, bool computing) {
            return best([&] {
                for (int i = 0; i < kTimes; ++i) {
                    if (copying) copies->copy(copy);
                    if (computing) compute->launch(launch);
                }
                copies->synchronize();
                compute->synchronize();
            });
        };
        const double longer = std::max(run(true, false), run(false, true));
        const double both = run(true, true);
        add({"copies beside products, against the longer alone", "64 Mi B, 4096 × 4096", formatMs(both * 1e9),
             formatMs(longer * 1e9), both / longer, atMost(1.1)});
    }

    /// ns per iteration, the minimum of a few runs.
    static double iterationNs(const std::shared_ptr<const Plan>& plan, std::int64_t iterations,
                              bool asGraphs) {
        std::int64_t least = 0;
        for (int i = 0; i < 5; ++i) {
            const RunResult result = runToEnd(plan, {.iterations = iterations, .cudaGraphs = asGraphs});
            if (!result.errors.empty()) throw Error(ErrorCode::failed, result.errors[0].message);
            if (result.replayed.refused > 0 || (!asGraphs && result.replayed.replays > 0))
                throw Error(ErrorCode::failed,
                            "steps were captured as a CUDA graph, or not, against what was asked");
            if (i == 0 || result.wallNs < least) least = result.wallNs;
        }
        return static_cast<double>(least) / static_cast<double>(iterations);
    }

    std::shared_ptr<const Plan> planOf(const Graph& graph, NodeId end) const {
        DeviceMap map;
        map.set(Device::cuda(0), m_shared, true);
        return compile(graph, analyze(graph, map, Policy::strict, nullptr), map, nullptr,
                       {.keep = {{end, 0}}});
    }

    /// A run whose iterations copy a matrix to the GPU and multiply it there, compared with the longer of
    /// both.
    void pipeline() {
        const auto graph = [&](bool copies, bool computes) {
            test::GraphMaker g;
            NodeId end = g.node("RandomNormal", "x", copies ? "cpu" : "cuda:0",
                                {{"shape", std::vector<std::int64_t>{4096, 4096}}});
            if (copies)
                end = g.node("To", "to", "cuda:0", {{"pin_memory", true}, {"non_blocking", true}}, {end});
            if (computes) end = g.node("MatMul", "product", "cuda:0", {}, {end, end});
            return iterationNs(planOf(g.graph(), end), 50, true);
        };
        const double longer = std::max(graph(true, false), graph(false, true));
        const double both = graph(true, true);
        add({"a run's copies and products, against the longer alone", "4096 × 4096", formatMs(both),
             formatMs(longer), both / longer, atMost(1.1)});
    }

    void add(Row row) {
        m_guard.rethrow();
        std::printf("%-70s %-14s %16s %16s %6.2f  %-6s %s\n", row.what.c_str(), row.size.c_str(),
                    row.ours.c_str(), row.theirs.c_str(), row.ratio, row.aim.toString().c_str(),
                    row.aim.isMet(row.ratio) ? "" : "missed");
        std::fflush(stdout);
        m_rows.push_back(std::move(row));
    }

    const std::shared_ptr<Backend> m_shared;
    Backend& m_gpu;
    KeptFailure m_guard;
    cudaStream_t m_stream = nullptr;
    cublasHandle_t m_blas = nullptr;
    std::vector<Row> m_rows;
    std::vector<std::string> m_failures;
};

std::string versionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

} // namespace

int main(int argc, char** argv) {
    const CudaDevices& devices = cudaDevices();
    if (devices.backends.empty()) {
        std::fprintf(stderr, "bench_gpu: not measured, because %s\n", devices.problem.c_str());
        return 5;
    }
    const DeviceInfo& gpu = devices.backends[0]->info();
    std::printf("%s, CUDA %s\n", gpu.name.c_str(), versionText(CUDART_VERSION).c_str());
    GpuBench bench(devices.backends[0]);
    bench.run();
    int driver = 0;
    cudaDriverGetVersion(&driver);
    nlohmann::ordered_json json{
        {"schema", 1},
        {"gpu", gpu.name},
        {"driver_cuda", versionText(driver)},
        {"toolkit", versionText(CUDART_VERSION)},
        {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(
                                                std::chrono::system_clock::now())))},
        {"rows", nlohmann::ordered_json::array()},
        {"not_measured", bench.failures()}};
    int aims = 0;
    int met = 0;
    for (const Row& row : bench.rows()) {
        json["rows"].push_back({{"what", row.what},
                                {"size", row.size},
                                {"here", row.ours},
                                {"cuda", row.theirs},
                                {"ratio", row.ratio},
                                {"aim", row.aim.toString()}});
        if (row.aim.kind == Aim::Kind::none) continue;
        ++aims;
        met += row.aim.isMet(row.ratio) ? 1 : 0;
    }
    std::printf("%d of %d aims met, %zu figures not measured\n", met, aims, bench.failures().size());
    if (argc > 1) std::ofstream(argv[1]) << json.dump(2) << '\n';
    return bench.failures().empty() ? 0 : 1;
}
