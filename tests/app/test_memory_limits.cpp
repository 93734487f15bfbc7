#include "app/program.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true; // a sanitizer reserves terabytes of address space
#else
constexpr bool kSanitized = false;
#endif

/// Runs twb with this limit on its address space. A program that hangs is killed; its exit code is -1.
Ended runWithin(const Program& twb, int limitKiB, const QStringList& arguments) {
    QProcess process;
    process.setWorkingDirectory(twb.file(QString()));
    process.start("bash", QStringList{"-c", QStringLiteral("ulimit -v %1; exec \"$0\" \"$@\"").arg(limitKiB),
                                      Program::path()} +
                              arguments);
    return Program::wait(process);
}

} // namespace

/// OpenBLAS reserves 128 MB of address space for each thread when it is loaded, and retries forever if it
/// cannot.
class TestMemoryLimits : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void commandsWithoutProductsNeedLittleMemory_data() {
        QTest::addColumn<QStringList>("arguments");
        for (const char* line : {"--version", "ops", "check a.twb", "run a.twb --quiet"})
            QTest::newRow(line) << QString(line).split(' ');
    }
    void commandsWithoutProductsNeedLittleMemory() {
        if (kSanitized) QSKIP("a sanitizer needs the whole address space");
        QFETCH(QStringList, arguments);
        const Program twb;
        twb.save("a.twb", smallGraph());
        const Ended ended = runWithin(twb, 300'000, arguments);
        QVERIFY2(ended.exit == 0, qPrintable(QString::number(ended.exit) + ended.err));
    }

    /// At each limit a run ends, with its result or with an error message.
    void productsWithoutMemoryEndWithAMessage_data() {
        QTest::addColumn<int>("limitKiB");
        QTest::addColumn<QString>("dtype");
        for (const char* dtype : {"f64", "f32"}) // by OpenBLAS and by oneDNN
            for (const int limit :
                 {200'000, 300'000, 400'000, 500'000, 600'000, 700'000, 800'000, 1'000'000, 2'000'000})
                QTest::addRow("%s %d KiB", dtype, limit) << limit << QString(dtype);
    }
    void productsWithoutMemoryEndWithAMessage() {
        if (kSanitized) QSKIP("a sanitizer needs the whole address space");
        QFETCH(int, limitKiB);
        QFETCH(QString, dtype);
        const Program twb;
        GraphMaker maker;
        const NodeId a = maker.node("RandomNormal", "a", "cpu",
                                    {{"shape", Integers{300, 300}}, {"dtype", dtype.toStdString()}});
        NodeId last = a;
        for (int i = 0; i < 4; ++i)
            last = maker.node("MatMul", "m" + std::to_string(i), "cpu", {}, {a, last});
        maker.node("Probe", "seen", "cpu", {}, {last});
        twb.save("a.twb", maker);
        const Ended ended = runWithin(twb, limitKiB, {"run", "a.twb", "--quiet"});
        QVERIFY2(ended.exit == 0 || ended.exit == 1, qPrintable(QString::number(ended.exit) + ended.err));
        if (ended.exit == 1) QVERIFY2(ended.err.startsWith("twb: "), qPrintable(ended.err));
        if (limitKiB == 300'000 && dtype == "f64")
            QVERIFY2(ended.err.contains("not enough memory for a matrix product"), qPrintable(ended.err));
        if (limitKiB == 2'000'000) QCOMPARE(ended.exit, 0);
    }
};

TWB_TEST_MAIN(TestMemoryLimits)
#include "test_memory_limits.moc"
