#pragma once

#include "profile/profiles.h"
#include "widgets/latest_task.h"

#include <QFrame>

#include <memory>

class QGridLayout;
class QVBoxLayout;

namespace twb {

class ProjectCard;

/// The page shown before a document is open: recent files, examples and lessons, each with a picture of its
/// graph.
class StartPage : public QFrame {
    Q_OBJECT

public:
    explicit StartPage(std::shared_ptr<const ProfileLibrary> profiles, QWidget* parent = nullptr);
    /// Reloads the lists.
    void refill();

Q_SIGNALS:
    void newRequested();
    void openRequested();
    void fileChosen(const QString& path);
    void exampleChosen(const QString& path);
    void left(); ///< by Esc

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    ProjectCard* addCard(std::vector<ProjectCard*>& cards, const QString& path);
    void layOut();
    void drawNext();

    std::shared_ptr<const ProfileLibrary> m_profiles;
    QWidget* m_recentSection;
    QGridLayout* m_recentGrid;
    QGridLayout* m_exampleGrid;
    std::vector<ProjectCard*> m_recent;
    std::vector<ProjectCard*> m_examples;
    int m_columns = 0;
    LatestTask m_reading;
};

} // namespace twb
