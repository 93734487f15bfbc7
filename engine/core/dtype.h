#pragma once

#include "core/half.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace twb {

/// Element types. name() gives the project's names ("f32"), torchName() PyTorch's.
enum class DType : std::uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

inline constexpr std::size_t kDTypeCount = 13;
inline constexpr std::array<DType, kDTypeCount> kAllDTypes{
    DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16,    DType::i32,
    DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::boolean};

/// Size of one element in bytes; 1 for bool.
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

constexpr bool isFloating(DType d) noexcept { return d <= DType::bf16; }
/// Whether it is a 16-bit float, whose arithmetic is done in f32.
constexpr bool isHalfWidth(DType d) noexcept { return d == DType::f16 || d == DType::bf16; }
constexpr bool isInteger(DType d) noexcept { return d > DType::bf16 && d != DType::boolean; }

/// A set of dtypes, like ONNX's type constraints.
class DTypeSet {
public:
    constexpr DTypeSet() = default;
    template <class... D>
    constexpr explicit DTypeSet(D... dtypes) : m_bits(static_cast<std::uint16_t>((0U | ... | bit(dtypes)))) {}
    constexpr bool contains(DType d) const noexcept { return (m_bits & bit(d)) != 0; }
    constexpr DTypeSet operator|(DTypeSet other) const noexcept {
        DTypeSet both;
        both.m_bits = static_cast<std::uint16_t>(m_bits | other.m_bits);
        return both;
    }
    constexpr int size() const noexcept { return std::popcount(m_bits); }
    constexpr bool operator==(const DTypeSet&) const = default;

private:
    static constexpr unsigned bit(DType d) noexcept { return 1U << static_cast<unsigned>(d); }
    std::uint16_t m_bits = 0;
};

/// The C++ type of a dtype.
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
