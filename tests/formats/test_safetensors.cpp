#include "formats/npy.h"
#include "formats/safetensors.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QFile>
#include <QTemporaryDir>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

using namespace twb;
using namespace twb::test;

namespace {

QByteArray fileOf(const QByteArray& header, const QByteArray& data) {
    QByteArray bytes(8, '\0');
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>((header.size() >> (8 * i)) & 255);
    return bytes + header + data;
}

} // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyDTypeComesBack();
    void packedTensorsAreBytes();
    void aGraphNamesOneTensor();
    void aFileThatShrinksIsAnError();
    void refusesInvalidFiles_data();
    void refusesInvalidFiles();

private:
    QTemporaryDir m_folder;
    std::filesystem::path path(const char* name) const { return m_folder.filePath(name).toStdString(); }
};

void TestSafetensors::everyDTypeComesBack() {
    Dice dice(1);
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (DType dtype : kAllDTypes)
        tensors.emplace_back(std::string(name(dtype)), dice.tensor(dtype, Shape{3, 5}, 0, 100));
    tensors.emplace_back("scalar", dice.tensor(DType::f32, Shape{}, 0, 1));
    tensors.emplace_back("none \"quoted\"", dice.tensor(DType::i64, Shape{0, 4}, 0, 1));
    std::vector<std::pair<std::string, TensorView>> views;
    for (const auto& [name, tensor] : tensors) views.emplace_back(name, tensor.view());
    writeSafetensors(path("all.safetensors"), views);
    const Safetensors file(path("all.safetensors"));
    QCOMPARE(file.types().size(), tensors.size());
    for (const auto& [name, tensor] : tensors) {
        QVERIFY2(file.typeOf(name) == tensor.type(), name.c_str());
        const Tensor back = Tensor::onHost(tensor.type());
        file.read(name, back.view());
        QCOMPARE(valuesOf(back), valuesOf(tensor));
    }
}

/// Integers of less than 8 bits, which the format does not have, and tensors that end within a byte.
void TestSafetensors::packedTensorsAreBytes() {
    const Tensor codes = tensorOf(DType::i4, Shape{3, 3}, {-8, 7, 0, 1, 2, 3, -1, -2, -3});
    const Tensor even = tensorOf(DType::f4e2m1, Shape{2}, {6, -0.5});
    const Tensor odd = tensorOf(DType::f4e2m1, Shape{1}, {1.5});
    writeSafetensors(path("packed.safetensors"), {{"w", codes.view()}, {"e", even.view()}});
    addToSafetensors(path("packed.safetensors"), "o", odd.view());
    std::ifstream in(path("packed.safetensors"), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    // As other programs see them.
    QVERIFY(bytes.find(R"("w":{"dtype":"U8","shape":[5],)") != std::string::npos);
    QVERIFY(bytes.find(R"("e":{"dtype":"F4","shape":[2],)") != std::string::npos);
    QVERIFY(bytes.find(R"("packed:w":"i4[3,3]")") != std::string::npos);
    const Safetensors file(path("packed.safetensors"));
    QVERIFY(file.metadata().empty());
    for (const auto& [name, tensor] : {std::pair("w", codes), std::pair("e", even), std::pair("o", odd)}) {
        QVERIFY(file.typeOf(name) == tensor.type());
        const Tensor back = Tensor::onHost(tensor.type());
        file.read(name, back.view());
        QCOMPARE(valuesOf(back), valuesOf(tensor));
    }
}

void TestSafetensors::aGraphNamesOneTensor() {
    const Tensor tensor = tensorOf(DType::f32, Shape{2}, {1.5, -2});
    writeSafetensors(path("w.safetensors"), {{"a.b#c", tensor.view()}});
    const auto files = makeProjectFiles(m_folder.path().toStdString());
    QVERIFY(files->typeOf("w.safetensors#a.b#c") == tensor.type());
    const Tensor back = Tensor::onHost(tensor.type());
    files->read("w.safetensors#a.b#c", back.view());
    QCOMPARE(valuesOf(back), valuesOf(tensor));
    QVERIFY(!files->fingerprint("w.safetensors#a.b#c").empty());
    QCOMPARE(inferError([&] {
                 try {
                     files->typeOf("w.safetensors#d");
                 } catch (const Error& e) {
                     throw InferError("file", -1, e.what());
                 }
             }).section(QStringLiteral(": "), 2),
             "it has no tensor \"d\"; it has a.b#c");
    QVERIFY_EXCEPTION_THROWN(files->typeOf("../w.safetensors#a.b#c"), Error);
}

void TestSafetensors::aFileThatShrinksIsAnError() {
    const Tensor tensor = Tensor::onHost({DType::u8, Shape{8 << 20}});
    std::fill_n(static_cast<char*>(tensor.data()), tensor.byteCount(), char(1));
    const auto name = path("shrinks.safetensors");
    writeSafetensors(name, {{"a", tensor.view()}});
    const auto size = static_cast<off_t>(std::filesystem::file_size(name));
    const Safetensors file(name);
    const auto isRead = [&] {
        try {
            file.read("a", tensor.view());
            return true;
        } catch (const Error& e) {
            if (!QString(e.what()).endsWith("shrinks.safetensors: the file was truncated while it was read"))
                throw;
            return false;
        }
    };
    QVERIFY(isRead());
    for (const off_t left :
         {size - 1, size / 2, off_t(1), off_t(0)}) { // within the last page, and without any page
        QCOMPARE(::truncate(name.c_str(), left), 0);
        QVERIFY(!isRead());
    }
    QCOMPARE(::truncate(name.c_str(), size), 0);
    QVERIFY(isRead());

    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done) {
            if (::truncate(name.c_str(), 4096) != 0 || ::truncate(name.c_str(), size) != 0) return;
            std::this_thread::yield();
        }
    });
    int shortened = 0;
    for (int i = 0; i < 200; ++i) shortened += !isRead();
    done = true;
    other.join();
    qInfo("%d of 200 reads met a file that had become shorter", shortened);
}

