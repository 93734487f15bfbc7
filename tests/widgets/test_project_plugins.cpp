#include "formats/project.h"
#include "ops/op_table.h"
#include "ops/plugins/project_plugins.h"
#include "support/test_main.h"
#include "widgets/button_answer.h"
#include "widgets/dialog_answer.h"
#include "widgets/palette/op_list_model.h"
#include "widgets/panels/log_panel.h"
#include "widgets/window_hand.h"

#include <QDir>
#include <QJsonDocument>
#include <QJsonObject>
#include <QListView>
#include <QPlainTextEdit>
#include <QTabWidget>
#include <QTreeWidget>

using namespace twb;
using namespace twb::test;

/// Plug-ins in the folder "ops" beside a project.
class TestProjectPlugins : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    /// With a plug-in that has the example's op under the name `op`, of 8 letters.
    QString project(const QString& folder, const char* op = "Softclip", const char* library = "example") {
        const QString path = m_folder.filePath(folder + QLatin1String("/clipped.twb"));
        QDir().mkpath(m_folder.filePath(folder + QLatin1String("/ops")));
        QFile source(QStringLiteral(TWB_BINARY_DIR "/tests/ops/twb_op_%1.so").arg(QLatin1String(library)));
        QFile target(m_folder.filePath(folder + QLatin1String("/ops/softclip.so")));
        if (!source.open(QIODevice::ReadOnly) || !target.open(QIODevice::WriteOnly)) return {};
        target.write(source.readAll().replace("Softclip", op));
        target.close();
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        const NodeId x = addNode(builder, cpu, "Ones", "x", 16, 16);
        const NodeId y = addNode(builder, cpu, op, "y", 280, 16);
        builder.connect({{x, 0}, {y, 0}});
        graph.apply(builder.take());
        saveProject(graph, path.toStdString());
        return path;
    }
    /// A folder with what a crash leaves of the project. Empty if it cannot be made.
    QString crashed(const QString& path, const QString& folder) {
        const QDir recovery(m_folder.filePath(folder));
        if (!recovery.mkpath(QStringLiteral(".")) ||
            !QFile::copy(path, recovery.filePath(QStringLiteral("left.twb"))))
            return {};
        QFile about(recovery.filePath(QStringLiteral("left.json")));
        if (!about.open(QIODevice::WriteOnly)) return {};
        about.write(QJsonDocument(QJsonObject{{QStringLiteral("path"), path},
                                              {QStringLiteral("folder"), QFileInfo(path).absolutePath()},
                                              {QStringLiteral("title"), QStringLiteral("clipped")}})
                        .toJson());
        return recovery.path();
    }
    static bool isInPalette(const MainWindow& window, const char* op = "Softclip") {
        for (const auto* list : window.findChildren<OpListModel*>())
            for (int row = 0; row < list->rowCount(); ++row)
                if (list->op(list->index(row)) == QLatin1String(op)) return true;
        return false;
    }

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        isolatePlugins(m_folder);
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aRefusedPluginStaysOut() {
        const auto window = makeWindow();
        const QString path = project(QStringLiteral("refused"));
        ButtonAnswer answer(QStringLiteral("Do not use"));
        QVERIFY(window->openFile(path));
        QVERIFY2(answer.text.contains(QLatin1String("clipped.twb contains a plug-in")),
                 qPrintable(answer.text));
        QVERIFY(!findOp("Softclip"));
        QVERIFY(window->document().analysis().hasErrors());
        ButtonAnswer again(QStringLiteral("Use"));
        QVERIFY(window->openFile(path));
        QCOMPARE(again.text, QString()); // the answer is remembered
    }

    void escapeIsNotRemembered() {
        const auto window = makeWindow();
        const QString path = project(QStringLiteral("later"));
        ButtonAnswer escape{QString()};
        QVERIFY(window->openFile(path));
        QVERIFY(!escape.text.isEmpty());
        QVERIFY(!findOp("Softclip"));
        ButtonAnswer again(QStringLiteral("Not now"));
        QVERIFY(window->openFile(path));
        QVERIFY(!again.text.isEmpty()); // it asks again
    }

    /// The start page draws recent projects, which loads their plug-ins.
    void opsLoadedBeforeTheProjectComeIntoThePalette() {
        const auto window = makeWindow();
        const QString path = project(QStringLiteral("drawn"), "Softclop");
        rememberTrust(opsBeside(path.toStdString()), true);
        loadProject(path.toStdString());
        QVERIFY(findOp("Softclop"));
        QVERIFY(!isInPalette(*window, "Softclop"));
        QVERIFY(window->openFile(path));
        QVERIFY(isInPalette(*window, "Softclop"));
    }

    /// The copy that a crash leaves is in another folder than the project and its plug-ins.
    void aRestoredProjectHasItsPlugins() {
        const auto window = makeWindow();
        const QString path = project(QStringLiteral("crashed"), "Softclap");
        rememberTrust(opsBeside(path.toStdString()), true);
        const QString recovery = crashed(path, QStringLiteral("recovery"));
        QVERIFY(!findOp("Softclap"));
        ButtonAnswer answer(QStringLiteral("Restore"));
        QVERIFY(window->guard(recovery));
        QVERIFY(findOp("Softclap"));
        QVERIFY(!window->document().analysis().hasErrors());
        QVERIFY(isInPalette(*window, "Softclap"));
    }

    void restoringAsksAboutPluginsOfAnUnknownFolder() {
        const auto window = makeWindow();
        const QString path = project(QStringLiteral("crashed unasked"), "Softclup");
        const QString recovery = crashed(path, QStringLiteral("recovery unasked"));
        ButtonAnswer restore(QStringLiteral("Restore"));
        ButtonAnswer use(QStringLiteral("Use")); // waits for a box with this button
        QVERIFY(window->guard(recovery));
        QVERIFY2(use.text.contains(QLatin1String("clipped.twb contains a plug-in")), qPrintable(use.text));
        QVERIFY(findOp("Softclup"));
        QVERIFY(!window->document().analysis().hasErrors());
        QCOMPARE(trustIn(opsBeside(path.toStdString())), Trust::trusted);
    }

    /// In the settings: a folder is no longer used, or asks again.
    void anAnswerCanBeTakenBack() {
        const auto window = makeWindow();
        const QString used = project(QStringLiteral("used"), "Softclyp");
        const QString asked = project(QStringLiteral("asked"), "Softclep");
        rememberTrust(opsBeside(used.toStdString()), true);
        rememberTrust(opsBeside(asked.toStdString()), true);
        const auto change = [&](QDialogButtonBox::StandardButton button) {
            const DialogAnswer answer("settings", button, [&](QDialog& dialog) {
                auto* pages = dialog.findChild<QTabWidget*>();
                pages->setCurrentIndex(2);
                auto* list = find<QTreeWidget>(dialog, "trustList");
                const auto select = [&](const QString& path) {
                    const QString folder = QFileInfo(path).absolutePath() + QStringLiteral("/ops");
                    list->setFocus();
                    QTest::keyClick(list, Qt::Key_Home);
                    while (list->currentItem()->text(0) != folder && list->itemBelow(list->currentItem()))
                        QTest::keyClick(list, Qt::Key_Down);
                    QCOMPARE(list->currentItem()->text(0), folder);
                };
                select(used);
                QTest::keyClick(list, Qt::Key_Space);
                select(asked);
                QTest::keyClick(find<QPushButton>(dialog, "forgetTrust"), Qt::Key_Space);
            });
            // The offscreen platform does not reactivate a window when its dialog closes.
            window->activateWindow();
            QVERIFY(QTest::qWaitForWindowActive(window.get()));
            QTest::keyClick(window.get(), Qt::Key_Comma, Qt::ControlModifier);
            QVERIFY(answer.answered());
        };
        change(QDialogButtonBox::Cancel);
        QCOMPARE(trustIn(opsBeside(used.toStdString())), Trust::trusted);
        QCOMPARE(trustIn(opsBeside(asked.toStdString())), Trust::trusted);
        change(QDialogButtonBox::Ok);
        QCOMPARE(trustIn(opsBeside(used.toStdString())), Trust::refused);
        QCOMPARE(trustIn(opsBeside(asked.toStdString())), Trust::unasked);
        ButtonAnswer later(QStringLiteral("Not now"));
        QVERIFY(window->openFile(asked));
        QVERIFY(!later.text.isEmpty());
        QVERIFY(!findOp("Softclep"));
        QVERIFY(window->openFile(used));
        QVERIFY(!findOp("Softclyp"));
    }

    void aFaultyPluginIsLeftOutAndLogged() {
        const auto window = makeWindow();
        const QString path = project(QStringLiteral("faulty"), "Softclip", "crash");
        ButtonAnswer answer(QStringLiteral("Use"));
        QVERIFY(window->openFile(path));
        QVERIFY(window->document().analysis().hasErrors());
        const auto* log = window->findChild<LogPanel*>()->findChild<QPlainTextEdit*>();
        const QString says = QStringLiteral("was not loaded: it crashes in the kernel of");
        QVERIFY2(log->toPlainText().contains(says), qPrintable(log->toPlainText()));
        QVERIFY(window->openFile(path));
        QCOMPARE(log->toPlainText().count(says), 1);
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
        window->run();
        QTRY_VERIFY(window->runs().result().has_value());
        QCOMPARE(window->runs().result()->status, RunStatus::finished);
        ButtonAnswer again(QStringLiteral("Do not use"));
        QVERIFY(window->openFile(path));
        QCOMPARE(again.text, QString());
    }
};

TWB_GUI_TEST_MAIN(TestProjectPlugins)
#include "test_project_plugins.moc"
