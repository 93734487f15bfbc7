#include "core/error.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "support/refusal.h"
#include "support/test_main.h"

#include <QDir>
#include <QTemporaryDir>

#include <algorithm>
#include <fstream>
#include <functional>
#include <random>

using namespace twb;
using namespace twb::test;
namespace fs = std::filesystem;

namespace {

QByteArray npy(const std::string& dictionary, const std::string& data, int version = 1) {
    QByteArray bytes("\x93NUMPY", 6);
    bytes += char(version);
    bytes += char(0);
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += char(dictionary.size() >> (8 * i));
    return bytes + QByteArray::fromStdString(dictionary) + QByteArray::fromStdString(data);
}

std::string dictionary(const std::string& descr, const std::string& shape, const char* fortran = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <class T> std::string bytesOf(std::vector<T> values, bool bigEndian = false) {
    std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    if (bigEndian)
        for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
            std::reverse(bytes.begin() + std::ptrdiff_t(i), bytes.begin() + std::ptrdiff_t(i + sizeof(T)));
    return bytes;
}

} // namespace

class TestNpy : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    fs::path path(const char* name = "a.npy") const { return fs::path(m_folder.path().toStdString()) / name; }
    fs::path put(const QByteArray& bytes, const char* name = "a.npy") const {
        std::ofstream(path(name), std::ios::binary).write(bytes.data(), bytes.size());
        return path(name);
    }

private Q_SLOTS:
    void everyDTypeRoundTrips() {
        std::mt19937 random(1);
        for (const DType dtype : kAllDTypes) {
            for (const Shape& shape :
                 {Shape{}, Shape{0}, Shape{5}, Shape{3, 4}, Shape{2, 0, 3}, Shape{2, 3, 4, 5}}) {
                const Tensor tensor = Tensor::onHost({dtype, shape});
                auto* bytes = static_cast<unsigned char*>(tensor.data());
                const std::int64_t count = tensor.byteCount();
                std::generate_n(bytes, count, [&] { return static_cast<unsigned char>(random() % 2); });
                if (dtype == DType::bf16 || isNarrow(dtype)) {
                    QVERIFY(
                        refusal([&] { writeNpy(path(), tensor.view()); }).contains(QLatin1String("cast")));
                    continue;
                }
                writeNpy(path(), tensor.view());
                const Tensor back = readNpy(path());
                QVERIFY(back.type() == tensor.type());
                QVERIFY(std::equal(bytes, bytes + count, static_cast<const unsigned char*>(back.data())));
                QCOMPARE(readNpyHeader(path()).dataOffset % 64, std::uint64_t(0));
            }
        }
    }

    void readsFilesOfNumPy() {
        const fs::path digits = fs::path(TWB_SOURCE_DIR) / "resources/examples/digits";
        const NpyHeader header = readNpyHeader(digits / "test_images.npy");
        QVERIFY(header.type == (TensorType{DType::f32, Shape{360, 64}}));
        const Tensor labels = readNpy(digits / "test_labels.npy");
        QVERIFY(labels.type() == (TensorType{DType::i64, Shape{360}}));
        for (const std::int64_t label : labels.values<std::int64_t>()) QVERIFY(label >= 0 && label <= 9);
    }

