#include "support/op_runner.h"

#include "backends/cpu/elementwise.h"
#include "ops/cast.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace twb::test {
namespace {

constexpr std::size_t kGuard = 64;
constexpr unsigned char kSentinel = 0xA5;

template <class T> void store(const Tensor& tensor, const std::vector<double>& values) {
    auto* out = static_cast<T*>(tensor.data());
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(values[i]);
}

/// The offset of element `index` (row-major) from the view's start, in elements.
std::int64_t position(const Shape& shape, const Strides& strides, std::int64_t index) {
    std::int64_t at = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        at += index % shape[axis] * strides[static_cast<std::size_t>(axis)];
        index /= shape[axis];
    }
    return at;
}

/// Storage for the elements [low, high] of a view, filled with sentinels.
Tensor guarded(const TensorType& type, const Strides& strides) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const bool empty = type.shape.elementCount() == 0;
    for (int axis = 0; axis < type.shape.rank() && !empty; ++axis) {
        const std::int64_t reach = (type.shape[axis] - 1) * strides[static_cast<std::size_t>(axis)];
        (reach < 0 ? low : high) += reach;
    }
    const auto size = static_cast<std::int64_t>(sizeOf(type.dtype));
    const auto bytes = static_cast<std::size_t>((high - low + 1) * size) + 2 * kGuard;
    const BufferPtr buffer = hostAllocator().allocate(bytes, MemoryKind::pageable);
    std::memset(buffer->data(), kSentinel, buffer->size());
    return {buffer, type, strides, static_cast<std::int64_t>(kGuard) / size - low};
}

void copyInto(const Tensor& from, const Tensor& to) {
    const std::size_t size = sizeOf(from.dtype());
    for (std::int64_t i = 0; i < from.elementCount(); ++i)
        std::memcpy(static_cast<std::byte*>(to.data()) +
                        position(to.shape(), to.strides(), i) * static_cast<std::int64_t>(size),
                    static_cast<const std::byte*>(from.data()) +
                        position(from.shape(), from.strides(), i) * static_cast<std::int64_t>(size),
                    size);
}

std::vector<unsigned char> bytesOf(const Tensor& tensor) {
    if (!tensor) return {};
    const auto* bytes = static_cast<const unsigned char*>(tensor.buffer()->data());
    return {bytes, bytes + tensor.buffer()->size()};
}

void checkGuards(const Tensor& output) {
    const std::vector<unsigned char> bytes = bytesOf(output);
    const auto begin = static_cast<std::size_t>(static_cast<const unsigned char*>(output.data()) -
                                                static_cast<const unsigned char*>(output.buffer()->data()));
    const std::size_t end = begin + static_cast<std::size_t>(output.byteCount());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if ((i < begin || i >= end) && bytes[i] != kSentinel)
            throw std::logic_error("the kernel wrote outside its output");
}

const Op& opNamed(std::string_view name) {
    const Op* op = findOp(name);
    if (!op) throw std::logic_error("there is no op " + std::string(name));
    return *op;
}

std::vector<TensorType> infer(const Op& op, const Attributes& complete,
                              const std::vector<const TensorType*>& types,
                              const std::vector<const Tensor*>& values, const TensorFiles* files) {
    std::vector<TensorType> outputs(static_cast<std::size_t>(op.outputCount(complete)));
    InferContext context(op, complete, types, values, files, outputs);
    op.infer(context);
    return outputs;
}

KernelRunner kernelRunner = nullptr;

} // namespace

Tensor tensorOf(DType dtype, const Shape& shape, const std::vector<double>& values) {
    Tensor tensor = Tensor::onHost({dtype, shape});
    if (static_cast<std::size_t>(tensor.elementCount()) != values.size())
        throw std::logic_error("as many values as the shape holds are needed");
    switch (dtype) {
    case DType::f32:
        store<float>(tensor, values);
        break;
    case DType::f64:
        store<double>(tensor, values);
        break;
    case DType::i8:
        store<std::int8_t>(tensor, values);
        break;
    case DType::i16:
        store<std::int16_t>(tensor, values);
        break;
    case DType::i32:
        store<std::int32_t>(tensor, values);
        break;
    case DType::i64:
        store<std::int64_t>(tensor, values);
        break;
    case DType::u8:
        store<std::uint8_t>(tensor, values);
        break;
    case DType::u16:
        store<std::uint16_t>(tensor, values);
        break;
    case DType::u32:
        store<std::uint32_t>(tensor, values);
        break;
    case DType::u64:
        store<std::uint64_t>(tensor, values);
        break;
    case DType::boolean:
        store<bool>(tensor, values);
        break;
    case DType::f16:
        store<Half>(tensor, values);
        break;
    case DType::bf16:
        store<BFloat16>(tensor, values);
        break;
    default:
        convertElements(tensorOf(DType::f64, shape, values).view(), tensor.view());
    }
    return tensor;
}

