#pragma once

#include "profile/run_course.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace twb {

/// The steps of a run by stream and depth: a step in the body of an If, Loop or Scan is nested in the step
/// that runs the body. Built once from a run's records; queries do not scan them.
class TimelineModel {
public:
    struct Bar {
        double start = 0; ///< ns from the start of the first record
        double end = 0;
        std::uint32_t record = 0;
    };
    /// The records of one stream and depth; they do not overlap.
    struct Layer {
        int row = 0;
        int depth = 0;
        std::vector<Bar> bars;
    };
    /// A bar of a layer: one record, or several that are too narrow to be distinguished.
    struct Shown {
        double start = 0;
        double end = 0;
        std::uint32_t record = 0; ///< of the first
        std::size_t count = 1;
    };

    TimelineModel() = default;
    TimelineModel(std::shared_ptr<const Plan> plan, std::vector<StepRecord> records);

    bool empty() const noexcept { return m_records.empty(); }
    const Plan& plan() const noexcept { return *m_plan; }
    const std::vector<StepRecord>& records() const noexcept { return m_records; }
    const RunCourse& course() const noexcept { return m_course; }
    /// The flows whose copies may overlap [from, to], sorted by start.
    std::span<const TensorFlow> flows(double from, double to) const;
    bool isCritical(std::uint32_t record) const { return m_isCritical[record]; }
    const Step& stepOf(std::uint32_t record) const { return m_plan->steps[m_records[record].step]; }

    /// The plan's stream of each row: streams with records.
    const std::vector<std::uint32_t>& streams() const noexcept { return m_streams; }
    const std::vector<Layer>& layers() const noexcept { return m_layers; }
    int rowOf(std::uint32_t record) const;
    double length() const noexcept { return m_length; } ///< ns, of the whole run
    double startOf(std::uint32_t record) const { return double(m_records[record].startNs - m_first); }
    double endOf(std::uint32_t record) const { return double(m_records[record].endNs - m_first); }
    /// The start of the last `iterations` iterations.
    double startOfLast(std::uint32_t iterations) const;

    /// The bars of a layer in [from, to]. Bars narrower than `least` ns with smaller gaps are merged, so
    /// there are at most two per `least` of the view.
    std::vector<Shown> shown(const Layer& layer, double from, double to, double least) const;
    /// The record at a time on a row, the innermost one; kNone if there is none within `reach` ns.
    std::uint32_t at(int row, double ns, double reach) const;

private:
    std::shared_ptr<const Plan> m_plan;
    std::vector<StepRecord> m_records;
    RunCourse m_course;
    std::vector<TensorFlow> m_flows; ///< sorted by start
    double m_longestCopy = 0;        ///< of the flows, ns
    std::vector<bool> m_isCritical;
    std::vector<std::uint32_t> m_streams;
    std::vector<int> m_rows; ///< by stream; -1: no records
    std::vector<Layer> m_layers;
    std::int64_t m_first = 0;
    double m_length = 0;
};

} // namespace twb
