#include "ops/op_table.h"
#include "profile/example_plan.h"
#include "profile/plan_text.h"
#include "profile/rank_report.h"
#include "profile/report.h"
#include "profile/run_course.h"
#include "profile/run_trace.h"
#include "profile/trace.h"
#include "support/rank_trace.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "support/test_main.h"

#include <QFile>
#include <QSysInfo>
#include <QTemporaryDir>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <latch>
#include <sstream>
#include <thread>

using namespace twb;
using namespace twb::test;
using nlohmann::json;

namespace {

/// The example as a run on a real clock, with its copy as a call over all ranks.
std::shared_ptr<Plan> planWithCall() {
    const auto plan = examplePlan();
    plan->producers = {0, 1, 2, 3};
    plan->virtualClock = false;
    plan->transfers[0].kind = TransferKind::collective;
    return plan;
}

struct Folder {
    QTemporaryDir folder;
    std::filesystem::path save(const std::string& text) const {
        QFile file(folder.filePath(QStringLiteral("t.json")));
        if (file.open(QIODevice::WriteOnly)) file.write(text.data(), qint64(text.size()));
        return file.fileName().toStdString();
    }
};

/// Rank r starts r times 5 ms later.
std::string traceOfRanks(int ranks, const std::shared_ptr<const Plan>& plan = planWithCall()) {
    std::string out;
    const auto errors = onRanks(ranks, [&](const std::shared_ptr<World>& world) {
        TraceRecorder recorder(plan);
        recorder.add(exampleRecords());
        const std::vector<RankPace> paces(std::size_t(ranks), {1000, 2, 10, 0});
        std::ostringstream text;
        recorder.writeTogether(text, *world, 77'000'000 + world->rank() * 5'000'000, paces);
        if (world->rank() == 0) out = text.str();
    });
    for (const std::string& error : errors)
        if (!error.empty()) qFatal("%s", error.c_str());
    return out;
}

/// Of one rank, with its plan changed.
QByteArray traceWith(const std::function<void(json&)>& change) {
    json plan = planToJson(*planWithCall());
    change(plan);
    const json event{
        {"name", "twb_plan"}, {"ph", "M"}, {"pid", 1}, {"args", {{"rank", 0}, {"plan", plan.dump()}}}};
    return QByteArray::fromStdString(json{{"traceEvents", json::array({event})}}.dump());
}

/// The report of two ranks. Rank 1 is late for its start-up and, if `isLate`, for the call of the plan.
RankReport reportOfRanks(bool isLate, bool isModelled) {
    constexpr auto late = std::chrono::milliseconds(2000);
    std::latch first(1), second(1); // rank 0 is about to call
    RankReport out;
    const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
        const auto plan = planWithCall();
        plan->virtualClock = isModelled && world->rank() == 1;
        for (const std::string& label : {std::string("start-up"), plan->steps[1].label}) {
            std::latch& isCalling = label == "start-up" ? first : second;
            if (world->rank() == 0) isCalling.count_down();
            if (world->rank() == 1 && (isLate || label == "start-up")) {
                isCalling.wait();
                std::this_thread::sleep_for(late);
            }
            Collective call;
            call.label = label;
            world->run(call);
        }
        const RankReport report = reportRanks(*world, {1e9, 1, 10}, *plan);
        if (world->rank() == 0) out = report;
    });
    for (const std::string& error : errors)
        if (!error.empty()) qFatal("%s", error.c_str());
    return out;
}

json jointTrace(const DividedJob& job) {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("t.json"));
    job.writeTrace(path, 2);
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) qFatal("cannot read %s", qPrintable(path));
    return json::parse(file.readAll().toStdString());
}

/// By rank, when its first step starts, in µs.
std::map<int, double> startsOf(const json& trace) {
    std::map<int, double> out;
    for (const json& event : trace.at("traceEvents"))
        if (event.at("ph") == "X") {
            const double start = event.at("ts");
            const auto [at, isNew] = out.try_emplace(event.at("pid").get<int>() / kPidsPerRank, start);
            if (!isNew) at->second = std::min(at->second, start);
        }
    return out;
}

} // namespace

