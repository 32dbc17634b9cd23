void Grabber::onFrame(const Frame& f)            // camera driver thread, 60 Hz
{
    memcpy(pinned_, f.data(), f.size());
    cudaMemcpyAsync(d_in_, pinned_, f.size(), cudaMemcpyHostToDevice, stream_);
    ctx_->enqueueV3(stream_);
    cudaMemcpyAsync(h_out_[slot_], d_out_, outBytes_, cudaMemcpyDeviceToHost, stream_);
    cudaEventRecord(done_[slot_], stream_);
    queue_.push(slot_); slot_ = (slot_ + 1) % 4;  // consumer waits for done_[slot]
}
