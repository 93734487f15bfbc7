#pragma once

#include <QString>
#include <QWidget>

#include <utility>
#include <vector>

class QGridLayout;
class QLabel;

namespace twb {

/// Rows of a name and a right-aligned figure.
class FactRows : public QWidget {
    Q_OBJECT

public:
    using Row = std::pair<QString, QString>;

    explicit FactRows(QWidget* parent = nullptr);
    /// Reuses its labels, so that a refresh every frame is cheap.
    void setRows(const std::vector<Row>& rows);

private:
    QGridLayout* m_layout;
    std::vector<std::pair<QLabel*, QLabel*>> m_labels;
};

} // namespace twb
