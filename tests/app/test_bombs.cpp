#include "app/program.h"
#include "support/test_main.h"

#include <onnx/onnx_pb.h>

using namespace twb;
using namespace twb::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true; // reserves terabytes of address space, so it cannot be limited
#else
constexpr bool kSanitized = false;
#endif

/// twb with 4 GiB of address space and 10 s of CPU time, so that a run that would need more fails instead of
/// filling the machine.
Ended runLimited(const Program& twb, const QStringList& arguments) {
    if (kSanitized) return twb.run(arguments);
    QProcess process;
    process.setWorkingDirectory(twb.file(""));
    process.start("sh",
                  QStringList{"-c", "ulimit -v 4194304; ulimit -t 10; exec \"$@\"", "sh", Program::path()} +
                      arguments);
    return Program::wait(process);
}

/// One node with the given inputs, some of them absurd.
class Bomb {
public:
    explicit Bomb(const char* op) {
        m_model.set_ir_version(8);
        m_model.add_opset_import()->set_version(17);
        m_model.mutable_graph()->set_name("bomb");
        m_op = op;
    }
    Bomb& floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
        onnx::TensorProto& tensor = add(onnx::TensorProto::FLOAT, shape);
        for (const float value : values) tensor.add_float_data(value);
        return *this;
    }
    Bomb& integers(std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values) {
        onnx::TensorProto& tensor = add(onnx::TensorProto::INT64, shape);
        for (const std::int64_t value : values) tensor.add_int64_data(value);
        return *this;
    }
    Bomb& nothing() {
        m_inputs.emplace_back();
        return *this;
    }

    /// With `late`, the last input is multiplied by a "one" whose value is known only at run time.
    QByteArray bytes(bool late) {
        onnx::GraphProto& graph = *m_model.mutable_graph();
        if (late) {
            const onnx::TensorProto& last = graph.initializer(graph.initializer_size() - 1);
            value(*graph.add_input(), "one", last.data_type());
            onnx::NodeProto& product = *graph.add_node();
            product.set_op_type("Mul");
            product.add_input(m_inputs.back());
            product.add_input("one");
            product.add_output("late");
            m_inputs.back() = "late";
        }
        onnx::NodeProto& node = *graph.add_node();
        node.set_op_type(m_op);
        node.set_name("bomb");
        for (const std::string& input : m_inputs) node.add_input(input);
        node.add_output("y");
        value(*graph.add_output(), "y", onnx::TensorProto::FLOAT);
        return QByteArray::fromStdString(m_model.SerializeAsString());
    }
    bool takesIntegers() const {
        const onnx::GraphProto& graph = m_model.graph();
        return graph.initializer(graph.initializer_size() - 1).data_type() == onnx::TensorProto::INT64;
    }

private:
    static void value(onnx::ValueInfoProto& info, const char* name, int type) {
        info.set_name(name);
        info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
        info.mutable_type()->mutable_tensor_type()->mutable_shape();
    }
    onnx::TensorProto& add(onnx::TensorProto::DataType type, const std::vector<std::int64_t>& shape) {
        onnx::TensorProto& tensor = *m_model.mutable_graph()->add_initializer();
        tensor.set_name("in" + std::to_string(m_inputs.size()));
        tensor.set_data_type(type);
        for (const std::int64_t size : shape) tensor.add_dims(size);
        m_inputs.push_back(tensor.name());
        return tensor;
    }

    onnx::ModelProto m_model;
    std::string m_op;
    std::vector<std::string> m_inputs;
};

constexpr std::int64_t kTera = 1'000'000'000'000;

} // namespace

