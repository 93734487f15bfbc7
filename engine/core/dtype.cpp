#include "core/dtype.h"

namespace twb {
namespace {

struct Row {
    int bits;
    std::string_view name;
    std::string_view torch;
    std::string_view scalar;
    std::string_view cpp;
};

constexpr std::array<Row, kDTypeCount> kRows{{
    {32, "f32", "float32", "Float", "float"},
    {64, "f64", "float64", "Double", "double"},
    {16, "f16", "float16", "Half", "c10::Half"},
    {16, "bf16", "bfloat16", "BFloat16", "c10::BFloat16"},
    {8, "i8", "int8", "Char", "signed char"},
    {16, "i16", "int16", "Short", "short int"},
    {32, "i32", "int32", "Int", "int"},
    {64, "i64", "int64", "Long", "long int"},
    {8, "u8", "uint8", "Byte", "unsigned char"},
    {16, "u16", "uint16", "UInt16", "short unsigned int"},
    {32, "u32", "uint32", "UInt32", "unsigned int"},
    {64, "u64", "uint64", "UInt64", "long unsigned int"},
    {8, "bool", "bool", "Bool", "bool"},
    {8, "f8e4m3fn", "float8_e4m3fn", "Float8_e4m3fn", "c10::Float8_e4m3fn"},
    {8, "f8e4m3fnuz", "float8_e4m3fnuz", "Float8_e4m3fnuz", "c10::Float8_e4m3fnuz"},
    {8, "f8e5m2", "float8_e5m2", "Float8_e5m2", "c10::Float8_e5m2"},
    {8, "f8e5m2fnuz", "float8_e5m2fnuz", "Float8_e5m2fnuz", "c10::Float8_e5m2fnuz"},
    {8, "f8e8m0", "float8_e8m0fnu", "Float8_e8m0fnu", "c10::Float8_e8m0fnu"},
    {4, "f4e2m1", "float4_e2m1fn", "Float4_e2m1fn", "c10::Float4_e2m1fn"},
    {4, "i4", "int4", "Int4", "c10::int4"},
    {4, "u4", "uint4", "UInt4", "c10::uint4"},
    {2, "i2", "int2", "Int2", "c10::int2"},
    {2, "u2", "uint2", "UInt2", "c10::uint2"},
}};

const Row& row(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)]; }

} // namespace

int bitsOf(DType dtype) noexcept { return row(dtype).bits; }
std::size_t sizeOf(DType dtype) noexcept { return static_cast<std::size_t>(row(dtype).bits + 7) / 8; }
std::string_view name(DType dtype) noexcept { return row(dtype).name; }
std::string_view torchName(DType dtype) noexcept { return row(dtype).torch; }
std::string_view torchScalarName(DType dtype) noexcept { return row(dtype).scalar; }
std::string_view torchCppName(DType dtype) noexcept { return row(dtype).cpp; }

std::optional<DType> parseDType(std::string_view text) noexcept {
    for (DType dtype : kAllDTypes)
        if (text == name(dtype) || text == torchName(dtype)) return dtype;
    return std::nullopt;
}

} // namespace twb
