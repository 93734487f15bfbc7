#include "training/precision_loss.h"

#include "core/error.h"
#include "ops/op_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twb {
namespace {

/// The time of one measurement of a graph.
constexpr double kMeasuredNs = 2e8;
constexpr int kRounds = 3;

/// The tensors that sinks read, and those that nobody reads.
std::vector<std::pair<std::string, PortRef>> resultsOf(const Graph& graph) {
    std::vector<std::pair<std::string, PortRef>> out;
    std::set<PortRef> known;
    for (const Node& node : graph.nodes()) {
        const Op* op = findOp(node.op);
        if (!op || node.disabled) continue;
        std::optional<PortRef> result;
        if (op->role == OpRole::sink)
            result = graph.sourceOf({node.id, 0});
        else if (op->role != OpRole::source && !op->outputs.empty() && graph.outgoing(node.id).empty())
            result = PortRef{node.id, 0};
        if (result && known.insert(*result).second) out.emplace_back(node.name, *result);
    }
    return out;
}

struct Sums {
    double noise = 0;
    double signal = 0;
    std::int64_t agreeing = 0;
    std::int64_t compared = 0;
};

/// The place of the largest element; NaN counts as the largest.
std::int64_t placeOfLargest(const Tensor& tensor, std::int64_t begin, std::int64_t count) {
    std::int64_t best = begin;
    for (std::int64_t i = begin + 1; i < begin + count; ++i)
        if (tensor.at(i) > tensor.at(best) || (std::isnan(tensor.at(i)) && !std::isnan(tensor.at(best))))
            best = i;
    return best;
}

void add(const Tensor& before, const Tensor& after, OutputLoss& loss, Sums& sums) {
    const std::int64_t count = before.elementCount();
    if (after.shape() != before.shape())
        throw Error(ErrorCode::failed,
                    "\"" + loss.name +
                        "\" has another shape in the lower precision, so they cannot be compared");
    for (std::int64_t i = 0; i < count; ++i) {
        const double x = before.at(i);
        const double difference = x == after.at(i) ? 0 : std::abs(after.at(i) - x); // infinities may be equal
        loss.maxError = std::isnan(difference) ? difference : std::max(loss.maxError, difference);
        sums.noise += difference * difference;
        sums.signal += x * x;
    }
    if (count == 1) {
        loss.before = before.at(0);
        loss.after = after.at(0);
    }
    if (!isFloating(before.dtype())) {
        for (std::int64_t i = 0; i < count; ++i) sums.agreeing += before.at(i) == after.at(i) ? 1 : 0;
        sums.compared += count;
        return;
    }
    const int rank = before.shape().rank();
    const std::int64_t row = rank < 2 ? 1 : before.shape()[rank - 1];
    if (row < 2) return;
    for (std::int64_t begin = 0; begin < count; begin += row, ++sums.compared)
        sums.agreeing += placeOfLargest(before, begin, row) == placeOfLargest(after, begin, row) ? 1 : 0;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace

double OutputLoss::sqnr() const {
    return relativeError == 0 ? std::numeric_limits<double>::infinity() : -20 * std::log10(relativeError);
}

PrecisionLoss comparePrecision(const Graph& before, const Graph& after, const RunSetup& setup,
                               const Samples& samples, const IsCancelled& isCancelled) {
    PrecisionLoss out;
    std::set<PortRef> keep;
    for (auto& [name, output] : resultsOf(before)) {
        out.outputs.push_back({.name = name, .output = output});
        keep.insert(output);
    }
    SampleRuns first(before, setup, keep);
    SampleRuns second(after, setup, keep);
    std::vector<Sums> sums(out.outputs.size());
    for (std::size_t i = 0; i < samples.count(); ++i) {
        throwIfCancelled(isCancelled);
        const Sample sample = samples.read(i);
        const auto expected = first.run(sample);
        const auto got = second.run(sample);
        for (std::size_t k = 0; k < out.outputs.size(); ++k) {
            const PortRef output = out.outputs[k].output;
            if (expected.contains(output) && got.contains(output))
                add(expected.at(output), got.at(output), out.outputs[k], sums[k]);
        }
    }
    for (std::size_t k = 0; k < sums.size(); ++k) {
        OutputLoss& loss = out.outputs[k];
        const double ratio = sums[k].noise / sums[k].signal;
        loss.relativeError = sums[k].noise == 0 ? 0 : std::sqrt(ratio);
        if (sums[k].compared > 0)
            loss.agreement = static_cast<double>(sums[k].agreeing) / static_cast<double>(sums[k].compared);
    }
    const Sample sample = samples.read(0);
    std::vector<double> timesBefore;
    std::vector<double> timesAfter;
    for (int round = 0; round < kRounds; ++round) {
        throwIfCancelled(isCancelled);
        timesBefore.push_back(first.iterationNs(sample, kMeasuredNs));
        timesAfter.push_back(second.iterationNs(sample, kMeasuredNs));
    }
    out.nsBefore = median(timesBefore);
    out.nsAfter = median(timesAfter);
    out.isModelled = first.isModelled() || second.isModelled();
    return out;
}

} // namespace twb
