#include "formats/project.h"
#include "ops/op_table.h"
#include "support/test_main.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/window_hand.h"

#include <QDir>
#include <QListView>

using namespace twb;
using namespace twb::test;

namespace {

/// Presses the button with this text in the next message box.
class ButtonAnswer : public QObject {
public:
    explicit ButtonAnswer(const QString& button) : m_button(button) {
        connect(&m_timer, &QTimer::timeout, this, [this] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (!box) return;
            m_timer.stop();
            text = box->text();
            for (QAbstractButton* one : box->buttons())
                if (one->text().remove(QLatin1Char('&')) == m_button) QTest::mouseClick(one, Qt::LeftButton);
        });
        m_timer.start(10);
    }
    QString text; ///< empty: no box was shown

private:
    QString m_button;
    QTimer m_timer;
};

} // namespace

/// Plug-ins in the folder "ops" beside a project.
class TestProjectPlugins : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString project(const QString& folder) {
        const QString path = m_folder.filePath(folder + QLatin1String("/clipped.twb"));
        QDir().mkpath(m_folder.filePath(folder + QLatin1String("/ops")));
        QFile::copy(QStringLiteral(TWB_BINARY_DIR "/tests/ops/twb_op_example.so"),
                    m_folder.filePath(folder + QLatin1String("/ops/softclip.so")));
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        const NodeId x = addNode(builder, cpu, "Ones", "x", 16, 16);
        const NodeId y = addNode(builder, cpu, "Softclip", "y", 280, 16);
        builder.connect({{x, 0}, {y, 0}});
        graph.apply(builder.take());
        saveProject(graph, path.toStdString());
        return path;
    }
    static bool isInPalette(const MainWindow& window) {
        for (const auto* list : window.findChildren<OpListModel*>())
            for (int row = 0; row < list->rowCount(); ++row)
                if (list->op(list->index(row)) == QLatin1String("Softclip")) return true;
        return false;
    }

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        qputenv("TWB_OPS", "");
        qputenv("XDG_CONFIG_HOME", m_folder.filePath(QStringLiteral("config")).toLocal8Bit());
        qputenv("XDG_CACHE_HOME", m_folder.filePath(QStringLiteral("cache")).toLocal8Bit());
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aRefusedPluginStaysOut() {
        const auto window = makeWindow();
        const QString path = project(QStringLiteral("refused"));
        ButtonAnswer answer(QStringLiteral("Do not use"));
        QVERIFY(window->openFile(path));
        QVERIFY2(answer.text.contains(QLatin1String("clipped.twb has a plug-in")), qPrintable(answer.text));
        QVERIFY(!findOp("Softclip"));
        QVERIFY(window->document().analysis().hasErrors());
        ButtonAnswer again(QStringLiteral("Use"));
        QVERIFY(window->openFile(path));
        QCOMPARE(again.text, QString()); // the answer is remembered
    }

    void aTrustedPluginIsUsed() {
        const auto window = makeWindow();
        const QString path = project(QStringLiteral("trusted"));
        QVERIFY(!isInPalette(*window));
        {
            ButtonAnswer answer(QStringLiteral("Use"));
            QVERIFY(window->openFile(path));
            QVERIFY(!answer.text.isEmpty());
        }
        QVERIFY(findOp("Softclip"));
        QCOMPARE(opTable().back().name, std::string("Softclip"));
        QVERIFY(!window->document().analysis().hasErrors());
        QVERIFY(isInPalette(*window));
        QTest::keyClick(&window->canvas(), Qt::Key_F5);
        QVERIFY(waitForRun(*window));
        QCOMPARE(window->runs().result()->status, RunStatus::finished);
        ButtonAnswer again(QStringLiteral("Do not use"));
        QVERIFY(window->openFile(path));
        QCOMPARE(again.text, QString());
    }
};

TWB_GUI_TEST_MAIN(TestProjectPlugins)
#include "test_project_plugins.moc"
