#include "profile/example_plan.h"
#include "profile/trace.h"
#include "profile/trace_memory.h"
#include "support/test_main.h"

#include <QFloat16>

#include <nlohmann/json.hpp>

#include <map>
#include <sstream>

using namespace twb;
using nlohmann::json;

namespace {

json traceOf(const std::shared_ptr<const Plan>& plan, const std::vector<StepRecord>& records,
             std::size_t limit = 1000) {
    TraceRecorder recorder(plan, limit);
    recorder.add(records);
    std::ostringstream out;
    recorder.write(out);
    return json::parse(out.str());
}

std::vector<json> events(const json& trace, const std::string& phase) {
    std::vector<json> out;
    for (const json& event : trace.at("traceEvents"))
        if (event.at("ph") == phase) out.push_back(event);
    return out;
}

std::int64_t ns(const json& us) { return std::llround(us.get<double>() * 1000); }

} // namespace

class TestTrace : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void slicesCarryTheExactTimes() {
        const json trace = traceOf(test::examplePlan(), test::exampleRecords());
        const auto slices = events(trace, "X");
        QCOMPARE(slices.size(), 7U);
        std::map<std::pair<int, int>, std::int64_t> end;
        for (const json& slice : slices) {
            QVERIFY(slice.at("pid").is_number_integer());
            QVERIFY(slice.at("tid").is_number_integer());
            const std::pair<int, int> track{slice.at("pid"), slice.at("tid")};
            // In order on one track, without overlap.
            QVERIFY(ns(slice.at("ts")) >= end[track]);
            end[track] = ns(slice.at("ts")) + ns(slice.at("dur"));
        }
        QCOMPARE(slices[0].at("name"), "images");
        QCOMPARE(ns(slices[0].at("dur")), 1500);
        QCOMPARE(slices[0].at("args").at("clock"), "measured");
        const json& copy = slices[1];
        QCOMPARE(copy.at("name"), "to \"gpu\"");
        QCOMPARE(ns(copy.at("ts")), 2000);
        QCOMPARE(ns(copy.at("dur")), 2560);
        QCOMPARE(copy.at("args").at("bytes"), 2560);
        QCOMPARE(copy.at("args").at("gb_per_s"), 1.0);
        QCOMPARE(copy.at("args").at("clock"), "modelled");
    }

    void aCopySaysHowLongItWaited() {
        std::vector<StepRecord> records = test::exampleRecords();
        QVERIFY(records[1].bytes > 0);
        records[1].waitNs = 2500;
        const json trace = traceOf(test::examplePlan(), records);
        const json args = events(trace, "X")[1].at("args");
        QCOMPARE(args.at("bytes"), records[1].bytes);
        QCOMPARE(args.at("wait_us"), 2.5);
    }

    void processesSayWhatTheirTimesAre() {
        const json trace = traceOf(test::examplePlan(), test::exampleRecords());
        std::map<int, std::string> processes;
        std::map<std::pair<int, int>, std::string> threads;
        for (const json& event : events(trace, "M")) {
            if (event.at("name") == "process_name") processes[event.at("pid")] = event.at("args").at("name");
            if (event.at("name") == "thread_name")
                threads[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
        }
        QCOMPARE(processes.size(), 2U);
        QVERIFY(processes[1].starts_with("cpu "));
        QVERIFY(processes[1].ends_with("(measured durations, modelled start times)"));
        QVERIFY(processes[2].starts_with("cuda:0 "));
        QVERIFY(processes[2].ends_with("(modelled)"));
        for (const json& slice : events(trace, "X"))
            QVERIFY(threads.contains({slice.at("pid"), slice.at("tid")}));
        QCOMPARE(trace.at("otherData").at("clock"), "modelled");
    }

    void aRunWithoutSimulationClaimsNothing() {
        auto plan = test::examplePlan();
        plan->devices = DeviceMap();
        plan->virtualClock = false;
        for (PlanStream& stream : plan->streams) stream.device = Device::cpu();
        for (PlanValue& value : plan->values) value.device = Device::cpu();
        plan->transfers[0].modelled = false;
        const json trace = traceOf(plan, test::exampleRecords());
        QVERIFY(trace.dump().find("modelled") == std::string::npos);
    }

    void arrowsLeadFromProducerOverTransferToConsumer() {
        const json trace = traceOf(test::examplePlan(), test::exampleRecords());
        const auto starts = events(trace, "s");
        const auto steps = events(trace, "t");
        const auto ends = events(trace, "f");
        QCOMPARE(starts.size(), 2U); // one per iteration
        QCOMPARE(steps.size(), 2U);
        QCOMPARE(ends.size(), 2U);
        for (std::size_t i = 0; i < starts.size(); ++i) {
            QCOMPARE(starts[i].at("id"), steps[i].at("id"));
            QCOMPARE(starts[i].at("id"), ends[i].at("id"));
            QCOMPARE(starts[i].at("cat"), ends[i].at("cat"));
            QCOMPARE(starts[i].at("name"), ends[i].at("name"));
            QVERIFY(ns(starts[i].at("ts")) <= ns(steps[i].at("ts")));
            QVERIFY(ns(steps[i].at("ts")) <= ns(ends[i].at("ts")));
            QCOMPARE(ends[i].at("bp"), "e");
            // Each end of an arrow is within a slice of its track.
            for (const json& end : {starts[i], steps[i], ends[i]}) {
                const auto slices = events(trace, "X");
                QVERIFY(std::any_of(slices.begin(), slices.end(), [&](const json& slice) {
                    return slice.at("pid") == end.at("pid") && slice.at("tid") == end.at("tid") &&
                           ns(slice.at("ts")) <= ns(end.at("ts")) &&
                           ns(end.at("ts")) < ns(slice.at("ts")) + ns(slice.at("dur"));
                }));
            }
        }
        QVERIFY(starts[0].at("id") != starts[1].at("id"));
        QCOMPARE(ns(ends[1].at("ts")), 7560);
    }

    void memoryRisesAndFallsWithTheTensors() {
        const auto samples = liveMemory(*test::examplePlan(), test::exampleRecords());
        std::vector<std::pair<std::int64_t, std::uint64_t>> cuda;
        for (const MemorySample& sample : samples) {
            if (sample.device.isCpu()) {
                QCOMPARE(sample.ns, 0); // made before the iterations, so it stays
                QCOMPARE(sample.bytes, 2560U);
            } else {
                cuda.emplace_back(sample.ns, sample.bytes);
            }
        }
        // The copy (2560 B) lives until fc1 has read it; fc1's result (1280 B), which relu overwrites, is
        // kept.
        const std::vector<std::pair<std::int64_t, std::uint64_t>> wanted{
            {2000, 2560}, {4560, 3840}, {5000, 3840}, {8000, 1280}};
        QCOMPARE(cuda.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            QCOMPARE(cuda[i].first, wanted[i].first);
            QCOMPARE(cuda[i].second, wanted[i].second);
        }
        const auto counters = events(traceOf(test::examplePlan(), test::exampleRecords()), "C");
        QCOMPARE(counters.size(), samples.size());
    }

    void hostileNamesStayJson() {
        auto plan = test::examplePlan();
        plan->steps[0].label = "a\"b\\c\n\x01</script>";
        plan->steps[2].label = "🚀 \xff\xfe";
        plan->streams[0].label = "\"";
        const auto slices = events(traceOf(plan, test::exampleRecords()), "X");
        QCOMPARE(slices[0].at("name"), "a\"b\\c\n\x01</script>");
        QCOMPARE(slices[3].at("name"), "🚀 \uFFFD\uFFFD");
    }

    void beyondTheLimitItCountsWhatItLeavesOut() {
        const json trace = traceOf(test::examplePlan(), test::exampleRecords(), 3);
        QCOMPARE(events(trace, "X").size(), 3U);
        QCOMPARE(trace.at("otherData").at("events_left_out"), 4);
    }

    void anEmptyRunIsAValidTrace() {
        const json trace = traceOf(std::make_shared<Plan>(), {});
        QVERIFY(trace.at("traceEvents").empty());
    }

    void whatDidNotRunHasNoSlice() {
        auto records = test::exampleRecords();
        for (StepRecord& record : records) record.state = StepState::poisoned;
        QVERIFY(events(traceOf(test::examplePlan(), records), "X").empty());
    }
};

TWB_TEST_MAIN(TestTrace)
#include "test_trace.moc"
