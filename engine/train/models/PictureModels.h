#pragma once

#include <cstdint>
#include <memory>

#include "engine/train/models/Model.h"

namespace lockstep::train {

/// A network of LeNet-5's size for inputs [N, 1, 28, 28], with ReLU and max pooling:
/// conv1 (6, 5x5, padding 2), conv2 (16, 5x5), fc1 (120), fc2 (84), fc3 (classes).
/// 61,706 parameters for 10 classes. (LeCun et al., Gradient-based learning applied to
/// document recognition, 1998)
std::shared_ptr<Model> makeCnn(std::int64_t classes);

/// ResNet-18 with the stem for small pictures (3x3, stride 1, no pooling), for inputs
/// [N, channels, H, W]. Names are torchvision's. 11,173,962 parameters for 3 channels and 10
/// classes. (He et al., Deep residual learning for image recognition, 2016, section 4.2 stem)
std::shared_ptr<Model> makeResNet18(std::int64_t channels, std::int64_t classes);

}  // namespace lockstep::train
