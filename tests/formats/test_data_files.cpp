#include "formats/data_files.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "runtime/executor.h"
#include "support/graphs.h"
#include "support/op_runner.h"
#include "support/refusal.h"
#include "support/test_main.h"

#include <QFile>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <sys/resource.h>
#include <zlib.h>

using namespace twb;
using namespace twb::test;

namespace {

class Folder {
public:
    std::filesystem::path write(const char* name, const QByteArray& bytes) const {
        QFile file(m_folder.filePath(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
            qFatal("cannot write %s", name);
        return file.fileName().toStdString();
    }
    std::filesystem::path path(const char* name) const { return m_folder.filePath(name).toStdString(); }
    std::shared_ptr<const TensorFiles> files() const {
        return makeProjectFiles(m_folder.path().toStdString());
    }

private:
    QTemporaryDir m_folder;
};

/// A file of f32 rows. The first value of the marked rows is the row's number. All others are zeros that use
/// no disk space. The header has 128 bytes.
QString sparseFile(const Folder& folder, const char* name, std::int64_t rows, std::int64_t columns,
                   const std::vector<std::int64_t>& marked) {
    QByteArray header("\x93NUMPY\x01\x00\x76\x00", 10);
    header += "{'descr': '<f4', 'fortran_order': False, 'shape': (" + QByteArray::number(qlonglong(rows)) +
              ", " + QByteArray::number(qlonglong(columns)) + "), }";
    header = header.leftJustified(127, ' ') + '\n';
    QFile file(QString::fromStdString(folder.path(name)));
    if (!file.open(QIODevice::WriteOnly | QIODevice::Unbuffered)) qFatal("cannot write %s", name);
    file.write(header);
    for (const std::int64_t row : marked) {
        const auto number = float(row);
        file.seek(header.size() + row * columns * 4);
        file.write(reinterpret_cast<const char*>(&number), 4);
    }
    if (!file.resize(header.size() + rows * columns * 4)) qFatal("cannot write %s", name);
    return file.fileName();
}

QByteArray gzipped(const QByteArray& bytes) {
    z_stream stream{};
    deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY);
    QByteArray out(static_cast<qsizetype>(deflateBound(&stream, static_cast<uLong>(bytes.size()))), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(static_cast<qsizetype>(stream.total_out));
    deflateEnd(&stream);
    return out;
}

/// Three images of 2 × 2 bytes, as MNIST stores them.
QByteArray images() {
    QByteArray bytes = QByteArray::fromHex("00000803000000030000000200000002");
    for (char i = 0; i < 12; ++i) bytes += i;
    return bytes;
}

Tensor readAll(const TensorFiles& files, const char* path) {
    Tensor out = Tensor::onHost(files.typeOf(path));
    files.read(path, out.view());
    return out;
}

/// Makes a file shorter after the second iteration of a run.
class Cutter final : public RunObserver {
public:
    explicit Cutter(QString file) : m_file(std::move(file)) {}
    void started(std::uint64_t, const Plan&, std::int64_t) override {}
    void steps(std::uint64_t, std::span<const StepRecord>) override {}
    void progress(std::uint64_t, std::int64_t now, std::int64_t) override {
        if (now == 2) QVERIFY(QFile::resize(m_file, 4096));
    }
    void finished(RunResult) noexcept override {}

private:
    QString m_file;
};

} // namespace

class TestDataFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void idxFilesAreRead() {
        const Folder folder;
        folder.write("t10k-images-idx3-ubyte", images());
        folder.write("train-images-idx3-ubyte.gz", gzipped(images()));
        folder.write("numbers.idx", QByteArray::fromHex("00000c010000000200000001fffffffe"));
        folder.write("floats.idx", QByteArray::fromHex("00000d0100000001") + QByteArray::fromHex("3fc00000"));
        const auto files = folder.files();
        for (const char* name : {"t10k-images-idx3-ubyte", "train-images-idx3-ubyte.gz"}) {
            const Tensor tensor = readAll(*files, name);
            QCOMPARE(tensor.type(), (TensorType{DType::u8, Shape{3, 2, 2}}));
            QCOMPARE(tensor.at(11), 11.0);
        }
        QCOMPARE(valuesOf(readAll(*files, "numbers.idx")), (std::vector<double>{1, -2}));
        QCOMPARE(readAll(*files, "floats.idx").at(0), 1.5);
    }