Tensor inLayout(const Tensor& dense, Layout layout) {
    if (isPacked(dense.dtype())) return dense; // has only one layout
    const Shape& shape = dense.shape();
    Strides strides = denseStrides(shape);
    switch (layout) {
    case Layout::dense:
        return dense;
    case Layout::offset:
        break;
    case Layout::gaps:
        for (std::int64_t& stride : strides) stride *= 3;
        break;
    case Layout::reversed:
        for (std::int64_t& stride : strides) stride = -stride;
        break;
    case Layout::swapped: {
        std::int64_t step = 1;
        for (int axis = 0; axis < shape.rank(); ++axis) {
            strides[static_cast<std::size_t>(axis)] = step;
            step *= std::max<std::int64_t>(shape[axis], 1);
        }
        break;
    }
    }
    Tensor out = guarded(dense.type(), strides);
    copyInto(dense, out);
    return out;
}

Tensor repeatedTo(const Tensor& tensor, const Shape& shape) {
    Strides strides(static_cast<std::size_t>(shape.rank()), 0);
    const int lead = shape.rank() - tensor.shape().rank();
    for (int axis = lead; axis < shape.rank(); ++axis)
        if (tensor.shape()[axis - lead] == shape[axis])
            strides[static_cast<std::size_t>(axis)] = tensor.strides()[static_cast<std::size_t>(axis - lead)];
    const auto offset = (static_cast<const std::byte*>(tensor.data()) -
                         static_cast<const std::byte*>(tensor.buffer()->data())) /
                        static_cast<std::ptrdiff_t>(sizeOf(tensor.dtype()));
    return {tensor.buffer(), {tensor.dtype(), shape}, std::move(strides), offset};
}

std::vector<double> valuesOf(const Tensor& tensor) {
    std::vector<double> values(static_cast<std::size_t>(tensor.elementCount()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.at(static_cast<std::int64_t>(i));
    return values;
}

Shape Dice::shape(int maxRank, std::int64_t maxSize) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(integer(0, maxRank)));
    for (std::int64_t& size : dims) size = one(12) ? 0 : integer(1, maxSize);
    return Shape(std::move(dims));
}

Tensor Dice::tensor(DType dtype, const Shape& shape, double low, double high) {
    std::vector<double> values(static_cast<std::size_t>(shape.elementCount()));
    for (double& value : values) {
        value = isFloating(dtype) ? real(low, high)
                                  : static_cast<double>(integer(static_cast<std::int64_t>(std::ceil(low)),
                                                                static_cast<std::int64_t>(std::floor(high))));
        if (dtype == DType::f32) value = static_cast<float>(value);
        if (dtype == DType::f16) value = static_cast<float>(Half(value));
        if (dtype == DType::bf16) value = static_cast<float>(BFloat16(value));
        if (dtype == DType::boolean) value = integer(0, 1) == 1 ? 1 : 0;
    }
    return tensorOf(dtype, shape, values);
}

Attributes requiredAttributes(const Op& op) {
    Attributes given;
    for (const AttributeSpec& spec : op.attributes) {
        if (!spec.required || spec.defaultValue) continue;
        if (!spec.choices.empty())
            given.set(spec.name, spec.choices.front());
        else if (spec.type == AttributeType::file || spec.type == AttributeType::text)
            given.set(spec.name, std::string("a.npy"));
        else
            given.set(spec.name, std::int64_t{1});
    }
    return given;
}

std::vector<TensorType> inferTypes(std::string_view name, const Attributes& attributes,
                                   const std::vector<Tensor>& inputs, const TensorFiles* files,
                                   bool deferred) {
    const Op& op = opNamed(name);
    const Attributes complete = completeAttributes(op, attributes);
    std::vector<const TensorType*> types;
    std::vector<const Tensor*> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        types.push_back(inputs[i] ? &inputs[i].type() : nullptr);
        const PortSpec& port = op.inputAt(static_cast<int>(i));
        const bool known = inputs[i] && (port.hostValue || port.shapesOutput) && !deferred;
        values.push_back(known ? &inputs[i] : nullptr);
    }
    return infer(op, complete, types, values, files);
}

