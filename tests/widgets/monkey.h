#pragma once

#include "widgets/window_hand.h"

#include <QStringList>

#include <random>
#include <vector>

namespace twb::test {

/// Performs random gestures, keys, menu actions and edits in the real window, chosen by a seed, by mouse and
/// key events only. It also answers the menus and dialogs that it opens.
class Monkey : public QObject {
public:
    Monkey(WindowHand& hand, std::uint64_t seed);

    /// Performs one random action. Returns its description for the report.
    QString doSomething();

private:
    struct Trick {
        const char* name;
        int weight;
        void (Monkey::*act)();
    };
    static const std::vector<Trick>& tricks();

    // Random choices.
    int below(int bound) { return int(m_random() % std::uint64_t(bound)); }
    bool oneIn(int n) { return below(n) == 0; }
    QPoint anywhere();
    QPoint somewhereOn(NodeId id);
    std::optional<NodeId> anyNode();
    /// The visible end of a wire.
    std::optional<Edge> anyWire();
    /// A visible dot.
    std::optional<QPoint> anyDot();
    Qt::KeyboardModifiers anyModifiers();
    QString anyText();
    QString anyOp();

    // Actions.
    void clickNode();
    void clickAnywhere();
    void clickWire();
    void putDot();
    void dragDot();
    void doubleClick();
    void dragNode();
    void connectPorts();
    void plugElsewhere();
    void drawIntoTheVoid();
    void replug();
    void rubberBand();
    void cutByStroke();
    void searchByKey();
    void addFromPalette();
    void dropOp();
    void pressShortcut();
    void undoSome();
    void redoSome();
    void pressArrow();
    void editAttribute();
    void rename();
    void contextMenu();
    void laneMenu();
    void dragLane();
    void dragModule();
    void collapseLane();
    void clickStub();
    void clickHistory();
    void zoomAndPan();
    void save();
    void runAndWait();
    void runAndStop();
    void runOnAndOn();
    void overlayProfile();
    void deleteSome();

    /// A drag that may be cancelled by Esc, or disturbed by an undo.
    void dragSomehow(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {});
    void answerSearch();
    /// Answers the open menu or dialog.
    void answerWhatIsOpen();

    WindowHand& m_hand;
    std::mt19937_64 m_random;
    QTimer m_answers;
    QTemporaryDir m_folder;
};

} // namespace twb::test
