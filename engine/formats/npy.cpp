#include "formats/npy.h"

#include "core/error.h"
#include "formats/atomic_file.h"
#include "formats/bool_bytes.h"
#include "formats/input_file.h"
#include "formats/npy_header.h"
#include "formats/npy_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace twb {
namespace {

[[noreturn]] void refuse(const std::string& origin, const std::string& problem) {
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", origin, problem));
}

/// The stream of a file, which must outlive it.
NpyStream streamOf(const InputFile& file, const std::filesystem::path& path) {
    const auto next = [&file, at = std::uint64_t(0)](void* to, std::size_t count) mutable {
        const std::size_t got = file.readAt(at, to, count);
        at += got;
        return got;
    };
    return {next, file.size(), path.string()};
}

template <std::size_t Size> void swapEach(unsigned char* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) std::reverse(bytes + i * Size, bytes + (i + 1) * Size);
}

void swapBytes(void* data, std::size_t count, std::size_t elementSize) {
    auto* bytes = static_cast<unsigned char*>(data);
    if (elementSize == 2) swapEach<2>(bytes, count);
    if (elementSize == 4) swapEach<4>(bytes, count);
    if (elementSize == 8) swapEach<8>(bytes, count);
}

/// Copies column-major `from` to row-major `to`.
void reorder(const unsigned char* from, unsigned char* to, const Shape& shape, std::size_t elementSize) {
    const int rank = shape.rank();
    std::vector<std::size_t> stride(static_cast<std::size_t>(rank));
    std::size_t step = elementSize;
    for (int axis = 0; axis < rank; ++axis) {
        stride[static_cast<std::size_t>(axis)] = step;
        step *= static_cast<std::size_t>(shape[axis]);
    }
    std::vector<std::int64_t> index(static_cast<std::size_t>(rank), 0);
    std::size_t offset = 0;
    for (std::int64_t i = shape.elementCount(); i > 0; --i) {
        std::memcpy(to, from + offset, elementSize);
        to += elementSize;
        for (int axis = rank - 1; axis >= 0; --axis) {
            const auto a = static_cast<std::size_t>(axis);
            offset += stride[a];
            if (++index[a] < shape[axis]) break;
            offset -= stride[a] * static_cast<std::size_t>(shape[axis]);
            index[a] = 0;
        }
    }
}

} // namespace

NpyHeader readNpyHeader(const NpyStream& stream) {
    const auto take = [&](void* to, std::size_t count) {
        if (stream.next(to, count) != count) refuse(stream.origin, "the file ends within its header");
    };
    std::array<unsigned char, kNpyPreamble> start{};
    const std::size_t got = stream.next(start.data(), start.size());
    if (got < start.size() || std::memcmp(start.data(), "\x93NUMPY", 6) != 0)
        refuse(stream.origin, "not a .npy file: NumPy's magic string is missing");
    const int version = start[6];
    if (version < 1 || version > 3)
        refuse(stream.origin, fmt::format("its .npy version is {}.{}, but only 1.0 to 3.0 are supported",
                                          version, start[7]));
    const std::size_t lengthBytes = version == 1 ? 2 : 4;
    std::array<unsigned char, 4> lengthField{};
    take(lengthField.data(), lengthBytes);
    std::size_t length = 0;
    for (std::size_t i = 0; i < lengthBytes; ++i)
        length |= static_cast<std::size_t>(lengthField[i]) << (8 * i);
    if (length > kLongestNpyHeader)
        refuse(stream.origin,
               fmt::format("its header has {} bytes, but at most {} are allowed", length, kLongestNpyHeader));
    std::string dictionary(length, '\0');
    take(dictionary.data(), length);

    NpyHeader header = parseNpyHeader(dictionary, stream.origin);
    header.dataOffset = kNpyPreamble + lengthBytes + length;
    const auto bytes = static_cast<std::uint64_t>(header.type.byteCount());
    const std::uint64_t available = stream.size > header.dataOffset ? stream.size - header.dataOffset : 0;
    if (available < bytes)
        refuse(stream.origin,
               fmt::format(
                   "the file is truncated: its header declares {} bytes of data ({}), but the file has {}",
                   bytes, header.type.toString(), available));
    return header;
}

void readNpyData(const NpyStream& stream, const NpyHeader& header, const TensorView& out) {
    const TensorType wanted{out.dtype, out.shape};
    if (!(header.type == wanted) || !out.isDense())
        refuse(stream.origin,
               fmt::format("it now holds {}, but held {} when the graph was checked; reload the graph",
                           header.type.toString(), wanted.toString()));
    const auto bytes = static_cast<std::size_t>(header.type.byteCount());
    const std::size_t elementSize = sizeOf(header.type.dtype);
    // With one axis or none, both orders are equal.
    const bool columnMajor = header.fortranOrder && header.type.shape.rank() > 1;
    std::vector<unsigned char> columns(columnMajor ? bytes : 0);
    void* target = columnMajor ? columns.data() : out.data;
    if (stream.next(target, bytes) != bytes)
        refuse(stream.origin, "the file ends before the data that its header declares");
    if (header.bigEndian) swapBytes(target, bytes / elementSize, elementSize);
    auto* to = static_cast<unsigned char*>(out.data);
    if (columnMajor) reorder(columns.data(), to, header.type.shape, elementSize);
    if (header.type.dtype == DType::boolean) makeBools(to, bytes);
}

NpyHeader readNpyHeader(const std::filesystem::path& path, const FileBounds& bounds) {
    const InputFile file(path, bounds);
    return readNpyHeader(streamOf(file, path));
}

Tensor readNpy(const std::filesystem::path& path) {
    const InputFile file(path);
    const NpyStream stream = streamOf(file, path);
    const NpyHeader header = readNpyHeader(stream);
    Tensor tensor = Tensor::onHost(header.type);
    readNpyData(stream, header, tensor.view());
    return tensor;
}

void readNpyInto(const std::filesystem::path& path, const TensorView& out, const FileBounds& bounds) {
    const InputFile file(path, bounds);
    const NpyStream stream = streamOf(file, path);
    readNpyData(stream, readNpyHeader(stream), out);
}

void writeNpy(const std::filesystem::path& path, const TensorView& tensor, const FileBounds& bounds) {
    if (!tensor.isDense())
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{}: only a contiguous tensor can be written", path.string()));
    const TensorType type{tensor.dtype, tensor.shape};
    const std::string header = makeNpyHeader(type, path.string());
    AtomicFile file(path, bounds);
    file.write(header.data(), header.size());
    file.write(tensor.data, static_cast<std::size_t>(type.byteCount()));
    file.commit();
}

} // namespace twb
