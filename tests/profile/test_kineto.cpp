#include "core/busy_time.h"
#include "core/error.h"
#include "profile/kineto_ledger.h"
#include "support/json_schema.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <istream>
#include <map>

using namespace twb;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kTraces = fs::path(TWB_SOURCE_DIR) / "tests/data/traces";

/// A trace of one thread and one GPU, from rows of (category, name, start, duration, arguments) in µs. Each
/// runs on thread 1 or stream 7.
class Rows {
public:
    Rows& add(const std::string& category, const std::string& name, double start, double duration,
              json arguments = json::object()) {
        const bool onGpu = category.starts_with("gpu") || category == "kernel";
        if (onGpu) arguments["device"] = 0, arguments["stream"] = 7;
        m_events.push_back({{"ph", "X"},
                            {"cat", category},
                            {"name", name},
                            {"pid", onGpu ? 0 : 1},
                            {"tid", onGpu ? 7 : 1},
                            {"ts", start},
                            {"dur", duration},
                            {"args", std::move(arguments)}});
        return *this;
    }
    /// A call at `called` that takes 2 µs, and what it launches.
    Rows& launch(const std::string& category, const std::string& name, double called, double start,
                 double duration, json arguments = json::object()) {
        add("cuda_runtime", "cudaLaunchKernel", called, 2, {{"correlation", ++m_correlation}});
        arguments["correlation"] = m_correlation;
        return add(category, name, start, duration, std::move(arguments));
    }
    KinetoLedger ledger() const {
        return makeKinetoLedger(parseKinetoTrace(json{{"traceEvents", m_events}}.dump(), "rows"));
    }

private:
    json m_events = json::array();
    int m_correlation = 0;
};

/// One of the real traces, read once.
const KinetoTrace& real(const std::string& file) {
    static std::map<std::string, KinetoTrace> traces;
    if (!traces.contains(file)) traces.emplace(file, readKinetoTrace(kTraces / (file + ".json.gz")));
    return traces.at(file);
}

QString failure(const std::string& text) {
    try {
        parseKinetoTrace(text, "t.json");
    } catch (const Error& e) {
        return e.code() == ErrorCode::badFile ? QString::fromUtf8(e.what()) : QStringLiteral("another error");
    }
    return QStringLiteral("no error");
}

const KinetoTransfer* transfer(const KinetoLedger& ledger, const std::string& line) {
    for (const KinetoTransfer& row : ledger.transfers)
        if (row.line == line) return &row;
    return nullptr;
}

std::int64_t idleNs(const KinetoLedger& ledger, IdleCause cause) {
    std::int64_t ns = 0;
    for (const KinetoIdle& row : ledger.devices.at(0).idle)
        if (row.cause == cause) ns += row.totalNs;
    return ns;
}

} // namespace

