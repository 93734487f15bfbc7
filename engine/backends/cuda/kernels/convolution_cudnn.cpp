#include "backends/cuda/kernels/known_choices.h"
#include "backends/cuda/kernels/native_convolution.h"
#include "core/error.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <dlfcn.h>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace twb::cuda {
namespace {

// cuDNN is loaded at the first convolution, so the plugin works without it. Its functions are declared here
// as in versions 8 and 9, so its header is not needed to build.

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
/// Winograd's algorithm with its transforms in kernels of their own (WINOGRAD_NONFUSED).
constexpr int kForwardWinograd = 7;
constexpr int kGradientWinograd = 5; ///< of both gradients

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
    int (*chooseWeightGradient)(Object, Object, Object, Object, Object, int, int*, AlgorithmTime*) = nullptr;
    int (*weightGradient)(Object, const void*, Object, const void*, Object, const void*, Object, int, void*,
                          std::size_t, const void*, Object, void*) = nullptr;

    /// Null if the library is missing.
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
        load(chooseWeightGradient, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
        load(weightGradient, "cudnnConvolutionBackwardFilter");
    }
    bool m_isThere = false;
};

/// The handle of a queue; null if the library cannot create one. Like the queue's cuBLAS handle, which later
/// queues reuse, it is kept until the program ends: creating one takes long.
Object handleOf(const Library& library, Queue& queue) {
    static std::mutex mutex;
    static auto& handles = *new std::map<std::pair<int, void*>, Object>; // never destroyed
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
    const std::scoped_lock lock(mutex);
    Object& handle = handles[{device, queue.blasHandle()}];
    if (!handle && library.create(&handle) != 0) handle = nullptr;
    if (handle && library.setStream(handle, static_cast<cudaStream_t>(queue.stream())) != 0) return nullptr;
    return handle;
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

/// Sizes and strides for the library; empty if they exceed 31 bits. One spatial axis becomes two, the
/// library's minimum.
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
        // The library pads both sides equally. A rest at the end that no window reaches needs no padding.
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

/// The largest workspace of an algorithm, in bytes. Large tensors need much: the fast algorithms transform
/// them, or copy them to another layout.
std::size_t mostWorkspace() {
    constexpr std::size_t most = std::size_t{4} << 30;
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
        cudaGetLastError(); // no later call must report it
        return most / 16;
    }
    return std::min(most, total / 16);
}

/// An algorithm of the library.
struct Choice {
    int algorithm = 0;
    int mathType = 0;
    std::size_t memory = 0;
};

/// The key of the choice.
using Key = std::vector<std::int64_t>;

Key keyOf(const ConvolutionCall& call) {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) device = -1;
    Key key{device, static_cast<std::int64_t>(call.y.dtype), static_cast<std::int64_t>(call.kind),
            call.queue.allowsTf32(), call.groups};
    for (const TensorView* view : {&call.x, &call.w, &call.y}) {
        key.insert(key.end(), view->shape.dims().begin(), view->shape.dims().end());
        key.insert(key.end(), view->strides.begin(), view->strides.end());
    }
    for (const WindowAxis& axis : call.window.axes)
        key.insert(key.end(), {axis.padBegin, axis.stride, axis.dilation});
    return key;
}

/// The algorithms for each kind of call, fastest first.
KnownChoices<Key, std::vector<Choice>>& knownChoices() {
    static KnownChoices<Key, std::vector<Choice>> all;
    return all;
}

/// Device memory, or null if memory is short.
std::optional<Scratch> workspaceOf(Queue& queue, std::size_t bytes) {
    try {
        return std::optional<Scratch>(std::in_place, queue, bytes);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::outOfMemory) throw;
        return std::nullopt;
    }
}

/// A call with the library's descriptors.
class NativeConvolution {
public:
    NativeConvolution(const Library& library, const ConvolutionCall& call)
        : m_library(library), m_call(call), m_handle(handleOf(library, call.queue)),
          m_x(made(library.createTensor, library.destroyTensor)),
          m_y(made(library.createTensor, library.destroyTensor)),
          m_w(made(library.createFilter, library.destroyFilter)),
          m_convolution(made(library.createConvolution, library.destroyConvolution)) {}

    /// False if the library does not support it.
    bool describe() const {
        const std::vector<int> filter = counted(m_call.w.shape.dims(), 1);
        return m_handle && m_x && m_y && m_w && m_convolution && !filter.empty() &&
               cuda::describe(m_library, m_x, m_call.x) && cuda::describe(m_library, m_y, m_call.y) &&
               describeWindow(m_library, m_convolution, m_call) &&
               m_library.setFilter(m_w.get(), dataTypeOf(m_call.w.dtype), kRowMajorFilter,
                                   static_cast<int>(filter.size()), filter.data()) == 0;
    }

