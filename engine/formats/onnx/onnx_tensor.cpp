#include "formats/onnx/onnx_tensor.h"

#include "core/error.h"
#include "formats/input_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::int32_t, kDTypeCount> kOnnxTypes{1, 11, 10, 16, 3,  5,  6,  7,  2,  4,  12, 13,
                                                           9, 17, 18, 19, 20, 24, 23, 22, 21, 26, 25};

[[noreturn]] void refuse(const std::string& what, const std::string& problem) {
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", what, problem));
}

std::uint64_t numberOf(const std::string& text, const std::string& what, const char* field) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        refuse(what, fmt::format("the {} of its external data is not a number: \"{}\"", field, text));
    return value;
}

/// A range of bytes in another file.
struct External {
    InputFile file;
    std::uint64_t offset = 0;
};

InputFile openBeside(const fs::path& folder, const fs::path& location, const std::string& what) {
    const FileBounds bounds(folder, "the model's folder", "move the file beside the model");
    try {
        if (location.is_absolute()) bounds.refuse(location);
        return InputFile(folder / location, bounds);
    } catch (const Error& e) {
        throw Error(e.code(), fmt::format("{}: {}", what, e.what()));
    }
}

/// A tensor's external data; checked to be there.
External externalOf(const onnx::TensorProto& proto, const fs::path& folder, const std::string& what,
                    std::uint64_t bytes) {
    std::string location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;
    for (const auto& entry : proto.external_data()) {
        if (entry.key() == "location") location = entry.value();
        if (entry.key() == "offset") offset = numberOf(entry.value(), what, "offset");
        if (entry.key() == "length") length = numberOf(entry.value(), what, "length");
    }
    if (location.empty() || location.find('\0') != std::string::npos)
        refuse(what, "its data is external, but the file name is missing");
    if (length && *length != bytes)
        refuse(what, fmt::format("its shape needs {} bytes, but its external data has {}", bytes, *length));
    External external{openBeside(folder, location, what), offset};
    if (external.file.size() < bytes || external.file.size() - bytes < offset)
        refuse(what, fmt::format("{} is too short for the tensor's {} bytes of data from byte {} on",
                                 location, bytes, offset));
    return external;
}

/// Copies a repeated field of the protocol buffer element by element.
template <class T, class Field>
void store(const Field& field, void* to, std::int64_t count, const std::string& what) {
    if (field.size() != count)
        refuse(what, fmt::format("its shape has {} elements, but {} are given", count, field.size()));
    T* out = static_cast<T*>(to);
    for (const auto value : field) *out++ = static_cast<T>(value);
}

void storeTyped(const onnx::TensorProto& proto, DType dtype, void* to, std::int64_t count,
                const std::string& what) {
    switch (dtype) {
    case DType::f32:
        return store<float>(proto.float_data(), to, count, what);
    case DType::f64:
        return store<double>(proto.double_data(), to, count, what);
    case DType::f16:
    case DType::bf16: // their bits, one element per int32
    case DType::u16:
        return store<std::uint16_t>(proto.int32_data(), to, count, what);
    case DType::i8:
        return store<std::int8_t>(proto.int32_data(), to, count, what);
    case DType::i16:
        return store<std::int16_t>(proto.int32_data(), to, count, what);
    case DType::i32:
        return store<std::int32_t>(proto.int32_data(), to, count, what);
    case DType::u8:
    case DType::boolean:
        return store<std::uint8_t>(proto.int32_data(), to, count, what);
    case DType::i64:
        return store<std::int64_t>(proto.int64_data(), to, count, what);
    case DType::u32:
        return store<std::uint32_t>(proto.uint64_data(), to, count, what);
    case DType::u64:
        return store<std::uint64_t>(proto.uint64_data(), to, count, what);
    default: // codes, one byte per int32
        return store<std::uint8_t>(proto.int32_data(), to, Shape{count}.byteCount(dtype), what);
    }
}

} // namespace

