#pragma once

#include <QString>
#include <QWidget>

#include <utility>
#include <vector>

class QGridLayout;
class QLabel;

namespace twb {

/// Rows of a name and a figure, the figures aligned on the right.
class FactRows : public QWidget {
    Q_OBJECT

public:
    using Row = std::pair<QString, QString>;

    explicit FactRows(QWidget* parent = nullptr);
    /// Keeps the labels that are there, so that a refresh every frame costs little.
    void setRows(const std::vector<Row>& rows);

private:
    QGridLayout* m_layout;
    std::vector<std::pair<QLabel*, QLabel*>> m_labels;
};

} // namespace twb
