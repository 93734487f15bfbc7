#include "graph/source_line.h"
#include "support/test_main.h"

using namespace twb;

class TestSourceLine : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void textReadsBack_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("line");
        QTest::addColumn<QString>("function");
        QTest::newRow("function") << "net.py:11 in forward"
                                  << "net.py" << 11 << "forward";
        QTest::newRow("module") << "/a/b.py:1 in <module>"
                                << "/a/b.py" << 1 << "<module>";
        QTest::newRow("no function") << "net.py:999999999"
                                     << "net.py" << 999'999'999 << "";
        QTest::newRow("folder") << "/made in x/net.py:3"
                                << "/made in x/net.py" << 3 << "";
        QTest::newRow("colon") << "C:/net.py:3 in f"
                               << "C:/net.py" << 3 << "f";
        QTest::newRow("notebook") << "<ipython-input-3>:7 in <module>"
                                  << "<ipython-input-3>" << 7 << "<module>";
    }
    void textReadsBack() {
        QFETCH(const QString, text);
        QFETCH(const QString, file);
        QFETCH(const int, line);
        QFETCH(const QString, function);
        const auto source = parseSourceLine(text.toStdString());
        QVERIFY(source);
        QCOMPARE(QString::fromStdString(source->file), file);
        QCOMPARE(source->line, line);
        QCOMPARE(QString::fromStdString(source->function), function);
        QCOMPARE(QString::fromStdString(toString(*source)), text);
    }

    void otherTextsAreRefused() {
        for (const char* text : {"", "net.py", ":3", "net.py:", "net.py:0", "net.py:03", "net.py:-1",
                                 "net.py:3x", "net.py:1234567890", "net.py in f", "net.py:3 in "})
            QVERIFY2(!parseSourceLine(text), text);
    }
};

TWB_TEST_MAIN(TestSourceLine)
#include "test_source_line.moc"
