// excerpt
GrabLoop::GrabLoop() {
  CK(cudaHostAlloc(&staging_, kImageBytes, cudaHostAllocDefault));   // pinned
}
void GrabLoop::onFrame(const Frame& f) {                 // camera callback, 120 Hz
  std::memcpy(staging_, f.data(), kImageBytes);
  CK(cudaMemcpyAsync(d_in_, staging_, kImageBytes, cudaMemcpyHostToDevice, stream_));
  ctx_->enqueueV3(stream_);
  CK(cudaMemcpyAsync(verdict_host_.next(), d_out_, 64, cudaMemcpyDeviceToHost, stream_));
  CK(cudaLaunchHostFunc(stream_, publish, new Job{this, f.part_id()}));
}                                                        // returns at once
