#include "core/error.h"
#include "formats/pytorch/pt2.h"
#include "placement/analysis.h"
#include "runtime/executor.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <zip.h>

using namespace twb;
namespace fs = std::filesystem;

namespace {

fs::path sample(const std::string& name) { return fs::path(TWB_SOURCE_DIR) / "tests/data/pt2" / name; }

std::vector<Diagnostic> mismatchesOf(const ImportedModel& model) {
    const Graph& graph = model.graph;
    const DeviceMap devices = test::simulatedMap();
    std::vector<Diagnostic> out;
    for (const Diagnostic& d :
         analyze(graph, devices, Policy::strict, makeMemoryFiles(model.tensors).get()).diagnostics)
        if (d.code == "device-mismatch") out.push_back(d);
    return out;
}

std::size_t countOf(const Graph& graph, const std::string& op) {
    std::size_t count = 0;
    for (const Node& node : graph.nodes()) count += node.op == op;
    return count;
}

} // namespace

class TestPt2 : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void findsTheMismatchesOfAProgram() {
        const ImportedModel model = importPt2(sample("torch2.15-three-mismatches.pt2"));
        const auto found = mismatchesOf(model);
        QCOMPARE(found.size(), std::size_t{2});
        for (const Diagnostic& d : found) {
            const Node* node = model.graph.find(d.node);
            QVERIFY(node->op == "Mul" || node->op == "Add");
            QVERIFY(node->source);
            QCOMPARE(toString(*node->source), std::string("/tmp/pt2/old.py:10 in forward"));
        }
    }

    void movesAreToNodesBetweenLanes() {
        const ImportedModel model = importPt2(sample("torch2.15-two-moves.pt2"));
        QCOMPARE(countOf(model.graph, "To"), std::size_t{4});
        QCOMPARE(model.graph.lanes().size(), std::size_t{2});
        QVERIFY(mismatchesOf(model).empty());
        const Node* x = model.graph.findByName("x");
        QVERIFY(x && model.graph.deviceOf(*x).isCpu());
        const Node* weight = model.graph.findByName("l1.weight");
        QVERIFY(weight && model.graph.deviceOf(*weight).isCuda());
        QCOMPARE(model.outputs.size(), std::size_t{1});
    }

    void weightsOfAPickleAreInputs_data() {
        QTest::addColumn<QString>("file");
        QTest::newRow("2.6") << "torch2.6-plain.pt2";
        QTest::newRow("2.8") << "torch2.8-plain.pt2";
    }
    void weightsOfAPickleAreInputs() {
        QFETCH(QString, file);
        const ImportedModel model = importPt2(sample(file.toStdString()));
        const Node* weight = model.graph.findByName("c.weight");
        QVERIFY(weight);
        QCOMPARE(weight->op, std::string("Input"));
        QCOMPARE(weight->attributes.integers("shape"), (std::vector<std::int64_t>{4, 3, 3, 3}));
        QCOMPARE(model.remarks.size(), std::size_t{1});
        QVERIFY(model.remarks[0].find("2 of its weights are only in a pickle") != std::string::npos);
    }

    void rawWeightsAreRead() {
        const ImportedModel model = importPt2(sample("torch2.9-plain.pt2"));
        QCOMPARE(model.graph.findByName("c.weight")->op, std::string("File"));
        QCOMPARE(model.graph.findByName("c.bias")->op, std::string("Constant"));
        QCOMPARE(model.tensors.size(), std::size_t{1});
        QVERIFY(model.remarks.empty());
    }

    void modelsGivePyTorchsNumbers_data() {
        QTest::addColumn<QString>("name");
        QTest::newRow("lstm") << "lstm";
        QTest::newRow("encoder") << "encoder";
    }
    void modelsGivePyTorchsNumbers() {
        QFETCH(QString, name);
        const std::string stem = "torch2.9-" + name.toStdString();
        ImportedModel model = importPt2(sample(stem + ".pt2"));
        std::ifstream file(sample(stem + ".json"));
        const auto numbers = nlohmann::json::parse(file);
        // The input becomes a tensor in memory.
        const Node input = *model.graph.findByName(model.graph.findByName("x") ? "x" : "src");
        const auto values = numbers.at("inputs")[0].get<std::vector<float>>();
        Node given = input;
        given.op = "File";
        given.attributes = {{"path", std::string("given#x")}};
        Delta delta;
        delta.nodes.push_back({input, given});
        model.graph.apply(delta);
        model.tensors["given#x"] =
            Tensor::of<float>(Shape(input.attributes.integers("shape")), std::span<const float>(values));
        const auto files = makeMemoryFiles(model.tensors);
        const Analysis analysis = analyze(model.graph, DeviceMap(), Policy::strict, files.get());
        QVERIFY2(!analysis.hasErrors(), analysis.hasErrors() ? analysis.diagnostics[0].message.c_str() : "");
        CompileOptions options;
        options.keep.insert(model.outputs.at(0).from);
        const RunResult result =
            runToEnd(compile(model.graph, analysis, DeviceMap(), files, options), {}, nullptr);
        QVERIFY2(result.errors.empty(), result.errors.empty() ? "" : result.errors[0].message.c_str());
        const Tensor* output = result.tensor(model.outputs[0].from);
        QVERIFY(output);
        const auto wanted = numbers.at("output").get<std::vector<double>>();
        QCOMPARE(output->elementCount(), std::int64_t(wanted.size()));
        for (std::size_t i = 0; i < wanted.size(); ++i)
            QVERIFY2(std::abs(output->at(std::int64_t(i)) - wanted[i]) < 1e-5, std::to_string(i).c_str());
    }

    void refusesOtherFiles() {
        QCOMPARE(refusal("hello"), QString("not a .pt2 file"));
        QCOMPARE(refusal(archive({{"m/archive_format", "pt2"}})),
                 QString("not a program saved by torch.export"));
        QCOMPARE(refusal(archive({{"m/models/model.json", "{"}})), QString("its program is damaged"));
        QCOMPARE(
            refusal(archive({{"m/models/model.json", R"({"schema_version": {"major": 7, "minor": 3}})"}})),
            QString("its schema version is 7.3, but only version 8 is supported"));
        QCOMPARE(refusal(archive({{"m/models/model.json", R"({"schema_version": {"major": 8}})"}})),
                 QString("its program is damaged"));
    }

    void survivesEveryTruncation() {
        std::ifstream file(sample("torch2.9-plain.pt2"), std::ios::binary);
        std::stringstream whole;
        whole << file.rdbuf();
        const std::string bytes = whole.str();
        int refused = 0;
        for (std::size_t length = 0; length < bytes.size(); length += 97)
            refused += !refusal(bytes.substr(0, length)).isEmpty();
        QVERIFY(refused > 90);
    }

    void modulesAreFramesAndOpaqueNodesDoNotRun() {
        const ImportedModel model = importPt2(sample("torch2.9-encoder.pt2"));
        QVERIFY(model.graph.frames().size() >= 2);
        QCOMPARE(countOf(model.graph, "Opaque"), std::size_t{0});
    }

