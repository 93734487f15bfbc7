#pragma once

#include "core/tensor.h"

#include <QImage>
#include <QWidget>

class QComboBox;
class QLabel;
class QSpinBox;

namespace twb {

/// The axes of an image.
enum class ImageLayout { channelsFirst, channelsLast };

/// One image of a tensor of rank 2 to 4, with [least, most] mapped to black and white. `channel` -1: the
/// first three as red, green and blue. At most 1024 × 1024 pixels; larger images are subsampled. NaN is red.
QImage imageOf(const Tensor& tensor, ImageLayout layout, std::int64_t number, int channel, double least,
               double most);
/// The number of channels per image (1 for rank 2), and of images in the tensor.
std::int64_t channelsOf(const Shape& shape, ImageLayout layout);
std::int64_t imagesOf(const Shape& shape);
/// Guesses the channel axis: the one with size 1, 3 or 4.
ImageLayout likelyLayout(const Shape& shape);

/// A tensor as images, with controls for the layout, the channel and the image.
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