/// Traces of PyTorch's Kineto profiler: real ones, and small ones with a known answer.
class TestKineto : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void totalsEqualAPlainSum_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("copies");
        QTest::newRow("V100") << "v100-resnet50-training-2021" << 12;
        QTest::newRow("H100") << "h100-bert-small-inference" << 1;
        QTest::newRow("A100") << "alexnet-critical-path-2023" << 16;
        QTest::newRow("MI250") << "mi250-minitoy-training-rocm" << 2;
    }
    /// To the byte and the microsecond; to the nanosecond, in fact. Bytes of a launching call are no bytes of
    /// the copies' rows.
    void totalsEqualAPlainSum() {
        QFETCH(QString, file);
        QFETCH(int, copies);
        const fs::path path = kTraces / (file.toStdString() + ".json.gz");
        GzipInput input(path);
        std::istream stream(&input);
        std::uint64_t bytes = 0;
        double us = 0;
        int count = 0;
        const json whole = json::parse(stream);
        for (const json& event : whole.at("traceEvents")) {
            const std::string category = event.value("cat", "");
            if (category != "gpu_memcpy" && category != "Memcpy") continue;
            ++count;
            us += event.at("dur").get<double>();
            bytes += event.at("args").value("bytes", std::uint64_t{0});
        }
        QCOMPARE(count, copies);
        const KinetoLedger ledger = makeKinetoLedger(real(file.toStdString()));
        std::uint64_t ourBytes = 0;
        std::int64_t ourNs = 0;
        std::uint64_t ourCount = 0;
        for (const KinetoTransfer& row : ledger.transfers) {
            if (row.fromCalls == 0) ourBytes += row.bytes;
            ourNs += row.totalNs;
            ourCount += row.count;
        }
        QCOMPARE(ourCount, std::uint64_t(count));
        QCOMPARE(ourBytes, bytes);
        QCOMPARE(ourNs, std::llround(us * 1e3));
        QCOMPARE(ledger.faultyEvents, std::uint64_t(0));
    }

    /// As counted by hand in each file.
    void activitiesJoinWithTheirOpsAndTimesAddUp_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("activities");
        QTest::addColumn<int>("inOps");
        QTest::newRow("V100") << "v100-resnet50-training-2021" << 9096 << 9096;
        QTest::newRow("H100") << "h100-bert-small-inference" << 61 << 61;
        QTest::newRow("A100") << "alexnet-critical-path-2023" << 98 << 98;
        QTest::newRow("MI250") << "mi250-minitoy-training-rocm" << 16 << 16;
    }
    void activitiesJoinWithTheirOpsAndTimesAddUp() {
        QFETCH(QString, file);
        QFETCH(int, activities);
        QFETCH(int, inOps);
        const KinetoTrace& trace = real(file.toStdString());
        QCOMPARE(trace.activities.size(), std::size_t(activities));
        QCOMPARE(trace.launchesFound, std::uint64_t(activities));
        QCOMPARE(trace.launchesInOps, std::uint64_t(inOps));
        const KinetoLedger ledger = makeKinetoLedger(trace);
        QVERIFY(!ledger.devices.empty());
        for (const KinetoDevice& device : ledger.devices) {
            std::int64_t idle = 0;
            for (const KinetoIdle& row : device.idle) idle += row.totalNs;
            QCOMPARE(idle, device.spanNs - device.busyNs);
            QVERIFY(device.kernelNs <= device.busyNs);
        }
        for (const KinetoTransfer& row : ledger.transfers)
            QVERIFY(row.hiddenNs <= row.totalNs && row.cpuWaitNs <= row.totalNs);
    }

    /// The script copies each batch, and its labels, in line 44.
    void batchesOfTheV100AreFoundAtTheirLine() {
        const KinetoLedger ledger = makeKinetoLedger(real("v100-resnet50-training-2021"));
        QCOMPARE(ledger.transfers.size(), std::size_t(1));
        const KinetoTransfer& row = ledger.transfers.front();
        QCOMPARE(row.line, std::string("resnet50_profiler_api.py:44 in <module>"));
        QCOMPARE(row.op, std::string("aten::to"));
        QCOMPARE(row.count, std::uint64_t(12));
        QCOMPARE(row.bytes, std::uint64_t(6) * (19'267'584 + 256));
        QCOMPARE(name(row.memory), std::string_view("pageable"));
        QCOMPARE(name(row.kind), std::string_view("host-to-device"));
        QVERIFY(!ledger.linesAreFunctions);
        QCOMPARE(ledger.steps, std::uint64_t(6));
        QVERIFY(row.cpuWaitNs > row.totalNs * 9 / 10);
        QCOMPARE(row.hiddenNs, std::int64_t(0));
        QCOMPARE(ledger.devices.at(0).name, std::string("Tesla V100-DGXS-32GB"));
        QVERIFY(idleNs(ledger, IdleCause::dataLoading) > 0);
        const QStringList csv = QString::fromStdString(toCsv(ledger)).split("\r\n");
        QCOMPARE(csv.size(), 3); // the header, the row, and the end of its line
        QVERIFY2(
            csv.at(1).startsWith("resnet50_profiler_api.py:44 in <module>,aten::to,cuda:0,host-to-device,"
                                 "pageable,12,115607040,11.492,"),
            qPrintable(csv.at(1)));
    }

    void pinnedCopyOfTheH100NamesItsFunction() {
        const KinetoLedger ledger = makeKinetoLedger(real("h100-bert-small-inference"));
        const KinetoTransfer* row = transfer(
            ledger, "transformers/modeling_attn_mask_utils.py:429 in _prepare_4d_attention_mask_for_sdpa");
        QVERIFY(row);
        QCOMPARE(row->op, std::string("aten::is_nonzero"));
        QCOMPARE(name(row->memory), std::string_view("pinned"));
        QCOMPARE(name(row->kind), std::string_view("device-to-host"));
        QCOMPARE(row->bytes, std::uint64_t(1));
        QVERIFY(ledger.linesAreFunctions);
    }

    /// A ROCm trace has no bytes in its copies, but the launching HIP call has.
    void bytesOfRocmComeFromTheCallAndSaySo() {
        const KinetoLedger ledger = makeKinetoLedger(real("mi250-minitoy-training-rocm"));
        std::uint64_t copies = 0;
        for (const KinetoTransfer& row : ledger.transfers) {
            copies += row.fromCalls;
            QCOMPARE(row.sized, row.count);
            QCOMPARE(name(row.memory), std::string_view("unknown"));
        }
        QCOMPARE(copies, std::uint64_t(2));
        QVERIFY(toText(ledger).find("bytes of 2 copies; they are taken from the calls") != std::string::npos);
    }

    void unknownBytesStayUnknown() {
        const KinetoLedger ledger =
            Rows().launch("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 5, 10).ledger();
        const KinetoTransfer& row = ledger.transfers.at(0);
        QCOMPARE(row.sized, std::uint64_t(0));
        QVERIFY(!row.gbPerSecond());
        const json out = json::parse(toJson(ledger)).at("transfers").at(0);
        QVERIFY(out.at("bytes").is_null() && out.at("gb_per_s").is_null());
        QVERIFY(toText(ledger).find("The trace does not record the bytes of 1 copy.") != std::string::npos);
    }

    /// A copy of 10 µs on one stream, of which a kernel on another hides 4 µs.
    void hiddenTimeIsTheOverlapWithKernels() {
        Rows rows;
        rows.launch("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 10, 10, {{"bytes", 80'000}});
        rows.launch("kernel", "k", 3, 16, 4);
        const KinetoLedger ledger = rows.ledger();
        const KinetoTransfer& row = ledger.transfers.at(0);
        QCOMPARE(row.hiddenNs, std::int64_t(4000));
        QCOMPARE(row.cpuWaitNs, std::int64_t(0));
        QCOMPARE(*row.gbPerSecond(), 8.0);
        QCOMPARE(row.waiter, std::string("k"));
    }

    void idleTimeHasItsCauses() {
        Rows rows;
        rows.launch("kernel", "first", 0, 10, 10);                 // until 20
        rows.launch("kernel", "queued", 4, 23, 7);                 // 3 µs after it, launched before
        rows.add("cuda_runtime", "cudaDeviceSynchronize", 30, 20); // 30 to 50
        rows.add("cpu_op", "aten::empty", 50, 12);                 // 50 to 62
        rows.add("cuda_runtime", "cudaMalloc", 52, 8);             // 52 to 60, within the op
        rows.add("cpu_op", "aten::add", 70, 10);                   // nothing from 62 to 70
        rows.launch("kernel", "late", 72, 76, 4, {});
        const KinetoLedger ledger = rows.ledger();
        QCOMPARE(idleNs(ledger, IdleCause::queued), std::int64_t(3000));
        QCOMPARE(idleNs(ledger, IdleCause::sync), std::int64_t(20000));
        QCOMPARE(idleNs(ledger, IdleCause::memory), std::int64_t(8000));
        QCOMPARE(idleNs(ledger, IdleCause::ops), std::int64_t(2000 + 2000 + 2000)); // 50–52, 60–62, 70–72
        QCOMPARE(idleNs(ledger, IdleCause::python), std::int64_t(8000));
        QCOMPARE(idleNs(ledger, IdleCause::launch), std::int64_t(4000));
        QCOMPARE(ledger.devices.at(0).idle.front().op, std::string("aten::add"));
        QCOMPARE(ledger.syncs.at(0).call, std::string("cudaDeviceSynchronize"));
        QCOMPARE(ledger.syncs.at(0).busyNs, std::int64_t(0));
    }

    void lineIsTheInnermostOfTheUser_data() {
        QTest::addColumn<QString>("stack");
        QTest::addColumn<QString>("line");
        QTest::newRow("torch")
            << "/x/site-packages/torch/nn/modules/conv.py(440): forward;net.py(12): forward;"
               "train.py(3): <module>"
            << "net.py:12 in forward";
        QTest::newRow("package")
            << "/x/site-packages/torchvision/models/resnet.py(232): _forward_impl;"
               "/x/site-packages/torch/nn/modules/module.py(1051): _call_impl;run.py(46): main"
            << "run.py:46 in main";
        QTest::newRow("only a package") << "/x/dist-packages/timm/vit.py(5): forward;threading.py(9): run"
                                        << "/x/dist-packages/timm/vit.py:5 in forward";
        QTest::newRow("only PyTorch") << "torch/optim/sgd.py(5): step"
                                      << "";
        QTest::newRow("no frame") << "garbage(;);(1): ;a(0): f;a(x): f;a(1"
                                  << "";
        QTest::newRow("folder with brackets") << "/a(b)/c.py(7): <lambda>"
                                              << "/a(b)/c.py:7 in <lambda>";
    }
    void lineIsTheInnermostOfTheUser() {
        QFETCH(QString, stack);
        QFETCH(QString, line);
        QCOMPARE(QString::fromStdString(userLine(stack.toStdString())), line);
    }

    void faultyEventIsNamedAndLeftOut() {
        const KinetoTrace trace = parseKinetoTrace(R"({"traceEvents": [
            {"ph": "M"}, {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "pid": 0, "args": {"device": 0}},
            {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": -1, "pid": 0},
            {"ph": "X", "cat": "kernel", "name": "k", "ts": "x", "dur": 1, "pid": 0},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "ts": 1, "dur": 1, "pid": "GPU"},
            {"ph": "X", "cat": "kernel", "ts": 1.5, "dur": 1, "pid": 0, "args": [1, {"a": []}]}
            ]})",
                                                   "t.json");
        QCOMPARE(trace.facts.events, std::uint64_t(6));
        QCOMPARE(trace.activities.size(), std::size_t(1));
        QCOMPARE(trace.faultyEvents, std::uint64_t(4));
        QCOMPARE(trace.problems.front(),
                 std::string("event 1 (kernel k) has no valid \"dur\"; it is left out"));
        QCOMPARE(trace.problems.at(3),
                 std::string("event 4 (gpu_memcpy Memcpy) names no device; it is left out"));
    }

    void otherFilesAreRefused_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("empty") << ""
                               << "not JSON, or cut off, at byte 1";
        QTest::newRow("cut off") << R"({"traceEvents": [{"ph": "M"}, {"ph": )"
                                 << "not JSON, or cut off, at byte 38, in or after event 1";
        QTest::newRow("infinite") << R"([{"ph": "X"}, {"ts": 1e999}])"
                                  << "at byte 26, in or after event 1: number overflow parsing '1e999'";
        QTest::newRow("number") << "3"
                                << "not a trace";
        QTest::newRow("object") << R"({"a": [{"traceEvents": []}]})"
                                << "not a trace";
        QTest::newRow("not a list") << R"({"traceEvents": {}})"
                                    << "\"traceEvents\" is not a list";
        QTest::newRow("text") << R"({"traceEvents": "x"})"
                              << "\"traceEvents\" is not a list";
        QTest::newRow("two lists") << R"({"traceEvents": [], "traceEvents": []})"
                                   << "two lists";
        QTest::newRow("numbers") << R"({"traceEvents": [{}, 3]})"
                                 << "event 1 of its list is not an object";
        QTest::newRow("lists") << "[[]]"
                               << "event 0 of its list is not an object";
        QTest::newRow("another trace") << R"([{"ph": "X", "cat": "toplevel", "ts": 1, "dur": 1}])"
                                       << "it has 1 event, but no op, CUDA call or kernel";
    }
    void otherFilesAreRefused() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        const QString said = failure(text.toStdString());
        QVERIFY2(said.startsWith("t.json: ") && said.contains(says), qPrintable(said));
    }

    void damagedGzipIsRefused() {
        const QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "t.json.gz";
        std::ifstream in(kTraces / "mi250-minitoy-training-rocm.json.gz", std::ios::binary);
        std::string bytes{std::istreambuf_iterator<char>(in), {}};
        const auto save = [&](const std::string& content) {
            std::ofstream(path, std::ios::binary)
                .write(content.data(), static_cast<std::streamsize>(content.size()));
        };
        save(bytes.substr(0, bytes.size() / 2));
        QVERIFY_THROWS_EXCEPTION(Error, readKinetoTrace(path));
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
        save(bytes);
        QVERIFY_THROWS_EXCEPTION(Error, readKinetoTrace(path));
        QVERIFY_THROWS_EXCEPTION(Error, readKinetoTrace(path.parent_path()));
        QVERIFY_THROWS_EXCEPTION(Error, readKinetoTrace(path.parent_path() / "none"));
    }

    /// A value that would fill the memory: 70 MB of one string, in a small file.
    void hugeValueIsRefused() {
        const QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "t.json";
        {
            std::ofstream out(path, std::ios::binary);
            out << "{\"traceEvents\": [{\"name\": \"";
            const std::string piece(std::size_t{1} << 20, 'a');
            for (int i = 0; i < 70; ++i) out << piece;
            out << "\"}]}";
        }
        try {
            readKinetoTrace(path);
            QFAIL("it was read");
        } catch (const Error& e) {
            QVERIFY2(QString::fromUtf8(e.what()).contains("longer than 64 MB"), e.what());
        }
    }

    void microsecondsBecomeNanoseconds() {
        QCOMPARE(nanoseconds("1419247332972.313"), std::optional<std::int64_t>(1'419'247'332'972'313));
        QCOMPARE(nanoseconds("12"), std::optional<std::int64_t>(12'000));
        QCOMPARE(nanoseconds("0.0019999"), std::optional<std::int64_t>(1));
        QCOMPARE(nanoseconds("-0.5"), std::optional<std::int64_t>(-500));
        QCOMPARE(nanoseconds("1.5e3"), std::optional<std::int64_t>(1'500'000));
        for (const char* wrong :
             {"", "x", "1x", "1.x", "1e999", "9223372036854775807", "-9223372036854775808"})
            QVERIFY2(!nanoseconds(wrong), wrong);
    }

    void busyTimeIsTheUnion() {
        BusyTime busy;
        busy.add(10, 20);
        busy.add(15, 18);
        busy.add(19, 25);
        busy.add(30, 30);
        busy.add(40, 50);
        QCOMPARE(busy.totalNs(), std::int64_t(25));
        QCOMPARE(busy.overlapNs(0, 100), std::int64_t(25));
        QCOMPARE(busy.overlapNs(12, 45), std::int64_t(18));
        QCOMPARE(busy.overlapNs(26, 39), std::int64_t(0));
        QCOMPARE(busy.overlapNs(45, 12), std::int64_t(0));
    }
};

TWB_TEST_MAIN(TestKineto)
#include "test_kineto.moc"
