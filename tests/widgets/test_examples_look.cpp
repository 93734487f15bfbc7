#include "graph/module_names.h"
#include "support/test_main.h"
#include "widgets/canvas_fixture.h"

#include <QDir>

using namespace twb;
using namespace twb::test;

namespace {

const QString kExamples = QStringLiteral(TWB_SOURCE_DIR "/resources/examples/");

} // namespace

/// In the examples, no text is cut off and no items overlap.
class TestExamplesLook : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QSize>("size");
        QTest::addColumn<QString>("gpu"); // of the lanes on cuda:0
        for (const QString& file : QDir(kExamples).entryList({QStringLiteral("*.twb")}))
            QTest::newRow(qPrintable(file))
                << kExamples + file << QSize(1080, 640) << QStringLiteral("cuda:0");
        QTest::newRow("twenty mismatches")
            << QStringLiteral(TWB_SOURCE_DIR "/resources/screenshots/twenty-mismatches.twb")
            << QSize(2000, 900) << QStringLiteral("cuda:0");
        // The lanes of rank 1 are below all others, which leaves a To no room beside it.
        QTest::newRow("digits on two ranks")
            << kExamples + QStringLiteral("digits.twb") << QSize(850, 480) << QStringLiteral("rank1/cuda:0");
    }

    void init() {
        m_canvas = std::make_unique<ShownCanvas>(Graph());
        QFETCH_GLOBAL(QString, file);
        QFETCH_GLOBAL(QSize, size);
        QFETCH_GLOBAL(QString, gpu);
        m_canvas->canvas.resize(size);
        m_canvas->document.open(file);
        DeltaBuilder builder(m_canvas->document.graph(), "another rank");
        for (Lane lane : m_canvas->document.graph().lanes()) {
            if (lane.device != Device::cuda(0)) continue;
            lane.device = *Device::parse(gpu.toStdString());
            builder.change(lane);
        }
        if (gpu != QLatin1String("cuda:0")) m_canvas->document.apply(builder.take());
        m_run = {};
        for (const Node& node : m_canvas->document.graph().nodes()) {
            const bool simulated = m_canvas->document.devices().isSimulated(m_canvas->shape(node.id).device);
            m_run.nodes[node.id] = {StepState::done, 99.67e6, simulated, false, {}, {}};
        }
        m_canvas->canvas.setRunState(&m_run);
        m_canvas->canvas.grab();
    }
    void cleanup() { m_canvas.reset(); }

    void noNameIsCut() {
        const Scene& scene = m_canvas->canvas.scene();
        const Graph& graph = m_canvas->document.graph();
        for (std::uint32_t slot = 0; slot < scene.nodes().shapes().size(); ++slot) {
            const NodeShape& shape = scene.nodes()[slot];
            if (shape.kind != NodeShape::Kind::card) continue;
            const NodeCard* card = scene.texts().find(slot);
            QVERIFY(card);
            const QString name = QString::fromStdString(shortNameOf(graph, *graph.find(shape.id)));
            QCOMPARE(card->title.text(), name);
            QCOMPARE(card->shortTitle.text(), name);
        }
    }

    void noTitleOfAFrameCoversACard() {
        m_canvas->canvas.navigator().zoomToFit();
        m_canvas->canvas.grab();
        const Scene& scene = m_canvas->canvas.scene();
        for (const FrameShape& frame : scene.frames().shapes()) {
            if (frame.rect.isEmpty() || frame.title.isEmpty()) continue;
            QVERIFY(!frame.titleRect.isEmpty());
            for (const NodeShape& card : scene.nodes().shapes())
                QVERIFY2(!card.placed || !card.rect.intersects(frame.titleRect), qPrintable(frame.title));
        }
    }

    void noCardLiesOnAnother() {
        const auto& nodes = m_canvas->canvas.scene().nodes().shapes();
        // A folded parameter is a row of its consumer's card.
        const auto isCard = [&](const NodeShape& shape) {
            return shape.placed && !m_canvas->node(shape.id).folded;
        };
        for (const NodeShape& a : nodes)
            for (const NodeShape& b : nodes)
                if (&a < &b && isCard(a) && isCard(b) && a.rect.intersects(b.rect))
                    QFAIL(qPrintable(QStringLiteral("%1 and %2")
                                         .arg(QString::fromStdString(m_canvas->node(a.id).name),
                                              QString::fromStdString(m_canvas->node(b.id).name))));
    }

    void cardsOfAColumnHaveOneWidth() {
        const auto& nodes = m_canvas->canvas.scene().nodes().shapes();
        for (const NodeShape& a : nodes)
            for (const NodeShape& b : nodes)
                if (a.kind == NodeShape::Kind::card && b.kind == a.kind && a.lane == b.lane &&
                    a.at.x == b.at.x)
                    QCOMPARE(a.rect.width(), b.rect.width());
    }

    void noLabelHidesACardOrAnother() {
        const Scene& scene = m_canvas->canvas.scene();
        std::vector<QRectF> labels = labelsOfNodes();
        for (std::uint32_t slot = 0; slot < scene.wires().shapes().size(); ++slot)
            if (const PriceLabel* label = scene.labels().ofWire(slot)) labels.push_back(label->rect);
        std::erase_if(labels, [](const QRectF& label) { return label.isEmpty(); });
        for (std::size_t i = 0; i < labels.size(); ++i) {
            for (const NodeShape& shape : scene.nodes().shapes())
                if (shape.kind != NodeShape::Kind::row) QVERIFY(!labels[i].intersects(shape.rect));
            for (std::size_t j = 0; j < i; ++j) QVERIFY(!labels[i].intersects(labels[j]));
        }
    }

    void noPriceHidesAWire() {
        QFETCH_GLOBAL(QString, gpu);
        if (gpu != QLatin1String("cuda:0")) QSKIP("no place is free, and a card is more than a wire");
        const Scene& scene = m_canvas->canvas.scene();
        for (const QRectF& label : labelsOfNodes()) {
            std::vector<QPointF> points;
            for (const WireShape& wire : scene.wires().shapes())
                if (!wire.free && !wire.hidden) scene.wires().path(wire).sampleIn(label, points);
            for (const QPointF point : points) QVERIFY(!label.contains(point));
        }
    }

    void wholeGraphIsInView() {
        const QRectF seen = m_canvas->canvas.view().viewport();
        const QRectF all = m_canvas->canvas.scene().shownExtent();
        QVERIFY(seen.top() <= all.top() && seen.bottom() >= all.bottom() - 1);
        QVERIFY(seen.left() <= all.left() && seen.right() >= all.right());
        QVERIFY(m_canvas->canvas.view().zoom() <= 1);
    }

private:
    /// The same applies to the policy's copies.
    std::vector<QRectF> labelsOfNodes() const {
        const Scene& scene = m_canvas->canvas.scene();
        std::vector<QRectF> labels;
        for (std::uint32_t slot = 0; slot < scene.nodes().shapes().size(); ++slot)
            if (const PriceLabel* label = scene.labels().ofNode(slot)) labels.push_back(label->rect);
        for (std::size_t i = 0; i < scene.ghosts().shapes().size(); ++i)
            if (const PriceLabel* label = scene.labels().ofGhost(i)) labels.push_back(label->rect);
        return labels;
    }

    std::unique_ptr<ShownCanvas> m_canvas;
    RunState m_run;
};

TWB_GUI_TEST_MAIN(TestExamplesLook)
#include "test_examples_look.moc"
