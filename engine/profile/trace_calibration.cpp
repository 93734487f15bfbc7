#include "profile/trace_calibration.h"

#include "core/error.h"
#include "core/format.h"
#include "profile/kineto_costs.h"
#include "profile/measured_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

namespace twb {
namespace {

/// A product must take this long for its rate to be that of the arithmetic.
constexpr double kLeastProductNs = 50e3;
/// An elementwise op must move this much for its rate to be that of the memory, not of a cache.
constexpr double kLeastMemoryBytes = 64e6;

double medianOf(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// A value and its weight.
using Weighted = std::pair<double, double>;

double medianOf(std::vector<Weighted> values) {
    std::sort(values.begin(), values.end());
    double half = 0;
    for (const auto& [value, weight] : values) half += weight / 2;
    for (const auto& [value, weight] : values)
        if ((half -= weight) <= 0) return value;
    return values.back().first;
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
            source = fmt::format("not in the trace; value of {}: {}", m_base.name, source);
        if (const std::string name = m_trace.deviceName(m_device); !name.empty()) p.name = name;
        p.id = profileId(p.name, "traced");
        p.source = fmt::format("{}; other figures from {}", m_source, m_base.name);
        if (const TraceDevice* each = m_trace.find(m_device); each && each->memoryBytes > 0) {
            p.memoryBytes = each->memoryBytes;
            p.sources["memory_bytes"] = m_source;
        }
        m_kernels = knownKernels(m_trace);
        std::erase_if(m_kernels, [this](const KnownKernel& kernel) { return kernel.device != m_device; });
        measureLink(HostMemory::pinned, p.linkPinnedGBps, p.linkLatencyUs, "link_pinned_gb_per_s",
                    "link_latency_us");
        measureLink(HostMemory::pageable, p.linkPageableGBps, p.pageableLatencyUs, "link_pageable_gb_per_s",
                    "pageable_latency_us");
        measureGaps();
        fitKernels();
        p.copyError = errorOf(
            m_copies, [&p](const Copy& copy) { return p.copyNs(copy.bytes, copy.direction, copy.kind); });
        addKernelError();
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
        if (fits.empty()) return takeOneFigure(all, gbPerSecond, latencyUs, rateField, latencyField);
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

    /// From copies of about one size: the latency if most of their time is latency by the base's figures,
    /// else the bandwidth.
    void takeOneFigure(const std::vector<MeasuredCopy>& copies, double& gbPerSecond, double& latencyUs,
                       const char* rateField, const char* latencyField) {
        std::vector<double> latencies;
        std::vector<double> rates;
        for (const MeasuredCopy& copy : copies) {
            const double moveNs = copy.bytes / gbPerSecond;
            const double restNs = copy.ns - latencyUs * 1e3;
            if (moveNs < latencyUs * 1e3 && copy.ns > moveNs) latencies.push_back(copy.ns - moveNs);
            if (moveNs > latencyUs * 1e3 && restNs > 0) rates.push_back(copy.bytes / restNs);
        }
        const auto source = [this](std::size_t count, const char* size) {
            return fmt::format("{}: the median of {} {} copies", m_source, count, size);
        };
        if (latencies.size() > rates.size()) {
            latencyUs = medianOf(latencies) / 1e3;
            m_out.profile.sources[latencyField] =
                source(latencies.size(), "small") + ", their time on the GPU without the call";
        } else if (!rates.empty()) {
            gbPerSecond = medianOf(rates);
            m_out.profile.sources[rateField] = source(rates.size(), "large");
        }
    }

    static double medianTime(const std::vector<MeasuredCopy>& copies) {
        std::vector<double> times;
        for (const MeasuredCopy& copy : copies) times.push_back(copy.ns);
        return medianOf(std::move(times));
    }

    /// The gaps between kernels of a stream of which the later one was launched while the earlier one ran;
    /// the longest tenth of them are dependencies between streams.
    void measureGaps() {
        std::map<std::uint32_t, const GpuActivity*> last; // by stream
        std::vector<double> gaps;
        for (const GpuActivity& activity : m_trace.activities) {
            if (activity.device != m_device) continue;
            const GpuActivity*& before = last[activity.stream];
            const RuntimeCall* call = m_trace.callOf(activity);
            if (before && call && call->endNs < before->endNs && activity.startNs >= before->endNs &&
                activity.kind == GpuActivity::Kind::kernel && before->kind == GpuActivity::Kind::kernel)
                gaps.push_back(static_cast<double>(activity.startNs - before->endNs));
            before = &activity;
        }
        if (gaps.size() < 10) return;
        std::sort(gaps.begin(), gaps.end());
        gaps.resize(gaps.size() * 9 / 10);
        m_gaps = gaps.size();
        for (const double gap : gaps) m_gapNs += gap / static_cast<double>(gaps.size());
    }

    /// Fits the time of the known kernels: a fixed time, and that of the arithmetic or of the memory. Each
    /// figure is a median given the others, so that a few odd kernels do not matter; products count by their
    /// arithmetic, so that the long ones decide.
    void fitKernels() {
        if (m_kernels.empty()) {
            setLaunch(shortKernelNs(), "the time of the shortest 5 % of the kernels");
            return;
        }
        DeviceProfile& p = m_out.profile;
        double fixedNs = 0;
        std::map<DType, std::vector<Weighted>> products; // ns per flop
        std::vector<double> rates;
        constexpr int kMostRounds = 100;
        double before = std::numeric_limits<double>::infinity();
        for (int round = 0; round < kMostRounds && std::abs(fixedNs - before) > 1; ++round) {
            before = fixedNs;
            p.launchUs = 0;
            std::vector<double> rest;
            for (const KnownKernel& kernel : m_kernels)
                rest.push_back(static_cast<double>(kernel.ns) - p.kernelNs(kernel.cost));
            fixedNs = std::max(medianOf(std::move(rest)), 0.0);
            rates.clear();
            products.clear();
            for (const KnownKernel& kernel : m_kernels) {
                const double ns = static_cast<double>(kernel.ns) - fixedNs;
                if (!kernel.isProduct && kernel.cost.bytes >= kLeastMemoryBytes && ns > 0)
                    rates.push_back(kernel.cost.bytes / ns);
                if (kernel.isProduct && isArithmetic(kernel.cost) && ns >= kLeastProductNs)
                    products[kernel.cost.dtype].emplace_back(ns / kernel.cost.flops, kernel.cost.flops);
            }
            if (!rates.empty()) p.memoryGBps = medianOf(rates);
            for (const auto& [dtype, times] : products)
                p.peakGflops[static_cast<std::size_t>(dtype)] = 1 / medianOf(times);
        }
        if (!rates.empty()) {
            p.sources["memory_gb_per_s"] =
                fmt::format("{}: the median of {} elementwise ops of at least {}", m_source, rates.size(),
                            formatBytes(kLeastMemoryBytes));
            add("memory, read and written", "at least " + formatBytes(kLeastMemoryBytes),
                kLeastMemoryBytes / p.memoryGBps, formatRate(p.memoryGBps), rates.size());
        }
        for (const auto& [dtype, times] : products) {
            const double gflops = p.peakGflops[static_cast<std::size_t>(dtype)];
            p.sources[fmt::format("peak_tflops.{}", name(dtype))] =
                fmt::format("{}: the median rate of {} matrix products and convolutions, from their FLOPs",
                            m_source, times.size());
            add(fmt::format("product, {}", name(dtype)), "1 GFLOP", 1e9 / gflops,
                fmt::format("{:.1f} TFLOP/s", gflops / 1e3), times.size());
        }
        setLaunch(
            fixedNs,
            fmt::format("the median over {} kernels of the time that their FLOPs and bytes do not explain",
                        m_kernels.size()));
    }

    /// Whether the arithmetic, not the memory, takes the time of an op on the base.
    bool isArithmetic(const Cost& cost) const {
        return m_base.kernelNs({cost.flops, 0, cost.dtype}) > m_base.kernelNs({0, cost.bytes, cost.dtype});
    }

    double shortKernelNs() const {
        std::vector<double> times;
        for (const GpuActivity& activity : m_trace.activities)
            if (activity.device == m_device && activity.kind == GpuActivity::Kind::kernel)
                times.push_back(static_cast<double>(activity.durationNs()));
        std::sort(times.begin(), times.end());
        return times.empty() ? 0 : times[times.size() / 20];
    }

    /// The launch time is a gap and the fixed time of a kernel, as `twb calibrate` measures it.
    void setLaunch(double fixedNs, const std::string& source) {
        DeviceProfile& p = m_out.profile;
        const double ns = m_gapNs + fixedNs;
        p.launchUs = ns > 0 ? ns / 1e3 : m_base.launchUs;
        if (ns <= 0) return;
        p.sources["launch_us"] =
            m_gaps > 0 ? fmt::format("{}: the mean of {} gaps between queued kernels, and {}", m_source,
                                     m_gaps, source)
                       : fmt::format("{}: {}; the trace does not have the gaps between queued kernels",
                                     m_source, source);
        add("launch", "tiny kernel", ns, fmt::format("{:.3f} µs", ns / 1e3),
            m_kernels.empty() ? m_gaps : m_kernels.size());
    }

    void addKernelError() {
        const DeviceProfile& p = m_out.profile;
        double allNs = 0;
        double modelledNs = 0;
        double wrongNs = 0;
        for (KnownKernel& kernel : m_kernels) {
            kernel.ns += std::llround(m_gapNs);
            const double predicted = p.kernelNs(kernel.cost);
            allNs += static_cast<double>(kernel.ns);
            modelledNs += predicted;
            wrongNs += std::abs(predicted - static_cast<double>(kernel.ns));
        }
        m_out.profile.kernelError =
            errorOf(m_kernels, [&p](const KnownKernel& kernel) { return p.kernelNs(kernel.cost); });
        if (allNs > 0)
            add("known kernels together", "modelled " + formatMs(modelledNs), allNs,
                fmt::format("error {:.0f} %", 100 * wrongNs / allNs), m_kernels.size());
    }

    const KinetoTrace& m_trace;
    const DeviceProfile& m_base;
    const std::uint32_t m_device;
    const std::string m_source;
    Calibration m_out;
    std::vector<KnownKernel> m_kernels;
    std::vector<Copy> m_copies;
    double m_gapNs = 0; ///< from the end of a kernel to the start of the next, if that was queued
    std::size_t m_gaps = 0;
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
