#pragma once

#include "profile/profiles.h"
#include "widgets/document.h"

#include <QMenu>
#include <QObject>

#include <functional>

namespace twb {

class CanvasWidget;
class GraphEditor;

/// The actions on lanes: adding, moving, renaming and removing one, and sending nodes to one.
class LaneActions : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of dialogs.
    LaneActions(Document& document, CanvasWidget& canvas, GraphEditor& editor, QWidget& window);

    void fillAddMenu(QMenu& menu);
    /// For the lane of the selection, or the one in the middle of the view.
    void fillLaneMenu(QMenu& menu);
    /// Keeps the menu filled with the lanes to which the selection, or everything, can be sent.
    void keepSendMenu(QMenu& menu);
    /// The menu of a lane's header.
    void showHeaderMenu(LaneId id, QPoint at);

    QMenu* addMenu() const { return m_addMenu; }
    QMenu* sendMenu() const { return m_sendMenu; }

Q_SIGNALS:
    void deviceChosen(const twb::DeviceChoice& choice); ///< the hardware for a lane

private:
    LaneId laneAtHand() const;
    void fillSendMenu();
    void fillOtherRanks(QMenu& menu);
    void fillDevices(QMenu& menu, LaneId id);
    void fillHardware(QMenu& menu, Device device);
    void rename(LaneId id);
    void askAndRemove(LaneId id);

    Document& m_document;
    CanvasWidget& m_canvas;
    GraphEditor& m_editor;
    QWidget& m_window;
    QMenu* m_addMenu = nullptr;
    QMenu* m_sendMenu = nullptr;
};

} // namespace twb
