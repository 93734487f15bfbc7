#include "core/dtype.h"
#include "support/test_main.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace twb;

class TestHalf : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Every bit pattern converts to the float defined by IEEE 754, and back to itself.
    void everyHalfComesBack() {
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
            Half h;
            h.bits = static_cast<std::uint16_t>(bits);
            const auto value = static_cast<float>(h);
            const int exponent = static_cast<int>((bits >> 10) & 31);
            const int fraction = static_cast<int>(bits & 1023);
            const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
            if (exponent == 31 && fraction != 0) {
                QVERIFY(std::isnan(value));
                QVERIFY(std::isnan(static_cast<float>(Half(value))));
                continue;
            }
            const float expected =
                exponent == 31  ? sign * std::numeric_limits<float>::infinity()
                : exponent == 0 ? sign * std::ldexp(static_cast<float>(fraction), -24)
                                : sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
            QCOMPARE(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected));
            QCOMPARE(Half(value).bits, h.bits);
        }
    }
    void everyBFloat16ComesBack() {
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
            BFloat16 b;
            b.bits = static_cast<std::uint16_t>(bits);
            const auto value = static_cast<float>(b);
            if (std::isnan(value))
                QVERIFY(std::isnan(static_cast<float>(BFloat16(value))));
            else
                QCOMPARE(BFloat16(value).bits, b.bits);
        }
    }
    /// Halfway values round to even; values near them round to the nearer neighbour.
    void roundsToNearestEven() {
        for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
            Half low;
            Half high;
            low.bits = static_cast<std::uint16_t>(bits);
            high.bits = static_cast<std::uint16_t>(bits + 1);
            const double a = static_cast<float>(low);
            const double b = static_cast<float>(high);
            const auto middle = static_cast<float>((a + b) / 2); // exact
            QCOMPARE(Half(middle).bits, bits % 2 == 0 ? low.bits : high.bits);
            QCOMPARE(Half(std::nextafter(middle, 0.0F)).bits, low.bits);
            QCOMPARE(Half(std::nextafter(middle, 1e6F)).bits, high.bits);
            // Conversion from double must not round twice: via float, these values would become halfway
            // values.
            QCOMPARE(Half(std::nextafter(static_cast<double>(middle), 0.0)).bits, low.bits);
            QCOMPARE(Half(std::nextafter(static_cast<double>(middle), 1e6)).bits, high.bits);
            QCOMPARE(Half(-std::nextafter(static_cast<double>(middle), 1e6)).bits,
                     static_cast<std::uint16_t>(high.bits | 0x8000));
        }
    }
    void tooLargeValuesBecomeInfinite() {
        QCOMPARE(Half(65519.996F).bits, std::uint16_t{0x7bff});
        QCOMPARE(Half(65520.0F).bits, std::uint16_t{0x7c00});
        QCOMPARE(Half(-1e300).bits, std::uint16_t{0xfc00});
        QCOMPARE(Half(std::int64_t{65519}).bits, std::uint16_t{0x7bff});
        QCOMPARE(BFloat16(3.4e38F).bits, std::uint16_t{0x7f80});
        QCOMPARE(Half(1e-8F).bits, std::uint16_t{0});
    }
};

TWB_TEST_MAIN(TestHalf)
#include "test_half.moc"