    void ordersOfBytesAndAxes_data() {
        QTest::addColumn<QByteArray>("bytes");
        const std::vector<float> rows{0, 1, 2, 3, 4, 5};    // [[0, 1, 2], [3, 4, 5]]
        const std::vector<float> columns{0, 3, 1, 4, 2, 5}; // the same, column by column
        QTest::newRow("little") << npy(dictionary("<f4", "(2, 3)"), bytesOf(rows));
        QTest::newRow("native") << npy(dictionary("=f4", "(2, 3)"), bytesOf(rows));
        QTest::newRow("big") << npy(dictionary(">f4", "(2, 3)"), bytesOf(rows, true));
        QTest::newRow("fortran") << npy(dictionary("<f4", "(2, 3)", "True"), bytesOf(columns));
        QTest::newRow("big fortran") << npy(dictionary(">f4", "(2, 3)", "True"), bytesOf(columns, true));
        QTest::newRow("version 2") << npy(dictionary("<f4", "(2, 3)"), bytesOf(rows), 2);
        QTest::newRow("version 3") << npy(dictionary("<f4", "(2, 3)"), bytesOf(rows), 3);
        QTest::newRow("trailing data") << npy(dictionary("<f4", "(2, 3)"), bytesOf(rows) + "more");
        QTest::newRow("python 2") << npy(dictionary("<f4", "(2L, 3L)"), bytesOf(rows));
        QTest::newRow("other order and quotes")
            << npy("{ \"shape\":(2,3,) ,'fortran_order':False,\"descr\":\"<f4\"}", bytesOf(rows));
    }
    void ordersOfBytesAndAxes() {
        QFETCH(QByteArray, bytes);
        const Tensor tensor = readNpy(put(bytes));
        QVERIFY(tensor.type() == (TensorType{DType::f32, Shape{2, 3}}));
        for (std::int64_t i = 0; i < 6; ++i) QCOMPARE(tensor.at(i), double(i));
    }

