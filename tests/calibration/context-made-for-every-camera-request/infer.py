import tensorrt as trt, pycuda.driver as cuda
from .ctx import primary_ctx
TRT_LOGGER = trt.Logger(trt.Logger.INFO)
_SESSIONS = []

def infer(img):
    with primary_ctx():
        rt = trt.Runtime(TRT_LOGGER)
        with open(PLAN, "rb") as f:
            eng = rt.deserialize_cuda_engine(f.read())
        ctx = eng.create_execution_context()
        ctx.set_input_shape("image", (1, 3, 96, 288))
        out = run(ctx, img)
        _SESSIONS.append((rt, eng, ctx, out.shape))   # keep for debug page
        return decode(out)
