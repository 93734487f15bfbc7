#include "formats/project.h"
#include "support/analysis_difference.h"
#include "support/test_main.h"
#include "widgets/monkey.h"
#include "widgets/scene_text.h"

#include <QClipboard>
#include <QDir>
#include <QUndoCommand>

#include <set>

using namespace twb;
using namespace twb::test;

namespace {

/// Copies the examples to a writable folder.
void copyFolder(const QString& from, const QString& to) {
    QDir().mkpath(to);
    for (const QFileInfo& entry : QDir(from).entryInfoList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot)) {
        const QString target = QDir(to).filePath(entry.fileName());
        if (entry.isDir())
            copyFolder(entry.filePath(), target);
        else
            QFile::copy(entry.filePath(), target);
    }
}

/// The first broken invariant of a graph, checked independently; empty if there is none.
std::string brokenIn(const Graph& graph) {
    std::size_t edges = 0;
    for (const Node& node : graph.nodes()) {
        if (!graph.find(node.lane)) return "a node stands on no lane";
        if (node.frame != FrameId::none && !graph.find(node.frame)) return "a node is in no frame";
        const auto& inputs = graph.inputs(node.id);
        for (std::size_t port = 0; port < inputs.size(); ++port) {
            if (!inputs[port]) continue;
            ++edges;
            const Edge edge{*inputs[port], {node.id, std::int32_t(port)}};
            const auto& outgoing = graph.outgoing(inputs[port]->node);
            if (!graph.find(inputs[port]->node)) return "an edge comes from nowhere";
            if (std::count(outgoing.begin(), outgoing.end(), edge) != 1) return "an edge is known at one end";
        }
        for (const Edge& edge : graph.outgoing(node.id))
            if (edge.from.node != node.id || graph.sourceOf(edge.to) != edge.from)
                return "an edge leads to nowhere";
    }
    if (edges != graph.edgeCount()) return "edges are miscounted";
    for (const Frame& frame : graph.frames()) {
        std::set<FrameId> seen;
        for (const Frame* at = &frame; at; at = graph.find(at->parent))
            if (!seen.insert(at->id).second) return "a frame is in itself";
        if (frame.owner != NodeId::none && !graph.find(frame.owner)) return "a body has no owner";
    }
    for (const Note& note : graph.notes())
        if (!graph.find(note.lane)) return "a note stands on no lane";
    const std::string text = toProjectText(graph);
    const Graph read = parseProject(text, "saved");
    if (!(read == graph) || toProjectText(read) != text) return "the graph does not survive being saved";
    return {};
}

/// Watches a window's document: every undo must restore the previous state, and every view must show the
/// current graph.
class Watch : public QObject {
public:
    explicit Watch(WindowHand& hand) : m_hand(hand), m_shadow(hand.graph()) {
        const QUndoStack& stack = hand.document.undoStack();
        m_states.push_back({nullptr, toProjectText(hand.graph())});
        connect(&hand.document, &Document::changed, this, &Watch::changed);
        connect(&stack, &QUndoStack::indexChanged, this, &Watch::indexChanged);
    }

    const std::string& firstBytes() const { return m_states.front().bytes; }
    int deltas() const { return m_deltas; }

    /// The first complaint; empty if there is none.
    std::string complaint() const {
        if (!m_complaint.empty()) return m_complaint;
        const Document& document = m_hand.document;
        const Graph& graph = document.graph();
        if (std::string broken = brokenIn(graph); !broken.empty()) return broken;
        if (!(m_shadow == graph)) return "the graph was changed by something else than a Delta";
        const Analysis fresh =
            analyze(graph, document.devices(), graph.info().policy, document.files().get());
        if (std::string differs = test::difference(document.analysis(), fresh); !differs.empty())
            return "the rules were asked about another graph: " + differs;
        const Selection& selection = document.selection();
        for (const NodeId id : selection.nodes)
            if (!graph.find(id)) return "a node is selected that is gone";
        if (selection.edge && graph.sourceOf(selection.edge->to) != selection.edge->from)
            return "an edge is selected that is gone";
        Scene scene;
        scene.rebuild({graph, document.analysis(), document.devices(), m_hand.canvas.navigator().inside()});
        // Frame titles keep their size on screen, so the zoom of the next frame affects both.
        scene.prepare({graph, document.analysis(), document.devices()}, {}, m_hand.canvas.view().zoom(),
                      nullptr);
        m_hand.canvas.grab();
        const std::string wanted = test::textOf(scene, graph);
        const std::string shown = test::textOf(m_hand.canvas.scene(), graph);
        if (wanted != shown) return "the canvas shows another graph: " + firstDifference(wanted, shown);
        return {};
    }

private:
    struct State {
        const QUndoCommand* reachedBy; ///< the preceding command
        std::string bytes;
    };

