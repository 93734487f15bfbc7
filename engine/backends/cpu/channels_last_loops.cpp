// Compiled once with AVX2 and once with AVX-512. It uses no inline function of other headers: the linker
// keeps one copy of such a function for the whole program, which might be the one with AVX-512.

#include "backends/cpu/channels_last_loops.h"

#if defined(__AVX512F__) || defined(__AVX2__)

#include "backends/cpu/vector_functions.h"

namespace twb::TWB_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kMostRows = 12; ///< of a product that the registers hold
constexpr int kMostPacks = 2; ///< of kMostPlaces sums, beside five factors of each
#else
constexpr int kMostRows = 6;
constexpr int kMostPacks = 1;
#endif
constexpr int kMostPlaces = 7;

std::int64_t smallerOf(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
std::int64_t largerOf(std::int64_t a, std::int64_t b) { return a < b ? b : a; }

bool isLimited(const ChannelsEnding& ending) {
    return ending.least > -__builtin_inff() || ending.most < __builtin_inff();
}

/// y = f(y) for rows of `count` elements, `step` elements apart. Two packs at a time, whose operations
/// overlap.
template <class F>
void eachOf(float* y, std::int64_t rows, std::int64_t step, std::int64_t count, const F& f) {
    for (; rows > 0; --rows, y += step) {
        std::int64_t i = 0;
        for (; i + 2 * kWidth <= count; i += 2 * kWidth) {
            const Pack first = f(load(y + i));
            const Pack second = f(load(y + i + kWidth));
            store(y + i, first);
            store(y + i + kWidth, second);
        }
        for (; i + kWidth <= count; i += kWidth) store(y + i, f(load(y + i)));
        if (i < count) storeSome(y + i, f(loadSome(y + i, count - i)), count - i);
    }
}

/// Applies the ending's function to rows in the cache.
void apply(const ChannelsEnding& ending, float* y, std::int64_t rows, std::int64_t step, std::int64_t count) {
    const Pack a = all(ending.alpha);
    switch (ending.function) {
    case ChannelsEnding::Function::none:
        return;
    case ChannelsEnding::Function::swish:
        return eachOf(y, rows, step, count, [a](Pack x) { return swish(x, a); });
    case ChannelsEnding::Function::hardSwish:
        return eachOf(y, rows, step, count, hardSwish);
    case ChannelsEnding::Function::leakyRelu:
        return eachOf(y, rows, step, count, [a](Pack x) { return choose(isLess(x, all(0)), a * x, x); });
    }
}

/// A part of the columns of a product: `packs` packs, the last of which has `lastCount` columns.
struct Columns {
    std::int64_t at = 0;
    std::int64_t lastCount = kWidth;
    std::int64_t width = kChannelPanel; ///< of the panel
};

/// `rows` rows and `packs` packs of columns.
template <int rows, int packs, bool hasOffsets>
void multiplyRows(const ProductSizes& s, const float* x, const float* w, const Columns& columns,
                  const ChannelsEnding& ending, float* y) {
    Pack sums[rows][packs];
    const auto some = [&](const float* from, int p) {
        return p == packs - 1 && columns.lastCount < kWidth ? loadSome(from, columns.lastCount) : load(from);
    };
#pragma GCC unroll 16
    for (int p = 0; p < packs; ++p) {
        const Pack bias = ending.bias ? some(ending.bias + columns.at + p * kWidth, p) : all(0);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) sums[r][p] = bias;
    }
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < s.inner; ++k, w += columns.width) {
        const float* const elements = x + (hasOffsets ? s.offsets[k] : k);
        Pack factors[packs];
#pragma GCC unroll 16
        for (int p = 0; p < packs; ++p) factors[p] = load(w + p * kWidth);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            const Pack element = all(elements[r * s.step]);
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p) sums[r][p] += element * factors[p];
        }
    }
    const auto finish = [&](auto&& ended) {
#pragma GCC unroll 16
        for (int p = 0; p < packs; ++p) {
            const std::int64_t column = columns.at + p * kWidth;
#pragma GCC unroll 16
            for (int r = 0; r < rows; ++r) {
                const Pack sum = ended(sums[r][p], r, p, column);
                if (p == packs - 1 && columns.lastCount < kWidth)
                    storeSome(y + r * s.columns + column, sum, columns.lastCount);
                else
                    store(y + r * s.columns + column, sum);
            }
        }
    };
    if (!ending.added && !isLimited(ending)) {
        finish([](Pack sum, int, int, std::int64_t) { return sum; });
    } else {
        const Pack least = all(ending.least);
        const Pack most = all(ending.most);
        finish([&](Pack sum, int r, int p, std::int64_t column) {
            if (ending.added) sum += some(ending.added + r * s.columns + column, p);
            return smaller(most, larger(least, sum));
        });
    }
    apply(ending, y + columns.at, rows, s.columns, (packs - 1) * kWidth + columns.lastCount);
}

