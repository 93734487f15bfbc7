#include "core/error.h"
#include "formats/npy_header.h"
#include "formats/npz.h"
#include "formats/safetensors.h"
#include "support/op_runner.h"
#include "support/refusal.h"
#include "support/test_main.h"

#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>

#include <fmt/format.h>

#include <functional>
#include <thread>

using namespace twb;
using namespace twb::test;
namespace fs = std::filesystem;

namespace {

QByteArray number(std::uint64_t value, int bytes) {
    QByteArray out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
}

QByteArray npy(const TensorType& type, const QByteArray& data) {
    return QByteArray::fromStdString(makeNpyHeader(type, "test")) + data;
}

/// One entry of an archive, written byte by byte, valid or not.
struct Entry {
    QByteArray name;
    QByteArray packed;
    std::uint64_t size = 0; ///< the size in the header
    int method = 0;
    int flags = 0;
    std::uint32_t crc = 0;
};

std::uint32_t crcOf(const QByteArray& bytes) {
    std::uint32_t crc = ~0U;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
    }
    return ~crc;
}

Entry stored(const QByteArray& name, const QByteArray& bytes) {
    return {name, bytes, static_cast<std::uint64_t>(bytes.size()), 0, 0, crcOf(bytes)};
}

/// The deflated `bytes`. qCompress adds six bytes before and four after them.
Entry deflated(const QByteArray& name, const QByteArray& bytes) {
    const QByteArray zlib = qCompress(bytes);
    return {name,        zlib.mid(6, zlib.size() - 10), static_cast<std::uint64_t>(bytes.size()), 8, 0,
            crcOf(bytes)};
}

/// Sizes are stored in the ZIP64 extra field.
QByteArray zipOf(const std::vector<Entry>& entries) {
    QByteArray out;
    QByteArray directory;
    for (const Entry& e : entries) {
        const auto packed = static_cast<std::uint64_t>(e.packed.size());
        const QByteArray head = number(45, 2) + number(static_cast<std::uint64_t>(e.flags), 2) +
                                number(static_cast<std::uint64_t>(e.method), 2) + number(0x210000, 4) +
                                number(e.crc, 4) + number(0xffffffff, 4) + number(0xffffffff, 4) +
                                number(static_cast<std::uint64_t>(e.name.size()), 2) + number(20, 2);
        const QByteArray extra = number(1, 2) + number(16, 2) + number(e.size, 8) + number(packed, 8);
        directory += "PK\x01\x02" + number(45, 2) + head + number(0, 2) + number(0, 2) + number(0, 2) +
                     number(0, 4) + number(static_cast<std::uint64_t>(out.size()), 4) + e.name + extra;
        out += "PK\x03\x04" + head + e.name + extra + e.packed;
    }
    const auto count = number(entries.size(), 2);
    return out + directory + "PK\x05\x06" + number(0, 4) + count + count +
           number(static_cast<std::uint64_t>(directory.size()), 4) +
           number(static_cast<std::uint64_t>(out.size()), 4) + number(0, 2);
}

const TensorType kFour{DType::f32, Shape{4}};

/// A .npy header of version 1.0 that makeNpyHeader would not write.
QByteArray headerOf(const QByteArray& dictionary) {
    return QByteArray("\x93NUMPY\x01\x00", 8) + number(static_cast<std::uint64_t>(dictionary.size()), 2) +
           dictionary;
}

} // namespace

class TestNpz : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    fs::path path(const char* name) const { return m_folder.filePath(name).toStdString(); }
    fs::path put(const char* name, const QByteArray& bytes) const {
        QFile file(m_folder.filePath(name));
        if (file.open(QIODevice::WriteOnly)) file.write(bytes);
        return path(name);
    }
    std::shared_ptr<const TensorFiles> files() const {
        return makeProjectFiles(m_folder.path().toStdString());
    }
    static std::vector<double> valuesIn(const TensorArchive& archive, const std::string& name) {
        const Tensor tensor = Tensor::onHost(archive.typeOf(name));
        archive.read(name, tensor.view());
        return valuesOf(tensor);
    }

