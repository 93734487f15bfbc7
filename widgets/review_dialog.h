#pragma once

#include <QDialog>
#include <QStringList>

#include <vector>

namespace twb {

/// A table that shows the effect of a change before it is applied, or the result of an analysis.
class ReviewDialog : public QDialog {
    Q_OBJECT

public:
    struct Content {
        QString title;    ///< of the window
        QString sentence; ///< explanation above the table
        QStringList columns;
        std::vector<QStringList> rows; ///< the first column is text, the others are figures
        bool areWords = false;         ///< all columns are text
        QString alarm;                 ///< cells with exactly this text are highlighted
        QString remark;                ///< sums and sources of the figures
        QString apply;                 ///< text of the accept button; empty: only Close
    };
    explicit ReviewDialog(const Content& content, QWidget* parent = nullptr);
};

} // namespace twb
