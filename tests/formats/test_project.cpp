#include "core/error.h"
#include "formats/project.h"
#include "graph/delta.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QElapsedTimer>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace twb;

namespace {

/// Texts with everything that JSON, UTF-8 and diffs find hard.
const std::vector<std::string> kTexts{"images",       "",           "fc1.weight", "a \"quoted\" name",
                                      "back\\slash",  "two\nlines", "tab\there",  "Größe 中文 🙂",
                                      "\x01\x1f\x7f", "null",       "12",         "</script>"};

class RandomGraph {
public:
    explicit RandomGraph(unsigned seed) : m_random(seed) {}

    Graph make(std::size_t nodes) {
        Graph empty;
        DeltaBuilder b(empty, "random");
        b.setInfo({text(), text(), pick(2) ? Policy::strict : Policy::implicit,
                   static_cast<std::int64_t>(1 + pick(1000))});
        std::vector<LaneId> lanes;
        std::vector<FrameId> frames{FrameId::none};
        std::vector<NodeId> ids;
        const std::array devices{Device::cpu(), Device::cuda(0), Device::cuda(63), Device::automatic()};
        for (int i = 0; i < 4; ++i)
            lanes.push_back(b.addLane({LaneId::none, devices[pick(4)], text(), i - 2, number() * number()}));
        for (int i = 0; i < 3; ++i)
            frames.push_back(b.addFrame({FrameId::none, text(), frames[pick(frames.size())]}));
        for (std::size_t i = 0; i < nodes; ++i) {
            Node node{
                NodeId::none, "Op" + text(), text(), lanes[pick(4)], frames[pick(frames.size())], {}, {}};
            node.position = {real(), real()};
            for (std::size_t n = pick(4); n > 0; --n) node.attributes.set(fmt::format("a{}", n), value());
            ids.push_back(b.addNode(node));
        }
        for (std::size_t i = 0; i < 2 * nodes; ++i)
            b.connect({{ids[pick(nodes)], static_cast<std::int32_t>(pick(3))},
                       {ids[pick(nodes)], static_cast<std::int32_t>(pick(5))}});
        for (int i = 0; i < 3; ++i)
            b.addNote({NoteId::none,
                       text(),
                       lanes[pick(4)],
                       {real(), real()},
                       1 + std::abs(real()),
                       std::abs(real())});
        Graph graph;
        graph.apply(b.take());
        return graph;
    }

    std::size_t pick(std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(m_random);
    }
    std::string text() { return kTexts[pick(kTexts.size())]; }
    double real() { return std::uniform_real_distribution<double>(-1e6, 1e6)(m_random); }
    double number() { return static_cast<double>(pick(100)); }

    AttributeValue value() {
        const auto bits = [&] { return std::bit_cast<double>(m_random() ^ (m_random() << 32)); };
        switch (pick(11)) {
        case 0:
            return pick(2) == 0;
        case 1:
            return static_cast<std::int64_t>(m_random());
        case 2:
            return 2.0;
        case 3:
            return bits();
        case 4:
            return text();
        case 5:
            return std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), 0, 7};
        case 6:
            return std::vector<double>{bits(), -0.0, 1e300, std::nan(""), 3};
        case 7:
            return std::vector<std::string>{text(), text() + "x"};
        case 8:
            return std::vector<std::int64_t>{};
        case 9:
            return -std::numeric_limits<double>::infinity();
        default:
            return RawJson{R"({"a":[1,null,{"b":1.50}],"c":"é"})"};
        }
    }

private:
    std::mt19937_64 m_random;
};

QStringList lines(const std::string& text) { return QString::fromStdString(text).split(QLatin1Char('\n')); }

int differentLines(const std::string& a, const std::string& b) {
    const QStringList x = lines(a);
    const QStringList y = lines(b);
    if (x.size() != y.size()) return -1;
    int count = 0;
    for (qsizetype i = 0; i < x.size(); ++i) count += x[i] != y[i];
    return count;
}

/// The message of parsing `text`, empty when it was read.
QString refusal(const std::string& text) {
    try {
        parseProject(text, "bad.twb");
        return {};
    } catch (const Error& e) {
        if (e.code() != ErrorCode::badFile) return QStringLiteral("another code than badFile");
        return QString::fromStdString(e.what());
    }
}