private Q_SLOTS:
    void readsFilesOfNumPy_data() {
        QTest::addColumn<QString>("file");
        QTest::newRow("np.savez") << "numpy_stored.npz";
        QTest::newRow("np.savez_compressed") << "numpy_deflated.npz";
    }
    void readsFilesOfNumPy() {
        QFETCH(QString, file);
        const Npz npz(fs::path(TWB_SOURCE_DIR) / "tests/data" / file.toStdString());
        QCOMPARE(npz.names(), (std::vector<std::string>{"big", "columns", "flags", "größe", "layer/weight",
                                                        "none", "objects", "rows", "scalar", "zeros"}));
        QVERIFY(npz.typeOf("rows") == (TensorType{DType::f32, Shape{2, 3}}));
        QVERIFY(npz.typeOf("none") == (TensorType{DType::i64, Shape{0, 4}}));
        QVERIFY(npz.typeOf("scalar") == (TensorType{DType::f16, Shape{}}));
        QCOMPARE(valuesIn(npz, "rows"), (std::vector<double>{0, 1, 2, 3, 4, 5}));
        QCOMPARE(valuesIn(npz, "columns"), (std::vector<double>{0, 1, 2, 3, 4, 5}));
        QCOMPARE(valuesIn(npz, "big"), (std::vector<double>{0, 1, 2, 3, 4}));
        QCOMPARE(valuesIn(npz, "flags"), (std::vector<double>{1, 0, 1}));
        QCOMPARE(valuesIn(npz, "scalar"), std::vector<double>{1.5});
        QCOMPARE(valuesIn(npz, "none"), std::vector<double>{});
        QCOMPARE(valuesIn(npz, "zeros"), std::vector<double>(64 * 64, 0));
        QCOMPARE(valuesIn(npz, "layer/weight"), (std::vector<double>{-2, -1, 0, 1}));
        QCOMPARE(valuesIn(npz, "größe"), std::vector<double>{7});
        QVERIFY(
            refusal([&] { (void)npz.typeOf("objects"); }).contains("npz#objects: it holds pickled objects"));
    }

    void numPyReadsWrittenFiles() {
        // Entries written by NumPy remain unchanged, compressed or not.
        for (const char* file : {"numpy_stored.npz", "numpy_deflated.npz"}) {
            fs::copy_file(fs::path(TWB_SOURCE_DIR) / "tests/data" / file, path(file),
                          fs::copy_options::overwrite_existing);
            files()->write(std::string(file) + "#rows", Tensor::of<float>({2}, {8, 9}).view());
            files()->write(std::string(file) + "#new", Tensor::of<std::int64_t>({1, 2}, {3, -4}).view());
            const Npz npz(path(file));
            QCOMPARE(npz.names().size(), std::size_t(11));
            QCOMPARE(valuesIn(npz, "rows"), (std::vector<double>{8, 9}));
            QCOMPARE(valuesIn(npz, "columns"), (std::vector<double>{0, 1, 2, 3, 4, 5}));
        }
        const QString python = QStandardPaths::findExecutable("python3", {"/usr/bin"});
        const auto runs = [&](const QString& code) {
            QProcess process;
            process.setWorkingDirectory(m_folder.path());
            process.start(python, {"-c", code});
            const bool ended = process.waitForFinished(60000);
            const QByteArray said = process.readAllStandardError();
            if (!said.isEmpty()) qInfo("%s", said.constData());
            return ended && process.exitCode() == 0;
        };
        if (python.isEmpty() || !runs("import importlib.util, sys\n"
                                      "sys.exit(importlib.util.find_spec('numpy') is None)"))
            QSKIP("Debian's python3-numpy is not installed");
        QVERIFY(runs("import numpy as np\n"
                     "for name in 'numpy_stored.npz', 'numpy_deflated.npz':\n"
                     "    z = np.load(name)\n"
                     "    assert len(z.files) == 11 and z.zip.testzip() is None\n"
                     "    assert z['rows'].tolist() == [8, 9] and z['rows'].dtype == np.float32\n"
                     "    assert z['new'].tolist() == [[3, -4]] and z['new'].dtype == np.int64\n"
                     "    assert z['columns'].tolist() == [[0, 1, 2], [3, 4, 5]]\n"
                     "    assert z['größe'][0] == 7 and not z['zeros'].any()\n"));
    }

    void everyDTypeComesBack() {
        Dice dice(3);
        for (const DType dtype : kAllDTypes) {
            const std::string where = fmt::format("all.npz#{}", name(dtype));
            const Tensor tensor = dice.tensor(dtype, Shape{3, 5}, 0, 100);
            if (dtype == DType::bf16 || isNarrow(dtype)) {
                QVERIFY(refusal([&] { files()->write(where, tensor.view()); }).contains("cast the tensor"));
                continue;
            }
            files()->write(where, tensor.view());
            const Tensor back = Tensor::onHost(files()->typeOf(where));
            files()->read(where, back.view());
            QVERIFY(back.type() == tensor.type());
            QCOMPARE(valuesOf(back), valuesOf(tensor));
        }
        QCOMPARE(Npz(path("all.npz")).names().size(), kWideDTypes.size() - 1);
        files()->write("empty.npz#none", dice.tensor(DType::f32, Shape{0, 2}, 0, 1).view());
        QVERIFY(files()->typeOf("empty.npz").shape == (Shape{0, 2}));
    }

    void aLoneTensorNeedsNoName() {
        const Tensor tensor = Tensor::of<float>({2}, {1, 2});
        files()->write("lone.npz#a", tensor.view());
        QVERIFY(files()->typeOf("lone.npz") == tensor.type());
        const Tensor back = Tensor::onHost(tensor.type());
        files()->read("lone.npz", back.view());
        QCOMPARE(valuesOf(back), valuesOf(tensor));
        const auto all = files();
        all->write("lone.npz#b", tensor.view());
        QVERIFY(refusal([&] {
                    all->typeOf("lone.npz");
                }).endsWith("lone.npz: it has 2 tensors, a, b; name one of them: lone.npz#a"));
        QVERIFY(refusal([&] { all->typeOf("lone.npz#c"); }).endsWith("it has no tensor \"c\"; it has a, b"));
        QVERIFY(refusal([&] {
                    all->write("lone.npz", tensor.view());
                }).contains("name the tensor to write: lone.npz#"));
        QVERIFY(refusal([&] { all->typeOf("../lone.npz#a"); }).contains("is outside the project's folder"));
        QVERIFY(refusal([&] { all->write("../lone.npz#a", tensor.view()); }).contains("is outside"));
        for (const char* name : {"lone.npz#/etc/x", "lone.npz#../x", "lone.npz#a/../../x"})
            QVERIFY(refusal([&] { all->write(name, tensor.view()); }).contains("is not a valid tensor name"));
    }

    void concurrentWritersLoseNothing_data() {
        QTest::addColumn<QString>("file");
        QTest::newRow("npz") << "many.npz";
        QTest::newRow("safetensors") << "many.safetensors";
    }
    void concurrentWritersLoseNothing() {
        QFETCH(QString, file);
        const std::string base = file.toStdString();
        const auto all = files();
        const auto add = [&](int first) {
            for (int i = first; i < first + 8; ++i)
                all->write(fmt::format("{}#t{}", base, i),
                           Tensor::of<float>({1}, {static_cast<float>(i)}).view());
        };
        std::thread other(add, 8);
        add(0);
        other.join();
        const auto archive = openTensorArchive(path(base.c_str()));
        QCOMPARE(archive->names().size(), std::size_t(16));
        for (int i = 0; i < 16; ++i)
            QCOMPARE(valuesIn(*archive, fmt::format("t{}", i)), std::vector<double>{double(i)});
        all->write(base + "#t3", Tensor::of<float>({2}, {1, 2}).view());
        QCOMPARE(openTensorArchive(path(base.c_str()))->names().size(), std::size_t(16));
        // No temporary file is left, and a file that is not an archive remains unchanged.
        for (const auto& entry : fs::directory_iterator(m_folder.path().toStdString()))
            QVERIFY(entry.path().extension() != ".tmp");
        put(base.c_str(), "not an archive");
        QVERIFY(!refusal([&] { all->write(base + "#x", Tensor::of<float>({1}, {1}).view()); }).isEmpty());
        QFile left(m_folder.filePath(file));
        QVERIFY(left.open(QIODevice::ReadOnly));
        QCOMPARE(left.readAll(), QByteArray("not an archive"));
    }

    void safetensorsKeepTheirMetadata() {
        const QByteArray header =
            R"({"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
        put("meta.safetensors", number(static_cast<std::uint64_t>(header.size()), 8) + header + "\x05\x06");
        files()->write("meta.safetensors#b", Tensor::of<float>({1}, {2}).view());
        const Safetensors file(path("meta.safetensors"));
        QCOMPARE(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
        QCOMPARE(valuesIn(file, "a"), (std::vector<double>{5, 6}));
        QCOMPARE(valuesIn(file, "b"), std::vector<double>{2});
        QVERIFY(refusal([&] {
                    files()->write("meta.safetensors#__metadata__", Tensor::of<float>({1}, {2}).view());
                }).contains("is reserved by the format"));
    }

    void hostileFilesAreRefused_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const QByteArray& bytes, const char* says) {
            QTest::newRow(name) << bytes << QString::fromUtf8(says);
        };
        const QByteArray sound = npy(kFour, QByteArray(16, '\1'));
        row("sound", zipOf({stored("a.npy", sound)}), "");
        row("sound, deflated", zipOf({deflated("a.npy", sound)}), "");
        row("names that lead out are but names",
            zipOf({stored("../../a.npy", sound), stored("/a.npy", sound), stored("a.npy", sound)}), "");
        row("empty", {}, "not a .npz file (a zip archive): ");
        row("no zip", sound, "not a .npz file (a zip archive): ");
        row("truncated", zipOf({stored("a.npy", sound)}).chopped(30), "not a .npz file");
        row("no start", zipOf({stored("a.npy", sound)}).mid(100), "");
        row("no tensor", zipOf({stored("a.txt", sound)}), "it has no tensor \"a\"; it has none");
        row("twice", zipOf({stored("a.npy", sound), stored("a.npy", sound)}),
            "two of its entries are named \"a\"");
        Entry entry = stored("a.npy", sound);
        entry.flags = 1;
        row("encrypted", zipOf({entry}), "npz#a: the archive is encrypted; save it without a password");
        entry = stored("a.npy", sound);
        entry.method = 12;
        row("bzip2", zipOf({entry}), "npz#a: its compression method 12 ");
        entry = deflated(
            "a.npy", headerOf("{'descr': '|u1', 'fortran_order': False, 'shape': (1152921504606846976,)}"));
        entry.size = (std::uint64_t(1) << 60) + entry.size;
        row("2^60 bytes", zipOf({entry}), "npz#a: its declared size of 1152921504606847");
        entry = stored("a.npy", sound);
        entry.size = std::uint64_t(1) << 40;
        row("2^40 bytes, stored", zipOf({entry}), "npz#a: its declared size of 1099511627776 bytes");
        row("promises more", zipOf({stored("a.npy", npy(kFour, QByteArray(15, '\1')))}),
            "npz#a: the file is truncated: its header declares 16 bytes of data (f32 4), but the file has "
            "15");
        row("has more data", zipOf({deflated("a.npy", sound + "x")}), "npz#a: its header declares 144 bytes");
        entry = deflated("a.npy", sound + QByteArray(100000, '\0'));
        entry.size = static_cast<std::uint64_t>(sound.size());
        row("has more data than it claims", zipOf({entry}),
            "npz#a: it has more data than its header declares");
        entry = deflated("a.npy", sound.chopped(8));
        entry.size = static_cast<std::uint64_t>(sound.size());
        row("holds less than it claims", zipOf({entry}),
            "npz#a: the file ends before the data that its header declares");
        entry = stored("a.npy", sound);
        ++entry.crc;
        row("checksum", zipOf({entry}), "\"a\" cannot be unpacked: CRC error");
        entry = deflated("a.npy", sound);
        entry.packed.fill('\xff');
        row("not deflate", zipOf({entry}), "\"a\" cannot be unpacked: ");
        row("no .npy", zipOf({stored("a.npy", "text")}), "npz#a: not a .npy file");
        row("pickled",
            zipOf({stored("a.npy", headerOf("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"))}),
            "npz#a: it holds pickled objects, which are refused because they can run code");
    }
    void hostileFilesAreRefused() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, says);
        put("bad.npz", bytes);
        const auto all = files();
        const Tensor out = Tensor::onHost(kFour);
        const QString said = refusal([&] {
            if (all->typeOf("bad.npz#a") == kFour) all->read("bad.npz#a", out.view());
        });
        if (says.isEmpty() && QByteArray(QTest::currentDataTag()) != "no start") QCOMPARE(said, QString());
        QVERIFY2(said.contains(says), qPrintable(said));
        if (!said.isEmpty()) QVERIFY2(said.contains("bad.npz"), qPrintable(said));
    }
};

TWB_TEST_MAIN(TestNpz)
#include "test_npz.moc"
