#include "core/tensor_files.h"

#include "core/error.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace twb {
namespace {

/// The rows of a tensor in memory.
class LoadedRows final : public TensorRows {
public:
    explicit LoadedRows(Tensor tensor)
        : m_tensor(std::move(tensor)), m_rowBytes(rowBytesOf(m_tensor.type())) {}

    const TensorType& type() const override { return m_tensor.type(); }
    void read(std::span<const std::int64_t> rows, void* to) const override {
        const auto* from = static_cast<const std::byte*>(m_tensor.data());
        auto* out = static_cast<std::byte*>(to);
        for (const std::int64_t row : rows) {
            std::memcpy(out, from + static_cast<std::size_t>(row) * m_rowBytes, m_rowBytes);
            out += m_rowBytes;
        }
    }

private:
    Tensor m_tensor;
    std::size_t m_rowBytes;
};

} // namespace

std::size_t rowBytesOf(const TensorType& type) {
    if (type.shape.rank() == 0) throw Error(ErrorCode::badFile, "a single number has no rows");
    if (type.shape[0] == 0) return 0;
    return static_cast<std::size_t>(type.byteCount() / type.shape[0]);
}

std::shared_ptr<const TensorRows> TensorFiles::rows(std::string_view path) const {
    Tensor tensor = Tensor::onHost(typeOf(path));
    read(path, tensor.view());
    return std::make_shared<LoadedRows>(std::move(tensor));
}

} // namespace twb
