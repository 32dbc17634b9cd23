// scale from network input (1280x720) to source
const float sx = static_cast<float>(src_w) / net_w;    // 1920/1280
const float sy = static_cast<float>(src_h) / src_w * net_h / net_h * sx;
for (auto& b : kept) {
  b.x1 *= sx; b.x2 *= sx;
  b.y1 *= sy; b.y2 *= sy;
}
