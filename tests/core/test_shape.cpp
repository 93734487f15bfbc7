#include "core/error.h"
#include "core/shape.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;

class TestShape : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void countsElementsAndBytes() {
        QCOMPARE(Shape{}.elementCount(), std::int64_t{1});
        QCOMPARE((Shape{2, 3}.elementCount()), std::int64_t{6});
        QCOMPARE((Shape{2, 3}.byteCount(DType::f64)), std::int64_t{48});
        QCOMPARE((Shape{4, 0, 3}.elementCount()), std::int64_t{0});
        QCOMPARE((Shape{4, 0, 3}.byteCount(DType::f64)), std::int64_t{0});
        QCOMPARE((Shape{std::int64_t{1} << 62}.elementCount()), std::int64_t{1} << 62);
    }

    /// An empty tensor has strides that follow from its sizes, too.
    void sizesThatOverflowAreErrors_data() {
        QTest::addColumn<QList<qint64>>("sizes");
        constexpr qint64 kHuge = qint64{1} << 62;
        QTest::newRow("two huge sides") << QList<qint64>{kHuge, kHuge};
        QTest::newRow("empty, two huge sides") << QList<qint64>{0, kHuge, kHuge};
        QTest::newRow("empty, between huge sides") << QList<qint64>{kHuge, 0, kHuge};
        QTest::newRow("negative") << QList<qint64>{-1};
        QTest::newRow("empty, negative") << QList<qint64>{0, -1};
        QTest::newRow("empty, 2^63 as it wraps") << QList<qint64>{0, std::numeric_limits<qint64>::min()};
    }
    void sizesThatOverflowAreErrors() {
        QFETCH(QList<qint64>, sizes);
        const Shape shape(std::vector<std::int64_t>(sizes.begin(), sizes.end()));
        QVERIFY_EXCEPTION_THROWN((void)shape.elementCount(), Error);
        QVERIFY_EXCEPTION_THROWN((void)shape.byteCount(DType::u8), Error);
    }

    void bytesThatOverflowAreErrors() {
        const Shape shape{0, std::int64_t{1} << 62};
        QCOMPARE(shape.byteCount(DType::u8), std::int64_t{0});
        QVERIFY_EXCEPTION_THROWN((void)shape.byteCount(DType::f64), Error);
    }
};

TWB_TEST_MAIN(TestShape)
#include "test_shape.moc"
