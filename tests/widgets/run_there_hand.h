#pragma once

#include "app/program.h"
#include "support/remote_host.h"
#include "widgets/dialog_answer.h"
#include "widgets/window_hand.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <QStandardPaths>
#include <QStringList>

#include <memory>

namespace twb::test {

/// Types into the dialog of Run, Run on another machine….
inline void fillIn(QDialog& dialog, const QString& machine, const QString& program) {
    const auto type = [](QLineEdit& edit, const QString& text) {
        edit.setFocus();
        QTest::keySequence(&edit, QKeySequence::SelectAll);
        QTest::keyClick(&edit, Qt::Key_Delete);
        QTest::keyClicks(&edit, text);
    };
    type(*find<QComboBox>(dialog, "machine")->lineEdit(), machine);
    type(*find<QLineEdit>(dialog, "program"), program);
}

/// Collects the sentences for the log.
inline std::shared_ptr<QStringList> logOf(MainWindow& window) {
    auto log = std::make_shared<QStringList>();
    QObject::connect(&window.runs(), &RunController::logged, &window,
                     [log](Severity, const QString& sentence) { log->append(sentence); });
    return log;
}

/// Runs on another machine, from the window: by a stand-in for ssh and, where there is an sshd, by the real
/// one.
class RunThereHand : public QObject {
protected:
    std::unique_ptr<RemoteHost> m_host;

    void hosts() {
        QTest::addColumn<bool>("real");
        QTest::newRow("stand-in") << false;
        QTest::newRow("sshd") << true;
    }
    /// False: the test is skipped.
    bool use(bool real) {
        m_host.reset();
        qunsetenv("TWB_SSH");
        if (!real) {
            m_host = std::make_unique<StandInHost>();
            return true;
        }
        auto host = std::make_unique<SshHost>();
        if (!host->isUp()) return false;
        qputenv("TWB_SSH", host->command().toUtf8());
        m_host = std::move(host);
        return true;
    }
    /// Presses Alt+F5 and answers the dialog.
    void start(MainWindow& window, const QString& machine, int iterations,
               const QString& program = Program::path()) const {
        find<QSpinBox>(window, "iterations")->setValue(iterations);
        DialogAnswer answer("runThere", QDialogButtonBox::Ok,
                            [&](QDialog& dialog) { fillIn(dialog, machine, program); });
        window.activateWindow(); // a box may have been above it
        QVERIFY(QTest::qWaitForWindowActive(&window));
        window.canvas().setFocus();
        QTest::keyClick(&window.canvas(), Qt::Key_F5, Qt::AltModifier);
        QVERIFY(answer.answered());
    }
    void start(MainWindow& window, int iterations) const { start(window, m_host->place(), iterations); }
    static QString status(MainWindow& window) { return find<QLabel>(window, "status")->text(); }
    static std::unique_ptr<MainWindow> windowWith(const GraphMaker& maker, const QString& folder = {}) {
        auto window = makeWindow();
        window->document().setGraph(maker.graph(), {}, folder);
        return window;
    }
    static void begin() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
        if (QStandardPaths::findExecutable(QStringLiteral("rsync")).isEmpty()) QSKIP("no rsync");
    }
};

} // namespace twb::test
