#include "profile/trace_calibration.h"

#include "core/error.h"
#include "core/format.h"
#include "profile/kineto_costs.h"
#include "profile/measured_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace twb {
namespace {

/// A product must take this long for its rate to be that of the arithmetic.
constexpr double kLeastProductNs = 50e3;
/// An elementwise op must move this much for its rate to be that of the memory, not of a cache.
constexpr double kLeastMemoryBytes = 64e6;

double medianOf(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

class TraceCalibrator {
public:
    TraceCalibrator(const KinetoTrace& trace, const DeviceProfile& base, std::uint32_t device)
        : m_trace(trace), m_base(base), m_device(device),
          m_source(fmt::format("measured by PyTorch's profiler, {}",
                               std::filesystem::path(trace.file).filename().string())) {}

    Calibration run() {
        const bool isThere =
            std::any_of(m_trace.activities.begin(), m_trace.activities.end(),
                        [this](const GpuActivity& activity) { return activity.device == m_device; });
        if (!isThere)
            throw Error(ErrorCode::unsupported,
                        fmt::format("{} has no activity of cuda:{}; name another device "
                                    "of the trace with --device",
                                    m_trace.file, m_device));
        DeviceProfile& p = m_out.profile;
        p = m_base;
        for (auto& [figure, source] : p.sources)
            source = fmt::format("not in the trace; that of {}: {}", m_base.name, source);
        if (const std::string name = m_trace.deviceName(m_device); !name.empty()) p.name = name;
        p.id = profileId(p.name, "traced");
        p.source = fmt::format("{}; other figures from {}", m_source, m_base.name);
        for (const TraceDevice& each : m_trace.facts.devices)
            if (each.id == static_cast<std::int64_t>(m_device) && each.memoryBytes > 0) {
                p.memoryBytes = each.memoryBytes;
                p.sources["memory_bytes"] = m_source;
            }
        m_kernels = knownKernels(m_trace);
        std::erase_if(m_kernels, [this](const KnownKernel& kernel) { return kernel.device != m_device; });
        measureLink(HostMemory::pinned, p.linkPinnedGBps, p.linkLatencyUs, "link_pinned_gb_per_s",
                    "link_latency_us");
        measureLink(HostMemory::pageable, p.linkPageableGBps, p.pageableLatencyUs, "link_pageable_gb_per_s",
                    "pageable_latency_us");
        measureMemory();
        measureProducts();
        measureLaunches();
        p.copyError = errorOf(
            m_copies, [&p](const Copy& copy) { return p.copyNs(copy.bytes, copy.direction, copy.kind); });
        for (KnownKernel& kernel : m_kernels) kernel.ns += std::llround(m_gapNs);
        p.kernelError =
            errorOf(m_kernels, [&p](const KnownKernel& kernel) { return p.kernelNs(kernel.cost); });
        return std::move(m_out);
    }

private:
    struct Copy {
        double bytes = 0;
        CopyDirection direction{};
        MemoryKind kind{};
        double ns = 0;
    };

    void add(std::string what, std::string size, double ns, std::string figure, std::size_t count) {
        m_out.rows.push_back(
            {std::move(what), std::move(size), ns, std::move(figure), static_cast<int>(count)});
    }

    /// A bandwidth and a latency for both directions, like those of `twb calibrate`: means of the fits.
    /// Copies of one size tell only the figure that dominates them.
    void measureLink(HostMemory memory, double& gbPerSecond, double& latencyUs, const char* rateField,
                     const char* latencyField) {
        std::vector<LinkFit> fits;
        std::vector<MeasuredCopy> all;
        for (const CopyKind direction : {CopyKind::hostToDevice, CopyKind::deviceToHost}) {
            std::vector<MeasuredCopy> copies;
            double largest = 0;
            for (const GpuActivity& each : m_trace.activities) {
                if (each.kind != GpuActivity::Kind::copy || each.device != m_device ||
                    each.copy != direction || each.memory != memory || !each.bytes || *each.bytes == 0 ||
                    each.durationNs() <= 0)
                    continue;
                copies.push_back({static_cast<double>(*each.bytes), static_cast<double>(each.durationNs())});
                largest = std::max(largest, copies.back().bytes);
                m_copies.push_back({copies.back().bytes,
                                    direction == CopyKind::hostToDevice ? CopyDirection::hostToDevice
                                                                        : CopyDirection::deviceToHost,
                                    memory == HostMemory::pinned ? MemoryKind::pinned : MemoryKind::pageable,
                                    copies.back().ns});
            }
            if (copies.empty()) continue;
            all.insert(all.end(), copies.begin(), copies.end());
            const std::string what =
                fmt::format("link, {}, {}", memory == HostMemory::pinned ? "pinned" : "pageable",
                            direction == CopyKind::hostToDevice ? "host→device" : "device→host");
            const auto fit = fitLink(copies);
            if (fit) fits.push_back(*fit);
            add(what, "up to " + formatBytes(largest), fit ? fit->ns(largest) : medianTime(copies),
                fit ? fmt::format("{} + {:.1f} µs", formatRate(fit->gbPerSecond), fit->latencyNs / 1e3)
                    : "too few sizes to fit",
                copies.size());
        }
        if (fits.empty()) return;
        gbPerSecond = 0;
        latencyUs = 0;
        for (const LinkFit& fit : fits) {
            gbPerSecond += fit.gbPerSecond / static_cast<double>(fits.size());
            latencyUs += fit.latencyNs / 1e3 / static_cast<double>(fits.size());
        }
        const std::string source = fmt::format("{}: fitted to {} copies", m_source, all.size());
        m_out.profile.sources[rateField] = source;
        m_out.profile.sources[latencyField] = source + ", their time on the GPU without the call";
    }

    static double medianTime(const std::vector<MeasuredCopy>& copies) {
        std::vector<double> times;
        for (const MeasuredCopy& copy : copies) times.push_back(copy.ns);
        return medianOf(std::move(times));
    }

    /// The median rate of the large memory-bound ops.
    void measureMemory() {
        std::vector<double> rates;
        double most = 0;
        for (const KnownKernel& kernel : m_kernels)
            if (!kernel.isProduct && kernel.cost.bytes >= kLeastMemoryBytes) {
                rates.push_back(kernel.cost.bytes / static_cast<double>(kernel.ns));
                most = std::max(most, kernel.cost.bytes);
            }
        if (rates.empty()) return;
        m_out.profile.memoryGBps = medianOf(rates);
        m_out.profile.sources["memory_gb_per_s"] =
            fmt::format("{}: the median of {} elementwise ops of at least {}", m_source, rates.size(),
                        formatBytes(kLeastMemoryBytes));
        add("memory, read and written", "up to " + formatBytes(most), most / m_out.profile.memoryGBps,
            formatRate(m_out.profile.memoryGBps), rates.size());
    }

    /// The best rate of the long products, by dtype.
    void measureProducts() {
        struct Best {
            double gflops = 0;
            double ns = 0;
            std::size_t count = 0;
        };
        std::map<DType, Best> best;
        for (const KnownKernel& kernel : m_kernels) {
            const auto ns = static_cast<double>(kernel.ns);
            if (!kernel.isProduct || ns < kLeastProductNs) continue;
            Best& b = best[kernel.cost.dtype];
            ++b.count;
            if (const double gflops = kernel.cost.flops / ns; gflops > b.gflops) {
                b.gflops = gflops;
                b.ns = ns;
            }
        }
        for (const auto& [dtype, b] : best) {
            if (b.gflops <= 0) continue;
            m_out.profile.peakGflops[static_cast<std::size_t>(dtype)] = b.gflops;
            m_out.profile.sources[fmt::format("peak_tflops.{}", name(dtype))] =
                fmt::format("{}: the best of {} products and convolutions", m_source, b.count);
            add(fmt::format("product, {}", name(dtype)), "best", b.ns,
                fmt::format("{:.1f} TFLOP/s", b.gflops / 1e3), b.count);
        }
    }

    /// From the end of a kernel to the end of a tiny one after it, as `twb calibrate` measures it. The gaps
    /// are those between kernels of a stream of which the later one was launched while the earlier one ran;
    /// the longest tenth of them are dependencies between streams.
    void measureLaunches() {
        std::map<std::uint32_t, const GpuActivity*> last; // by stream
        std::vector<double> gaps;
        std::vector<double> times;
        for (const GpuActivity& activity : m_trace.activities) {
            if (activity.device != m_device) continue;
            const GpuActivity*& before = last[activity.stream];
            const RuntimeCall* call = m_trace.callOf(activity);
            if (before && call && call->endNs < before->endNs && activity.startNs >= before->endNs &&
                activity.kind == GpuActivity::Kind::kernel && before->kind == GpuActivity::Kind::kernel)
                gaps.push_back(static_cast<double>(activity.startNs - before->endNs));
            if (activity.kind == GpuActivity::Kind::kernel)
                times.push_back(static_cast<double>(activity.durationNs()));
            before = &activity;
        }
        if (gaps.size() < 10) return;
        std::sort(gaps.begin(), gaps.end());
        gaps.resize(gaps.size() * 9 / 10);
        for (const double gap : gaps) m_gapNs += gap / static_cast<double>(gaps.size());
        std::sort(times.begin(), times.end());
        const double tinyNs = times[times.size() / 20];
        const double ns = m_gapNs + tinyNs;
        if (ns <= 0) return;
        m_out.profile.launchUs = ns / 1e3;
        m_out.profile.sources["launch_us"] =
            fmt::format("{}: the mean of {} gaps between queued kernels, and the time of the shortest 5 % of "
                        "the kernels",
                        m_source, gaps.size());
        add("launch", "tiny kernel", ns, fmt::format("{:.3f} µs", ns / 1e3), gaps.size());
    }

    const KinetoTrace& m_trace;
    const DeviceProfile& m_base;
    const std::uint32_t m_device;
    const std::string m_source;
    Calibration m_out;
    std::vector<KnownKernel> m_kernels;
    std::vector<Copy> m_copies;
    double m_gapNs = 0; ///< from the end of a kernel to the start of the next, if that was queued
};

} // namespace

std::optional<LinkFit> fitLink(std::span<const MeasuredCopy> copies) {
    if (copies.empty()) return {};
    const auto [least, most] =
        std::minmax_element(copies.begin(), copies.end(),
                            [](const MeasuredCopy& a, const MeasuredCopy& b) { return a.bytes < b.bytes; });
    if (most->bytes < 8 * least->bytes) return {};
    // Minimizes the sum of ((latency + bytes * slope - ns) / ns)^2.
    double w = 0;
    double wb = 0;
    double wbb = 0;
    double wt = 0;
    double wbt = 0;
    for (const MeasuredCopy& copy : copies) {
        const double weight = 1 / (copy.ns * copy.ns);
        w += weight;
        wb += weight * copy.bytes;
        wbb += weight * copy.bytes * copy.bytes;
        wt += weight * copy.ns;
        wbt += weight * copy.bytes * copy.ns;
    }
    const double determinant = w * wbb - wb * wb;
    const double slope = (w * wbt - wb * wt) / determinant;
    const double latency = (wbb * wt - wb * wbt) / determinant;
    if (!(determinant > 0) || !(slope > 0) || !(latency > 0)) return {};
    return LinkFit{latency, 1 / slope};
}

Calibration calibrateFromTrace(const KinetoTrace& trace, const DeviceProfile& base, std::uint32_t device) {
    return TraceCalibrator(trace, base, device).run();
}

} // namespace twb