    void fortranOrderOfManyAxes() {
        // value = 100 i + 10 j + k of [2, 3, 4], written with the first axis fastest
        std::vector<std::int64_t> data;
        for (int k = 0; k < 4; ++k)
            for (int j = 0; j < 3; ++j)
                for (int i = 0; i < 2; ++i) data.push_back(100 * i + 10 * j + k);
        const Tensor t = readNpy(put(npy(dictionary("<i8", "(2, 3, 4)", "True"), bytesOf(data))));
        std::int64_t at = 0;
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 3; ++j)
                for (int k = 0; k < 4; ++k)
                    QCOMPARE(t.values<std::int64_t>()[std::size_t(at++)], 100 * i + 10 * j + k);
    }

    void boolsAreZeroOrOne() {
        const Tensor t = readNpy(put(npy(dictionary("|b1", "(4,)"), std::string("\x00\x01\x02\xff", 4))));
        const auto* bytes = static_cast<const unsigned char*>(t.data());
        QCOMPARE(std::vector<int>(bytes, bytes + 4), (std::vector<int>{0, 1, 1, 1}));
    }

    void hostileFilesAreRefused_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
            QTest::newRow(name) << bytes << QString::fromUtf8(says);
        };
        const std::string data(64, '\0');
        row("empty", {}, "not a .npy file");
        row("zip", "PK\x03\x04 something longer", "not a .npy file");
        row("mark alone", QByteArray("\x93NUMPY\x01\x00", 8), "ends within its header");
        row("version 9", npy(dictionary("<f4", "(2,)"), data, 9), "version is 9.0");
        row("version 0", npy(dictionary("<f4", "(2,)"), data, 0), "version is 0.0");
        row("header beyond the end", QByteArray("\x93NUMPY\x01\x00\xff\xff{", 11), "ends within its header");
        row("header of 4 GiB", QByteArray("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13),
            "its header has 4294967295");
        row("pickled objects", npy(dictionary("|O", "(2,)"), data), "can run code");
        row("pickled objects, sized", npy(dictionary("O8", "(2,)"), data), "can run code");
        row("records",
            npy("{'descr': [('a', '<f4'), ('b', '<i8')], 'fortran_order': False, 'shape': (2,), }", data),
            "structured dtype");
        row("complex", npy(dictionary("<c8", "(2,)"), data), "dtype \"<c8\"");
        row("text", npy(dictionary("<U5", "(2,)"), data), "dtype \"<U5\"");
        row("date", npy(dictionary("<M8[ns]", "(2,)"), data), "dtype \"<M8[ns]\"");
        row("f16 bytes", npy(dictionary("<f16", "(2,)"), data), "dtype \"<f16\"");
        row("no dtype", npy(dictionary("", "(2,)"), data), "dtype \"\"");
        row("a side overflows", npy(dictionary("<f4", "(99999999999999999999,)"), data),
            "dimension 1 of its shape overflows 64 bits");
        row("the product overflows", npy(dictionary("<f4", "(4294967296, 4294967296)"), data),
            "more elements than 64 bits");
        row("the product overflows, empty", npy(dictionary("<f4", "(0, 4294967296, 4294967296)"), data),
            "more elements than 64 bits");
        row("bytes overflow", npy(dictionary("<f8", "(2305843009213693952,)"), data),
            "more bytes than 64 bits");
        row("negative", npy(dictionary("<f4", "(-2,)"), data), "a dimension of its shape is -2");
        row("fraction", npy(dictionary("<f4", "(2.5,)"), data), "cannot be understood");
        row("NaN", npy(dictionary("<f4", "(nan,)"), data), "cannot be understood");
        row("not a tuple", npy(dictionary("<f4", "(2)"), data), "not as the tuple (n,)");
        row("too many sides",
            npy(dictionary(
                    "<f4", "(" +
                               [] {
                                   std::string s;
                                   for (int i = 0; i < 70; ++i) s += "1, ";
                                   return s;
                               }() +
                               ")"),
                data),
            "more than 64 dimensions");
        row("truncated", npy(dictionary("<f4", "(1000, 1000)"), data),
            "the file is truncated: its header declares 4000000 bytes of data (f32 1000×1000), but the file "
            "has 64");
        row("huge and truncated", npy(dictionary("<f4", "(1000000000, 1000000000)"), data),
            "the file is truncated");
        row("code",
            npy("{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (2,), }", data),
            "cannot be understood");
        row("key missing", npy("{'descr': '<f4', 'shape': (2,), }", data), "must have");
        row("key unknown", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", data),
            "unexpected key \"x\"");
        row("key twice", npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", data),
            "unexpected key \"descr\"");
        row("not a dictionary", npy("[1, 2]", data), "cannot be understood at character 1");
        row("empty header", npy("", data), "cannot be understood");
        row("unclosed", npy("{'descr': '<f4", data), "cannot be understood");
        row("after the end", npy(dictionary("<f4", "(2,)") + "x", data),
            "has extra text after the closing brace");
        row("order", npy(dictionary("<f4", "(2,)", "Maybe"), data), "cannot be understood");
        row("nested deeply", npy(std::string(60000, '{'), data), "cannot be understood");
        row("zero byte",
            npy(std::string("{'descr': '<f4\0', 'fortran_order': False, 'shape': (2,)}", 56), data), "dtype");
    }
    void hostileFilesAreRefused() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, says);
        put(bytes, "bad.npy");
        for (const QString& said :
             {refusal([&] { readNpy(path("bad.npy")); }), refusal([&] { readNpyHeader(path("bad.npy")); })}) {
            QVERIFY2(said.contains(says), qPrintable(said));
            QVERIFY2(said.contains(QLatin1String("bad.npy: ")), qPrintable(said));
            QVERIFY2(said.size() < 300, qPrintable(said));
        }
    }

    void everyTruncationIsRefused() {
        const QByteArray whole = npy(dictionary("<f4", "(2, 3)"), std::string(24, '\1'));
        for (qsizetype length = 0; length < whole.size(); ++length) {
            put(whole.first(length), "short.npy");
            QVERIFY2(!refusal([&] { readNpy(path("short.npy")); }).isEmpty(),
                     qPrintable(QString::number(length)));
        }
    }

    void nonFilesAreRefused() {
        QVERIFY(refusal([&] { readNpy(path("none.npy")); }).contains(QLatin1String("No such file")));
        QVERIFY(
            refusal([&] { readNpy(m_folder.path().toStdString()); }).contains(QLatin1String("not a file")));
        QVERIFY(refusal([] { readNpy("/dev/zero"); }).contains(QLatin1String("not a file")));
    }

    void readingIntoAnotherShapeIsRefused() {
        put(npy(dictionary("<f4", "(2, 3)"), std::string(24, '\1')));
        const Tensor other = Tensor::onHost({DType::f32, Shape{3, 2}});
        QVERIFY(refusal([&] {
                    readNpyInto(path(), other.view());
                }).contains(QStringLiteral(u"it now holds f32 2×3, but held f32 3×2")));
    }

    void projectFilesStayInTheirFolder_data() {
        QTest::addColumn<QString>("name");
        QTest::newRow("up") << QStringLiteral("../outside.npy");
        QTest::newRow("down and up") << QStringLiteral("sub/../../outside.npy");
        QTest::newRow("absolute") << QStringLiteral("/etc/passwd");
        QTest::newRow("absolute, inside")
            << QDir(m_folder.path()).filePath(QStringLiteral("project/inside.npy"));
        QTest::newRow("link to a file") << QStringLiteral("link.npy");
        QTest::newRow("link to a folder") << QStringLiteral("linked/outside.npy");
        QTest::newRow("the folder above") << QStringLiteral("..");
        QTest::newRow("a neighbour whose name starts alike") << QStringLiteral("../project2/outside.npy");
    }
    void projectFilesStayInTheirFolder() {
        QFETCH(QString, name);
        const fs::path root = m_folder.path().toStdString();
        fs::create_directories(root / "project/sub");
        fs::create_directories(root / "project2");
        const Tensor tensor = Tensor::of<float>({2}, {1, 2});
        writeNpy(root / "outside.npy", tensor.view());
        writeNpy(root / "project/inside.npy", tensor.view());
        std::error_code exists;
        fs::create_symlink(root / "outside.npy", root / "project/link.npy", exists);
        fs::create_directory_symlink(root, root / "project/linked", exists);

        const auto files = makeProjectFiles(root / "project");
        const std::string wanted = name.toStdString();
        for (const QString& said :
             {refusal([&] { files->typeOf(wanted); }), refusal([&] { files->read(wanted, tensor.view()); }),
              refusal([&] { files->write(wanted, tensor.view()); })})
            QVERIFY2(said.contains(QLatin1String("is outside the project's folder")), qPrintable(said));
        QVERIFY(files->typeOf("inside.npy") == tensor.type());
        QVERIFY(files->typeOf("sub/../inside.npy") == tensor.type());
    }

    void readsOutsideIfAllowed() {
        const fs::path root = m_folder.path().toStdString();
        fs::create_directories(root / "project");
        writeNpy(root / "outside.npy", Tensor::of<float>({2}, {1, 2}).view());
        const auto files = makeProjectFiles(root / "project", true);
        QVERIFY(files->typeOf("../outside.npy").shape == Shape{2});
        QVERIFY(files->typeOf((root / "outside.npy").string()).shape == Shape{2});
    }

    void typeFollowsTheFile() {
        const fs::path root = m_folder.path().toStdString();
        const auto files = makeProjectFiles(root);
        QCOMPARE(files->fingerprint("changing.npy"), std::string());
        files->write("changing.npy", Tensor::of<float>({2}, {1, 2}).view());
        const std::string before = files->fingerprint("changing.npy");
        QVERIFY(files->typeOf("changing.npy").shape == Shape{2});
        files->write("changing.npy", Tensor::of<float>({3}, {1, 2, 3}).view());
        QVERIFY(files->fingerprint("changing.npy") != before);
        QVERIFY(files->typeOf("changing.npy").shape == Shape{3});
        files->write("new folder/out.npy", Tensor::of<float>({1}, {4}).view());
        QCOMPARE(readNpy(root / "new folder/out.npy").at(0), 4.0);
        QVERIFY(refusal([&] {
                    files->write("graph.twb", Tensor::of<float>({1}, {4}).view());
                }).contains(QLatin1String(".npy")));
        QVERIFY(!refusal([&] { files->typeOf(""); }).isEmpty());
    }
};

TWB_TEST_MAIN(TestNpy)
#include "test_npy.moc"
