#pragma once

#include "core/tensor.h"

#include <QImage>
#include <QWidget>

class QComboBox;
class QLabel;
class QSpinBox;

namespace twb {

/// Where the axes of an image are.
enum class ImageLayout { channelsFirst, channelsLast };

/// One image of a tensor of rank 2 to 4, [least, most] as black to white. `channel` -1: the first three as
/// red, green and blue. At most 1024 pixels high and wide: more are left out evenly. NaN is red.
QImage imageOf(const Tensor& tensor, ImageLayout layout, std::int64_t number, int channel, double least,
               double most);
/// Channels in one image, 1 for rank 2, and images in the tensor.
std::int64_t channelsOf(const Shape& shape, ImageLayout layout);
std::int64_t imagesOf(const Shape& shape);
/// By which axis looks like channels: 1, 3 or 4 of them.
ImageLayout likelyLayout(const Shape& shape);

/// A tensor as images, with its layout, its channel and which of them to choose.
class TensorImage : public QWidget {
    Q_OBJECT

public:
    explicit TensorImage(QWidget* parent = nullptr);
    /// `least` and `most` of its finite elements.
    void setTensor(const Tensor& tensor, double least, double most);
    QImage image() const;

private:
    class Canvas;
    void fillChannels();

    Tensor m_tensor;
    double m_least = 0;
    double m_most = 1;
    Canvas* m_canvas;
    QComboBox* m_layout;
    QComboBox* m_channel;
    QSpinBox* m_number;
};

} // namespace twb
