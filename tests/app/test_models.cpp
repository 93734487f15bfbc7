#include "app/program.h"
#include "support/onnx_models.h"
#include "support/test_main.h"
#include "support/transformer_model.h"

using namespace twb;
using namespace twb::test;

/// twb import and twb export.
class TestModels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void modelIsImportedRunAndExported() {
        const Program twb;
        twb.write("small.onnx", QByteArray::fromStdString(smallModel().SerializeAsString()));
        const Ended imported = twb.run({"import", "small.onnx", "-o", "small.twb", "--dim", "n=3"});
        QCOMPARE(imported.exit, 0);
        QCOMPARE(imported.out, "small.twb: 5 nodes, 4 edges\n");
        twb.saveTensor<float>("x.npy", Shape{2, 3}, {0, 1, 2, -3, 0.5F, 0.25F});
        const Ended run =
            twb.run({"run", "small.twb", "--input", "x=x.npy", "--output", "y=y.npy", "--quiet"});
        QVERIFY2(run.exit == 0, qPrintable(run.err));
        QCOMPARE(twb.tensor("y.npy"), (std::vector<double>{0, 0.5, 1.5, 0, 0, 0}));
        const Ended exported = twb.run({"export", "small.twb", "--to", "onnx", "-o", "again.onnx"});
        QVERIFY2(exported.exit == 0, qPrintable(exported.err));
        QVERIFY(exported.out.startsWith("again.onnx: 5 nodes of small.twb, "));
        QCOMPARE(twb.run({"import", "again.onnx", "-o", "again.twb"}).exit, 0);
        QCOMPARE(twb.run({"run", "again.twb", "--input", "x=x.npy", "--output", "y=y2.npy", "--quiet"}).exit,
                 0);
        QCOMPARE(twb.tensor("y2.npy"), twb.tensor("y.npy"));
    }

    void theImportIsSimplified() {
        const Program twb;
        twb.write("t.onnx", QByteArray::fromStdString(TransformerModel(2).bytes()));
        const Ended plain = twb.run({"import", "t.onnx", "-o", "plain.twb", "--no-simplify"});
        QCOMPARE(plain.exit, 0);
        QVERIFY2(!plain.err.contains("Simplified"), qPrintable(plain.err));
        const Ended simpler = twb.run({"import", "t.onnx", "-o", "t.twb"});
        QCOMPARE(simpler.exit, 0);
        QVERIFY2(simpler.err.contains("twb: Simplified from "), qPrintable(simpler.err));
        const auto nodes = [&](const char* file) { return loadProject(twb.fsPath(file)).nodes().size(); };
        QVERIFY(2 * nodes("t.twb") < nodes("plain.twb"));
        for (const QString& name : {QStringLiteral("plain"), QStringLiteral("t")}) {
            const Ended ran = twb.run({"run", name + ".twb", "--output", "y=" + name + ".npy", "--quiet"});
            QVERIFY2(ran.exit == 0, qPrintable(ran.err));
        }
        QCOMPARE(twb.tensor("t.npy"), twb.tensor("plain.npy"));
        QCOMPARE(twb.run({"check", "t.twb"}).exit, 0);
        QVERIFY(twb.run({"export", "t.twb", "--to", "onnx", "-o", "again.onnx"}).exit == 0);
    }

    void unknownOpsAreNamed() {
        const Program twb;
        onnx::ModelProto model = smallModel();
        model.mutable_graph()->mutable_node(1)->set_op_type("NeverHeardOf");
        twb.write("a.onnx", QByteArray::fromStdString(model.SerializeAsString()));
        const Ended ended = twb.run({"import", "a.onnx", "-o", "a.twb"});
        QCOMPARE(ended.exit, 0);
        QVERIFY(ended.err.contains("unknown op NeverHeardOf: its nodes are placeholders"));
        const Ended checked = twb.run({"check", "a.twb"});
        QCOMPARE(checked.exit, 3);
        QVERIFY2(checked.out.contains("unknown op \"NeverHeardOf\" of opset 17 (node \"NeverHeardOf_y\")"),
                 qPrintable(checked.out));
        // Everything that does not depend on the placeholder runs.
        const Ended ran = twb.run({"run", "a.twb", "--output", "layer1/add=sum.npy"});
        QCOMPARE(ran.exit, 3);
        QVERIFY2(ran.err.contains("a.twb: 2 of 5 nodes did not run: nodes with unknown ops (placeholders)"),
                 qPrintable(ran.err));
        QCOMPARE(twb.tensor("sum.npy").size(), std::size_t{2});
        const Ended exported = twb.run({"export", "a.twb", "--to", "onnx", "-o", "b.onnx"});
        QCOMPARE(exported.exit, 3);
        QVERIFY(exported.err.contains("the graph has errors and cannot be exported"));
        QVERIFY(!twb.exists("b.onnx"));
    }

    void unknownDimensionIsAnError() {
        const Program twb;
        onnx::ModelProto model = smallModel();
        auto& dim = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
        dim.mutable_shape()->mutable_dim(1)->set_dim_param("batch");
        twb.write("a.onnx", QByteArray::fromStdString(model.SerializeAsString()));
        const Ended near = twb.run({"import", "a.onnx", "-o", "a.twb", "--dim", "bacth=3"});
        QCOMPARE(near.exit, 2);
        QCOMPARE(near.err,
                 "twb: --dim bacth=3: no input of a.onnx has a symbolic dimension \"bacth\"; did you "
                 "mean \"batch\"?\n");
        QVERIFY(!twb.exists("a.twb"));
        const Ended far = twb.run({"import", "a.onnx", "-o", "a.twb", "--dim", "z=3"});
        QVERIFY2(far.err.endsWith("; its symbolic dimensions are: batch\n"), qPrintable(far.err));
        const Ended twice =
            twb.run({"import", "a.onnx", "-o", "a.twb", "--dim", "batch=3", "--dim", "batch=4"});
        QCOMPARE(twice.exit, 2);
        QVERIFY(twice.err.contains("--dim gives \"batch\" two sizes"));
    }

    void invalidModelsAreErrors() {
        const Program twb;
        twb.write("bad.onnx", "hello");
        const Ended bad = twb.run({"import", "bad.onnx", "-o", "a.twb"});
        QCOMPARE(bad.exit, 4);
        QVERIFY(bad.err.contains("bad.onnx: not an ONNX file"));
        QVERIFY(!twb.exists("a.twb"));
        QCOMPARE(twb.run({"import", "nothing.onnx", "-o", "a.twb"}).exit, 4);
        QCOMPARE(twb.run({"import", "bad.onnx"}).exit, 2);
        QCOMPARE(twb.run({"import", "bad.onnx", "-o", "a.twb", "--dim", "n"}).exit, 2);
        twb.save("a.twb", smallGraph());
        QCOMPARE(twb.run({"export", "a.twb", "--to", "keras", "-o", "b"}).exit, 2);
    }
};

TWB_TEST_MAIN(TestModels)
#include "test_models.moc"
