#include "core/dtype.h"

namespace twb {
namespace {

struct Row {
    std::size_t size;
    std::string_view name;
    std::string_view torch;
};

constexpr std::array<Row, kDTypeCount> kRows{{
    {4, "f32", "float32"},
    {8, "f64", "float64"},
    {2, "f16", "float16"},
    {2, "bf16", "bfloat16"},
    {1, "i8", "int8"},
    {2, "i16", "int16"},
    {4, "i32", "int32"},
    {8, "i64", "int64"},
    {1, "u8", "uint8"},
    {2, "u16", "uint16"},
    {4, "u32", "uint32"},
    {8, "u64", "uint64"},
    {1, "bool", "bool"},
}};

const Row& row(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)]; }

} // namespace

std::size_t sizeOf(DType dtype) noexcept { return row(dtype).size; }
std::string_view name(DType dtype) noexcept { return row(dtype).name; }
std::string_view torchName(DType dtype) noexcept { return row(dtype).torch; }

std::optional<DType> parseDType(std::string_view text) noexcept {
    for (DType dtype : kAllDTypes)
        if (text == name(dtype) || text == torchName(dtype)) return dtype;
    return std::nullopt;
}

} // namespace twb
