#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_context.h"
#include "backends/cpu/strided.h"

#include <bit>

namespace twb::onednn {
namespace {

memory::desc vectorOf(std::int64_t count) { return {{count}, memory::data_type::f32, memory::format_tag::a}; }

/// The primitive of an op whose result is like its input. oneDNN 3 wants the result described, too.
template <class P, class... Parts>
std::shared_ptr<const Ready> alike(const std::map<int, memory::desc>& arguments, const memory::desc& tensor,
                                   const Parts&... parts) {
#if DNNL_VERSION_MAJOR >= 3
    return ready<P>(arguments, tensor, tensor, parts...);
#else
    return ready<P>(arguments, tensor, parts...);
#endif
}

Key keyOf(DType dtype, double epsilon) {
    return {static_cast<std::int64_t>(dtype), std::bit_cast<std::int64_t>(epsilon)};
}

} // namespace

bool normalizeChannels(const TensorView& x, const ChannelFactors& factors, double epsilon,
                       const TensorView& y) {
    if (!isServed(y.dtype) || x.shape.rank() < 3 || x.shape.rank() > 5 || !isChannelsLast(x) ||
        !isChannelsLast(y))
        return false;
    static Cache<Ready> cache;
    Key key = keyOf(y.dtype, epsilon);
    const std::vector<std::int64_t> sizes = x.shape.dims();
    key.insert(key.end(), sizes.begin(), sizes.end());
    const auto primitive = cache.find(std::move(key), [&] {
        using Flags = dnnl::normalization_flags;
        using P = dnnl::batch_normalization_forward;
        const memory::desc tensor =
            planes(sizes[0], sizes[1], {sizes.begin() + 2, sizes.end()}, typeOf(y.dtype), true);
        const memory::desc channel = vectorOf(sizes[1]);
        return alike<P>({{DNNL_ARG_SRC, tensor},
                         {DNNL_ARG_DST, tensor},
                         {DNNL_ARG_MEAN, channel},
                         {DNNL_ARG_VARIANCE, channel},
                         {DNNL_ARG_SCALE, channel},
                         {DNNL_ARG_SHIFT, channel}},
                        tensor, static_cast<float>(epsilon),
                        Flags::use_global_stats | Flags::use_scale | Flags::use_shift);
    });
    if (!primitive) return false;
    primitive->run({{DNNL_ARG_SRC, x.data},
                    {DNNL_ARG_DST, y.data},
                    {DNNL_ARG_MEAN, factors.mean.data()},
                    {DNNL_ARG_VARIANCE, factors.variance.data()},
                    {DNNL_ARG_SCALE, factors.scale.data()},
                    {DNNL_ARG_SHIFT, factors.bias.data()}});
    return true;
}

bool normalizeRows(DType dtype, std::int64_t rows, std::int64_t length, const void* x, const float* scale,
                   const float* bias, double epsilon, void* y) {
    if (!isServed(dtype)) return false;
    static Cache<Ready> cache;
    Key key = keyOf(dtype, epsilon);
    key.insert(key.end(), {rows, length, scale != nullptr, bias != nullptr});
    const auto primitive = cache.find(std::move(key), [&] {
        using Flags = dnnl::normalization_flags;
        using P = dnnl::layer_normalization_forward;
        const memory::desc tensor{{rows, length}, typeOf(dtype), memory::format_tag::ab};
        auto flags = Flags::none;
        if (scale) flags |= Flags::use_scale;
        if (bias) flags |= Flags::use_shift;
        return alike<P>({{DNNL_ARG_SRC, tensor},
                         {DNNL_ARG_DST, tensor},
                         {DNNL_ARG_SCALE, vectorOf(length)},
                         {DNNL_ARG_SHIFT, vectorOf(length)}},
                        tensor, static_cast<float>(epsilon), flags);
    });
    if (!primitive) return false;
    std::map<int, const void*> data{{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
    if (scale) data.emplace(DNNL_ARG_SCALE, scale);
    if (bias) data.emplace(DNNL_ARG_SHIFT, bias);
    primitive->run(data);
    return true;
}

bool normalizeAcrossChannels(const LocalResponse& response, const TensorView& x, const TensorView& y) {
    // With an even size, ONNX's window has the extra channel after the centre, oneDNN's before it.
    if (!isServed(y.dtype) || response.size % 2 == 0 || !isDense(x) || !isDense(y)) return false;
    static Cache<Ready> cache;
    Key key = keyOf(y.dtype, response.alpha);
    key.insert(key.end(),
               {response.size, std::bit_cast<std::int64_t>(response.beta),
                std::bit_cast<std::int64_t>(response.bias), x.shape[0], x.shape[1], x.elementCount()});
    const auto primitive = cache.find(std::move(key), [&] {
        using P = dnnl::lrn_forward;
        const std::int64_t plane = x.elementCount() / (x.shape[0] * x.shape[1]);
        const memory::desc tensor = planes(x.shape[0], x.shape[1], {plane, 1}, typeOf(y.dtype), false);
        const std::map<int, memory::desc> arguments{{DNNL_ARG_SRC, tensor}, {DNNL_ARG_DST, tensor}};
        const auto kind = dnnl::algorithm::lrn_across_channels;
        const auto alpha = static_cast<float>(response.alpha);
        const auto beta = static_cast<float>(response.beta);
        const auto bias = static_cast<float>(response.bias);
#if DNNL_VERSION_MAJOR >= 3
        return ready<P>(arguments, kind, tensor, tensor, response.size, alpha, beta, bias);
#else
        return ready<P>(arguments, kind, tensor, response.size, alpha, beta, bias);
#endif
    });
    if (!primitive) return false;
    primitive->run({{DNNL_ARG_SRC, x.data}, {DNNL_ARG_DST, y.data}});
    return true;
}

} // namespace twb::onednn
