#include "app/program.h"
#include "ops/op_table.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

class TestListings : public QObject {
    Q_OBJECT

    Program m_twb;

private Q_SLOTS:
    void devices() {
        const Ended text = m_twb.run({"devices"});
        QCOMPARE(text.exit, 0);
        QVERIFY(text.out.startsWith("cpu  "));
        QVERIFY(text.out.contains("cuda  simulated: TWB_CUDA_PLUGIN=none disables GPUs"));
        QVERIFY(text.out.contains("h200"));
        const auto json = parsed(m_twb.run({"devices", "--json"}).out);
        QCOMPARE(json.at("schema"), 1);
        QCOMPARE(json.at("devices").at(0).at("device"), "cpu");
        QCOMPARE(json.at("devices").at(0).at("simulated"), false);
        QVERIFY(json.at("devices").at(0).at("free_bytes") > 0);
        QCOMPARE(json.at("cuda").at("present"), false);
        QCOMPARE(json.at("cuda").at("message"), "TWB_CUDA_PLUGIN=none disables GPUs");
        QVERIFY(json.at("profiles").size() >= 6U);
    }

    void reasonForAMissingGpu() {
        const auto restore = qScopeGuard([] { qputenv("TWB_CUDA_PLUGIN", "none"); });
        qputenv("TWB_CUDA_PLUGIN", "/nowhere/libtwb_cuda.so");
        const QString none = "CUDA plugin not found: /nowhere/libtwb_cuda.so";
        QVERIFY(m_twb.run({"devices"}).out.contains("cuda  simulated: " + none));
        m_twb.save("a.twb", crossingGraph());
        const Ended ran = m_twb.run({"run", "a.twb"});
        QCOMPARE(ran.exit, 0);
        QVERIFY2(ran.err.contains("note: cuda:0 uses a simulated NVIDIA H200: " + none), qPrintable(ran.err));
        for (const QStringList& real : {QStringList{"--require-gpu"}, {"--device-map", "cuda:0=real"}}) {
            const Ended ended = m_twb.run(QStringList{"run", "a.twb"} + real);
            QCOMPARE(ended.exit, 5);
            QVERIFY2(ended.err.contains("cuda:0 must be a real GPU in this run: " + none),
                     qPrintable(ended.err));
        }
        // The result depends on this machine: a GPU, or a reason why there is none.
        qunsetenv("TWB_CUDA_PLUGIN");
        const auto json = parsed(m_twb.run({"devices", "--json"}).out);
        QCOMPARE(json.at("cuda").at("present"), json.at("cuda").at("message") == "");
        QCOMPARE(json.at("cuda").at("present"), json.at("devices").size() > 1U);
    }

    void ops() {
        const Ended text = m_twb.run({"ops"});
        QCOMPARE(text.exit, 0);
        const auto json = parsed(m_twb.run({"ops", "--json"}).out);
        QCOMPARE(json.at("ops").size(), opTable().size());
        for (const Op& op : opTable()) {
            QVERIFY2(text.out.contains("\n  " + QString::fromStdString(op.name) + " "), op.name.c_str());
            QVERIFY(text.out.contains(QString::fromStdString(op.doc)));
            QVERIFY(text.out.contains(QString::fromStdString(op.category) + '\n'));
        }
    }

    void oneOp() {
        const Ended text = m_twb.run({"ops", "Gemm"});
        QCOMPARE(text.exit, 0);
        QVERIFY(text.out.startsWith("Gemm("));
        for (const AttributeSpec& spec : findOp("Gemm")->attributes)
            QVERIFY(text.out.contains(QString::fromStdString(spec.name)));
        const auto json = parsed(m_twb.run({"ops", "Gemm", "--json"}).out);
        QCOMPARE(json.at("ops").size(), 1U);
        QCOMPARE(json.at("ops").at(0).at("attributes").size(), findOp("Gemm")->attributes.size());
    }

    void anOpOfAnotherDomain() {
        QVERIFY(m_twb.run({"ops", "Scaler"}).out.contains("as in ai.onnx.ml 1 of ONNX"));
        const auto json = parsed(m_twb.run({"ops", "Scaler", "--json"}).out);
        QCOMPARE(json.at("ops").at(0).at("domain"), "ai.onnx.ml");
        QCOMPARE(json.at("ops").at(0).at("opset"), 1);
    }

    void unknownOpSuggestsSimilarNames() {
        const Ended ended = m_twb.run({"ops", "MatMull"});
        QCOMPARE(ended.exit, 2);
        QVERIFY(ended.err.contains("did you mean \"MatMul\""));
    }

    void usage() {
        QCOMPARE(m_twb.run({}).exit, 2);
        QCOMPARE(m_twb.run({"fly"}).exit, 2);
        QCOMPARE(m_twb.run({"run"}).exit, 2);
        const Ended help = m_twb.run({"--help"});
        QCOMPARE(help.exit, 0);
        for (const char* command : {"check", "run", "batch", "devices", "ops"})
            QVERIFY(help.out.contains(command));
        QVERIFY(help.out.contains("import") && help.out.contains("export"));
        for (const char* command : {"check", "run", "batch", "devices", "ops"})
            QCOMPARE(m_twb.run({command, "--help"}).exit, 0);
        QVERIFY(m_twb.run({"--version"}).out.startsWith("twb "));
    }
};

TWB_TEST_MAIN(TestListings)
#include "test_listings.moc"
