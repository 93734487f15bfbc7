#include "formats/data_files.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QFile>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <functional>
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

QString refusal(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& e) {
        return QString::fromStdString(e.what());
    }
    return {};
}

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
            said("a,b\n1,2\n3\n").endsWith("a.csv, line 3: it has 1 fields, but the lines before have 2"));
        QVERIFY(said("a,b\n1,2\n3,x\n").contains("a.csv, line 3: \"x\" in column b is not a number; "));
        QVERIFY(said("").endsWith("the file has no rows"));
        QVERIFY(said("a,b\n").endsWith("the file has no rows"));
        QVERIFY(said("a,b\n1,2\n", "a.csv#c").contains("it has no tensor \"c\"; it has a, b"));
        QVERIFY(said("a,b\n1,2\n", "a.csv#!c").contains("it has no tensor"));
        QVERIFY(refusal([&] {
                    folder.files()->write("b.csv", tensorOf(DType::f32, {1}, {1}).view());
                }).contains("CSV and IDX files are only read"));
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

        // 300 MB without blocks on the disk, but for the header and one row.
        constexpr std::int64_t kRows = 75'000;
        writeNpy(folder.path("large.npy"), Tensor::onHost({DType::f32, Shape{1, 1000}}).view());
        QFile file(QString::fromStdString(folder.path("large.npy")));
        QVERIFY(file.open(QIODevice::ReadWrite));
        const qint64 header = file.size() - 4000;
        QByteArray text = file.read(header);
        text.replace("(1, 1000), }   ", "(75000, 1000), }");
        text.resize(header);
        text[header - 1] = '\n';
        QVERIFY(text.contains("75000"));
        file.seek(0);
        file.write(text);
        QVERIFY(file.resize(header + kRows * 4000));
        const float mark = 5;
        file.seek(header + 70'000 * 4000 + 8);
        file.write(reinterpret_cast<const char*>(&mark), 4);
        file.close();
        const auto rows = folder.files()->rows("large.npy");
        std::vector<float> values(3000);
        rows->read(std::vector<std::int64_t>{69'999, 70'000, 1}, values.data());
        QCOMPARE(values[1002], 5.0F);
        QCOMPARE(std::ranges::count(values, 0.0F), 2999);
        QVERIFY(QFile::resize(file.fileName(), header + 4000));
        QVERIFY(refusal([&] {
                    rows->read(std::vector<std::int64_t>{7}, values.data());
                }).endsWith("large.npy: the file ends in the middle of row 7"));
    }
};

TWB_TEST_MAIN(TestDataFiles)
#include "test_data_files.moc"
