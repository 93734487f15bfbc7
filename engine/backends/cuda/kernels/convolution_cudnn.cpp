#include "backends/cuda/kernels/native_convolution.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <dlfcn.h>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace twb::cuda {
namespace {

// cuDNN is looked for when the first convolution runs: the plugin loads and runs without it. So its functions
// are declared here as the library has them in versions 8 and 9, and its header is not needed to build.

using Object = void*;

struct AlgorithmTime {
    int algorithm;
    int status;
    float time;
    std::size_t memory;
    int determinism;
    int mathType;
    std::array<int, 3> reserved;
};

enum DataType { kFloat = 0, kDouble = 1, kHalf = 2, kBFloat16 = 9 };
enum MathType { kDefaultMath = 0, kTensorOpMath = 1, kFmaMath = 3 };
constexpr int kRowMajorFilter = 0;
constexpr int kCrossCorrelation = 1;
constexpr int kMostAlgorithms = 8;
constexpr int kDeterministic = 1;

class Library {
public:
    int (*create)(Object*) = nullptr;
    int (*setStream)(Object, cudaStream_t) = nullptr;
    int (*createTensor)(Object*) = nullptr;
    int (*setTensor)(Object, int, int, const int*, const int*) = nullptr;
    int (*destroyTensor)(Object) = nullptr;
    int (*createFilter)(Object*) = nullptr;
    int (*setFilter)(Object, int, int, int, const int*) = nullptr;
    int (*destroyFilter)(Object) = nullptr;
    int (*createConvolution)(Object*) = nullptr;
    int (*setConvolution)(Object, int, const int*, const int*, const int*, int, int) = nullptr;
    int (*setGroups)(Object, int) = nullptr;
    int (*setMathType)(Object, int) = nullptr;
    int (*destroyConvolution)(Object) = nullptr;
    int (*chooseAlgorithm)(Object, Object, Object, Object, Object, int, int*, AlgorithmTime*) = nullptr;
    int (*convolve)(Object, const void*, Object, const void*, Object, const void*, Object, int, void*,
                    std::size_t, const void*, Object, void*) = nullptr;
    int (*chooseTransposed)(Object, Object, Object, Object, Object, int, int*, AlgorithmTime*) = nullptr;
    int (*convolveTransposed)(Object, const void*, Object, const void*, Object, const void*, Object, int,
                              void*, std::size_t, const void*, Object, void*) = nullptr;
    int (*addTensor)(Object, const void*, Object, const void*, const void*, Object, void*) = nullptr;

    /// Null where there is none.
    static const Library* get() {
        static const Library library;
        return library.m_isThere ? &library : nullptr;
    }

private:
    Library() {
        void* file = nullptr;
        for (const char* name : {"libcudnn.so.9", "libcudnn.so.8"})
            if (!file) file = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!file) return;
        m_isThere = true;
        const auto load = [&](auto& function, const char* name) {
            void* const found = ::dlsym(file, name);
            if (!found) m_isThere = false;
            function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
        };
        load(create, "cudnnCreate");
        load(setStream, "cudnnSetStream");
        load(createTensor, "cudnnCreateTensorDescriptor");
        load(setTensor, "cudnnSetTensorNdDescriptor");
        load(destroyTensor, "cudnnDestroyTensorDescriptor");
        load(createFilter, "cudnnCreateFilterDescriptor");
        load(setFilter, "cudnnSetFilterNdDescriptor");
        load(destroyFilter, "cudnnDestroyFilterDescriptor");
        load(createConvolution, "cudnnCreateConvolutionDescriptor");
        load(setConvolution, "cudnnSetConvolutionNdDescriptor");
        load(setGroups, "cudnnSetConvolutionGroupCount");
        load(setMathType, "cudnnSetConvolutionMathType");
        load(destroyConvolution, "cudnnDestroyConvolutionDescriptor");
        load(chooseAlgorithm, "cudnnGetConvolutionForwardAlgorithm_v7");
        load(convolve, "cudnnConvolutionForward");
        load(chooseTransposed, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
        load(convolveTransposed, "cudnnConvolutionBackwardData");
        load(addTensor, "cudnnAddTensor");
    }
    bool m_isThere = false;
};

/// The handle of a stream, made once; null where the library cannot make one.
Object handleOf(const Library& library, void* stream) {
    static std::mutex mutex;
    static std::map<std::pair<int, void*>, Object> handles;
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
    const std::scoped_lock lock(mutex);
    const auto [at, isNew] = handles.try_emplace({device, stream}, nullptr);
    if (isNew && library.create(&at->second) != 0) at->second = nullptr;
    if (at->second && library.setStream(at->second, static_cast<cudaStream_t>(stream)) != 0) return nullptr;
    return at->second;
}

using Descriptor = std::unique_ptr<void, int (*)(Object)>;

Descriptor made(int (*create)(Object*), int (*destroy)(Object)) {
    Object object = nullptr;
    if (create(&object) != 0) object = nullptr;
    return Descriptor(object, destroy);
}

int dataTypeOf(DType dtype) {
    switch (dtype) {
    case DType::f64:
        return kDouble;
    case DType::f16:
        return kHalf;
    case DType::bf16:
        return kBFloat16;
    default:
        return kFloat;
    }
}

/// Sizes and strides as the library counts them; empty when they are beyond 31 bits. One spatial axis becomes
/// two, of which the library has two at least.
std::vector<int> counted(const std::vector<std::int64_t>& numbers, std::int64_t inserted) {
    std::vector<int> out;
    for (std::int64_t number : numbers) {
        if (number < 0 || number > std::numeric_limits<int>::max()) return {};
        out.push_back(static_cast<int>(number));
    }
    if (out.size() == 3) out.insert(out.begin() + 2, static_cast<int>(inserted));
    return out;
}

bool describe(const Library& library, const Descriptor& tensor, const TensorView& view) {
    const std::vector<int> sizes = counted(view.shape.dims(), 1);
    const std::vector<int> strides =
        counted(view.strides, view.strides.size() > 2 ? view.strides[2] * view.shape[2] : 1);
    return !sizes.empty() && !strides.empty() &&
           library.setTensor(tensor.get(), dataTypeOf(view.dtype), static_cast<int>(sizes.size()),
                             sizes.data(), strides.data()) == 0;
}

bool describeWindow(const Library& library, const Descriptor& convolution, const ConvolutionCall& call) {
    std::vector<int> pads;
    std::vector<int> strides;
    std::vector<int> dilations;
    if (call.window.axes.size() == 1) {
        pads.push_back(0);
        strides.push_back(1);
        dilations.push_back(1);
    }
    for (const WindowAxis& axis : call.window.axes) {
        // The library pads alike on both sides; what a window leaves over at the end needs no padding.
        const std::int64_t covered = axis.start(axis.out - 1) + axis.reach();
        if (covered > axis.in + axis.padBegin) return false;
        if ((axis.in + 2 * axis.padBegin - axis.reach()) / axis.stride + 1 != axis.out) return false;
        pads.push_back(static_cast<int>(axis.padBegin));
        strides.push_back(static_cast<int>(axis.stride));
        dilations.push_back(static_cast<int>(axis.dilation));
    }
    const bool isDouble = call.y.dtype == DType::f64;
    const int math = isHalfWidth(call.y.dtype)                               ? kTensorOpMath
                     : call.y.dtype == DType::f32 && call.queue.allowsTf32() ? kDefaultMath
                                                                             : kFmaMath;
    return library.setConvolution(convolution.get(), static_cast<int>(pads.size()), pads.data(),
                                  strides.data(), dilations.data(), kCrossCorrelation,
                                  isDouble ? kDouble : kFloat) == 0 &&
           library.setGroups(convolution.get(), static_cast<int>(call.groups)) == 0 &&
           library.setMathType(convolution.get(), math) == 0;
}

constexpr std::size_t kMostWorkspace = std::size_t{256} << 20;

} // namespace

