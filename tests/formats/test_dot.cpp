#include "formats/dot.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QProcess>
#include <QStandardPaths>

using namespace twb;
using namespace twb::test;

namespace {

Graph crossing(const std::string& name) {
    GraphMaker maker;
    const NodeId x = maker.node("Ones", name, "cpu");
    const NodeId there = maker.node("To", "there", "cuda:0", {}, {x});
    const NodeId y = maker.node("Add", "sum", "cuda:0", {}, {there, there});
    maker.node("Probe", "Probe", "cuda:0", {}, {y});
    return maker.graph();
}

} // namespace

class TestDot : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void lanesAreClustersAndCrossingEdgesAreThick() {
        const QString text = QString::fromStdString(toDot(crossing("x")));
        QVERIFY2(text.contains(
                     "  subgraph cluster_1 {\n    label=\"cpu\";\n    n1 [label=\"x\\nOnes\", shape=box, "
                     "style=rounded];\n  }\n"),
                 qPrintable(text));
        QVERIFY2(text.contains("n1 -> n2 [penwidth=2.5, label=\"cpu → cuda:0\"];"), qPrintable(text));
        QVERIFY2(text.contains("n2 -> n3 [headlabel=\"self\"];"), qPrintable(text));
        QVERIFY2(text.contains("n3 -> n4;"), qPrintable(text));
        QVERIFY2(text.contains("n4 [label=\"Probe\", shape=ellipse];"), qPrintable(text));
    }

    void namesAreEscaped() {
        const QString text = QString::fromStdString(toDot(crossing("a \"b\"\\n\n\xf0\x9f\x98\x80")));
        QVERIFY2(text.contains(QStringLiteral("[label=\"a \\\"b\\\"\\\\n\\\\n😀\\nOnes\"")), qPrintable(text));
    }

    void graphvizReadsIt() {
        const QString dot = QStandardPaths::findExecutable(QStringLiteral("dot"));
        if (dot.isEmpty()) QSKIP("skipped: the program dot is not installed (Debian: graphviz)");
        QProcess process;
        process.start(dot, {QStringLiteral("-Tsvg")});
        process.write(QByteArray::fromStdString(toDot(crossing("a \"b\" \\ 😀"))));
        process.closeWriteChannel();
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitCode(), 0);
        QVERIFY(process.readAllStandardOutput().contains("a &quot;b&quot; \\ 😀"));
    }
};

TWB_TEST_MAIN(TestDot)
#include "test_dot.moc"
