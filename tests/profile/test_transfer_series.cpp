#include "profile/csv.h"
#include "profile/example_plan.h"
#include "profile/ledger.h"
#include "profile/transfer_series.h"
#include "support/test_main.h"

using namespace twb;

namespace {

StepRecord copied(std::uint32_t iteration, std::int64_t start, std::int64_t ns) {
    return {1, iteration, StepState::done, start, start + ns, 0, 2560};
}

} // namespace

class TestTransferSeries : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aPointAnIteration() {
        TransferSeries series(test::examplePlan());
        series.add(test::exampleRecords());
        QCOMPARE(series.cell(), 1U);
        QCOMPARE(series.size(), std::size_t(2));
        QCOMPARE(series.at(0, 0).count, 1U);
        QCOMPARE(series.at(0, 0).slowestNs, 2560);
        QCOMPARE(series.at(1, 0).bytes, 2560U);
        // The setup ends at 1500, the iterations at 5001 and 8000.
        QCOMPARE(series.durationNs(0), 3501);
        QCOMPARE(series.durationNs(1), 2999);
    }

    /// The series is bounded for any length of the run, and its totals are complete.
    void aLongRunKeepsItsSums() {
        const auto plan = test::examplePlan();
        TransferSeries series(plan);
        Ledger ledger(plan);
        constexpr std::uint32_t kIterations = 600'000;
        std::int64_t slowest = 0;
        for (std::uint32_t i = 0; i < kIterations; ++i) {
            const std::int64_t ns = i == 123'456 ? 900 : 100 + i % 7;
            const StepRecord record = copied(i, std::int64_t(i) * 1000, ns);
            series.add({&record, 1});
            ledger.add({&record, 1});
        }
        QVERIFY(series.size() <= series.mostPoints());
        QVERIFY(series.size() * 2 > series.mostPoints() - 2);
        QCOMPARE(std::uint64_t(series.cell()) * (series.size() - 1) / kIterations, 0U);
        std::uint64_t count = 0;
        std::uint64_t bytes = 0;
        std::int64_t ns = 0;
        std::int64_t duration = 0;
        for (std::size_t point = 0; point < series.size(); ++point) {
            count += series.at(point, 0).count;
            bytes += series.at(point, 0).bytes;
            ns += series.at(point, 0).sumNs;
            duration += series.durationNs(point);
            slowest = std::max(slowest, series.at(point, 0).slowestNs);
        }
        QCOMPARE(count, ledger.rows()[0].count);
        QCOMPARE(bytes, ledger.rows()[0].bytes);
        QCOMPARE(ns, ledger.rows()[0].totalNs);
        QCOMPARE(slowest, 900);
        QCOMPARE(series.at(123'456 / series.cell(), 0).slowestNs, 900);
        // To the end of the last copy.
        QCOMPARE(duration, std::int64_t(kIterations - 1) * 1000 + 100 + (kIterations - 1) % 7);
    }

    void aFileOfItSaysWhatIsModelled() {
        const auto plan = test::examplePlan();
        plan->transfers[0].label = "a \"b\",\nc → cuda:0";
        TransferSeries series(plan);
        series.add(test::exampleRecords());
        std::string text = toCsv(series);
        const std::string first = "\"a \"\"b\"\",\nc → cuda:0\",explicit,0,1,1,0.00256,0.00256,2560,1,";
        QVERIFY2(text.find(first) != std::string::npos, text.c_str());
        const auto lines = [&](const char* ending) {
            int n = 0;
            for (std::size_t at = 0; (at = text.find(ending, at)) != std::string::npos; ++at) ++n;
            return n;
        };
        QCOMPARE(lines(",modelled\r\n"), 2);
        QCOMPARE(lines(",measured\r\n"), 0);
        plan->transfers[0].modelled = false;
        text = toCsv(series);
        QCOMPARE(lines(",modelled\r\n"), 0);
        QCOMPARE(lines(",measured\r\n"), 2);
    }

    void cellsAreQuotedWhereTheyMustBe() {
        QCOMPARE(csvLine({"a", "b c", "", "1"}), std::string("a,b c,,1\r\n"));
        QCOMPARE(csvLine({"a,b", "say \"x\"", "two\nlines"}),
                 std::string("\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\r\n"));
    }
};

TWB_TEST_MAIN(TestTransferSeries)
#include "test_transfer_series.moc"
