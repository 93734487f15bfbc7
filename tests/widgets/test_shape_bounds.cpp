#include "support/test_main.h"
#include "widgets/canvas/shape_bounds.h"

#include <random>

using namespace twb;

class TestShapeBounds : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void agreesWithAllShapesAfterAnyChange() {
        std::mt19937 random(7);
        std::uniform_int_distribution<int> place(0, 400);
        std::vector<QRectF> shapes;
        ShapeBounds bounds;
        const auto united = [&] {
            QRectF all = shapes.front();
            for (const QRectF& shape : shapes) all |= shape;
            return all;
        };
        for (int i = 0; i < 20'000; ++i) {
            // Grows to hundreds of shapes, and shrinks to none.
            const bool grows = (i / 1'000) % 2 == 0;
            if (shapes.empty() || int(random() % 100) < (grows ? 80 : 20)) {
                shapes.emplace_back(place(random), place(random), 1 + place(random), 1 + place(random));
                bounds.add(shapes.back());
            } else {
                const auto at = shapes.begin() + std::ptrdiff_t(random() % shapes.size());
                bounds.remove(*at);
                shapes.erase(at);
            }
            if (bounds.isLost()) {
                bounds = {};
                for (const QRectF& shape : shapes) bounds.add(shape);
            }
            QCOMPARE(bounds.rect(), shapes.empty() ? QRectF() : united());
        }
    }

    void anOutermostShapeIsReplacedByTheNext() {
        ShapeBounds bounds;
        for (int i = 0; i < 1'000; ++i) bounds.add(QRectF(0, 0, 10, i + 1));
        for (int i = 999; i > 980; --i) {
            bounds.remove(QRectF(0, 0, 10, i + 1));
            QVERIFY(!bounds.isLost());
            QCOMPARE(bounds.rect(), QRectF(0, 0, 10, i));
        }
    }
};

TWB_TEST_MAIN(TestShapeBounds)
#include "test_shape_bounds.moc"
