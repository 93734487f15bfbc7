#include "graph/module_names.h"
#include "support/test_main.h"
#include "widgets/canvas_fixture.h"

#include <QDir>

using namespace twb;
using namespace twb::test;

namespace {

const QString kExamples = QStringLiteral(TWB_SOURCE_DIR "/resources/examples/");

} // namespace

/// What a designer looks at first: in the examples nothing is cut, nothing lies on anything else.
class TestExamplesLook : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase_data() {
        QTest::addColumn<QString>("file");
        for (const QString& file : QDir(kExamples).entryList({QStringLiteral("*.twb")}))
            QTest::newRow(qPrintable(file)) << file;
    }

    void init() {
        m_canvas = std::make_unique<ShownCanvas>(Graph());
        QFETCH_GLOBAL(QString, file);
        m_canvas->canvas.resize(1080, 640);
        m_canvas->document.open(kExamples + file);
        m_run = {};
        for (const Node& node : m_canvas->document.graph().nodes()) {
            const bool simulated = m_canvas->document.devices().isSimulated(m_canvas->shape(node.id).device);
            m_run.nodes[node.id] = {StepState::done, 99.67e6, simulated, false, {}};
        }
        m_canvas->canvas.setRunState(&m_run);
        m_canvas->canvas.grab();
    }
    void cleanup() { m_canvas.reset(); }

    void noNameIsCut() {
        const Scene& scene = m_canvas->canvas.scene();
        const Graph& graph = m_canvas->document.graph();
        for (std::uint32_t slot = 0; slot < scene.nodes().size(); ++slot) {
            const NodeShape& shape = scene.nodes()[slot];
            if (shape.kind != NodeShape::Kind::card) continue;
            const NodeCard* card = scene.card(slot);
            QVERIFY(card);
            QCOMPARE(card->title.text(), QString::fromStdString(shortNameOf(graph, *graph.find(shape.id))));
        }
    }

    void noCardLiesOnAnother() {
        const auto& nodes = m_canvas->canvas.scene().nodes();
        for (const NodeShape& a : nodes)
            for (const NodeShape& b : nodes)
                if (&a < &b && a.rect.intersects(b.rect))
                    QFAIL(qPrintable(QStringLiteral("%1 and %2")
                                         .arg(QString::fromStdString(m_canvas->node(a.id).name),
                                              QString::fromStdString(m_canvas->node(b.id).name))));
    }

    void cardsOfAColumnHaveOneWidth() {
        const auto& nodes = m_canvas->canvas.scene().nodes();
        for (const NodeShape& a : nodes)
            for (const NodeShape& b : nodes)
                if (a.kind == NodeShape::Kind::card && b.kind == a.kind && a.lane == b.lane &&
                    a.at.x == b.at.x)
                    QCOMPARE(a.rect.width(), b.rect.width());
    }

    void noPriceHidesAWire() {
        const Scene& scene = m_canvas->canvas.scene();
        std::vector<QRectF> labels;
        for (std::uint32_t slot = 0; slot < scene.nodes().size(); ++slot)
            if (const PriceLabel* label = scene.nodeLabel(slot)) labels.push_back(label->rect);
        for (std::size_t i = 0; i < scene.ghosts().size(); ++i)
            if (const PriceLabel* label = scene.ghostLabel(i)) labels.push_back(label->rect);
        for (const QRectF& label : labels) {
            std::vector<QPointF> points;
            for (const WireShape& wire : scene.wires())
                if (!wire.free && !wire.hidden) scene.path(wire).sampleIn(label, points);
            for (const QPointF point : points) QVERIFY(!label.contains(point));
        }
    }

    void allOfItIsInView() {
        const QRectF seen = m_canvas->canvas.viewport();
        const QRectF all = m_canvas->canvas.scene().extent();
        QVERIFY(seen.top() <= all.top() && seen.bottom() >= all.bottom() - 1);
        QVERIFY(seen.left() <= all.left() && seen.right() >= all.right());
        QVERIFY(m_canvas->canvas.zoom() <= 1);
    }

private:
    std::unique_ptr<ShownCanvas> m_canvas;
    RunState m_run;
};

TWB_GUI_TEST_MAIN(TestExamplesLook)
#include "test_examples_look.moc"