std::vector<TensorType> inferTypes(std::string_view name, const Attributes& attributes,
                                   const std::vector<TensorType>& inputs) {
    const Op& op = opNamed(name);
    std::vector<const TensorType*> types;
    for (const TensorType& type : inputs) types.push_back(&type);
    return infer(op, completeAttributes(op, attributes), types, {}, nullptr);
}

void setKernelRunner(KernelRunner runner) { kernelRunner = runner; }

std::vector<Tensor> runOp(std::string_view name, const Attributes& attributes,
                          const std::vector<Tensor>& inputs, const TensorFiles* files,
                          const std::vector<bool>& asked) {
    const Op& op = opNamed(name);
    const Attributes complete = completeAttributes(op, attributes);
    std::vector<TensorView> inputViews;
    std::vector<std::vector<unsigned char>> before;
    for (const Tensor& input : inputs) {
        inputViews.push_back(input ? input.view() : TensorView{});
        before.push_back(bytesOf(input));
    }
    std::vector<Tensor> outputs;
    std::vector<TensorView> outputViews;
    for (const TensorType& type : inferTypes(name, attributes, inputs, files)) {
        const bool wanted = asked.empty() || asked[outputs.size()];
        outputs.push_back(guarded(type, denseStrides(type.shape)));
        outputViews.push_back(outputs.back().view());
        if (!wanted) outputViews.back().data = nullptr;
    }
    for (std::size_t i = 0; i < op.updates.size(); ++i) { // these outputs are the inputs' own memory
        const auto input = static_cast<std::size_t>(op.updates[i]);
        if (input >= inputs.size() || !inputs[input]) {
            outputViews[i].data = nullptr;
            continue;
        }
        copyElements(inputViews[input], outputViews[i]);
        inputViews[input] = outputViews[i];
    }
    const KernelContext context{inputViews, outputViews, complete, files};
    if (!kernelRunner || !kernelRunner(op, context)) op.kernel(context);
    for (const Tensor& output : outputs) checkGuards(output);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (before[i] != bytesOf(inputs[i])) throw std::logic_error("the kernel wrote into an input");
    return outputs;
}

QString difference(const Tensor& got, const Shape& shape, const std::vector<double>& expected,
                   Tolerance tolerance) {
    if (got.shape() != shape)
        return QStringLiteral("shape %1, expected %2")
            .arg(QString::fromStdString(got.shape().toTorchString()),
                 QString::fromStdString(shape.toTorchString()));
    if (got.dtype() == DType::f64) {
        // 2^-53 / 2^-24, with room for an error in the last digit or two.
        tolerance.rtol *= 4 * 0x1p-29;
        tolerance.atol *= 4 * 0x1p-29;
    }
    // An f32 result is rounded once more: half a unit in the last place, and half the spacing of subnormals.
    if (got.dtype() == DType::f16) {
        tolerance.rtol += 0x1.01p-11;
        tolerance.atol += 0x1.01p-25;
    }
    if (got.dtype() == DType::bf16) tolerance.rtol += 0x1.01p-8;
    for (std::int64_t i = 0; i < got.elementCount(); ++i) {
        const double value = got.at(i);
        double exact = expected[static_cast<std::size_t>(i)];
        if (got.dtype() == DType::f16 && std::abs(exact) >= 65520)
            exact = std::copysign(std::numeric_limits<double>::infinity(), exact);
        const bool good = std::isnan(exact) ? std::isnan(value)
                          : std::isinf(exact)
                              ? value == exact
                              : std::abs(value - exact) <= tolerance.atol + tolerance.rtol * std::abs(exact);
        if (!good)
            return QStringLiteral("element %1 of %2 is %3, expected %4")
                .arg(i)
                .arg(QString::fromStdString(got.type().toString()))
                .arg(value, 0, 'g', 17)
                .arg(exact, 0, 'g', 17);
    }
    return {};
}

QString inferError(const std::function<void()>& f) {
    try {
        f();
    } catch (const InferError& error) {
        return QString::fromStdString(error.kind() + ": " + error.what());
    }
    return {};
}

} // namespace twb::test
