#include "formats/npy.h"
#include "formats/sample_folder.h"
#include "formats/tensor_archive.h"
#include "support/graphs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QDir>
#include <QTemporaryDir>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<double>;

/// A folder of tensors, and a graph with one or two Inputs: x of 2 × 3 f32, and n of 2 i64.
struct Folder {
    explicit Folder(int inputs = 1) {
        x = g.node("Input", "x", "cpu", {{"shape", Ints{2, 3}}});
        if (inputs > 1) n = g.node("Input", "n", "cpu", {{"shape", Ints{2}}, {"dtype", std::string("i64")}});
        analysis = analyze(g.graph(), simulatedMap(), Policy::strict, nullptr);
    }
    void put(const std::string& name, const Tensor& tensor) const {
        const std::filesystem::path path = root / name;
        std::filesystem::create_directories(path.parent_path());
        writeTensor(splitTensorPath(path.string()), tensor.view());
    }
    SampleFolder read() const { return {g.graph(), analysis, root}; }
    QString refusal() const {
        try {
            (void)read();
        } catch (const Error& error) {
            return QString::fromStdString(error.what());
        }
        return {};
    }

    GraphMaker g;
    NodeId x = NodeId::none;
    NodeId n = NodeId::none;
    Analysis analysis;
    QTemporaryDir folder;
    std::filesystem::path root = folder.path().toStdString();
};

Tensor counting(DType dtype, const Shape& shape) {
    Values values;
    for (std::int64_t i = 0; i < shape.elementCount(); ++i) values.push_back(static_cast<double>(i));
    return tensorOf(dtype, shape, values);
}

} // namespace

class TestSampleFolder : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aSingleInputTakesEachFile() {
        const Folder folder;
        folder.put("b.npy", counting(DType::f64, {2, 3}));
        folder.put("a.npy", counting(DType::f32, {5, 3})); // two samples, and a row that is left out
        QCOMPARE(folder.read().count(), std::size_t{3});
        QCOMPARE(valuesOf(folder.read().read(1).at({folder.x, 0})), (Values{6, 7, 8, 9, 10, 11}));
        QCOMPARE(folder.read().read(2).at({folder.x, 0}).dtype(), DType::f32);
    }

    void namesMatter() {
        const Folder folder(2);
        folder.put("x.npy", counting(DType::f32, {4, 3}));
        folder.put("n.npy", counting(DType::i64, {4}));
        folder.put("one/x.npy", counting(DType::f32, {2, 3}));
        folder.put("one/n.npy", counting(DType::i32, {2}));
        folder.put("c.npz#x", counting(DType::f32, {2, 3}));
        folder.put("c.npz#n", counting(DType::i64, {2}));
        const SampleFolder samples = folder.read();
        QCOMPARE(samples.count(), std::size_t{4});
        QCOMPARE(valuesOf(samples.read(3).at({folder.n, 0})), (Values{2, 3}));
        QCOMPARE(valuesOf(samples.read(3).at({folder.x, 0})), (Values{6, 7, 8, 9, 10, 11}));
        for (std::size_t i = 0; i < 4; ++i) QCOMPARE(samples.read(i).at({folder.n, 0}).dtype(), DType::i64);
    }

    void refusalsNameThePlace() {
        {
            const Folder folder;
            QVERIFY(folder.refusal().contains(QLatin1String("has no samples")));
            folder.put("x.npy", counting(DType::f32, {2, 4}));
            QVERIFY(folder.refusal().contains(QLatin1String("x.npy")));
            QVERIFY(folder.refusal().contains(QLatin1String("f32 [2, 4]")) ||
                    folder.refusal().contains(QLatin1String("(2, 4)")) ||
                    folder.refusal().contains(QLatin1String("4")));
        }
        {
            const Folder folder;
            folder.put("x.npy", counting(DType::i64, {2, 3}));
            QVERIFY(!folder.refusal().isEmpty()); // integers are no floats
        }
        {
            const Folder folder(2);
            folder.put("x.npy", counting(DType::f32, {2, 3}));
            QVERIFY(folder.refusal().contains(QLatin1String("no tensor for the Input \"n\"")));
            folder.put("m.npy", counting(DType::i64, {2}));
            QVERIFY(folder.refusal().contains(QLatin1String("no input \"m\"")));
        }
        const Folder folder;
        QVERIFY_THROWS_EXCEPTION(Error, SampleFolder(folder.g.graph(), folder.analysis, "/no/such/folder"));
        QVERIFY_THROWS_EXCEPTION(Error, samplesFor(folder.g.graph(), folder.analysis, {}));
        QCOMPARE(samplesFor(GraphMaker().graph(), {}, {})->count(), std::size_t{1});
    }
};

TWB_TEST_MAIN(TestSampleFolder)
#include "test_sample_folder.moc"