std::optional<DType> dtypeOfOnnx(std::int32_t elementType) noexcept {
    for (DType dtype : kAllDTypes)
        if (onnxTypeOf(dtype) == elementType) return dtype;
    return std::nullopt;
}

std::int32_t onnxTypeOf(DType dtype) noexcept { return kOnnxTypes[static_cast<std::size_t>(dtype)]; }

std::string onnxTypeName(std::int32_t elementType) {
    switch (elementType) {
    case 0:
        return "an undefined type";
    case 8:
        return "string";
    case 14:
        return "complex64";
    case 15:
        return "complex128";
    case 23:
        return "float4e2m1";
    case 24:
        return "float8e8m0";
    case 27:
        return "float6e2m3";
    case 28:
        return "float6e3m2";
    default:
        break;
    }
    if (const auto dtype = dtypeOfOnnx(elementType)) {
        std::string name(torchName(*dtype)); // PyTorch's "float8_e5m2" is "float8e5m2" in ONNX
        std::erase(name, '_');
        return name;
    }
    return fmt::format("element type {}", elementType);
}

Tensor tensorFromProto(const onnx::TensorProto& proto, const fs::path& folder, const std::string& what) {
    const auto dtype = dtypeOfOnnx(proto.data_type());
    if (!dtype)
        refuse(what, fmt::format("its element type is {}, but only numbers and bool are supported",
                                 onnxTypeName(proto.data_type())));
    if (proto.has_segment()) refuse(what, "it is a segment of a tensor, which is not supported");
    const TensorType type{*dtype, Shape(std::vector<std::int64_t>(proto.dims().begin(), proto.dims().end()))};
    std::int64_t count = 0;
    std::size_t bytes = 0;
    try {
        count = type.shape.elementCount();
        bytes = static_cast<std::size_t>(type.byteCount());
    } catch (const Error& e) {
        refuse(what, e.what());
    }
    // Counts the elements in the file before allocating memory.
    const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
    const bool raw = !external && proto.has_raw_data();
    if (raw && proto.raw_data().size() != bytes)
        refuse(what, fmt::format("its shape {} needs {} bytes, but its data has {}",
                                 type.shape.toTorchString(), bytes, proto.raw_data().size()));
    const std::int64_t listed = isPacked(*dtype) ? static_cast<std::int64_t>(bytes) : count;
    if (!external && !raw && static_cast<std::uint64_t>(listed) > proto.ByteSizeLong())
        refuse(what, fmt::format("its shape {} has {} elements, but its data is shorter",
                                 type.shape.toTorchString(), count));
    std::optional<const External> source;
    if (external) source.emplace(externalOf(proto, folder, what, bytes));
    Tensor tensor = Tensor::onHost(type);
    if (source) {
        if (source->file.readAt(source->offset, tensor.data(), bytes) != bytes)
            refuse(what, "its external data was truncated while it was read");
    } else if (!raw) {
        storeTyped(proto, *dtype, tensor.data(), count, what);
    } else if (bytes > 0) {
        std::memcpy(tensor.data(), proto.raw_data().data(), bytes);
    }
    if (*dtype == DType::boolean) {
        // A C++ bool must be 0 or 1.
        auto* flags = static_cast<std::uint8_t*>(tensor.data());
        for (std::int64_t i = 0; i < count; ++i) flags[i] = flags[i] != 0 ? 1 : 0;
    }
    return tensor;
}

onnx::TensorProto protoFromTensor(const TensorView& tensor, const std::string& name) {
    onnx::TensorProto proto;
    proto.set_name(name);
    proto.set_data_type(onnxTypeOf(tensor.dtype));
    for (const std::int64_t size : tensor.shape) proto.add_dims(size);
    const auto bytes = static_cast<std::size_t>(tensor.shape.byteCount(tensor.dtype));
    if (bytes == 0)
        proto.set_raw_data("");
    else
        proto.set_raw_data(tensor.data, bytes);
    return proto;
}

} // namespace twb
