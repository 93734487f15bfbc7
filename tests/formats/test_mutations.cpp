#include "formats/npy.h"
#include "fuzz/targets.h"
#include "profile/example_plan.h"
#include "support/captures.h"
#include "support/onnx_models.h"
#include "support/small_project.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <random>

using namespace twb;
using namespace twb::test;
namespace fs = std::filesystem;

namespace {

/// Bytes and words that often break parsers.
constexpr std::array<std::string_view, 24> kPieces{"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "\"",
                                                   ",",
                                                   ":",
                                                   "-1",
                                                   "0",
                                                   "9007199254740992",
                                                   "1e999",
                                                   "NaN",
                                                   "null",
                                                   "1.5",
                                                   "\\u0000",
                                                   "\xff",
                                                   "\xed\xa0\x80",
                                                   "true",
                                                   "{}",
                                                   "[]",
                                                   "99999999999999999999",
                                                   "\"id\": 1",
                                                   "-0.0",
                                                   "\n"};

/// Values that no example has.
const std::string kWithDots =
    test::with("[0, 100, 280, 0]}", R"([0, 100, 280, 0]}, "routes": {"2:0": [[1, 40, 8], [1, 80, 60.5]]})");

class Mutator {
public:
    explicit Mutator(unsigned seed) : m_random(seed) {}

    std::string mutate(std::string text, const std::string& other) {
        for (std::size_t n = 1 + pick(4); n > 0 && !text.empty(); --n) {
            const std::size_t at = pick(text.size());
            const std::size_t length = std::min(text.size() - at, 1 + pick(pick(4) ? 8 : 400));
            switch (pick(7)) {
            case 0:
                text.erase(at, length);
                break;
            case 1:
                text[at] = static_cast<char>(m_random());
                break;
            case 2:
                text.insert(at, kPieces[pick(kPieces.size())]);
                break;
            case 3:
                text.replace(at, length, kPieces[pick(kPieces.size())]);
                break;
            case 4:
                text.insert(pick(text.size()), text.substr(at, length));
                break;
            case 5:
                text.resize(at);
                break;
            default:
                number(text, at);
                break;
            }
            if (pick(20) == 0)
                text.insert(pick(text.size() + 1), other.substr(pick(other.size()), 1 + pick(600)));
        }
        return text;
    }

    std::size_t pick(std::size_t below) { return m_random() % below; }

private:
    /// Changes one digit of the next number, which makes ids, ports, lanes and positions slightly wrong.
    void number(std::string& text, std::size_t from) {
        const std::size_t digit = text.find_first_of("0123456789", from);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + pick(10));
    }

    std::mt19937 m_random;
};

std::vector<std::string> examples() {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(fs::path(TWB_SOURCE_DIR) / "resources/examples"))
        if (entry.path().extension() == ".twb") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end()); // the same mutations on every machine
    std::vector<std::string> texts;
    for (const fs::path& path : paths) texts.push_back(readFile(path, 1 << 20));
    texts.push_back(kWithDots);
    return texts;
}

/// Counts the damaged files that still are valid. Both outcomes must occur often, as shares of the rounds;
/// otherwise the test shows nothing.
void countSound(const char* files, int rounds, const std::function<bool(int round)>& isSound,
                double most = 0.5, double least = 0.02) {
    int sound = 0;
    for (int i = 0; i < rounds; ++i) sound += isSound(i) ? 1 : 0;
    qInfo("%d of %d damaged %s still are one", sound, rounds, files);
    QVERIFY(sound > rounds * least);
    QVERIFY(sound < rounds * most);
}

} // namespace

