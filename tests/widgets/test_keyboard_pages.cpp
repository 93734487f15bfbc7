#include "formats/project.h"
#include "ops/op_table.h"
#include "ops/plugins/project_plugins.h"
#include "support/rank_trace.h"
#include "support/test_main.h"
#include "widgets/keyboard_hand.h"
#include "widgets/settings.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QTreeWidget>

using namespace twb;
using namespace twb::test;

namespace {

/// Answers a file dialog.
std::function<void(QDialog&)> fileNamed(const QString& path) {
    return [path](QDialog& dialog) {
        auto* name = find<QLineEdit>(dialog, "fileNameEdit");
        QTRY_VERIFY(name->hasFocus());
        name->setText(path); // typing opens a completion list over the dialog
        QTest::keyClick(name, Qt::Key_Return);
    };
}

/// The widget of a dialog that has the focus.
QWidget& focusOf(QDialog& dialog) { return dialog.focusWidget() ? *dialog.focusWidget() : dialog; }

/// Presses Tab in a dialog until a widget has the focus.
bool tabTo(QDialog& dialog, const QWidget& widget) {
    for (int i = 0; i < 60 && &focusOf(dialog) != &widget; ++i)
        QTest::keyClick(&focusOf(dialog), Qt::Key_Tab);
    return &focusOf(dialog) == &widget;
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

/// The jobs of the manual's pages about scripts, machines, files and plug-ins, by keyboard alone.
class TestKeyboardPages : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        isolatePlugins(m_folder);
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    /// resources/manual/pytorch-script.md
    void pytorchScript() {
        const QString seen = m_folder.filePath(QStringLiteral("line-"));
        settings::setEditor(QStringLiteral("touch ") + seen + QStringLiteral("%l"));
        Keyboard keys;
        DialogKeys open(fileNamed(sourcePath("resources/examples/10-your-own-script.twb")));
        keys.press(Qt::Key_O, Qt::ControlModifier);
        QVERIFY(open.isSeen);
        keys.activate();
        keys.toCanvas();
        const std::size_t before = keys.errors();
        QVERIFY(before > 0);
        // The line of a problem in the editor.
        keys.press(Qt::Key_F8);
        const std::set<NodeId> selected = keys.window->document().selection().nodes;
        QVERIFY(!selected.empty());
        QPushButton* line = nullptr;
        for (auto* link : keys.window->findChildren<QPushButton*>(QStringLiteral("sourceLine")))
            if (link->isVisible()) line = link;
        QVERIFY(line);
        QVERIFY(keys.reach(*line));
        keys.press(Qt::Key_Space);
        const int number = keys.graph().find(*selected.begin())->source->line;
        QTRY_VERIFY(QFile::exists(seen + QString::number(number)));
        settings::setEditor({});
        // Its fix, then all others.
        keys.toCanvas();
        keys.press(Qt::Key_Period, Qt::ControlModifier);
        QVERIFY(keys.errors() < before);
        DialogKeys review([](QDialog& dialog) { QTest::keyClick(&dialog, Qt::Key_Return); });
        keys.press(Qt::Key_Period, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(review.isSeen);
        keys.activate();
        QCOMPARE(keys.errors(), std::size_t(0));
        keys.toCanvas();
        // The programs that can be watched: there is none.
        DialogKeys watch([](QDialog& dialog) {
            QVERIFY(dialog.findChild<QListWidget*>(QStringLiteral("programs")));
            QTest::keyClick(&dialog, Qt::Key_Escape);
        });
        keys.press(Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(watch.isSeen);
    }

    /// resources/manual/ranks.md
    void ranks() {
        const RankJob job;
        const QString trace = m_folder.filePath(QStringLiteral("trace.json"));
        job.writeTrace(trace, 1);
        Keyboard keys;
        keys.window->document().setGraph(job.maker.graph(), {}, {});
        keys.toCanvas();
        DialogKeys open(fileNamed(trace));
        keys.press(Qt::Key_T, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(open.isSeen);
        QCOMPARE(find<QLabel>(*keys.window, "status")->text(),
                 QStringLiteral("Trace trace.json: 2 ranks, 1 iteration"));
        keys.activate();
        keys.press(Qt::Key_R, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        auto* table = find<QTableView>(*keys.window, "ranksTable");
        QCOMPARE(table->model()->rowCount(), 2);
        QCOMPARE(QApplication::focusWidget(), table); // a screen reader reads it
        DialogKeys what([](QDialog& dialog) {
            QVERIFY(dialog.findChild<QTableView*>());
            QTest::keyClick(&dialog, Qt::Key_Escape);
        });
        keys.press(Qt::Key_W, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(what.isSeen);
        keys.activate();
        DialogKeys there([](QDialog& dialog) {
            auto* machine = find<QComboBox>(dialog, "machine");
            QVERIFY(&focusOf(dialog) == machine || &focusOf(dialog) == machine->lineEdit());
            QTest::keyClicks(&focusOf(dialog), QStringLiteral("gpu-server"));
            QPushButton* run = dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
            QVERIFY(run->isEnabled() && tabTo(dialog, *run));
            QTest::keyClick(&dialog, Qt::Key_Escape);
        });
        keys.press(Qt::Key_F5, Qt::AltModifier);
        QVERIFY(there.isSeen);
    }

    /// resources/manual/gpus.md: another GPU stands behind cuda:0.
    void gpus() {
        Keyboard keys;
        keys.window->load(sourcePath(kDigits));
        keys.toCanvas();
        const auto behind = [&] {
            return keys.window->document().devices().find(Device::cuda(0))->info().name;
        };
        QCOMPARE(behind(), std::string("simulated NVIDIA H200"));
        QPushButton* device = nullptr; // the button of an earlier graph may still be there
        for (auto* button : keys.window->findChildren<QPushButton*>(QStringLiteral("device.cuda:0")))
            if (button->isVisible()) device = button;
        QVERIFY(device);
        QVERIFY(keys.reach(*device));
        QString missing;
        MenuKeys toolbar(
            [&](QMenu& menu) { missing = chooseByKeys(menu, {QStringLiteral("Simulated NVIDIA T4")}); });
        keys.press(Qt::Key_Space);
        QTRY_VERIFY(toolbar.isSeen);
        QCOMPARE(missing, QString());
        QTRY_COMPARE(behind(), std::string("simulated NVIDIA T4"));
        keys.activate();
        keys.toCanvas();
        QVERIFY(keys.run());
    }

    /// resources/manual/ci.md: the reports that a job compares.
    void ci() {
        Keyboard keys;
        keys.window->load(sourcePath(kDigits));
        keys.toCanvas();
        QVERIFY(keys.run());
        for (const char* name : {"base.json", "base.html"}) {
            const QString path = m_folder.filePath(QLatin1String(name));
            DialogKeys save(fileNamed(path));
            keys.press(Qt::Key_R, Qt::ControlModifier | Qt::AltModifier);
            QVERIFY(save.isSeen);
            keys.activate();
            keys.toCanvas();
            QVERIFY2(QFile::exists(path), name);
        }
        const QJsonObject report =
            QJsonDocument::fromJson(contentOf(m_folder.filePath(QStringLiteral("base.json")))).object();
        QVERIFY(report.contains(QLatin1String("schema")));
    }

    /// resources/manual/files.md
    void files() {
        Keyboard keys;
        keys.window->load(sourcePath(kDigits));
        keys.toCanvas();
        const auto folded = [&] {
            return std::ranges::count_if(keys.graph().nodes(), [](const Node& node) { return node.folded; });
        };
        keys.press(Qt::Key_A, Qt::ControlModifier);
        keys.press(Qt::Key_F, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(folded() > 0);
        keys.press(Qt::Key_A, Qt::ControlModifier);
        keys.press(Qt::Key_U, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(folded(), 0);
        const QString image = m_folder.filePath(QStringLiteral("digits.png"));
        {
            DialogKeys save(fileNamed(image));
            keys.press(Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
            QVERIFY(save.isSeen);
        }
        QVERIFY(!QImage(image).isNull());
        keys.activate();
        keys.toCanvas();
        // The settings: another theme, and the next page.
        DialogKeys settings([](QDialog& dialog) {
            auto* theme = find<QComboBox>(dialog, "settingsTheme");
            QVERIFY(tabTo(dialog, *theme));
            QTest::keyClick(theme, Qt::Key_L); // Light
            QCOMPARE(theme->currentText(), QStringLiteral("Light"));
            auto* pages = dialog.findChild<QTabWidget*>();
            QVERIFY(tabTo(dialog, *pages->tabBar()));
            QTest::keyClick(pages->tabBar(), Qt::Key_Right);
            QCOMPARE(pages->currentIndex(), 1);
            QPushButton* ok = dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
            QVERIFY(tabTo(dialog, *ok));
            QTest::keyClick(ok, Qt::Key_Space);
        });
        keys.press(Qt::Key_Comma, Qt::ControlModifier);
        QVERIFY(settings.isSeen);
        QVERIFY(!Theme::current().isDark);
        keys.activate();
        keys.toCanvas();
        keys.press(Qt::Key_D, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(Theme::current().isDark);
    }

    /// resources/manual/lanes.md
    void lanes() {
        Keyboard keys;
        keys.window->load(sourcePath(kMismatch));
        keys.toCanvas();
        const std::size_t before = keys.graph().lanes().size();
        keys.press(Qt::Key_G, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(keys.graph().lanes().size(), before + 1);
        const LaneId fresh = keys.graph().lanesInOrder().back().id;
        QCOMPARE(keys.graph().find(fresh)->device, Device::cuda(1));
        keys.press(Qt::Key_A, Qt::ControlModifier);
        keys.press(Qt::Key_3, Qt::ControlModifier | Qt::AltModifier); // all nodes go there
        for (const Node& node : keys.graph().nodes()) QCOMPARE(node.lane, fresh);
        keys.press(Qt::Key_PageUp, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(keys.graph().lanesInOrder().back().id != fresh);
        keys.press(Qt::Key_Z, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(keys.graph().find(fresh)->collapsed);
        keys.press(Qt::Key_Z, Qt::ControlModifier | Qt::AltModifier);
        {
            DialogKeys name([](QDialog& dialog) {
                QTest::keyClicks(dialog.findChild<QLineEdit*>(), QStringLiteral("encoder"));
                QTest::keyClick(&dialog, Qt::Key_Return);
            });
            keys.press(Qt::Key_F2, Qt::ControlModifier | Qt::AltModifier);
            QVERIFY(name.isSeen);
            keys.activate();
        }
        QCOMPARE(keys.graph().find(fresh)->title, std::string("encoder"));
        // Another device.
        QString missing;
        MenuKeys device([&](QMenu& menu) {
            missing = chooseByKeys(menu, {QStringLiteral("Lane"), QStringLiteral("Device of this lane"),
                                          QStringLiteral("cuda:0")});
        });
        keys.press(Qt::Key_G, Qt::AltModifier);
        QTRY_VERIFY(device.isSeen);
        QCOMPARE(missing, QString());
        QTRY_COMPARE(keys.graph().find(fresh)->device, Device::cuda(0));
        keys.activate();
        keys.toCanvas();
        // And other hardware behind it.
        MenuKeys hardware([&](QMenu& menu) {
            missing = chooseByKeys(menu, {QStringLiteral("Lane"), QStringLiteral("Hardware"),
                                          QStringLiteral("Simulated NVIDIA T4")});
        });
        keys.press(Qt::Key_G, Qt::AltModifier);
        QTRY_VERIFY(hardware.isSeen);
        QCOMPARE(missing, QString());
        QTRY_COMPARE(keys.window->document().devices().find(Device::cuda(0))->info().name,
                     std::string("simulated NVIDIA T4"));
        keys.activate();
        keys.toCanvas();
        DialogKeys remove([](QDialog& dialog) { QTest::keyClick(&dialog, Qt::Key_Return); });
        keys.press(Qt::Key_Backspace, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(remove.isSeen);
        QVERIFY(!keys.graph().find(fresh));
    }

    /// resources/manual/plugins.md: the question about the plug-ins beside a project, their help, and the
    /// answer taken back.
    void plugins() {
        QVERIFY(QDir(m_folder.path()).mkpath(QStringLiteral("mine/ops")));
        QVERIFY(QFile::copy(QStringLiteral(TWB_BINARY_DIR "/tests/ops/twb_op_example.so"),
                            m_folder.filePath(QStringLiteral("mine/ops/softclip.so"))));
        GraphMaker maker;
        maker.node("Ones", "x", "cpu");
        const QString path = m_folder.filePath(QStringLiteral("mine/clipped.twb"));
        saveProject(maker.graph(), path.toStdString());
        Keyboard keys;
        DialogKeys open([&](QDialog& dialog) {
            fileNamed(path)(dialog);
            // The question comes when this function has returned.
            auto* question = new DialogKeys([](QDialog& box) {
                auto* asked = qobject_cast<QMessageBox*>(&box);
                QVERIFY(asked);
                QAbstractButton* use = nullptr;
                for (QAbstractButton* button : asked->buttons())
                    if (button->text().remove(QLatin1Char('&')) == QLatin1String("Use")) use = button;
                QVERIFY(use && tabTo(box, *use));
                QTest::keyClick(use, Qt::Key_Space);
            });
            question->setParent(keys.window.get());
        });
        keys.press(Qt::Key_O, Qt::ControlModifier);
        QVERIFY(open.isSeen);
        keys.activate();
        QVERIFY(findOp("Softclip"));
        keys.toCanvas();
        keys.addOp("Softclip");
        QVERIFY(keys.isSelected("softclip"));
        keys.press(Qt::Key_F1, Qt::AltModifier);
        QVERIFY(find<QLabel>(*keys.window, "opHelpText")->text().contains(QLatin1String("limit")));
        keys.toCanvas();
        DialogKeys settings([](QDialog& dialog) {
            auto* pages = dialog.findChild<QTabWidget*>();
            QVERIFY(tabTo(dialog, *pages->tabBar()));
            for (int i = 0; i < 2; ++i) QTest::keyClick(pages->tabBar(), Qt::Key_Right);
            QCOMPARE(pages->currentIndex(), 2);
            auto* list = find<QTreeWidget>(dialog, "trustList");
            QVERIFY(tabTo(dialog, *list));
            QVERIFY(list->currentItem());
            auto* forget = find<QPushButton>(dialog, "forgetTrust");
            QVERIFY(tabTo(dialog, *forget));
            QTest::keyClick(forget, Qt::Key_Space);
            QPushButton* ok = dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
            QVERIFY(tabTo(dialog, *ok));
            QTest::keyClick(ok, Qt::Key_Space);
        });
        QCOMPARE(trustIn(opsBeside(path.toStdString())), Trust::trusted);
        keys.press(Qt::Key_Comma, Qt::ControlModifier);
        QVERIFY(settings.isSeen);
        QCOMPARE(trustIn(opsBeside(path.toStdString())), Trust::unasked);
    }
};

TWB_GUI_TEST_MAIN(TestKeyboardPages)
#include "test_keyboard_pages.moc"