    /// The deterministic algorithms, the fastest first. The library sorts all algorithms, but says little
    /// about the rest if its first ones are not deterministic.
    std::vector<Choice> choices() const {
        std::array<AlgorithmTime, kMostAlgorithms> times{};
        int count = 0;
        const int found = choose(count, times.data());
        std::vector<Choice> out;
        if (found != 0) return out;
        const std::size_t most = mostWorkspace();
        for (int i = 0; i < count; ++i) {
            const AlgorithmTime& one = times[static_cast<std::size_t>(i)];
            if (one.status == 0 && one.memory <= most && one.determinism == kDeterministic)
                out.push_back({one.algorithm, one.mathType, one.memory});
        }
        if (m_call.y.dtype == DType::f32 && !m_call.queue.allowsTf32() && suitsWinograd())
            std::stable_partition(out.begin(), out.end(),
                                  [best = isForward() ? kForwardWinograd : kGradientWinograd](
                                      const Choice& choice) { return choice.algorithm == best; });
        return out;
    }

    bool run(const Choice& choice) const {
        const bool mayRound = isHalfWidth(m_call.y.dtype) || m_call.queue.allowsTf32();
        if (mayRound && m_library.setMathType(m_convolution.get(), choice.mathType) != 0) return false;
        const std::optional<Scratch> workspace = workspaceOf(m_call.queue, choice.memory);
        if (!workspace) return false;
        return launch(choice, workspace->data(), Factors(m_call.y.dtype)) == 0;
    }

private:
    /// 1 and 0 in the library's scalar type.
    struct Factors {
        explicit Factors(DType dtype) {
            static constexpr float floats[]{1, 0};
            static constexpr double doubles[]{1, 0};
            one = dtype == DType::f64 ? static_cast<const void*>(&doubles[0]) : &floats[0];
            none = dtype == DType::f64 ? static_cast<const void*>(&doubles[1]) : &floats[1];
        }
        const void* one;
        const void* none;
    };

    bool isForward() const { return m_call.kind == ConvolutionKind::forward; }

    /// On an H100, both gradients took 0.23 to 1.0 of the time with Winograd's algorithm, compared with the
    /// library's first deterministic one. The forward pass took 1.07 and more of it with 64 channels or less,
    /// 0.6 with 512, and 0.21 with 256 and large images. A gradient of the input that sums few products is
    /// exact or nearly so, and the error of the transforms would be visible: 9e-6 instead of 0 for two
    /// channels and small integers.
    bool suitsWinograd() const {
        const std::int64_t channels = std::min(m_call.w.shape[0], m_call.w.shape[1]);
        switch (m_call.kind) {
        case ConvolutionKind::forward:
            return channels >= 128;
        case ConvolutionKind::transposed:
            return channels >= 16;
        case ConvolutionKind::weightGradient:
            break;
        }
        return true;
    }

    int choose(int& count, AlgorithmTime* times) const {
        const auto from = [&](auto function, const Descriptor& a, const Descriptor& b, const Descriptor& to) {
            return function(m_handle, a.get(), b.get(), m_convolution.get(), to.get(), kMostAlgorithms,
                            &count, times);
        };
        switch (m_call.kind) {
        case ConvolutionKind::transposed: // the filter comes before the input
            return from(m_library.chooseTransposed, m_w, m_x, m_y);
        case ConvolutionKind::weightGradient:
            return from(m_library.chooseWeightGradient, m_x, m_y, m_w);
        case ConvolutionKind::forward:
            break;
        }
        return from(m_library.chooseAlgorithm, m_x, m_w, m_y);
    }

    int launch(const Choice& choice, void* workspace, const Factors& factors) const {
        const auto from = [&](auto function, const Descriptor& a, const TensorView& left, const Descriptor& b,
                              const TensorView& right, const Descriptor& to, const TensorView& result) {
            return function(m_handle, factors.one, a.get(), left.data, b.get(), right.data,
                            m_convolution.get(), choice.algorithm, workspace, choice.memory, factors.none,
                            to.get(), result.data);
        };
        const auto& [x, w, y] = std::tie(m_call.x, m_call.w, m_call.y);
        switch (m_call.kind) {
        case ConvolutionKind::transposed:
            return from(m_library.convolveTransposed, m_w, w, m_x, x, m_y, y);
        case ConvolutionKind::weightGradient:
            return from(m_library.weightGradient, m_x, x, m_y, y, m_w, w);
        case ConvolutionKind::forward:
            break;
        }
        return from(m_library.convolve, m_x, x, m_w, w, m_y, y);
    }

    const Library& m_library;
    const ConvolutionCall& m_call;
    const Object m_handle;
    const Descriptor m_x, m_y, m_w, m_convolution;
};

} // namespace

bool convolveNatively(const ConvolutionCall& call) {
    const Library* const library = Library::get();
    if (!library || call.window.axes.empty() || call.window.axes.size() > 3) return false;
    const NativeConvolution native(*library, call);
    if (!native.describe()) return false;
    const Key key = keyOf(call);
    std::optional<std::vector<Choice>> choices = knownChoices().find(key);
    if (!choices) {
        choices = native.choices();
        knownChoices().keep(key, *choices);
    }
    return std::any_of(choices->begin(), choices->end(),
                       [&](const Choice& choice) { return native.run(choice); });
}

} // namespace twb::cuda
