#include "profile/report_wires.h"
#include "support/test_main.h"

#include <QPainterPath>
#include <QRegularExpression>

#include <random>

using namespace twb;

namespace {

QPainterPath pathOf(const std::string& svg) {
    QPainterPath path;
    static const QRegularExpression command(QStringLiteral("([MLQC])([^MLQC]*)"));
    auto found = command.globalMatch(QString::fromStdString(svg));
    while (found.hasNext()) {
        const auto match = found.next();
        std::vector<QPointF> points;
        const QStringList numbers = match.captured(2).split(QLatin1Char(' '), Qt::SkipEmptyParts);
        for (qsizetype i = 0; i + 1 < numbers.size(); i += 2)
            points.emplace_back(numbers[i].toDouble(), numbers[i + 1].toDouble());
        if (match.captured(1) == QLatin1String("M")) path.moveTo(points.at(0));
        if (match.captured(1) == QLatin1String("L")) path.lineTo(points.at(0));
        if (match.captured(1) == QLatin1String("Q")) path.quadTo(points.at(0), points.at(1));
        if (match.captured(1) == QLatin1String("C")) path.cubicTo(points.at(0), points.at(1), points.at(2));
    }
    return path;
}

/// How many of the cards, its own included, a wire passes behind.
int crossed(const std::vector<PictureCard>& cards, const QPainterPath& path) {
    int count = 0;
    for (const PictureCard& card : cards) {
        const QRectF inside = QRectF(card.x, card.y, card.width, card.height).adjusted(1, 1, -1, -1);
        bool meets = false;
        for (int i = 0; i <= 2000; ++i) meets |= inside.contains(path.pointAtPercent(i / 2000.0));
        count += meets;
    }
    return count;
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
        QCOMPARE(pathOf(path).pointAtPercent(0), QPointF(144, 22));
        QCOMPARE(pathOf(path).pointAtPercent(1), QPointF(300, 102));
    }

    void aWireGoesAroundACard() {
        const std::vector<PictureCard> cards{cardAt(0, 0), cardAt(200, 0), cardAt(400, 0)};
        const QPainterPath path = pathOf(wirePath(cards, 0, 2));
        QCOMPARE(crossed(cards, path), 0);
        QCOMPARE(path.pointAtPercent(0), QPointF(144, 22));
        QCOMPARE(path.pointAtPercent(1), QPointF(400, 22));
    }

    void aWireThatGoesBackPassesBehindNoCard() {
        const std::vector<PictureCard> cards{cardAt(400, 0), cardAt(0, 0), cardAt(200, 0)};
        QCOMPARE(crossed(cards, pathOf(wirePath(cards, 0, 1))), 0);
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
            QVERIFY2(crossed(cards, pathOf(wirePath(cards, from, to))) == 0,
                     qPrintable(QStringLiteral("%1 to %2").arg(from).arg(to)));
        }
    }
};

TWB_TEST_MAIN(TestReportWires)
#include "test_report_wires.moc"
