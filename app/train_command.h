#pragma once

#include "app/placement_options.h"
#include "app/ranks.h"
#include "placement/analysis.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// What `twb train` is asked for.
struct TrainCommand {
    std::string file;
    std::int64_t epochs = 10;
    std::optional<std::int64_t> batch;
    std::string loss;
    std::vector<std::string> parameters;
    std::string optimizer;
    std::optional<double> rate;
    std::optional<double> momentum;
    std::optional<double> weightDecay;
    bool nesterov = false;
    std::string schedule;
    std::optional<std::int64_t> warmup;
    std::optional<double> clipNorm, clipValue;
    std::optional<double> averageDecay;
    std::string amp;
    std::string validation;
    std::string validationLabels;
    std::optional<std::int64_t> seed;
    std::string checkpoints;
    std::int64_t every = 0;
    int keep = 3;
    bool resume = false;
    std::string stopOn;
    std::int64_t patience = 5;
    std::string report;
    std::string trace;
    std::string weights;
    std::string output;
    std::string graph;
    std::vector<std::string> sets;
    PlacementOptions placement;
    RankOptions ranks;
    bool allowOutside = false;
    bool allowTf32 = false;
    bool syncBatchNorm = false;
    bool quiet = false;

    /// Declares the options.
    void addTo(CLI::App& command);
    /// Whether an option asks for a training module other than the one in the file.
    bool describesTraining() const {
        return !loss.empty() || !parameters.empty() || !optimizer.empty() || momentum || weightDecay ||
               nesterov || !schedule.empty() || warmup || clipNorm || clipValue || averageDecay;
    }
};

/// The graph that learns: with the batch size, the seeds and the learning rate of the command, and with a
/// training module, which is that of the file unless the command describes another one. Throws
/// Error(invalidArgument) that names the option, and Error(badGraph).
Graph trainingGraph(const TrainCommand& command, const DeviceMap& devices, Policy policy,
                    const TensorFiles& files, Graph graph);

} // namespace twb