void TestSafetensors::refusesInvalidFiles_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("problem");
    const auto row = [](const char* name, const QByteArray& bytes, const char* problem) {
        QTest::newRow(name) << bytes << QString(problem);
    };
    row("empty", {}, "shorter than the length of its header");
    row("short", QByteArray(7, 'x'), "shorter than the length of its header");
    row("header beyond the file", QByteArray("\xff\xff\xff\xff\xff\xff\xff\x7f{}"), "its header would be");
    row("no JSON", fileOf("{\"a\"", ""), "is not a JSON object");
    row("a list", fileOf("[]", ""), "is not a JSON object");
    row("no dtype", fileOf(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "1234"), "has no dtype");
    row("dtype", fileOf(R"({"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})", "123"),
        "has dtype F6_E2M3");
    row("packed size",
        fileOf(R"({"__metadata__":{"packed:a":"i4[3]"},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
               "123"),
        "the metadata gives it the type i4[3], but it is u8 3");
    row("packed type",
        fileOf(R"({"__metadata__":{"packed:a":"i5[3]"},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
               "123"),
        "the type \"i5[3]\", which is not a type");
    row("packed name", fileOf(R"({"__metadata__":{"packed:b":"i4[3]"}})", ""), "for no tensor of the file");
    row("packed overflow",
        fileOf(R"({"__metadata__":{"packed:a":"i4[4611686018427387904,8]"},)"
               R"("a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
               "123"),
        "more elements than 64 bits can count");
    row("negative", fileOf(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
        "\"shape\" is not a list of whole numbers");
    row("text", fileOf(R"({"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", "1234"),
        "\"shape\" is not a list of whole numbers");
    row("overflow",
        fileOf(R"({"a":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,4]}})", "1234"),
        "tensor \"a\"");
    const auto shaped = [](const QByteArray& shape) {
        return fileOf(R"({"a":{"dtype":"F64","shape":)" + shape + R"(,"data_offsets":[0,0]}})", "");
    };
    row("empty, a side beyond 64 bits", shaped("[0,18446744073709551616]"), "is not a list of whole numbers");
    row("empty, a side of 2^64-1", shaped("[0,18446744073709551615]"), "overflows 63 bits");
    row("empty, a side of 2^63", shaped("[0,9223372036854775808]"), "overflows 63 bits");
    row("empty, sides that overflow", shaped("[0,4611686018427387904,4611686018427387904]"),
        "more elements than 64 bits can count");
    row("empty, bytes that overflow", shaped("[0,4611686018427387904]"), "more bytes than 64 bits can count");
    row("many sides", shaped('[' + QByteArray("1,").repeated(64) + "1]"), "more than 64 entries");
    row("deep", fileOf(R"({"a":{"x":)" + QByteArray(1000, '['), ""), "nested more than");
    row("there twice",
        fileOf(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
               R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
               ""),
        "tensor \"a\": the header lists it twice");
    row("metadata", fileOf(R"({"__metadata__":{"a":{}}})", ""), "metadata is not a string");
    row("beyond the end", fileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234"),
        "needs 8 bytes, but its data_offsets are [0,8] in 4 bytes of data");
    row("backwards", fileOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"),
        "but its data_offsets are [");
    row("too few bytes", fileOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}})", "1234"),
        "but its data_offsets are [");
    row("shared",
        fileOf(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
               R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
               "1234"),
        "two of its tensors overlap");
}

void TestSafetensors::refusesInvalidFiles() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, problem);
    QFile file(m_folder.filePath("bad.safetensors"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
    file.close();
    try {
        const Safetensors read(path("bad.safetensors"));
        QFAIL("it was read");
    } catch (const Error& e) {
        QCOMPARE(e.code(), ErrorCode::badFile);
        QVERIFY2(QString(e.what()).contains("bad.safetensors: "), e.what());
        QVERIFY2(QString(e.what()).contains(problem), e.what());
    }
}

TWB_TEST_MAIN(TestSafetensors)
#include "test_safetensors.moc"
