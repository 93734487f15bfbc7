#pragma once

#include "core/tensor.h"
#include "core/tensor_files.h"
#include "ops/op_table.h"

#include <QString>

#include <cstdint>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

namespace twb::test {

/// The layout of a tensor's elements in memory. The values are the same in all layouts.
enum class Layout { dense, gaps, reversed, swapped, offset };
inline constexpr Layout kLayouts[] = {Layout::dense, Layout::gaps, Layout::reversed, Layout::swapped,
                                      Layout::offset};

/// A tensor of these values (row-major), converted to `dtype`.
Tensor tensorOf(DType dtype, const Shape& shape, const std::vector<double>& values);
/// The same values in another layout, with bytes between them that do not belong to the tensor.
Tensor inLayout(const Tensor& dense, Layout layout);
/// A view of `tensor` with stride 0 along axes where it has size 1 and `shape` is larger.
Tensor repeatedTo(const Tensor& tensor, const Shape& shape);
/// All elements, row-major.
std::vector<double> valuesOf(const Tensor& tensor);

/// Seeded numbers for tests.
class Dice {
public:
    explicit Dice(std::uint32_t seed) : m_engine(seed) {}
    std::int64_t integer(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(m_engine);
    }
    double real(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(m_engine);
    }
    bool one(int in) { return integer(1, in) == 1; }
    /// A random shape of up to `maxRank` axes of 0 to `maxSize`, including empty and scalar shapes.
    Shape shape(int maxRank, std::int64_t maxSize);
    Layout layout() { return kLayouts[integer(0, 4)]; }
    /// Random values that the dtype represents exactly: reals in [low, high] for floats, whole numbers for
    /// integers.
    Tensor tensor(DType dtype, const Shape& shape, double low, double high);

private:
    std::mt19937 m_engine;
};

/// A value for each required attribute of an op.
Attributes requiredAttributes(const Op& op);

/// The output types of an op. Throws InferError. An empty handle is an unconnected input. The value of a host
/// input is known before the run unless `deferred`.
std::vector<TensorType> inferTypes(std::string_view op, const Attributes& attributes,
                                   const std::vector<Tensor>& inputs, const TensorFiles* files = nullptr,
                                   bool deferred = false);
/// The same from types alone.
std::vector<TensorType> inferTypes(std::string_view op, const Attributes& attributes,
                                   const std::vector<TensorType>& inputs);

/// Completes attributes, infers, and runs the host kernel with sentinels around its outputs. Throws their
/// errors, and std::logic_error if the kernel wrote outside its output or into an input. Outputs with a false
/// entry in `asked` are absent for the kernel; without `asked` all are present. Inputs that the op updates
/// (Op::updates) are copied first; the outputs are the copies.
std::vector<Tensor> runOp(std::string_view op, const Attributes& attributes,
                          const std::vector<Tensor>& inputs, const TensorFiles* files = nullptr,
                          const std::vector<bool>& asked = {});

/// Runs an op in place of its host kernel; returns false if it cannot.
using KernelRunner = bool (*)(const Op& op, const KernelContext& context);
/// Makes runOp call `runner` first.
void setKernelRunner(KernelRunner runner);

/// Empty if every element of `got` is within the tolerance of `expected`; NaN must match NaN, and infinities
/// must be equal. Otherwise describes the first wrong element. The table's tolerances are for f32; f64's are
/// smaller by the ratio of the precisions.
QString difference(const Tensor& got, const Shape& shape, const std::vector<double>& expected,
                   Tolerance tolerance);

/// The kind and sentence of the InferError that `f` throws, as "kind: sentence"; empty if it throws none.
QString inferError(const std::function<void()>& f);

} // namespace twb::test
