#include "app/program.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

class TestCheck : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void validGraphPasses() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        const Ended ended = twb.run({"check", "a.twb"});
        QCOMPARE(ended.exit, 0);
        QCOMPARE(ended.out, "a.twb: no problems, 4 nodes\n1 graph, 0 errors, 0 warnings\n");
        QCOMPARE(ended.err, "");
    }

    void mismatchHasPyTorchsMessage() {
        const Program twb;
        twb.save("a.twb", crossingGraph(false));
        const Ended ended = twb.run({"check", "a.twb"});
        QCOMPARE(ended.exit, 3);
        QVERIFY(ended.out.startsWith(
            "a.twb: error[device-mismatch]: Expected all tensors to be on the same device, but got "));
        QVERIFY(ended.out.contains("Mul \"scaled\""));
        QVERIFY(ended.out.contains("\n  fix 1  "));
        QVERIFY(ended.out.contains("16 B"));
        QVERIFY(ended.out.contains("ms modelled"));
        QVERIFY(ended.out.endsWith("1 graph, 1 error, 0 warnings\n"));
    }

    void theImplicitPolicyWarns() {
        const Program twb;
        twb.save("a.twb", crossingGraph(false));
        const Ended ended = twb.run({"check", "a.twb", "--policy", "implicit"});
        QCOMPARE(ended.exit, 0);
        QVERIFY(ended.out.contains("warning[implicit-transfer]"));
    }

    void oneBrokenFileDoesNotHideTheOthers() {
        const Program twb;
        twb.save("bad.twb", crossingGraph(false));
        twb.save("good.twb", smallGraph());
        twb.write("broken.twb", "{\"format\": \"tensor-workbench\", ");
        const Ended ended = twb.run({"check", "broken.twb", "missing.twb", "bad.twb", "good.twb"});
        QCOMPARE(ended.exit, 4);
        QVERIFY(ended.err.contains("broken.twb"));
        QVERIFY(ended.err.contains("missing.twb"));
        QVERIFY(ended.out.contains("bad.twb: error["));
        QVERIFY(ended.out.contains("good.twb: no problems"));
        QVERIFY(ended.out.endsWith("4 graphs, 1 error, 0 warnings, 2 not checked\n"));
    }

    /// "--" ends the options; all arguments after it are files.
    void filesNamedLikeOptionsAndCommands() {
        const Program twb;
        for (const char* name : {"a.twb", "-odd.twb", "--json", "run"}) twb.save(name, smallGraph());
        const Ended ended = twb.run({"check", "a.twb", "--", "-odd.twb", "--json", "run", "a.twb"});
        QCOMPARE(ended.err, "");
        QCOMPARE(ended.exit, 0);
        QVERIFY(ended.out.contains("a.twb: no problems"));
        QVERIFY(ended.out.contains("-odd.twb: no problems"));
        QVERIFY(ended.out.contains("--json: no problems"));
        QVERIFY(ended.out.contains("run: no problems"));
        QVERIFY(ended.out.endsWith("5 graphs, 0 errors, 0 warnings\n"));
        QCOMPARE(twb.run({"check", "a.twb", "-odd.twb"}).exit, 2);
    }

    void json() {
        const Program twb;
        twb.save("bad.twb", crossingGraph(false));
        twb.write("broken.twb", "[]");
        const Ended ended = twb.run({"check", "--json", "bad.twb", "broken.twb"});
        QCOMPARE(ended.exit, 4);
        const auto out = parsed(ended.out);
        QCOMPARE(out.at("schema"), 1);
        QCOMPARE(out.at("errors"), 1);
        QCOMPARE(out.at("unreadable"), 1);
        const auto& diagnostic = out.at("files").at(0).at("diagnostics").at(0);
        QCOMPARE(diagnostic.at("code"), "device-mismatch");
        QCOMPARE(diagnostic.at("name"), "scaled");
        QVERIFY(diagnostic.at("fixes").size() >= 2U);
        QVERIFY(out.at("files").at(1).contains("unreadable"));
    }

    void hostileNamesCannotBreakLines() {
        const Program twb;
        GraphMaker maker;
        maker.node("Relu", "a\n\x1b[2Jfake: fine, \"1\" node");
        twb.save("a.twb", maker);
        const Ended text = twb.run({"check", "a.twb"});
        QCOMPARE(text.exit, 3);
        QVERIFY(!text.out.contains('\x1b'));
        QCOMPARE(text.out.count("missing-input"), 1);
        QVERIFY(text.out.split('\n').at(0).contains("\\n\\x1b[2Jfake"));
        const Ended json = twb.run({"check", "--json", "a.twb"});
        QCOMPARE(parsed(json.out).at("files").at(0).at("diagnostics").at(0).at("name"),
                 "a\n\x1b[2Jfake: fine, \"1\" node");
    }

    void aFileNodeWithoutItsFileIsAnError() {
        const Program twb;
        GraphMaker maker;
        const NodeId file = maker.node("File", "images", "cpu", {{"path", std::string("none.npy")}});
        maker.node("Probe", "p", "cpu", {}, {file});
        twb.save("a.twb", maker);
        const Ended ended = twb.run({"check", "a.twb"});
        QCOMPARE(ended.exit, 3);
        QVERIFY(ended.out.contains("error[file]"));
        QVERIFY(ended.out.contains("none.npy"));
    }

    void badFiles_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("not JSON") << QByteArray("hello");
        QTest::newRow("binary") << QByteArray("\x00\xff\xfe\x00", 4);
        QTest::newRow("other JSON") << QByteArray("{}");
        QTest::newRow("newer") << QByteArray("{\"format\": \"tensor-workbench\", \"version\": 999}");
        QTest::newRow("deep") << QByteArray(200000, '[');
    }
    void badFiles() {
        QFETCH(QByteArray, bytes);
        const Program twb;
        twb.write("a.twb", bytes);
        const Ended ended = twb.run({"check", "a.twb"});
        QCOMPARE(ended.exit, 4);
        QVERIFY(ended.err.startsWith("twb: "));
        QVERIFY(ended.err.contains("a.twb"));
        QCOMPARE(ended.err.count('\n'), 1);
        QVERIFY(ended.err.size() < 1000);
    }
};

TWB_TEST_MAIN(TestCheck)
#include "test_check.moc"
