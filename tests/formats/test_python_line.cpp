#include "formats/pytorch/python_line.h"
#include "support/test_main.h"

using namespace twb;

class TestPythonLine : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void assignments_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("target"); // "owner|name", or nothing
        QTest::addColumn<bool>("isWhole");
        QTest::newRow("variable") << "mean = x.mean(0)"
                                  << "|mean" << true;
        QTest::newRow("attribute") << "    self.scale = torch.ones(8)"
                                   << "self|scale" << true;
        QTest::newRow("inner attribute") << "self.net.scale=1"
                                         << "self.net|scale" << true;
        QTest::newRow("goes on") << "a = torch.ones("
                                 << "|a" << false;
        QTest::newRow("backslash") << "a = b \\"
                                   << "|a" << false;
        QTest::newRow("tuple") << "a = b, c"
                               << "|a" << false;
        QTest::newRow("two statements") << "a = b; c = d"
                                        << "|a" << false;
        QTest::newRow("chain") << "a = b = c"
                               << "|a" << false;
        QTest::newRow("open string") << "a = \"b"
                                     << "|a" << false;
        QTest::newRow("no value") << "a = "
                                  << "|a" << false;
        QTest::newRow("comparison") << "a == b"
                                    << "" << false;
        QTest::newRow("several targets") << "a, b = c"
                                         << "" << false;
        QTest::newRow("augmented") << "a += b"
                                   << "" << false;
        QTest::newRow("call") << "f(a=b)"
                              << "" << false;
        QTest::newRow("empty") << ""
                               << "" << false;
    }

    void assignments() {
        QFETCH(QString, line);
        QFETCH(QString, target);
        QFETCH(bool, isWhole);
        const std::string code = line.toStdString();
        const auto found = python::assignmentOf(code);
        QCOMPARE(found.has_value(), !target.isEmpty());
        if (!found) return;
        QCOMPARE(std::string(found->owner) + "|" + std::string(found->name), target.toStdString());
        QCOMPARE(found->isWhole, isWhole);
    }

    void primaries() {
        for (const char* yes : {"x", "x.mean(0)", "torch.ones(2, 3)[0].view(-1)"})
            QVERIFY2(python::isPrimary(yes), yes);
        for (const char* no : {"", "a + b", "a.sum() / 2", "-a", "2", "[1, 2", "not a"})
            QVERIFY2(!python::isPrimary(no), no);
    }

    void uses_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<int>("at");
        QTest::newRow("once") << "y = x - mean" << 8;
        QTest::newRow("argument") << "f(x, weight=mean)" << 12;
        QTest::newRow("twice") << "y = mean - mean" << -1;
        QTest::newRow("assigned") << "mean = x" << -1;
        QTest::newRow("attribute") << "y = x.mean(0)" << -1;
        QTest::newRow("part of a name") << "y = meaning" << -1;
        QTest::newRow("in a string") << "print('mean')" << -1;
        QTest::newRow("compared") << "y = mean == x" << 4;
    }

    void uses() {
        QFETCH(QString, line);
        QFETCH(int, at);
        QCOMPARE(static_cast<int>(python::onlyUse(line.toStdString(), "mean")), at);
    }

    void aCommentIsNotCode() {
        QCOMPARE(python::codeOf("a = 1  # one").value(), "a = 1");
        QCOMPARE(python::codeOf("a = \"x\" # y").value(), "a = \"x\"");
        QVERIFY(!python::codeOf("a = \"#\"").has_value());
        QCOMPARE(python::closing("f(a[1], (2)) + (3)", 1), std::size_t{11});
        QCOMPARE(python::closing("f(a", 1), std::string_view::npos);
    }
};

TWB_TEST_MAIN(TestPythonLine)
#include "test_python_line.moc"
