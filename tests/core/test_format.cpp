#include "core/format.h"
#include "core/text_table.h"
#include "support/test_main.h"

#include <cmath>
#include <limits>
#include <stdexcept>

using namespace twb;

class TestFormat : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bytes() {
        QCOMPARE(formatBytes(0), "0 B");
        QCOMPARE(formatBytes(999), "999 B");
        QCOMPARE(formatBytes(1000), "1.00 kB");
        QCOMPARE(formatBytes(92160), "92.2 kB");
        QCOMPARE(formatBytes(999'600), "1.00 MB");
        QCOMPARE(formatBytes(141e9), "141 GB");
        QCOMPARE(formatExactBytes(0), "0 B");
        QCOMPARE(formatExactBytes(999), "999 B");
        QCOMPARE(formatExactBytes(92160), "92,160 B");
        QCOMPARE(formatExactBytes(18'446'744'073'709'551'615U), "18,446,744,073,709,551,615 B");
    }

    void times() {
        QCOMPARE(formatMs(0), "0 ms");
        QCOMPARE(formatMs(85), "0.00009 ms");
        QCOMPARE(formatMs(12'300), "0.012 ms");
        QCOMPARE(formatMs(1'234'000), "1.234 ms");
        QCOMPARE(formatMs(12'340'000), "12.34 ms");
        QCOMPARE(formatMs(999'940'000), "999.9 ms");
        QCOMPARE(formatMs(1'234'000'000), "1,234 ms");
    }

    void counts() {
        QCOMPARE(counted(0, "op"), "0 ops");
        QCOMPARE(counted(1, "op"), "1 op");
        QCOMPARE(counted(3, "op"), "3 ops");
        QCOMPARE(counted(1, "copy", "copies"), "1 copy");
        QCOMPARE(counted(2, "copy", "copies"), "2 copies");
    }

    void numbers() {
        QCOMPARE(formatNumber(0.1), "0.1");
        QCOMPARE(formatNumber(1.0 / 3, 4), "0.3333");
        QCOMPARE(formatNumber(-1e20), "-1e+20");
        QCOMPARE(formatNumber(-std::numeric_limits<double>::infinity()), "-inf");
        const double nan = std::numeric_limits<double>::quiet_NaN();
        QCOMPARE(formatNumber(std::copysign(nan, -1.0)), "nan");
        QCOMPARE(formatNumber(std::copysign(nan, 1.0)), "nan");
    }

    void rates() {
        QCOMPARE(formatRate(0), "0 GB/s");
        QCOMPARE(formatRate(7.84), "7.8 GB/s");
        QCOMPARE(formatRate(0.0123), "0.012 GB/s");
        QCOMPARE(formatRate(0.00033), "0.0003 GB/s");
        QCOMPARE(formatRate(0.00002), "0.00002 GB/s");
        QCOMPARE(formatRate(4800), "4800 GB/s");
    }

    /// A name from a file must not be able to move the cursor, forge a line or hide text.
    void hostileTextIsMadeVisible() {
        QCOMPARE(printable("plain \"text\""), "plain \"text\"");
        QCOMPARE(printable("a\nb\tc"), "a\\nb\\tc");
        QCOMPARE(printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
        QCOMPARE(printable("héllo 🚀 →"), "héllo 🚀 →");
        QCOMPARE(printable("\xff"
                           "a\xc3"),
                 "\uFFFD"
                 "a\uFFFD");
        QCOMPARE(printable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");           // a surrogate
        QCOMPARE(printable("\xc0\x80"), "\uFFFD\uFFFD");                     // overlong NUL
        QCOMPARE(printable("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD"); // beyond Unicode
        QCOMPARE(printable("x\u202Etxt"), "x\\u202etxt");
        QCOMPARE(printable("x\u009b"
                           "1A"),
                 "x\\x9b1A"); // the one-byte form of ESC [
    }

    void widths() {
        QCOMPARE(displayWidth(""), 0);
        QCOMPARE(displayWidth("abc"), 3);
        QCOMPARE(displayWidth("héllo"), 5);
        QCOMPARE(displayWidth("e\u0301"), 1);
        QCOMPARE(displayWidth("日本"), 4);
        QCOMPARE(displayWidth("🚀"), 2);
    }

    void tableLinesUp() {
        using enum TextTable::Align;
        TextTable table({left, right, left}, 2);
        table.add({"name", "ms", "note"});
        table.addRule();
        table.add({"日本", "1.5"});
        table.add({"fc1", "12.25", "x"});
        QCOMPARE(table.toString(), "  name     ms  note\n"
                                   "  ────  ─────  ────\n"
                                   "  日本    1.5\n"
                                   "  fc1   12.25  x\n");
        QVERIFY_EXCEPTION_THROWN(table.add({"1", "2", "3", "4"}), std::out_of_range);
    }

    void emptyColumnsAreHidden() {
        using enum TextTable::Align;
        TextTable table({left, left, left});
        table.add({"a", "", "b"});
        QCOMPARE(table.toString(), "a  b\n");
    }
};

TWB_TEST_MAIN(TestFormat)
#include "test_format.moc"
