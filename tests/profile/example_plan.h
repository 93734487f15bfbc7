#pragma once

#include "backends/simulated/simulated_backend.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

namespace twb::test {

/// "images" is made on cpu before the iterations; each iteration copies it to a simulated cuda:0, where "fc1"
/// reads it and "relu" overwrites fc1's result, which is kept. Steps: 0 images, 1 the copy, 2 fc1, 3 relu.
inline std::shared_ptr<Plan> examplePlan() {
    auto plan = std::make_shared<Plan>();
    DeviceProfile profile;
    profile.id = "test";
    profile.name = "Test GPU";
    profile.memoryBytes = 1'000'000;
    profile.linkPinnedGBps = profile.linkPageableGBps = profile.memoryGBps = 1;
    plan->devices.set(Device::cuda(0), makeSimulatedBackend(Device::cuda(0), profile), true);
    plan->virtualClock = true;
    plan->streams = {{Device::cpu(), QueueKind::compute, "cpu compute"},
                     {Device::cuda(0), QueueKind::hostToDevice, "cuda:0 host→device"},
                     {Device::cuda(0), QueueKind::compute, "cuda:0 compute"}};

    const TensorType images{DType::f32, {10, 64}};
    const TensorType hidden{DType::f32, {10, 32}};
    const auto value = [](std::uint64_t node, const TensorType& type, Device device) {
        PlanValue v;
        v.source = {NodeId(node), 0};
        v.type = type;
        v.device = device;
        return v;
    };
    plan->values = {value(1, images, Device::cpu()), value(2, images, Device::cuda(0)),
                    value(3, hidden, Device::cuda(0)), value(4, hidden, Device::cuda(0))};
    plan->values[3].kept = true;

    Transfer transfer;
    transfer.from = {NodeId(1), 0};
    transfer.to = {NodeId(3), 0};
    transfer.node = NodeId(2);
    transfer.target = Device::cuda(0);
    transfer.bytes = 2560;
    transfer.modelled = true;
    transfer.predictedNs = 2560;
    transfer.label = "images → cuda:0";
    plan->transfers = {transfer};

    const auto step = [&](std::uint64_t node, std::uint32_t stream, std::vector<std::uint32_t> inputs,
                          std::uint32_t output, std::string label) {
        Step s;
        s.index = static_cast<std::uint32_t>(plan->steps.size());
        s.node = NodeId(node);
        s.stream = stream;
        s.inputs = std::move(inputs);
        s.outputs = {output};
        s.label = std::move(label);
        plan->steps.push_back(s);
    };
    step(1, 0, {}, 0, "images");
    step(2, 1, {0}, 1, "to \"gpu\"");
    step(3, 2, {1, kNone}, 2, "fc1");
    step(4, 2, {2}, 3, "relu");
    plan->steps[0].setup = true;
    plan->steps[1].transfer = 0;
    plan->steps[3].inPlaceOf = 2;
    plan->setupSteps = 1;
    return plan;
}

/// Records of two iterations.
inline std::vector<StepRecord> exampleRecords() {
    const auto done = [](std::uint32_t step, std::uint32_t iteration, std::int64_t start, std::int64_t end,
                         std::uint64_t bytes = 0) {
        return StepRecord{step, iteration, StepState::done, start, end, {}, bytes};
    };
    return {done(0, 0, 0, 1500),    done(1, 0, 2000, 4560, 2560), done(2, 0, 4560, 5000),
            done(3, 0, 5000, 5001), done(1, 1, 5000, 7560, 2560), done(2, 1, 7560, 8000),
            done(3, 1, 8000, 8000)};
}

} // namespace twb::test