class TestRunTrace : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void oneFileHasAProcessForEachRankOnOneClock() {
        const json trace = json::parse(traceOfRanks(3));
        std::map<int, std::string> names;
        std::map<int, std::string> hardware;
        std::set<std::string> tracks;
        std::map<int, std::vector<double>> starts; // by rank, in µs
        std::map<std::uint64_t, std::set<int>> arrows;
        for (const json& event : trace.at("traceEvents")) {
            const int pid = event.at("pid");
            if (event.at("name") == "process_name") names[pid] = event.at("args").at("name");
            if (event.at("name") == "process_labels") hardware[pid] = event.at("args").at("labels");
            if (event.at("name") == "thread_name") tracks.insert(event.at("args").at("name"));
            if (event.at("ph") == "X") starts[pid / kPidsPerRank].push_back(event.at("ts"));
            if (event.contains("id")) arrows[event.at("id")].insert(pid / kPidsPerRank);
        }
        QCOMPARE(names.size(), std::size_t(3));
        const std::string host = QSysInfo::machineHostName().toStdString();
        for (const auto& [pid, name] : names)
            QCOMPARE(name, fmt::format("rank {} on {}", pid / kPidsPerRank, host));
        QCOMPARE(tracks, (std::set<std::string>{"cpu compute", "cuda:0 host→device (modelled)",
                                                "cuda:0 compute (modelled)"}));
        QVERIFY(hardware.size() == 3 && hardware.begin()->second.starts_with("cpu  "));
        QCOMPARE(starts.size(), std::size_t(3));
        for (std::size_t i = 0; i < starts[0].size(); ++i)
            for (const int rank : {1, 2}) QCOMPARE(starts[rank][i], starts[0][i] + 5000.0 * rank);
        for (const auto& [id, ranks] : arrows) QCOMPARE(ranks.size(), std::size_t(1));
    }

    void aTraceOfOneRunIsReadAgain() {
        const auto plan = planWithCall();
        TraceRecorder recorder(plan);
        recorder.add(exampleRecords());
        std::ostringstream text;
        recorder.write(text);
        const Folder folder;
        const RunTrace read = readRunTrace(folder.save(text.str()));
        QCOMPARE(read.plan->steps.size(), plan->steps.size());
        QCOMPARE(read.plan->streams[1].label, plan->streams[1].label);
        QVERIFY(read.ranks.empty());
        std::vector<StepRecord> wanted = exampleRecords();
        std::erase_if(wanted, [](const StepRecord& r) { return r.state != StepState::done; });
        QCOMPARE(read.records.size(), wanted.size());
        Ledger before(plan);
        Ledger after(read.plan);
        before.add(wanted);
        after.add(read.records);
        QCOMPARE(after.rows()[0].totalNs, before.rows()[0].totalNs);
        QCOMPARE(after.rows()[0].bytes, before.rows()[0].bytes);
        QCOMPARE(after.rows()[0].waitNs, before.rows()[0].waitNs);
    }

    void ranksBecomeTracksAndTheirCallsWaitForEachOther() {
        const Folder folder;
        const auto plan = planWithCall();
        const RunTrace read = readRunTrace(folder.save(traceOfRanks(2)));
        QCOMPARE(std::ranges::count(read.isOfGraph, true), std::ptrdiff_t(plan->steps.size()));
        QVERIFY(read.isOfGraph[0] && !read.isOfGraph.back());
        QCOMPARE(read.plan->steps.size(), 2 * plan->steps.size());
        QCOMPARE(read.plan->streams[0].label, std::string("rank0/cpu compute"));
        QCOMPARE(read.plan->streams.back().label, std::string("rank1/cuda:0 compute"));
        QCOMPARE(read.plan->transfers[1].label, std::string("rank1/images → cuda:0"));
        QCOMPARE(read.ranks.size(), std::size_t(2));
        QCOMPARE(read.ranks[1].samplesPerSecond, 10.0);
        // Rank 0's call starts after what rank 1 passes to it, which is later.
        const std::uint32_t call = 1;
        const auto images = std::uint32_t(plan->steps.size());
        QVERIFY(std::ranges::find(read.plan->steps[call].waits, images) !=
                read.plan->steps[call].waits.end());
        RunTimeline timeline(read.plan);
        timeline.add(read.records);
        timeline.finish();
        courseOf(*read.plan, read.records); // refers only to what is there
    }

    /// What is simulated on one rank may be real on another.
    void unlikeRanksKeepTheirDevices() {
        const auto modelled = planWithCall();
        modelled->virtualClock = true;
        QByteArray text = QByteArray::fromStdString(traceOfRanks(2, modelled));
        const QByteArray simulated = R"(\"simulated\":true)";
        text.replace(text.indexOf(simulated), simulated.size(), R"(\"simulated\":false)");
        const Folder folder;
        const RunTrace read = readRunTrace(folder.save(text.toStdString()));
        const Plan& plan = *read.plan;
        QVERIFY(!plan.devices.isSimulated(Device::cuda(0)));
        QVERIFY(plan.devices.isSimulated(Device::cuda(0, 1)));
        QCOMPARE(plan.streams.back().device, Device::cuda(0, 1));
        QCOMPARE(plan.devices.at(Device::cuda(0, 1)).info().device, Device::cuda(0, 1));
        QVERIFY(!isModelled(plan, plan.steps[3]) && isModelled(plan, plan.steps[7]));
        QCOMPARE(plan.bytesOn(Device::cuda(0, 1)), plan.bytesOn(Device::cuda(0)));
    }

    /// Each rank has computed its own nodes.
    void theRanksOfADividedGraphAreOneTrace() {
        const DividedJob job;
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("t.json"));
        job.writeTrace(path, 2);
        const RunTrace read = readRunTrace(path.toStdString());
        const Plan& plan = *read.plan;
        std::map<std::string, Device> devices;  // of the steps that count, by label
        std::map<bool, std::uint32_t> messages; // of "there", by whether the rank has received it
        for (const Step& step : plan.steps) {
            const Device device = plan.streams[step.stream].device;
            if (read.isOfGraph[step.index]) devices[step.label] = device;
            if (step.node == job.there && step.op) messages[device.rank == 1] = step.index;
        }
        QCOMPARE(devices.at("x"), Device::cpu());
        QCOMPARE(devices.at("product"), Device::cuda(0, 1));
        QCOMPARE(devices.at("difference"), Device::cpu());
        QCOMPARE(messages.size(), std::size_t(2));
        QVERIFY(read.isOfGraph[messages[true]] && !read.isOfGraph[messages[false]]);
        const std::uint32_t sent = plan.producers[plan.steps[messages[false]].inputs[0]];
        QCOMPARE(std::ranges::count(plan.steps[messages[true]].waits, sent), std::ptrdiff_t(1));
        QVERIFY(plan.valueOf({job.product, 0}) != kNone && plan.valueOf({job.difference, 0}) != kNone);
        courseOf(plan, read.records); // refers only to what is there
    }

    /// On one clock, an arrow leads from the sender of each message to its receiver.
    void messagesHaveArrowsOnOneClock() {
        const json trace = jointTrace(DividedJob("rank1/cpu"));
        QCOMPARE(trace.at("otherData").at("clock"), "measured");
        std::map<std::pair<std::string, int>, std::map<std::string, int>> arrows;
        for (const json& event : trace.at("traceEvents"))
            if (event.value("cat", "") == "message")
                arrows[{event.at("name"), event.at("id")}][event.at("ph")] =
                    event.at("pid").get<int>() / kPidsPerRank;
        QCOMPARE(arrows.size(), std::size_t(4)); // there and back, in two iterations
        for (const auto& [message, ends] : arrows) {
            const bool isThere = message.first.starts_with("there ");
            QCOMPARE(ends, (std::map<std::string, int>{{"s", isThere ? 0 : 1}, {"f", isThere ? 1 : 0}}));
        }
        // Rank 1 has started 7 ms after rank 0.
        QCOMPARE(startsOf(trace), (std::map<int, double>{{0, 0}, {1, 7000}}));
    }

    /// A rank with a simulated GPU beside one that measures: their clocks cannot be compared.
    void measuredAndVirtualClocksStartTogetherAndAreMarked() {
        const json trace = jointTrace(DividedJob());
        QCOMPARE(trace.at("otherData").at("clock"), "mixed");
        QCOMPARE(startsOf(trace), (std::map<int, double>{{0, 0}, {1, 0}}));
        std::map<int, std::string> names; // by rank
        std::set<std::string> tracks;
        for (const json& event : trace.at("traceEvents")) {
            const int rank = event.at("pid").get<int>() / kPidsPerRank;
            if (event.at("name") == "process_name") names[rank] = event.at("args").at("name");
            if (event.at("name") == "thread_name")
                tracks.insert(fmt::format("{} {}", rank, event.at("args").at("name").get<std::string>()));
            QVERIFY(event.value("cat", "") != "message");
        }
        const std::string host = QSysInfo::machineHostName().toStdString();
        QCOMPARE(names, (std::map<int, std::string>{{0, "rank 0 on " + host + " (measured)"},
                                                    {1, "rank 1 on " + host + " (modelled)"}}));
        for (const std::string& track : tracks)
            if (track.starts_with("0 "))
                QVERIFY2(!track.ends_with(")"), track.c_str());
            else
                QVERIFY2(track.ends_with(" (modelled)") ||
                             track.ends_with(" (measured durations, modelled start times)"),
                         track.c_str());
    }

    void callsAreJoinedByNodeAcrossRanks() {
        const auto plan = planWithCall();
        plan->transfers.push_back(plan->transfers[0]);
        plan->steps[3].transfer = 1;
        plan->steps[3].label = plan->steps[1].label;
        const Folder folder;
        const auto ranks = readRunTrace(folder.save(traceOfRanks(2, plan)));
        // Each call waits for the input of the same call on the other rank.
        using Steps = std::vector<std::uint32_t>;
        QCOMPARE(ranks.plan->steps[1].waits, Steps{4});
        QCOMPARE(ranks.plan->steps[3].waits, Steps{6});
        plan->steps[3].op = findOp("SendReceive"); // may be a call of two other ranks
        plan->steps[3].attributes = completeAttributes(*plan->steps[3].op, {});
        const auto other = readRunTrace(folder.save(traceOfRanks(2, plan)));
        QCOMPARE(other.plan->steps[1].waits, Steps{4});
        QCOMPARE(other.plan->steps[3].waits, Steps());
    }

    /// As of a training: steps, then a validation, then steps again.
    void runsOfSeveralPlansAreOneTrace() {
        const auto plan = planWithCall();
        const auto other = planWithCall();
        other->steps.back().label = "validated";
        other->transfers[0].label = "other call";
        TraceRecorder recorder(plan);
        recorder.nextRun(plan, "batch", 0);
        recorder.add(exampleRecords());
        recorder.nextRun(other, "validation", 50'000'000);
        recorder.add(exampleRecords());
        recorder.nextRun(std::make_shared<Plan>(*plan), "batch", 90'000'000);
        recorder.add(exampleRecords());
        std::ostringstream text;
        recorder.write(text);
        const Folder folder;
        const RunTrace read = readRunTrace(folder.save(text.str()));
        QCOMPARE(std::ranges::count(read.isOfGraph, true), std::ptrdiff_t(plan->steps.size()));
        QVERIFY(read.isOfGraph[0] && !read.isOfGraph.back());
        QCOMPARE(read.plan->steps.size(), 2 * plan->steps.size()); // the third run has the first one's plan
        QCOMPARE(read.plan->steps.back().label, std::string("validated"));
        QCOMPARE(read.plan->streams.size(), plan->streams.size());
        QCOMPARE(read.plan->transfers.back().label, std::string("validation: other call"));
        QCOMPARE(read.plan->transfers.front().label, plan->transfers.front().label);
        std::vector<StepRecord> once = exampleRecords();
        std::erase_if(once, [](const StepRecord& r) { return r.state != StepState::done; });
        QCOMPARE(read.records.size(), 3 * once.size());
        std::uint32_t iterations = 0;
        for (const StepRecord& record : exampleRecords())
            iterations = std::max(iterations, record.iteration + 1);
        QCOMPARE(read.iterations, std::int64_t(3 * iterations));
        // Each run has its time and its iterations.
        for (const StepRecord& record : read.records) {
            const std::uint32_t run = record.iteration / iterations;
            QCOMPARE(record.step >= plan->steps.size(), run == 1);
            const std::int64_t start = run == 0 ? 0 : run == 1 ? 50'000'000 : 90'000'000;
            QVERIFY(record.startNs >= start && record.startNs < start + 40'000'000);
        }
        // One track for each stream, and the plans do not share a number.
        std::set<std::pair<int, int>> tracks;
        std::set<std::uint64_t> arrows;
        std::size_t starts = 0;
        const json trace = json::parse(text.str());
        for (const json& event : trace.at("traceEvents")) {
            if (event.at("name") == "thread_name") tracks.emplace(event.at("pid"), event.at("tid"));
            if (event.at("ph") != "s") continue;
            ++starts;
            arrows.insert(event.at("id").get<std::uint64_t>());
        }
        QCOMPARE(tracks.size(), plan->streams.size());
        QCOMPARE(arrows.size(), starts);
        RunTimeline timeline(read.plan);
        timeline.add(read.records);
        timeline.finish();
        courseOf(*read.plan, read.records); // refers only to what is there
    }

    void runsOnAVirtualClockFollowEachOther() {
        const auto plan = planWithCall();
        plan->virtualClock = true;
        TraceRecorder recorder(plan);
        std::int64_t end = 0;
        for (const StepRecord& record : exampleRecords()) end = std::max(end, record.endNs);
        for (int run = 0; run < 2; ++run) {
            recorder.nextRun(plan, "batch", run * 90'000'000'000); // wall time does not count
            recorder.add(exampleRecords());
        }
        std::ostringstream text;
        recorder.write(text);
        const Folder folder;
        const RunTrace read = readRunTrace(folder.save(text.str()));
        std::int64_t last = 0;
        for (const StepRecord& record : read.records) last = std::max(last, record.endNs);
        QVERIFY2(last > end && last <= 2 * end, qPrintable(QString::number(last)));
    }

    void waitsAreThoseOfThePlansCalls() {
        QVERIFY(reportOfRanks(false, false).ranks.at(0).waitNs < 1e9); // not the start-up's 2 s
        const RankReport report = reportOfRanks(true, false);
        QVERIFY(report.ranks.at(0).waitNs > 1.5e9);
        QCOMPARE(report.slowest(), 1);
        const json each = toJson(report.ranks);
        QCOMPARE(each[1]["modelled"], false);
        QCOMPARE(each[1]["slowest"], true);
        QVERIFY(each[0]["wait_ms"] > 300.0);
    }

    void modelledRanksSayNothingOfWaits() {
        const RankReport report = reportOfRanks(true, true);
        QCOMPARE(report.slowest(), -1);
        const json each = toJson(report.ranks);
        QCOMPARE(each[0]["modelled"], false);
        QCOMPARE(each[1]["modelled"], true);
        for (const json& rank : each) QVERIFY(!rank.contains("wait_ms") && !rank.contains("slowest"));
        const QString table = QString::fromStdString(toTable(report));
        QVERIFY2(table.contains("modelled") && table.contains("measured"), qPrintable(table));
        QVERIFY2(!table.contains("slowest") && !table.contains("own time"), qPrintable(table));
    }

    void otherTracesAreRefused_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("no plan") << QByteArray(
                                        R"({"traceEvents":[{"name":"a","ph":"X","pid":1,"ts":1,"dur":1}]})")
                                 << QStringLiteral("is not a trace of `twb run --trace`");
        QTest::newRow("a broken plan")
            << QByteArray(
                   R"({"traceEvents":[{"name":"twb_plan","ph":"M","pid":1,"args":{"rank":0,"plan":"{}"}}]})")
            << QStringLiteral("event 0");
        std::ostringstream text;
        TraceRecorder recorder(planWithCall());
        recorder.add(exampleRecords());
        recorder.write(text);
        QTest::newRow("a step that is not there")
            << QByteArray::fromStdString(text.str()).replace("\"step\":3", "\"step\":33")
            << QStringLiteral("a step that the plan does not have");
        const QString refers = QStringLiteral("event 0: a plan refers to something that it does not have");
        QTest::newRow("waits for no step")
            << traceWith([](json& plan) { plan["steps"][1]["waits"] = json::array({kNone}); }) << refers;
        QTest::newRow("an unknown dtype") << traceWith([](json& plan) { plan["values"][0][1] = 99; })
                                          << QStringLiteral("event 0: a dtype is 99");
        QTest::newRow("an unknown memory") << traceWith([](json& plan) { plan["values"][0][4] = -1; })
                                           << QStringLiteral("event 0: a kind of memory is -1");
        QTest::newRow("an unknown queue") << traceWith([](json& plan) { plan["streams"][0][1] = 6; })
                                          << QStringLiteral("event 0: a kind of queue is 6");
        QTest::newRow("an unknown kind of transfer")
            << traceWith([](json& plan) { plan["transfers"][0]["kind"] = 4; })
            << QStringLiteral("event 0: a kind of transfer is 4");
        QTest::newRow("more controls than steps")
            << traceWith([](json& plan) { plan["controls"] = 1'000'000'000'000'000'000; }) << refers;
    }
    void otherTracesAreRefused() {
        QFETCH(const QByteArray, text);
        QFETCH(const QString, sentence);
        const Folder folder;
        const auto path = folder.save(text.toStdString());
        const QString said = refusal([&] { readRunTrace(path); });
        QVERIFY2(said.contains(sentence) && said.contains(QStringLiteral("t.json")), qPrintable(said));
    }
};

TWB_TEST_MAIN(TestRunTrace)
#include "test_run_trace.moc"