template <int rows, int packs, bool hasOffsets>
void multiplyUpTo(int count, const ProductSizes& s, const float* x, const float* w, const Columns& columns,
                  const ChannelsEnding& ending, float* y) {
    if (count == rows) return multiplyRows<rows, packs, hasOffsets>(s, x, w, columns, ending, y);
    if constexpr (rows > 1) multiplyUpTo<rows - 1, packs, hasOffsets>(count, s, x, w, columns, ending, y);
}

void multiply(const ProductSizes& s, const float* x, const float* w, std::int64_t begin, std::int64_t end,
              std::int64_t first, std::int64_t last, const ChannelsEnding& ending, float* y) noexcept {
    const std::int64_t parts = (end - begin + kMostRows - 1) / kMostRows;
    for (std::int64_t panel = first; panel < last; ++panel) {
        const std::int64_t width = panelWidth(s.columns, panel);
        const std::int64_t panelEnd = smallerOf((panel + 1) * kChannelPanel, s.columns);
        const float* const panelBegin = w + panel * s.inner * kChannelPanel;
        const std::int64_t next = panel + 1 < last ? s.inner * kChannelPanel : s.next;
        const std::int64_t tiles = parts * (width > 2 * kWidth ? width / (2 * kWidth) : 1);
        std::int64_t tile = 0;
        for (std::int64_t at = panel * kChannelPanel; at < panelEnd; at += 2 * kWidth) {
            const std::int64_t count = smallerOf(panelEnd - at, 2 * kWidth);
            const Columns columns{at, count > kWidth ? count - kWidth : count, width};
            const float* const factors = panelBegin + (at - panel * kChannelPanel);
            for (std::int64_t part = 0; part < parts; ++part, ++tile) {
                fetchPart(panelBegin + next, next > 0 ? s.inner * width : 0, tile, tiles);
                const std::int64_t from = begin + (end - begin) * part / parts;
                const int rows = static_cast<int>(begin + (end - begin) * (part + 1) / parts - from);
                ChannelsEnding here = ending;
                if (ending.added) here.added += from * s.columns;
                if (s.offsets)
                    (count > kWidth ? multiplyUpTo<kMostRows, 2, true>
                                    : multiplyUpTo<kMostRows, 1, true>)(rows, s, x + from * s.step, factors,
                                                                        columns, here, y + from * s.columns);
                else
                    (count > kWidth ? multiplyUpTo<kMostRows, 2, false>
                                    : multiplyUpTo<kMostRows, 1, false>)(rows, s, x + from * s.step, factors,
                                                                         columns, here, y + from * s.columns);
            }
        }
    }
}

/// Loads `x` once for all its uses, where the compiler would load it for each.
[[gnu::always_inline]] inline void keepInRegister(Pack& x) { asm("" : "+v"(x)); }

/// The rows and columns of neighbouring windows, up to `bottom` and `right`, counted from the first, whose
/// elements lie within x.
struct Taps {
    std::int64_t top = 0, bottom = 0;
    std::int64_t left = 0, right = 0;
};

/// The windows of neighbouring elements of a row of y. x is where the first begins; y and `added` are at the
/// first element.
struct Windows {
    const DepthwiseSizes& sizes;
    const ChannelsEnding& ending; ///< `added` of it is not used
    const float* w;
    Taps taps;
    const float* x = nullptr;
    const float* added = nullptr;
    float* y = nullptr;
};

template <int places, int packs> using Sums = Pack[places][packs];

template <int places, int packs>
[[gnu::always_inline]] inline void begin(Sums<places, packs>& sums, const ChannelsEnding& ending,
                                         std::int64_t c) {
#pragma GCC unroll 16
    for (int p = 0; p < packs; ++p) {
        const Pack bias = ending.bias ? load(ending.bias + c + p * kWidth) : all(0);
#pragma GCC unroll 16
        for (int i = 0; i < places; ++i) sums[i][p] = bias;
    }
}

template <int places, int packs>
[[gnu::always_inline]] inline void end(const Sums<places, packs>& sums, const Windows& at, std::int64_t c) {
    const ChannelsEnding& ending = at.ending;
    const Pack least = all(ending.least);
    const Pack most = all(ending.most);
    const std::int64_t step = at.sizes.outStep;
    const float* const added = at.added;
    float* const y = at.y;
    const auto finish = [&](auto&& ended) {
#pragma GCC unroll 16
        for (int i = 0; i < places; ++i)
#pragma GCC unroll 16
            for (int p = 0; p < packs; ++p) {
                const std::int64_t to = i * step + c + p * kWidth;
                store(y + to, smaller(most, larger(least, ended(sums[i][p], to))));
            }
    };
    if (added)
        finish([added](Pack sum, std::int64_t to) { return sum + load(added + to); });
    else
        finish([](Pack sum, std::int64_t) { return sum; });
}