/// Thousands of damaged files, the same in each run: the parser must not crash, hang or return an invalid
/// value.
class TestMutations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void damagedProjects() {
        const std::vector<std::string> texts = examples();
        Mutator mutator(20240521);
        countSound("projects", 20000, [&](int) {
            const std::string& other = texts[mutator.pick(texts.size())];
            return fuzz::project(mutator.mutate(texts[mutator.pick(texts.size())], other));
        });
    }

    void damagedHeaders() {
        const std::string whole =
            "{'descr': '<f4', 'fortran_order': False, 'shape': (360, 64), }          \n";
        const std::string other = "{\"shape\": (2L,), 'descr': '>i8', 'fortran_order': True}";
        Mutator mutator(7);
        countSound("headers", 50000,
                   [&](int i) { return fuzz::npyHeader(mutator.mutate(i % 2 ? whole : other, whole)); });
    }

    void damagedModels() {
        const std::string whole = smallModel().SerializeAsString();
        Mutator mutator(13);
        countSound("models", 20000, [&](int) { return fuzz::onnxModel(mutator.mutate(whole, whole)); });
    }

    void damagedCaptures() {
        const std::string whole = loopCapture(3, 1);
        const std::string other =
            readFile(fs::path(TWB_SOURCE_DIR) / "tests/data/capture_packed_lstm.twbcap", 1 << 20)
                .substr(0, 12000);
        Mutator mutator(19);
        countSound("captures", 1500,
                   [&](int i) { return fuzz::capture(mutator.mutate(i % 4 ? whole : other, other)); });
    }

    void damagedArchives() {
        const QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "a.npz";
        const fs::path data = fs::path(TWB_SOURCE_DIR) / "tests/data";
        writeTensor({path, "a"}, Tensor::of<float>({3}, {1, 2, 3}).view());
        writeTensor({path, "b"}, Tensor::of<std::int64_t>({2, 2}, {1, 2, 3, 4}).view());
        const std::string whole = readFile(path, 10000);
        const std::string other = readFile(data / "numpy_deflated.npz", 10000);
        QVERIFY(fuzz::npz(whole, path));
        Mutator mutator(17);
        countSound(
            "archives", 4000,
            [&](int i) { return fuzz::npz(mutator.mutate(i % 2 ? whole : other, other), path); }, 0.5, 0.005);
    }

    void damagedTraces() {
        GzipInput input(fs::path(TWB_SOURCE_DIR) / "tests/data/traces/mi250-minitoy-training-rocm.json.gz");
        const std::string whole{std::istreambuf_iterator<char>(&input), {}};
        QVERIFY(fuzz::kinetoTrace(whole));
        Mutator mutator(19);
        countSound(
            "traces", 2000, [&](int) { return fuzz::kinetoTrace(mutator.mutate(whole, whole)); }, 1);
    }

    void damagedRunEvents() {
        const QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "events";
        const auto plan = examplePlan();
        plan->producers = {0, 1, 2, 3};
        plan->steps[2].waits = {1};
        {
            RunEventWriter writer(path, *plan, 2);
            writer.add(exampleRecords());
            RunResult result;
            result.states.assign(plan->steps.size(), StepState::done);
            result.errors.push_back({1, NodeId{3}, ErrorCode::failed, "node \"x\" failed"});
            writer.end(result, {probe("seen", Tensor::onHost({DType::f32, {2}}))});
        }
        const std::string whole = readFile(path, 1 << 20);
        QVERIFY(fuzz::runEvents(whole));
        Mutator mutator(23);
        countSound("runs", 20000, [&](int) { return fuzz::runEvents(mutator.mutate(whole, whole)); });
    }

    void damagedRunTraces() {
        const QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "t.json";
        const auto plan = examplePlan();
        plan->producers = {0, 1, 2, 3};
        TraceRecorder recorder(plan);
        recorder.add(exampleRecords());
        std::ostringstream text;
        recorder.write(text);
        QVERIFY(fuzz::runTrace(text.str(), path));
        Mutator mutator(29);
        countSound(
            "traces of runs", 10000,
            [&](int) { return fuzz::runTrace(mutator.mutate(text.str(), text.str()), path); }, 1);
    }

    void damagedPrograms() {
        const QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "m.pt2";
        const fs::path data = fs::path(TWB_SOURCE_DIR) / "tests/data/pt2";
        const std::string whole = readFile(data / "torch2.9-plain.pt2", 100000);
        const std::string moves = readFile(data / "torch2.15-two-moves.pt2", 100000);
        QVERIFY(fuzz::pt2(whole, path));
        // The program of an archive whose entries are stored.
        const std::size_t first = moves.find("{\"graph_module\"");
        const std::string program = moves.substr(first, moves.find("}PK", first) + 1 - first);
        QVERIFY(fuzz::pt2Program(program, path));
        Mutator mutator(19);
        countSound(
            "programs", 2000,
            [&](int i) {
                return i < 1000 ? fuzz::pt2(mutator.mutate(whole, moves), path)
                                : fuzz::pt2Program(mutator.mutate(program, program), path);
            },
            0.75, 0.01);
    }

    void damagedTensorFiles() {
        QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "a.npy";
        writeNpy(path, Tensor::of<float>({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).view());
        const std::string whole = readFile(path, 1000);
        Mutator mutator(11);
        countSound(
            "tensor files", 1000,
            [&](int) {
                const std::string bytes = mutator.mutate(whole, whole);
                std::ofstream(path, std::ios::binary)
                    .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
                try {
                    return readNpy(path).byteCount() <= static_cast<std::int64_t>(bytes.size());
                } catch (const Error& e) {
                    if (e.code() != ErrorCode::badFile) throw;
                    return false;
                }
            },
            1);
    }
};

TWB_TEST_MAIN(TestMutations)
#include "test_mutations.moc"
