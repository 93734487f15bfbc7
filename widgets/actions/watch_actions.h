#pragma once

#include "widgets/program_watch.h"

#include <QObject>

class QMenu;
class QWidget;

namespace twb {

class CanvasWidget;
class FileActions;

/// The menu entry that shows a running PyTorch program.
class WatchActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs.
    WatchActions(Document& document, RunController& runs, FileActions& files, CanvasWidget& canvas,
                 QWidget& window);

    void fill(QMenu& menu);

private:
    void choose();

    FileActions& m_files;
    QWidget& m_window;
    ProgramWatch m_watch;
};

} // namespace twb