private:
    /// The message after the file's name, up to a detail in it.
    QString refusal(const std::string& bytes) {
        const fs::path path = m_folder.filePath("m.pt2").toStdString();
        std::ofstream(path, std::ios::binary) << bytes;
        try {
            (void)importPt2(path);
        } catch (const Error& e) {
            const std::string sentence = e.what();
            if (!sentence.starts_with(path.string() + ": ")) return "no name: " + QString(e.what());
            QString said = QString::fromStdString(sentence.substr(path.string().size() + 2));
            for (const char* end : {" (a zip", ": "})
                if (const auto at = said.indexOf(end); at >= 0) said.truncate(at);
            return said;
        }
        return {};
    }

    std::string archive(const std::vector<std::pair<std::string, std::string>>& entries) {
        const fs::path path = m_folder.filePath("made.zip").toStdString();
        fs::remove(path);
        zip_t* zip = zip_open(path.c_str(), ZIP_CREATE, nullptr);
        for (const auto& [name, text] : entries) {
            zip_source_t* source = zip_source_buffer(zip, text.data(), text.size(), 0);
            const zip_int64_t at = zip_file_add(zip, name.c_str(), source, 0);
            zip_set_file_compression(zip, static_cast<zip_uint64_t>(at), ZIP_CM_STORE, 0);
        }
        zip_close(zip);
        std::ifstream file(path, std::ios::binary);
        std::stringstream bytes;
        bytes << file.rdbuf();
        return bytes.str();
    }

    QTemporaryDir m_folder;
};

TWB_TEST_MAIN(TestPt2)
#include "test_pt2.moc"