/// `places` elements of `packs` packs of channels. Columns outside x are so for a single place only.
struct AnyWindows {
    template <int places, int packs> static void slide(const Windows& at, std::int64_t c) {
        const DepthwiseSizes& s = at.sizes;
        const std::int64_t step = s.across * s.channels;
        const std::int64_t right = smallerOf(at.taps.right, s.kernelWidth);
        Sums<places, packs> sums;
        begin<places, packs>(sums, at.ending, c);
        for (std::int64_t row = at.taps.top; row < at.taps.bottom; ++row) {
            const float* from = at.x + (row * s.width + at.taps.left) * s.channels + c;
            const float* factors = at.w + (row * s.kernelWidth + at.taps.left) * s.channels + c;
            for (std::int64_t column = at.taps.left; column < right; ++column) {
#pragma GCC unroll 16
                for (int p = 0; p < packs; ++p) {
                    const Pack factor = load(factors + p * kWidth);
#pragma GCC unroll 16
                    for (int i = 0; i < places; ++i)
                        sums[i][p] += load(from + i * step + p * kWidth) * factor;
                }
                from += s.channels;
                factors += s.channels;
            }
        }
        end<places, packs>(sums, at, c);
    }
};

/// The same for windows of `kernel` columns, `across` columns apart. Less than `kernel` columns may be
/// outside x on each side. Each element is loaded once.
template <int kernel, int across> struct KnownWindows {
    template <int places, int packs> static void slide(const Windows& at, std::int64_t c) {
        constexpr int columns = (places - 1) * across + kernel;
        if (places == kMostPlaces && at.taps.left == 0 && at.taps.right == columns)
            slideOn<places, packs, false>(at, c);
        else
            slideOn<places, packs, true>(at, c);
    }

private:
    template <int places, int packs, bool isAtEdge> static void slideOn(const Windows& at, std::int64_t c) {
        constexpr int columns = (places - 1) * across + kernel;
        const DepthwiseSizes& s = at.sizes;
        Sums<places, packs> sums;
        begin<places, packs>(sums, at.ending, c);
        const float* from = at.x + at.taps.top * s.width * s.channels + c;
        const float* factors = at.w + at.taps.top * kernel * s.channels + c;
        for (std::int64_t row = at.taps.top; row < at.taps.bottom; ++row) {
            Pack factor[kernel][packs];
#pragma GCC unroll 16
            for (int tap = 0; tap < kernel; ++tap)
#pragma GCC unroll 16
                for (int p = 0; p < packs; ++p)
                    factor[tap][p] = load(factors + tap * s.channels + p * kWidth);
#pragma GCC unroll 32
            for (int i = 0; i < columns; ++i) {
                if (isAtEdge && i < kernel - 1 && i < at.taps.left) continue;
                if (isAtEdge && i > columns - kernel && i >= at.taps.right) continue;
#pragma GCC unroll 16
                for (int p = 0; p < packs; ++p) {
                    Pack element = load(from + i * s.channels + p * kWidth);
                    keepInRegister(element);
#pragma GCC unroll 16
                    for (int tap = i % across; tap < kernel; tap += across)
                        if (i >= tap && (i - tap) / across < places)
                            sums[(i - tap) / across][p] += element * factor[tap][p];
                }
            }
            from += s.width * s.channels;
            factors += kernel * s.channels;
        }
        end<places, packs>(sums, at, c);
    }
};

template <class Slider, int places>
void slideOver(int count, const Windows& at, std::int64_t first, std::int64_t last) {
    if constexpr (places > 1)
        if (count < places) return slideOver<Slider, places - 1>(count, at, first, last);
    std::int64_t c = first;
    for (; c + kMostPacks * kWidth <= last; c += kMostPacks * kWidth)
        Slider::template slide<places, kMostPacks>(at, c);
    for (; c < last; c += kWidth) Slider::template slide<places, 1>(at, c);
    apply(at.ending, at.y + first, places, at.sizes.outStep, last - first);
}

using SlideOver = void (*)(int count, const Windows& at, std::int64_t first, std::int64_t last);

