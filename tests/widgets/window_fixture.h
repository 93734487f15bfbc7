#pragma once

#include "profile/profiles.h"
#include "widgets/main_window.h"
#include "widgets/theme.h"

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <memory>

namespace twb::test {

inline QString sourcePath(const char* relative) {
    return QStringLiteral(TWB_SOURCE_DIR "/") + QString::fromLatin1(relative);
}

inline std::shared_ptr<const ProfileLibrary> profiles() {
    static const auto library =
        std::make_shared<const ProfileLibrary>(std::filesystem::path(TWB_SOURCE_DIR "/resources/devices"));
    return library;
}

/// Tests use settings of their own.
inline void isolateSettings() {
    static QTemporaryDir folder;
    qputenv("XDG_DATA_HOME", folder.filePath(QStringLiteral("data")).toLocal8Bit());
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
    QApplication::setOrganizationName(QStringLiteral("twb-tests"));
    QApplication::setApplicationName(QStringLiteral("twb-tests"));
}

/// Plug-ins beside projects are asked about, and remembered in files of the test's own.
inline void isolatePlugins(const QTemporaryDir& folder) {
    qputenv("TWB_OPS", "");
    qputenv("XDG_CONFIG_HOME", folder.filePath(QStringLiteral("config")).toLocal8Bit());
    qputenv("XDG_CACHE_HOME", folder.filePath(QStringLiteral("cache")).toLocal8Bit());
}

/// The value of an environment variable; otherwise a default short enough for a run of all suites.
inline int numberFrom(const char* variable, int otherwise) {
    const int number = qEnvironmentVariableIntValue(variable);
    return number > 0 ? number : otherwise;
}

/// A visible window of a fixed size.
inline std::unique_ptr<MainWindow> makeWindow() {
    auto window = std::make_unique<MainWindow>(profiles());
    window->resize(1400, 900);
    window->show();
    QCoreApplication::processEvents();
    return window;
}

/// Presses `button` in the next message box and records its text.
class BoxAnswer : public QObject {
public:
    explicit BoxAnswer(QMessageBox::StandardButton button) : m_button(button) {
        connect(&m_timer, &QTimer::timeout, this, &BoxAnswer::look);
        m_timer.start(10);
    }
    QString text() const { return m_text; }
    QString detail() const { return m_detail; }
    bool answered() const { return m_answered; }

private:
    void look() {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (!box) return;
        m_timer.stop();
        m_answered = true;
        m_text = box->text();
        m_detail = box->informativeText();
        QTest::mouseClick(box->button(m_button), Qt::LeftButton);
    }

    QTimer m_timer;
    QMessageBox::StandardButton m_button;
    QString m_text;
    QString m_detail;
    bool m_answered = false;
};

inline bool waitForRun(MainWindow& window) {
    return QTest::qWaitFor([&] { return !window.runs().isRunning(); }, 300'000);
}

inline void clickRow(QTableView& table, int row) {
    const QRect cell = table.visualRect(table.model()->index(row, 0));
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, cell.center());
}

/// The action with this text.
inline QAction* action(MainWindow& window, const QString& text) {
    for (QAction* a : window.findChildren<QAction*>())
        if (a->text().remove(QLatin1Char('&')) == text) return a;
    return nullptr;
}

inline const char* const kDigits = "resources/examples/digits.twb";
inline const char* const kMismatch = "resources/examples/01-cpu-tensor-plus-cuda-tensor.twb";

template <class T> T* find(QWidget& in, const char* name) {
    T* found = in.findChild<T*>(QString::fromLatin1(name));
    if (!found) qCritical("no widget named %s", name);
    return found;
}

} // namespace twb::test