    void damagedIdxFilesAreRefused() {
        const Folder folder;
        const QByteArray whole = images();
        const QByteArray packed = gzipped(whole);
        for (qsizetype size = 0; size < whole.size(); ++size)
            QVERIFY(!refusal([&] { IdxFile(folder.write("a.idx", whole.left(size))); }).isEmpty());
        for (qsizetype size = 0; size + 12 < packed.size(); ++size) // without its end it still unpacks
            QVERIFY(!refusal([&] { IdxFile(folder.write("a.idx.gz", packed.left(size))); }).isEmpty());
        const QByteArray huge = QByteArray::fromHex("00000803ffffffffffffffffffffffff");
        QVERIFY(!refusal([&] { IdxFile(folder.write("huge.idx", huge)); }).isEmpty());
        QVERIFY(
            refusal([&] { IdxFile(folder.write("text.idx", "hello, world")); }).endsWith("not an IDX file"));
    }

    void csvTablesAreRead() {
        const Folder folder;
        folder.write("iris.csv", "\xEF\xBB\xBF\"length\", width,kind\r\n1.5,2,0\r\n\r\n-3e2,,1\r\n");
        folder.write("plain.csv", "1;2\n3;+4.5\n");
        folder.write("tabs.csv", "a\tb\n7\t8\n");
        const auto files = folder.files();
        const Tensor table = readAll(*files, "iris.csv");
        QCOMPARE(table.type(), (TensorType{DType::f64, Shape{2, 3}}));
        QCOMPARE(table.at(3), -300.0);
        QVERIFY(std::isnan(table.at(4)));
        QCOMPARE(valuesOf(readAll(*files, "iris.csv#kind")), (std::vector<double>{0, 1}));
        QCOMPARE(files->typeOf("iris.csv#!kind"), (TensorType{DType::f64, Shape{2, 2}}));
        QCOMPARE(valuesOf(readAll(*files, "plain.csv#1")), (std::vector<double>{2, 4.5}));
        QCOMPARE(valuesOf(readAll(*files, "tabs.csv")), (std::vector<double>{7, 8}));
    }

    void wrongCsvTablesAreRefused() {
        const Folder folder;
        const auto said = [&](const char* text, const char* path = "a.csv") {
            folder.write("a.csv", text);
            return refusal([&] { (void)folder.files()->typeOf(path); });
        };
        QVERIFY(
            said("a,b\n1,2\n3\n").endsWith("a.csv, line 3: it has 1 fields, but the previous lines have 2"));
        QVERIFY(said("a,b\n1,2\n3,x\n").contains("a.csv, line 3: \"x\" in column b is not a number; "));
        QVERIFY(said("").endsWith("the file has no rows"));
        QVERIFY(said("a,b\n").endsWith("the file has no rows"));
        QVERIFY(said("a,b\n1,2\n", "a.csv#c").contains("it has no tensor \"c\"; it has a, b"));
        QVERIFY(said("a,b\n1,2\n", "a.csv#!c").contains("it has no tensor"));
        QVERIFY(refusal([&] {
                    folder.files()->write("b.csv", tensorOf(DType::f32, {1}, {1}).view());
                }).contains("CSV and IDX files are only read"));
    }

