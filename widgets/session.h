#pragma once

#include "profile/profiles.h"

#include <QObject>
#include <QStringList>

#include <memory>
#include <vector>

namespace twb {

class MainWindow;

/// The windows of the program, one per document, and the files of the last session.
class Session : public QObject {
    Q_OBJECT

public:
    /// `recoveryFolder`: folder of autosaves and crash reports.
    Session(std::shared_ptr<const ProfileLibrary> profiles, QString recoveryFolder,
            QObject* parent = nullptr);
    ~Session() override;

    /// Opens a window, offers to restore autosaves and to show the report after a crash, and then opens
    /// `files` or, without any, the files of the last session if the settings say so. Without a document it
    /// shows the start page.
    void begin(const QStringList& files);
    /// Asks each window about unsaved changes; the program ends unless one of them objects.
    void quit();

    const std::vector<MainWindow*>& windows() const noexcept { return m_windows; }

private:
    MainWindow& addWindow();
    /// An unused window, else a new one.
    MainWindow& freeWindow();
    void remember();

    std::shared_ptr<const ProfileLibrary> m_profiles;
    QString m_recoveryFolder;
    std::vector<MainWindow*> m_windows;
    bool m_isQuitting = false;
};

} // namespace twb
