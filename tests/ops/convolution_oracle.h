#pragma once

#include "support/op_runner.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace twb::test {

using Integers = std::vector<std::int64_t>;

/// The attributes of a convolution in full: one entry per spatial axis.
struct Setting {
    Integers kernel, strides, dilations, padBegin, padEnd;
    std::int64_t groups = 1;

    Attributes attributes() const {
        Integers pads = padBegin;
        pads.insert(pads.end(), padEnd.begin(), padEnd.end());
        return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", groups}};
    }
};

/// Calls visit(place, index) for every position of a grid, row-major.
template <class Visit> void overGrid(const Integers& sizes, const Visit& visit) {
    std::int64_t count = 1;
    for (std::int64_t size : sizes) count *= size;
    for (std::int64_t i = 0; i < count; ++i) {
        Integers place(sizes.size());
        std::int64_t rest = i;
        for (std::size_t a = sizes.size(); a-- > 0;) {
            place[a] = rest % sizes[a];
            rest /= sizes[a];
        }
        visit(place, i);
    }
}

inline std::int64_t productOf(const Integers& sizes) {
    std::int64_t count = 1;
    for (std::int64_t size : sizes) count *= size;
    return count;
}

/// Calls meet(position, tap, element) for each combination; `element` is -1 in the padding.
template <class Meet>
void overWindow(const Setting& s, const Integers& in, const Integers& out, const Meet& meet) {
    overGrid(out, [&](const Integers& position, std::int64_t o) {
        overGrid(s.kernel, [&](const Integers& tap, std::int64_t t) {
            std::int64_t element = 0;
            for (std::size_t a = 0; a < in.size(); ++a) {
                const std::int64_t at = position[a] * s.strides[a] + tap[a] * s.dilations[a] - s.padBegin[a];
                if (at < 0 || at >= in[a]) return;
                element = element * in[a] + at;
            }
            meet(o, t, element);
        });
    });
}

struct Sizes {
    std::int64_t batch, inChannels, outChannels; ///< channels per group
    Integers in, out;
};

inline std::vector<double> convolved(const Setting& s, const Sizes& z, const std::vector<double>& x,
                                     const std::vector<double>& w, const std::vector<double>& bias) {
    const std::int64_t in = productOf(z.in);
    const std::int64_t out = productOf(z.out);
    const std::int64_t taps = productOf(s.kernel);
    std::vector<double> y;
    for (std::int64_t n = 0; n < z.batch; ++n)
        for (std::int64_t m = 0; m < s.groups * z.outChannels; ++m) {
            std::vector<double> plane(static_cast<std::size_t>(out),
                                      bias.empty() ? 0 : bias[static_cast<std::size_t>(m)]);
            const std::int64_t group = m / z.outChannels;
            overWindow(s, z.in, z.out, [&](std::int64_t o, std::int64_t t, std::int64_t element) {
                for (std::int64_t c = 0; c < z.inChannels; ++c)
                    plane[static_cast<std::size_t>(o)] +=
                        x[static_cast<std::size_t>(((n * s.groups + group) * z.inChannels + c) * in +
                                                   element)] *
                        w[static_cast<std::size_t>((m * z.inChannels + c) * taps + t)];
            });
            y.insert(y.end(), plane.begin(), plane.end());
        }
    return y;
}

/// Scatters x, which has the sizes `out`, over the sizes `in`.
inline std::vector<double> spread(const Setting& s, const Sizes& z, const std::vector<double>& x,
                                  const std::vector<double>& w, const std::vector<double>& bias) {
    const std::int64_t in = productOf(z.in);
    const std::int64_t out = productOf(z.out);
    const std::int64_t taps = productOf(s.kernel);
    std::vector<double> y;
    for (std::int64_t n = 0; n < z.batch; ++n)
        for (std::int64_t c = 0; c < s.groups * z.inChannels; ++c) {
            std::vector<double> plane(static_cast<std::size_t>(in),
                                      bias.empty() ? 0 : bias[static_cast<std::size_t>(c)]);
            const std::int64_t group = c / z.inChannels;
            overWindow(s, z.in, z.out, [&](std::int64_t o, std::int64_t t, std::int64_t element) {
                for (std::int64_t m = 0; m < z.outChannels; ++m) {
                    const std::int64_t outer = group * z.outChannels + m;
                    plane[static_cast<std::size_t>(element)] +=
                        x[static_cast<std::size_t>((n * s.groups * z.outChannels + outer) * out + o)] *
                        w[static_cast<std::size_t>((outer * z.inChannels + c % z.inChannels) * taps + t)];
                }
            });
            y.insert(y.end(), plane.begin(), plane.end());
        }
    return y;
}

/// The gradient of w, from x and the gradient of the result.
inline std::vector<double> weightGradient(const Setting& s, const Sizes& z, const std::vector<double>& x,
                                          const std::vector<double>& dy) {
    const std::int64_t in = productOf(z.in);
    const std::int64_t out = productOf(z.out);
    const std::int64_t taps = productOf(s.kernel);
    const std::int64_t results = s.groups * z.outChannels;
    std::vector<double> dw(static_cast<std::size_t>(results * z.inChannels * taps), 0);
    for (std::int64_t n = 0; n < z.batch; ++n)
        for (std::int64_t m = 0; m < results; ++m)
            for (std::int64_t c = 0; c < z.inChannels; ++c)
                overWindow(s, z.in, z.out, [&](std::int64_t o, std::int64_t t, std::int64_t element) {
                    const std::int64_t plane = (n * s.groups + m / z.outChannels) * z.inChannels + c;
                    dw[static_cast<std::size_t>((m * z.inChannels + c) * taps + t)] +=
                        dy[static_cast<std::size_t>((n * results + m) * out + o)] *
                        x[static_cast<std::size_t>(plane * in + element)];
                });
    return dw;
}

inline Shape planes(std::int64_t batch, std::int64_t channels, const Integers& sizes) {
    Integers dims{batch, channels};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return Shape(dims);
}

/// A random convolution that fits: kernel and padding with at least one position along each axis.
inline void throwDice(Dice& dice, int rank, Setting& s, Sizes& z) {
    s = {};
    z = {dice.integer(1, 2), dice.integer(1, 5), dice.integer(1, 5), {}, {}};
    s.groups = dice.one(3) ? dice.integer(2, 3) : 1;
    if (dice.one(5)) z.inChannels = z.outChannels = 1;
    if (dice.one(12)) z.inChannels = 40;
    for (int a = 0; a < rank; ++a) {
        s.kernel.push_back(dice.one(3) ? 1 : dice.integer(1, 3));
        s.strides.push_back(dice.integer(1, 3));
        s.dilations.push_back(dice.integer(1, 3));
        s.padBegin.push_back(dice.integer(0, 2));
        s.padEnd.push_back(dice.integer(0, 2));
        const std::int64_t reach = (s.kernel.back() - 1) * s.dilations.back() + 1;
        const std::int64_t pad = s.padBegin.back() + s.padEnd.back();
        z.in.push_back(std::max<std::int64_t>(dice.integer(1, rank > 2 ? 5 : 9), reach - pad));
        z.out.push_back((z.in.back() + pad - reach) / s.strides.back() + 1);
    }
}

inline Tolerance forDepth(const char* op, std::int64_t depth) {
    Tolerance tolerance = findOp(op)->tolerance;
    tolerance.atol *= std::max<double>(1, static_cast<double>(depth) / 10);
    return tolerance;
}

} // namespace twb::test
