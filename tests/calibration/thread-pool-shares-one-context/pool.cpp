static std::unique_ptr<nvinfer1::IExecutionContext> g_ctx;      // created in main()

void Worker::run(Request& r) {
    upload_async(r.img, d_in_, stream_);                // d_in_, d_out_, stream_: one per Worker
    g_ctx->setTensorAddress("images",  d_in_);
    g_ctx->setTensorAddress("output0", d_out_);
    if (!g_ctx->enqueueV3(stream_)) throw std::runtime_error("enqueue");
    download_async(h_out_, d_out_, stream_);
    cudaStreamSynchronize(stream_);
    r.boxes = decode(h_out_);
}