    /// The file has 8 GiB, of which 32 MiB are on the disk.
    void aLargeFileIsReadRowByRow() {
        constexpr std::int64_t kRows = 8192;
        constexpr std::int64_t kColumns = 262'144; // 1 MiB
        const Folder folder;
        std::vector<std::int64_t> all(kRows);
        std::iota(all.begin(), all.end(), 0);
        const QString path = sparseFile(folder, "x.npy", kRows, kColumns, all);
        writeNpy(folder.path("y.npy"),
                 tensorOf(DType::i64, {kRows}, std::vector<double>(all.begin(), all.end())).view());
        GraphMaker g;
        const NodeId data = g.node("Batches", "data", "cpu",
                                   {{"path", std::string("x.npy")},
                                    {"labels", std::string("y.npy")},
                                    {"batch_size", std::int64_t{8}}});
        g.node("Probe", "probe", "cpu", {}, {data});
        CompileOptions options;
        options.keep = {{data, 0}, {data, 1}};
        const auto planned = [&] {
            const DeviceMap map = simulatedMap();
            const auto files = folder.files();
            return compile(g.graph(), analyze(g.graph(), map, options.policy, files.get()), map, files,
                           options);
        };
        const RunResult result = runToEnd(planned(), {.iterations = 20});
        QCOMPARE(result.status, RunStatus::finished);
        const std::vector<double> labels = valuesOf(*result.tensor({data, 1}));
        const auto rows = result.tensor({data, 0})->values<float>();
        QVERIFY(!std::ranges::is_sorted(labels)); // the order is shuffled
        for (std::size_t i = 0; i < labels.size(); ++i) QCOMPARE(double(rows[i * kColumns]), labels[i]);
        struct rusage used {};
        QCOMPARE(::getrusage(RUSAGE_SELF, &used), 0);
        QVERIFY2(used.ru_maxrss < 1L << 20, qPrintable(QString::number(used.ru_maxrss) + " KiB"));

        // A file that becomes shorter during a run ends the run with an error.
        Cutter cutter(path);
        const RunResult cut = runToEnd(planned(), {.iterations = 20}, &cutter);
        QCOMPARE(cut.status, RunStatus::failed);
        const QString said = QString::fromStdString(cut.errors.at(0).message);
        QVERIFY2(said.startsWith("Batches \"data\": ") &&
                     said.contains("x.npy: the file ends in the middle of row "),
                 qPrintable(said));
    }

    /// Any byte but 0 is true, also in a file that is too large for memory.
    void boolsAreZeroOrOne() {
        const Folder folder;
        const QString path = sparseFile(folder, "x.npy", 300'000, 250, {7});
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        QByteArray header = file.read(128);
        QVERIFY(header.contains("'<f4'"));
        file.seek(0);
        file.write(header.replace("'<f4'", "'|b1'").replace("(300000, 250), ", "(300000, 1000),"));
        file.close();
        const auto rows = folder.files()->rows("x.npy");
        QCOMPARE(rows->type(), (TensorType{DType::boolean, Shape{300'000, 1000}}));
        std::vector<unsigned char> values(1000);
        rows->read(std::vector<std::int64_t>{7}, values.data());
        QCOMPARE(int(std::ranges::max(values)), 1);
    }

    /// Rows in any order, from a file in memory and from one that is too large for it.
    void rowsAreRead() {
        const Folder folder;
        Tensor small = tensorOf(DType::i32, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
        writeNpy(folder.path("small.npy"), small.view());
        const std::vector<std::int64_t> order{3, 0, 1, 2};
        std::vector<std::int32_t> got(8);
        folder.files()->rows("small.npy")->read(order, got.data());
        QCOMPARE(got, (std::vector<std::int32_t>{6, 7, 0, 1, 2, 3, 4, 5}));

        const QString path = sparseFile(folder, "large.npy", 75'000, 1000, {1, 69'999, 70'000});
        const auto rows = folder.files()->rows("large.npy");
        std::vector<float> values(3000);
        rows->read(std::vector<std::int64_t>{69'999, 70'000, 1}, values.data());
        QCOMPARE(values[0], 69'999.0F);
        QCOMPARE(values[1000], 70'000.0F);
        QCOMPARE(values[2000], 1.0F);
        QCOMPARE(std::ranges::count(values, 0.0F), 2997);
        QVERIFY(QFile::resize(path, 128 + 4000));
        QVERIFY(refusal([&] {
                    rows->read(std::vector<std::int64_t>{7}, values.data());
                }).endsWith("large.npy: the file ends in the middle of row 7"));
    }
};

TWB_TEST_MAIN(TestDataFiles)
#include "test_data_files.moc"
