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

/// How a tensor's elements lie in memory. Its values are the same in all of them.
enum class Layout { dense, gaps, reversed, swapped, offset };
inline constexpr Layout kLayouts[] = {Layout::dense, Layout::gaps, Layout::reversed, Layout::swapped,
                                      Layout::offset};

/// A tensor of these values (row-major), converted to `dtype`.
Tensor tensorOf(DType dtype, const Shape& shape, const std::vector<double>& values);
/// The same values in another layout, between bytes that are not part of it.
Tensor inLayout(const Tensor& dense, Layout layout);
/// A view of `tensor` that repeats it (stride 0) along axes where it has size 1 and `shape` has more.
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
    /// Up to `maxRank` axes of 0 to `maxSize`; empty and scalar shapes come up too.
    Shape shape(int maxRank, std::int64_t maxSize);
    Layout layout() { return kLayouts[integer(0, 4)]; }
    /// Values that the dtype holds exactly: reals in [low, high] for floats, whole numbers for integers.
    Tensor tensor(DType dtype, const Shape& shape, double low, double high);

private:
    std::mt19937 m_engine;
};

/// Something for each attribute of an op that must be given.
Attributes requiredAttributes(const Op& op);

/// The output types of an op. Throws InferError. An empty handle is an unconnected input; a tensor of a host
/// value input is known before the run unless `deferred`.
std::vector<TensorType> inferTypes(std::string_view op, const Attributes& attributes,
                                   const std::vector<Tensor>& inputs, const TensorFiles* files = nullptr,
                                   bool deferred = false);
/// The same from types alone.
std::vector<TensorType> inferTypes(std::string_view op, const Attributes& attributes,
                                   const std::vector<TensorType>& inputs);

/// Completes attributes, infers, and runs the host kernel on outputs that lie between sentinels. Throws what
/// these throw, and std::logic_error when the kernel wrote outside its output or into an input. Outputs that
/// `asked` says false of are not there for the kernel; without it all are.
std::vector<Tensor> runOp(std::string_view op, const Attributes& attributes,
                          const std::vector<Tensor>& inputs, const TensorFiles* files = nullptr,
                          const std::vector<bool>& asked = {});

/// Runs an op in place of its host kernel; false: it cannot.
using KernelRunner = bool (*)(const Op& op, const KernelContext& context);
/// From now on runOp asks `runner` first.
void setKernelRunner(KernelRunner runner);

/// Empty when every element of `got` is within the tolerance of `expected`; NaN must meet NaN and an infinity
/// itself. Else the first element that is not, in words. The table's tolerances are those of f32; f64 must be
/// nearer by the ratio of their precisions.
QString difference(const Tensor& got, const Shape& shape, const std::vector<double>& expected,
                   Tolerance tolerance);

/// Kind and sentence of the InferError that `f` throws, as "kind: sentence"; empty when it throws none.
QString inferError(const std::function<void()>& f);

} // namespace twb::test