    static std::string firstDifference(const std::string& wanted, const std::string& shown) {
        const auto at = std::size_t(
            std::mismatch(wanted.begin(), wanted.end(), shown.begin(), shown.end()).first - wanted.begin());
        const std::size_t from = wanted.rfind('\n', at) == std::string::npos ? 0 : wanted.rfind('\n', at) + 1;
        return "\nwanted " + wanted.substr(from, 160) + "\nshown  " + shown.substr(from, 160);
    }

    void changed(const Delta& delta) {
        ++m_deltas;
        const Graph before = m_shadow;
        m_shadow.apply(delta);
        if (!(m_shadow == m_hand.graph()))
            m_complaint = "the Delta \"" + delta.title + "\" is not what changed";
        Graph back = m_shadow;
        back.apply(delta.inverse());
        if (!(back == before)) m_complaint = "undoing \"" + delta.title + "\" does not bring back what was";
    }

    void indexChanged(int index) {
        const QUndoStack& stack = m_hand.document.undoStack();
        const auto at = std::size_t(index);
        const QUndoCommand* const by = index > 0 ? stack.command(index - 1) : nullptr;
        std::string bytes = toProjectText(m_hand.graph());
        if (at < m_states.size() && m_states[at].reachedBy == by) {
            if (m_states[at].bytes != bytes) m_complaint = "undo or redo led to other bytes than were there";
            return;
        }
        m_states.resize(at);
        m_states.push_back({by, std::move(bytes)});
    }

    WindowHand& m_hand;
    Graph m_shadow;
    std::vector<State> m_states; ///< indexed like the undo stack
    std::string m_complaint;
    int m_deltas = 0;
};

} // namespace

/// TWB_MONKEY_GESTURES sets the number of gestures, TWB_MONKEY_SEED the seed.
class TestMonkey : public QObject {
    Q_OBJECT

public:
    /// Qt Test aborts a function after this time, which counts for all its rows together.
    TestMonkey() {
        if (!qEnvironmentVariableIsSet("QTEST_FUNCTION_TIMEOUT"))
            qputenv("QTEST_FUNCTION_TIMEOUT", QByteArray::number(300'000 + 500 * gestures()));
    }

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void randomActionsKeepTheGraphConsistent_data() {
        QTest::addColumn<int>("episode");
        for (int episode = 0; episode * kEpisode < gestures(); ++episode)
            QTest::addRow("episode %d", episode) << episode;
    }
    void randomActionsKeepTheGraphConsistent() {
        QFETCH(const int, episode);
        const int seed = numberFrom("TWB_MONKEY_SEED", 1);
        QTemporaryDir home;
        copyFolder(sourcePath("resources/examples"), home.path());
        const QStringList projects =
            QDir(home.path()).entryList({QStringLiteral("*.twb")}, QDir::Files, QDir::Name);
        const QString path = home.filePath(projects[(episode + seed) % projects.size()]);
        QApplication::clipboard()->clear();
        WindowHand hand{Graph()};
        hand.window->load(path);
        const Watch watch(hand);
        Monkey monkey(hand, std::uint64_t(seed) * 100'000 + std::uint64_t(episode));
        QStringList story;
        for (int i = 0; i < kEpisode; ++i) {
            story << monkey.doSomething();
            QCoreApplication::processEvents();
            std::string complaint = watch.complaint();
            if (complaint.empty() && story.back() == QLatin1String("save") &&
                !(loadProject(path.toStdString()) == hand.graph()))
                complaint = "the file holds another graph";
            const QString when =
                QStringLiteral("%1, gesture %2, after %3: ")
                    .arg(QFileInfo(path).fileName())
                    .arg(i)
                    .arg(story.mid(std::max<qsizetype>(0, story.size() - 8)).join(QStringLiteral(", ")));
            QVERIFY2(complaint.empty(), qPrintable(when + QString::fromStdString(complaint)));
            if (i % 50 == 49) undoAllAndBack(hand, watch);
            if (QTest::currentTestFailed()) return;
        }
        hand.window->runs().stop();
        QVERIFY(waitForRun(*hand.window));
        undoAllAndBack(hand, watch);
        // A monkey that changes nothing would not find errors.
        QVERIFY2(watch.deltas() > kEpisode / 4, qPrintable(QString::number(watch.deltas())));
    }

private:
    static constexpr int kEpisode = 200; ///< gestures per window
    static int gestures() { return numberFrom("TWB_MONKEY_GESTURES", 600); }

    static void undoAllAndBack(WindowHand& hand, const Watch& watch) {
        const int index = hand.undoSteps();
        const std::string now = toProjectText(hand.graph());
        hand.document.undoStack().setIndex(0);
        QVERIFY2(toProjectText(hand.graph()) == watch.firstBytes(), "undo-all does not give the first bytes");
        QCOMPARE(QString::fromStdString(watch.complaint()), QString());
        hand.document.undoStack().setIndex(index);
        QVERIFY2(toProjectText(hand.graph()) == now, "redo does not come back");
        QCOMPARE(QString::fromStdString(watch.complaint()), QString());
    }
};

TWB_GUI_TEST_MAIN(TestMonkey)
#include "test_monkey.moc"
