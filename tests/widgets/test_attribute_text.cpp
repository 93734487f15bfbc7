#include "ops/op_table.h"
#include "support/test_main.h"
#include "widgets/inspector/attribute_text.h"

using namespace twb;

class TestAttributeText : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsShapes_data();
    void readsShapes();
    void refusesWithAReason_data();
    void refusesWithAReason();
    void textReadsBack();
    void largeIntegersKeepTheirDigits();
};

void TestAttributeText::readsShapes_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QList<qint64>>("sizes");
    QTest::newRow("brackets") << QStringLiteral("[360, 64]") << QList<qint64>{360, 64};
    QTest::newRow("commas") << QStringLiteral("360,64") << QList<qint64>{360, 64};
    QTest::newRow("blanks") << QStringLiteral(" 360 64 ") << QList<qint64>{360, 64};
    QTest::newRow("times") << QString::fromUtf8("360×64") << QList<qint64>{360, 64};
    QTest::newRow("x") << QStringLiteral("2x3x4") << QList<qint64>{2, 3, 4};
    QTest::newRow("scalar") << QStringLiteral("[]") << QList<qint64>{};
}

void TestAttributeText::readsShapes() {
    QFETCH(QString, text);
    QFETCH(QList<qint64>, sizes);
    const AttributeSpec& spec = *findOp("Zeros")->attribute("shape");
    const TypedValue typed = readValueFor(*findOp("Zeros"), spec, text);
    QVERIFY2(typed.value, qPrintable(typed.refusal));
    const std::vector<std::int64_t> expected(sizes.begin(), sizes.end());
    QVERIFY(std::get<std::vector<std::int64_t>>(*typed.value) == expected);
}

void TestAttributeText::refusesWithAReason_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<QString>("attribute");
    QTest::addColumn<QString>("text");
    QTest::newRow("word as a number") << "Gemm"
                                      << "alpha"
                                      << "much";
    QTest::newRow("fraction as a size") << "Zeros"
                                        << "shape"
                                        << "2.5, 3";
    QTest::newRow("negative size") << "Zeros"
                                   << "shape"
                                   << "[-2, 3]";
    QTest::newRow("below the range") << "RandomNormal"
                                     << "scale"
                                     << "-1";
    QTest::newRow("fraction as an axis") << "Softmax"
                                         << "axis"
                                         << "1.5";
    QTest::newRow("empty file") << "File"
                                << "path"
                                << "  ";
}

void TestAttributeText::refusesWithAReason() {
    QFETCH(QString, op);
    QFETCH(QString, attribute);
    QFETCH(QString, text);
    const Op* entry = findOp(op.toStdString());
    QVERIFY(entry);
    const AttributeSpec* spec = entry->attribute(attribute.toStdString());
    QVERIFY(spec);
    const TypedValue typed = readValueFor(*entry, *spec, text);
    QVERIFY(!typed.value);
    QVERIFY(typed.refusal.size() > 10);
}

/// A double holds every integer up to 2^53 only.
void TestAttributeText::largeIntegersKeepTheirDigits() {
    const auto typed = [](const char* op, const char* attribute, const char* text) {
        return *readValueFor(*findOp(op), *findOp(op)->attribute(attribute), QString::fromLatin1(text)).value;
    };
    const std::int64_t large = 9'007'199'254'740'993;
    QVERIFY(typed("Constant", "value", "9007199254740993") == AttributeValue(large));
    QVERIFY(typed("Constant", "value", "[9007199254740993, -1]") ==
            AttributeValue(std::vector<std::int64_t>{large, -1}));
    QVERIFY(typed("Full", "value", "-9007199254740993") == AttributeValue(-large));
    QVERIFY(typed("Arange", "start", "9007199254740993") == AttributeValue(large));
    // All others stay numbers.
    QVERIFY(typed("Constant", "value", "3") == AttributeValue(3.0));
    QVERIFY(typed("Constant", "value", "9007199254740993, 0.5") ==
            AttributeValue(std::vector<double>{double(large), 0.5}));
    QVERIFY(typed("Constant", "value", "1e300") == AttributeValue(1e300));
}

void TestAttributeText::textReadsBack() {
    // Every default of the op table survives a trip through its editor's text.
    int checked = 0;
    for (const Op& op : opTable())
        for (const AttributeSpec& spec : op.attributes) {
            if (!spec.defaultValue) continue;
            const TypedValue typed = readValueFor(op, spec, textOf(spec.defaultValue));
            QVERIFY2(typed.value, qPrintable(QString::fromStdString(op.name + "." + spec.name)));
            Attributes a{{spec.name, *spec.defaultValue}};
            Attributes b{{spec.name, *typed.value}};
            Op alone;
            alone.attributes = {spec};
            QCOMPARE(textOf(*completeAttributes(alone, a).find(spec.name)),
                     textOf(*completeAttributes(alone, b).find(spec.name)));
            ++checked;
        }
    QVERIFY(checked > 20);
}

TWB_TEST_MAIN(TestAttributeText)
#include "test_attribute_text.moc"
