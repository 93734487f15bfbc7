#include "profile/report_wires.h"
#include "support/test_main.h"

#include <QPointF>
#include <QRectF>
#include <QRegularExpression>

#include <algorithm>
#include <random>

using namespace twb;

namespace {

/// Points along a path of M, L, Q and C, less than a pixel apart.
std::vector<QPointF> pointsOf(const std::string& svg) {
    std::vector<QPointF> out;
    static const QRegularExpression command(QStringLiteral("([MLQC])([^MLQC]*)"));
    auto found = command.globalMatch(QString::fromStdString(svg));
    while (found.hasNext()) {
        const auto match = found.next();
        std::vector<QPointF> curve;
        if (!out.empty()) curve.push_back(out.back());
        const QStringList numbers = match.captured(2).split(QLatin1Char(' '), Qt::SkipEmptyParts);
        for (qsizetype i = 0; i + 1 < numbers.size(); i += 2)
            curve.emplace_back(numbers[i].toDouble(), numbers[i + 1].toDouble());
        for (int i = 0; i <= 2000; ++i) {
            // De Casteljau's algorithm for a line or a curve with one or two control points.
            std::vector<QPointF> points = curve;
            while (points.size() > 1) {
                for (std::size_t k = 0; k + 1 < points.size(); ++k)
                    points[k] += (points[k + 1] - points[k]) * (i / 2000.0);
                points.pop_back();
            }
            out.push_back(points.front());
        }
    }
    return out;
}

/// The number of cards, including its own, that a wire passes behind.
int crossed(const std::vector<PictureCard>& cards, const std::vector<QPointF>& wire) {
    return int(std::count_if(cards.begin(), cards.end(), [&](const PictureCard& card) {
        const QRectF inside = QRectF(card.x, card.y, card.width, card.height).adjusted(1, 1, -1, -1);
        return std::any_of(wire.begin(), wire.end(), [&](QPointF at) { return inside.contains(at); });
    }));
}

PictureCard cardAt(double x, double y) { return {x, y, 144, 44}; }

} // namespace

class TestReportWires : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aFreeWayIsACurve() {
        const std::vector<PictureCard> cards{cardAt(0, 0), cardAt(300, 80)};
        const std::string path = wirePath(cards, 0, 1);
        QVERIFY(path.find('C') != std::string::npos);
        QCOMPARE(pointsOf(path).front(), QPointF(144, 22));
        QCOMPARE(pointsOf(path).back(), QPointF(300, 102));
    }

    void aWireGoesAroundACard() {
        const std::vector<PictureCard> cards{cardAt(0, 0), cardAt(200, 0), cardAt(400, 0)};
        const std::vector<QPointF> path = pointsOf(wirePath(cards, 0, 2));
        QCOMPARE(crossed(cards, path), 0);
        QCOMPARE(path.front(), QPointF(144, 22));
        QCOMPARE(path.back(), QPointF(400, 22));
    }

    void aWireThatGoesBackPassesBehindNoCard() {
        const std::vector<PictureCard> cards{cardAt(400, 0), cardAt(0, 0), cardAt(200, 0)};
        QCOMPARE(crossed(cards, pointsOf(wirePath(cards, 0, 1))), 0);
    }

    void wiresOfAGridPassBehindNoCard() {
        std::vector<PictureCard> cards;
        for (int column = 0; column < 8; ++column)
            for (int row = 0; row < 6; ++row) cards.push_back(cardAt(column * 200, row * 76));
        std::mt19937 random(7);
        for (int i = 0; i < 200; ++i) {
            const std::size_t from = random() % cards.size();
            const std::size_t to = random() % cards.size();
            if (from == to) continue;
            QVERIFY2(crossed(cards, pointsOf(wirePath(cards, from, to))) == 0,
                     qPrintable(QStringLiteral("%1 to %2").arg(from).arg(to)));
        }
    }
};

TWB_TEST_MAIN(TestReportWires)
#include "test_report_wires.moc"
