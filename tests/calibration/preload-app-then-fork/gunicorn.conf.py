bind = "0.0.0.0:8080"
workers = 2
preload_app = True
timeout = 40
# from api import model, warm up in master so that children start fast
from api import warmup
warmup()
