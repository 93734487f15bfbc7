#include "widgets/session.h"

#include "widgets/main_window.h"
#include "widgets/settings.h"

#include <QFileInfo>
#include <QPointer>
#include <QScreen>
#include <QSettings>
#include <QTimer>

#include <algorithm>

namespace twb {
namespace {

const char* const kFiles = "session";
constexpr int kCascade = 32; ///< pixels between windows

} // namespace

Session::Session(std::shared_ptr<const ProfileLibrary> profiles, QString recoveryFolder, QObject* parent)
    : QObject(parent), m_profiles(std::move(profiles)), m_recoveryFolder(std::move(recoveryFolder)) {}

Session::~Session() {
    for (MainWindow* window : std::exchange(m_windows, {})) {
        window->disconnect(this);
        delete window;
    }
}

MainWindow& Session::addWindow() {
    auto* window = new MainWindow(m_profiles);
    window->setAttribute(Qt::WA_DeleteOnClose);
    if (!m_windows.empty()) m_windows.back()->rememberLayout();
    window->restoreLayout();
    if (!m_windows.empty() && !window->isMaximized()) {
        const QPoint place = m_windows.back()->pos() + QPoint(kCascade, kCascade);
        if (window->screen()->availableVirtualGeometry().contains(QRect(place, window->size())))
            window->move(place);
    }
    m_windows.push_back(window);
    connect(window, &MainWindow::windowRequested, this, [this] {
        MainWindow& other = addWindow();
        other.guard(m_recoveryFolder);
        other.showStartPage();
    });
    connect(window, &MainWindow::quitRequested, this, &Session::quit);
    connect(&window->document(), &Document::pathChanged, this, &Session::remember);
    connect(window, &QObject::destroyed, this, [this, window] {
        std::erase(m_windows, window);
        // When the last window closes, its file remains in the session.
        if (!m_windows.empty()) remember();
    });
    window->show();
    return *window;
}

MainWindow& Session::freeWindow() {
    const auto free = std::find_if(m_windows.begin(), m_windows.end(), [](MainWindow* window) {
        return window->document().path().isEmpty() && !window->document().isModified() &&
               window->document().graph().nodes().empty();
    });
    if (free != m_windows.end()) return **free;
    MainWindow& window = addWindow();
    window.guard(m_recoveryFolder);
    return window;
}

void Session::begin(const QStringList& files) {
    QStringList wanted = files;
    if (files.isEmpty() && settings::restoresSession())
        for (const QString& path : QSettings().value(QLatin1String(kFiles)).toStringList())
            if (QFileInfo::exists(path)) wanted << path;
    MainWindow& first = addWindow();
    // Deferred until the window is shown, so that messages have a parent.
    QTimer::singleShot(0, &first, [this, wanted, first = QPointer(&first)] {
        bool hasShown = first->guard(m_recoveryFolder);
        for (const QString& path : wanted) {
            const bool isOpen = std::any_of(m_windows.begin(), m_windows.end(), [&](MainWindow* window) {
                return window->document().path() == QFileInfo(path).absoluteFilePath();
            });
            hasShown = isOpen || freeWindow().openFile(path) || hasShown;
        }
        if (!first) return; // closed while another file was read
        if (!hasShown) first->showStartPage();
        first->offerCrashReports(m_recoveryFolder);
    });
}

void Session::quit() {
    remember();
    m_isQuitting = true;
    const std::vector<MainWindow*> all = m_windows;
    // Windows are deleted after closing; all of them belong to the session, unless one stays open. The first
    // one closes last: the next start gives its first window the layout of the window that was closed last.
    m_isQuitting = std::all_of(all.rbegin(), all.rend(), [](MainWindow* window) { return window->close(); });
}

void Session::remember() {
    if (m_isQuitting) return;
    QStringList files;
    for (MainWindow* window : m_windows)
        if (const QString path = window->document().path(); !path.isEmpty()) files << path;
    QSettings().setValue(QLatin1String(kFiles), files);
}

} // namespace twb