/// A small sound project, and the same with one piece replaced.
const std::string kSmall = R"({
"format": "tensor-workbench",
"version": 1,
"title": "t", "description": "", "policy": "strict", "iterations": 1,
"lanes": [{"id": 1, "device": "cpu", "order": 0}],
"frames": [{"id": 1, "title": "f"}],
"nodes": [
{"id": 1, "op": "Zeros", "name": "a", "lane": 1, "attributes": {"shape": [2, 3]}},
{"id": 2, "op": "Relu", "name": "b", "lane": 1, "frame": 1}
],
"edges": [{"from": [1, 0], "to": [2, 0]}],
"notes": [{"id": 1, "lane": 1, "text": "hello"}],
"layout": {"lanes": {"1": 200}, "nodes": {"1": [0, 0], "2": [200, 0]}, "notes": {"1": [0, 100, 280, 0]}}
})";

std::string with(const std::string& piece, const std::string& other, std::string text = kSmall) {
    const auto at = text.find(piece);
    if (at == std::string::npos) qFatal("the small project has no %s", piece.c_str());
    return text.replace(at, piece.size(), other);
}

} // namespace

class TestProject : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void foldedIsSaidWithThePlace() {
        const std::string folded = with("[0, 0]", "[0, 0, \"folded\"]");
        const Graph graph = parseProject(folded, "memory");
        QVERIFY(graph.find(NodeId(1))->folded);
        QVERIFY(!graph.find(NodeId(2))->folded);
        const std::string text = toProjectText(graph);
        QVERIFY(text.find("\"1\": [0, 0, \"folded\"]") != std::string::npos);
        QCOMPARE(differentLines(text, toProjectText(parseProject(kSmall, "memory"))), 1);
    }

    void bodiesAreSaidWithTheirOwners() {
        const std::string frame = R"({"id": 1, "title": "again", "owner": 1, "body": "body"})";
        const std::string text = with(R"({"id": 1, "title": "f"})", frame);
        const Graph graph = parseProject(text, "memory");
        QVERIFY(graph.find(FrameId(1))->owner == NodeId(1));
        QCOMPARE(graph.find(FrameId(1))->body, std::string("body"));
        QVERIFY(toProjectText(graph).find(frame) != std::string::npos);
        std::string wrong = text;
        wrong.replace(wrong.find("\"owner\": 1"), 10, "\"owner\": 99");
        try {
            parseProject(wrong, "memory");
            QFAIL("a body needs an owner");
        } catch (const Error& e) {
            QCOMPARE(QString::fromUtf8(e.what()),
                     QStringLiteral("memory: frames[0].owner is 99, which is no node"));
        }
    }

    void roundTripIsExact() {
        for (unsigned seed = 1; seed <= 60; ++seed) {
            const Graph graph = RandomGraph(seed).make(1 + seed * 7 % 40);
            const std::string text = toProjectText(graph);
            const Graph back = parseProject(text, "memory");
            QVERIFY2(back == graph, qPrintable(QStringLiteral("seed %1").arg(seed)));
            QCOMPARE(toProjectText(back), text);
            QVERIFY(nlohmann::json::accept(text));
        }
    }

    void emptyGraphRoundTrips() { QVERIFY(parseProject(toProjectText(Graph()), "memory") == Graph()); }

    void typesOfAttributesSurvive() {
        const std::string text = with(
            "[2, 3]", R"([2, 3], "d": 2.0, "i": 2, "n": "nan", "l": [1, 2.5, "inf"], "s": ["a"], "b": true,
                 "z": null, "m": [1, "a", null], "h": 18446744073709551616, "u": 18446744073709551615, "e": 1e2)");
        const Node node = *parseProject(text, "memory").find(NodeId(1));
        const auto get = [&](const char* name) { return *node.attributes.find(name); };
        QVERIFY(get("d") == AttributeValue(2.0));
        QVERIFY(get("i") == AttributeValue(std::int64_t(2)));
        QVERIFY(std::isnan(std::get<double>(get("n"))));
        QVERIFY(get("l") ==
                AttributeValue(std::vector<double>{1, 2.5, std::numeric_limits<double>::infinity()}));
        QVERIFY(get("s") == AttributeValue(std::vector<std::string>{"a"}));
        QVERIFY(get("b") == AttributeValue(true));
        QVERIFY(get("z") == AttributeValue(RawJson{"null"}));
        QVERIFY(get("m") == AttributeValue(RawJson{R"([1,"a",null])"}));
        QVERIFY(get("h") == AttributeValue(RawJson{"18446744073709551616"}));
        QVERIFY(get("u") == AttributeValue(RawJson{"18446744073709551615"}));
        QVERIFY(get("e") == AttributeValue(100.0));
    }

    /// Found by the fuzzer of models, whose scales may be an empty list of numbers.
    void emptyListsOfAnyKindSurvive() {
        test::GraphMaker g;
        g.node("Constant", "a", "cpu", {{"value", std::vector<double>{}}});
        g.node("Unknown", "b", "cpu", {{"texts", std::vector<std::string>{}}});
        QVERIFY(parseProject(toProjectText(g.graph()), "memory") == g.graph());
    }

    /// "nan" is a number where the op wants one, and a file's name where it wants a text.
    void theOpSaysWhetherNanIsANumber() {
        test::GraphMaker g;
        const double infinity = std::numeric_limits<double>::infinity();
        const NodeId file = g.node("File", "file", "cpu", {{"path", std::string("nan")}});
        g.node("Save", "save", "cpu", {{"path", std::string("-inf")}}, {file});
        g.node("Constant", "constant", "cpu", {{"value", -infinity}});
        g.node("Constant", "list", "cpu", {{"value", std::vector<double>{std::nan(""), infinity}}});
        g.node("Gelu", "wrong", "cpu", {{"approximate", std::string("inf")}}, {file});
        const Graph back = parseProject(toProjectText(g.graph()), "memory");
        QCOMPARE(back.find(file)->attributes.text("path"), std::string("nan"));
        QVERIFY(back == g.graph());
    }

    /// A hand may have written the op behind its attributes.
    void theOpMayComeLast() {
        const std::string node = R"("attributes": {"path": "inf"}, "name": "a", "lane": 1, "op": "File"})";
        const std::string text =
            with(R"("op": "Zeros", "name": "a", "lane": 1, "attributes": {"shape": [2, 3]}})", node);
        QCOMPARE(parseProject(text, "memory").find(NodeId(1))->attributes.text("path"), std::string("inf"));
    }

    void oneChangeIsOneLine() {
        const Graph before = RandomGraph(7).make(30);
        const std::string text = toProjectText(before);
        for (const Node& node : before.nodes()) {
            Node moved = node;
            moved.position.x += 10;
            Graph after = before;
            after.apply({"", {{node, moved}}, {}, {}, {}, {}, {}, {}});
            QCOMPARE(differentLines(text, toProjectText(after)), 1);

            Node changed = node;
            changed.attributes.set("axis", std::int64_t(3));
            after = before;
            after.apply({"", {{node, changed}}, {}, {}, {}, {}, {}, {}});
            QCOMPARE(differentLines(text, toProjectText(after)), 1);
        }
    }

    void unknownOpSurvives() {
        const std::string text = with("\"Relu\"", "\"FutureOp\"");
        const Graph graph = parseProject(text, "memory");
        QCOMPARE(graph.find(NodeId(2))->op, std::string("FutureOp"));
        QVERIFY(toProjectText(graph).find("\"FutureOp\"") != std::string::npos);
    }

    void badNamesAreSavedReadably() {
        Graph graph = parseProject(kSmall, "memory");
        DeltaBuilder b(graph, "");
        Node node = *graph.find(NodeId(1));
        node.name = "bad \xff byte";
        b.change(node);
        graph.apply(b.take());
        QCOMPARE(parseProject(toProjectText(graph), "memory").find(NodeId(1))->name,
                 std::string("bad \xef\xbf\xbd byte"));
    }

    void keysMayStandInAnyOrder() {
        const nlohmann::json sorted = nlohmann::json::parse(kSmall); // sorts keys
        QVERIFY(parseProject(sorted.dump(), "memory") == parseProject(kSmall, "memory"));
    }

    void cycleIsNoErrorOfTheFile() {
        const Graph graph =
            parseProject(with(R"({"from": [1, 0], "to": [2, 0]})",
                              R"({"from": [2, 0], "to": [2, 0]}, {"from": [2, 0], "to": [1, 0]})"),
                         "memory");
        QCOMPARE(graph.edgeCount(), std::size_t(2));
    }

    void badInputIsASentenceWithItsPlace_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const std::string& text, const char* says) {
            QTest::newRow(name) << QByteArray(text.data(), static_cast<qsizetype>(text.size()))
                                << QString::fromUtf8(says);
        };
        row("empty", "", "line 1, column 1");
        row("truncated", kSmall.substr(0, kSmall.size() / 2), "this is not valid JSON");
        row("truncated early", "{\"format\": \"tensor-workb", "line 1, column");
        row("not JSON", "hello", "line 1, column");
        row("line and column", with("\"id\": 2,", "\"id\": ,"), "line 9, column 8");
        row("trailing text", kSmall + "x", "this is not valid JSON");
        row("a list", "[1, 2]", "this is not a Tensor Workbench project");
        row("another JSON", R"({"name": "x", "version": "2.0"})", "this is not a Tensor Workbench project");
        row("newer", with("\"version\": 1", "\"version\": 9"),
            "was written by a newer Tensor Workbench (version 9; this one reads up to 1)");
        row("newer, keys sorted", R"({"edges": [{"id": "new"}], "format": "tensor-workbench", "version": 2})",
            "(version 2;");
        row("version 0", with("\"version\": 1", "\"version\": 0"),
            "\"version\" must be an integer from 1, but is 0");
        row("version text", with("\"version\": 1", "\"version\": \"1\""), "but is a text");
        row("version 1.0", with("\"version\": 1", "\"version\": 1.0"), "but is 1.0");
        row("version list", with("\"version\": 1", "\"version\": [1]"), "but is a list");
        row("version null", with("\"version\": 1", "\"version\": null"), "but is null");
        row("no version", with("\"version\": 1,", ""), "but is missing");
        row("unknown key", with("\"title\"", "\"titel\""), "the document has the unknown key \"titel\"");
        row("unknown node key", with("\"frame\": 1", "\"farm\": 1"), "nodes[1] has the unknown key \"farm\"");
        row("key twice", with("\"description\": \"\"", "\"title\": \"\""),
            "the document has the key \"title\" twice");
        row("no lane", with(", \"lane\": 1, \"frame\"", ", \"frame\""), "nodes[1] has no \"lane\"");
        row("NaN for an integer", with("\"iterations\": 1", "\"iterations\": NaN"), "this is not valid JSON");
        row("text for an integer", with("\"iterations\": 1", "\"iterations\": \"nan\""),
            "iterations must be an integer");
        row("fraction for an integer", with("\"iterations\": 1", "\"iterations\": 1.5"),
            "iterations must be an integer");
        row("iterations 0", with("\"iterations\": 1", "\"iterations\": 0"),
            "iterations is 0; it must lie between 1 and");
        row("policy", with("\"strict\"", "\"loose\""), "policy must be \"strict\" or \"implicit\"");
        row("nodes an object",
            with("\"notes\": [{\"id\": 1, \"lane\": 1, \"text\": \"hello\"}]", "\"notes\": {}"),
            "notes must be a list, not an object");
        row("title a list", with("\"title\": \"t\"", "\"title\": []"), "title must be a text, not a list");
        row("iterations an object", with("\"iterations\": 1", "\"iterations\": {}"),
            "iterations must be an integer, not an object");
        row("lane's height a list", with("{\"1\": 200}", "{\"1\": [200]}"),
            "layout.lanes.1 must be a number, the lane's height, not a list");
        row("edge an object", with("\"from\": [1, 0]", "\"from\": {}"),
            "edges[0].from must be a list of a node's id and a port, not an object");
        row("iterations 1e30", with("\"iterations\": 1", "\"iterations\": 1e30"),
            "iterations must be an integer from 1 to 9223372036854775807, but is 1e+30");
        row("id twice, and placed", with("\"id\": 2", "\"id\": 1"), "nodes[1].id is 1, as is nodes[0].id");
        row("no lanes", with("{\"id\": 1, \"device\": \"cpu\", \"order\": 0}", ""),
            "nodes[0].lane is 1, which is no lane; \"lanes\" has none");
        row("nodes a number", with("[{\"from\": [1, 0], \"to\": [2, 0]}]", "7"), "edges must be a list");
        row("a node that is none", with("{\"from\": [1, 0], \"to\": [2, 0]}", "3"),
            "edges[0] must be an object");
        row("device", with("\"cpu\"", "\"tpu:0\""),
            "lanes[0].device must be a device, \"cpu\", \"cuda:0\" to \"cuda:63\" or \"auto\", but is "
            "\"tpu:0\"");
        row("id 0", with("\"id\": 2", "\"id\": 0"), "nodes[1].id is 0");
        row("id negative", with("\"id\": 2", "\"id\": -2"), "nodes[1].id is -2");
        row("id 2^53", with("\"id\": 2", "\"id\": 9007199254740992"), "nodes[1].id is 9007199254740992");
        row("id beyond 64 bits", with("\"id\": 2", "\"id\": 99999999999999999999999"),
            "nodes[1].id must be an integer");
        row("id a double", with("\"id\": 2", "\"id\": 2.0"), "nodes[1].id must be an integer");
        row("id null", with("\"id\": 2", "\"id\": null"), "nodes[1].id must be an integer");
        row("ids twice", with("\"id\": 2", "\"id\": 1", with(", \"2\": [200, 0]", "")),
            "nodes[1].id is 1, as is nodes[0].id");
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
            "nodes[1].lane is 4, which is no lane");
        row("note's lane unknown", with("\"lane\": 1, \"text\"", "\"lane\": 4, \"text\""),
            "notes[0].lane is 4");
        row("frame unknown", with("\"frame\": 1", "\"frame\": 4"), "nodes[1].frame is 4, which is no frame");
        row("frame in itself", with("\"title\": \"f\"", "\"title\": \"f\", \"parent\": 1"),
            "frames[0].parent");
        row("parent unknown", with("\"title\": \"f\"", "\"title\": \"f\", \"parent\": 3"),
            "frames[0].parent is 3");
        row("empty op", with("\"Relu\"", "\"\""), "nodes[1].op must not be empty");
        row("name a number", with("\"name\": \"b\"", "\"name\": 3"), "nodes[1].name must be a text");
        row("attributes a list", with("{\"shape\": [2, 3]}", "[2]"),
            "nodes[0].attributes must be an object, not a list");
        row("attribute twice", with("[2, 3]", "[2, 3], \"shape\": 1"),
            "nodes[0].attributes.shape is given twice");
        row("position far out", with("[200, 0]", "[1e300, 0]"), "layout.nodes.2 is 1e+300");
        row("position too large for a double", with("[200, 0]", "[1e400, 0]"), "this is not valid JSON");
        row("position of three", with("[200, 0]", "[200, 0, 1]"), "layout.nodes.2 must be a list of x and y");
        row("not folded but open", with("[200, 0]", "[200, 0, \"open\"]"), "layout.nodes.2 must be a number");
        row("more after folded", with("[200, 0]", "[200, 0, \"folded\", 1]"),
            "layout.nodes.2 has too many values");
        row("position a number", with("[200, 0]", "200"), "layout.nodes.2 must be a list of numbers");
        row("place of nobody", with("\"2\": [200, 0]", "\"7\": [200, 0]"),
            "layout.nodes.7 places what does not exist");
        row("place twice", with("\"2\": [200, 0]", "\"1\": [200, 0]"), "layout.nodes.1 is given twice");
        row("place of no id", with("\"2\": [200, 0]", "\"x\": [200, 0]"), "layout.nodes.x is not an id");
        row("layout key", with("\"lanes\": {\"1\"", "\"lines\": {\"1\""),
            "layout has the unknown key \"lines\"");
        row("note's size", with("280", "-280"), "layout.notes.1 must have a width above 0");
        row("lane's height", with("200}", "-1}"), "layout.lanes.1 is -1");
        row("invalid UTF-8", with("\"name\": \"b\"", "\"name\": \"\xff\""), "line 9");
        row("zero byte", std::string("{\"format\": \"tensor-workbench\",\0}", 32), "line 1");
        row("deep nesting", std::string(100000, '['), "this is not valid JSON");
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
        row("fragment", toFragmentText({}), "this is not a Tensor Workbench project");
        std::string many = "{";
        for (int i = 0; i < 2000; ++i) many += fmt::format("\"a{}\": 1, ", 5000 - i);
        row("many attributes", with("{\"shape\": [2, 3]}", many + "\"x\": 1}"),
            "attributes that a node may have");
        std::string chain;
        for (int i = 2; i < 500; ++i)
            chain += fmt::format(", {{\"id\": {}, \"title\": \"\", \"parent\": {}}}", i, i - 1);
        row("frames too deep", with("{\"id\": 1, \"title\": \"f\"}", "{\"id\": 1, \"title\": \"f\"}" + chain),
            "deeper than 64 frames");
    }

    void badInputIsASentenceWithItsPlace() {
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

    void fragmentsRoundTrip() {
        const Graph graph = RandomGraph(3).make(20);
        std::vector<NodeId> nodes;
        for (const Node& node : graph.nodes())
            if (value(node.id) % 3) nodes.push_back(node.id);
        const Fragment fragment = copyOf(graph, nodes, {NoteId(2)});
        const std::string text = toFragmentText(fragment);
        const Fragment back = parseFragment(text);
        QVERIFY(back.nodes == fragment.nodes);
        QVERIFY(back.edges == fragment.edges);
        QVERIFY(back.frames == fragment.frames);
        QVERIFY(back.notes == fragment.notes);
        QVERIFY_EXCEPTION_THROWN(parseFragment(kSmall), Error);
        QVERIFY_EXCEPTION_THROWN(parseFragment("just text"), Error);
    }

    void manyNodesAreFast() {
        constexpr std::size_t kNodes = 1'000'000;
        Graph graph;
        {
            Delta lane;
            lane.lanes.push_back({std::nullopt, Lane{LaneId(1), Device::cpu(), "", 0, 0}});
            graph.apply(lane);
            Delta nodes;
            for (std::size_t i = 1; i <= kNodes; ++i) {
                nodes.nodes.push_back({std::nullopt, Node{NodeId(i),
                                                          "Relu",
                                                          fmt::format("relu {}", i),
                                                          LaneId(1),
                                                          FrameId::none,
                                                          {{"alpha", 1.5}},
                                                          {double(i), 4}}});
                if (i > 1) nodes.edgesAdded.push_back({{NodeId(i - 1), 0}, {NodeId(i), 0}});
            }
            graph.apply(nodes);
        }
        QElapsedTimer timer;
        timer.start();
        const std::string text = toProjectText(graph);
        const auto written = timer.restart();
        const Graph back = parseProject(text, "memory");
        const auto read = timer.elapsed();
        qInfo("1,000,000 nodes: written in %lld ms, read in %lld ms, %zu bytes", written, read, text.size());
        QVERIFY(back == graph);
        // Ten times what a slow machine needs; a quadratic step would take hours.
        QVERIFY(written + read < 120'000);
    }

    void adversarialOrderIsNotSlow() {
        // Descending ids and one output that feeds everybody, in the worst order.
        constexpr int kNodes = 100'000;
        std::string text = "{\"format\": \"tensor-workbench\", \"version\": 1, \"lanes\": [{\"id\": 1, "
                           "\"device\": \"cpu\"}],"
                           "\"nodes\": [";
        for (int i = kNodes; i > 0; --i)
            text += fmt::format("{{\"id\": {}, \"op\": \"Relu\", \"name\": \"\", \"lane\": 1}}{}", i,
                                i > 1 ? "," : "],");
        text += "\"edges\": [";
        for (int i = kNodes; i > 0; --i)
            text += fmt::format("{{\"from\": [1, 0], \"to\": [{}, 0]}}{}", i, i > 1 ? "," : "]}");
        QElapsedTimer timer;
        timer.start();
        const Graph graph = parseProject(text, "memory");
        QCOMPARE(graph.outgoing(NodeId(1)).size(), std::size_t(kNodes));
        QVERIFY(timer.elapsed() < 20'000);
    }
};

TWB_TEST_MAIN(TestProject)
#include "test_project.moc"
