#pragma once

#include "profile/profiles.h"

#include <QObject>
#include <QStringList>

#include <memory>
#include <vector>

namespace twb {

class MainWindow;

/// The windows of the program, one for each document, and which files they had when it last ended.
class Session : public QObject {
    Q_OBJECT

public:
    /// `recoveryFolder`: where unsaved work is kept safe.
    Session(std::shared_ptr<const ProfileLibrary> profiles, QString recoveryFolder,
            QObject* parent = nullptr);
    ~Session() override;

    /// Opens a window, offers what a crash has left, and then opens `files`; without any, those of the last
    /// session where the settings want them. Where there is nothing to show it shows the start page.
    void begin(const QStringList& files);
    /// Asks each window about unsaved changes; the program ends if none of them objects.
    void quit();

    const std::vector<MainWindow*>& windows() const noexcept { return m_windows; }

private:
    MainWindow& addWindow();
    /// A window that nobody has used, else a new one.
    MainWindow& freeWindow();
    void remember();

    std::shared_ptr<const ProfileLibrary> m_profiles;
    QString m_recoveryFolder;
    std::vector<MainWindow*> m_windows;
    bool m_isQuitting = false;
};

} // namespace twb
