runtime = trt.Runtime(LOGGER)
engine = runtime.deserialize_cuda_engine(open("plate_dyn.engine", "rb").read())
context = engine.create_execution_context()          # one for the whole service

def infer(img):                                      # called from every request thread
    stream = cudart.cudaStreamCreate()[1]
    d_in, d_out = alloc(img.nbytes), alloc(OUT_BYTES)
    context.set_input_shape("images", img.shape)
    context.set_tensor_address("images", d_in)
    context.set_tensor_address("logits", d_out)
    cudart.cudaMemcpyAsync(d_in, img.ctypes.data, img.nbytes, H2D, stream)
    context.execute_async_v3(stream)
    out = fetch(d_out, stream)                       # copies and synchronises this stream
    release(d_in, d_out, stream)
    return decode(out)