bool convolveNatively(const ConvolutionCall& call) {
    const Library* const library = Library::get();
    if (!library || call.window.axes.empty() || call.window.axes.size() > 3) return false;
    if (call.bias.data && call.bias.shape[0] > 1 && call.bias.strides[0] != 1) return false;
    const Object handle = handleOf(*library, call.queue.stream());
    const Descriptor x = made(library->createTensor, library->destroyTensor);
    const Descriptor y = made(library->createTensor, library->destroyTensor);
    const Descriptor w = made(library->createFilter, library->destroyFilter);
    const Descriptor convolution = made(library->createConvolution, library->destroyConvolution);
    const std::vector<int> filter = counted(call.w.shape.dims(), 1);
    if (!handle || !x || !y || !w || !convolution || filter.empty()) return false;
    if (!describe(*library, x, call.x) || !describe(*library, y, call.y) ||
        !describeWindow(*library, convolution, call) ||
        library->setFilter(w.get(), dataTypeOf(call.w.dtype), kRowMajorFilter,
                           static_cast<int>(filter.size()), filter.data()) != 0)
        return false;
    std::array<AlgorithmTime, kMostAlgorithms> times{};
    int count = 0;
    // The way back of a convolution: its filter comes before what it reads.
    const int found = call.isTransposed
                          ? library->chooseTransposed(handle, w.get(), x.get(), convolution.get(), y.get(),
                                                      kMostAlgorithms, &count, times.data())
                          : library->chooseAlgorithm(handle, x.get(), w.get(), convolution.get(), y.get(),
                                                     kMostAlgorithms, &count, times.data());
    if (found != 0) return false;
    const float alpha = 1;
    const float beta = 0;
    const double wideAlpha = 1;
    const double wideBeta = 0;
    const bool isDouble = call.y.dtype == DType::f64;
    const void* const one = isDouble ? static_cast<const void*>(&wideAlpha) : &alpha;
    const void* const none = isDouble ? static_cast<const void*>(&wideBeta) : &beta;
    for (int i = 0; i < count; ++i) {
        const AlgorithmTime& choice = times[static_cast<std::size_t>(i)];
        if (choice.status != 0 || choice.memory > kMostWorkspace || choice.determinism != kDeterministic)
            continue;
        if (isHalfWidth(call.y.dtype) && library->setMathType(convolution.get(), choice.mathType) != 0)
            continue;
        const Scratch workspace(call.queue, choice.memory);
        const int done =
            call.isTransposed
                ? library->convolveTransposed(handle, one, w.get(), call.w.data, x.get(), call.x.data,
                                              convolution.get(), choice.algorithm, workspace.data(),
                                              choice.memory, none, y.get(), call.y.data)
                : library->convolve(handle, one, x.get(), call.x.data, w.get(), call.w.data,
                                    convolution.get(), choice.algorithm, workspace.data(), choice.memory,
                                    none, y.get(), call.y.data);
        if (done != 0) continue;
        if (!call.bias.data) return true;
        TensorView bias = call.bias;
        std::vector<std::int64_t> sizes(static_cast<std::size_t>(call.y.shape.rank()), 1);
        sizes[1] = call.y.shape[1];
        bias.shape = Shape(std::move(sizes));
        bias.strides = denseStrides(bias.shape);
        const Descriptor b = made(library->createTensor, library->destroyTensor);
        return b && describe(*library, b, bias) &&
               library->addTensor(handle, one, b.get(), call.bias.data, one, y.get(), call.y.data) == 0;
    }
    return false;
}

} // namespace twb::cuda
