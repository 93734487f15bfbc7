#include "core/error.h"
#include "formats/project.h"
#include "graph/delta.h"
#include "support/small_project.h"
#include "support/test_main.h"

#include <fmt/format.h>

using namespace twb;
using namespace twb::test;

namespace {

/// The error message of parsing `text`; empty if it could be read.
QString refusal(const std::string& text) {
    try {
        parseProject(text, "bad.twb");
        return {};
    } catch (const Error& e) {
        if (e.code() != ErrorCode::badFile) return QStringLiteral("another code than badFile");
        return QString::fromStdString(e.what());
    }
}

} // namespace

/// Texts that are not projects, and damaged projects.
class TestProjectRefusals : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void badInputIsReportedWithItsPosition_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const std::string& text, const char* says) {
            QTest::newRow(name) << QByteArray(text.data(), static_cast<qsizetype>(text.size()))
                                << QString::fromUtf8(says);
        };
        row("empty", "", "line 1, column 1");
        row("truncated", kSmall.substr(0, kSmall.size() / 2), "not valid JSON");
        row("truncated early", "{\"format\": \"tensor-workb", "line 1, column");
        row("not JSON", "hello", "line 1, column");
        row("line and column", with("\"id\": 2,", "\"id\": ,"), "line 9, column 8");
        row("trailing text", kSmall + "x", "not valid JSON");
        row("a list", "[1, 2]", "not a Tensor Workbench project");
        row("another JSON", R"({"name": "x", "version": "2.0"})", "not a Tensor Workbench project");
        row("newer", with("\"version\": 1", "\"version\": 9"),
            "was written by a newer Tensor Workbench (version 9; this one reads up to 1)");
        row("newer, keys sorted", R"({"edges": [{"id": "new"}], "format": "tensor-workbench", "version": 2})",
            "(version 2;");
        row("version 0", with("\"version\": 1", "\"version\": 0"),
            "\"version\" must be an integer from 1, but is 0");
        row("version text", with("\"version\": 1", "\"version\": \"1\""), "but is a string");
        row("version 1.0", with("\"version\": 1", "\"version\": 1.0"), "but is 1.0");
        row("version list", with("\"version\": 1", "\"version\": [1]"), "but is a list");
        row("version null", with("\"version\": 1", "\"version\": null"), "but is null");
        row("no version", with("\"version\": 1,", ""), "but is missing");
        row("unknown key", with("\"title\"", "\"titel\""), "the document has the unknown key \"titel\"");
        row("unknown node key", with("\"frame\": 1", "\"farm\": 1"), "nodes[1] has the unknown key \"farm\"");
        row("key twice", with("\"description\": \"\"", "\"title\": \"\""),
            "the document has the key \"title\" twice");
        row("no lane", with(", \"lane\": 1, \"frame\"", ", \"frame\""), "nodes[1] has no \"lane\"");
        row("NaN for an integer", with("\"iterations\": 1", "\"iterations\": NaN"), "not valid JSON");
        row("text for an integer", with("\"iterations\": 1", "\"iterations\": \"nan\""),
            "iterations must be an integer");
        row("fraction for an integer", with("\"iterations\": 1", "\"iterations\": 1.5"),
            "iterations must be an integer");
        const auto plugins = [](const char* list) {
            return with("\"iterations\": 1", std::string("\"iterations\": 1, \"plugins\": ") + list);
        };
        row("plugins an object", plugins("{}"), "plugins must be a list");
        row("plugin a text", plugins("[\"bend\"]"), "plugins[0] must be an object");
        row("plugin without ops", plugins(R"([{"name": "bend"}])"), "plugins[0] has no \"ops\"");
        row("ops a text", plugins(R"([{"name": "bend", "ops": "Bend"}])"),
            "plugins[0].ops must be a list of strings");
        row("op a number", plugins(R"([{"name": "bend", "ops": ["Bend", 3]}])"),
            "plugins[0].ops must be a list of strings");
        row("op a list", plugins(R"([{"name": "bend", "ops": [["Bend"]]}])"),
            "plugins[0].ops must be a string, not a list");
        row("plugin's version a number", plugins(R"([{"name": "bend", "version": 1, "ops": []}])"),
            "plugins[0].version must be a string");
        row("iterations 0", with("\"iterations\": 1", "\"iterations\": 0"),
            "iterations is 0; it must lie between 1 and");
        row("policy", with("\"strict\"", "\"loose\""), "policy must be \"strict\", \"implicit\" or \"guard:");
        row("breakpoint", with("\"frame\": 1", "\"breakpoint\": \"max => 3\""),
            "nodes[1].breakpoint must be before, after, \"nan or inf\" or a condition such as \"max > 3\" "
            "or \"input max > 3\", or several with \"; \" between them, but is \"max => 3\"");
        row("nodes an object",
            with("\"notes\": [{\"id\": 1, \"lane\": 1, \"text\": \"hello\"}]", "\"notes\": {}"),
            "notes must be a list, not an object");
        row("title a list", with("\"title\": \"t\"", "\"title\": []"), "title must be a string, not a list");
        row("iterations an object", with("\"iterations\": 1", "\"iterations\": {}"),
            "iterations must be an integer, not an object");
        row("lane's height a list", with("{\"1\": 200}", "{\"1\": [200]}"),
            "layout.lanes.1 must be a number, the lane's height, not a list");
        row("edge an object", with("\"from\": [1, 0]", "\"from\": {}"),
            "edges[0].from must be a list of a node's id and a port, not an object");
        row("iterations 1e30", with("\"iterations\": 1", "\"iterations\": 1e30"),
            "iterations must be an integer from 1 to 9223372036854775807, but is 1e+30");
        row("id twice, and placed", with("\"id\": 2", "\"id\": 1"),
            "nodes[1].id is 1, but nodes[0] already has this id");
        row("no lanes", with("{\"id\": 1, \"device\": \"cpu\", \"order\": 0}", ""),
            "nodes[0].lane is 1, which is not a lane; \"lanes\" has none");
        row("nodes a number", with("[{\"from\": [1, 0], \"to\": [2, 0]}]", "7"), "edges must be a list");
        row("a node that is none", with("{\"from\": [1, 0], \"to\": [2, 0]}", "3"),
            "edges[0] must be an object");
        row("device", with("\"cpu\"", "\"tpu:0\""),
            "lanes[0].device must be a device, \"cpu\", \"cuda:0\" to \"cuda:63\", \"rank1/cuda:0\" or "
            "\"auto\", but is "
            "\"tpu:0\"");
        row("id 0", with("\"id\": 2", "\"id\": 0"), "nodes[1].id is 0");
        row("id negative", with("\"id\": 2", "\"id\": -2"), "nodes[1].id is -2");
        row("id 2^53", with("\"id\": 2", "\"id\": 9007199254740992"), "nodes[1].id is 9007199254740992");
        row("id beyond 64 bits", with("\"id\": 2", "\"id\": 99999999999999999999999"),
            "nodes[1].id must be an integer");
        row("id a double", with("\"id\": 2", "\"id\": 2.0"), "nodes[1].id must be an integer");
        row("id null", with("\"id\": 2", "\"id\": null"), "nodes[1].id must be an integer");
        row("ids twice", with("\"id\": 2", "\"id\": 1", with(", \"2\": [200, 0]", "")),
            "nodes[1].id is 1, but nodes[0] already has this id");
        row("dangling from", with("[1, 0], \"to\"", "[5, 0], \"to\""),
            "edges[0].from names node 5, which does not exist");
        row("dangling to", with("[2, 0]}]", "[5, 0]}]"), "edges[0].to names node 5, which does not exist");
        row("port negative", with("[1, 0], \"to\"", "[1, -1], \"to\""), "edges[0].from is -1");
        row("port huge", with("[1, 0], \"to\"", "[1, 70000], \"to\""), "edges[0].from names port 70000");
        row("input far out", with("[2, 0]}]", "[2, 65535]}]"), "edges[0].to names input 65535 of node 2");
        row("port of one", with("[1, 0], \"to\"", "[1], \"to\""),
            "edges[0].from must be a node's id and a port");
        row("port of three", with("[1, 0], \"to\"", "[1, 0, 0, 0, 0], \"to\""), "edges[0].from");
        row("two into one input", with("[2, 0]}]", "[2, 0]}, {\"from\": [2, 0], \"to\": [2, 0]}]"),
            "edges[1].to: input 0 of node 2 is connected already, by edges[0]");
        row("lane unknown", with("\"lane\": 1, \"frame\"", "\"lane\": 4, \"frame\""),
            "nodes[1].lane is 4, which is not a lane");
        row("note's lane unknown", with("\"lane\": 1, \"text\"", "\"lane\": 4, \"text\""),
            "notes[0].lane is 4");
        row("frame unknown", with("\"frame\": 1", "\"frame\": 4"),
            "nodes[1].frame is 4, which is not a frame");
        row("frame in itself", with("\"title\": \"f\"", "\"title\": \"f\", \"parent\": 1"),
            "frames[0].parent");
        row("parent unknown", with("\"title\": \"f\"", "\"title\": \"f\", \"parent\": 3"),
            "frames[0].parent is 3");
        row("empty op", with("\"Relu\"", "\"\""), "nodes[1].op must not be empty");
        row("name a number", with("\"name\": \"b\"", "\"name\": 3"), "nodes[1].name must be a string");
        row("attributes a list", with("{\"shape\": [2, 3]}", "[2]"),
            "nodes[0].attributes must be an object, not a list");
        row("attribute twice", with("[2, 3]", "[2, 3], \"shape\": 1"),
            "nodes[0].attributes.shape is given twice");
        row("position far out", with("[200, 0]", "[1e300, 0]"), "layout.nodes.2 is 1e+300");
        row("position too large for a double", with("[200, 0]", "[1e400, 0]"), "not valid JSON");
        row("position of three", with("[200, 0]", "[200, 0, 1]"),
            "layout.nodes.2 must be [x, y], or [x, y, \"folded\"]");
        row("not folded but open", with("[200, 0]", "[200, 0, \"open\"]"), "layout.nodes.2 must be a number");
        row("more after folded", with("[200, 0]", "[200, 0, \"folded\", 1]"),
            "layout.nodes.2 has too many values");
        row("position a number", with("[200, 0]", "200"), "layout.nodes.2 must be a list of numbers");
        row("place of nobody", with("\"2\": [200, 0]", "\"7\": [200, 0]"),
            "layout.nodes.7 positions an item that does not exist");
        row("place twice", with("\"2\": [200, 0]", "\"1\": [200, 0]"), "layout.nodes.1 is given twice");
        row("place of no id", with("\"2\": [200, 0]", "\"x\": [200, 0]"), "layout.nodes.x is not an id");
        const auto dots = [](const char* routes) {
            return with("\"notes\": {\"1\": [0, 100, 280, 0]}",
                        fmt::format("\"notes\": {{\"1\": [0, 100, 280, 0]}}, \"routes\": {}", routes));
        };
        row("dots of no edge", dots(R"({"2:1": [[1, 0, 0]]})"),
            "layout.routes.2:1 has dots (bends of a wire) for an input without an edge; remove it");
        row("dots of nobody", dots(R"({"7:0": [[1, 0, 0]]})"), "layout.routes.7:0 has dots");
        row("dots twice", dots(R"({"2:0": [[1, 0, 0]], "2:0": [[1, 0, 0]]})"),
            "layout.routes.2:0 is given twice");
        row("dots of no input", dots(R"({"2": [[1, 0, 0]]})"),
            "layout.routes.2 must name an input as NODE:PORT, such as 12:0");
        row("dots of an input written otherwise", dots(R"({"02:0": [[1, 0, 0]]})"),
            "layout.routes.02:0 must name an input");
        row("dots of a port that is too high", dots(R"({"2:65536": [[1, 0, 0]]})"), "must name an input");
        row("no dots", dots(R"({"2:0": []})"), "layout.routes.2:0 must have at least one dot");
        row("dots a number", dots(R"({"2:0": 3})"), "layout.routes.2:0 must be a list of dots");
        row("dots an object", dots(R"({"2:0": {}})"), "layout.routes.2:0 must be a list of dots");
        row("routes a list", dots("[]"), "layout.routes must be an object");
        row("a dot that is none", dots(R"({"2:0": [3]})"),
            "layout.routes.2:0 must be a list of dots, each of a lane's id, x and y");
        row("a dot of two", dots(R"({"2:0": [[1, 0]]})"),
            "layout.routes.2:0[0] must be a list of a lane's id, x and y");
        row("a dot of four", dots(R"({"2:0": [[1, 0, 0, 0]]})"), "layout.routes.2:0[0] must be a list of");
        row("a dot far out", dots(R"({"2:0": [[1, 0, 0], [1, 1e10, 0]]})"),
            "layout.routes.2:0[1] is 10000000000");
        row("a dot on lane 0", dots(R"({"2:0": [[0, 0, 0]]})"), "layout.routes.2:0[0] is on lane 0");
        row("a dot on half a lane", dots(R"({"2:0": [[1.5, 0, 0]]})"),
            "layout.routes.2:0[0] must be an integer");
        row("a dot on no lane", dots(R"({"2:0": [[1, 0, 0], [4, 0, 0]]})"),
            "layout.routes.2:0[1] is on lane 4, which does not exist");
        std::string tooMany = R"({"2:0": [[1, 0, 0])";
        for (std::size_t i = 0; i < kMostDots; ++i) tooMany += ", [1, 0, 0]";
        row("too many dots", dots((tooMany + "]}").c_str()), "layout.routes.2:0 has more than 100 dots");
        row("layout key", with("\"lanes\": {\"1\"", "\"lines\": {\"1\""),
            "layout has the unknown key \"lines\"");
        row("note's size", with("280", "-280"), "layout.notes.1 must have a width above 0");
        row("lane's height", with("200}", "-1}"), "layout.lanes.1 is -1");
        row("invalid UTF-8", with("\"name\": \"b\"", "\"name\": \"\xff\""), "line 9");
        row("zero byte", std::string("{\"format\": \"tensor-workbench\",\0}", 32), "line 1");
        row("deep nesting", std::string(100000, '['), "not valid JSON");
        row("deep nesting in an attribute", with("[2, 3]", std::string(100000, '[')),
            "nodes[0].attributes.shape is nested deeper");
        row("deep objects in an attribute",
            with("[2, 3]",
                 [] {
                     std::string deep;
                     for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
                     return deep;
                 }()),
            "nodes[0].attributes.shape is nested deeper");
        row("fragment", toFragmentText({}), "not a Tensor Workbench project");
        std::string many = "{";
        for (int i = 0; i < 2000; ++i) many += fmt::format("\"a{}\": 1, ", 5000 - i);
        row("many attributes", with("{\"shape\": [2, 3]}", many + "\"x\": 1}"), "attributes per node");
        std::string chain;
        for (int i = 2; i < 500; ++i)
            chain += fmt::format(", {{\"id\": {}, \"title\": \"\", \"parent\": {}}}", i, i - 1);
        row("frames too deep", with("{\"id\": 1, \"title\": \"f\"}", "{\"id\": 1, \"title\": \"f\"}" + chain),
            "deeper than 64 frames");
    }

    void badInputIsReportedWithItsPosition() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        const QString said = refusal(text.toStdString());
        QVERIFY2(said.startsWith(QLatin1String("bad.twb: ")), qPrintable(said));
        QVERIFY2(said.contains(says), qPrintable(said));
        QVERIFY2(said.size() < 500, qPrintable(said));
    }

    void theSmallProjectIsSound() { QCOMPARE(refusal(kSmall), QString()); }

    void everyTruncationIsRefused() {
        for (std::size_t length = 0; length < kSmall.size(); ++length)
            QVERIFY2(!refusal(kSmall.substr(0, length)).isEmpty(), qPrintable(QString::number(length)));
    }
};

TWB_TEST_MAIN(TestProjectRefusals)
#include "test_project_refusals.moc"