/// Null for windows for which there is no special code.
SlideOver knownSlider(const DepthwiseSizes& s) {
    // A narrow image may be within a window, or beside it.
    const std::int64_t padRight = (s.outWidth - 1) * s.across + s.kernelWidth - s.padLeft - s.width;
    if (s.padLeft >= s.kernelWidth || padRight >= s.kernelWidth || s.width < s.kernelWidth) return nullptr;
    if (s.kernelWidth == 3 && s.across == 1) return slideOver<KnownWindows<3, 1>, kMostPlaces>;
    if (s.kernelWidth == 3 && s.across == 2) return slideOver<KnownWindows<3, 2>, kMostPlaces>;
    if (s.kernelWidth == 5 && s.across == 1) return slideOver<KnownWindows<5, 1>, kMostPlaces>;
    if (s.kernelWidth == 5 && s.across == 2) return slideOver<KnownWindows<5, 2>, kMostPlaces>;
    if (s.kernelWidth == 7 && s.across == 1) return slideOver<KnownWindows<7, 1>, kMostPlaces>;
    return nullptr;
}

void depthwise(const DepthwiseSizes& s, const float* x, const float* w, std::int64_t row, std::int64_t first,
               std::int64_t last, const ChannelsEnding& ending, float* y) noexcept {
    const std::int64_t image = row / s.outHeight;
    const std::int64_t top = row % s.outHeight * s.down - s.padTop;
    const float* const rows = x + (image * s.height + top) * s.width * s.channels;
    Windows at{s, ending, w, {largerOf(0, -top), smallerOf(s.kernelHeight, s.height - top)}};
    const auto some = [&](SlideOver slide, std::int64_t from, std::int64_t count) {
        const std::int64_t left = from * s.across - s.padLeft;
        at.taps.left = largerOf(0, -left);
        at.taps.right = smallerOf((count - 1) * s.across + s.kernelWidth, s.width - left);
        const std::int64_t to = (row * s.outWidth + from) * s.outStep;
        at.x = rows + left * s.channels;
        at.added = ending.added ? ending.added + to : nullptr;
        at.y = y + to;
        slide(static_cast<int>(count), at, first, last);
    };
    const auto all = [&](SlideOver slide, std::int64_t begin, std::int64_t end) {
        const std::int64_t parts = (end - begin + kMostPlaces - 1) / kMostPlaces;
        const std::int64_t count = parts == 0 ? 0 : (end - begin) / parts;
        const std::int64_t larger = parts == 0 ? 0 : (end - begin) % parts; // parts with one place more
        for (std::int64_t part = 0; part < parts; ++part) {
            const std::int64_t here = part < larger ? count + 1 : count;
            some(slide, begin, here);
            begin += here;
        }
    };
    if (const SlideOver known = knownSlider(s)) return all(known, 0, s.outWidth);
    // Places whose windows lie within the width, between those whose windows do not.
    const std::int64_t begin = smallerOf((s.padLeft + s.across - 1) / s.across, s.outWidth);
    const std::int64_t room = s.width + s.padLeft - s.kernelWidth;
    const std::int64_t end = largerOf(begin, room < 0 ? 0 : smallerOf(room / s.across + 1, s.outWidth));
    const SlideOver single = slideOver<AnyWindows, 1>;
    for (std::int64_t at = 0; at < begin; ++at) some(single, at, 1);
    all(slideOver<AnyWindows, kMostPlaces>, begin, end);
    for (std::int64_t at = end; at < s.outWidth; ++at) some(single, at, 1);
}

void sumPlaces(const float* x, std::int64_t count, std::int64_t step, std::int64_t channels,
               float* sums) noexcept {
    for (std::int64_t c = 0; c < channels; c += kChannelLanes) {
        constexpr int kPacks = kChannelLanes / kWidth;
        Pack even[kPacks];
        Pack odd[kPacks];
        for (int p = 0; p < kPacks; ++p) even[p] = odd[p] = all(0);
        std::int64_t i = 0;
        for (; i + 2 <= count; i += 2)
            for (int p = 0; p < kPacks; ++p) {
                even[p] += load(x + i * step + c + p * kWidth);
                odd[p] += load(x + (i + 1) * step + c + p * kWidth);
            }
        for (int p = 0; p < kPacks; ++p) {
            if (i < count) even[p] += load(x + i * step + c + p * kWidth);
            store(sums + c + p * kWidth, even[p] + odd[p]);
        }
    }
}

void scaleRows(const float* x, const float* factors, std::int64_t rows, std::int64_t channels,
               float* y) noexcept {
    for (std::int64_t row = 0; row < rows; ++row, x += channels, y += channels)
        for (std::int64_t c = 0; c < channels; c += kWidth) store(y + c, load(x + c) * load(factors + c));
}

} // namespace

const ChannelsLastKernels channelsLastKernels{multiply, depthwise, sumPlaces, scaleRows};

} // namespace twb::TWB_ISA

#endif
