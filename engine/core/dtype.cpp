#include "core/dtype.h"

namespace twb {
namespace {

struct Row {
    std::size_t size;
    std::string_view name;
    std::string_view torch;
    std::string_view scalar;
    std::string_view cpp;
};

constexpr std::array<Row, kDTypeCount> kRows{{
    {4, "f32", "float32", "Float", "float"},
    {8, "f64", "float64", "Double", "double"},
    {2, "f16", "float16", "Half", "c10::Half"},
    {2, "bf16", "bfloat16", "BFloat16", "c10::BFloat16"},
    {1, "i8", "int8", "Char", "signed char"},
    {2, "i16", "int16", "Short", "short int"},
    {4, "i32", "int32", "Int", "int"},
    {8, "i64", "int64", "Long", "long int"},
    {1, "u8", "uint8", "Byte", "unsigned char"},
    {2, "u16", "uint16", "UInt16", "short unsigned int"},
    {4, "u32", "uint32", "UInt32", "unsigned int"},
    {8, "u64", "uint64", "UInt64", "long unsigned int"},
    {1, "bool", "bool", "Bool", "bool"},
}};

const Row& row(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)]; }

} // namespace

std::size_t sizeOf(DType dtype) noexcept { return row(dtype).size; }
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
