cv::Mat img = cv::imread(path, cv::IMREAD_COLOR);
cv::Mat f; img.convertTo(f, CV_32FC3, 1.0 / 255.0);
std::vector<cv::Mat> ch(3);
cv::split(f, ch);
for (int c = 0; c < 3; ++c) std::memcpy(h_in + c * H * W, ch[c].data, H * W * sizeof(float));
