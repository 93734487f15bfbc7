#include "core/tensor_statistics.h"
#include "graph/breakpoint.h"
#include "support/test_main.h"

#include <limits>

using namespace twb;

class TestBreakpoint : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void textsRoundTrip() {
        for (const char* text : {"before", "after", "nan or inf", "off after", "off nan or inf", "max > 3",
                                 "min <= -0.5", "mean == 0", "std != 1", "absmax >= 1e+30", "nan > 0",
                                 "off inf < 12", "max > -1e-07", "input max > 3", "off input nan > 0"}) {
            const auto parsed = Breakpoint::parse(text);
            QVERIFY2(parsed, text);
            QCOMPARE(parsed->toString(), std::string(text));
            QCOMPARE(parsed->enabled, !std::string_view(text).starts_with("off "));
        }
    }

    void invalidTextsAreRefused() {
        for (const char* text : {"",
                                 "off",
                                 "off ",
                                 "never",
                                 "max",
                                 "max >",
                                 "max > ",
                                 "max > a",
                                 "max > nan",
                                 "max > inf",
                                 "max => 3",
                                 "median > 3",
                                 "max > 3 ",
                                 "max  > 3",
                                 "max > 0x3",
                                 "max > 03",
                                 "max > +3",
                                 "max > .5",
                                 "max > 5.",
                                 "max > 1e999",
                                 "After",
                                 "input",
                                 "input after",
                                 "input nan or inf",
                                 "input off max > 3",
                                 "inputmax > 3"})
            QVERIFY2(!Breakpoint::parse(text), text);
    }

    /// Each set of breakpoints has one canonical text, whatever their order.
    void setsHaveACanonicalText() {
        const std::string canonical = "before; input max > 3; after; off nan or inf; min < 0; min < 1";
        const auto all = parseBreakpoints(canonical);
        QVERIFY(all && all->size() == 6);
        QCOMPARE(toString(*all), canonical);
        QCOMPARE(
            toString(*parseBreakpoints("min < 1; min < 0; off nan or inf; after; input max > 3; before")),
            canonical);
        QCOMPARE(toString(*parseBreakpoints("after; off after")),
                 std::string("off after")); // the last one wins
        QCOMPARE(toString({}), std::string());
        for (const char* text : {"", "; after", "after;", "after; ", "after;before", "after, before"})
            QVERIFY2(!parseBreakpoints(text), text);
        Breakpoints some = *all;
        put(some, *Breakpoint::parse("nan or inf"));
        QCOMPARE(some.size(), std::size_t(6));
        QVERIFY(toString(some).find("; nan or inf") != std::string::npos);
        take(some, *Breakpoint::parse("off before"));
        QCOMPARE(toString(some), std::string("input max > 3; after; nan or inf; min < 0; min < 1"));
    }

    void conditionsCheckTheOutput_data() {
        constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
        constexpr double kInf = std::numeric_limits<double>::infinity();
        QTest::addColumn<QString>("text");
        QTest::addColumn<QList<double>>("values");
        QTest::addColumn<QString>("found");
        const auto row = [](const char* text, const QList<double>& values, const char* found) {
            QTest::addRow("%s of %d", text, int(values.size()))
                << QString::fromLatin1(text) << values << QString::fromLatin1(found);
        };
        row("after", {kNan}, ""); // "after" does not check values
        row("nan or inf", {1, 2}, "");
        row("nan or inf", {1, kNan, kInf, kNan}, "2 NaN, 1 inf");
        row("max > 3", {1, 3}, "");
        row("max > 3", {1, 3, 4.5}, "max is 4.5");
        row("max >= 3", {1, 3}, "max is 3");
        row("min < 0", {1, -2, kNan}, "min is -2");
        row("mean == 2", {1, 2, 3}, "mean is 2");
        row("std <= 0", {2, 2}, "std is 0");
        row("absmax > 5", {-6, 1}, "absmax is 6");
        row("absmax != 6", {-6, 1}, "");
        row("nan > 1", {kNan}, "");
        row("nan > 1", {kNan, kNan}, "nan is 2");
        row("inf == 1", {-kInf}, "inf is 1");
        row("input max >= 3", {1, 3}, "max of an input is 3");
        row("input max > 3", {1, 3}, "");
        row("max < 3", {kNan}, ""); // without a finite element there is no maximum
        row("max < 3", {}, "");
    }
    void conditionsCheckTheOutput() {
        QFETCH(QString, text);
        QFETCH(QList<double>, values);
        QFETCH(QString, found);
        const Tensor tensor = Tensor::of<double>({values.size()}, std::span<const double>(values));
        const auto breakpoint = Breakpoint::parse(text.toStdString());
        QCOMPARE(QString::fromStdString(breakpoint->found(statisticsOf(tensor)).value_or("")), found);
    }
};

TWB_TEST_MAIN(TestBreakpoint)
#include "test_breakpoint.moc"
