#pragma once

#include "core/half.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace twb {

/// Element types. name() gives the project's names ("f32"), torchName() PyTorch's. Those after bool are
/// narrow (core/narrow.h): tensors of them are stored, copied, cast, quantized and dequantized, but no op
/// calculates with them.
enum class DType : std::uint8_t {
    f32,
    f64,
    f16,
    bf16,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    boolean,
    f8e4m3fn,
    f8e4m3fnuz,
    f8e5m2,
    f8e5m2fnuz,
    f8e8m0,
    f4e2m1,
    i4,
    u4,
    i2,
    u2
};

inline constexpr std::size_t kDTypeCount = 23;
inline constexpr std::array<DType, kDTypeCount> kAllDTypes{
    DType::f32,     DType::f64,      DType::f16,        DType::bf16,   DType::i8,         DType::i16,
    DType::i32,     DType::i64,      DType::u8,         DType::u16,    DType::u32,        DType::u64,
    DType::boolean, DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0,
    DType::f4e2m1,  DType::i4,       DType::u4,         DType::i2,     DType::u2};
/// Those that are not narrow.
inline constexpr std::array<DType, 13> kWideDTypes{
    DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16,    DType::i32,
    DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::boolean};

/// Bits of one element in memory; 8 for bool.
int bitsOf(DType dtype) noexcept;
/// Size of one element in bytes; 1 for bool, and for a packed dtype the byte that its elements share (see
/// Shape::byteCount).
std::size_t sizeOf(DType dtype) noexcept;
/// "f32", "i64", "bool".
std::string_view name(DType dtype) noexcept;
/// "float32", "int64", "bool", as PyTorch and NumPy print them.
std::string_view torchName(DType dtype) noexcept;
/// "Float", "Long", "Bool", as PyTorch's checks print a scalar type.
std::string_view torchScalarName(DType dtype) noexcept;
/// "float", "long int", "bool": the C++ type, as some of PyTorch's messages print it.
std::string_view torchCppName(DType dtype) noexcept;
/// Parses a spelling of name() or torchName(). Nothing if it is neither.
std::optional<DType> parseDType(std::string_view text) noexcept;

/// Whether ops calculate with it as a float; false for narrow floats.
constexpr bool isFloating(DType d) noexcept { return d <= DType::bf16; }
/// Whether it is a 16-bit float, whose arithmetic is done in f32.
constexpr bool isHalfWidth(DType d) noexcept { return d == DType::f16 || d == DType::bf16; }
/// Whether ops calculate with it as an integer; false for narrow integers and bool.
constexpr bool isInteger(DType d) noexcept { return d > DType::bf16 && d < DType::boolean; }
constexpr bool isNarrow(DType d) noexcept { return d > DType::boolean; }
constexpr bool isNarrowFloat(DType d) noexcept { return d > DType::boolean && d <= DType::f4e2m1; }
/// Whether a byte holds several elements. Such tensors are always dense.
constexpr bool isPacked(DType d) noexcept { return d >= DType::f4e2m1; }
/// Whether its values are whole numbers, of any width; false for bool.
constexpr bool holdsIntegers(DType d) noexcept { return isInteger(d) || d >= DType::i4; }
/// Whether its values may have a fraction, of any width.
constexpr bool holdsFractions(DType d) noexcept { return isFloating(d) || isNarrowFloat(d); }

/// A set of dtypes, like ONNX's type constraints.
class DTypeSet {
public:
    constexpr DTypeSet() = default;
    template <class... D> constexpr explicit DTypeSet(D... dtypes) : m_bits((0U | ... | bit(dtypes))) {}
    constexpr bool contains(DType d) const noexcept { return (m_bits & bit(d)) != 0; }
    constexpr DTypeSet operator|(DTypeSet other) const noexcept {
        DTypeSet both;
        both.m_bits = m_bits | other.m_bits;
        return both;
    }
    constexpr int size() const noexcept { return std::popcount(m_bits); }
    constexpr bool operator==(const DTypeSet&) const = default;

private:
    static constexpr std::uint32_t bit(DType d) noexcept { return 1U << static_cast<unsigned>(d); }
    std::uint32_t m_bits = 0;
};

/// The C++ type of a dtype that is not narrow.
template <DType D> struct CppType;
template <> struct CppType<DType::f32> { using type = float; };
template <> struct CppType<DType::f64> { using type = double; };
template <> struct CppType<DType::f16> { using type = Half; };
template <> struct CppType<DType::bf16> { using type = BFloat16; };
template <> struct CppType<DType::i8> { using type = std::int8_t; };
template <> struct CppType<DType::i16> { using type = std::int16_t; };
template <> struct CppType<DType::i32> { using type = std::int32_t; };
template <> struct CppType<DType::i64> { using type = std::int64_t; };
template <> struct CppType<DType::u8> { using type = std::uint8_t; };
template <> struct CppType<DType::u16> { using type = std::uint16_t; };
template <> struct CppType<DType::u32> { using type = std::uint32_t; };
template <> struct CppType<DType::u64> { using type = std::uint64_t; };
template <> struct CppType<DType::boolean> { using type = bool; };

template <class T> struct DTypeOf;
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };
template <> struct DTypeOf<Half> { static constexpr DType value = DType::f16; };
template <> struct DTypeOf<BFloat16> { static constexpr DType value = DType::bf16; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::i8; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::i16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct DTypeOf<std::uint16_t> { static constexpr DType value = DType::u16; };
template <> struct DTypeOf<std::uint32_t> { static constexpr DType value = DType::u32; };
template <> struct DTypeOf<std::uint64_t> { static constexpr DType value = DType::u64; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };

} // namespace twb
