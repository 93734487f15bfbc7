#pragma once

#include <QDialog>
#include <QStringList>

#include <vector>

namespace twb {

/// A table of what a change would do, or of what something would cost, before anything is done.
class ReviewDialog : public QDialog {
    Q_OBJECT

public:
    struct Content {
        QString title;    ///< of the window
        QString sentence; ///< what this is, above the table
        QStringList columns;
        std::vector<QStringList> rows; ///< the first column is words, the others are figures
        bool areWords = false;         ///< the others are words, too
        QString alarm;                 ///< a cell that is just this stands out
        QString remark;                ///< sums, and where the figures come from
        QString apply;                 ///< what accepting it does; empty: there is only Close
    };
    explicit ReviewDialog(const Content& content, QWidget* parent = nullptr);
};

} // namespace twb