/// Files of a few bytes that ask for huge amounts of memory or time.
class TestBombs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void models_data() {
        QTest::addColumn<QByteArray>("model");
        QTest::addColumn<QByteArray>("lateModel");
        QTest::addColumn<bool>("integers");
        const auto row = [](const char* name, const Bomb& bomb) {
            Bomb now = bomb;
            Bomb late = bomb;
            QTest::newRow(name) << now.bytes(false) << late.bytes(true) << bomb.takesIntegers();
        };
        row("Pad", Bomb("Pad").floats({1}, {1}).integers({2}, {0, std::int64_t(1) << 40}));
        row("Pad back and forth", Bomb("Pad").floats({1}, {1}).integers({2}, {INT64_MAX, INT64_MAX}));
        row("Expand", Bomb("Expand").floats({1}, {1}).integers({1}, {kTera}));
        row("Expand twice", Bomb("Expand").floats({1}, {1}).integers({2}, {kTera, kTera}));
        row("ConstantOfShape", Bomb("ConstantOfShape").integers({1}, {kTera * 1000}));
        row("Tile", Bomb("Tile").floats({8}, {1, 2, 3, 4, 5, 6, 7, 8}).integers({1}, {1'000'000'000}));
        row("Resize",
            Bomb("Resize").floats({1, 1, 2, 2}, {1, 2, 3, 4}).nothing().floats({4}, {1, 1, 1e9F, 1e9F}));
        row("Range", Bomb("Range").integers({}, {0}).integers({}, {kTera * 1'000'000}).integers({}, {1}));
        row("OneHot", Bomb("OneHot").integers({1}, {0}).floats({2}, {0, 1}).integers({}, {kTera}));
    }
    void models() {
        QFETCH(QByteArray, model);
        QFETCH(QByteArray, lateModel);
        QFETCH(bool, integers);
        const Program twb;
        if (integers)
            twb.saveTensor<std::int64_t>("one.npy", Shape{}, {1});
        else
            twb.saveTensor<float>("one.npy", Shape{}, {1});
        for (const bool late : {false, true}) {
            twb.write("a.onnx", late ? lateModel : model);
            const Ended imported = runLimited(twb, {"import", "a.onnx", "-o", "a.twb"});
            QVERIFY2(imported.exit == 0 || imported.exit == 4, qPrintable(imported.err));
            if (imported.exit == 4) continue;
            const Ended checked = runLimited(twb, {"check", "a.twb"});
            QVERIFY2(checked.exit == 0 || checked.exit == 3, qPrintable(checked.out + checked.err));
            QStringList run{"run", "a.twb"};
            if (late)
                run << "--input"
                    << "one=one.npy";
            const Ended ran = runLimited(twb, run);
            QVERIFY2(ran.exit == 1 || ran.exit == 3, qPrintable(ran.out + ran.err));
            QVERIFY2(ran.err.contains("\"bomb\""), qPrintable(ran.err));
        }
    }

    void projects_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("attributes");
        QTest::newRow("Zeros") << "Zeros"
                               << R"("shape": [1000000000000])";
        QTest::newRow("sides that overflow") << "Zeros"
                                             << R"("shape": [4000000000, 4000000000, 4000000000])";
        QTest::newRow("RandomNormal") << "RandomNormal"
                                      << R"("shape": [2000000000])";
        QTest::newRow("Arange") << "Arange"
                                << R"("start": 0, "end": 1e18, "step": 1)";
        QTest::newRow("Arange of no step") << "Arange"
                                           << R"("start": 0, "end": 1, "step": 1e-300)";
    }
    void projects() {
        QFETCH(QString, op);
        QFETCH(QString, attributes);
        const Program twb;
        twb.write("a.twb", QString(R"({"format": "tensor-workbench", "version": 1,
            "lanes": [{"id": 1, "device": "cpu"}],
            "nodes": [{"id": 1, "op": "%1", "name": "bomb", "lane": 1, "attributes": {%2}},
                      {"id": 2, "op": "NonZero", "name": "places", "lane": 1},
                      {"id": 3, "op": "Probe", "name": "p", "lane": 1}],
            "edges": [{"from": [1, 0], "to": [2, 0]}, {"from": [2, 0], "to": [3, 0]}]})")
                               .arg(op, attributes)
                               .toUtf8());
        const Ended checked = runLimited(twb, {"check", "a.twb"});
        QVERIFY2(checked.exit == 0 || checked.exit == 3, qPrintable(checked.out + checked.err));
        const Ended ran = runLimited(twb, {"run", "a.twb"});
        QVERIFY2(ran.exit == 1 || ran.exit == 3, qPrintable(ran.out + ran.err));
        QVERIFY2(ran.err.contains("\"bomb\""), qPrintable(ran.err));
    }

    /// A cycle is an error of the graph: the file opens, so that it can be fixed.
    void cyclicModel() {
        const Program twb;
        onnx::ModelProto model;
        model.ParseFromString(Bomb("Add").floats({1}, {1}).floats({1}, {2}).bytes(false).toStdString());
        model.mutable_graph()->mutable_node(0)->set_input(0, "y");
        twb.write("a.onnx", QByteArray::fromStdString(model.SerializeAsString()));
        QCOMPARE(runLimited(twb, {"import", "a.onnx", "-o", "a.twb"}).exit, 0);
        const Ended checked = runLimited(twb, {"check", "a.twb"});
        QCOMPARE(checked.exit, 3);
        QVERIFY2(checked.out.contains("error[cycle]"), qPrintable(checked.out));
        QCOMPARE(runLimited(twb, {"run", "a.twb"}).exit, 3);
    }

    void brokenModels_data() {
        QTest::addColumn<QByteArray>("model");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* says, const auto& spoil) {
            onnx::ModelProto model;
            model.ParseFromString(Bomb("Add").floats({1}, {1}).floats({1}, {2}).bytes(false).toStdString());
            spoil(model);
            QTest::newRow(name) << QByteArray::fromStdString(model.SerializeAsString()) << QString(says);
        };
        QTest::newRow("no protobuf") << QByteArray(1000, '\xff') << "a.onnx";
        QTest::newRow("empty") << QByteArray() << "a.onnx";
        row("missing initializer", "in0",
            [](auto& m) { m.mutable_graph()->mutable_initializer()->DeleteSubrange(0, 1); });
        row("unknown dtype", "in0",
            [](auto& m) { m.mutable_graph()->mutable_initializer(0)->set_data_type(99); });
        row("complex", "in0", [](auto& m) {
            m.mutable_graph()->mutable_initializer(0)->set_data_type(onnx::TensorProto::COMPLEX64);
        });
        row("promises without data", "in0",
            [](auto& m) { m.mutable_graph()->mutable_initializer(0)->set_dims(0, std::int64_t(1) << 60); });
        for (const char* place : {"../../etc/passwd", "/etc/passwd", "none.bin"})
            row(place, place, [&](auto& m) {
                onnx::TensorProto& tensor = *m.mutable_graph()->mutable_initializer(0);
                tensor.clear_float_data();
                tensor.set_data_location(onnx::TensorProto::EXTERNAL);
                onnx::StringStringEntryProto& entry = *tensor.add_external_data();
                entry.set_key("location");
                entry.set_value(place);
            });
    }
    void brokenModels() {
        QFETCH(QByteArray, model);
        QFETCH(QString, says);
        const Program twb;
        twb.write("a.onnx", model);
        const Ended ended = runLimited(twb, {"import", "a.onnx", "-o", "a.twb"});
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.startsWith("twb: ") && ended.err.contains("a.onnx") && ended.err.contains(says),
                 qPrintable(ended.err));
        QCOMPARE(ended.err.count('\n'), 1);
        QVERIFY(!twb.exists("a.twb"));
    }
};

TWB_TEST_MAIN(TestBombs)
#include "test_bombs.moc"
