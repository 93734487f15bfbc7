#include "app/program.h"
#include "support/test_main.h"

#include <QRegularExpression>
#include <QXmlStreamReader>

#include <cmath>
#include <map>

using namespace twb;
using namespace twb::test;
using nlohmann::json;

namespace {

const QString kOdd = QStringLiteral("a \"quoted\" </script><b>\n\\ 😀 & 'more'");

/// The crossing graph, with names that every format must escape.
GraphMaker oddGraph() {
    GraphMaker maker;
    const std::string odd = kOdd.toStdString();
    const NodeId base = maker.node("Full", odd, "cpu", {{"shape", Integers{64, 64}}, {"value", 3.0}});
    const NodeId there = maker.node("To", odd + " there", "cuda:0", {}, {base});
    const NodeId scaled = maker.node("Mul", odd + " scaled", "cuda:0", {}, {there, there});
    const NodeId back = maker.node("To", odd + " back", "cpu", {}, {scaled});
    maker.node("Probe", odd + " seen", "cpu", {}, {back});
    return maker;
}

/// Runs it on a simulated device and leaves r.json, t.json, r.html, out.txt and the batch's folder in `twb`.
void runSimulated(const Program& twb) {
    twb.save(QStringLiteral("g.twb"), oddGraph());
    const Ended ended = twb.run({"run", "g.twb", "--iterations", "40", "--report", "r.json", "--trace",
                                 "t.json", "--device-map", "cuda:0=simulated:t4"});
    QVERIFY2(ended.exit == 0, qPrintable(ended.err));
    twb.write(QStringLiteral("out.txt"), ended.out.toUtf8());
    QVERIFY(twb.run({"report", "r.json", "-o", "r.html"}).exit == 0);
    QVERIFY(twb.run({"batch", "g.twb", "--report", "batch", "--quiet", "--device-map", "cuda:0=simulated:t4"})
                .exit == 0);
    QVERIFY(twb.run({"export", "g.twb", "--to", "pytorch", "-o", "g.py"}).exit == 0);
}

/// A graph that runs, one with better placements, one whose placement costs copies, one with a mismatch; for
/// compare, two reports.
void saveForCommands(const Program& twb, const QString& command) {
    twb.save(QStringLiteral("g.twb"), oddGraph());
    GraphMaker moves;
    const Attributes large{{"shape", Integers{512, 512}}};
    const NodeId a = moves.node("RandomNormal", "a", "cpu", large);
    const NodeId there = moves.node("To", "there", "cuda:0", {}, {a});
    const NodeId product = moves.node("MatMul", "product", "cuda:0", {}, {there, there});
    const NodeId back = moves.node("To", "back", "cpu", {}, {product});
    const NodeId small = moves.node("Relu", "small", "cpu", {}, {back});
    const NodeId again = moves.node("To", "again", "cuda:0", {}, {small});
    const NodeId last = moves.node("MatMul", "last", "cuda:0", {}, {again, again});
    moves.node("Probe", "seen", "cuda:0", {}, {last});
    twb.save(QStringLiteral("moves.twb"), moves);
    GraphMaker costs;
    const NodeId x = costs.node("RandomNormal", "x", "cpu", {{"shape", Integers{64, 64}}});
    NodeId y = x;
    for (int i = 0; i < 3; ++i)
        y = costs.node(
            "MatMul", "m" + std::to_string(i), "cpu", {},
            {y, costs.node("RandomNormal", "w" + std::to_string(i), "cpu", {{"shape", Integers{64, 64}}})});
    const NodeId heavy = costs.node("RandomNormal", "heavy", "cpu", {{"shape", Integers{2048, 2048}}});
    const NodeId squared = costs.node("MatMul", "squared", "cpu", {}, {heavy, heavy});
    costs.node("Probe", "seen", "cpu", {}, {squared});
    costs.node("Probe", "also", "cpu", {}, {y});
    costs.lane("cuda:0");
    twb.save(QStringLiteral("costs.twb"), costs);
    twb.save(QStringLiteral("broken.twb"), crossingGraph(false));
    if (command != QStringLiteral("compare")) return;
    for (const auto& [report, profile] : {std::pair("a.json", "h200"), std::pair("r.json", "t4")})
        QVERIFY(twb.run({"run", "g.twb", "--iterations", "7", "--report", report, "--device-map",
                         QStringLiteral("cuda:0=simulated:%1").arg(QLatin1String(profile)), "--quiet"})
                    .exit == 0);
}

/// Visits every object below `value` that has a "*_ms" member or a rate.
void visit(const json& value, const QString& place,
           const std::function<void(const json&, const QString&)>& see) {
    if (value.is_object()) see(value, place);
    if (value.is_structured())
        for (const auto& [key, member] : value.items())
            visit(member, place + '/' + QString::fromStdString(key), see);
}

bool hasFigure(const json& object) {
    for (const auto& [key, member] : object.items())
        if ((key.ends_with("_ms") || key == "ms" || key == "gb_per_s") && member.is_number()) return true;
    return false;
}

} // namespace

