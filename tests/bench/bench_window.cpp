// The window beside a long run: 200 tensors go from the cpu to a simulated GPU in each of about 1,000
// iterations a second. Budgets: 15 % of a core for the window's thread, 16.7 ms per frame at the 95th
// percentile, no memory growth, and no lost entries in the ledger. `bench_window [SECONDS] [PAGE]`; defaults:
// 60 and "transfers".
#include "bench/watched_window.h"
#include "profile/profiles.h"
#include "support/graphs.h"
#include "widgets/main_window.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace twb;
using namespace twb::bench;

namespace {

constexpr int kTransfers = 200;
constexpr double kWantedRate = 1000; // iterations a second

double wallSeconds() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// The resident memory of the process, in bytes.
std::size_t resident() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// `pace` is the size of a square product that limits the rate of iterations; 0: none.
Graph transfers(std::int64_t pace) {
    test::GraphMaker g;
    for (int i = 0; i < kTransfers; ++i) {
        const std::string name = fmt::format("x{}", i);
        const NodeId x =
            g.node("RandomNormal", name, "cpu", {{"shape", std::vector<std::int64_t>{64, 1 + i % 8}}});
        g.node("To", "to_" + name, "cuda:0", {}, {x});
    }
    if (pace > 0) {
        const std::vector<std::int64_t> shape{pace, pace};
        const NodeId a = g.node("RandomNormal", "a", "cpu", {{"shape", shape}});
        const NodeId b = g.node("RandomNormal", "b", "cpu", {{"shape", shape}});
        g.node("MatMul", "pace", "cpu", {}, {a, b});
    }
    return g.graph();
}

/// Processes the window's events for this time.
void live(double seconds) {
    QEventLoop loop;
    QTimer::singleShot(int(seconds * 1e3), &loop, &QEventLoop::quit);
    loop.exec();
}

double rateOf(MainWindow& window, std::int64_t pace) {
    window.document().setGraph(transfers(pace), {}, {});
    window.runContinuously();
    live(0.5);
    const std::int64_t before = window.runs().done();
    live(1.5);
    const double rate = double(window.runs().done() - before) / 1.5;
    window.runs().stop();
    while (window.runs().isRunning()) live(0.02);
    return rate;
}

} // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    Watched app(argc, argv);
    std::vector<double> frames; // ms of the window's thread
    const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
    const QString page = argc > 2 ? QString::fromLocal8Bit(argv[2]) : QStringLiteral("transfers");
    Theme::apply(app, Theme::dark());
    MainWindow window(std::make_shared<const ProfileLibrary>(TWB_SOURCE_DIR "/resources/devices"));
    window.resize(1600, 1000);
    window.show();
    if (!window.bottom().showPage(page)) {
        fmt::print(stderr, "there is no page {}\n", page.toStdString());
        return 2;
    }
    std::int64_t pace = 0;
    double rate = rateOf(window, pace);
    for (std::int64_t next = 64; rate > 1.2 * kWantedRate && next <= 1024; next += next / 4)
        rate = rateOf(window, pace = next);
    fmt::print("{} transfers an iteration, {:.0f} iterations a second unwatched for long\n", kTransfers,
               rate);

    window.document().setGraph(transfers(pace), {}, {});
    window.runContinuously();
    live(2);
    QObject::connect(&window.runs(), &RunController::frame, &window, [&] { frames.push_back(app.takeMs()); });
    frames.clear();
    app.takeMs();
    const std::int64_t doneBefore = window.runs().done();
    const double cpuBefore = cpuMs() / 1e3;
    const double wallBefore = wallSeconds();
    std::size_t early = 0;
    for (int part = 1; part <= 6; ++part) {
        live(seconds / 6);
        fmt::print("{:>6.0f} s {:>10} iterations {:>8.1f} MB resident\n", seconds * part / 6,
                   window.runs().done(), double(resident()) / 1e6);
        // By the last third, every bounded buffer is full.
        if (part == 3) early = resident();
    }
    const double cpu = cpuMs() / 1e3 - cpuBefore;
    const double wall = wallSeconds() - wallBefore;
    const std::int64_t done = window.runs().done() - doneBefore;
    const std::size_t late = resident();
    window.runs().stop();
    while (window.runs().isRunning()) live(0.02);

    std::sort(frames.begin(), frames.end());
    const double p95 = frames.empty() ? 0 : frames[frames.size() * 95 / 100];
    bool isExact = true;
    const auto iterations = static_cast<std::uint64_t>(window.runs().result()->iterations);
    const Ledger& ledger = window.runs().figures()->ledger();
    for (std::size_t i = 0; i < ledger.rows().size(); ++i) {
        const LedgerRow& row = ledger.rows()[i];
        // After a stop, up to two more iterations may have made their copies.
        const bool isCounted = row.count >= iterations && row.count <= iterations + 2;
        isExact = isExact && isCounted && row.bytes == row.count * ledger.plan()->transfers[i].bytes;
    }
    const double share = 100 * cpu / wall;
    const double growth = double(late) - double(early);
    fmt::print(
        "{:.0f} iterations a second; the window's thread {:.1f} % of a core (15); {} frames, p95 {:.2f} ms "
        "(16.7); memory {:+.1f} MB in the second half; ledger {} over {} iterations\n",
        double(done) / wall, share, frames.size(), p95, growth / 1e6, isExact ? "exact" : "NOT exact",
        iterations);
    return share <= 15 && p95 <= 16.7 && isExact ? 0 : 1;
}
