#include "backends/cuda/cuda_profile.h"

#include <fmt/format.h>

namespace twb::cuda {
namespace {

/// Operations per multiprocessor and clock, dense, a multiply-add counted as two: CUDA C++ Programming Guide,
/// "Arithmetic Instructions", and NVIDIA's architecture white papers for the tensor cores. The link is the
/// PCIe version of the generation's cards.
struct Generation {
    int capability; ///< the first capability of the row, major × 10 + minor
    double f64;
    double f32;
    double half; ///< f16 and bf16, on tensor cores
    double i8;
    double pinnedGBps;
};
constexpr Generation kGenerations[] = {
    {75, 4, 128, 1024, 2048, 12.3},  {80, 128, 128, 2048, 4096, 24.6}, {86, 4, 256, 1024, 2048, 24.6},
    {89, 4, 256, 1024, 2048, 24.6},  {90, 256, 256, 4096, 8192, 49.2}, {100, 128, 256, 8192, 16384, 49.2},
    {120, 4, 256, 1024, 2048, 49.2},
};

double attribute(int index, cudaDeviceAttr which) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, index) != cudaSuccess) cudaGetLastError();
    return value;
}

} // namespace

DeviceProfile estimatedProfile(int index, const cudaDeviceProp& properties) {
    Generation generation = kGenerations[0];
    for (const Generation& known : kGenerations)
        if (properties.major * 10 + properties.minor >= known.capability) generation = known;
    const double clocks =
        attribute(index, cudaDevAttrClockRate) * 1e-6 * properties.multiProcessorCount; // GHz
    DeviceProfile p;
    p.id = fmt::format("cuda{}", index);
    p.name = properties.name;
    p.link = "PCIe";
    p.source = "estimate from the driver's figures, not measured; twb calibrate measures them";
    const auto peak = [&](DType dtype, double operations) {
        p.peakGflops[static_cast<std::size_t>(dtype)] = clocks * operations;
    };
    peak(DType::f64, generation.f64);
    peak(DType::f32, generation.f32);
    peak(DType::f16, generation.half);
    peak(DType::bf16, generation.half);
    peak(DType::i8, generation.i8);
    // kHz × bits, on both edges of the clock.
    p.memoryGBps = attribute(index, cudaDevAttrMemoryClockRate) * 2e-6 *
                   attribute(index, cudaDevAttrGlobalMemoryBusWidth) / 8;
    p.memoryBytes = properties.totalGlobalMem;
    p.launchUs = 2.5;
    p.linkPinnedGBps = generation.pinnedGBps;
    p.linkPageableGBps = 8;
    p.linkLatencyUs = 8;
    p.pageableLatencyUs = 12;
    return p;
}

} // namespace twb::cuda