/// No time of a simulated device may look measured, and related figures must agree.
class TestHonesty : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Every row with a time has "modelled", or inherits it from its position in the report.
    void reportsLabelEveryRow() {
        const Program twb;
        runSimulated(twb);
        const json report = twb.json(QStringLiteral("r.json"));
        int modelled = 0;
        visit(report, {}, [&](const json& object, const QString& place) {
            if (!hasFigure(object)) return;
            // The root has "clock"; a slice inherits from its step and its stream.
            if (place.isEmpty()) {
                QCOMPARE(object.at("clock"), "modelled");
                return;
            }
            if (place.startsWith(QStringLiteral("/timeline/slices/"))) {
                const json& step = report.at("steps").at(object.at("step").get<std::size_t>());
                const json& stream =
                    report.at("timeline").at("streams").at(object.at("stream").get<std::size_t>());
                QCOMPARE(step.at("modelled"), stream.at("modelled"));
                return;
            }
            QVERIFY2(object.contains("modelled"), qPrintable(place));
            modelled += object.at("modelled").get<bool>();
        });
        QVERIFY(modelled >= 5); // two copies as steps and as transfers, one product
        for (const json& step : report.at("steps"))
            QCOMPARE(step.at("modelled"), step.at("device") == "cuda:0");
    }

    /// Each row with a time of a simulated device is labelled in the tables, in the summary and on the report
    /// page.
    void tablesAndPagesLabelEveryRow() {
        const Program twb;
        runSimulated(twb);
        int rows = 0;
        for (const QString& line : QString::fromUtf8(twb.read(QStringLiteral("out.txt"))).split('\n')) {
            const bool simulated =
                line.contains(QStringLiteral("cuda:0")) || line.contains(QStringLiteral("→ cpu"));
            if (!simulated || !line.contains(QRegularExpression(QStringLiteral("[0-9] (ms|GB/s)")))) continue;
            QVERIFY2(line.contains(QStringLiteral("modelled")), qPrintable(line));
            ++rows;
        }
        QCOMPARE(rows, 3);
        const QString csv = QString::fromUtf8(twb.read(QStringLiteral("batch/summary.csv")));
        QVERIFY2(csv.contains(QStringLiteral("modelled")), qPrintable(csv));
        const QString page = QString::fromUtf8(twb.read(QStringLiteral("r.html")));
        auto row =
            QRegularExpression(QStringLiteral("<tr>.*?</tr>"), QRegularExpression::DotMatchesEverythingOption)
                .globalMatch(page);
        int simulated = 0;
        while (row.hasNext()) {
            const QString text = row.next().captured();
            const bool isCopy = text.contains(QStringLiteral("→"));
            if (!text.contains(QRegularExpression(QStringLiteral(">[0-9.,]+ ms<"))) ||
                !(isCopy || text.contains(QStringLiteral("<td>cuda:0</td>"))))
                continue;
            QVERIFY2(text.contains(QStringLiteral("modelled")), qPrintable(text));
            ++simulated;
        }
        QVERIFY(simulated >= 3);
        auto title =
            QRegularExpression(QStringLiteral("<title>([^<]*)</title><rect class=\"slice (copy )?gpu0"))
                .globalMatch(page);
        int slices = 0;
        while (title.hasNext()) {
            QVERIFY(title.next().captured(1).endsWith(QStringLiteral("modelled")));
            ++slices;
        }
        QVERIFY(slices >= 2);
        QVERIFY(page.contains(QStringLiteral("one iteration, median, modelled")));
    }

    /// Each printed line with a time or a rate is labelled, and no time of a simulated device lacks the word
    /// "modelled".
    void everyPrintedTimeIsLabelled_data() {
        QTest::addColumn<QStringList>("command");
        const QString map = QStringLiteral("--device-map");
        const QString t4 = QStringLiteral("cuda:0=simulated:t4");
        const auto row = [&](const char* name, const QStringList& command) {
            QTest::newRow(name) << command;
        };
        row("run", {"run", "g.twb", "--iterations", "5", map, t4});
        row("predict", {"predict", "g.twb", map, t4, "--what-if", "cuda:0=simulated:h200"});
        row("place", {"place", "moves.twb", map, t4});
        row("place at a cost", {"place", "costs.twb", map, t4});
        row("fix", {"fix", "broken.twb", map, t4});
        row("check", {"check", "broken.twb", map, t4});
        row("check, a note", {"check", "moves.twb", map, t4});
        row("check, implicit", {"check", "broken.twb", "--policy", "implicit", map, t4});
        row("compare", {"compare", "a.json", "r.json"});
        row("batch", {"batch", "g.twb", "--quiet", map, t4});
    }
    void everyPrintedTimeIsLabelled() {
        QFETCH(QStringList, command);
        const Program twb;
        saveForCommands(twb, command.front());
        const Ended ended = twb.run(command);
        QVERIFY2(ended.exit == 0 || ended.exit == 3, qPrintable(ended.err));
        const QRegularExpression figure(QStringLiteral("[0-9] (ms|µs|s|GB/s)\\b"));
        const QRegularExpression kind(QStringLiteral("[Mm]odelled|[Mm]easured|on this machine"));
        int lines = 0;
        for (const QString& line : (ended.out + ended.err).split(QLatin1Char('\n'))) {
            if (!line.contains(figure)) continue;
            QVERIFY2(line.contains(kind), qPrintable(line));
            lines += line.contains(QStringLiteral("modelled"), Qt::CaseInsensitive);
        }
        QVERIFY2(lines > 0, qPrintable(ended.out));
    }

    /// Each time has "modelled" beside it or in the enclosing object; a pair of times has one for each.
    void everyJsonTimeIsLabelled_data() {
        QTest::addColumn<QStringList>("command");
        const auto row = [&](const char* name, const QStringList& command) {
            QTest::newRow(name) << command + QStringList{"--json"};
        };
        row("predict", {"predict", "g.twb", "--what-if", "cuda:0=simulated:t4"});
        row("place", {"place", "moves.twb"});
        row("fix", {"fix", "broken.twb"});
        row("check", {"check", "broken.twb", "moves.twb"});
        row("compare", {"compare", "a.json", "r.json"});
    }
    void everyJsonTimeIsLabelled() {
        QFETCH(QStringList, command);
        const Program twb;
        saveForCommands(twb, command.front());
        const Ended ended = twb.run(command);
        const json out = parsed(ended.out);
        QVERIFY2(out.is_object(), qPrintable(ended.out + ended.err));
        int labelled = 0;
        std::function<void(const json&, bool, const QString&)> walk = [&](const json& value, bool isSaid,
                                                                          const QString& place) {
            if (value.is_object()) {
                isSaid = isSaid || value.contains("modelled") ||
                         (value.contains("before_modelled") && value.contains("after_modelled"));
                const bool isPair = value.contains("before_modelled");
                if (hasFigure(value) || isPair) {
                    QVERIFY2(isSaid, qPrintable(place));
                    ++labelled;
                }
            }
            if (value.is_structured())
                for (const auto& [key, member] : value.items())
                    walk(member, isSaid, place + QLatin1Char('/') + QString::fromStdString(key));
        };
        walk(out, false, {});
        QVERIFY(labelled > 0);
    }

    /// A module has no times: its time on another device is unknown.
    void modulesHaveNoTimes() {
        const Program twb;
        runSimulated(twb);
        const QString text = QString::fromUtf8(twb.read(QStringLiteral("g.py")));
        QVERIFY(!text.isEmpty());
        QVERIFY(!text.contains(QRegularExpression(QStringLiteral("[0-9] ?(ms|GB/s|µs)\\b"))));
    }

    void pagesEscapeEveryName() {
        const Program twb;
        runSimulated(twb);
        const QString page = QString::fromUtf8(twb.read(QStringLiteral("r.html")));
        QVERIFY(!page.contains(QStringLiteral("<b>\n")));
        QCOMPARE(page.count(QStringLiteral("</script>")), 1);
        QVERIFY(page.contains(QStringLiteral("a &quot;quoted&quot; &lt;/script&gt;&lt;b&gt;")));
        QVERIFY(page.contains(QStringLiteral("😀 &amp; &#39;more&#39;")));
        // The pictures are well-formed XML documents of their own.
        auto picture = QRegularExpression(QStringLiteral("<svg.*?</svg>"),
                                          QRegularExpression::DotMatchesEverythingOption)
                           .globalMatch(page);
        int pictures = 0;
        while (picture.hasNext()) {
            QXmlStreamReader reader(picture.next().captured());
            while (!reader.atEnd()) reader.readNext();
            QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
            ++pictures;
        }
        QCOMPARE(pictures, 3);
        // The page fetches nothing from the network.
        QVERIFY(!page.contains(QRegularExpression(QStringLiteral("(src|href)=|url\\(|@import|https?://"))));
    }

    /// Chrome's trace format: integer pid and tid, X events of a track nested or disjoint, complete names.
    void tracesAreValid() {
        const Program twb;
        runSimulated(twb);
        const json trace = twb.json(QStringLiteral("t.json"));
        QVERIFY(trace.is_object());
        std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
        bool named = false;
        for (const json& event : trace.at("traceEvents")) {
            QVERIFY(event.at("pid").is_number_integer() && event.at("tid").is_number_integer());
            if (event.at("ph") != "X") continue;
            const double start = event.at("ts");
            tracks[{event.at("pid"), event.at("tid")}].emplace_back(start,
                                                                    start + event.at("dur").get<double>());
            named = named || event.at("name") == (kOdd + QStringLiteral(" scaled")).toStdString();
            QVERIFY(event.at("args").contains("clock"));
        }
        QVERIFY(named);
        QVERIFY(tracks.size() >= 4);
        for (auto& [track, spans] : tracks) {
            std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
                return a.first != b.first ? a.first < b.first : a.second > b.second;
            });
            std::vector<double> open;
            for (const auto& [start, end] : spans) {
                while (!open.empty() && open.back() <= start + 1e-6) open.pop_back();
                QVERIFY2(open.empty() || end <= open.back() + 1e-6, "two events of a track overlap");
                open.push_back(end);
            }
        }
    }

    /// Bytes are the edge's bytes times the iterations; times are those of the timeline.
    void theLedgerAgreesWithTheTrace() {
        const Program twb;
        runSimulated(twb);
        const json report = twb.json(QStringLiteral("r.json"));
        std::map<std::string, double> ms;
        std::map<std::string, std::int64_t> bytes;
        const json trace = twb.json(QStringLiteral("t.json"));
        for (const json& event : trace.at("traceEvents")) {
            if (event.at("ph") != "X" || event.at("cat") != "transfer") continue;
            ms[event.at("name")] += event.at("dur").get<double>() / 1000;
            bytes[event.at("name")] += event.at("args").at("bytes").get<std::int64_t>();
        }
        std::int64_t moved = 0;
        for (const json& transfer : report.at("transfers")) {
            QCOMPARE(transfer.at("count"), 40);
            QCOMPARE(transfer.at("bytes"), 64 * 64 * 4 * 40);
            moved += transfer.at("bytes").get<std::int64_t>();
        }
        std::int64_t traced = 0;
        double tracedMs = 0;
        double ledgerMs = 0;
        for (const auto& [name, sum] : bytes) traced += sum;
        for (const auto& [name, sum] : ms) tracedMs += sum;
        for (const json& transfer : report.at("transfers")) ledgerMs += transfer.at("total_ms").get<double>();
        QCOMPARE(bytes.size(), std::size_t(2));
        QCOMPARE(traced, moved);
        QVERIFY2(std::abs(tracedMs - ledgerMs) <= 0.01 * ledgerMs,
                 qPrintable(QStringLiteral("%1 against %2").arg(tracedMs).arg(ledgerMs)));
        QVERIFY(ledgerMs > 0);
    }
};

TWB_TEST_MAIN(TestHonesty)
#include "test_honesty.moc"
