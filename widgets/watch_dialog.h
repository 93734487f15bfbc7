#pragma once

#include "widgets/program_watch.h"

#include <QDialog>
#include <QTimer>

class QDialogButtonBox;
class QLabel;
class QListWidget;
class QStackedWidget;

namespace twb {

/// Lists the programs that can be watched, and keeps the list up to date while it is open.
class WatchDialog : public QDialog {
    Q_OBJECT

public:
    explicit WatchDialog(QWidget* parent);
    /// The chosen program, once accepted.
    const WatchableProgram& program() const { return m_programs[std::size_t(m_chosen)]; }

private:
    void refresh();
    void choose();

    std::vector<WatchableProgram> m_programs;
    QListWidget* m_list;
    QStackedWidget* m_pages;
    QDialogButtonBox* m_buttons;
    QTimer m_timer;
    int m_chosen = 0;
};

} // namespace twb
