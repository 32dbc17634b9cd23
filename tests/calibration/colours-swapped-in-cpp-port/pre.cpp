cv::Mat img = cv::imread(path);                    // 8UC3
cv::Mat lb  = letterbox(img, 640, 640, cv::Scalar(114, 114, 114));
cv::Mat blob;
cv::dnn::blobFromImage(lb, blob, 1.0 / 255.0, cv::Size(), cv::Scalar(), /*swapRB=*/false, /*crop=*/false);
CHECK(cudaMemcpyAsync(d_in, blob.ptr<float>(), 3 * 640 * 640 * sizeof(float), cudaMemcpyHostToDevice, stream));
