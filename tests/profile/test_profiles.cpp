#include "backends/simulated/simulated_backend.h"
#include "core/error.h"
#include "graph/delta.h"
#include "profile/prediction.h"
#include "profile/profiles.h"
#include "profile/resource_path.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include <fstream>

using namespace twb;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kDevices = fs::path(TWB_SOURCE_DIR) / "resources/devices";

json read(const std::string& id) { return json::parse(std::ifstream(kDevices / (id + ".json"))); }

template <class Call> QString refusal(Call call, ErrorCode expected) {
    try {
        call();
        return {};
    } catch (const Error& e) {
        return e.code() == expected ? QString::fromStdString(e.what()) : QStringLiteral("another code");
    }
}

Graph graphOn(std::initializer_list<Device> devices) {
    Graph graph;
    DeltaBuilder b(graph, "");
    for (const Device& device : devices) b.addLane({LaneId::none, device, "", 0, 0});
    graph.apply(b.take());
    return graph;
}

} // namespace

class TestProfiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { qputenv("TWB_CUDA_PLUGIN", "none"); }

    void theLibraryHoldsAllSix() {
        const ProfileLibrary library(kDevices);
        QStringList ids;
        for (const DeviceProfile& p : library.all()) ids << QString::fromStdString(p.id);
        QCOMPARE(ids.join(QLatin1Char(' ')), QStringLiteral("a100 h100 h200 l4 rtx4090 t4"));
        QCOMPARE(library.at("RTX-4090").name, std::string("NVIDIA GeForce RTX 4090"));
        QVERIFY(refusal([&] { library.at("b200"); }, ErrorCode::invalidArgument)
                    .contains(QLatin1String("a100, h100, h200, l4, rtx4090, t4")));
    }

    void figuresAreInTheirUnits() {
        const ProfileLibrary library(kDevices);
        const DeviceProfile& h200 = library.at("h200");
        QCOMPARE(h200.peakGflops[std::size_t(DType::f32)], 67e3);
        QCOMPARE(h200.peakGflops[std::size_t(DType::bf16)], 989.5e3);
        QCOMPARE(h200.peakGflops[std::size_t(DType::i64)], 0.0);
        QCOMPARE(h200.memoryGBps, 4800.0);
        QCOMPARE(h200.memoryBytes, std::uint64_t(141'000'000'000));
        QCOMPARE(h200.link, std::string("PCIe 5.0 x16"));
        // A 1000×1000 f32 matrix over the link: latency plus 4 MB at the link's bandwidth.
        const double ns = h200.copyNs(4e6, CopyDirection::hostToDevice, MemoryKind::pinned);
        QCOMPARE(ns, h200.linkLatencyUs * 1e3 + 4e6 / h200.linkPinnedGBps);
    }

    void figuresAreSane() {
        const ProfileLibrary library(kDevices);
        for (const DeviceProfile& p : library.all()) {
            const auto peak = [&](DType d) { return p.peakGflops[std::size_t(d)]; };
            QVERIFY(peak(DType::f64) < peak(DType::f32));
            QVERIFY(peak(DType::f32) < peak(DType::f16));
            QVERIFY(peak(DType::f16) < peak(DType::i8));
            QVERIFY(p.linkPageableGBps < p.linkPinnedGBps);
            QVERIFY(p.linkPinnedGBps < p.memoryGBps);
            QVERIFY(p.linkLatencyUs <= p.pageableLatencyUs);
            QVERIFY(p.memoryBytes > 8'000'000'000);
        }
    }

    void everyFigureNamesItsSource() {
        const ProfileLibrary library(kDevices);
        for (const DeviceProfile& p : library.all()) {
            const json document = read(p.id);
            for (const auto& [figure, source] : p.sources) {
                const std::size_t dot = figure.find('.');
                QVERIFY2(dot == std::string::npos
                             ? document.contains(figure)
                             : document[figure.substr(0, dot)].contains(figure.substr(dot + 1)),
                         (p.id + ": " + figure).c_str());
                const bool isEstimate = source.starts_with("estimate: ");
                const bool namesDocument = source.find("datasheet") != std::string::npos ||
                                           source.find("whitepaper") != std::string::npos;
                QVERIFY2(isEstimate || namesDocument || source.starts_with("0: "),
                         (p.id + ": " + figure).c_str());
            }
            // Figures without a datasheet must be marked as estimates.
            for (const char* figure : {"launch_us", "link_pinned_gb_per_s", "link_pageable_gb_per_s",
                                       "link_latency_us", "pageable_latency_us"})
                QVERIFY2(p.sources.at(figure).starts_with("estimate: "), figure);
        }
    }

    void badProfilesAreRefused_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const json& profile, const char* says) {
            QTest::newRow(name) << QString::fromStdString(profile.dump()) << QString::fromUtf8(says);
        };
        QTest::newRow("not JSON") << QStringLiteral("{") << QStringLiteral(": not JSON");
        row("a list", json::array(), "must be a JSON object");
        json p = read("t4");
        for (const auto& [key, value] : p.items()) {
            json without = p;
            without.erase(key);
            QTest::newRow(qPrintable(QStringLiteral("without ") + QString::fromStdString(key)))
                << QString::fromStdString(without.dump())
                << QStringLiteral("\"%1\"").arg(QString::fromStdString(key));
        }
        for (const auto& [figure, source] : p["sources"].items()) {
            json without = p;
            without["sources"].erase(figure);
            QTest::newRow(qPrintable(QStringLiteral("unsourced ") + QString::fromStdString(figure)))
                << QString::fromStdString(without.dump())
                << QStringLiteral("\"sources\" does not say where \"%1\" comes from")
                       .arg(QString::fromStdString(figure));
        }
        const auto with = [&](const char* key, const json& value) {
            json other = p;
            other[key] = value;
            return other;
        };
        row("unknown key", with("colour", "green"), "\"colour\" is not a field");
        row("negative", with("memory_gb_per_s", -1), "\"memory_gb_per_s\" must be a number above 0");
        row("zero", with("link_latency_us", 0), "\"link_latency_us\" must be a number above 0");
        row("text", with("launch_us", "2.5"), "\"launch_us\" must be a number above 0");
        row("too much memory", with("memory_bytes", 1e30), "\"memory_bytes\"");
        row("name", with("name", ""), "\"name\" must be a string");
        row("another schema", with("schema", 2), "\"schema\" is 2");
        row("peaks", with("peak_tflops", 8), "\"peak_tflops\" must be an object");
        row("a dtype that is none", with("peak_tflops", {{"f32", 8}, {"f4", 65}}),
            "\"peak_tflops.f4\" does not name a dtype");
        row("no f32", with("peak_tflops", {{"i8", 130}}), "\"peak_tflops.f32\" is missing");
    }
    void badProfilesAreRefused() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        const QString said = refusal([&] { parseProfile(text.toStdString(), "x.json"); }, ErrorCode::badFile);
        QVERIFY2(said.startsWith(QLatin1String("x.json: ")) && said.contains(says), qPrintable(said));
    }

    void aFolderThatIsNotThereIsASentence() {
        QVERIFY(refusal([] { ProfileLibrary("/no/such/folder"); }, ErrorCode::io)
                    .contains(QLatin1String("/no/such/folder")));
        QTemporaryDir folder;
        const fs::path path = folder.path().toStdString();
        fs::copy_file(kDevices / "t4.json", path / "a.json");
        fs::copy_file(kDevices / "t4.json", path / "b.json");
        QVERIFY(refusal([&] { ProfileLibrary library(path); }, ErrorCode::badFile)
                    .contains(QLatin1String("the id \"t4\"")));
    }

    void choicesAreParsed() {
        const DeviceChoice simulated = parseDeviceChoice("cuda:1=simulated:rtx4090");
        QVERIFY(simulated.device == Device::cuda(1));
        QCOMPARE(simulated.profile, std::string("rtx4090"));
        QVERIFY(parseDeviceChoice("cuda=real").device == Device::cuda(0));
        QVERIFY(parseDeviceChoice("cuda=real").profile.empty());
        for (const char* bad :
             {"", "cuda:0", "=", "cuda:0=", "cuda:0=h200", "cuda:0=simulated:", "cuda:99=real", "tpu=real",
              "cpu=simulated:h200", "auto=simulated:h200", "cuda:0=REAL"})
            QVERIFY2(refusal([&] { parseDeviceChoice(bad); }, ErrorCode::invalidArgument)
                         .contains(QLatin1String("is not a device mapping")),
                     bad);
    }

    void everyLaneGetsADevice() {
        const ProfileLibrary library(kDevices);
        const Graph graph = graphOn({Device::cpu(), Device::cuda(0), Device::cuda(2), Device::cuda(0)});
        const DeviceMap map = makeDeviceMap(graph, {{Device::cuda(2), "t4"}}, library);
        QCOMPARE(map.devices().size(), std::size_t(3));
        QVERIFY(!map.isSimulated(Device::cpu()));
        QVERIFY(map.isSimulated(Device::cuda(0)));
        QCOMPARE(map.at(Device::cuda(0)).profile().id, std::string("h200"));
        QCOMPARE(map.at(Device::cuda(2)).profile().id, std::string("t4"));
    }

    void autoCountsOnlyWhatWasAskedFor() {
        const ProfileLibrary library(kDevices);
        const Graph graph = graphOn({Device::automatic(), Device::cuda(0)});
        QVERIFY(makeDeviceMap(graph, {}, library).resolve(Device::automatic()) == Device::cpu());
        QVERIFY(makeDeviceMap(graph, {{Device::cuda(0), "l4"}}, library).resolve(Device::automatic()) ==
                Device::cuda(0));
        QCOMPARE(makeDeviceMap(graphOn({Device::automatic()}), {}, library).devices().size(), std::size_t(1));
    }

    void aRealDeviceThatIsNotThereIsASentence() {
        const ProfileLibrary library(kDevices);
        const Graph gpu = graphOn({Device::cuda(0)});
        const auto missing = ErrorCode::missingDevice;
        QVERIFY(refusal(
                    [&] {
                        makeDeviceMap(gpu, {{Device::cuda(0), ""}}, library);
                    },
                    missing)
                    .contains(QLatin1String("--device-map cuda:0=simulated:h200")));
        QVERIFY(refusal([&] { makeDeviceMap(gpu, {}, library, true); }, missing)
                    .contains(QLatin1String("cuda:0 must be a real GPU")));
        QVERIFY(!refusal(
                     [&] {
                         makeDeviceMap(gpu, {{Device::cuda(0), "h200"}}, library, true);
                     },
                     missing)
                     .isEmpty());
        QVERIFY(!refusal([&] { makeDeviceMap(graphOn({Device::automatic()}), {}, library, true); }, missing)
                     .isEmpty());
        QCOMPARE(makeDeviceMap(graphOn({Device::cpu()}), {}, library, true).devices().size(), std::size_t(1));
        QVERIFY(!refusal(
                     [&] {
                         makeDeviceMap(gpu, {{Device::cuda(0), "b200"}}, library);
                     },
                     ErrorCode::invalidArgument)
                     .isEmpty());
    }

    void whatIsWrittenIsRead() {
        const ProfileLibrary library(kDevices);
        for (const DeviceProfile& before : library.all()) {
            const DeviceProfile after = parseProfile(profileJson(before), "here");
            QCOMPARE(after.id, before.id);
            QCOMPARE(after.link, before.link);
            QVERIFY(after.peakGflops == before.peakGflops);
            QCOMPARE(after.memoryBytes, before.memoryBytes);
            QCOMPARE(after.linkPinnedGBps, before.linkPinnedGBps);
            QCOMPARE(after.pageableLatencyUs, before.pageableLatencyUs);
            QVERIFY(after.sources == before.sources);
        }
    }

    void aKnownErrorIsWrittenReadAndSaid() {
        DeviceProfile measured = ProfileLibrary(kDevices).at("t4");
        const auto saidOf = [](const DeviceProfile& profile) {
            DeviceMap map;
            map.set(Device::cuda(0), makeSimulatedBackend(Device::cuda(0), profile), true);
            return QString::fromStdString(sourcesOf(map));
        };
        QVERIFY(saidOf(measured).contains(
            QLatin1String("NVIDIA T4 (NVIDIA T4 Tensor Core GPU datasheet; error unknown)")));
        measured.copyError = KnownError{0.04, 0.314, 36};
        QVERIFY(saidOf(measured).contains(
            QLatin1String("; error of copies: median 4 %, at most 31 %, error of kernels unknown)")));
        measured.kernelError = KnownError{0.125, 2.5, 9};
        const DeviceProfile read = parseProfile(profileJson(measured), "here");
        QCOMPARE(read.copyError->median, 0.04);
        QCOMPARE(read.copyError->worst, 0.314);
        QCOMPARE(read.copyError->count, 36);
        QCOMPARE(read.kernelError->worst, 2.5);
        QVERIFY(saidOf(read).contains(QLatin1String(
            "; error of copies: median 4 %, at most 31 %, error of kernels: median 12 %, at most 250 %)")));

        const auto refused = [&](const char* path, const json& value) {
            json document = json::parse(profileJson(measured));
            document[json::json_pointer(path)] = value;
            return refusal([&] { parseProfile(document.dump(), "here"); }, ErrorCode::badFile);
        };
        QCOMPARE(refused("/known_error", 3),
                 QStringLiteral("here: \"known_error\" must be an object with \"copies\" and \"kernels\""));
        QCOMPARE(refused("/known_error/copies", "4 %"),
                 QStringLiteral("here: \"known_error.copies\" must be an object"));
        QCOMPARE(
            refused("/known_error/copies/median", -1),
            QStringLiteral("here: \"known_error.copies.median\" must be a number of at least 0, but is -1"));
        QCOMPARE(refused("/known_error/kernel", 1),
                 QStringLiteral("here: \"known_error.kernel\" is not a field of a device profile"));
        QCOMPARE(refused("/known_error/kernels/medain", 1),
                 QStringLiteral("here: \"known_error.kernels.medain\" is not a field of a device profile"));
        QCOMPARE(refused("/known_error/kernels/count", 1.5),
                 QStringLiteral("here: \"known_error.kernels.count\" must be a whole number"));
        QCOMPARE(refused("/known_error/kernels", json::object()),
                 QStringLiteral("here: \"known_error.kernels.count\" is missing"));
    }

    void aProfileMayBeAFile() {
        QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("mine.json")).toStdString();
        const ProfileLibrary library(kDevices);
        DeviceProfile mine = library.at("t4");
        mine.id = "mine";
        std::ofstream(path) << profileJson(mine);
        const DeviceChoice choice = parseDeviceChoice("cuda:0=simulated:" + path);
        const DeviceMap map = makeDeviceMap(graphOn({Device::cuda(0)}), {choice}, library);
        QCOMPARE(map.at(Device::cuda(0)).profile().id, std::string("mine"));
        const DeviceChoice none = parseDeviceChoice("cuda:0=simulated:" + path + "x.json");
        QVERIFY(refusal([&] { makeDeviceMap({}, {none}, library); }, ErrorCode::io)
                    .contains(QLatin1String("mine.jsonx.json cannot be read")));
    }

    void aStandInSaysWhy() {
        const ProfileLibrary library(kDevices);
        const Graph graph = graphOn({Device::cuda(0), Device::cuda(1)});
        const DeviceMap map = makeDeviceMap(graph, {{Device::cuda(1), "t4"}}, library);
        QCOMPARE(map.remark(Device::cuda(0)),
                 std::string("cuda:0 uses a simulated NVIDIA H200: TWB_CUDA_PLUGIN=none disables GPUs"));
        QCOMPARE(map.remark(Device::cuda(1)), std::string()); // simulated by request
        QCOMPARE(map.remark(Device::cpu()), std::string());
    }

    void otherRanksAreSimulated() {
        const ProfileLibrary library(kDevices);
        const Graph graph = graphOn({Device::cpu(), Device::cuda(0, 1), Device::cpu(2)});
        const DeviceMap map = makeDeviceMap(graph, {}, library);
        QCOMPARE(map.devices(),
                 (std::vector{Device::cpu(), Device::cpu(1), Device::cuda(0, 1), Device::cpu(2)}));
        QVERIFY(!map.isSimulated(Device::cpu()));
        QCOMPARE(map.at(Device::cuda(0, 1)).profile().id, std::string("h200"));
        QCOMPARE(map.at(Device::cuda(0, 1)).info().memoryBytes, library.at("h200").memoryBytes);
        const Backend& cpu = map.at(Device::cpu(2));
        QVERIFY(cpu.info().simulated);
        QCOMPARE(cpu.info().name, "simulated " + map.at(Device::cpu()).info().name);
        QCOMPARE(cpu.profile().memoryGBps, map.at(Device::cpu()).profile().memoryGBps);
        QCOMPARE(map.remark(Device::cuda(0, 1)),
                 std::string("rank1/cuda:0 uses a simulated NVIDIA H200: rank 1 is another process"));
        const auto chosen = makeDeviceMap(
            graph,
            {parseDeviceChoice("rank1/cuda:0=simulated:l4"), parseDeviceChoice("rank2/cpu=simulated:t4")},
            library);
        QCOMPARE(chosen.at(Device::cuda(0, 1)).profile().id, std::string("l4"));
        QCOMPARE(chosen.at(Device::cpu(2)).profile().id, std::string("t4"));
        QVERIFY(refusal([&] { makeDeviceMap(graph, {}, library, true); }, ErrorCode::missingDevice)
                    .contains(QLatin1String("rank1/cuda:0 must be a real GPU in this run: ")));
        for (const char* bad : {"rank1/cuda:0=real", "cpu=simulated:h200", "rank64/cpu=simulated:h200"})
            QVERIFY2(!refusal([&] { parseDeviceChoice(bad); }, ErrorCode::invalidArgument).isEmpty(), bad);
        DeviceMap own = map;
        own.dropOtherRanks();
        QCOMPARE(own.devices(), std::vector{Device::cpu()});
    }

    void resourcesAreFound() {
        qunsetenv("TWB_RESOURCES");
        QVERIFY(fs::equivalent(resourceFolder(), fs::path(TWB_SOURCE_DIR) / "resources"));
        QTemporaryDir folder;
        qputenv("TWB_RESOURCES", folder.path().toUtf8());
        QVERIFY(refusal([] { resourceFolder(); }, ErrorCode::io).contains(QLatin1String("TWB_RESOURCES")));
        fs::create_directory(fs::path(folder.path().toStdString()) / "devices");
        QVERIFY(fs::equivalent(resourceFolder(), folder.path().toStdString()));
        qunsetenv("TWB_RESOURCES");
    }
};

TWB_TEST_MAIN(TestProfiles)
#include "test_profiles.moc"
