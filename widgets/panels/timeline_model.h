#pragma once

#include "profile/run_course.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace twb {

/// What ran when, by stream and by depth: a step in the body of an If, Loop or Scan lies within the one that
/// runs the body. Made once of a run's records; what a view shows is found without going through them.
class TimelineModel {
public:
    struct Bar {
        double start = 0; ///< ns from the first record's start
        double end = 0;
        std::uint32_t record = 0;
    };
    /// Of one stream and depth: none overlaps the next.
    struct Layer {
        int row = 0;
        int depth = 0;
        std::vector<Bar> bars;
    };
    /// What a view shows of a layer: one bar, or several that are too narrow to be told apart.
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
    /// Those whose copies may lie in [from, to], as these begin.
    std::span<const TensorFlow> flows(double from, double to) const;
    bool isCritical(std::uint32_t record) const { return m_isCritical[record]; }
    const Step& stepOf(std::uint32_t record) const { return m_plan->steps[m_records[record].step]; }

    /// The plan's stream of each row: those on which something ran.
    const std::vector<std::uint32_t>& streams() const noexcept { return m_streams; }
    const std::vector<Layer>& layers() const noexcept { return m_layers; }
    int rowOf(std::uint32_t record) const;
    double length() const noexcept { return m_length; } ///< ns, of all of it
    double startOf(std::uint32_t record) const { return double(m_records[record].startNs - m_first); }
    double endOf(std::uint32_t record) const { return double(m_records[record].endNs - m_first); }
    /// Where the last `iterations` iterations begin.
    double startOfLast(std::uint32_t iterations) const;

    /// Of a layer what lies in [from, to], where bars narrower than `least` ns and closer than that come as
    /// one: at most two for each `least` of the view, however many bars there are.
    std::vector<Shown> shown(const Layer& layer, double from, double to, double least) const;
    /// The record at a time on a row, the deepest one; kNone: nothing within `reach` ns.
    std::uint32_t at(int row, double ns, double reach) const;

private:
    std::shared_ptr<const Plan> m_plan;
    std::vector<StepRecord> m_records;
    RunCourse m_course;
    std::vector<TensorFlow> m_flows; ///< as their copies begin
    double m_longestCopy = 0;        ///< of them, ns
    std::vector<bool> m_isCritical;
    std::vector<std::uint32_t> m_streams;
    std::vector<int> m_rows; ///< by stream; -1: nothing ran there
    std::vector<Layer> m_layers;
    std::int64_t m_first = 0;
    double m_length = 0;
};

} // namespace twb
