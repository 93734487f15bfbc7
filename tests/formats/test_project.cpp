#include "core/error.h"
#include "formats/project.h"
#include "graph/delta.h"
#include "support/graphs.h"
#include "support/small_project.h"
#include "support/test_main.h"

#include <QTemporaryDir>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

/// Strings that are difficult for JSON, UTF-8 and diffs.
const std::vector<std::string> kTexts{"images",       "",           "fc1.weight", "a \"quoted\" name",
                                      "back\\slash",  "two\nlines", "tab\there",  "Größe 中文 🙂",
                                      "\x01\x1f\x7f", "null",       "12",         "</script>"};

class RandomGraph {
public:
    explicit RandomGraph(unsigned seed) : m_random(seed) {}

    Graph make(std::size_t nodes) {
        Graph empty;
        DeltaBuilder b(empty, "random");
        b.setInfo({text(),
                   text(),
                   pick(2) ? Policy::strict : Policy::implicit,
                   static_cast<std::int64_t>(1 + pick(1000)),
                   {}});
        std::vector<LaneId> lanes;
        std::vector<FrameId> frames{FrameId::none};
        std::vector<NodeId> ids;
        const std::array devices{Device::cpu(),       Device::cuda(0), Device::cuda(63),
                                 Device::automatic(), Device::cpu(1),  Device::cuda(63, 63)};
        for (int i = 0; i < 4; ++i)
            lanes.push_back(
                b.addLane({LaneId::none, devices[pick(devices.size())], text(), i - 2, number() * number()}));
        for (int i = 0; i < 3; ++i)
            frames.push_back(b.addFrame({FrameId::none, text(), frames[pick(frames.size())]}));
        for (std::size_t i = 0; i < nodes; ++i) {
            Node node{
                NodeId::none, "Op" + text(), text(), lanes[pick(4)], frames[pick(frames.size())], {}, {}};
            node.position = {real(), real()};
            constexpr std::array kBreakpoints{
                "",           "after",         "off before",
                "nan or inf", "absmax >= 0.5", "before; input max > 3; off min < 0"};
            if (const auto these = parseBreakpoints(kBreakpoints[pick(kBreakpoints.size())]))
                node.breakpoints = *these;
            if (pick(2))
                node.source = SourceLine{"dir " + std::to_string(pick(9)) + "/net.py",
                                         1 + static_cast<int>(pick(99)), pick(2) ? "<module>" : ""};
            for (std::size_t n = pick(4); n > 0; --n) node.attributes.set(fmt::format("a{}", n), value());
            ids.push_back(b.addNode(node));
        }
        for (std::size_t i = 0; i < 2 * nodes; ++i)
            b.connect({{ids[pick(nodes)], static_cast<std::int32_t>(pick(3))},
                       {ids[pick(nodes)], static_cast<std::int32_t>(pick(5))}});
        for (const Edge& edge : b.graph().edges()) {
            std::vector<Dot> dots(pick(4) ? 0 : 1 + pick(3));
            for (Dot& dot : dots) dot = {lanes[pick(4)], {real(), real()}};
            b.setDots(edge.to, std::move(dots));
        }
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

} // namespace

class TestProject : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Also after a save by a program that does not have the plug-in.
    void pluginsOfPlaceholdersStayNamed() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const std::vector<NeededPlugin> plugins{
            {"bend", "1.2", "https://example.org/bend", {"Bend", "Unbend"}}, {"other", "", "", {"Absent"}}};
        builder.setInfo({"t", "", Policy::strict, 1, plugins});
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 200});
        Node node;
        node.op = "Bend";
        node.name = "b";
        node.lane = cpu;
        const NodeId bend = builder.addNode(node);
        graph.apply(builder.take());
        const std::string text = toProjectText(graph);
        // Only those in use.
        const std::string line = "\"plugins\": [\n{\"name\": \"bend\", \"version\": \"1.2\", \"homepage\": "
                                 "\"https://example.org/bend\", \"ops\": [\"Bend\"]}\n],\n";
        QVERIFY2(text.find(line) != std::string::npos, text.c_str());
        const Graph again = parseProject(text, "g.twb");
        QCOMPARE(again.info().plugins.size(), std::size_t(1));
        QCOMPARE(again.info().plugins[0].homepage, std::string("https://example.org/bend"));
        QCOMPARE(toProjectText(again), text);
        Graph without = again;
        DeltaBuilder remove(without, "remove");
        remove.removeNode(bend);
        without.apply(remove.take());
        QVERIFY(toProjectText(without).find("plugins") == std::string::npos);
    }

    void sourceFilesInTheProjectsFolderMoveWithIt() {
        const QTemporaryDir dir;
        const std::filesystem::path here = dir.path().toStdString();
        std::filesystem::create_directories(here / "first/code");
        writeFileAtomically(here / "first/code/net.py", "x = 1\n");
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 200});
        std::vector<NodeId> ids;
        for (const std::string& file : {(here / "first/code/net.py").string(), (here / "other.py").string(),
                                        std::string("<string>"), std::string("code/missing.py")}) {
            Node node;
            node.op = "Ones";
            node.name = "n" + std::to_string(ids.size());
            node.lane = cpu;
            node.source = SourceLine{file, 3, "f"};
            ids.push_back(builder.addNode(node));
        }
        graph.apply(builder.take());
        saveProject(graph, here / "first/g.twb");
        const std::string text = readFile(here / "first/g.twb", 1 << 20);
        QVERIFY(text.find(R"("source": "code/net.py:3 in f")") != std::string::npos);
        QVERIFY(loadProject(here / "first/g.twb") == graph);
        std::filesystem::rename(here / "first", here / "second");
        const Graph moved = loadProject(here / "second/g.twb");
        QCOMPARE(moved.find(ids[0])->source->file, (here / "second/code/net.py").string());
        for (std::size_t i = 1; i < ids.size(); ++i)
            QVERIFY(moved.find(ids[i])->source == graph.find(ids[i])->source);
        saveProject(moved, here / "second/g.twb");
        QCOMPARE(readFile(here / "second/g.twb", 1 << 20), text);
    }

    void foldedIsSavedWithThePosition() {
        const std::string folded = with("[0, 0]", "[0, 0, \"folded\"]");
        const Graph graph = parseProject(folded, "memory");
        QVERIFY(graph.find(NodeId(1))->folded);
        QVERIFY(!graph.find(NodeId(2))->folded);
        const std::string text = toProjectText(graph);
        QVERIFY(text.find("\"1\": [0, 0, \"folded\"]") != std::string::npos);
        QCOMPARE(differentLines(text, toProjectText(parseProject(kSmall, "memory"))), 1);
    }

    void dotsAreSavedInTheLayout() {
        const std::string dots = "\"routes\": {\n\"2:0\": [[1, 60, 37], [1, 120.5, -8]]\n}\n";
        Graph graph = parseProject(kSmall, "memory");
        const std::string plain = toProjectText(graph);
        QVERIFY(plain.find("routes") == std::string::npos);
        DeltaBuilder builder(graph, "dots");
        builder.setDots({NodeId(2), 0}, {{LaneId(1), {60, 37}}, {LaneId(1), {120.5, -8}}});
        const Delta delta = builder.take();
        graph.apply(delta);
        const std::string text = toProjectText(graph);
        QVERIFY2(text.find(dots) != std::string::npos, text.c_str());
        QVERIFY(parseProject(text, "memory") == graph);
        graph.apply(delta.inverse());
        QCOMPARE(toProjectText(graph), plain);
    }

    void bodiesAreSavedWithTheirOwners() {
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
                     QStringLiteral("memory: frames[0].owner is 99, which is not a node"));
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

    /// Found by fuzzing models: their scales may be an empty list of numbers.
    void emptyListsOfAnyKindSurvive() {
        test::GraphMaker g;
        g.node("Constant", "a", "cpu", {{"value", std::vector<double>{}}});
        g.node("Unknown", "b", "cpu", {{"texts", std::vector<std::string>{}}});
        QVERIFY(parseProject(toProjectText(g.graph()), "memory") == g.graph());
    }

    /// "nan" is a number for a numeric attribute and a string for a string attribute.
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

    /// A hand-written file may have the op after its attributes.
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
            after.apply({"", {{node, moved}}, {}, {}, {}, {}, {}, {}, {}});
            QCOMPARE(differentLines(text, toProjectText(after)), 1);

            Node changed = node;
            changed.attributes.set("axis", std::int64_t(3));
            after = before;
            after.apply({"", {{node, changed}}, {}, {}, {}, {}, {}, {}, {}});
            QCOMPARE(differentLines(text, toProjectText(after)), 1);
        }
        QVERIFY(!before.routes().empty());
        for (const Route& route : before.routes()) {
            Route led = route;
            led.dots.front().position.y += 8;
            Graph after = before;
            after.apply({"", {}, {}, {}, {}, {}, {}, {{route, led}}, {}});
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

    void keysMayBeInAnyOrder() {
        const nlohmann::json sorted = nlohmann::json::parse(kSmall); // nlohmann::json sorts keys
        QVERIFY(parseProject(sorted.dump(), "memory") == parseProject(kSmall, "memory"));
    }

    void cycleIsNotAnErrorOfTheFile() {
        const Graph graph =
            parseProject(with(R"({"from": [1, 0], "to": [2, 0]})",
                              R"({"from": [2, 0], "to": [2, 0]}, {"from": [2, 0], "to": [1, 0]})"),
                         "memory");
        QCOMPARE(graph.edgeCount(), std::size_t(2));
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
        QVERIFY(!fragment.routes.empty());
        QVERIFY(back.routes == fragment.routes);
        QVERIFY_EXCEPTION_THROWN(parseFragment(kSmall), Error);
        QVERIFY_EXCEPTION_THROWN(parseFragment("just text"), Error);
    }

    void readingCanBeCancelled() {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath(QStringLiteral("graph.twb")).toStdString();
        const Graph graph = RandomGraph(3).make(40);
        saveProject(graph, path);
        int asked = 0;
        try {
            loadProject(path, [&asked] { return ++asked > 3; });
            QFAIL("not cancelled");
        } catch (const Error& e) {
            QCOMPARE(e.code(), ErrorCode::cancelled);
        }
        QCOMPARE(asked, 4); // soon after
        QVERIFY(loadProject(path, [] { return false; }) == graph);
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
        // A quadratic step would take hours and exceed the suite's time limit.
        QVERIFY(parseProject(toProjectText(graph), "memory") == graph);
    }

    void adversarialOrderIsNotSlow() {
        // Descending ids and one output that feeds all nodes, which is the worst order; with the same time
        // limit.
        constexpr int kNodes = 1'000'000;
        std::string text = "{\"format\": \"tensor-workbench\", \"version\": 1, \"lanes\": [{\"id\": 1, "
                           "\"device\": \"cpu\"}],"
                           "\"nodes\": [";
        for (int i = kNodes; i > 0; --i)
            text += fmt::format("{{\"id\": {}, \"op\": \"Relu\", \"name\": \"\", \"lane\": 1}}{}", i,
                                i > 1 ? "," : "],");
        text += "\"edges\": [";
        for (int i = kNodes; i > 0; --i)
            text += fmt::format("{{\"from\": [1, 0], \"to\": [{}, 0]}}{}", i, i > 1 ? "," : "]}");
        const Graph graph = parseProject(text, "memory");
        QCOMPARE(graph.outgoing(NodeId(1)).size(), std::size_t(kNodes));
    }
};

TWB_TEST_MAIN(TestProject)
#include "test_project.moc"
