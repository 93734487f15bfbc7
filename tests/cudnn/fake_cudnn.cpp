#include "cudnn/fake_cudnn.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// A library loaded in cuDNN's place: the functions that the backend calls, implemented as loops over host
// memory. As in cuDNN, inconsistent sizes are errors.

namespace {

constexpr int kSuccess = 0;
constexpr int kBadParam = 2000;
constexpr int kFloat = 0;
constexpr int kDouble = 1;
/// The first algorithm offered is nondeterministic: its results reveal if it is used.
constexpr int kAnyOrder = 0;
constexpr int kInOrder = 1;
constexpr int kWithoutMemory = 2;
constexpr int kWinograd = 7; ///< of the forward pass
constexpr int kWinogradOfGradients = 5;
constexpr std::size_t kMemory = 64;

struct Tensor {
    int type = -1;
    std::vector<int> sizes, strides;
};

struct Window {
    std::vector<int> pads, strides, dilations;
    int groups = 1;
};

struct AlgorithmTime {
    int algorithm;
    int status;
    float time;
    std::size_t memory;
    int determinism;
    int mathType;
    std::array<int, 3> reserved;
};

twb::test::fake::CudnnCounts counts;

template <class T> int make(void** object) {
    *object = new T;
    return kSuccess;
}
template <class T> int drop(void* object) {
    delete static_cast<T*>(object);
    return kSuccess;
}

/// Whether y has the shape of the convolution of x by w.
bool fits(const Tensor& x, const Tensor& w, const Window& window, const Tensor& y) {
    const std::size_t rank = x.sizes.size();
    if (w.sizes.size() != rank || y.sizes.size() != rank || window.pads.size() + 2 != rank) return false;
    if (x.type != y.type || x.type != w.type || (x.type != kFloat && x.type != kDouble)) return false;
    if (x.sizes[0] != y.sizes[0] || w.sizes[1] * window.groups != x.sizes[1] || w.sizes[0] != y.sizes[1] ||
        w.sizes[0] % window.groups != 0)
        return false;
    for (std::size_t a = 0; a + 2 < rank; ++a) {
        const int reach = (w.sizes[a + 2] - 1) * window.dilations[a] + 1;
        const int room = x.sizes[a + 2] + 2 * window.pads[a] - reach;
        if (room < 0 || room / window.strides[a] + 1 != y.sizes[a + 2]) return false;
    }
    return true;
}

/// Calls f for every index of `sizes` from axis `first` on.
template <class F> void forEachIndex(const std::vector<int>& sizes, std::size_t first, const F& f) {
    std::vector<int> index(sizes.size(), 0);
    for (std::size_t axis = first; axis < sizes.size(); ++axis)
        if (sizes[axis] == 0) return;
    for (;;) {
        f(index);
        std::size_t axis = sizes.size();
        while (axis > first && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
        if (axis == first) return;
    }
}

std::int64_t offset(const Tensor& tensor, const std::vector<int>& index) {
    std::int64_t at = 0;
    for (std::size_t a = 0; a < index.size(); ++a) at += std::int64_t{index[a]} * tensor.strides[a];
    return at;
}

/// Calls f(index in x, index in w, index in y) for every product in the sums of a convolution.
template <class F>
void forEachProduct(const Tensor& x, const Tensor& w, const Window& window, const Tensor& y, const F& f) {
    const int ofGroup = w.sizes[0] / window.groups;
    forEachIndex(y.sizes, 0, [&](const std::vector<int>& out) {
        const int group = out[1] / ofGroup;
        std::vector<int> taps = w.sizes;
        taps[0] = 1;
        forEachIndex(taps, 1, [&](std::vector<int> tap) {
            std::vector<int> in = out;
            in[1] = group * w.sizes[1] + tap[1];
            for (std::size_t a = 2; a < in.size(); ++a) {
                in[a] =
                    out[a] * window.strides[a - 2] - window.pads[a - 2] + tap[a] * window.dilations[a - 2];
                if (in[a] < 0 || in[a] >= x.sizes[a]) return;
            }
            tap[0] = out[1];
            f(offset(x, in), offset(w, tap), offset(y, out));
        });
    });
}

template <class T> void clear(const Tensor& tensor, T* data) {
    forEachIndex(tensor.sizes, 0, [&](const std::vector<int>& index) { data[offset(tensor, index)] = 0; });
}

template <class F> int withType(int type, const F& f) {
    if (type == kFloat)
        f(float{});
    else
        f(double{});
    return kSuccess;
}

bool hasMemory(int algorithm, const void* memory, std::size_t bytes) {
    counts.withoutMemory += algorithm == kWithoutMemory ? 1 : 0;
    counts.winograd += algorithm >= kWinogradOfGradients ? 1 : 0;
    return algorithm == kWithoutMemory || (memory && bytes >= kMemory);
}

/// alpha is 1 and beta 0, in the scalar type of the data.
bool isPlain(int type, const void* alpha, const void* beta) {
    if (type == kDouble)
        return *static_cast<const double*>(alpha) == 1 && *static_cast<const double*>(beta) == 0;
    return *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
}

int offer(int wanted, int* count, AlgorithmTime* times, int winograd) {
    ++counts.asked;
    const std::array all{kAnyOrder, kInOrder, kWithoutMemory, winograd};
    *count = 0;
    for (const int algorithm : all)
        if (*count < wanted)
            times[(*count)++] = {algorithm,
                                 kSuccess,
                                 1,
                                 algorithm == kWithoutMemory ? 0 : kMemory,
                                 algorithm == kAnyOrder ? 0 : 1,
                                 0,
                                 {}};
    return kSuccess;
}

} // namespace

twb::test::fake::CudnnCounts twb::test::fake::cudnnCounts() { return counts; }

extern "C" {

int cudnnCreate(void** handle) { return make<int>(handle); }
int cudnnSetStream(void*, void*) { return kSuccess; }
int cudnnCreateTensorDescriptor(void** tensor) { return make<Tensor>(tensor); }
int cudnnDestroyTensorDescriptor(void* tensor) { return drop<Tensor>(tensor); }
int cudnnSetTensorNdDescriptor(void* tensor, int type, int rank, const int* sizes, const int* strides) {
    for (int i = 0; i < rank; ++i)
        if (sizes[i] < 1) return kBadParam;
    *static_cast<Tensor*>(tensor) = {type, {sizes, sizes + rank}, {strides, strides + rank}};
    return rank < 4 ? kBadParam : kSuccess;
}
int cudnnCreateFilterDescriptor(void** filter) { return make<Tensor>(filter); }
int cudnnDestroyFilterDescriptor(void* filter) { return drop<Tensor>(filter); }
int cudnnSetFilterNdDescriptor(void* filter, int type, int, int rank, const int* sizes) {
    Tensor made{type, {sizes, sizes + rank}, std::vector<int>(static_cast<std::size_t>(rank), 1)};
    for (std::size_t a = made.sizes.size() - 1; a > 0; --a)
        made.strides[a - 1] = made.strides[a] * made.sizes[a];
    *static_cast<Tensor*>(filter) = made;
    return kSuccess;
}
int cudnnCreateConvolutionDescriptor(void** window) { return make<Window>(window); }
int cudnnDestroyConvolutionDescriptor(void* window) { return drop<Window>(window); }
int cudnnSetConvolutionNdDescriptor(void* window, int rank, const int* pads, const int* strides,
                                    const int* dilations, int, int) {
    *static_cast<Window*>(window) = {
        {pads, pads + rank}, {strides, strides + rank}, {dilations, dilations + rank}};
    return kSuccess;
}
int cudnnSetConvolutionGroupCount(void* window, int groups) {
    static_cast<Window*>(window)->groups = groups;
    return kSuccess;
}
int cudnnSetConvolutionMathType(void*, int) { return kSuccess; }

int cudnnGetConvolutionForwardAlgorithm_v7(void*, void*, void*, void*, void*, int wanted, int* count,
                                           AlgorithmTime* times) {
    return offer(wanted, count, times, kWinograd);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void*, void*, void*, void*, void*, int wanted, int* count,
                                                AlgorithmTime* times) {
    return offer(wanted, count, times, kWinogradOfGradients);
}

int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void*, void*, void*, void*, void*, int wanted, int* count,
                                                  AlgorithmTime* times) {
    return offer(wanted, count, times, kWinogradOfGradients);
}

int cudnnConvolutionForward(void*, const void* alpha, void* xOf, const void* x, void* wOf, const void* w,
                            void* window, int algorithm, void* memory, std::size_t bytes, const void* beta,
                            void* yOf, void* y) {
    const Tensor& in = *static_cast<Tensor*>(xOf);
    const Tensor& filter = *static_cast<Tensor*>(wOf);
    const Tensor& out = *static_cast<Tensor*>(yOf);
    const Window& slid = *static_cast<Window*>(window);
    if (!fits(in, filter, slid, out) || !isPlain(in.type, alpha, beta) ||
        !hasMemory(algorithm, memory, bytes))
        return kBadParam;
    ++counts.forward;
    return withType(in.type, [&](auto zero) {
        using T = decltype(zero);
        clear(out, static_cast<T*>(y));
        forEachProduct(in, filter, slid, out, [&](std::int64_t a, std::int64_t b, std::int64_t c) {
            static_cast<T*>(y)[c] += static_cast<const T*>(x)[a] * static_cast<const T*>(w)[b];
        });
        if (algorithm == kAnyOrder) static_cast<T*>(y)[0] += 1;
    });
}

int cudnnConvolutionBackwardData(void*, const void* alpha, void* wOf, const void* w, void* dyOf,
                                 const void* dy, void* window, int algorithm, void* memory, std::size_t bytes,
                                 const void* beta, void* dxOf, void* dx) {
    const Tensor& in = *static_cast<Tensor*>(dxOf);
    const Tensor& filter = *static_cast<Tensor*>(wOf);
    const Tensor& out = *static_cast<Tensor*>(dyOf);
    const Window& slid = *static_cast<Window*>(window);
    if (!fits(in, filter, slid, out) || !isPlain(in.type, alpha, beta) ||
        !hasMemory(algorithm, memory, bytes))
        return kBadParam;
    ++counts.transposed;
    return withType(in.type, [&](auto zero) {
        using T = decltype(zero);
        clear(in, static_cast<T*>(dx));
        forEachProduct(in, filter, slid, out, [&](std::int64_t a, std::int64_t b, std::int64_t c) {
            static_cast<T*>(dx)[a] += static_cast<const T*>(dy)[c] * static_cast<const T*>(w)[b];
        });
        if (algorithm == kAnyOrder) static_cast<T*>(dx)[0] += 1;
    });
}

int cudnnConvolutionBackwardFilter(void*, const void* alpha, void* xOf, const void* x, void* dyOf,
                                   const void* dy, void* window, int algorithm, void* memory,
                                   std::size_t bytes, const void* beta, void* dwOf, void* dw) {
    const Tensor& in = *static_cast<Tensor*>(xOf);
    const Tensor& filter = *static_cast<Tensor*>(dwOf);
    const Tensor& out = *static_cast<Tensor*>(dyOf);
    const Window& slid = *static_cast<Window*>(window);
    if (!fits(in, filter, slid, out) || !isPlain(in.type, alpha, beta) ||
        !hasMemory(algorithm, memory, bytes))
        return kBadParam;
    ++counts.weightGradients;
    return withType(in.type, [&](auto zero) {
        using T = decltype(zero);
        clear(filter, static_cast<T*>(dw));
        forEachProduct(in, filter, slid, out, [&](std::int64_t a, std::int64_t b, std::int64_t c) {
            static_cast<T*>(dw)[b] += static_cast<const T*>(dy)[c] * static_cast<const T*>(x)[a];
        });
        if (algorithm == kAnyOrder) static_cast<T*>(dw)[0] += 1;
    });
}

} // extern "C"
