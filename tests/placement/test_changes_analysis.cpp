#include "placement/analysis.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <random>

using namespace twb;
using namespace twb::test;

namespace {

/// All that an analysis says.
std::string textOf(const Analysis& analysis) {
    std::string text;
    for (const NodeFacts& facts : analysis.nodes) {
        text += std::to_string(value(facts.id)) + (facts.sound ? " sound " : " ") + facts.device.toString();
        if (facts.passes) text += " passes " + std::to_string(value(facts.passes->node));
        for (const auto& from : facts.inputs) text += from ? " " + std::to_string(value(from->node)) : " -";
        for (const auto& type : facts.outputs) text += type ? " " + type->toString() : " ?";
        for (const auto& [name, value] : facts.attributes) text += " " + name + "=" + toString(value);
        text += "\n";
    }
    for (const Diagnostic& d : analysis.diagnostics) text += toText(d);
    for (const ImplicitCopy& copy : analysis.implicitCopies)
        text += "copy " + std::to_string(value(copy.from.node)) + " " + copy.target.toString() + "\n";
    return text;
}

} // namespace

class TestChangesAnalysis : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void whatTheRulesDoNotSeeChangesNothing() {
        int unseen = 0;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            std::mt19937_64 random(seed);
            Graph graph;
            std::string before = textOf(analyze(graph, simulatedMap(2), Policy::implicit, nullptr));
            for (int edit = 0; edit < 60; ++edit) {
                const Delta delta = randomDelta(graph, random);
                graph.apply(delta);
                std::string now = textOf(analyze(graph, simulatedMap(2), Policy::implicit, nullptr));
                if (!changesAnalysis(delta)) {
                    QCOMPARE(now, before);
                    ++unseen;
                }
                before = std::move(now);
            }
        }
        QVERIFY2(unseen > 30, qPrintable(QString::number(unseen)));
    }
};

TWB_TEST_MAIN(TestChangesAnalysis)
#include "test_changes_analysis.moc"
