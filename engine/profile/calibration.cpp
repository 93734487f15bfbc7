#include "profile/calibration.h"

#include "backends/kept_failure.h"
#include "core/error.h"
#include "core/format.h"
#include "profile/lone_op.h"
#include "profile/measured_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>

namespace twb {
namespace {

constexpr std::size_t kLeastCopy = std::size_t{4} << 10;
constexpr int kMostRepeats = 200;
constexpr int kLaunches = 200;
constexpr int kPasses = 6;

/// The best time is the device's; longer ones include other work of the machine.
double bestOf(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

class Calibrator {
public:
    Calibrator(Backend& backend, const std::string& date, const CalibrationEffort& effort)
        : m_backend(backend), m_effort(effort),
          m_source(fmt::format("measured by twb calibrate on {}, {}, {}", date, backend.info().name,
                               backend.info().detail)) {}

    Calibration run() {
        DeviceProfile& p = m_out.profile;
        const DeviceInfo& info = m_backend.info();
        p.id = profileId(info.name, "measured");
        p.name = info.name;
        p.source = m_source;
        p.link = info.device.isCpu() ? "a copy within host memory" : m_backend.profile().link;
        p.memoryBytes = info.memoryBytes;
        p.sources["link"] = info.device.isCpu() ? m_source : m_backend.profile().source;
        p.sources["memory_bytes"] = "reported by the operating system or the driver";
        p.sources["peer_gb_per_s"] = "not measured: needs two devices";
        measureLink(MemoryKind::pinned, p.linkPinnedGBps, p.linkLatencyUs);
        measureLink(MemoryKind::pageable, p.linkPageableGBps, p.pageableLatencyUs);
        for (const char* figure : {"link_pinned_gb_per_s", "link_pageable_gb_per_s", "link_latency_us",
                                   "pageable_latency_us", "memory_gb_per_s", "launch_us"})
            p.sources[figure] = m_source;
        measureMemory();
        measureProducts();
        measureLaunches();
        p.copyError = errorOf(m_copies, [&p](const MeasuredCopy& copy) {
            return p.copyNs(static_cast<double>(copy.bytes), copy.direction, copy.kind);
        });
        p.kernelError =
            errorOf(m_kernels, [&p](const MeasuredKernel& kernel) { return p.kernelNs(kernel.cost); });
        return std::move(m_out);
    }

private:
    struct MeasuredCopy {
        std::size_t bytes = 0;
        CopyDirection direction{};
        MemoryKind kind{};
        double ns = 0;
    };
    struct MeasuredKernel {
        Cost cost;
        double ns = 0;
    };

    void add(CalibrationRow row) { m_out.rows.push_back(std::move(row)); }

    /// The times of `submit` on a stream, in ns. Warms up once, then repeats until there are enough times.
    template <class Submit> std::vector<double> repeat(QueueKind queue, Submit&& submit) {
        const auto stream = m_backend.createStream(queue);
        std::vector<double> times;
        double sum = 0;
        for (int i = 0; i <= kMostRepeats && (i < 9 || sum < m_effort.enoughNs); ++i) {
            std::array<LaunchTiming, 1> timing;
            submit(*stream, timing[0]);
            stream->synchronize();
            m_backend.collect(timing);
            m_failures.rethrow();
            if (i == 0) continue;
            times.push_back(static_cast<double>(timing[0].end - timing[0].start));
            sum += times.back();
        }
        return times;
    }

    double bestCopy(CopyDirection direction, MemoryKind kind, void* host, void* device, std::size_t bytes,
                    int& count) {
        const bool there = direction == CopyDirection::hostToDevice;
        Copy copy;
        copy.target = there ? device : host;
        copy.source = there ? host : device;
        copy.bytes = bytes;
        copy.direction = direction;
        copy.hostMemory = kind;
        copy.guard = &m_failures;
        const auto times = repeat(there ? QueueKind::hostToDevice : QueueKind::deviceToHost,
                                  [&](Stream& stream, LaunchTiming& timing) {
                                      copy.timing = &timing;
                                      stream.copy(copy);
                                  });
        count = static_cast<int>(times.size());
        return bestOf(times);
    }

    /// The rate is that of the largest copy; the latency is the rest of the smallest copy's time at that
    /// rate. Both are means of the two directions.
    void measureLink(MemoryKind kind, double& gbPerSecond, double& latencyUs) {
        const std::size_t most = std::min(m_effort.mostBytes, m_backend.freeBytes() / 4);
        Allocator& hostMemory = kind == MemoryKind::pinned ? m_backend.pinnedMemory() : hostAllocator();
        const BufferPtr host = hostMemory.allocate(most, kind);
        const bool isHost = m_backend.info().device.isCpu();
        const BufferPtr device =
            m_backend.memory().allocate(most, isHost ? MemoryKind::pageable : MemoryKind::device);
        std::memset(host->data(), 0,
                    most); // touches the pages first, so that the page faults are not measured
        for (const CopyDirection direction : {CopyDirection::hostToDevice, CopyDirection::deviceToHost}) {
            const std::string what =
                fmt::format("link, {}, {}", kind == MemoryKind::pinned ? "pinned" : "pageable",
                            direction == CopyDirection::hostToDevice ? "host→device" : "device→host");
            double least = 0;
            double rate = 0;
            for (std::size_t bytes = kLeastCopy; bytes <= most; bytes *= 4) {
                CalibrationRow row;
                row.ns = bestCopy(direction, kind, host->data(), device->data(), bytes, row.count);
                row.what = what;
                row.size = formatBytes(static_cast<double>(bytes));
                rate = static_cast<double>(bytes) / std::max(row.ns, 1.0);
                row.figure = formatRate(rate);
                if (bytes == kLeastCopy) least = row.ns;
                m_copies.push_back({bytes, direction, kind, row.ns});
                add(std::move(row));
            }
            gbPerSecond += rate / 2;
            latencyUs += std::max(least - static_cast<double>(kLeastCopy) / rate, 1.0) / 2e3;
        }
    }

    /// Equal kernels, one after the other, in a stretch that repeats as the iterations of a run do: a GPU
    /// makes a CUDA graph of short ones. A single launch would take longer.
    class Stretch {
    public:
        Stretch(Calibrator& owner, const LoneOp& bench, int length)
            : m_owner(owner), m_stream(owner.m_backend.createStream(QueueKind::compute)),
              m_timings(static_cast<std::size_t>(length)), m_launches(m_timings.size(), bench.launch()) {
            for (std::size_t i = 0; i < m_launches.size(); ++i) {
                m_launches[i].step = static_cast<std::uint32_t>(i);
                m_launches[i].guard = &owner.m_failures;
                m_launches[i].timing = &m_timings[i];
                m_stretch.push_back(&m_launches[i]);
            }
        }
        /// From the start of the first kernel to the end of the last, in ns per kernel.
        double pass() {
            m_stream->launchStretch(m_stretch);
            m_stream->synchronize();
            m_owner.m_backend.collect(m_timings);
            m_owner.m_failures.rethrow();
            return static_cast<double>(m_timings.back().end - m_timings.front().start) /
                   static_cast<double>(m_timings.size());
        }

    private:
        Calibrator& m_owner;
        std::unique_ptr<Stream> m_stream;
        std::vector<LaunchTiming> m_timings;
        std::vector<Launch> m_launches;
        std::vector<const Launch*> m_stretch;
    };

    double bestLaunch(const LoneOp& bench, int& count) {
        constexpr double kStretchNs = 1e6;
        Stretch shortest(*this, bench, 2);
        shortest.pass(); // warms up
        const double estimate = std::max(shortest.pass(), 1.0);
        const int length = std::clamp(static_cast<int>(kStretchNs / estimate), 2, kLaunches);
        Stretch stretch(*this, bench, length);
        stretch.pass();
        std::vector<double> times;
        double sum = 0;
        for (int i = 0; i < kMostRepeats && (i < 8 || sum < m_effort.enoughNs); ++i) {
            times.push_back(stretch.pass());
            sum += times.back() * length;
        }
        count = static_cast<int>(times.size()) * length;
        return bestOf(times);
    }

    /// Reads and writes both count, as in the roofline model. The rate is that of the largest size; smaller
    /// sizes, which caches may hold, count in the error.
    void measureMemory() {
        const std::size_t most = std::min(m_effort.mostBytes, m_backend.freeBytes() / 4);
        require("Neg", DType::f32);
        for (std::size_t bytes = kLeastCopy;; bytes = std::min(bytes * 16, most)) {
            const LoneOp bench(m_backend, "Neg", {{DType::f32, Shape{static_cast<std::int64_t>(bytes / 4)}}});
            CalibrationRow row;
            row.what = "memory, read and written";
            row.size = formatBytes(static_cast<double>(bytes));
            row.ns = bestLaunch(bench, row.count);
            m_out.profile.memoryGBps = bench.launch().cost.bytes / std::max(row.ns, 1.0);
            row.figure = formatRate(m_out.profile.memoryGBps);
            m_kernels.push_back({bench.launch().cost, row.ns});
            add(std::move(row));
            if (bytes >= most) break;
        }
    }

    /// Square matrices, of growing size, until a product takes 20 ms or the rate stops growing.
    void measureProducts() {
        struct Product {
            const char* op;
            DType dtype;
        };
        for (const auto& [op, dtype] :
             {Product{"MatMul", DType::f64}, Product{"MatMul", DType::f32}, Product{"MatMul", DType::f16},
              Product{"MatMul", DType::bf16}, Product{"MatMulInteger", DType::i8}}) {
            if (!LoneOp::isSupported(m_backend, op, dtype)) continue;
            CalibrationRow best;
            double peak = 0;
            for (std::int64_t n = 256; n <= m_effort.mostProduct; n *= 2) {
                const LoneOp bench(m_backend, op, {{dtype, Shape{n, n}}, {dtype, Shape{n, n}}});
                CalibrationRow row;
                row.ns = bestLaunch(bench, row.count);
                m_kernels.push_back({bench.launch().cost, row.ns});
                const double gflops = 2.0 * std::pow(static_cast<double>(n), 3) / row.ns;
                if (gflops > peak) {
                    peak = gflops;
                    row.what = fmt::format("product, {}", name(dtype));
                    row.size = fmt::format("{0} × {0}", n);
                    row.figure = gflops < 1000 ? fmt::format("{:.1f} GFLOP/s", gflops)
                                               : fmt::format("{:.1f} TFLOP/s", gflops / 1e3);
                    best = row;
                }
                if (row.ns > 20e6) break;
            }
            m_out.profile.peakGflops[static_cast<std::size_t>(dtype)] = peak;
            m_out.profile.sources[fmt::format("peak_tflops.{}", name(dtype))] =
                fmt::format("{}: a product of {} matrices", m_source, best.size);
            add(std::move(best));
        }
        require("MatMul", DType::f32); // a profile requires this figure
    }

    /// Kernels of one element.
    void measureLaunches() {
        const LoneOp bench(m_backend, "Neg", {{DType::f32, Shape{1}}});
        Stretch stretch(*this, bench, kLaunches);
        CalibrationRow row;
        row.ns = stretch.pass();
        for (int pass = 1; pass < kPasses; ++pass) row.ns = std::min(row.ns, stretch.pass());
        row.what = "launch";
        row.size = "1 element";
        row.count = kLaunches * kPasses;
        m_out.profile.launchUs = std::max(row.ns, 1.0) / 1e3;
        row.figure = fmt::format("{:.3f} µs", m_out.profile.launchUs);
        add(std::move(row));
    }

    void require(const char* op, DType dtype) const {
        if (!LoneOp::isSupported(m_backend, op, dtype))
            throw Error(ErrorCode::unsupported,
                        fmt::format("{} cannot be calibrated: it has no kernel for {} of {}",
                                    m_backend.info().device.toString(), op, name(dtype)));
    }

    Backend& m_backend;
    const CalibrationEffort m_effort;
    const std::string m_source;
    KeptFailure m_failures; ///< a failed launch is a missing figure
    Calibration m_out;
    std::vector<MeasuredCopy> m_copies;
    std::vector<MeasuredKernel> m_kernels;
};

} // namespace

std::string profileId(std::string_view device, std::string_view suffix) {
    std::string id;
    for (const char c : device) {
        if (std::isalnum(static_cast<unsigned char>(c)))
            id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!id.empty() && id.back() != '-')
            id += '-';
    }
    return fmt::format("{}{}{}", id, id.ends_with('-') ? "" : "-", suffix);
}

Calibration calibrate(Backend& backend, const std::string& date, const CalibrationEffort& effort) {
    return Calibrator(backend, date, effort).run();
}

} // namespace twb
