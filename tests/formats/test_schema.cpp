#include "core/error.h"
#include "formats/project.h"
#include "graph/delta.h"
#include "support/json_schema.h"
#include "support/test_main.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <regex>

using namespace twb;
using nlohmann::json;
using test::Schema;
namespace fs = std::filesystem;

namespace {

const fs::path kResources = fs::path(TWB_SOURCE_DIR) / "resources";

Schema schema() {
    return Schema(json::parse(readFile(kResources / "schema/tensor-workbench.schema.json", 1 << 20)));
}

} // namespace

class TestSchema : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void examplesFollowTheSchema() {
        const Schema s = schema();
        int count = 0;
        for (const auto& entry : fs::directory_iterator(kResources / "examples")) {
            if (entry.path().extension() != ".twb") continue;
            const std::string wrong = s.problem(json::parse(readFile(entry.path(), 1 << 20)));
            QVERIFY2(wrong.empty(), (entry.path().string() + ": " + wrong).c_str());
            ++count;
        }
        QCOMPARE(count, 18);
    }

    void savedProjectsFollowTheSchema() {
        Graph graph;
        QCOMPARE(schema().problem(json::parse(toProjectText(graph))), std::string());
        DeltaBuilder b(graph, "");
        b.setInfo({"t", "d", Policy::implicit, 7, {{"ops", "1.0", "https://example.org", {"Op"}}}});
        const LaneId lane = b.addLane({LaneId::none, Device::cuda(63, 63), "title", -3, 120.5});
        const FrameId outer = b.addFrame({FrameId::none, "outer", FrameId::none});
        const FrameId inner = b.addFrame({FrameId::none, "inner", outer});
        Attributes attributes{{"i", std::int64_t(1)}, {"d", std::nan("")}, {"r", RawJson{"{\"a\":[null]}"}}};
        const NodeId a = b.addNode({NodeId::none, "Op", "", lane, inner, attributes, {-1.5, 2}});
        for (const char* text : {"off after", "nan or inf", "mean <= -1.5e-07", "max > 1e+30", "nan != 12",
                                 "before; off input std < 2; after; nan or inf"}) {
            Node stops;
            stops.op = "Op";
            stops.lane = lane;
            stops.breakpoints = *parseBreakpoints(text);
            b.addNode(std::move(stops));
        }
        Node imported{NodeId::none, "Op", "", lane, inner, {}, {}};
        imported.source = SourceLine{"/home/a b/net.py", 11, "forward"};
        b.addNode(std::move(imported));
        b.connect({{a, 3}, {a, 64}});
        b.setDots({a, 64}, {{lane, {1.5, -2}}, {lane, {0, 0}}});
        b.addNote({NoteId::none, "text", lane, {1, 2}, 100, 0});
        graph.apply(b.take());
        QCOMPARE(schema().problem(json::parse(toProjectText(graph))), std::string());
    }

    /// The schema and the reader reject the same files.
    void schemaRefusesWhatTheReaderRefuses_data() {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        const auto row = [](const char* pointer, const char* value) {
            QTest::newRow(
                qPrintable(QStringLiteral("%1 = %2").arg(QLatin1String(pointer), QLatin1String(value))))
                << QString::fromUtf8(pointer) << QString::fromUtf8(value);
        };
        row("/format", "\"other\"");
        row("/version", "2");
        row("/version", "1.5");
        row("/iterations", "0");
        row("/iterations", "\"1\"");
        row("/policy", "\"loose\"");
        row("/title", "3");
        row("/plugins", "{}");
        row("/plugins", "[{\"name\": \"bend\"}]");
        row("/plugins", "[{\"name\": \"bend\", \"ops\": \"Bend\"}]");
        row("/plugins", "[{\"name\": \"bend\", \"ops\": [3]}]");
        row("/nodes", "{}");
        row("/nodes/0", "[]");
        row("/nodes/0/id", "0");
        row("/nodes/0/id", "9007199254740992");
        row("/nodes/0/op", "\"\"");
        row("/nodes/0/name", "null");
        row("/nodes/0/colour", "1");
        row("/nodes/0/attributes", "[]");
        row("/nodes/0/breakpoint", "true");
        row("/nodes/0/breakpoint", "\"on\"");
        row("/nodes/0/breakpoint", "\"max > nan\"");
        row("/nodes/0/breakpoint", "\"\"");
        row("/nodes/0/breakpoint", "\"before;after\"");
        row("/nodes/0/breakpoint", "\"before; \"");
        row("/nodes/0/breakpoint", "\"input after\"");
        row("/nodes/0/breakpoint", "\"max > 03\"");
        row("/nodes/0/source", "3");
        row("/nodes/0/source", "\"net.py\"");
        row("/nodes/0/source", "\"net.py:0\"");
        row("/nodes/0/source", "\"net.py:1234567890\"");
        row("/nodes/0/source", "\"net.py:11 in \"");
        row("/lanes/0/device", "\"tpu\"");
        row("/lanes/0/device", "\"cuda:64\"");
        row("/lanes/0/order", "3000000000");
        row("/edges/0/from", "[1]");
        row("/edges/0/from", "[1, 0, 0]");
        row("/edges/0/from", "[1, -1]");
        row("/edges/0/from", "[1, 65536]");
        row("/notes/0/text", "[]");
        row("/layout/nodes/1", "[1]");
        row("/layout/nodes/1", "[1, 2, 3]");
        row("/layout/nodes/1", R"([1, 2, "open"])");
        row("/layout/nodes/1", R"([1, 2, "folded", 3])");
        row("/layout/nodes/1", "[1e10, 2]");
        row("/layout/nodes/x", "[1, 2]");
        row("/layout/notes/1", "[1, 2, 0, 4]");
        row("/layout/notes/1", "[1, 2, 3, -4]");
        row("/layout/lanes/1", "-1");
        row("/layout/edges", "{}");
        row("/layout/routes", "[]");
        row("/layout/routes", R"({"3:0": []})");
        row("/layout/routes", R"({"3:0": [[1, 2]]})");
        row("/layout/routes", R"({"3:0": [[1, 2, 3, 4]]})");
        row("/layout/routes", R"({"3:0": [[1, 2, 1e10]]})");
        row("/layout/routes", R"({"3:0": [[0, 2, 3]]})");
        row("/layout/routes", R"({"3": [[1, 2, 3]]})");
        row("/layout/routes", R"({"03:0": [[1, 2, 3]]})");
        row("/extra", "1");
    }
    void schemaRefusesWhatTheReaderRefuses() {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        json document =
            json::parse(readFile(kResources / "examples/01-cpu-tensor-plus-cuda-tensor.twb", 1 << 20));
        document[json::json_pointer(pointer.toStdString())] = json::parse(value.toStdString());
        QVERIFY(!schema().problem(document).empty());
        QVERIFY_EXCEPTION_THROWN(parseProject(document.dump(), "changed.twb"), Error);
    }

    void schemaRequiresWhatTheReaderRequires() {
        const json document =
            json::parse(readFile(kResources / "examples/01-cpu-tensor-plus-cuda-tensor.twb", 1 << 20));
        for (const char* list : {"lanes", "nodes", "edges", "notes"}) {
            for (const auto& [key, value] : document[list][0].items()) {
                json without = document;
                without[list][0].erase(key);
                bool isRead = true;
                try {
                    parseProject(without.dump(), "changed.twb");
                } catch (const Error&) {
                    isRead = false;
                }
                QCOMPARE(schema().problem(without).empty(), isRead);
            }
        }
    }
};

TWB_TEST_MAIN(TestSchema)
#include "test_schema.moc"
